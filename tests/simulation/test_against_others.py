"""Simulated motions against SciPy on equations of its own, against MuJoCo, and against closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import linkwise as lw
from linkwise.interop.mujoco import layout, to_mujoco

mujoco = pytest.importorskip("mujoco")


def test_arm_against_scipy_on_the_dense_equations():
    """𝓜v̇ = τ − bias with a dense solve, from NumPy sweeps: nothing of the compiled path."""
    r = lw.chain(4, seed=3)
    rng = np.random.default_rng(0)
    q, v = r.random_configuration(rng), rng.normal(size=4)

    def rate(t, y):
        q, v = y[:4], y[4:]
        tau = -0.1 * v - 0.5 * np.sin(q) + 0.2 * np.sin(3 * t)
        bias = r.bias_force(q, v, target="numpy")
        return np.concatenate([v, np.linalg.solve(r.mass_matrix(q, target="numpy"), tau - bias)])

    def controller(robot, t, q, v):
        from linkwise import arrays

        wave = np.sin(3 * t) if isinstance(t, float) else (3 * t).sin()
        return -0.5 * arrays.sin(q) + 0.2 * wave

    exact = solve_ivp(rate, (0, 0.5), np.concatenate([q, v]), "DOP853", rtol=1e-13, atol=1e-13, t_eval=[0.25, 0.5])
    for method, step in (("runge_kutta_4", 2.5e-4), ("dop853", 0.25), ("lsoda", 0.25)):
        options = {"damping": 0.1, "tolerances": (1e-12, 1e-13)}
        t = lw.simulate(r, q, v, controller, duration=0.5, step=step, method=method, **options)
        here = np.concatenate([t.q, t.v], axis=-1)[[len(t) // 2, -1]]
        assert np.abs(here - exact.y.T).max() < 1e-10


@pytest.mark.parametrize("name", ["panda", "quadruped"])
def test_against_mujoco_converged(name):
    """Both with RK4 at small steps: arms step for step, floating robots where both have converged."""
    r = lw.load(name)
    rng = np.random.default_rng(1)
    q, v = r.random_configuration(rng), 0.5 * rng.normal(size=r.nv)
    step, steps = 1e-4, 2000
    model, own = to_mujoco(mujoco, r), layout(r)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, step
    data = mujoco.MjData(model)
    there, turned = own.arguments("forward_dynamics", [q[None], v[None]])
    data.qpos[:], data.qvel[:] = there[0], turned[0]
    for _ in range(steps):
        mujoco.mj_step(model, data)
    t = lw.simulate(r, q, v, duration=steps * step, step=step, every=steps)
    end_q, end_v = own.arguments("forward_dynamics", [t.q[-1:], t.v[-1:]])
    if end_q[0, 3:7] @ data.qpos[3:7] < 0 and name == "quadruped":
        end_q[0, 3:7] *= -1  # q and −q are one rotation
    assert np.abs(end_q[0] - data.qpos).max() < 1e-10
    assert np.abs(end_v[0] - data.qvel).max() < 1e-10 * max(1.0, np.abs(data.qvel).max())


def test_damping_and_pushes_against_mujoco():
    """MuJoCo's own damping and xfrc_applied, forces in world axes at the bodies' centres of mass; step for step."""
    r = lw.load("panda")
    rng = np.random.default_rng(2)
    q, v = r.random_configuration(rng), rng.normal(size=7)
    damping, pushes = rng.uniform(0.1, 1.0, 7), rng.normal(size=(7, 6)) * 5
    model = to_mujoco(mujoco, r)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-4
    model.dof_damping[:] = damping
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, v
    bodies = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, b.name) for b in r.bodies]
    assert min(bodies) > 0
    for body, push in zip(bodies, pushes):
        data.xfrc_applied[body] = [*push[3:], *push[:3]]  # force first there
    for _ in range(2000):
        mujoco.mj_step(model, data)
    at_mass = [lw.Frame(f"{b.name} com", b.name, at=b.inertia.com) for b in r.bodies]
    framed = replace(r, extra_frames=(*r.extra_frames, *at_mass))
    external = {f.name: push for f, push in zip(at_mass, pushes)}
    t = lw.simulate(framed, q, v, duration=0.2, step=1e-4, every=2000, damping=damping, external=external)
    assert np.abs(t.q[-1] - data.qpos).max() < 1e-10
    assert np.abs(t.v[-1] - data.qvel).max() < 1e-10 * np.abs(data.qvel).max()
    assert np.abs(t.energy.drift).max() < 1e-9


def test_floating_robot_against_scipy_on_quaternions():
    """q̇ = ½ q∘ω written out by hand, 𝓜v̇ = τ − bias solved densely on NumPy sweeps; SciPy's step control at 1e-13."""
    r = lw.load("quadruped")
    rng = np.random.default_rng(4)
    q, v = r.random_configuration(rng), 0.5 * rng.normal(size=r.nv)
    free = next(i for i, j in enumerate(r.joints) if j.kind.kind == "free")
    assert free == 0 and r.nq == r.nv + 1

    def rate(t, y):
        q, v = y[: r.nq], y[r.nq :]
        x, unit = v[:6], q[3:7] / np.linalg.norm(q[3:7])
        R, _ = r.pose(np.concatenate([q[:3], unit, q[7:]]), r.bodies[0].name)
        a, w = q[3:6], q[6]
        turn = 0.5 * np.concatenate([w * x[:3] + np.cross(a, x[:3]), [-(a @ x[:3])]])  # (x, y, z, w), ω in body axes
        bias = r.bias_force(q, v, target="numpy")
        v_dot = np.linalg.solve(r.mass_matrix(q, target="numpy"), -bias)
        return np.concatenate([R @ x[3:], turn, v[6:], v_dot])

    exact = solve_ivp(rate, (0, 0.2), np.concatenate([q, v]), "DOP853", rtol=1e-13, atol=1e-13, t_eval=[0.2]).y[:, -1]
    exact[3:7] /= np.linalg.norm(exact[3:7])
    for method, step in (("runge_kutta_4", 1e-4), ("dop853", 0.1)):
        t = lw.simulate(r, q, v, duration=0.2, step=step, method=method, tolerances=(1e-12, 1e-13))
        here = np.concatenate([t.q[-1], t.v[-1]])
        assert np.abs(here - exact).max() < 1e-10


