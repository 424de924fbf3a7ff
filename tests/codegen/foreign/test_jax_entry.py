"""Kernels that XLA calls without Python: results as by the handler in Python, and who works in them may go last."""

import ctypes
import gc
import pickle
import threading

import numpy as np
import pytest
from forked import answer_of_a_fork
from methods import CALLS, inputs
from trees import robot as made

import linkwise as lw
from linkwise.codegen.foreign import jax_calls, jax_entry, jax_frame
from linkwise.codegen.foreign.named import Named
from linkwise.codegen.llvm.xla_entry import M, R

jax = pytest.importorskip("jax")
if not hasattr(jax, "ffi") or not jax_entry.may_be():
    pytest.skip("this JAX, or this system, has no such handler", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("as_users_have_it", "jax_on_the_cpu")


class Counted:
    """The functions of programs, and how often Python's handler asked for one."""

    def __init__(self, functions):
        self.functions, self.calls = functions, 0

    def named(self, function):
        return self.functions.named(function)

    def __getitem__(self, token):
        self.calls += 1
        return self.functions[token]


@pytest.fixture
def python(monkeypatch):
    """How often Python's handler runs."""
    jax_calls._primitives()
    counted = Counted(jax_calls._IN_PROGRAMS)
    monkeypatch.setattr(jax_calls, "_IN_PROGRAMS", counted)
    return counted


@pytest.fixture
def entry():
    jax_calls._primitives()
    return jax_calls._entry


def states(robot, *batches, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng, batch=batches[0])
    return [np.asarray(x, dtype) for x in (q, *(rng.normal(size=(*b, robot.nv)) for b in batches[1:]))]


def leaves(result):
    return [np.asarray(x) for x in jax.tree_util.tree_leaves(result)]


def same(found, expected):
    found, expected = leaves(found), leaves(expected)
    return len(found) == len(expected) and all(
        a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True) for a, b in zip(found, expected)
    )


@pytest.fixture
def records(entry):
    """The records that came while the test runs, which is on robots of its own."""
    before = set(entry.records)
    return lambda: [record for key, record in entry.records.items() if key not in before]


ROBOTS = {
    "fixed": lambda: lw.chain(2, seed=1),
    "floating": lambda: lw.random_tree(1, seed=3, floating=True, rotors=True),
    "spherical": lambda: lw.random_tree(1, seed=4, joints=["spherical"]),
}
# What JAX's arrays are not taken by, or what JAX traces itself.
NO_KERNEL = ("wrenches", "curvature", "operators", "conjugate_gradient")


@pytest.mark.filterwarnings("ignore::linkwise.SlowPathWarning")
@pytest.mark.parametrize("kind", ROBOTS)
def test_every_call_of_the_catalogue_is_numpys_bit_for_bit(kind, python):
    robot, compared = ROBOTS[kind](), 0
    x = inputs(robot, (33,))
    y = x.mapped(jax.numpy.asarray)
    for name, call in CALLS.items():
        if any(word in name for word in NO_KERNEL):
            continue
        try:
            expected = call.function(robot, x)
        except lw.LinkwiseError:  # no robot of this sort has it
            continue
        first = call.function(robot, y)
        seen = python.calls
        assert same(call.function(robot, y), expected) and same(first, expected), name
        assert python.calls == seen, f"{name} went through Python again"
        compared += 1
    assert compared > 60


@pytest.mark.parametrize("name", ["forward_dynamics", "mass_matrix"])
def test_robots_whose_code_has_loops(name, python):
    robot = lw.chain(46, seed=1)
    assert type(robot.compile("forward_dynamics")).__name__ == "RolledKernel"
    for dtype in (np.float64, np.float32):
        x = states(robot, (9,), (9,), (9,), dtype=dtype)[: 3 if name == "forward_dynamics" else 1]
        expected = getattr(robot, name)(*x)
        run = jax.jit(getattr(robot, name))
        assert same(run(*x), expected)
        seen = python.calls
        assert same(run(*x), expected) and python.calls == seen


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "batches",
    [
        [()] * 3,
        [(1,)] * 3,
        [(0,), (0,), (0,)],
        [(4097,)] * 3,
        [(2, 0)] * 3,
        [(2, 3)] * 3,
        [(5,), (1,), ()],
        [(2, 3), (3,), ()],
        [(2, 1), (1, 3), (1,)],
        [(1, 4, 1), (2, 1, 3), (4, 3)],
    ],
)
def test_batches_of_any_shape(batches, dtype, python):
    robot = lw.load("double_pendulum")
    x = states(robot, *batches, dtype=dtype)
    expected = robot.compile("forward_dynamics")(*x)
    run = jax.jit(robot.forward_dynamics)
    run(*[np.zeros((1, 2), dtype)] * 3)  # for which it is there
    seen = python.calls
    assert same(run(*x), expected) and python.calls == seen


