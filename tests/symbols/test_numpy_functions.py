"""NumPy's functions on symbols: compiled, they give what NumPy gives on numbers, NaN and infinities included."""

import queue
import threading

import numpy as np
import pytest
from numpy_samples import FUNCTION_SAMPLES, HABITS, PAIRS, USES, every_use
from scipy.spatial.transform import Rotation

import linkwise as lw
from linkwise.codegen.program.trace import trace
from linkwise.codegen.runtime.kernel import Kernel
from linkwise.symbols.functions import AS_NUMPY_DOES, FUNCTIONS
from linkwise.symbols.operations import Operations
from linkwise.symbols.outputs import count
from linkwise.symbols.scalar import Graph

SIX = lw.chain(6)
THREE = lw.chain(3)
STATES = np.array(
    [[0.31, -0.72, 0.93, 0.14, -0.25, 0.66], [-1.1, 0.4, 0.05, 2.2, 0.3, -0.6], [0.25, 0.35, 0.45, 0.55, 0.65, 0.75]]
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))


def known(samples):
    """Those that this NumPy has."""
    parts = {name: name.split(".")[1:] for name in samples}
    has = {name: hasattr(np if len(p) == 1 else getattr(np, p[0]), p[-1]) for name, p in parts.items()}
    return {name: f for name, f in samples.items() if has[name]}


def same(found, expected, digits):
    """Equal to a few units in the last place; NaN where NaN is."""
    expected = np.asarray(expected)
    with np.errstate(invalid="ignore"):
        near = np.abs(found - expected) <= digits * np.finfo(found.dtype).eps * np.maximum(np.abs(expected), 1e-3)
    return found.shape == expected.shape and ((found == expected) | near | (np.isnan(found) & np.isnan(expected))).all()


# --- functions of arrays -------------------------------------------------------------------------------


def test_every_function_of_the_tables_has_a_sample():
    assert set(FUNCTION_SAMPLES) == AS_NUMPY_DOES | set(FUNCTIONS)


def test_functions_of_arrays_as_numpy_has_them():
    samples = {**known(FUNCTION_SAMPLES), **{f.__name__: f for f in HABITS}}

    def everything(robot, q):
        results = {name: f(q) for name, f in samples.items()}
        shapes.update({name: np.shape(y) for name, y in results.items()})
        return np.concatenate([np.ravel(y) for y in results.values()])  # (one output compiles in a tenth of the time)

    shapes = {}
    kernel = Kernel(trace(SIX, everything))
    ends = np.cumsum([int(np.prod(s)) for s in shapes.values()])
    for dtype in (np.float64, np.float32):
        for x, found in zip(STATES.astype(dtype), kernel(STATES.astype(dtype))):
            for (name, f), y in zip(samples.items(), np.split(found, ends)):
                expected = f(x)
                assert shapes[name] == np.shape(expected), name
                assert same(y, np.ravel(expected), 200), (name, dtype, y, expected)


# --- functions of single numbers -----------------------------------------------------------------------


def on_numbers(f, states):
    with np.errstate(all="ignore"):
        return np.moveaxis(f(states), -1, 0)


def test_functions_of_single_numbers_as_numpy_has_them():
    kernel = Kernel(trace(THREE, every_use))
    for dtype in (np.float64, np.float32):
        states = PAIRS.astype(dtype)
        found = kernel(states)
        for name, f in USES.items():
            expected = on_numbers(f, states)
            if dtype == np.float32:  # (numbers that NumPy has in double precision there)
                expected = expected.astype(np.float32)
            assert same(found[name], expected, 8), (name, dtype)


def test_the_interpreter_means_the_same():
    program = trace(THREE, every_use)
    for x in PAIRS[::3]:
        found = program.interpret(q=x)
        for name, f in USES.items():
            assert same(found[name], on_numbers(f, x[None])[0], 8), (name, x)


