"""Edits keep the mechanics: kinetic energy, weight and frame poses are those of the robot edited.

The oracle is the mechanics written out: velocities from base to tips, energies summed over bodies.
"""

from functools import partial

import numpy as np
import pytest

from linkwise.errors import InputError, ModelError, UnknownNameError
from linkwise.model import builders, edit, robots
from linkwise.model.inertia import Inertia
from linkwise.model.joints.kinds import Fixed, Free, Prismatic, Revolute, Universal
from linkwise.model.model import Model
from linkwise.model.parts import Body, Frame, Joint, Limits, Rotor, make_pose
from linkwise.spatial import Transform

chain, random_tree, build = (partial(f, cls=Model) for f in (builders.chain, builders.random_tree, robots.build))


class Robot(Model):
    """A user's subclass, which edits must keep."""


def poses(model, q):
    """The pose of every body in the world."""
    out = []
    for c, p, s in zip(model.constants(), model.parents, model.q_slices):
        carrier = out[p] if p >= 0 else Transform.identity()
        out.append(carrier.compose(c.placement.compose(c.kind.transform(q[s]))))
    return out


def frame_pose(model, q, name):
    index, pose = model.frame(name)
    return pose if index < 0 else poses(model, q)[index].compose(pose)


def kinetic_energy(model, q, v):
    """Σ ½ V*MV over bodies, plus the rotors' own: ½ v*Γv and their coupling with their parent's turning."""
    velocities, total = [], 0.0
    rows = zip(model.constants(), model.parents, model.q_slices, model.v_slices)
    for c, p, qs, vs in rows:
        phi = c.placement.compose(c.kind.transform(q[qs]))
        carrier = velocities[p] if p >= 0 else np.zeros((6, 1))
        V = phi.T @ carrier + c.kind.map(q[qs]) @ v[vs][:, None]
        total += 0.5 * (V.T @ (c.M @ V)).item()
        if c.reflected is not None:
            total += 0.5 * v[vs] @ c.reflected @ v[vs]
        if c.spin is not None:
            total += (c.spin @ carrier[:3, 0]) * v[vs].item()
        velocities.append(V)
    return total


def potential_energy(model, q):
    heights = [-model.gravity @ pose.apply(b.inertia.com) for b, pose in zip(model.bodies, poses(model, q))]
    return sum(b.inertia.mass * h for b, h in zip(model.bodies, heights))


def draw(model, seed=11):
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng), rng.normal(size=model.nv)


def same_pose(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a.R, b.R, rtol=0, atol=tolerance)
    np.testing.assert_allclose(a.l, b.l, rtol=0, atol=tolerance)


def arm(rotor=None):
    """A hinge, a bracket bolted to it askew, and a slider on the bracket."""
    ball = Inertia.sphere(1.0, 0.2, (0.1, 0.2, 0.3))
    bodies = (
        Body("upper", Joint(Revolute("y"), "shoulder", at=(0, 0, 1)), ball),
        Body("bracket", Joint(Fixed(), "bolt", at=(1, 0, 0), rpy=(0.1, 0.2, 0.3)), ball, "upper"),
        Body("lower", Joint(Revolute("z"), "elbow", at=(0.5, 0, 0), rotor=rotor), ball, "bracket"),
    )
    frames = (Frame("tip", "lower", at=(1, 0, 0)), Frame("screw", "bracket", at=(0, 0, 0.1)), Frame("floor"))
    return Robot("arm", bodies, frames, base=Inertia.box(5.0, (1, 1, 1)))


# --- merging and locking ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_merging_fixed_bodies_keeps_the_mechanics(seed):
    model = random_tree(14, seed=seed, joints=("revolute", "universal", "spherical", "custom", "fixed"))
    merged = edit.merge_fixed(model)
    assert not any(isinstance(j.kind, Fixed) for j in merged.joints)
    assert (merged.nq, merged.nv) == (model.nq, model.nv)
    q, v = draw(model)
    assert kinetic_energy(merged, q, v) == pytest.approx(kinetic_energy(model, q, v), rel=1e-12)
    for frame in model.frames:
        same_pose(frame_pose(merged, q, frame.name), frame_pose(model, q, frame.name))


