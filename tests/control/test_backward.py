"""The backward sweep against the recursion written with dense matrices, and its machine code against NumPy."""

import numpy as np
import pytest
from trees import assert_close, robot, state

import linkwise as lw
from linkwise.control import ILQR, QuadraticCost, Steps
from linkwise.control.backward import SHARE, BackwardSweep
from linkwise.control.rollouts import Rollouts

ROBOTS = ("cartpole", "ur5", "universal", "spherical", "planar", "free")


def problem(name, method="semi_implicit_euler", count=4):
    r = robot(name)
    driven = None if name == "cartpole" else [j.name for j in r.joints if j.kind.nv]
    steps = Steps(r, 0.05, method=method, actuated=driven)
    rng = np.random.default_rng(4)
    n, m = r.nv, steps.inputs
    s = state(r, (count + 1,))
    root = rng.normal(size=(2 * n, 2 * n))
    cost = QuadraticCost(r, s.q[0], state=root @ root.T, control=1.0 + np.arange(m), terminal=1.0 + np.arange(2.0 * n))
    return steps, cost, s.q, s.v, rng.normal(size=(count, m))


def dense(steps, cost, q, v, u, mu):
    """The recursion as it stands in the papers; regularisation is of δv' alone for semi-implicit steps."""
    n = steps.robot.nv
    A, B = steps.linearize(q[:-1], v[:-1], u)
    c = cost.expand(q, v, u, steps)
    p, P, adjoint = c.x[-1], c.xx[-1], c.x[-1]
    first = n if steps.is_semi_implicit else 0
    gains, slope, bend, gradient = [], 0.0, 0.0, 0.0
    for i in reversed(range(len(u))):
        a, b = A[i], B[i]
        Qx, Qu = c.x[i] + a.T @ p, c.u[i] + b.T @ p
        Qxx, Quu, Qux = c.xx[i] + a.T @ P @ a, c.uu[i] + b.T @ P @ b, c.ux[i] + b.T @ P @ a
        stiff = Quu + mu * (b[first:].T @ b[first:]) + mu * SHARE * np.eye(len(Quu))
        k, K = -np.linalg.solve(stiff, Qu), -np.linalg.solve(stiff, Qux + mu * (b[first:].T @ a[first:]))
        gradient = max(gradient, np.abs(c.u[i] + b.T @ adjoint).max())
        adjoint = c.x[i] + a.T @ adjoint
        slope, bend = slope + k @ Qu, bend + k @ Quu @ k
        p, P = Qx + K.T @ (Quu @ k + Qu) + Qux.T @ k, Qxx + K.T @ Quu @ K + K.T @ Qux + Qux.T @ K
        gains.append((k, K))
    k, K = (np.array(x[::-1]) for x in zip(*gains))
    return k, K, slope, bend, gradient


def swept(compiled, steps, cost, q, v, u, mu, bounds=None):
    m = steps.inputs
    bounds = (np.full(m, -np.inf), np.full(m, np.inf)) if bounds is None else bounds
    sweep = BackwardSweep(steps, len(u), bounds, False, compiled)
    sweep.read(steps.changes(q[:-1], v[:-1], u), cost.expand(q, v, u, steps))
    found = sweep.run(q, v, u, mu)
    again = sweep.run(q, v, u, mu)  # what the first has left behind does not matter
    assert (found.K == again.K).all() and found.gradient == again.gradient
    return found.k, found.K, found.slope, found.bend, found.gradient


def near(found, expected, tolerance):
    for x, y in zip(found, expected, strict=True):
        assert_close(np.asarray(x), np.asarray(y), tolerance)


@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize("name", ROBOTS)
def test_sweep(name, mu):
    given = problem(name)
    expected = dense(*given, mu)
    near(swept(True, *given, mu), expected, 1e-9)
    near(swept(False, *given, mu), expected, 1e-9)


@pytest.mark.parametrize("compiled", [True, False])
def test_sweep_of_other_steps(compiled):
    given = problem("universal", "runge_kutta_4")
    near(swept(compiled, *given, 0.3), dense(*given, 0.3), 1e-9)


def test_limits_that_hold_nothing_change_nothing():
    given = problem("ur5")
    far = np.full(6, -1e9), np.full(6, 1e9)
    near(swept(True, *given, 0.2, far), dense(*given, 0.2), 1e-9)


