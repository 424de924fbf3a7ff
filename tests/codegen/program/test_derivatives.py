"""Derivatives of programs against complex steps, finite differences and each other."""

import pickle

import numpy as np
import pytest
from kernel_calls import arguments

import linkwise as lw
from linkwise.codegen.program.derivative import jacobian
from linkwise.codegen.program.parameters import parameter_values


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))


def complex_step(f, args, index):
    columns = []
    for i in range(args[index].size):
        moved = [x.astype(complex) for x in args]
        moved[index][i] += 1e-30j
        columns.append(f(*moved).imag / 1e-30)
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("robot", [lw.load("panda"), lw.random_tree(4, seed=2, rotors=True)], ids=["panda", "tree"])
@pytest.mark.parametrize("wrt", ["q", "v", "tau"])
def test_jacobians_of_forward_dynamics(robot, wrt):
    args = arguments(robot, ("q", "v", "tau"), (), np.random.default_rng(0))
    found = robot.compile("forward_dynamics").jacobian(wrt)(*args)
    expected = complex_step(robot.forward_dynamics, args, ("q", "v", "tau").index(wrt))
    assert np.abs(found - expected).max() < 1e-10 * (1 + np.abs(expected).max())


def test_products_agree_with_the_jacobian():
    robot = lw.load("ur5")
    rng = np.random.default_rng(1)
    args = arguments(robot, ("q", "v", "a"), (5,), rng)
    directions = [rng.normal(size=x.shape) for x in args]
    weights = rng.normal(size=(5, 6))
    kernel = robot.compile("inverse_dynamics")
    matrices = [kernel.jacobian(k)(*args) for k in ("q", "v", "a")]
    along = sum((J @ d[..., None])[..., 0] for J, d in zip(matrices, directions))
    assert np.allclose(kernel.jvp()(*args, *directions), along, rtol=1e-10, atol=1e-10)
    for gradient, J in zip(kernel.vjp()(*args, weights), matrices, strict=True):
        assert np.allclose(gradient, (weights[:, None] @ J)[:, 0], rtol=1e-10, atol=1e-10)


def test_reverse_mode_is_chosen_for_few_outputs():
    robot = lw.load("panda")
    program = robot.compile("kinetic_energy").program
    by_v = jacobian(program, "v")
    assert by_v.shapes == ((7,),)
    # A gradient costs a small multiple of the function, not seven times as much.
    assert by_v.operations.total < 4 * program.operations.total
    q, v = arguments(robot, ("q", "v"), (), np.random.default_rng(2))
    found = robot.compile("kinetic_energy").jacobian("v")(q, v)
    assert np.allclose(found, robot.mass_times(q, v), rtol=1e-12, atol=1e-12)


def test_parameters_stay_inputs_and_have_derivatives():
    robot = lw.load("ur5")
    rng = np.random.default_rng(3)
    q, v, a = arguments(robot, ("q", "v", "a"), (), rng)
    kernel = robot.compile("inverse_dynamics", parameters=("inertial", "offsets"))
    inertial, offsets = (parameter_values(robot, kind) for kind in ("inertial", "offsets"))
    assert np.allclose(kernel(q, v, a, inertial, offsets), robot.inverse_dynamics(q, v, a), rtol=1e-12, atol=1e-12)

    heavier = inertial.reshape(-1, 10) * 1.1
    changed = robot.with_inertial_parameters(heavier)
    found = kernel(q, v, a, heavier.ravel(), offsets)
    assert np.allclose(found, changed.inverse_dynamics(q, v, a), rtol=1e-12, atol=1e-12)

    # Inverse dynamics is linear in the inertial parameters: T = Y p.
    regressor = kernel.jacobian("inertial")(q, v, a, inertial, offsets)
    assert np.allclose(regressor @ inertial, robot.inverse_dynamics(q, v, a), rtol=1e-11, atol=1e-11)
    by_offset = kernel.jacobian("offsets")(q, v, a, inertial, offsets)
    h = 1e-6
    moved = offsets + h * np.eye(offsets.size)[4]
    back = offsets - h * np.eye(offsets.size)[4]
    difference = (kernel(q, v, a, inertial, moved) - kernel(q, v, a, inertial, back)) / (2 * h)
    assert np.allclose(by_offset[:, 4], difference, rtol=1e-6, atol=1e-7)


def test_bad_requests_are_explained():
    robot = lw.load("ur5")
    with pytest.raises(lw.InputError, match="no input of mass_matrix is named 'x'; choose from q"):
        robot.compile("mass_matrix").jacobian("x")
    with pytest.raises(lw.InputError, match="choose from inertial, offsets"):
        robot.compile("mass_matrix", parameters=("colour",))


