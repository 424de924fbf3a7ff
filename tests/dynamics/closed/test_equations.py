"""Closed chains by cutting them, against dense equations of motion with multipliers, and closed forms."""

import numpy as np
import pytest
from linkages import four_bar, four_bar_state, loop_between, null_space, slider_crank

import linkwise as lw
from linkwise.codegen.program.trace import trace
from linkwise.dynamics.closed import constraints, equations
from linkwise.model.loops import TRANSMITTED

KINDS = [*TRANSMITTED, "constrains"]
TREES = {
    "tree": {"seed": 2},
    "floating tree": {"seed": 5, "floating": True},
    "tree with rotors": {"seed": 7, "rotors": True},
    "chain": {"seed": 3, "branching": 0.0},
}


def closed_tree(tree, kind, to_world, rng):
    robot = lw.random_tree(9, **TREES[tree])
    ends = (None if to_world else robot.bodies[2].name, robot.bodies[-1].name)
    return robot.close(loop_between(rng, *ends, kind))


def drift(robot, q, v):
    """Ġv by a complex step along the motion."""
    rate = robot.configuration_rate(q, v, target="numpy")
    return constraints.velocity(robot, q + 1e-30j * rate, v + 0j, robot.loops).imag / 1e-30


def with_multipliers(robot, q, v, tau, external=None):
    """(v̇, λ) from the dense equations 𝓜v̇ + bias = τ + G*λ, Gv̇ + Ġv = 0, by least squares."""
    M, G = robot.mass_matrix(q, target="numpy"), robot.loop_jacobian(q, target="numpy")
    m = len(G)
    whole = np.block([[M, -G.T], [G, np.zeros((m, m))]])
    right = np.concatenate([tau - robot.bias_force(q, v, external=external, target="numpy"), -drift(robot, q, v)])
    found = np.linalg.lstsq(whole, right, rcond=1e-13)[0]
    return found[: robot.nv], found[robot.nv :]


