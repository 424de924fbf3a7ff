"""Robots with other numbers than their bodies' own: what results depend on is theirs, and nobody else can change it."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import linkwise as lw
from linkwise.interop import pinocchio as interop


def scaled(robot, factor):
    """A clone whose inertias are multiplied."""
    return robot.with_constants(
        [replace(c, M=type(c.M)(factor * c.M.m, factor * c.M.h, factor * c.M.J)) for c in robot.constants()]
    )


def test_gravity_is_a_copy():
    arm, g = lw.load("ur5"), np.array([0.0, 0.0, -1.0])
    clone = arm.with_constants(arm.constants(), gravity=g)
    key = clone.fingerprint
    g[2] = -100.0
    assert clone.gravity.tolist() == [0.0, 0.0, -1.0] and g.flags.writeable
    assert clone == arm.with_constants(arm.constants(), gravity=[0, 0, -1]) and key == clone.fingerprint


POISON = """
import sys, numpy as np, linkwise as lw
arm, q = lw.load("ur5"), np.full(6, 0.3)
g = np.array([0.0, 0.0, -1.0])
clone = arm.with_constants(arm.constants(), gravity=g)
clone.fingerprint
if sys.argv[1] == "change":
    g[2] = -100.0
print(clone.gravity_force(q)[1])
"""


def test_arrays_that_change_later_leave_the_cache_as_it_was(tmp_path):
    environment = {**os.environ, "LINKWISE_CACHE": str(tmp_path), "LINKWISE_TARGET": "cpu"}
    found = [
        subprocess.run(
            [sys.executable, "-c", POISON, how], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for how in ("change", "leave")
    ]
    assert found[0] == found[1]


def test_numbers_are_copies_of_views_too():
    arm = lw.load("ur5")
    table = np.stack([np.array(c.M.J) for c in arm.constants()])
    clone = arm.with_constants([replace(c, M=type(c.M)(c.M.m, c.M.h, table[i])) for i, c in enumerate(arm.constants())])
    q = np.full(6, 0.3)
    before = clone.mass_matrix(q, target="numpy")
    table *= 3.0  # still the caller's to change
    assert np.array_equal(clone.mass_matrix(q, target="numpy"), before)
    assert np.allclose(clone.mass_matrix(q, target="cpu"), before, rtol=1e-13)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_masses_are_the_clones_own(target):
    arm, q = lw.load("ur5"), np.full(6, 0.3)
    heavy = scaled(arm, 2.0)
    assert heavy.total_mass == pytest.approx(2.0 * arm.total_mass)
    J = arm.center_of_mass_jacobian(q, target="numpy")
    assert np.allclose(heavy.center_of_mass_jacobian(q, target=target), J, rtol=1e-13)


def test_masses_are_those_of_the_parameters():
    arm, q = lw.load("ur5"), np.full((3, 6), 0.3)
    kernel = arm.compile("center_of_mass_jacobian", parameters=["inertial"])
    doubled = kernel(q, 2.0 * arm.inertial_parameters.ravel())
    assert np.allclose(doubled, arm.center_of_mass_jacobian(q, target="numpy"), rtol=1e-12)


def test_what_reads_bodies_refuses_clones(tmp_path):
    heavy = scaled(lw.load("ur5"), 2.0)
    for use in (
        lambda: lw.chain(1).attach(heavy, "tip", prefix="x_"),
        heavy.to_urdf,
        lambda: lw.save_urdf(heavy, tmp_path / "heavy.urdf"),
        lambda: interop.to_pinocchio(None, heavy),
        lambda: lw.grasp([heavy], lw.Inertia.box(1.0, (0.1, 0.1, 0.1)), [lw.Contact(heavy.tips[0], lw.Frame("side"))]),
    ):
        with pytest.raises(lw.ModelError, match="other numbers than its bodies' own"):
            use()
    assert not list(tmp_path.iterdir())


def test_operators_keep_the_state_they_were_made_at():
    arm, q, x = lw.load("ur5"), np.full(6, 0.3), np.ones(6)
    op = arm.operators(q)
    before = op.mass @ x
    q[:] = 9.0
    assert np.array_equal(op.mass @ x, before)


def test_gravity_that_is_no_numbers_is_refused():
    r = lw.chain(1)
    with pytest.raises(lw.InputError, match="gravity must be real numbers"):
        r.with_constants(r.constants(), gravity=object())
