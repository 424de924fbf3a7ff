"""Laws for held objects: what they promise at an instant, and Lyapunov functions that fall in simulation."""

import numpy as np
import pytest
from held_objects import BOX, contact, near, state

import linkwise as lw
from linkwise import control

ALL_CONTACTS = ["rigid", "soft_finger", "hard_finger"]


def gantry(name="finger"):
    """A finger on three slides: every point of space, and quick to compile."""
    bodies, parent = [], None
    for axis in "xyz":
        bodies.append(lw.Body(axis, lw.Prismatic(axis), lw.Inertia.sphere(0.4, 0.05), parent))
        parent = axis
    return lw.assemble(name, bodies, [lw.Frame("tip", "z")])


def three_fingers(ball=True):
    """Three hard fingers around a ball, pushing inward; q where they touch it."""
    r, contacts, bases = 0.2, [], []
    for i in range(3):
        angle = 2 * np.pi * i / 3
        at = r * np.array([np.cos(angle), np.sin(angle), 0.0])
        inward = lw.Frame(f"f{i}", at=at, rpy=(0, -np.pi / 2, angle))
        contacts.append(lw.Contact("tip", inward, "hard_finger", friction=0.8))
        bases.append(at)
    return lw.grasp([gantry()] * 3, lw.Inertia.sphere(1.5, r), contacts, bases=bases)


def started(team, seed=0, size=0.1):
    """A state that is closed, some way from where the object belongs."""
    rng = np.random.default_rng(seed)
    q = team.neutral()
    q[team.object_q][:3] += size * rng.normal(size=3)
    turned = team.object_alone.integrate(q[team.object_q], size * rng.normal(size=6))
    q[team.object_q] = turned
    q = team.closed_configuration(q, keep=["object_free"])
    return q, team.closed_velocity(q, 0.3 * rng.normal(size=team.nv))


def moving(team, seed=1):
    """A reference of the object with exact derivatives."""
    alone = team.object_alone
    w = np.random.default_rng(seed).normal(size=6)

    def reference(t):
        return alone.integrate(alone.neutral(), 0.1 * np.sin(t) * w), 0.1 * np.cos(t) * w, -0.1 * np.sin(t) * w

    return reference


# --- at an instant ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL_CONTACTS)
def test_motion_and_squeeze_are_controlled_exactly_and_apart(kind):
    arms = [lw.chain(7, seed=3), lw.chain(6, seed=4)]
    team = lw.grasp(arms, BOX, [contact("rigid", 0), contact(kind, 1)])
    q, v, _ = state(team)
    lam = team.internal_basis(q) @ np.arange(1.0, 1 + team.internal_basis(q).shape[1])
    for squeeze, shares in ((None, None), (lam, None), (lam, [1.0, 4.0])):
        law = control.ObjectMotion(team, moving(team), 4.0, 3.0, squeeze=squeeze, shares=shares)
        tau = law(0.4, q, v)
        assert (tau[team.object_v] == 0).all()
        x = law.errors(0.4, q, v)
        near(team.forward_dynamics(q, v, tau)[team.object_v], x.a_ref - x.pull(law.Kp) - law.Kd * x.rate, 1e-8)
        if shares is None:
            internal = team.contact_components(q, v, tau, part="internal")
            near(internal, 0.0 * lam if squeeze is None else lam, 1e-7)
    arms_v = np.r_[team.arm_v("arm_1"), team.arm_v("arm_2")]
    assert np.abs(tau[arms_v]).min() > 0


def test_shares_move_the_load_from_arm_to_arm():
    team = lw.grasp([lw.chain(6, seed=3), lw.chain(6, seed=4)], BOX, [contact("rigid", 0), contact("rigid", 1)])
    q, v, _ = state(team)
    even, light = (control.ObjectMotion(team, moving(team), 9.0, 6.0, shares=s) for s in (None, [0.01, 1.0]))
    near(*(team.forward_dynamics(q, v, law(0.0, q, v))[team.object_v] for law in (even, light)), 1e-7)
    first = [np.linalg.norm(team.contact_forces(q, v, law(0.0, q, v))[0]) for law in (even, light)]
    assert first[1] < 0.1 * first[0]


@pytest.mark.parametrize("law", ["ObjectMotion", "ObjectPDGravity"])
def test_rates_of_lyapunov_functions(law):
    """d/dt V along the closed loop is what lyapunov_rate says, by a complex step."""
    arms = [lw.chain(6, seed=3), lw.chain(6, seed=4)]
    team = lw.grasp(arms, BOX, [contact("rigid", 0), contact("soft_finger", 1)])
    q, v, _ = state(team)
    goal = moving(team)(0.3)[0] if law == "ObjectPDGravity" else moving(team)
    squeeze = np.linspace(-3.0, 5.0, team.contact_rows)  # of which what would move the object is left out
    made = getattr(control, law)(team, goal, np.arange(1.0, 7.0), np.arange(2.0, 8.0), squeeze=squeeze)
    a = team.forward_dynamics(q, v, made(0.2, q, v))
    h = 1e-30j
    rate = made.lyapunov(0.2 + h, q + h * team.configuration_rate(q, v), v + h * a).imag / 1e-30
    expected = made.lyapunov_rate(0.2, q, v)
    assert expected < 0
    np.testing.assert_allclose(rate, expected, rtol=1e-7)


# --- in simulation ---------------------------------------------------------------------------------------------------


def moved(team, q, v, law, duration):
    """A motion in machine code."""
    return lw.simulate(team, q, v, law, duration=duration, step=5e-3, method="midpoint", progress=False, target="cpu")