def test_variational_steps_converge_to_scipy():
    """Second order: errors fall by four with half the step, and Richardson's combination of two is SciPy's to 1e-10."""
    r = lw.load("double_pendulum")
    q, v = np.array([0.8, -0.4]), np.array([0.3, 0.5])
    exact = lw.simulate(r, q, v, duration=0.5, step=0.5, method="dop853", tolerances=(1e-13, 1e-14))
    ends = [
        lw.simulate(r, q, v, duration=0.5, step=h, method="variational", every=round(0.5 / h)).q[-1]
        for h in (2e-4, 1e-4)
    ]
    errors = [np.abs(e - exact.q[-1]).max() for e in ends]
    assert 3.9 < errors[0] / errors[1] < 4.1
    assert np.abs((4 * ends[1] - ends[0]) / 3 - exact.q[-1]).max() < 1e-10


def test_mujoco_rollout_step_for_step():
    from mujoco import rollout

    r = lw.load("panda")
    rng = np.random.default_rng(3)
    q, v, tau = r.random_configuration(rng, 5), rng.normal(size=(5, 7)), rng.normal(size=(5, 30, 7))
    spec_model = to_mujoco(mujoco, r)
    spec_model.opt.integrator, spec_model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-3
    states = np.concatenate([np.zeros((5, 1)), q, v], axis=1)
    applied = mujoco.mjtState.mjSTATE_QFRC_APPLIED
    there, _ = rollout.rollout(spec_model, mujoco.MjData(spec_model), states, tau, control_spec=applied.value)
    here = lw.rollout(r, q, v, tau)
    assert np.abs(here.q[:, 1:] - there[:, :, 1:8]).max() < 1e-12
    assert np.abs(here.v[:, 1:] - there[:, :, 8:15]).max() < 1e-11


