"""Mechanisms with coupled joints whose equations are known in closed form, and the laws of motion of any such robot."""

from __future__ import annotations

import numpy as np
import pytest

import linkwise as lw


def _disc(name: str, inertia: float, parent: str | None = None, at=(0.0, 0.0, 0.0), mass: float = 1.0) -> lw.Body:
    tensor = np.diag([inertia, inertia, inertia])
    return lw.Body(name, lw.Joint(lw.Revolute("z"), f"{name}_joint", at=at), lw.Inertia(mass, tensor=tensor), parent)


def test_planar_arm_with_a_mimic_joint():
    """M = M₁₁ + 2kM₁₂ + k²M₂₂ and T of the closed form."""

    def link(name, parent, mass, com, tensor, at):
        joint = lw.Joint(lw.Revolute("z"), f"{name}_joint", at=(at, 0, 0))
        return lw.Body(name, joint, lw.Inertia(mass, com=(com, 0, 0), tensor=np.diag([0.001, tensor, tensor])), parent)

    bodies = [link("upper", None, 1.3, 0.35, 0.06, 0.0), link("lower", "upper", 0.7, 0.3, 0.03, 0.8)]
    robot = lw.assemble("mimic", bodies, gravity=(0, -9.81, 0)).couple("lower_joint", "upper_joint", ratio=-1.7)
    for target in ("numpy", "cpu"):
        assert robot.mass_matrix([0.4], target=target)[0, 0] == pytest.approx(0.529934896550, abs=1e-11)
        force = robot.inverse_dynamics([0.4], [1.1], [-0.6], target=target)
        assert force[0] == pytest.approx(7.619379367229, abs=1e-11)
        assert robot.forward_dynamics([0.4], [1.1], force, target=target)[0] == pytest.approx(-0.6, abs=1e-11)


def test_hooke_joint():
    """θ_out = atan2(sin θ, cos α cos θ): J = J₁ + J₂g'², and the torque J₂g'g″ω² at a constant rate."""
    alpha, angle, rate = 0.6, 0.9, 2.0
    shafts = lw.assemble("hooke", [_disc("inner", 0.3), _disc("outer", 0.5)], gravity=(0, 0, 0))
    robot = shafts.couple(
        "outer_joint", "inner_joint", relation=lambda x: np.arctan2(np.sin(x), np.cos(alpha) * np.cos(x))
    )
    for target in ("numpy", "cpu"):
        assert robot.coupling_jacobian([angle], target=target)[1, 0] == pytest.approx(0.941295875659, abs=1e-11)
        assert robot.mass_matrix([angle], target=target)[0, 0] == pytest.approx(0.743018962767, abs=1e-11)
        torque = robot.bias_force([angle], [rate], target=target)
        assert torque[0] == pytest.approx(-0.627503244695, abs=1e-11)


def test_planetary_gear():
    """The ring fixed: ω_c/ω_s = z_s/(z_s + z_r), planets on the carrier turn by z_s + z_r … about their own axes."""
    z_s, z_r = 20, 60
    z_p = (z_r - z_s) / 2
    carrier = z_s / (z_s + z_r)
    parts = [_disc("sun", 0.01), _disc("carrier", 0.05)]
    for i in range(3):
        at = 0.12 * np.array([np.cos(2 * np.pi * i / 3), np.sin(2 * np.pi * i / 3), 0.0])
        parts.append(_disc(f"planet{i}", 0.002, "carrier", at, mass=0.3))
    robot = lw.assemble("planetary", parts, gravity=(0, 0, 0)).couple("carrier_joint", "sun_joint", ratio=carrier)
    for i in range(3):  # relative to the carrier, against the ring that does not turn
        robot = robot.couple(f"planet{i}_joint", "carrier_joint", ratio=-z_r / z_p)
    assert robot.nv == 1
    assert robot.mass_matrix([0.3])[0, 0] == pytest.approx(0.015435, abs=1e-12)


def test_bevel_differential():
    """The carrier turns by the mean of the side gears, the spider by z/2 of their difference."""
    J_s, J_c, J_p, z = 0.01, 0.05, 0.003, 2.5
    spider_about_the_carriers_axis = 0.02
    tensor = np.diag([J_p, spider_about_the_carriers_axis, spider_about_the_carriers_axis])
    spider = lw.Body("spider", lw.Joint(lw.Revolute("x"), "spider_joint"), lw.Inertia(0.2, tensor=tensor), "carrier")
    parts = [_disc("left", J_s), _disc("right", J_s), _disc("carrier", J_c - spider_about_the_carriers_axis), spider]
    robot = lw.assemble("differential", parts, gravity=(0, 0, 0))
    sides = ("left_joint", "right_joint")
    robot = robot.couple("carrier_joint", sides, ratio=(0.5, 0.5))
    robot = robot.couple("spider_joint", sides, ratio=(z / 2, -z / 2))
    own, shared = J_s + J_c / 4 + J_p * z * z / 4, J_c / 4 - J_p * z * z / 4
    assert np.allclose(robot.mass_matrix([0.2, 0.5]), [[own, shared], [shared, own]], rtol=0, atol=1e-14)


def test_rack_and_pinion():
    J, m, r = 0.02, 1.5, 0.05
    rack = lw.Body("rack", lw.Joint(lw.Prismatic("x"), "rack_joint"), lw.Inertia(m, tensor=0.01 * np.eye(3)))
    robot = lw.assemble("rack", [_disc("pinion", J), rack], gravity=(0, 0, 0))
    robot = robot.couple("rack_joint", "pinion_joint", ratio=r)
    assert robot.mass_matrix([0.0])[0, 0] == pytest.approx(J + m * r * r, rel=1e-14)


