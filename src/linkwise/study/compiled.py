"""Functions of (robot, parameters) that ask for no motion, as machine code: many runs at once, what is drawn as inputs.

A function is run on symbols once, as those that :func:`linkwise.compile` takes are. Where it decides by its numbers,
keeps something from call to call, writes its parameters as text or files, or calls what knows no symbols, it is called
in Python for each run, and the study says why. What was compiled is compared with the function itself at the first runs
of the study before it is believed. All of that follows from the study alone, so that every process finds the same.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import is_symbolic
from ..codegen.program.trace import trace
from ..codegen.runtime.disk_cache import folder as cache_folder
from ..codegen.runtime.kernel import Kernel
from ..codegen.thresholds import MOST_NODES
from ..errors import LinkwiseError, UntraceableError, refusals
from ..robot.robot import Robot
from ..simulation.trajectory import Trajectory
from ..symbols.function_memory import refusing_memory
from ..symbols.scalar import Scalar, text_refused
from .users_errors import RAISED, message_of

TRACING = -1  # in place of a run's number, while a function is looked at
DRAWN = "drawn"  # the name of what is drawn among the inputs
COMPARED = 8  # runs at which machine code is compared with its function
_AGREE = 1e-6  # of the largest number: how near they must be there

Given = Mapping[str, Any]
Called = Callable[[Robot, dict[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Compiled:
    """A function's machine code: inputs ``shapes`` by name, outputs ``names``, and what is the same in all runs."""

    kernel: Kernel
    shapes: Mapping[str, tuple[int, ...]]
    fixed: Given
    names: Sequence[str]
    constants: Given

    def takes(self, values: Given) -> bool:
        """Whether a run's parameters are such as those that were compiled."""
        return all(_is_real(values[name]) and np.shape(values[name]) == shape for name, shape in self.shapes.items())

    def run(self, values: Sequence[Given]) -> list[dict[str, Any] | None]:
        """What each of these runs gives; None where that is not finite, as where a matrix was singular: the function
        itself says what becomes of it."""
        rows = [np.concatenate([np.ravel(x[name]) for name in self.shapes]) for x in values]
        with np.errstate(all="ignore"):
            found = self.kernel.run([np.array(rows, dtype=float)], threads=1)[0]
        outputs = dict(zip(self.names, found))
        lost = np.any([~np.isfinite(x).reshape(len(values), -1).all(axis=1) for x in found], axis=0)
        return [None if lost[i] else {**self.constants, **{k: x[i] for k, x in outputs.items()}}
                for i in range(len(values))]  # fmt: skip


def compiled(
    robot: Robot, function: Called, user: Callable[..., Any], runs: Sequence[Given], varies: Sequence[str]
) -> Compiled | str:
    """``function``, which calls the ``user``'s, as machine code, or why it is none; ``runs`` are the parameters of
    the first ones, of which ``varies`` are drawn."""
    first = runs[0]
    whole = [name for name in varies if not _is_real(first[name])]
    if whole:
        return f"parameter {whole[0]!r} is no real number"
    if not varies:
        return "no number is drawn"
    shapes = {name: np.shape(first[name]) for name in varies}
    fixed = {name: x for name, x in first.items() if name not in shapes}
    names: list[str] = []
    constants: dict[str, Any] = {}

    def traced(robot: Robot, flat: np.ndarray) -> tuple[Any, ...]:
        given, start = dict(fixed), 0
        for name, shape in shapes.items():
            size = int(np.prod(shape, dtype=int))
            given[name] = flat[start : start + size].reshape(shape) if shape else flat[start]
            start += size
        found = function(robot, {name: given[name] for name in first})
        if any(isinstance(x, Trajectory) for x in found.values()):
            raise UntraceableError("it gives a motion")
        symbolic = {name: x for name, x in found.items() if isinstance(x, Scalar) or is_symbolic(np.asarray(x))}
        names[:] = symbolic
        constants.update({name: x for name, x in found.items() if name not in symbolic})
        return tuple(np.asarray(x, dtype=object) for x in symbolic.values())

    count = sum(int(np.prod(s, dtype=int)) for s in shapes.values())
    try:
        with refusing_memory(user), _refusing_deeds(), text_refused():
            program = trace(robot, traced, "scenario", {DRAWN: count}, (DRAWN,), most=4 * MOST_NODES)
    except UntraceableError as e:
        return e.reason
    except LinkwiseError as e:
        return f"it does not run on symbols: {_line(e)}"
    except RAISED as e:  # of the user's own code, which may know no symbols
        return f"it does not run on symbols: {type(e).__name__}: {_line(e)}"
    if not names:
        return "what it gives does not depend on what is drawn"
    if program.length > MOST_NODES:
        return f"its code would be longer than {MOST_NODES} values"
    made = Compiled(Kernel(program), shapes, fixed, tuple(names), constants)
    with refusals() as refused:  # a motion, of which the function may have made nothing and gone on
        agrees = _agrees(made, robot, function, runs)
    if refused:
        return refused[0].reason
    return made if agrees else "its machine code gives other numbers than it"


