"""Inverse kinematics: reachable goals are reached, within limits, by any part of a pose; others are told."""

import numpy as np
import pytest
from scipy.optimize import least_squares

import linkwise as lw
from linkwise.dynamics import inverse_kinematics as formulas
from linkwise.dynamics.inverse_kinematics import Task, step
from linkwise.robot.inverse_kinematics_steps import steps_of


def find(robot, *arguments, **options):
    """In machine code, as users run it: on NumPy, the default of these tests, goals go one by one."""
    return robot.inverse_kinematics(*arguments, target="cpu", **options)


def turned_by(R, S):
    """The angles between rotations."""
    cosine = (np.trace(R @ S.swapaxes(-1, -2), axis1=-2, axis2=-1) - 1) / 2
    sine = np.linalg.norm(R @ S.swapaxes(-1, -2) - S @ R.swapaxes(-1, -2), axis=(-2, -1)) / np.sqrt(8)
    return np.arctan2(sine, cosine)


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_reachable_poses_are_reached_within_limits(name):
    r = lw.load(name)
    frame = r.tips[0]
    R, p = r.pose(r.random_configuration(3, batch=1000), frame)
    found = find(r, frame, (R, p))
    assert found.reached.mean() >= 0.995
    assert (found.q >= r.lower_limits).all() and (found.q <= r.upper_limits).all()
    S, s = r.pose(found.q, frame, target="numpy")
    assert np.abs(np.linalg.norm(s - p, axis=-1) - found.position_error).max() < 1e-9
    assert np.abs(turned_by(R, S) - found.rotation_error).max() < 1e-9
    assert (found.error[found.reached] <= 1e-6).all() and (found.error[~found.reached] > 1e-6).all()
    again = find(r, frame, (R, p))
    assert np.array_equal(found.q, again.q)
    assert f"{found.reached.sum()} of 1000 goals reached" in repr(found)


def test_parts_of_poses():
    r = lw.load("panda")
    R, p = r.pose(r.random_configuration(4, batch=(5, 4)), "tcp")
    for part, goal in (("position", p), ("rotation", R), ("direction", 3 * R[..., 2])):
        found = find(r, "tcp", goal, part=part)
        assert found.reached.all() and found.q.shape == (5, 4, 7)
        S, s = r.pose(found.q, "tcp")
        lacks = {"position": s - p, "rotation": turned_by(R, S), "direction": S[..., 2] - R[..., 2]}
        assert np.abs(lacks[part]).max() < 2e-6
        other = found.rotation_error if part == "position" else found.position_error
        assert not other.any()  # what was not asked for is no error


@pytest.mark.parametrize("opposed", [False, True])
def test_a_direction_from_behind(opposed):
    """Opposite directions have no shortest way between them: from another guess it is found all the same."""
    r = lw.load("panda")
    q = r.random_configuration(0)
    for robot_, start in ((r, q), (r, np.zeros(7)), (lw.chain(3), np.zeros(3))):
        tip = robot_.tips[0]
        z = robot_.pose(start, tip)[0][:, 2] * (-1 if opposed else 1)
        for target in ("cpu", "numpy"):
            found = robot_.inverse_kinematics(tip, z, start, part="direction", target=target)
            assert found.reached and np.abs(robot_.pose(found.q, tip)[0][:, 2] - z).max() < 2e-6


def test_modes_and_springs_of_gears_stay_as_they_are():
    """They give way to forces; no one moves them to where they are wanted."""
    beam = lw.Flexible.beam(length=1.0, mass=1.0, stiffness=50.0, modes=2)
    bodies = [
        lw.Body("a", lw.Joint(lw.Revolute("z"), "j1"), beam),
        lw.Body("b", lw.Joint(lw.Revolute("z"), "j2"), beam, parent="a.tip"),
    ]
    r = lw.assemble("bending", bodies)
    found = find(r, "b.tip", [[1.2, 0.5, 0.0], [2.2, 0.0, 0.0]], part="position")
    assert found.reached.tolist() == [True, False]
    for name in ("a.modes", "b.modes"):
        assert not found.q[:, r.q_slices[r.joint(name)]].any()
    joints = {j.name: lw.Gear(1e3, rotor=0.1) for j in lw.load("ur5").joints}
    elastic = lw.load("ur5").with_elastic_joints(joints)
    R, p = lw.load("ur5").pose(lw.load("ur5").random_configuration(0), "tool0")
    moved = find(elastic, "tool0", (R, p))
    springs = [elastic.q_slices[elastic.joint(f"{name}_spring")].start for name in joints]
    assert moved.reached and not moved.q[springs].any()


