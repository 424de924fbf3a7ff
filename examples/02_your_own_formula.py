"""Your own formula: write it with operators, run it in O(n), have it explained, and test a claim about it."""

import numpy as np

import linkwise as lw

np.set_printoptions(precision=4, suppress=True)

robot = lw.load("panda")
rng = np.random.default_rng(0)
q = robot.random_configuration(rng)
op = robot.operators(q, frames="flange")

# The mass matrix as the papers write it. Applying it runs an outward and an inward sweep.
mass = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T
x = rng.normal(size=robot.nv)
print(mass, "applied to x:", mass @ x)
print("with the matrix:          ", robot.mass_matrix(q) @ x)

# How the tip yields to a force: J 𝓜⁻¹ J*. The algebra knows a shorter form.
compliance = op.J @ mass.inv() @ op.J.T
short = compliance.simplify()
print(f"\n{compliance}\n  = {short}\nbecause")
for rule in short.used:
    print("  ", rule)
print("agrees with the catalogue:", np.abs(short.dense() - robot.operational_compliance(q, "flange")).max() < 1e-12)

# An inertia of your own: what if every link weighed twice as much, and carried a 1 kg ball at its joint?
ball = np.diag([0.001, 0.001, 0.001, 1.0, 1.0, 1.0])
X = op.block_diagonal([2.0 * body.inertia.spatial().matrix + ball for body in robot.bodies])
heavier = op.H @ op.phi @ X @ op.phi.T @ op.H.T
print(f"\n{heavier} has the inverse {heavier.inv()}")
print("check:", np.allclose(heavier.inv() @ (heavier @ x), x))

# Claims are cheap to test: random chains and trees, all joint kinds.
print()
print(lw.check_identity(lambda o: o.phi - o.psi, lambda o: o.psi @ o.K @ o.H @ o.phi))
print(lw.check_identity(lambda o: o.phi @ o.psi, lambda o: o.psi @ o.phi))

# What it costs, counted exactly for this robot, and the recursions it runs as.
print()
print(short.explain())

# Where the operators have entries: φ and ψ, 𝓜 and its factors.
lw.plots.operators(robot, q).savefig("operators.png")
print("\noperators.png written")
