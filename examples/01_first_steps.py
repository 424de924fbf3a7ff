"""First steps: load a robot, ask where it is, what holds it, and how it moves. Batches come for free."""

import numpy as np

import linkwise as lw

np.set_printoptions(precision=3, suppress=True)

robot = lw.load("ur5")  # a built-in name, or the path of a URDF file
print(robot)
print("built in:", ", ".join(lw.robots()))
print("joints:  ", ", ".join(j.name for j in robot.joints))

# Where is the tool, and how fast does it move?
rng = np.random.default_rng(1)
q = robot.random_configuration(rng)
v = rng.normal(size=robot.nv)
R, p = robot.pose(q, "tool0")
print("\ntool at", p, "m")
print("tool moves with [ω; v] =", robot.velocity(q, v, "tool0"))
print("the same by J v        =", robot.jacobian(q, "tool0") @ v)

# Which joint torques hold it still, and which give an acceleration?
a = rng.normal(size=robot.nv)
tau = robot.inverse_dynamics(q, v, a)
print("\ntorques against gravity:", robot.gravity_force(q))
print("torques for a:          ", tau)
print("and back, a =           ", robot.forward_dynamics(q, v, tau), "=", a)

# Energy and momentum.
kinetic, potential = robot.energy(q, v)
print(f"\nkinetic {kinetic:.3f} J, potential {potential:.3f} J, centre of mass", robot.center_of_mass(q))

# Every call takes batches: leading dimensions of q, v, … broadcast.
qs = robot.random_configuration(rng, batch=(4, 5))
print("\na batch of mass matrices:", robot.mass_matrix(qs).shape)
print("tool positions of the batch:", robot.pose(qs, "tool0")[1].shape)

# A picture of the arm in this pose, with its frames and the axes of its joints.
lw.view.save("first_steps.png", q, robot, show=("visuals", "frames", "axes"))
print("\nfirst_steps.png written")
