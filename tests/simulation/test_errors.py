"""What is refused, and how it is said."""

import numpy as np
import pytest

import linkwise as lw

UR5 = lw.load("ur5")
Q = np.zeros(6)


@pytest.mark.parametrize(
    "named, message",
    [
        ({"q0": np.zeros(5)}, r"\(\.\.\., 6\)"),
        ({"v0": np.zeros(7)}, r"v0 must have shape \(\.\.\., 6\)"),
        ({"q0": np.zeros((2, 6)), "v0": np.zeros((3, 6))}, "do not fit together"),
        ({"q0": [0, 0, np.nan, 0, 0, 0]}, "not finite at joint 'elbow_joint'"),
        ({"v0": [0, 0, 0, 0, 0, np.inf]}, "not finite at joint 'wrist_3_joint'"),
        ({"q0": np.zeros(6) * 1j}, "real numbers"),
        ({"step": -1e-3}, "step must be positive"),
        ({"step": 0}, "step must be positive"),
        ({"step": "fast"}, "step must be a number"),
        ({"duration": 0}, "duration must be positive"),
        ({"duration": -1.0}, "duration must be positive"),
        ({"duration": np.inf}, "duration must be positive and finite"),
        ({"duration": 0.0105, "step": 0.001}, "10.5 steps"),
        ({"duration": 1e-5}, "whole number"),
        ({"every": 0}, "every must be"),
        ({"every": 7}, "every 7"),
        ({"controller": 3.0}, "function of"),
        ({"controller": lambda r, t, q, v: np.zeros(3)}, "joint forces of shape"),
        ({"controller": lambda r, t, q, v: np.zeros((4, 6))}, "joint forces of shape"),
        ({"controller": lambda r, t, q, v: v, "tau": np.zeros((1000, 6))}, "not both"),
        ({"tau": np.zeros((999, 6)), "duration": 1.0}, "one row per step"),
        ({"tau": np.zeros((2, 1000, 6))}, "does not fit the batch"),
        ({"tau": np.zeros((0, 6))}, "tau has no rows"),
        ({"damping": -1.0}, "damping must be finite and not negative"),
        ({"damping": np.zeros(3)}, "6 numbers"),
        ({"friction": lw.Friction(True, speed=0.0)}, "the speed of friction"),
        ({"limits": (1.0, 0.0)}, "exceed"),
        ({"limits": 3}, "lower, upper"),
        ({"limits": lw.Stops(stiffness=-1.0)}, "the stiffness of stops"),
        ({"target": "gpu"}, "choose from cpu, numpy"),
        ({"method": "dop853", "tolerances": (0.0, 1e-12)}, "the relative tolerance"),
        ({"method": "dop853", "tau": np.zeros((1000, 6))}, "its own steps"),
        (
            {"parameters": {"masses": np.zeros(3)}},
            "no kind of parameters is named 'masses'; choose from inertial, offsets",
        ),
        ({"parameters": {"inertial": np.zeros((6, 9))}}, r"\(\.\.\., 6, 10\)"),
    ],
)
def test_bad_arguments(named, message):
    arguments = {"q0": Q, "v0": None} | named
    with pytest.raises(lw.InputError, match=message):
        lw.simulate(UR5, **arguments)


def test_unknown_methods_are_listed():
    with pytest.raises(
        lw.UnknownNameError,
        match="semi_implicit_euler, midpoint, runge_kutta_4, variational, .*, rk23",
    ):
        lw.simulate(UR5, Q, method="euler")


