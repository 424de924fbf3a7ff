"""Fixed steps on the configuration manifold, each a pure function of the state: run on arrays, or traced and compiled.

Semi-implicit Euler and the fourth-order Runge–Kutta step are those of :mod:`linkwise.simulation.diagonal_motion`. The
variational step is here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import arrays
from ..arrays import Array
from ..errors import NotAdmittedError
from ..robot.robot import Robot
from ..spatial import cross_motion_matrix
from .diagonal_motion import Coordinates, runge_kutta_4, semi_implicit_euler
from .joint_forces import Passive

BOOKS = ("work", "dissipated", "stops", "external")  # [J]: what joint forces, resistance, stops, pushes did
ITERATIONS = 6  # of the variational step: what is missing shrinks by about ½h × the largest rate with each
CONVERGED = 1e-3  # the largest change in the last of them, against 1 + |ξ|, that is taken


class Applied(NamedTuple):
    """Joint forces (..., nv) of the controller, and those of external forces, None where there are none."""

    tau: Array
    external: Array | None


@dataclass(frozen=True, eq=False)
class System:
    """A robot and the forces on it. ``dynamics`` is the same robot in frames that suit joint-space programs best."""

    robot: Robot
    dynamics: Robot
    force: Callable[[Any, Array, Array], Array] | None  # τ(t, q, v), (..., nv)
    passive: Passive
    target: str | None = None  # of the robot's methods, where the step runs on arrays
    external: Callable[[Any, Array, Array], Array] | None = None  # what external forces do to the joints, (..., nv)

    @property
    def keeps_books(self) -> bool:
        """Whether any force works on the robot, so that the state has the books' energies beside it."""
        return self.force is not None or self.external is not None or self.passive.active

    def forces(self, applied: Applied, q: Array, v: Array) -> tuple[Array, Array | None]:
        """(all joint forces (..., nv), the power of each of :data:`BOOKS` (..., 4)), None where no books are kept."""
        tau, external = applied
        if not self.keeps_books:
            return tau, None
        resistance, stops = self.passive.resistance(v), self.passive.stops(self.robot, q, v)
        total = tau + resistance + stops
        if external is None:
            pushed = 0.0 * v[..., 0]
        else:
            total, pushed = total + external, (external * v).sum(axis=-1)
        powers = [(tau * v).sum(axis=-1), -(resistance * v).sum(axis=-1), -(stops * v).sum(axis=-1), pushed]
        return total, arrays.stack([_array(p, v) for p in powers])

    def applied(self, t: Any, q: Array, v: Array) -> Any:
        tau = 0.0 * v if self.force is None else self.force(t, q, v)
        return Applied(tau, None if self.external is None else self.external(t, q, v))

    def derivative(self, q: Array, w: Array, applied: Any) -> tuple[Array, Array]:
        """(v, ẇ) of w = [v; books]."""
        v = self.velocity(q, w)
        total, powers = self.forces(applied, q, v)
        a = self.dynamics.forward_dynamics(q, v, total, target=self.target)
        return v, a if powers is None else np.concatenate([a, powers], axis=-1)

    def velocity(self, q: Array, w: Array) -> Array:
        return w[..., : self.robot.nv]

    @property
    def coordinates(self) -> Coordinates:
        """The state (q, w) for the steps of :mod:`linkwise.simulation.diagonal_motion`."""
        return Coordinates("joint", lambda q, v: v, self.velocity, self.derivative)


def _array(x: Any, like: Array) -> Array:
    return np.asarray(x, dtype=object) if arrays.is_symbolic(like) else x


def semi_implicit(s: System, t: Any, q: Array, w: Array, h: Any) -> tuple[Array, Array]:
    """v ← v + h v̇(q, v), then q ← q ⊕ h v: first order, one evaluation."""
    return semi_implicit_euler(s.robot, s.coordinates, t, q, w, s.applied, h)


def rk4(s: System, t: Any, q: Array, w: Array, h: Any) -> tuple[Array, Array]:
    """The classical fourth-order step, on the manifold in its commutator-free form; four evaluations."""
    return runge_kutta_4(s.robot, s.coordinates, t, q, w, s.applied, h)


