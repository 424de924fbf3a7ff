"""iLQR and DDP: descent, convergence, limits, and that both end where the gradient vanishes."""

import numpy as np
import pytest
from trees import assert_close, derivative, robot

import linkwise as lw
from linkwise import InputError, NotAdmittedError
from linkwise.control import DDP, ILQR, QuadraticCost, Steps
from linkwise.control.box import minimise_in_box


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")


def raising(cls, **options):
    """A double pendulum from hanging to standing, both joints driven."""
    r = robot("double_pendulum")
    cost = QuadraticCost(r, [np.pi, 0], state=[0.1, 0.1, 0.01, 0.01], control=0.01, terminal=[100, 100, 10, 10])
    problem = cls(r, cost, 0.03, **options)
    return problem, problem.solve([0, 0], u0=np.full((40, 2), 0.1))


@pytest.mark.parametrize("cls", [ILQR, DDP])
def test_cost_falls_at_every_iteration_and_the_target_is_reached(cls):
    _, found = raising(cls)
    assert found.converged and found.report().startswith("converged after")
    assert (np.diff(found.costs) < 0).all()
    assert np.abs(found.q[-1] - [np.pi, 0]).max() < 0.02 and np.abs(found.v[-1]).max() < 0.1
    steps = Steps(found.robot, 0.03)
    motion = steps.rollout(found.q[0], found.v[0], found.u)
    assert_close(found.q, motion.q, 1e-10)
    assert_close(found.v, motion.v, 1e-10)
    assert_close(found.tau, found.u, 0.0)


def test_ddp_converges_quadratically_and_sooner():
    _, gauss_newton = raising(ILQR, tolerance=1e-8)
    _, newton = raising(DDP, tolerance=1e-8)
    assert newton.cost == pytest.approx(gauss_newton.cost, rel=1e-8)
    assert newton.iterations < gauss_newton.iterations
    g = newton.gradients
    assert g[-2] < 1e-2 * g[-3] and g[-1] < 1e-4 * g[-2] and g[-1] < 1e-10
    slow = np.array(gauss_newton.gradients)[-4:]
    assert (slow[1:] > 0.1 * slow[:-1]).all()  # linearly


@pytest.mark.parametrize("method", ["semi_implicit_euler", "runge_kutta_4"])
def test_the_gradient_that_is_reported_is_that_of_the_cost(method):
    r = robot("double_pendulum")
    cost = QuadraticCost(r, [1.0, 0.5], state=0.1, control=0.1, terminal=10.0)
    u = np.random.default_rng(0).normal(size=(6, 2))
    found = ILQR(r, cost, 0.05, method=method, iterations=0).solve([0, 0], u0=u)
    assert not found.converged and found.iterations == 0
    steps = Steps(r, 0.05, method=method)
    gradient = np.empty_like(u)
    for i in np.ndindex(u.shape):

        def along(t, i=i):
            w = u.copy()
            w[i] += t
            motion = steps.rollout(np.zeros(2), np.zeros(2), w)
            return cost.value(motion.q, motion.v, w, steps)

        gradient[i] = derivative(along)
    assert found.gradients[0] == pytest.approx(np.abs(gradient).max(), rel=1e-7)


@pytest.mark.parametrize("cls", [ILQR, DDP])
def test_limits_hold_and_bind(cls):
    _, without = raising(cls)
    top = 0.6 * np.abs(without.u).max()
    _, found = raising(cls, limits=(-top, top))
    assert (np.abs(found.u) <= top).all() and np.isclose(np.abs(found.u), top).any()
    assert found.cost > without.cost
    assert (np.diff(found.costs) < 0).all()


@pytest.mark.parametrize("cls", [ILQR, DDP])
def test_quaternions(cls):
    """Three bodies on ball joints between two attitudes: with all curvature, that of the manifold too, in six steps."""
    r = lw.random_tree(3, seed=2, joints=["spherical"])
    rng = np.random.default_rng(1)
    q0 = r.random_configuration(rng)
    target = r.integrate(q0, 0.5 * rng.normal(size=r.nv))
    cost = QuadraticCost(r, target, control=0.1, terminal=10.0)
    found = cls(r, cost, 0.05, tolerance=1e-8).solve(q0, u0=np.tile(r.gravity_force(q0), (10, 1)))
    assert found.converged and (np.diff(found.costs) < 0).all()
    assert np.abs(r.difference(target, found.q[-1])).max() < 0.05
    if cls is DDP:
        assert found.iterations < 10 and found.gradients[-1] < 1e-4 * found.gradients[-2]


