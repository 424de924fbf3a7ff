"""Pinocchio as an oracle for one robot built joint by joint: free base, hinges, sliders, screws, balls.

(The other files here compare whole URDF files; this robot has the joints that URDF does not know.)
"""

import numpy as np
import pytest
from trees import State, assert_close, state

import linkwise as lw

pin = pytest.importorskip("pinocchio")

ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]
FRAME = "hand"


def build() -> lw.Robot:
    """A tree of nine bodies from the random one, whose joints Pinocchio has too."""
    kinds = ["revolute", "prismatic", "helical", "spherical"]
    r = lw.random_tree(9, seed=8, joints=kinds, floating=True, branching=0.6)
    frame = lw.Frame(FRAME, r.bodies[-1].name, at=(0.1, -0.3, 0.2), rpy=(0.4, 0.5, 0.6))
    return lw.assemble("oracle", r.bodies, [frame])


def joint_model(kind: lw.Joint):
    if isinstance(kind, lw.Free):
        return pin.JointModelFreeFlyer()
    if isinstance(kind, lw.Spherical):
        return pin.JointModelSpherical()
    if isinstance(kind, lw.Helical):
        return pin.JointModelHelicalUnaligned(np.array(kind.axis), kind.pitch)
    return {lw.Revolute: pin.JointModelRevoluteUnaligned, lw.Prismatic: pin.JointModelPrismaticUnaligned}[type(kind)](
        np.array(kind.axis)
    )


class Oracle:
    """The same robot in Pinocchio; answers angular part first, in linkwise's order of joints."""

    def __init__(self, robot: lw.Robot) -> None:
        self.robot, self.model = robot, pin.Model()
        ids: dict = {None: 0}
        for b in robot.bodies:
            placement = pin.SE3(np.array(b.joint.placement.R), np.array(b.joint.placement.l))
            ids[b.name] = self.model.addJoint(ids[b.parent], joint_model(b.joint.kind), placement, b.joint.name)
            inertia = pin.Inertia(b.inertia.mass, np.array(b.inertia.com), np.array(b.inertia.tensor))
            self.model.appendBodyToJoint(ids[b.name], inertia, pin.SE3.Identity())
        hand = robot.extra_frames[-1]
        on_body = pin.SE3(np.array(hand.pose.R), np.array(hand.pose.l))
        joint = ids[hand.body]
        self.frame = self.model.addFrame(pin.Frame(FRAME, joint, 0, on_body, pin.FrameType.OP_FRAME))
        self.data = self.model.createData()
        self.order = np.arange(robot.nv)
        for b, own in zip(robot.bodies, robot.v_slices):
            start = self.model.idx_vs[ids[b.name]]
            local = ANGULAR_FIRST if isinstance(b.joint.kind, lw.Free) else range(b.joint.kind.nv)
            self.order[own] = [start + i for i in local]
            assert self.model.idx_qs[ids[b.name]] == robot.q_slices[robot.body(b.name)].start  # same order of q

    def v(self, x):
        out = np.empty(self.robot.nv)
        out[self.order] = x
        return out


@pytest.fixture(scope="module")
def case() -> tuple[lw.Robot, Oracle, State]:
    r = build()
    return r, Oracle(r), state(r, (), seed=3)


def test_covers_the_joints_it_claims(case):
    r, _, _ = case
    kinds = {j.kind.kind for j in r.joints}
    assert kinds == {"free", "revolute", "prismatic", "helical", "spherical"} and not r.is_chain


def test_inverse_and_forward_dynamics(case):
    r, o, s = case
    T = pin.rnea(o.model, o.data, s.q, o.v(s.v), o.v(s.a))[o.order]
    assert_close(r.inverse_dynamics(s.q, s.v, s.a), T, 1e-12)
    a = pin.aba(o.model, o.data, s.q, o.v(s.v), o.v(s.tau))[o.order]
    assert_close(r.forward_dynamics(s.q, s.v, s.tau), a, 1e-11)


def test_external_forces(case):
    r, o, s = case
    forces = pin.StdVec_Force()
    forces.append(pin.Force.Zero())
    for f in s.external:
        forces.append(pin.Force(f[3:], f[:3]))
    T = pin.rnea(o.model, o.data, s.q, o.v(s.v), o.v(s.a), forces)[o.order]
    assert_close(r.inverse_dynamics(s.q, s.v, s.a, external=s.external), T, 1e-12)


def test_mass_matrix(case):
    r, o, s = case
    columns = [pin.rnea(o.model, o.data, s.q, 0 * s.v, o.v(e)) for e in np.eye(r.nv)]
    M = np.array(columns).T - pin.computeGeneralizedGravity(o.model, o.data, s.q)[:, None]
    assert_close(r.mass_matrix(s.q), M[o.order], 1e-12)


def test_frame_kinematics(case):
    r, o, s = case
    pin.forwardKinematics(o.model, o.data, s.q, o.v(s.v), o.v(s.a))
    pin.updateFramePlacements(o.model, o.data)
    R, p = r.pose(s.q, FRAME)
    assert_close(R, o.data.oMf[o.frame].rotation, 1e-13)
    assert_close(p, o.data.oMf[o.frame].translation, 1e-13)
    for axes, reference in (("world", pin.LOCAL_WORLD_ALIGNED), ("local", pin.LOCAL)):
        V = pin.getFrameVelocity(o.model, o.data, o.frame, reference).vector[ANGULAR_FIRST]
        A = pin.getFrameAcceleration(o.model, o.data, o.frame, reference).vector[ANGULAR_FIRST]
        alpha = pin.getFrameClassicalAcceleration(o.model, o.data, o.frame, reference).vector[ANGULAR_FIRST]
        J = pin.computeFrameJacobian(o.model, o.data, s.q, o.frame, reference)[ANGULAR_FIRST][:, o.order]
        assert_close(r.velocity(s.q, s.v, FRAME, axes=axes), V, 1e-12)
        assert_close(r.acceleration(s.q, s.v, s.a, FRAME, axes=axes), alpha, 1e-11)
        assert_close(r.acceleration(s.q, s.v, s.a, FRAME, axes=axes, spatial=True), A, 1e-11)
        assert_close(r.jacobian(s.q, FRAME, axes=axes), J, 1e-12)


def test_centroidal_quantities_and_energies(case):
    r, o, s = case
    Ag = pin.computeCentroidalMap(o.model, o.data, s.q)[ANGULAR_FIRST][:, o.order]
    assert_close(r.centroidal_matrix(s.q), Ag, 1e-12)
    rate = pin.computeCentroidalMomentumTimeVariation(o.model, o.data, s.q, o.v(s.v), o.v(0 * s.v))
    assert_close(r.centroidal_bias(s.q, s.v), rate.vector[ANGULAR_FIRST], 1e-11)
    assert_close(r.center_of_mass(s.q), pin.centerOfMass(o.model, o.data, s.q), 1e-13)
    kinetic = pin.computeKineticEnergy(o.model, o.data, s.q, o.v(s.v))
    assert_close(r.energy(s.q, s.v)[0], kinetic, 1e-12)
    assert_close(r.energy(s.q, s.v)[1], pin.computePotentialEnergy(o.model, o.data, s.q), 1e-11)
