"""LQR and TVLQR: gains against SciPy's dense solution, stability, and motions that are led back."""

import copy
import dataclasses
import inspect
import pickle
import sys

import numpy as np
import pytest
from scipy import linalg
from trees import assert_close, robot, state

import linkwise as lw
from linkwise import InputError, LinkwiseError, NotAdmittedError
from linkwise.control import LQR, TVLQR, Steps, riccati_sweep


@pytest.fixture
def compiled(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")


def test_gain_is_that_of_the_dense_solution():
    """A and B written out for the cart-pole at its upright state, from the mass matrix and gravity."""
    r = robot("cartpole")
    law = LQR.about(r, [0, 0], state=[1, 2, 3, 4], control=0.5)
    M, m, half = r.mass_matrix([0.0, 0.0]), 0.1, 0.5
    stiffness = np.array([[0, 0], [0, m * 9.81 * half]])  # gravity tips the pole
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [np.linalg.solve(M, stiffness), np.zeros((2, 2))]])
    B = np.concatenate([np.zeros((2, 1)), np.linalg.solve(M, [[1.0], [0.0]])])
    P = linalg.solve_continuous_are(A, B, np.diag([1.0, 2, 3, 4]), [[0.5]])
    assert_close(law.K, B.T @ P / 0.5, 1e-9)
    assert_close(law.P, P, 1e-9)
    assert (law.poles.real < 0).all()


@pytest.mark.parametrize("step", [None, 0.02])
@pytest.mark.parametrize("name", ["cartpole", "ur5", "spherical", "arms"])
def test_stable_and_stationary(name, step):
    """A − BK is stable, and P obeys its Riccati equation, about states that move too."""
    r = robot(name)
    s = state(r, (), seed=2)
    q, v = (r.neutral(), np.zeros(r.nv)) if name == "cartpole" else (s.q, 0.1 * s.v)
    free = [j.name for j in r.joints if j.kind.nv] if name == "arms" else None  # thrusters on the base
    law = LQR.about(r, q, v=v, state=2.0, control=0.1, step=step, actuated=free)
    A, B, K, P, Q = law.A, law.B, law.K, law.P, 2.0 * np.eye(2 * r.nv)
    if step is None:
        assert (law.poles.real < 0).all()
        residual = A.T @ P + P @ A - P @ B @ K + Q
    else:
        assert (np.abs(law.poles) < 1).all()
        residual = A.T @ P @ (A - B @ K) + Q - P
    assert np.abs(residual).max() < 1e-6 * np.abs(P).max()


def test_about_infinity_is_refused():
    r = robot("ur5")
    for bad in ({"q": np.full(6, np.inf)}, {"v": np.full(6, np.nan)}, {"tau": np.full(6, -np.inf)}):
        with pytest.raises(InputError, match=f"{next(iter(bad))} has entries that are not finite"):
            LQR.about(r, **{"q": np.zeros(6)} | bad)
    with pytest.raises(InputError, match="q has entries that are not finite"):
        TVLQR.along(r, np.full((3, 6), np.inf), np.zeros((3, 6)), np.zeros((2, 6)), 0.01)


def test_balances_and_its_cost_to_go_falls(compiled):
    r = robot("cartpole")
    law = LQR.about(r, [0, 0], state=[1, 10, 1, 1], control=0.1)
    run = lw.simulate(r, [[0.3, 0.25], [-0.2, -0.2]], controller=law, duration=12.0, step=5e-3)
    assert np.abs(run.q[:, -1]).max() < 1e-3
    V = run.along(law.lyapunov)
    assert (np.diff(V) < 1e-9 * V[:, :1]).all()
    assert not run.tau[..., 1].any()  # nothing drives the hinge


def test_a_sampled_law_holds_its_input(compiled):
    r = robot("cartpole")
    law = LQR.about(r, [0, 0], control=0.1, step=0.05)
    run = lw.simulate(r, [0.1, 0.1], controller=law, duration=8.0, step=0.05, hold=True)
    assert np.abs(run.q[-1]).max() < 1e-3


def test_ball_joints(compiled):
    """Errors in the tangent space: any attitude of a chain of ball joints is led back."""
    r = robot("spherical")
    q = state(r, (), seed=3).q
    inertia = np.diag(r.mass_matrix(q))
    law = LQR.about(r, q, state=np.concatenate([100 * inertia, inertia]), control=1.0 / inertia)
    run = lw.simulate(r, r.integrate(q, 0.2 * np.ones(r.nv)), controller=law, duration=8.0, step=5e-3)
    assert np.abs(r.difference(q, run.q[-1])).max() < 1e-2 * 0.2


def test_compiles_and_takes_batches():
    r = robot("ur5")
    s = state(r, (4,))
    law = LQR.about(r, s.q[0])
    found = law.compile()(np.zeros((4, 1)), s.q, s.v)
    assert_close(found, law(0.0, s.q, s.v), 1e-10)
    for i in range(4):
        assert_close(law(0.0, s.q[i], s.v[i]), found[i], 1e-10)


def test_riccati_sweep_converges_to_the_algebraic_equation():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    K, P = riccati_sweep(np.tile(A, (200, 1, 1)), np.tile(B, (200, 1, 1)), np.eye(4), np.eye(2), 0.0 * np.eye(4))
    assert_close(P[0], linalg.solve_discrete_are(A, B, np.eye(4), np.eye(2)), 1e-9)
    assert K.shape == (200, 2, 4) and P.shape == (201, 4, 4)


