"""Inverses that have closed forms."""

import numpy as np
import pytest
from trees import robot

import linkwise as lw


@pytest.mark.parametrize("name", ["panda", "tree", "floating"])
def test_kin_of_the_filters_have_their_closed_forms(name):
    """JPL's letters, φ̃ for φ − I, and products whose factors are invertible only together."""
    r = robot(name)
    op = r.operators(r.random_configuration(0))
    jpl = [lw.formula(text, paper="JPL")(op) for text in ("I + L H Φ", "I - L H Ψ")]
    others = [
        op.I + op.phi_tilde,
        op.I + op.psi_tilde,
        op.I + op.G @ op.H @ op.phi_tilde,
        op.I - op.G @ op.H @ op.psi @ op.E_phi,
        op.mass @ op.mass,
        op.mass @ op.D @ op.mass,
    ]
    for A in [*jpl, *others, *(B.T for B in others)]:
        dense = A.inv().dense() @ A.dense()
        assert np.abs(dense - np.eye(A.rows.dimension)).max() < 1e-8, str(A)
    with pytest.raises(lw.NoRecursionError):
        (op.mass @ (op.mass + op.H @ op.phi.T @ op.H.T)).inv()
