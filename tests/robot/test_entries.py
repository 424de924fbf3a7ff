"""Every call of the catalogue, however it is written, goes the quick way from its second time on (counted)."""

import methods
import numpy as np
import pytest

import linkwise as lw
from linkwise.robot import dispatch


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")


@pytest.fixture
def robot():
    return lw.chain(2, seed=3)


NEED_SIX_JOINTS = ("operational_inertia", "operational_inertia_derivative", "operational_bias", "consistent_inverse")


@pytest.mark.parametrize("name", NEED_SIX_JOINTS)
def test_calls_that_need_six_joints_go_the_quick_way(name, checked_calls):
    """The others are in tests/robot/test_default.py, on a robot that has two."""
    robot = lw.chain(6, seed=3)
    call, x = methods.CALLS[name], methods.inputs(robot, (3,))
    one = x.mapped(lambda y: y[0])
    for given in (x, one, x, one):
        call(robot, given)
    assert checked_calls, f"{name} is not compiled: what is it?"
    checked_calls.clear()
    found, single = call(robot, x), call(robot, one)
    assert not checked_calls, f"{name} was checked in Python again"
    for a, b in zip(found, single, strict=True):
        assert np.allclose(a[0], b, rtol=1e-9, atol=1e-9)


def test_all_calls_of_the_catalogue_are_listed():
    from linkwise.codegen.facts import catalogue

    listed = {name.partition(" ")[0] for name in methods.CALLS} | methods.APART | methods.OTHERS
    assert set(catalogue(lw.Robot)) <= listed


def test_ways_of_writing_a_call(robot, checked_calls):
    """Names in any order, options, optional arrays, targets, frames as lists: each form is quick by itself."""
    q, v, a = np.random.default_rng(0).normal(size=(3, 2))
    f = np.zeros((2, 6))
    forms = [
        lambda: robot.inverse_dynamics(q, v, a),
        lambda: robot.inverse_dynamics(a=a, q=q, v=v),
        lambda: robot.inverse_dynamics(q, v, a, external=f),
        lambda: robot.inverse_dynamics(q, v, a, method="newton_euler"),
        lambda: robot.inverse_dynamics(q, v, a, target="cpu"),
        lambda: robot.inverse_dynamics(q, v, a, method="composite_body", external=f, target="cpu"),
    ]
    expected = robot.inverse_dynamics(q, v, a, target="numpy")
    for form in forms:
        form()
        form()
        checked_calls.clear()
        assert np.allclose(form(), expected, rtol=1e-12) and not checked_calls
    assert np.allclose(robot.inverse_dynamics(q, v, a, external=None), expected) and checked_calls  # no array is none
    frames = ["link1", "link2"]
    robot.operational_compliance(q, frames)
    both = robot.operational_compliance(q, frames)
    checked_calls.clear()
    assert np.array_equal(robot.operational_compliance(q, tuple(frames)), both) and not checked_calls
    assert np.abs(robot.operational_compliance(q, frames[::-1]) - both).max() > 1e-3
    for again in range(2):  # what can be read once is read once, and is no other call than the list
        assert np.array_equal(robot.operational_compliance(q, (name for name in frames)), both), again


def test_no_array_after_one_and_one_after_none(robot):
    """``external=None`` in a call that was quick with an array, and an array in one that had none at first."""
    q, v, a = np.random.default_rng(1).normal(size=(3, 2))
    f = np.ones((2, 6))
    plain, pushed = (robot.inverse_dynamics(q, v, a, external=x, target="numpy") for x in (None, f))
    for x, expected in ((None, plain), (f, pushed), (f, pushed), (None, plain), (None, plain), (f, pushed)):
        assert np.allclose(robot.inverse_dynamics(q, v, a, external=x), expected, rtol=1e-12)


def test_a_target_that_is_named_is_kept_apart_from_the_default(robot, checked_calls, monkeypatch):
    q = np.zeros(2)
    robot.jacobian(q, "link2", target="cpu")
    robot.gravity_force(q, target="cpu")
    monkeypatch.setenv("LINKWISE_TARGET", "numpy")
    monkeypatch.setattr(dispatch, "_runner", lambda *a: pytest.fail("compiled"))
    other = lw.chain(2, seed=3)
    other.jacobian(q, "link2")
    other.gravity_force(q)


def test_quaternions_of_no_length_are_named_on_every_path():
    """By the compiled code's own guards, as by the checks in Python."""
    robot = lw.random_tree(1, seed=2).floating()
    x = methods.inputs(robot)
    bad = x.changed("q", np.zeros_like(x.q))
    asked = (
        "mass_matrix (composite)",
        "forward_dynamics (articulated_body)",
        "pose",
        "energy",
        "jacobian",
        "integrate",
    )
    asked += ("linearize_inverse (algorithm_2)", "center_of_mass", "velocities", "configuration_rate")
    for name in asked:
        call = methods.CALLS[name]
        for _ in range(2):
            call(robot, x)
            with pytest.raises(lw.InputError, match="zero length"):
                call(robot, bad)