def test_a_branch_that_is_not_taken_adds_nothing_in_either_mode():
    from linkwise import arrays

    def smooth(robot, q):
        x = q[..., 0]
        small = arrays.less(x * x, 1e-12)
        return arrays.stack([arrays.where(small, 1.0 - x * x / 6.0, arrays.sin(x) / x)])

    kernel = lw.compile(smooth, lw.chain(1))
    for x in (0.0, 0.7):
        expected = 0.0 if x == 0 else np.cos(x) / x - np.sin(x) / x**2
        q = np.array([x])
        assert np.allclose(kernel.jacobian("q")(q), [[expected]])
        assert np.allclose(kernel.jvp()(q, np.ones(1)), [expected])
        assert np.allclose(kernel.vjp()(q, np.ones(1)), [expected])


def test_names_of_directions_and_weights_are_new():
    def product(robot, q, dq, w0):
        return q * dq + w0

    kernel = lw.compile(product, lw.chain(2), sizes={"w0": 2})
    rng = np.random.default_rng(0)
    q, dq, w, a, b, c = rng.normal(size=(6, 2))
    assert np.allclose(kernel.jvp()(q, dq, w, a, b, c), a * dq + q * b + c)
    assert np.allclose(kernel.vjp()(q, dq, w, a)[1], a * q)


def test_functions_beyond_the_catalogues():
    def many(robot, q):
        x, y = q[..., 0], q[..., 1]
        return np.stack(
            [np.tan(x), np.exp(y), abs(y), np.hypot(x, y), x**0.5, x**-2, x**2.0, np.log(x), np.arctan2(y, x)]
        )

    kernel = lw.compile(many, lw.chain(2))
    q = np.array([[0.7, -0.4], [1.3, 0.2], [0.1, 2.0]])
    for found, row in zip(kernel(q), q, strict=True):
        assert np.allclose(found, many(None, row), rtol=1e-14)
    steps = 1e-6 * np.eye(2)
    numeric = np.stack([(many(None, q[0] + h) - many(None, q[0] - h)) / 2e-6 for h in steps], axis=-1)
    assert np.allclose(kernel.jacobian("q")(q[0]), numeric, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    "function",
    [
        lambda robot, q: q if q[0] == 0 else 2 * q,
        lambda robot, q: q if q[0] > 0 else 2 * q,
        lambda robot, q: q / 0.0,
        lambda robot, q: np.linalg.eigh(np.outer(q, q))[0],
        lambda robot, q: np.sort(q),
    ],
)
def test_what_cannot_be_traced_is_said(function):
    with pytest.raises(lw.UntraceableError):
        lw.compile(function, lw.chain(2))


def test_gradients_are_the_same_to_the_last_digit_at_every_level(monkeypatch):
    """What is added up in which order follows from the program, not from how soon code is to be made of it."""
    found = []
    for level in ("0", "2"):
        monkeypatch.setenv("LINKWISE_LLVM_LEVEL", level)
        kernel = lw.chain(3, seed=1).compile("inverse_dynamics").vjp()
        given = np.random.default_rng(0).normal(size=(len(kernel.signature.inputs), 20, 3))
        found.append(kernel(*given))
    assert all(np.array_equal(x, y) for x, y in zip(*found, strict=True))


# --- the shape of weights ----------------------------------------------------------------------------------


def double(x):
    return np.asarray(x.detach().numpy() if hasattr(x, "detach") else x)


def libraries():
    torch = pytest.importorskip("torch", reason='PyTorch is not installed: pip install "linkwise[torch]"')
    jax = pytest.importorskip("jax")
    return {"numpy": np.asarray, "lists": np.ndarray.tolist, "torch": torch.tensor, "jax": jax.numpy.asarray}


@pytest.mark.parametrize("library", ["numpy", "lists", "torch", "jax"])
@pytest.mark.parametrize("batch", [(), (1,), (4,), (3, 1)])
def test_weights_have_the_shape_of_results(library, batch):
    """Of matrices, rows, numbers, several results; and in a row, as other inputs. A gradient is Σ weight · ∂output."""
    as_theirs = libraries()[library]
    robot, rng = lw.chain(2, seed=1), np.random.default_rng(0)
    q = rng.normal(size=(*batch, 2))
    functions = {
        "matrix": lambda robot, q: robot.mass_matrix(q),
        "row": lambda robot, q: robot.mass_matrix(q)[..., :1, :],
        "column": lambda robot, q: robot.mass_matrix(q)[..., :, :1],
        "number": lambda robot, q: robot.potential_energy(q),
        "several": lambda robot, q: (robot.mass_matrix(q), robot.gravity_force(q)),
    }
    for name, function in functions.items():
        kernel = lw.compile(function, robot)
        slopes = kernel.jacobian("q")(q)
        slopes = slopes if isinstance(slopes, tuple) else (slopes,)
        weights = [rng.normal(size=x.shape[:-1]) for x in slopes]
        flat = [(w[..., None] * x).reshape((*batch, -1, 2)).sum(axis=-2) for w, x in zip(weights, slopes)]
        rows = [w.reshape((*batch, -1)) for w in weights]
        for given in (weights, rows):
            found = double(kernel.vjp()(*map(as_theirs, (q, *given))))
            single = library == "jax" and found.dtype == np.float32
            limit = 1e-5 if single else 1e-11
            assert found.shape == q.shape and np.allclose(found, sum(flat), rtol=limit, atol=limit), name


