"""What no law, regulator or search can be made from is refused in our own words."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.control import (
    DDP,
    ILQR,
    LQR,
    TVLQR,
    ComputedTorque,
    ConfigurationControl,
    FrameGoal,
    OperationalSpace,
    QuadraticCost,
    RateFeedback,
    Steps,
    critical_damping,
    driven_joints,
    hold,
    riccati_sweep,
)

R = lw.load("double_pendulum")
Q = np.array([0.1, 0.2])
A, B = np.zeros((3, 4, 4)), np.ones((3, 4, 2))
COST = QuadraticCost(R, Q)
U = np.ones((3, 2))


@pytest.mark.parametrize(
    "make",
    [
        lambda x: driven_joints(x),
        lambda x: hold(x, Q),
        lambda x: RateFeedback(x, 1.0),
        lambda x: ComputedTorque(x, Q, 1.0, 1.0),
        lambda x: ConfigurationControl(x, "tip", np.zeros(3)),
        lambda x: OperationalSpace(x, "tip", FrameGoal(np.zeros(3))),
        lambda x: LQR.about(x, Q),
        lambda x: TVLQR.along(x, np.ones((4, 2)), np.ones((4, 2)), U, 0.01),
        lambda x: Steps(x, 0.01),
        lambda x: QuadraticCost(x, Q),
        lambda x: ILQR(x, COST, 0.01).solve(Q, u0=U),
        lambda x: lw.simulate(x, Q),
        lambda x: lw.rollout(x, Q, steps=3),
        lambda x: lw.trajectory_sensitivity(x, Q),
    ],
)
def test_what_is_no_robot(make):
    for other in (None, 0.5, "double_pendulum", np.zeros((3, 0))):
        with pytest.raises(lw.InputError, match="needs a robot, such as lw.load gives"):
            make(other)


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda: critical_damping(["a"]), "Kp must be real numbers"),
        (lambda: critical_damping(-1.0), "Kp must be zero or more"),
        (lambda: RateFeedback(R, "strong"), "gain must be real numbers"),
        (lambda: RateFeedback(R, 1.0, base_forces=np.zeros(0)), "base_forces must be True or False"),
        (lambda: ConfigurationControl(R, "lower", b"here"), "a position .* must be real numbers"),
        (lambda: ConfigurationControl(R, "lower", np.zeros(3), b"so"), "a rotation must be real numbers"),
        (lambda: ConfigurationControl(R, "lower", np.zeros(3), position_gain=[2.0]), "position_gain must be a number"),
        (lambda: OperationalSpace(R, "lower", FrameGoal([None, 1, 2]), regularization=0.1), "must be real numbers"),
        (lambda: QuadraticCost(R, Q, u=object()), "u must be real numbers"),
        (lambda: QuadraticCost(R, Q, state="heavy"), "state must be real numbers"),
        (lambda: LQR.about(R, Q, step=b"short"), "the step of a discrete model must be a number"),
        (lambda: Steps(R, "short"), "the step must be a number"),
        (lambda: Steps(R, 0.01).rollout(Q, Q, 1.0), r"u must have shape \(..., steps, 2\)"),
        (lambda: Steps(R, 0.01, actuated=3), "actuated must be a list of joint names"),
        (lambda: ILQR(R, range(3), 0.01).solve(Q, u0=U), "a cost is a QuadraticCost"),
        (lambda: ILQR(R, COST, 0.01, iterations="2").solve(Q, u0=U), "iterations must be a whole number"),
        (lambda: DDP(R, COST, 0.01, tolerance=None).solve(Q, u0=U), "tolerance must be a number"),
        (lambda: DDP(R, COST, 0.01).solve(Q, u0="none"), "u0 must be real numbers"),
        (lambda: riccati_sweep(3j, B, np.eye(4), np.eye(2), 1.0), "A must be real numbers"),
        (lambda: riccati_sweep(A, B[..., :1, :], np.eye(4), np.eye(2), 1.0), "A must have shape"),
        (lambda: riccati_sweep(A, B, np.eye(4), np.eye(3), 1.0), r"R must have shape \(..., 2, 2\)"),
    ],
)
def test_values_of_another_kind(make, said):
    with pytest.raises(lw.InputError, match=said):
        make()


def test_steps_of_no_name():
    for name in ("euler", ["midpoint"], {"midpoint": 1}, None):
        with pytest.raises(lw.UnknownNameError, match="choose from semi_implicit_euler, midpoint, runge_kutta_4"):
            Steps(R, 0.01, method=name)


def test_sweeps_without_a_weight_on_the_inputs():
    with pytest.raises(lw.SingularError, match="singular at step 2; make R positive definite"):
        riccati_sweep(A, B, np.eye(4), np.zeros((2, 2)), np.eye(4))


def test_weights_at_the_ends_of_their_range():
    for size in (1e-300, 1e308):
        assert np.array_equal(QuadraticCost(R, Q, state=size).state, size * np.eye(4))
    with pytest.raises(lw.InputError, match="positive semidefinite"):
        QuadraticCost(R, Q, state=-1e308)


def test_searches_whose_models_are_singular_to_rounding():
    """Inputs of 1e16 leave nothing of the small ones in the model; the search says that it has not converged."""
    u = np.ones((3, 2))
    u[0, 1], u[2, 0] = 1e16, 7.0
    found = DDP(R, COST, 0.01).solve(Q, u0=u)
    assert not found.converged and found.reason == "no regularisation makes the model convex"
