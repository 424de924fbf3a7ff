"""Linearised models with actuator states: derivatives of the whole system, and what motors are."""

import numpy as np
import pytest
from trees import assert_close, robot, state

import linkwise as lw
from linkwise import control

STEP = 1e-30


def system(r, actuators, q, v, tau, u):
    """(v, v̇, τ̇) of a robot behind actuators."""
    lag, back, gain = (np.broadcast_to(x, v.shape) for x in (actuators.lag, actuators.back, actuators.gain))
    return v, r.forward_dynamics(q, v, tau, target="numpy"), -tau / lag - back * v + gain * u


@pytest.mark.parametrize("name", ["ur5", "hinges", "tree", "panda"])
def test_the_model_is_the_derivative_of_the_system(name):
    """By complex steps in every direction; of joints with quaternions in tangent coordinates, at rest."""
    r = robot(name)
    x = state(r, (), 3)
    v = x.v if name != "tree" else 0 * x.v
    rng = np.random.default_rng(0)
    actuators = control.Actuators(*rng.uniform(0.01, 0.5, (3, r.nv)))
    model = r.linearize_forward(x.q, v, x.tau).state_space(actuators=actuators)
    n = r.nv
    assert model.A.shape == (3 * n, 3 * n) and model.B.shape == (3 * n, n)
    for i, e in enumerate(np.eye(4 * n)):
        dq, dv, dtau, du = np.split(1j * STEP * e, 4)
        moved = r.integrate(x.q + 0j, dq, target="numpy")
        rate = np.concatenate(system(r, actuators, moved, v + dv, x.tau + dtau, du)).imag / STEP
        column = model.A[:, i] if i < 3 * n else model.B[:, i - 3 * n]
        assert_close(rate, column, 1e-9)


def test_quick_actuators_are_none():
    r = robot("ur5")
    x = state(r, (), 3)
    plain = r.linearize_forward(x.q, x.v, x.tau)
    slow = np.sort_complex(np.linalg.eigvals(plain.state_space().A))
    behind = np.linalg.eigvals(plain.state_space(actuators=control.Actuators(1e-7)).A)
    assert_close(np.sort_complex(behind[np.abs(behind) < 1e5]), slow, 1e-3)
    assert_close(np.sort(behind[np.abs(behind) > 1e5].real), np.full(6, -1e7), 1e-3)


def test_motors_are_their_circuits():
    """Steady: τ = γ k_t (u − k_e γ v)/R, with the time constant L/R."""
    motor = control.Actuators.motors(
        resistance=2.0, inductance=[0.01, 0.02], torque_constant=0.1, gear_ratio=[50.0, -80.0], back_emf=0.12
    )
    assert_close(motor.lag, np.array([0.005, 0.01]))
    v, u = np.array([0.3, -0.2]), np.array([12.0, 24.0])
    steady = motor.lag * (motor.gain * u - motor.back * v)
    gear = np.array([50.0, 80.0])
    assert_close(steady, gear * 0.1 * (u - 0.12 * gear * v) / 2.0)


def test_sampled_and_batched():
    r = robot("ur5")
    x = state(r, (3,), 3)
    actuators = control.Actuators(0.02)
    models = r.linearize_forward(x.q, x.v, x.tau)
    whole = models.state_space(actuators=actuators)
    assert whole.A.shape == (3, 18, 18) and whole.B.shape == (3, 18, 6)
    sampled = r.linearize_forward(x.q[1], x.v[1], x.tau[1]).state_space(0.01, actuators=actuators)
    import scipy.linalg

    both = scipy.linalg.expm(0.01 * np.block([[whole.A[1], whole.B[1]], [np.zeros((6, 24))]]))
    assert_close(sampled.A, both[:18, :18])
    assert_close(sampled.B, both[:18, 18:])


def test_a_regulator_that_knows_of_the_lag_is_stable_where_one_that_does_not_is_not():
    """Gains of the model without the lag, with the force taken for what is asked for, make the true one unstable."""
    r = lw.load("double_pendulum")
    q = np.array([np.pi, 0.0])
    here = r.linearize_forward(q, np.zeros(2), np.zeros(2))
    plain, lagged = here.state_space(), here.state_space(actuators=control.Actuators(0.2))
    weight = np.array([1e3, 1e3, 1e-3, 1e-3])  # stiff, and no more damped than it need be
    K, _ = control.lqr_gain(plain, state=weight, control=1e-3)
    blind = np.linalg.eigvals(lagged.A - lagged.B @ np.hstack([K, np.zeros((2, 2))]))
    Q = np.diag([*weight, 1e-3, 1e-3])
    knowing, P = control.lqr_gain(lagged, state=Q, control=1e-3)
    poles = np.linalg.eigvals(lagged.A - lagged.B @ knowing)
    assert blind.real.max() > 0 > poles.real.max()
    assert knowing.shape == (2, 6)
    residual = lagged.A.T @ P + P @ lagged.A - P @ lagged.B @ lagged.B.T @ P / 1e-3 + Q
    assert np.abs(residual).max() < 1e-8 * np.abs(P).max() ** 2
    same = control.LQR.about(r, q, tau=np.zeros(2), state=weight, control=1e-3)
    assert_close(same.K, K)


def test_refusals():
    r = robot("ur5")
    x = state(r, (), 3)
    here = r.linearize_forward(x.q, x.v, x.tau)
    for match, make in (
        ("lag must be positive", lambda: control.Actuators(0.0)),
        ("back must be zero or more", lambda: control.Actuators(0.1, -1.0)),
        ("of one length", lambda: control.Actuators([0.1, 0.2], [1.0, 2.0, 3.0])),
        (
            "gear_ratio must not be zero",
            lambda: control.Actuators.motors(resistance=1.0, inductance=1.0, torque_constant=1.0, gear_ratio=0.0),
        ),
        ("do not fit a robot that has 6", lambda: here.state_space(actuators=control.Actuators([0.1, 0.2]))),
        ("actuators must be linkwise.control.Actuators", lambda: here.state_space(actuators=0.1)),
        ("A of the model must be real numbers", lambda: control.lqr_gain(lw)),
    ):
        with pytest.raises(lw.InputError, match=match):
            make()
    assert control.Actuators(0.1) == control.Actuators(0.1) != control.Actuators(0.2)
