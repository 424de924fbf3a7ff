"""Control laws: closed loops converge, batches, compiled code, frames, and what is refused."""

import pickle

import numpy as np
import pytest
from loops import LAWS, laws, swinging
from trees import assert_close, robot, state

import linkwise as lw
from linkwise import InputError, NotAdmittedError, SingularError, UnknownNameError, control


@pytest.fixture
def compiled(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")


ALL_LAWS = (*LAWS, "ReferenceFeedforward", "OperationalSpace")


def law(name, r):
    if name == "ReferenceFeedforward":
        return control.ReferenceFeedforward(r, swinging(r), 20.0, 5.0, base_forces=True)
    if name == "OperationalSpace":
        goal = control.FrameGoal(*r.pose(r.random_configuration(5), r.tips[-1])[::-1])
        return control.OperationalSpace(r, r.tips[-1], goal, posture=r.neutral(), regularization=1e-3, base_forces=True)
    return laws(r)[name]


@pytest.mark.parametrize("name", ALL_LAWS)
@pytest.mark.parametrize("which", ["ur5", "arms"])
def test_batches_are_loops_of_singles(name, which):
    r = robot(which)
    s, controller = state(r, (2, 3)), law(name, r)
    found = controller(0.3, s.q, s.v)
    assert found.shape == (2, 3, r.nv)
    for i in np.ndindex(2, 3):
        assert_close(controller(0.3, s.q[i], s.v[i]), found[i], 1e-11)


@pytest.mark.parametrize("name", ALL_LAWS)
@pytest.mark.parametrize("which", ["ur5", "spherical"])
def test_compiled_is_the_same(name, which):
    r = robot(which)
    s, controller = state(r, (4,)), law(name, r)
    kernel = controller.compile()
    t = np.array([[0.0], [0.3], [0.7], [1.1]])
    found = kernel(t, s.q, s.v)
    for i in range(4):
        assert_close(found[i], controller(t[i, 0], s.q[i], s.v[i]), 1e-9)
    assert kernel.operations.total > 0


def test_compiled_laws_and_steps_are_pickled():
    """A pool of processes is sent what was made here; where it arrives it is made again."""
    r = robot("chain2")
    kernel, arguments = control.PDGravity(r, np.ones(2), 2.0, 1.0).compile(), (np.zeros(1), np.zeros(2), np.ones(2))
    assert np.array_equal(pickle.loads(pickle.dumps(kernel))(*arguments), kernel(*arguments))
    steps = control.Steps(r, 0.01)
    after = steps(np.zeros(2), np.ones(2), np.ones(2))
    again = pickle.loads(pickle.dumps(steps))
    assert again == steps and np.array_equal(again(np.zeros(2), np.ones(2), np.ones(2)), after)


# Laws of numbers alone: a configuration and gains, which are the caller's own arrays.
OF_NUMBERS = {
    "RateFeedback": lambda r, q, gains: control.RateFeedback(r, gains),
    "ConfigurationControl": lambda r, q, gains: control.ConfigurationControl(
        r, "tool0", q[:3], np.eye(3), damping=gains, position_gain=10.0, orientation_gain=0.3
    ),
    "OperationalSpace": lambda r, q, gains: control.OperationalSpace(
        r, "tool0", control.FrameGoal(q[:3]), posture=q, posture_stiffness=gains, regularization=1e-3
    ),
    "LQR": lambda r, q, gains: control.LQR.about(r, q, state=np.r_[gains, gains]),
    "TVLQR": lambda r, q, gains: control.TVLQR.along(
        r, np.broadcast_to(q, (2, 6)), np.zeros((2, 6)), gains[None], 0.02, state=np.r_[gains, gains]
    ),
    **{
        name: lambda r, q, gains, name=name: getattr(control, name)(r, q, gains, gains)
        for name in ("PDGravity", "PDPlus", "ReferenceCoriolis", "ReferenceFeedforward", "ComputedTorque")
    },
    "SlidingTracking": lambda r, q, gains: control.SlidingTracking(r, q, gains, gains),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_laws_keep_their_numbers(name):
    """Arrays given to a law and changed afterwards do not change it, and pickled it is the same law."""
    r = robot("ur5")
    s, q, gains = state(r), r.random_configuration(3), np.linspace(1.0, 2.0, 6)
    made = OF_NUMBERS[name](r, q, gains)
    before = made(0.01, s.q, s.v)
    q += 1.0
    gains *= 3.0
    assert_close(made(0.01, s.q, s.v), before, 0)
    assert_close(pickle.loads(pickle.dumps(made))(0.01, s.q, s.v), before, 0)


TRACKING = ["PDPlus", "ReferenceCoriolis", "ReferenceFeedforward", "SlidingTracking", "ComputedTorque"]


@pytest.mark.parametrize("name", TRACKING)
def test_tracking_errors_vanish(name, compiled):
    r = robot("ur5")
    inertia = np.diag(r.mass_matrix(np.zeros(6)))
    scale = 1.0 if name == "ComputedTorque" else inertia
    gains = {"Kp": 8.0 if name == "SlidingTracking" else 100.0 * scale, "Kd": 20.0 * scale}
    reference = swinging(r)
    controller = getattr(control, name)(r, reference, **gains)
    run = lw.simulate(r, reference(0)[0] + 0.2, controller=controller, duration=4.0, step=4e-3)
    e = np.array([q - reference(t)[0] for t, q in zip(run.time, run.q)])
    assert np.abs(e[0]).max() == pytest.approx(0.2)
    assert np.abs(e[-1]).max() < (0.02 if name == "ReferenceFeedforward" else 2e-3)


def test_computed_torque_obeys_its_error_equation(compiled):
    """ë + Kd ė + Kp e = 0: critically damped, e(t) = e₀(1 + ωt)exp(−ωt)."""
    r = robot("ur5")
    reference = swinging(r)
    controller = control.ComputedTorque(r, reference, 25.0, control.critical_damping(25.0))
    start, v0 = reference(0)[0], reference(0)[1]
    run = lw.simulate(r, start + 0.3, v0, controller, duration=1.0, step=2e-3)
    e = np.array([q - reference(t)[0] for t, q in zip(run.time, run.q)])
    assert_close(e, (0.3 * (1 + 5 * run.time) * np.exp(-5 * run.time))[:, None] * np.ones(6), 1e-7)


def test_configuration_control_reaches_its_pose(compiled):
    r = robot("panda")
    q = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.0, 0.5])
    R, p = r.pose(q + 0.15, r.tips[0])
    controller = control.ConfigurationControl(
        r, r.tips[0], p, R, damping=6.0, position_gain=80.0, orientation_gain=10.0
    )
    run = lw.simulate(r, q, controller=controller, duration=6.0, step=4e-3)
    R1, p1 = r.pose(run.q[-1], r.tips[0])
    assert np.abs(p1 - p).max() < 1e-3 and np.abs(R1 - R).max() < 5e-3
    assert np.abs(run.v[-1]).max() < 5e-3


