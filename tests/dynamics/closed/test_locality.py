"""Which bodies loops gather, and which of their rows count for every configuration."""

import numpy as np
import pytest
from linkages import four_bar, four_bars, hinge, loop_between, open_four_bar, slider_crank

import linkwise as lw
from linkwise.dynamics.closed import constraints
from linkwise.dynamics.closed.locality import Group


def only(robot) -> Group:
    (group,) = robot.loop_groups
    return group


@pytest.mark.parametrize(
    ("kind", "rank"),
    [("weld", 3), ("revolute", 2), ("spherical", 2), ("cylindrical", 2), ("planar", 0), ("universal", 3)],
)
def test_planar_loops_count_the_motions_of_the_plane(kind, rank):
    """x_b and y_a lie in the plane, so that a universal loop stops the turn in it as well."""
    assert only(four_bar(kind)).rank == rank


def test_a_spherical_linkage():
    """Hinges whose axes meet in one point, closed by another such hinge: two rows of five."""
    axes = np.array([(0, 0, 1.0), (0.6, 0, 0.8), (0, 0.6, 0.8)])
    bodies = [
        lw.Body(f"link{i}", lw.Joint(lw.Revolute(a), f"hinge{i}"), lw.Inertia.sphere(1.0, 0.1, at=(0.1, 0.2, 0.3)), p)
        for i, (a, p) in enumerate(zip(axes, (None, "link0", "link1")))
    ]
    frames = [lw.Frame("a", None, rpy=(0.5, 0.2, 0.1)), lw.Frame("b", "link2", rpy=(0.5, 0.2, 0.1))]
    assert only(lw.assemble("ball", bodies, frames).close(lw.Loop("a", "b", "revolute"))).rank == 2


@pytest.mark.parametrize("kind", ["weld", "revolute", "universal", "prismatic", "planar", "distance", "line_on_plane"])
def test_rows_that_do_not_count_depend_on_those_that_do_everywhere(kind, rng):
    """Planar joints between frames in any position: at random configurations G has no more rank than its rows that
    count, and these span it."""
    trees = [open_four_bar(), four_bars(1).opened, slider_crank().opened]
    for tree in trees:
        ends = (tree.bodies[1].name, tree.bodies[2].name)
        robot = tree.close(loop_between(rng, *ends, kind))
        group = only(robot)
        for _ in range(5):
            G = np.asarray(constraints.jacobian(robot, rng.normal(size=robot.nq), robot.loops))
            kept = G[list(group.rows[0])]
            assert np.linalg.matrix_rank(G, tol=1e-9) == np.linalg.matrix_rank(kept, tol=1e-9)


def test_the_bodies_between():
    assert [g.members for g in four_bars(2).loop_groups] == [(0, 1, 2), (3, 4, 5)]
    assert [g.outer for g in four_bars(2).loop_groups] == [-1, 1]
    bodies = [lw.Body(f"b{i}", hinge(f"h{i}", (1, 0, 0)), parent=f"b{i - 1}" if i else None) for i in range(5)]
    chain = lw.assemble("chain", bodies)
    assert only(chain.close(lw.Loop("b1", "b3", "distance", length=1.5))).members == (2, 3)  # an ancestor is outside
    assert only(chain.close(lw.Loop("world", "b2", "distance", length=1.5))).members == (0, 1, 2)
    two = chain.close(lw.Loop("b0", "b2", "distance", length=1.5), lw.Loop("b1", "b4", "distance", length=1.5))
    assert only(two).members == (1, 2, 3, 4)


def test_offsets_that_may_change_prove_nothing():
    """Where lengths are inputs of a program, a planar loop may be any: what is redundant is not known."""
    with pytest.raises(lw.LinkwiseError, match=r"stops 5 motions by structure|dependent="):
        four_bar().compile("forward_dynamics", method="embedded", parameters=["offsets"])


def test_joints_that_are_not_on_the_loop():
    with pytest.raises(
        lw.ModelError,
        match=r"which dependent= of loop .* names, is not on the loop; .* crank_hinge",
    ):
        open_four_bar().close(lw.Loop("rocker_end", "coupler_end", dependent=["crank"]))
    with pytest.raises(lw.ModelError, match="names a joint twice"):
        lw.Loop("a", "b", dependent=["x", "x"])
    with pytest.raises(lw.ModelError, match="dependent= names joints"):
        lw.Loop("a", "b", dependent=3)
    with pytest.raises(lw.ModelError, match="is soft"):
        lw.Loop("a", "b", dependent=["x"], stiffness=1.0)
    too_many = open_four_bar().close(
        lw.Loop("rocker_end", "coupler_end", "point_on_plane", dependent=["crank_hinge", "coupler_hinge"])
    )
    with pytest.raises(lw.NotAdmittedError, match="names joints of 2 rates, and the loop stops no more than 1"):
        too_many.forward_dynamics(*np.zeros((3, 3)), method="embedded")
