"""What docs/from_drake.md says about Drake's conventions, where Drake is installed (pip install drake)."""

from functools import partial

import numpy as np
import pytest

import linkwise as lw

plants = pytest.importorskip("pydrake.multibody.plant", reason="Drake is not installed")
maths = pytest.importorskip("pydrake.multibody.math")
trees = pytest.importorskip("pydrake.multibody.tree")
parsing = pytest.importorskip("pydrake.multibody.parsing")

close = partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-9)


class Beside:
    """A quadruped, floating, in linkwise and in Drake, at one state."""

    def __init__(self) -> None:
        text = lw.load("quadruped").to_urdf(floating_root=True)
        self.robot = robot = lw.load(text, floating=True)
        self.plant = plant = plants.MultibodyPlant(0.0)
        parsing.Parser(plant).AddModelsFromString(text, "urdf")
        plant.Finalize()
        self.context = plant.CreateDefaultContext()
        self.of_v = self.places()
        rng = np.random.default_rng(0)
        self.q = robot.random_configuration(rng)
        self.v, self.a, self.tau = rng.normal(size=(3, robot.nv))
        self.R = robot.pose(self.q, robot.bodies[0].name)[0]
        plant.SetPositions(self.context, self.positions(self.q))
        plant.SetVelocities(self.context, self.out(self.v))
        self.tip = robot.tips[0]

    def joint(self, name):
        """The floating joint is named after its body in Drake."""
        return self.plant.GetJointByName(self.robot.bodies[0].name if name == "root_joint" else name)

    def places(self):
        """Where the velocity of every joint stands in Drake's vector."""
        starts = [(self.joint(j.name).velocity_start(), j.kind.nv) for j in self.robot.joints]
        return np.concatenate([np.arange(at, at + n) for at, n in starts])

    def positions(self, q):
        out = np.empty(self.robot.nq)
        for joint, where in zip(self.robot.joints, self.robot.q_slices):
            x = q[where]
            if joint.kind.kind == "free":  # quaternion first, w first
                x = np.concatenate([x[[6, 3, 4, 5]], x[:3]])
            at = self.joint(joint.name).position_start()
            out[at : at + len(x)] = x
        return out

    def map(self):
        """T with v_drake = T v: order of the joints, and the base's [ω; v] in world axes."""
        turn = np.eye(self.robot.nv)
        turn[:3, :3] = turn[3:6, 3:6] = self.R
        T = np.empty_like(turn)
        T[self.of_v] = turn
        return T

    def out(self, x):
        return self.map() @ x

    def rates(self, a):
        """Accelerations in Drake's vector."""
        return self.map() @ (a - self.still())

    def still(self):
        """The accelerations for which Drake's are zero: a base whose linear velocity is constant in world axes."""
        a = np.zeros(self.robot.nv)
        a[3:6] = -np.cross(self.v[:3], self.v[3:6])
        return a


@pytest.fixture(scope="module")
def beside():
    return Beside()


def test_mass_matrix_and_joint_forces(beside):
    b, T = beside, beside.map()
    close(T.T @ b.plant.CalcMassMatrix(b.context) @ T, b.robot.mass_matrix(b.q))
    close(T.T @ -b.plant.CalcGravityGeneralizedForces(b.context), b.robot.gravity_force(b.q))
    forces = trees.MultibodyForces(b.plant)
    without_gravity = b.plant.CalcInverseDynamics(b.context, b.rates(b.a), forces)
    close(T.T @ without_gravity, b.robot.inverse_dynamics(b.q, b.v, b.a) - b.robot.gravity_force(b.q))
    b.plant.CalcForceElementsContribution(b.context, forces)
    with_gravity = b.plant.CalcInverseDynamics(b.context, b.rates(b.a), forces)
    close(T.T @ with_gravity, b.robot.inverse_dynamics(b.q, b.v, b.a))


def test_bias_term_is_without_gravity_and_for_drakes_accelerations(beside):
    b, T = beside, beside.map()
    expected = b.robot.inverse_dynamics(b.q, b.v, b.still()) - b.robot.gravity_force(b.q)
    close(T.T @ b.plant.CalcBiasTerm(b.context), expected)


