"""Blocks in formulas: with vectors, in batches, in the papers' numbering with 0 for the tip; what does not fit."""

import numpy as np
import pytest

import linkwise as lw


def operators(batch=(), frames="tcp"):
    robot, rng = lw.load("panda"), np.random.default_rng(0)
    q = robot.random_configuration(rng, batch) if batch else robot.random_configuration(rng)
    v, a = rng.normal(size=(2, *batch, robot.nv))
    return robot.operators(q, v=v, a=a, frames=frames)


@pytest.fixture(scope="module", params=[(), (6,), (2, 3)], ids=str)
def op(request):
    return operators(request.param)


def times(A, x):
    return np.einsum("...ij,...j->...i", A, x)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("V(3)", lambda o: o.V[3]),
        ("M(3) V(3)", lambda o: times(o.M[3], o.V[3])),
        ("M(3)V(3)", lambda o: times(o.M[3], o.V[3])),
        ("φ*(2,3) V(2)", lambda o: times(o.phi[2, 3].mT, o.V[2])),
        ("H*(2) θ̇(2)", lambda o: times(o.H[2].mT, o.theta_dot[2])),
        ("φ*(1,2) V(1) + H*(2) θ̇(2)", lambda o: o.V[2]),
        ("φ*(1,2) α(1) + H*(2) θ̈(2) + a(2)", lambda o: o.alpha[2]),
        ("H(3) f(3)", lambda o: o.T[3]),
        ("V*(2)", lambda o: o.V[2][..., None, :]),
        ("V*(2) M(2) V(2)", lambda o: np.einsum("...i,...ij,...j->...", o.V[2], o.M[2], o.V[2])[..., None]),
        ("2 V(2) - V(2)", lambda o: o.V[2]),
        ("(M V)(2)", lambda o: times(o.M[2], o.V[2])),
        ("P(2) V(2) - P(2) V(2)", lambda o: 0 * o.V[2]),
        ("L(3)", lambda o: o.phi[2, 3] @ o.G[3]),
        ("P(2)⁻¹ P(2)", lambda o: np.broadcast_to(np.eye(6), o.P[2].shape)),
    ],
)
def test_blocks_of_vectors(op, text, meaning):
    """Of one state (..., 6), of a batch one for each: nothing of a batch is taken for rows or columns."""
    found, wanted = lw.formula(text)(op), meaning(op)
    assert found.shape == wanted.shape
    assert np.allclose(found, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("φ(1,0)", lambda o: o.B[6, 0]),
        ("B(1,0)", lambda o: o.B[6, 0]),
        ("ψ(1,0)", lambda o: o.B[6, 0]),
        ("φ(3,0)", lambda o: (o.phi @ o.B)[4, 0]),
        ("φ*(1,0)", lambda o: o.B[6, 0].mT),
        ("V(0)", lambda o: (o.J @ o.theta_dot).value),
        ("φ*(1,0) V(1)", lambda o: (o.J @ o.theta_dot).value),
        ("V(2)", lambda o: o.V[5]),
        ("φ*(2,1) V(2) + H*(1) θ̇(1)", lambda o: o.V[6]),
        ("L(1)", lambda o: o.phi[5, 6] @ o.G[6]),
        ("φ(3,2) f(2) + L(2) T(2) - L(2) T(2)", lambda o: times(o.phi[4, 5], o.f[5])),
    ],
)
def test_the_papers_numbers(op, text, meaning):
    found, wanted = lw.formula(text, indices="papers")(op), meaning(op)
    assert found.shape == wanted.shape and np.allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("text", ["P(0)", "f(0)", "J* f(0)", "K(1,0)", "α(0)", "H(0)", "φ(0,1)", "V(8)"])
def test_numbers_that_the_papers_have_nothing_at(op, text):
    with pytest.raises(lw.InputError, match=r"1 … 7, from the tip; there is no"):
        lw.formula(text, indices="papers")(op)


def test_the_tip_is_one_point_of_the_last_body():
    for frames in (["tcp", "panda_link4"], "panda_link4"):
        with pytest.raises(lw.InputError, match=r"frame of body 1; these operators have .*operators\(q, frames=…\)"):
            lw.formula("φ(1,0)", indices="papers")(operators(frames=frames))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("V(2) + P(2)", "cannot be added"),
        ("V(2) + H*(2)", "cannot be added"),
        ("V(2) + V(3)", "different axes"),
        ("M(2) V(3)", "different axes"),
        ("V(2) θ̇(2)", "cannot be multiplied"),
        ("H(2)⁻¹", "1×6; only square blocks"),
        ("V(2)⁻¹", "only square blocks"),
    ],
)
def test_blocks_that_do_not_fit(op, text, words):
    with pytest.raises(lw.SpaceError, match=words):
        lw.formula(text)(op)


def test_singular_blocks_have_no_inverse(op):
    with pytest.raises(lw.SingularError, match=r"P⁺\(2\) has no inverse"):
        lw.formula("P⁺(2)⁻¹")(op)


@pytest.mark.parametrize("name", ["S", "B", "K", "phi"])
def test_one_index_is_of_block_diagonals_alone(op, name):
    """The block (2, 2) of S is zero: edge 2 ends at body 1."""
    with pytest.raises(lw.InputError, match="two indices"):
        getattr(op, name)[2]
    assert op.S[1, 2].any() and op.L[2].shape[-2:] == (6, 1) and op.Delta_phi[2].any()


def test_blocks_of_trees_and_nodes(rng):
    tree = lw.load("quadruped")
    o = tree.operators(tree.random_configuration(rng), v=rng.normal(size=tree.nv))
    k = 3
    p = tree.tree.parents[k]
    assert np.allclose(lw.formula(f"φ*({p},{k}) V({p}) + H*({k}) θ̇({k})")(o), o.V[k])
    names = [j.name for j in lw.chain(4, seed=1).joints]
    coupled = lw.chain(4, seed=1).couple(names[2], names[1], ratio=0.5)
    o = coupled.operators(coupled.random_configuration(rng), v=rng.normal(size=3))
    assert np.allclose(lw.formula("H*(1) θ̇(1) + φ*(0,1) V(0)")(o), o.V[1]) and o.V[1].shape == (12,)
