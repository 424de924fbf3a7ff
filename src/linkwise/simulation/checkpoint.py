"""Checkpoints: a long run that writes what it has so far, and goes on from there when it is started again.

The file names what the run depends on, each as a digest. A run that differs in any of it is refused: its first half
would be another motion's.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import FileError, InputError
from ..whole_files import refuse_unwritable, write_through
from .events import Crossing, Event
from .steppers import Task

FORMAT = "linkwise-checkpoint-1"
_SHARE = 0.05  # of the time, at most, that goes into writing


@dataclass(eq=False)
class Checkpoint:
    """Where a run is kept, how often [s], and what it depends on (name → digest)."""

    path: Path
    seconds: float
    depends_on: Mapping[str, str]
    _last: float = field(default_factory=time.monotonic)
    _cost: float = 0.0  # [s] of the last writing

    def restore(
        self, out: Sequence[Array], every: int, found: list[tuple[int, Crossing]], applied: list[Array] | None
    ) -> int:
        """Fill the rows that an earlier run has made; gives the number of its steps."""
        if not self.path.exists():
            return 0
        kept, about = self._read()
        self._refuse_other(about)
        done, rows = about["done"], about["done"] // every + 1
        if rows > out[0].shape[1]:
            raise InputError(
                f"the checkpoint {self.path} is {done} steps long, longer than asked for; ask for a longer duration, or"
                " delete it to start anew"
            )
        for x, name in zip(out, ("q", "w")):
            x[:, :rows] = kept[name]
        found += [(i, Crossing(name, when, (), kept[f"event{k}_q"], kept[f"event{k}_v"]))
                  for k, (i, name, when) in enumerate(about["events"])]  # fmt: skip
        if applied is not None:
            applied += list(kept["applied"])
        return done

    def keep_at_times(self, *state: Any) -> None:
        """Write the run so far if it is time to."""
        if time.monotonic() - self._last >= max(self.seconds, self._cost / _SHARE):
            self.keep(*state)

    def keep(
        self, out: Sequence[Array], done: int, every: int, found: Sequence[tuple[int, Crossing]], applied: Any
    ) -> None:
        """Write the run so far, whole or not at all."""
        begun = time.monotonic()
        rows = done // every + 1
        kept = {"q": out[0][:, :rows], "w": out[1][:, :rows]}
        for k, (_, c) in enumerate(found):
            kept |= {f"event{k}_q": c.q, f"event{k}_v": c.v}
        if applied is not None:
            kept["applied"] = np.stack(applied) if applied else np.empty((0, *out[1].shape[::2]))
        about = {
            "format": FORMAT,
            "done": done,
            "depends_on": dict(self.depends_on),
            "events": [[int(i), c.event, c.time] for i, c in found],
        }

        def write(part: Path) -> None:
            with open(part, "wb") as f:
                np.savez(f, about=np.array(json.dumps(about)), **kept)

        write_through(self.path, write)
        self._last = time.monotonic()
        self._cost = self._last - begun

    def _read(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        try:
            with np.load(self.path, allow_pickle=False) as z:
                kept = {k: z[k] for k in z.files}
            about = json.loads(str(kept.pop("about")))
            if about["format"] != FORMAT:
                raise ValueError("another format")
        except Exception as e:  # whatever a file that is none makes its readers raise
            raise FileError(
                f"{self.path} is no checkpoint of linkwise, or a damaged one ({type(e).__name__}); delete it, or name"
                " another file"
            ) from e
        return kept, about

    def _refuse_other(self, about: Mapping[str, Any]) -> None:
        before, now = about["depends_on"], self.depends_on
        other = [name for name in now if before.get(name) != now[name]]
        if other:
            raise InputError(
                f"the checkpoint {self.path} is of another run: {', '.join(other)} differ; delete it to start anew, or"
                " name another file"
            )


def checkpoint(
    path: str | os.PathLike[str], seconds: float, task: Task, every: int, start: Sequence[Array], tau: Any,
    events: Sequence[Event],
) -> Checkpoint:  # fmt: skip
    """The checkpoint of a run from flat states ``start`` = (q, w)."""
    if not (isinstance(seconds, (int, float)) and seconds >= 0):
        raise InputError(f"checkpoint_seconds must be a number that is not negative, got {seconds!r}")
    refuse_unwritable(path)
    # Where it lies must not change with the working directory of the program.
    return Checkpoint(Path(path).absolute(), seconds, _depends_on(task, every, start, tau, events))


def _depends_on(task: Task, every: int, start: Sequence[Array], tau: Any, events: Sequence[Event]) -> dict[str, str]:
    pushes = task.pushes
    return {
        "the robot": _digest(task.robot.fingerprint or pickle.dumps(task.robot, protocol=5)),
        "method, step or every": _digest(repr((task.method, task.step, every, task.hold))),
        "damping, friction or limits": _digest(repr(sorted(task.passive.to_plain().items()))),
        "the states at the start": _digest(start[0], start[1][:, : task.robot.nv]),
        "the table of joint forces": _digest(tau),
        "the controller": _function(task.law),
        "external forces": _digest(_function(pushes), None if pushes is None else pushes.numbers, repr(
            None if pushes is None else pushes.frames)),
        "parameters": _digest(*task.parameters, *task.parameters.values()),
        "events": _digest(repr([(e.name, e.stop, e.direction, e.tolerance) for e in events])),
    }  # fmt: skip


def _function(asked: Any) -> str:
    """What is known of a user's function: its program where it is compiled, else the code of its body."""
    if asked is None or asked.function is None:
        return ""
    if asked.kernel is not None:
        return _digest(asked.kernel.source)
    code = getattr(asked.function, "__code__", None) or getattr(type(asked.function).__call__, "__code__", None)
    return _digest("" if code is None else code.co_code, repr(getattr(code, "co_names", "")))


def _digest(*parts: Any) -> str:
    found = hashlib.sha256()
    for x in parts:
        if isinstance(x, np.ndarray):
            found.update(f"{x.dtype}{x.shape}".encode())
            x = np.ascontiguousarray(x).tobytes()
        found.update(x if isinstance(x, bytes) else repr(x).encode())
        found.update(b"\0")
    return found.hexdigest()[:24]
