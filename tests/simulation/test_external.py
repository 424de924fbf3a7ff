"""External forces: constant ones and functions, compiled in and called back, in the equations and in the energies."""

import numpy as np
import pytest

import linkwise as lw

METHODS = ("semi_implicit_euler", "runge_kutta_4", "variational")
PUSH = {"tcp": [0.3, -0.2, 0.1, 5.0, 1.0, -2.0]}


def state(robot, batch=(), seed=0):
    rng = np.random.default_rng(seed)
    return robot.random_configuration(rng, batch), rng.normal(size=(*batch, robot.nv))


def test_joint_forces_of_external_ones():
    for robot in (lw.load("panda"), lw.load("quadruped"), lw.random_tree(6, seed=2)):
        rng = np.random.default_rng(0)
        q, v = state(robot)
        f = rng.normal(size=(len(robot.bodies), 6))
        tau = robot.external_force(q, f)
        expected = robot.bias_force(q, v) - robot.bias_force(q, v, external=f)
        assert np.allclose(tau, expected, rtol=1e-12, atol=1e-11)
        assert np.allclose(tau, robot.external_force(q, f, target="numpy"), rtol=1e-12, atol=1e-13)
        frame = robot.tips[0]
        push = rng.normal(size=6)
        by_jacobian = robot.jacobian(q, frame).T @ push
        assert np.allclose(robot.external_force(q, robot.wrenches(q, {frame: push})), by_jacobian, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_every_way_to_say_it_is_the_same(method):
    robot = lw.load("panda").lock(["panda_joint5", "panda_joint6", "panda_joint7"], q=np.zeros(7))
    q, v = state(robot)
    options = {"duration": 0.05, "step": 0.005, "method": method}
    constant = lw.simulate(robot, q, v, external=PUSH, **options)

    def function(robot, t, q, v):
        return robot.wrenches(q, PUSH)

    def python(robot, t, q, v):
        return PUSH if float(t) < 10 else {"tcp": np.zeros(6)}

    others = [
        lw.simulate(robot, q, v, external=function, **options),
        lw.simulate(robot, q, v, external=python, **options),
        lw.simulate(robot, q, v, external=function, callback=True, **options),
        lw.simulate(robot, q, v, external=PUSH, target="numpy", **options),
        lw.simulate(robot, q, v, lambda r, t, q, v: r.external_force(q, r.wrenches(q, PUSH)), **options),
    ]
    for other in others:
        assert np.abs(other.q - constant.q).max() < 1e-12
        assert np.abs(other.a - constant.a).max() < 1e-10 * np.abs(constant.a).max()
    for other in others[:-1]:
        assert np.abs(other.external - constant.external).max() < 1e-12
        assert np.allclose(other.energy.external, constant.energy.external, rtol=1e-11)
    assert others[-1].external is None
    assert np.allclose(others[-1].energy.work, constant.energy.external, rtol=1e-11)


@pytest.mark.parametrize("callback", [False, True])
def test_frames_of_your_own(callback):
    """Frames that the robot does not have by name, near to each other and of one name; and one named as an argument."""
    robot = lw.load("panda")
    q, v = state(robot)
    how = {"steps": 20, "method": "semi_implicit_euler"}  # whose programs are the shortest
    at = np.array([0.01, 0.02, 0.1])
    here, there = (lw.Frame("here", "panda_link7", at=at + d) for d in (0.0, 1e-12))
    both = {here: PUSH["tcp"], there: [0, 0, 0, 0, 0, 3.0]}
    expected = {here: np.add(PUSH["tcp"], [0, 0, 0, 0, 0, 3.0])}
    constant = lw.simulate(robot, q, v, external=both, **how)
    assert np.abs(constant.q - lw.simulate(robot, q, v, external=expected, **how).q).max() < 1e-12
    by_function = lw.simulate(robot, q, v, external=lambda robot, t, q, v: both, callback=callback, **how)
    assert np.abs(by_function.q - constant.q).max() < 1e-12
    moved = lw.Frame("here", "panda_link7", at=at + 0.2)  # not the program of the frame of that name before
    other = lw.simulate(robot, q, v, external={moved: PUSH["tcp"]}, **how)
    again = lw.simulate(robot, q, v, external=lambda robot, t, q, v: {moved: PUSH["tcp"]}, **how)
    assert np.abs(other.q - again.q).max() < 1e-12 < np.abs(other.q - constant.q).max()
    with pytest.raises(lw.UnknownNameError, match="sits on body 'nowhere'"):
        lw.simulate(robot, q, external={lw.Frame("x", "nowhere"): np.zeros(6)})
    assert np.array_equal(robot.wrenches(q, {lw.Frame("q", "panda_link7"): np.zeros(6)}), np.zeros((7, 6)))


def test_against_forward_dynamics_with_external_forces():
    """The accelerations that the robot's own forward dynamics gives for them."""
    robot = lw.load("quadruped")
    q, v = state(robot)
    f = np.random.default_rng(3).normal(size=(len(robot.bodies), 6))
    motion = lw.simulate(robot, q, v, duration=0.01, external=f, method="semi_implicit_euler")
    assert motion.external.shape == (11, len(robot.bodies), 6)
    expected = robot.forward_dynamics(motion.q, motion.v, 0.0 * motion.v, external=f)
    assert np.abs(motion.a - expected).max() < 1e-9 * np.abs(expected).max()


def test_a_thrown_stone_is_the_closed_form():
    """A force through the centre of mass that turns with the body, and one that grows with time in the world."""
    stone = lw.assemble(
        "stone", [lw.Body("stone", lw.Free(), lw.Inertia.box(2.0, (0.1, 0.2, 0.3)))], gravity=(0, 0, -9.81)
    )
    q = stone.neutral()
    motion = lw.simulate(stone, q, duration=1.0, external=lambda r, t, q, v: {"stone": [0, 0, 0, 6.0 * t, 0, 0]})
    _, p = motion.pose("stone")
    assert np.abs(p[:, 0] - 0.5 * motion.time**3).max() < 1e-13
    assert np.abs(p[:, 2] + 0.5 * 9.81 * motion.time**2).max() < 1e-12
    work = 0.5 * 2.0 * (1.5 * motion.time**2) ** 2
    assert np.abs(motion.energy.external - work).max() < 1e-12


@pytest.mark.parametrize(
    "method, bound", [("semi_implicit_euler", 1.0), ("runge_kutta_4", 1e-6), ("variational", 1e-2), ("dop853", 1e-7)]
)
def test_the_energies_balance(method, bound):
    robot = lw.load("panda")
    q, v = state(robot)

    def wind(robot, t, q, v):
        return {"tcp": np.concatenate([np.zeros(3), -3.0 * robot.velocity(q, v, "tcp")[3:]])}

    motion = lw.simulate(robot, q, v, duration=0.5, external=wind, damping=0.2, method=method)
    assert motion.energy.external[-1] < -0.05  # drag takes energy out
    assert np.abs(motion.energy.drift).max() < bound
    assert "external" in str(motion.energy)


def test_a_batch_has_forces_of_its_own():
    robot = lw.load("panda")
    q, v = state(robot, (2, 3))
    pushes = np.random.default_rng(1).normal(size=(2, 3, 6))
    both = lw.rollout(robot, q, v, steps=30, external={"tcp": pushes}, every=10)
    by_bodies = lw.rollout(robot, q, v, steps=30, external=robot.wrenches(q, {"tcp": pushes}), every=30)
    assert by_bodies.q.shape == (2, 3, 2, 7)
    adaptive = lw.simulate(robot, q, v, external={"tcp": pushes}, duration=0.03, method="dop853", step=0.01)
    for i in np.ndindex(2, 3):
        one = lw.rollout(robot, q[i], v[i], steps=30, external={"tcp": pushes[i]}, every=10)
        assert np.abs(both.q[i] - one.q).max() < 1e-13
        part = both.state(*i)
        assert np.abs(part.external - one.external).max() < 1e-12
        assert np.abs(part.a - one.a).max() < 1e-10 * np.abs(one.a).max()
        assert np.abs(adaptive.q[i] - one.q).max() < 1e-9
    assert np.array_equal(both[1:].external, both.external[:, :, 1:])


def test_held_controllers_feel_forces_that_are_not_held():
    robot = lw.load("double_pendulum")
    q, v = state(robot)
    frame = robot.tips[0]

    def law(robot, t, q, v):
        return -0.1 * v if float(t) < 9 else v

    def wave(robot, t, q, v):
        return {frame: [0, 0, 0, 10 * t, 0, 0]}

    held = lw.simulate(robot, q, v, law, external=wave, duration=0.1, hold=True)
    slow = lw.simulate(robot, q, v, law, external=wave, duration=0.1, hold=True, callback=True)
    assert np.abs(held.q - slow.q).max() < 1e-12
    assert np.abs(held.energy.drift).max() < 1e-9


def test_events_are_located_under_forces_of_a_batch():
    robot = lw.load("double_pendulum")
    push = {robot.tips[0]: np.array([[0.0, 0, 0, 8, 0, 0], [0, 0, 0, -8, 0, 0]])}
    passes = lw.Event(lambda r, t, q, v: q[..., 0] - 0.2, name="passes")
    motion = lw.simulate(robot, np.zeros((2, 2)), external=push, duration=0.5, events=passes)
    assert motion.events
    for crossing in motion.events:
        one = lw.simulate(robot, [0.0, 0.0], external={robot.tips[0]: push[robot.tips[0]][crossing.state[0]]},
                          duration=0.5, events=passes)  # fmt: skip
        assert one.events[0].time == pytest.approx(crossing.time, abs=1e-11)
        assert abs(crossing.q[0] - 0.2) < 1e-10


def test_float32_stays_float32():
    robot = lw.load("ur5")
    q, v = (x.astype(np.float32) for x in state(robot))
    motion = lw.simulate(robot, q, v, external={robot.tips[0]: [0, 0, 0, 1, 2, 3]}, duration=0.01)
    assert motion.q.dtype == motion.external.dtype == motion.a.dtype == np.float32


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "empty"),
        ({"nowhere": np.zeros(6)}, "nowhere"),
        ({"tcp": np.zeros(3)}, "the force on 'tcp'"),
        (np.zeros(6), "one \\[moment; force\\] per body"),
        (np.full((7, 6), np.nan), "finite"),
        (np.zeros((4, 7, 6)), "does not fit the batch"),
        (lambda robot, t, q, v: np.zeros(3), "one \\[moment; force\\] per body"),
        (lambda robot, t, q, v: None, "mapping of frames"),
    ],
)
def test_what_is_no_external_force_is_refused(given, words):
    robot = lw.load("panda")
    with pytest.raises(lw.LinkwiseError, match=words):
        lw.simulate(robot, robot.neutral(), external=given, duration=0.01)


