"""All forward-dynamics algorithms of the catalogue on one robot, and what each meets on its way."""

import numpy as np

import linkwise as lw

robot = lw.load("humanoid")
rng = np.random.default_rng(2)
q = robot.random_configuration(rng)
v, tau = rng.normal(size=(2, robot.nv))

reference = robot.forward_dynamics(q, v, tau)
scale = np.abs(reference).max()
print(f"{robot}\n")
print(f"{'method':<36} {'differs by':>10}   meets on its way")
for method in lw.FORWARD_METHODS:
    a = robot.forward_dynamics(q, v, tau, method=method, target="numpy")  # as it is written, not compiled
    quantities = robot.forward_quantities(q, v, tau, method=method)
    met = ", ".join(k for k in quantities if k != "beta_dot")
    print(f"{method:<36} {np.abs(a - reference).max() / scale:>10.0e}   {met or '(only the answer)'}")

# Not every method admits every robot; the error says why and what to use instead.
tree = lw.random_tree(6, seed=1, joints=["universal", "revolute"])
try:
    tree.forward_dynamics(tree.neutral(), np.zeros(tree.nv), np.zeros(tree.nv), method="armstrong")
except lw.NotAdmittedError as e:
    print(f"\n{e}")

# Some joints driven, the others free: prescribe the accelerations of the legs, get their torques.
legs = [j.name for j in robot.joints if "hip" in j.name or "knee" in j.name or "ankle" in j.name]
a, tau_out = robot.hybrid_dynamics(q, v, np.zeros(robot.nv), tau, prescribed=legs)
largest = max(abs(tau_out[robot.v_slices[robot.joint(name)]][0]) for name in legs)
print(f"\nhybrid dynamics: {len(legs)} leg joints held at zero acceleration, which takes up to {largest:.2f} N m")
print("consistent:", np.allclose(robot.inverse_dynamics(q, v, a), tau_out))

# What O(N), O(N²) and O(N³) cost as compiled programs, operation by operation, on chains of N hinges.
counted = lw.plots.measure_costs(sizes=(2, 4, 6, 8, 12, 16), timed=False)
lw.plots.costs(counted).savefig("algorithm_costs.png")
print("algorithm_costs.png written")
