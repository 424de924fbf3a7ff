"""Random trees of any shape, with any joints, floating or not, rotors or not: what holds on all of them."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from trees import assert_close, state, times

import linkwise as lw

METHODS = [m for m in lw.FORWARD_METHODS if m != "armstrong"]


@st.composite
def trees(draw):
    """A tree of 1 … 10 bodies and a state of it, well conditioned."""
    r = lw.random_tree(
        draw(st.integers(1, 10)),
        seed=draw(st.integers(0, 10_000)),
        floating=draw(st.booleans()),
        rotors=draw(st.booleans()),
        branching=draw(st.sampled_from([0.0, 0.5, 1.0])),
    )
    s = state(r, (2,), seed=draw(st.integers(0, 100)))
    assume(r.nv > 0 and np.linalg.cond(r.mass_matrix(s.q)).max() < 1e5)
    return r, s


@settings(max_examples=40)
@given(trees())
def test_all_forward_algorithms_undo_inverse_dynamics(case):
    r, s = case
    tau = r.inverse_dynamics(s.q, s.v, s.a, external=s.external)
    for method in METHODS:
        assert_close(r.forward_dynamics(s.q, s.v, tau, external=s.external, method=method), s.a, 1e-9, method)


@settings(max_examples=40)
@given(trees())
def test_mass_matrix(case):
    """Symmetric, positive definite, the same by all methods; its factors, inverse and operators agree."""
    r, s = case
    M = r.mass_matrix(s.q)
    assert np.linalg.eigvalsh(M).min() > 0
    assert_close(M, M.swapaxes(-1, -2), 1e-13)
    for method in ("symmetric", "direct"):
        assert_close(r.mass_matrix(s.q, method=method), M, 1e-12)
    factor, D = r.innovations_factors(s.q)
    assert_close(factor @ D @ factor.swapaxes(-1, -2), M, 1e-12)
    o = r.operators(s.q)
    assert_close(o.mass.dense(), M, 1e-12)
    assert_close(o.mass @ (o.mass.inv() @ s.tau), s.tau, 1e-10)
    assert_close(times(M, r.mass_matrix_inverse(s.q) @ np.ones(r.nv)), np.ones((2, r.nv)), 1e-10)


@settings(max_examples=40)
@given(trees())
def test_power_and_coriolis(case):
    """v·(𝓜a + bias) is the rate of the energy; 𝓜̇ − 2C is skew; by complex steps, exact to rounding."""
    r, s = case
    h = 1e-30
    ahead = r.integrate(s.q, 1j * h * s.v)
    rate = sum(r.energy(ahead, s.v + 1j * h * s.a)).imag / h
    T = r.inverse_dynamics(s.q, s.v, s.a)
    assert_close((T * s.v).sum(axis=-1), rate, 1e-11)
    C = r.coriolis_matrix(s.q, s.v)
    S = r.mass_matrix(ahead).imag / h - 2 * C
    assert_close(S, -S.swapaxes(-1, -2), 1e-11)
    assert_close(times(C, s.v), r.bias_force(s.q, s.v) - r.gravity_force(s.q), 1e-11)


@settings(max_examples=20)
@given(trees())
def test_tips(case):
    """J𝓜⁻¹J* over all frames; forces at the tips; velocities."""
    r, s = case
    frames = [f.name for f in r.frames]
    J = np.concatenate([r.jacobian(s.q, f) for f in frames], axis=-2)
    expected = J @ np.linalg.solve(r.mass_matrix(s.q), J.swapaxes(-1, -2))
    assert_close(r.operational_compliance(s.q, frames), expected, 1e-9)
    V = np.concatenate([r.velocity(s.q, s.v, f) for f in frames], axis=-1)
    assert_close(times(J, s.v), V, 1e-12)
    o = r.operators(s.q, frames=frames)
    assert_close(o.J.dense(), J, 1e-12)
    assert_close(o.J @ s.v, V, 1e-12)
    assert_close((o.J @ o.mass.inv() @ o.J.T).simplify().dense(), expected, 1e-9)