# --- operational space -------------------------------------------------------------------------------


def test_frame_accelerates_as_told_and_the_posture_does_not_show():
    """J a + J̇ v = α exactly, for any posture; and the posture's pull lies in the null space."""
    r = robot("panda")
    s = state(r, (), seed=1)
    R, p = r.pose(r.random_configuration(3), r.tips[0])
    goal = control.FrameGoal(p, R, velocity=np.arange(6) * 0.1, acceleration=np.ones(6))
    seen = []
    for posture in (None, r.neutral()):
        controller = control.OperationalSpace(r, r.tips[0], goal, posture=posture)
        a = r.forward_dynamics(s.q, s.v, controller(0.0, s.q, s.v))
        alpha = r.acceleration(s.q, s.v, a, r.tips[0])
        expected = goal.acceleration + 20.0 * (goal.velocity - r.velocity(s.q, s.v, r.tips[0]))
        assert_close(alpha, expected + 100.0 * controller.pose_error(goal, s.q), 1e-8)
        seen.append(a)
    moved = seen[1] - seen[0]
    assert np.abs(moved).max() > 1e-2 and np.abs(r.jacobian(s.q, r.tips[0]) @ moved).max() < 1e-8


def test_khatibs_formula():
    """τ = J*Λ(α − J̇v) + (I − J*J̄*)𝓜a₀ + C + g, with matrices."""
    r = robot("panda")
    s = state(r, (), seed=1)
    f = r.tips[0]
    R, p = r.pose(r.random_configuration(3), f)
    controller = control.OperationalSpace(r, f, control.FrameGoal(p, R), posture=r.neutral())
    J, Lambda, J_bar = r.jacobian(s.q, f), r.operational_inertia(s.q, f), r.consistent_inverse(s.q, f)
    alpha = 100.0 * controller.pose_error(controller.goal, s.q) - 20.0 * r.velocity(s.q, s.v, f)
    a_0 = -10.0 * (s.q - r.neutral()) - 2 * np.sqrt(10.0) * s.v
    null = np.eye(7) - J.T @ J_bar.T
    tau = J.T @ Lambda @ (alpha - r.jacobian_dot_v(s.q, s.v, f)) + null @ r.mass_matrix(s.q) @ a_0
    assert_close(controller(0.0, s.q, s.v), tau + r.bias_force(s.q, s.v), 1e-9)


