"""Motions with embedded loops: closed for ever, of the order of the step, and as good as an open chain's."""

import numpy as np
import pytest
from linkages import four_bar, four_bar_state, four_bars, open_four_bar, parallelograms, slider_crank

import linkwise as lw

FOLLOWING = ["coupler_hinge", "rocker_hinge"]


def named(dependent):
    return open_four_bar().close(lw.Loop("rocker_end", "coupler_end", "revolute", dependent=dependent))


@pytest.fixture(scope="module")
def start():
    robot = four_bar()
    return robot, *four_bar_state(robot)


@pytest.fixture(scope="module")
def following():
    """The four-bar whose coupler and rocker are said to follow its crank."""
    return named(FOLLOWING)


def moved(robot, q, v, **options):
    return lw.simulate(robot, q, v, progress=False, **{"duration": 0.5, "closing": "embedded", **options})


@pytest.mark.parametrize("method", ["runge_kutta_4", "midpoint", "semi_implicit_euler"])
def test_ten_seconds(start, method):
    """Ten thousand steps: closed to roundings, with no more drift of energy than the open chain by the same steps."""
    robot, q, v = start
    motion = moved(robot, q, v, duration=10.0, every=20, method=method)
    account = motion.energy
    assert account.loops.max() < 1e-12
    assert np.abs(robot.loop_velocity(motion.q, motion.v)).max() < 1e-12
    chain = lw.simulate(robot.opened, q, v, duration=10.0, every=20, method=method, progress=False).energy
    assert np.abs(account.drift).max() < np.abs(chain.drift).max()


def test_named_joints_follow(start, following):
    robot, q, v = start
    motion = moved(following, q, v, duration=2.0, closing=None)
    assert motion.settings.closing.how == "embedded" and motion.energy.loops.max() < 1e-12
    other = moved(robot, q, v, duration=2.0)
    np.testing.assert_allclose(motion.q[-1], other.q[-1], atol=1e-7)  # other coordinates, the same motion


def crank(h, method):
    """The four-bar in its crank's angle alone, θ̈ = f(θ, θ̇), by the textbook step of an ordinary equation."""
    robot = four_bar()
    q, v = four_bar_state(robot)

    def f(x):
        at = robot.closed_configuration(np.array([x[0], *follow]), keep=["crank_hinge"])
        follow[:] = at[1:]
        rates = np.linalg.lstsq(robot.loop_jacobian(at, target="numpy")[:, 1:], -robot.loop_jacobian(at)[:, 0])[0]
        velocity = x[1] * np.array([1.0, *rates])
        return np.array([x[1], robot.forward_dynamics(at, velocity, np.zeros(3), method="cut")[0]])

    follow, x = list(q[1:]), np.array([q[0], v[0]])
    for _ in range(round(0.1 / h)):
        if method == "semi_implicit_euler":
            x[1] += h * f(x)[1]
            x[0] += h * x[1]
        elif method == "midpoint":
            x = x + h * f(x + 0.5 * h * f(x))
        else:
            k1 = f(x)
            k2 = f(x + 0.5 * h * k1)
            k3 = f(x + 0.5 * h * k2)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(x + h * k3))
    return x


@pytest.mark.parametrize("method", ["runge_kutta_4", "midpoint", "semi_implicit_euler"])
def test_the_step_is_that_of_the_independent_joint_alone(start, following, method):
    """Not merely of its order: the very same numbers as the ordinary equation of the crank."""
    _, q, v = start
    motion = moved(following, q, v, duration=0.1, step=0.02, method=method)
    np.testing.assert_allclose([motion.q[-1, 0], motion.v[-1, 0]], crank(0.02, method), atol=1e-9)


def test_steps_are_of_fourth_order_in_charts_of_their_own(start):
    robot, q, v = start
    ends = [moved(robot, q, v, duration=0.64, step=h).q[-1] for h in (0.01, 0.005, 0.0025)]
    ratio = np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[1] - ends[2])
    assert 12.0 < ratio < 32.0


def test_the_same_on_arrays_in_batches_and_in_single_precision(start, following):
    robot, q, v = start
    both = np.stack([q, q]), np.stack([v, -v])
    for each in (robot, following):
        compiled, arrays = (moved(each, *both, duration=0.005, target=target) for target in ("cpu", "numpy"))
        np.testing.assert_allclose(compiled.q, arrays.q, atol=1e-12)
        np.testing.assert_allclose(compiled.v, arrays.v, atol=1e-11)
    euler = {"method": "semi_implicit_euler", "duration": 0.02}
    compiled = moved(robot, *both, **euler)
    single = moved(robot, *(x.astype(np.float32) for x in both), **euler)
    assert single.q.dtype == np.float32
    np.testing.assert_allclose(single.q, compiled.q, atol=1e-4)