@pytest.mark.parametrize("ending", ["npz", "nc", "zarr", "parquet"])
@pytest.mark.parametrize("batch", [(), (2, 2)])
def test_saved_loaded_and_resumed(ending, batch, tmp_path):
    if ending != "npz":
        pytest.importorskip({"nc": "h5netcdf", "zarr": "zarr", "parquet": "pyarrow"}[ending])
    robot = lw.load("panda")
    q, v = state(robot, batch)
    whole = lw.simulate(robot, q, v, external=PUSH, duration=0.04)
    half = lw.simulate(robot, q, v, external=PUSH, duration=0.02)
    half.save(tmp_path / f"half.{ending}")
    found = lw.Trajectory.load(tmp_path / f"half.{ending}", robot=robot)
    assert np.array_equal(found.external, half.external)
    both = found.resume(0.02, external=PUSH)
    assert np.array_equal(both.q, whole.q) and np.array_equal(both.exchanged, whole.exchanged)
    assert np.allclose(both.external, whole.external, rtol=1e-13, atol=1e-14)
    free = found.resume(0.02)  # no longer pushed
    assert not free.external[..., -1, :, :].any() and free.energy.external[..., -1] == pytest.approx(
        half.energy.external[..., -1]
    )


def test_the_viewer_draws_them():
    robot = lw.load("panda")
    motion = lw.simulate(robot, robot.neutral(), external=PUSH, duration=0.02)
    shown = lw.view.Motion(robot, motion.time, motion.q, motion.v, motion.a, external=motion.external)
    from linkwise.view.motion import as_motion

    assert np.array_equal(as_motion(motion).external, shown.external)
    # What the joint at the base holds is all that is outside it: gravity, inertia and the push.
    assert np.allclose(shown.reactions[:, 0, 2], 0.0, atol=1e-9)  # about its free axis nothing is held
