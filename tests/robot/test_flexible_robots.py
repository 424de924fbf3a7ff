"""Robots with flexible bodies as robots: names, edits, what hangs on nodes, other ways to run, and what is refused."""

import pickle

import numpy as np
import pytest
from flexible_bodies import beam, flexible_arm, flexible_tree

import linkwise as lw
from linkwise import control


@pytest.fixture(scope="module")
def arm():
    return flexible_arm(2)


def test_names_and_coordinates(arm):
    assert [j.name for j, _, _ in arm.coordinates] == ["link1_joint", "link1.modes", "link2_joint", "link2.modes"]
    assert arm.nv == arm.nq == 10 and arm.tips == ("link2.tip",)
    assert arm.bodies[arm.body("link2")].parent == "link1.tip"
    np.testing.assert_array_equal(arm.stiffness[1:5], beam().stiffness)
    assert arm.joint_positions(arm.neutral()).shape == (10,) and arm.uncouple().nv == 10
    again = pickle.loads(pickle.dumps(arm))
    assert again == arm and again.fingerprint == arm.fingerprint != flexible_arm(2, beam(mass=1.3)).fingerprint


def test_locked_modes_are_a_rigid_body():
    robot, _ = flexible_tree(3)
    q = robot.random_configuration(0)
    rigid = robot.lock(["root.modes"], q=q)
    left = [(a, b) for j, a, b in robot.coordinates if j.name != "root.modes"]
    keep = np.concatenate([np.arange(b.start, b.stop) for _, b in left])
    mass = rigid.mass_matrix(np.concatenate([q[a] for a, _ in left]))
    np.testing.assert_allclose(mass, robot.mass_matrix(q)[np.ix_(keep, keep)], atol=1e-12)


