"""One rule at one place: rewriting, multiplying out, factoring, and refusals that say why."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_zoo import operators
from trees import assert_close

import linkwise as lw
from linkwise.algebra.rules import Rule, cost, rule


def test_by_name_by_place_and_as_a_rule():
    o = operators("panda")
    factored = o.mass.rewrite("OA Lemma 4.1")
    assert str(factored) == "(I + H φ K) D (I + H φ K)*"
    assert o.mass.rewrite("innovations") == o.mass.rewrite(rule("innovations")) == factored
    assert o.mass.rewrite("DD (4.1b)") == o.mass.rewrite("JPL (4.11)") == factored
    assert [r.name for r in factored.used] == ["innovations"]
    assert factored.rewrite("innovations") == o.mass
    assert_close(factored.dense(), o.mass.dense(), 1e-12)


def test_the_direction_may_be_asked_for():
    o = operators("panda")
    colour = o.I_joints + o.H @ o.phi @ o.K
    both = colour @ o.D @ colour.T + o.mass
    assert both.rewrite("innovations") == 2.0 * o.mass
    assert both.rewrite("innovations", backwards=True) == 2.0 * (colour @ o.D @ colour.T)
    with pytest.raises(lw.NotAdmittedError, match="does not fit"):
        o.mass.rewrite("innovations", backwards=False)


@pytest.mark.parametrize("backwards", ["x", 1, 0, "False"])
def test_a_direction_is_true_or_false(backwards):
    with pytest.raises(lw.InputError, match="backwards must be True or False"):
        operators("panda").mass.rewrite("OA Lemma 4.1", backwards=backwards)


def test_places_are_counted_from_the_left():
    o = operators("panda")
    run = o.E_phi @ o.G @ o.H @ o.E_phi @ o.G
    assert str(run.rewrite("K")) == str(run.rewrite("K", at=0)) == "K H E_φ G"
    assert str(run.rewrite("K", at=1)) == "E_φ G H K"
    with pytest.raises(lw.NotAdmittedError, match="fits at 2 places, so at= is at most 1"):
        run.rewrite("K", at=2)
    assert str((o.H @ (o.phi + o.E_phi @ o.G @ o.H)).rewrite("K")) == "H (φ + K H)"
    assert str((o.G.T @ o.E_phi.T).rewrite("K")) == "K*"


def test_terms_of_sums_and_free_block_diagonals():
    o = operators("panda")
    assert str((2.0 * o.P - 2.0 * o.G @ o.D @ o.G.T + o.M).rewrite("P_plus_gain")) == "M + 2 P⁺"
    assert str(o.mass.rewrite("lyapunov")) == "H (φ S_φφ + S_φφ φ̃*) H*"
    assert_close(o.mass.rewrite("lyapunov").dense(), o.mass.dense(), 1e-12)


def test_several_rules_in_turn():
    o = operators("panda")
    assert (o.H @ o.E_phi @ o.G @ o.D @ o.D_inverse).using("K", "D_inverse") == o.H @ o.K


def test_refusals_say_why():
    o = operators("panda")
    with pytest.raises(lw.NotAdmittedError, match=r"HG \(H G = I\) does not fit: H φ G has no H G"):
        (o.H @ o.phi @ o.G).rewrite("HG")
    with pytest.raises(lw.NotAdmittedError, match=r"near is H φ"):
        (o.H @ o.phi @ o.G).rewrite("W_H_phi")
    with pytest.raises(lw.NotAdmittedError, match="needs no rotors; of robot .* rotors add inertia"):
        operators("tree_rotors").G.rewrite("HG")
    with pytest.raises(lw.UnknownNameError, match="near are 'OA Lemma 4"):
        o.mass.rewrite("OA Lemma 4.9")
    with pytest.raises(lw.InputError, match="a rule is given by its name"):
        o.mass.rewrite(3)
    with pytest.raises(lw.NotAdmittedError, match="has no operators"):
        o.I.rewrite("HG")


def test_expand_and_factor_are_inverse_on_the_innovations():
    o = operators("panda")
    factored = o.mass.rewrite("innovations")
    assert str(factored.expand()) == "D + D K* φ* H* + H φ K D + H φ K D K* φ* H*"
    assert factored.expand().factor() == factored
    inverse = o.mass.inv()
    assert inverse.expand().factor() == inverse
    assert factored.expand().used == factored.used


def test_a_rule_of_ones_own_is_applied():
    o = operators("panda")
    own = Rule("own", ("here",), lambda o: o.H @ o.phi, lambda o: o.H + o.H @ o.phi_tilde)
    assert str((o.H @ o.phi @ o.M).rewrite(own)) == "(H + H φ̃) M"


NAMES = ["phi", "psi", "M", "P", "E_phi", "tau_bar", "P_plus", "phi_tilde"]
words = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4), min_size=1, max_size=5)


@settings(max_examples=25, deadline=None)
@given(words, st.integers(0, 3))
def test_expanding_and_factoring_keep_the_meaning(terms, seed):
    o = operators("tree")
    rng = np.random.default_rng(seed)
    op = o.I * float(rng.integers(1, 3))
    for term in terms:
        product = o.I
        for name in term:
            leaf = getattr(o, name)
            product = product @ (leaf.T if rng.random() < 0.4 else leaf + o.I if rng.random() < 0.3 else leaf)
        op = op + float(rng.integers(-2, 3)) * product
    scale = max(1.0, np.abs(op.dense()).max())
    for form in (op.expand(), op.factor(), op.expand().factor()):
        assert_close(form.dense() / scale, op.dense() / scale, 1e-11)
    assert cost(op.expand().factor().expression) <= cost(op.expand().expression)


def test_using_takes_a_place():
    o = operators("tree")
    twice = o.H @ o.E_phi @ o.G + o.H @ o.phi @ o.E_phi @ o.G
    assert twice.using("K", at=0) == twice.rewrite("K", at=0)
    assert twice.using("K", at=1) == twice.rewrite("K", at=1) != twice.using("K")
    with pytest.raises(lw.NotAdmittedError, match=r"K fits at 2 places, so at= is at most 1$"):
        twice.using("K", at=2)
