"""Sampling-based control (MPPI): at every tick some hundred random futures of the arm, and a step along the best.

The arm brings its hand to a place behind a ball. All futures are one call of lw.rollout, with random joint forces
(noise=) and a running cost (cost=) in its kernel; where there are a graphics card and CuPy, it runs there.
"""

import importlib.util

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle

import linkwise as lw

arm = lw.load("panda").with_gravity([0.0, 0.0, 0.0])  # what holds it against gravity is not our business here
hand, goal = "panda_hand_tcp", np.array([0.45, -0.35, 0.45])
ball, radius = np.array([0.52, 0.02, 0.47]), 0.16  # in between [m]; the hand keeps clear of it
futures, horizon, tick = 384, 30, 0.02  # how many, how many ticks long, [s]
spread = np.array([9.0, 9.0, 7.0, 7.0, 1.5, 1.2, 0.4])  # N m, of the random forces
warmth = 0.02  # how much worse than the best a future may be, to count


def cost(robot, q, v):
    """Far from the goal, near the ball, fast: what one second of a future costs."""
    _, p = robot.pose(q, hand)
    away, clear = p - goal, p - ball
    near = (clear * clear).sum(axis=-1) / radius**2
    return (
        4.0 * np.sqrt((away * away).sum(axis=-1) + 1e-4) + 0.02 * (v * v).sum(axis=-1) + 40.0 * np.exp(-2.0 * near**2)
    )


def on_a_card():
    """CuPy where it has a card, else NumPy."""
    if importlib.util.find_spec("cupy"):
        import cupy

        if cupy.is_available():
            return cupy
    return np


arrays = on_a_card()
options = {"step": tick, "method": "semi_implicit_euler", "damping": 2.0}
q, v = np.array([0.6, 0.5, 0.0, -1.9, 0.0, 2.4, 0.8]), np.zeros(7)
plan = np.zeros((horizon, 7))  # joint forces of the ticks to come [N m]
path, fans = [arm.pose(q, hand)[1]], []

for k in range(80):
    noise = lw.Noise(spread, seed=k)
    start = [arrays.asarray(np.tile(x, (futures, 1))) for x in (q, v)]
    run = lw.rollout(arm, *start, arrays.asarray(plan), noise=noise, cost=cost, every=horizon, **options)
    spent = run.to_numpy().cost[:, -1]
    weight = np.exp(-(spent - spent.min()) / warmth)
    plan += np.tensordot(weight / weight.sum(), noise.forces(arm, futures, horizon), axes=1)
    if k in (0, 8, 16, 24, 60):  # a few of the futures, for the picture
        some = noise.forces(arm, futures, horizon)[:40] + plan
        fans.append(arm.pose(lw.rollout(arm, np.tile(q, (40, 1)), np.tile(v, (40, 1)), some, **options).q, hand)[1])
    done = lw.rollout(arm, q, v, plan[:1], **options)
    q, v = done.q[-1], done.v[-1]
    plan = np.concatenate([plan[1:], plan[-1:]])
    path.append(arm.pose(q, hand)[1])

path = np.array(path)
far, clear = np.linalg.norm(path - goal, axis=1), np.linalg.norm(path - ball, axis=1)
print(f"the hand came to {1000 * far[-1]:.0f} mm from its goal, {1000 * far[0]:.0f} mm away at the start")
print(f"and kept {1000 * (clear.min() - radius):.0f} mm or more clear of the ball")
assert far[-1] < 0.05 and clear.min() > radius

figure = Figure(figsize=(9, 4), layout="constrained")
FigureCanvasAgg(figure)
seen, course = figure.subplots(1, 2, width_ratios=[1.3, 1.0])
for fan in fans:
    seen.plot(*np.moveaxis(fan[..., 1:], -1, 0).transpose(0, 2, 1), color="0.75", linewidth=0.5)
seen.add_patch(Circle(ball[1:], radius, color="tab:red", alpha=0.35))
seen.plot(path[:, 1], path[:, 2], color="tab:blue", linewidth=2, label="the hand")
seen.plot(*goal[1:], "*", color="tab:green", markersize=14, label="its goal")
seen.set(xlabel="y [m]", ylabel="z [m]", title="From the side: the way, and futures on it", aspect="equal")
seen.legend()
time = tick * np.arange(len(path))
course.plot(time, far, label="from the goal")
course.plot(time, clear - radius, label="from the ball's surface")
course.set(
    xlabel="time [s]", ylabel="distance of the hand [m]", title=f"{futures} futures of {horizon * tick:g} s a tick"
)
course.axhline(0.0, color="0.5", linewidth=0.8)
course.legend()
figure.savefig("sample_and_steer.png", dpi=120)
print("sample_and_steer.png written")