def test_merging_into_the_world_goes_to_the_base():
    ball = Inertia.sphere(2.0, 0.1)
    bodies = (
        Body("post", Joint(Fixed(), at=(0, 0, 1)), ball),
        Body("arm", Joint(Revolute("y"), at=(1, 0, 0)), ball, "post"),
    )
    merged = edit.merge_fixed(Model("bot", bodies, base=Inertia.point(1.0)))
    assert [b.name for b in merged.bodies] == ["arm"] and merged.base.mass == 3.0
    np.testing.assert_allclose(merged.base.com, [0, 0, 2 / 3])
    assert merged.bodies[0].parent is None and merged.frame("post")[0] == -1
    np.testing.assert_allclose(merged.joints[0].placement.l, [1, 0, 1])


def test_merging_keeps_what_else_a_joint_has():
    model = arm()
    limits = Limits(-1, 2, velocity=3, effort=4)
    joint = Joint(Revolute("z"), "elbow", limits=limits, damping=0.1, friction=0.2, rotor=Rotor(1e-3, 10))
    bodies = (*model.bodies[:2], Body("lower", joint, model.bodies[2].inertia, "bracket"))
    kept = edit.merge_fixed(Model("arm", bodies)).joints[1]
    assert kept.limits is limits and (kept.damping, kept.friction) == (0.1, 0.2) and kept.rotor is joint.rotor


def test_merging_turns_the_axes_of_rotors():
    model = arm(rotor=Rotor(1e-2, 10.0, axis="z"))
    q, v = draw(model)
    energy = kinetic_energy(model, q, v)
    assert kinetic_energy(edit.merge_fixed(model), q, v) == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_locked_joints_move_no_more(seed):
    model = random_tree(8, seed=seed, floating=seed % 2 == 0)
    q, v = draw(model)
    held = {3, 5}
    names = [model.joints[i].name for i in held]
    locked = edit.lock(model, names, q)
    rest = [i for i in range(8) if i not in held and model.joints[i].kind.nv]
    v_locked = v.copy()
    for i in held:
        v_locked[model.v_slices[i]] = 0.0
    q_rest = np.concatenate([q[model.q_slices[i]] for i in rest])
    v_rest = np.concatenate([v[model.v_slices[i]] for i in rest])
    assert locked.nv == len(v_rest) and not set(names) & set(locked.joint_index)
    energy = kinetic_energy(model, q, v_locked)
    assert kinetic_energy(locked, q_rest, v_rest) == pytest.approx(energy, rel=1e-12)
    for frame in model.frames:
        same_pose(frame_pose(locked, q_rest, frame.name), frame_pose(model, q, frame.name))


def test_lock_takes_values_by_name():
    model = chain(3)
    by_value = edit.lock(model, {"joint2": 0.3})
    by_configuration = edit.lock(model, ["joint2"], np.array([0.0, 0.3, 0.0]))
    at_neutral = edit.lock(model, ["joint2"])
    q = np.array([0.1, 0.2])
    same_pose(frame_pose(by_value, q, "tip"), frame_pose(by_configuration, q, "tip"))
    same_pose(frame_pose(by_value, q, "tip"), frame_pose(model, np.array([0.1, 0.3, 0.2]), "tip"))
    same_pose(frame_pose(at_neutral, q, "tip"), frame_pose(model, np.array([0.1, 0.0, 0.2]), "tip"))


def test_locking_a_free_base_bolts_it_down():
    model = build("quadruped")
    q, v = draw(model)
    standing = edit.lock(model, ["root_joint"], q)
    assert (standing.nq, standing.nv) == (12, 12) and standing.base.mass == pytest.approx(8.5)
    same_pose(frame_pose(standing, q[7:], "FL_foot"), frame_pose(model, q, "FL_foot"))
    at_rest = np.concatenate([np.zeros(6), v[6:]])
    assert kinetic_energy(standing, q[7:], v[6:]) == pytest.approx(kinetic_energy(model, q, at_rest))


