"""How much memory and how many processors this process may use: less than the computer has, in a container.

Containers and batch systems bound their processes by control groups, in one of two ways of writing them down, and
shells by limits of the process. The bounds are those at the first use.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from math import ceil
from pathlib import Path, PurePosixPath

_ROOT = Path("/")
_MANY = 1 << 62  # what stands for no bound, in version 1 too


@lru_cache(maxsize=1)
def memory_allowed(root: Path = _ROOT) -> int:
    """Bytes that this process may have: of the computer's, its control groups' and its own limits the least."""
    bounds = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), *_limits_of_the_process()]
    for folder, version in _groups("memory", root):
        bounds += _numbers(folder / ("memory.max" if version == 2 else "memory.limit_in_bytes"))
    return min(bounds)


@lru_cache(maxsize=1)
def processors_allowed(root: Path = _ROOT) -> int:
    """How many processors' time its control groups let it have, rounded up."""
    found = [_MANY]
    for folder, version in _groups("cpu", root):
        if version == 2:
            times = _numbers(folder / "cpu.max")
        else:
            times = _numbers(folder / "cpu.cfs_quota_us") + _numbers(folder / "cpu.cfs_period_us")
        if len(times) == 2:  # (no quota is "max" or −1, and no number here)
            found.append(max(1, ceil(times[0] / times[1])))
    return min(found)


def _limits_of_the_process() -> list[int]:
    try:
        import resource
    except ImportError:
        return []
    soft = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return [x for x in soft if x != resource.RLIM_INFINITY]


def _groups(controller: str, root: Path) -> Iterator[tuple[Path, int]]:
    """The folders of this process's control groups, each with the version of its files, and of those they are in.

    A container sees its own group where the path of another's begins: parents are looked at to the first.
    """
    mounted = root / "sys/fs/cgroup"
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0" and not controllers:
            places, version = [mounted, mounted / "unified"], 2
        elif controller in controllers.split(","):
            places, version = [mounted / controllers, mounted / controller], 1
        else:
            continue
        inside = PurePosixPath(path.lstrip("/"))
        for place in places:
            for part in (inside, *inside.parents):
                yield place / part, version


def _numbers(file: Path) -> list[int]:
    """The positive numbers in a file; none where there is none."""
    try:
        words = file.read_text().split()
    except OSError:
        return []
    return [int(x) for x in words if x.isdecimal() and int(x) > 0]
