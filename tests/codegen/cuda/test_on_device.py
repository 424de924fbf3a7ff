"""Compiled functions on a graphics card, from Python: every call, precision and layout, streams and odd batches.

Runs where there is a card and CuPy: python -m pytest tests/codegen/cuda/test_on_device.py. Parts need PyTorch or JAX as
well. compute-sanitizer python -m pytest … looks over the kernels' shoulders.
"""

import numpy as np
import pytest

import linkwise as lw

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError:
    pytest.skip("no CUDA device here", allow_module_level=True)

from methods import CALLS, flat, inputs  # noqa: E402
from trees import branches  # noqa: E402

from linkwise.symbols.results import flatten  # noqa: E402

TOLERANCE = {"float64": 1e-11, "float32": 2e-3}
ON_NUMPY = {"wrenches", "curvature", "operators (mass)", "operators (mass.inv)", "operators (J)", "operators (dense)"}


LEFT_TO_NUMPY = {f"forward_dynamics ({p}conjugate_gradient)" for p in ("", "preconditioned_")}


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch):
    monkeypatch.delenv("LINKWISE_TARGET", raising=False)


def near(found, expected, dtype="float64"):
    """Whether arrays agree, relative to the largest number."""
    found, expected = cupy.asnumpy(found), np.asarray(expected)
    assert found.shape == expected.shape
    size = np.abs(expected).max() if expected.size else 1.0
    return not expected.size or np.abs(found - expected).max() <= TOLERANCE[str(dtype)] * max(size, 1e-3)


def state(robot, batch, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng, batch=batch)
    return [x.astype(dtype) for x in (q, *rng.normal(size=(2, *np.atleast_1d(batch), robot.nv)))]


