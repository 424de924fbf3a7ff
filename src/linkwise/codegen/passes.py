"""Named passes, run in order, each with what it did and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..progress import waiting
from .garbage import collection_paused


@dataclass(frozen=True)
class Pass:
    """One step on the way to a kernel. ``run`` gives what it did in a few words, or None where it had nothing to do."""

    name: str
    run: Callable[[Any], str | None]

    @property
    def about(self) -> str:
        """What it does, in a sentence."""
        return (self.run.__doc__ or "").partition("\n")[0]


@dataclass(frozen=True)
class Ran:
    """A pass that was run: what it did, and how long it took [s]."""

    name: str
    note: str
    seconds: float


class Journal(list[Ran]):
    """The passes that made a kernel, in the order in which they ran; prints as a table."""

    def __str__(self) -> str:
        width = max((len(x.name) for x in self), default=0)
        return "\n".join(f"{x.name:<{width}}  {1e3 * x.seconds:9.2f} ms  {x.note}" for x in self)


def run_passes(passes: Sequence[Pass], job: Any, journal: Journal, name: str) -> None:
    """Run the passes on a job until it is ``done``; who watches is told that ``name`` is being compiled."""
    with collection_paused(), waiting(f"compiling {name}"):
        for step in passes:
            if job.done:
                return
            begun = time.perf_counter()
            note = step.run(job)
            if note is not None:
                journal.append(Ran(step.name, note, time.perf_counter() - begun))
