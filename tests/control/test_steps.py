"""Steps and costs: exact derivatives, in tangent coordinates, against differences."""

import numpy as np
import pytest
from trees import assert_close, derivative, robot, state

from linkwise import InputError, NotAdmittedError, UnknownNameError
from linkwise.control import QuadraticCost, Steps
from linkwise.simulation.step_derivatives import order_at_end

ROBOTS = ("ur5", "universal", "spherical", "planar", "free")


def directions(steps):
    return np.eye(2 * steps.robot.nv + steps.inputs)


def varied(steps, q, v, u, x):
    """(q ⊕ δq, v + δv, u + δu)."""
    n = steps.robot.nv
    return steps.robot.integrate(q, x[..., :n]), v + x[..., n : 2 * n], u + x[..., 2 * n :]


def every(steps):
    return Steps(robot(steps), 0.05, actuated=[j.name for j in robot(steps).joints if j.kind.nv])


@pytest.mark.parametrize("method", ["semi_implicit_euler", "midpoint", "runge_kutta_4"])
@pytest.mark.parametrize("name", ROBOTS)
def test_linearization(name, method):
    r = robot(name)
    steps = Steps(r, 0.05, method=method, actuated=[j.name for j in r.joints])
    s = state(r, ())
    q1, v1 = steps(s.q, s.v, s.tau)
    AB = np.concatenate(steps.linearize(s.q, s.v, s.tau), axis=-1)
    x = directions(steps)
    change = derivative(lambda t: steps.error(*steps(*varied(steps, s.q, s.v, s.tau, t * x)), q1, v1))
    assert_close(AB.T, change, 1e-8)


def held_back(name):
    """A robot whose dampers and springs are far too stiff for explicit steps of 0.05 s."""
    r = robot(name)
    return r.with_springs({j.name: {"stiffness": 50.0, "damping": 400.0} for j in r.joints if j.kind.nv in (1, 3)})


@pytest.mark.parametrize("method", ["semi_implicit_euler", "midpoint", "runge_kutta_4"])
@pytest.mark.parametrize("name", ["ur5", "spherical"])
def test_steps_of_stiff_springs_and_dampers(name, method):
    """They are those of simulations, and their derivatives are their own."""
    r = held_back(name)
    assert order_at_end(r, method, 0.05) and not order_at_end(robot(name), method, 0.05)
    steps = Steps(r, 0.05, method=method, actuated=[j.name for j in r.joints])
    s = state(r, ())
    q1, v1 = steps(s.q, s.v, s.tau)
    run = steps.rollout(s.q, s.v, np.stack([s.tau] * 2))
    assert_close(q1, run.q[1], 1e-13)
    assert_close(v1, run.v[1], 1e-13)
    assert np.abs(run.v[-1]).max() < np.abs(s.v).max()
    AB = np.concatenate(steps.linearize(s.q, s.v, s.tau), axis=-1)
    x = directions(steps)
    change = derivative(lambda t: steps.error(*steps(*varied(steps, s.q, s.v, s.tau, t * x)), q1, v1))
    assert_close(AB.T, change, 1e-8)


def test_batches_of_linearizations():
    steps = every("spherical")
    s = state(steps.robot, (3,))
    A, B = steps.linearize(s.q, s.v, s.tau)
    for i in range(3):
        one = steps.linearize(s.q[i], s.v[i], s.tau[i])
        assert_close(A[i], one[0], 1e-12)
        assert_close(B[i], one[1], 1e-12)


@pytest.mark.parametrize("name", [*ROBOTS, "held back"])
def test_curvature(name):
    """The Hessian of w · δx' in exponential coordinates, where δx' = [q' ⊖ q̄'; v' − v̄']."""
    steps = every(name) if name in ROBOTS else Steps(held_back("ur5"), 0.05)
    s = state(steps.robot, ())
    q1, v1 = steps(s.q, s.v, s.tau)
    w = np.random.default_rng(8).normal(size=2 * steps.robot.nv)
    H = steps.curvature(s.q, s.v, s.tau, w)
    assert_close(H, H.T, 1e-14)
    scale = np.abs(H).max()
    rng = np.random.default_rng(2)
    for _ in range(6):
        x = rng.normal(size=len(H))

        def along(t, x=x):
            return w @ steps.error(*steps(*varied(steps, s.q, s.v, s.tau, t * x)), q1, v1)

        h = 2e-3  # second differences of sixth order
        weights = {0: -49 / 18, 1: 1.5, 2: -0.15, 3: 1 / 90}
        second = sum(c * (along(i * h) + along(-i * h)) * (0.5 if i == 0 else 1.0) for i, c in weights.items()) / h**2
        assert x @ H @ x == pytest.approx(second, rel=1e-5, abs=1e-5 * scale)


