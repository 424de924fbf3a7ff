"""The runs of one chunk, made and written: as one batch of machine code, or one after another with a journal."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .columns import Columns, Record, not_finite, of_batch, of_records
from .journal import Journal
from .parts import RESULT, chunks_there, table_of, write_chunk
from .places import Place
from .reading import whole_chunk
from .scenarios import LOST

if TYPE_CHECKING:
    from .study import Study

_LONGEST = 20_000  # characters of a traceback that are kept


@dataclass
class Summary:
    """What came of a chunk, for whoever looks on: counts by status, and of each number its count, sum and squares."""

    chunk: int
    runs: int
    statuses: dict[str, int] = field(default_factory=dict)
    sums: dict[str, tuple[int, float, float]] = field(default_factory=dict)
    seconds: float = 0.0


def make_chunk(
    study: Study,
    place: Place,
    chunk: int,
    condemned: Mapping[int, Record] | None = None,
    tell: Callable[[str, int], None] = lambda what, run: None,
) -> Summary:
    """Make and write one chunk; ``tell("start" | "end", run)`` is called around each run made by itself.

    ``condemned`` are runs that are not to be made again, with what is known of their end.
    """
    begun = time.monotonic()
    known = table_of(place, chunk)
    first, stop = study.chunk_runs(chunk)
    if known is not None and (table := whole_chunk(place, known, (first, stop))) is not None:
        return summary_of_table(chunk, table)  # whoever made it died before it could say so
    values = study.sampling.values(first, stop)
    if study.prepared.in_processes is None:
        made = of_batch(first, *study.prepared.batch(values), study.finite, LOST)
        write_chunk(place, chunk, values, made)
    else:
        made = _one_by_one(study, place, chunk, values, condemned or {}, tell)
    return summary(chunk, made, time.monotonic() - begun)


def _one_by_one(
    study: Study,
    place: Place,
    chunk: int,
    values: Mapping[str, np.ndarray],
    condemned: Mapping[int, Record],
    tell: Callable[[str, int], None],
) -> Columns:
    first, stop = study.chunk_runs(chunk)
    journal = Journal(place, chunk)
    known = journal.records()
    try:
        for run in range(first, stop):
            if run in known:
                continue
            if run in condemned:
                known[run] = condemned[run]
            else:
                tell("start", run)
                known[run] = make_run(study, run, {name: x[run - first] for name, x in values.items()})
            journal.add(known[run])
            tell("end", run)
        made = of_records([known[run] for run in range(first, stop)])
        write_chunk(place, chunk, values, made)
        journal.clear()
    finally:
        journal.close()
    return made


def make_run(study: Study, run: int, values: Mapping[str, Any] | None = None) -> Record:
    """One run; whatever the user's code raises is kept with it."""
    from .sampling import plain_value

    own = study.sampling.run(run) if values is None else {name: plain_value(x) for name, x in values.items()}
    try:
        found = study.prepared.one(own, study.generator(run))
    except Exception as e:  # of the user's own code: the run has failed, and the study goes on
        text = traceback.format_exc()
        return Record(run, "failed", {}, type(e).__name__, _shortened(str(e)), _shortened(text))
    return _checked(Record(run, "done", found), study)


def _checked(record: Record, study: Study) -> Record:
    """A run with numbers that are not finite has failed, where the study asks for finite ones."""
    if study.finite:
        bad = [n for n, x in record.values.items() if not isinstance(x, str) and not np.isfinite(x).all()]
        if bad:
            return Record(record.run, "failed", record.values, "NotFinite", not_finite(bad))
    return record


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}\n…\n{text[-_LONGEST // 2 :]}"


def summary(chunk: int, made: Columns, seconds: float) -> Summary:
    """What is said of a chunk while the study runs."""
    out = Summary(chunk, len(made), dict(Counter(made.status)), seconds=seconds)
    done = np.array([status == "done" for status in made.status])
    for name, column in sorted(made.numbers.items()):
        x = np.array(column) if isinstance(column, np.ndarray) else _plain(column)
        if x.dtype.kind in "fiub":
            x = x[done].astype(float)
            x = x[np.isfinite(x)]
            out.sums[name] = (len(x), float(x.sum()), float((x * x).sum()))
    return out


def _plain(column: Sequence[Any]) -> np.ndarray:
    """A column of records; what is missing or a word counts as NaN."""
    return np.array([np.nan if x is None or isinstance(x, str) else float(x) for x in column])


def summary_of_table(chunk: int, table: Any) -> Summary:
    """The same of a chunk that is written."""
    names = [c for c in table.column_names if c.startswith(RESULT)]
    none: list[str | None] = [None] * len(table)
    numbers = {c.removeprefix(RESULT): table[c].to_pylist() for c in names}
    return summary(
        chunk, Columns(np.arange(len(table)), table["status"].to_pylist(), none, none, none, numbers, {}, {}), 0.0
    )


def left_to_do(study: Study, place: Place, damaged: Callable[[str], None]) -> list[int]:
    """Chunks that are not there, or whose files are not what was written; those are put aside by ``damaged``."""
    there = chunks_there(place)
    for chunk, name in list(there.items()):
        if chunk >= study.chunks or whole_chunk(place, name, study.chunk_runs(chunk)) is None:
            damaged(name)
            del there[chunk]
    return [c for c in range(study.chunks) if c not in there]