def pendulum(damping=0.0, friction=0.0, limits=None):
    """A point mass of 1 kg on a massless rod of 1 m, hanging at q = 0."""
    joint = lw.Joint(lw.Revolute("y"), damping=damping, friction=friction, limits=limits or lw.Limits())
    return lw.assemble("pendulum", [lw.Body("rod", joint, lw.Inertia.point(1.0, (0, 0, -1)))])


def test_small_damped_swing_is_the_closed_form():
    r = pendulum(damping=0.4)
    t = lw.simulate(r, [1e-6], [0.0], duration=3.0, damping=True)
    w = np.sqrt(9.81 - 0.04)
    exact = 1e-6 * np.exp(-0.2 * t.time) * (np.cos(w * t.time) + 0.2 / w * np.sin(w * t.time))
    assert np.abs(t.q[:, 0] - exact).max() < 1e-15
    own = lw.simulate(r, [1e-6], [0.0], duration=3.0)  # it acts by itself
    assert np.array_equal(own.q, t.q) and np.array_equal(own.energy.dissipated, t.energy.dissipated)
    data = r.with_springs(damping_acts=False)
    for undamped in (
        lw.simulate(r, [1e-6], [0.0], duration=3.0, damping=False),
        lw.simulate(data, [1e-6], duration=3.0),
    ):
        assert np.abs(undamped.q[:, 0] - 1e-6 * np.cos(np.sqrt(9.81) * t.time)).max() < 1e-15
    for told in (
        lw.simulate(data, [1e-6], duration=3.0, damping=True),
        lw.simulate(r, [1e-6], duration=3.0, damping=0.4),
    ):
        assert np.abs(told.q - t.q).max() < 1e-15


def test_dry_friction_slows_a_slider_evenly_and_holds_it():
    joint = lw.Joint(lw.Prismatic("x"), friction=2.0)
    r = lw.assemble("slider", [lw.Body("block", joint, lw.Inertia.point(1.0))])
    t = lw.simulate(r, [0.0], [1.0], duration=1.0, step=1e-4, friction=True)
    moving = t.time < 0.49
    assert np.abs(t.v[moving, 0] - (1.0 - 2.0 * t.time[moving])).max() < 1e-4
    assert abs(t.v[-1, 0]) < 1e-4
    assert t.energy.dissipated[-1] == pytest.approx(0.5, abs=1e-6)
    assert np.abs(t.energy.drift).max() < 1e-7


def test_a_stop_holds_the_weight_and_takes_the_energy():
    r = pendulum(limits=lw.Limits(-0.3, 0.5))
    t = lw.simulate(r, [-0.2], [4.0], duration=6.0, step=1e-4, every=10, limits=True, damping=0.5)
    assert t.q.max() < 0.55 and t.q.min() > -0.35  # springs give a little
    assert t.q.max() > 0.5  # and were touched
    assert np.abs(t.energy.drift).max() < 1e-4
    assert t.energy.stops[-1] > 1.0
    free = lw.simulate(r, [-0.2], [4.0], duration=1.0)
    assert free.q.max() > 0.6
    held = lw.simulate(r, [0.3], [0.0], duration=4.0, limits=([0.4], [1.0]), damping=3.0)
    push = 9.81 * np.sin(held.q[-1, 0])
    assert (0.4 - held.q[-1, 0]) * 100.0**2 == pytest.approx(push, rel=1e-3)  # k = inertia (1 kg m²) × (100 rad/s)²