def test_curvature_in_batches_is_that_of_each():
    steps = every("free")
    s = state(steps.robot, (3,))
    w = np.random.default_rng(8).normal(size=(3, 2 * steps.robot.nv))
    H = steps.curvature(s.q, s.v, s.tau, w)
    for i in range(3):
        assert_close(H[i], steps.curvature(s.q[i], s.v[i], s.tau[i], w[i]), 1e-11)


@pytest.mark.parametrize("name", ["ur5", "spherical", "planar"])
def test_cost_derivatives(name):
    steps = every(name)
    r, n = steps.robot, steps.robot.nv
    rng = np.random.default_rng(0)
    s = state(r, (4,))
    u = s.tau[:3]
    target = r.integrate(s.q[0], 0.4 * rng.normal(size=n))
    weight = rng.normal(size=(2 * n, 2 * n))
    cost = QuadraticCost(r, target, s.a[0], 0.3, state=weight @ weight.T, control=0.7, terminal=np.arange(2.0 * n))
    found = cost.expand(s.q, s.v, u, steps, exact=True)
    for k in (1, 3):
        x = rng.normal(size=2 * n)

        def along(t, k=k, x=x):
            q, v = s.q.copy(), s.v.copy()
            q[k], v[k] = r.integrate(q[k], t * x[:n]), v[k] + t * x[n:]
            return cost.value(q, v, u, steps)

        assert found.x[k] @ x == pytest.approx(derivative(along), rel=1e-8)
        second = derivative(lambda t, along=along: derivative(lambda e: along(t + e), 5e-3), 5e-3)
        assert x @ found.xx[k] @ x == pytest.approx(second, rel=1e-6)
    du = rng.normal(size=u.shape[1:])

    def inputs(t):
        return cost.value(s.q, s.v, u + t * np.eye(3)[1][:, None] * du, steps)

    assert found.u[1] @ du == pytest.approx(derivative(inputs), rel=1e-8)
    assert du @ found.uu[1] @ du == pytest.approx(inputs(1) + inputs(-1) - 2 * inputs(0), rel=1e-6)


def test_targets_along_a_trajectory():
    steps = every("ur5")
    r = steps.robot
    s = state(r, (4,))
    cost = QuadraticCost(r, s.q, s.v, s.tau[:3], state=1.0)
    assert cost.value(s.q, s.v, s.tau[:3], steps) == 0.0
    many = cost.value(*(np.repeat(x[None], 5, axis=0) for x in (s.q, s.v, s.tau[:3])), steps)
    assert many.shape == (5,) and not many.any()
    with pytest.raises(InputError, match="one row per sample"):
        cost.value(s.q[:3], s.v[:3], s.tau[:2], steps)


def test_compiled_steps_are_those_of_numpy(monkeypatch):
    s = state(robot("spherical"), (5,))
    for method in ("semi_implicit_euler", "runge_kutta_4"):
        names = [j.name for j in robot("spherical").joints]
        plain = Steps(robot("spherical"), 0.02, method=method, actuated=names)(s.q, s.v, s.tau)
        monkeypatch.setenv("LINKWISE_TARGET", "cpu")
        quick = Steps(robot("spherical"), 0.02, method=method, actuated=names)(s.q, s.v, s.tau)
        monkeypatch.setenv("LINKWISE_TARGET", "numpy")
        for x, y in zip(plain, quick):
            assert_close(x, y, 1e-11)


def test_refused():
    r = robot("cartpole")
    with pytest.raises(InputError, match="the step must be greater than 0"):
        Steps(r, -0.1)
    with pytest.raises(UnknownNameError, match="semi_implicit_euler, midpoint, runge_kutta_4"):
        Steps(r, 0.1, method="euler")
    with pytest.raises(UnknownNameError, match="no joint is named 'wheel'"):
        Steps(r, 0.1, actuated=["wheel"])
    with pytest.raises(InputError, match="twice"):
        Steps(r, 0.1, actuated=["hinge", "hinge"])
    with pytest.raises(NotAdmittedError, match="semi_implicit_euler"):
        Steps(r, 0.1, method="runge_kutta_4").curvature(np.zeros(2), np.zeros(2), np.zeros(1), np.zeros(4))
    with pytest.raises(InputError, match="positive semidefinite"):
        QuadraticCost(r, [0, 0], terminal=-1.0)
    assert Steps(r, 0.1).inputs == 1
    assert Steps(robot("quadruped"), 0.1).inputs == 12
