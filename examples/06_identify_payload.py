"""What is in the gripper? Mass, centre of mass and inertia of a payload from noisy torques, with error bars."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import linkwise as lw

rng = np.random.default_rng(7)
arm = lw.load("panda")
payload = lw.Inertia.box(1.8, (0.12, 0.08, 0.20))
loaded = arm.weld("tcp", payload, at=(0.02, 0.01, 0.06))  # only used to make the data

# An exciting motion: a few sines per joint, sampled for ten seconds, and the torques it takes, with noise.
time = np.linspace(0.0, 10.0, 1000)
rates = 2 * np.pi * np.array([0.15, 0.4, 0.9])
centre = 0.5 * (arm.lower_limits + arm.upper_limits)
size = 0.12 * (arm.upper_limits - arm.lower_limits) * rng.uniform(0.5, 1.0, (3, 7)) / (1 + np.arange(3))[:, None]
phase = rng.uniform(0, 2 * np.pi, (3, 7))
angle = rates[:, None, None] * time[:, None] + phase[:, None, :]
q = centre + (size[:, None] * np.sin(angle)).sum(axis=0)
v = (size[:, None] * rates[:, None, None] * np.cos(angle)).sum(axis=0)
a = -(size[:, None] * rates[:, None, None] ** 2 * np.sin(angle)).sum(axis=0)
noise = 0.25  # N m
measured = loaded.inverse_dynamics(q, v, a) + noise * rng.normal(size=q.shape)

# The arm is known, so what is unknown is the body that carries the payload.
found = lw.identify(arm, q, v, a, measured, bodies=[arm.bodies[-1].name])
payload = found.payload(arm.bodies[-1].name)
estimate, deviation = payload.parameters, payload.errors

truth = (loaded.inertial_parameters - arm.inertial_parameters)[-1]
names = ["m", "hx", "hy", "hz", "Jxx", "Jxy", "Jyy", "Jxz", "Jyz", "Jzz"]
units = ["kg"] + 3 * ["kg m"] + 6 * ["kg m²"]
print(f"torque noise {noise} N m, found {found.noise.mean():.3f} N m in the mean of the joints\n")
print(f"{'':<5}{'true':>10}{'estimated':>12}{'± 1 σ':>10}")
for name, unit, true, value, sigma in zip(names, units, truth, estimate, deviation):
    print(f"{name:<5}{true:>10.5f}{value:>12.5f}{sigma:>10.5f}  {unit}")
off = np.abs(estimate - truth) / deviation
print(f"\nlargest error: {off.max():.1f} standard deviations; mass off by {abs(estimate[0] - truth[0]) * 1e3:.1f} g")

# Are the error bars right? The same experiment five hundred times: how often is the truth within one and two of them?
Y = arm.inverse_dynamics_regressor(q, v, a)[..., -10:].reshape(-1, 10)
forces = (loaded.inverse_dynamics(q, v, a) - arm.inverse_dynamics(q, v, a)).ravel()[:, None]
again = forces + noise * rng.normal(size=(forces.size, 500))
fits, squares, *_ = np.linalg.lstsq(Y, again, rcond=None)
spread = np.sqrt(squares / (forces.size - 10) * np.diag(np.linalg.inv(Y.T @ Y))[:, None])
scores = (fits - truth[:, None]) / spread
within = [(np.abs(scores) < width).mean() for width in (1, 2)]
print(f"repeated 500 times: within 1 σ in {within[0]:.1%}, within 2 σ in {within[1]:.1%} (68.3 %, 95.4 % expected)")
assert np.allclose(within, [0.683, 0.954], atol=0.02)

# Which parameters of the arm itself could be found in this way: base parameters.
base = arm.base_parameters()
print(f"of the arm's {arm.inertial_parameters.size} parameters, motion can tell {len(base.columns)} combinations apart")

# How much does the payload matter for where the arm goes? Sensitivity of a free fall to its mass.
options = {"step": 0.005, "columns": [60], "method": "runge_kutta_4"}
fall = lw.trajectory_sensitivity(arm, q[0], tau=np.zeros((20, 7)), **options)
print(f"after 0.1 s of free fall, 1 kg at the last joint's origin changes q by {np.abs(fall.dq[-1]).max():.2e} rad")

figure = Figure(figsize=(10, 3.6), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.subplots(1, 2, width_ratios=(3, 2))
axes[0].axhspan(-2, 2, color="0.92", label="± 2 σ")
axes[0].errorbar(
    range(10), (estimate - truth) / deviation, yerr=1.0, fmt="o", color="C0", capsize=3, label="estimate ± 1 σ"
)
axes[0].axhline(0, color="0.3", lw=0.8)
axes[0].set_xticks(range(10), names)
axes[0].set(ylabel="error in standard deviations", ylim=(-5, 5), title="A payload identified from joint torques")
axes[0].legend(loc="upper left", ncols=2)
x = np.linspace(-4, 4, 200)
axes[1].hist(scores.ravel(), bins=40, range=(-4, 4), density=True, color="C0", alpha=0.5, label="found")
axes[1].plot(x, np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi), "k", lw=1, label="expected")
axes[1].set(xlabel="error in standard deviations", yticks=[], title="500 repetitions, all ten numbers")
axes[1].legend(loc="upper left")
figure.savefig("payload.png", dpi=120)
print("payload.png written")
