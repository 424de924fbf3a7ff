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

COMPILERS = {"C": ("clang", "gcc"), "C++": ("clang++", "g++")}  # all that are there are tried
FAST = ["-O3", "-march=native", "-fPIC", "-shared"]

_PATIENCE = 900  # seconds


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


def build(compiler: str, source: str, flags: Iterable[str], suffix: str = ".so", depends: Iterable[str] = ()) -> Path:
    """Compile a text, once for each combination of text, flags and what it depends on."""
    program = shutil.which(compiler)
    if sys.platform == "win32":
        raise NotHere("what is compiled for this peer needs a Unix system")
    if program is None:
        raise NotHere(f"needs the compiler {compiler}")
    flags = list(flags)
    name = hashlib.sha256("\0".join([_version(program), source, *flags, *depends]).encode()).hexdigest()[:32]
    target = build_folder() / f"{name}{suffix}"
    if target.exists():
        return target
    with tempfile.TemporaryDirectory(dir=build_folder()) as folder:
        text = Path(folder, "source.cpp" if compiler.endswith("++") else "source.c")
        text.write_text(source, encoding="utf-8")
        made = Path(folder, "made")
        run([program, str(text), "-o", str(made), *flags])
        made.replace(target)
    return target


def run(command: list[str], **options: Any) -> str:
    """Run a program; its last words become the reason where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False, **options)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["?"]
        raise NotHere(f"{Path(command[0]).name} failed: {errors[0][:200]}")
    said: str = done.stdout
    return said


def quickest(language: str, prepare: Callable[[str], Work]) -> Work:
    """The quickest of what the compilers of a language make, named by its compiler."""
    ready: list[tuple[float, Work]] = []
    why: list[str] = []
    for compiler in COMPILERS[language]:
        try:
            work = prepare(compiler)
        except NotHere as e:
            why.append(str(e))
            continue
        ready.append((_least_seconds(work.run), replace(work, how=compiler)))
    if not ready:
        raise NotHere("; ".join(why))
    return min(ready, key=lambda found: found[0])[1]


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
    robot: Robot, case: Case, arguments: list[np.ndarray], layout: Layout, call: Callable[..., Any], *more: np.ndarray
) -> Work:
    """A C function of (number of states, addresses of the arguments, of ``more``, of the result).

    Matrices are column-major. Symmetric ones may be filled in their upper triangle only; of a linearisation there are
    three, the symmetric one first, then by v, then by q.
    """
    inputs = [*layout.arguments(case.function, arguments), *more]
    out = np.zeros((case.batch, *shape_of_result(robot, case)))
    where, n = pointers(*inputs, out), ctypes.c_long(case.batch)

    def run(keep: Any = inputs) -> None:
        call(n, *where)

    def result(_: None) -> np.ndarray:
        if out.ndim == 2:
            return layout.result(case.function, arguments, out)
        matrices = np.swapaxes(out, -1, -2)
        if out.ndim == 3:
            return layout.result(case.function, arguments, full(matrices))
        return layout.linearized(*np.moveaxis(matrices, 1, 0))

    return Work(run, result)


def shape_of_result(robot: Robot, case: Case) -> tuple[int, ...]:
    """Of one state: a vector, a matrix, or the three matrices of a linearisation."""
    if case.function.startswith("linearize"):
        return 3, robot.nv, robot.nv
    return (robot.nv, robot.nv) if case.function.startswith("mass_matrix") else (robot.nv,)


def pointers(*arrays: np.ndarray) -> list[ctypes.c_void_p]:
    """The addresses of C-contiguous arrays, which the caller keeps alive."""
    assert all(x.flags.c_contiguous and x.dtype == np.float64 for x in arrays)
    return [ctypes.c_void_p(x.ctypes.data) for x in arrays]
