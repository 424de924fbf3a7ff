"""How long the values of programs live: no longer than the programs, and without a search for garbage."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import linkwise as lw
from helpers.node_robots import stages
from linkwise.codegen import thresholds
from linkwise.codegen.llvm import assembled_block, assembly
from linkwise.codegen.llvm.sine_cosine import VectorType
from linkwise.codegen.pipeline import compile_job, method_job
from linkwise.codegen.program.derivative import vjp
from linkwise.codegen.program.trace import Program, trace
from linkwise.errors import LinkwiseError, UntraceableError
from linkwise.symbols import scalar


@pytest.fixture
def graphs(monkeypatch):
    """Weak references to all graphs that are made from here on."""
    found = []

    class Graph(scalar.Graph):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            found.append(weakref.ref(self))

    for module in ("linkwise.codegen.program.trace", "linkwise.codegen.rolled.program", "linkwise.symbols.scalar"):
        monkeypatch.setattr(f"{module}.Graph", Graph)
    return found


@pytest.fixture(autouse=True)
def no_search_for_garbage():
    gc.disable()
    yield
    gc.enable()


def left(graphs):
    """How many of them still have nodes."""
    return sum(graph() is not None and graph().count > 0 for graph in graphs)


def energy(robot, q, v):
    return robot.energy(q, v)


def called(kernel):
    found = kernel(*(np.full((2, n), 0.1) for n in kernel.signature.inputs.values()))
    return all(np.isfinite(x).all() for x in (found if isinstance(found, tuple) else (found,)))


def test_values_go_with_their_kernel(graphs, monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    kernel = lw.chain(3, seed=1).compile("forward_dynamics")
    assert kernel.operations.total > 0
    assert left(graphs) == 1 < len(graphs)  # of all frames that were tried, those that were taken
    del kernel
    assert left(graphs) == 0


@pytest.mark.parametrize("in_pieces", [False, True])
def test_kernels_that_were_called_go_too(in_pieces, graphs, monkeypatch, tmp_path):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    if in_pieces:
        monkeypatch.setenv("LINKWISE_ASSEMBLY", "0")
        monkeypatch.setattr(thresholds, "PIECES_FROM", 100)
        monkeypatch.setattr(thresholds, "PIECE", 150)
    for _ in range(2):  # made, and found on the disk
        kernel = lw.chain(3, seed=1).compile("forward_dynamics")
        assert called(kernel)
        assert kernel.program.length > 0
        same = weakref.ref(kernel)
        del kernel
        assert same() is None
        assert left(graphs) == 0 < len(graphs)


def test_steps_of_making_code_are_asked_for_once_and_kept_until_it_is_made(monkeypatch):
    made = []

    def assembled(code, *arguments):
        made.append(code)
        return assembly.assembled(code, *arguments)

    monkeypatch.setattr(assembled_block, "assembled", assembled)
    kernel = lw.chain(3, seed=1).compile("forward_dynamics")
    vector = VectorType("double", 8, assembled=True)
    kernel.ordered(vector)
    assert len(made) == 1
    texts = [kernel.ir(vector)]
    once = len(made)
    assert len({id(code) for code in made}) == once > 1
    texts.append(kernel.ir(vector))
    assert texts[0] == texts[1] and len(made) == 2 * once  # nothing is kept of what is made


@pytest.mark.parametrize("robot", [lambda: lw.chain(4, seed=1), lambda: stages(2)], ids=["bodies", "nodes"])
@pytest.mark.parametrize("name", ["forward_dynamics", "coriolis_matrix", "forward_dynamics_jvp"])
def test_loops_have_no_graph_once_they_are_recorded(name, robot, graphs, monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    kernel = compile_job(method_job(robot(), getattr(lw.Robot, name), None, {}, rolled=True))
    assert graphs and left(graphs) == 0
    assert called(kernel)
    parts = [weakref.ref(x) for x in (kernel, kernel.loops, kernel.loops.sweeps[0])]
    del kernel
    assert not any(x() for x in parts)


def test_programs_of_one_graph_keep_it_for_each_other(graphs):
    robot = lw.chain(2, seed=1)
    program = trace(robot, energy)
    gradient = vjp(program)
    state = {"q": [0.1, 0.2], "v": [0.3, 0.4]}
    expected = gradient.interpret(**state, **{n: [1.0] * k for n, k in gradient.inputs.items() if n not in state})
    del program
    again = vjp(gradient)  # more values, of a graph whose first program is gone
    assert again.length > gradient.length and np.isfinite(expected[0]).all()
    del again, gradient
    assert left(graphs) == 0


def test_what_cannot_be_traced_leaves_nothing(graphs):
    robot = lw.chain(2, seed=1)
    for fails in (lambda robot, q, v: float(energy(robot, q, v)[0]), energy):
        with pytest.raises(LinkwiseError):
            trace(robot, fails, most=3 if fails is energy else None)
    assert left(graphs) == 0


def test_a_symbol_of_a_program_that_is_gone_says_so():
    kept = []
    program = trace(lw.chain(2, seed=1), lambda robot, q: kept.append(q) or 2.0 * q)
    (q,) = kept
    assert (q[0] + q[1]).op == "add"
    del program
    product = q[0] * q[1]  # which NumPy's "@" must not see fail
    with pytest.raises(UntraceableError, match="a program that is not there any longer"):
        product + q[0]
    again = product * q[1]
    assert again is not product and again.args == (q[1], product)
    for results in (product, again):
        with pytest.raises(UntraceableError, match="a program that is not there any longer"):
            trace(lw.chain(2, seed=1), lambda robot, q, x=results: x, names=["q"])


def inverse_guarded():
    return trace(lw.chain(2, seed=1), lambda robot, q: robot.mass_matrix_inverse(q))


@pytest.mark.parametrize("is_gone", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda q, kept: kept,
        lambda q, kept: 1.0 * q + kept,
        lambda q, kept: q[0] * q[1] + q[0] * kept[1],  # which is not twice the first product
        lambda q, kept: np.stack([q, kept]),
    ],
    ids=["result", "sum", "product", "both"],
)
def test_symbols_of_other_programs_are_refused(function, is_gone):
    kept = []
    program = trace(lw.chain(2, seed=1), lambda robot, q: kept.append(q) or 2.0 * q)
    if is_gone:
        del program
    with pytest.raises(UntraceableError, match="symbols from one call to another"):
        trace(lw.chain(2, seed=1), lambda robot, q: function(q, kept[0]))


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda program: pickle.loads(pickle.dumps(program))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_hold_their_graph(again):
    guards, state = len(inverse_guarded().guards), {"q": [0.1, 0.2]}
    assert guards > 0
    for kept in (0, 1):
        program = inverse_guarded()
        other = vjp(program)  # of the same graph, of which a copy of one program has nothing
        both = [program, again(program)]
        expected = program.interpret(**state)
        del program, other
        del both[1 - kept]
        (one,) = both
        assert len(one.guards) == guards and vjp(one).length > one.length
        np.testing.assert_array_equal(one.interpret(**state), expected)
        last = weakref.ref(one.roots[0].graph)
        assert left([last]) == 1
        del one, both
        assert left([last]) == 0


def test_a_program_that_was_not_made_lets_nothing_go(monkeypatch):
    unraised = []
    monkeypatch.setattr("sys.unraisablehook", unraised.append)
    with pytest.raises(TypeError):
        Program(name="x")
    assert not unraised