def variational(s: System, t: Any, q: Array, w: Array, h: Any) -> tuple[Array, Array]:
    """Stationary discrete action Σ h L(q ⊕ ½hξ, ξ), q' = q ⊕ hξ: symplectic, second order, keeps momenta.

    With p = 𝓜v, q̄ = q ⊕ ½hξ, μ = 𝓜(q̄)ξ and the rate ṗ(q̄, ξ) of :mod:`linkwise.dynamics.momentum_coordinates`, the
    variation of the action (Lagrange–d'Alembert, where forces act) is

        p + ½h ṗ = c(hξ)*μ + ½h tanh(¼ ad(hξ))*f,        p' = p + h ṗ,

    c(x) = ½ad(x) coth ½ad(x), f = ṗ − ad(ξ)*μ, where ad is that of each joint's group. It is zero for all joints but
    those with quaternions and planar ones: for the others this is the implicit midpoint rule in (q, p). ξ is found by
    a fixed number of iterations ξ ← 𝓜(q̄)⁻¹[…]; compiled code reports where they have not settled.
    """
    v = s.velocity(q, w)
    p = _mass_times(s, q, v)
    xi = before = v
    for _ in range(ITERATIONS):
        before = xi
        middle = s.robot.integrate(q, 0.5 * h * xi)
        rate, _ = _momentum_rate(s, t, middle, xi, h)
        mean = p + 0.5 * h * rate - _turning(s, middle, xi, rate, h)
        xi = _mass_solve(s, middle, mean)
    change, size = arrays.square_length(xi - before), arrays.square_length(xi)
    arrays.require_positive(CONVERGED**2 * (1.0 + size) - change, always=True)
    rate, powers = _momentum_rate(s, t, s.robot.integrate(q, 0.5 * h * xi), xi, h)
    q = s.robot.integrate(q, h * xi)
    v = _mass_solve(s, q, p + h * rate)
    if powers is None:
        return q, v
    return q, np.concatenate([v, w[..., s.robot.nv :] + h * powers], axis=-1)


def _mass_times(s: System, q: Array, v: Array) -> Array:
    return s.dynamics.mass_times(q, v, target=s.target)


def _mass_solve(s: System, q: Array, p: Array) -> Array:
    return s.dynamics.mass_solve(q, p, target=s.target)


def _momentum_rate(s: System, t: Any, q: Array, xi: Array, h: Any) -> tuple[Array, Array | None]:
    total, powers = s.forces(s.applied(t + 0.5 * h, q, xi), q, xi)
    return s.dynamics.momentum_force(q, xi, target=s.target) + total, powers


_COTH = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)  # ½x coth ½x − 1, powers x², x⁴, …
_TANH = (1.0, -1 / 3, 2 / 15, -17 / 315, 62 / 2835)  # powers y, y³, …


def _turning(s: System, q: Array, xi: Array, rate: Array, h: Any) -> Any:
    """(c(hξ) − 1)*μ + ½h tanh(¼ ad(hξ))*f, (..., nv): what joints that do not commute add, to 1e-15 for h|ω| < 0.3."""
    if all(_commutes(joint.kind) for joint in s.robot.joints):
        return 0.0
    mu = _mass_times(s, q, xi)
    parts = []
    for joint, where in zip(s.robot.joints, s.robot.v_slices):
        kind = joint.kind
        if _commutes(kind):
            parts.append(0.0 * mu[..., where])
            continue
        basis = arrays.constant(kind.H_star, like=xi)
        ad = basis.T @ cross_motion_matrix(basis @ xi[..., where, None]) @ basis  # its columns are orthonormal
        dual = arrays.transpose(ad)
        m, r = mu[..., where, None], rate[..., where, None]
        f = r - dual @ m
        step = h * dual
        quarter = 0.25 * step
        first = _even_series(step, _COTH, step @ (step @ m))
        second = _even_series(quarter, _TANH, quarter @ f)
        parts.append((first + 0.5 * h * second)[..., 0])
    return np.concatenate(parts, axis=-1)


def _even_series(A: Array, coefficients: tuple[float, ...], start: Array) -> Array:
    """Σ c_k A^{2k} start."""
    total, term = coefficients[0] * start, start
    for c in coefficients[1:]:
        term = A @ (A @ term)
        total = total + c * term
    return total


def _commutes(kind: Any) -> bool:
    return kind.kind not in ("spherical", "planar", "free") and getattr(kind, "commutes", True)


def admits(robot: Robot, method: str) -> None:
    """Refuse a method that has no meaning for a robot."""
    if method == "variational":
        for joint in robot.joints:
            if not getattr(joint.kind, "commutes", True):
                raise NotAdmittedError(
                    f"the variational step needs joints that are groups, and {joint.name!r} is a custom joint whose"
                    ' columns do not commute; use method="rk4"'
                )


METHODS: dict[str, Callable[..., tuple[Array, Array]]] = {
    "semi_implicit": semi_implicit,
    "rk4": rk4,
    "variational": variational,
}
