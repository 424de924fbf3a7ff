"""What looks at all bodies at once is refused by what it computes from, not by its name."""

import numpy as np
import pytest

import linkwise as lw
from linkwise import arrays
from linkwise.codegen.rolled.program import roll
from linkwise.dynamics import mass, mass_inverse
from linkwise.dynamics.forward import articulated_body, explicit, notations
from linkwise.dynamics.linearized.second_derivatives import along_motion
from linkwise.dynamics.links import evaluate

SHAPES = {"q": ("nq",), "v": ("nv",)}
MIXED = lw.chain(8, joint="mixed", seed=2)


def sums(model, q, v):
    """The mean velocity of all joints, taken off each: no sweep at all."""
    return v - v.sum() / model.nv


def first_joint(model, q, v):
    """What every joint feels of the first body's velocity."""
    links = evaluate(model, q)
    return links.join([b + links.split(v)[0][:1] * 0.5 for b in links.split(v)])


def leaked(model, q, v):
    """A step that looks at more than its own body."""
    links = evaluate(model, q)
    everything = v.sum()
    kept = links.tree.inward(lambda gathered, b: (gathered + everything, b * gathered), 0.0, links.split(v))
    return links.join(kept)


REFUSED = {
    "a sum over all joints": sums,
    "one joint for all": first_joint,
    "a step with all joints": leaked,
    "columns of the identity": lambda m, q, v: mass.direct(m, q),
    "columns of the inverse": lambda m, q, v: mass_inverse.inverse(m, q),
    "paths": lambda m, q, v: mass_inverse.inverse_by_paths(m, q),
    "sub-trees": lambda m, q, v: mass.symmetry_based(m, q),
    "Cholesky factors": lambda m, q, v: explicit.composite_cholesky(m, q, v, v).acceleration,
    "a product with a matrix": lambda m, q, v: mass.composite(m, q) @ v,
    "an array times a matrix": lambda m, q, v: v @ mass.composite(m, q),
    "a row of a matrix": lambda m, q, v: mass.composite(m, q)[0],
    "a number": lambda m, q, v: mass.log_determinant(m, q),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises(lw.UnrollableError, match="rolled"):
        roll(MIXED, REFUSED[name], name, SHAPES)


ROLLS = {
    "a derivative of sweeps": lambda m, q, v: along_motion(m, lambda at: mass.times(m, at, v), q, v),
    "articulated_body": lambda m, q, v: articulated_body.articulated_body(m, q, v, v).acceleration,
    "fd1": lambda m, q, v: articulated_body.fd1(m, q, v, v).acceleration,
    "fd3": lambda m, q, v: articulated_body.fd3(m, q, v, v).acceleration,
    "fd4": lambda m, q, v: articulated_body.fd4(m, q, v, v).acceleration,
    "bae_haug": lambda m, q, v: notations.NAMED["bae_haug"](m, q, v, v).acceleration,
    "composite": lambda m, q, v: mass.composite(m, q),
    "rows": lambda m, q, v: mass_inverse.inverse_by_rows(m, q),
    "scaled": lambda m, q, v: 2.0 * v + arrays.zeros((m.nv,), like=q),
}


@pytest.mark.parametrize("name", ROLLS)
def test_sweeps_and_walks_roll_without_being_listed(name):
    program = roll(MIXED, ROLLS[name], name, SHAPES)
    assert program.operations.total > 0
    assert np.prod(program.signature.shapes[0]) in (MIXED.nv, MIXED.nv**2)
