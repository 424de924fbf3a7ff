"""Formulas that are proved to show no frame are the same in the normal form; what differs there is not proved."""

from itertools import pairwise

import numpy as np
import pytest
from coupled import coupled_robot
from trees import robot, state

from linkwise.algebra.frame_freedom import is_frame_free
from linkwise.algebra.recipe import build, recipe_of
from linkwise.model.normal_form import normal_form

NAMES = ["H", "phi", "phi_tilde", "E_phi", "M", "P", "P_plus", "D", "D_inverse", "D_root", "D_root_inverse", "G", "K"]
NAMES += ["tau", "tau_bar", "psi", "psi_tilde", "E_psi", "R", "Upsilon", "Upsilon_plus", "S", "L", "Delta_phi"]
NAMES += ["Delta_psi", "rotor_inertia", "rotor_coupling", "I", "I_joints"]


def walks(o, rng, count):
    """Random products and sums that lead from joint space to joint space."""
    leaves = [o.leaf(n) for n in NAMES]
    leaves += [x.T for x in leaves]
    out = []
    while len(out) < count:
        A = o.H
        for _ in range(rng.integers(1, 6)):
            fitting = [x for x in leaves if x.rows == A.cols]
            A = A @ fitting[rng.integers(len(fitting))]
        if A.cols.kind == "joint":
            out.append(A)
        elif A.cols.kind == "body":
            out.append(A @ o.H.T)
    return [*out, *(a + b for a, b in pairwise(out)), *(a @ b for a, b in pairwise(out))]


FORMS = [
    lambda o: o.mass,
    lambda o: o.mass.inv(),
    lambda o: (o.mass + 0.3 * o.I_joints).inv(),
    lambda o: o.m @ o.ell.T,
    lambda o: o.H @ o.phi @ o.R @ o.H.T,
    lambda o: o.G.T @ o.Upsilon_plus @ o.G + o.D_inverse,
    lambda o: (o.D + o.rotor_inertia).inv(),
]


def relative_difference(A, robot_, s):
    """Between the formula on the robot and on its normal form."""
    form = normal_form(robot_)[0]
    other = build(recipe_of(A.expression), {0: form.operators(s.q).state.numbers})
    x = np.random.default_rng(0).normal(size=(A.cols.dimension, 1))
    a, b = A.numbers.apply_columns(x), other.apply_columns(x)
    return np.abs(a - b).max(initial=0.0) / max(np.abs(a).max(initial=0.0), 1e-3)


@pytest.mark.parametrize("name", ["panda", "tree", "tree_rotors", "arms", "chain4", "hinges", "coupled"])
def test_what_is_proved_is_true(name):
    r = coupled_robot() if name == "coupled" else robot(name)
    s = state(r, ())
    o = r.operators(s.q)
    proved = [make(o) for make in FORMS]
    assert all(is_frame_free(A.expression) for A in proved)
    proved += [A for A in walks(o, np.random.default_rng(1), 60) if is_frame_free(A.expression)]
    assert len(proved) > 15
    for A in proved:
        assert relative_difference(A, r, s) < 1e-8, str(A)


def test_what_shows_frames_is_not_proved():
    """Each of these does differ on some robot."""
    for make in (
        lambda o: o.H @ o.M @ o.H.T,
        lambda o: o.H @ o.phi @ o.phi.T @ o.H.T,
        lambda o: o.H @ o.phi @ o.P @ o.phi.T @ o.H.T,
        lambda o: o.G.T @ o.G,
        lambda o: o.K.T @ o.K,
        lambda o: o.H @ (o.phi + o.phi.T) @ o.G,
    ):
        differences = []
        for name in ("panda", "chain4", "coupled"):
            r = coupled_robot() if name == "coupled" else robot(name)
            s = state(r, ())
            A = make(r.operators(s.q))
            assert not is_frame_free(A.expression), str(A)
            differences.append(relative_difference(A, r, s))
        assert max(differences) > 1e-3, str(A)
