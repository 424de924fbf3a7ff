"""The lemmas of the Linearized dynamics paper as formulas: on random trees and chains, every joint kind they admit."""

import numpy as np
import pytest
from trees import ALL, assert_close, robot, state

import linkwise as lw
from linkwise.algebra.linearized import FORWARD_LEMMAS, INVERSE_LEMMAS

ADMITTED = [
    name
    for name in (*ALL, "chain6", "panda", "humanoid")
    if not any(j.kind.kind == "universal" or (j.rotor and j.rotor.axis is not None) for j in robot(name).joints)
]
CHAINS = [
    lw.random_tree(5, seed=seed, joints=[kind], branching=0.0)
    for seed, kind in enumerate(("revolute", "prismatic", "helical", "spherical", "planar", "cylindrical"))
]


def geared(r):
    """The robot with a rotor that only reflects its inertia at every hinge."""
    bodies = [
        lw.Body(b.name, lw.Joint(b.joint.kind, b.joint.name, at=b.joint.placement.l, rotation=b.joint.placement.R,
                                 rotor=lw.Rotor(0.01, 3.0)), b.inertia, b.parent)
        for b in r.bodies
    ]  # fmt: skip
    return lw.assemble("geared", bodies)


@pytest.mark.parametrize("name", ADMITTED)
@pytest.mark.parametrize("lemma", INVERSE_LEMMAS)
def test_inverse_dynamics(name, lemma):
    r, s = robot(name), state(robot(name), (), seed=1)
    for mine, reference in zip(r.linearize_inverse(s.q, s.v, s.a, method=lemma), r.linearize_inverse(s.q, s.v, s.a)):
        assert_close(mine, reference, 1e-11)


@pytest.mark.parametrize("name", ADMITTED)
@pytest.mark.parametrize("lemma", [x for x in FORWARD_LEMMAS if x != "lemma_4_9"])
def test_forward_dynamics(name, lemma):
    r, s = robot(name), state(robot(name), (), seed=2)
    found = r.linearize_forward(s.q, s.v, s.tau, method=lemma)
    for mine, reference in zip(found, r.linearize_forward(s.q, s.v, s.tau, method="algorithm_4")):
        assert_close(mine, reference, 1e-9)


@pytest.mark.parametrize("r", CHAINS, ids=lambda r: r.joints[0].kind.kind)
def test_lemma_4_9_on_chains(r):
    assert r.is_chain
    s = state(r, (2,), seed=3)
    found = r.linearize_forward(s.q, s.v, s.tau, method="lemma_4_9")
    for mine, reference in zip(found, r.linearize_forward(s.q, s.v, s.tau, method="algorithm_4")):
        assert_close(mine, reference, 1e-9)


def test_lemma_4_9_refuses_trees():
    r, s = robot("quadruped"), state(robot("quadruped"), ())
    with pytest.raises(lw.NotAdmittedError, match=r"4\.9.*tree"):
        r.linearize_forward(s.q, s.v, s.tau, method="lemma_4_9")


@pytest.mark.parametrize("lemma", INVERSE_LEMMAS)
def test_reflected_rotors_only_add_to_the_mass_matrix(lemma):
    bare, r = lw.chain(5, seed=4), geared(lw.chain(5, seed=4))
    s = state(r, (), seed=4)
    found, without = (x.linearize_inverse(s.q, s.v, s.a, method=lemma) for x in (r, bare))
    assert_close(found.M, r.mass_matrix(s.q), 1e-12)
    assert_close(found.M - without.M, 0.09 * np.eye(5), 1e-12)  # 0.01 kg m² at a ratio of 3
    for mine, reference in zip(found[1:], without[1:]):
        assert_close(mine, reference, 1e-12)


@pytest.mark.parametrize("lemma", FORWARD_LEMMAS)
def test_reflected_rotors_only_change_D(lemma):
    r = geared(lw.chain(5, seed=4))
    s = state(r, (), seed=4)
    found = r.linearize_forward(s.q, s.v, s.tau, method=lemma)
    for mine, reference in zip(found, r.linearize_forward(s.q, s.v, s.tau, method="algorithm_5_ii")):
        assert_close(mine, reference, 1e-9)
    for mine, reference in zip(found, r.linearize_forward(s.q, s.v, s.tau, method="algorithm_6")):
        assert_close(mine, reference, 1e-9)


def test_one_dof_joints_read_as_printed():
    """Ψ̇ = Ḣ* and Ψ̈ = Ḧ* there, and not at a ball joint."""
    r, s = robot("hinges"), state(robot("hinges"), ())
    o = r.operators(s.q, v=s.v, a=s.a)
    assert_close(o.Psi_dot.dense(), o.H_dot.dense(), 1e-13)
    assert_close(o.Psi_ddot.dense(), o.H_ddot.dense(), 1e-12)
    r, s = robot("spherical"), state(robot("spherical"), ())
    o = r.operators(s.q, v=s.v, a=s.a)
    assert np.abs(o.Psi_dot.dense() - o.H_dot.dense()).max() > 0.1
