"""Loops whose closure is known in closed form, embedded by relations: minimal coordinates, nothing that could drift.

The references are closed forms of the linkages, and the same linkages with their loops cut.
"""

from __future__ import annotations

import numpy as np
import pytest

import linkwise as lw


def _bar(name: str, parent: str | None, length: float, mass: float, at: tuple[float, float, float]) -> lw.Body:
    """A slender bar along x on a hinge about z."""
    inertia = lw.Inertia(mass, com=(length / 2, 0, 0), tensor=mass * length**2 / 12 * np.diag([0.0, 1.0, 1.0]))
    return lw.Body(name, lw.Joint(lw.Revolute("z"), f"{name}_joint", at=at), inertia, parent)


CRANK, ROD = 0.15, 0.5


def _slider_crank_tree() -> lw.Robot:
    slider = lw.Body("slider", lw.Joint(lw.Prismatic("x"), "slider_joint"), lw.Inertia(1.4, tensor=0.01 * np.eye(3)))
    bodies = [_bar("crank", None, CRANK, 0.9, (0, 0, 0)), _bar("rod", "crank", ROD, 0.6, (CRANK, 0, 0)), slider]
    frames = [lw.Frame("rod_end", "rod", at=(ROD, 0, 0)), lw.Frame("pin", "slider")]
    return lw.assemble("slider_crank", bodies, frames, gravity=(0, -9.81, 0))


def slider_crank() -> lw.Robot:
    def tilt(x):
        return -np.arcsin(CRANK / ROD * np.sin(x))

    robot = _slider_crank_tree().couple("rod_joint", "crank_joint", relation=lambda x: tilt(x) - x)
    return robot.couple("slider_joint", "crank_joint", relation=lambda x: CRANK * np.cos(x) + ROD * np.cos(tilt(x)))


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_slider_crank(target):
    """J and T = Jθ̈ + ½J'ω² + U' of the closed form."""
    robot = slider_crank()
    assert robot.nv == 1
    assert robot.mass_matrix([0.7], target=target)[0, 0] == pytest.approx(0.036300106239, abs=1e-12)
    slope = robot.mass_matrix_sensitivity([0.7], target=target)
    assert slope[0, 0, 0] == pytest.approx(0.052268039250, abs=1e-12)
    force = robot.inverse_dynamics([0.7], [2.0], [1.5], target=target)
    assert force[0] == pytest.approx(1.003085196800, abs=1e-11)
    assert robot.forward_dynamics([0.7], [2.0], force, target=target)[0] == pytest.approx(1.5, abs=1e-10)


A, B, C, GROUND = 0.3, 0.8, 0.6, 1.0


def _coupler(x):
    """The coupler's angle, open branch: a triangle of coupler, rocker and the diagonal from the crank's end."""
    across, down = GROUND - A * np.cos(x), -A * np.sin(x)
    square = across * across + down * down
    return np.arctan2(down, across) + np.arccos((B * B + square - C * C) / (2 * B * np.sqrt(square)))


def _rocker(x):
    up, along = A * np.sin(x) + B * np.sin(_coupler(x)), A * np.cos(x) + B * np.cos(_coupler(x)) - GROUND
    return np.arctan2(up, along)


def _four_bar_tree() -> lw.Robot:
    bodies = [_bar("crank", None, A, 0.5, (0, 0, 0)), _bar("coupler", "crank", B, 0.9, (A, 0, 0))]
    bodies.append(_bar("rocker", None, C, 0.7, (GROUND, 0, 0)))
    frames = [lw.Frame("coupler_end", "coupler", at=(B, 0, 0)), lw.Frame("rocker_end", "rocker", at=(C, 0, 0))]
    return lw.assemble("four_bar", bodies, frames, gravity=(0, -9.81, 0))


def four_bar() -> lw.Robot:
    robot = _four_bar_tree().couple("coupler_joint", "crank_joint", relation=lambda x: _coupler(x) - x)
    return robot.couple("rocker_joint", "crank_joint", relation=_rocker)


def test_four_bar():
    robot = four_bar()
    crank, coupler, rocker = robot.joint_positions([1.3])
    assert (crank + coupler, rocker) == pytest.approx((0.365067341331, 1.862360732620), abs=1e-11)
    assert robot.mass_matrix([1.3])[0, 0] == pytest.approx(0.091667077832, abs=1e-11)


@pytest.mark.parametrize("pair", [("slider_crank", 0.7), ("four_bar", 1.3)], ids=lambda p: p[0])
def test_embedded_and_cut_are_the_same_motion(pair):
    name, angle = pair
    embedded = {"slider_crank": slider_crank, "four_bar": four_bar}[name]()
    tree = {"slider_crank": _slider_crank_tree, "four_bar": _four_bar_tree}[name]()
    ends = {"slider_crank": ("rod_end", "pin"), "four_bar": ("coupler_end", "rocker_end")}[name]
    # In the plane of the linkage: what the hinges leave of a spherical joint.
    cut = tree.close(lw.Loop(*ends, constrains=np.eye(6)[3:5]))
    q, v, tau = np.array([angle]), np.array([2.0]), np.array([0.8])
    theta, rates = embedded.joint_positions(q), embedded.joint_velocities(q, v)
    assert np.abs(cut.loop_error(theta)).max() < 1e-12 and np.abs(cut.loop_velocity(theta, rates)).max() < 1e-12
    forces = np.array([tau[0], 0.0, 0.0])
    found = cut.forward_dynamics(theta, rates, forces, target="numpy")
    assert embedded.forward_dynamics(q, v, tau)[0] == pytest.approx(found[0], abs=1e-9)


def test_a_simulated_four_bar_stays_closed_and_keeps_its_energy():
    robot = four_bar()
    motion = lw.simulate(robot, [1.3], [2.0], duration=2.0, step=1e-3)
    ends = [robot.pose(motion.q, frame)[1] for frame in ("coupler_end", "rocker_end")]
    assert np.abs(ends[0] - ends[1]).max() < 1e-12
    assert np.abs(motion.energy.drift).max() < 1e-8 * np.abs(motion.energy.kinetic).max()