def test_several_frames_of_a_robot_that_floats():
    r = lw.load("quadruped")
    feet = r.tips[:4]
    q = r.random_configuration(1, batch=20)
    goals = [r.pose(q, foot)[1] for foot in feet]
    found = find(r, feet, goals, part="position")
    assert found.reached.all()
    for foot, p in zip(feet, goals):
        assert np.abs(r.pose(found.q, foot)[1] - p).max() < 2e-6
    base = r.joints[0]
    assert base.kind.nq == 7 and np.allclose(np.linalg.norm(found.q[:, 3:7], axis=-1), 1)
    mixed = find(r, [feet[0], feet[1]], [goals[0], r.pose(q, feet[1])], part=["position", "pose"])
    assert mixed.reached.all()


def test_coupled_joints_and_loops_are_kept():
    gripper = lw.load("panda_gripper")
    frame = gripper.tips[0]
    q = gripper.random_configuration(2, batch=50)
    found = find(gripper, frame, gripper.pose(q, frame)[1], part="position")
    assert found.reached.all() and found.q.shape == (50, gripper.nq)
    four_bar = lw.load("four_bar")
    start = four_bar.closed_configuration(four_bar.neutral())
    moved = [four_bar.closed_velocity(start, np.full(four_bar.nv, x)) for x in np.linspace(-0.3, 0.3, 10)]
    q = np.array([four_bar.closed_configuration(start + v) for v in moved])
    found = find(four_bar, "coupler_end", four_bar.pose(q, "coupler_end")[1], part="position")
    assert found.reached.all()
    assert np.abs(four_bar.loop_error(found.q)).max() < 1e-6
    assert np.abs(four_bar.pose(found.q, "coupler_end")[1] - four_bar.pose(q, "coupler_end")[1]).max() < 1e-6


def bent_arm(lower=None, upper=None, both=False):
    """Three links in a plane, the last turned by a relation of the one before, or of both, within limits."""
    link = lw.Inertia.box(1.0, (0.5, 0.1, 0.1))
    bodies = [lw.Body("a", lw.Joint(lw.Revolute("z"), "first", limits=lw.Limits(-2.0, 2.0)), link)]
    second, third = lw.Limits(-1.5, 1.5), lw.Limits(lower, upper)
    bodies.append(lw.Body("b", lw.Joint(lw.Revolute("z"), "second", at=(1, 0, 0), limits=second), link, "a"))
    bodies.append(lw.Body("c", lw.Joint(lw.Revolute("z"), "follower", at=(1, 0, 0), limits=third), link, "b"))
    tree = lw.assemble("bent arm", bodies, [lw.Frame("hand", "c", at=(0.5, 0, 0))])
    if both:
        return tree.couple("follower", ("first", "second"), relation=lambda a, b: 0.3 * a + np.sin(b))
    return tree.couple("follower", "second", relation=lambda b: b + 0.4 * b**3)


def followed_by(r, q):
    """Where the follower is."""
    return r.joint_positions(q)[..., r.joint("follower")]


