"""Vectors as terms of formulas: the equations of motion typed whole, as printed, and run."""

import pickle

import numpy as np
import pytest
from trees import assert_close, robot, state

import linkwise as lw

RIGID = ["chain4", "tree", "floating", "panda", "spherical"]


def moving(name, batch=(), seed=0):
    r = robot(name)
    s = state(r, batch, seed)
    return r, s, r.operators(s.q, v=s.v, a=s.a)


@pytest.fixture(params=["numpy", "cpu"])
def target(request, monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", request.param)


@pytest.mark.parametrize("name", RIGID)
@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_equations_of_motion_as_printed(name, batch):
    """V = φ*H*θ̇, α = φ*(H*θ̈ + a + g), f = φ(Mα + b), T = Hf (UF (17), (18))."""
    r, s, o = moving(name, batch)
    assert_close((o.phi.T @ o.H.T @ o.theta_dot).value, o.V.value, 1e-12)
    assert_close((o.phi.T @ (o.H.T @ o.theta_ddot + o.a + o.g)).value, o.alpha.value, 1e-12)
    assert_close((o.phi @ (o.M @ o.alpha + o.b)).value, o.f.value, 1e-11)
    assert_close((o.H @ o.f).value, r.inverse_dynamics(s.q, s.v, s.a), 1e-11)
    assert_close(o.T.value, r.inverse_dynamics(s.q, s.v, s.a), 1e-11)
    assert o.V.value.shape == (*batch, 6 * len(r.bodies)) and o.theta_dot.value.shape == (*batch, r.nv)


@pytest.mark.parametrize("name", RIGID)
def test_velocities_are_the_catalogues(name):
    """Those of the catalogue are in world axes."""
    r, s, o = moving(name)
    seen = r.velocities(s.q, s.v)
    for k, body in enumerate(r.bodies):
        R, _ = r.pose(s.q, body.name)
        assert_close(np.concatenate([R @ o.V[k][:3], R @ o.V[k][3:]]), seen[body.name], 1e-12)
    assert_close(o.theta_dot.value, s.v, 0)
    assert_close(o.theta_ddot.value, s.a, 0)


@pytest.mark.parametrize("name", ["chain4", "tree"])
def test_forward_dynamics_typed_whole(name, target):
    """θ̈ = 𝓜⁻¹(T − Hφ(Mφ*(a + g) + b)), of any joint forces."""
    r, s, o = moving(name, (3,))
    tau = o.vector(s.tau, name="u")
    bias = o.H @ o.phi @ (o.M @ o.phi.T @ (o.a + o.g) + o.b)
    found = o.mass.inv() @ (tau - bias)
    assert str(found) == "(I - H ψ K)* D⁻¹ (I - H ψ K) (u - H φ (M φ* (a + g) + b))"
    assert_close(found.value, r.forward_dynamics(s.q, s.v, s.tau), 1e-9)
    for again in (pickle.loads(pickle.dumps(found)), o.mass.inv() @ (tau - bias)):
        assert_close(again.value, found.value, 0)


def test_classical_accelerations_move_the_same(target):
    """As JPL 88-11 prints a and b: other numbers, the same T."""
    r, s, o = moving("chain4")
    classical = (
        o.H @ o.phi @ (o.M @ o.phi.T @ (o.H.T @ o.theta_ddot + o.classical_coriolis + o.g) + o.classical_gyroscopic)
    )
    assert_close(classical.value, r.inverse_dynamics(s.q, s.v, s.a), 1e-11)
    assert np.abs(o.classical_coriolis.value - o.a.value).max() > 1e-3


def test_products_with_vectors_are_numbers(target):
    r, s, o = moving("tree")
    twice = o.theta_dot.T @ o.mass @ o.theta_dot
    assert twice.shape == (1, 1) and twice.value.shape == (1,)
    assert_close(twice.value[0], 2 * r.kinetic_energy(s.q, s.v), 1e-12)
    assert_close((o.V.T @ o.M @ o.V).value, twice.value, 1e-12)
    power = o.T.T @ o.theta_dot
    assert_close(power.value[0], r.inverse_dynamics(s.q, s.v, s.a) @ s.v, 1e-12)


def test_arrays_beside_vectors_are_vectors(target):
    _, _, o = moving("chain4")
    x = np.linspace(-1.0, 1.0, 24)
    assert_close((o.V + x).value, o.V.value + x, 1e-14)
    assert_close((x - o.V).value, x - o.V.value, 1e-14)
    assert_close((o.V - 2.0 * o.V).value, -o.V.value, 1e-14)
    assert str(o.V - o.V) == "0"
    kept = o.vector(x, "bodies")
    x[:] = 0.0
    assert np.abs(kept.value).max() == 1.0  # the caller's array is not the vector


def test_blocks_of_vectors():
    r, s, o = moving("chain4")
    assert_close(o.V[2], o.V.value[12:18], 0)
    assert_close(o.V[r.bodies[2].name], o.V[2], 0)
    assert_close(o.theta_dot[-1], s.v[-1:], 0)
    with pytest.raises(lw.InputError, match="one index"):
        o.V[1, 2]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("φ* (H* θ̈ + a + g)", lambda o: o.alpha),
        (r"\phi (M \alpha + b)", lambda o: o.f),
        ("H f", lambda o: o.T),
        ("½ θ̇* 𝓜 θ̇", lambda o: 0.5 * (o.theta_dot.T @ o.mass @ o.theta_dot)),
    ],
)
def test_typed_as_text(text, meaning):
    _, _, o = moving("chain4")
    found = lw.formula(text)(o)
    assert_close(found.value, meaning(o).value, 1e-11)
    assert lw.formula(str(found))(o) == found == lw.formula(found.latex())(o)
    assert lw.formula(text).needs_motion