def test_what_jax_makes_of_a_call(python):
    robot = lw.load("double_pendulum")
    x = [jax.numpy.asarray(a) for a in states(robot, (3,), (3,), (3,))]

    def effort(*x):
        return (robot.forward_dynamics(*x) ** 2).sum()

    def rolled(q, v, tau):
        def step(state, _):
            q, v = state
            v = v + 0.01 * robot.forward_dynamics(q, v, tau)
            return (q + 0.01 * v, v), None

        return jax.lax.scan(step, (q, v), None, length=20)[0][0]

    programs = {
        "grad": jax.grad(effort, (0, 1, 2)),
        "vmap": jax.vmap(robot.forward_dynamics, (0, None, 0)),
        "hessian": jax.vmap(jax.jacfwd(jax.jacrev(robot.forward_dynamics))),
        "scan": rolled,
        "grad of scan": jax.grad(lambda *x: rolled(*x).sum()),
    }
    for name, program in programs.items():
        run = jax.jit(program)
        first = run(*x)
        seen = python.calls
        assert same(run(*x), first) and python.calls == seen, name


def test_several_threads_at_once(records):
    robot = lw.chain(7, seed=82)
    run = jax.jit(robot.forward_dynamics)
    cases = [states(robot, (n,), (n,), (n,), seed=n) for n in (3, 257, 2049, 1000)]
    expected = [robot.forward_dynamics(*x) for x in cases]
    for x in cases:
        run(*x)
    wrong = []

    def work(k):
        for _ in range(30):
            if not same(run(*cases[k]), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(cases))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    (record,) = records()
    assert not record.at_work and not any(x.table[M["busy"]] for x in record._memories)


def test_a_call_whose_memories_are_taken_goes_through_python_and_there_is_one_more(records, python, monkeypatch):
    monkeypatch.setattr(jax_entry.os, "cpu_count", lambda: 2)
    robot = lw.chain(2, seed=83)
    x = states(robot, (5,), (5,), (5,))
    run, expected = jax.jit(robot.forward_dynamics), robot.forward_dynamics(*x)
    run(*x)
    (record,) = records()
    assert len(record._memories) == 1
    record._memories[0].table[M["busy"]] = 1
    seen = python.calls
    assert same(run(*x), expected) and python.calls == seen + 1 and len(record._memories) == 2
    assert same(run(*x), expected) and python.calls == seen + 1
    record._memories[1].table[M["busy"]] = 1
    assert same(run(*x), expected) and python.calls == seen + 2 and len(record._memories) == 2
    for memory in record._memories:
        memory.set_idle()


def test_states_that_are_singular_are_nan_and_their_neighbours_are_not(python):
    robot = lw.random_tree(1, seed=2, joints=["spherical"])
    q = np.tile(robot.random_configuration(np.random.default_rng(0)), (300, 1))
    run = jax.jit(robot.gravity_force)
    expected = run(q)
    q[137] = 0.0
    seen = python.calls
    found = np.asarray(run(q))
    assert python.calls == seen + 1  # which looks for the states in question
    assert np.isnan(found[137]).all() and same(np.delete(found, 137, 0), np.delete(expected, 137, 0))


def test_tiny_numbers_are_what_they_are(python):
    """XLA takes them for zero; a robot's kernel does not, by whichever handler, and XLA does so again afterwards."""
    robot = lw.load("panda")
    q, v = np.zeros((3, 7)), np.full((3, 7), 3e-310)
    run = jax.jit(lambda q, v: (robot.mass_times(q, v), v * 0.5))
    expected = robot.mass_times(q, v)
    assert expected.all()
    usual = np.asarray(jax.jit(lambda v: v * 0.5)(v))
    for _ in range(2):
        found, halves = run(q, v)
        assert same(found, expected) and same(halves, usual)


def test_systems_without_a_team_share_large_batches_through_python(records, python, monkeypatch):
    monkeypatch.setattr(jax_entry, "team", lambda: None)
    monkeypatch.setattr("linkwise.codegen.runtime.python_functions.usable_cores", lambda: 2)
    robot = lw.chain(2, seed=77)
    run = jax.jit(robot.forward_dynamics)
    run(*states(robot, (5,), (5,), (5,)))
    most = int(records()[0].words[R["most"]])
    for count, by_python in ((most, 0), (most + 1, 1)):
        x = states(robot, *[(count,)] * 3)
        run.lower(*x).compile()
        seen = python.calls
        assert same(run(*x), robot.forward_dynamics(*x)) and python.calls == seen + by_python


