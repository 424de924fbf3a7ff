"""Controllers compiled in and called back, held or not; tables of joint forces; parameters of the robot."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.simulation.called import ArrayStepper, CalledStepper
from linkwise.simulation.joint_forces import PassiveForces
from linkwise.simulation.simulate import chosen_stepper
from linkwise.simulation.staged import PartStepper
from linkwise.simulation.steppers import CompiledStepper, Task
from linkwise.simulation.user_functions import Controller, UserFunction

METHODS = ("semi_implicit_euler", "runge_kutta_4", "variational")


def pd(robot, t, q, v):
    return robot.gravity_force(q) - robot.mass_times(q, 20.0 * q + 4.0 * v)


def state(robot, batch=(), seed=0):
    rng = np.random.default_rng(seed)
    return robot.random_configuration(rng, batch), rng.normal(size=(*batch, robot.nv))


@pytest.mark.parametrize("hold", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_compiled_in_and_called_back_are_the_same(method, hold, batch):
    r = lw.chain(3, seed=1)
    q, v = state(r, batch)
    options = {"duration": 0.05, "step": 0.005, "method": method, "hold": hold, "every": 2}
    a = lw.simulate(r, q, v, pd, **options)
    b = lw.simulate(r, q, v, pd, callback=True, **options)
    for name in ("q", "v", "tau", "a"):
        x, y = getattr(a, name), getattr(b, name)
        assert x.shape == y.shape
        assert np.abs(x - y).max() < 1e-10 * max(1.0, np.abs(y).max())
    assert np.abs(a.energy.work - b.energy.work).max() < 1e-10 * np.abs(b.energy.work).max()


def test_what_cannot_be_traced_is_called_back(monkeypatch):
    r = lw.load("double_pendulum")
    shapes = []

    def bang(robot, t, q, v):
        shapes.append((type(t), q.shape))
        return np.where(q > 0, -1.0, 1.0) if t < 0.5 else np.zeros_like(v)

    t = lw.simulate(r, np.ones((4, 2)), controller=bang, duration=0.01, hold=True)
    called = shapes[-11:]
    assert called == [(float, (4, 2))] * 11  # once a step, the whole batch at once, and at the end
    assert np.array_equal(t.tau, np.full_like(t.tau, -1.0))


def test_the_quickest_way_is_chosen():
    r = lw.load("double_pendulum")

    def python(robot, t, q, v):
        return -v if float(t) < 1 else v

    def chosen(function=None, target="cpu", callback=False, **named):
        asked = None if function is None else Controller(r, UserFunction("the controller", function, callback))
        return type(chosen_stepper(Task(r, "runge_kutta_4", 1e-3, PassiveForces(), asked, **named), target))

    assert chosen() is CompiledStepper
    assert chosen(pd, implicit=False) is CompiledStepper
    assert chosen(pd) is PartStepper
    assert chosen(pd, callback=True) is ArrayStepper
    assert chosen(pd, target="numpy") is ArrayStepper
    assert chosen(python) is ArrayStepper
    assert chosen(python, hold=True) is CalledStepper


def test_held_forces_do_the_work_they_are_seen_to_do():
    r = lw.load("panda")
    q, v = state(r)
    t = lw.simulate(r, q, v, pd, duration=0.2, step=1e-3, hold=True)
    moved = np.diff(t.q, axis=0)
    work = np.concatenate([[0.0], np.cumsum((t.tau[:-1] * moved).sum(axis=-1))])
    assert np.abs(t.energy.work - work).max() < 1e-9 * np.abs(work).max()


def test_a_table_is_a_controller_that_reads_it():
    r = lw.load("ur5")
    q, v = state(r, (3,))
    tau = np.random.default_rng(1).normal(size=(3, 20, 6))
    by_table = lw.rollout(r, q, v, tau, every=4)
    step = iter(range(21))

    def reads(robot, t, q, v):
        i = next(step)
        return tau[:, min(i, 19)]

    def untraceable(robot, t, q, v):
        float(t)
        return reads(robot, t, q, v)

    called = lw.simulate(r, q, v, untraceable, duration=0.02, every=4, hold=True)
    assert np.abs(by_table.q - called.q).max() < 1e-13
    assert np.array_equal(by_table.tau[:, :-1], tau[:, ::4])
    common = lw.rollout(r, q, v, tau[0])
    assert np.array_equal(common.q[0], lw.rollout(r, q[0], v[0], tau[0]).q)


def test_parameters_of_the_robot_per_state():
    r = lw.chain(3, seed=1)
    q, v = state(r)
    scale = np.array([0.5, 1.0, 2.0])
    inertial = r.inertial_parameters * scale[:, None, None]
    t = lw.rollout(r, np.stack([q] * 3), v, np.ones((30, 3)), parameters={"inertial": inertial}, every=10)
    for i, s in enumerate(scale):
        other = r.with_inertial_parameters(r.inertial_parameters * s)
        one = lw.rollout(other, q, v, np.ones((30, 3)), every=10)
        assert np.abs(t.q[i] - one.q).max() < 1e-11
        assert np.abs(t.a[i] - one.a).max() < 1e-8 * np.abs(one.a).max()
        assert np.abs(t.energy.drift[i] - one.energy.drift).max() < 1e-10
    assert np.abs(t.q[0] - t.q[2]).max() > 1e-6


def test_a_changed_controller_is_seen():
    r = lw.load("double_pendulum")
    gain = [1.0]
    law = lambda robot, t, q, v: -gain[0] * v
    first = lw.simulate(r, [1.0, 1.0], controller=law, duration=0.1)
    gain[0] = 50.0
    second = lw.simulate(r, [1.0, 1.0], controller=law, duration=0.1)
    assert np.abs(first.q - second.q).max() > 1e-3


def test_laws_of_the_control_room_are_controllers():
    from linkwise import control

    robot = lw.load("ur5")
    goal = np.full(6, 0.3)
    law = control.ComputedTorque(robot, control.hold(robot, goal), 40.0, 12.0)
    by_law = lw.simulate(robot, np.zeros(6), controller=law, duration=0.1, step=0.002, method="runge_kutta_4")
    wrapped = lw.simulate(
        robot, np.zeros(6), controller=lambda r, t, q, v: law(t, q, v), duration=0.1, step=0.002, method="runge_kutta_4"
    )
    assert np.allclose(by_law.q, wrapped.q, rtol=1e-12)
    assert np.abs(by_law.q[-1] - goal).max() < np.abs(by_law.q[0] - goal).max()


def test_steps_that_are_too_long_to_be_compiled_are_told_of(monkeypatch):
    from linkwise.simulation import steppers

    monkeypatch.setattr(steppers, "MOST_NODES", 10)
    arm = lw.chain(2)
    law = lambda t, q, v: -0.3 * v
    with pytest.warns(lw.SlowPathWarning, match=r"'chain2' is stepped from Python.* longer than 10 values.*midpoint"):
        slow = lw.simulate(arm, [0.1, 0.2], controller=law, steps=3, target="cpu")
    monkeypatch.undo()
    quick = lw.simulate(arm, [0.1, 0.2], controller=law, steps=3, target="cpu")
    np.testing.assert_allclose(slow.q, quick.q, atol=1e-14)


# --- what a controller knows of the robot ------------------------------------------------------------------------


def test_a_controller_has_the_robot_as_it_is_known_and_the_true_one_by_name():
    """Gravity compensation does not know an unknown payload, unless it asks for the robot that moves."""
    r = lw.load("double_pendulum")
    q = np.array([0.5, 0.3])
    masses = np.tile(r.inertial_parameters, (3, 1, 1)) * np.array([1.0, 1.5, 2.0])[:, None, None]
    options = {"parameters": {"inertial": masses}, "duration": 0.5, "every": 50}
    known = lw.simulate(r, np.tile(q, (3, 1)), controller=lambda robot, t, q, v: robot.gravity_force(q), **options)
    true = lw.simulate(
        r, np.tile(q, (3, 1)), controller=lambda true_robot, t, q, v: true_robot.gravity_force(q), **options
    )
    assert np.abs(true.q - q).max() < 1e-9
    assert np.abs(known.q[0] - q).max() < 1e-9
    assert np.abs(known.q[1] - q).max() > 0.1 and np.abs(known.q[2, -1] - q).max() > np.abs(known.q[1, -1] - q).max()
    held = r.gravity_force(q)
    np.testing.assert_allclose(known.tau[:, 0], np.tile(held, (3, 1)), atol=1e-12)
    np.testing.assert_allclose(true.tau[:, 0], held * np.array([[1.0], [1.5], [2.0]]), atol=1e-12)
    with pytest.raises(lw.InputError, match="true_robot"):
        lw.simulate(
            r, np.tile(q, (3, 1)), controller=lambda true_robot, t, q, v: -v, callback=True, hold=True, **options
        )


def test_functions_that_compute_the_same_are_traced_once(monkeypatch):
    r = lw.load("double_pendulum")
    gain = np.array([1.0, 2.0])
    law = lambda robot, t, q, v: robot.gravity_force(q) - gain * v
    run = lambda f: lw.simulate(r, [0.3, 0.2], [1.0, 0.0], f, steps=5).v
    first = run(law)

    def refuse(*_, **__):
        raise AssertionError("traced again")

    with monkeypatch.context() as m:
        m.setattr("linkwise.simulation.steppers.trace", refuse)
        m.setattr("linkwise.simulation.user_functions.trace", refuse)
        assert np.array_equal(run(law), first)
        assert np.array_equal(run(lambda robot, t, q, v: robot.gravity_force(q) - gain * v), first)
    gain[:] = 5.0  # which the function reads
    assert not np.array_equal(run(law), first)


def test_one_start_for_many_sets_of_parameters():
    robot, q = lw.load("ur5"), np.zeros(6)
    sets = np.stack([robot.inertial_parameters * x for x in (0.9, 1.0, 1.1)])
    asked = {"duration": 0.02, "parameters": {"inertial": sets}, "method": "midpoint"}
    together = lw.simulate(robot, q, **asked)
    assert together.batch == (3,)
    assert np.array_equal(together.q, lw.simulate(robot, np.stack([q] * 3), **asked).q)
    with pytest.raises(lw.InputError, match=r"different batches: inertial \(3, 6, 10\), offsets \(2, 6, 3\)"):
        lw.simulate(robot, q, parameters={"inertial": sets, "offsets": np.zeros((2, 6, 3))})