def test_riccati_sweep_is_the_minimum():
    """x*Px is the least cost: a dense least-squares problem over all inputs agrees."""
    rng = np.random.default_rng(1)
    A, B, x0 = rng.normal(size=(5, 3, 3)), rng.normal(size=(5, 3, 2)), rng.normal(size=3)
    K, P = riccati_sweep(A, B, np.eye(3), 0.3 * np.eye(2), 2.0 * np.eye(3))

    def cost(u):
        x, total = x0, 0.0
        for a, b, w in zip(A, B, u):
            total += x @ x + 0.3 * w @ w
            x = a @ x + b @ w
        return total + 2.0 * x @ x

    x, best = x0, []
    for a, b, k in zip(A, B, K):
        best.append(-k @ x)
        x = a @ x + b @ best[-1]
    best = np.array(best)
    assert cost(best) == pytest.approx(x0 @ P[0] @ x0, rel=1e-10)
    for _ in range(20):
        assert cost(best + 1e-3 * rng.normal(size=best.shape)) > cost(best)


def swing(r, N=250, step=0.02):
    u = 3.0 * np.sin(0.1 * np.arange(N))[:, None]
    steps = Steps(r, step, method="runge_kutta_4")
    motion = steps.rollout(np.array([0.0, 3.0]), np.zeros(2), u)
    return motion.q, motion.v, u, step


def test_tracks_disturbed_starts(compiled):
    """Along a swinging cart-pole: without feedback the disturbance stays, with it nearly nothing is left."""
    r = robot("cartpole")
    q, v, u, step = swing(r)
    law = TVLQR.along(r, q, v, u, step, state=10.0, control=0.01, terminal=100.0, method="runge_kutta_4")
    start = q[0] + np.array([[0.1, 0.1], [-0.1, 0.15], [0.0, -0.2]])
    held = {"duration": 5.0, "step": step, "hold": True, "callback": True}
    run = lw.simulate(r, start, controller=law, **held)
    left = np.abs(run.q[:, -1] - q[-1]).max(axis=-1)
    alone = lw.simulate(r, start, tau=law.u @ law.S.T, step=step)
    assert (left < 0.01).all()
    assert (np.abs(alone.q[:, -1] - q[-1]).max(axis=-1) > 5 * left).all()
    exact = lw.simulate(r, q[0], controller=law, **held)
    assert_close(exact.q, q, 1e-10)


def test_goes_on_as_told():
    r = robot("cartpole")
    q, v, u, step = swing(r, N=4)
    then = LQR.about(r, [0, 0])
    law = TVLQR.along(r, q, v, u, step, method="runge_kutta_4", then=then)
    s = state(r, (3,))
    assert_close(law(1.0, s.q, s.v), then(1.0, s.q, s.v), 1e-14)
    last = TVLQR.along(r, q, v, u, step, method="runge_kutta_4")
    assert_close(last(9.0, q[-1], v[-1]), np.array([u[-1, 0], 0.0]), 1e-12)


def test_called_as_a_class_it_names_what_makes_one():
    """And what was made is still copied, pickled and changed field by field."""
    r = robot("cartpole")
    for make in (lambda: LQR(r, [0, 0]), lambda: LQR(r), LQR, lambda: LQR(r, [0, 0], state=1.0)):
        with pytest.raises(InputError, match=r"LQR\.about\(robot, q\)"):
            make()
    with pytest.raises(InputError, match=r"TVLQR\.along"):
        TVLQR(r, np.zeros((3, 2)), np.zeros((3, 2)))
    law = LQR.about(r, [0, 0])
    for other in (pickle.loads(pickle.dumps(law)), copy.copy(law), dataclasses.replace(law, step=None)):
        assert np.array_equal(other.K, law.K)
    assert list(inspect.signature(LQR).parameters)[:3] == ["robot", "q", "v"]


def test_refused(monkeypatch):
    r = robot("cartpole")
    with pytest.raises(InputError, match="nothing drives joint 'hinge'"):
        LQR.about(r, [0, 1.0])
    with pytest.raises(InputError, match="control must be positive definite"):
        LQR.about(r, [0, 0], control=0.0)
    with pytest.raises(InputError, match="4 numbers or a 4×4 matrix"):
        LQR.about(r, [0, 0], state=[1, 2])
    with pytest.raises(InputError, match="one state"):
        LQR.about(r, np.zeros((3, 2)))
    with pytest.raises(InputError, match="list of joint names"):
        LQR.about(r, [0, 0], actuated="slider")
    with pytest.raises(NotAdmittedError, match="no gain stabilises"):
        LQR.about(r, [0, 0], state=0.0, actuated=["hinge"])
    falling = lw.load("quadruped")
    with pytest.raises(InputError, match="nothing drives joint 'root_joint'"):
        LQR.about(falling, falling.neutral())
    with pytest.raises(InputError, match=r"u must have shape \(N, 1\)"):
        TVLQR.along(r, np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((2, 2)), 0.1)
    with pytest.raises(InputError, match="q and v of 4 rows"):
        TVLQR.along(r, np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((3, 1)), 0.1)
    for name in ("scipy", "scipy.linalg"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(LinkwiseError, match=r"linkwise\[control\]"):
        LQR.about(r, [0, 0])
