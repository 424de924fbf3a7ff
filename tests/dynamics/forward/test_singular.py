"""A joint that nothing resists: every forward method says so."""

import numpy as np
import pytest

import linkwise as lw


def loose(kind):
    arm = lw.Body("arm", lw.Revolute("y"), lw.Inertia.box(1, (1, 1, 1)))
    tip = lw.Body("tip", lw.Joint(kind, at=(1, 0, 0)), lw.Inertia(), "arm")
    return lw.assemble("loose", [arm, tip])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("method", lw.FORWARD_METHODS)
@pytest.mark.parametrize("kind", [lw.Revolute("z"), lw.Spherical()], ids=["hinge", "ball"])
def test_forward_dynamics_refuses_a_loose_joint(method, kind):
    robot = loose(kind)
    with pytest.raises(lw.SingularError):
        robot.forward_dynamics(robot.neutral(), np.ones(robot.nv), np.ones(robot.nv), method=method)


def test_rotors_heavier_than_their_carrier_are_refused():
    ball = lw.Body("ball", lw.Spherical(), lw.Inertia.sphere(1.0, 1.0))
    wheel = lw.Body(
        "wheel", lw.Joint(lw.Revolute("x"), rotor=lw.Rotor(5.0, 1.0, axis="x")), lw.Inertia.sphere(1, 1), "ball"
    )
    with pytest.raises(lw.ModelError, match="'wheel_joint'.*'ball'"):
        lw.assemble("gyro", [ball, wheel])


def test_what_a_model_keeps_is_read_only():
    robot = lw.load("panda")
    for kept in (robot.lower_limits, robot.effort_limits, robot.damping, robot.friction):
        with pytest.raises(ValueError, match="read-only"):
            kept[0] = 5.0


@pytest.mark.parametrize(
    "call",
    [
        lambda r: r.weld("arm", 3),
        lambda r: r.with_inertias({"arm": 3}),
        lambda r: r.jacobian(r.neutral(), ["world"]),
        lambda r: r.lock({"tip_joint": [0, 0, 0, 0]}),
        lambda r: lw.load(None),
    ],
)
def test_wrong_things_get_clear_errors(call):
    with pytest.raises(lw.LinkwiseError):
        call(loose(lw.Spherical()))
