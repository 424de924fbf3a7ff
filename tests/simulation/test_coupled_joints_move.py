"""Motions of robots with coupled joints: in every sort of coordinates, with damping, and as code for other targets."""

from __future__ import annotations

import numpy as np
import pytest

import linkwise as lw
from linkwise import control

ARM = lw.chain(4, seed=5).couple("joint3", "joint2", relation=lambda x: x + 0.3 * np.sin(x))
Q, V = np.array([0.3, 0.5, -0.2]), np.array([0.5, -0.4, 0.2])


def test_total_rates_lead_to_the_same_motion():
    plain = lw.simulate(ARM, Q, V, duration=0.1, step=0.005)
    total = lw.simulate(ARM, Q, V, duration=0.1, step=0.005, coordinates="total")
    assert np.abs(plain.q[-1] - total.q[-1]).max() < 1e-9
    with pytest.raises(lw.NotAdmittedError, match="coupled joints"):
        lw.simulate(ARM, Q, V, duration=0.1, step=0.01, coordinates="unnormalized", method="two_sweep")


def test_damping_of_a_follower_takes_the_power_that_its_rate_does():
    """One disc that drives another by a ratio, both damped: v decays at (d₁ + r²d₂)/(J₁ + r²J₂)."""

    def disc(name, inertia, damping):
        joint = lw.Joint(lw.Revolute("z"), name, damping=damping)
        return lw.Body(name + "_body", joint, lw.Inertia(1.0, tensor=inertia * np.eye(3)))

    robot = lw.assemble("discs", [disc("a", 0.2, 0.1), disc("b", 0.3, 0.4)], gravity=(0, 0, 0)).couple(
        "b", "a", ratio=-2.0
    )
    motion = lw.simulate(robot, [0.0], [1.0], duration=1.0, step=1e-3, damping=True)
    assert motion.v[-1, 0] == pytest.approx(np.exp(-(0.1 + 4 * 0.4) / (0.2 + 4 * 0.3)), rel=1e-10)


def test_lqr_holds_an_arm_with_a_cam():
    law = control.LQR.about(ARM, Q)
    assert law.K.shape == (3, 6)
    motion = lw.simulate(ARM, Q + 0.02, 0 * V, law, duration=4.0, step=5e-3)
    assert np.abs(motion.q[-1] - Q).max() < 1e-3


def test_source_text_and_functions_of_users_know_couplings():
    assert "sin" in ARM.compile("forward_dynamics", target="c").source
    last = lw.compile(lambda robot, q: robot.joint_positions(q)[2], ARM)
    assert last(Q) == pytest.approx(0.5 + 0.3 * np.sin(0.5), abs=1e-15)
    loops = ARM.compile("forward_dynamics", rolled=True)
    assert loops(Q, V, V) == pytest.approx(ARM.forward_dynamics(Q, V, V, target="numpy"), rel=1e-12)
