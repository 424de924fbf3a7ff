"""Ten seconds of a free-swinging 7-joint arm at 1 ms: three integrators, and the energies of a braked arm.

Writes simulate.png where matplotlib is installed.
"""

import time

import numpy as np

import linkwise as lw

robot = lw.load("panda")
rng = np.random.default_rng(0)
q, v = robot.random_configuration(rng), rng.normal(size=7)

print("10 s of free swinging at 1 ms, 10 000 steps of one state:")
free = {}
for method in ("semi_implicit_euler", "runge_kutta_4", "variational"):
    lw.simulate(robot, q, v, duration=0.01, method=method)  # compiles
    start = time.perf_counter()
    free[method] = lw.simulate(robot, q, v, duration=10.0, step=1e-3, method=method)
    spent = time.perf_counter() - start
    error = free[method].energy.drift
    seconds = error[1:].reshape(10, 1000)
    print(
        f"  {method:<20} {1e3 * spent:4.0f} ms; energy error at most {np.abs(error).max():7.1e} J,"
        f" mean in the first second {seconds[0].mean():8.1e} J, in the last {seconds[-1].mean():8.1e} J"
    )


def brake(robot, t, q, v):
    """Half of gravity held, and a pull towards the middle of the joints' ranges."""
    middle = 0.5 * (robot.lower_limits + robot.upper_limits)
    return 0.5 * robot.gravity_force(q) + robot.mass_times(q, 20.0 * (middle - q))


braked = lw.simulate(robot, q, v, brake, duration=5.0, damping=0.5, friction=0.2, limits=True, every=5)
print("\na controller, damping, friction and stops at the limits, 5 s:")
print(braked.energy)

touch = lw.Event(lambda robot, t, q, v: robot.pose(q, "tcp")[1][..., 2] - 0.3, name="tool at 0.3 m")
hits = lw.simulate(robot, q, v, brake, duration=5.0, damping=0.5, events=touch).events
print("\nthe tool passes 0.3 m at", ", ".join(f"{h.time:.6f} s" for h in hits[:4]) or "no time")

many = robot.random_configuration(1, 4096)
lw.simulate(robot, many, steps=1)
start = time.perf_counter()
lw.simulate(robot, many, steps=100, threads=1)
spent = time.perf_counter() - start
print(f"\n4096 arms, 100 steps of RK4 on one core: {spent:.2f} s, {1e9 * spent / 409600:.0f} ns per state and step")

try:
    import matplotlib
except ImportError:
    print("(no matplotlib: no picture)")
else:
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), constrained_layout=True)
    for (method, t), colour in zip(free.items(), ("tab:red", "tab:gray", "tab:blue")):
        left.semilogy(
            t.time[10::10], np.maximum(np.abs(t.energy.drift[10::10]), 1e-12), lw=0.8, color=colour, label=method
        )
    left.set(title="free swinging: energy error", xlabel="time [s]", ylabel="|energy − start| [J]")
    lw.plots.legend(left, fontsize=8)
    account = braked.energy
    for name in ("kinetic", "potential", "work", "dissipated", "stops"):
        right.plot(braked.time, getattr(account, name) - (name == "potential") * account.potential[0], label=name)
    right.plot(braked.time, account.drift, "k:", label="drift")
    right.set(title="braked: energy account (potential from its start)", xlabel="time [s]", ylabel="energy [J]")
    lw.plots.legend(right, fontsize=8)
    for ax in (left, right):
        ax.grid(alpha=0.3)
    figure.savefig("simulate.png", dpi=110)
    print("wrote simulate.png")
