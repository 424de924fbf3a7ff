"""The shared robots cover what other tests rely on: a change of the builders cannot hollow them out."""

import numpy as np
from trees import FLOATING, KINDS, ROTORS, TREES, derivative, error, free_motion, robot, state

import linkwise as lw


def test_every_joint_kind_occurs():
    kinds = {j.kind.kind for name in KINDS for j in robot(name).joints}
    expected = {"revolute", "prismatic", "helical", "cylindrical", "universal", "spherical", "planar", "free"}
    assert kinds == expected | {"custom"}
    assert "fixed" in {j.kind.kind for name in TREES for j in robot(name).joints}


def test_rotors_of_both_sorts_occur_and_sit_on_bodies_and_on_the_world():
    sorts = set()
    for name in ROTORS:
        for j, p in zip(robot(name).joints, robot(name).parents):
            if j.rotor is not None:
                sorts.add((j.rotor.axis is not None, p >= 0))
    assert sorts >= {(True, True), (True, False), (False, True)}


def test_trees_branch_and_float():
    assert all(any(len(c) > 1 for c in robot(name).children) for name in (*FLOATING, *ROTORS))
    assert all(isinstance(robot(name).joints[0].kind, lw.Free) for name in FLOATING)
    assert any(robot(name).parents.count(-1) > 1 for name in TREES)


def test_trees_are_well_conditioned():
    """So that agreement to 1e-9 can be asked of every algorithm."""
    for name in (*KINDS, *TREES):
        q = state(robot(name), (10,)).q
        assert np.linalg.cond(robot(name).mass_matrix(q)).max() < 2e4


def test_derivative_is_of_sixth_order():
    assert abs(derivative(lambda t: np.sin(1 + t)) - np.cos(1)) < 1e-12
    errors = [abs(derivative(lambda t: np.sin(1 + t), h) - np.cos(1)) for h in (0.4, 0.2)]
    assert 50 < errors[0] / errors[1] < 80


def test_free_motion_is_of_fourth_order():
    r = robot("floating_rotors")
    s = state(r, (), seed=4)
    fine = free_motion(r, s.q, s.v, s.tau, 0.04, 16)
    runs = [free_motion(r, s.q, s.v, s.tau, 0.04, n) for n in (2, 4)]
    for x, exact in ((0, fine[0]), (1, fine[1])):
        assert 12 < error(runs[0][x], exact) / error(runs[1][x], exact) < 22


def test_error_sees_differences_and_nan():
    assert error([1.0, 2.0], [1.0, 2.5]) == 0.2
    assert not error([1.0, np.nan], [1.0, 2.5]) <= 1.0
