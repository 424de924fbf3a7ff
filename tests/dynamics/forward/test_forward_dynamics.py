"""Forward dynamics: every method undoes inverse dynamics, on every joint kind, with forces and rotors."""

import numpy as np
import pytest
from trees import ALL, assert_close, derivative, moved, robot, state, times

import linkwise as lw

METHODS = [m for m in lw.FORWARD_METHODS if m != "armstrong"]  # which does not take every joint: test_armstrong


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ALL)
def test_undoes_inverse_dynamics(name, method):
    r = robot(name)
    s = state(r)
    tau = r.inverse_dynamics(s.q, s.v, s.a, external=s.external)
    assert_close(r.forward_dynamics(s.q, s.v, tau, external=s.external, method=method), s.a, 1e-9)


@pytest.mark.parametrize("name", ALL)
def test_solves_the_equation_of_motion(name):
    """β̇ = 𝓜⁻¹ (T − bias) with dense matrices."""
    r = robot(name)
    s = state(r)
    right = s.tau - r.bias_force(s.q, s.v, external=s.external)
    expected = np.linalg.solve(r.mass_matrix(s.q), right[..., None])[..., 0]
    assert_close(r.forward_dynamics(s.q, s.v, s.tau, external=s.external), expected, 1e-10)


@pytest.mark.parametrize("name", ["panda", "ur5", "humanoid", "quadruped", "satellite"])
def test_methods_agree_on_built_in_robots(name):
    r = robot(name)
    s = state(r, (2,))
    expected = r.forward_dynamics(s.q, s.v, s.tau)
    for method in METHODS:
        found = r.forward_dynamics(s.q, s.v, s.tau, method=method)
        assert_close(r.inverse_dynamics(s.q, s.v, found), s.tau, 1e-9, method)
        assert_close(found, expected, 1e-8, method)  # light wrists: cond 𝓜 reaches 1e5


@pytest.mark.parametrize("method", METHODS)
def test_batches_broadcast_from_any_argument(method):
    """q, v, τ and external forces each bring a batch dimension of their own."""
    r = robot("floating_rotors")
    s = state(r, ())
    rng = np.random.default_rng(1)
    shapes = {"q": (2, 1, 1, 1), "v": (3, 1, 1), "tau": (2, 1), "external": (2,)}
    q = r.random_configuration(rng, shapes["q"])
    v, tau = (rng.normal(size=(*shapes[k], r.nv)) for k in ("v", "tau"))
    f = rng.normal(size=(2, len(r.bodies), 6))
    found = r.forward_dynamics(q, v, tau, external=f, method=method)
    assert found.shape == (2, 3, 2, 2, r.nv)
    one = r.forward_dynamics(q[1, 0, 0, 0], v[2, 0, 0], tau[1, 0], external=f[1], method=method)
    assert_close(found[1, 2, 1, 1], one, 1e-9)
    for alone in ("q", "v", "tau"):
        given = {"q": s.q, "v": s.v, "tau": s.tau} | {alone: {"q": q, "v": v, "tau": tau}[alone]}
        assert r.forward_dynamics(**given, method=method).shape == (*shapes[alone], r.nv)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_do_gives_exactly_nothing(method):
    """Conjugate gradients start at the solution where T' = 0, beside a state where it is not."""
    r = robot("tree").with_gravity((0, 0, 0))
    s = state(r, (2,))
    tau = np.stack([np.zeros(r.nv), s.tau[1]])
    found = r.forward_dynamics(s.q, 0 * s.v, tau, method=method)
    assert not found[0].any()
    assert_close(times(r.mass_matrix(s.q[1]), found[1]), s.tau[1], 1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_complex_steps_give_derivatives(method):
    """∂β̇ along a change of the whole state, against differences."""
    r = robot("tree_rotors")
    s = state(r, ())
    h = 1e-30

    def run(t):
        q, v = moved(r, s, t)
        return r.forward_dynamics(q, v, (1 + t) * s.tau, method=method)

    expected = derivative(run)
    assert_close(run(1j * h).imag / h, expected, 1e-8)


def test_float_base_falls_freely():
    """A floating robot at rest, without joint forces, falls with g and keeps its shape."""
    r = robot("humanoid")
    q = r.random_configuration(3)
    a = r.forward_dynamics(q, np.zeros(r.nv), np.zeros(r.nv))
    R = r.pose(q, r.bodies[0].name)[0]
    assert_close(R @ a[3:6], r.gravity, 1e-9)
    assert_close(np.delete(a, [3, 4, 5]), np.zeros(r.nv - 3), 1e-9)
