"""Proofs: every identity from the axioms, nothing false, every step checked, wrong ones named."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwise as lw
from linkwise.algebra import axioms, theory
from linkwise.algebra.axioms import AXIOMS
from linkwise.algebra.proof import Lemma
from linkwise.algebra.prove import general_operators
from linkwise.algebra.random_robots import Drawing
from linkwise.algebra.rules import (
    CHAIN,
    CONSTANT_MAPS,
    INVERTIBLE_EDGES,
    MOTION,
    NO_ROTORS,
    ONE_DOF,
    Rule,
    rule,
)

# --- the axioms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("axiom", AXIOMS, ids=lambda a: a.rule.name)
def test_axioms_hold_on_random_robots(axiom):
    coupled = not axiom.rule.requires & {CONSTANT_MAPS, INVERTIBLE_EDGES}
    report = lw.check_identity(axiom.rule, trials=8, rotors=True, coupled=coupled)
    assert report, report


def test_there_are_few_axioms_and_each_is_cited():
    names = [a.rule.name for a in AXIOMS]
    assert len(names) == len(set(names)) <= 65
    assert all(a.rule.cites for a in AXIOMS)


def test_the_articulated_axioms_are_complete():
    # Every question about φ, ψ, P, D, G, K, … of robots without rotors is settled by its canonical form.
    o = general_operators(Drawing()).leaves
    assert theory.Theory([o.H @ o.psi @ o.K]).system.complete


# --- every identity ------------------------------------------------------------------------------------


@pytest.mark.parametrize("r", lw.identities(), ids=lambda r: r.name)
def test_every_identity_is_proved(r):
    proof = lw.prove(r)
    assert proof, proof
    assert proof.steps[0].before == proof.lhs and proof.steps[-1].expression == proof.rhs
    for before, after in zip(proof.steps, proof.steps[1:]):
        assert before.expression == after.before
    own = {a.rule.name for a in AXIOMS}
    assert r.name in own or r.name not in {x.name for x in (*proof.rules, *proof.lemmas)}
    assert proof.worst < 1e-11


@pytest.mark.parametrize("name", ["innovations", "mass_inverse", "factor", "riccati_sum", "W_H_phi", "DHP_phi"])
def test_identities_are_proved_with_rotors(name):
    proof = lw.prove(rule(name), rotors=True)
    assert proof and len(proof.cases) == 1
    assert proof.cases[0].lhs != proof.lhs or name not in ("innovations", "mass_inverse")


@pytest.mark.parametrize("name", ["innovations", "mass_inverse", "B_C", "mass_rate"])
def test_identities_are_proved_with_coupled_joints(name):
    if name == "mass_rate":
        with pytest.raises(lw.NotAdmittedError, match="coupled joints"):
            lw.prove(rule(name), coupled=True)
    else:
        proof = lw.prove(rule(name), coupled=True)
        assert proof and [case.about for case in proof.cases] == ["coupled joints"]


# --- what is false, and what is not found ----------------------------------------------------------------


def test_false_claims_have_a_counterexample():
    proof = lw.prove(lambda o: o.phi @ o.M, lambda o: o.M @ o.phi)
    assert not proof and proof.verdict == "false" and not proof.steps
    assert not proof.report and "random_tree" in proof.report.robot
    assert proof.left is not None and "FALSE" in str(proof) and "What is left" in str(proof)


def test_what_is_true_by_numbers_alone_is_not_found():
    # D(k) and H M H*(k) are numbers: 1×1 blocks commute, which no axiom says.
    lhs, rhs = (lambda o: o.D @ o.H @ o.M @ o.H.T), (lambda o: o.H @ o.M @ o.H.T @ o.D)
    proof = lw.prove(lhs, rhs, requires=[ONE_DOF])
    assert not proof and proof.verdict == "not found" and proof.report
    assert "NOT FOUND" in str(proof) and "FALSE" not in str(proof)


def test_a_dropped_condition_is_caught_and_named():
    whole = rule("compliance_decomposition")
    assert CHAIN in whole.requires and lw.prove(whole)
    dropped = lw.prove(Rule(whole.name, whole.cites, whole.lhs, whole.rhs))
    assert not dropped and dropped.verdict == "false"
    assert "requires=['serial chain']" in str(dropped)
    for name in ("HF", "tau_bar_F"):
        loose = rule(name)
        assert not lw.prove(Rule(loose.name, loose.cites, loose.lhs, loose.rhs, frozenset({MOTION, NO_ROTORS})))


def test_dropping_no_rotors_is_caught_where_rotors_are_asked_for():
    loose = Rule("HG", (), rule("HG").lhs, rule("HG").rhs)
    proof = lw.prove(loose, rotors=True)
    assert proof.verdict == "false" and not proof and proof.steps and proof.cases[0].verdict == "false"


def test_a_planted_wrong_rule_is_named():
    wrong = Rule("planted", ("nowhere",), lambda o: o.psi @ o.G, lambda o: 2.0 * o.G)
    proof = lw.prove(lambda o: o.H @ o.psi @ o.G, lambda o: 2.0 * o.I_joints, assuming=[wrong])
    assert not proof and proof.verdict == "wrong step"
    assert [s.rule.name for s in proof.steps if not s.holds] == ["planted"]
    assert "WRONG STEP: planted" in str(proof)


def test_a_planted_wrong_axiom_makes_a_step_that_is_named(monkeypatch):
    # M = P + E_φ P⁺ E_φ* has the wrong sign; the system is consistent, and finds a proof of something false.
    def planted(a):
        wrong = Rule("riccati", ("planted",), a.rule.lhs, lambda o: o.P + o.E_phi @ o.P_plus @ o.E_phi.T)
        return axioms.Axiom(wrong) if a.rule.name == "riccati" else a

    monkeypatch.setattr(axioms, "AXIOMS", tuple(planted(a) for a in AXIOMS))
    proof = lw.prove(lambda o: o.M, lambda o: o.P + o.E_phi @ o.P_plus @ o.E_phi.T)
    assert not proof and proof.verdict == "wrong step"
    assert {s.rule.name for s in proof.wrong} == {"riccati", "riccati written out"}


def test_own_rules_may_be_assumed():
    # A block of one dof commutes: with that as a rule of one's own, the claim is found.
    own = Rule(
        "commute", ("own",), lambda o: o.D @ o.rotor_inertia, lambda o: o.rotor_inertia @ o.D, frozenset({ONE_DOF})
    )
    claim = (lambda o: o.D_inverse @ o.rotor_inertia @ o.D), (lambda o: o.rotor_inertia)
    assert lw.prove(*claim, requires=[ONE_DOF], assuming=[own])
    assert not lw.prove(*claim, requires=[ONE_DOF])


# --- what sides may be -----------------------------------------------------------------------------------


def test_sides_are_what_check_identity_takes():
    op = lw.load("panda").operators(np.zeros(7))
    bound = lw.prove(op.H @ op.psi @ op.G, op.I_joints)
    assert bound and bound.formula == "H ψ G = I"
    with pytest.raises(lw.InputError, match="two sides"):
        lw.prove(op.H)
    with pytest.raises(lw.InputError, match="two sides"):
        lw.prove(rule("HG"), op.H)
    with pytest.raises(lw.InputError, match="different spaces"):
        lw.prove(lambda o: o.H, lambda o: o.H.T)
    with pytest.raises(lw.InputError, match="different robots"):
        lw.prove(op.H @ op.G, lw.chain(3).operators(np.zeros(3)).I_joints @ lw.chain(3).operators(np.ones(3)).D)
    with pytest.raises(lw.InputError, match="unknown condition"):
        lw.prove(op.H, op.H, requires=["chain"])


def test_other_inertias_and_inverses_of_ones_own():
    def family(o):
        blocks = [np.eye(6)] * len(o.model.bodies)
        return o.with_inertia(o.M + o.block_diagonal(blocks))

    assert lw.prove(lambda o: family(o).psi @ family(o).G, lambda o: family(o).G)
    colour = lambda o: o.I_joints + o.H @ o.phi @ family(o).K
    assert lw.prove(lambda o: family(o).mass, lambda o: colour(o) @ family(o).D @ colour(o).T)
    assert not lw.prove(lambda o: family(o).psi @ o.G, lambda o: o.G)
    inertia = lambda o: (o.J @ o.mass.inv() @ o.J.T).inv()
    assert lw.prove(
        lambda o: inertia(o) @ o.B.T @ o.psi.T @ o.H.T @ o.D_inverse @ o.H @ o.psi @ o.B, lambda o: o.I_tips
    )


def test_a_proof_reads_line_by_line():
    proof = lw.prove(rule("W_H_phi"))
    words = str(proof)
    assert words.startswith("(I - H ψ K) H φ = H ψ\n")
    for step in proof.steps:
        assert f"= {step.expression}\n      by {step.rule.name}" in words
    assert "Proved in 4 steps" in words and "(UF (54))" in words
    assert proof.steps[0].rule.name == "distributivity"
    assert proof.steps[0].formula == "(I - H ψ K) H φ = H φ - H ψ K H φ"
    assert {a.name for a in proof.axioms} == {"K", "tau", "tau_bar", "E_psi", "psi_inverse_right", "phi_inverse"}
    tex = proof._repr_latex_()
    assert tex.startswith("$$\\begin{aligned}") and tex.count("&=") == 4 and r"\psi" in tex


def test_lemmas_are_derived_from_the_axioms():
    proof = lw.prove(rule("mass_inverse_split"))
    known = {a.rule.name for a in AXIOMS}
    for lemma in proof.lemmas:
        assert isinstance(lemma, Lemma) and lemma.steps and all(s.holds for s in lemma.steps)
    assert {a.name for a in proof.axioms} <= known


# --- random claims -----------------------------------------------------------------------------------------

PLAIN = [r for r in lw.identities() if not r.free and not r.requires & {MOTION, CHAIN, ONE_DOF}]
LEAVES = ["H", "phi", "psi", "M", "P", "G", "K", "D_inverse", "E_phi", "tau_bar", "P_plus", "E_psi"]


def grown(o, side, names):
    """A side between random operators that fit, with their adjoints."""
    for name, left in names:
        leaf = getattr(o, name)
        for x in (leaf, leaf.T):
            if left and x.cols == side.rows:
                side = x @ side
                break
            if not left and x.rows == side.cols:
                side = side @ x
                break
    return side


contexts = st.lists(st.tuples(st.sampled_from(LEAVES), st.booleans()), max_size=4)


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(PLAIN), contexts)
def test_random_true_claims_are_proved(r, names):
    proof = lw.prove(lambda o: grown(o, r.sides(o)[0], names), lambda o: grown(o, r.sides(o)[1], names), trials=1)
    assert proof, proof


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(PLAIN), contexts, st.sampled_from([0.5, 3.0]))
def test_random_false_claims_are_not_proved(r, names, factor):
    left = lambda o: grown(o, r.sides(o)[0] + factor * r.sides(o)[1], names)
    right = lambda o: grown(o, 2.0 * r.sides(o)[1], names)
    proof = lw.prove(left, right, trials=1)
    vanishes = lw.check_identity(right, lambda o: 0.0 * right(o), trials=3)
    assert bool(proof) == bool(vanishes)
    assert proof.verdict != "not found"


def test_claims_are_proved_by_their_adjoints_where_need_be():
    r = rule("A_D_composite")
    turned = lw.prove(Rule(r.name, r.cites, lambda o: r.lhs(o).T, lambda o: r.rhs(o).T, r.requires))
    assert turned and turned.steps[0].before == turned.lhs and turned.steps[-1].expression == turned.rhs


def test_a_case_that_fails_decides_the_verdict():
    """T = Hf is an axiom without rotors, which push as well where there are some."""
    proof = lw.prove(lw.formula("T"), lw.formula("H f"), rotors=True)
    assert not proof and proof.verdict == "false" and not proof.cases[0]
    assert "Not with rotors" in str(proof) and "FALSE" in str(proof)
    assert lw.prove(lw.formula("T"), lw.formula("H f"), rotors=False).verdict == "proved"