@pytest.mark.parametrize("to_world", [False, True], ids=["bodies", "world"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tree", TREES)
def test_accelerations_and_forces(tree, kind, to_world, rng):
    robot = closed_tree(tree, kind, to_world, rng)
    q = robot.random_configuration(rng)
    G = robot.loop_jacobian(q, target="numpy")
    v = null_space(G) @ rng.normal(size=robot.mobility(q))  # a velocity that closes
    tau, external = rng.normal(size=robot.nv), rng.normal(size=(len(robot.bodies), 6))
    if np.linalg.matrix_rank(G) < len(G):
        pytest.skip("the loop is redundant at a configuration that does not close")
    a, lam = with_multipliers(robot, q, v, tau, external)
    found = robot.forward_dynamics(q, v, tau, external=external, target="numpy")
    np.testing.assert_allclose(found, a, rtol=0, atol=1e-9 * (1 + np.abs(a).max()))
    W = equations.factored(robot, q, robot.loops).loops[0].W
    force = robot.loop_forces(q, v, tau, external=external, target="numpy")[0]
    np.testing.assert_allclose(force, W @ lam, rtol=0, atol=1e-8 * (1 + np.abs(W @ lam).max()))


@pytest.mark.parametrize("kind", TRANSMITTED)
def test_rates_are_those_of_the_error(kind, rng):
    """Where a loop is closed, G v is the rate of its error, and the rate of G v is what accelerations are asked for."""
    robot = closed_tree("floating tree", kind, False, rng)
    q = robot.closed_configuration(robot.random_configuration(rng))
    v = rng.normal(size=robot.nv)
    rate = robot.configuration_rate(q, v, target="numpy")
    moved = constraints.error(robot, q + 1e-30j * rate, robot.loops).imag / 1e-30
    rates = robot.loop_velocity(q, v, target="numpy")
    held = np.array(robot.loops[0].holonomic_rows)
    np.testing.assert_allclose(moved[held], rates[held], atol=1e-9)
    assert (moved[~held] == 0).all() and (np.abs(rates[~held]) > 1e-3).all()  # rates that no position answers for
    np.testing.assert_allclose(robot.loop_jacobian(q, target="numpy") @ v, robot.loop_velocity(q, v, target="numpy"))


def test_several_loops_of_all_kinds_at_once(rng):
    robot = lw.random_tree(14, seed=1, floating=True, joints=["revolute", "spherical"], branching=0.2)
    names = [b.name for b in robot.bodies]
    kinds = ["spherical", "distance", "point_on_line", "planar"]
    pairs = [(names[13], names[3]), (names[12], None), (names[5], names[11]), (names[9], names[0])]
    robot = robot.close(*[loop_between(rng, *pair, kind) for pair, kind in zip(pairs, kinds)])
    q = robot.random_configuration(rng)
    assert robot.mobility(q) == robot.nv - 9
    v = null_space(robot.loop_jacobian(q, target="numpy")) @ rng.normal(size=robot.mobility(q))
    tau = rng.normal(size=robot.nv)
    a, _ = with_multipliers(robot, q, v, tau)
    found = robot.forward_dynamics(q, v, tau, target="numpy")
    np.testing.assert_allclose(found, a, rtol=0, atol=1e-9 * (1 + np.abs(a).max()))


def test_what_the_closed_robot_answers(rng):
    robot = closed_tree("floating tree", "universal", False, rng)
    q, tau = robot.random_configuration(rng), rng.normal(size=robot.nv)
    M, G = robot.mass_matrix(q, target="numpy"), robot.loop_jacobian(q, target="numpy")
    N = null_space(G)
    P = N @ np.linalg.inv(N.T @ M @ N) @ N.T
    np.testing.assert_allclose(robot.mass_matrix_inverse(q, target="numpy"), P, atol=1e-9 * np.abs(P).max())
    np.testing.assert_allclose(robot.mass_solve(q, tau, target="numpy"), P @ tau, atol=1e-9 * np.abs(P @ tau).max())
    np.testing.assert_allclose(robot.loop_projector(q, target="numpy"), P @ M, atol=1e-8)
    tips = list(robot.tips[:2])
    J = np.concatenate([robot.jacobian(q, f, target="numpy") for f in tips])
    compliance = robot.operational_compliance(q, tips, target="numpy")
    np.testing.assert_allclose(compliance, J @ P @ J.T, atol=1e-9 * np.abs(J @ P @ J.T).max())


# --- closed forms and redundant loops --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["revolute", "spherical", "cylindrical", "point_on_line"])
def test_a_four_bar_however_redundantly_it_is_closed(kind):
    robot = four_bar(kind)
    q, v = four_bar_state(robot)
    np.testing.assert_allclose([q[0] + q[1], q[2]], [0.365067341331, 1.862360732620], atol=1e-11)
    assert robot.mobility(q) == 1
    a = robot.forward_dynamics(q, v, np.zeros(3), target="numpy")
    np.testing.assert_allclose(a[0], -1.692475200, atol=1e-9)
    force = robot.loop_forces(q, v, np.zeros(3), target="numpy")[0]
    assert np.isfinite(force).all() and np.abs(force[[0, 1, 5]]).max() < 1e-9  # nothing out of the plane


def test_a_slider_crank():
    robot = slider_crank()
    q = robot.closed_configuration([0.7, -0.9, 0.6], keep=["crank_hinge"])
    (freedom,) = null_space(robot.loop_jacobian(q, target="numpy")).T
    v = 2.0 * freedom / freedom[0]
    tau = np.array([1.003085196800, 0.0, 0.0])
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau, target="numpy")[0], 1.5, atol=1e-9)
    assert np.isclose(1 / robot.mass_matrix_inverse(q, target="numpy")[0, 0], 0.036300106239)


def test_energy_changes_by_the_power_of_joint_forces(rng):
    robot = closed_tree("tree", "spherical", True, rng)
    q = robot.closed_configuration(robot.random_configuration(rng))
    v = robot.closed_velocity(q, rng.normal(size=robot.nv), target="numpy")
    tau = rng.normal(size=robot.nv)
    a = robot.forward_dynamics(q, v, tau, target="numpy")
    h = 1e-30j
    moved = q + h * robot.configuration_rate(q, v, target="numpy"), v + h * a
    power = sum(x.imag for x in robot.energy(*moved, target="numpy")) / 1e-30
    np.testing.assert_allclose(power, tau @ v, rtol=1e-9)


# --- the same on every path ------------------------------------------------------------------------------------------


def same_on_every_path(robot, name, given):
    """A batch of states and one of them, on NumPy and as machine code."""
    call = getattr(robot, name)
    expected = call(*given, target="numpy")
    bound = 1e-8 * (1 + np.abs(expected).max())
    np.testing.assert_allclose(call(*given, target="cpu"), expected, atol=bound)
    np.testing.assert_allclose(call(*(x[3] for x in given), target="cpu"), expected[3], atol=bound)


@pytest.mark.parametrize("kind", ["universal", "distance", "constrains"])
def test_compiled_code_gives_the_same_in_space(kind, rng):
    tree = lw.chain(7, seed=1)
    robot = tree.close(loop_between(rng, "link2", "link7", kind))
    q = robot.random_configuration(rng, 5)
    v, tau = rng.normal(size=(2, 5, robot.nv))
    same_on_every_path(robot, "forward_dynamics", (q, robot.closed_velocity(q, v, target="numpy"), tau))


