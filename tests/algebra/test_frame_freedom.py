"""Formulas that are proved to show no frame are the same in the normal form; what differs there is not proved."""

from functools import cache
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
RATES = ["M_hat", "P_ring", "Pi_dot", "V_tilde", "F", "H_dot"]
VECTORS = ["theta_dot", "theta_ddot", "T", "V", "alpha", "coriolis", "gyroscopic", "g", "f"]


def walks(o, rng, count):
    """Random products and sums that lead from joint space to joint space, and vectors there."""
    leaves = [o.leaf(n) for n in NAMES + RATES]
    leaves += [x.T for x in leaves]
    leaves += [o.leaf(n) for n in VECTORS]
    out = []
    while len(out) < count:
        A = o.H
        for _ in range(rng.integers(1, 6)):
            fitting = [x for x in leaves if x.rows == A.cols]
            if fitting:
                A = A @ fitting[rng.integers(len(fitting))]
        if A.cols.kind in ("joint", "number"):
            out.append(A)
        elif A.cols.kind == "body":
            out.append(A @ o.H.T)
    sums = [a + b for a, b in pairwise(out) if a.cols == b.cols]
    return [*out, *sums, *(a @ b for a, b in pairwise(out) if a.cols == b.rows)]


FORMS = [
    lambda o: o.mass,
    lambda o: o.mass.inv(),
    lambda o: (o.mass + 0.3 * o.I_joints).inv(),
    lambda o: o.m @ o.ell.T,
    lambda o: o.H @ o.phi @ o.R @ o.H.T,
    lambda o: o.G.T @ o.Upsilon_plus @ o.G + o.D_inverse,
    lambda o: (o.D + o.rotor_inertia).inv(),
]


def white(o):
    return o.I_joints - o.H @ o.psi @ o.K


# JPL 88-11's FD1, FD3, FD4, the articulated-body form, the equations of motion, gravity, and their parts.
MOTIONS = [
    lambda o: o.H @ o.phi @ (o.M @ o.phi.T @ (o.a + o.g) + o.b),
    lambda o: white(o).T @ o.D_inverse @ white(o) @ (o.T - o.H @ o.phi @ (o.M @ o.phi.T @ (o.a + o.g) + o.b)),
    lambda o: white(o).T @ o.D_inverse @ (o.T - o.H @ o.psi @ (o.K @ o.T + o.M @ o.phi.T @ (o.a + o.g) + o.b)),
    lambda o: (
        white(o).T @ o.D_inverse @ (white(o) @ o.T - o.H @ o.psi_tilde @ o.P @ (o.a + o.g) - o.H @ o.psi @ o.b)
        - o.K.T @ o.psi.T @ o.tau_bar.T @ (o.a + o.g)
        - o.G.T @ (o.a + o.g)
    ),
    lambda o: (
        white(o).T @ o.D_inverse @ (o.T - o.H @ o.psi @ (o.K @ o.T + o.P @ (o.a + o.g) + o.b))
        - o.K.T @ o.psi.T @ (o.a + o.g)
    ),
    lambda o: o.H @ o.phi @ (o.M @ o.phi.T @ (o.H.T @ o.theta_ddot + o.a + o.g) + o.b) + o.rotor_inertia @ o.theta_ddot,
    lambda o: o.H @ o.phi @ o.M @ o.phi.T @ o.g,
    lambda o: o.H @ o.f,
    lambda o: o.H @ o.phi @ o.M @ o.V,
    lambda o: o.H @ o.phi @ (o.M @ o.alpha + o.b),
    # Lemma 4.6 of the Linearized dynamics paper and (6.17) of the Diagonalized dynamics paper.
    lambda o: (
        2 * white(o).T @ o.D_inverse @ o.H @ o.psi @ (o.M_hat @ o.phi.T @ o.H.T + o.P @ o.H_dot)
        + 2 * o.K.T @ o.psi.T @ o.H_dot
    ),
    lambda o: (
        o.D_root_inverse
        @ o.H
        @ o.psi
        @ (o.E_psi @ o.Pi_dot - o.Pi_dot @ o.E_psi.T - o.F @ o.P + o.P @ o.F.T - 2 * o.V_tilde.T @ o.M)
        @ o.V
    ),
    lambda o: o.H @ o.P_ring @ o.H.T @ o.theta_dot,
]


@pytest.mark.parametrize("name", ["panda", "tree", "arms", "chain4", "hinges"])
def test_vectors_of_joint_space_are_proved_and_true(name):
    r = robot(name)
    s = state(r, ())
    o = r.operators(s.q, v=s.v, a=s.a)
    for make in MOTIONS:
        A = make(o)
        assert is_frame_free(A.expression), str(A)
        assert relative_difference(A, r) < 1e-8, str(A)


def test_vectors_that_show_frames_are_not_proved():
    for make in (
        lambda o: o.H @ o.phi @ o.b,
        lambda o: o.H @ o.phi @ o.M @ o.phi.T @ o.a,
        lambda o: o.H @ o.psi @ o.P @ o.a,
        lambda o: o.H @ o.phi @ o.classical_gyroscopic,
        lambda o: o.H @ o.phi @ (o.M @ o.phi.T @ (o.a + o.g) - o.b),
        lambda o: o.H @ o.phi @ o.M_hat @ o.V,
        lambda o: o.H @ o.M_hat @ o.H.T @ o.theta_dot,
        lambda o: o.H @ o.psi @ o.V_tilde.T @ o.M @ o.V,
        lambda o: o.H @ o.psi @ o.F @ o.P @ o.V,
    ):
        differences = []
        for name in ("panda", "chain4", "hinges"):
            r = robot(name)
            s = state(r, ())
            A = make(r.operators(s.q, v=s.v, a=s.a))
            assert not is_frame_free(A.expression), str(A)
            differences.append(relative_difference(A, r))
        assert max(differences) > 1e-6, str(A)


@cache
def in_normal_form(robot_, moving):
    """The leaves of the normal form at the robot's state."""
    s = state(robot_, ())
    v, a = (x if given else None for x, given in zip((s.v, s.a), moving))
    return normal_form(robot_)[0].operators(s.q, v=v, a=a).state.numbers


def relative_difference(A, robot_):
    """Between the formula on the robot and on its normal form."""
    other = build(recipe_of(A.expression), {0: in_normal_form(robot_, A.binding.leaves.moving)})
    x = np.random.default_rng(0).normal(size=(A.cols.dimension, 1))
    a, b = A.numbers.apply_columns(x), other.apply_columns(x)
    return np.abs(a - b).max(initial=0.0) / max(np.abs(a).max(initial=0.0), 1e-3)


@pytest.mark.parametrize("name", ["panda", "tree", "tree_rotors", "arms", "chain4", "hinges", "coupled"])
def test_what_is_proved_is_true(name):
    r = coupled_robot() if name == "coupled" else robot(name)
    s = state(r, ())
    o = r.operators(s.q, v=s.v, a=s.a)
    proved = [make(o) for make in FORMS]
    assert all(is_frame_free(A.expression) for A in proved)
    proved += [A for A in walks(o, np.random.default_rng(1), 150) if is_frame_free(A.expression)]
    assert len(proved) > 15
    for A in proved:
        assert relative_difference(A, r) < 1e-8, str(A)


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
            differences.append(relative_difference(A, r))
        assert max(differences) > 1e-3, str(A)