@pytest.mark.parametrize("both", [False, True])
def test_limits_of_joints_that_follow_by_a_relation_are_held(both):
    r, loose = bent_arm(-0.6, 0.8, both), bent_arm(both=both)
    q = loose.random_configuration(1, batch=300)
    θ = followed_by(loose, q)
    inside = (θ > -0.59) & (θ < 0.79)
    p = loose.pose(q, "hand")[1]
    found = find(r, "hand", p, part="position", attempts=10)
    assert 0.2 < inside.mean() < 0.8 and found.reached[inside].all()
    ends = followed_by(r, found.q)
    assert (ends >= -0.6 - 1e-9).all() and (ends <= 0.8 + 1e-9).all()
    assert (found.q >= r.lower_limits).all() and (found.q <= r.upper_limits).all()
    at = (ends < -0.6 + 1e-9) | (ends > 0.8 - 1e-9)
    assert np.array_equal(found.followers_at_limits["follower"], at)
    lost = ~found.reached
    assert (lost & at).any() and found.at_limits[at, 1].all() and "at limits of follower" in repr(found)
    assert find(loose, "hand", p[lost], part="position").reached.mean() > 0.9  # it was this limit that was in the way
    # from the very configuration that meets the goal, and is beyond the limit
    beyond = find(r, "hand", p[lost], q[lost], part="position", attempts=1)
    assert not beyond.reached.any() and (followed_by(r, beyond.q) <= 0.8 + 1e-9).all()


def test_the_nearest_place_within_a_bent_limit_is_found():
    """Against a search over all configurations within the limits."""
    r = bent_arm(-0.6, 0.8)
    goal = bent_arm().pose(np.array([0.2, 1.2]), "hand")[1]
    a, b = np.meshgrid(np.linspace(-2, 2, 401), np.linspace(-1.5, 1.5, 601))
    grid = np.stack([a.ravel(), b.ravel()], axis=-1)
    θ = followed_by(r, grid)
    grid = grid[(θ >= -0.6) & (θ <= 0.8)]
    nearest = np.linalg.norm(r.pose(grid, "hand", target="cpu")[1] - goal, axis=-1).min()
    found = [r.inverse_kinematics("hand", goal, part="position", attempts=5, target=t) for t in ("cpu", "numpy")]
    assert nearest > 0.05
    for x in found:
        assert not x.reached and x.followers_at_limits["follower"] and x.position_error < nearest + 5e-3


def test_a_rest_beyond_a_bent_limit_is_held_off():
    r = bent_arm(-0.6, 0.8, both=True)
    q = np.array([0.4, 0.3])
    goal = r.pose(q, "hand")[0][:, 2]  # a plane arm points so anyhow: all is free
    found = find(r, "hand", goal, q, part="direction", rest=[2.0, 1.4])
    assert found.reached and found.followers_at_limits["follower"] and followed_by(r, found.q) <= 0.8 + 1e-9
    assert find(bent_arm(both=True), "hand", goal, q, part="direction", rest=[2.0, 1.4]).q == pytest.approx(
        [2.0, 1.4], abs=1e-3
    )


def test_linear_followers_are_named_too():
    r = bent_arm(-0.6, 0.8).uncouple(["follower"]).couple("follower", "second", ratio=2.0)
    far = find(r, "hand", bent_arm().pose(np.array([0.2, 1.2]), "hand")[1], part="position", attempts=2)
    assert not far.reached and far.q[1] == pytest.approx(0.4)
    assert far.followers_at_limits["follower"] and far.at_limits[1]
    assert not find(lw.load("ur5"), "tool0", [0.3, 0.2, 0.3], part="position").followers_at_limits


def test_what_is_left_free_goes_to_rest():
    r = lw.load("panda")
    rest = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])
    p = r.pose(r.random_configuration(5, batch=100), "tcp")[1]
    plain, rested = (
        find(r, "tcp", p, part="position"),
        find(r, "tcp", p, part="position", rest=rest),
    )
    assert rested.reached.all()
    far, near = (np.linalg.norm(x.q - rest, axis=-1) for x in (plain, rested))
    assert near.mean() < 0.9 * far.mean()
    q0 = r.random_configuration(6)
    at = find(r, "tcp", r.pose(q0, "tcp"), q0 + 0.01)
    assert at.reached and np.abs(at.q - q0).max() < 0.05 and at.attempts == 1


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_an_objective_of_ones_own_in_the_null_space(target):
    """The way down of any function of q; here, the height of the elbow."""
    r = lw.load("panda")
    q = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.5, 0.7])
    goal = r.pose(q, "tcp")

    def down(robot, q):
        return -10 * robot.jacobian(q, "panda_link4")[5]

    plain = r.inverse_kinematics("tcp", goal, q, target=target)
    low = r.inverse_kinematics("tcp", goal, q, rest=down, target=target)
    heights = [r.pose(x.q, "panda_link4")[1][2] for x in (plain, low)]
    assert plain.reached and low.reached and heights[1] < heights[0] - 0.05
    with pytest.raises(lw.InputError, match=r"\(7,\)"):
        r.inverse_kinematics("tcp", goal, q, rest=lambda robot, q: q[:3], target=target)


