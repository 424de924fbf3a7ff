"""A satellite swings another one in its hands: nothing pushes from outside, so that it must turn the other way."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import linkwise as lw

robot = lw.load("satellite_pair")  # two free bodies, two arms of seven joints, two welds
joints = [f"{side}_joint{i}" for side in ("left", "right") for i in range(1, 8)]
arms = np.array([robot.q_slices[robot.joint(name)].start for name in joints])
driven = np.array([robot.v_slices[robot.joint(name)].start for name in joints])
rest = robot.neutral()
PARTS = ("bus", slice(0, 21), slice(0, 20)), ("held", slice(21, 28), slice(20, 26))  # in q and in v
print(f"{robot.nv} rates, {robot.mobility(rest)} of them left by two welded hands; {robot.total_mass:.0f} kg")

# Where the arms must go for the held satellite to be swung round the other one by 0.2 rad.
ANGLE, DURATION = 0.2, 4.0
at = robot.joints[robot.joint("held_joint")].placement.l
aside = [at[0] * (np.cos(ANGLE) - 1), at[0] * np.sin(ANGLE), 0]
goal = rest.copy()
goal[robot.q_slices[robot.joint("held_joint")]] = [*aside, 0, 0, np.sin(ANGLE / 2), np.cos(ANGLE / 2)]
goal = robot.closed_configuration(goal, keep=["root_joint", "held_joint"])
print(f"joints move by up to {np.abs(goal - rest)[arms].max():.2f} rad")


# The joints of the arms are drawn there, by forces as large as what they move is heavy; nothing drives the two
# satellites themselves.
def law(t, q, v):
    s = 0.5 - 0.5 * np.cos(np.pi * t / DURATION)
    wanted = rest[arms] + s * (goal - rest)[arms]
    accelerations = 64.0 * (wanted - q[..., arms]) - 16.0 * v[..., driven]
    forces = robot.mass_matrix(q, target="numpy")[..., driven[:, None], driven] @ accelerations[..., None]
    return forces[..., 0] @ np.eye(robot.nv)[driven]


# A computer asks the law 25 times a second, and holds what it says (hold=True).
options = {"duration": DURATION, "step": 0.04, "method": "midpoint", "hold": True, "target": "numpy"}
run = lw.simulate(robot, rest, controller=law, **options)
bus, held = (2 * np.arcsin(run.q[:, robot.q_slices[robot.joint(f"{x}_joint")]][:, 5]) for x in ("root", "held"))
momentum = robot.momentum(run.q, run.v)
shares = {x: robot.opened.subtree(x).momentum(run.q[:, own], run.v[:, rates]) for x, own, rates in PARTS}
print(f"the held satellite turns by {held[-1]:+.3f} rad, the other one by {bus[-1]:+.3f} rad")
most = np.abs(shares["held"][:, 2]).max()
print(f"angular momenta of up to {most:.1f} N m s; of the whole, less than {np.abs(momentum).max():.0e} at any time")
print(f"loops open by at most {run.energy.loops.max():.0e}")
assert np.abs(momentum).max() < 1e-3 and run.energy.loops.max() < 1e-10

# The forces of the hands: on the held satellite, in world axes, they sum to what moves it.
tau = law(run.time[:, None], run.q, run.v)
forces = robot.loop_forces(run.q, run.v, tau, target="numpy")[..., 3:]
R = np.stack([robot.pose(run.q, f"{side}_handle")[0] for side in ("left", "right")], axis=1)
pushes = -np.einsum("tlij,tlj->tli", R, forces)  # (the loop's forces are those on the hands)
moved = 150.0 * np.gradient(robot.velocity(run.q, run.v, "held")[:, 3:], run.time, axis=0)
print(f"its mass times its acceleration is their sum, to {np.abs(pushes.sum(axis=1) - moved)[2:-2].max():.2f} N")

figure = Figure(figsize=(11, 4.0), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.subplots(1, 3)
axes[0].plot(run.time, held, label="the held satellite")
axes[0].plot(run.time, bus, label="the other one")
axes[0].set(xlabel="t [s]", ylabel="turned by [rad]", title="both turn")
axes[1].plot(run.time, shares["held"][:, 2], label="the held satellite")
axes[1].plot(run.time, shares["bus"][:, 2], label="the other one and its arms")
axes[1].plot(run.time, momentum[:, 2], "k--", label="sum")
axes[1].set(xlabel="t [s]", ylabel="[N m s]", title="angular momentum about z")
axes[2].plot(run.time, pushes[:, :, 1], label=["left hand", "right hand"])
axes[2].plot(run.time, pushes[:, :, 1].sum(axis=1), "k--", label="sum")
axes[2].set(xlabel="t [s]", ylabel="force along y [N]", title="what the hands do to it")
for ax in axes:
    lw.plots.legend(ax)
figure.savefig("satellites.png", dpi=120)
print("satellites.png written")
