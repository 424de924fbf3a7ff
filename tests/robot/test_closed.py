"""Robots with loops as people meet them: which calls they answer, what edits keep, and what is refused how."""

import copy
import dataclasses
import inspect
import pickle

import numpy as np
import pytest
from linkages import four_bar, four_bar_state, open_four_bar

import linkwise as lw
from linkwise.robot.closed import ClosedRobot
from linkwise.robot.dispatch import compiled
from linkwise.robot.embedded import EmbeddedLoops
from linkwise.robot.for_loops import UNSAID, ForLoops, inherited, put_refusals

SAID = inherited(lw.Robot, EmbeddedLoops)  # of every method that says what it is for robots with loops
REFUSED = sorted(n for n in SAID if getattr(getattr(ClosedRobot, n), "refuses", False))
OF_RIGID_LOOPS = sorted(n for n, said in SAID.items() if said.refused_if_soft)
OWN = {n for cls in (ClosedRobot, EmbeddedLoops) for n in vars(cls)} - {*REFUSED, *OF_RIGID_LOOPS}
OF_THE_TREE = sorted(n for n, said in SAID.items() if said == ForLoops() and n not in OWN)
CALLS = {n for n, f in inspect.getmembers(lw.Robot) if callable(f) and not n.startswith("_")}
NO_STATE = {  # what a robot is, rather than what it does in a state
    *(
        "attach",
        "body",
        "close",
        "compile",
        "constants",
        "couple",
        "floating",
        "frame",
        "joint",
        "lock",
        "merge_fixed",
        "neutral",
        "uncouple",
    ),
    *("path", "random_configuration", "subtree", "to_mjcf", "to_urdf", "weld", "with_constants", "with_gravity"),
    *("with_inertial_parameters", "with_inertias", "with_placements"),
    *("with_springs", "with_elastic_joints"),
}


def test_every_call_of_a_tree_says_what_it_is_for_loops_or_has_a_version_of_its_own():
    assert not NO_STATE & SAID.keys() and NO_STATE | SAID.keys() | OWN >= CALLS
    for name in SAID.keys() - OWN:
        assert SAID[name] != UNSAID, f"{name} does not say what it is for robots with loops: give its decorator loops="
        assert bool(SAID[name].refused) == (name in REFUSED)


def test_what_says_nothing_is_refused():
    class Added:
        @compiled(q="nq")
        def turned(self, q):
            return -q

    class Closed(ClosedRobot, Added):
        pass

    put_refusals(Closed, EmbeddedLoops)
    with pytest.raises(lw.NotAdmittedError, match="^turned of robot.*nothing says what it is where loops are closed"):
        Closed.turned(four_bar(), np.zeros(3))
    assert "turned" not in inherited(ClosedRobot, EmbeddedLoops)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_call_and_the_robot(name):
    with pytest.raises(lw.NotAdmittedError, match=rf"^{name} of robot 'four_bar', which has 1 loops"):
        getattr(four_bar(), name)(np.zeros(3))


@pytest.mark.parametrize("target", [None, "numpy"])
def test_methods_for_the_inverse_of_trees_are_refused(target):
    robot, q = four_bar(), np.array([0.3, -0.8, 1.9])
    with pytest.raises(lw.NotAdmittedError, match="one method, not 'rows'"):
        robot.mass_matrix_inverse(q, method="rows", target=target)
    assert np.array_equal(robot.mass_matrix_inverse(q, method=None), robot.mass_matrix_inverse(q))


@pytest.mark.parametrize("name", sorted({*OF_THE_TREE, *OF_RIGID_LOOPS} - {"operators", "filter", "wrenches"}))
def test_what_is_of_the_tree_is_that_of_the_tree(name):
    robot = four_bar()
    parameters = list(inspect.signature(getattr(lw.Robot, name)).parameters.values())[1:]
    q, rng = np.array([0.3, -0.8, 1.9]), np.random.default_rng(0)
    given = []
    for p in parameters:
        if p.kind is p.POSITIONAL_OR_KEYWORD:
            state = {"frame": "coupler_end", "force": np.ones(6), "external": np.ones((3, 6)), "q": q}
            given.append(state[p.name] if p.name in state else rng.normal(size=3))
    if name == "jacobian_inner_inverse":
        given[1] = "rocker_end"
        with pytest.raises(lw.SingularError):
            robot.jacobian_inner_inverse(*given, target="numpy")
        return
    found = getattr(robot, name)(*given, target="numpy")
    expected = getattr(open_four_bar(), name)(*given, target="numpy")
    assert repr(found) == repr(expected)


# --- copies, edits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_copies_are_closed(copied):
    robot = four_bar()
    other = copied(robot)
    assert other == robot and other != open_four_bar() and hash(other) == hash(robot)
    q, v = four_bar_state(other)
    np.testing.assert_allclose(other.forward_dynamics(q, v, np.zeros(3))[0], -1.692475200, atol=1e-9)


