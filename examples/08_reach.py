"""An arm reaches for poses by operational-space control, while its null space keeps a posture."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import linkwise as lw
from linkwise.control import FrameGoal, OperationalSpace

robot = lw.load("panda")
tip = robot.tips[0]
home = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8])
R, p = robot.pose(home, tip)

# Eight goals on a ring around the hand, each with the hand's orientation: a batch of eight, all from home.
angles = np.linspace(0.0, 2 * np.pi, 8, endpoint=False)
goals = p + 0.2 * np.stack([0 * angles, np.cos(angles), np.sin(angles)], axis=-1)
law = OperationalSpace(robot, tip, FrameGoal(goals, R), stiffness=60.0, posture=home, posture_stiffness=15.0)
run = lw.simulate(robot, np.tile(home, (8, 1)), controller=law, duration=2.0, step=4e-3, callback=True)
rotations, paths = robot.pose(run.q, tip)
errors = np.linalg.norm(paths - goals[:, None], axis=-1)
turned = np.abs(rotations - R).max()
print(f"after 2 s: {1e3 * errors[:, -1].max():.2g} mm from the goal, orientation off by {turned:.1e} on the way")
assert errors[:, -1].max() < 1e-3

# A frame that obeys ë + Kd ė + Kp e = 0 goes along straight lines, as critically damped oscillators do.
w = np.sqrt(60.0)
expected = 0.2 * (1 + w * run.time) * np.exp(-w * run.time)
print(f"the error follows (1 + ωt)exp(−ωt) to {np.abs(errors - expected).max():.1e} m")
assert np.abs(errors - expected).max() < 1e-4

# The null space: pushed at the elbow's side, the posture gives way or comes back, and the hand does not care.
pushed = home + 0.25 * np.linalg.svd(robot.jacobian(home, tip))[2][-1]
kept = {}
for stiffness in (0.0, 15.0):
    law = OperationalSpace(
        robot,
        tip,
        FrameGoal(*robot.pose(pushed, tip)[::-1]),
        posture=home,
        posture_stiffness=stiffness,
        posture_damping=3.0,
    )
    kept[stiffness] = lw.simulate(robot, pushed, controller=law, duration=3.0, step=4e-3)
    moved = np.linalg.norm(robot.pose(kept[stiffness].q, tip)[1] - robot.pose(pushed, tip)[1], axis=-1).max()
    away = np.linalg.norm(kept[stiffness].q[-1] - home)
    print(
        f"posture stiffness {stiffness:4.0f}: joints {away:.3f} rad from the posture, hand moved {1e3 * moved:.2g} mm"
    )

kernel = law.compile()
print(f"one call of the law: {kernel.operations.total} operations; forward dynamics: "
      f"{robot.compile('forward_dynamics').operations.total}")  # fmt: skip

figure = Figure(figsize=(11, 3.6), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.subplots(1, 3)
for i, goal in enumerate(goals):
    axes[0].plot(paths[i, :, 1], paths[i, :, 2], color="C0")
    axes[0].plot(*goal[1:], "k+", ms=10)
axes[0].set(aspect="equal", xlabel="y [m]", ylabel="z [m]", title="the hand on its way to eight goals")
axes[1].semilogy(run.time, errors.T, color="C0", lw=0.8)
axes[1].semilogy(run.time, expected, "k--", label="(1 + ωt) exp(−ωt)")
axes[1].set(xlabel="t [s]", ylabel="distance to the goal [m]")
lw.plots.legend(axes[1])
for stiffness, motion in kept.items():
    axes[2].plot(motion.time, np.linalg.norm(motion.q - home, axis=-1), label=f"posture stiffness {stiffness:.0f}/s²")
axes[2].set(xlabel="t [s]", ylabel="|q − posture| [rad]", ylim=(0, None), title="null space, hand at rest")
lw.plots.legend(axes[2])
figure.savefig("reach.png", dpi=120)
print("reach.png written")