@pytest.mark.parametrize(
    ("call", "error", "hint"),
    [
        (lambda m: edit.lock(m, "joint1"), InputError, "'joint1'"),
        (lambda m: edit.lock(m, ["knee"]), UnknownNameError, "'knee'"),
        (lambda m: edit.lock(m, {"joint1": (1, 2)}), InputError, "'joint1' takes 1"),
        (lambda m: edit.lock(m, ["joint1"], np.zeros(4)), InputError, "3 numbers"),
    ],
)
def test_lock_refuses(call, error, hint):
    with pytest.raises(error, match=hint):
        call(chain(3))


# --- cutting and joining ---------------------------------------------------------------------------


def test_subtree_keeps_everything_outward():
    model = build("humanoid")
    limb = edit.subtree(model, "left_shoulder_pitch_link")
    assert limb.bodies[0].name == "left_shoulder_pitch_link" and limb.nv == 7
    assert [f.name for f in limb.extra_frames] == ["left_palm"]
    assert limb.bodies[0].parent is None and limb.joints[0].name == "left_shoulder_pitch"
    q, _ = draw(model)
    shoulder = model.body("left_shoulder_pitch_link")
    q_limb = np.concatenate([q[model.q_slices[model.joint(j.name)]] for j in limb.joints])
    torso = poses(model, q)[model.parents[shoulder]]
    same_pose(torso.compose(frame_pose(limb, q_limb, "left_palm")), frame_pose(model, q, "left_palm"))


def test_subtree_may_float():
    limb = edit.subtree(chain(4), "link2", floating=True)
    assert (limb.nq, limb.nv) == (9, 8) and isinstance(limb.joints[0].kind, Free)
    assert limb.total_mass == 3.0
    with pytest.raises(UnknownNameError, match="'link9'"):
        edit.subtree(chain(4), "link9")


def test_weld_adds_a_payload():
    model = chain(3, seed=4)
    payload = Inertia.box(2.0, (0.1, 0.2, 0.3), at=(0.05, 0, 0))
    loaded = edit.weld(model, "tip", payload, at=(0.1, 0, 0), rpy=(0.3, 0, 0), frame="load")
    q, v = draw(model)
    pose = model.frame("tip")[1].compose(make_pose((0.1, 0, 0), (0.3, 0, 0)))
    same_pose(frame_pose(loaded, q, "load"), poses(model, q)[2].compose(pose))
    # The payload as one more body on a fixed joint says the same.
    body = Body("load", Joint(Fixed(), at=pose.l, rotation=pose.R), payload, "link3")
    longer = Model("m", (*model.bodies, body))
    assert kinetic_energy(loaded, q, v) == pytest.approx(kinetic_energy(longer, q, v), rel=1e-12)
    assert potential_energy(loaded, q) == pytest.approx(potential_energy(longer, q), rel=1e-12)
    assert model.total_mass == pytest.approx(loaded.total_mass - 2.0)


def test_weld_on_the_world_loads_the_base():
    loaded = edit.weld(chain(2), "world", Inertia.point(3.0, (0, 0, 1)))
    assert loaded.base.mass == 8.0 and loaded.total_mass == 2.0
    np.testing.assert_allclose(loaded.base.com, [0, 0, 3 / 8])


def test_weld_refuses():
    with pytest.raises(ModelError, match="payload"):
        edit.weld(chain(2), "tip", Inertia(1.0, (0, 0, 0), (1, 1, 3)))
    with pytest.raises(UnknownNameError, match="'hand'"):
        edit.weld(chain(2), "hand", Inertia.point(1.0))
    with pytest.raises(ModelError, match="'tip'"):
        edit.weld(chain(2), "tip", Inertia.point(1.0), frame="tip")


