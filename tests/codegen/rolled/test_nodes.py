"""Loops over nodes (flexible bodies, coupled joints) against NumPy, and how nodes share them."""

import warnings

import numpy as np
import pytest

import linkwise as lw
from codegen.rolled.test_rolled import called
from helpers.flexible_bodies import beam, flexible_arm
from helpers.node_robots import BOX, alternating, bend, fingers, hung, on_two_ports, stages
from linkwise.codegen import thresholds
from linkwise.codegen.facts import catalogue
from linkwise.codegen.pipeline import compile_job, method_job
from linkwise.codegen.runtime.rolled_kernel import RolledKernel

ROLLED = [name for name, facts in catalogue(lw.Robot).items() if facts.rolls and not facts.rolls_with]
ROBOTS = {
    "flexible chain": lambda: flexible_arm(4, beam(2)),
    "one mode": lambda: flexible_arm(3, beam(1)),
    "rigid links between": alternating,
    "two ports": on_two_ports,
    "differentials": stages,
    "cams with rotors": lambda: stages(2, bend, lw.Rotor(0.02, 3.0)),
    "fingers": fingers,
}
HEAVY = ("forward_dynamics_hvp", "linearize_forward", "forward_dynamics_sensitivity")


def states(robot, name, rng):
    """Arguments of two states."""
    needed = getattr(lw.Robot, name).facts.needed
    given = [robot.random_configuration(rng, (2,)) if a == "q" else rng.normal(size=(2, robot.nv)) for a in needed]
    return dict(zip(needed, given))


@pytest.mark.parametrize(
    ("robot", "name"),
    [(r, n) for i, r in enumerate(ROBOTS) for k, n in enumerate(ROLLED) if (i + k) % 3 == 0 or n in HEAVY],
)
def test_loops_over_nodes_agree_with_numpy(robot, name, rng):
    r = ROBOTS[robot]()
    given = states(r, name, rng)
    kernel = compile_job(method_job(r, getattr(lw.Robot, name), None, {}, rolled=True))
    assert isinstance(kernel, RolledKernel)
    expected, found = getattr(r, name)(**given, target="numpy"), kernel(*given.values())
    for x, y in [(expected, found)] if isinstance(found, np.ndarray) else zip(expected, found):
        assert x.shape == y.shape
        assert np.abs(x - y).max() <= 1e-12 * np.abs(x).max(initial=1e-9)


@pytest.mark.parametrize(
    "name", ["linearize_forward", "coriolis_matrix", "inverse_dynamics_regressor", "mass_factor_rate"]
)
def test_code_does_not_grow_with_the_chain(name, monkeypatch):
    """And no robot of the kind is too long for it."""
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    lengths = []
    for n in (6, 60):
        kernel = compile_job(method_job(flexible_arm(n, beam(3)), getattr(lw.Robot, name), None, {}, rolled=True))
        lengths.append(kernel.length)
    assert lengths[0] == lengths[1]


def test_what_must_hold_of_one_class_is_asked_of_no_other(rng):
    """The frame of a flexible link has no mass, and all that its joint carries comes from outboard: nothing does at the
    tip of a class that shares the sweep. A joint that nothing resists is still found."""
    arm = flexible_arm(3, beam(2))
    q, v, tau = states(arm, "forward_dynamics", rng).values()
    kernel = arm.compile("forward_dynamics", rolled=True)
    assert np.isfinite(kernel(q, v, tau)).all()
    loose = hung([None, "b0", "b1"], [(lw.Revolute("y"), (0, 0, 0), x) for x in (BOX, beam(2), lw.Inertia(0.0))])
    with pytest.raises(lw.SingularError, match="b2"):
        loose.forward_dynamics(*[np.zeros(loose.nv)] * 3, target="cpu")


def test_long_robots_have_loops_and_short_ones_none():
    assert not isinstance(called(flexible_arm(2, beam(2)), "forward_dynamics"), RolledKernel)
    for name in ("forward_dynamics", "linearize_forward"):
        assert isinstance(called(flexible_arm(60, beam(6)), name), RolledKernel)


def test_other_targets_say_what_loops_know():
    arm = flexible_arm(2, beam(1))
    with pytest.raises(
        lw.InputError, match=r"flexible bodies, whose points .*machine code alone, and not with target='cuda'"
    ):
        arm.compile("forward_dynamics", target="cuda", rolled=True)


def test_other_targets_say_once_that_long_code_takes_long(monkeypatch):
    """Loops over nodes are machine code's; of rigid robots and of what was asked for so nothing is said."""
    monkeypatch.setattr(thresholds, "CUDA_LONG", 1_000)
    monkeypatch.setattr(thresholds, "JAX_LOOPS_FROM", 1_000)
    arm = flexible_arm(2, beam(1))
    for target in ("cuda", "jax"):
        with pytest.warns(
            lw.SlowPathWarning, match=r"gravity_force of 'arm2' .* flexible bodies.*target=\"cpu\""
        ) as said:
            arm.compile("gravity_force", target=target)
        assert len(said) == 1 and said[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            arm.compile("gravity_force", target=target, rolled=False)
            lw.chain(3).compile("gravity_force", target=target)
