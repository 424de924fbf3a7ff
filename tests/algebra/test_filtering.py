"""The filter behind the mass matrix, against the dense covariance and a textbook's filter."""

import numpy as np
import pytest
from trees import assert_close, robot

import linkwise as lw
from linkwise.algebra.operators import OPERATOR_NAMES

ROBOTS = ["chain4", "tree", "floating", "panda", "spherical"]


def made(name, seed=0):
    r = robot(name)
    return r, r.random_configuration(seed), np.random.default_rng(seed).normal(size=(3, r.nv))


def dense(r, q):
    """(φMφ*, H, Γ + HφMφ*H*) from matrices."""
    o = r.operators(q)
    phi, H = o.phi.dense(), o.H.dense()
    states = phi @ o.M.dense() @ phi.T
    return states, H, H @ states @ H.T + o.rotor_inertia.dense()


def outboard(r, k):
    """Bodies strictly outboard of body k."""
    found = set()
    for j, p in enumerate(r.parents):
        if p == k or p in found:
            found.add(j)
    return sorted(found)


def rows(r, bodies):
    return [i for k in bodies for i in range(*r.v_slices[k].indices(r.nv))]


def conditional(states, H, S, Y, seen, k):
    """E[z(k) | Y of some joints] and its covariance, by the formula for normal vectors."""
    at = slice(6 * k, 6 * k + 6)
    cross = states[at] @ H.T[:, seen]
    gain = cross @ np.linalg.inv(S[np.ix_(seen, seen)])
    return Y[..., seen] @ gain.T, states[at, at] - gain @ cross.T


@pytest.mark.parametrize("name", ROBOTS)
def test_states_are_conditional_expectations(name):
    r, q, Y = made(name)
    f, (states, H, S) = r.filter(q), dense(r, q)
    for k in range(len(r.bodies)):
        before = rows(r, outboard(r, k))
        at = slice(6 * k, 6 * k + 6)
        ways = [
            (before, f.predicted(Y), f.predicted_covariance),
            (rows(r, [*outboard(r, k), k]), f.filtered(Y), f.filtered_covariance),
            (list(range(r.nv)), f.smoothed(Y), f.smoothed_covariance),
        ]
        for seen, z, covariance in ways:
            mean, P = conditional(states, H, S, Y, seen, k)
            assert_close(z[..., at], mean, 1e-8)
            assert_close(covariance[k] / np.abs(states[at, at]).max(), P / np.abs(states[at, at]).max(), 1e-8)


def test_rotors_are_noise_of_the_measurements():
    bodies, parent = [], None
    for i in range(3):
        joint = lw.Joint(lw.Revolute("xyz"[i]), at=(0.3, 0.1, 0.2), rotor=lw.Rotor(0.02, 10.0))
        bodies.append(lw.Body(f"b{i}", joint, lw.Inertia(1.0, com=(0.1, 0, 0.2), tensor=np.eye(3) * 0.1), parent))
        parent = f"b{i}"
    r = lw.assemble("geared", bodies)
    q, Y = r.random_configuration(0), np.random.default_rng(0).normal(size=(3, 3))
    f, (states, H, S) = r.filter(q), dense(r, q)
    assert_close(S, r.mass_matrix(q), 1e-12)
    for k in range(3):
        mean, P = conditional(states, H, S, Y, [0, 1, 2], k)
        assert_close(f.smoothed(Y)[:, 6 * k : 6 * k + 6], mean, 1e-9)
        assert_close(f.smoothed_covariance[k], P, 1e-9)
    assert np.cov(f.sample(40_000, seed=1)[1].T) == pytest.approx(S, rel=0.05, abs=0.05 * S.max())