def test_not_a_number_goes_where_it_goes_in_numpy():
    def extremes(robot, q):
        a, b = q[0], q[1]
        return np.stack([np.maximum(a, b), np.minimum(a, b), np.fmax(a, b), np.fmin(a, b), np.clip(a, b, 1.0)])

    kernel = lw.compile(extremes, THREE)
    for a, b in ((np.nan, 0.3), (0.3, np.nan)):
        found = kernel(np.array([a, b, 0.0]))
        assert np.isnan(found[[0, 1, 4]]).all() and (found[2:4] == 0.3).all()


# --- random compositions -------------------------------------------------------------------------------

UNARY = ("sin cos tanh arctan absolute sign square negative floor ceil rint trunc cbrt sinh cosh expm1 arcsinh exp2 "
         "deg2rad heaviside0 isfinite logical_not")  # fmt: skip
BINARY = ("add subtract multiply maximum minimum fmax fmin hypot arctan2 copysign less greater_equal logical_and "
          "logical_xor not_equal remainder where over")  # fmt: skip


def grown(rng, depth):
    """A random function of three vectors, as nested tuples; numbers stay small."""
    if depth == 0 or rng.random() < 0.1:
        return int(rng.integers(3)) if rng.random() < 0.8 else float(np.round(rng.normal(), 2))
    if rng.random() < 0.4:
        return (str(rng.choice(UNARY.split())), grown(rng, depth - 1))
    return (str(rng.choice(BINARY.split())), grown(rng, depth - 1), grown(rng, depth - 1))


def computed(tree, x):
    if isinstance(tree, int):
        return x[tree]
    if isinstance(tree, float):
        return tree
    name, *parts = tree
    a, *b = (computed(part, x) for part in parts)
    if name == "where":
        return np.where(a > b[0], b[0], a + 1.0)
    if name == "over":
        return np.divide(a, 1.5 + np.square(b[0]))
    if name == "heaviside0":
        return np.heaviside(a, 0.5)
    if name in ("remainder",):
        return np.remainder(a, 0.7 + np.absolute(b[0]))
    if name in ("subtract", "negative"):
        a = np.multiply(a, 1.0)  # truth values have no difference
    found = getattr(np, name)(np.tanh(a) * 2.0 if name in ("sinh", "cosh", "expm1", "exp2") else a, *b)
    return found if name in ("absolute",) else np.multiply(found, 1.0)


def test_random_compositions():
    rng = np.random.default_rng(7)
    trees = [grown(rng, 4) for _ in range(40)]

    def everything(robot, q):
        vectors = q.reshape(3, 2)
        return np.stack([np.broadcast_to(computed(tree, vectors), (2,)) for tree in trees])

    kernel = Kernel(trace(SIX, everything))
    states = rng.normal(size=(40, 6))
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-3)):
        found = kernel(states.astype(dtype))
        for tree, y in zip(trees, np.moveaxis(found, 1, 0)):
            vectors = np.moveaxis(states.astype(dtype).reshape(40, 3, 2), 1, 0)
            expected = np.broadcast_to(computed(tree, vectors), (40, 2))
            error = np.abs(y - expected) / (1 + np.abs(expected))
            jumps = 0 if dtype == np.float64 else 2  # (a rounding that decides a comparison the other way)
            assert (error > tolerance).sum() <= jumps, (tree, dtype, error.max())


# --- accuracy ------------------------------------------------------------------------------------------

RANGES = {
    "arcsin": (-1, 1), "arccos": (-1, 1), "arctanh": (-0.999, 0.999), "arccosh": (1.001, 50), "log": (1e-6, 50),
    "log2": (1e-6, 50), "log10": (1e-6, 50), "log1p": (-0.99, 50), "power": (1e-3, 20), "sqrt": (0, 50),
}  # fmt: skip
LIBM = """arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log2 log10 log1p cbrt power
hypot arctan2 fmod sin cos sqrt""".split()  # noqa: SIM905


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="long doubles are no longer than doubles here")
def test_functions_are_right_to_the_last_digits():
    """Within 2 units in the last place in double precision, and in single."""

    def everything(robot, q):
        return [getattr(np, name)(*q[3 * i : 3 * i + getattr(np, name).nin]) for i, name in enumerate(LIBM)]

    kernel = Kernel(trace(lw.chain(3 * len(LIBM)), everything))
    rng = np.random.default_rng(0)
    states = np.concatenate([rng.uniform(*RANGES.get(n, (-5, 5)), size=(4000, 3)) for n in LIBM], axis=1)
    for dtype in (np.float64, np.float32):
        x = states.astype(dtype)
        for i, (name, found) in enumerate(zip(LIBM, kernel(x))):
            function = getattr(np, name)
            exact = function(*(x[:, 3 * i + k].astype(np.longdouble) for k in range(function.nin)))
            units = np.abs(found - exact) / np.spacing(np.abs(exact).astype(dtype))
            assert units.max() <= 4.0, (name, dtype, float(units.max()))


