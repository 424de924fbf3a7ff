"""Derivatives as they stand, d/dt(A) and δ(A), and proofs whose steps are the rules of differentiation."""

import pickle

import numpy as np
import pytest

import linkwise as lw
from linkwise.algebra import derivative_rules
from linkwise.algebra.proofs_of_rates import STATEMENTS
from linkwise.algebra.rate import Rate

ONE_DOF = "one-dof joints"


def operators(robot=None):
    robot = robot or lw.random_tree(7, seed=3, floating=True)
    rng = np.random.default_rng(1)
    q, (v, a) = robot.random_configuration(rng), rng.normal(size=(2, robot.nv))
    return robot.operators(q, v=v, a=a)


# --- d/dt(A) as it stands --------------------------------------------------------------------------------


def test_a_formal_derivative_is_a_term_like_others():
    o = operators()
    rate = (o.H @ o.phi).time_derivative(formal=True)
    assert str(rate) == "d/dt(H φ)" and rate.latex() == r"\frac{d}{dt}(H \phi)"
    assert isinstance(rate.expression, Rate) and (o.H @ o.phi).T.time_derivative(formal=True) == rate.T
    x = np.linspace(-1, 1, rate.shape[1])
    worked_out = (o.H @ o.phi).time_derivative()
    assert np.abs(rate @ x - worked_out @ x).max() < 1e-10
    assert np.abs(rate.dense() - worked_out.dense()).max() < 1e-10
    assert (rate - worked_out).simplify().structure == "zero"
    assert (o.I.time_derivative(formal=True)).structure == "zero"
    twice = rate.time_derivative()
    assert np.abs(twice.dense() - worked_out.time_derivative().dense()).max() < 1e-9


def test_its_dense_meaning_knows_no_rule(monkeypatch):
    o = operators(lw.load("panda"))
    right = o.phi.time_derivative().dense()
    monkeypatch.setitem(derivative_rules.RULES, "phi", lambda o, d: 2.0 * o.phi @ o.E_phi @ d.leaf("F") @ o.phi)
    assert np.abs(o.phi.time_derivative(formal=True).dense() - right).max() < 1e-12
    report = lw.check_identity(lambda op: op.phi.time_derivative(formal=True), lambda op: op.phi.time_derivative())
    assert not report


def test_variations_as_they_stand():
    o = operators()
    x, y = o.any_vector("δθ"), o.any_vector("δθ̇")
    rate = o.T.variation(x, y, formal=True)
    assert str(rate) == "δ(T)" and rate.latex() == r"\delta(T)"
    assert np.abs(rate.dense()[..., 0] - o.T.variation(x, y).value).max() < 1e-9
    assert np.array_equal(x.value, o.any_vector("δθ").value) and not np.array_equal(x.value, y.value)


RATES = [
    "D_ring",
    "G_ring",
    "tau_bar_ring",
    "E_psi_ring",
    "D_root_ring",
    "Omega_tilde",
    "Omega_tips",
    "E",
    "alpha_base",
]
RATES += ["phi_I", "phi_I_inverse", "E_I", "Phi_I", "H_I", "M_I", "P_dot", "M_dot", "phi_dot", "E_psi_dot"]


@pytest.mark.parametrize("name", RATES)
def test_the_new_letters_read_back(name):
    o = operators(lw.load("panda"))
    A = getattr(o, name)
    assert lw.formula(name)(o) == lw.formula(str(A))(o) == lw.formula(A.latex())(o) == A


def test_derivatives_as_text():
    o = operators(lw.load("panda"))
    rate = 2.0 * (o.H @ o.phi).time_derivative(formal=True) @ o.M
    assert lw.formula(str(rate))(o) == lw.formula(rate.latex())(o) == rate
    assert lw.formula("(H φ).time_derivative()")(o) == (o.H @ o.phi).time_derivative()
    assert lw.formula("Ṗ")(o) == o.P_dot and lw.formula(r"\dot{P}")(o) == o.P_dot
    assert lw.formula("d/dt(H φ)").needs_motion
    for wrong, words in (("d/dt(2)", "of a formula"), ("d/dt(P(2))", "of a formula"), ("d/dt(θ̈)", "third derivative")):
        with pytest.raises(lw.LinkwiseError, match=f"column 1: .*{words}"):
            lw.formula(wrong)(o)


# --- proofs ----------------------------------------------------------------------------------------------


def test_rules_of_differentiation_are_steps():
    proof = lw.proofs["DD Identity 6.1"]
    assert proof and proof.formula.startswith("d/dt((I + H φ K) D^½) = H φ (F φ̃ P")
    names = [s.rule.name for s in proof.steps]
    assert names[0] == "product rule" and {"derivative of φ", "derivative of K", "derivative of D^½"} <= set(names)
    assert all(s.rule.formula and s.holds for s in proof.steps)
    step = next(s for s in proof.steps if s.rule.name == "derivative of φ")
    assert step.rule.formula == "d/dt(φ) = φ E_φ F φ" and step.rule.cites == ("DD Table 4 row 2",)


