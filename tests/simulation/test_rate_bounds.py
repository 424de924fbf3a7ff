"""The bound of the rates that springs and dampers give a robot: it holds in every configuration, and is not far off."""

import math
from dataclasses import replace

import numpy as np
import pytest

import linkwise as lw
from linkwise.simulation.rate_bounds import EXPLICIT_UP_TO, highest_rate

HINGES = ["revolute", "prismatic", "helical"]


def fastest(r, d, k, rng):
    """The largest |λ| of [0, 1; −𝓜⁻¹K, −𝓜⁻¹D], (nv, nv) each, at some configurations."""
    r, n = getattr(r, "opened", r), r.nv
    Minv = r.mass_matrix_inverse(r.random_configuration(rng, 20), target="numpy")
    A = np.zeros((20, 2 * n, 2 * n))
    A[:, :n, n:], A[:, n:, :n], A[:, n:, n:] = np.eye(n), -Minv @ k, -Minv @ d
    return np.abs(np.linalg.eigvals(A)).max()


def geared(r, inertia):
    """The robot with rotors behind gears at its joints."""
    rotor = lw.Rotor(inertia, 20.0)
    return replace(r, bodies=tuple(replace(b, joint=replace(b.joint, rotor=rotor)) for b in r.bodies))


ROBOTS = {
    "ur5": lambda: lw.load("ur5"),
    "panda": lambda: lw.load("panda"),
    "humanoid": lambda: lw.load("humanoid"),
    "quadruped": lambda: lw.load("quadruped"),
    "four_bar": lambda: lw.load("four_bar"),
    "rotors": lambda: geared(lw.random_tree(7, seed=5, joints=HINGES), 1e-3),
    "floating": lambda: lw.random_tree(7, seed=6, joints=HINGES, floating=True),
    "coupled": lambda: _coupled(),
    **{f"tree{seed}": lambda seed=seed: lw.random_tree(8, seed=seed, joints=HINGES) for seed in range(4)},
}


def _coupled():
    r = lw.chain(4, seed=2)
    r = r.with_springs({r.joints[3].name: {"stiffness": 40.0, "damping": 0.5}})
    return r.couple(r.joints[3].name, r.joints[1].name, ratio=-1.7)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_bound_holds_anywhere_and_is_near(name):
    r = ROBOTS[name]()
    rng = np.random.default_rng(1)
    single = np.concatenate([np.full(j.kind.nv, float(j.kind.nv == 1)) for j, _, _ in r.coordinates])
    dampers, springs = single * rng.uniform(0, 3, r.nv), single * rng.uniform(0, 300, r.nv)
    own_d, own_k = (1.7**2 * x * np.diag([0, 1, 0]) if name == "coupled" else 0.0 for x in (0.5, 40.0))
    for with_d, with_k in ((1, 1), (1, 0), (0, 1)):
        d, k = with_d * dampers, with_k * springs
        found = fastest(r, np.diag(d) + own_d, np.diag(k) + own_k, rng)
        bound = highest_rate(r, d, k)
        assert found <= bound * (1 + 1e-12)
        assert bound <= 12 * found


def test_where_no_bound_is_known():
    body = lw.Inertia(1.0, [0.1, 0.0, 0.2], [0.1, 0.1, 0.1])
    ball = lw.Robot("ball", (lw.Body("ball", lw.Joint(lw.Spherical(), "ball"), body),))
    assert highest_rate(ball, 1.0, 0.0) == math.inf
    assert highest_rate(ball, 0.0, 0.0) == 0.0
    points = lw.load("double_pendulum")  # a couple turns a point as fast as one likes
    assert highest_rate(points, 1.0, 0.0) == math.inf
    flange = lw.Inertia(0.5, [0.0, 0.0, 0.1], np.diag([0.01, 0.01, 0.01]))
    spin = lw.Joint(lw.Revolute("z"), "spin", rotor=lw.Rotor(1e-4, 50.0, axis="z"))
    r = lw.Robot("gyro", (lw.Body("a", lw.Joint(lw.Revolute("x"), "x"), body), lw.Body("b", spin, flange, "a")))
    assert highest_rate(r, 1.0, 0.0) == math.inf


def test_rotors_make_it_slower_and_one_body_is_exact():
    r = lw.load("ur5")
    heavy = geared(r, 1e-3)
    assert highest_rate(heavy, 2.0, 0.0) < 0.1 * highest_rate(r, 2.0, 0.0)
    body = lw.Inertia(2.0, [0.3, 0.0, 0.0], [0.1, 0.2, 0.4])
    one = lw.Robot("one", (lw.Body("a", lw.Joint(lw.Revolute("z"), "a", damping=0.7), body),))
    assert highest_rate(one, 0.3, 0.0) == pytest.approx(1.0 / (0.4 + 2.0 * 0.09))


@pytest.mark.parametrize("method", ["semi_implicit_euler", "midpoint", "runge_kutta_4"])
def test_slow_forces_stay_explicit_and_no_others(method):
    r = lw.load("four_bar").opened
    q, v = np.full(r.nv, 0.3), np.ones(r.nv)
    edge = EXPLICIT_UP_TO / highest_rate(r, 2.0, 0.0)
    for step, slow in ((0.99 * edge, True), (1.01 * edge, False)):
        a, b = (
            lw.simulate(r, q, v, damping=2.0, step=step, steps=5, method=method, implicit=x) for x in (None, not slow)
        )
        assert np.array_equal(a.v, b.v)
        other = lw.simulate(r, q, v, damping=2.0, step=step, steps=5, method=method, implicit=slow)
        assert not np.array_equal(a.v, other.v)
    law = lambda robot, t, q, v: -2.0 * v
    a, b = (lw.simulate(r, q, v, law, step=0.99 * edge, steps=5, method=method, implicit=x) for x in (None, False))
    assert np.array_equal(a.v, b.v)


def test_friction_stops_and_varied_numbers_are_taken_where_steps_end():
    r = lw.load("four_bar").opened
    q, v = np.full(r.nv, 0.3), np.ones(r.nv)
    own = {"inertial": r.inertial_parameters}
    stops = lw.Stops(np.full(r.nv, -2.0), np.full(r.nv, 0.301), stiffness=1.0, damping=0.1)
    for options in (
        {"friction": lw.Friction(1e-3, speed=10.0)},
        {"limits": stops},
        {"damping": 1e-3, "parameters": own, "target": "cpu"},
    ):
        a, b, c = (lw.simulate(r, q, v, steps=5, implicit=x, **options) for x in (None, True, False))
        assert np.array_equal(a.v, b.v)
        assert not np.array_equal(a.v, c.v)
