"""Soft loops: springs and dampers between frames."""

import numpy as np
import pytest
from linkages import four_bar, four_bar_state, open_four_bar
from scipy.integrate import simpson

import linkwise as lw


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


def test_what_springs_give_is_left_over_in_the_energy_account(rng):
    """The account has no place for it, nor have the forces of the tree; inverse dynamics have."""
    robot = sprung(stiffness=50.0, damping=0.5)
    q, v = rng.normal(size=(2, 3))
    run = lw.simulate(robot, q, v, duration=0.2, step=1e-3, progress=False)
    nothing = np.zeros_like(run.v)
    springs = robot.opened.inverse_dynamics(run.q, run.v, nothing) - robot.inverse_dynamics(run.q, run.v, nothing)
    power = (springs * run.v).sum(axis=-1)
    for end in (101, 201):  # samples: Simpson's rule takes pairs of steps
        given = simpson(power[:end], x=run.time[:end])
        assert abs(given) > 0.1
        np.testing.assert_allclose(run.energy.drift[end - 1], given, rtol=1e-6)
    for name, state in (("bias_force", (q, v)), ("gravity_force", (q,))):
        np.testing.assert_allclose(getattr(robot, name)(*state), getattr(robot.opened, name)(*state), rtol=1e-12)
    assert np.abs(robot.inverse_dynamics(q, 0 * v, 0 * v) - robot.gravity_force(q)).max() > 0.1


def test_soft_and_rigid_loops_together():
    robot = four_bar().close(lw.Loop("world", "coupler", "point_on_plane", stiffness=10.0, name="spring"))
    q, v = four_bar_state(robot)
    assert robot.mobility(q) == 1 and robot.loop_forces(q, v, np.zeros(3)).shape == (2, 6)
    assert [x.name for x in robot.soft_loops] == ["spring"]
    with pytest.raises(lw.NotAdmittedError, match="loop 'spring' is soft"):
        robot.linearize_forward(q, v, np.zeros(3))


@pytest.mark.parametrize("bad", [{"stiffness": -1.0}, {"damping": np.inf}, {"stiffness": "much"}])
def test_numbers_that_cannot_be(bad):
    with pytest.raises(lw.ModelError, match="not negative"):
        lw.Loop("a", "b", **bad)
