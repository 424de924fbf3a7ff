"""Every catalogue function on JAX arrays, from the same source (runs where JAX is installed)."""

import subprocess
import sys

import numpy as np
import pytest
from kernel_calls import FRAMED, SIGNATURES, arguments, as_tuple

import linkwise as lw

jax = pytest.importorskip("jax")


@pytest.fixture(scope="module", autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("name", SIGNATURES)
def test_jax_agrees_with_numpy(name):
    """All are traced by JAX. Its compiler takes its time: every fourth runs, half of them on batches, and those that
    JAX derives itself."""
    # a tip that moves in all six directions has an operational inertia; of fewer joints the programs are shorter, and
    # of one body those of its derivatives
    spatial, place = name.startswith(("operational", "consistent")), list(SIGNATURES).index(name)
    small = lw.chain(2, joint="mixed", seed=2) if place % 2 and "hvp" not in name else lw.chain(2, seed=2)
    free = lw.random_tree(1, seed=2, joints=["free"]) if "derivative" in name else lw.chain(1, seed=2).floating()
    robot = free if spatial else small
    fixed = {"frame": robot.tips[0]} if name in FRAMED else {}
    runs = place % 4 == 0 or "hvp" in name
    args = arguments(robot, SIGNATURES[name], (3,) if place % 8 == 0 else (), np.random.default_rng(0))
    expected = as_tuple(robot.compile(name, target="numpy", **fixed)(*args))
    kernel = robot.compile(name, target="jax", **fixed)
    if not runs:
        traced = as_tuple(jax.eval_shape(kernel._jitted, *map(jax.numpy.asarray, args)))
        assert [(x.shape, x.dtype) for x in traced] == [(x.shape, x.dtype) for x in expected]
        return
    tolerance = 1e-9 if name.startswith("operational") else 1e-12
    for a, b in zip(as_tuple(kernel(*args)), expected, strict=True):
        assert isinstance(a, jax.Array)
        assert np.abs(np.asarray(a) - b).max() <= tolerance * np.abs(b).max()


def test_gradients_vmap_and_operators():
    robot = lw.chain(3, seed=1)
    rng = np.random.default_rng(1)
    q, v, tau = (jax.numpy.asarray(x) for x in arguments(robot, ("q", "v", "tau"), (4,), rng))
    by_tau = jax.jit(jax.vmap(jax.jacfwd(robot.forward_dynamics, argnums=2)))(q, v, tau)
    assert np.allclose(by_tau, robot.mass_matrix_inverse(np.asarray(q)), rtol=1e-10, atol=1e-10)

    def energy(q, v):
        op = robot.operators(q)
        return 0.5 * v @ (op.mass @ v)

    gradient = jax.jit(jax.vmap(jax.grad(energy, argnums=1)))(q, v)
    assert np.allclose(gradient, robot.mass_times(np.asarray(q), np.asarray(v)), rtol=1e-12, atol=1e-12)


def test_flexible_links():
    """Joint maps that depend on all coordinates of a body."""
    beam = lw.Flexible.beam(length=0.8, mass=1.0, stiffness=40.0, modes=1)
    robot = lw.assemble("rod", [lw.Body("rod", lw.Revolute("z"), beam)])
    rng = np.random.default_rng(2)
    q, v, tau = (0.1 * rng.normal(size=(3, robot.nv)) for _ in range(3))
    found = robot.compile("forward_dynamics", target="jax")(q, v, tau)
    expected = robot.forward_dynamics(q, v, tau, target="numpy")
    assert found.dtype == np.float64
    assert np.abs(np.asarray(found) - expected).max() <= 1e-12 * np.abs(expected).max()


def test_single_precision_is_kept():
    robot = lw.load("double_pendulum")
    q = jax.numpy.zeros(2, jax.numpy.float32)
    assert robot.forward_dynamics(q, q, q).dtype == jax.numpy.float32


def test_the_first_function_of_a_process_compiles():
    """Importing JAX draws random numbers: no memory of the function's."""
    code = (
        "import linkwise as lw, numpy as np; r = lw.chain(2)\n"
        "k = lw.compile(lambda robot, q: robot.mass_matrix(q), r, target='jax')\n"
        "print(np.asarray(k(np.zeros(2))).shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "(2, 2)", done.stderr


def test_what_a_function_reads_is_as_it_was_when_it_was_compiled():
    """JAX traces again for arrays of other shapes, and would mix an old answer with a new one."""
    robot, gain, rng = lw.chain(2), {"p": 2.0}, np.random.default_rng(0)
    scaled = lw.compile(lambda robot, q: gain["p"] * q, robot, target="jax")
    assert np.allclose(scaled(np.ones(2)), 2.0)
    gain["p"] = 3.0
    assert np.allclose(scaled(np.ones(2)), 2.0)
    with pytest.raises(lw.UntraceableError, match="changed since it was compiled"):
        scaled(np.ones((5, 2)))
    noisy = lw.compile(lambda robot, q: rng.normal() * q, robot, target="jax")
    with pytest.raises(lw.UntraceableError, match="rng"):
        noisy(np.ones(2))


def equations(jaxpr):
    """The operations of a program, those of what it calls among them."""
    inner = [p.jaxpr for e in jaxpr.eqns for p in e.params.values() if hasattr(p, "jaxpr")]
    return [e.primitive.name for e in jaxpr.eqns] + [name for j in inner for name in equations(j)]


def test_what_xla_compiles_one_by_one_is_spared():
    """A write into a matrix, and a product of a matrix with one column, is code of its own to XLA, which takes most of
    its time. Of an arm there are no writes, and few products but those of two matrices."""
    robot, x = lw.load("panda"), (np.zeros((2, 7)),) * 3
    for name, products in {"forward_dynamics": 130, "inverse_dynamics": 60, "linearize_forward": 460}.items():
        found = equations(jax.make_jaxpr(robot.compile(name, target="jax")._jitted)(*x).jaxpr)
        assert found.count("dot_general") <= products and not any("scatter" in x for x in found)
        assert name != "forward_dynamics" or len(found) <= 1550
