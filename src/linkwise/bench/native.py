"""C and C++ compiled on this machine for peers that have no quick way to run a batch from Python."""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..codegen.runtime import disk_cache as cache
from ..interop.availability import NotHere
from ..interop.layout import Layout, full
from ..robot.robot import Robot
from .cases import Case
from .peer import Work

FAST = ["-O3", "-march=native", "-ffp-contract=fast", "-fPIC", "-shared"]

_PATIENCE = 600  # seconds of processor time for one build
_NEWEST_CLANG = 40  # versions are looked for downwards from here


def build_folder() -> Path:
    """Where what is built stays: beside the cached kernels, or a folder of this process where that cache is off."""
    kept = cache.folder()
    folder = kept / "bench" if kept is not None else _folder_of_this_process()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@lru_cache(maxsize=1)
def _folder_of_this_process() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="linkwise-bench-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def compilers(language: str) -> tuple[str, ...]:
    """Those of C or of C++ to try, if they are there: the newest clang, and gcc."""
    plus = {"C": "", "C++": "++"}[language]
    versions = (f"clang{plus}-{n}" for n in range(_NEWEST_CLANG, 13, -1))
    newest = next((name for name in versions if shutil.which(name)), f"clang{plus}")
    return newest, {"C": "gcc", "C++": "g++"}[language]


def build(compiler: str, source: str, flags: Iterable[str], suffix: str = ".so", depends: Iterable[str] = ()) -> Path:
    """Compile a text, once for each combination of text, flags and what it depends on.

    That it took too long is remembered too.
    """
    program = shutil.which(compiler)
    if sys.platform == "win32":
        raise NotHere("what is compiled for this peer needs a Unix system")
    if program is None:
        raise NotHere(f"needs the compiler {compiler}")
    flags = list(flags)
    name = hashlib.sha256("\0".join([_version(program), source, *flags, *depends]).encode()).hexdigest()[:32]
    target, too_long = (build_folder() / f"{name}{end}" for end in (suffix, ".too-long"))
    if target.exists():
        return target
    if too_long.exists():
        raise TooLong(too_long.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(dir=build_folder()) as folder:
        text = Path(folder, "source.cpp" if "++" in compiler else "source.c")
        text.write_text(source, encoding="utf-8")
        made = Path(folder, "made")
        try:
            run([program, str(text), "-o", str(made), *flags])
        except TooLong as e:
            too_long.write_text(str(e), encoding="utf-8")
            raise
        made.replace(target)
    return target


class TooLong(NotHere):
    """A program that was stopped after its share of processor time."""


def run(command: list[str], **options: Any) -> str:
    """Run a program; its last words become the reason where it fails."""
    limited = ["sh", "-c", f'ulimit -t {_PATIENCE}; exec "$0" "$@"', *command]  # compilers start others: each has it
    done = subprocess.run(limited, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        words = done.stderr
        if done.returncode in _KILLED or "signal 24" in words or "CPU time limit" in words or "Killed" in words:
            raise TooLong(f"{Path(command[0]).name} took more than {_PATIENCE} s of processor time")
        errors = [line for line in words.splitlines() if "error" in line] or words.splitlines() or ["?"]
        raise NotHere(f"{Path(command[0]).name} failed: {errors[0][:200]}")
    said: str = done.stdout
    return said


_KILLED = (-9, -24, 128 + 9, 128 + 24)  # by SIGKILL or SIGXCPU, as a parent or a shell sees it


def quickest(
    language: str, prepare: Callable[..., Work], ways: Iterable[str] = ("",), among: Iterable[str] | None = None
) -> Work:
    """The quickest of what the compilers of a language make, by all ways to go; named by compiler and way.

    ``among`` are those to ask where compiling takes long, of those that are there.
    """
    ready: list[tuple[float, Work]] = []
    why: list[str] = []
    for compiler in [c for c in among or () if shutil.which(c)] or compilers(language):
        for way, title in enumerate(ways):
            try:
                work = prepare(compiler, way)
            except NotHere as e:
                why.append(str(e))
                break
            how = f"{compiler}, {title}" if title else compiler
            ready.append((_least_seconds(work.run), replace(work, how=how)))
    if not ready:
        raise NotHere("; ".join(why))
    best = min(ready, key=lambda found: found[0])[1]
    too_long = [text for text in why if not text.startswith("needs the compiler")]
    return replace(best, how="; ".join([best.how, *too_long]))


def _least_seconds(call: Callable[[], Any]) -> float:
    """Of a few runs after the first."""
    call()
    found = []
    for _ in range(3):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


@lru_cache(maxsize=8)
def _version(program: str) -> str:
    """The compiler and the processor, for which -march=native differs."""
    return run([program, "--version"]) + run([program, "-march=native", "-E", "-dM", "-x", "c", os.devnull])


def over_states(
    robot: Robot,
    case: Case,
    arguments: list[np.ndarray],
    layout: Layout,
    call: Callable[..., Any],
    *more: np.ndarray,
    by_rows: Iterable[bool] = (False, False, False),
    copied: bool = True,
) -> Work:
    """A C function of (number of states, addresses of the arguments, of ``more``, of the result).

    Matrices are column-major but for those ``by_rows``. Symmetric ones may be filled in their upper triangle only; of a
    linearisation there are three, the symmetric one first, then by v, then by q. Where the result is not copied out
    when timed, its address is null then.
    """
    inputs = [*layout.arguments(case.function, arguments), *more]
    out = np.zeros((case.batch, *shape_of_result(robot, case.function)))
    where, n = pointers(*inputs, out), ctypes.c_long(case.batch)
    timed = where if copied else [*where[:-1], None]

    def run(keep: Any = inputs) -> None:
        call(n, *timed)

    def result(_: None) -> np.ndarray:
        call(n, *where)
        if case.function == "frame_poses":
            turned = out[..., :9].reshape(*out.shape[:2], 3, 3).swapaxes(-1, -2)
            return np.concatenate([turned.reshape(*out.shape[:2], 9), out[..., 9:]], axis=-1)
        if out.ndim == 2:
            return layout.result(case.function, arguments, out)
        parts = out if out.ndim == 4 else out[:, None]
        matrices = [x if rows else np.swapaxes(x, -1, -2) for x, rows in zip(np.moveaxis(parts, 1, 0), by_rows)]
        if out.ndim == 4:
            return layout.linearized(*matrices)
        symmetric = case.function.startswith("mass_matrix")
        return layout.result(case.function, arguments, full(matrices[0]) if symmetric else matrices[0])

    return Work(run, result)


def shape_of_result(robot: Robot, function: str) -> tuple[int, ...]:
    """Of one state, as it lies in memory: a vector, a matrix by columns, three of them, or twelve numbers a frame."""
    n = robot.nv
    if function.startswith("linearize"):
        return 3, n, n
    return {
        "mass_matrix": (n, n),
        "mass_matrix_inverse": (n, n),
        "coriolis_matrix": (n, n),
        "jacobian": (n, 6),
        "centroidal_matrix": (n, 6),
        "jacobian_dot_v": (6,),
        "operational_inertia": (6, 6),
        "frame_poses": (len(robot.frames), 12),
    }.get(function, (n,))


def pointers(*arrays: np.ndarray) -> list[ctypes.c_void_p]:
    """The addresses of C-contiguous arrays, which the caller keeps alive."""
    assert all(x.flags.c_contiguous and x.dtype == np.float64 for x in arrays)
    return [ctypes.c_void_p(x.ctypes.data) for x in arrays]
