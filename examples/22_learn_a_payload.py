"""What hangs on the arm? Mass and centre of a payload by derivatives through a simulation that is written in JAX."""

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import linkwise as lw

jax.config.update("jax_enable_x64", True)
arm = lw.load("panda")
truth = np.array([1.8, 0.02, 0.01, 0.06])  # mass [kg] and place in the tool's frame [m] of a small weight: to be found
loaded = arm.weld("tcp", lw.Inertia.point(truth[0]), at=truth[1:])  # only used to make the data
step, steps, swings, noise = 0.004, 50, 16, 2e-3  # s, steps of a swing, swings, rad

# Swings of a fifth of a second from rest under constant torques.
rng = np.random.default_rng(3)
start = arm.random_configuration(rng, batch=swings)
push = np.array([10.0, 10.0, 10.0, 10.0, 1.0, 1.0, 0.02]) * rng.uniform(-1.0, 1.0, (swings, 7))  # N m
torque = jnp.array(arm.gravity_force(start) + push)


def swung(acceleration):
    """The joints' angles over the swings, (steps, swings, 7), by steps of semi-implicit Euler."""

    def advance(state, _):
        q, v = state
        v = v + step * acceleration(q, v, torque)
        q = q + step * v
        return (q, v), q

    return jax.lax.scan(advance, (jnp.array(start), jnp.zeros((swings, 7))), None, length=steps)[1]


seen = swung(loaded.forward_dynamics) + noise * rng.normal(size=(steps, swings, 7))

# Forward dynamics with the ten inertial parameters of every body as inputs; the weight adds to those of the last one.
dynamics = arm.compile("forward_dynamics", parameters=("inertial",))
tool = next(frame for frame in arm.frames if frame.name == "panda_hand_tcp")


def masses(x):
    """The inertial parameters (70,) of the arm with a weight of mass x[0] at x[1:] of the tool's frame."""
    c = tool.at + tool.rotation @ x[1:]
    J = (c @ c) * jnp.eye(3) - jnp.outer(c, c)
    weight = x[0] * jnp.array([1.0, *c, J[0, 0], J[0, 1], J[1, 1], J[0, 2], J[1, 2], J[2, 2]])
    return jnp.array(arm.inertial_parameters).at[-1].add(weight).ravel()


assert np.allclose(masses(jnp.array(truth)), loaded.inertial_parameters.ravel())


@jax.jit
def errors(x):
    """The angles' errors, in units of the noise."""
    p = masses(x)
    return ((swung(lambda q, v, tau: dynamics(q, v, tau, p)) - seen) / noise).ravel()


# Gauss and Newton: the errors are linearised through all the steps. It begins with 0.5 kg in the tool's origin.
slopes = jax.jit(jax.jacfwd(errors))
x, path, sizes = jnp.array([0.5, 0.0, 0.0, 0.0]), [], []
for _ in range(10):
    r, J = errors(x), slopes(x)
    path.append(np.asarray(x))
    sizes.append(float(jnp.sqrt(jnp.mean(r**2))))
    x = x - jnp.linalg.lstsq(J, r)[0]
deviation = jnp.sqrt(jnp.diag(jnp.linalg.inv(J.T @ J)))

print(f"errors of the angles, in units of the noise: {sizes[0]:.0f} before, {sizes[-1]:.3f} after")
print(f"{'':<6}{'true':>10}{'learnt':>10}{'± 1 σ':>10}")
for name, unit, true, value, sigma in zip(["mass", "x", "y", "z"], ["g", "mm", "mm", "mm"], truth, x, deviation):
    print(f"{name:<6}{1e3 * true:>10.2f}{1e3 * value:>10.2f}{1e3 * sigma:>10.2f}  {unit}")
assert np.all(np.abs(x - truth) < 4 * deviation) and abs(sizes[-1] - 1) < 0.05

# Reverse mode, which costs the same for any number of unknowns, has the same slope of the sum of squares: 2 Jᵀr.
first = jnp.array(path[0])
back = jax.grad(lambda x: jnp.sum(errors(x) ** 2))(first)
print("reverse mode agrees:", np.allclose(back, 2 * slopes(first).T @ errors(first), rtol=1e-9))
assert np.allclose(back, 2 * slopes(first).T @ errors(first), rtol=1e-9)

figure = Figure(figsize=(10, 3.4), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.subplots(1, 3)
axes[0].semilogy(sizes, "o-", color="C0")
axes[0].axhline(1.0, color="0.3", lw=0.8, ls="--")
axes[0].set(title="Errors of the angles", xlabel="round", ylabel="in units of the noise")
axes[1].plot([p[0] for p in path], "o-", color="C0")
axes[1].axhline(truth[0], color="0.3", lw=0.8, ls="--")
axes[1].set(title="Mass [kg], true one dashed", xlabel="round")
for i, name in enumerate("xyz", start=1):
    axes[2].plot([1e3 * p[i] for p in path], "o-", color=f"C{i - 1}", label=name)
    axes[2].axhline(1e3 * truth[i], color=f"C{i - 1}", lw=0.8, ls="--")
axes[2].set(title="Place in the tool's frame [mm]", xlabel="round")
axes[2].legend()
figure.savefig("learnt_payload.png", dpi=120)
print("learnt_payload.png written")
