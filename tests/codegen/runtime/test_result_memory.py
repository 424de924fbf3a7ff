"""Memory of results that is used again: never while anybody can see it, and only so much of it."""

import ctypes
import gc
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

import linkwise as lw
from linkwise.codegen import thresholds
from linkwise.codegen.runtime import result_memory as pool

STATES = thresholds.POOLED_BYTES // 32  # whose mass matrices have so many bytes

memory = pool.result_memory()
pytestmark = [
    pytest.mark.skipif(memory is None, reason="this system has no pool"),
    pytest.mark.usefixtures("little_garbage"),
]


@pytest.fixture
def kernel():
    gc.collect()
    memory.flush()
    return lw.load("double_pendulum").compile("mass_matrix")


def states(seed, n=STATES):
    return np.random.default_rng(seed).normal(size=(n, 2))


def test_large_results_come_from_the_pool_and_small_ones_do_not(kernel):
    for call in (kernel, kernel.quick):
        assert get_handler_name(call(states(0))) == "linkwise"
        assert get_handler_name(call(states(0, 7))) != "linkwise"
    assert get_handler_name(np.empty(10**6)) != "linkwise"  # nobody else's arrays do


def test_a_result_is_an_array_like_any(kernel):
    x = kernel.quick(states(0))
    assert x.flags.owndata and x.base is None and x.flags.writeable and x.ctypes.data % 64 == 0
    expected = x.copy()
    assert np.array_equal(pickle.loads(pickle.dumps(x)), expected)
    x.resize((STATES + 50, 2, 2), refcheck=False)
    assert np.array_equal(x[:STATES], expected) and not x[STATES:].any()
    x.resize((5, 2, 2), refcheck=False)
    assert np.array_equal(x, expected[:5])


def test_memory_comes_back_when_the_last_view_goes_and_not_before(kernel):
    first = kernel.quick(states(0))
    where, view, expected = first.ctypes.data, first[3:, 0], first[3:, 0].copy()
    del first
    others = [kernel.quick(states(i)) for i in range(1, 4)]
    assert all(x.ctypes.data != where for x in others) and np.array_equal(view, expected)
    del view
    assert kernel.quick(states(9)).ctypes.data == where
    assert len({x.ctypes.data for x in others}) == 3