# --- derivatives ---------------------------------------------------------------------------------------

SMOOTH = """add subtract multiply divide negative reciprocal square power sqrt cbrt sin cos tan arcsin arccos arctan
arctan2 hypot sinh cosh tanh arcsinh arccosh arctanh deg2rad exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2
absolute sign copysign heaviside floor rint fmod remainder maximum minimum fmax fmin clip isfinite""".split()  # noqa: SIM905


def test_derivatives_of_every_function():
    """Forward and reverse, against central differences in long double precision; choices and jumps away from kinks."""

    def everything(robot, q):
        return np.stack([y for name in SMOOTH for y in USES[name](_in_range(name, q)).reshape(-1)])

    def _in_range(name, q):
        return q * 1.0 + 1.5 if name == "arccosh" else q * 1.0

    states = np.array([[0.41, 0.77, 0.0], [0.83, 0.29, 0.0], [0.66, 0.55, 0.0]])
    kernel = Kernel(trace(THREE, everything))
    forward, backward = kernel.jvp(), kernel.vjp()
    jacobian = kernel.jacobian("q")(states)
    step = np.longdouble(2.0) ** -18
    for x, J in zip(states, jacobian):
        wide = x.astype(np.longdouble)
        for k in range(2):
            e = np.eye(3, dtype=np.longdouble)[k] * step
            slopes = (everything(None, wide + e) - everything(None, wide - e)) / (2 * step)
            assert np.allclose(J[:, k], slopes.astype(float), rtol=1e-8, atol=1e-8, equal_nan=True)
            assert np.allclose(forward(x, np.eye(3)[k]), J[:, k], rtol=1e-13, atol=1e-13)
        weights = np.linspace(-1, 1, len(J))
        assert np.allclose(backward(x, weights), weights @ J, rtol=1e-10, atol=1e-10)


def test_what_is_not_chosen_adds_nothing_to_a_derivative():
    def safe_root(robot, q):
        return np.where(q > 0.0, np.sqrt(np.abs(q)), 0.0) + np.where(q > 0.5, np.log(q), 0.0)

    kernel = lw.compile(safe_root, THREE)
    q = np.array([0.0, -1.0, 0.25])
    expected = np.diag([0.0, 0.0, 1.0])
    assert np.allclose(kernel.jacobian("q")(q), expected)
    assert np.allclose(kernel.vjp()(q, np.ones(3)), expected.sum(axis=0))


# --- what it costs, what cannot be done ----------------------------------------------------------------


