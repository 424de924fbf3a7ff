"""Two arms carry a box between their fingertips: its motion, its weight and the squeeze are each controlled."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import linkwise as lw
from linkwise.control import ObjectMotion

# The box between two soft fingers, whose normals enter it from the left and from the right.
panda = lw.load("panda")
box = lw.Inertia.box(1.5, (0.3, 0.2, 0.2))
soft = {"kind": "soft_finger", "friction": 0.8, "torsion": 0.02}
left = lw.Contact("tcp", lw.Frame("left", at=(-0.15, 0, 0), rpy=(0, np.pi / 2, 0)), **soft)
right = lw.Contact("tcp", lw.Frame("right", at=(0.15, 0, 0), rpy=(0, -np.pi / 2, 0)), **soft)
team = lw.grasp([panda, panda], box, [left, right], bases=[(-0.7, 0, 0), ((0.7, 0, 0), (0, 0, np.pi))])

q = team.neutral()
q[team.arm_q("arm_1")] = q[team.arm_q("arm_2")] = [0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8]
q[team.object_q][:3] = [0, 0, 0.4]
q = team.closed_configuration(q, keep=["object_free"])
print(team.grasp_report(q))
weights = ", ".join(f"{x:.2f}" for x in np.diag(team.effective_inertia(q))[3:])
print(f"the box weighs {box.mass} kg; with the arms it feels like {weights} kg along x, y and z")

# The least squeeze that holds it still, and one with something to spare, as the law is to keep up on the way.
still, alone = np.zeros(team.nv), team.object_alone
hold = team.object_inverse_dynamics(q, still, np.zeros(6))
for margin in (0.0, 10.0):
    held = team.squeeze(q, still, hold, margin=margin)
    print(f"margin {margin:4.1f} N: each finger presses with {held.forces[0, 5]:.2f} N")

goal = alone.integrate(q[team.object_q], [0.0, 0.0, 0.3, 0.0, 0.1, 0.1])  # turned, aside and up
law = ObjectMotion(team, goal, 30.0, 11.0, squeeze=held.internal)
run = lw.simulate(team, q, controller=law, duration=1.2, step=4e-3, method="semi_implicit_euler")
V = run.along(law.lyapunov)
away = np.linalg.norm(alone.difference(goal, run.q[..., team.object_q]), axis=-1)
tau = law(0.0, run.q, run.v)
forces = team.contact_forces(run.q, run.v, tau)
margins = team.friction_margins(forces)
internal = team.contact_forces(run.q, run.v, tau, part="internal")
print(f"after 1.2 s {away[-1]:.1e} from the goal; the Lyapunov function falls at every step: {(np.diff(V) < 0).all()}")
opened = np.abs(team.loop_error(run.q)).max()
print(f"contacts open by at most {opened:.0e}, margins of friction at least {margins.min():.1f} N")
assert (np.diff(V) < 0).all() and margins.min() > 5.0

# Internal forces do no work: without the squeeze the box would move alike, if only the fingers could hold it.
loose = ObjectMotion(team, goal, 30.0, 11.0)
difference = np.abs(
    team.forward_dynamics(q, still, law(0.0, q, still)) - team.forward_dynamics(q, still, loose(0.0, q, still))
)
print(f"accelerations with and without the squeeze differ by {difference.max():.0e}")

# What carries the box, and what only squeezes it, in colours of their own.
drawn = lw.view.Motion(team, run.time, run.q, run.v, tau=tau)
lw.view.save("squeeze.png", drawn, show=("visuals", "motion_forces", "squeeze"), size=(480, 360), time=0.3)
print("squeeze.png written")

figure = Figure(figsize=(11, 3.4), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.subplots(1, 3)
axes[0].semilogy(run.time, V)
axes[0].set(xlabel="t [s]", title="Lyapunov function of the box's motion")
axes[1].plot(run.time, forces[:, :, 5], label=["left finger", "right finger"])
axes[1].plot(run.time, internal[:, 0, 5], "k--", label="internal")
axes[1].set(xlabel="t [s]", ylabel="normal force [N]", title="what the fingers press with")
axes[1].legend()
axes[2].plot(run.time, margins)
axes[2].axhline(0.0, color="k", lw=0.8)
axes[2].set(xlabel="t [s]", ylabel="normal force to spare [N]", title="friction holds")
figure.savefig("two_arms_one_box.png", dpi=120)
print("two_arms_one_box.png written")
