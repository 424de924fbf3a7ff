"""Identities tried on random robots: those on which a side does not exist are drawn again."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.algebra.check import _WORST_CONDITION, _is_regular, operators_at
from linkwise.algebra.random_robots import random_robot


def inertia(op):
    """Λ, which robots with too few joints do not have."""
    return (op.J @ op.mass.inv() @ op.J.T).inv()


def simplified_inertia(op):
    return (op.B.T @ op.psi.T @ op.H.T @ op.D_inverse @ op.H @ op.psi @ op.B).inv()


def test_singular_robots_are_drawn_again():
    """Seed 0 begins with a chain of two links."""
    with pytest.raises(lw.SingularError):
        first = random_robot(0, rotors=False, serial=True, one_dof=False)
        x = np.zeros(first.nv)
        inertia(operators_at(first, first.neutral(), x, x)).dense()
    report = lw.check_identity(inertia, simplified_inertia, trials=8)
    assert report and report.redrawn > 0
    assert "drawn again" in str(report)
    assert not lw.check_identity(inertia, lambda op: 1.001 * simplified_inertia(op), trials=4)


@pytest.mark.parametrize("seed", range(0, 60, 6))
def test_no_seed_stumbles(seed):
    assert lw.check_identity(inertia, simplified_inertia, trials=2, seed=seed)
    assert lw.check_identity(lambda op: (op.J.T @ op.J).inv() @ (op.J.T @ op.J), lambda op: op.I_joints, trials=2)


def test_nearly_singular_states_do_not_count():
    arm = lw.load("ur5")
    x = np.zeros(6)
    for distance, regular in ((1.0, True), (1e-4, False)):
        q = np.array([0.3, -1.0, distance, 0.7, 0.9, 0.2])
        op = operators_at(arm, q, x, x)
        A = (op.J @ op.J.T).inv()
        assert _is_regular(A.numbers) == regular == (np.linalg.cond(A.dense()) <= _WORST_CONDITION)


def test_what_exists_nowhere_is_said():
    def nowhere(op):
        return op.block_diagonal([np.zeros((6, 6))] * len(op.model.bodies)).inv()

    with pytest.raises(lw.SingularError, match="on each of 30 random robots"):
        lw.check_identity(nowhere, lambda op: op.M)


def test_regular_sides_are_drawn_once():
    assert lw.check_identity(lambda op: op.mass.inv() @ op.mass, lambda op: op.I_joints).redrawn == 0
