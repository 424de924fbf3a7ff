"""Joints that nothing resists are found, and only those."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.model.loose_joints import loose_joints

SOLID = lw.Inertia(1.0, com=(0.1, 0.2, 0.3), tensor=0.1 * np.eye(3))
POINT = lw.Inertia(1.0)  # at its joint's origin


def robot(*bodies):
    """(inertia, joint kind, rotor) of a chain."""
    made = [
        lw.Body(f"b{i}", lw.Joint(kind, at=(0, 0, 0.3), rotor=rotor), inertia, f"b{i - 1}" if i else None)
        for i, (inertia, kind, rotor) in enumerate(bodies)
    ]
    return lw.assemble("loose", made)


X, Y, SLIDE = lw.Revolute("x"), lw.Revolute("y"), lw.Prismatic("x")
CASES = {
    "nothing loose": ([(SOLID, X, None), (SOLID, Y, None)], []),
    "massless tip": ([(SOLID, X, None), (lw.Inertia(), Y, None)], [1]),
    "massless tip with a rotor": ([(SOLID, X, None), (lw.Inertia(), Y, lw.Rotor(0.1))], []),
    "massless body that carries something": ([(lw.Inertia(), X, None), (SOLID, Y, None)], []),
    "point mass on its axis": ([(SOLID, X, None), (POINT, lw.Revolute("z"), None)], [1]),
    "point mass that slides": ([(SOLID, X, None), (POINT, SLIDE, None)], []),
    "the same axis twice": ([(lw.Inertia(), lw.Revolute("z"), None), (SOLID, lw.Revolute("z"), None)], [0]),
    "all massless": ([(lw.Inertia(), X, None), (lw.Inertia(), Y, None)], [0, 1]),
    "nothing moves": ([(SOLID, lw.Fixed(), None)], []),
}


@pytest.mark.parametrize("ratio", 10.0 ** np.arange(-20, -8))
def test_a_joint_is_loose_where_forward_dynamics_refuses_it(ratio):
    """The inertia of a link between two coaxial hinges against that of the body beyond them."""
    light, heavy = (lw.Inertia(x, tensor=x * np.diag([1.0, 2.0, 1.5])) for x in (ratio, 1.0))
    turn = lw.Revolute("z")
    r = robot((SOLID, X, None), (light, turn, None), (heavy, turn, None))
    try:
        r.mass_solve(r.random_configuration(1), np.ones(3), target="numpy")
        assert loose_joints(r) == []
    except lw.SingularError:
        assert loose_joints(r) == [1]


@pytest.mark.parametrize("name", CASES)
def test_loose_joints(name):
    bodies, expected = CASES[name]
    r = robot(*bodies)
    assert loose_joints(r) == expected
    mass = r.mass_matrix(r.random_configuration(1), target="numpy")
    singular = mass.size > 0 and np.linalg.eigvalsh(mass)[0] <= 1e-12 * max(1.0, np.abs(mass).max())
    assert singular == bool(expected)
