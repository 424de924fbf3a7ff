"""Control in diagonal coordinates beside computed torque and passive laws: error, effort, cost in operations.

Two tasks: bring a moving arm to rest (Control 8.1), and bring its hand to a pose (Control 8.2).
"""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import linkwise as lw
from linkwise.control import (
    ComputedTorque,
    ConfigurationControl,
    FrameGoal,
    OperationalSpace,
    PDGravity,
    RateFeedback,
)

robot = lw.load("panda")
tip = robot.tips[0]
home = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8])
target = home + np.array([0.5, 0.3, -0.2, 0.4, 0.3, -0.3, 0.4])
R, p = robot.pose(target, tip)
loaded = robot.weld(tip, lw.Inertia.sphere(1.0, 0.05))  # a kilogram that the laws do not know of
inertia = np.diag(robot.mass_matrix(home))
step = 4e-3


def effort(run):
    """Root mean square of what is spent beyond holding the arm [N m]."""
    beyond = run.tau - robot.gravity_force(run.q)
    return np.sqrt((beyond**2).sum(axis=-1).mean())


# --- to rest ------------------------------------------------------------------------------------------

c = 4.0
rest = {
    "ε = −cν (Control 8.1)": RateFeedback(robot, c),
    "computed torque, v̇ = −cv": ComputedTorque(robot, home, 0.0, c),
    "joint dampers": PDGravity(robot, home, 0.0, c * inertia),
}
rng = np.random.default_rng(2)
v0 = rng.normal(size=(8, 7))
print(f"{'to rest in 1 s':<28}{'kinetic energy left':>20}{'effort [N m]':>14}{'operations':>12}")
energies = {}
for name, law in rest.items():
    run = lw.simulate(robot, home, v0, law, duration=1.0, step=step)
    energies[name] = robot.kinetic_energy(run.q, run.v)
    left = (energies[name][:, -1] / energies[name][:, 0]).max()
    print(f"{name:<28}{left:20.1e}{effort(run):14.2f}{law.compile().operations.total:12d}")
    if isinstance(law, RateFeedback):
        assert (np.diff(run.along(law.lyapunov)) < 0).all()
        off = np.abs(energies[name] / energies[name][:, :1] - np.exp(-2 * c * run.time)).max()
        print(f"{'':<28}the kinetic energy is e^(−2ct) to {off:.0e}")

# --- to a pose ----------------------------------------------------------------------------------------

reach = {
    "Control 8.2": ConfigurationControl(robot, tip, p, R, damping=9.0, position_gain=120.0, orientation_gain=10.0),
    "operational space": OperationalSpace(robot, tip, FrameGoal(p, R), stiffness=25.0),
    "computed torque": ComputedTorque(robot, target, 25.0, 10.0),
    "PD + gravity": PDGravity(robot, target, 25.0 * inertia, 10.0 * inertia),
}
print(f"\n{'to a pose':<20}{'within 1 cm after':>18}{'left at 5 s':>14}{'effort':>9}{'peak':>8}", end="")
print(f"{'operations':>12}{'with 1 kg unknown':>20}")
runs, falling = {}, {}
for name, law in reach.items():
    run = runs[name] = lw.simulate(robot, home, controller=law, duration=5.0, step=step)
    error = np.linalg.norm(robot.pose(run.q, tip)[1] - p, axis=-1)
    heavy = lw.simulate(loaded, home, controller=law, duration=5.0, step=step)
    off = np.linalg.norm(robot.pose(heavy.q[-1], tip)[1] - p)
    settled = run.time[np.flatnonzero(error > 0.01)[-1] + 1] if error[-1] < 0.01 else np.inf
    peak = np.abs(run.tau - robot.gravity_force(run.q)).max()
    print(f"{name:<20}{settled:16.2f} s{1e3 * error[-1]:11.2g} mm{effort(run):9.2f}{peak:8.1f}"
          f"{law.compile().operations.total:12d}{1e3 * off:17.0f} mm")  # fmt: skip
    if hasattr(law, "lyapunov"):
        V = falling[name] = run.along(law.lyapunov)
        assert (np.diff(V) <= 1e-12 * V[0]).all()

# --- picture ------------------------------------------------------------------------------------------

figure = Figure(figsize=(11, 3.8), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.subplots(1, 3)
for i, (name, energy) in enumerate(energies.items()):
    t = step * np.arange(energy.shape[-1])
    axes[0].semilogy(t, (energy / energy[:, :1]).T, color=f"C{i}", lw=0.8, zorder=3 - i)
    axes[0].plot([], color=f"C{i}", label=name)
axes[0].set(xlabel="t [s]", ylabel="kinetic energy / at the start", title="to rest, eight motions")
lw.plots.legend(axes[0], fontsize=8)
for i, (name, run) in enumerate(runs.items()):
    error = np.linalg.norm(robot.pose(run.q, tip)[1] - p, axis=-1)
    style = {"color": f"C{i}", "ls": "--" if name == "computed torque" else "-"}  # it lies on operational space
    axes[1].semilogy(run.time, np.maximum(error, 1e-7), label=name, **style)
    if name in falling:
        axes[2].semilogy(run.time, np.maximum(falling[name] / falling[name][0], 1e-13), label=name, **style)
axes[1].set(xlabel="t [s]", ylabel="distance from the goal [m]", title="to a pose", ylim=(3e-7, 0.5), xlim=(0, 5))
lw.plots.legend(axes[1], fontsize=8)
axes[2].set(xlabel="t [s]", ylabel="V / at the start", title="Lyapunov functions", ylim=(3e-13, 3), xlim=(0, 5))
lw.plots.legend(axes[2], fontsize=8)
figure.savefig("decoupled_control.png", dpi=120)
print("decoupled_control.png written")
