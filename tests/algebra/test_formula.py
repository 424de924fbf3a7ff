"""Formulas typed as text: every printed identity reads back, and mistakes are pointed at."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.algebra.formula import needs_motion, operator_names, parse_formula


@pytest.fixture(scope="module")
def op():
    robot = lw.load("panda")
    rng = np.random.default_rng(0)
    q, v, a = robot.random_configuration(rng), *rng.normal(size=(2, robot.nv))
    return robot.operators(q, v=v, a=a)


def printed_formulas(op):
    """Both sides of every identity whose letters are all names, not quantities driven by another operator."""
    for rule in lw.identities():
        if rule.free or not rule.admits(op):
            continue
        for side in rule.sides(op):
            written = str(side)
            if "S_" not in written and "_{" not in written and written not in ("0", "I"):
                yield rule.name, written, side


def test_every_printed_identity_reads_back(op):
    count = 0
    for name, written, side in printed_formulas(op):
        assert str(parse_formula(written, op)) == written, name
        np.testing.assert_allclose(parse_formula(written, op).dense(), side.dense(), atol=1e-9, err_msg=name)
        count += 1
    assert count > 80


@pytest.mark.parametrize(
    "formula",
    [
        "H phi M phi* H*",
        "H φ M φ* H*",
        "HφMφ*H*",
        "H @ phi @ M @ phi.T @ H.T",
        "H·φ·M·φ^*·H^T",
        "H * phi * M * phi.T * H.T",
        "(H phi) M (H phi)*",
        "mass",
        "𝓜",
        "2 mass / 2",
        "0.5*mass + mass/2",
        "-(-mass)",
        "I mass I",
        "(mass*)*",
    ],
)
def test_spellings_of_the_mass_matrix(op, formula):
    np.testing.assert_allclose(parse_formula(formula, op).dense(), op.mass.dense(), rtol=1e-13)


@pytest.mark.parametrize("formula", ["mass.inv()", "mass⁻¹", "(H φ M φ* H*)^-1", "mass^{-1}"])
def test_spellings_of_its_inverse(op, formula):
    np.testing.assert_allclose(parse_formula(formula, op).dense() @ op.mass.dense(), np.eye(7), atol=1e-9)


def test_the_identity_takes_the_space_of_its_sum(op):
    assert parse_formula("I + H phi K", op) == op.I_joints + op.H @ op.phi @ op.K
    assert parse_formula("2 I - phi", op) == 2 * op.I - op.phi
    assert parse_formula("(I - 3 I) mass", op) == -2 * op.mass
    assert parse_formula("I", op) == op.I
    assert parse_formula("I_joints", op) == op.I_joints


def test_simplify(op):
    assert parse_formula("((I - E_phi) phi).simplify()", op) == op.I


@pytest.mark.parametrize("name", operator_names())
def test_every_name_is_known(op, name):
    assert isinstance(parse_formula(name, op), lw.Operator)


def test_motion():
    assert needs_motion("H phi M_hat")
    assert needs_motion("Ḣ*")
    assert not needs_motion("H phi M")


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("", "ends where a factor"),
        ("H psii M", r"column 3: no operator is named 'psii'; did you mean psi\?"),
        ("Hphi", "no operator is named 'Hphi'"),
        ("H phi M phi* H* )", "column 17: '\\)' is one too many"),
        ("(H phi", "column 1: this parenthesis is not closed"),
        ("H + ", "ends where a factor"),
        ("H phi + 2", "write 2 I"),
        ("1 + 2", "for twice the identity write 2 I"),
        ("3", "is a number"),
        ("H / phi", "only numbers"),
        ("H / 0", "only numbers"),
        ("2.inv()", "no operator is named .inv."),
        ("H.dense()", r"there are .T, .inv\(\) and .simplify\(\), not '.dense\(\)'"),
        ("H.__class__", "of an operator there are"),
        ("__import__('os')", "no operator is named '__import__'|means nothing here"),
        ("H; phi", "column 2: ';' means nothing here"),
        ("H[0]", "means nothing here"),
        ("(" * 100 + "H" + ")" * 100, "more than 50 parentheses"),
        ("H " * 2000, "more than the 2000"),
        ("I + H", "no I can be added"),
        ("@ H", "'@' where a factor"),
    ],
)
def test_mistakes_are_pointed_at(op, formula, words):
    with pytest.raises(lw.InputError, match=words):
        parse_formula(formula, op)


@pytest.mark.parametrize("formula", ["H H", "H + phi", "M H"])
def test_spaces_that_do_not_fit(op, formula):
    with pytest.raises(lw.SpaceError, match="the formula, column 1: cannot"):
        parse_formula(formula, op)


def test_no_inverse(op):
    with pytest.raises(lw.NoRecursionError, match="column"):
        parse_formula("(phi + M)^-1", op)