def test_edits_keep_loops():
    robot = four_bar()
    for other in (robot.with_gravity((0, 0, 0)), robot.weld("coupler", lw.Inertia(0.2)), robot.floating()):
        assert isinstance(other, ClosedRobot) and other.loops == robot.loops
    assert robot.opened == open_four_bar() and robot.opened.loops == ()
    assert robot.opened.close(*robot.loops) == robot


def test_a_heavier_clone_is_heavier_and_closed():
    robot = four_bar()
    q, v = four_bar_state(robot)
    heavy = robot.with_inertias({"rocker": lw.Inertia(7.0, (0.3, 0, 0))})
    a, b = robot.forward_dynamics(q, v, np.zeros(3)), heavy.forward_dynamics(q, v, np.zeros(3))
    assert abs(a[0] - b[0]) > 0.1
    np.testing.assert_allclose(b, heavy.forward_dynamics(q, v, np.zeros(3), target="numpy"), atol=1e-9)


def test_attached_robots_bring_their_loops():
    robot = lw.chain(2).attach(four_bar(), "tip", prefix="leg_")
    (loop,) = robot.loops
    assert (loop.frame_a, loop.frame_b, loop.name) == (
        "leg_rocker_end",
        "leg_coupler_end",
        "leg_rocker_end–coupler_end",
    )
    q = robot.closed_configuration([0.2, -0.4, 1.3, -0.9, 1.8], keep=["joint1", "joint2", "leg_crank_hinge"])
    np.testing.assert_allclose(q[4], 1.862360732620, atol=1e-9)


def test_a_subtree_takes_the_loops_within_it():
    robot = lw.chain(2).attach(four_bar(), "tip", prefix="leg_")
    whole = robot.subtree("link2")
    assert len(whole.loops) == 1
    with pytest.raises(
        lw.ModelError, match="'leg_rocker_end–coupler_end' joins the subtree of 'leg_rocker' to the rest"
    ):
        robot.subtree("leg_rocker")


# --- bad input -------------------------------------------------------------------------------------------------------


def test_loops_that_cannot_be():
    robot = open_four_bar()
    for loop, why in [
        (("rocker", "rocker_end"), "joins body 'rocker' to itself"),
        (("world", "world"), "joins the world to itself"),
        (("rocker", "nowhere"), "no frame is named 'nowhere'"),
    ]:
        with pytest.raises(lw.LinkwiseError, match=why):
            robot.close(lw.Loop(*loop))
    with pytest.raises(lw.InputError, match="at least one loop"):
        robot.close()
    with pytest.raises(lw.InputError, match=r"lw\.Loop"):
        robot.close("rocker_end")
    twice = [lw.Loop("rocker_end", "coupler_end"), lw.Loop("rocker_end", "coupler_end", "spherical")]
    with pytest.raises(lw.ModelError, match="two loops are named"):
        robot.close(*twice)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"kind": "weldd"}, "did you mean weld"),
        ({"kind": "distance"}, "positive and finite"),
        ({"kind": "distance", "length": -1.0}, "positive and finite"),
        ({"kind": "weld", "length": 1.0}, "belongs to the kind 'distance'"),
        ({"constrains": np.ones((2, 5))}, r"\(k, 6\) matrix"),
        ({"constrains": np.ones((2, 6))}, "depend on each other"),
        ({"constrains": [[np.nan] * 6]}, r"finite \(k, 6\)"),
        ({"kind": "spherical", "constrains": np.eye(6)}, "a kind or constrains=, not both"),
    ],
)
def test_kinds_that_cannot_be(given, why):
    with pytest.raises(lw.ModelError, match=why):
        lw.Loop("a", "b", **given)


def test_closures_that_cannot_be_met():
    robot = four_bar()
    with pytest.raises(lw.ClosureError, match=r"loop 'rocker_end–coupler_end' .* left open .* keep fewer joints"):
        robot.closed_configuration([1.3, -0.9, 1.0], keep=["crank_hinge", "rocker_hinge"])
    far = open_four_bar().close(lw.Loop("rocker_end", lw.Frame("far", None, at=(9, 9, 9)), "spherical"))
    with pytest.raises(lw.ClosureError, match="check the frames"):
        far.closed_configuration(np.zeros(3))
    with pytest.raises(lw.InputError, match="list of joint names"):
        robot.closed_configuration(np.zeros(3), keep="crank_hinge")
    with pytest.raises(lw.UnknownNameError, match="no joint is named"):
        robot.closed_configuration(np.zeros(3), keep=["crank"])
    with pytest.raises(lw.InputError, match="finite"):
        robot.closed_configuration([np.nan, 0, 0])


