"""Products of arrays of symbols: NumPy's own must not see one of entries fail, whatever happens."""

import ctypes
import random
import signal
import sys
import threading
import time
from fractions import Fraction

import numpy as np
import pytest

import linkwise as lw
from helpers.references import missing_references, symbols_held
from linkwise.codegen.pipeline import method_job, read_arguments
from linkwise.codegen.program.trace import trace
from linkwise.symbols import products, scalar
from linkwise.symbols.array import Symbols
from linkwise.symbols.products import matrix_product, signals_wait
from linkwise.symbols.scalar import Graph, TooLongError

SHAPES = [
    ((3, 4), (4, 2)),
    ((4,), (4, 2)),
    ((3, 4), (4,)),
    ((4,), (4,)),
    ((2, 3, 4), (4, 2)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 3)),
    ((3, 1), (1, 3)),
    ((3, 0), (0, 2)),
    ((0, 3), (3, 2)),
    ((0, 2, 3), (3, 2)),
]


def traced(robot, name, most=None):
    job = method_job(robot, getattr(type(robot), name), None, {})
    read_arguments(job)
    return trace(robot, job.call, job.name, job.lengths, job.arrays, plain=True, most=most)


# --- the fault, with NumPy alone -----------------------------------------------------------------------


class FailsError(Exception):
    """What an operation raises."""


class Entry:
    """Something with products and sums, of which the last fails."""

    left, made = 0, []

    def _made(self, *_):
        if not Entry.left:
            raise FailsError
        Entry.left -= 1
        found = Entry()
        Entry.made.append(found)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(found))  # so that one too few does not free it
        return found

    __mul__ = __add__ = _made


def references_lost(steps, product=np.matmul):
    """How many references the entries made by a product lack, when the operation after so many steps fails."""
    a, b = (np.array([[Entry(), Entry()], [Entry(), Entry()]]) for _ in range(2))
    Entry.left, Entry.made = steps, []
    with pytest.raises(FailsError):
        product(a, b)
    return sum(3 + 1 - sys.getrefcount(x) for x in Entry.made)  # of the list, of the loop, of the argument, and one


def test_numpy_gives_back_a_reference_too_many():
    """Where a product fails that is the first of an entry; should it no longer, then nothing here is needed."""
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        pytest.skip("a NumPy that may be mended: see whether it is")
    first_products = (3, 6, 9)  # each entry takes two products and a sum
    assert [steps for steps in range(12) if references_lost(steps)] == list(first_products)
    assert all(references_lost(steps) == 1 for steps in first_products)


def test_our_own_product_does_not():
    assert not any(references_lost(steps, matrix_product) for steps in range(12))


# --- programs that are too long ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["forward_dynamics", "mass_matrix_inverse", "linearize_inverse", "coriolis_matrix"])
def test_a_trace_that_ends_early_frees_nothing_that_is_used(name):
    robot, draw = lw.random_tree(4, seed=2), random.Random(1)
    with symbols_held() as held:
        traced(robot, name)
        whole = len(held)
        for _ in range(25):
            held.clear()
            with pytest.raises(TooLongError):
                traced(robot, name, most=draw.randrange(whole))
            assert not missing_references(held)


def test_values_are_counted_to_the_end():
    """Sums refuse what is too much; where none comes any more, the end of the trace does."""
    robot = lw.chain(2)

    def products_alone(robot, q):
        return q[0] * q[1] * q[0] * q[1]

    def call(most):
        return trace(robot, products_alone, most=most)

    most = 5  # two inputs, three products
    assert call(most).length == most
    with pytest.raises(TooLongError, match="more than 4 values"):
        call(4)
    x, y = Graph(2).inputs("x", 2)
    assert (x * y) * y is not None
    with pytest.raises(TooLongError, match="more than 2 values"):
        x + y


# --- products of a user's function ---------------------------------------------------------------------


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_products_are_those_of_numpy(left, right, rng):
    """The same values and shapes, and of symbols the same operations in the same order."""
    a, b = rng.normal(size=left).astype(object), rng.normal(size=right)
    expected, found = a @ b.astype(object), matrix_product(a, b)
    assert type(found) is type(expected) and np.shape(found) == np.shape(expected) and np.all(found == expected)
    graphs = Graph(), Graph()
    numpys, ours = (g.inputs("x", a.size).reshape(left) for g in graphs)
    numpys, ours = numpys @ b, ours.view(Symbols) @ b
    assert np.shape(ours) == np.shape(numpys)
    assert not np.ndim(ours) or type(ours) is Symbols
    same = [repr((x.op, x.args)) for x in _nodes(graphs[0])]
    assert [repr((x.op, x.args)) for x in _nodes(graphs[1])] == same