def test_goals_out_of_reach_are_told_with_how_near():
    arm = lw.assemble(
        "two links",
        [
            lw.Body("upper", lw.Revolute("z"), lw.Inertia.box(1.0, (0.1, 0.1, 0.1))),
            lw.Body(
                "lower", lw.Joint(lw.Revolute("z"), at=(1, 0, 0)), lw.Inertia.box(1.0, (0.1, 0.1, 0.1)), parent="upper"
            ),
        ],
        [lw.Frame("hand", "lower", at=(1, 0, 0))],
    )
    found = find(arm, "hand", [[0.5, 0.5, 0.0], [3.0, 0.0, 0.0], [0.5, 0.5, 0.2]], part="position")
    assert found.reached.tolist() == [True, False, False]
    assert found.position_error[1] == pytest.approx(1.0, abs=0.02)
    assert found.position_error[2] == pytest.approx(0.2, abs=0.01)
    bounded = lw.load("panda")
    wall = find(bounded, "tcp", (np.eye(3), [2.0, 0, 0]), attempts=3)
    assert not wall.reached and wall.at_limits.shape == (7,) and wall.attempts == 3
    assert wall.error > 0.5


def test_as_near_to_goals_out_of_reach_as_least_squares_of_others():
    """At the end of the reach steps would lead too far, and are shortened; SciPy from several starts is not nearer."""
    r = lw.load("ur5")
    goals = np.array([[-0.1, 1.1, -0.3], [0.7, 0.7, -0.5], [-1.0, 0.1, -0.5]])
    found = r.inverse_kinematics("tool0", goals, part="position", target="cpu")
    assert not found.reached.any()
    for goal, error in zip(goals, found.position_error):
        lacks = lambda q, goal=goal: r.pose(q, "tool0", target="numpy")[1] - goal
        slopes = lambda q: r.jacobian(q, "tool0", target="numpy")[3:]
        starts = np.random.default_rng(0).uniform(-np.pi, np.pi, size=(4, 6))
        others = [least_squares(lacks, q, slopes, (r.lower_limits, r.upper_limits)) for q in starts]
        assert error < min(np.linalg.norm(x.fun) for x in others) + 1e-5


def test_the_step_is_the_same_in_machine_code_and_on_numpy():
    for r in (lw.load("panda"), lw.load("quadruped"), lw.load("four_bar")):
        frame = r.tips[0] if r.tips else "coupler_end"
        task = [Task(frame, "pose")]
        q, rest = r.random_configuration(0), r.random_configuration(1)
        R, p = r.pose(r.random_configuration(2), frame)
        goal = np.concatenate([R.ravel(), p])
        after, errors = step(r, q, task, [goal], 0.3 * r.difference(q, rest))
        out = steps_of(r, task, "cpu")(q[None], goal[None], rest[None], np.array([[0.3]]))[0]
        assert np.allclose(out, np.concatenate([after, errors]), rtol=0, atol=1e-9 * np.abs(after).max())


