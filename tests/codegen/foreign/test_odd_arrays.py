"""Arrays as they come: odd batches, views, states that are not numbers, huge angles; each as NumPy's own call has it.

PyTorch is looked at where it is installed.
"""

import importlib.util

import numpy as np
import pytest

import linkwise as lw

jax = pytest.importorskip("jax")
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.usefixtures("as_users_have_it", "jax_on_the_cpu"),
]
HAS_TORCH = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="PyTorch is not installed")
LIBRARIES = ["jax", pytest.param("torch", marks=HAS_TORCH)]
COUNTS = (0, 1, 31, 33)


def array(library, x):
    if library == "jax":
        return jax.numpy.asarray(x)
    import torch

    return torch.tensor(x)


def state(robot, count, seed=0):
    rng = np.random.default_rng(seed)
    return robot.random_configuration(rng, batch=count), *rng.normal(size=(2, count, robot.nv))


def with_gradients(library, robot, given, weights):
    """(a, the gradients of weights · a) on arrays of a library, as NumPy's."""
    if library == "jax":
        a, back = jax.vjp(robot.forward_dynamics, *given)
        return np.asarray(a), [np.asarray(x) for x in back(jax.numpy.asarray(weights))]
    import torch

    inputs = [x.detach().requires_grad_() for x in given]
    a = robot.forward_dynamics(*inputs)
    return a.detach().numpy(), [x.numpy() for x in torch.autograd.grad(a, inputs, torch.tensor(weights))]


def expected(robot, given, weights):
    back = robot.forward_dynamics_vjp(*given, weights)
    return robot.forward_dynamics(*given), [back.dq, back.dv, back.dtau]


def assert_same(found, wanted):
    assert np.array_equal(found[0], wanted[0], equal_nan=True)
    for x, y in zip(found[1], wanted[1]):
        assert x.shape == y.shape and np.array_equal(x, y, equal_nan=True)


@pytest.mark.parametrize("library", LIBRARIES)
def test_odd_batches(library):
    robot = lw.load("double_pendulum")
    for count in COUNTS:
        given = state(robot, count)
        weights = np.random.default_rng(1).normal(size=(count, 2))
        found = with_gradients(library, robot, [array(library, x) for x in given], weights)
        assert found[0].shape == (count, 2) and all(x.shape == (count, 2) for x in found[1])
        if count:
            assert_same(found, expected(robot, given, weights))


@pytest.mark.parametrize("library", LIBRARIES)
def test_states_that_are_not_numbers_leave_the_others(library):
    """At every place within a block of lanes, and in what is left over of the batch."""
    robot = lw.load("double_pendulum")
    given, weights = state(robot, 33), np.ones((33, 2))
    clean = expected(robot, given, weights)
    for place in (0, 7, 16, 32):
        for k, bad in ((0, np.nan), (1, np.inf), (2, np.nan)):
            spoilt = [x.copy() for x in given]
            spoilt[k][place, 1] = bad
            found = with_gradients(library, robot, [array(library, x) for x in spoilt], weights)
            rest = np.arange(33) != place
            assert not np.isfinite(found[0][place]).all()
            assert_same((found[0][rest], [x[rest] for x in found[1]]), (clean[0][rest], [x[rest] for x in clean[1]]))


@pytest.mark.parametrize("library", LIBRARIES)
def test_huge_angles(library):
    """Whole turns away the robot is the same, as far as the angle is exact; and beyond as NumPy's call has it."""
    robot = lw.load("double_pendulum")
    given, weights = state(robot, 33), np.ones((33, 2))
    near = expected(robot, given, weights)
    for turns, tolerance in ((1, 1e-12), (1e4, 1e-9), (1e9, None), (1e300, None)):
        far = (given[0] + 2.0 * np.pi * turns, *given[1:])
        found = with_gradients(library, robot, [array(library, x) for x in far], weights)
        assert_same(found, expected(robot, far, weights))
        assert np.isfinite(found[0]).all()
        if tolerance is not None:
            assert np.allclose(found[0], near[0], rtol=tolerance, atol=100 * tolerance)


@HAS_TORCH
def test_views():
    """Transposed, sliced, from the end, with gaps, spread, and at an odd place in memory: read as they lie."""
    import torch

    robot = lw.load("double_pendulum")
    given, weights = state(robot, 24), np.ones((12, 2))
    q, v, tau = (torch.tensor(x) for x in given)
    wide = torch.full((24, 5), torch.nan, dtype=torch.float64)
    wide[:, 1:5:2] = q
    views = {
        "number by number": lambda x: x.T.contiguous().T[:12],
        "every other": lambda x: x[::2],
        "offset": lambda x: torch.cat([torch.zeros(1, dtype=x.dtype), x.ravel()])[1:].reshape(x.shape)[12:],
        "spread": lambda x: x[:1].expand(12, 2),
        "with gaps": lambda x: torch.cat([x, x], dim=1)[:12, 1:3],
    }
    for view in views.values():
        found = with_gradients("torch", robot, [view(x) for x in (q, v, tau)], weights)
        plain = [view(x).contiguous().numpy() for x in (q, v, tau)]
        assert_same(found, expected(robot, plain, weights))
    gapped = [wide[:12, 1:5:2], v[:12], tau[:12]]
    assert_same(with_gradients("torch", robot, gapped, weights), expected(robot, [x.numpy() for x in gapped], weights))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("way", ["method", "kernel"])
def test_lists_of_arrays_keep_their_derivatives(library, way):
    robot = lw.load("double_pendulum")
    call = robot.forward_dynamics if way == "method" else robot.compile("forward_dynamics")
    q, v, tau = (x[0] for x in state(robot, 1))
    expected = robot.forward_dynamics_vjp(q, v, tau, np.ones(2)).dq
    others = [array(library, x) for x in (v, tau)]
    if library == "jax":
        found = jax.grad(lambda q: call([q[0], q[1]], *others).sum())(jax.numpy.asarray(q))
    else:
        import torch

        q = torch.tensor(q, requires_grad=True)
        (found,) = torch.autograd.grad(call([q[0], q[1]], *others).sum(), q)
    assert np.allclose(np.asarray(found), expected, rtol=1e-14, atol=1e-14)
    for odd, what in (([array(library, 1.0), 0.5], "of something else"), (["a", "b"], "real numbers")):
        with pytest.raises(lw.InputError, match=f"^tau .*{what}"):
            call(*others, odd)
