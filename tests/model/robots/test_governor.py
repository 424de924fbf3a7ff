"""Watt's governor beside its Lagrangian in two coordinates: the spindle's angle ψ and the arms' angle α from hanging.

T = ½A(α)α̇² + ½B(α)ψ̇², A = A₀ + A₁sin²α, B = B₀ + B₁sin²α, V = −K cos α: links at −α, the sleeve at −2l cos α.
"""

import numpy as np
import pytest
from linkages import null_space

import linkwise as lw

L, R, BALL, G = 0.25, 0.01, 0.04, 9.81  # bar, its radius, a ball's radius [m], gravity [m/s²]
M_ARM, M_BALL, M_LINK, M_SLEEVE, M_SPINDLE = 0.3, 2.0, 0.2, 1.5, 1.0  # [kg]


def across(m):
    """A rod about its centre, across it."""
    return m * (R**2 / 4 + L**2 / 12)


ARM_X = M_ARM * R**2 / 2 + 0.4 * M_BALL * BALL**2  # arm and ball about the arm
ARM_Y = across(M_ARM) + M_ARM * L**2 / 4 + M_BALL * (L**2 + 0.4 * BALL**2)  # about its hinge
LINK_X, LINK_Y = M_LINK * R**2 / 2, across(M_LINK)
A0 = 2 * ARM_Y + 2 * (M_LINK * L**2 / 4 + LINK_Y)
A1 = 2 * M_LINK * L**2 * (9 / 4 - 1 / 4) + 4 * M_SLEEVE * L**2
B0 = 2 * ARM_X + 2 * LINK_X + M_SLEEVE * 0.04**2 / 2 + M_SPINDLE * 0.015**2 / 2
B1 = 2 * (ARM_Y - ARM_X) + 2 * (M_LINK * L**2 / 4 + LINK_Y - LINK_X)
K = G * (2 * (M_ARM * L / 2 + M_BALL * L) + 3 * M_LINK * L + 2 * M_SLEEVE * L)


def state(robot, alpha, alpha_rate, spin):
    """q and v of the whole; no closing needed."""
    x = alpha - 0.6
    by_alpha = {"left_swing": 1, "right_swing": 1, "left_link_hinge": -2, "right_link_hinge": -2}
    q, v, along = np.zeros(6), np.zeros(6), np.zeros(6)
    for name, ratio in by_alpha.items():
        q[robot.joint(name)], along[robot.joint(name)] = ratio * x, ratio
    q[robot.joint("sleeve_slide")] = 2 * L * (np.cos(0.6) - np.cos(alpha))
    along[robot.joint("sleeve_slide")] = 2 * L * np.sin(alpha)
    v = alpha_rate * along
    v[robot.joint("spindle_joint")] = spin
    return q, v, along


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("method", ["cut", "embedded"])
def test_it_moves_by_its_lagrangian(method, target):
    robot, rng = lw.load("governor"), np.random.default_rng(0)
    for alpha, rate, spin in ((0.6, 0.0, 0.0), (0.3, 1.5, 8.0), (1.1, -2.0, -5.0)):
        q, v, along = state(robot, alpha, rate, spin)
        assert np.abs(robot.loop_error(q)).max() < 1e-15 and np.abs(robot.loop_velocity(q, v)).max() < 1e-14
        tau = rng.normal(size=6)
        s, c = np.sin(alpha), np.cos(alpha)
        force = along @ tau
        swing = (force - A1 * s * c * rate**2 + B1 * s * c * spin**2 - K * s) / (A0 + A1 * s**2)
        turn = (tau[robot.joint("spindle_joint")] - 2 * B1 * s * c * rate * spin) / (B0 + B1 * s**2)
        a = robot.forward_dynamics(q, v, tau, method=method, target=target)
        assert a[robot.joint("left_swing")] == pytest.approx(swing, rel=1e-11)
        assert a[robot.joint("right_swing")] == pytest.approx(swing, rel=1e-11)
        assert a[robot.joint("spindle_joint")] == pytest.approx(turn, rel=1e-11)


def test_balls_stay_where_the_spin_holds_them():
    """cos α = K/(B₁ψ̇²), and about that they swing at a frequency of their own, the spindle left to itself."""
    robot, spin = lw.load("governor"), 10.0
    alpha = np.arccos(K / (B1 * spin**2))
    q, v, _ = state(robot, alpha, 0.0, spin)
    assert 0.7 < alpha < 1.3 and np.abs(robot.forward_dynamics(q, v, np.zeros(6))).max() < 1e-11

    model = robot.linearize_forward(q, v, np.zeros(6))
    N = null_space(robot.loop_jacobian(q))  # turning alone opens no loop, so that changes of v are closed by N too
    inside = np.linalg.pinv(N)
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [inside @ model.dq @ N, inside @ model.dv @ N]])
    found = np.sort(np.linalg.eigvals(A).imag)
    s, c = np.sin(alpha), np.cos(alpha)
    A_, B_ = A0 + A1 * s**2, B0 + B1 * s**2
    assert found[-1] == pytest.approx(spin * np.sqrt((B1 * s**2 + (2 * B1 * s * c) ** 2 / B_) / A_), rel=1e-9)
    assert np.abs(found[1:3]).max() < 1e-5  # a pair at zero: the angle and the speed of the spindle


@pytest.mark.parametrize("closing", ["projection", "embedded"])
def test_energy_and_angular_momentum_stay(closing):
    robot = lw.load("governor")
    q, v, _ = state(robot, 0.9, 1.0, 8.0)
    run = lw.simulate(robot, q, v, duration=1.0, step=2e-3, closing=closing)
    swung = 0.6 + run.q[:, robot.joint("left_swing")]
    spin = run.v[:, robot.joint("spindle_joint")]
    momentum = (B0 + B1 * np.sin(swung) ** 2) * spin
    assert np.ptp(swung) > 0.2 and np.ptp(spin) > 1.0  # it hunts
    assert np.ptp(momentum) < 1e-8 * momentum[0]
    assert np.abs(run.energy.drift).max() < 1e-7 and run.energy.loops.max() < 1e-12
    assert np.allclose(momentum, robot.momentum(run.q, run.v)[:, 2], rtol=1e-12)


def test_embedded_is_cut():
    robot, rng = lw.load("governor"), np.random.default_rng(1)
    states = [state(robot, a, r, s)[:2] for a, r, s in rng.uniform((0.2, -3, -9), (1.2, 3, 9), size=(50, 3))]
    q, v = (np.array(x) for x in zip(*states))
    tau = rng.normal(size=(50, 6))
    cut, embedded = (robot.forward_dynamics(q, v, tau, method=m) for m in ("cut", "embedded"))
    assert np.abs(embedded - cut).max() < 1e-9 * np.abs(cut).max()