def test_explained():
    _, _, o = moving("chain4")
    text = str((o.phi.T @ (o.H.T @ o.theta_ddot + o.a)).explain())
    assert "a vector of the body space" in text and "V(k) = φ*(k+1,k) V(k+1) + H*(k) θ̇(k)" in text
    assert "z(k) = H*(k) θ̈(k) + a(k)" in text and "y(k) = φ*(k+1,k) y(k+1) + z(k)" in text
    assert "Operations, starting from the state" in text


@pytest.mark.parametrize(
    ("name", "there", "absent"),
    [
        ("V", ["V(k) ="], ["a(k) =", "b(k) =", "α(k) =", "f(k) ="]),
        ("coriolis", ["V(k) =", "a(k) = V(k) × H*(k) θ̇(k)"], ["b(k) =", "α(k) ="]),
        ("classical_coriolis", ["V(k) =", "a_c(k) = [ω × ω_r;"], [" a(k) =", "b(k) ="]),
        ("alpha", ["a(k) =", "α(k) = φ*(k+1,k) α(k+1) + H*(k) θ̈(k) + a(k) + g(k)"], ["b(k) =", "f(k) ="]),
        ("T", ["b(k) =", "f(k) = φ(k,k-1) f(k-1) + M(k) α(k) + b(k)", "T(k) = H(k) f(k)"], ["a_c(k)"]),
    ],
)
def test_vectors_are_explained_by_what_they_are_made_of(name, there, absent):
    _, _, o = moving("chain4")
    text = getattr(o, name).explain().recursion
    assert all(x in text for x in there) and not any(x in text for x in absent), text


def test_what_compiled_code_does_not_vouch_for_is_said(monkeypatch):
    """A singular mass matrix: NumPy says so, or answers and is named."""
    _, s, o = moving("chain4")
    tau = o.vector(s.tau)
    found = o.mass.inv() @ tau
    code = found.binding.compile(found.expression, found.binding, "cpu")
    monkeypatch.setattr(code, "quick", lambda *arrays: None)
    monkeypatch.setattr(type(code.kernel), "run", lambda self, arrays: (None, False))
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    with pytest.warns(lw.SlowPathWarning, match="does not vouch"):
        assert_close(found.value, found.apply([1.0], target="numpy"), 1e-12)


def test_targets_of_vectors_are_looked_at():
    _, _, o = moving("chain4")
    with pytest.raises(lw.LinkwiseError, match="nonsense"):
        o.V.apply([1.0], target="nonsense")


def test_operators_pickle_after_use():
    _, _, o = moving("chain4")
    before = (o.phi.T @ o.H.T @ o.theta_dot).value
    again = pickle.loads(pickle.dumps(o))
    assert_close((again.phi.T @ again.H.T @ again.theta_dot).value, before, 0)
    mine = lw.Rule("mine", ("here",), lambda x: x.phi, lambda x: x.I + x.phi_tilde)
    rewritten = o.mass.rewrite(mine)
    assert_close(pickle.loads(pickle.dumps(rewritten)).dense(), o.mass.dense(), 1e-12)
    with pytest.raises(pickle.PicklingError, match="with_inertia"):
        pickle.dumps(o.with_inertia(o.M))


def test_identities_hold_with_vectors():
    """The two ways to write the same accelerations, on random robots."""
    report = lw.check_identity(lambda o: o.phi.T @ (o.H.T @ o.theta_dot), lambda o: o.V)
    assert report and not lw.check_identity(lambda o: o.phi.T @ o.V, lambda o: o.V)


def test_what_is_missing_is_named():
    r = robot("chain4")
    o = r.operators(r.neutral())
    with pytest.raises(lw.InputError, match="velocity"):
        assert o.V.value is None
    with pytest.raises(lw.InputError, match="acceleration"):
        assert r.operators(r.neutral(), v=np.zeros(r.nv)).alpha.value is None
    with pytest.raises(lw.SpaceError, match=r"\(\.\.\., 4\)|shape"):
        o.vector(np.ones(5))
    with pytest.raises(lw.SpaceError, match=r"has a value, an operator \.dense"):
        assert o.phi.value is None
    with pytest.raises(lw.SpaceError, match="cannot add"):
        o.phi + np.ones(3)
    coupled = r.couple(r.joints[2].name, r.joints[1].name, ratio=0.5)
    moving_one = coupled.operators(coupled.neutral(), v=np.ones(3), a=np.ones(3))
    assert_close((moving_one.phi.T @ moving_one.H.T @ moving_one.theta_dot).value, moving_one.V.value, 1e-12)
    o = moving_one
    assert_close((o.phi.T @ (o.H.T @ o.theta_ddot + o.a + o.g)).value, o.alpha.value, 1e-12)