def test_a_geared_rotor_is_a_coupled_body():
    """A rotor with an axis, its mass counted with the parent, and the same rotor as a body of its own."""
    rng = np.random.default_rng(3)

    def tensor(scale):
        X = rng.normal(size=(3, 3))
        return scale * (0.2 * X @ X.T + 3 * np.eye(3))

    gear, spin = 20.0, 1e-3
    base = lw.Inertia(3.0, com=(0.1, 0.0, 0.2), tensor=tensor(0.1))
    link = lw.Inertia(1.0, com=(0.2, 0.1, 0.0), tensor=tensor(0.02))
    rotor = lw.Inertia(0.3, tensor=np.diag([2e-3, 2e-3, spin]))
    place = {"at": (0.3, 0.1, 0.2), "rpy": (0.3, 0.5, -0.4)}
    turn = lw.Joint(lw.Revolute("z"), "motor", **place)
    arm = lw.Joint(lw.Revolute("y"), "arm", at=(0.1, 0.2, 0.3))

    axis = turn.placement.R[:, 2]
    carried = lw.Body("base", lw.Joint(lw.Free(), "root"), base + rotor.moved(turn.placement))
    geared = lw.Joint(lw.Revolute("y"), "arm", at=(0.1, 0.2, 0.3), rotor=lw.Rotor(spin, gear, axis=axis))
    one = lw.assemble("one", [carried, lw.Body("link", geared, link, "base")])

    bodies = [lw.Body("base", lw.Joint(lw.Free(), "root"), base), lw.Body("link", arm, link, "base")]
    two = lw.assemble("two", [*bodies, lw.Body("rotor", turn, rotor, "base")]).couple("motor", "arm", ratio=gear)

    q = one.random_configuration(1)
    v, tau = rng.normal(size=(2, 7))
    assert np.allclose(two.mass_matrix(q), one.mass_matrix(q), rtol=0, atol=1e-12)
    assert np.allclose(two.forward_dynamics(q, v, tau), one.forward_dynamics(q, v, tau), rtol=0, atol=1e-9)


# --- laws --------------------------------------------------------------------------------------------------


def _bent_tree() -> lw.Robot:
    free = lw.random_tree(7, seed=11, joints=["revolute", "prismatic"], floating=True, branching=0.5)
    names = [j.name for j in free.joints]
    robot = free.couple(names[3], (names[1], names[2]), relation=lambda a, b: np.sin(a) + 0.3 * a * b)
    return robot.couple(names[6], names[5], ratio=-1.5, offset=0.1)


def test_energy_changes_by_the_power_of_joint_forces():
    robot = _bent_tree()
    rng = np.random.default_rng(1)
    q = robot.random_configuration(2)
    v, tau = rng.normal(size=(2, robot.nv))
    a = robot.forward_dynamics(q, v, tau, target="numpy")
    h = 1e-30
    moved = robot.integrate(q + 0j, 1j * h * v, target="numpy")
    kinetic, potential = robot.energy(moved, v + 1j * h * a, target="numpy")
    assert (kinetic + potential).imag / h == pytest.approx(tau @ v, rel=1e-10)


def test_momentum_is_kept_in_free_flight():
    robot = _bent_tree().with_gravity((0, 0, 0))
    q = robot.random_configuration(2)
    v, tau = np.random.default_rng(1).normal(size=(2, robot.nv))
    tau[:6] = 0.0
    a = robot.forward_dynamics(q, v, tau, target="numpy")
    h = 1e-30
    moved = robot.integrate(q + 0j, 1j * h * v, target="numpy")
    rate = robot.momentum(moved, v + 1j * h * a, target="numpy").imag / h
    assert np.abs(rate).max() < 1e-10 * np.abs(robot.momentum(q, v, target="numpy")).max()


def test_mass_rate_less_twice_coriolis_is_skew():
    robot = _bent_tree()
    q, v = robot.random_configuration(2), np.random.default_rng(1).normal(size=robot.nv)
    rate = np.tensordot(v, robot.mass_matrix_sensitivity(q, target="numpy"), axes=1)
    skew = rate - 2.0 * robot.coriolis_matrix(q, v, target="numpy")
    assert np.abs(skew + skew.T).max() < 1e-11 * np.abs(rate).max()


@pytest.mark.parametrize("method", ["runge_kutta_4", "variational"])
def test_simulations_keep_the_energy(method):
    """A bent coupling in machine code: no drift of the coupling, for there is nothing to drift."""
    arm = lw.chain(4, seed=5).couple("joint3", "joint2", relation=lambda x: x + 0.3 * np.sin(x))
    q, v = np.array([0.3, 0.5, -0.2]), np.array([0.5, -0.4, 0.2])
    motion = lw.simulate(arm, q, v, duration=1.0, step=2e-3, method=method)
    assert motion.q.shape[-1] == 3
    scale = np.abs(motion.energy.kinetic).max()
    assert np.abs(motion.energy.drift).max() < {"runge_kutta_4": 1e-7, "variational": 1e-4}[method] * scale


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_a_ratio_of_zero_is_a_lock(target):
    """A mimic joint with a multiplier of 0 stays at its offset."""
    free = lw.chain(3, seed=2)
    rests, locked = free.couple("joint3", "joint2", ratio=0.0, offset=0.4), free.lock({"joint3": 0.4})
    q, v, tau = np.random.default_rng(0).normal(size=(3, 4, 2))
    for x in (q, q[0]):
        np.testing.assert_allclose(
            rests.mass_matrix(x, target=target), locked.mass_matrix(x, target=target), rtol=1e-12
        )
    found, expected = (r.forward_dynamics(q, v, tau, target=target) for r in (rests, locked))
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    assert rests.joint_positions(q, target=target)[:, 2].tolist() == [0.4] * 4
