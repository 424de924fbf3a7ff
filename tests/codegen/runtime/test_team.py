"""Threads in machine code that share a batch: every state once and rightly, whoever helps, and safe ends."""

import os
import subprocess
import sys
import threading
from functools import partial

import numpy as np
import pytest
from patience import PATIENCE

import linkwise as lw
from linkwise.codegen import thresholds
from linkwise.codegen.llvm import team as layout
from linkwise.codegen.program.trace import trace
from linkwise.codegen.runtime import team as teams
from linkwise.codegen.runtime.kernel import Kernel
from linkwise.codegen.runtime.threads import usable_cores

team = teams.team()
pytestmark = pytest.mark.skipif(team is None, reason="this system has no team")


@pytest.fixture(scope="module")
def kernel():
    return lw.load("double_pendulum").compile("forward_dynamics")


@pytest.fixture
def eager():
    """All batches of 64 states and more are shared."""
    usual = {name: team._word(name).value for name in ("least_awake", "least_asleep")}
    for name in usual:
        team._set(name, 1)
    yield
    for name, number in usual.items():
        team._set(name, number)


def states(n, seed=0, dtype=float):
    return np.random.default_rng(seed).normal(size=(3, n, 2)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_state_once_for_any_number_of_states_and_threads(kernel, dtype):
    for n in (2, 15, 16, 17, 63, 64, 65, 250, 1001):
        inputs = states(n, n, dtype)
        expected = kernel(*inputs, threads=1)
        for threads in (2, 3, 9):
            memory = np.full((n + 2, 2), np.nan, dtype)
            kernel(*inputs, out=memory[1:-1], threads=threads)
            assert np.array_equal(memory[1:-1], expected) and np.isnan(memory[[0, -1]]).all()
    assert team.workers >= 2


def test_every_way_in_is_shared(kernel, eager):
    method = partial(lw.load("double_pendulum").forward_dynamics, target="cpu")
    strided = np.random.default_rng(1).normal(size=(3, 4, 700)).transpose(0, 2, 1)[:, :, ::2]
    for inputs in (states(700), strided, (states(700)[0], *states(1)[1:])):
        expected = kernel(*inputs, threads=1)
        for call in (method, kernel, kernel.quick, lambda *x: kernel(*x, out=np.empty((700, 2)))):
            assert all(np.array_equal(call(*inputs), expected) for _ in range(3))


def test_a_call_ends_when_all_have_ended():
    """States of some microseconds, so that the last ones of a worker take a while."""
    kernel = lw.chain(40, seed=0).compile("mass_matrix", rolled=True)
    q = np.random.default_rng(0).normal(size=(64, 40))
    out = np.empty((64, 40, 40))
    for _ in range(100):
        out[...] = np.nan
        kernel(q, out=out, threads=2)
        assert np.isfinite(out[:, -1]).all()


def test_states_without_a_result_are_found_whoever_has_them():
    arm = lw.chain(3, seed=0)
    kernel = Kernel(trace(arm, lambda robot, q: robot.mass_solve(q, q), parameters=["inertial"], plain=True))
    own = np.tile(arm.inertial_parameters.ravel(), (500, 1))
    assert kernel.run((np.ones((500, 3)), own), threads=2)[1]
    for i in (3, 499):  # one is the caller's, one a worker's
        none = own.copy()
        none[i] = 0
        for _ in range(30):
            found, sound = kernel.run((np.ones((500, 3)), none), threads=2)
            assert not sound and np.isnan(found[i]).all() and np.isfinite(np.delete(found, i, 0)).all()


def test_several_callers_at_a_time(kernel, eager):
    """One has the team, the others do without."""
    expected = {i: kernel(*states(400 + i, i), threads=1) for i in range(4)}
    wrong = []

    def work(i):
        for _ in range(200):
            if not np.array_equal(kernel(*states(400 + i, i), threads=2), expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and all(team._word(name).value == 0 for name in ("busy", "open", "active"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_has_a_team_of_its_own(kernel):
    expected = kernel(*states(300), threads=2)
    child = os.fork()
    if child == 0:
        fine = team.workers == 0
        fine &= np.array_equal(kernel(*states(300), threads=2), expected) and team.workers == 1
        os._exit(0 if fine else 1)
    assert np.array_equal(kernel(*states(300), threads=2), expected)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


SCRIPT = """
import os
import numpy as np, linkwise as lw
from linkwise.codegen.runtime.team import team
kernel = lw.load("double_pendulum").compile("forward_dynamics")
x = np.zeros((3, 5000, 2))
if {one}:
    os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
for name in ("least_awake", "least_asleep"):
    team()._set(name, 1)
for _ in range(20):
    kernel(*x)
print(team().workers, len(os.listdir("/proc/self/task")))
kernel(*x, threads=3)
print(len({{frozenset(os.sched_getaffinity(int(i))) for i in os.listdir("/proc/self/task")}}))
if not {one}:
    os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
    kernel(*x, threads=3)
    print(len({{frozenset(os.sched_getaffinity(int(i))) for i in os.listdir("/proc/self/task")}}))
    slow = lw.chain(100, seed=0).compile("mass_matrix")
    for _ in range(100):  # workers on the caller's core, which it leaves to them in the end
        slow(np.zeros((64, 100)), threads=3)
"""


def test_affinity_is_honoured_and_processes_end_while_workers_look_for_work():
    def run(one):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-c", SCRIPT.format(one=one)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE)
        assert (done.returncode, done.stderr) == (0, "")
        return list(map(int, done.stdout.split()))

    workers, threads, *kinds = run(False)
    assert workers == min(usable_cores() - 1, layout.MOST_WORKERS) and threads == 1 + workers
    assert kinds == [1, 1]  # all are where the caller is, who asks for so many or does not
    assert run(True) == [0, 1, 1]


def test_little_work_is_not_shared(kernel):
    """Not before a pace is known, nor for a few states or microseconds, unless there is much of it."""
    memory = kernel.code(np.float64).entry_memory
    pace = type(memory.table)._type_.from_address(memory.pace_address)
    usual, calls = pace.value, team._word("seq").value

    def shared(picoseconds, n):
        pace.value, team._word("streak").value = picoseconds, -100
        before = team._word("seq").value
        kernel(*states(n))
        return team._word("seq").value > before

    assert not shared(0, 1000)
    assert not shared(10**9, thresholds.LEAST_STATES - 1)
    assert not shared(1000 * thresholds.SHARED_NANOSECONDS // 1000 - 1, 1000)
    assert shared(1000 * thresholds.WAKING_NANOSECONDS // 1000, 1000) == (usable_cores() > 1)
    most_cores = team._word("most_cores").value
    team._set("most_cores", 1)  # a container that may use one processor's time, of many processors
    assert not shared(10**9, 1000)
    team._set("most_cores", most_cores)
    pace.value = usual
    assert team._word("seq").value >= calls
