"""The runs of one chunk, made and written: as one batch of machine code, or one after another with a journal."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .journal import Journal
from .parts import Record, chunks_there, write_chunk
from .places import Place
from .sampling import plain_value
from .scenario_base import Ended
from .scenarios import LOST
from .together import BATCHES

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
    ways: dict[str, int] = field(default_factory=dict)  # how runs were made → how many


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
    first, stop = study.chunk_runs(chunk)
    values = study.sampling.values(first, stop)
    if study.prepared.in_processes is None:
        records, ways = _batch(study, first, values), {BATCHES: stop - first}
        write_chunk(place, chunk, values, records)
    else:
        records, ways = _one_by_one(study, place, chunk, values, condemned or {}, tell)
    return replace(summary(chunk, records, time.monotonic() - begun), ways=ways)


def _batch(study: Study, first: int, values: Mapping[str, np.ndarray]) -> list[Record]:
    found, sound = study.prepared.batch(values)
    records = []
    for i, good in enumerate(sound):
        own = {name: x[i] for name, x in found.items()}
        records.append(_checked(Record(first + i, "done", own), study) if good else _lost(first + i, own))
    return records


def _lost(run: int, own: dict[str, Any]) -> Record:
    return Record(run, "failed", own, "SimulationError", LOST)


def _one_by_one(
    study: Study,
    place: Place,
    chunk: int,
    values: Mapping[str, np.ndarray],
    condemned: Mapping[int, Record],
    tell: Callable[[str, int], None],
) -> tuple[list[Record], dict[str, int]]:
    first, stop = study.chunk_runs(chunk)
    journal = Journal(place, chunk)
    known = journal.records()
    ways: dict[str, int] = {}
    try:
        for run in [k for k in range(first, stop) if k in condemned and k not in known]:
            known[run] = condemned[run]
            journal.add(known[run])
        todo = [k for k in range(first, stop) if k not in known]
        own = ((k, {name: plain_value(x[k - first]) for name, x in values.items()}) for k in todo)
        for ended in study.prepared.each(own, study.generator, tell):
            known[ended.run] = _record(ended, study)
            journal.add(known[ended.run])
            for way in ended.ways:
                ways[way] = ways.get(way, 0) + 1
        records = [known[run] for run in range(first, stop)]
        write_chunk(place, chunk, values, records)
    finally:
        journal.close()
    journal.clear()
    return records, ways


def _record(ended: Ended, study: Study) -> Record:
    """What came of one run; what the user's code raised is kept with it."""
    e = ended.error
    if e is None:
        return _checked(Record(ended.run, "done", ended.values), study)
    text = "".join(traceback.format_exception(e))
    return Record(ended.run, "failed", {}, type(e).__name__, _shortened(str(e)), _shortened(text))


def _checked(record: Record, study: Study) -> Record:
    """A run with numbers that are not finite has failed, where the study asks for finite ones."""
    if study.finite:
        bad = [n for n, x in record.values.items() if not isinstance(x, str) and not np.isfinite(x).all()]
        if bad:
            said = f"{', '.join(bad)} not finite"
            return Record(record.run, "failed", record.values, "NotFinite", said)
    return record


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}\n…\n{text[-_LONGEST // 2 :]}"


def summary(chunk: int, records: list[Record], seconds: float) -> Summary:
    """What is said of a chunk while the study runs."""
    out = Summary(chunk, len(records), seconds=seconds)
    for r in records:
        out.statuses[r.status] = out.statuses.get(r.status, 0) + 1
    names = {n for r in records for n, x in r.values.items() if not isinstance(x, str) and np.ndim(x) == 0}
    for name in sorted(names):
        x = np.array([r.values[name] for r in records if r.status == "done" and name in r.values], dtype=float)
        x = x[np.isfinite(x)]
        out.sums[name] = (len(x), float(x.sum()), float((x * x).sum()))
    return out


def left_to_do(study: Study, place: Place, damaged: Callable[[str], None]) -> list[int]:
    """Chunks that are not there, or whose files are not what was written; those are put aside by ``damaged``."""
    from .parts import intact, series_of

    there = chunks_there(place)
    for chunk, name in list(there.items()):
        if chunk >= study.chunks or intact(place, name) is None:
            damaged(name)
            del there[chunk]
            continue
        series = series_of(_table(place, name))
        if series is not None and (not place.exists(series) or intact(place, series) is None):
            damaged(name)
            del there[chunk]
    return [c for c in range(study.chunks) if c not in there]


def _table(place: Place, name: str) -> Any:
    from .parts import MOST_BYTES, read_table

    return read_table(place, name, MOST_BYTES)
