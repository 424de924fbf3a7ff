"""Local loops embedded: the same accelerations as cut ones, reference numbers, costs, and what is refused."""

import numpy as np
import pytest
from linkages import (
    bennett,
    four_bar,
    four_bar_state,
    four_bars,
    loop_between,
    null_space,
    open_four_bar,
    parallelograms,
    rod,
    slider_crank,
)

import linkwise as lw
from linkwise.dynamics.closed import embedding

KINDS = (
    "spherical",
    "revolute",
    "universal",
    "cylindrical",
    "planar",
    "point_on_plane",
    "point_on_line",
    "distance",
    "constrains",
    "prismatic",
    "soft_finger",
    "line_on_plane",
    "rough_line",
    "rolling",
)


def both(robot, q, v, tau, **options):
    """Accelerations with loops cut and with loops embedded."""
    return [robot.forward_dynamics(q, v, tau, method=way, target="numpy", **options) for way in ("cut", "embedded")]


def assert_same(robot, q, rng, **options):
    v, tau = rng.normal(size=(2, robot.nv))
    cut, embedded = both(robot, q, v, tau, **options)
    np.testing.assert_allclose(embedded, cut, atol=1e-9 * max(1.0, np.abs(cut).max()))


# --- embedded = cut --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_random_graphs(kind, rng):
    """Random trees of mixed joints, a loop of every kind between random bodies or the world, at open states as well."""
    tried = 0
    for seed in range(40):
        tree = lw.random_tree(8, seed=seed)
        a, b = (tree.bodies[i].name for i in rng.choice(8, 2, replace=False))
        robot = tree.close(loop_between(rng, None if seed % 4 == 0 else a, b, kind))
        (group,) = robot.loop_groups
        if not 1 <= group.freedoms <= 6:
            continue
        assert_same(robot, robot.random_configuration(rng), rng)
        tried += 1
        if tried == 4:
            break
    assert tried == 4


def test_loops_that_share_bodies_are_one_node(rng):
    tree = lw.random_tree(12, seed=4)
    ends = [("body2", "body9"), ("body9", "body11"), (None, "body5")]
    robot = tree.close(
        *(loop_between(rng, a, b, k) for (a, b), k in zip(ends, ("distance", "point_on_line", "distance")))
    )
    assert len(robot.loop_groups) < 3
    assert_same(robot, robot.random_configuration(rng), rng)


def test_planar_linkages(rng):
    for robot in (four_bar("revolute"), four_bars(3, "revolute"), slider_crank(), four_bars(2)):
        assert_same(robot, rng.normal(size=robot.nq), rng)


@pytest.mark.parametrize(("name", "rank"), [("delta", 18), ("stewart", 18)])
def test_parallel_robots_are_one_node(name, rank, rng):
    robot = lw.load(name)
    (group,) = robot.loop_groups
    q = robot.closed_configuration(robot.integrate(robot.neutral(), 0.05 * rng.normal(size=robot.nv)))
    assert group.rank == rank and group.freedoms == robot.mobility(q)
    assert_same(robot, q, rng)


def test_in_any_orientation_and_on_a_moving_base(rng):
    """That a linkage is planar is found in its screws, not in zeros of its axes."""
    carrier = lw.random_tree(3, seed=2)
    robot = carrier.attach(four_bar(), carrier.bodies[-1].name, prefix="leg_", at=(0.1, 0.2, 0.3), rpy=(0.4, 0.7, -1.1))
    (group,) = robot.loop_groups
    assert group.rank == 2 and robot.bodies[group.outer].name == carrier.bodies[-1].name
    assert_same(robot, robot.random_configuration(rng), rng)
    assert_same(robot, robot.random_configuration(rng), rng, closing_rate=7.0, external=rng.normal(size=(6, 6)))


