"""An arm whose gears give: how far it sags under a load, how it rings, and what of that a motor feels.

Writes elastic_arm.png, and elastic_arm.gif of its slowest mode.
"""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import linkwise as lw

arm = lw.load("panda")
POSE = np.array([0.0, 0.5, 0.0, -1.2, 0.0, 1.7, 0.8])
gears = {j.name: lw.Gear(3e3, ratio=100.0, rotor=5e-5, damping=1.5) for j in arm.joints}
soft = arm.with_elastic_joints(gears)
motors = [soft.v_slices[soft.joint(name)].start for name in gears]
springs = [soft.v_slices[soft.joint(f"{name}_spring")].start for name in gears]
print(f"{arm.nv} joints, {soft.nv} coordinates: each motor, and how far its link leads")

# The motors hold their places (they are locked); the links sag under their weight and a load in the hand.
q = np.zeros(soft.nv)
q[motors] = POSE
held = soft.lock(list(gears), q=q)
loads = np.linspace(0.0, 60.0, 7)
push = np.zeros((len(loads), 6))
push[:, 5] = -loads
rest = held.equilibrium(external={"tcp": push})
assert rest.reached.all() and rest.stable.all()
height = held.pose(rest.q, "tcp")[1][:, 2]
print(f"the hand sags by {1e3 * (arm.pose(POSE, 'tcp')[1][2] - height[0]):.1f} mm by itself,")
print(f"and by {1e3 * (height[0] - height[-1]):.1f} mm more under {loads[-1]:.0f} N")

# How it rings there: frequencies with motors locked, and the slowest shape.
modes = held.modes(rest.q[0])
print(modes)
stiff = held.with_springs({f"{name}_spring": {"stiffness": 3e5} for name in gears})
ratio = stiff.modes(stiff.equilibrium().q).frequencies / modes.frequencies
print("gears a hundred times as stiff ring ten times as fast:", np.allclose(ratio, 10, rtol=2e-2))
damped = held.modes(rest.q[0], damped=True)
slow = damped.exponents[np.argmin(np.abs(damped.exponents))]
print(f"the slowest dies away by {-slow.real:.2f}/s at {abs(slow.imag):.2f} rad/s")

# The load is let go: the hand rings at those frequencies.
swing = lw.simulate(held, rest.q[-1], duration=0.6, step=2e-4, every=5)
hand = held.pose(swing.q, "tcp")[1][:, 2]
account = swing.energy
print(f"of {account.total[0] - account.total[-1]:.3f} J let go the gears took {account.dissipated[-1]:.3f} J")
assert np.abs(account.drift).max() < 1e-6

time, shape = modes.swing(0, amplitude=0.25, samples=24)
lw.view.save("elastic_arm.gif", lw.view.Motion(held, time * (1.2 / time[-1]), shape), size=(320, 300), rate=20)


def sticks(q: np.ndarray) -> np.ndarray:
    """The joints' places along the arm, (frames, 3)."""
    names = [j.removesuffix("_spring") for j in (x.name for x in held.joints)]
    bodies = [b.name for b in held.bodies if b.joint.name.removesuffix("_spring") in names]
    return np.array([np.zeros(3), *(held.pose(q, b)[1] for b in bodies), held.pose(q, "tcp")[1]])


figure = Figure(figsize=(12, 3.6), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.subplots(1, 4)
axes[0].plot(loads, 1e3 * (height - height[0]), "o-")
axes[0].set(xlabel="load [N]", ylabel="height of the hand [mm]", title="it sags")
for i, axis in ((0, axes[1]), (2, axes[2])):
    _, shapes = modes.swing(i, amplitude=0.3, samples=16)
    for x in shapes[4:13]:  # from one end to the other
        axis.plot(*sticks(x)[:, [0, 2]].T, color="tab:blue", alpha=0.4)
    axis.plot(*sticks(rest.q[0])[:, [0, 2]].T, "k.-")
    axis.set(xlabel="x [m]", ylabel="z [m]", aspect="equal", xlim=(-0.1, 1.0), ylim=(-0.05, 1.05))
    axis.set_title(f"mode {i}: {modes.frequencies[i] / (2 * np.pi):.1f} Hz")
fallen = 1e3 * (hand - height[0])
axes[3].plot(swing.time, fallen)
decay = abs(fallen[0]) * np.exp(slow.real * swing.time)
axes[3].plot(swing.time, decay, "k--", swing.time, -decay, "k--", linewidth=0.8)
axes[3].set(xlabel="time [s]", ylabel="height of the hand [mm]", title="the load is let go")
figure.savefig("elastic_arm.png", dpi=110)
print("elastic_arm.png and elastic_arm.gif written")
