"""Operators that know velocities: what they say about rates, checked by differentiating the others."""

import numpy as np
import pytest
from operator_zoo import LEAVES, operators
from trees import assert_close, robot, state

import linkwise as lw

STEP = 1e-30
MOTION = [
    "V_tilde",
    "F",
    "H_dot",
    "H_ddot",
    "Psi_dot",
    "Psi_ddot",
    "M_hat",
    "F_script",
    "P_ring",
    "Pi_dot",
    "R_hat",
    "P_hat",
    "G_hat",
]
HINGES = [lw.random_tree(6, seed=9, joints=["revolute", "prismatic", "helical"]), robot("chain6")]
ROBOTS = [robot("tree"), robot("arms"), *HINGES]


def along(r, s, read):
    """d/dt of an operator's matrix, in link frames, while the robot moves with v: a complex step."""
    ahead = r.operators(r.integrate(s.q, 1j * STEP * s.v))
    return read(ahead).dense().imag / STEP


@pytest.mark.parametrize("r", ROBOTS, ids=lambda r: r.name)
def test_edges_turn_with_the_joints(r):
    """E_φ° = E_φF (DD Table 4)."""
    s = state(r, ())
    o = r.operators(s.q, v=s.v)
    assert_close(along(r, s, lambda x: x.E_phi), (o.E_phi @ o.F).dense(), 1e-12)


@pytest.mark.parametrize("r", ROBOTS, ids=lambda r: r.name)
def test_propagation_rate(r):
    """φ° = φE_φFφ."""
    s = state(r, ())
    o = r.operators(s.q, v=s.v)
    assert_close(along(r, s, lambda x: x.phi), (o.phi @ o.E_phi @ o.F @ o.phi).dense(), 1e-11)


@pytest.mark.parametrize("r", ROBOTS, ids=lambda r: r.name)
def test_articulated_inertia_rate(r):
    """P° of DD Algorithm 6.1 is the derivative of P(k) in its own body's axes."""
    s = state(r, ())
    o = r.operators(s.q, v=s.v)
    assert_close(along(r, s, lambda x: x.P), o.P_ring.dense(), 1e-11)


@pytest.mark.parametrize("r", ROBOTS, ids=lambda r: r.name)
def test_velocities(r):
    """Ṽ(k) x = V(k) × x with the body's velocity in its own axes."""
    s = state(r, ())
    o = r.operators(s.q, v=s.v)
    blocks = o.V_tilde.blocks
    for k, body in enumerate(r.bodies):
        w, v = np.split(r.velocity(s.q, s.v, body.name, axes="local"), 2)
        x = np.arange(1.0, 7.0)
        expected = np.concatenate([np.cross(w, x[:3]), np.cross(v, x[:3]) + np.cross(w, x[3:])])
        assert_close(blocks[k] @ x, expected, 1e-12)


@pytest.mark.parametrize("r", HINGES, ids=lambda r: r.name)
def test_coriolis_matrix_from_operators(r):
    """C = Hφ[M̂φ*H* + Mφ*Ḣ*] (dynamics/coriolis.py, LD Lemma 3.1)."""
    s = state(r, ())
    o = r.operators(s.q, v=s.v)
    C = o.H @ o.phi @ (o.M_hat @ o.phi.T @ o.H.T + o.M @ o.phi.T @ o.H_dot)
    assert_close(C.dense(), r.coriolis_matrix(s.q, s.v), 1e-12)
    assert_close(C @ s.v, r.with_gravity((0, 0, 0)).bias_force(s.q, s.v), 1e-12)


def test_they_ask_for_a_velocity():
    r = robot("chain4")
    still, moving = r.operators(r.neutral()), r.operators(r.neutral(), v=np.ones(4))
    assert set(MOTION) <= set(LEAVES)
    for name in ("V_tilde", "F", "H_dot", "M_hat"):
        with pytest.raises(lw.InputError, match="needs a velocity.*v=v"):
            getattr(still, name) @ np.ones(getattr(still, name).cols.dimension)
        assert np.isfinite(getattr(moving, name).dense()).all()
    with pytest.raises(lw.InputError, match="needs an acceleration"):
        moving.H_ddot @ np.ones(4)
    with pytest.raises(lw.InputError, match="v must have shape"):
        r.operators(r.neutral(), v=np.ones(3))


def test_batches_of_velocities_beside_one_configuration():
    o = operators("chain4")
    r = o.model
    v = np.random.default_rng(0).normal(size=(5, 4))
    batch = r.operators(o.q, v=v)
    found = batch.V_tilde @ np.ones(24)
    assert found.shape == (5, 24)
    assert_close(found[3], r.operators(o.q, v=v[3]).V_tilde @ np.ones(24), 1e-13)
