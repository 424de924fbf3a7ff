"""A hand tracks a circle by operational-space, cancelling and passive laws, with a right and a wrong model."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import linkwise as lw
from linkwise.control import (
    ComputedTorque,
    FrameGoal,
    OperationalSpace,
    PDPlus,
    ReferenceCoriolis,
    ReferenceFeedforward,
    SlidingTracking,
)

robot = lw.load("panda")
tip = robot.tips[0]
home = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8])
R, p = robot.pose(home, tip)
radius, rate, step, steps = 0.1, 4.0, 4e-3, 788  # two turns


def circle(t):
    """The goal of the hand at t, with its exact velocity and acceleration."""
    c, s = np.cos(rate * t), np.sin(rate * t)

    def along(y, z):
        return np.array([0.0, 0.0, 0.0, 0.0, y, z])

    return FrameGoal(
        p + radius * np.array([0.0, c - 1.0, s]), R,
        velocity=along(-radius * rate * s, radius * rate * c),
        acceleration=along(-radius * rate**2 * c, -radius * rate**2 * s),
    )  # fmt: skip


# Joint-space laws need the circle in joint space: what the hand's own controller does, sampled and interpolated.
hand = OperationalSpace(robot, tip, circle, stiffness=400.0, posture=home)
teacher = OperationalSpace(robot, tip, circle, stiffness=2500.0, posture=home)
taught = lw.simulate(robot, home, controller=teacher, steps=steps + 3, step=step)
a = np.gradient(taught.v, step, axis=0, edge_order=2)


def joints(t):
    """(q, v, a) along the taught motion: cubic in q and v, linear in a."""
    i = min(int(t / step), len(taught) - 2)
    s, h = t / step - i, step
    q0, q1, v0, v1 = taught.q[i], taught.q[i + 1], taught.v[i], taught.v[i + 1]
    q = (1 + 2 * s) * (1 - s) ** 2 * q0 + s**2 * (3 - 2 * s) * q1 + s * (1 - s) * h * ((1 - s) * v0 - s * v1)
    return q, (1 - s) * v0 + s * v1, (1 - s) * a[i] + s * a[i + 1]


# The lightest joint and the step bound the force gains of passive laws: a quarter of the others' stiffness.
inertia = np.diag(robot.mass_matrix(home))
laws = {
    "operational space": hand,
    "computed torque": ComputedTorque(robot, joints, 400.0, 40.0),
    "PD+": PDPlus(robot, joints, 100.0 * inertia, 12.0 * inertia),
    "PD+, C at the reference": ReferenceCoriolis(robot, joints, 100.0 * inertia, 12.0 * inertia),
    "model at the reference": ReferenceFeedforward(robot, joints, 100.0 * inertia, 12.0 * inertia),
    "Slotine–Li": SlidingTracking(robot, joints, 10.0, 12.0 * inertia),
}
loaded = robot.weld(tip, lw.Inertia.sphere(0.8, 0.05))  # a payload that no law knows of
start = home + 0.04 * np.array([1, -1, 1, -1, 1, -1, 1])  # and a start beside the circle

paths, errors = {}, {}
print(f"{'distance from the goal [mm]':<28}{'true model':>12}{'payload of 0.8 kg unknown':>28}")
for name, law in laws.items():
    for plant in (robot, loaded):
        looks_up = law is not hand  # the reference reads a table by the time, which cannot be compiled in
        run = lw.simulate(plant, start, controller=law, steps=steps, step=step, callback=looks_up)
        paths[name, plant is robot] = robot.pose(run.q, tip)[1]
        goals = np.array([circle(t).position for t in run.time])
        errors[name, plant is robot] = 1e3 * np.linalg.norm(paths[name, plant is robot] - goals, axis=-1)
    second_turn = [errors[name, known][len(run) // 2 :].max() for known in (True, False)]
    print(f"{name:<28}{second_turn[0]:12.3f}{second_turn[1]:28.2f}")
assert errors["operational space", True][-1] < 0.1

figure = Figure(figsize=(11, 4.4), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.subplots(1, 3)
axes[0].plot(goals[:, 1], goals[:, 2], "k", lw=3, alpha=0.25, label="goal")
for i, name in enumerate(laws):
    style = {"color": f"C{i}", "ls": "--" if i % 2 else "-"}  # some lie on each other
    axes[0].plot(paths[name, False][:, 1], paths[name, False][:, 2], lw=1, **style)
    axes[1].semilogy(run.time, np.maximum(errors[name, True], 1e-4), label=name, **style)
    axes[2].plot(run.time, errors[name, False], **style)
axes[0].set(aspect="equal", xlabel="y [m]", ylabel="z [m]", title="an unknown payload of 0.8 kg")
axes[0].legend()
axes[1].set(xlabel="t [s]", ylabel="distance from the goal [mm]", title="true model (drawn down to 0.1 µm)")
axes[2].set(xlabel="t [s]", ylabel="distance from the goal [mm]", title="an unknown payload of 0.8 kg", ylim=(0, None))
figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=6)
figure.savefig("circle.png", dpi=120)
print("circle.png written")