@pytest.mark.parametrize(
    "named, message",
    [
        ({"duration": 1e12}, "GiB, and this machine has"),
        ({"duration": 1e12, "every": 10**12}, "GiB, and this machine has"),
        ({"step": 1e-300}, "more than can be counted"),
        ({"duration": 1e300, "step": 1e-300}, "more than can be counted"),
        ({"steps": 10**18}, "more than can be counted"),
        ({"steps": 5, "duration": 1.0}, "is 1000 steps of 0.001 s, and steps=5"),
        ({"duration": 0.001, "step": 0.1}, "0.01 steps of 0.1 s"),
        ({"threads": "a"}, "threads must be a whole number"),
        ({"threads": 0}, "threads must be a whole number"),
        ({"threads": 1.5}, "threads must be a whole number"),
        ({"every": True}, "every must be"),
        ({"v0": lambda t, q, v: v}, "a controller comes after it"),
        ({"events": 3}, "events are functions"),
        ({"parameters": 3}, "parameters are named arrays"),
        (
            {"parameters": {"inertial": -UR5.inertial_parameters}},
            "the mass of body 'shoulder_link' must not be",
        ),
        ({"parameters": {"offsets": np.full((6, 3), np.nan)}}, "offsets must be finite"),
        ({"hold": np.zeros(0)}, "hold must be True or False"),
        ({"check": []}, "check must be True or False"),
        ({"callback": "no"}, "callback must be True or False"),
        ({"progress": np.zeros((3, 0))}, "progress must be True or False"),
        ({"target": np.zeros(0)}, "no target of a simulation is named .*choose from cpu, numpy"),
        ({"events": np.zeros((2, 3))}, "event"),
        ({"checkpoint": 3}, "checkpoint is the path of a file"),
        ({"method": "dop853", "tolerances": 1e-6}, "tolerances are a pair"),
        ({"external": {"tool0": np.zeros((2, 6)), "base_link": np.zeros((3, 6))}}, "do not fit together"),
        ({"friction": lw.Friction(1.0, speed="slow")}, "the speed of friction"),
        ({"limits": lw.Stops("low")}, "limits must be numbers"),
        ({"tau": np.zeros((10, 6)) * 1j}, "real numbers"),
        ({"controller": 3}, "tables go to tau="),
        ({"external": 3.0}, "external must have shape"),
    ],
)
def test_arguments_that_no_simulation_can_have(named, message):
    with pytest.raises(lw.InputError, match=message):
        lw.simulate(UR5, **{"q0": Q, "duration": None} | named)


@pytest.mark.parametrize("method", [3, [], None])
def test_methods_that_are_no_names(method):
    with pytest.raises(lw.UnknownNameError):
        lw.simulate(UR5, Q, method=method)


def test_rollouts_need_steps():
    with pytest.raises(lw.InputError, match="needs steps="):
        lw.rollout(UR5, Q)
    with pytest.raises(lw.InputError, match="at least 1"):
        lw.rollout(UR5, Q, steps=0)
    with pytest.raises(lw.InputError, match="steps=5"):
        lw.rollout(UR5, Q, steps=5, duration=1.0)
    assert len(lw.rollout(UR5, Q, steps=5)) == len(lw.simulate(UR5, Q, tau=np.zeros((5, 6)))) == 6
    with pytest.raises(lw.InputError, match="steps, 6"):
        lw.rollout(UR5, Q, tau=np.zeros(6))


def explodes(robot, t, q, v):
    return robot.mass_times(q, 1e3 * v * v * v)


@pytest.mark.parametrize("every", [1, 50])
@pytest.mark.parametrize("callback", [False, True])
def test_a_state_that_is_lost_names_step_and_joint(every, callback):
    names = ("left", "middle", "right")  # three blocks side by side
    still = lw.assemble(
        "blocks", [lw.Body(n, lw.Joint(lw.Prismatic("x"), name=n), lw.Inertia.point(1.0)) for n in names]
    )
    v = np.zeros((3, 3))
    v[1] = 0.1, 1.0, 0.2
    found = set()
    for chosen in {1, every}:
        with pytest.raises(lw.SimulationError, match=r"step \d+ \(t = [\d.]+ s\): joint 'middle' of state 1") as e:
            lw.simulate(still, np.zeros((3, 3)), v, explodes, duration=0.1, every=chosen, callback=callback)
        found.add(str(e.value))
    assert len(found) == 1  # the step itself, however few are kept
    kept = lw.simulate(still, np.zeros((3, 3)), v, explodes, duration=0.1, every=every, check=False)
    assert np.isnan(kept.q[1, -1]).any() and np.isfinite(kept.q[[0, 2]]).all()


def test_adaptive_methods_say_when_they_gave_up():
    with pytest.raises(lw.SimulationError, match="rk45 gave up"), np.errstate(all="ignore"):
        lw.simulate(UR5, Q, np.ones(6), explodes, duration=1.0, step=0.1, method="rk45")


