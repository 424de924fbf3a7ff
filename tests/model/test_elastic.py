"""Elastic gears: frequencies, the rigid limit, statics, and a Lagrangian written by hand."""

import numpy as np
import pytest

import linkwise as lw

I, J, K = 0.8, 2e-4, 900.0  # link, rotor [kg m²], gear [N m/rad]
RATIO = 50.0


def wheel(**gear):
    """A wheel about z behind an elastic gear, no gravity."""
    body = lw.Body("wheel", lw.Joint(lw.Revolute("z"), "shaft"), lw.Inertia(1.0, tensor=np.diag([0.5, 0.5, I])))
    robot = lw.assemble("wheel", [body], gravity=(0, 0, 0))
    return robot.with_elastic_joints({"shaft": lw.Gear(K, ratio=RATIO, rotor=J, **gear)})


def test_frequencies_with_the_motor_locked_and_free():
    robot = wheel()
    assert [j.name for j in robot.joints] == ["shaft", "shaft_spring"]
    free = robot.modes(robot.neutral())
    assert free.rigid.tolist() == [True, False]
    assert free.frequencies[1] == pytest.approx(np.sqrt(K * (1 / I + 1 / (RATIO**2 * J))), rel=1e-12)
    locked = robot.lock(["shaft"])
    assert locked.modes([0.0]).frequencies == pytest.approx([np.sqrt(K / I)], rel=1e-12)


def test_equations_of_motion_by_hand():
    """Jγ²θ̈ = τ − s, I q̈ = s, s = k(θ − q) + d(θ̇ − q̇)."""
    robot = wheel(damping=3.0)
    (theta, q), (theta_dot, q_dot), tau = (0.3, 0.25), (1.1, -0.4), 7.0
    s = K * (theta - q) + 3.0 * (theta_dot - q_dot)
    a = robot.forward_dynamics([theta, q - theta], [theta_dot, q_dot - theta_dot], [tau, 0.0])
    assert a[0] == pytest.approx((tau - s) / (RATIO**2 * J)) and a.sum() == pytest.approx(s / I)


def test_a_stiff_gear_is_a_rigid_one():
    """The slow frequency of a pendulum nears that of the geared rigid joint, by 1/k."""
    rod = lw.Body("rod", lw.Joint(lw.Revolute("y"), "hinge"), lw.Inertia.point(1.0, (0, 0, -1)))
    robot = lw.assemble("pendulum", [rod])
    rigid = np.sqrt(9.81 / (1.0 + RATIO**2 * J))
    errors = []
    for k in (1e4, 1e5, 1e6):
        elastic = robot.with_elastic_joints({"hinge": lw.Gear(k, ratio=RATIO, rotor=J)})
        errors.append(1 - elastic.modes([0.0, 0.0]).frequencies[0] / rigid)
    assert errors[0] < 1e-3 and errors[0] / errors[1] == pytest.approx(10, rel=1e-2)
    assert errors[1] / errors[2] == pytest.approx(10, rel=1e-2)


def test_an_arm_sags_by_its_load_over_the_stiffness():
    arm = lw.load("panda")
    gears = {j.name: lw.Gear(1e4, ratio=100.0, rotor=1e-4) for j in arm.joints}
    robot = arm.with_elastic_joints(gears)
    assert (robot.nv, len(robot.bodies)) == (14, 14) and robot.tips == arm.tips
    motors, springs = ([robot.v_slices[robot.joint(n + s)].start for n in gears] for s in ("", "_spring"))
    pose = np.array([0.1, 0.3, -0.2, -1.5, 0.1, 1.8, 0.4])
    q, still = np.zeros(14), np.zeros(14)
    q[motors] = pose
    tau = np.zeros(14)
    tau[motors] = arm.bias_force(pose, np.zeros(7))
    rest = robot.equilibrium(q, tau)
    assert rest.reached
    held = arm.bias_force(rest.q[motors] + rest.q[springs], np.zeros(7))
    np.testing.assert_allclose(rest.q[springs], -held / 1e4, atol=1e-12)
    np.testing.assert_allclose(robot.pose(rest.q, "tcp")[1], arm.pose(rest.q[motors] + rest.q[springs], "tcp")[1])
    assert np.abs(robot.inverse_dynamics(rest.q, still, still) - tau).max() < 1e-8
    # with its springs locked it is the geared rigid arm
    locked = robot.lock([n + "_spring" for n in gears])
    np.testing.assert_allclose(locked.mass_matrix(pose), arm.mass_matrix(pose) + np.eye(7), atol=1e-12)


