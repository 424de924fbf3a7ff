"""Random configurations: the same together and one by one, and within limits."""

import numpy as np
import pytest
from trees import ALL, robot

import linkwise as lw
from linkwise.model.random_configurations import _one_by_one, _ways


@pytest.mark.parametrize("name", [*ALL, "panda", "cartpole", "hinges"])
def test_together_and_one_by_one_are_the_same(name):
    r = robot(name)
    together, alone, by_joints = (np.random.default_rng(3) for _ in range(3))
    found = r.random_configuration(together, (2, 3))
    one_by_one = [r.random_configuration(alone) for _ in range(6)]
    ways = [_ways(j.kind, r, where) for j, _, where in r.coordinates]
    assert found.shape == (2, 3, r.nq) and np.array_equal(found.reshape(6, -1), one_by_one)
    assert np.array_equal(one_by_one, _one_by_one(ways, by_joints, 6))
    assert together.random() == alone.random() == by_joints.random()  # as many numbers were drawn
    assert r.random_configuration(0, 0).shape == (0, r.nq)
    assert found.flags.c_contiguous  # kernels read them the quickest way


def test_limits_hold_also_on_one_side():
    limits = [lw.Limits(-0.2, 0.1), lw.Limits(2.0, np.inf), lw.Limits(-np.inf, -3.0), lw.Limits()]
    kinds = [lw.Revolute("x"), lw.Prismatic("y"), lw.Revolute("z"), lw.Prismatic("x")]
    joints = [lw.Joint(kind, f"j{i}", limits=x) for i, (kind, x) in enumerate(zip(kinds, limits))]
    r = lw.assemble("limited", [lw.Body(f"b{i}", j, lw.Inertia(1.0)) for i, j in enumerate(joints)])
    q = r.random_configuration(1, 500)
    low, high = np.array([-0.2, 2.0, -4.0, -1.0]), np.array([0.1, 3.0, -3.0, 1.0])
    assert (q >= low).all() and (q <= high).all()
    assert (np.ptp(q, axis=0) > 0.9 * (high - low)).all()
