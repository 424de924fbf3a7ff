"""Soft loops: springs and dampers between frames."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from complex_steps import H, accelerations_by_state
from linkages import four_bar, four_bar_state, loop_between, open_four_bar

import linkwise as lw
from linkwise.model.loops import TRANSMITTED


def sprung(kind="spherical", **options):
    return open_four_bar().close(lw.Loop("rocker_end", "coupler_end", kind, **options))


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_a_spring_pulls_its_ends_together(target, rng):
    robot = sprung(stiffness=50.0, damping=3.0)
    q, v, tau = rng.normal(size=(3, 3))
    (R_a, p_a), (_, p_b) = (robot.pose(q, f) for f in ("rocker_end", "coupler_end"))
    V_a, V_b = (robot.velocity(q, v, f) for f in ("rocker_end", "coupler_end"))
    d = p_b - p_a
    rate = V_b[3:] - V_a[3:] - np.cross(V_b[:3], d)  # of the points at a's origin
    force = -50.0 * d - 3.0 * rate
    at = lw.Frame("there", "coupler", at=robot.pose(q, "coupler")[0].T @ (p_a - robot.pose(q, "coupler")[1]))
    push = np.concatenate([np.zeros(3), force])
    external = robot.wrenches(q, {"rocker_end": -push, at: push})
    expected = robot.opened.forward_dynamics(q, v, tau, external=external)
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau, target=target), expected, rtol=1e-9)
    np.testing.assert_allclose(robot.loop_forces(q, v, tau, target=target)[0, 3:], R_a.T @ force, rtol=1e-9)
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, expected, target=target), tau, atol=1e-8)
    assert robot.mobility(q) == 3


def test_a_stiff_spring_is_nearly_a_loop():
    stiff, rigid = sprung(stiffness=1e7, damping=2e3), four_bar("spherical")
    q, v = four_bar_state(rigid)
    both = [lw.simulate(r, q, v, duration=0.05, step=1e-4, progress=False) for r in (stiff, rigid)]
    np.testing.assert_allclose(both[0].q[-1], both[1].q[-1], atol=1e-4)


def test_what_springs_hold_and_dampers_take_is_in_the_energy_account(tmp_path):
    spring = lw.Loop("world", "coupler_end", "distance", length=0.4, stiffness=300.0, damping=5.0)
    robot, (q, v) = four_bar().close(spring), four_bar_state(four_bar())
    runs = [lw.simulate(robot, q, v, duration=0.2, step=step, progress=False) for step in (1e-3, 5e-4)]
    for run in runs:
        account = run.energy
        assert account.dissipated[-1] > 0.05 and np.ptp(account.springs) > 0.05
        np.testing.assert_allclose(account.springs, robot.spring_energy(run.q), rtol=1e-12)
    coarse, fine = (np.abs(run.energy.drift).max() for run in runs)
    assert fine < coarse / 3 and coarse < 1e-3 * runs[0].energy.dissipated[-1]  # the error of the steps alone
    assert "springs" in str(account)
    run.save(tmp_path / "run.npz")
    again = lw.Trajectory.load(tmp_path / "run.npz", robot=robot)
    np.testing.assert_allclose(again.energy.drift, account.drift, atol=1e-12)


def test_forces_of_the_tree_are_without_springs(rng):
    robot, (q, v) = sprung(stiffness=50.0, damping=0.5), rng.normal(size=(2, 3))
    for name, state in (("bias_force", (q, v)), ("gravity_force", (q,))):
        np.testing.assert_allclose(getattr(robot, name)(*state), getattr(robot.opened, name)(*state), rtol=1e-12)
    assert np.abs(robot.inverse_dynamics(q, 0 * v, 0 * v) - robot.gravity_force(q)).max() > 0.1


HINGE = np.vstack([np.eye(6)[:2] @ np.kron(np.eye(2), [[0.6, 0, 0.8], [0, 1, 0], [-0.8, 0, 0.6]]), np.eye(6)[3:]])


@pytest.mark.parametrize("kind", [*TRANSMITTED, "hinge"])
def test_springs_give_what_they_held(kind, rng):
    """d/dt of their energy is less what their forces do, wherever they are."""
    tree = lw.random_tree(6, seed=3, floating=True, joints=["revolute"])
    loop = loop_between(rng, "body3", "body6", "weld" if kind == "hinge" else kind)
    if kind == "hinge":
        loop = lw.Loop(loop.frame_a, loop.frame_b, constrains=HINGE)
    robot = tree.close(replace(loop, stiffness=30.0))
    for _ in range(3):
        q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
        force = robot.inverse_dynamics(q, v, 0 * v, target="numpy")
        power = (robot.opened.inverse_dynamics(q, v, 0 * v, target="numpy") - force) @ v
        rate = robot.configuration_rate(q, v, target="numpy")
        change = robot.spring_energy(q + H * rate, target="numpy").imag / abs(H)
        np.testing.assert_allclose(change, -power, atol=1e-10 * (1 + abs(power)))
    assert robot.spring_energy(q) >= 0
    assert robot.damper_power(q, v) == 0
    damped = tree.close(replace(loop, damping=2.0))
    rates = damped.loop_velocity(q, v)
    np.testing.assert_allclose(damped.damper_power(q, v), 2.0 * rates @ rates, rtol=1e-12)


def test_springs_that_hold_no_energy_are_named(rng):
    robot = sprung("weld", constrains=[[0, 0, 1.0, 0, 0, 0]], stiffness=3.0)
    assert not robot.loops[0].holds_energy
    with pytest.raises(lw.NotAdmittedError, match="the spring of loop 'rocker_end–coupler_end' holds no energy"):
        robot.spring_energy(np.zeros(3))
    run = lw.simulate(robot, rng.normal(size=3), rng.normal(size=3), duration=0.01, step=1e-3, progress=False)
    assert run.energy.springs is None


def test_soft_and_rigid_loops_together():
    robot = four_bar().close(lw.Loop("world", "coupler", "point_on_plane", stiffness=10.0, name="spring"))
    q, v = four_bar_state(robot)
    assert robot.mobility(q) == 1 and robot.loop_forces(q, v, np.zeros(3)).shape == (2, 6)
    assert [x.name for x in robot.soft_loops] == ["spring"]


@pytest.mark.parametrize("bad", [{"stiffness": -1.0}, {"damping": np.inf}, {"stiffness": "much"}])
def test_numbers_that_cannot_be(bad):
    with pytest.raises(lw.ModelError, match="not negative"):
        lw.Loop("a", "b", **bad)


def by_complex_steps(robot, q, v, tau):
    """The derivatives of forward dynamics by τ, v and q (tangent)."""

    return accelerations_by_state(robot, partial(robot.forward_dynamics, target="numpy"), q, v, tau)


@pytest.mark.parametrize("kind", [*TRANSMITTED, "constrains"])
def test_linearised_springs_and_dampers(kind, rng):
    """Far from where they would close, beside a rigid loop, with branches on what they hold."""
    tree = lw.random_tree(8, seed=3, branching=0.5, floating=True, joints=["revolute", "spherical"])
    spring = replace(loop_between(rng, "body3", "body6", kind), stiffness=30.0, damping=2.0)
    robot = tree.close(spring, loop_between(rng, None, "body5", "spherical"))
    q = robot.random_configuration(rng)
    v, x = rng.normal(size=(2, robot.nv))
    found = robot.linearize_forward(q, v, x, target="numpy")
    for part, expected in zip(found, by_complex_steps(robot, q, v, x)):
        np.testing.assert_allclose(part, expected, atol=1e-9 * np.abs(expected).max())


def test_linearised_springs_alone_products_and_machine_code(rng):
    robot = sprung(stiffness=50.0, damping=3.0)
    q, v, tau, dq, dv, dtau, w = rng.normal(size=(7, 3))
    found = robot.linearize_forward(q, v, tau)
    for part, expected in zip(found, by_complex_steps(robot, q, v, tau)):
        np.testing.assert_allclose(part, expected, atol=1e-10 * np.abs(expected).max())
    along = found.Minv @ dtau + found.dv @ dv + found.dq @ dq
    np.testing.assert_allclose(robot.forward_dynamics_jvp(q, v, tau, dq, dv, dtau), along, rtol=1e-9)
    back = robot.forward_dynamics_vjp(q, v, tau, w)
    np.testing.assert_allclose(back.dq @ dq + back.dv @ dv + back.dtau @ dtau, w @ along, rtol=1e-9)
    pi, h = robot.inertial_parameters, 1e-6
    step = np.zeros(pi.shape)
    step[1, 0] = h
    moved = [robot.with_inertial_parameters(pi + s * step).forward_dynamics(q, v, tau, target="numpy") for s in (1, -1)]
    sensitivity = robot.forward_dynamics_sensitivity(q, v, tau, target="numpy")[:, 10]
    np.testing.assert_allclose(sensitivity, (moved[0] - moved[1]) / (2 * h), rtol=1e-5)


def test_derivatives_that_would_lack_the_springs_are_refused(rng):
    robot, (q, v, a, w) = sprung(stiffness=50.0), rng.normal(size=(4, 3))
    for name, more in (("linearize_inverse", ()), ("inverse_dynamics_vjp", (w,)), ("inverse_dynamics_jvp", (q, v, a))):
        with pytest.raises(lw.NotAdmittedError, match=f"{name} of robot .* is soft, and derivatives"):
            getattr(robot, name)(q, v, a, *more)
        with pytest.raises(lw.NotAdmittedError, match="is soft"):
            robot.compile(name)
    rigid = four_bar()
    assert rigid.linearize_inverse(q, v, a).M.shape == (3, 3)
