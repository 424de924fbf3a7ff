"""Where joints are placed: how frames, accelerations and motions change with it, against robots placed elsewhere."""

import numpy as np
import pytest
from coupled import coupled_robot
from sprung import sprung
from trees import ALL, assert_close, robot, state

import linkwise as lw
from linkwise.spatial import quaternion_from_rotation, quaternion_log


def prepared(name):
    r = coupled_robot() if name == "coupled" else sprung(robot("tree")) if name == "sprung" else robot(name)
    return r, state(r, (), 1), np.random.default_rng(0).normal(size=(len(r.bodies), 6))


def difference(function, h=1e-3):
    """The derivative at zero, by differences of fourth order."""
    return (8 * (function(h) - function(-h)) - (function(2 * h) - function(-2 * h))) / (12 * h)


@pytest.mark.parametrize("name", [*ALL, "panda", "coupled"])
def test_poses(name):
    r, x, change = prepared(name)
    tip = r.tips[-1]
    R0, p0 = r.pose(x.q, tip)

    def motion(t):
        R, p = r.with_placements(t * change).pose(x.q, tip)
        return np.concatenate([quaternion_log(quaternion_from_rotation(R @ R0.T)), p - p0])

    assert_close(r.placement_jacobian(x.q, tip) @ change.ravel(), difference(motion), 1e-8)
    turned = np.kron(np.eye(2), R0.T) @ r.placement_jacobian(x.q, tip)
    assert_close(r.placement_jacobian(x.q, tip, axes="local"), turned)


@pytest.mark.parametrize("name", [*ALL, "panda", "coupled", "sprung"])
def test_accelerations(name):
    r, x, change = prepared(name)
    S = r.forward_dynamics_sensitivity(x.q, x.v, x.tau, external=x.external, of="placements")
    assert S.shape == (r.nv, 6 * len(r.bodies))

    def accelerations(t):
        return r.with_placements(t * change).forward_dynamics(x.q, x.v, x.tau, external=x.external)

    assert_close(S @ change.ravel(), difference(accelerations), 1e-6)


@pytest.mark.parametrize(("name", "method"), [("chain4", "midpoint"), ("spherical", "runge_kutta_4")])
def test_motions(name, method):
    r, x, change = prepared(name)
    tau = np.broadcast_to(x.tau, (5, r.nv))
    options = {"step": 0.01, "method": method}
    found = lw.trajectory_sensitivity(r, x.q, x.v, tau, of="placements", **options)
    assert found.dv.shape == (6, r.nv, 6 * len(r.bodies))

    def end(t):
        run = lw.rollout(r.with_placements(t * change), x.q, x.v, tau=tau, **options)
        return np.concatenate([r.difference(found.motion.q[-1], run.q[-1]), run.v[-1]])

    mine = np.concatenate([found.dq[-1], found.dv[-1]]) @ change.ravel()
    assert_close(mine, difference(end), 1e-7)
    some = lw.trajectory_sensitivity(r, x.q, x.v, tau, of="placements", columns=[7, 2], **options)
    assert_close(some.dv, found.dv[..., [7, 2]])


def test_placements_take_what_is_on_the_bodies_with_them():
    r = robot("panda")
    change = np.zeros((7, 6))
    change[3] = [0.1, 0.2, 0.3, 0.01, 0.02, 0.03]
    moved = r.with_placements(change)
    assert moved.joints[2] == r.joints[2] and moved.joints[3] != r.joints[3]
    assert_close(moved.inertial_parameters, r.inertial_parameters)
    back = moved.with_placements(-change)  # not the inverse, where it turns and shifts at once
    assert_close(back.joints[3].placement.R, r.joints[3].placement.R)
    assert moved == r.with_placements(change) and moved != r


def test_refusals():
    r, x, _ = prepared("panda")
    with pytest.raises(lw.InputError, match=r"changes must have shape \(7, 6\)"):
        r.with_placements(np.zeros((6, 7)))
    with pytest.raises(lw.UnknownNameError, match="no sort of parameters is named"):
        r.forward_dynamics_sensitivity(x.q, x.v, x.tau, of="lengths")
    with pytest.raises(lw.UnknownNameError, match="no sort of parameters is named"):
        lw.trajectory_sensitivity(r, x.q, x.v, np.zeros((2, 7)), of="lengths")
    with pytest.raises(lw.InputError, match="columns are indices of the 42 numbers that place the joints"):
        lw.trajectory_sensitivity(r, x.q, x.v, np.zeros((2, 7)), of="placements", columns=[42])
    closed = lw.load("four_bar")
    q = closed.closed_configuration(closed.neutral())
    with pytest.raises(lw.NotAdmittedError, match="other placements"):
        closed.forward_dynamics_sensitivity(q, 0 * q, 0 * q, of="placements")
