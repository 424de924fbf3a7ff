"""A cart-pole swings up: planned by iLQR, followed by TVLQR, held by LQR, from twenty disturbed starts."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import linkwise as lw
from linkwise.control import DDP, ILQR, LQR, TVLQR, QuadraticCost

robot = lw.load("cartpole")  # nothing drives its hinge; the pole hangs at π and stands at 0
step, steps = 0.04, 90
cost = QuadraticCost(robot, [0, 0], state=[0.2, 0.05, 0.02, 0.02], control=0.01, terminal=[200, 400, 40, 40])
start, push = [0.0, np.pi], np.full((steps, 1), 0.01)

plan = ILQR(robot, cost, step, method="runge_kutta_4", limits=(-10, 10), tolerance=1e-4).solve(start, u0=push)
print("iLQR:", plan.report())
assert plan.converged and (np.diff(plan.costs) < 0).all()

# Exact second derivatives: a double pendulum raised by both joints, by iLQR and by DDP from the same start.
arm = lw.load("double_pendulum")
raising = QuadraticCost(arm, [np.pi, 0], state=[0.1, 0.1, 0.01, 0.01], control=0.01, terminal=[100, 100, 10, 10])
raised = {
    x.__name__: x(arm, raising, 0.03, tolerance=1e-8).solve([0, 0], u0=np.full((40, 2), 0.1)) for x in (ILQR, DDP)
}
for name, found in raised.items():
    print(f"{name:>4}, a double pendulum raised:", found.report())

# Feedback: gains along the plan, and about the upright state after its end.
top = LQR.about(robot, [0, 0], state=[5, 20, 2, 2], control=0.05)
law = TVLQR.along(
    robot, plan.q, plan.v, plan.u, step,
    state=[20, 20, 2, 2], control=0.05, terminal=top.P, method="runge_kutta_4", then=top,
)  # fmt: skip
print("poles of the balanced cart-pole:", np.round(np.sort_complex(top.poles), 2))

rng = np.random.default_rng(1)
starts = np.array(start) + rng.uniform([-0.1, -0.25], [0.1, 0.25], (20, 2))
heavier = robot.with_inertias({"pole": lw.Inertia.cylinder(0.11, 0.0, (0, 0, 0), (0, 0, 1.0))})
# the law looks up the time in its plan, so that it is called back from Python
with_feedback = lw.simulate(heavier, starts, controller=law, duration=8.0, step=0.02, hold=True, callback=True)
without = lw.simulate(heavier, starts, tau=np.repeat(plan.tau, 2, axis=0), step=0.02)
left = np.abs(with_feedback.q[:, -1]).max()
lost = np.abs(without.q[:, -1]).max()
print(f"a pole 10 % heavier, starts off by up to 14°: with feedback {left:.1e} left, without {lost:.1f}")
assert left < 0.02

figure = Figure(figsize=(9, 6.5), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.subplots(2, 2)
for ax, i, name in ((axes[0, 0], 1, "pole [rad], 0 is upright"), (axes[0, 1], 0, "cart [m]")):
    ax.plot(without.time, without.q[..., i].T, color="0.8", lw=0.8)
    ax.plot(with_feedback.time, with_feedback.q[..., i].T, color="C0", lw=0.8)
    ax.plot(plan.t, plan.q[:, i], "k--", lw=1.5, label="plan")
    ax.set(ylabel=name, xlabel="t [s]", ylim=(-2.5, 7.5) if i else (-1.2, 1.2))
    ax.plot([], color="C0", label="with feedback")
    ax.plot([], color="0.8", label="without")
axes[0, 0].set_title("twenty disturbed starts, a pole 10 % too heavy")
axes[0, 0].legend()
axes[1, 0].step(with_feedback.time, with_feedback.tau[..., 0].T, color="C0", lw=0.6)
axes[1, 0].step(plan.t[:-1], plan.u[:, 0], "k--", where="post")
axes[1, 0].set(xlabel="t [s]", ylabel="force on the cart [N]", ylim=(-15, 15))
for limit in (-10, 10):
    axes[1, 0].axhline(limit, color="0.6", lw=0.8, ls=":")
axes[1, 0].text(7.9, 10.4, "limit of the plan", ha="right", color="0.4")
for name, found in raised.items():
    axes[1, 1].semilogy(np.maximum(found.gradients, 1e-12), ".-", label=name)
axes[1, 1].set(xlabel="iteration", ylabel="largest gradient", title="a double pendulum raised")
axes[1, 1].legend()
figure.savefig("swing_up.png", dpi=120)
print("swing_up.png written")
