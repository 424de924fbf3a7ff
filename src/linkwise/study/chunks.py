"""The runs of one chunk, made and written: as one batch of machine code, or one after another with a journal."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .columns import Columns, Record, not_finite, of_batch, of_records
from .compiled import TRACING
from .draws import Draws
from .journal import MOST_OF_A_RUN, Journal
from .parts import RESULT, chunks_there, table_of, write_chunk
from .places import Place
from .reading import ways_of, whole_chunk
from .scenario_base import Ended
from .scenarios import LOST
from .users_errors import message_of, traceback_of
from .ways import NOT_DRAWN, counted, worded

if TYPE_CHECKING:
    from .study import Study


@dataclass
class Summary:
    """What came of a chunk, for whoever looks on: counts by status, and of each number its count, sum and squares."""

    chunk: int
    runs: int
    statuses: dict[str, int] = field(default_factory=dict)
    sums: dict[str, tuple[int, float, float]] = field(default_factory=dict)
    seconds: float = 0.0
    ways: dict[str, int] = field(default_factory=dict)  # how runs were made → how many


def make_chunk(
    study: Study,
    place: Place,
    chunk: int,
    condemned: Mapping[int, Record] | None = None,
    tell: Callable[[str, int], None] = lambda what, run: None,
) -> Summary:
    """Make and write one chunk; ``tell`` is called with "start" and "end" around each run made by itself, with "draw"
    before each that a user's function draws parameters for, and with "wait" where that run waits for others.

    ``condemned`` are runs that are not to be made again, with what is known of their end.
    """
    begun = time.monotonic()
    known = table_of(place, chunk)
    first, stop = study.chunk_runs(chunk)
    if known is not None and (table := whole_chunk(place, known, (first, stop))) is not None:
        return summary_of_table(chunk, table)  # whoever made it died before it could say so
    if study.prepared.at_once and not study.sampling.functions:
        values = study.sampling.values(first, stop)
        made, ways = _at_once(study, values, first, stop)
        write_chunk(place, chunk, values, made, ways)
    else:
        made, ways = _run_by_run(study, place, chunk, condemned or {}, tell)
    return replace(summary(chunk, made, time.monotonic() - begun), ways=ways)


def _at_once(study: Study, values: Mapping[str, np.ndarray], first: int, stop: int) -> tuple[Columns, dict[str, int]]:
    """All runs as one batch."""
    found, sound = study.prepared.batch(values, study.device, stop - first)
    return of_batch(first, found, sound, study.finite, LOST), {study.batches_are: stop - first}


def _run_by_run(
    study: Study, place: Place, chunk: int, condemned: Mapping[int, Record], tell: Callable[[str, int], None]
) -> tuple[Columns, dict[str, int]]:
    """Runs for which something of the user's is called, each put on record as soon as it has ended; those that are on
    record are not made again."""
    first, stop = study.chunk_runs(chunk)
    journal = Journal(place, chunk)
    known = journal.records()

    def keep(record: Record) -> None:
        known[record.run] = record
        journal.add(record)

    try:
        if TRACING in condemned:
            study.prepared.uncompiled = f"it could not be looked at: {condemned[TRACING].message}"
        for run in [k for k in range(first, stop) if k in condemned and k not in known]:
            keep(condemned[run])
        draws = _drawn(study, first, stop, known, tell)
        for run in [k for k in draws.errors if k not in known]:
            keep(_failed(run, draws.errors[run], (NOT_DRAWN,)))
        if study.prepared.at_once and not known:
            made, ways = _at_once(study, draws.values, first, stop)
        else:
            own = ((k, draws.of(k)) for k in range(first, stop) if k not in known)
            for ended in study.prepared.each(own, study.generator, tell, study.device):
                if ended.at_once:
                    known[ended.run] = _record(ended, study)
                else:
                    keep(_record(ended, study))
            records = [known[run] for run in range(first, stop)]
            made, ways = of_records(records), counted(r.ways for r in records)  # also of those that were on record
        write_chunk(place, chunk, draws.values, made, ways)
        journal.clear()
    finally:
        journal.close()
    return made, ways


def _drawn(study: Study, first: int, stop: int, known: Mapping[int, Record], tell: Callable[[str, int], None]) -> Draws:
    """Parameters of all runs; those with which a worker died or was stopped before are not asked for again."""
    left_out = [k for k, record in known.items() if NOT_DRAWN in record.ways]
    found = study.sampling.draws(first, stop, left_out, lambda run: tell("draw", run))
    if study.sampling.functions:
        tell("wait", stop - 1)
    return found


def _record(ended: Ended, study: Study) -> Record:
    """What came of one run; what the user's code raised is kept with it."""
    e, ways = ended.error, tuple(map(worded, ended.ways))
    if e is None:
        return _checked(Record(ended.run, "done", ended.values, ways=ways), study)
    return _failed(ended.run, e, ways)


