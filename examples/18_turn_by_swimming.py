"""A satellite turns itself by moving its arms round and back: its momentum stays zero, and yet it ends turned.

The rates of a floating base are S(q) times those of the joints, S the disturbance map. S is no gradient, so that a loop
of the joints, at whose end all are where they were, leaves the base turned: like a falling cat.
"""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import linkwise as lw

robot = lw.load("satellite")
ANGLE, DURATION, STEPS = 0.15, 20.0, 200
HARMONICS = 2
start = robot.neutral()
start[7:] = np.tile([0.3, 0.6, 0.0, 1.2, 0.0, 0.6, 0.0], 2)  # arms half bent
joints = robot.nv - 6
print(f"{robot.name}: {joints} joints; to be turned by {np.degrees(ANGLE):.1f}° about z without momentum")


def path(c, t):
    """Joint angles and rates on a loop: sines and cosines with the coefficients c (..., 2 HARMONICS joints)."""
    c = c.reshape(*c.shape[:-1], HARMONICS, 2, joints)
    w = 2 * np.pi / DURATION * np.arange(1, HARMONICS + 1)[:, None]
    s, k = np.sin(w * t), np.cos(w * t)
    angles = (c[..., 0, :] * s + c[..., 1, :] * (k - 1)).sum(axis=-2)
    rates = (w * (c[..., 0, :] * k - c[..., 1, :] * s)).sum(axis=-2)
    return start[7:] + angles, rates


def moved(q, h, S, on_path):
    """q after the time h at the rates on the path, the joints where the path has them, the base moved by S."""
    angles, rates = on_path
    out = robot.integrate(q, h * np.concatenate([(S @ rates[..., None])[..., 0], rates], axis=-1))
    out[..., 7:] = angles
    return out


def swum(c):
    """Where the base goes on a loop, (..., STEPS + 1, nq), by steps at the midpoints; a loop of its own for each c."""
    h = DURATION / STEPS
    q = np.broadcast_to(start, (*c.shape[:-1], robot.nq)).copy()
    out = [q]
    for i in range(STEPS):
        half, whole = (i + 0.5) * h, (i + 1) * h
        middle = moved(q, 0.5 * h, robot.disturbance_map(q), path(c, half))
        q = moved(q, h, robot.disturbance_map(middle), path(c, half))
        q[..., 7:] = path(c, whole)[0]
        out.append(q)
    return np.stack(out, axis=-2)


def turned(q):
    """The base's rotation vector."""
    return robot.difference(start, q)[..., :3]


# The smallest loop that turns the base as wanted, by steps of least squares with differences for derivatives.
goal = np.array([0.0, 0.0, ANGLE])
c = 0.3 * np.random.default_rng(2).normal(size=2 * HARMONICS * joints) / np.sqrt(HARMONICS)
for i in range(16):
    nudged = np.concatenate([c[None], c + 1e-5 * np.eye(c.size)])
    ends = turned(swum(nudged)[:, -1])
    slope = (ends[1:] - ends[0]).T / 1e-5
    shrink = 0.5 if i < 12 else 0.0  # what does not turn it
    step = np.linalg.pinv(slope) @ (goal - ends[0] + shrink * slope @ c) - shrink * c
    c = c + min(1.0, 1.0 / np.abs(step).max()) * step
motion = swum(c)
print(f"found: joints move by up to {np.abs(motion[:, 7:] - start[7:]).max():.2f} rad and come back")
print(f"the base is turned by {np.degrees(turned(motion[-1])).round(3)}° after {DURATION:.0f} s")
assert np.abs(turned(motion[-1]) - goal).max() < 1e-3

# The same with the whole dynamics: motors take the arms along the loop, and nothing else acts.
weightless = robot.with_gravity((0, 0, 0))


def motors(t, q, v):
    """Forces that keep the joints on the loop: hybrid dynamics, the accelerations of the joints prescribed."""
    wanted, rates = path(c, t)
    h = 1e-4
    a = (path(c, t + h)[1] - path(c, t - h)[1]) / (2 * h) + 4 * (rates - v[6:]) + 4 * (wanted - q[7:])
    names = [j.name for j in robot.joints[1:]]
    full = np.concatenate([np.zeros(6), a])
    return weightless.hybrid_dynamics(q, v, full, np.zeros(robot.nv), names, target="numpy")[1]


v0 = np.concatenate([robot.disturbance_map(start) @ path(c, 0.0)[1], path(c, 0.0)[1]])
options = {"duration": DURATION, "step": 0.1, "method": "runge_kutta_4", "target": "numpy"}
run = lw.simulate(weightless, start, v0, controller=motors, **options)
print(
    f"simulated: turned by {np.degrees(turned(run.q[-1])).round(2)}°, momentum below {np.abs(run.momentum).max():.0e}"
)
assert np.abs(turned(run.q[-1]) - goal).max() < 5e-3

figure = Figure(figsize=(11, 3.4), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.subplots(1, 3)
time = np.linspace(0, DURATION, STEPS + 1)
axes[0].plot(time, motion[:, 7:] - start[7:], lw=0.8)
axes[0].set(xlabel="t [s]", ylabel="[rad]", title="joints go round and come back")
axes[1].plot(time, np.degrees(turned(motion)), label=["x", "y", "z"])
axes[1].plot(run.time, np.degrees(turned(run.q)), "k:", label=["simulated", None, None])
axes[1].set(xlabel="t [s]", ylabel="[°]", title="the base is left turned")
lw.plots.legend(axes[1])
axes[2].plot(run.time, run.momentum)
axes[2].set(xlabel="t [s]", ylabel="[N m s, N s]", title="momentum: none but for the steps")
figure.savefig("turn_by_swimming.png", dpi=120)
print("turn_by_swimming.png written")
