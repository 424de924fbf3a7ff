"""A flexible arm is swung to a new posture: its links bend on the way, and its tip rings where a rigid arm stands."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import linkwise as lw

# Two thin links of 1 m with two bending modes in each plane; nodes along them to draw by, and a load at the end.
STATIONS = {f"at{i}": i / 8 for i in range(1, 8)}
link = lw.Flexible.beam(length=1.0, mass=0.5, stiffness=150.0, modes=4, damping=0.02, nodes=STATIONS)
motor = lw.Rotor(0.1)
robot = lw.assemble(
    "flexible arm",
    [
        lw.Body("upper", lw.Joint(lw.Revolute("y"), rotor=motor), link),
        lw.Body("fore", lw.Joint(lw.Revolute("y"), at=(1, 0, 0), rotor=motor), link, "upper"),
        lw.Body("load", lw.Fixed(), lw.Inertia.sphere(0.2, 0.05), "fore.tip"),
    ],
    gravity=(0, 0, 0),
)
hinges = [robot.v_slices[robot.joint(name)].start for name in ("upper_joint", "fore_joint")]
print(f"{robot}: hinges {hinges}, links alone at {link.frequencies[::2] / (2 * np.pi)} Hz")

# Its hinges are swung by 1.2 and -0.8 rad in 0.9 s and held there, as stiff drives do; nothing drives the modes.
STEP, SWING, DURATION, TURN = 5e-4, 0.9, 2.0, np.array([1.2, -0.8])


def drives(t, q, v):
    s = np.minimum(t / SWING, 1.0)
    path, speed = s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2 / SWING
    here, rates = (np.stack([x[..., k] for k in places], axis=-1) for x, places in ((q, hinges), (v, hinges)))
    torque = 400.0 * (path * TURN - here) + 8.0 * (speed * TURN - rates)
    columns = [torque[..., hinges.index(k)] if k in hinges else 0.0 * v[..., k] for k in range(v.shape[-1])]
    return np.stack(columns, axis=-1)


run = lw.simulate(robot, robot.neutral(), controller=drives, duration=DURATION, step=STEP)
rigid = robot.lock(["upper.modes", "fore.modes"])
tip, there = robot.pose(run.q, "fore.tip")[1], rigid.pose(run.q[:, hinges], "load")[1]
away = np.linalg.norm(tip - there, axis=-1)
print(f"the tip is up to {100 * away.max():.1f} cm from where it would be on rigid links")
books = run.energy
print(f"the energy account closes to {np.abs(books.drift).max():.0e} J; damping took {books.dissipated[-1]:.3f} J")
assert away.max() > 0.02 and np.abs(run.energy.drift).max() < 1e-3 * run.energy.kinetic.max()

# What the links look like: the nodes of both, in the plane of the swing.
names = [f"{body}.{node}" for body in ("upper", "fore") for node in (*STATIONS, "tip")]
shown = np.linspace(0, round(SWING / STEP), 7).astype(int)
shape = np.stack([np.zeros((len(shown), 3)), *(robot.pose(run.q[shown], name)[1] for name in names)], axis=1)

figure = Figure(figsize=(12, 3.9), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.subplots(1, 3, width_ratios=(1.1, 1, 1))
colours = [(0.15 + 0.1 * i, 0.45, 0.75 - 0.08 * i) for i in range(len(shown))]
for colour, line, k in zip(colours, shape, shown):
    axes[0].plot(line[:, 0], line[:, 2], color=colour, lw=2, label=f"{run.time[k]:.2f} s")
    axes[0].plot(*line[[8, -1]][:, [0, 2]].T, "o", color=colour, ms=5)
axes[0].plot(there[shown, 0], there[shown, 2], "k+", label="tip on rigid links")
axes[0].set(xlabel="x [m]", ylabel="z [m]", title="the arm on its way", aspect="equal")
lw.plots.legend(axes[0], fontsize=7)
axes[1].plot(run.time, 100 * (tip - there)[:, [0, 2]], label=["x", "z"])
axes[1].axvline(SWING, color="k", lw=0.5)
axes[1].set(xlabel="t [s]", ylabel="tip less that of rigid links [cm]", title="bending and ringing")
lw.plots.legend(axes[1])
axes[2].plot(run.time, run.energy.kinetic, label="kinetic")
axes[2].plot(run.time, run.energy.potential, label="strain")
axes[2].plot(run.time, run.energy.work, "k--", label="work of the hinges")
axes[2].plot(run.time, run.energy.dissipated, label="taken by damping")
axes[2].set(xlabel="t [s]", ylabel="energy [J]", title="where the work went")
lw.plots.legend(axes[2])
figure.savefig("flexible_arm.png", dpi=120)
print("flexible_arm.png written")
