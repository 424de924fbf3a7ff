"""A delta arm carries a part over an arc: closed postures, what its three motors must do, and the motion they make."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import linkwise as lw

robot = lw.load("delta").weld("platform", lw.Inertia.sphere(0.2, 0.03), at=(0, 0, -0.03))
motors = [f"arm{i}_motor" for i in (1, 2, 3)]
driven = [robot.v_slices[robot.joint(name)].start for name in motors]
print(f"{robot.nv} joint rates, of which {len(robot.loops)} ball joints leave {robot.mobility(robot.neutral())}")

# The platform on its way over an arc, from rest to rest; closed postures of the arms around it.
STEP, DURATION = 2e-3, 0.6
time = np.arange(0.0, DURATION + STEP / 2, STEP)
s = time / DURATION
along = s**3 * (10 - 15 * s + 6 * s**2)
path = np.stack([0.1 - 0.2 * along, 0.05 * np.sin(np.pi * along), 0.06 * np.sin(np.pi * along)], axis=-1)
guess = np.tile(robot.neutral(), (len(time), 1))
guess[:, robot.q_slices[robot.joint("platform_joint")]][:, :3] = path
q = robot.closed_configuration(guess, keep=["platform_joint"])
print(f"{len(q)} postures along the arc, closed to {np.abs(robot.loop_error(q)).max():.0e} m")

# Rates half-way through each step, and accelerations there. What differences leave open, the closed robot closes: its
# answer to the forces that would make an acceleration of the tree is the nearest one that its loops let be.
v = robot.difference(q[:-1], q[1:]) / STEP
between = robot.closed_configuration(robot.integrate(q[:-1], 0.5 * STEP * v))
v = robot.closed_velocity(between, v)
a = np.gradient(v, STEP, axis=0)
a = robot.forward_dynamics(between, v, robot.inverse_dynamics(between, v, a))
tau = robot.inverse_dynamics(between, v, a, actuated=motors, target="numpy")
print(f"the motors need up to {np.abs(tau[:, driven]).max():.2f} N m; nothing drives the other {robot.nv - 3} joints")

# The motion that these torques make, held for a step each, with no feedback at all.
run = lw.simulate(robot, q[0], np.zeros(robot.nv), tau=tau, step=STEP, method="midpoint")
there = robot.pose(run.q, "platform")[1]
off = np.linalg.norm(there - robot.pose(q, "platform")[1], axis=-1)
print(f"the platform ends {1000 * off[-1]:.2f} mm from its goal; loops open by at most {run.energy.loops.max():.0e} m")
print(f"the energy account closes to {np.abs(run.energy.drift).max():.0e} J")
assert off.max() < 2e-3 and run.energy.loops.max() < 1e-10

# The two rods of each arm carry what its motor gives: forces of their ball joints.
forces = np.linalg.norm(robot.loop_forces(between, v, tau)[..., 3:], axis=-1)

figure = Figure(figsize=(11, 3.4), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.subplots(1, 3)
axes[0].plot(100 * there[:, 0], 100 * (there[:, 2] - there[0, 2]), lw=3, label="made")
axes[0].plot(100 * path[:, 0], 100 * path[:, 2], "k--", label="asked for")
axes[0].set(xlabel="x [cm]", ylabel="z [cm]", title="the platform's way")
lw.plots.legend(axes[0])
axes[1].plot(time[:-1], tau[:, driven], label=motors)
axes[1].set(xlabel="t [s]", ylabel="torque [N m]", title="what the motors do")
lw.plots.legend(axes[1])
axes[2].plot(time[:-1], forces)
axes[2].set(xlabel="t [s]", ylabel="force [N]", title="what the six ball joints carry")
figure.savefig("delta_arm.png", dpi=120)
print("delta_arm.png written")
