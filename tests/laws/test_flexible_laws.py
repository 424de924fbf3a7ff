"""Operators of trees with flexible bodies: points and nodes of a body as one node, and all laws as ever."""

from functools import cache

import numpy as np
import pytest
from flexible_bodies import random_flexible
from methods import inputs

import linkwise as lw

RULES = {r.name: r for r in lw.identities()}
NEEDS_A_TIP = {"lyapunov", "articulated_lyapunov"}  # their sides take a covariance


@cache
def case():
    """(robot, state, operators) of a free-flying tree: a flexible body, another on one of its nodes, a rigid one."""
    rng = np.random.default_rng(5)
    first, second = (random_flexible(rng, n, points=4).normal_modes() for n in (2, 1))
    box = lw.Inertia.box(0.7, (0.1, 0.2, 0.3), at=(0.05, 0.02, 0.1))
    bodies = [
        lw.Body("root", lw.Free(), first),
        lw.Body("left", lw.Revolute("y"), second, "root.side"),
        lw.Body("right", lw.Revolute("z"), box, "root.tip"),
    ]
    robot = lw.assemble("flexible", bodies)
    x = inputs(robot, seed=1)
    return robot, x, robot.operators(x.q, v=x.v, a=x.a)


def test_identities_hold():
    _, _, op = case()
    held = [name for name, rule in RULES.items() if rule.admits(op) and name not in NEEDS_A_TIP]
    assert len(held) >= 126  # others are of constant joint maps, of φ⁻¹, or of single bodies, which nodes have not
    worst = {}
    for name in held:
        left, right = (side.dense() for side in RULES[name].sides(op))
        worst[name] = np.abs(left - right).max() / (1 + np.abs(right).max())
    assert max(worst.values()) < 1e-10, sorted(worst.items(), key=lambda x: -x[1])[:3]


def test_identities_that_do_not_hold_are_refused_by_name():
    _, _, op = case()
    refused = [rule for rule in RULES.values() if not rule.admits(op)]
    assert len(refused) >= 40
    assert all(repr(rule.name) in rule.refusal(op) for rule in refused)


def test_formulas_of_the_papers():
    """𝓜 = HφMφ*H*, its factors and its inverse, without forming a matrix."""
    robot, x, op = case()
    mass = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T
    dense = robot.mass_matrix(x.q)
    np.testing.assert_allclose(mass.dense(), dense, atol=1e-12)
    np.testing.assert_allclose(mass @ x.v, dense @ x.v, atol=1e-12)
    np.testing.assert_allclose(mass.inv() @ x.tau, np.linalg.solve(dense, x.tau), rtol=1e-9, atol=1e-9)
    unit = np.eye(robot.nv) + (op.H @ op.phi @ op.K).dense()
    np.testing.assert_allclose(unit @ op.D.dense() @ unit.T, dense, atol=1e-12)
    back = np.eye(robot.nv) - (op.H @ op.psi @ op.K).dense()
    np.testing.assert_allclose(back @ unit, np.eye(robot.nv), atol=1e-12)


@pytest.mark.parametrize("letter", ["phi", "psi", "M", "P"])
def test_a_flexible_body_is_one_block(letter):
    """Six rows per point and node of the body, one after another."""
    robot, _, op = case()
    assert getattr(op, letter).dense().shape == (6 * len(robot.bodies),) * 2
    assert op.H.dense().shape == (robot.nv, 6 * len(robot.bodies))