def test_quu_that_is_not_positive_is_said():
    steps, cost, q, v, u = problem("ur5")
    sweep = BackwardSweep(steps, len(u), (np.full(6, -np.inf), np.full(6, np.inf)), False, True)
    expansion = cost.expand(q, v, u, steps)
    sweep.read(steps.changes(q[:-1], v[:-1], u), expansion._replace(uu=expansion.uu - 1e6 * np.eye(6)))
    assert sweep.run(q, v, u, 0.0) is None


@pytest.mark.parametrize("name", ["ur5", "spherical"])
def test_rollouts_are_those_of_the_steps(name, monkeypatch):
    """Machine code, and NumPy, against one step after the other with the feedback written out."""
    steps, _, q, v, u = problem(name)
    rng = np.random.default_rng(5)
    n, m = steps.robot.nv, steps.inputs
    k, K, alphas = rng.normal(size=u.shape), 0.1 * rng.normal(size=(*u.shape, 2 * n)), np.array([1.0, 0.5, 0.0])
    bounds = np.full(m, -0.7), np.full(m, 0.9)
    found = {}
    for target in ("numpy", "cpu"):
        monkeypatch.setenv("LINKWISE_TARGET", target)
        found[target] = Rollouts(steps, bounds)(q, v, u, k, K, alphas)
    for x, y in zip(found["cpu"], found["numpy"], strict=True):
        assert_close(x, y, 1e-11)
    Q, V, U = found["cpu"]
    for j, alpha in enumerate(alphas):
        here = q[0], v[0]
        for i in range(len(u)):
            wanted = np.clip(u[i] + alpha * k[i] + K[i] @ steps.error(*here, q[i], v[i]), *bounds)
            assert_close(U[j, i], wanted, 1e-9)
            here = steps(*here, wanted)
            assert_close(Q[j, i + 1], here[0], 1e-9)
            assert_close(V[j, i + 1], here[1], 1e-9)


def test_a_second_solve_traces_nothing(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    r = lw.load("double_pendulum")
    cost = QuadraticCost(r, [0.5, 0.2], state=0.1, control=0.1, terminal=10.0)
    u = np.zeros((5, 2))
    ILQR(r, cost, 0.05, iterations=3).solve([0, 0], u0=u)
    kept = len(r._code)

    def refuse(*_, **__):
        raise AssertionError("traced again")

    monkeypatch.setattr("linkwise.control.rollouts.trace", refuse)
    monkeypatch.setattr("linkwise.codegen.pipeline.trace", refuse)
    again = ILQR(r, cost, 0.02, limits=(-3, 3), iterations=3).solve([0, 0], u0=u)
    assert len(r._code) == kept and again.iterations


def test_rollouts_know_the_order_of_the_inputs(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    r = robot("double_pendulum")
    names = [j.name for j in r.joints]
    u = np.array([[1.0, -2.0], [0.5, 3.0]])
    bounds = np.full(2, -np.inf), np.full(2, np.inf)
    found = []
    for order in (names, names[::-1]):
        steps = Steps(r, 0.05, actuated=order)
        q, _ = Rollouts(steps, bounds).plain(np.zeros(2), np.zeros(2), u)
        assert_close(q, steps.rollout(np.zeros(2), np.zeros(2), u).q, 1e-12)
        found.append(q)
    assert np.abs(found[0] - found[1]).max() > 1e-4


def test_springs_that_are_taken_where_steps_end(monkeypatch):
    """Stiff ones: steps, their derivatives and rollouts are those of simulations."""
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    plain = lw.load("double_pendulum")
    r = plain.with_springs({j.name: {"stiffness": 1e4, "damping": 50.0} for j in plain.joints})
    steps = Steps(r, 0.05)
    assert steps.order and not steps.is_semi_implicit
    cost = QuadraticCost(r, [0.5, 0.2], state=0.1, control=0.1, terminal=10.0)
    rng = np.random.default_rng(2)
    u = rng.normal(size=(4, 2))
    bounds = np.full(2, -np.inf), np.full(2, np.inf)
    q, v = Rollouts(steps, bounds).plain(np.array([0.1, -0.2]), np.zeros(2), u)
    assert_close(q, steps.rollout(np.array([0.1, -0.2]), np.zeros(2), u).q, 1e-10)
    given = steps, cost, q, v, u
    near(swept(True, *given, 0.1), dense(*given, 0.1), 1e-9)