def test_rotors_and_soft_loops(rng):
    rotor = lw.Rotor(2e-4, 30.0)
    joint = lambda name, at: lw.Joint(lw.Revolute("z"), name, at=at, rotor=rotor)
    bodies = [
        lw.Body("a", joint("ja", (0, 0, 0)), rod(0.3, 0.5)),
        lw.Body("b", joint("jb", (0.3, 0, 0)), rod(0.8, 0.9), "a"),
        lw.Body("c", joint("jc", (1, 0, 0)), rod(0.6, 0.7)),
    ]
    frames = [lw.Frame("be", "b", at=(0.8, 0, 0)), lw.Frame("ce", "c", at=(0.6, 0, 0))]
    robot = lw.assemble("geared", bodies, frames).close(
        lw.Loop("ce", "be", "revolute"), lw.Loop("a", "c", "spherical", name="spring", stiffness=40.0, damping=0.3)
    )
    assert_same(robot, rng.normal(size=3), rng)


def test_one_body_is_enough(rng):
    pendulum = lw.assemble("pendulum", [lw.Body("bob", lw.Joint(lw.Spherical(), "ball"), lw.Inertia.sphere(1.0, 0.2))])
    robot = pendulum.close(loop_between(rng, None, "bob", "point_on_plane"))
    assert_same(robot, robot.random_configuration(rng), rng)


# --- reference numbers (math notes 1.7) ------------------------------------------------------------------------------


def named(robot, *joints):
    """The robot with these joints said to follow."""
    (loop,) = robot.loops
    return robot.opened.close(lw.Loop(loop.frame_a, loop.frame_b, loop.kind, dependent=joints))


@pytest.mark.parametrize("dependent", [(), ("coupler_hinge", "rocker_hinge"), ("crank_hinge", "rocker_hinge")])
def test_four_bar(dependent):
    robot = named(four_bar(), *dependent) if dependent else four_bar()
    q, v = four_bar_state(robot)
    np.testing.assert_allclose([q[0] + q[1], q[2]], [0.365067341331, 1.862360732620], atol=1e-11)
    a = robot.forward_dynamics(q, v, np.zeros(3), method="embedded")
    np.testing.assert_allclose(a[0], -1.692475200, atol=1e-8)


def test_slider_crank():
    robot = slider_crank()
    q = robot.closed_configuration([0.7, -0.9, 0.6], keep=["crank_hinge"])
    v = robot.closed_velocity(q, [2.0, 0, 0])
    a = robot.forward_dynamics(q, v * 2.0 / v[0], [1.003085196800, 0, 0], method="embedded")
    np.testing.assert_allclose(a[0], 1.5, atol=1e-8)


@pytest.mark.parametrize("n", [1, 3])
def test_parallelograms(n):
    """φ̈ = −[3(3N + 1)/(2(4N + 1))](g/L) cos φ: N loops that share bodies, one node."""
    robot, phi = parallelograms(n), 0.9
    q = np.concatenate([[phi], *[[-phi, phi]] * n])
    np.testing.assert_allclose(robot.loop_error(q), 0, atol=1e-12)
    (group,) = robot.loop_groups
    assert (group.rank, group.freedoms) == (2 * n, 1)
    a = robot.forward_dynamics(q, np.zeros(2 * n + 1), np.zeros(2 * n + 1), method="embedded")
    np.testing.assert_allclose(a[0], -3 * (3 * n + 1) / (2 * (4 * n + 1)) * 9.81 * np.cos(phi), rtol=1e-11)


