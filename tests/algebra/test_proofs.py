"""The papers' proofs, by name; derivations line by line, and wrong lines named."""

import pytest

import linkwise as lw
from linkwise.algebra.identities import colour, white
from linkwise.algebra.proofs import _PRINTED

LEMMAS = {
    "OA Lemma": "4.1 4.2 4.3 5.1 A.1",
    "JPL": "A.2 A.3 A.4 A.5 A.6 A.7",
    "JPL Fact": "4.1 4.2",
    "JPL Theorem": "4.1",
    "JPL Identity": "5.1",
    "JPL Corollary": "A.1",
    "JPL Lemma": "A.1",
    "UF Lemma": "3.1 6.1 6.2 6.3 6.4",
    "LD Lemma": "3.2 4.1 4.2 4.3 4.4 4.5 4.6 4.7 4.8 4.9",
    "LD": "(A.1) (A.2) (A.3) (A.4) (A.5)",
    "DD Identity": "4.2 6.1 6.2 6.3 7.1",
    "DD Lemma": "6.1 6.2 7.3",
}


def test_the_papers_lemmas_are_there():
    assert {f"{kind} {number}" for kind, numbers in LEMMAS.items() for number in numbers.split()} <= set(lw.proofs)
    assert set(_PRINTED) <= set(lw.proofs)
    with pytest.raises(lw.UnknownNameError, match="no proof 'OA Lemma 9.9'"):
        lw.proofs["OA Lemma 9.9"]


@pytest.mark.parametrize("name", sorted(set(lw.proofs)))
def test_every_proof_holds(name):
    proof = lw.proofs[name]
    assert proof and proof.steps, proof
    assert lw.proofs[name] is proof


def test_replayed_proofs_are_line_by_line():
    proof = lw.proofs["OA Lemma 4.1"]
    assert [s.rule.name for s in proof.steps][0::4] == ["riccati_gain", "distributivity"]
    assert proof.formula == "H φ M φ* H* = (I + H φ K) D (I + H φ K)*" and not proof.lemmas


def test_a_wrong_line_is_named():
    lines = (
        ("", lambda o: o.H @ o.phi - o.H @ o.psi @ o.K @ o.H @ o.phi),
        ("phi_minus_psi", lambda o: o.H @ o.phi - o.H @ (o.psi - o.phi)),  # the sign
        ("", lambda o: 2.0 * o.H @ o.phi - o.H @ o.psi),
    )
    proof = lw.derive(lambda o: white(o) @ o.H @ o.phi, *lines)
    assert not proof and proof.verdict == "wrong step"
    assert [s.rule.name for s in proof.wrong] == ["phi_minus_psi"] and not proof.wrong[0].holds
    assert "WRONG STEP: phi_minus_psi does not hold" in str(proof) and "DOES NOT HOLD" in str(proof)


def test_a_line_that_holds_but_does_not_follow_is_named():
    proof = lw.derive(lambda o: colour(o) @ white(o), ("riccati_gain", lambda o: o.I_joints))
    assert not proof and proof.wrong[0].holds and not proof.wrong[0].follows
    assert "WRONG STEP: riccati_gain does not give" in str(proof)
    assert lw.derive(lambda o: colour(o) @ white(o), ("OA Lemma 4.2", lambda o: o.I_joints))


def test_derivations_are_refused_with_the_reason():
    with pytest.raises(lw.InputError, match="at least one line"):
        lw.derive(lambda o: o.H)
    with pytest.raises(lw.InputError, match="must give an operator"):
        lw.derive(lambda o: 1.0, ("", lambda o: o.H))
    with pytest.raises(lw.UnknownNameError, match="no identity"):
        lw.derive(lambda o: o.H, ("no_such_rule", lambda o: o.H))
    with pytest.raises(lw.InputError, match="unknown condition"):
        lw.derive(lambda o: o.H, ("", lambda o: o.H), requires=["a chain"])
