"""Arms on an object, against dense equations of the arms and the object apart, and against closed forms."""

import numpy as np
import pytest
from held_objects import BOX, KINDS, Union, contact, frames_on, near, state, two_arms, union_of_two

import linkwise as lw

# --- all kinds of contact --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_accelerations_forces_and_the_objects_own_equation(kind):
    team, apart = two_arms(kind), union_of_two(kind)
    q, v, tau = state(team)
    assert np.abs(apart.rows(q, v)).max() < 1e-9
    a, lam = apart.solved(q, v, tau)
    near(team.forward_dynamics(q, v, tau), a)
    near(team.contact_components(q, v, tau), lam, 1e-8)
    M, h, F = team.object_dynamics(q, v, tau)
    near(np.linalg.solve(M, F - h), a[-6:])
    near(M, team.effective_inertia(q))
    for kept in ([], ["arm_1"], ["arm_2"], ["arm_1", "arm_2"]):
        y, forces = team.object_motion(q, v, tau, kept=kept)
        near(y, a[-6:])
        near(forces, lam, 1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_effective_inertia_is_that_of_the_dense_matrices(kind):
    team, apart = two_arms(kind, "soft_finger"), union_of_two(kind, "soft_finger")
    q, _, _ = state(team, 1)
    M, G = apart.matrices(q)
    arms, A = G[:, :-6], -G[:, -6:].T
    X = arms @ np.linalg.inv(M[:-6, :-6]) @ arms.T
    near(team.grasp_map(q), A)
    near(team.effective_inertia(q), M[-6:, -6:] + A @ np.linalg.solve(X, A.T))
    lam = np.random.default_rng(0).normal(size=team.contact_rows)
    near(team.contact_joint_forces(q, lam), np.concatenate([arms.T @ lam, np.zeros(6)]))
    J = team.jacobian(q, "object")[:, team.object_v]  # as the closed robot yields there
    near(J @ np.linalg.inv(team.effective_inertia(q)) @ J.T, team.operational_compliance(q, "object"))


@pytest.mark.parametrize("kind", KINDS)
def test_bases_of_contacts_their_rates_and_duals(kind):
    """W̊ is how W changes along a motion; W*U = 0 and [W U] spans all six; a hand's free motions are free."""
    team = two_arms(kind)
    q, v, _ = state(team)
    rate = team.configuration_rate(q, v, target="numpy")
    changed = team.wrench_basis(q + 1e-30j * rate, target="numpy").imag / 1e-30
    near(team.wrench_basis_rate(q, v, target="numpy"), changed, 1e-12)
    x = team.contacts[0]
    assert not (x.W.T @ x.U).any() and np.linalg.matrix_rank(np.hstack([x.W, x.U])) == 6
    assert x.W.shape == (6, x.size) and x.U.shape == (6, 6 - x.size)
    if kind in ("frictionless_point", "line", "rolling", "plane"):
        assert np.abs(changed[:, : x.size]).max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_forces_are_told_where_they_act(kind):
    """Only what a contact transmits is there: nothing of the directions that it leaves free."""
    team = two_arms(kind)
    q, v, tau = state(team)
    f = team.contact_forces(q, v, tau)
    lam = team.contact_components(q, v, tau)
    x = team.contacts[0]
    if kind != "line":  # whose moment turns with the hand
        near(f[0], x.W @ lam[: x.size], 1e-12)
    else:
        assert abs(f[0, 2]) < 1e-10 and abs(np.linalg.norm(f[0, :3]) - abs(lam[0])) < 1e-10
    assert x.transmitted.index(5) == len(x.transmitted) - 1 or kind == "sliding"


# --- other teams -----------------------------------------------------------------------------------------------------


def test_three_arms_one_of_them_flying():
    arms = [lw.chain(6, seed=5), lw.chain(4, seed=6).floating(), lw.chain(5, seed=7)]
    contacts = [contact("soft_finger", 0), contact("rigid", 1), contact("hard_finger", 2)]
    bases = [(1.0, 0, 0), None, ((0, 1.0, 0), (0.3, 0, 0))]
    team = lw.grasp(arms, BOX, contacts, bases=bases)
    held = lw.assemble("object", [lw.Body("object", lw.Free(), BOX)], frames_on("object", contacts))
    apart = Union(arms, held, list(enumerate(contacts)), bases)
    q, v, tau = state(team)
    a, lam = apart.solved(q, v, tau)
    near(team.forward_dynamics(q, v, tau), a)
    near(team.object_motion(q, v, tau)[0], a[-6:])
    near(team.object_motion(q, v, tau)[1], lam, 1e-8)


def satellite():
    """Two arms of four joints on a body that floats."""
    arm = lw.chain(4, seed=8)
    base = lw.assemble("base", [], base=lw.Inertia.box(20.0, (1, 1, 1))).floating()
    body = base.attach(arm, "base", prefix="l_", at=(0.5, 0, 0))
    return body.attach(arm, "base", prefix="r_", at=(-0.5, 0, 0)).with_gravity((0, 0, 0))


def test_a_satellite_with_two_hands_keeps_its_momentum():
    """Arms that share a moving base have compliances across (math notes on closed chains 3.2)."""
    robot = satellite()
    hands = [
        lw.Contact("l_tip", lw.Frame("a", at=(0.2, 0, 0)), "rigid"),
        lw.Contact("r_tip", lw.Frame("b", at=(-0.2, 0, 0)), "soft_finger"),
    ]
    team = lw.grasp([robot], BOX, hands)
    held = lw.assemble("object", [lw.Body("object", lw.Free(), BOX)], frames_on("object", hands), gravity=(0, 0, 0))
    apart = Union([robot], held, [(0, x) for x in hands], [None])
    q, v, tau = state(team)
    tau[[*range(6), *range(team.nv - 6, team.nv)]] = 0  # no thrusters, and nothing drives the object
    a, lam = apart.solved(q, v, tau)
    near(team.forward_dynamics(q, v, tau), a)
    near(team.object_motion(q, v, tau)[1], lam, 1e-8)
    near(team.object_motion(q, v, tau, kept=["arm_1"])[0], a[-6:])
    rate = team.configuration_rate(q, v, target="numpy")
    moved = team.momentum(q + 1e-30j * rate, v + 1e-30j * a, target="numpy").imag / 1e-30
    assert np.abs(moved).max() < 1e-9


@pytest.mark.parametrize("bolted", [False, True], ids=["free", "door"])
def test_articulated_objects(bolted):
    """Hands on different bodies of the object; one that is bolted to the world has no free joint."""
    held = lw.chain(3, seed=9) if bolted else lw.chain(2, seed=9).floating()
    handles = [lw.Frame("a", held.bodies[1].name, at=(0.1, 0, 0)), lw.Frame("b", held.bodies[-1].name)]
    contacts = [lw.Contact("tip", handles[0], "soft_finger"), lw.Contact("tip", handles[1], "hard_finger")]
    arms = [lw.chain(7, seed=3), lw.chain(7, seed=4)]
    team = lw.grasp(arms, held, contacts, floating=False)
    own = lw.assemble("held", held.bodies, [*held.extra_frames, *handles])
    apart = Union(arms, own, list(enumerate(contacts)), [None, None])
    q, v, tau = state(team)
    a, lam = apart.solved(q, v, tau)
    near(team.forward_dynamics(q, v, tau), a)
    M, h, F = team.object_dynamics(q, v, tau)
    near(np.linalg.solve(M, F - h), a[team.object_v])
    near(team.object_motion(q, v, tau)[1], lam, 1e-8)
    assert team.object_size == held.nv
    for internal in team.internal_basis(q).T:  # that no coordinate of the object feels
        squeezed = tau + 3.0 * team.contact_joint_forces(q, internal)
        near(team.forward_dynamics(q, v, squeezed), a, 1e-8)
        near(team.contact_components(q, v, squeezed), lam + 3.0 * internal, 1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_random_grasps_of_random_arms(seed):
    """Random trees of all joint kinds as arms, some flying, on a random object, by random contacts."""
    rng = np.random.default_rng(seed)
    arms, kinds = [], []
    for i in range(int(rng.integers(1, 4))):
        options = {"branching": 0.3, "floating": bool(rng.integers(2)), "rotors": bool(i % 2)}
        arm = lw.random_tree(6, seed=10 * seed + i, joints=["revolute", "spherical", "universal"], **options)
        arms.append(lw.assemble(arm.name, arm.bodies, [*arm.extra_frames, lw.Frame("tip", arm.bodies[-1].name)]))
        kinds.append(str(rng.choice(list(KINDS))))
    contacts = [contact(kind, i) for i, kind in enumerate(kinds)]
    bases = [(rng.normal(size=3), rng.normal(size=3)) for _ in arms]
    held = lw.Inertia.box(rng.uniform(1, 3), rng.uniform(0.2, 0.6, 3), at=0.1 * rng.normal(size=3))
    team = lw.grasp(arms, held, contacts, bases=bases)
    own = lw.assemble("object", [lw.Body("object", lw.Free(), held)], frames_on("object", contacts))
    apart = Union(arms, own, list(enumerate(contacts)), bases)
    q, v, tau = state(team, seed)
    a, lam = apart.solved(q, v, tau)
    near(team.forward_dynamics(q, v, tau), a)
    near(team.object_motion(q, v, tau)[0], a[team.object_v], 1e-8)
    if team.grasp_report(q).well_posed:
        near(team.contact_components(q, v, tau), lam, 1e-7)


def test_arms_with_loops_of_their_own():
    """An arm that is itself a closed robot: its loops count in what the object feels."""
    arm = lw.chain(7, seed=3)
    looped = arm.close(lw.Loop(lw.Frame("on", "link3"), lw.Frame("near", None, at=(0.4, 0.2, 0.1)), "point_on_plane"))
    team = lw.grasp([looped, lw.chain(7, seed=4)], BOX, [contact("rigid", 0), contact("hard_finger", 1)])
    assert len(team.loops) == 3
    q, v, tau = state(team)
    a = team.forward_dynamics(q, v, tau)
    M, h, F = team.object_dynamics(q, v, tau)
    near(np.linalg.solve(M, F - h), a[team.object_v])
    y, lam = team.object_motion(q, v, tau, kept=["arm_2"])
    near(y, a[team.object_v])
    near(lam, team.contact_components(q, v, tau), 1e-8)


def test_one_arm_that_holds_rigidly_has_a_heavier_hand():
    arm = lw.chain(6, seed=5)
    x = contact("rigid", 0)
    team = lw.grasp([arm], BOX, [x])
    q, v, tau = state(team)
    tau[6:] = 0
    pose = x.object_frame.pose.inverse()
    loaded = arm.with_inertias(
        {arm.bodies[-1].name: arm.bodies[-1].inertia + BOX.moved(arm.frame("tip")[1].compose(pose))}
    )
    near(team.forward_dynamics(q, v, tau)[:6], loaded.forward_dynamics(q[:6], v[:6], tau[:6]))
    near(team.effective_inertia(q) - team.arm_inertia(q, "arm_1"), BOX.spatial().matrix)


# --- singular and redundant arms -------------------------------------------------------------------------------------


def stretched():
    """An arm that is stretched out, one that is not, and a box between them."""
    arm, other = lw.chain(6), lw.chain(7, seed=4)
    _, tip = arm.pose(np.zeros(6), "tip")
    contacts = [lw.Contact("tip", lw.Frame("a"), "rigid"), contact("rigid", 1)]
    beside = tip + np.array([0.5, 0.5, 0.2])
    team = lw.grasp([arm, other], BOX, contacts, bases=[None, beside])
    q = team.neutral()
    q[team.object_q][:3] = tip
    rng = np.random.default_rng(2)
    keep = [f"arm_1/joint{i}" for i in range(1, 7)] + ["object_free"]
    for _ in range(30):
        q[team.arm_q("arm_2")] = rng.uniform(-1.5, 1.5, 7)
        try:
            q = team.closed_configuration(q, keep=keep)
            break
        except lw.ClosureError:
            continue
    held = lw.assemble("object", [lw.Body("object", lw.Free(), BOX)], frames_on("object", contacts))
    return team, Union([arm, other], held, list(enumerate(contacts)), [None, beside]), q


def test_a_singular_arm_in_the_mixed_form():
    """A stretched arm resists infinitely along itself: it has no inertia there, and a pseudo-inverse would be wrong."""
    team, apart, q = stretched()
    assert np.abs(team.loop_error(q)).max() < 1e-9
    rng = np.random.default_rng(0)
    v = team.closed_velocity(q, rng.normal(size=team.nv), target="numpy")
    tau = 5 * rng.normal(size=team.nv)
    a, _ = apart.solved(q, v, tau)
    near(team.forward_dynamics(q, v, tau), a, 1e-8)
    near(team.object_motion(q, v, tau, kept=["arm_1"])[0], a[-6:], 1e-8)
    for call in (team.effective_inertia, lambda q: team.object_dynamics(q, v, tau)):
        with pytest.raises(lw.SingularError, match=r"arm_1 of grasp 'grasp' cannot give way .* kept=\['arm_1'\]"):
            call(q)
    with pytest.raises(lw.SingularError, match="arm_1"):
        team.object_motion(q, v, tau, kept=["arm_2"])
    report = team.grasp_report(q)
    assert report.singular_arms == ("arm_1",) and "arm_1" in str(report)


def test_two_stretched_arms_squeeze_each_other_undetermined():
    """With several singular arms the object's motion is unique and the squeeze along them is not."""
    arm, turn = lw.chain(6), (0, 0, np.pi)
    _, tip = arm.pose(np.zeros(6), "tip")
    contacts = [
        lw.Contact("tip", lw.Frame("a", at=(-0.1, 0, 0))),
        lw.Contact("tip", lw.Frame("b", at=(0.1, 0, 0), rpy=turn)),
    ]
    bases = [None, ((2 * tip[0] + 0.2, 0, 0), turn)]
    team = lw.grasp([arm, arm], BOX, contacts, bases=bases)
    q = team.neutral()
    q[team.object_q][:3] = tip + np.array([0.1, 0, 0])
    assert np.abs(team.loop_error(q)).max() < 1e-12
    assert team.grasp_report(q).undetermined == 2
    held = lw.assemble("object", [lw.Body("object", lw.Free(), BOX)], frames_on("object", contacts))
    apart = Union([arm, arm], held, list(enumerate(contacts)), bases)
    v, tau = np.zeros(team.nv), np.random.default_rng(1).normal(size=team.nv)  # at rest, where accelerations exist
    a, _ = apart.solved(q, v, tau)
    near(team.forward_dynamics(q, v, tau), a, 1e-8)
    y, lam = team.object_motion(q, v, tau, kept=["arm_1", "arm_2"])
    near(y, a[-6:], 1e-7)
    A = team.grasp_map(q)
    near(A @ lam, A @ team.contact_components(q, v, tau), 1e-6)


def test_short_arms_are_kept_without_being_named():
    """One arm of three joints, and then two: with several, the squeeze that none yields to is undetermined."""
    arms = [lw.chain(3, seed=5), lw.chain(7, seed=4)]
    team = lw.grasp(arms, BOX, [contact("rigid", 0), contact("rigid", 1)])
    held = lw.assemble(
        "o", [lw.Body("object", lw.Free(), BOX)], frames_on("object", [contact("rigid", i) for i in (0, 1)])
    )
    apart = Union(arms, held, [(i, contact("rigid", i)) for i in (0, 1)], [None, None])
    q, v, tau = state(team)
    a, lam = apart.solved(q, v, tau)
    y, forces = team.object_motion(q, v, tau)
    near(y, a[-6:], 1e-8)
    near(forces, lam, 1e-7)
    assert team.grasp_report(q).well_posed

    fingers = [lw.chain(1, seed=i) for i in (1, 2)]
    pair = lw.grasp(fingers, BOX, [contact("hard_finger", 0), lw.Contact("tip", "object", "hard_finger")])
    guess = pair.neutral()
    y, forces = pair.object_motion(guess, np.zeros(pair.nv), np.ones(pair.nv), kept=["arm_1", "arm_2"])
    assert np.isfinite(y).all() and np.isfinite(forces).all()


def test_a_redundant_arm_moves_within_itself():
    """T = (I − J*J̄*)T₀ changes neither the object's motion nor a contact force."""
    team = two_arms("rigid", "hard_finger")
    q, v, tau = state(team)
    arm, own = lw.chain(7, seed=3), team.arm_v("arm_1")
    J = arm.jacobian(q[:7], "tip")
    consistent = arm.consistent_inverse(q[:7], "tip")
    extra = np.zeros(team.nv)
    extra[own] = (np.eye(7) - J.T @ consistent.T) @ np.random.default_rng(1).normal(size=7)
    assert np.abs(extra).max() > 0.1
    a, b = team.forward_dynamics(q, v, tau), team.forward_dynamics(q, v, tau + extra)
    near(b[team.object_v], a[team.object_v])
    near(team.contact_components(q, v, tau + extra), team.contact_components(q, v, tau), 1e-8)
    assert np.abs(b - a)[own].max() > 1e-3


# --- internal forces -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_internal_forces_move_nothing(kind):
    """T += J*Wλ_int changes contact forces by λ_int and no acceleration (math notes on closed chains 3.4)."""
    team = two_arms(kind)
    q, v, tau = state(team)
    basis = team.internal_basis(q)
    near(team.grasp_map(q) @ basis, np.zeros((6, basis.shape[1])), 1e-12)
    lam = basis @ np.random.default_rng(3).normal(size=basis.shape[1])
    squeezed = tau + team.contact_joint_forces(q, lam)
    near(team.forward_dynamics(q, v, squeezed), team.forward_dynamics(q, v, tau), 1e-8)
    near(team.contact_components(q, v, squeezed) - team.contact_components(q, v, tau), lam, 1e-8)
    parts = {p: team.contact_components(q, v, squeezed, part=p) for p in ("all", "motion", "internal")}
    near(parts["motion"] + parts["internal"], parts["all"], 1e-12)
    near(team.grasp_map(q) @ parts["internal"], np.zeros(6), 1e-9)
    near(parts["motion"], team.contact_components(q, v, tau, part="motion"), 1e-8)


@pytest.mark.parametrize(
    ("kinds", "internal"),
    [
        (["rigid", "rigid"], 6),
        (["rigid"] * 3, 12),
        (["hard_finger"] * 2, 1),
        (["soft_finger"] * 2, 2),
        (["hard_finger"] * 3, 3),
        (["hard_finger"] * 4, 6),
    ],
)
def test_how_many_internal_forces_there_are(kinds, internal):
    arm = lw.chain(7, seed=3)
    team = lw.grasp([arm] * len(kinds), BOX, [contact(k, i) for i, k in enumerate(kinds)])
    q = team.random_configuration(np.random.default_rng(0))  # forces are counted whether hands are there or not
    report = team.grasp_report(q)
    assert report.internal == internal == team.internal_basis(q).shape[1]
    assert report.uncontrolled == (1 if kinds == ["hard_finger"] * 2 else 0)


def fingers(m_1=1.3, m_2=0.7, m=2.0):
    """Two fingers that slide along x on a mass between them, without friction and weight."""
    bodies = [lw.Body("slide", lw.Joint(lw.Prismatic("x"), "push"), lw.Inertia(x)) for x in (m_1, m_2)]
    arms = [lw.assemble("finger", [b], gravity=(0, 0, 0)) for b in bodies]
    ball = lw.Inertia.sphere(m, 0.1)
    quarter = np.pi / 2
    contacts = [
        lw.Contact("slide", lw.Frame("left", rpy=(0, quarter, 0)), "frictionless_point"),
        lw.Contact("slide", lw.Frame("right", rpy=(0, -quarter, 0)), "frictionless_point"),
    ]
    return lw.grasp(arms, ball, contacts)


def test_two_sliding_fingers_on_a_mass():
    """a = (F₁ − F₂)/(m₁ + m₂ + m), f₁ = F₁ − m₁a, f₂ = F₂ + m₂a, squeeze ½(f₁ + f₂) (math notes 3.6)."""
    team = fingers()
    q, v, tau = team.neutral(), np.zeros(team.nv), np.zeros(team.nv)
    F_1, F_2 = 5.0, 3.0
    tau[:2] = F_1, -F_2
    a = (F_1 - F_2) / (1.3 + 0.7 + 2.0)
    f_1, f_2 = F_1 - 1.3 * a, F_2 + 0.7 * a
    np.testing.assert_allclose(team.forward_dynamics(q, v, tau)[:2], a, rtol=1e-9)
    np.testing.assert_allclose(team.contact_forces(q, v, tau)[:, 5], [f_1, f_2], rtol=1e-8)
    half = 0.5 * (f_1 + f_2)
    np.testing.assert_allclose(team.contact_forces(q, v, tau, part="internal")[:, 5], [half, half], rtol=1e-8)
    np.testing.assert_allclose(team.effective_inertia(q)[3, 3], 4.0)


def test_three_hard_fingers_around_a_sphere():
    """A A* = diag(1.5r², 1.5r², 3r², 3, 3, 3) (math notes on closed chains 3.6)."""
    r, arm = 0.3, lw.chain(3, seed=1)
    contacts = []
    for i in range(3):
        angle = 2 * np.pi * i / 3
        at = r * np.array([np.cos(angle), np.sin(angle), 0.0])
        contacts.append(lw.Contact("tip", lw.Frame(f"f{i}", at=at, rpy=(0.2 * i, 0.1, 0.5)), "hard_finger"))
    team = lw.grasp([arm] * 3, lw.Inertia.sphere(1.0, r), contacts)
    A = team.grasp_map(team.neutral())
    np.testing.assert_allclose(A @ A.T, np.diag([1.5 * r**2, 1.5 * r**2, 3 * r**2, 3, 3, 3]), atol=1e-12)


def test_a_load_is_shared_as_asked():
    team = two_arms("rigid", "rigid")
    q, _, _ = state(team)
    F = np.array([0.3, -0.2, 0.1, 5.0, -4.0, 12.0])
    for weights in (None, [1.0, 1.0], [3.0, 1.0]):
        lam = team.share_load(q, F, weights=weights)
        near(team.grasp_map(q) @ lam, F)
    light = np.linalg.norm(team.share_load(q, F, weights=[1.0, 100.0])[:6])
    assert light < 0.1 * np.linalg.norm(team.share_load(q, F)[:6])
    near(team.share_load(q, F, weights=[1.0, 1.0]), team.share_load(q, F))


def test_inverse_dynamics_of_the_object_is_what_its_forward_dynamics_undoes():
    team = two_arms("rigid", "soft_finger")
    q, v, _ = state(team)
    rng = np.random.default_rng(5)
    y_dot, external = rng.normal(size=6), rng.normal(size=(len(team.bodies), 6))
    lam = team.internal_basis(q) @ rng.normal(size=team.internal_basis(q).shape[1])
    within = rng.normal(size=team.nv)
    for given in ({}, {"external": external}, {"squeeze": lam}, {"arm_acceleration": within, "weights": [2.0, 1.0]}):
        tau = team.object_inverse_dynamics(q, v, y_dot, **given)
        assert (tau[team.object_v] == 0).all()
        pushed = {"external": given["external"]} if "external" in given else {}
        near(team.forward_dynamics(q, v, tau, **pushed)[team.object_v], y_dot, 1e-8)
        if "weights" not in given:
            internal = team.contact_components(q, v, tau, part="internal", **pushed)
            near(internal, given.get("squeeze", 0.0 * lam), 1e-7)
    batch = [np.stack([x, x]) for x in (q, v, y_dot)]
    near(team.object_inverse_dynamics(*batch)[1], team.object_inverse_dynamics(q, v, y_dot), 1e-12)


# --- arms come and go ------------------------------------------------------------------------------------------------


def test_arms_add_up_one_by_one():
    arm = lw.chain(7, seed=3)
    xs = [contact("rigid", 0), contact("hard_finger", 1), contact("soft_finger", 2)]
    bases = [None, (0.4, 0, 0), ((0, 0.5, 0), (0, 0, 1.0))]
    whole = lw.grasp([arm] * 3, BOX, xs, bases=bases)
    grown = lw.grasp([arm], BOX, xs[:1])
    for x, base in zip(xs[1:], bases[1:]):
        grown = grown.with_arm(arm, x, base=base)
    q, v, tau = state(whole)
    near(grown.forward_dynamics(q, v, tau), whole.forward_dynamics(q, v, tau), 1e-12)
    total = BOX.spatial().matrix + sum(whole.arm_inertia(q, f"arm_{i}") for i in (1, 2, 3))
    near(whole.effective_inertia(q), total, 1e-12)
    fewer = whole.without_arm("arm_2")
    left = np.delete(q, np.r_[whole.arm_q("arm_2")])
    near(fewer.effective_inertia(left), total - whole.arm_inertia(q, "arm_2"), 1e-12)
    assert fewer.arms == ("arm_1", "arm_3") and len(fewer.contacts) == 2
    assert fewer.with_arm(arm, xs[1], base=bases[1], name="arm_2").nv == whole.nv
    assert grown.without_arm("arm_3") == lw.grasp([arm] * 2, BOX, xs[:2], bases=bases[:2]).with_arm(
        arm, xs[2], base=bases[2]
    ).without_arm("arm_3")


def test_cost_grows_with_the_number_of_arms_and_no_faster():
    arm = lw.chain(4, seed=3)
    counts = []
    for n in (1, 2, 3, 4):
        team = lw.grasp([arm] * n, BOX, [contact("hard_finger", i) for i in range(n)])
        counts.append(team.compile("effective_inertia").operations.total)
    steps = np.diff(counts)
    assert steps.max() - steps.min() < 0.02 * steps.mean()


# --- the same on every path ------------------------------------------------------------------------------------------


def test_batches_and_machine_code():
    team = lw.grasp([lw.chain(2), lw.chain(3, seed=4)], BOX, [contact("line", 0), contact("rolling", 1)])
    q, v, tau = (np.stack(x) for x in zip(*(state(team, i) for i in range(3))))
    for name, given in {
        "effective_inertia": (q,),
        "grasp_map": (q,),
        "object_dynamics": (q, v, tau),
        "contact_forces": (q, v, tau),
        "wrench_basis_rate": (q, v),
    }.items():
        call = getattr(team, name)
        expected, found = call(*given, target="numpy"), call(*given, target="cpu")
        one = call(*(x[1] for x in given), target="numpy")
        for e, f, o in zip(*((x if isinstance(x, tuple) else (x,)) for x in (expected, found, one))):
            near(f, e, 1e-8)
            near(o, e[1], 1e-12)
    lam = team.contact_components(q, v, tau)
    near(team.contact_joint_forces(q, lam, target="cpu"), team.contact_joint_forces(q, lam, target="numpy"))
    near(team.share_load(q, v[:, -6:], target="cpu"), team.share_load(q, v[:, -6:], target="numpy"), 1e-8)
    single = team.contact_forces(*(x.astype(np.float32) for x in (q, v, tau)), target="numpy")
    assert single.dtype == np.float32
