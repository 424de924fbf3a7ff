"""Object code put into memory without LLVM: the same functions, and first calls that never load it."""

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest

import linkwise as lw
from linkwise.codegen.runtime import computer, engine
from linkwise.codegen.runtime.object_loader import LoadedObject, NotLoadableError, can_load

pytestmark = pytest.mark.skipif(not can_load(), reason="LLVM loads all code on this system")


@pytest.fixture(scope="module")
def object_code():
    """Of a kernel with sines, a table, and functions of libm."""
    robot = lw.load("double_pendulum")
    kernel = lw.compile(lambda robot, q: np.exp(robot.mass_matrix(q)[0]) + np.hypot(q[..., 0], q[..., 1]), robot)
    job = engine.code_job(kernel, np.float64, None)
    for step in (engine.order_values, engine.write_module, engine.assemble):
        step(job)
    return job


def run(linked, q, scratch):
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(
        linked.address("lw_kernel")
    )
    out = np.empty_like(q)
    table = np.array([q.ctypes.data, *q.strides, out.ctypes.data, *out.strides])
    memory = np.empty(scratch + 64, np.uint8)
    assert call(len(q), table.ctypes.data, memory.ctypes.data + -memory.ctypes.data % 64) == 0
    return out


def test_the_same_as_by_llvm(object_code):
    q = np.random.default_rng(0).normal(size=(37, 2))
    q[5] = 1e9  # a sine that libm gives
    ours, llvms = LoadedObject(object_code.object_code), engine.LoadedByLlvm(object_code.object_code)
    scratch = engine._loaded("", object_code.object_code, object_code.vector, from_cache=False).scratch_bytes
    assert np.array_equal(run(ours, q, scratch), run(llvms, q, scratch))
    assert ours.address("lw_kernel") % 16 == 0 and ours.address("nothing of the kind") == 0
    for name in ("lw_kernel", "lw_objects", "lw_one", "lw_scratch_bytes"):
        assert (ours.address(name) == 0) == (llvms.address(name) == 0)


def test_what_it_does_not_know_is_left_to_llvm(object_code):
    whole = object_code.object_code
    with pytest.raises(NotLoadableError):
        LoadedObject(b"\x7fELF\x01" + whole[5:])
    at = whole.index(b"sincos\0")
    with pytest.raises(NotLoadableError, match="relocation"):
        LoadedObject(whole[:at] + b"zzncos" + whole[at + 6 :])  # a function that nobody has
    assert engine._linked(whole).address("lw_kernel")


def test_code_is_not_writable(object_code):
    linked = LoadedObject(object_code.object_code)
    with open("/proc/self/maps") as f:
        ranges = [line.split()[:2] for line in f]
    at = linked.address("lw_kernel")
    (found,) = [mode for area, mode in ranges if int(area.split("-")[0], 16) <= at < int(area.split("-")[1], 16)]
    assert found == "r-xp"


def test_a_process_that_finds_its_code_does_not_load_llvm(tmp_path):
    script = (
        "import sys, numpy as np, linkwise as lw\n"
        "q = np.ones((5, 2))\n"
        "found = lw.load('double_pendulum').forward_dynamics(q, q, q, target='cpu')\n"
        "chain = lw.chain(60).inverse_dynamics(*np.ones((3, 60)), target='cpu')\n"
        "print('llvmlite' in sys.modules, found.sum(), chain.sum())\n"
    )
    environment = os.environ | {"LINKWISE_CACHE": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True
        ).stdout
        for _ in range(2)
    )
    assert first.startswith("True") and second.startswith("False") and first.split()[1:] == second.split()[1:]


def test_another_processor_is_another_computer(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    computer._known_by.cache_clear()
    assert computer.remembered() == {}
    computer.keep(cpu="one", version="1")
    assert computer.remembered() == {"cpu": "one", "version": "1"}
    monkeypatch.setattr(computer, "_CHANGING", (*computer._CHANGING, "flags"))  # as if it had none
    computer._known_by.cache_clear()
    assert computer.remembered() == {}
    monkeypatch.undo()
    computer._known_by.cache_clear()