@pytest.mark.parametrize("name", ["chain4", "panda"])
def test_against_a_textbook_filter(name):
    """x ← Fx + w, y = Hx: predict, update, from the tip of a chain to its base."""
    r, q, Y = made(name)
    o, f = r.operators(q), r.filter(q)
    x, P, likelihood = np.zeros(6), np.zeros((6, 6)), 0.0
    for k in reversed(range(len(r.bodies))):
        F = o.phi[k, k + 1] if k + 1 < len(r.bodies) else np.zeros((6, 6))
        x, P = F @ x, F @ P @ F.T + o.M[k]
        H, y = o.H[k], Y[0, r.v_slices[k]]
        e, S = y - H @ x, H @ P @ H.T
        gain = P @ H.T @ np.linalg.inv(S)
        assert_close(f.predicted(Y)[0, 6 * k : 6 * k + 6], x, 1e-9)
        assert_close(f.innovations(Y)[0, r.v_slices[k]], e, 1e-9)
        assert_close(f.gains[k], gain, 1e-9)
        assert_close(f.innovation_covariance[k], S, 1e-9)
        x, P = x + gain @ e, P - gain @ H @ P
        assert_close(f.filtered(Y)[0, 6 * k : 6 * k + 6], x, 1e-9)
        likelihood -= 0.5 * (e @ np.linalg.solve(S, e) + np.linalg.slogdet(S)[1] + len(e) * np.log(2 * np.pi))
    assert_close(f.log_likelihood(Y)[0], likelihood, 1e-10)


@pytest.mark.parametrize("name", ROBOTS)
def test_likelihood_is_that_of_a_normal_distribution(name):
    stats = pytest.importorskip("scipy.stats")
    r, q, Y = made(name)
    expected = stats.multivariate_normal(np.zeros(r.nv), r.mass_matrix(q)).logpdf(Y)
    assert_close(r.filter(q).log_likelihood(Y), expected, 1e-9)


def test_samples_have_the_covariances():
    r, q, _ = made("chain4")
    z, Y = r.filter(q).sample(60_000, seed=3)
    assert z.shape == (60_000, 24) and Y.shape == (60_000, 4)
    M = r.mass_matrix(q)
    scale = np.sqrt(np.diag(M))
    assert np.abs(np.cov(Y.T) - M).max() < 0.05 * (scale[:, None] * scale).max()
    white = r.filter(q).innovations(Y)
    found = np.corrcoef(white.T)
    assert np.abs(found - np.eye(4)).max() < 0.02
    assert np.array_equal(r.filter(q).sample(5, seed=3)[1], r.filter(q).sample(5, seed=3)[1])


def test_batches_of_configurations():
    r = robot("tree")
    q, Y = r.random_configuration(0, 4), np.random.default_rng(1).normal(size=(4, r.nv))
    f = r.filter(q)
    for i in range(4):
        one = r.filter(q[i])
        assert_close(f.smoothed(Y)[i], one.smoothed(Y[i]), 1e-10)
        assert_close(f.smoothed_covariance[i], one.smoothed_covariance, 1e-10)
        assert_close(f.log_likelihood(Y)[i], one.log_likelihood(Y[i]), 1e-10)


def test_it_says_what_it_is():
    r, q, _ = made("panda")
    assert repr(r.filter(q)) == "<filter of robot 'panda': 7 states, 7 measurements>"


def test_the_dictionary_names_operators():
    terms = robot("chain4").filter(np.zeros(4)).dictionary
    assert {t.operator for t in terms} <= set(OPERATOR_NAMES)
    assert len({t.estimation for t in terms}) == len(terms) == 12


def test_what_has_no_such_filter_is_refused():
    spinning = lw.Joint(lw.Revolute("z"), rotor=lw.Rotor(0.02, 10.0, axis="z"))
    inertia = lw.Inertia(1.0, com=(0.1, 0, 0), tensor=np.eye(3) * 0.1)
    r = lw.assemble("gyro", [lw.Body("a", spinning, inertia), lw.Body("b", spinning, inertia, "a")])
    with pytest.raises(lw.NotAdmittedError, match="turn with their parents"):
        r.filter([0.0, 0.0])
    c = robot("chain4")
    coupled = c.couple(c.joints[2].name, c.joints[1].name, ratio=0.5)
    with pytest.raises(lw.NotAdmittedError, match="one node"):
        coupled.filter(coupled.neutral())
    with pytest.raises(lw.InputError, match="count"):
        c.filter(c.neutral()).sample(0)


def test_links_without_mass_are_sampled():
    light = lw.Body("light", lw.Fixed(), lw.Inertia(), "heavy")
    r = lw.assemble("r", [lw.Body("heavy", lw.Revolute("z"), lw.Inertia(1.0, tensor=np.eye(3) * 0.1)), light])
    z, Y = r.filter([0.1]).sample(20_000, seed=0)
    assert np.abs(z[:, 6:]).max() == 0 and np.var(Y) == pytest.approx(0.1, rel=0.05)
