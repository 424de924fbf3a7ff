"""Robots that differ in one constant, in alternation: programs of XLA and graphs of PyTorch know their codes apart.

PyTorch is looked at where it is installed.
"""

import importlib.util
import pickle

import numpy as np
import pytest

import linkwise as lw

jax = pytest.importorskip("jax")
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.usefixtures("as_users_have_it", "jax_on_the_cpu"),
]
HAS_TORCH = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="PyTorch is not installed")
LENGTHS = {"straight": 3, "loops": 40}  # bodies of a chain, and how its code is made


def clones(sort):
    robot = lw.chain(LENGTHS[sort], seed=1)
    heavier = np.array(robot.inertial_parameters) * np.linspace(1.0, 1.5, robot.nv)[:, None]
    found = [
        robot,
        robot.with_gravity([0.0, 0.0, -3.0]),
        robot.with_gravity([0.0, 0.0, 0.0]),
        robot.with_inertial_parameters(heavier),
        pickle.loads(pickle.dumps(robot.with_gravity([0.0, 1.0, -3.0]))),
    ]
    is_rolled = {type(r.compile("forward_dynamics")).__name__ == "RolledKernel" for r in found}
    assert is_rolled == {sort == "loops"}
    return found


def state(robot):
    return list(np.random.default_rng(0).normal(size=(3, 2, robot.nv)))


@pytest.mark.parametrize("sort", LENGTHS)
def test_under_jit(sort):
    robots = clones(sort)
    numpy, x = [r.forward_dynamics for r in robots], state(robots[0])
    jitted = [jax.jit(f) for f in numpy]
    slopes = [jax.jit(jax.grad(lambda *x, f=f: f(*x).sum())) for f in numpy]
    given = [jax.numpy.asarray(y) for y in x]
    for _ in range(2):
        for robot, plain, call, slope in zip(robots, numpy, jitted, slopes):
            assert np.array_equal(call(*given), plain(*x))
            expected = robot.forward_dynamics_vjp(*x, np.ones_like(x[0])).dq
            assert np.allclose(slope(*given), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@HAS_TORCH
@pytest.mark.parametrize("sort", LENGTHS)
def test_under_torch_compile(sort):
    import torch

    robots = clones(sort)
    numpy, x = [r.compile("forward_dynamics") for r in robots], state(robots[0])
    compiled = [torch.compile(f, backend="aot_eager", dynamic=False) for f in numpy]
    given = [torch.tensor(y) for y in x]
    for _ in range(2):
        for plain, call in zip(numpy, compiled):
            assert np.array_equal(call(*given).numpy(), plain(*x))


@pytest.mark.parametrize("rolled", [False, True])
def test_code_that_nothing_on_disk_names_is_known_apart_by_what_it_computes(rolled):
    """Robots with joints that only this process knows, and derivatives, have no request."""
    robot = lw.chain(4, seed=1)
    robots = [robot, robot.with_gravity([0.0, 0.0, -3.0]), robot.with_gravity([0.0, 0.0, -3.0 - 1e-15])]
    kernels = [r.compile("forward_dynamics", rolled=rolled) for r in robots]
    for kernel in kernels:
        kernel._request = None
    assert len({k.fingerprint for k in kernels}) == 3