def test_operation_counts():
    x, y, _ = Graph().inputs("x", 3)
    one = Operations(comparisons=1)
    assert count([abs(x)]) == count([np.copysign(x, y)]) == Operations()  # signs are free
    assert count([np.floor(x)]) == count([x < y]) == one
    assert count([np.maximum(x, 0.0)]) == count([np.where(x < y, x, y)]) == Operations(comparisons=2)
    assert count([np.clip(x, -1.0, 1.0)]) == Operations(comparisons=4)
    assert count([np.tanh(x), np.hypot(x, y)]) == Operations(sines=2)
    assert np.maximum(x, 0.0) is np.maximum(x, 0.0) and np.where(~(x < y), x, y) is np.where(x < y, y, x)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda robot, q: np.sort(q), "np.sort"),
        (lambda robot, q: np.argmax(q) * q, "np.argmax"),
        (lambda robot, q: np.linalg.eigvals(np.outer(q, q)), "np.linalg.eigvals"),
        (lambda robot, q: np.linalg.norm(np.outer(q, q), 2), "singular values"),
        (lambda robot, q: np.fft.fft(q), "fft"),
        (lambda robot, q: np.median(q), "np.median"),
        (lambda robot, q: np.nextafter(q, 1.0), "nextafter"),
        (lambda robot, q: np.nonzero(q)[0] * 1.0, "np.nonzero"),
        (lambda robot, q: np.where(q > 0)[0] * 1.0, "which entries are true"),
        (lambda robot, q: q[q > 0], "np.where"),
        (lambda robot, q: np.add(q, 1.0, where=q > 0), "where=mask"),
        (lambda robot, q: q.astype(np.float32), "astype"),
        (lambda robot, q: q.astype(int), "astype"),
        (lambda robot, q: np.sum(q, dtype=np.float32), "dtype"),
        (lambda robot, q: np.interp(q, q, [1.0, 2.0, 3.0]), "np.interp"),
        (lambda robot, q: np.add.at(q, [0], 1.0), "np.add"),
        (lambda robot, q: np.array([1.0, 2.0, 3.0]).__iadd__(q), "array of floats"),
        (lambda robot, q: q > 0, "truth values"),
        (lambda robot, q: q / 0.0, "number zero"),
        (lambda robot, q: sorted(q), "np.where"),
    ],
)
def test_what_cannot_be_traced_is_named(function, name):
    with pytest.raises(lw.UntraceableError, match=name):
        lw.compile(function, THREE)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.default_rng(3).normal(size=3),
        lambda: np.random.RandomState(3).rand(3),
        lambda: np.random.default_rng(3).choice([1.0, 2.0], size=np.empty(3).shape),
        lambda: Rotation.from_rotvec([0.1, 0.2, 0.3]).as_matrix()[0],
        lambda: np.zeros(3) + np.ones(3, np.double),
    ],
)
def test_compiled_extensions_get_arrays_of_floats(draw):
    """They fill what np.empty gives them without asking what it holds."""
    kernel = lw.compile(lambda robot, q: draw() + q, THREE)
    assert np.allclose(kernel(np.ones(3)), draw() + 1.0)


def test_numpy_is_put_back():
    names = ("array", "asarray", "asanyarray", "ascontiguousarray", "zeros", "ones", "empty", "full", "eye", "identity")
    before = {name: getattr(np, name) for name in names}
    elsewhere = queue.SimpleQueue()  # (a list would be a memory of the function, and put back)

    def looks_around(robot, q):
        def other():
            elsewhere.put([type(np.zeros(3)), np.array([1.0]).dtype])

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert np.zeros is not before["zeros"]
        return np.array([q[0], 0.0])

    def fails(robot, q):
        raise KeyError("own")

    lw.compile(looks_around, THREE)
    with pytest.raises(KeyError):
        lw.compile(fails, THREE)
    assert elsewhere.get() == [np.ndarray, np.dtype(float)]
    assert {name: getattr(np, name) for name in names} == before


def test_a_controller_written_for_numpy_compiles_as_it_stands(rng):
    robot = lw.load("panda")

    def controller(robot, q, v):
        q = np.asarray(q, dtype=float)
        error = np.array([0.1, -0.2, 0.3, -1.5, 0.0, 1.6, 0.8]) - q
        error = np.where(np.abs(error) < 0.05, 0.0, error)  # a dead zone
        tau = np.zeros(robot.nv)
        tau[:4] = 200.0 * error[:4]
        tau[4:] = np.array([50.0, 20.0, 10.0]) * np.tanh(error[4:])
        tau += robot.gravity_force(q) - 5.0 * v
        reach = np.linalg.norm(robot.pose(q, "panda_hand")[1])
        tau[np.abs(tau) < 1e-3] = 0.0
        return np.clip(tau, -87.0, 87.0) * (reach < 2.0)

    kernel = lw.compile(controller, robot)
    q, v = robot.random_configuration(rng, batch=50), rng.normal(size=(50, 7))
    expected = np.stack([controller(robot, a, b) for a, b in zip(q, v)])
    assert np.allclose(kernel(q, v), expected, rtol=1e-12, atol=1e-11)
