"""The same motion in joint rates v, total rates ν and un-normalised total rates ξ: energy error and cost per step.

Writes diagonal_coordinates.png where matplotlib is installed.
"""

import time

import numpy as np

import linkwise as lw

SYMBOL = {"joint": "v", "total": "ν", "unnormalized": "ξ"}
# coordinates, step, evaluations of the state derivative per step (the outward sweep that semi-implicit Euler adds in
# ν and ξ, and the one that "two_sweep" saves, are left out)
RUNS = [
    ("joint", "semi_implicit_euler", 1),
    ("total", "semi_implicit_euler", 1),
    ("unnormalized", "semi_implicit_euler", 1),
    ("unnormalized", "two_sweep", 1),
    ("joint", "midpoint", 2),
    ("total", "midpoint", 2),
    ("total", "rotation_midpoint", 3),
    ("joint", "runge_kutta_4", 4),
    ("total", "runge_kutta_4", 4),
    ("unnormalized", "runge_kutta_4", 4),
]
NAMES = {
    "semi_implicit_euler": "semi-implicit Euler",
    "two_sweep": "two sweeps (Algorithm 8.1)",
    "midpoint": "midpoint",
    "rotation_midpoint": "turning midpoint",
    "runge_kutta_4": "Runge–Kutta 4",
}
STEPS = [(0.02, 12), (0.01, 24), (0.005, 48)]  # [s], for a quarter of a second each


def nanoseconds(kernel, arguments):
    """Per state, the best of a few runs on a batch."""
    best = np.inf
    for _ in range(7):
        start = time.perf_counter()
        kernel(*arguments)
        best = min(best, time.perf_counter() - start)
    return 1e9 * best / len(arguments[0])


def derivative(robot, coordinates):
    """The state derivative of these coordinates, compiled."""
    if coordinates == "joint":
        return robot.compile("forward_dynamics")
    return robot.compile("diagonal_dynamics", normalized=coordinates == "total")


def energy_error(robot, q, v, coordinates, method, h, steps):
    """Median over the batch of the largest energy error, relative to the largest kinetic energy."""
    account = lw.simulate(robot, q, v, step=h, steps=steps, coordinates=coordinates, method=method).energy
    return np.median(np.abs(account.drift).max(axis=-1) / account.kinetic.max(axis=-1))


robots = {name: lw.load(name) for name in ("double_pendulum", "ur5")}
robots["ur5 without gravity"] = robots["ur5"].with_gravity((0, 0, 0))
results = {}
for name, robot in robots.items():
    rng = np.random.default_rng(0)
    states = (robot.random_configuration(rng, (8192,)), *rng.normal(size=(2, 8192, robot.nv)))
    print(f"\n{name}: {robot.nv} degrees of freedom. One state derivative costs")
    cost, spent = {}, {}
    for coordinates, symbol in SYMBOL.items():
        kernel = derivative(robot, coordinates)
        cost[coordinates] = kernel.operations.total
        spent[coordinates] = nanoseconds(kernel, states)
        print(f"  in {symbol}: {cost[coordinates]:6d} operations, {spent[coordinates]:5.0f} ns")

    q, v = states[0][:32], states[1][:32]
    print(f"  {'':<26}{'per step':^22}" + "energy error / kinetic energy in 0.24 s".rjust(14 * len(STEPS)))
    print(f"  {'':<26}{'operations':>12}{'ns':>10}" + "".join(f"{1e3 * h:>9.0f} ms" for h, _ in STEPS))
    for coordinates, method, evaluations in RUNS:
        errors = [energy_error(robot, q, v, coordinates, method, h, n) for h, n in STEPS]
        results[name, coordinates, method] = (evaluations * cost[coordinates], errors)
        price = f"{evaluations * cost[coordinates]:12d}{evaluations * spent[coordinates]:10.0f}"
        print(f"    {SYMBOL[coordinates]}  {method:<21}{price}" + "".join(f"{e:12.1e}" for e in errors))

# ½ν*ν is the kinetic energy, so a step that only turns ν keeps it exactly, whatever the step.
robot = robots["ur5 without gravity"]
q, v = robot.random_configuration(1), np.ones(robot.nv)
kept = lw.simulate(robot, q, v, step=0.1, steps=100, coordinates="total", method="rotation_midpoint")
energy = kept.energy.kinetic
print(f"\n10 s at steps of 100 ms without gravity, turning ν: energy constant to {np.ptp(energy) / energy[0]:.0e}")

try:
    import matplotlib
except ImportError:
    print("(no matplotlib: no picture)")
else:
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
    axes = grid.ravel()
    colours = {"joint": "tab:gray", "total": "tab:blue", "unnormalized": "tab:orange"}
    markers = {"semi_implicit_euler": "o", "two_sweep": "x", "midpoint": "v"}
    markers |= {"rotation_midpoint": "^", "runge_kutta_4": "s"}
    for ax, name in zip(axes, robots):
        for coordinates, method, _ in RUNS:
            cost, errors = results[name, coordinates, method]
            per_second = [cost / h for h, _ in STEPS]
            label = f"{SYMBOL[coordinates]}, {NAMES[method]}"
            shown = [max(e, 1e-16) for e in errors]
            ax.loglog(per_second, shown, markers[method] + "-", color=colours[coordinates], label=label, markersize=4)
        ax.set(title=name.replace("_", " "), xlabel="operations per simulated second", ylabel="energy error")
        ax.xaxis.set_minor_formatter(plt.NullFormatter())
        ax.grid(alpha=0.3)
    figure.suptitle("Energy error in 0.24 s beside kinetic energy, steps of 20, 10 and 5 ms")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    figure.savefig("diagonal_coordinates.png", dpi=150)
    print("wrote diagonal_coordinates.png")