def test_equal_robots_and_pickled_ones(records, python):
    """They have one name; when the first is gone the next one's code is called."""
    robot = lw.chain(2, seed=78)
    twin = pickle.loads(pickle.dumps(robot))
    x = states(robot, (4,), (4,), (4,))
    expected = robot.forward_dynamics(*x)
    first, second = jax.jit(robot.forward_dynamics), jax.jit(twin.forward_dynamics)
    assert same(first(*x), expected) and same(second(*x), expected) and len(records()) == 1
    assert python.calls == 1


def test_records_go_with_their_functions(entry, records, monkeypatch):
    monkeypatch.setattr(jax_calls, "_IN_PROGRAMS", Named(1, ""))
    robot = lw.chain(2, seed=79)
    robot.compile("forward_dynamics")(*map(jax.numpy.asarray, states(robot, (4,), (4,), (4,))))
    (record,) = records()
    record.words[R["at_work"]] += 1  # as if a thread of XLA's were in it
    other = lw.chain(1, seed=80)
    del robot
    other.compile("gravity_force")(jax.numpy.zeros(1))
    gc.collect()
    assert record not in entry.records.values() and record in entry._leaving
    record.words[R["at_work"]] -= 1
    other.compile("mass_matrix")(jax.numpy.zeros(1))
    assert record not in entry._leaving


def test_what_xla_called_last_is_held_longest():
    called, made = {"a"}, {name: type("Function", (), {"token": name})() for name in "abcd"}
    named = Named(2, "", lambda token: token in called and not called.discard(token))
    for name in "abc":
        named.named(made[name])
    assert list(named._last) == ["a", "c"]
    named.named(made["d"])
    assert list(named._last) == ["c", "d"]
    called |= {"c", "d"}
    named.named(made["a"])
    assert list(named._last) == ["d", "a"]


def test_a_fork_has_none_of_the_threads(records):
    robot = lw.chain(2, seed=81)
    robot.compile("forward_dynamics")(*map(jax.numpy.asarray, states(robot, (4,), (4,), (4,))))
    (record,) = records()
    record.words[R["at_work"]] += 1
    record._memories[0].table[M["busy"]] = 1
    assert answer_of_a_fork(lambda: not record.at_work and not record._memories[0].table[M["busy"]])
    record.words[R["at_work"]] -= 1
    record._memories[0].set_idle()


def test_a_fork_can_take_the_locks_that_other_threads_had(records):
    held, done = threading.Event(), threading.Event()
    locks = [jax_calls._entry._lock, jax_calls._IN_PROGRAMS._lock]

    def hold():
        with locks[0], locks[1]:
            held.set()
            done.wait(10)

    other = threading.Thread(target=hold)
    other.start()
    assert held.wait(10)

    def both():
        return all(x._lock.acquire(timeout=2) for x in (jax_calls._entry, jax_calls._IN_PROGRAMS))

    assert answer_of_a_fork(both)
    done.set()
    other.join()


# --- frames by hand ----------------------------------------------------------------------------------------


class Buffer(ctypes.Structure):
    _fields_ = (
        *jax_frame._Head._fields_,
        ("kind", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.c_void_p),
    )


class ByHand:
    """The frame of a call, whose parts can be changed, and what the handler says of it."""

    def __init__(self, token, inputs, output):
        self.output, self.errors, self.keep = output, [], [inputs]
        self.buffers = [self._buffer(x) for x in (*inputs, output)]
        places = [ctypes.addressof(x) for x in self.buffers]
        text = ctypes.create_string_buffer(token.encode())
        self.span = (ctypes.c_int64 * 2)(ctypes.addressof(text), len(token))
        self.kinds = (ctypes.c_int32 * 1)(4)
        made = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(jax_frame._ErrorArguments))(self._error)
        self.api = jax_frame._Api(size=184)
        self.api.functions[0] = ctypes.cast(made, ctypes.c_void_p)
        self.frame = jax_frame._Frame(size=168, stage=3)
        self.frame.api = ctypes.pointer(self.api)
        n = len(inputs)
        self.frame.inputs = jax_frame._Buffers(size=40, count=n, items=self._words(places[:n]))
        self.frame.outputs = jax_frame._Buffers(size=40, count=1, items=self._words(places[n:]))
        spans = self._words([ctypes.addressof(self.span)])
        self.frame.attributes = jax_frame._Attributes(size=48, count=1, types=ctypes.addressof(self.kinds), items=spans)
        self.keep += [text, made]

    def _words(self, numbers):
        self.keep.append((ctypes.c_int64 * len(numbers))(*numbers))
        return ctypes.addressof(self.keep[-1])

    def _buffer(self, x):
        kind = 12 if x.dtype == np.float64 else 11
        return Buffer(48, None, kind, x.ctypes.data, x.ndim, self._words(x.shape))

    def _error(self, arguments):
        self.errors.append(arguments.contents.message.decode())
        return 1

    def dims(self, k):
        return (ctypes.c_int64 * self.buffers[k].rank).from_address(self.buffers[k].dims)

    def run(self, entry):
        self.output[...] = 0
        return entry.handler(ctypes.pointer(self.frame))


