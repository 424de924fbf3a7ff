"""The machine a benchmark ran on, and how to stay on one of its cores."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import time
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import __version__
from ..codegen.runtime.engine import host

# Read by the libraries when they are first imported.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NPROC": "1",
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_X64": "1",
}
# What frax recommends for speed; XLA ends the process at a flag that it does not know.
_XLA_FLAGS = (
    ((0, 0), "--xla_cpu_multi_thread_eigen=false"),
    ((0, 10), "--xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"),
)


def machine(distributions: Iterable[str] = ()) -> dict[str, Any]:
    """Processor, cores, system, and the versions of what is installed of the given distributions."""
    return {
        "processor": _processor(),
        "llvm_name": host().cpu,
        "vector_bits": 8 * host().vector_bytes,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
        "versions": {name: v for name in sorted(set(distributions)) if (v := _version(name)) is not None},
    }


def describe(found: dict[str, Any]) -> str:
    """The same in a sentence or two."""
    versions = ", ".join(f"{k} {v}" for k, v in found["versions"].items())
    return (
        f"{found['processor']} ({found['llvm_name']}, {found['vector_bits']}-bit vectors, {found['cores']} cores),"
        f" {found['system']}, Python {found['python']}, {found['date']}. {versions}."
    )


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(distribution: str) -> str | None:
    if distribution == "linkwise":
        return __version__
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Keep this process, and every thread it starts, on its least busy core; tell libraries to use one thread."""
    wanted = ONE_THREAD | {"XLA_FLAGS": _xla_flags()}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update({name: value for name, value in wanted.items() if before[name] is None})
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if cores:
        os.sched_setaffinity(0, {_least_busy(cores)})
    try:
        yield
    finally:
        if cores:
            os.sched_setaffinity(0, cores)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


def _xla_flags() -> str:
    version = tuple(int(x) for x in re.findall(r"\d+", _version("jax") or "0")[:2])
    return " ".join(flag for since, flag in _XLA_FLAGS if version >= since)


def _least_busy(cores: set[int]) -> int:
    """The core that idles most over a quarter of a second."""

    def idle() -> dict[int, int]:
        lines = (line.split() for line in Path("/proc/stat").read_text().splitlines())
        return {int(x[0][3:]): int(x[4]) for x in lines if x[0].startswith("cpu") and x[0] != "cpu"}

    try:
        first = idle()
        time.sleep(0.25)
        second = idle()
    except OSError:
        return max(cores)
    return max(sorted(cores), key=lambda k: second.get(k, 0) - first.get(k, 0))
