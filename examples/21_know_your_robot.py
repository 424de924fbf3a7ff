"""An arm that is known badly: a motion to excite it, its parameters with error bars, and a law that learns instead."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import linkwise as lw
from linkwise import control

# The model, and the truth that it does not know: other masses, friction, joints a millimetre and some milliradians off.
rng = np.random.default_rng(1)
limits = lw.Limits(-2.5, 2.5, velocity=2.5, effort=60.0)
bodies: list[lw.Body] = []
for i, axis in enumerate("zyyz"):
    joint = lw.Joint(lw.Revolute(axis), f"joint{i + 1}", at=(0, 0.03 * (i == 3), 0.25 if i else 0.1), limits=limits)
    inertia = lw.Inertia.box(2.0 - 0.4 * i, (0.1, 0.08, 0.25), at=(0.0, 0.01, 0.12))
    bodies.append(lw.Body(f"link{i + 1}", joint, inertia, bodies[-1].name if bodies else None))
model = lw.assemble("arm", bodies, [lw.Frame("tip", "link4", at=(0, 0, 0.2))])
true = model.with_inertias(
    {b.name: b.inertia + lw.Inertia.point(rng.uniform(0.2, 0.8), rng.normal(size=3) * 0.05) for b in model.bodies}
)
damping, friction = np.array([0.6, 0.5, 0.3, 0.1]), np.array([0.5, 0.6, 0.3, 0.2])
noise = np.array([0.2, 0.2, 0.1, 0.02])  # N m


def measured(motion: lw.Excitation) -> tuple[np.ndarray, ...]:
    """q, v, a and noisy joint forces along a motion."""
    _, q, v, a = motion.samples(400)
    tau = true.inverse_dynamics(q, v, a) + damping * v + friction * np.tanh(v / 1e-3)
    return q, v, a, tau + noise * rng.normal(size=v.shape)


# One motion as the search begins, one as it ends: the same limits, the same number of samples.
options = {"duration": 8.0, "harmonics": 4, "damping": True, "friction": True, "noise": noise}
plain = lw.excitation(model, starts=1, iterations=1, **options)
best = lw.excitation(model, **options)
fits = [lw.identify(model, *measured(m), damping=True, friction=True, consistent=True) for m in (plain, best)]
print(best)
print(fits[1])
gain = np.exp(np.mean(np.log([[c.error for c in f.combinations] for f in fits]), axis=1))
print(f"error bars of the optimised motion: {gain[1] / gain[0]:.2f} of those of the first one, in the mean")

# Data that the fit has not seen.
held_out = measured(lw.excitation(model, starts=1, iterations=5, seed=9, **options))
met = fits[1].check(*held_out)
print("left on other data [N m]:", met.error.round(3), "| noise:", noise, "| before:", met.before.round(2))

# The same arm, not identified at all: a law that adapts, beside one that trusts the model.
centre = np.array([0.2, 0.5, -0.8, 0.3])


def reference(t: float) -> tuple[np.ndarray, ...]:
    return centre + 0.6 * np.sin(2 * t), 1.2 * np.cos(2 * t) * np.ones(4), -2.4 * np.sin(2 * t) * np.ones(4)


Kd = np.array([6.0, 6.0, 3.0, 0.5])
law = control.AdaptiveTracking(model, reference, 6.0, Kd, gain=[4.0, 0.3, 0.3, 0.3, *[0.05] * 6])
run = lw.simulate(law.plant(true), *law.start(centre), law, duration=8.0, step=2e-3)
V = run.along(lambda t, q, v: law.lyapunov(t, q, v, truth=true))
adapted = np.abs(run.along(lambda t, q, v: law.errors(t, q, v).e)).max(axis=-1)
trusting = control.SlidingTracking(model, reference, 6.0, Kd)
fixed = lw.simulate(true, centre, controller=trusting, duration=8.0, step=2e-3)
left = np.abs(fixed.along(lambda t, q, v: trusting.errors(t, q, v).e)).max(axis=-1)
assert np.all(np.diff(V) < 1e-12), "the Lyapunov function falls"
late = [x[-500:].max() for x in (left, adapted)]
print(f"largest error in the last second: {late[0]:.4f} rad by the model, {late[1]:.4f} rad adapted")

# Where the joints are: positions of the tip, measured to 0.1 mm.
placed = true.with_placements(np.tile([3e-3] * 3 + [1e-3] * 3, (4, 1)))
q = model.random_configuration(rng, 60)
_, p = placed.pose(q, "tip")
calibration = lw.calibrate(model, q, p + 1e-4 * rng.normal(size=p.shape), part="position")
other = model.random_configuration(rng, 500)
off = [
    np.linalg.norm(r.pose(other, "tip")[1] - placed.pose(other, "tip")[1], axis=-1) * 1e3
    for r in (model, calibration.robot)
]
print(repr(calibration), f"| tip off by {off[0].mean():.2f} mm before, {off[1].mean():.3f} mm after")

figure = Figure(figsize=(12, 6.6), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.subplots(2, 2)
times = np.linspace(0, 8, 400)
axes[0, 0].plot(times, best(times)[0])
axes[0, 0].axhspan(2.5, 2.8, color="0.9")
axes[0, 0].axhspan(-2.8, -2.5, color="0.9")
axes[0, 0].set(xlabel="time [s]", ylabel="joint angle [rad]", ylim=(-2.8, 2.8), title="A motion that excites")
axes[0, 0].legend([j.name for j in model.joints], ncols=4, fontsize=8, loc="lower center")
truth = fits[1].projection @ np.concatenate([true.inertial_parameters.ravel(), damping, friction])
for x, fit, colour, name in ((-0.15, fits[0], "0.6", "first motion"), (0.15, fits[1], "C0", "optimised motion")):
    values = np.array([c.value for c in fit.combinations]) - truth
    errors = np.array([c.error for c in fit.combinations])
    unit = np.array([c.error for c in fits[1].combinations])
    axes[0, 1].errorbar(
        np.arange(len(values)) + x, values / unit, yerr=2 * errors / unit, fmt=".", color=colour, label=f"{name}, ± 2 σ"
    )
axes[0, 1].axhline(0, color="k", lw=0.8)
axes[0, 1].set(xlabel="combination", ylabel="error [σ of the optimised motion]", title="What was found, less the truth")
axes[0, 1].legend(loc="lower left", fontsize=8)
axes[1, 0].semilogy(fixed.time, left, color="0.6", label="law that trusts the model")
axes[1, 0].semilogy(run.time, adapted, color="C0", label="law that adapts")
axes[1, 0].set(xlabel="time [s]", ylabel="largest joint error [rad]", title="Adaptive control", ylim=(1e-4, 1))
twin = axes[1, 0].twinx()
twin.plot(run.time, V, "C3", lw=1)
twin.set_ylabel("Lyapunov function [J]", color="C3")
axes[1, 0].legend(loc="upper right", fontsize=8)
bins = np.geomspace(1e-3, 1e2, 60)
axes[1, 1].hist(off[0], bins=bins, color="0.6", label="as drawn")
axes[1, 1].hist(off[1], bins=bins, color="C0", label="calibrated")
axes[1, 1].axvline(0.1, color="k", lw=0.8, ls="--", label="noise of the tracker")
axes[1, 1].set(xscale="log", xlabel="tip off by [mm]", ylabel="of 500 configurations", title="Kinematic calibration")
axes[1, 1].legend(fontsize=8)
figure.savefig("know_your_robot.png", dpi=110)
print("know_your_robot.png written")
