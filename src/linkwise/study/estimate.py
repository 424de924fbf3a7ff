"""What a study will take: a few runs are made in a folder that goes away, and time and disk follow from them.

Two chunks of different sizes are made by one worker: what they differ by is what a run takes, the rest is what a chunk
or the start takes.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..simulation import cards
from . import engines
from .chunks import Summary
from .places import Place
from .results import open_study

if TYPE_CHECKING:
    from .study import Study

_TRIED = 4  # runs of a function that are made and timed first
_PATIENCE = 10.0  # [s] within which a whole chunk of them is made as well


@dataclass(frozen=True)
class Estimate:
    """Seconds and bytes that a study will take with ``workers``, from ``tried`` runs, of which ``failures`` say why."""

    tried: int
    failures: dict[str, int]
    workers: int
    start_seconds: float
    run_seconds: float
    seconds: float
    bytes: float


def estimated(study: Study, workers: int | None, device: str | None = None) -> Estimate:
    """Make a few runs, and say what all will take on this machine."""
    study = study.on(device)
    if device is not None:
        cards.card_at(device, "float64")
    if study.prepared.in_processes is None:
        return _from(study, study.chunk, workers)
    found = _from(study, min(_TRIED, study.chunk), workers, again=True)
    if study.chunk > 2 * _TRIED and found.run_seconds * study.chunk < _PATIENCE:
        found = _from(study, study.chunk, workers)  # what functions ask for may be made together: many are quicker
    return found


def _from(study: Study, timed: int, workers: int | None, again: bool = False) -> Estimate:
    """From a chunk of this many runs; the second one, where the first may still have something to compile."""
    from .study import Study

    trial = Study(
        study.robot, study.scenario, study.parameters, (2 if again else 1) * timed + 1, study.seed, study.keep,
        timeout=study.timeout, finite=study.finite, chunk=timed,
    ).on(study.device)  # fmt: skip
    made: list[Summary] = []
    with tempfile.TemporaryDirectory(prefix="linkwise-dry-run-") as name:
        place = Place.of(name)
        place = trial.begin(place)
        before = _size(name)
        begun = time.monotonic()
        last, *whole = reversed(range(trial.chunks))  # one worker: the single run goes before, as warm-up
        engines.run("local", trial, place, [last, *whole], made.append, 1, None)
        spent = time.monotonic() - begun
        failures = open_study(place).errors()
        single, several = (_size(name, f"{done.chunk:09d}") for done in (made[0], made[-1]))
    a_run = made[-1].seconds / timed
    start = max(0.0, spent - len(whole) * made[-1].seconds)
    run_bytes = max(0.0, several - single) / max(1, timed - 1)
    chunk_bytes = max(0.0, single - run_bytes)
    count = min(workers or engines.cores(), study.chunks)
    last = min(study.samples, -(-study.chunks // count) * study.chunk)  # runs of the worker that has most chunks
    busiest = max(study.samples / min(count, engines.cores()), last)  # workers beyond the cores take turns
    return Estimate(
        trial.samples,
        failures,
        count,
        start,
        a_run,
        start + a_run * busiest,
        before + study.chunks * chunk_bytes + study.samples * run_bytes,
    )


def _size(folder: str, chunk: str = "") -> float:
    """Of all that stays in a study's folder, or of one chunk's part of it. (Journals go with their chunks.)"""
    found = ((p.relative_to(folder).parts, p) for p in Path(folder).rglob("*") if p.is_file())
    mine = [p for parts, p in found if parts[0] != "journal" and any(x.startswith(chunk) for x in parts)]
    return float(sum(p.stat().st_size for p in mine))
