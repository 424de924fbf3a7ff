"""Checkpoints: a long run that writes what it has so far, and goes on from there when it is started again.

The file names what the run depends on, each as a digest, and what the user's functions are made of. A run that differs
in any of it is refused: its first half would be another motion's.
"""

from __future__ import annotations

import json
import os
import pickle
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import as_numpy
from ..errors import FileError, InputError, SimulationWarning
from ..symbols.fingerprints import differences, digest, made_of
from ..whole_files import refuse_unwritable, write_through
from .events import Crossing, Watch
from .steppers import Task
from .user_functions import UserFunction

FORMAT = "linkwise-checkpoint-3"
_SHARE = 0.05  # of the time, at most, that goes into writing


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A file that receives a motion on its way, every so many ``seconds``, so that a killed run can go on."""

    path: str | os.PathLike[str]
    seconds: float = 60.0


@dataclass(eq=False)
class KeptRun:
    """Where a run is kept, how often [s], and what it depends on: name → digest, and name → parts of a function."""

    path: Path
    seconds: float
    depends_on: Mapping[str, str]
    functions: Mapping[str, Mapping[str, Any]]
    _last: float = field(default_factory=time.monotonic)
    _cost: float = 0.0  # [s] of the last writing

    def restore(
        self, out: Sequence[np.ndarray], every: int, found: list[tuple[int, Crossing]], applied: list[np.ndarray] | None
    ) -> int:
        """Fill the rows that an earlier run has made; gives the number of its steps."""
        if not self.path.exists():
            return 0
        kept, about = self._read()
        self._refuse_other(about)
        done: int = about["done"]
        rows = done // every + 1
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
        self, out: Sequence[np.ndarray], done: int, every: int, found: Sequence[tuple[int, Crossing]], applied: Any
    ) -> None:
        """Write the run so far, whole or not at all."""
        begun = time.monotonic()
        rows = done // every + 1
        kept: dict[str, Any] = {"q": out[0][:, :rows], "w": out[1][:, :rows]}
        for k, (_, c) in enumerate(found):
            kept |= {f"event{k}_q": c.q, f"event{k}_v": c.v}
        if applied is not None:
            kept["applied"] = np.stack(applied) if applied else np.empty((0, *out[1].shape[::2]))
        about = {
            "format": FORMAT,
            "done": done,
            "depends_on": dict(self.depends_on),
            "functions": dict(self.functions),
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
        other = [name for name in now if before.get(name, now[name]) != now[name]]  # earlier files have no target
        theirs = about["functions"]
        for what in sorted({*theirs, *self.functions}):
            other += _other(what, theirs.get(what), self.functions.get(what))
        if other:
            raise InputError(
                f"the checkpoint {self.path} is of another run: {', '.join(other)} differ; delete it to start anew, or"
                " name another file"
            )
        for what, one in self.functions.items():
            if one["unknown"] and one["program"] is None:
                warnings.warn(
                    f"going on from {self.path}: of {what}, {', '.join(one['unknown'])} cannot be compared with what"
                    " the first part of the motion was made with",
                    SimulationWarning,
                    stacklevel=2,
                )


def _other(what: str, before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> list[str]:
    """What differs between two functions; nothing where both are the same program, whatever that was made of."""
    if before is None or now is None:
        return [what]
    if before["program"] is not None and now["program"] is not None:
        if before["program"] == now["program"]:
            return []
        named = differences(before["parts"], now["parts"]) or ["its program"]
    else:
        named = differences(before["parts"], now["parts"])
    return [f"{what}: {name}" for name in named]


def kept_run(
    checkpoint: Any,
    task: Task,
    every: int,
    start: Sequence[np.ndarray],
    tau: Any,
    watches: Sequence[Watch],
    *,
    target: str,
) -> KeptRun:
    """The checkpoint of a run from flat states ``start`` = (q, w); ``checkpoint`` is a path or a Checkpoint."""
    given = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
    seconds = given.seconds
    if not isinstance(given.path, (str, os.PathLike)):
        raise InputError(f"checkpoint is the path of a file, or a lw.Checkpoint, got {given.path!r}")
    if isinstance(seconds, bool) or not (isinstance(seconds, (int, float)) and seconds >= 0):
        raise InputError(f"the seconds of a checkpoint must be a number that is not negative, got {seconds!r}")
    refuse_unwritable(given.path)
    # Where it lies must not change with the working directory of the program.
    path = Path(given.path).absolute()
    depends_on = _depends_on(task, every, start, tau, watches) | {"the target": digest(target)}
    return KeptRun(path, seconds, depends_on, _functions(task, watches))


def _depends_on(
    task: Task, every: int, start: Sequence[np.ndarray], tau: Any, watches: Sequence[Watch]
) -> dict[str, str]:
    external, events = task.external, [w.event for w in watches]
    frames = None if external is None or external.frames is None else [robot_frame(task, f) for f in external.frames]
    return {
        "the robot": digest(task.robot.fingerprint or pickle.dumps(task.robot, protocol=5)),
        "method, coordinates, step or every": digest((task.method, task.coordinates, task.step, every, task.hold)),
        "implicit": digest(task.implicit),
        "closing": digest(repr(task.closing)),
        "damping, friction or limits": digest(sorted(task.passive.to_plain().items())),
        "the states at the start": digest(start[0], start[1][:, : task.robot.nv]),
        "the table of joint forces": digest(tau),
        "external forces": digest(None if external is None else external.numbers, frames),
        "parameters": digest(*task.parameters, *task.parameters.values()),
        "events": digest([(e.name, e.stop, e.direction, e.tolerance) for e in events]),
    }


def robot_frame(task: Task, frame: Any) -> Any:
    """A frame by what it is, whether it was given by name or not."""
    body, pose = task.robot.frame(frame)
    return body, as_numpy(pose.R).tolist(), as_numpy(pose.l).tolist()


def _functions(task: Task, watches: Sequence[Watch]) -> dict[str, dict[str, Any]]:
    """What each of the user's functions is: its program where it is compiled in, and its parts."""
    asked: list[tuple[UserFunction | None, Any]] = [(w.asked, w.kernel) for w in watches]
    if task.controller is not None:
        asked.append((task.controller.asked, task.controller.kernel))
    if task.external is not None:
        asked.append((task.external.asked, task.external.kernel))
    if task.cost is not None:
        asked.append((task.cost.asked, task.cost.kernel))
    found = {}
    for function, kernel in asked:
        if function is not None:
            made = made_of(function.function)
            program = None if kernel is None else digest(kernel.source)
            found[function.what] = {"program": program, "parts": made.parts, "unknown": made.unknown}
    return found