def test_bennett(rng):
    """Four skew hinges that move by their lengths alone: which joints follow must be said."""
    robot, q = bennett(), np.array([1.1, -2.755822522151, 2 * np.pi - 1.1])
    np.testing.assert_allclose(robot.loop_error(q), 0, atol=1e-10)
    with pytest.raises(lw.NotAdmittedError, match=r"stops 5 motions by structure, and its bodies have 3 .*dependent="):
        robot.forward_dynamics(q, q, q, method="embedded")
    following = named(robot, "hinge2", "hinge3")
    (freedom,) = null_space(robot.loop_jacobian(q, target="numpy"), 1e-8).T
    np.testing.assert_allclose(freedom[1] / freedom[0], -np.sin(q[1]) / np.sin(q[0]), atol=1e-9)
    q = robot.closed_configuration(q)
    tau = rng.normal(size=3)
    cut, embedded = both(following, q, 1.3 * freedom, tau)
    np.testing.assert_allclose(embedded, cut, atol=1e-8 * np.abs(cut).max())
    compiled = following.forward_dynamics(q, 1.3 * freedom, tau)
    np.testing.assert_allclose(compiled, embedded, atol=1e-10 * np.abs(cut).max())
    assert following.default_method == "embedded" and robot.default_method == "cut"


def test_joints_that_cannot_follow_all_that_a_loop_stops(rng):
    """Bennett's loop away from where it is closed stops three motions, and two joints cannot follow that."""
    robot = named(bennett(), "hinge2", "hinge3")
    for target in ("numpy", "cpu"):
        with pytest.raises(lw.ClosureError, match=r"stops more than the joints that dependent= names can follow"):
            robot.forward_dynamics([1.1, -1.0, 0.4], np.ones(3), np.ones(3), method="embedded", target=target)


# --- targets, batches, derivatives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dependent", [(), ("coupler_hinge", "rocker_hinge")])
def test_compiled_batches_and_single_precision(dependent, rng):
    robot = named(four_bar(), *dependent) if dependent else four_bars(2, "revolute")
    q, v, tau = rng.normal(size=(3, 5, 7, robot.nv))
    expected = robot.forward_dynamics(q, v, tau, method="embedded", target="numpy")
    one_by_one = robot.forward_dynamics(q[2, 3], v[2, 3], tau[2, 3], method="embedded", target="numpy")
    np.testing.assert_allclose(expected[2, 3], one_by_one, rtol=1e-10)
    found = robot.forward_dynamics(q, v, tau, method="embedded")
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    single = robot.forward_dynamics(*(x.astype(np.float32) for x in (q, v, tau)), method="embedded")
    assert single.dtype == np.float32
    worst = np.abs(single - expected).max(axis=-1) / np.abs(expected).max(axis=-1)
    assert np.median(worst) < 1e-4


def test_kernels_have_derivatives(rng):
    robot = four_bar()
    q, v = four_bar_state(robot)
    tau = rng.normal(size=3)
    by_q = robot.compile("forward_dynamics", method="embedded").jacobian("q")(q, v, tau)
    model = robot.linearize_forward(q, v, tau)
    np.testing.assert_allclose(by_q, model.dq, atol=1e-8 * np.abs(model.dq).max())
    step = robot.forward_dynamics(q + 1e-30j * np.eye(3), v, tau, method="embedded", target="numpy").imag / 1e-30
    np.testing.assert_allclose(step.T, by_q, atol=1e-9 * np.abs(by_q).max())


def test_other_masses_as_inputs(rng):
    robot = four_bar()
    q, v = four_bar_state(robot)
    kernel = robot.compile("forward_dynamics", method="embedded", parameters=["inertial"])
    heavy = 2.0 * robot.inertial_parameters
    tau = rng.normal(size=3)
    expected = robot.with_inertial_parameters(heavy).forward_dynamics(q, v, tau, method="cut")
    np.testing.assert_allclose(kernel(q, v, tau, heavy.ravel()), expected, atol=1e-9)


# --- costs -----------------------------------------------------------------------------------------------------------


def operations(robot, method="embedded"):
    return robot.compile("forward_dynamics", rolled=False, method=method).operations.total


