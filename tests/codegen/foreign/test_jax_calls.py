"""Compiled functions as primitives of JAX: called by XLA, differentiated by kernels."""

import numpy as np
import pytest
from trees import robot as made

import linkwise as lw
from linkwise.robot import foreign_calls

jax = pytest.importorskip("jax")
if not hasattr(jax, "ffi"):
    pytest.skip("this JAX has no jax.ffi", allow_module_level=True)
from jax.test_util import check_grads  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def double_precision(jax_on_the_cpu):
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(autouse=True)
def compiled_by_default(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")


def arrays(robot, batches, seed=0):
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng, batch=batches[0])
    return [jax.numpy.asarray(x) for x in (q, *(rng.normal(size=(*b, robot.nv)) for b in batches[1:]))]


def test_calls_are_our_kernels_also_inside_jit():
    robot = lw.load("panda")
    x = arrays(robot, [(4,), (1,), ()])
    expected = robot.forward_dynamics(*map(np.asarray, x))
    jitted = jax.jit(robot.forward_dynamics)
    for found in (robot.forward_dynamics(*x), jitted(*x)):
        assert isinstance(found, jax.Array) and np.array_equal(found, expected)
    assert "linkwise_call" in str(jax.make_jaxpr(robot.forward_dynamics)(*x))
    assert "linkwise_call" in jitted.lower(*x).as_text()


def test_single_precision_is_kept():
    robot = lw.load("panda")
    x = [a.astype(np.float32) for a in arrays(robot, [(3,)] * 3)]
    found = robot.forward_dynamics(*x)
    assert found.dtype == np.float32
    assert np.array_equal(found, robot.forward_dynamics(*map(np.asarray, x)))


@pytest.mark.parametrize("name", ["double_pendulum", "spherical"])
def test_gradients_of_both_modes_and_second_order(name):
    robot = lw.random_tree(1, seed=2, joints=["spherical"]) if name == "spherical" else lw.load(name)
    check_grads(robot.forward_dynamics, tuple(arrays(robot, [(2,), (1,), ()])), order=2 if name != "spherical" else 1)


def test_vmap_of_derivatives_is_linearised_dynamics():
    robot = lw.load("panda")
    q, v, tau = arrays(robot, [(3,)] * 3)
    exact = robot.linearize_forward(*map(np.asarray, (q, v, tau)))
    by_q = jax.jit(jax.vmap(jax.jacrev(robot.forward_dynamics)))(q, v, tau)
    by_tau = jax.jit(jax.vmap(jax.jacfwd(robot.forward_dynamics, argnums=2)))(q, v, tau)
    assert np.allclose(by_q, exact.dq, rtol=1e-9, atol=1e-9)
    assert np.allclose(by_tau, exact.Minv, rtol=1e-9, atol=1e-9)


def test_vmap_over_some_arguments_and_other_axes():
    robot = lw.load("double_pendulum")
    q, v, tau = arrays(robot, [(3,), (5,), ()])
    found = jax.vmap(jax.vmap(robot.forward_dynamics, (None, 0, None)), (0, None, None))(q, v, tau)
    expected = robot.forward_dynamics(np.asarray(q)[:, None], np.asarray(v), np.asarray(tau))
    assert np.allclose(found, expected, rtol=1e-12)
    turned = jax.vmap(robot.forward_dynamics, (1, None, None))(q.T, v[0], tau)
    assert np.allclose(turned, robot.forward_dynamics(*map(np.asarray, (q, v[0], tau))), rtol=1e-12)


def test_gradients_through_a_scan():
    robot = lw.load("double_pendulum")
    q, v, tau = arrays(robot, [()] * 3)

    def end(q, v, step=robot.forward_dynamics):
        def one(state, _):
            q, v = state
            v = v + 0.01 * step(q, v, tau)
            return (q + 0.01 * v, v), None

        return (jax.lax.scan(one, (q, v), None, length=20)[0][0] ** 2).sum()

    def traced(q, v):
        return end(q, v, step=lambda *x: robot.forward_dynamics(*x, target="numpy"))

    for a, b in zip(*(jax.jit(jax.grad(f, (0, 1)))(q, v) for f in (end, traced))):
        assert np.allclose(a, b, rtol=1e-10, atol=1e-10)


def test_functions_of_the_users():
    robot = lw.load("double_pendulum")

    def both(robot, q, v):
        return {"power": robot.mass_times(q, v) @ v, "bias": robot.bias_force(q, v)}

    kernel = lw.compile(both, robot)
    q, v, _ = arrays(robot, [(2,)] * 3)
    found, expected = jax.jit(kernel)(q, v), kernel(np.asarray(q), np.asarray(v))
    assert found.keys() == expected.keys() and all(np.array_equal(found[k], expected[k]) for k in expected)
    check_grads(lambda q, v: kernel(q, v)["bias"], (q, v), order=1)


def test_what_is_refused_says_why():
    robot = lw.load("double_pendulum")
    q = jax.numpy.zeros(2)
    with pytest.raises(lw.InputError, match="several libraries"):
        robot.mass_times(q, np.zeros(2))
    with pytest.raises(lw.InputError, match="q must have shape"):
        robot.mass_matrix(jax.numpy.zeros(3))
    with pytest.raises(lw.InputError, match="float16"):
        robot.mass_matrix(q.astype(np.float16))


