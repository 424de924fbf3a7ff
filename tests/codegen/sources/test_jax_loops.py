"""Loops over bodies traced by JAX: the numbers of NumPy, derivatives, and a program that does not grow with a chain.

JAX's compiler takes seconds: but for one test the loops run step by step, which takes a tenth of one.
"""

import pickle

import numpy as np
import pytest
from trees import branches

import linkwise as lw
from linkwise.codegen import thresholds
from linkwise.codegen.sources.jax import JaxFunction, JaxLoopFunction

jax = pytest.importorskip("jax")


@pytest.fixture(autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


CASES = [
    (lambda: lw.chain(3, seed=3), "linearize_forward"),
    (lambda: branches([-1, 0, 0, -1]), "mass_matrix_inverse"),
    (lambda: lw.chain(1, seed=2).floating(), "inverse_dynamics_jvp"),
]


def states(robot, kernel, batch, rng):
    sizes = kernel.signature.inputs
    made = [robot.random_configuration(rng, batch) if k == "q" else rng.normal(size=(*batch, sizes[k])) for k in sizes]
    return [jax.numpy.asarray(x) for x in made]


def close(found, expected, tolerance=1e-12):
    found, expected = (jax.tree.leaves(x) for x in (found, expected))
    for x, y in zip(found, expected, strict=True):
        assert x.shape == y.shape
        assert np.abs(np.asarray(x) - np.asarray(y)).max() <= tolerance * np.abs(np.asarray(y)).max()


@pytest.mark.parametrize(("robot", "name"), CASES, ids=[name for _, name in CASES])
def test_loops_step_by_step_are_numpys(robot, name, rng):
    robot = robot()
    kernel = robot.compile(name, target="jax", rolled=True)
    args = states(robot, kernel, (2,), rng)
    with jax.disable_jit():
        found = kernel._function.traced(*args)
    close(found, getattr(robot, name)(*map(np.asarray, args), target="numpy"))


def test_matrices_of_long_chains_come_from_products(monkeypatch, rng):
    monkeypatch.setattr(thresholds, "PRODUCTS_FROM", 4)  # as if four links were many
    robot = lw.chain(4, seed=1)
    kernel = robot.compile("coriolis_matrix", target="jax", rolled=True)
    assert kernel._rolled.factors.matrices
    args = states(robot, kernel, (2,), rng)
    with jax.disable_jit():
        found = kernel._function.traced(*args)
    close(found, robot.coriolis_matrix(*map(np.asarray, args), target="numpy"))


def test_vmap_gradients_and_precision(rng):
    robot = lw.chain(3, seed=1)
    kernel = robot.compile("forward_dynamics", target="jax", rolled=True)
    q, v, tau = states(robot, kernel, (2,), rng)
    state = [np.asarray(x) for x in (q, v, tau)]
    linear = robot.linearize_forward(*(x[0] for x in state), target="numpy")
    with jax.disable_jit():
        spread = jax.vmap(kernel, in_axes=(0, None, 0))(q, v[0], tau)
        backwards = jax.jacrev(kernel, argnums=(0, 1, 2))(q[0], v[0], tau[0])  # as many weights as numbers
        along = jax.jvp(kernel, (q, v, tau), (v, tau, q))[1]
        single = kernel(*(x.astype("float32") for x in (q, v, tau)))
    close(spread, robot.forward_dynamics(state[0], state[1][0], state[2], target="numpy"))
    close(backwards, (linear.dq, linear.dv, linear.Minv), 1e-11)
    directions = (state[1], state[2], state[0])
    close(along, robot.forward_dynamics_jvp(*state, *directions, target="numpy"), 1e-11)
    assert single.dtype == np.float32
    close(single, robot.forward_dynamics(*state, target="numpy"), 1e-4)


def test_jit(rng):
    robot = lw.chain(3, seed=1)
    kernel = robot.compile("gravity_force", target="jax", rolled=True)
    (q,) = states(robot, kernel, (2, 1), rng)
    found = kernel(q)
    close(found, robot.gravity_force(np.asarray(q), target="numpy"))
    again = pickle.loads(pickle.dumps(kernel))
    assert isinstance(again, JaxLoopFunction) and again.operations == kernel.operations
    with pytest.raises(lw.InputError, match=r"q must have shape \(\.\.\., 3\)"):
        kernel(q[..., :2])


def test_jax_differentiates_loops_that_have_no_rule(rng):
    robot = lw.chain(3, seed=1)
    kernel = robot.compile("gravity_force", target="jax", rolled=True)
    q, along = states(robot, kernel, (2,), rng)[0], jax.numpy.asarray(rng.normal(size=(2, 3)))
    with jax.disable_jit():
        (found,) = kernel._function.jvp.traced(q, along)
        (back,) = kernel._function.vjp.traced(q, along)
    slopes = robot.linearize_inverse(np.asarray(q), np.zeros(3), np.zeros(3), target="numpy").dq
    close(found, (slopes @ np.asarray(along)[..., None])[..., 0])
    close(back, (slopes.mT @ np.asarray(along)[..., None])[..., 0])


def test_the_program_does_not_grow_with_a_chain():
    sizes = []
    for n in (20, 90):
        kernel = lw.chain(n, seed=1).compile("forward_dynamics", target="jax")
        assert isinstance(kernel, JaxLoopFunction)
        text = jax.jit(kernel._function.traced).lower(*(np.zeros((2, n)),) * 3).as_text()
        sizes.append(len(text.splitlines()))
    assert sizes[0] == sizes[1]


def test_what_is_traced_as_loops():
    arm = lw.load("panda")
    assert isinstance(arm.compile("forward_dynamics", target="jax", rolled=True), JaxLoopFunction)
    assert isinstance(arm.compile("forward_dynamics", target="jax"), JaxFunction)
    humanoid = lw.load("humanoid")  # whose linearised forward dynamics alone takes most of a minute body after body
    assert isinstance(humanoid.compile("forward_dynamics", target="jax"), JaxFunction)
    assert isinstance(humanoid.compile("linearize_forward", target="jax"), JaxLoopFunction)
    assert isinstance(lw.chain(24, seed=1).compile("gravity_force", target="jax"), JaxLoopFunction)
    assert isinstance(lw.chain(24, seed=1).compile("gravity_force", target="jax", rolled=False), JaxFunction)
    assert isinstance(arm.compile("jacobian", target="jax", frame=arm.tips[0]), JaxFunction)
    with pytest.raises(lw.InputError, match="jacobian cannot be rolled"):
        arm.compile("jacobian", target="jax", frame=arm.tips[0], rolled=True)
    with pytest.raises(lw.InputError, match="leave parameters= out"):
        arm.compile("forward_dynamics", target="jax", parameters=("inertial",))


def test_a_call_without_foreign_functions_is_traced_as_loops(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    monkeypatch.delattr(jax, "ffi")
    robot, zero = lw.chain(24, seed=1), jax.numpy.zeros((2, 24))
    shape = jax.eval_shape(robot.gravity_force, zero)
    assert shape.shape == (2, 24)
    kept = [x for key, x in robot._code._kept.items() if key[0] == "traced"]
    assert [type(x) for x in kept] == [JaxLoopFunction]


def test_results_of_singular_states_are_nan(rng):
    robot = lw.chain(3, seed=1).with_inertias({"link3": lw.Inertia(0.0)})
    kernel = robot.compile("mass_solve", target="jax", rolled=True)
    with jax.disable_jit():
        (found,) = kernel._function.traced(*states(robot, kernel, (2,), rng))
    assert np.isnan(np.asarray(found)).all()