def _nodes(graph):
    return sorted([*graph._of_values.values(), *graph._others.values()], key=lambda x: x.serial)


@pytest.mark.parametrize(("left", "right"), [((3, 4), (3, 2)), ((), (3,)), ((2, 3, 4), (3, 4, 2))])
def test_shapes_that_do_not_fit_are_numpys_errors(left, right):
    a, b = np.zeros(left, dtype=object), np.zeros(right)
    messages = []
    for product in (np.matmul, matrix_product):
        with pytest.raises(ValueError) as e:
            product(a, b)
        messages.append(str(e.value))
    assert messages[0] == messages[1]


def test_entries_that_have_no_product_are_an_error_and_free_nothing():
    symbols = Graph().inputs("x", 4).reshape(2, 2).view(Symbols)
    odd = np.array([[1.0, None], [2.0, 3.0]], dtype=object)
    with symbols_held() as held:
        for product in (np.matmul, np.linalg.matmul, lambda a, b: np.matmul(a, b, out=np.empty((2, 2), dtype=object))):
            with pytest.raises(TypeError, match="unsupported operand"):
                product(symbols, odd)
        assert held and not missing_references(held)
    with pytest.raises(lw.UntraceableError, match="axes"):
        np.matmul(symbols, symbols, axes=[(-2, -1), (-2, -1), (-1, -2)])


@pytest.mark.parametrize("number", [1j, np.complex64(1), np.clongdouble(1)])
def test_what_has_no_product_does_not_reach_those_of_the_algorithms(number):
    """A function of the user hands it to the robot's methods, beside symbols; by name, it is refused before."""
    robot = lw.chain(3, seed=2)
    calls = {
        "v": lambda robot, q: robot.inverse_dynamics(q, np.full(3, number), q),
        "a": lambda robot, q: robot.inverse_dynamics(q, q, np.array([q[0], number, q[1]], dtype=object)),
        "tau": lambda robot, q: robot.forward_dynamics(q, q, np.full(3, number)),
        "x": lambda robot, q: robot.mass_times(q, np.full(3, number)),
        "external": lambda robot, q: robot.inverse_dynamics(q, q, q, external=np.full((3, 6), number)),
    }
    with symbols_held() as held:
        for name, call in calls.items():
            with pytest.raises(lw.UntraceableError, match=f"{name}.* holds numbers of type .*do not go with symbols"):
                lw.compile(call, robot)
        assert held and not missing_references(held)