def _agrees(made: Compiled, robot: Robot, function: Called, runs: Sequence[Given]) -> bool:
    """Whether machine code gives what the function gives at these runs; at the first it must give numbers."""
    taken = [x for x in runs if made.takes(x)]
    for i, (run, found) in enumerate(zip(taken, made.run(taken))):
        if found is None and i > 0:
            continue  # the function itself is asked then
        try:
            wanted = function(robot, dict(run))
        except RAISED:  # of the user's own code: it fails there, and is left to do so
            return False
        if found is None or (list(found) != list(wanted) and set(found) != set(wanted)):
            return False
        if not all(_same(found[name], x) for name, x in wanted.items()):
            return False
    return True


def _same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, str) or isinstance(found, str):
        return bool(isinstance(wanted, str) and found == wanted)
    a, b = np.asarray(found), np.asarray(wanted)
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        return False
    scale = np.abs(b, where=np.isfinite(b), out=np.zeros(b.shape)).max(initial=1e-300)
    return bool(np.allclose(a, b, rtol=0.0, atol=_AGREE * scale, equal_nan=True))


def _is_real(x: Any) -> bool:
    """Whether it is a real number, or an array of them; whole numbers and words choose what is done."""
    return isinstance(x, (float, np.floating)) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")


def _line(e: BaseException) -> str:
    return " ".join(message_of(e).split())[:200]


# --- what a function does beside what it gives ---------------------------------------------------------------

_LOOKING = threading.local()
_DEEDS = ("subprocess.Popen", "os.system", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "socket.connect",
          "os.exec", "os.posix_spawn", "os.fork", "shutil.rmtree", "shutil.copyfile")  # fmt: skip


@contextmanager
def _refusing_deeds() -> Iterator[None]:
    """While a function runs on symbols in this thread: writing files and starting programs is refused by name, as that
    would be done once and not for each run."""
    if not getattr(_refusing_deeds, "hooked", False):
        sys.addaudithook(_heard)
        _refusing_deeds.hooked = True  # type: ignore[attr-defined]
    _LOOKING.on = True
    try:
        yield
    finally:
        _LOOKING.on = False


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if not getattr(_LOOKING, "on", False):
        return
    if event in _DEEDS:
        what = str(arguments[0]) if arguments else ""
        if not _is_ours(what):
            raise UntraceableError(f"it does more than to give numbers ({event} {what:.80})")
    elif event == "open":
        path, mode, flags = (*arguments, None, None, None)[:3]
        writes = (isinstance(mode, str) and any(c in mode for c in "wax+")) or (
            isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        )
        if writes and isinstance(path, (str, bytes, os.PathLike)) and not _is_ours(os.fsdecode(path)):
            raise UntraceableError(f"it writes a file ({os.fsdecode(path):.80})")


def _is_ours(path: str) -> bool:
    """Whether it is what linkwise or Python keep for themselves: machine code, and that of modules."""
    return path.startswith(str(cache_folder() or os.devnull)) or "__pycache__" in path or path == os.devnull