def _failed(run: int, e: BaseException, ways: tuple[str, ...]) -> Record:
    return Record(run, "failed", {}, type(e).__name__, message_of(e), traceback_of(e), ways)


def _checked(record: Record, study: Study) -> Record:
    """A run has failed that gives more than can be put on record, or numbers that are not finite where they must be."""
    size = sum(np.asarray(x).nbytes for x in record.values.values())
    if size > MOST_OF_A_RUN:
        said = f"it gives {size / 2**20:.0f} MiB, and {MOST_OF_A_RUN / 2**20:.0f} are kept of a run at most; keep less"
        return replace(record, status="failed", values={}, error="TooLarge", message=said)
    if study.finite:
        bad = [n for n, x in record.values.items() if not isinstance(x, str) and not np.isfinite(x).all()]
        if bad:
            return replace(record, status="failed", error="NotFinite", message=not_finite(bad))
    return record


def summary(chunk: int, made: Columns, seconds: float) -> Summary:
    """What is said of a chunk while the study runs."""
    out = Summary(chunk, len(made), dict(Counter(made.status)), seconds=seconds)
    done = np.array([status == "done" for status in made.status])
    for name, column in sorted(made.numbers.items()):
        x = np.array(column) if isinstance(column, np.ndarray) else _plain(column)
        if x.dtype.kind in "fiub":
            x = x[done].astype(float)
            x = x[np.isfinite(x)]
            with np.errstate(over="ignore"):
                out.sums[name] = (len(x), float(x.sum()), float((x * x).sum()))
    return out


def _plain(column: Sequence[Any]) -> np.ndarray:
    """A column of records; what is missing or a word counts as NaN."""
    return np.array([np.nan if x is None or isinstance(x, str) else float(x) for x in column])


def summary_of_table(chunk: int, table: Any) -> Summary:
    """The same of a chunk that is written."""
    names = [c for c in table.column_names if c.startswith(RESULT)]
    none: list[str | None] = [None] * len(table)
    plain = [c for c in names if str(table[c].type) == "double"]  # most are, and these need not become objects
    numbers = {c.removeprefix(RESULT): table[c].to_numpy() if c in plain else table[c].to_pylist() for c in names}
    columns = Columns(np.arange(len(table)), table["status"].to_pylist(), none, none, none, numbers, {}, {})
    return replace(summary(chunk, columns, 0.0), ways=ways_of(table))


def left_to_do(
    study: Study, place: Place, damaged: Callable[[str], None], tell: Callable[[Summary], None] = lambda made: None
) -> list[int]:
    """Chunks that are not there, or whose files are not what was written; those are put aside by ``damaged``.

    ``tell`` is called with what came of the others.
    """
    there = chunks_there(place)
    for chunk, name in list(there.items()):
        table = whole_chunk(place, name, study.chunk_runs(chunk)) if chunk < study.chunks else None
        if table is None:
            damaged(name)
            del there[chunk]
        else:
            tell(summary_of_table(chunk, table))
    return [c for c in range(study.chunks) if c not in there]
