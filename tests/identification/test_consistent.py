"""Inertias of real bodies: the convex fit against a direct minimisation over what real bodies are."""

import sys

import numpy as np
import pytest
import scipy.optimize
from trees import assert_close, robot, state

import linkwise as lw
from linkwise.identification.consistent import pseudo_inertia, told_and_untold

pytest.importorskip("clarabel")


def noisy(r, samples, noise, seed=0):
    x = state(r, (samples,), seed)
    rng = np.random.default_rng(seed + 50)
    return x, r.inverse_dynamics(x.q, x.v, x.a) + noise * rng.normal(size=x.v.shape)


def eigenvalues(found):
    return np.array([np.linalg.eigvalsh(pseudo_inertia(p)) for p in found.parameters[list(found.unknowns.bodies)]])


@pytest.mark.parametrize("name", ["chain3", "panda", "small_floating", "cylindrical"])
def test_every_body_is_a_real_one(name):
    r = robot(name)
    x, tau = noisy(r, 40, 30.0)
    plain = lw.identify(r, x.q, x.v, x.a, tau, damping=True)
    assert eigenvalues(plain).min() < 0  # noise made something impossible of it
    with pytest.raises(lw.ModelError, match="consistent=True"):
        _ = plain.robot
    found = lw.identify(r, x.q, x.v, x.a, tau, damping=True, consistent=True)
    assert eigenvalues(found).min() > 0
    assert found.damping.min() >= -1e-9
    assert found.robot.mass_matrix(r.neutral()).shape == (r.nv, r.nv)
    assert_close(found.robot.inertial_parameters, found.parameters)
    assert_close(found.covariance, plain.covariance)


def test_data_that_are_consistent_stay_as_they_are():
    r = robot("chain3")
    x, tau = noisy(r, 200, 0.0)
    plain, found = (lw.identify(r, x.q, x.v, x.a, tau, noise=0.01, consistent=c) for c in (False, True))
    assert_close(found.projection @ found.values, plain.projection @ plain.values, 1e-5)


def test_it_is_the_nearest_of_all_real_bodies():
    """One body with a pose sensor's worth of data: all pseudo-inertias are LL*, which needs no bounds."""
    r = robot("free")
    body = r.bodies[-1].name
    x, tau = noisy(r, 12, 8.0, seed=4)
    plain, found = (lw.identify(r, x.q, x.v, x.a, tau, bodies=[body], noise=8.0, consistent=c) for c in (False, True))
    assert eigenvalues(plain).min() < 0 < eigenvalues(found).min()
    W, best = np.linalg.inv(np.linalg.cholesky(plain.covariance)), plain.projection @ plain.values
    rows, cols = np.tril_indices(4)

    def parameters(z):
        L = np.zeros((4, 4))
        L[rows, cols] = z
        P = L @ L.T
        J = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
        return np.array([P[3, 3], *P[:3, 3], J[0, 0], J[0, 1], J[1, 1], J[0, 2], J[1, 2], J[2, 2]])

    def cost(p):
        return float(np.sum((W @ (plain.projection @ p - best)) ** 2))

    start = np.linalg.cholesky(pseudo_inertia(r.inertial_parameters[-1]))[rows, cols]
    least = scipy.optimize.minimize(lambda z: cost(parameters(z)), start, method="BFGS", options={"gtol": 1e-9})
    assert cost(found.values) == pytest.approx(least.fun, rel=1e-3)
    assert cost(found.values) > 1e-2  # the bounds do cost something here


def test_told_and_untold_are_what_they_say(rng):
    P, scales = rng.normal(size=(4, 9)), rng.uniform(0.1, 3.0, 9)
    L, N = told_and_untold(P, scales)
    assert_close(P @ L, np.eye(4))
    assert_close(P @ N, np.zeros((4, 5)))
    assert_close((L / scales[:, None]).T @ (N / scales[:, None]), np.zeros((4, 5)))  # L is the least change


def test_without_the_solver_it_says_what_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    r = robot("chain3")
    x, tau = noisy(r, 40, 1.0)
    lw.identify(r, x.q, x.v, x.a, tau)
    with pytest.raises(lw.MissingExtraError, match=r"linkwise\[identify\]"):
        lw.identify(r, x.q, x.v, x.a, tau, consistent=True)
