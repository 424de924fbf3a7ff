"""What a container lets its processes have, as either version of control groups says it."""

import os
from math import inf

import pytest

from linkwise.codegen.runtime import allowance

pytestmark = pytest.mark.skipif(not hasattr(os, "sysconf"), reason="this system does not say what it has")

MEMORY, PROCESSORS = allowance.memory_allowed.__wrapped__, allowance.processors_allowed.__wrapped__
ALL = MEMORY()

CASES = {
    "nothing known": ({}, inf, inf),
    "version 2, no bound": ({"proc/self/cgroup": "0::/\n"}, inf, inf),
    "a container": (
        {"proc/self/cgroup": "0::/\n", "cpu.max": "150000 100000\n", "memory.max": "536870912\n"},
        2**29,
        2,
    ),
    "said to be unbounded": (
        {"proc/self/cgroup": "0::/\n", "cpu.max": "max 100000\n", "memory.max": "max\n"},
        inf,
        inf,
    ),
    "the group around it": (
        {
            "proc/self/cgroup": "0::/job/step\n",
            "job/step/memory.max": "max\n",
            "job/memory.max": "1000000\n",
            "job/step/cpu.max": "300000 100000\n",
            "job/cpu.max": "50000 100000\n",
        },
        10**6,
        1,
    ),
    "version 1": (
        {
            "proc/self/cgroup": "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n2:cpuset:/\n0::/\n",
            "memory/memory.limit_in_bytes": "2000000\n",  # a container's own group is where the host's begins
            "cpu,cpuacct/cpu.cfs_quota_us": "200000\n",
            "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        },
        2 * 10**6,
        2,
    ),
    "version 1, no bound": (
        {
            "proc/self/cgroup": "4:memory:/\n1:cpu:/\n",
            "memory/memory.limit_in_bytes": "9223372036854771712\n",
            "cpu/cpu.cfs_quota_us": "-1\n",
            "cpu/cpu.cfs_period_us": "100000\n",
        },
        inf,
        inf,
    ),
    "no sense": ({"proc/self/cgroup": "what?\n0::/\n", "cpu.max": "", "memory.max": "-3 x\n"}, inf, inf),
}


@pytest.mark.parametrize("case", CASES)
def test_what_control_groups_allow(tmp_path, case):
    files, memory, processors = CASES[case]
    for name, text in files.items():
        file = tmp_path / (name if name.startswith("proc/") else f"sys/fs/cgroup/{name}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert MEMORY(tmp_path) == min(memory, ALL)
    assert PROCESSORS(tmp_path) == (processors if processors < inf else allowance._MANY)


def test_the_limit_of_a_process_counts():
    resource = pytest.importorskip("resource")
    usual = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (ALL // 2, usual[1]))
    try:
        assert MEMORY() == ALL // 2
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, usual)
