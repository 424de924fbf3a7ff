"""How far the joints' accelerations are uncertain where every link is pushed at random: exactly, beside trials."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import linkwise as lw

arm = lw.load("panda")
q = np.array([0.3, -0.6, 0.2, -1.9, 0.1, 1.4, 0.5])
v = 0.2 * np.ones(arm.nv)
tau = arm.gravity_force(q)
rng = np.random.default_rng(0)

# Gusts on every link, 2 N in each direction at its centre of mass, which no two links share, and motors that are off by
# 1 % of their limits. Q(k) is the covariance of the spatial force on link k, in its frame at its joint.
GUST = 2.0


def push_covariance(body):
    x, y, z = body.inertia.com
    arm_of_force = np.vstack([[[0, -z, y], [z, 0, -x], [-y, x, 0]], np.eye(3)])  # [moment; force] = this @ force
    return GUST**2 * arm_of_force @ arm_of_force.T


Q = [push_covariance(body) for body in arm.bodies]
motors = 0.01 * arm.effort_limits

# Forward dynamics is linear in forces: δθ̈ = 𝓜⁻¹(Hφf + δT), so that the covariance of θ̈ is AQA* + 𝓜⁻¹R𝓜⁻¹, A = 𝓜⁻¹Hφ.
# Every product with it is a few sweeps over the links; no matrix is formed.
op = arm.operators(q)
mass = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T
R = op.block_diagonal(motors[:, None, None] ** 2, "joints", "R_T")
A = mass.inv() @ op.H @ op.phi
covariance = A @ op.block_diagonal(Q, name="Q") @ A.T + mass.inv() @ R @ mass.inv()
print("what the pushes do to θ̈ is", A.simplify())
exact = covariance.dense()
spread = np.sqrt(np.diag(exact))

# The same by trials, which need a hundred times as many for every digit.
COUNTS = [100, 1000, 10_000, 100_000]
roots = np.stack([np.linalg.cholesky(X + 1e-12 * np.eye(6)) for X in Q])
external = (roots @ rng.normal(size=(COUNTS[-1], len(Q), 6, 1)))[..., 0]
forces = tau + motors * rng.normal(size=(COUNTS[-1], arm.nv))
trials = arm.forward_dynamics(q, v, forces, external=external)
errors = [np.abs(np.cov(trials[:count].T) - exact).max() / exact.max() for count in COUNTS]
for count, error in zip(COUNTS, errors):
    print(f"{count:7} trials: the covariance is off by {100 * error:.2f} %")
assert errors[-1] < 0.02
mean = arm.forward_dynamics(q, v, tau)
assert np.allclose(trials.mean(axis=0), mean, atol=5 * spread.max() / np.sqrt(COUNTS[-1]))

# What it means for the hand: its acceleration is Jθ̈ + J̇v. One direction costs one product.
J = arm.jacobian(q, "panda_hand_tcp")[3:]
hand = J @ exact @ J.T
up = J[2]
print(f"the hand's acceleration is off by {np.sqrt(up @ (covariance @ up)):.2f} m/s² up or down, 1 standard deviation")

# Pushes whose covariance is the inertias themselves are those of robot.filter, and leave θ̈ with the covariance 𝓜⁻¹.
print("pushes of covariance M give 𝓜⁻¹:", np.allclose((A @ op.M @ A.T).dense(), arm.mass_matrix_inverse(q), atol=1e-9))

# And back: who was pushed, given what the joints felt of it, Y = Hφf + δT? That is the smoother of the same filter with
# Q in place of M and the motors' R as noise of the measurements: f̂ = Qφ*H*(HφQφ*H* + R)⁻¹Y, in sweeps again.
Q_known = op.block_diagonal(Q, name="Q")
felt = op.H @ op.phi @ Q_known @ op.phi.T @ op.H.T + R
guess = Q_known @ op.phi.T @ op.H.T @ felt.inv()
Y = (trials - mean) @ arm.mass_matrix(q)
found = (guess @ Y).reshape(external.shape)
left = ((found - external)[..., 3:] ** 2).sum(axis=-1).mean(axis=0)
claimed = Q_known - guess @ felt @ guess.T  # what of Q is left
blocks = claimed.dense().reshape(len(Q), 6, len(Q), 6)
kept = np.array([np.trace(blocks[k, 3:, k, 3:]) for k in range(len(Q))])
assert np.allclose(left, kept, rtol=0.03)
known = 1.0 - kept / (3 * GUST**2)
print("the joints know of the forces on link 1 to 7:", ", ".join(f"{100 * x:.0f} %" for x in known))

figure = Figure(figsize=(11, 3.4), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.subplots(1, 3)
joints = np.arange(1, arm.nv + 1)
axes[0].bar(joints - 0.2, spread, 0.4, label="exact")
axes[0].bar(joints + 0.2, trials.std(axis=0), 0.4, label=f"{COUNTS[-1]:,} trials")
axes[0].set(xlabel="joint", ylabel="standard deviation of θ̈ [rad/s²]", title="gusts and motors")
axes[0].legend()
shown = (trials[:2000] - mean) @ J.T
circle = np.linspace(0, 2 * np.pi, 100)
for scale in (1, 2):
    side = scale * np.linalg.cholesky(hand[np.ix_([0, 2], [0, 2])]) @ [np.cos(circle), np.sin(circle)]
    axes[1].plot(*side, "k", label="exact, 1σ and 2σ" if scale == 1 else None)
axes[1].plot(shown[:, 0], shown[:, 2], ".", markersize=1.5, color="tab:orange", label="2,000 trials")
axes[1].set(
    xlabel="x [m/s²]", ylabel="z [m/s²]", title="the hand's acceleration, off by", aspect="equal", ylim=(-4, 5.5)
)
axes[1].legend(loc="upper right")
axes[2].bar(joints - 0.2, 100 * known, 0.4, label="exact")
axes[2].bar(joints + 0.2, 100 * (1.0 - left / (3 * GUST**2)), 0.4, label="trials")
axes[2].set(xlabel="link", ylabel="share of the gusts' variance [%]", title="what the joints know of the gusts")
axes[2].legend(loc="upper left")
figure.savefig("random_pushes.png", dpi=120)
print("random_pushes.png written")
