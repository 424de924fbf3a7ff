"""Operational space: inertias, biases and consistent inverses against dense formulas."""

import numpy as np
import pytest
from trees import ALL, FLOATING, ROTORS, TREES, assert_close, robot, state, times

import linkwise as lw


def transpose(x):
    return x.swapaxes(-1, -2)


def stacked_jacobian(r, q, frames):
    return np.concatenate([r.jacobian(q, f) for f in frames], axis=-2)


def dense_compliance(r, q, frames):
    J = stacked_jacobian(r, q, frames)
    return J @ np.linalg.solve(r.mass_matrix(q), transpose(J))


# Robots whose tips move in all directions: Λ exists. Two frames on different branches where there are two.
FULL = {
    "panda": ["panda_hand_tcp"],
    "ur5": ["tool0"],
    "humanoid": None,
    "quadruped": ["FL_foot"],
    "arms": None,
    "big_floating_rotors": None,
    "satellite": None,
}


def frames_of(name):
    r = robot(name)
    return FULL[name] or list(r.tips[:2])


@pytest.mark.parametrize("name", ALL)
def test_compliance_of_one_frame(name):
    r = robot(name)
    q = state(r).q
    frame = r.extra_frames[-1].name
    assert_close(r.operational_compliance(q, frame), dense_compliance(r, q, [frame]), 1e-10)


@pytest.mark.parametrize("name", TREES)
def test_compliance_of_all_frames_has_the_cross_terms(name):
    """Frames on the same branch, on different ones, and on bodies that share no ancestor."""
    r = robot(name)
    q = state(r).q
    frames = [f.name for f in r.frames]
    found = r.operational_compliance(q, frames)
    expected = dense_compliance(r, q, frames)
    assert_close(found, expected, 1e-10)
    assert_close(found, transpose(found), 0.0)
    assert not found[:, :6].any()  # the world's own frame does not move


def test_bodies_without_a_common_ancestor_do_not_feel_each_other():
    r = robot("tree")
    roots = [k for k, p in enumerate(r.parents) if p < 0]
    assert len(roots) > 1
    frames = [r.bodies[k].name for k in roots[:2]]
    assert not r.operational_compliance(state(r).q, frames)[:, :6, 6:].any()


@pytest.mark.parametrize("name", FULL)
def test_inertia(name):
    r = robot(name)
    q = state(r).q
    frames = frames_of(name)
    found = r.operational_inertia(q, frames)
    C = dense_compliance(r, q, frames)
    assert found.shape == (3, 6 * len(frames), 6 * len(frames))
    assert_close(found @ C, np.broadcast_to(np.eye(C.shape[-1]), C.shape), 1e-14 * np.linalg.cond(C).max())
    assert np.linalg.eigvalsh(found).min() > 0


@pytest.mark.parametrize("name", FULL)
def test_bias(name):
    """μ = Λ(J𝓜⁻¹Cv − J̇v) and p = ΛJ𝓜⁻¹g."""
    r = robot(name)
    s = state(r)
    frames = frames_of(name)
    J, M = stacked_jacobian(r, s.q, frames), r.mass_matrix(s.q)
    drift = np.concatenate([r.jacobian_dot_v(s.q, s.v, f) for f in frames], axis=-1)
    gravity = r.gravity_force(s.q)
    coriolis = r.bias_force(s.q, s.v) - gravity
    Lambda = np.linalg.inv(dense_compliance(r, s.q, frames))
    solve = lambda x: np.linalg.solve(M, x[..., None])[..., 0]
    mu, p = r.operational_bias(s.q, s.v, frames)
    # Λ is ill conditioned for small wrists; compare what the terms do, as accelerations of the tips.
    C = dense_compliance(r, s.q, frames)
    assert_close(times(C, mu), times(J, solve(coriolis)) - drift, 1e-10)
    assert_close(times(C, p), times(J, solve(gravity)), 1e-10)
    scale = 1e-14 * np.linalg.cond(C).max()
    assert_close(mu, times(Lambda, times(J, solve(coriolis)) - drift), max(scale, 1e-9))