def test_linearised_inverse_dynamics_is_derived():
    proof = lw.proofs["LD Lemma 3.1"]
    assert proof and proof.formula.startswith("δ(T) = H φ M φ* H* δθ̈ + 2 H φ (M̂ φ* H* + M φ* Ḣ*) δθ̇ + H φ (𝓕 +")
    assert {"derivative of T", "turned_force"} <= {r.name for r in (*proof.axioms, *proof.rules)}


def test_statements_are_among_the_papers_proofs():
    assert set(STATEMENTS) <= set(lw.proofs)
    assert lw.proofs["DD Lemma 6.1: phi_rate"]  # the identity of that lemma keeps its name behind it


def test_a_number_is_its_own_adjoint():
    proof = lw.proofs["DD Lemma 7.1"]
    assert proof and "a number is its own adjoint" in [s.rule.name for s in proof.steps]
    assert not lw.prove(lambda o: o.V.T @ o.E_psi @ o.P @ o.V, lambda o: 0.0 * o.V.T @ o.V)


@pytest.mark.parametrize(
    ("leaf", "wrong", "claim"),
    [
        ("phi", lambda o, d: o.phi @ d.leaf("F") @ o.phi, "DD Lemma 6.1"),
        ("K", lambda o, d: o.E_phi @ d.leaf("G_ring"), "DD Identity 6.1"),
        ("D_inverse", lambda o, d: o.D_inverse @ d.leaf("D_ring") @ o.D_inverse, "own"),
        ("V", lambda o, d: o.phi.T @ o.H.T @ d.v, "LD (A.9)"),
    ],
)
def test_a_planted_wrong_rule_is_caught_and_named(monkeypatch, leaf, wrong, claim):
    own = (
        lambda o: o.D_inverse.time_derivative(formal=True),
        lambda o: -1.0 * o.D_inverse @ o.D_ring @ o.D_inverse,
        (),
    )
    lhs, rhs, requires = STATEMENTS.get(claim, own)
    monkeypatch.setitem(derivative_rules.RULES, leaf, wrong)
    proof = lw.prove(lhs, rhs, requires=requires)
    assert not proof and proof.verdict == "wrong step"
    assert {s.rule.name for s in proof.wrong} == {f"derivative of {_letter(leaf)}"}
    assert "DOES NOT HOLD" in str(proof)


def _letter(leaf):
    return {"phi": "φ", "K": "K", "D_inverse": "D⁻¹", "V": "V"}[leaf]


def test_what_is_false_of_a_derivative_is_said_to_be_false():
    false = lw.prove(lambda o: o.phi.time_derivative(formal=True), lambda o: o.phi @ o.F @ o.phi)
    assert not false and false.verdict == "false" and not false.report


def test_derivations_with_rules_of_differentiation():
    start = lambda o: (o.H @ o.phi).time_derivative(formal=True)
    end = lambda o: o.H @ o.phi @ o.E_phi @ o.F @ o.phi
    assert lw.derive(start, ("product rule; derivative of H; derivative of φ", end), requires=[ONE_DOF])
    assert lw.derive(start, ("differentiation", end), requires=[ONE_DOF])
    missing = lw.derive(start, ("product rule; derivative of H", end), requires=[ONE_DOF])
    assert not missing and missing.wrong[0].holds and not missing.wrong[0].follows


# --- pickles ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["OA Lemma 4.1", "DD Identity 6.1", "DD Lemma 6.2", "LD Lemma 4.8", "LD (A.1)"])
def test_proofs_pickle(name):
    proof = lw.proofs[name]
    again = pickle.loads(pickle.dumps(proof))
    assert again and str(again) == str(proof) and again.worst == proof.worst
    assert [s.expression for s in again.steps] == [s.expression for s in proof.steps]
    assert [r.name for r in again.axioms] == [r.name for r in proof.axioms]


def test_proofs_that_failed_or_assumed_pickle_too():
    mine = lw.Rule("commuting", ("mine",), lambda o: o.D @ (o.H @ o.M @ o.H.T), lambda o: o.H @ o.M @ o.H.T @ o.D)
    claim = (lambda o: 2.0 * o.D @ (o.H @ o.M @ o.H.T), lambda o: 2.0 * o.H @ o.M @ o.H.T @ o.D)
    for proof in (
        lw.prove(lambda o: o.E_phi.T @ o.Upsilon @ o.E_phi, lambda o: o.Upsilon_plus),
        lw.prove(*claim, assuming=[mine], requires=[ONE_DOF]),
        lw.prove(lambda o: o.psi, lambda o: o.psi_tilde + o.I, coupled=True, rotors=True),
    ):
        assert str(pickle.loads(pickle.dumps(proof))) == str(proof)


def test_formulas_with_numbers_pickle_as_operators():
    o = operators()
    rate = pickle.loads(pickle.dumps(o.G.variation(np.ones(o.model.nv))))
    assert np.array_equal(rate.dense(), o.G.variation(np.ones(o.model.nv)).dense())
    with pytest.raises(pickle.PicklingError, match="leaves with numbers"):
        pickle.dumps(o.phi.numbers)