def test_forces_events_and_called_controllers(start):
    robot, q, v = start
    event = lw.Event(lambda t, q, v: q[..., 0] - 1.6, name="arrived", stop=True)
    stopped = moved(robot, q, v, events=[event], duration=3.0)
    assert abs(stopped.q[-1, 0] - 1.6) < 1e-9 and stopped.energy.loops.max() < 1e-12

    def law(robot, t, q, v):
        return -0.3 * v

    options = {"controller": law, "damping": np.full(3, 0.1), "method": "midpoint"}
    motion = moved(robot, q, v, duration=0.3, **options)
    assert motion.energy.dissipated[-1] > 0 and np.abs(motion.energy.drift).max() < 1e-4
    called = moved(robot, q, v, duration=0.01, callback=True, **options)
    np.testing.assert_allclose(called.q, motion.q[:11], atol=1e-11)


def test_checkpoints_go_on_bit_for_bit(start, tmp_path):
    robot, q, v = start
    path = tmp_path / "kept.npz"
    whole = moved(robot, q, v, duration=0.2)
    moved(robot, q, v, duration=0.1, checkpoint=path)
    np.testing.assert_array_equal(moved(robot, q, v, duration=0.2, checkpoint=path).q, whole.q)
    whole.save(tmp_path / "motion.npz")
    again = lw.Trajectory.load(tmp_path / "motion.npz", robot=robot)
    assert again.settings.closing == whole.settings.closing


def test_other_linkages():
    slider = slider_crank()
    q = slider.closed_configuration([0.7, -0.9, 0.6], keep=["crank_hinge"])
    v = slider.closed_velocity(q, [2.0, 0, 0])
    assert moved(slider, q, v, method="midpoint").energy.loops.max() < 1e-12
    chain = four_bars(2, "revolute")
    q = chain.closed_configuration(np.tile([1.3, -0.9, 1.8], 2))
    account = moved(chain, q, np.zeros(6), duration=0.2, method="semi_implicit_euler").energy
    assert account.loops.max() < 1e-12


def test_parallelograms_down_to_the_horizontal():
    """IFToMM A02: 0.7143555293 s from φ = 90° at 1 m/s to where all bars lie in line, with φ̇ = 4.8877397639."""
    robot = parallelograms(2)
    q = np.array([np.pi / 2, *[-np.pi / 2, np.pi / 2] * 2])
    v = np.array([-1.0, 1.0, -1.0, 1.0, -1.0])
    motion = moved(robot, q, v, duration=0.7, method="midpoint")
    assert motion.energy.loops.max() < 1e-12
    left = 0.7143555293 - 0.7
    a = robot.forward_dynamics(motion.q[-1], motion.v[-1], np.zeros(5))[0]
    np.testing.assert_allclose(motion.v[-1, 0] + a * left, -4.8877397639, atol=2e-3)


# --- refused ---------------------------------------------------------------------------------------------------------


def test_what_is_refused(start):
    robot, q, v = start
    with pytest.raises(lw.InputError, match="chooses its own steps"):
        moved(robot, q, v, method="rk45")
    with pytest.raises(lw.InputError, match="closing_rate is that of"):
        moved(robot, q, v, closing_rate=3.0)
    with pytest.raises(lw.NotAdmittedError, match="by structure"):
        moved(robot.close(lw.Loop("rocker_end", "coupler_end", "point_on_line", name="again")), q, v)


def test_steps_too_long_to_close_name_the_loop(start):
    robot, q, v = start
    with pytest.raises(lw.SimulationError, match=r"step 1: loop 'rocker_end–coupler_end' .* steps of Newton's did not"):
        moved(robot, q, 10 * v, step=0.1, duration=1.0)


def test_joints_that_stop_following_are_hinted_at(start):
    """The rocker swings to and fro, and at its ends the crank does not follow it."""
    _, q, v = start
    with pytest.raises(lw.SimulationError, match='closing="projection"'):
        moved(named(["crank_hinge", "coupler_hinge"]), q, v, duration=3.0)
