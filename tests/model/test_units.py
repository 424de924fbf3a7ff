"""The units of q, v and τ, entry by entry."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import linkwise as lw
from linkwise.model.units import force_units, position_units, velocity_of_position, velocity_units

KINDS = {
    "hinge": (lw.Revolute("y"), ["rad"], ["rad/s"], ["N m"]),
    "slider": (lw.Prismatic("x"), ["m"], ["m/s"], ["N"]),
    "screw": (lw.Helical("z", pitch=0.1), ["rad"], ["rad/s"], ["N m"]),
    "ball": (lw.Spherical(), ["–"] * 4, ["rad/s"] * 3, ["N m"] * 3),
    "free": (lw.Free(), ["m"] * 3 + ["–"] * 4, ["rad/s"] * 3 + ["m/s"] * 3, ["N m"] * 3 + ["N"] * 3),
}


@pytest.mark.parametrize("name", KINDS)
def test_units_are_those_of_the_joint(name):
    kind, q, v, tau = KINDS[name]
    robot = lw.assemble("one", [lw.Body("body", kind, lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))])
    assert position_units(robot) == tuple(q)
    assert velocity_units(robot) == tuple(v)
    assert force_units(robot) == tuple(tau)


@pytest.mark.parametrize("seed", range(5))
def test_there_is_one_for_every_number(seed):
    robot = lw.random_tree(9, seed=seed)
    assert len(position_units(robot)) == len(velocity_of_position(robot)) == robot.nq
    assert len(velocity_units(robot)) == len(force_units(robot)) == robot.nv


@pytest.mark.parametrize("kind", [lw.Free(), lw.Spherical(), lw.Universal(), lw.Planar()])
def test_a_position_belongs_to_the_velocity_that_moves_it(kind):
    """At the neutral configuration each entry of v changes the position that it belongs to, at rate 1 or half of it."""
    robot = lw.assemble("one", [lw.Body("body", kind, lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))])
    step = 1e-6
    for place, freedom in enumerate(velocity_of_position(robot)):
        if freedom is None:
            assert place == robot.nq - 1
            continue
        moved = robot.integrate(robot.neutral(), step * np.eye(robot.nv)[freedom]) - robot.neutral()
        assert_allclose(abs(moved[place]), step * (0.5 if position_units(robot)[place] == "–" else 1.0), rtol=1e-5)