def test_swings_up_a_cart_that_drives_one_joint_and_is_led_back():
    r = robot("cartpole")
    cost = QuadraticCost(r, [0, 0], state=0.01, control=0.02, terminal=[100, 200, 20, 20])
    problem = ILQR(r, cost, 0.05, limits=(-12, 12), tolerance=1e-3)
    found = problem.solve([0, np.pi], u0=np.full((60, 1), 0.01))
    assert np.abs(found.q[-1]).max() < 0.05
    assert found.tau.shape == (60, 2) and not found.tau[:, 1].any()
    law = found.controller()
    # the plant takes fine Runge–Kutta steps, the plan coarse Euler ones; the feedback makes up for it
    run = lw.simulate(r, [0.0, np.pi - 0.05], controller=law, duration=3.0, step=0.01, hold=True, callback=True)
    assert np.abs(run.q[-1, 1]) < 0.4


def test_box_minimum():
    """Against the optimality conditions, on random problems."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        root, g = rng.normal(size=(4, 4)), rng.normal(size=4)
        H, bound = root @ root.T + 0.1 * np.eye(4), rng.uniform(0.05, 1.0, 4)
        x, free = minimise_in_box(H, g, -bound, bound)
        slope = H @ x + g
        assert (np.abs(x) <= bound).all()
        assert np.abs(slope[free]).max(initial=0.0) < 1e-8
        assert (slope[~free] * x[~free] < 0).all()  # held ones would go on outward
    assert minimise_in_box(-np.eye(2), np.ones(2), -np.ones(2), np.ones(2)) is None


def test_refused():
    r = robot("double_pendulum")
    cost = QuadraticCost(r, [0, 0])
    with pytest.raises(InputError, match=r"u0 must have shape \(steps, 2\)"):
        ILQR(r, cost, 0.1).solve([0, 0], u0=np.zeros(5))
    with pytest.raises(InputError, match="lower < upper"):
        ILQR(r, cost, 0.1, limits=(1, -1)).solve([0, 0], u0=np.zeros((5, 2)))
    with pytest.raises(lw.InputError, match=r"limits must be \(lower, upper\).*got 3\.0"):
        ILQR(r, cost, 0.1, limits=3.0).solve([0, 0], u0=np.zeros((5, 2)))
    with pytest.raises(InputError, match="one state"):
        ILQR(r, cost, 0.1).solve(np.zeros((3, 2)), u0=np.zeros((5, 2)))
    with pytest.raises(NotAdmittedError, match="ILQR"):
        DDP(r, cost, 0.1, method="runge_kutta_4").solve([0, 0], u0=np.ones((5, 2)))
    with pytest.raises(InputError, match="motion without bounds"):
        ILQR(r, cost, 0.5).solve([0, 0], u0=np.full((80, 2), 1e200))


class FarAway(QuadraticCost):
    """A cost that is mostly one that no input changes, as that of a target far out of reach."""

    def value(self, q, v, u, steps):
        return 1e15 + super().value(q, v, u, steps)


def test_what_is_far_from_its_minimum_has_not_converged():
    """The cost falls by less than a thousandth of the tolerance of it, and its gradient is anything but small."""
    r = robot("double_pendulum")
    cost = FarAway(r, [np.pi, 0], state=[0.1, 0.1, 0.01, 0.01], control=0.01, terminal=[100, 100, 10, 10])
    found = ILQR(r, cost, 0.03).solve([0, 0], u0=np.full((40, 2), 0.1))
    assert found.iterations == 1 and found.gradients[-1] > 0.1
    assert found.reason == "the cost no longer falls, but its gradient has not vanished"
    assert not found.converged and found.report().startswith("stopped")