def test_accelerations(beside):
    b = beside
    b.plant.get_applied_generalized_force_input_port().FixValue(b.context, b.out(b.tau))
    found = b.plant.get_generalized_acceleration_output_port().Eval(b.context)
    close(found, b.rates(b.robot.forward_dynamics(b.q, b.v, b.tau)))
    body = b.plant.GetBodyByName(b.robot.bodies[3].name)
    spatial = b.plant.EvalBodySpatialAccelerationInWorld(b.context, body).get_coeffs()
    a = b.robot.forward_dynamics(b.q, b.v, b.tau)
    close(spatial, b.robot.acceleration(b.q, b.v, a, b.robot.bodies[3].name))


def test_frames_velocities_and_jacobians_are_angular_first_in_world_axes(beside):
    b = beside
    frame, world = b.plant.GetFrameByName(b.tip), b.plant.world_frame()
    pose = frame.CalcPoseInWorld(b.context)
    R, p = b.robot.pose(b.q, b.tip)
    close(pose.rotation().matrix(), R)
    close(pose.translation(), p)
    close(frame.CalcSpatialVelocityInWorld(b.context).get_coeffs(), b.robot.velocity(b.q, b.v, b.tip))
    J = b.plant.CalcJacobianSpatialVelocity(b.context, trees.JacobianWrtVariable.kV, frame, np.zeros(3), world, world)
    close(J @ b.map(), b.robot.jacobian(b.q, b.tip))
    bias = b.plant.CalcBiasSpatialAcceleration(
        b.context, trees.JacobianWrtVariable.kV, frame, np.zeros(3), world, world
    )
    close(bias.get_coeffs(), b.robot.acceleration(b.q, b.v, b.still(), b.tip))


def test_external_forces_are_moment_first_in_world_axes_at_the_bodys_origin(beside):
    b = beside
    push = np.array([0.1, 0.2, 0.3, 4.0, 5.0, 6.0])
    body = b.plant.GetBodyByName(b.robot.bodies[3].name)
    forces = trees.MultibodyForces(b.plant)
    b.plant.CalcForceElementsContribution(b.context, forces)
    body.AddInForceInWorld(b.context, maths.SpatialForce(push), forces)
    found = b.plant.CalcInverseDynamics(b.context, b.rates(b.a), forces)
    external = b.robot.wrenches(b.q, {b.robot.bodies[3].name: push})
    close(b.map().T @ found, b.robot.inverse_dynamics(b.q, b.v, b.a, external=external))


def test_energy_and_momentum(beside):
    b = beside
    kinetic, potential = b.robot.energy(b.q, b.v)
    close(b.plant.CalcKineticEnergy(b.context), kinetic)
    close(b.plant.CalcPotentialEnergy(b.context), potential)
    momentum = b.plant.CalcSpatialMomentumInWorldAboutPoint(b.context, np.zeros(3))
    close(momentum.get_coeffs(), b.robot.momentum(b.q, b.v))
    close(b.plant.CalcCenterOfMassPositionInWorld(b.context), b.robot.center_of_mass(b.q))


def test_joint_damping_acts_in_drake_and_is_data_in_linkwise():
    text = lw.load("double_pendulum").to_urdf()
    damped = text.replace("</joint>", '<dynamics damping="0.5"/></joint>')
    assert damped != text and "<dynamics" not in text
    robot = lw.load(damped)
    plant = plants.MultibodyPlant(0.0)
    parsing.Parser(plant).AddModelsFromString(damped, "urdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(robot.base_name or "base"))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    q, v = np.array([0.3, 0.4]), np.array([1.0, -2.0])
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    found = plant.get_generalized_acceleration_output_port().Eval(context)
    close(found, robot.forward_dynamics(q, v, -robot.damping * v))


def test_a_root_link_is_free_unless_it_is_welded():
    plant = plants.MultibodyPlant(0.0)
    parsing.Parser(plant).AddModelsFromString(lw.load("double_pendulum").to_urdf(), "urdf")
    plant.Finalize()
    assert plant.num_velocities() == lw.load("double_pendulum").nv + 6