def falls(law, motion):
    """Whether a Lyapunov function falls at every step, to roundings of its start."""
    V = motion.along(law.lyapunov)
    return (np.diff(V) < 1e-9 * V[0]).all() and V[-1] < 0.2 * V[0]


def test_an_object_is_moved_and_squeezed():
    team = three_fingers()
    q, v = started(team)
    squeeze = np.tile([0.0, 0.0, 20.0], 3)
    law = control.ObjectMotion(team, team.object_alone.neutral(), 25.0, 10.0, squeeze=squeeze)
    motion = moved(team, q, v, law, 0.6)
    assert falls(law, motion)
    forces = team.contact_forces(motion.q[-20:], motion.v[-20:], law(0.0, motion.q[-20:], motion.v[-20:]))
    assert (team.friction_margins(forces) > 0).all()
    assert np.abs(team.loop_error(motion.q)).max() < 1e-8


def test_a_law_that_inverts_nothing_is_stable():
    team = three_fingers()
    q, v = started(team)
    law = control.ObjectPDGravity(
        team, team.object_alone.neutral(), [4, 4, 4, 60, 60, 60], [0.8, 0.8, 0.8, 15, 15, 15], joint_damping=1.0,
        squeeze=np.tile([0.0, 0.0, 15.0], 3),
    )  # fmt: skip
    motion = moved(team, q, v, law, 1.0)
    assert falls(law, motion)


def on_a_table(team):
    """The ball's lowest point on a table without friction."""
    foot = lw.Frame("foot", "object", at=(0, 0, -0.2))
    return team.close(lw.Loop(lw.Frame("table", None, at=(0, 0, -0.2)), foot, "point_on_plane", name="table"))


def test_an_object_presses_on_a_table_and_moves_along_it():
    """Hybrid control: the force normal to the table is as asked while the Lyapunov function of the motion falls."""
    team = on_a_table(three_fingers())
    q = team.neutral()
    q[team.object_q][:3] = [0.05, -0.04, 0.0]
    q = team.closed_configuration(q, keep=["object_free"])
    v = team.closed_velocity(q, 0.2 * np.random.default_rng(0).normal(size=team.nv))
    law = control.ObjectMotion(team, team.object_alone.neutral(), 25.0, 10.0, push={"table": [7.0]})
    motion = moved(team, q, v, law, 0.6)
    assert falls(law, motion)
    place = [x.name for x in team.loops].index("table")
    for i in (0, 60, -1):
        x = motion.q[i], motion.v[i]
        near(team.loop_forces(*x, law(0.0, *x))[place, 5], np.float64(7.0), 1e-7)
    assert np.linalg.norm(motion.q[-1][team.object_q][:3]) < 0.02


# --- what is refused -------------------------------------------------------------------------------------------------


def test_bad_arguments():
    team = three_fingers()
    at = team.object_alone.neutral()
    for make, why in [
        (lambda: control.ObjectMotion(gantry(), at, 1.0, 1.0), "for arms that hold an object"),
        (lambda: control.ObjectMotion(team, at, -1.0, 1.0), "Kp must be zero or more"),
        (lambda: control.ObjectMotion(team, at, 1.0, [1.0, 2.0]), "Kd must be one number or 6"),
        (lambda: control.ObjectMotion(team, at, 1.0, 1.0, squeeze=[1.0]), "squeeze must be 9 finite numbers"),
        (lambda: control.ObjectMotion(team, at, 1.0, 1.0, squeeze=[np.nan] * 9), "squeeze must be 9 finite numbers"),
        (lambda: control.ObjectMotion(team, at, 1.0, 1.0, shares=[1.0]), "shares must be 3 positive numbers"),
        (lambda: control.ObjectMotion(team, at, 1.0, 1.0, push={"wall": [1.0]}), "no loop 'wall' holds the object"),
        (lambda: control.ObjectMotion(team, at, 1.0, 1.0, push=3), "push must be a mapping"),
        (lambda: control.ObjectMotion(on_a_table(team), at, 1.0, 1.0, push={"table": [1.0, 2.0]}), "1 finite numbers"),
        (lambda: control.ObjectMotion(team, at[:3], 1.0, 1.0), r"shape \(\.\.\., 7\)"),
        (lambda: control.ObjectPDGravity(team, at, 1.0, 1.0, joint_damping=-1.0), "joint_damping"),
    ]:
        with pytest.raises(lw.LinkwiseError, match=why):
            make()
    flying = lw.grasp([lw.chain(6, seed=1).floating()], BOX, [contact("rigid", 0)])
    with pytest.raises(lw.NotAdmittedError, match=r"nothing drives 'arm_1/root_joint' .* base_forces=True"):
        control.ObjectPDGravity(flying, flying.object_alone.neutral(), 1.0, 1.0)
    control.ObjectPDGravity(flying, flying.object_alone.neutral(), 1.0, 1.0, base_forces=True)
    looped = lw.chain(7, seed=3).close(lw.Loop("link3", lw.Frame("peg", None, at=(0.3, 0, 0)), "point_on_plane"))
    with pytest.raises(lw.NotAdmittedError, match="arms without loops of their own"):
        control.ObjectMotion(lw.grasp([looped], BOX, [contact("rigid", 0)]), BOXED, 1.0, 1.0)


def test_what_an_object_touches_keeps_it_from_its_own_equation():
    team = on_a_table(three_fingers())
    q = team.neutral()
    for call in (team.effective_inertia, lambda q: team.object_dynamics(q, np.zeros(15), np.zeros(15))):
        with pytest.raises(lw.NotAdmittedError, match="loop 'table' holds its object besides the hands"):
            call(q)


BOXED = np.array([0, 0, 0, 0, 0, 0, 1.0])
