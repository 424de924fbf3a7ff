"""Invariance: where the world's frame sits, where link frames sit, and in which units, changes nothing."""

from dataclasses import replace

import numpy as np
import pytest
from trees import ALL, FLOATING, TREES, assert_close, robot, state

import linkwise as lw
from linkwise.model.joints.kinds import pose_from_transform
from linkwise.model.parts import make_pose
from linkwise.spatial import Transform

TURN = make_pose((0.7, -1.2, 0.4), rpy=(0.5, -0.8, 1.1))  # the old world seen from the new one


def carried(r: lw.Robot, pose: Transform) -> lw.Robot:
    """The same robot bolted on elsewhere: every joint on the world is moved, and gravity turns with them."""
    bodies = []
    for b in r.bodies:
        if b.parent is None:
            placed = pose.compose(b.joint.placement)
            b = replace(b, joint=replace(b.joint, at=placed.l, rpy=None, rotation=placed.R))
        bodies.append(b)
    frames = [
        f if f.body is not None else lw.Frame.from_pose(f.name, None, pose.compose(f.pose)) for f in r.extra_frames
    ]
    return replace(r, bodies=tuple(bodies), extra_frames=tuple(frames), gravity=pose.R @ r.gravity)


@pytest.mark.parametrize("name", ALL)
def test_the_worlds_frame_does_not_matter(name):
    """Robot and gravity turned together: joint forces, accelerations, energies are the same."""
    r = robot(name)
    s = state(r)
    other = carried(r, TURN)
    assert_close(other.mass_matrix(s.q), r.mass_matrix(s.q), 1e-12)
    expected = r.inverse_dynamics(s.q, s.v, s.a, external=s.external)
    assert_close(other.inverse_dynamics(s.q, s.v, s.a, external=s.external), expected, 1e-12)
    expected = r.forward_dynamics(s.q, s.v, s.tau, external=s.external)
    assert_close(other.forward_dynamics(s.q, s.v, s.tau, external=s.external), expected, 1e-10)
    assert_close(other.coriolis_matrix(s.q, s.v), r.coriolis_matrix(s.q, s.v), 1e-12)
    assert_close(other.kinetic_energy(s.q, s.v), r.kinetic_energy(s.q, s.v), 1e-12)
    climb = np.diff(r.potential_energy(s.q))
    assert_close(np.diff(other.potential_energy(s.q)), climb, 1e-11)


@pytest.mark.parametrize("name", ALL)
def test_kinematics_turn_with_the_world(name):
    r = robot(name)
    s = state(r)
    other = carried(r, TURN)
    frame = r.extra_frames[-1].name

    def turned(x):
        return np.concatenate([x[..., :3] @ TURN.R.T, x[..., 3:] @ TURN.R.T], axis=-1)

    R, p = r.pose(s.q, frame)
    R_other, p_other = other.pose(s.q, frame)
    assert_close(R_other, TURN.R @ R, 1e-12)
    assert_close(p_other, p @ TURN.R.T + TURN.l, 1e-12)
    assert_close(other.velocity(s.q, s.v, frame), turned(r.velocity(s.q, s.v, frame)), 1e-12)
    expected = turned(r.acceleration(s.q, s.v, s.a, frame))
    assert_close(other.acceleration(s.q, s.v, s.a, frame), expected, 1e-12)
    assert_close(other.centroidal_momentum(s.q, s.v), turned(r.centroidal_momentum(s.q, s.v)), 1e-12)
    X = np.kron(np.eye(2), TURN.R)
    compliance = r.operational_compliance(s.q, frame)
    assert_close(other.operational_compliance(s.q, frame), X @ compliance @ X.T, 1e-11)


@pytest.mark.parametrize("name", FLOATING)
def test_a_floating_robot_may_be_anywhere(name):
    """Moving the base's configuration instead: only gravity's direction in the base matters."""
    r = robot(name)
    s = state(r)
    q = s.q.copy()
    for row in q:
        base = r.joints[0].kind.transform(row[:7])
        row[:7] = pose_from_transform(TURN.compose(base))
    turned = r.with_gravity(TURN.R @ r.gravity)
    assert_close(turned.forward_dynamics(q, s.v, s.tau), r.forward_dynamics(s.q, s.v, s.tau), 1e-10)
    assert_close(turned.mass_matrix(q), r.mass_matrix(s.q), 1e-12)


