"""Structure is derived, and true: blocks outside the claimed relations are exactly zero."""

import numpy as np
import pytest
from operator_zoo import EXPRESSIONS, LEAVES, ROBOTS, general, make, operators

from linkwise.algebra import spaces


def inboard_of(parents, i, j):
    """Whether body i is strictly inboard of body j; the world (−1) is inboard of everything else."""
    while j >= 0:
        j = parents[j]
        if i == j:
            return True
    return False


def relation(parents, i, j):
    """What body i is of body j, from the parents alone."""
    if i == j:
        return "same"
    if inboard_of(parents, i, j):
        return "inboard"
    return "outboard" if inboard_of(parents, j, i) else "across"


def blocks(A, matrix):
    """((i, j), block) for every block of the matrix."""
    tops, lefts = (np.concatenate([[0], np.cumsum(s.sizes)]) for s in (A.rows, A.cols))
    for i in range(len(A.rows.sizes)):
        for j in range(len(A.cols.sizes)):
            yield (i, j), matrix[tops[i] : tops[i + 1], lefts[j] : lefts[j + 1]]


@pytest.mark.parametrize("name", [*LEAVES, *EXPRESSIONS])
@pytest.mark.parametrize("robot_name", ROBOTS)
def test_blocks_outside_the_relations_are_zero(robot_name, name):
    A = make(name, operators(robot_name))
    parents = operators(robot_name).model.parents
    for op in (A, A.T):
        for (i, j), block in blocks(op, op.dense()):
            found = relation(parents, op.rows.owners[i], op.cols.owners[j])
            if found not in op.relations:
                assert not block.any(), f"{op} ({op.structure}) has a block where row is {found} of column"


@pytest.mark.parametrize("robot_name", ["tree", "arms"])
def test_sweeps_keep_the_structure_too(robot_name):
    """Applied to a vector that lives on one body, an operator reaches only the bodies it may."""
    op = operators(robot_name)
    for name in LEAVES:
        A = getattr(op, name)
        for j, owner in enumerate(A.cols.owners):
            start = sum(A.cols.sizes[:j])
            x = np.zeros(A.cols.dimension)
            x[start : start + A.cols.sizes[j]] = 1.0
            y = A @ x
            tops = np.concatenate([[0], np.cumsum(A.rows.sizes)])
            for i, other in enumerate(A.rows.owners):
                if relation(op.model.parents, other, owner) not in A.relations:
                    assert not y[tops[i] : tops[i + 1]].any(), name


@pytest.mark.parametrize("robot_name", ROBOTS)
def test_strictly_causal_operators_are_nilpotent(robot_name):
    op = operators(robot_name)
    square = [getattr(op, n) for n in LEAVES if getattr(op, n).rows == getattr(op, n).cols]
    strict = [A for A in square if A.relations == spaces.STRICTLY_CAUSAL]
    assert {str(A) for A in strict} >= {"E_φ", "E_ψ", "φ̃", "ψ̃"}
    for A in strict:
        power = np.linalg.matrix_power(A.dense(), len(op.model.bodies))
        assert not power.any(), str(A)


def test_names_of_structures():
    o = operators("arms")
    expected = {
        "memoryless": [o.H, o.M, o.D, o.B, o.I, o.M @ o.H.T, general(o)],
        "causal": [o.phi, o.psi, o.H @ o.phi, o.phi @ o.M, o.I - o.E_phi, o.phi @ o.psi, o.phi @ o.B],
        "strictly causal": [o.E_phi, o.K, o.phi_tilde, o.phi @ o.E_psi, o.H @ o.phi @ o.K, o.Delta_phi],
        "anticausal": [o.phi.T, o.J, o.phi.T @ o.H.T],
        "strictly anticausal": [o.K.T, o.psi_tilde.T],
        "mixed, zero between branches": [o.mass, o.phi @ o.M @ o.phi.T, o.phi + o.phi.T],
        "full": [o.mass.inv(), o.phi.T @ o.phi, o.J @ o.mass.inv() @ o.J.T],
        "zero": [o.M - o.M],
    }
    for name, members in expected.items():
        for A in members:
            assert A.structure == name, f"{A} is {A.structure}"
            assert name in repr(A)


@pytest.mark.parametrize("left", ["same", "inboard", "outboard", "across"])
@pytest.mark.parametrize("right", ["same", "inboard", "outboard", "across"])
def test_composition_table_is_complete_and_tight(left, right):
    """All triples i, k, j of bodies of many trees give exactly what the table says i may be of j."""
    found = set()
    rng = np.random.default_rng(0)
    for _ in range(60):
        parents = [int(rng.integers(-1, k)) for k in range(7)]
        for i in range(7):
            for k in range(7):
                if relation(parents, i, k) != left:
                    continue
                found |= {relation(parents, i, j) for j in range(7) if relation(parents, k, j) == right}
    assert spaces.composed(frozenset({left}), frozenset({right})) == found
