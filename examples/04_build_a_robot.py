"""Build a robot by hand: a cart with a spherical pendulum, a geared wrist, and a joint of your own making."""

import numpy as np

import linkwise as lw

np.set_printoptions(precision=4, suppress=True)

cart = lw.Body("cart", lw.Prismatic("x"), lw.Inertia.box(2.0, (0.4, 0.3, 0.1)))
rod = lw.Body(
    "rod",
    lw.Joint(lw.Spherical(), "ball", at=(0, 0, -0.05)),
    lw.Inertia.cylinder(0.5, 0.02, (0, 0, 0), (0, 0, -0.6)),
    parent="cart",
)
wrist = lw.Body(
    "wrist",
    lw.Joint(
        lw.Revolute("y"), "wrist_joint", at=(0, 0, -0.6), limits=lw.Limits(-2, 2), rotor=lw.Rotor(2e-5, gear_ratio=50)
    ),
    lw.Inertia.sphere(0.2, 0.03, at=(0, 0, -0.05)),
    parent="rod",
)
skate = lw.Custom(np.array([[0, 0, 0, 1.0, 0, 0], [0, 0, 1.0, 0, 0, 0]]).T)  # slides along x, turns about z
blade = lw.Body("blade", lw.Joint(skate, "skate", at=(0.5, 0, 0)), lw.Inertia.box(1.0, (0.3, 0.02, 0.1)))

robot = lw.assemble("oddity", [wrist, rod, cart, blade], frames=[lw.Frame("tip", "wrist", at=(0, 0, -0.1))])
print(robot)
for joint, nq, nv in ((j, j.kind.nq, j.kind.nv) for j in robot.joints):
    print(f"  {joint.name:<12} {joint.kind.kind:<10} nq={nq} nv={nv}")

# Configurations may live on a manifold: add velocities with integrate, subtract with difference.
rng = np.random.default_rng(3)
q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
q1 = robot.integrate(q, 0.1 * v)
print("\nq ⊖ (q ⊕ 0.1 v) = 0.1 v:", np.allclose(robot.difference(q, q1), 0.1 * v))

a = rng.normal(size=robot.nv)
tau = robot.inverse_dynamics(q, v, a)
print("forward dynamics undoes inverse dynamics:", np.allclose(robot.forward_dynamics(q, v, tau), a))
print("the rotor adds", robot.joints[robot.joint("wrist_joint")].rotor.reflected, "kg m² at the wrist")

# Robots from robots: a payload, a locked joint, another gravity, a second robot bolted on.
loaded = robot.weld("tip", lw.Inertia.point(0.3), frame="payload")
print("\nwith a payload:", loaded, f"{loaded.total_mass:.1f} kg")
print("locked wrist:  ", robot.lock({"wrist_joint": 0.5}))
print("on the moon:   ", robot.with_gravity((0, 0, -1.62)).gravity)
print("with an arm:   ", robot.attach(lw.load("ur5"), to="cart", prefix="ur5_", at=(0, 0, 0.05)))

# A mistake is refused with its place and a hint.
try:
    lw.assemble("wrong", [lw.Body("a", lw.Revolute("z"), lw.Inertia(1.0, tensor=(1, 1, 3)))])
except lw.ModelError as e:
    print(f"\n{e}")

# Let it go, and look at it.
swing = lw.simulate(robot, q, v, duration=1.5, step=0.002)
lw.view.save("oddity.gif", swing, show=("visuals", "center_of_mass", "trace"), size=(320, 240), rate=12)
print(f"\nenergy kept to {abs(swing.energy.drift).max():.0e} J; oddity.gif written")