def test_one_row_of_weights_for_all_states():
    robot = lw.chain(2, seed=1)
    kernel = robot.compile("mass_matrix")
    q, w = np.random.default_rng(0).normal(size=(5, 2)), np.arange(4.0).reshape(2, 2)
    expected = np.einsum("ij,bijk->bk", w, kernel.jacobian("q")(q))
    for weights in (w, w.ravel(), w[None], w.tolist()):
        assert np.allclose(kernel.vjp()(q, weights), expected, rtol=1e-12, atol=1e-12)
    second = kernel.vjp().vjp()  # whose weights are of q's gradient, and those before them as they were
    for weights in (w, w.ravel()):
        by_q, by_w = second(q, weights, np.ones(2))
        assert by_q.shape == (5, 2) and np.allclose(by_w, kernel.jvp()(q, np.ones((5, 2))).reshape(5, 4))
    with pytest.raises(lw.InputError, match=r"w0 must have shape \(\.\.\., 4\), got \(2, 3\)"):
        kernel.vjp()(q, np.ones((2, 3)))
    assert pickle.loads(pickle.dumps(kernel.vjp()))(q, w).shape == (5, 2)


@pytest.mark.parametrize("in_a_row", [False, True])
@pytest.mark.parametrize("library", libraries())
def test_derivatives_of_gradients_take_weights_of_that_shape_too(library, in_a_row):
    """Along directions of inputs and of weights, and by the inputs; beside the matrix's own second derivatives."""
    as_theirs = libraries()[library]
    kernel, rng = lw.chain(2, seed=1).compile("mass_matrix"), np.random.default_rng(0)
    (q, dq), (w, dw) = rng.normal(size=(2, 5, 2)), rng.normal(size=(2, 5, 2, 2))
    slopes, bends = kernel.jacobian("q")(q), kernel.jacobian("q").jacobian("q")(q)
    by_q = np.einsum("bij,bijkl->bkl", w, bends)
    along = np.einsum("bkl,bl->bk", by_q, dq) + np.einsum("bij,bijk->bk", dw, slopes)
    given = [as_theirs(x.reshape(5, 4) if in_a_row and x.ndim == 3 else x) for x in (q, w, dq, dw)]
    gradient = kernel.vjp()
    cases = [
        (gradient.jvp(), given, along),
        (gradient.jacobian("q"), given[:2], by_q),
        (gradient.jacobian("w0"), given[:2], slopes.reshape(5, 4, 2).swapaxes(1, 2)),
        (gradient.jvp().jacobian("dq"), given, by_q),
    ]
    for made, arrays, expected in cases:
        for one in (made, pickle.loads(pickle.dumps(made))):
            found = double(one(*arrays))
            limit = 1e-5 if library == "jax" and found.dtype == np.float32 else 1e-11
            assert found.shape == expected.shape and np.allclose(found, expected, rtol=limit, atol=limit)


@pytest.mark.parametrize(
    "function", [lambda robot, q: robot.mass_matrix(q), lambda robot, q: robot.potential_energy(q)]
)
@pytest.mark.parametrize("weight", [None, "a", [[1.0, 2.0], [3.0]], 1j, [1j] * 5, np.array([None, 1.0])], ids=str)
def test_weights_that_are_no_numbers_are_refused_as_other_inputs_are(function, weight):
    kernel = lw.compile(function, lw.chain(2, seed=1))
    q = np.zeros((5, 2))
    with pytest.raises(lw.InputError, match="must") as expected:
        kernel(weight)
    with pytest.raises(lw.InputError) as found:
        kernel.vjp()(q, weight)
    assert str(found.value) == str(expected.value).replace("q must", "w0 must")


def test_weights_in_torchs_compiled_functions():
    torch = pytest.importorskip("torch", reason='PyTorch is not installed: pip install "linkwise[torch]"')
    gradients = lw.chain(2, seed=1).compile("mass_matrix").vjp()
    q, w = torch.rand(5, 2, dtype=torch.float64), torch.rand(5, 2, 2, dtype=torch.float64)
    compiled = torch.compile(lambda q, w: gradients(q, w), backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(q, w), gradients(q, w))