def test_closed_configurations_come_in_batches():
    robot = four_bar()
    cranks = np.linspace(0.2, 6.0, 12)
    guesses = np.stack([cranks, -cranks + 0.6, np.full(12, 1.9)], axis=-1).reshape(3, 4, 3)
    q = robot.closed_configuration(guesses, keep=["crank_hinge"])
    assert q.shape == (3, 4, 3)
    np.testing.assert_allclose(q[..., 0].ravel(), cranks)
    assert np.abs(robot.loop_error(q, target="numpy")).max() < 1e-10
    assert robot.mobility(q).shape == (3, 4) and (robot.mobility(q) == 1).all()
    assert robot.closed_configuration(np.zeros((0, 3))).shape == (0, 3)


# --- compiled --------------------------------------------------------------------------------------------------------


def test_loops_are_part_of_what_code_is_kept_under():
    kinds = [four_bar(kind) for kind in ("revolute", "spherical")]
    longer = [open_four_bar().close(lw.Loop("crank", "rocker", "distance", length=x)) for x in (1.0, 1.1)]
    keys = [r.fingerprint for r in (*kinds, *longer, open_four_bar())]
    assert None not in keys and len(set(keys)) == len(keys)
    assert four_bar().fingerprint == kinds[0].fingerprint


def test_functions_of_users_see_the_closed_robot():
    robot = four_bar()
    q, v = four_bar_state(robot)

    def power(robot, q, v, tau):
        return robot.forward_dynamics(q, v, tau) @ robot.loop_projector(q) @ v

    expected = power(robot, q, v, np.ones(3))
    np.testing.assert_allclose(lw.compile(power, robot)(q, v, np.ones(3)), expected, rtol=1e-9)


# --- embedded or cut -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REFUSED)
def test_compiling_what_is_refused_says_why(name):
    with pytest.raises(lw.NotAdmittedError, match=rf"^{name} of robot 'four_bar', which has 1 loops"):
        four_bar().compile(name)


def test_explain_says_which_bodies_which_way_and_why():
    robot = four_bar()
    q, _ = four_bar_state(robot)
    said = robot.explain(q)
    for part in (
        "four_bar: 1 loops; forward dynamics cut: nothing says that loop 'rocker_end–coupler_end' keeps its rank",
        "crank, coupler, rocker on the world: 3 joint rates, 1 left by structure",
        "revolute: stops 5, of which 2 count among the motions of its joints",
        "rank 2 of 5 rows, 1 freedoms",
        "adds 2 of 5",
    ):
        assert part in said
    cut, embedded = (robot.compile("forward_dynamics", method=way).operations.total for way in ("cut", "embedded"))
    assert f"operations: {cut} cut, {embedded} embedded" in said
    loop = lw.Loop("rocker_end", "coupler_end", "revolute", dependent=["coupler_hinge", "rocker_hinge"])
    robot = open_four_bar().close(loop)
    assert "forward dynamics embedded: all loops name the joints that follow" in robot.explain()
    assert "coupler_hinge, rocker_hinge follow the others" in robot.explain()
    soft = open_four_bar().close(lw.Loop("rocker_end", "coupler_end", stiffness=3.0))
    assert soft.default_method == "cut" and "is soft" in soft.explain()


def test_dense_nodes_are_not_made_unasked():
    """A delta arm whose platform and rods are said to follow its motors: 18 rates in one node."""
    delta = lw.load("delta")
    following = tuple(x.name for x in delta.joints if not x.name.endswith("motor"))
    first, *others = delta.loops
    robot = delta.opened.close(dataclasses.replace(first, dependent=following), *others)
    assert robot.default_method == "cut" and "stop 18 rates, more than 6, of one node" in robot.explain()
    q = robot.neutral()
    v = robot.closed_velocity(q, np.ones(robot.nv))
    cut, embedded = (robot.forward_dynamics(q, v, v, method=way, target="numpy") for way in ("cut", "embedded"))
    np.testing.assert_allclose(embedded, cut, atol=1e-9 * np.abs(cut).max())


def test_named_joints_go_with_the_robot():
    loop = lw.Loop("rocker_end", "coupler_end", "revolute", dependent=["coupler_hinge", "rocker_hinge"])
    robot = lw.chain(2).attach(open_four_bar().close(loop), "tip", prefix="leg_")
    assert robot.loops[0].dependent == ("leg_coupler_hinge", "leg_rocker_hinge")
    assert robot.default_method == "embedded" and pickle.loads(pickle.dumps(robot)) == robot
    assert robot.fingerprint != lw.chain(2).attach(four_bar(), "tip", prefix="leg_").fingerprint


def test_loops_that_are_too_many_are_named():
    robot = four_bar().close(
        lw.Loop("world", lw.Frame("mid", "coupler", at=(0.4, 0.3, 0)), "spherical", name="pin"),
    )
    with pytest.raises(lw.ClosureError, match=r"stop 8 motions, more than its 3 free .* from loop 'pin' on"):
        robot.closed_configuration([1.3, -0.9, 1.8])
