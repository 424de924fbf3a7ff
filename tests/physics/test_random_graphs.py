"""Random trees with random loops of all kinds, against dense equations of motion with multipliers."""

import numpy as np
import pytest
from linkages import loop_between

import linkwise as lw
from linkwise.dynamics.closed import constraints
from linkwise.model.loops import TRANSMITTED

KINDS = [*TRANSMITTED, "constrains"]


@pytest.mark.parametrize("seed", range(12))
def test_against_multipliers(seed):
    rng = np.random.default_rng(seed)
    joints = ["revolute", "spherical", "free"]
    robot = lw.random_tree(12, seed=seed, floating=bool(seed % 2), branching=0.5, joints=joints)
    names = [None, *(b.name for b in robot.bodies)]
    q = robot.random_configuration(rng)
    for i in range(6):  # those that are not redundant, where they do not close
        a, b = rng.choice(len(names), size=2, replace=False)
        loop = loop_between(rng, names[a], names[b], str(rng.choice(KINDS)))
        more = robot.close(lw.Loop(*_renamed(loop, i), **_given(loop, i)))
        G = more.loop_jacobian(q, target="numpy")
        robot = more if np.linalg.svd(G, compute_uv=False)[-1] > 1e-3 else robot
    assert len(robot.loops) >= 2
    M, G = robot.mass_matrix(q, target="numpy"), robot.loop_jacobian(q, target="numpy")
    v = robot.closed_velocity(q, rng.normal(size=robot.nv), target="numpy")
    assert np.abs(G @ v).max() < 1e-9
    tau = rng.normal(size=robot.nv)
    rate = robot.configuration_rate(q, v, target="numpy")
    drift = constraints.velocity(robot, q + 1e-30j * rate, v + 0j, robot.loops).imag / 1e-30
    m = len(G)
    whole = np.block([[M, -G.T], [G, np.zeros((m, m))]])
    right = np.concatenate([tau - robot.bias_force(q, v, target="numpy"), -drift])
    expected = np.linalg.solve(whole, right)[: robot.nv]
    for method in ("articulated_body", "composite_cholesky"):
        found = robot.forward_dynamics(q, v, tau, method=method, target="numpy")
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * (1 + np.abs(expected).max()))


def _renamed(loop, i):
    return [lw.Frame(f"{f.name}_{i}", f.body, at=f.at, rpy=f.rpy) for f in (loop.frame_a, loop.frame_b)]


def _given(loop, i):
    if loop.kind == "constrains":
        return {"constrains": loop.constrains, "name": f"loop{i}"}
    return {"kind": loop.kind, "length": loop.length, "radius": loop.radius, "name": f"loop{i}"}