def test_attach_bolts_one_robot_on_another():
    base, other = chain(2, seed=1), chain(3, seed=2)
    both = edit.attach(base, other, "tip", prefix="b_", at=(0.1, 0.2, 0.3), rpy=(0, 0.5, 0))
    mass = base.total_mass + other.total_mass + other.base.mass
    assert both.nv == 5 and both.total_mass == pytest.approx(mass)
    q, _ = draw(both)
    mount = frame_pose(base, q[:2], "tip").compose(make_pose((0.1, 0.2, 0.3), (0, 0.5, 0)))
    same_pose(frame_pose(both, q, "b_base"), mount)
    same_pose(frame_pose(both, q, "b_tip"), mount.compose(frame_pose(other, q[2:], "tip")))
    assert [j.name for j in both.joints] == ["joint1", "joint2", "b_joint1", "b_joint2", "b_joint3"]


def test_attach_keeps_the_energy_of_both():
    """On a robot that stands still, the other moves as if alone."""
    base, other = chain(2, seed=1), chain(3, seed=2)
    both = edit.attach(base, other, "tip", prefix="b_")
    q, v = draw(both)
    v[:2] = 0.0
    assert kinetic_energy(both, q, v) == pytest.approx(kinetic_energy(other, q[2:], v[2:]), rel=1e-12)


def test_attach_keeps_mimics_pointing_at_their_joint():
    both = edit.attach(chain(1), build("panda_gripper"), "tip", prefix="b_")
    mimics = [j.mimic.joint for j in both.joints if j.mimic is not None]
    assert mimics == ["b_panda_finger_joint1"]


def test_attach_needs_names_apart():
    with pytest.raises(ModelError, match="'link1'"):
        edit.attach(chain(2), chain(2), "tip")


def test_attach_does_not_leave_other_numbers_behind():
    other = chain(2)
    with pytest.raises(ModelError, match=r"other numbers than its bodies' own.*cannot be attached"):
        edit.attach(chain(1), other.with_constants(other.constants()), "tip", prefix="b_")


# --- floating --------------------------------------------------------------------------------------


def test_float_base_frees_the_base():
    model = build("panda")
    floating = edit.float_base(model)
    assert (floating.nq, floating.nv) == (14, 13)
    assert floating.joints[0].name == "root_joint" and floating.bodies[0].name == "panda_link0"
    assert floating.total_mass == pytest.approx(model.total_mass + model.base.mass)
    assert floating.base.mass == 0.0
    q, v = draw(model)
    home, rest = Free().neutral(), np.zeros(6)
    same_pose(frame_pose(floating, np.concatenate([home, q]), "tcp"), frame_pose(model, q, "tcp"))
    energy = kinetic_energy(floating, np.concatenate([home, q]), np.concatenate([rest, v]))
    assert energy == pytest.approx(kinetic_energy(model, q, v), rel=1e-12)
    same_pose(frame_pose(floating, np.concatenate([home, q]), "panda_link0"), Transform.identity())


def test_frames_on_the_base_float_with_it():
    floating = edit.float_base(build("ur5"))
    q, _ = draw(floating)
    turned = floating.bodies[0].joint.kind.transform(q[:7]).compose(make_pose(rpy=(0, 0, np.pi)))
    same_pose(frame_pose(floating, q, "base_link"), turned)


def test_float_and_lock_are_inverse():
    model = chain(3, seed=5)
    back = edit.lock(edit.float_base(model), ["root_joint"])
    q, v = draw(model)
    assert back.nv == 3 and back.base.mass == model.base.mass
    assert kinetic_energy(back, q, v) == pytest.approx(kinetic_energy(model, q, v), rel=1e-12)
    same_pose(frame_pose(back, q, "tip"), frame_pose(model, q, "tip"))


def test_nothing_cannot_float():
    with pytest.raises(ModelError, match="'air'"):
        edit.float_base(Model("air", ()))


# --- inertias --------------------------------------------------------------------------------------


def test_with_inertias_replaces_only_those_named():
    model, heavy = chain(3), Inertia.sphere(9.0, 0.3)
    changed = edit.with_inertias(model, {"link2": heavy})
    assert changed.bodies[1].inertia is heavy and changed.bodies[0] is model.bodies[0]
    assert model.total_mass == 3.0 and changed.total_mass == 11.0
    with pytest.raises(ModelError, match="'link2'"):
        edit.with_inertias(model, {"link2": Inertia(1.0, (0, 0, 0), (1, 1, 3))})
    with pytest.raises(UnknownNameError, match="'link7'"):
        edit.with_inertias(model, {"link7": heavy})