def test_gyroscopic_rotors_turn_with_what_carries_them():
    """Beside the rotor as a body of its own, with its own joint in the gear's ratio."""
    base = lw.Body("base", lw.Revolute("x"), lw.Inertia(3.0, tensor=np.diag([0.5, 0.6, 0.7])))
    link = lw.Body(
        "link",
        lw.Joint(lw.Revolute("z"), "shaft", at=(0.1, 0, 0)),
        lw.Inertia(1.0, tensor=np.diag([0.5, 0.5, I])),
        "base",
    )
    robot = lw.assemble("two", [base, link]).with_elastic_joints({"shaft": lw.Gear(K, ratio=RATIO, rotor=J, axis="z")})
    q, v = np.array([0.3, 0.2, 0.01]), np.array([2.0, 1.5, -0.3])
    a = np.array([0.5, 1.0, -2.0])
    T = robot.inverse_dynamics(q, v, a)
    # rotor's inertia J about z counts with the base (locked); spinning by γθ̇ it adds γJ(θ̈ z + ω × z θ̇) there
    plain = lw.assemble("two", [base, link]).with_elastic_joints({"shaft": lw.Gear(K, ratio=RATIO, rotor=J)})
    extra = T - plain.inverse_dynamics(q, v, a)
    assert extra[0] == pytest.approx(0.0, abs=1e-12)  # z ⊥ x, and ω × z ∥ y
    tilted = lw.Gear(K, ratio=RATIO, rotor=J, axis=(0.6, 0.0, 0.8))
    other = lw.assemble("two", [base, link]).with_elastic_joints({"shaft": tilted})
    extra = other.inverse_dynamics(q, v, a) - plain.inverse_dynamics(q, v, a)
    assert extra[0] == pytest.approx(RATIO * J * 0.6 * a[1]) and extra[1] == pytest.approx(RATIO * J * 0.6 * a[0])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: lw.Gear(0.0, rotor=1.0), "a positive stiffness"),
        (lambda: lw.Gear(1.0, rotor=-1.0), "a positive stiffness and rotor inertia"),
        (lambda: lw.Gear("soft"), "the stiffness of a gear"),
        (lambda: lw.chain(2).with_elastic_joints({"joint1": 3.0}), "must be an lw.Gear"),
        (lambda: lw.chain(2).with_elastic_joints({"joint1": lw.Gear(1.0)}), "'joint1' has no rotor"),
        (lambda: lw.chain(2).with_elastic_joints({"elbow": lw.Gear(1.0, rotor=1.0)}), "elbow"),
        (lambda: lw.chain(2, joint="spherical").with_elastic_joints({"joint1": lw.Gear(1.0, rotor=1.0)}), "one degree"),
        (
            lambda: (
                lw.chain(2)
                .with_springs({"joint1": {"stiffness": 1.0}})
                .with_elastic_joints({"joint1": lw.Gear(1.0, rotor=1.0)})
            ),
            "has a spring of its own",
        ),
        (
            lambda: lw.chain(2).couple("joint2", "joint1").with_elastic_joints({"joint1": lw.Gear(1.0, rotor=1.0)}),
            "is coupled with others",
        ),
    ],
)
def test_what_cannot_be_is_refused(make, said):
    with pytest.raises(lw.LinkwiseError, match=said):
        make()


def test_a_motion_keeps_its_energy_and_is_compiled():
    robot = lw.chain(2, seed=1).with_elastic_joints(
        {j: lw.Gear(200.0, ratio=20.0, rotor=1e-3) for j in ("joint1", "joint2")}
    )
    t = lw.simulate(robot, np.full(4, 0.1), duration=0.5, step=1e-3, target="cpu")
    assert np.abs(t.energy.drift).max() < 1e-6 * np.abs(t.energy.potential).max()
