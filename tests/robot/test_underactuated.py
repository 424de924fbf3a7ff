"""Disturbance maps and generalised Jacobians against 𝓜 and J, hybrid dynamics, and momentum that stays zero."""

import numpy as np
import pytest
from coupled import coupled_robot
from trees import assert_close, robot

import linkwise as lw
from linkwise import control


def split(r, passive):
    """(degrees of freedom of the passive joints, those of the others)."""
    idle = [i for name in passive for i in range(r.v_slices[r.joint(name)].start, r.v_slices[r.joint(name)].stop)]
    return sorted(idle), [i for i in range(r.nv) if i not in idle]


CASES = {
    "panda": ["panda_joint2", "panda_joint5"],
    "tree": None,
    "tree_rotors": None,
    "floating": None,
    "arms": None,
}


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("name", CASES)
def test_they_are_what_the_mass_matrix_says(name, target):
    r = robot(name)
    passive = CASES[name] or [j.name for j in r.joints][::2]
    q = r.random_configuration(1, batch=3)
    p, a = split(r, passive)
    M, J = r.mass_matrix(q), r.jacobian(q, r.tips[0])
    S = -np.linalg.solve(M[:, p][:, :, p], M[:, p][:, :, a])
    found = r.disturbance_map(q, passive=passive, target=target)
    assert found.shape == (3, len(p), len(a))
    assert_close(found, S, 1e-9)
    generalized = r.generalized_jacobian(q, r.tips[0], passive=passive, target=target)
    assert_close(generalized, J[..., a] + J[..., p] @ S, 1e-9)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_coupled_joints_go_with_what_they_follow(target):
    r = coupled_robot()
    q = r.random_configuration(0)
    free = [j.name for j, _, _ in r.coordinates]
    held = {k for c in r.couplings for k in (c.dependent, *c.independents)}
    passive = [name for name in free if name not in held][:1]
    p, a = split(r, passive)
    M = r.mass_matrix(q)
    S = -np.linalg.solve(M[np.ix_(p, p)], M[np.ix_(p, a)])
    assert_close(r.disturbance_map(q, passive=passive, target=target), S, 1e-9)
    J = r.jacobian(q, r.tips[0])
    found = r.generalized_jacobian(q, r.tips[0], passive=passive, target=target)
    assert_close(found, J[:, a] + J[:, p] @ S, 1e-9)
    with pytest.raises(lw.InputError, match="follows others"):
        r.disturbance_map(q, passive=[r.couplings[0].dependent])


def test_a_free_flyer_keeps_no_momentum():
    """With rates of the base from the disturbance map nothing has momentum, and the hand moves as J_S says."""
    r = lw.load("satellite")
    q = r.random_configuration(3)
    rates = np.random.default_rng(0).normal(size=r.nv - 6)
    v = np.concatenate([r.disturbance_map(q) @ rates, rates])
    assert np.abs(r.momentum(q, v)).max() < 1e-12 * np.abs(r.mass_matrix(q)).max()
    hand = r.tips[0]
    assert_close(r.generalized_jacobian(q, hand) @ rates, r.velocity(q, v, hand), 1e-10)
    assert not r.generalized_jacobian(q, "world").any()


def test_passive_joints_of_an_arm_by_their_limits():
    """A joint whose effort limit is zero is passive by default; its acceleration is that of hybrid dynamics."""
    inertia = lw.Inertia.box(1.0, (0.3, 0.1, 0.1))
    r = lw.assemble(
        "acrobot",
        [
            lw.Body("upper", lw.Joint(lw.Revolute("y"), limits=lw.Limits(effort=0.0)), inertia),
            lw.Body("lower", lw.Joint(lw.Revolute("y"), at=(0, 0, -0.4)), inertia, parent="upper"),
        ],
        gravity=(0, 0, 0),
    )
    q = np.array([0.3, 0.7])
    a, _ = r.hybrid_dynamics(q, np.zeros(2), np.array([0.0, 2.0]), np.zeros(2), [r.joints[1].name])
    assert_close(r.disturbance_map(q)[:, 0] * 2.0, a[:1], 1e-12)


def test_modes_of_flexible_bodies_are_passive():
    beam = lw.Flexible.beam(length=1.0, mass=2.0, stiffness=50.0, modes=2)
    hand = lw.Body("hand", lw.Joint(lw.Revolute("z"), "wrist"), lw.Inertia.box(0.5, (0.1, 0.1, 0.1)), parent="arm.tip")
    r = lw.assemble("bending", [lw.Body("arm", lw.Joint(lw.Revolute("z"), "hinge"), beam), hand])
    assert control.driven_joints(r) == ["hinge", "wrist"]
    with pytest.raises(lw.LinkwiseError, match=r"arm\.modes"):
        control.RateFeedback(r, 1.0)
    q = np.array([0.3, 0.02, -0.01, 0.5])
    p, a = split(r, ["arm.modes"])
    M, J = r.mass_matrix(q), r.jacobian(q, "hand")
    S = -np.linalg.solve(M[np.ix_(p, p)], M[np.ix_(p, a)])
    for target in ("numpy", "cpu"):
        assert_close(r.disturbance_map(q, target=target), S, 1e-9)
        assert_close(r.generalized_jacobian(q, "hand", target=target), J[:, a] + J[:, p] @ S, 1e-9)


def test_a_robot_whose_joints_are_all_driven():
    r = lw.load("panda")
    q = r.random_configuration(0, batch=2)
    assert r.disturbance_map(q).shape == (2, 0, 7)
    assert_close(r.generalized_jacobian(q, "tcp"), r.jacobian(q, "tcp"), 1e-12)


def test_a_robot_none_of_whose_joints_is_driven():
    r = lw.load("panda")
    passive = [j.name for j in r.joints]
    assert r.disturbance_map(r.neutral(), passive=passive).shape == (7, 0)
    assert r.generalized_jacobian(r.neutral(), "tcp", passive=passive).shape == (6, 0)


def test_what_is_refused():
    r = lw.load("panda")
    q = r.neutral()
    with pytest.raises(lw.UnknownNameError, match="elbow"):
        r.disturbance_map(q, passive=["elbow"])
    with pytest.raises(lw.InputError, match="a list of joint names"):
        r.disturbance_map(q, passive="panda_joint1")
    with pytest.raises(lw.NotAdmittedError, match="loops"):
        lw.load("four_bar").disturbance_map(lw.load("four_bar").neutral(), passive=["crank"])