@pytest.mark.parametrize("kind", ["point_on_line", "revolute"])
def test_a_four_bar_more_in_the_chain_costs_as_many_operations_as_the_one_before(kind):
    """So that 300 cost ten times as many as 30, but for the first."""
    small, middle, large = (operations(four_bars(k, kind)) for k in (4, 8, 12))
    assert large - middle == middle - small
    assert large < operations(four_bars(12, kind), "cut")


# --- singular choices ------------------------------------------------------------------------------------------------


def test_no_choice_of_joints_can_fail_where_none_is_made(rng):
    """Through dead centre of the rocker, where the crank follows nothing: the accelerations go on."""
    robot = four_bar()
    psi = np.arccos((0.5**2 + 1.0 - 0.6**2) / (2 * 0.5))  # of the rocker's end, b − a from the crank's hinge
    q = np.array([psi + np.pi, np.pi, np.arctan2(0.5 * np.sin(psi), 0.5 * np.cos(psi) - 1.0)])
    np.testing.assert_allclose(robot.loop_error(q), 0, atol=1e-14)
    assert_same(robot, q, rng)
    for target in ("numpy", "cpu"):
        with pytest.raises(lw.SingularError, match=r"dependent= names do not follow"):
            named(robot, "crank_hinge", "coupler_hinge").forward_dynamics(q, q, q, method="embedded", target=target)


def test_a_loop_that_has_lost_its_rank_is_named():
    flat = parallelograms(1)
    q = np.zeros(3)
    for target in ("numpy", "cpu"):
        with pytest.raises(lw.SingularError, match=r"loop '.*' of robot 'parallelograms_1': its rows depend"):
            flat.forward_dynamics(q, q, q, method="embedded", target=target)
    assert np.isfinite(flat.forward_dynamics(q, q, q)).all()


def test_a_loop_given_twice_is_named():
    robot = four_bar("spherical").close(lw.Loop("rocker_end", "coupler_end", "point_on_line", name="again"))
    q, v = four_bar_state(robot)
    with pytest.raises(lw.NotAdmittedError, match=r"stops 4 motions by structure, and its bodies have 3"):
        robot.forward_dynamics(q, v, v, method="embedded")
    assert "loop 'again' adds 0 of 2" in robot.explain(q)


def test_charts_change_nothing_across_their_normals(rng):
    robot = four_bars(2, "revolute")
    start = robot.closed_configuration(np.tile([1.3, -0.9, 1.8], 2))
    q = start + 1e-2 * rng.normal(size=6)
    G0 = robot.loop_jacobian(start, target="numpy")
    across = null_space(G0)
    step = robot.embedded_step(q, start)
    np.testing.assert_allclose(across.T @ step, 0, atol=1e-12)
    v = rng.normal(size=6)
    closed = robot.embedded_velocity(q, v, start)
    np.testing.assert_allclose(robot.loop_velocity(q, closed), 0, atol=1e-12)
    np.testing.assert_allclose(across.T @ closed, across.T @ v, atol=1e-12)
    for found, plain in (
        (step, robot.embedded_step),
        (closed, lambda q, c, **k: robot.embedded_velocity(q, v, c, **k)),
    ):
        np.testing.assert_allclose(plain(q, start, target="numpy"), found, atol=1e-11)


def test_local_loops_know_no_world():
    """G and γ of a loop do not depend on how the body moves that it hangs on."""
    robot = four_bars(2)
    links = embedding.evaluate(robot, np.array([0.3, 0.4, 0.5, 1.3, -0.9, 1.8]))
    other = embedding.evaluate(robot, np.array([1.3, -0.4, 2.5, 1.3, -0.9, 1.8]))
    _, second = robot.loop_groups
    here, there = (embedding.local(robot, x, second) for x in (links, other))
    beta = links.split(np.arange(6.0))
    np.testing.assert_array_equal(here.G, there.G)
    np.testing.assert_array_equal(here.drift(beta), there.drift([10.0 * x if k < 3 else x for k, x in enumerate(beta)]))
    assert here.G.shape == (2, 3) and open_four_bar().nv == 3
