"""Limits with known answers: pendulums in closed form, locked joints, welded payloads, definiteness."""

import numpy as np
import pytest
from trees import ALL, ROTORS, TREES, assert_close, free_motion, robot, state

import linkwise as lw

ROTORLESS = [name for name in ALL if name not in ROTORS]


# --- closed forms ------------------------------------------------------------------------------------


def test_simple_pendulum():
    """(I + m l²) θ̈ = τ − m g l sin θ."""
    m, l, I, g = 2.0, 0.7, 0.3, 9.81
    r = lw.assemble("p", [lw.Body("bob", lw.Revolute("y"), lw.Inertia(m, (0, 0, -l), (0.4, I, 0.2)))])
    for q, v, tau in ((0.0, 0.0, 0.0), (0.4, 1.0, 0.0), (-2.0, 3.0, 5.0)):
        expected = (tau - m * g * l * np.sin(q)) / (I + m * l * l)
        for method in lw.FORWARD_METHODS:
            assert_close(r.forward_dynamics([q], [v], [tau], method=method), [expected], 1e-13, method)
        kinetic, potential = r.energy([q], [v])
        assert_close(kinetic, 0.5 * (I + m * l * l) * v * v, 1e-13)
        assert_close(potential, -m * g * l * np.cos(q), 1e-12)


def test_small_swings_have_the_known_period():
    """θ(t) = θ₀ cos ωt with ω² = m g l / (I + m l²), up to θ₀²."""
    r = lw.assemble("p", [lw.Body("bob", lw.Revolute("y"), lw.Inertia.point(1.0, (0, 0, -1.0)))])
    quarter = 0.5 * np.pi / np.sqrt(9.81)
    q, v = free_motion(r, np.array([1e-3]), np.zeros(1), np.zeros(1), quarter, 50)
    assert abs(q[0]) < 1e-8 and abs(v[0] + 1e-3 * np.sqrt(9.81)) < 1e-8


def test_double_pendulum():
    """Point masses: the textbook mass matrix and bias, angles relative."""
    m1, m2, l1, l2, g = 1.3, 0.7, 0.9, 0.6, 9.81
    bodies = [
        lw.Body("one", lw.Revolute("y"), lw.Inertia.point(m1, (0, 0, -l1))),
        lw.Body("two", lw.Joint(lw.Revolute("y"), at=(0, 0, -l1)), lw.Inertia.point(m2, (0, 0, -l2)), "one"),
    ]
    r = lw.assemble("double", bodies)
    q, v = np.array([0.4, -1.1]), np.array([0.8, 1.7])
    c, s = np.cos(q[1]), np.sin(q[1])
    M12 = m2 * l2 * l2 + m2 * l1 * l2 * c
    M = [[(m1 + m2) * l1 * l1 + m2 * l2 * l2 + 2 * m2 * l1 * l2 * c, M12], [M12, m2 * l2 * l2]]
    h = m2 * l1 * l2 * s
    low = m2 * g * l2 * np.sin(q.sum())
    bias = [-h * (2 * v[0] * v[1] + v[1] ** 2) + (m1 + m2) * g * l1 * np.sin(q[0]) + low, h * v[0] ** 2 + low]
    assert_close(r.mass_matrix(q), M, 1e-13)
    assert_close(r.bias_force(q, v), bias, 1e-13)


def test_slider_on_a_turntable():
    """Coriolis 2ω ṙ and centrifugal ω² r (the factor 2 of math notes 16.5)."""
    bodies = [
        lw.Body("table", lw.Revolute("z"), lw.Inertia(1.0, (0, 0, 0), (1, 1, 2))),
        lw.Body("slider", lw.Prismatic("x"), lw.Inertia.point(0.5), "table"),
    ]
    r = lw.assemble("turntable", bodies)
    x, w, rate = 0.8, 3.0, 0.4
    T = r.inverse_dynamics([0.2, x], [w, rate], [0.0, 0.0])
    assert_close(T, [2 * 0.5 * x * w * rate, -0.5 * x * w * w], 1e-13)


def test_free_rigid_body_obeys_eulers_equations():
    I = np.array([0.3, 0.5, 0.7])
    r = lw.assemble("stone", [lw.Body("stone", lw.Free(), lw.Inertia(2.0, (0, 0, 0), I))], gravity=(0, 0, 0))
    s = state(r, ())
    w, f = s.v[:3], s.tau
    expected = np.concatenate([(f[:3] - np.cross(w, I * w)) / I, f[3:] / 2.0 - np.cross(w, s.v[3:])])
    assert_close(r.forward_dynamics(s.q, s.v, f), expected, 1e-13)


def test_motor_behind_a_gear():
    """A gyroscope on a gimbal: momentum γIβ, turned at ω about a cross axis, asks the moment ω × γIβ."""
    rotor = lw.Rotor(1e-3, 30.0, axis="x")
    flat = lw.Inertia(1.0, (0, 0, 0), (0.1, 0.1, 0.1))
    bodies = [
        lw.Body("frame", lw.Spherical(), flat),
        lw.Body(
            "wheel",
            lw.Joint(lw.Revolute("x"), rotor=rotor),
            lw.Inertia(0.1, (0, 0, 0), (0.02, 0.02, 0.02)),
            "frame",
        ),
    ]
    r = lw.assemble("gyro", bodies, gravity=(0, 0, 0))
    w, spin = np.array([0.0, 0.0, 2.0]), 5.0
    T = r.inverse_dynamics(r.neutral(), [*w, spin], np.zeros(4))
    momentum = np.array([30.0 * 1e-3 * spin + 0.02 * spin, 0, 0])
    assert_close(T[:3], np.cross(w, momentum), 1e-13)
    assert_close(T[3], 0.0, 1e-13)


