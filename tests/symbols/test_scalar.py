"""The scalar program: folding, sharing, signs, exact counts, and evaluation as the oracle of all targets."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwise.symbols.operations import Operations
from linkwise.symbols.outputs import count, evaluate, reachable
from linkwise.symbols.scalar import Graph, Scalar


@pytest.fixture
def xyz():
    return Graph().inputs("x", 3)


def value(out, x):
    return evaluate([out], {"x": x})[0]


# --- folding -----------------------------------------------------------------------------------------


def test_zeros_and_ones_vanish(xyz):
    x, _, _ = xyz
    negative = -x
    for same in (
        x + 0,
        0 + x,
        x - 0,
        x * 1,
        1 * x,
        x / 1,
        x + 0.0,
        x * np.float64(1.0),
        +x,
        -negative,
        x + np.int64(0),
    ):
        assert same is x
    for zero in (x * 0, 0 * x, x - x, 0.0 * x, (-x) * 0, x + (-x), -x + x):
        assert zero == 0.0 and isinstance(zero, float)


def test_constants_fold(xyz):
    x, _, _ = xyz
    assert 2 * (3 * x) is 6 * x
    assert (x / 4) * 8 is 2 * x
    assert (-2 * x) * -3 is 6 * x
    assert 0.5 * (2 * x) is x
    assert count([2 * (3 * (4 * x))]) == Operations(multiplications=1)


def test_object_arrays_fold_too():
    """A rotation about z times a vector: the zeros and the one of the matrix cost nothing."""
    q = Graph().inputs("q", 4)
    c, s = np.cos(q[0]), np.sin(q[0])
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], dtype=object)
    y = R @ q[1:]
    assert y[2] is q[3]
    assert count(y) == Operations(additions=2, multiplications=4, sines=2)


# --- sharing -----------------------------------------------------------------------------------------


def test_equal_expressions_are_one(xyz):
    x, y, z = xyz
    assert x + y is y + x
    assert x * y is y * x
    assert (x + y) * z is z * (y + x)
    assert np.sin(x * y) is np.sin(y * x)
    assert x**2 is x * x
    assert 1 / x is 1.0 / x


def test_what_is_shared_is_counted_once(xyz):
    x, y, _ = xyz
    a = x * y
    assert count([a + 1.0, a + 2.0, a * a]) == Operations(additions=2, multiplications=2)


def test_what_no_output_needs_is_not_counted(xyz):
    x, y, z = xyz
    np.sin(z), z * z
    assert count([x + y]) == Operations(additions=1)
    assert count([]) == Operations() == count([1.0, 2.5])


def test_inputs_of_one_name_are_one_and_graphs_are_apart():
    graph, other = Graph(), Graph()
    assert graph.inputs("q", 2)[1] is graph.inputs("q", 2)[1]
    assert graph.inputs("q", 1)[0] is not graph.inputs("v", 1)[0]
    assert graph.inputs("q", 1)[0] is not other.inputs("q", 1)[0]


# --- signs -------------------------------------------------------------------------------------------


def test_signs_are_free_and_move_outward(xyz):
    x, y, _ = xyz
    assert (-x) * y is -(x * y)
    assert (-x) * (-y) is x * y
    assert (-3) * x is -(3 * x)
    assert x - y is -(y - x)
    assert x + (-y) is x - y
    assert (-x) + y is y - x
    assert (-x) - y is -(x + y)
    assert x - (-y) is x + y
    assert np.sin(-x) is -np.sin(x)
    assert np.cos(-x) is np.cos(x)
    assert 1 / (-x) is -(1 / x)
    assert x / (-y) is -(x / y)
    assert count([-x, -y]) == Operations()
    assert count([x - y, y - x]) == Operations(additions=1)


def test_numbers_less_symbols(xyz):
    x, _, _ = xyz
    assert value(3 - x, [1, 0, 0]) == 2
    assert value(x - 3, [1, 0, 0]) == -2
    assert value(-2.5 - x, [1, 0, 0]) == -3.5
    assert count([3 - x]) == Operations(additions=1)


# --- counts and evaluation ---------------------------------------------------------------------------


def test_kinds_of_operations(xyz):
    x, y, z = xyz
    program = [np.sqrt(x * y + z) / x, np.sin(x), np.cos(x), x - z]
    # x·y, + z, √, ÷x (a reciprocal and a product), sin, cos, x − z
    assert count(program) == Operations(additions=2, multiplications=2, divisions=1, roots=1, sines=2)
    assert count(program).total == 8


def test_powers_square_and_multiply(xyz):
    x, _, _ = xyz
    assert x**1 is x
    assert count([x**2]).multiplications == 1
    assert count([x**3]).multiplications == 2
    assert count([x**8]).multiplications == 3
    for n in range(1, 12):
        assert value(x**n, [1.3, 0, 0]) == pytest.approx(1.3**n, rel=1e-14)
    assert x**0 == 1.0
    for p in (-1, -3, 0.5, 1.5, -0.5):
        assert value(x**p, [1.3, 0, 0]) == pytest.approx(1.3**p, rel=1e-14)
    for p in (0.3, 1 / 3, 100, -40.5, x):  # by pow: so many multiplications would lose digits
        assert count([x**p]) == Operations(sines=1)
    assert value(x**100, [1.3, 0, 0]) == pytest.approx(1.3**100, rel=1e-15)
    assert value(2.0**x, [1.3, 0, 0]) == pytest.approx(2.0**1.3, rel=1e-15)
    with pytest.raises(TypeError):
        x ** "a"


def test_printing():
    assert str(Operations(3, 2, 1, 0, 4)) == "2 ×, 3 +, 1 ÷, 4 sin/cos"
    assert str(Operations()) == "none"
    assert repr(Graph().inputs("q", 2)[1]) == "q[1]"


def test_arguments_come_before_their_users(xyz):
    x, y, z = xyz
    out = np.sin(x * y) + np.cos(x * y + z) * (x + z)
    order = reachable([out, x + y])
    position = {id(node): i for i, node in enumerate(order)}
    assert len(position) == len(order)
    for node in order:
        for argument in node.args:
            if isinstance(argument, Scalar):
                assert position[id(argument)] < position[id(node)]


def test_deep_programs_do_not_recurse():
    x = Graph().inputs("x", 1)[0]
    out = x
    for _ in range(20_000):
        out = np.sin(out) + x
    assert count([out]) == Operations(additions=20_000, sines=20_000)
    assert math.isfinite(evaluate([out], {"x": [0.3]})[0])


def test_evaluation_takes_arrays_and_returns_constants(xyz):
    x, y, _ = xyz
    assert evaluate([x + y, 2.0, y], {"x": np.array([1.0, 2.0, 3.0])}) == [3.0, 2.0, 2.0]
    with pytest.raises(KeyError):
        evaluate([x], {"y": [1.0]})


def test_only_numbers_and_symbols_mix(xyz):
    x, _, _ = xyz
    for bad in (lambda: x + "a", lambda: x * None, lambda: x - [1], lambda: x / "a"):
        with pytest.raises(TypeError):
            bad()


# --- random programs ---------------------------------------------------------------------------------

_constants = st.sampled_from([0, 1, -1, 2, -2.5, 0.5, 0.0, 3])


def _grow(children):
    unary = st.tuples(st.sampled_from(["neg", "sin", "cos"]), children)
    binary = st.tuples(st.sampled_from(["+", "-", "*"]), children, children)
    return st.one_of(unary, binary)


_programs = st.recursive(st.one_of(st.sampled_from(["a", "b", "c"]), _constants), _grow, max_leaves=25)
_OPERATORS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}


def _build(program, names, sin, cos):
    if isinstance(program, str):
        return names[program]
    if not isinstance(program, tuple):
        return program
    parts = [_build(p, names, sin, cos) for p in program[1:]]
    functions = {**_OPERATORS, "neg": lambda a: -a, "sin": sin, "cos": cos}
    return functions[program[0]](*parts)


def _nodes(program):
    return 0 if not isinstance(program, tuple) else 1 + sum(map(_nodes, program[1:]))


def _rounding(program, numbers):
    """(size, error): a bound of a program's value, and of what rounding in any order can change."""
    if isinstance(program, str):
        return abs(numbers[program]), 0.0
    if not isinstance(program, tuple):
        return abs(program), 0.0
    parts = [_rounding(p, numbers) for p in program[1:]]
    (a, da), (b, db) = parts[0], parts[-1]
    if program[0] in "+-":
        return a + b, da + db + 1e-15 * (a + b)
    if program[0] == "*":
        return a * b, a * db + b * da + da * db + 1e-15 * a * b
    return (a, da) if program[0] == "neg" else (1.0, da + 1e-15)


@given(_programs, st.tuples(*[st.floats(-2, 2)] * 3))
def test_random_programs_mean_what_they_say(program, numbers):
    """Folding, sharing and signs change the value by rounding only, and never add an operation."""

    def either(name):  # NumPy's function on symbols, math's on what has folded to a number
        return lambda a: getattr(np, name)(a) if isinstance(a, Scalar) else getattr(math, name)(a)

    named = dict(zip("abc", numbers))
    symbolic = _build(program, dict(zip("abc", Graph().inputs("x", 3))), either("sin"), either("cos"))
    found = evaluate([symbolic], {"x": numbers})[0]
    expected = _build(program, named, math.sin, math.cos)
    assert abs(found - expected) <= 2 * _rounding(program, named)[1]
    assert count([symbolic]).total <= _nodes(program)