CALLS = {
    "forward_dynamics": "qvt",
    "loop_forces": "qvt",
    "loop_error": "q",
    "loop_velocity": "qv",
    "loop_jacobian": "q",
    "loop_projector": "q",
    "closed_velocity": "qv",
    "velocity_after_closing": "qv",
    "mass_solve": "qt",
    "mass_matrix_inverse": "q",
}


@pytest.mark.parametrize("name", CALLS)
def test_compiled_code_gives_the_same_in_every_call(name, rng):
    robot = four_bar()
    q = robot.closed_configuration(np.array([1.3, -0.9, 1.8]) + 0.1 * rng.normal(size=(5, 3)))
    v, tau = rng.normal(size=(2, 5, 3))
    same_on_every_path(robot, name, [{"q": q, "v": v, "t": tau}[x] for x in CALLS[name]])


def test_single_precision(rng):
    robot = four_bar()
    q, v = (x.astype(np.float32) for x in four_bar_state(robot))
    for target in ("numpy", "cpu"):
        a = robot.forward_dynamics(q, v, np.zeros(3, dtype=np.float32), target=target)
        assert a.dtype == np.float32
        np.testing.assert_allclose(a[0], -1.6924752, rtol=2e-4)


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "governor"])  # with loops that leave turns about an axis
@pytest.mark.parametrize("method", ["loop_error", "closing_step"])
def test_errors_of_loops_keep_the_precision_of_the_configuration(name, method):
    robot = lw.load(name)
    q = robot.neutral().astype(np.float32)
    for target in ("cpu", "numpy"):
        assert getattr(robot, method)(q, target=target).dtype == np.float32


def test_a_state_that_is_not_a_number_leaves_the_others_alone():
    robot = four_bar()
    q, v = four_bar_state(robot)
    both = np.array([q, q * np.nan])
    for target in ("numpy", "cpu"):
        a = robot.forward_dynamics(both, v, np.zeros(3), target=target)
        np.testing.assert_allclose(a[0, 0], -1.692475200, atol=1e-9)
        assert np.isnan(a[1]).all()


def test_a_distance_that_no_joint_changes():
    """Its error is one number wherever the robot is, and in compiled code no function of q."""
    robot = lw.chain(3, seed=3).close(lw.Loop("world", "link1", "distance", length=1.0))
    q = np.array([0.1, 0.2, 0.3])
    open_by = robot.loop_error(q, target="numpy")
    assert abs(open_by[0]) > 0.1
    np.testing.assert_allclose(robot.loop_error(q), open_by, rtol=1e-14)
    np.testing.assert_allclose(robot.loop_error(np.stack([q, q])), [open_by, open_by], rtol=1e-14)
    assert np.abs(robot.closing_step(q)).max() < 1e-6  # no motion closes it; roundings of G are what is left


def test_a_weld_to_the_world_is_the_same_either_way_round():
    """In a state where it is open too: it stops all motions, so its rows are the body's whichever frame comes first."""
    tree = lw.chain(3, seed=4).floating()
    rng = np.random.default_rng(5)
    ground = lw.Frame("ground", None, at=(0.3, -0.2, 0.5), rpy=(0.3, -0.5, 0.8))
    q, v, tau = tree.random_configuration(rng), rng.normal(size=tree.nv), rng.normal(size=tree.nv)
    found = []
    for frames in ((ground, tree.tips[0]), (tree.tips[0], ground)):
        robot = tree.close(lw.Loop(*frames, "weld"))
        G, a = robot.loop_jacobian(q), robot.forward_dynamics(q, v, tau)
        by_tau, by_v, _ = robot.linearize_forward(q, v, tau)
        assert np.abs(G @ by_tau).max() < 1e-9 * np.abs(by_tau).max()
        found.append((a, by_tau, by_v, robot.compile("forward_dynamics").operations.total))
    for x, y in zip(*found):
        assert np.allclose(x, y, rtol=1e-9, atol=1e-9)


def test_the_inverse_mass_matrix_takes_the_lesser_operations():
    """By the core and its branches, as linearised forward dynamics has it, and not column by column."""
    for robot in (four_bar(), lw.load("governor")):
        usual = trace(robot, lambda m, q, r=robot: equations.mass_inverse(m, q, r.rigid_loops)).operations.total
        assert robot.compile("mass_matrix_inverse").operations.total < usual