def test_an_error_within_a_call_reaches_python(monkeypatch):
    """What goes wrong below XLA comes out as an error, with its words."""
    robot = lw.load("double_pendulum")
    kernel = robot.compile("mass_matrix")

    def fails(*args, **named):
        raise RuntimeError("out of paper")

    monkeypatch.setattr(kernel, "run", fails)
    with pytest.raises(Exception, match="out of paper"):
        kernel(jax.numpy.zeros(2)).block_until_ready()


def test_states_that_are_singular_are_nan():
    robot = lw.random_tree(1, seed=2, joints=["spherical"])
    q = np.array([[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    found = np.asarray(robot.gravity_force(jax.numpy.asarray(q)))
    assert np.isfinite(found[0]).all() and np.isnan(found[1]).all()


def test_every_joint_kind_agrees_with_numpy():
    for name in ("universal", "custom_four", "floating"):
        robot = made(name)
        q, v = arrays(robot, [(2,)] * 2)
        expected = robot.bias_force(np.asarray(q), np.asarray(v))
        assert np.allclose(robot.bias_force(q, v), expected, rtol=1e-12, atol=1e-12)


def test_gradients_of_robots_whose_code_has_loops():
    """By the adjoint, which has loops as well; of calls without one by straight-line code."""
    robot = lw.chain(46, seed=1)
    assert type(robot.compile("forward_dynamics")).__name__ == "RolledKernel"
    q, v, tau = arrays(robot, [(2,), (2,), (2,)])
    found = jax.grad(lambda q: robot.forward_dynamics(q, v, tau).sum())(q)
    expected = robot.forward_dynamics_vjp(*map(np.asarray, (q, v, tau)), np.ones((2, 46)), target="numpy")[0]
    assert np.allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    found = jax.grad(lambda q: robot.mass_times(q, v).sum())(q)
    slopes = robot.mass_matrix_sensitivity(np.asarray(q), target="numpy")
    expected = np.einsum("bijk,bk->bi", slopes, np.asarray(v))
    assert np.allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_code_for_arrays_of_jax_is_made_once_for_each_way_of_asking(monkeypatch):
    robot, compiled = lw.load("double_pendulum"), []
    real = foreign_calls.compiled_call
    monkeypatch.setattr(foreign_calls, "compiled_call", lambda *a, **k: compiled.append(a) or real(*a, **k))
    q = jax.numpy.array([0.3, -0.2])
    for _ in range(3):
        robot.gravity_force(q)
        robot.pose(q, "lower")
    assert len(compiled) == 2


def test_the_quick_way_is_there_too_where_a_robot_was_traced_first():
    robot, q = lw.load("double_pendulum"), jax.numpy.zeros((3, 2))
    jax.jit(robot.gravity_force)(q)
    (answer,) = [x for x in robot._code._kept.values() if isinstance(x, foreign_calls.Answer)]
    assert answer._quick([q]) is not None and answer._quick([np.zeros((3, 2))]) is None


def test_what_answered_before_is_asked_again_only_for_such_arrays_and_where_code_is_to_run(monkeypatch):
    robot = lw.load("double_pendulum")
    x = [jax.numpy.asarray(a) for a in arrays(robot, [(3,)] * 2)]
    kernel = robot.compile("bias_force")
    for before in (False, True):
        if before:
            robot.bias_force(*map(np.asarray, x))  # from now on NumPy's quick way is asked first
        for call in (robot.bias_force, kernel):
            expected = call(*x)
            assert np.array_equal(call(x[0], x[1].astype(np.float32)).shape, expected.shape)
            assert np.array_equal(call(x[0], np.asarray(x[1]).tolist()), expected)
            with pytest.raises(lw.InputError, match="several libraries"):
                call(x[0], np.asarray(x[1]))
            with pytest.raises(lw.InputError if call is kernel else TypeError):
                call(x[0])
        assert "linkwise_call" in str(jax.make_jaxpr(robot.bias_force)(*x))
        with monkeypatch.context() as patch:
            patch.setenv("LINKWISE_TARGET", "numpy")
            robot.bias_force(*x)
            assert "linkwise_call" not in str(jax.make_jaxpr(lambda *x: robot.bias_force(*x))(*x))


def test_arrays_in_memory_have_a_quick_way_with_the_same_answers():
    """As the call that is traced: numbers, precision, errors; kernels that tensors came to first, too."""
    robot = lw.load("double_pendulum")
    q = jax.numpy.asarray(np.random.default_rng(0).normal(size=(3, 2)))
    kernel = robot.compile("forward_dynamics")
    for call in (robot.forward_dynamics, kernel):
        for dtype in (np.float64, np.float32):
            x = q.astype(dtype)
            found = call(x, x[:1], x[0])
            assert type(found) is type(q) and found.dtype == dtype and found.shape == (3, 2)
            traced = jax.jit(lambda *x, call=call: call(*x))(x, x[:1], x[0])
            assert jax.numpy.array_equal(found, traced)
        mixed = call(q, q.astype(np.float32), [0.0, 0.0])
        assert mixed.dtype == np.float64 and mixed.shape == (3, 2)
        with pytest.raises(lw.InputError, match="batch dimensions do not fit"):
            call(q, q[:2], q)
        with pytest.raises(lw.InputError, match=r"v must have shape \(\.\.\., 2\)"):
            call(q, q[:, :1], q)
    with jax.disable_jit():
        assert jax.numpy.allclose(kernel(q, q, q), robot.forward_dynamics(q, q, q), rtol=1e-14)