@pytest.mark.parametrize("name", ["panda", "quadruped", "humanoid"])
@pytest.mark.parametrize("part", ["pose", "position", "rotation", "direction"])
def test_the_recursion_takes_the_same_step_as_the_jacobian(name, part):
    """(J*WJ + μI)⁻¹ by articulated bodies and by a factorisation, some joints at their limits."""
    r = lw.load(name)
    frames = list(r.tips)[:4]
    tasks = [Task(f, part) for f in frames]
    q, rest = r.random_configuration(3), r.random_configuration(4)
    for i, _, low, high in formulas.limited(r)[1::3]:
        q[i] = low if i % 2 else high
    poses = [r.pose(r.random_configuration(5), f) for f in frames]
    goals = [
        {"pose": np.concatenate([R.ravel(), p]), "position": p, "rotation": R.ravel(), "direction": R[:, 2]}[part]
        for R, p in poses
    ]
    lacks = [formulas.lacking(r, q, task, goal) for task, goal in zip(tasks, goals)]
    towards = 0.3 * r.difference(q, rest)
    dense, opened = formulas.dense_step(r, q, tasks, lacks, towards)
    swept = formulas.swept_step(r, q, tasks, lacks, towards)
    assert opened is None and np.abs(dense).max() > 1e-3
    assert np.abs(swept - dense).max() < 1e-9 * np.abs(dense).max()


def test_a_direction_leaves_the_turn_about_itself_free():
    """Where only the z axis is asked for, the rest configuration decides how the tool turns about it."""
    r = lw.load("panda")
    q = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.5, 0.7])
    rest = q + np.array([0, 0, 0, 0, 0, 0, 1.0])  # the last joint turns the tool about its own axis
    found = find(r, "tcp", r.pose(q, "tcp")[0][:, 2], q, part="direction", rest=rest)
    assert found.reached and abs(found.q[6] - rest[6]) < 0.05


def test_a_goal_is_met_alike_alone_and_among_others():
    r = lw.load("panda")
    R, p = r.pose(r.random_configuration(8, batch=40), "tcp")
    together = find(r, "tcp", (R, p))
    for i in range(0, 40, 7):
        alone = find(r, "tcp", (R[i], p[i]))
        assert alone.attempts == together.attempts[i] and np.abs(alone.q - together.q[i]).max() < 1e-9


def test_numpy_finds_the_same():
    r = lw.load("ur5")
    goal = r.pose(r.random_configuration(0, batch=3), "tool0")
    a, b = (r.inverse_kinematics("tool0", goal, target=t) for t in ("numpy", "cpu"))
    assert a.reached.all() and np.abs(a.q - b.q).max() < 1e-5
    with pytest.raises(lw.InputError, match="target"):
        r.inverse_kinematics("tool0", goal, target="jax")


def test_empty_batches_and_broadcast():
    r = lw.load("ur5")
    none = find(r, "tool0", np.zeros((0, 3)), part="position")
    assert none.q.shape == (0, 6) and none.reached.shape == (0,)
    R, p = r.pose(r.random_configuration(0, batch=3), "tool0")
    assert find(r, "tool0", (R[0], p), r.random_configuration(1, batch=(2, 1))).q.shape == (2, 3, 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"frame": "hand", "goal": [0, 0, 0]}, "hand"),
        ({"goal": [0, 0, 0]}, r"a pair \(R, p\)"),
        ({"goal": (np.ones((3, 3)), [0, 0, 0])}, "no rotation matrix"),
        ({"goal": (np.eye(3), [0, 0])}, r"shape \(..., 3\), got \(2,\)"),
        ({"goal": (np.eye(3), [0, 0, np.nan])}, "NaN"),
        ({"goal": [0, 0, 0], "part": "direction"}, "no length"),
        ({"goal": [0, 0, 1], "part": "place"}, "part of a goal"),
        (
            {"frame": ["tool0", "forearm_link"], "goal": [[0, 0, 1]], "part": "position"},
            "2 frames are given and 1 goals",
        ),
        ({"goal": [0, 0, 1], "part": "position", "q0": [0, 1]}, "q0"),
        ({"goal": [0, 0, 1], "part": "position", "tolerance": 0}, "tolerance"),
        ({"goal": [0, 0, 1], "part": "position", "attempts": 0}, "attempts"),
        ({"goal": "up", "part": "position"}, "numbers"),
    ],
)
def test_bad_goals_are_named(arguments, message):
    r = lw.load("ur5")
    given = {"frame": "tool0"} | arguments
    with pytest.raises(lw.LinkwiseError, match=message):
        find(r, given.pop("frame"), given.pop("goal"), given.pop("q0", None), **given)