def test_reaches_and_holds_its_posture(compiled):
    r = robot("panda")
    q = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.0, 0.5])
    p = r.pose(q, r.tips[0])[1] + [0.1, 0.2, -0.1]
    controller = control.OperationalSpace(r, r.tips[0], control.FrameGoal(p), posture=q)
    run = lw.simulate(r, q, controller=controller, duration=3.0, step=4e-3)
    assert np.abs(r.pose(run.q[-1], r.tips[0])[1] - p).max() < 1e-5
    # what is left of the posture's pull moves the frame: a₀ is in the range of 𝓜⁻¹J*
    J = r.jacobian(run.q[-1], r.tips[0])[3:]
    pull = r.mass_times(run.q[-1], run.q[-1] - q)
    assert np.abs(run.v[-1]).max() < 5e-3
    assert np.abs(pull - J.T @ np.linalg.lstsq(J.T, pull)[0]).max() < 1e-2 * np.abs(pull).max()


# --- refused -----------------------------------------------------------------------------------------


def test_joints_that_nothing_drives():
    for r in (robot("cartpole"), robot("quadruped")):
        assert set(control.driven_joints(r)) < {j.name for j in r.joints}
        with pytest.raises(NotAdmittedError, match="nothing drives 'hinge'|nothing drives 'root_joint'"):
            control.ComputedTorque(r, r.neutral(), 1.0, 1.0)
        with pytest.raises(NotAdmittedError, match="LQR, TVLQR and ILQR take actuated"):
            control.RateFeedback(r, 1.0)
    assert control.RateFeedback(robot("quadruped"), 1.0, base_forces=True)
    with pytest.raises(NotAdmittedError, match="hinge"):  # thrusters do not drive a hinge
        control.RateFeedback(robot("cartpole"), 1.0, base_forces=True)


def test_joints_without_integrable_errors():
    r = robot("custom_skate")
    with pytest.raises(NotAdmittedError, match="non-holonomic"):
        control.PDPlus(r, r.neutral(), 1.0, 1.0)