# --- locked and welded -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROTORLESS)
def test_locking_all_joints_but_one_leaves_the_composite_body(name):
    """Then D = P's share = H R H*: the diagonal block of 𝓜 (math notes 15)."""
    r = robot(name)
    s = state(r, ())
    M = r.mass_matrix(s.q)
    for k, joint in enumerate(r.joints):
        if joint.kind.nv == 0:
            continue
        locked = r.lock([j.name for j in r.joints if j is not joint], q=s.q)
        own = r.v_slices[k]
        assert_close(locked.mass_matrix(s.q[r.q_slices[k]]), M[own, own], 1e-11)


@pytest.mark.parametrize("name", TREES)
def test_locked_joints_are_driven_with_zero_acceleration(name):
    """A robot with locked joints moves as the whole one does with these held still, rotors and all."""
    r = robot(name)
    s = state(r, ())
    held = [j.name for j in r.joints[1::2] if j.kind.nv]
    keep = [k for k, j in enumerate(r.joints) if j.name not in held]
    free_v = np.concatenate([np.arange(r.nv)[r.v_slices[k]] for k in keep])
    free_q = np.concatenate([np.arange(r.nq)[r.q_slices[k]] for k in keep])
    v = np.zeros(r.nv)
    v[free_v] = s.v[free_v]
    a, _ = r.hybrid_dynamics(s.q, v, np.zeros(r.nv), s.tau, held)
    locked = r.lock(held, q=s.q)
    assert len(held) >= 2
    assert_close(locked.forward_dynamics(s.q[free_q], v[free_v], s.tau[free_v]), a[free_v], 1e-9)


@pytest.mark.parametrize("name", ["panda", "arms", "tree_rotors"])
def test_a_welded_payload_is_a_body_on_a_fixed_joint(name):
    r = robot(name)
    s = state(r)
    body = r.bodies[-1].name
    load = lw.Inertia(1.7, (0.1, 0.2, -0.1), np.diag([0.03, 0.04, 0.05]))
    at, rpy = (0.2, -0.1, 0.3), (0.3, 0.2, -0.4)
    welded = r.weld(body, load, at=at, rpy=rpy)
    extra = lw.Body("load", lw.Joint(lw.Fixed(), at=at, rpy=rpy), load, body)
    bolted = lw.assemble("bolted", [*r.bodies, extra], r.extra_frames, gravity=r.gravity)
    expected = bolted.inverse_dynamics(s.q, s.v, s.a)
    assert_close(welded.inverse_dynamics(s.q, s.v, s.a), expected, 1e-12)
    assert_close(welded.forward_dynamics(s.q, s.v, s.tau), bolted.forward_dynamics(s.q, s.v, s.tau), 1e-9)
    assert np.abs(expected - r.inverse_dynamics(s.q, s.v, s.a)).max() > 1e-2


@pytest.mark.parametrize("name", TREES)
def test_merging_fixed_bodies_changes_nothing(name):
    r = robot(name)
    s = state(r)
    assert_close(r.merge_fixed().inverse_dynamics(s.q, s.v, s.a), r.inverse_dynamics(s.q, s.v, s.a), 1e-12)


# --- definiteness ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_articulated_inertias_lie_between_nothing_and_the_composite_body(name):
    """0 ⪯ P⁺ ⪯ P ⪯ R, D ≻ 0, P ≻ 0 (math notes 15); gyroscopic rotors tie a body to its parent's motion."""
    r = robot(name)
    s = state(r)
    x = r.forward_quantities(s.q, s.v, s.tau)
    R = r.operators(s.q).R.blocks
    gyro = any(j.rotor is not None and j.rotor.axis is not None for j in r.joints)
    for k, body in enumerate(r.bodies):
        P, P_plus, D = x["P"][k], x["P_plus"][k], x["D"][k]
        assert np.linalg.eigvalsh(P).min() > 0, body.name
        if D.shape[-1]:
            assert np.linalg.eigvalsh(D).min() > 0, body.name
        if not gyro:
            size = np.abs(P).max()
            assert np.linalg.eigvalsh(P_plus).min() > -1e-12 * size, body.name
            assert np.linalg.eigvalsh(P - P_plus).min() > -1e-12 * size, body.name
            assert np.linalg.eigvalsh(R[k].matrix - P).min() > -1e-12 * size, body.name


@pytest.mark.parametrize("name", ROTORLESS)
def test_free_joints_hide_what_hangs_on_them(name):
    """P⁺H* = 0: across a joint nothing resists its own directions."""
    r = robot(name)
    s = state(r)
    P_plus = r.forward_quantities(s.q, s.v, s.tau)["P_plus"]
    for joint, own, P in zip(r.joints, r.q_slices, P_plus):
        H_star = joint.kind.map(s.q[:, own])
        assert np.abs(P @ H_star).max(initial=0.0) < 1e-11


@pytest.mark.parametrize("name", ALL)
def test_determinant_is_the_product_of_the_pivots(name):
    r = robot(name)
    q = state(r).q
    D = r.innovations_factors(q)[1]
    blocks = [np.linalg.slogdet(D[:, own, own])[1] for own in r.v_slices]
    assert_close(np.linalg.slogdet(r.mass_matrix(q))[1], sum(blocks), 1e-11)
