"""Laws, robots and states that the tests of control share."""

from __future__ import annotations

from typing import Any

import numpy as np
from trees import robot

import linkwise as lw
from linkwise import control

STEP = 1e-30  # of complex steps

# Every sort of joint whose changes are nv numbers, rotors, floating bases with thrusters.
ROBOTS = ("ur5", "hinges", "arms", "spherical", "planar", "universal", "free")


def swinging(r: lw.Robot, seed: int = 0) -> Any:
    """A smooth reference t → (q, v, a) with exact derivatives, also on quaternions.

    q(t) = q₀ ⊕ s(t)w with one direction w: the velocity of that curve is ṡw at every joint.
    """
    rng = np.random.default_rng(seed)
    q0, w = r.random_configuration(rng), rng.normal(size=r.nv)

    def reference(t):
        return r.integrate(q0, 0.3 * np.sin(t) * w), 0.3 * np.cos(t) * w, -0.3 * np.sin(t) * w

    return reference


def laws(r: lw.Robot, seed: int = 0) -> dict[str, Any]:
    """Every law with a Lyapunov function; gains differ from joint to joint, and suit what each joint moves."""
    rng = np.random.default_rng(seed + 50)
    stiff, damped = rng.uniform(5, 20, r.nv), rng.uniform(2, 6, r.nv)
    inertia = np.diag(r.mass_matrix(r.neutral()))
    kp, kd = stiff * inertia, damped * inertia
    pose = r.pose(r.random_configuration(rng), r.tips[-1])
    reference = swinging(r, seed)
    all_of_it = {"base_forces": True}
    return {
        "RateFeedback": control.RateFeedback(r, damped, **all_of_it),
        "ConfigurationControl": control.ConfigurationControl(
            r, r.tips[-1], pose[1], pose[0], damping=damped, position_gain=10.0, orientation_gain=0.3, **all_of_it
        ),
        "PDGravity": control.PDGravity(r, reference(0.3)[0], kp, kd, **all_of_it),
        "PDPlus": control.PDPlus(r, reference, kp, kd, **all_of_it),
        "ReferenceCoriolis": control.ReferenceCoriolis(r, reference, kp, kd, **all_of_it),
        "SlidingTracking": control.SlidingTracking(r, reference, 0.3 * stiff, kd, **all_of_it),
        "ComputedTorque": control.ComputedTorque(r, reference, stiff, damped, **all_of_it),
    }


LAWS = tuple(laws(robot("ur5")))


def rate_along(r: lw.Robot, law: Any, t: float, q: Any, v: Any) -> Any:
    """dV/dt along the closed loop, by a complex step in t, q and v at once."""
    a = r.forward_dynamics(q, v, law(t, q, v))
    moved = r.integrate(q, 1j * STEP * v)
    return law.lyapunov(t + 1j * STEP, moved, v + 1j * STEP * a).imag / STEP