@pytest.mark.parametrize("name", FLOATING)
def test_uniform_motion_cannot_be_felt(name):
    """A floating robot seen from a train: the base's velocity gets a constant part, accelerations stay.

    The base's velocity is in body axes, so that the constant world velocity w adds R*w to it, and its
    acceleration −ω × R*w.
    """
    r = robot(name)
    s = state(r)
    w = np.array([3.0, -1.0, 2.0])
    R = r.pose(s.q, r.bodies[0].name)[0]
    local = np.einsum("bji,j->bi", R, w)
    v = s.v.copy()
    v[:, 3:6] += local
    expected = r.forward_dynamics(s.q, s.v, s.tau)
    expected[:, 3:6] -= np.cross(s.v[:, :3], local)
    assert_close(r.forward_dynamics(s.q, v, s.tau), expected, 1e-10)


@pytest.mark.parametrize("name", [name for name in TREES if name not in FLOATING])
def test_gravity_is_an_upward_acceleration_of_the_base(name):
    """The robot in a lift that accelerates upward weighs more: a prismatic base, prescribed."""
    r = robot(name)
    lift = lw.Body("lift", lw.Prismatic("z"), lw.Inertia.box(1, (1, 1, 1)))
    bodies = [lift, *(replace(b, parent="lift") if b.parent is None else b for b in r.bodies)]
    frames = [f for f in r.extra_frames if f.body is not None]
    lifted = lw.assemble("lifted", bodies, frames, gravity=(0, 0, -3.0))
    s = state(r)
    up, zero = np.full((3, 1), 6.81), np.zeros((3, 1))
    T = lifted.inverse_dynamics(np.hstack([zero, s.q]), np.hstack([zero, s.v]), np.hstack([up, s.a]))
    assert_close(T[:, 1:], r.inverse_dynamics(s.q, s.v, s.a), 1e-11)


@pytest.mark.parametrize("factor", [1e-3, 50.0])
def test_units_of_mass_scale_forces(factor):
    """All inertias times c: forces times c, accelerations the same."""
    r = robot("arms")
    bodies = []
    for b in r.bodies:
        inertia = lw.Inertia(factor * b.inertia.mass, b.inertia.com, factor * b.inertia.tensor)
        rotor = b.joint.rotor
        if rotor is not None:
            b = replace(b, joint=replace(b.joint, rotor=replace(rotor, inertia=factor * rotor.inertia)))
        bodies.append(replace(b, inertia=inertia))
    heavy = replace(r, bodies=tuple(bodies))
    s = state(r)
    assert_close(heavy.inverse_dynamics(s.q, s.v, s.a) / factor, r.inverse_dynamics(s.q, s.v, s.a), 1e-11)
    assert_close(heavy.forward_dynamics(s.q, s.v, factor * s.tau), r.forward_dynamics(s.q, s.v, s.tau), 1e-10)


@pytest.mark.parametrize("name", ["revolute", "prismatic", "helical", "chain6"])
def test_time_scaling(name):
    """Twice as fast without gravity: four times the forces."""
    r = robot(name).with_gravity((0, 0, 0))
    s = state(r)
    assert_close(r.inverse_dynamics(s.q, 2 * s.v, 4 * s.a), 4 * r.inverse_dynamics(s.q, s.v, s.a), 1e-12)


def test_the_order_of_bodies_does_not_matter():
    """The same tree listed in another order: the same forces, under the joints' names."""
    r = robot("tree_rotors")
    other = lw.assemble("shuffled", r.bodies[::-1], r.extra_frames)
    s = state(r, ())
    names = [j.name for j in other.joints]
    assert names != [j.name for j in r.joints]
    order = [r.joint(n) for n in names]
    q = np.concatenate([s.q[r.q_slices[i]] for i in order])
    v, a = (np.concatenate([x[r.v_slices[i]] for i in order]) for x in (s.v, s.a))
    T = r.inverse_dynamics(s.q, s.v, s.a)
    assert_close(other.inverse_dynamics(q, v, a), np.concatenate([T[r.v_slices[i]] for i in order]), 1e-12)