@pytest.mark.parametrize("make", [lambda: random_tree(9, seed=3), lambda: build("humanoid")])
def test_inertial_parameters_round_trip(make):
    model = make()
    p = edit.inertial_parameters(model)
    assert p.shape == (len(model.bodies), 10)
    np.testing.assert_allclose(p[:, 0], [b.inertia.mass for b in model.bodies])
    again = edit.with_inertial_parameters(model, p)
    np.testing.assert_allclose(edit.inertial_parameters(again), p, rtol=0, atol=1e-14)
    for a, b in zip(model.bodies, again.bodies):
        np.testing.assert_allclose(b.inertia.com, a.inertia.com, rtol=0, atol=1e-14)
        np.testing.assert_allclose(b.inertia.tensor, a.inertia.tensor, rtol=0, atol=1e-14)


def test_inertial_parameters_are_what_energy_is_linear_in():
    model = random_tree(5, seed=8)
    q, v = draw(model)
    a = edit.inertial_parameters(model)
    b = edit.inertial_parameters(random_tree(5, seed=9))
    mix = 0.25 * a + 0.75 * b
    x, y, z = (kinetic_energy(edit.with_inertial_parameters(model, p), q, v) for p in (a, b, mix))
    assert z == pytest.approx(0.25 * x + 0.75 * y, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "error", "hint"),
    [
        (lambda p: p[:1], InputError, r"\(2, 10\)"),
        (lambda p: p * [0, 1, 1, 1, 1, 1, 1, 1, 1, 1], ModelError, "'link1'.*positive mass"),
        (lambda p: p + 9.0 * np.eye(10)[4], ModelError, "'link1'"),
    ],
)
def test_impossible_parameters_are_refused(change, error, hint):
    model = chain(2)
    with pytest.raises(error, match=hint):
        edit.with_inertial_parameters(model, change(edit.inertial_parameters(model)))


# --- common ground ---------------------------------------------------------------------------------

EDITS = {
    "merge_fixed": edit.merge_fixed,
    "lock": lambda m: edit.lock(m, ["elbow"]),
    "subtree": lambda m: edit.subtree(m, "bracket"),
    "weld": lambda m: edit.weld(m, "tip", Inertia.point(1.0)),
    "attach": lambda m: edit.attach(m, chain(2), "tip", prefix="b_"),
    "float_base": edit.float_base,
    "with_inertias": lambda m: edit.with_inertias(m, {"lower": Inertia.point(1.0)}),
    "with_placements": lambda m: edit.with_placements(m, np.full((len(m.bodies), 6), 0.1)),
    "with_gravity": lambda m: edit.with_gravity(m, (0, 0, -1.62)),
}


@pytest.mark.parametrize("change", EDITS.values(), ids=EDITS.keys())
def test_edits_keep_the_class_and_their_argument(change):
    model = arm()
    before = (model.bodies, model.extra_frames, model.base, model.gravity)
    out = change(model)
    assert type(out) is Robot and out is not model
    assert all(a is b for a, b in zip(before, (model.bodies, model.extra_frames, model.base, model.gravity)))


def test_with_gravity():
    moon = edit.with_gravity(chain(2), (0, 0, -1.62))
    assert moon.gravity.tolist() == [0, 0, -1.62]
    with pytest.raises(ModelError, match="gravity"):
        edit.with_gravity(chain(2), "down")


def test_limits_and_kinds_survive_edits():
    first = Joint(Universal(), "u", limits=Limits((-1, -2), (1, 2)))
    second = Joint(Prismatic("x"), "p", at=(1, 0, 0))
    model = Model("m", (Body("a", first, Inertia.point(1.0)), Body("b", second, Inertia.point(1.0), "a")))
    locked = edit.lock(model, {"p": 0.5})
    assert locked.lower_limits.tolist() == [-1, -2] and isinstance(locked.joints[0].kind, Universal)
    same_pose(locked.frame("b")[1], make_pose((1.5, 0, 0)))