def test_singular_robots_are_named():
    bodies = [lw.Body("arm", lw.Revolute("x")), lw.Body("end", lw.Revolute("x"), parent="arm")]
    empty = lw.assemble("empty", bodies)
    with pytest.raises(lw.SingularError):
        lw.simulate(empty, [0.0, 0.0])


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (
            {4: -3.0},
            "set 2 of the inertial parameters: the inertia tensor of body 'wrist_3_link' is not",
        ),
        (dict.fromkeys(range(10), 0.0), "set 2 .* nothing resists the joint of body 'wrist_3_link'"),
    ],
)
def test_impossible_inertias_of_a_batch_are_named(numbers, said):
    sets = np.stack([UR5.inertial_parameters] * 3)
    for i, x in numbers.items():
        sets[2, -1, i] = x
    with pytest.raises(lw.SimulationError, match=said):
        lw.simulate(UR5, np.stack([Q] * 3), duration=0.01, parameters={"inertial": sets})


def test_forces_too_quick_for_the_variational_step():
    with pytest.raises(lw.SimulationError, match="did not settle"):
        lw.simulate(UR5, Q, np.ones(6), method="variational", friction=1.0)


def test_limits_of_joints_without_positions():
    joint = lw.Joint(lw.Spherical(), name="ball", limits=lw.Limits(-1.0, 1.0))
    r = lw.assemble("ball", [lw.Body("b", joint, lw.Inertia.sphere(1.0, 0.1))])
    with pytest.raises(lw.NotAdmittedError, match="'ball'"):
        lw.simulate(r, r.neutral(), limits=True)
    lw.simulate(r, r.neutral(), duration=0.01)


@pytest.mark.parametrize("function", [lambda t, q: q, lambda robot, t, q, v, more: q])
def test_functions_of_other_arguments(function):
    takes = r"is a function of \(robot, t, q, v\), or \(t, q, v\), but <lambda> takes \("
    with pytest.raises(lw.InputError, match=f"the controller {takes}"):
        lw.simulate(UR5, Q, controller=function)
    with pytest.raises(lw.InputError, match=f"the external force {takes}"):
        lw.simulate(UR5, Q, external=function)
    with pytest.raises(lw.InputError, match=f"an event {takes}"):
        lw.simulate(UR5, Q, events=function)


def test_errors_of_a_controller_come_through():
    def broken(robot, t, q, v):
        raise ZeroDivisionError("gain")

    with pytest.raises(ZeroDivisionError, match="gain"):
        lw.simulate(UR5, Q, controller=broken, duration=0.01)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="long doubles are doubles here")
@pytest.mark.parametrize("method", ["semi_implicit_euler", "runge_kutta_4", "variational"])
def test_long_doubles_never_reach_machine_code(method):
    """It would read them as doubles: garbage."""
    robot = lw.load("double_pendulum")
    q, v = np.array([0.3, -0.2], np.longdouble), np.array([0.1, 0.2], np.longdouble)
    run = {"duration": 0.05, "step": 0.01, "method": method}
    with pytest.raises(lw.InputError, match='float64 and float32.*target="numpy"'):
        lw.simulate(robot, q, v, **run, target="cpu")
    wide = lw.simulate(robot, q, v, **run, target="numpy").q
    near = lw.simulate(robot, q.astype(float), v.astype(float), **run, target="cpu").q
    assert wide.dtype == np.longdouble and np.abs(wide - near).max() < 1e-15
    acceleration = robot.forward_dynamics(q, v, v, target="cpu")
    assert acceleration.dtype == np.longdouble
    assert np.allclose(acceleration, robot.forward_dynamics(q.astype(float), v.astype(float), v.astype(float)))


@pytest.mark.parametrize("speed", [1e197, np.inf, np.nan, 0.0, -1.0])
def test_speeds_of_friction_that_cannot_be(speed):
    with pytest.raises(lw.InputError, match="speed of friction"):
        lw.simulate(lw.chain(1), [0.1], duration=0.01, friction=lw.Friction(1.0, speed=speed))
