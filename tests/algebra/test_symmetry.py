"""Symmetric leaves are their own adjoints, and what follows: equal formulas, inverses, explanations, compiled code."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.algebra.binding import Binding, Blocks
from linkwise.algebra.operator import bound


@pytest.fixture
def op():
    robot = lw.load("ur5")
    return robot.operators(robot.random_configuration(3), frames="tool0")


def test_the_mass_operator_is_its_own_adjoint(op):
    assert op.mass == op.mass.T and hash(op.mass.T) == hash(op.mass)
    assert str(op.mass - op.mass.T) == "0"
    assert op.H @ op.phi == op.H @ op.phi and op.H @ op.phi != op.H @ op.psi


def test_both_products_with_the_inverse_simplify_to_the_identity(op):
    for product in (op.mass @ op.mass.inv(), op.mass.inv() @ op.mass):
        assert product.simplify() == op.I_joints


def test_the_operational_inertia_is_explained_and_compiled(op):
    compliance = (op.J @ op.mass.inv() @ op.J.T).simplify()
    inertia = compliance.inv()
    explanation = inertia.explain()
    assert explanation.operations.total > 0
    assert explanation.latex.isascii() and r"\psi" in explanation.latex
    robot = op.model
    kernel = lw.compile(lambda robot, q, x: _inertia(robot, q) @ x, robot, sizes={"x": 6})
    q, x = robot.random_configuration(1, 4), np.random.default_rng(2).normal(size=(4, 6))
    expected = robot.operational_inertia(q, "tool0") @ x[..., None]
    assert np.abs(kernel(q, x) - expected[..., 0]).max() < 1e-9 * np.abs(expected).max()


def _inertia(robot, q):
    op = robot.operators(q, frames="tool0")
    return (op.J @ op.mass.inv() @ op.J.T).simplify().inv()


FORMS = {
    "not symmetric": lambda o: (o.tau_bar + o.I).inv(),
    "symmetric": lambda o: (o.P + o.M).inv(),
    "mass": lambda o: o.mass.inv(),
    "filter": lambda o: (o.I_joints + o.H @ o.phi @ o.K).inv(),
    "propagation": lambda o: o.psi.inv(),
    "factors": lambda o: (o.phi @ o.M @ o.phi.T).inv(),
    "tips": lambda o: (o.J @ o.J.T).inv(),
}


@pytest.mark.parametrize("form", FORMS)
def test_compiled_inverses_agree_with_numpy(form):
    robot = lw.chain(7, seed=1)
    size = FORMS[form](robot.operators(robot.neutral())).cols.dimension
    kernel = lw.compile(lambda robot, q, f: FORMS[form](robot.operators(q)) @ f, robot, sizes={"f": size})
    q, f = robot.random_configuration(0), np.random.default_rng(0).normal(size=size)
    expected = FORMS[form](robot.operators(q)) @ f
    assert np.abs(kernel(q, f) - expected).max() < 1e-10 * np.abs(expected).max()


def test_only_the_compliance_cites_the_compliance(op):
    assert "operational_compliance" in {r.name for r in (op.J @ op.mass.inv() @ op.J.T).inv().used}
    assert (op.J @ op.J.T).inv().used == ()


@pytest.mark.parametrize("scale", [1e-13, 1e-7 / 3, 1e9])
def test_simplification_keeps_numbers_as_they_are(op, scale):
    simple = (scale * (op.phi - op.I)).simplify()
    assert simple == scale * op.phi_tilde


def test_small_quantities_are_judged_by_their_own_size():
    assert not lw.check_identity(lambda o: 1e-12 * o.phi, lambda o: 2e-12 * o.phi)
    assert lw.check_identity(lambda o: 1e-12 * (o.phi - o.I), lambda o: 1e-12 * o.phi_tilde)


def test_sides_bound_to_two_configurations_are_refused():
    robot = lw.load("ur5")
    a, b = (robot.operators(robot.random_configuration(i)) for i in range(2))
    with pytest.raises(lw.InputError, match="different robots or configurations"):
        lw.check_identity(a.phi, b.phi)
    assert lw.check_identity(a.phi - a.I, a.phi_tilde, trials=3)


def test_families_print_under_their_own_names(op):
    X = op.block_diagonal([np.eye(6) * (k + 1) for k in range(6)])
    A = op.H @ op.phi @ X @ op.phi.T @ op.H.T
    both = (A.inv() + (A + op.I_joints).inv()).explain()
    assert "P_X(k)" in both.recursion and "D_{X, I}(k) = H P_{X, I} H* + I(k)" in both.recursion
    mixed = op.H @ op.phi @ (op.P_plus + op.M) @ op.phi.T @ op.H.T
    assert "+ [P⁺ + M](k)" in mixed.inv().explain().recursion


def test_recursions_of_composite_and_compliance_are_printed(op):
    assert "R(k) = φ(k,k-1) R(k-1) φ*(k,k-1) + M(k)" in op.R.explain().recursion
    assert "Υ(k) = τ̄* Υ⁺ τ̄ + H* D⁻¹ H" in op.Upsilon.explain().recursion
    assert "S_φφ(k) = φ(k,k-1) S_φφ(k-1) φ*(k,k-1) + P(k)" in op.lyapunov(op.P).explain().recursion


def test_latex_holds_identities_and_count(op):
    text = op.mass.inv().explain().latex
    assert r"\begin{itemize}" in text and "OA Lemma 4.3" in text and "Operations: " in text


def test_a_users_array_may_change_afterwards(op):
    blocks = [np.eye(6) for _ in range(6)]
    X = op.block_diagonal(blocks)
    before = X.dense()
    blocks[0][:] = 7.0
    assert np.array_equal(X.dense(), before)


def test_nan_passes_through_the_small_inverse():
    robot = lw.load("ur5")
    q = robot.random_configuration(0, 2)
    q[0, 2] = np.nan
    op = robot.operators(q, frames="tool0")
    y = (op.J @ op.mass.inv() @ op.J.T).inv() @ np.ones(6)
    assert np.isnan(y[0]).all() and np.isfinite(y[1]).all()


def test_a_users_operator_is_not_symmetric_for_its_name(op):
    rng = np.random.default_rng(4)
    held = Blocks([rng.normal(size=(6, 6)) for _ in range(6)])
    X = bound(op.state.leaves.own_blocks(1, "bodies", "M"), Binding((op.state, held)))  # (a name users may not take)
    assert np.array_equal(X.T.dense(), X.dense().T) and X.T != X
    with pytest.raises(lw.NoRecursionError, match="symmetric"):
        op.with_inertia(X)