@pytest.mark.parametrize("name", ["panda", "humanoid", "arms"])
def test_equation_of_motion_of_the_tips(name):
    """Λ α + μ + p = F for joint forces T = J*F."""
    r = robot(name)
    s = state(r)
    frames = frames_of(name)
    J = stacked_jacobian(r, s.q, frames)
    F = np.random.default_rng(4).normal(size=(3, 6 * len(frames)))
    a = r.forward_dynamics(s.q, s.v, times(transpose(J), F))
    alpha = np.concatenate([r.acceleration(s.q, s.v, a, f) for f in frames], axis=-1)
    mu, p = r.operational_bias(s.q, s.v, frames)
    assert_close(times(r.operational_inertia(s.q, frames), alpha) + mu + p, F, 1e-10)


@pytest.mark.parametrize("name", FULL)
def test_consistent_inverse(name):
    """JJ̄ = I and 𝓜J̄Λ⁻¹ = J*."""
    r = robot(name)
    q = state(r).q
    frames = frames_of(name)
    J, inverse = stacked_jacobian(r, q, frames), r.consistent_inverse(q, frames)
    assert inverse.shape == (3, r.nv, 6 * len(frames))
    C = dense_compliance(r, q, frames)
    assert_close(J @ inverse, np.broadcast_to(np.eye(C.shape[-1]), C.shape), 1e-14 * np.linalg.cond(C).max())
    assert_close(r.mass_matrix(q) @ inverse @ C, transpose(J), 1e-10)


@pytest.mark.parametrize("name", ALL)
def test_tip_force_correction(name):
    """Δβ̇ = −𝓜⁻¹J*f, Δα = −Ω(0)f (OA (5.2), (5.3)), and it is what forward dynamics does with that force."""
    r = robot(name)
    s = state(r)
    frame = r.extra_frames[-1].name
    f = np.random.default_rng(6).normal(size=(3, 6))
    delta, tip = r.tip_force_correction(s.q, f, frame)
    J = r.jacobian(s.q, frame)
    assert_close(delta, -np.linalg.solve(r.mass_matrix(s.q), transpose(J) @ f[..., None])[..., 0], 1e-10)
    assert_close(tip, -times(r.operational_compliance(s.q, frame), f), 1e-10)
    pushed = r.forward_dynamics(s.q, s.v, s.tau, external=r.wrenches(s.q, {frame: -f}))
    assert_close(pushed - r.forward_dynamics(s.q, s.v, s.tau), delta, 1e-10)


def test_force_on_the_world_corrects_nothing():
    r = robot("floating")
    delta, tip = r.tip_force_correction(state(r).q, np.ones(6), "world")
    assert delta.shape == (3, r.nv) and tip.shape == (3, 6)
    assert not delta.any() and not tip.any()


# --- where Λ does not exist --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_too_few_joints_are_refused(dtype):
    """Five hinges leave one direction: its eigenvalue is rounding, of either sign."""
    r = robot("chain5")
    q = state(r, (50,)).q.astype(dtype)
    with pytest.raises(lw.SingularError, match="'tip' does not exist in 50 of 50 states"):
        r.operational_inertia(q, "tip")
    assert np.isfinite(r.operational_compliance(q, "tip")).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_singular_pose_is_refused_and_counted(dtype):
    """A straight chain cannot lengthen: one of two states is singular."""
    r = lw.chain(8)
    q = np.stack([np.zeros(8), np.linspace(0.3, 1.0, 8)]).astype(dtype)
    for call in (r.operational_inertia, r.consistent_inverse):
        with pytest.raises(lw.SingularError, match="in 1 of 2 states"):
            call(q, "tip")
    assert np.isfinite(r.operational_inertia(q[1], "tip")).all()


def test_the_same_frame_twice_is_refused():
    r = robot("panda")
    with pytest.raises(lw.SingularError, match="12 directions"):
        r.operational_inertia(state(r, ()).q, ["panda_hand_tcp", "flange"])


@pytest.mark.parametrize("name", ["ur5", "panda", "humanoid"])
def test_float32_is_enough_for_ordinary_robots(name):
    """Light wrists make cond Λ large in mixed units, which is no singularity."""
    r = robot(name)
    q = state(r, (20,), seed=1).q
    q = q[np.argsort(np.linalg.cond(r.operational_compliance(q, r.tips[0])))[:10]]
    found = r.operational_inertia(q.astype(np.float32), r.tips[0])
    exact = r.operational_inertia(q, r.tips[0])
    assert found.dtype == np.float32
    assert np.abs(found - exact).max() < 0.03 * np.abs(exact).max()


def test_floating_and_rotor_robots_are_among_the_cases():
    assert set(FLOATING) & set(FULL) and set(ROTORS) & set(FULL)