@pytest.mark.parametrize("name", [n for n in CALLS if n not in ON_NUMPY])
def test_every_call_agrees_with_numpy(name):
    robot = lw.random_tree(2, seed=3)
    x = inputs(robot, (33,))
    try:
        expected = flat(CALLS[name].function(robot, x.mapped(lambda a: a)))
    except lw.LinkwiseError as e:
        pytest.skip(str(e))
    if name in LEFT_TO_NUMPY:
        with pytest.warns(lw.SlowPathWarning), pytest.raises(lw.InputError, match="takes no arrays of cupy"):
            CALLS[name].function(robot, x.mapped(cupy.asarray))
        return
    found = flatten(CALLS[name].function(robot, x.mapped(cupy.asarray)))[0]
    assert all(isinstance(y, cupy.ndarray) for y in found)
    assert all(near(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("seed", range(3))
def test_precisions_and_layouts_on_random_trees(dtype, order, seed):
    robot = lw.random_tree(6, seed=seed, floating=seed == 1, rotors=seed == 2)
    x = state(robot, 257, dtype)
    given = [cupy.asarray(a, order=order) for a in x]
    for method in ("forward_dynamics", "inverse_dynamics", "bias_force"):
        n = 2 if method == "bias_force" else 3
        found = getattr(robot, method)(*given[:n])
        assert found.dtype == dtype
        assert found.flags.c_contiguous if order == "C" else found.flags.f_contiguous
        assert near(found, getattr(robot, method)(*(a.astype(float) for a in x[:n]), target="numpy"), dtype)


def test_odd_batches():
    robot = lw.load("panda")
    q, v, _ = state(robot, 1009)
    expected = robot.mass_times(q, v, target="numpy")
    for batch in (0, 1, 31, 32, 33, 1_000_007):
        places = np.arange(batch) % 1009
        found = robot.mass_times(cupy.asarray(q[places]), cupy.asarray(v[places]))
        assert near(found, expected[places])


def test_views_and_spread_batches():
    robot = lw.load("ur5")  # rows of even length
    q, v, tau = state(robot, (4, 6))
    expected = robot.forward_dynamics(q, v, tau, target="numpy")
    given = [cupy.asarray(x) for x in (q, v, tau)]
    assert near(robot.forward_dynamics(*given), expected)
    wide = [cupy.zeros((9, 8, 14)) for _ in given]
    for w, x in zip(wide, given):
        w[1:5, 1:7, 1:13:2] = x
    assert near(robot.forward_dynamics(*(w[1:5, 1:7, 1:13:2] for w in wide)), expected)
    assert near(robot.forward_dynamics(*(x[::-1] for x in given)), expected[::-1])
    offset = [cupy.concatenate([cupy.zeros(1), x.ravel()])[1:].reshape(x.shape) for x in given]
    assert near(robot.forward_dynamics(*offset), expected)
    spread = robot.forward_dynamics(given[0], given[1][:1], given[2][0, 0])
    assert near(spread, robot.forward_dynamics(q, v[:1], tau[0, 0], target="numpy"))
    inner = robot.forward_dynamics(given[0], given[1][:, :1], given[2])
    assert near(inner, robot.forward_dynamics(q, v[:, :1], tau, target="numpy"))


def test_states_do_not_touch_each_other():
    """NaN, infinity and a quaternion of no length stay in their states."""
    robot = lw.random_tree(3, seed=1, floating=True)
    q, v, tau = state(robot, 100)
    expected = robot.forward_dynamics(q, v, tau, target="numpy")
    bad = {5: (v, np.nan), 37: (tau, np.inf), 64: (q, 0.0)}
    for k, (x, value) in bad.items():
        x[k] = value
    found = cupy.asnumpy(robot.forward_dynamics(*map(cupy.asarray, (q, v, tau))))
    others = np.delete(np.arange(100), list(bad))
    assert np.abs(found[others] - expected[others]).max() <= 1e-11 * np.abs(expected).max()
    assert np.isnan(found[5]).any() and not np.isfinite(found[37]).all() and np.isnan(found[64]).all()


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_huge_angles(dtype):
    robot = lw.load("panda")
    rng = np.random.default_rng(0)
    largest = 37 if dtype == "float32" else 300
    q = (10.0 ** rng.uniform(-3, largest, (500, 7)) * rng.choice([-1, 1], (500, 7))).astype(dtype)
    kernel = lw.compile(lambda robot, q: np.concatenate([np.sin(q), np.cos(q)]), robot)
    found = cupy.asnumpy(kernel(cupy.asarray(q)))
    expected = np.concatenate([np.sin(q.astype(float)), np.cos(q.astype(float))], axis=1)
    assert np.abs(found - expected).max() <= 4 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_sines_are_good_to_two_units_in_the_last_place(dtype):
    kernel = lw.compile(lambda robot, q: np.concatenate([np.sin(q), np.cos(q)]), lw.load("double_pendulum"))
    rng = np.random.default_rng(1)
    near_zeros = np.round(rng.uniform(-6e4, 6e4, (20000, 2))) * (np.pi / 2)
    q = np.concatenate([rng.uniform(-1e5, 1e5, (20000, 2)), rng.uniform(-4, 4, (20000, 2)), near_zeros]).astype(dtype)
    exact = np.concatenate([np.sin(q.astype(np.longdouble)), np.cos(q.astype(np.longdouble))], axis=1)
    found = cupy.asnumpy(kernel(cupy.asarray(q)))
    assert (np.abs(found - exact) / np.spacing(np.abs(exact).astype(dtype))).max() <= 2.0


@pytest.mark.parametrize(
    "robot", [lw.chain(100, seed=1), branches([-1, *(i // 2 for i in range(51))])], ids=["chain", "tree"]
)
def test_loops_of_long_robots(robot):
    """Rows and number by number, odd batches and no states at all."""
    for dtype in TOLERANCE:
        x = [a.astype(dtype) for a in state(robot, 5001)]
        expected = robot.forward_dynamics(*(a[:40].astype(float) for a in x), target="numpy")
        for order, batch in (("C", 5001), ("F", 5001), ("C", 33), ("C", 1), ("C", 0)):
            found = robot.forward_dynamics(*(cupy.asarray(a[:batch], order=order) for a in x))
            assert found.shape == (batch, robot.nv) and found.dtype == dtype
            few = min(batch, 40)
            error = np.abs(cupy.asnumpy(found[:few]) - expected[:few]).max(initial=0.0)
            assert error <= 1e5 * np.finfo(dtype).eps * np.abs(expected).max()


def test_matrices_adjoints_and_singular_states_in_loops():
    robot = lw.chain(60, seed=1)
    x = state(robot, 64)
    q, v, tau = map(cupy.asarray, x)
    found = robot.forward_dynamics_vjp(q, v, tau, cupy.ones((64, 60)))
    expected = robot.forward_dynamics_vjp(*x, np.ones((64, 60)), target="numpy")
    assert all(near(a, b) for a, b in zip(found, expected, strict=True))
    assert near(robot.mass_matrix(q), robot.mass_matrix(x[0], target="numpy"))
    weightless = lw.chain(60, seed=1).with_inertias({"link60": lw.Inertia(0.0)})
    assert bool(cupy.isnan(weightless.mass_solve(q, v)).all())


def test_two_streams_do_not_meet_in_the_memory_of_loops():
    robot = lw.chain(60, seed=1)
    given = [cupy.asarray(a) for a in state(robot, 20_011)]
    streams, found = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)], []
    cupy.cuda.Device().synchronize()
    for k in range(6):
        with streams[k % 2]:
            found.append(robot.forward_dynamics(*(a + 0.0 for a in given)))
    for stream in streams:
        stream.synchronize()
    assert all(bool((y == found[0]).all()) for y in found)


def test_gradients_through_loops_of_long_robots():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    robot = lw.chain(60, seed=1)
    x = state(robot, 4)
    given = [torch.tensor(a, device="cuda", requires_grad=True) for a in x]
    found = torch.autograd.grad(robot.forward_dynamics(*given).sum(), given)
    expected = robot.forward_dynamics_vjp(*x, np.ones((4, 60)), target="numpy")
    assert all(near(cupy.asarray(a), b) for a, b in zip(found, expected, strict=True))


def test_two_streams_at_once():
    robot = lw.load("panda")
    q, v, tau = state(robot, 20_011)
    expected = robot.forward_dynamics(q[:50], v[:50], tau[:50], target="numpy")
    given = [cupy.asarray(x) for x in (q, v, tau)]
    cupy.cuda.Device().synchronize()
    streams, found = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)], []
    for k in range(8):
        with streams[k % 2]:
            found.append(robot.forward_dynamics(*(x + 0.0 for x in given)))
    for stream in streams:
        stream.synchronize()
    assert all(bool((y == found[0]).all()) for y in found) and near(found[0][:50], expected)


def test_kernels_of_the_users_and_mixtures():
    robot = lw.load("double_pendulum")
    kernel = lw.compile(lambda robot, q, v: {"power": robot.mass_times(q, v) @ v}, robot)
    q, v, _ = state(robot, 40)
    assert near(kernel(cupy.asarray(q), cupy.asarray(v))["power"], kernel(q, v)["power"])
    with pytest.raises(lw.InputError, match="several libraries"):
        kernel(cupy.asarray(q), v)
    with pytest.raises(lw.InputError, match="float16"):
        robot.mass_matrix(cupy.asarray(q).astype("float16"))


def test_torch_on_the_card():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    robot = lw.load("panda")
    x = state(robot, 5)
    expected = robot.forward_dynamics(*x, target="numpy")
    given = [torch.tensor(a, device="cuda", requires_grad=True) for a in x]
    found = robot.forward_dynamics(*given)
    assert found.device.type == "cuda" and near(cupy.asarray(found.detach()), expected)
    few = [a[:2].detach().requires_grad_() for a in given]
    assert torch.autograd.gradcheck(robot.forward_dynamics, few, check_forward_ad=True)
    with torch.cuda.stream(torch.cuda.Stream()):
        again = robot.forward_dynamics(*(a.detach() + 0.0 for a in given))
    torch.cuda.synchronize()
    assert torch.equal(again, found)
    by_q = torch.func.vmap(torch.func.jacrev(robot.forward_dynamics))(*(a.detach() for a in given))
    assert near(cupy.asarray(by_q), robot.linearize_forward(*x, target="numpy").dq)
    with pytest.raises(lw.InputError, match="several devices"):
        robot.mass_times(given[0], given[1].cpu())


def test_results_lie_in_graphs_as_fake_tensors_say():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    from linkwise.codegen.foreign import torch_calls

    robot = lw.load("panda")
    by_number = [torch.tensor(a.T.copy(), device="cuda").T for a in state(robot, 5)]
    kernel = robot.compile("forward_dynamics")
    assert kernel(*by_number).stride() == (1, 5)
    kernel.as_function.register()
    given = kernel.as_function.token, by_number
    torch.library.opcheck(torch_calls._operator, given, test_utils="test_faketensor")


def test_jax_on_the_card():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no CUDA")
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        robot = lw.load("panda")
        x = state(robot, 5)
        given = [jax.numpy.asarray(a) for a in x]
        jitted = jax.jit(lambda *a: 2.0 * robot.forward_dynamics(*a))
        assert "linkwise_call" in jitted.lower(*given).as_text()
        assert near(np.asarray(jitted(*given)), 2.0 * robot.forward_dynamics(*x, target="numpy"))
        by_q = jax.vmap(jax.jacrev(robot.forward_dynamics))(*given)
        assert near(np.asarray(by_q), robot.linearize_forward(*x, target="numpy").dq)