def test_held_results_stay_as_they_are(kernel):
    """Many results, let go in every order, of several sizes: none is ever changed by a later one."""
    rng = np.random.default_rng(1)
    held = []
    for i in range(60):
        q = states(i, STATES + int(rng.integers(0, 3)) * STATES // 2)
        call = kernel.quick if i % 2 else kernel
        held.append((call(q), q))
        if rng.random() < 0.6:
            del held[rng.integers(len(held))]
    for result, q in held:
        assert np.array_equal(result, kernel(q, out=np.empty(result.shape)))


@pytest.fixture
def bounds():
    """Sets the pool's bounds, and puts them back."""
    usual = memory.limit, memory.most

    def set_to(limit, most):
        memory.words[pool.P["limit"]], memory.words[pool.P["most"]] = limit, most

    yield set_to
    set_to(*usual)
    memory.flush()


def test_the_pool_has_a_bound(kernel, bounds):
    size = kernel.quick(states(0)).nbytes
    bounds(4 * size, 4 * size)
    results = [kernel.quick(states(i)) for i in range(20)]
    assert memory.kept <= 4 * size
    del results
    assert size <= memory.kept <= 4 * size
    large = kernel.quick(states(0, 8 * STATES))
    kept = memory.kept
    del large  # larger than the bound by itself: back to the system
    assert memory.kept == kept
    memory.flush()
    assert memory.kept == 0


def loose():
    """Megabytes of this process that the system may take at any time."""
    with open("/proc/self/smaps_rollup") as f:
        return next((int(line.split()[1]) / 1000 for line in f if line.startswith("LazyFree")), 0.0)


@pytest.mark.skipif(sys.platform != "linux", reason="the system has no pages that it may take")
def test_beyond_the_bound_the_system_may_take_the_pages(kernel, bounds):
    size = kernel.quick(states(0, 8 * STATES)).nbytes  # 8 MB
    memory.flush()
    bounds(size // 2, 3 * size)
    first, before = kernel.quick(states(0, 8 * STATES)), loose()
    where = first.ctypes.data
    del first
    assert size <= memory.kept <= 3 * size and loose() >= before + 0.6 * size / 1e6
    again = kernel.quick(states(1, 8 * STATES))  # the same memory; what is written nobody may take now
    assert again.ctypes.data == where and memory.kept == 0
    assert loose() <= before + 0.25 * size / 1e6  # (behind the array)
    assert np.array_equal(again, kernel(states(1, 8 * STATES), out=np.empty(again.shape)))
    held = [kernel.quick(states(i, 8 * STATES)) for i in range(5)]
    del held, again
    assert size <= memory.kept <= 3 * size
    kept = memory.kept
    small = kernel.quick(states(0))
    del small  # is held fast, and lets what is kept loosely be
    assert memory.kept > kept
    small = [kernel.quick(states(i)) for i in range(5)]  # too small to be kept loosely: the bound is the tighter one
    del small
    assert memory.kept <= size // 2


def test_what_is_kept_is_given_back_where_memory_is_short(kernel):
    """The system refuses once, while something is kept; then always."""
    del_me = kernel.quick(states(0))
    del del_me
    assert memory.kept
    place, refused = pool.P["posix_memalign"], []
    usual = memory.words[place]
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)

    def refuse(where, alignment, size, most=1):
        refused.append(memory.kept)
        return kind(usual)(where, alignment, size) if len(refused) > most else 12

    for most in (1, 100):
        refused.clear()
        function = kind(lambda *given, most=most: refuse(*given, most=most))
        memory.words[place] = ctypes.cast(function, ctypes.c_void_p).value
        try:
            if most == 1:
                assert np.isfinite(kernel.quick(states(0, 2 * STATES))).all()
                assert refused[0] > 0 == refused[1]
            else:
                with pytest.raises(MemoryError):
                    kernel.quick(states(0, 4 * STATES))
        finally:
            memory.words[place] = usual


def test_threads_do_not_share_a_result(kernel):
    expected = {i: kernel(states(i), out=np.empty((STATES, 2, 2))) for i in range(4)}
    wrong = []

    def work(i):
        q = states(i)
        for _ in range(10):
            if not np.array_equal(kernel.quick(q), expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_has_a_pool_of_its_own(kernel):
    held = kernel.quick(states(0))
    expected = held.copy()
    child = os.fork()
    if child == 0:
        fine = np.array_equal(held, expected)
        for i in range(5):
            fine &= np.array_equal(kernel.quick(states(i)), kernel(states(i), out=np.empty((STATES, 2, 2))))
        os._exit(0 if fine else 1)
    again = kernel.quick(states(1))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.array_equal(held, expected) and np.array_equal(again, kernel(states(1), out=np.empty((STATES, 2, 2))))


@pytest.mark.parametrize(("megabytes", "said"), [("0", "default_allocator"), ("1", "linkwise"), ("many", "InputError")])
def test_users_choose(megabytes, said):
    script = (
        "import numpy as np, linkwise as lw\n"
        "from numpy._core.multiarray import get_handler_name as name\n"
        f"print(name(lw.load('double_pendulum').mass_matrix(np.zeros(({STATES}, 2)), target='cpu')))"
    )
    environment = os.environ | {"LINKWISE_POOL_MB": megabytes}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert said in done.stdout + done.stderr


def test_arrays_that_live_longer_than_all_modules_are_freed_as_they_should_be():
    """Threads and caches of other packages keep results to the very end; this once ended in a segmentation fault."""
    script = (
        "import gc, sys\n"
        "from linkwise.codegen.runtime import result_memory\n"
        "from numpy._core.multiarray import get_handler_name\n"
        "array = result_memory.result_memory().empty((1000,), float)\n"
        "vars(sys.modules.pop(result_memory.__name__)).clear()\n"  # as Python does in the end
        "vars(sys.modules['linkwise.codegen.runtime']).clear()\n"
        "del result_memory\n"
        "gc.collect()\n"
        "print(get_handler_name(array))\n"
        "del array\n"
    )
    environment = {**os.environ, "PYTHONMALLOC": "debug"}  # what was freed is overwritten
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "linkwise", "")