@pytest.mark.parametrize("number", [np.longdouble(3) / 4, Fraction(3, 4)])
def test_numbers_of_other_kinds_meet_symbols_as_floats(number):
    robot, q = lw.chain(3, seed=2), np.array([0.1, 0.2, 0.3])

    def forces(robot, q):
        some = np.array([number, q[0], number], dtype=object)
        return robot.inverse_dynamics(q, np.array([number] * 3), some)

    expected = robot.inverse_dynamics(q, np.full(3, 0.75), np.array([0.75, q[0], 0.75]))
    assert np.allclose(lw.compile(forces, robot)(q), expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("sort", [np.longdouble, np.clongdouble])
def test_long_doubles_meet_symbols(sort):
    """Each asks the other for the product, and would for ever."""
    (x,), number = Graph().inputs("x", 1), sort(3) / sort(4)
    for call in (np.multiply, np.add, np.subtract):
        for pair in ((x, number), (number, x), (np.array([x]).view(Symbols), number), (np.full(2, number), x)):
            if sort is np.longdouble:
                assert np.shape(call(*pair)) in ((), (1,), (2,))
            else:
                with pytest.raises(TypeError):
                    call(*pair)


@pytest.mark.parametrize("odd", [1j, Fraction(1, 2), None, "text"])
def test_sums_of_products_name_what_has_none(odd):
    symbols = Graph().inputs("x", 4).reshape(2, 2).view(Symbols)
    row = np.array([odd, 1.0], dtype=object)
    for call in (np.dot, np.inner, lambda a, b: np.einsum("ij,j->i", a, b), lambda a, b: np.tensordot(a, b, 1)):
        with pytest.raises(lw.UntraceableError, match=f"takes symbols and real numbers, got {type(odd).__name__}"):
            call(symbols, row)


# --- signals -------------------------------------------------------------------------------------------


class AlarmError(Exception):
    """What the handler of an alarm raises."""


@pytest.fixture
def alarm():
    if not hasattr(signal, "setitimer"):
        pytest.skip("this system has no alarms")

    def handler(number, frame):
        raise AlarmError

    before = signal.signal(signal.SIGALRM, handler)
    yield handler
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_an_interrupted_trace_frees_nothing_that_is_used(alarm):
    """(Without waiting, one interrupt in seventeen does.)"""
    robot, draw = lw.load("panda"), random.Random(1)
    traced(robot, "forward_dynamics")
    begun = time.perf_counter()
    traced(robot, "forward_dynamics")
    takes = time.perf_counter() - begun
    interrupted = attempts = 0
    with symbols_held() as held:
        while interrupted < 60:
            attempts += 1
            assert attempts < 2000
            held.clear()
            try:
                signal.setitimer(signal.ITIMER_REAL, draw.uniform(0.05, 0.8) * takes)
                traced(robot, "forward_dynamics")
                signal.setitimer(signal.ITIMER_REAL, 0)
            except AlarmError:
                interrupted += 1
            assert not missing_references(held)
            assert signal.getsignal(signal.SIGALRM) is alarm


def test_every_operation_is_seen_to_be_one():
    """From the frame of whatever runs in an operation, half-made symbols included, to its graph."""
    seen = []

    def watch(frame, event, _):
        if event == "call" and frame.f_code.co_filename == scalar.__file__:
            seen.append((frame.f_code.co_name, products._at_work(frame) is graph))

    graph = Graph()
    x, y, z = graph.inputs("x", 3)
    sys.setprofile(watch)
    try:
        np.array([[x, -y], [x < y, z]]) @ np.array([[y, 2.0], [z, -1.0]]) + np.sqrt(np.array([x * x + 1.0]))
    finally:
        sys.setprofile(None)
    names = {name for name, _ in seen}
    assert {"__mul__", "__add__", "of_pair", "_new", "__init__", "_scaled", "__neg__"} <= names
    assert not [name for name, is_found in seen if not is_found and name != "number"]
    assert products._at_work(sys._getframe()) is None


def test_handlers_are_called_once_by_the_next_sum(alarm):
    calls = []
    graph = Graph()
    x, y = graph.inputs("x", 2)
    graph.wait(lambda: calls.append(1))
    assert (x * y) * x is not None and not calls
    assert x + y is x + y and calls == [1]  # a new one, then one that is known
    assert x - y is not None and calls == [1]
    with pytest.raises(AlarmError):
        graph.wait(lambda: alarm(0, None))
        x + 2.0
    assert x + 2.0 is not None


def test_handlers_that_no_sum_calls_are_called_at_the_end(alarm):
    graph = Graph()
    x, y = graph.inputs("x", 2)
    with pytest.raises(AlarmError), signals_wait():
        waiting = signal.getsignal(signal.SIGALRM)
        frames = []
        sys.setprofile(lambda frame, event, _: frames.append(frame) if frame.f_code.co_name == "of_pair" else None)
        x * y
        sys.setprofile(None)
        waiting(signal.SIGALRM, frames[0])
        done = True
    assert done and signal.getsignal(signal.SIGALRM) is alarm


def test_handlers_between_operations_are_called_at_once_and_stay_as_they_were(alarm):
    with pytest.raises(AlarmError), signals_wait():
        signal.raise_signal(signal.SIGALRM)
        pytest.fail("it waits")
    assert signal.getsignal(signal.SIGALRM) is alarm
    with signals_wait():
        outer = signal.getsignal(signal.SIGALRM)
        with signals_wait():
            assert signal.getsignal(signal.SIGALRM) is outer
        assert signal.getsignal(signal.SIGALRM) is outer
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # what a user's function sets stays
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN


def test_other_threads_have_no_handlers(alarm):
    found = []

    def run():
        with signals_wait():
            found.append(signal.getsignal(signal.SIGALRM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [alarm]