@pytest.fixture
def by_hand(entry):
    robot = made("chain6")
    x = states(robot, (5,), (5,), (5,))
    kernel = robot.compile("forward_dynamics")
    kernel(*map(jax.numpy.asarray, x))
    found = ByHand(kernel.as_function.token, [np.ascontiguousarray(a) for a in x], np.zeros((5, 6)))
    found.expected, found.kernel = kernel(*x), kernel
    return found


def test_a_frame_is_read_without_python(by_hand, entry, python):
    assert not by_hand.run(entry) and same(by_hand.output, by_hand.expected) and not python.calls


def test_a_frame_of_an_older_interface_or_a_newer_one_is_not_read(by_hand, entry, python):
    by_hand.frame.size = 160
    assert not by_hand.run(entry) and python.calls == 1
    by_hand.frame.size = 176
    by_hand.api.version.major = 1
    assert not by_hand.run(entry) and python.calls == 2
    by_hand.api.version.major, by_hand.api.version.minor = 0, 99
    assert not by_hand.run(entry) and python.calls == 2
    assert same(by_hand.output, by_hand.expected)


def test_batches_that_no_stride_goes_through_are_written_out_by_python(entry, python):
    robot = made("chain6")
    x = [np.ascontiguousarray(a) for a in states(robot, (2, 1), (2, 3), (3,))]
    kernel = robot.compile("forward_dynamics")
    kernel(*map(jax.numpy.asarray, x))
    frame = ByHand(kernel.as_function.token, x, np.zeros((2, 3, 6)))
    seen = python.calls
    assert not frame.run(entry) and same(frame.output, kernel(*x)) and python.calls == seen + 1


def test_names_are_compared_and_not_only_their_hashes(by_hand, entry, python):
    record = entry.records[by_hand.kernel.as_function.token, "float64"]
    first = record._name[0]
    record._name[0] = b"F"
    assert not by_hand.run(entry) and python.calls == 1
    record._name[0] = first
    assert not by_hand.run(entry) and python.calls == 1


def test_other_stages_and_questions_are_answered_by_python(by_hand, entry, python):
    by_hand.frame.stage = 1
    assert not by_hand.run(entry) and not by_hand.output.any()
    by_hand.frame.stage = 3
    metadata = jax_frame._Metadata()
    extension = jax_frame._Extension(type=1, metadata=ctypes.pointer(metadata))
    by_hand.frame.extension = ctypes.addressof(extension)
    for theirs, ours in (((0, 7), (0, 7)), ((1, 2), (0, 1))):
        by_hand.api.version.major, by_hand.api.version.minor = theirs
        metadata.traits = 9
        assert not by_hand.run(entry) and not by_hand.output.any()
        assert (metadata.version.major, metadata.version.minor) == ours and not metadata.traits
    assert not python.calls


def test_arrays_that_do_not_fit_are_an_error_in_words(by_hand, entry, python):
    for k, axis, wrong, words in ((0, 1, 5, "shape"), (1, 0, 4, "batch dimensions"), (3, 1, 7, "out must be")):
        right = by_hand.dims(k)[axis]
        by_hand.dims(k)[axis] = wrong
        assert by_hand.run(entry) and words in by_hand.errors[-1], (k, by_hand.errors)
        by_hand.dims(k)[axis] = right
    seen = python.calls
    by_hand.buffers[2].kind = 11
    by_hand.run(entry)
    assert python.calls == seen + 1
    by_hand.buffers[2].kind = 12
    by_hand.frame.inputs.count = 2
    assert by_hand.run(entry) and "takes 3 arrays" in by_hand.errors[-1]


def test_a_name_that_nobody_has_is_an_error_in_words(by_hand, entry):
    by_hand.span[1] -= 1
    assert by_hand.run(entry) and "forward_dynamics, is not there" in by_hand.errors[-1]
    by_hand.span[1] = 3
    assert by_hand.run(entry) and "for, is not there" in by_hand.errors[-1]