def test_gains_and_goals():
    r = robot("ur5")
    with pytest.raises(InputError, match="gain must be positive"):
        control.RateFeedback(r, [1, 1, 1, 1, 1, 0])
    with pytest.raises(InputError, match="Kd must be one number or 6"):
        control.PDPlus(r, r.neutral(), 1.0, [1, 2])
    with pytest.raises(InputError, match="Kp must be zero or more"):
        control.PDPlus(r, r.neutral(), -1.0, 1.0)
    with pytest.raises(InputError, match="Kp must be zero or more"):
        control.PDPlus(r, r.neutral(), np.nan, 1.0)
    with pytest.raises(InputError, match="needs the rotation"):
        control.ConfigurationControl(r, "tool0", [0, 0, 0], orientation_gain=1.0)
    with pytest.raises(InputError, match="orthonormal"):
        control.ConfigurationControl(r, "tool0", [0, 0, 0], 2 * np.eye(3))
    with pytest.raises(InputError, match=r"position must be finite"):
        control.ConfigurationControl(r, "tool0", [0, 0])
    with pytest.raises(UnknownNameError, match="'tool9'"):
        control.ConfigurationControl(r, "tool9", [0, 0, 0])
    with pytest.raises(InputError, match="FrameGoal"):
        control.OperationalSpace(r, "tool0", [0, 0, 0])
    with pytest.raises(InputError, match="position must be finite"):
        control.OperationalSpace(r, "tool0", control.FrameGoal(np.zeros(2)))
    with pytest.raises(InputError, match="position must be finite"):
        control.OperationalSpace(r, "tool0", lambda t: control.FrameGoal(np.full(3, np.nan)))
    with pytest.raises(InputError, match="orthonormal"):
        control.OperationalSpace(r, "tool0", control.FrameGoal(np.zeros(3), np.ones((3, 3))))
    with pytest.raises(InputError, match=r"goal's velocity.*\(\.\.\., 6\)"):
        control.OperationalSpace(r, "tool0", control.FrameGoal(np.zeros(3), velocity=np.zeros(3)))
    with pytest.raises(NotAdmittedError, match="cannot accelerate a frame in 3"):
        control.OperationalSpace(robot("double_pendulum"), "tip", control.FrameGoal(np.zeros(3)))
    stretched = control.OperationalSpace(r, "tool0", control.FrameGoal(np.zeros(3), np.eye(3)))
    with pytest.raises(SingularError, match="singular"):
        stretched(0.0, np.zeros(6), np.zeros(6))


def test_references_and_states():
    r = robot("ur5")
    good = control.PDPlus(r, r.neutral(), 1.0, 1.0)
    with pytest.raises(InputError, match=r"q must have shape \(\.\.\., 6\)"):
        good(0.0, np.zeros(5), np.zeros(6))
    with pytest.raises(InputError, match=r"t → \(q, v, a\)"):
        control.PDPlus(r, lambda t: np.zeros(6), 1.0, 1.0)(0.0, np.zeros(6), np.zeros(6))
    with pytest.raises(InputError, match="the reference's a"):
        control.PDPlus(r, lambda t: (np.zeros(6), np.zeros(6), np.zeros(5)), 1.0, 1.0)(0.0, np.zeros(6), np.zeros(6))


def test_laws_are_controllers():
    r = robot("ur5")
    law = control.RateFeedback(r, 1.0)
    with pytest.raises(InputError, match="must be positive"):
        lw.simulate(r, np.zeros(6), controller=law, step=0.0)
    with pytest.raises(InputError, match=r"0\.01 steps of 0\.1 s; it must be a whole number"):
        lw.simulate(r, np.zeros(6), controller=law, duration=0.001, step=0.1)
    with pytest.raises(lw.SimulationError, match="no longer finite"), np.errstate(all="ignore"):
        lw.simulate(r, np.zeros(6), controller=lambda t, q, v: 1e6 * v + 1.0, step=0.1, duration=60.0)
    with pytest.raises(InputError, match=r"joint forces of shape \(6,\).*got \(3,\)"):
        lw.simulate(r, np.zeros(6), controller=lambda t, q, v: np.zeros(3))
    run = lw.simulate(r, np.zeros((2, 6)), np.ones(6), law, duration=0.01, step=0.005)
    assert run.q.shape == run.tau.shape == (2, 3, 6)
    V = run.along(law.lyapunov)
    assert V.shape == (2, 3) and (np.diff(V) < 0).all()
    assert np.array_equal(V[:, 1], law.lyapunov(0.005, run.q[:, 1], run.v[:, 1]))


@pytest.mark.parametrize("name", [*ALL_LAWS, "LQR"])
def test_single_precision_stays(name):
    r = robot("ur5")
    s = state(r, (3,), seed=2)
    controller = control.LQR.about(r, np.full(6, 0.3)) if name == "LQR" else law(name, r)
    exact, found = controller(0.3, s.q, s.v), controller(0.3, s.q.astype(np.float32), s.v.astype(np.float32))
    assert exact.dtype == np.float64 and found.dtype == np.float32
    assert_close(found, exact, 1e-3)