def test_what_is_placed_at_a_node_moves_with_it(arm):
    q = arm.random_configuration(1)
    by_name, by_place = (
        arm.weld("link2.tip", lw.Inertia.point(0.1)),
        arm.weld("link2", lw.Inertia.point(0.1), at=(1, 0, 0)),
    )
    assert by_name == by_place
    frame = lw.Frame("there", "link2", at=(1, 0, 0))
    np.testing.assert_allclose(arm.pose(q, frame)[1], arm.pose(q, "link2.tip")[1])
    hand = arm.attach(lw.chain(1), "link2", prefix="hand_", at=(1, 0, 0))
    assert hand.bodies[-1].parent == "link2.tip"


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda r: r.weld("link2", lw.Inertia.point(0.1), at=(0.5, 0, 0)), "where it has no node"),
        (lambda r: r.pose(r.neutral(), lw.Frame("x", "link1", at=(0.2, 0, 0))), "frame 'x' sits on the flexible body"),
        (lambda r: r.with_inertias({"link1": beam()}), "goes into the lw.Body"),
        (lambda r: r.uncouple(["link1.tip_modes"]), "share its modes for good"),
        (lambda r: r.couple("link2_joint", "link1.modes"), "is modal with 4 degrees of freedom"),
        (
            lambda r: r.compile("forward_dynamics", target="cuda", rolled=True),
            "flexible bodies, whose points share modes.*in machine code alone",
        ),
        (lambda r: lw.save_urdf(r, "x.urdf"), "one of a flexible body, which URDF cannot say"),
        (
            lambda r: r.close(lw.Loop("link2.tip", "world", "spherical")).forward_dynamics(
                r.neutral(), np.zeros(10), np.zeros(10), method="embedded"
            ),
            "flexible bodies",
        ),
        (
            lambda r: r.linearize_forward(r.neutral(), np.zeros(10), np.zeros(10), method="lemma_4_9"),
            "flexible bodies",
        ),
        (lambda r: lw.assemble("x", [lw.Body("b", lw.Fixed(), _coupled())]), r"flexible\.normal_modes\(\)"),
    ],
)
def test_what_cannot_be_is_refused_by_name(arm, edit, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(lw.LinkwiseError, match=said):
        edit(arm)


def _coupled() -> lw.Flexible:
    x = beam(2)
    return lw.Flexible(x.masses, x.places, x.shapes, [[2.0, 1.0], [1.0, 2.0]])


def test_prescribed_modes(arm):
    rng = np.random.default_rng(0)
    q, (v, a, tau) = arm.random_configuration(rng), rng.normal(size=(3, 10))
    found, forces = arm.hybrid_dynamics(q, v, a, tau, ["link1.modes"])
    np.testing.assert_allclose(found[1:5], a[1:5])
    np.testing.assert_allclose(arm.inverse_dynamics(q, v, found), forces, atol=1e-9)
    free = [0, *range(5, 10)]
    np.testing.assert_allclose(forces[free], tau[free], atol=1e-9)


def test_a_closed_flexible_robot(arm):
    """A cut loop at the tip: Gauss' principle in the coordinates of the tree."""
    rng = np.random.default_rng(1)
    q, (v, tau) = arm.random_configuration(rng), rng.normal(size=(2, 10))
    p = arm.pose(q, "link2.tip")[1]
    closed = arm.close(lw.Loop("link2.tip", lw.Frame("pin", None, at=p), "spherical"))
    v = closed.closed_velocity(q, v)
    a = closed.forward_dynamics(q, v, tau)
    J = arm.jacobian(q, "link2.tip")[3:]
    np.testing.assert_allclose(J @ a + arm.jacobian_dot_v(q, v, "link2.tip")[3:], 0, atol=1e-7)
    left = arm.inverse_dynamics(q, v, a) - tau  # is a combination of the rows of the loop
    np.testing.assert_allclose(left - J.T @ np.linalg.lstsq(J.T, left, rcond=None)[0], 0, atol=1e-7)


def test_a_flexible_body_whose_joint_is_locked_is_still_one():
    """Its frame stays a body: payloads go to its nodes, or are refused, as before."""
    beam = lw.Flexible.beam(length=1.0, mass=1.0, stiffness=50.0, modes=2)
    box = lw.Inertia.box(1.0, (0.1, 0.1, 0.1))
    bodies = [
        lw.Body("hub", lw.Joint(lw.Free(), "root"), box),
        lw.Body("panel", lw.Joint(lw.Revolute("z"), "hinge"), beam, parent="hub"),
    ]
    r = lw.assemble("craft", bodies).lock(["hinge"])
    assert r.nv == 8
    loaded = r.weld("panel", lw.Inertia(0.5), at=(1, 0, 0))
    assert loaded.bodies[loaded.body("panel.tip")].inertia.mass == 0.5
    assert loaded.bodies[loaded.body("hub")].inertia.mass == 1.0
    with pytest.raises(lw.LinkwiseError, match="no node"):
        r.weld("panel", lw.Inertia(0.5), at=(0.5, 0, 0))
    q, v = r.random_configuration(0), np.linspace(-1, 1, 8)
    for target in ("numpy", "cpu"):
        assert np.abs(r.forward_dynamics(q, v, r.inverse_dynamics(q, v, v), target=target) - v).max() < 1e-9


def test_the_inertia_of_a_flexible_body_is_not_replaced_by_a_rigid_one():
    beam = lw.Flexible.beam(length=1.0, mass=1.0, stiffness=50.0, modes=2)
    r = lw.assemble("arm", [lw.Body("arm", lw.Joint(lw.Revolute("z"), "hinge"), beam)])
    with pytest.raises(lw.InputError, match="is flexible"):
        r.with_inertias({"arm": lw.Inertia(3.0)})
    assert r.with_inertias({"arm.tip": lw.Inertia(0.5)}).total_mass == pytest.approx(1.5)


def test_springs_of_gears_have_no_motor():
    box = lw.Inertia.box(1.0, (0.1, 0.1, 0.1))
    r = lw.assemble("drive", [lw.Body("load", lw.Joint(lw.Revolute("z"), "shaft"), box)])
    r = r.with_elastic_joints({"shaft": lw.Gear(50.0, rotor=0.1)})
    assert control.driven_joints(r) == ["shaft"] and r.disturbance_map(r.neutral()).shape == (1, 1)
    with pytest.raises(lw.LinkwiseError, match="shaft_spring"):
        control.ComputedTorque(r, r.neutral(), 1.0, 1.0)
