"""``lw.excitation``: motions that tell as much of a robot as its limits allow.

Each joint moves by a finite Fourier series about a centre (Swevers and others, 1997), which begins and ends at rest:

    q(t) = c + Σ_k A_k sin ω_k t + B_k cos ω_k t,   ω_k = 2πk/duration,   Σ A_kω_k = 0,   Σ B_kω_k² = 0.

The coefficients minimise −log det of the information that the measured forces carry of what can be told apart, or the
condition number of the equations, by quasi-Newton steps with exact gradients (the reverse derivative of the compiled
regressor, and that of inverse dynamics for efforts). Limits are penalties on the way, and hold exactly in the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import number, numbers, one_of, whole
from ..errors import InputError, NotAdmittedError
from ..extras import require
from ..robot.calls import refuse_other_than_robot
from ..robot.robot import Robot
from ..simulation.joint_forces import FRICTION_SPEED
from ..values import owned
from .identify import told_apart
from .unknowns import Rows, Unknowns, chosen_unknowns, has_ordinary_coordinates

CRITERIA = ("log_det", "condition")
# Of each stage of the search: the penalty on squares of what exceeds a limit, as a share of it, and the power of
# eigenvalues whose sums stand for the largest and the smallest. (Those themselves have an edge where two are equal,
# which is where the best motions are: a search that meets it ends wherever roundings lead it.)
_STAGES = ((10.0, 4.0), (1e3, 16.0))
_FINER = 8  # samples that limits are checked at in the end, for each that counts


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion that excites: ``motion(t)`` gives (q, v, a), each (..., nv), at times t [s] of any shape, and so is a
    reference for laws of control; ``samples(count)`` gives (times, q, v, a) of a period.

    ``centre`` (nv,), ``sine`` and ``cosine`` (harmonics, nv) are its coefficients. ``condition`` is the condition
    number of the equations, columns in scales of the robot, and ``log_det`` that of their information; ``before`` has
    both of the random motion that the search began with.
    """

    robot: Robot
    duration: float
    centre: np.ndarray
    sine: np.ndarray
    cosine: np.ndarray
    condition: float
    log_det: float
    before: tuple[float, float]

    def __post_init__(self) -> None:
        for name in ("centre", "sine", "cosine"):
            object.__setattr__(self, name, owned(getattr(self, name)))

    def __call__(self, t: Any) -> tuple[Any, Any, Any]:
        """(q, v, a), each (..., nv) [rad, m], at times t (...) [s]; periodic."""
        t = t[..., None] if isinstance(t, np.ndarray) and t.ndim else t
        q: Any = self.centre + 0.0 * t
        v: Any = 0.0 * q
        a: Any = 0.0 * q
        for k, (A, B) in enumerate(zip(self.sine, self.cosine), start=1):
            w = 2 * np.pi * k / self.duration
            s, c = np.sin(w * t), np.cos(w * t)
            q = q + A * s + B * c
            v = v + w * (A * c - B * s)
            a = a - w * w * (A * s + B * c)
        return q, v, a

    def samples(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(times (count,), q, v, a), each (count, nv), evenly over a period."""
        times = np.arange(whole(count, "count", least=1)) * (self.duration / count)
        return times, *self(times)

    def __repr__(self) -> str:
        return (
            f"<Excitation of {self.robot.name!r}: {self.duration:g} s, {len(self.sine)} harmonics, condition"
            f" {self.condition:.3g} (a random motion: {self.before[0]:.3g})>"
        )


def excitation(
    robot: Robot,
    *,
    duration: float = 10.0,
    harmonics: int = 5,
    criterion: str = "log_det",
    bodies: Iterable[str] | None = None,
    rotors: Any = False,
    damping: Any = False,
    friction: Any = False,
    position: Any = None,
    velocity: Any = None,
    effort: Any = None,
    noise: Any = 1.0,
    margin: float = 0.05,
    samples: int | None = None,
    starts: int = 3,
    iterations: int = 100,
    seed: int = 0,
) -> Excitation:
    """A motion of ``duration`` [s] that excites what is unknown of a robot, within its limits: an :class:`Excitation`.

    ``bodies``, ``rotors``, ``damping`` and ``friction`` are what :func:`identify` will look for. ``position`` (a pair
    lower, upper [rad, m]), ``velocity`` [rad/s, m/s] and ``effort`` [N m, N] are limits in place of the robot's own,
    each a number or nv; the motion keeps a share ``margin`` away from them, efforts being those of the robot as it is.
    Every joint needs limits of position and velocity; effort may be unlimited. ``criterion`` is "log_det" (the volume
    of the error ellipsoid) or "condition"; ``noise`` [N m, N] weighs the joints. The equations are set up at
    ``samples`` times (default 8 a harmonic). Of ``starts`` random motions the best result counts. SciPy minimises.
    """
    refuse_other_than_robot(robot, "excitation")
    one_of(criterion, CRITERIA, "criterion", error=InputError)
    duration = number(duration, "duration", above=0.0)
    margin = number(margin, "margin", least=0.0)
    if margin >= 1.0:
        raise InputError(f"margin is a share below 1 that is kept off limits, got {margin:g}")
    harmonics = whole(harmonics, "harmonics", least=2)
    count = 8 * harmonics if samples is None else whole(samples, "samples", least=2 * harmonics + 1)
    unknowns = chosen_unknowns(robot, bodies, rotors, damping, friction, False)
    limits = _Limits.of(robot, position, velocity, effort, 1.0 - margin)
    goal = _Goal(unknowns, _noise(robot, noise), criterion)
    series = _Series(duration, harmonics, robot.nv)
    rng = np.random.default_rng(whole(seed, "seed"))
    found = [
        _optimised(robot, goal, series, limits, count, whole(iterations, "iterations", least=1), rng)
        for _ in range(whole(starts, "starts", least=1))
    ]
    z, z0 = min(found, key=lambda x: goal.value(series.at(x[0], count)))
    (condition, log_det), before = (goal.told(series.at(x, count)) for x in (z, z0))
    return Excitation(robot, duration, *series.coefficients(z), condition, log_det, before)


# --- limits ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Limits:
    """Centres and half ranges of positions, largest velocities and efforts, each (nv,), the margin taken off."""

    middle: np.ndarray
    half: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray

    @staticmethod
    def of(robot: Robot, position: Any, velocity: Any, effort: Any, share: float) -> _Limits:
        _refuse_other_coordinates(robot)
        own = (robot.lower_limits, robot.upper_limits)
        try:
            lower, upper = own if position is None else position
        except (TypeError, ValueError):
            raise InputError(f"position is a pair (lower, upper) of limits, got {position!r}") from None
        lower, upper = (_per_rate(robot, x, "position") for x in (lower, upper))
        speed = _per_rate(robot, robot.velocity_limits if velocity is None else velocity, "velocity")
        torque = _per_rate(robot, robot.effort_limits if effort is None else effort, "effort")
        names = [joint.name for joint, _, where in robot.coordinates for _ in range(where.start, where.stop)]
        for what, x in (("position", upper - lower), ("velocity", speed)):
            if not np.isfinite(x).all():
                name = names[int(np.argmin(np.isfinite(x)))]
                raise InputError(f"joint {name!r} has no limit of {what}, and would be moved beyond all; give {what}=")
        for what, x in (("position", upper - lower), ("velocity", speed), ("effort", torque)):
            if not (x > 0).all():
                raise InputError(
                    f"joint {names[int(np.argmin(x > 0))]!r} may not move: its limits of {what} leave none"
                )
        return _Limits(0.5 * (lower + upper), 0.5 * share * (upper - lower), share * speed, share * torque)

    def excess(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> list[np.ndarray]:
        """By what share each limit is exceeded, signed, (samples, nv) each; zero within."""
        shares = ((q - self.middle) / self.half, v / self.velocity, tau / self.effort)
        return [np.sign(x) * np.maximum(np.abs(x) - 1.0, 0.0) for x in shares]


def _refuse_other_coordinates(robot: Robot) -> None:
    for joint, _, _ in robot.coordinates:
        if not has_ordinary_coordinates(joint):
            raise NotAdmittedError(
                f"joint {joint.name!r} of robot {robot.name!r} does not move by ordinary coordinates, of which series"
                " are made; excite the robot without it (robot.lock, or the arm alone)"
            )


def _per_rate(robot: Robot, given: Any, what: str) -> np.ndarray:
    x = numbers(given, what)
    if x.shape not in ((), (robot.nv,)) or np.isnan(x).any():
        raise InputError(f"limits of {what} must be numbers, or {robot.nv} of them each, got shape {x.shape}")
    return np.broadcast_to(x, (robot.nv,)).astype(float)


def _noise(robot: Robot, given: Any) -> np.ndarray:
    x = _per_rate(robot, given, "noise")
    if not (np.isfinite(x).all() and (x > 0).all()):
        raise InputError(f"noise must be positive, got {given!r}")
    return x


# --- the motion ----------------------------------------------------------------------------------------------


class _Series:
    """Motions by numbers z (1 + 2 harmonics − 2, nv): the centre, and coefficients of motions that begin at rest."""

    def __init__(self, duration: float, harmonics: int, nv: int) -> None:
        self.duration, self.nv = duration, nv
        self.w = 2 * np.pi * np.arange(1, harmonics + 1) / duration
        still = np.zeros((2, 2 * harmonics))
        still[0, :harmonics], still[1, harmonics:] = self.w, self.w**2
        self.rest = np.linalg.svd(still)[2][2:].T  # (2 harmonics, 2 harmonics − 2)
        self.rows = 1 + self.rest.shape[1]

    def maps(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v and a (count, nv) at even times are these (count, rows) times z."""
        t = np.arange(count)[:, None] * (self.duration / count)
        s, c, w = np.sin(self.w * t), np.cos(self.w * t), self.w
        q, v = np.concatenate([s, c], axis=1), np.concatenate([w * c, -w * s], axis=1)
        a = np.concatenate([-w * w * s, -w * w * c], axis=1)
        fixed = (np.ones((count, 1)), np.zeros((count, 1)), np.zeros((count, 1)))
        first, second, third = (np.concatenate([f, x @ self.rest], axis=1) for f, x in zip(fixed, (q, v, a)))
        return first, second, third

    def at(self, z: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first, second, third = (x @ z for x in self.maps(count))
        return first, second, third

    def coefficients(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(centre, sine, cosine)."""
        both = self.rest @ z[1:]
        return z[0], both[: len(self.w)], both[len(self.w) :]


# --- what a motion tells ---------------------------------------------------------------------------------------


class _Goal:
    """The criterion of samples (q, v, a), each (samples, nv), and its gradient."""

    def __init__(self, unknowns: Unknowns, noise: np.ndarray, criterion: str) -> None:
        robot = unknowns.robot
        for k in unknowns.rotors:
            rotor = robot.joints[k].rotor
            if rotor is not None and rotor.axis is not None:
                raise NotAdmittedError(
                    f"the rotor of joint {robot.joints[k].name!r} spins on its parent, and excitation looks for"
                    " reflected inertias alone; leave it out of rotors=[…]"
                )
        self.unknowns, self.noise, self.criterion = unknowns, noise, criterion
        self.rows = Rows(tuple(range(robot.nv)))
        self.columns, _ = told_apart(unknowns, self.rows)
        self.picked = [10 * k + i for k in unknowns.bodies for i in range(10)]
        self.reverse = robot.compile("inverse_dynamics_regressor").vjp() if self.picked else None

    def equations(self, state: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
        """W (samples, nv, combinations), in scales of the robot, divided by the noise."""
        X = self.unknowns.columns(*state, self.rows)[..., self.columns]
        return np.asarray(X * self.unknowns.scales[self.columns] / self.noise[:, None])

    def told(self, state: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[float, float]:
        """(condition number, log det of the information)."""
        W = self.equations(state)
        S = np.linalg.svd(W.reshape(-1, W.shape[-1]), compute_uv=False)
        with np.errstate(divide="ignore"):
            return float(S[0] / S[-1]), float(2.0 * np.log(S).sum())

    def value(self, state: tuple[np.ndarray, np.ndarray, np.ndarray]) -> float:
        return self.with_gradient(state)[0]

    def with_gradient(
        self, state: tuple[np.ndarray, np.ndarray, np.ndarray], power: float = np.inf
    ) -> tuple[float, list[np.ndarray]]:
        """The criterion, less being better, and its gradients in q, v and a (samples, nv).

        The condition number is that of sums of this ``power`` of eigenvalues, which is smooth.
        """
        W = self.equations(state)
        flat = W.reshape(-1, W.shape[-1])
        eigenvalues, V = np.linalg.eigh(flat.T @ flat)
        e = np.maximum(eigenvalues, 1e-14 * eigenvalues[-1])  # a motion that tells nothing of something is no infinity
        if self.criterion == "log_det":
            value, inner = -float(np.log(e).mean()), -2.0 * (V / e) @ V.T / len(e)
        else:
            large, small = (e / e[-1]) ** power, (e[0] / e) ** power
            value = 0.5 * float(np.log(e[-1] / e[0]) + (np.log(large.sum()) + np.log(small.sum())) / power)
            inner = (V * ((large / large.sum() - small / small.sum()) / e)) @ V.T
        return value, self._carried((flat @ inner).reshape(W.shape), *state)

    def _carried(self, slope: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> list[np.ndarray]:
        """Gradients in q, v, a of what has the gradient ``slope`` in the equations."""
        known, robot = self.unknowns, self.unknowns.robot
        G = np.zeros((len(q), robot.nv, len(known)))
        G[..., self.columns] = slope * known.scales[self.columns] / self.noise[:, None]
        out = [np.zeros_like(x) for x in (q, v, a)]
        if self.reverse is not None:
            full = np.zeros((len(q), robot.nv, 10 * len(robot.bodies)))
            full[..., self.picked] = G[..., known.parts["inertia"]]
            out = [np.array(x) for x in self.reverse(q, v, a, full.reshape(len(q), -1))]
        for j, k in zip(range(*known.parts["rotors"].indices(len(known))), known.rotors):
            out[2][:, robot.v_slices[k]] += G[:, robot.v_slices[k], j]
        dry = FRICTION_SPEED**2 / (v * v + FRICTION_SPEED**2) ** 1.5
        for sort, rate in (("damping", np.ones_like(v)), ("friction", dry)):
            for j, i in zip(range(*known.parts[sort].indices(len(known))), getattr(known, sort)):
                out[1][:, i] += rate[:, i] * G[:, i, j]
        return out


# --- the search ------------------------------------------------------------------------------------------------


def _optimised(
    robot: Robot,
    goal: _Goal,
    series: _Series,
    limits: _Limits,
    count: int,
    iterations: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """(the best motion found, the random one that it began with), both within limits."""
    optimize = require("scipy.optimize", "identify", "a motion that excites, which SciPy optimises,")
    start = np.concatenate([limits.middle[None], rng.normal(size=(series.rows - 1, series.nv)) * limits.half])
    start = _within(robot, series, limits, start, count)
    maps = series.maps(count)
    unit = np.concatenate([limits.half[None], np.tile(limits.half, (series.rows - 1, 1))])  # of z

    def cost(x: np.ndarray, penalty: float, power: float) -> tuple[float, np.ndarray]:
        z = x.reshape(unit.shape) * unit
        q, v, a = (m @ z for m in maps)
        value, slopes = goal.with_gradient((q, v, a), power)
        over = limits.excess(q, v, robot.inverse_dynamics(q, v, a))
        value += penalty * sum(float(np.sum(x**2)) for x in over) / count
        back = robot.inverse_dynamics_vjp(q, v, a, 2 * penalty / count * over[2] / limits.effort)
        slopes[0] = slopes[0] + 2 * penalty / count * over[0] / limits.half + back.dq
        slopes[1] = slopes[1] + 2 * penalty / count * over[1] / limits.velocity + back.dv
        slopes[2] = slopes[2] + back.da
        return value, (sum(m.T @ g for m, g in zip(maps, slopes)) * unit).ravel()

    x, options = (start / unit).ravel(), {"maxiter": iterations}
    for stage in _STAGES:
        x = optimize.minimize(cost, x, args=stage, jac=True, method="L-BFGS-B", options=options).x
    best = _within(robot, series, limits, x.reshape(unit.shape) * unit, count)
    return (best if goal.value(series.at(best, count)) < goal.value(series.at(start, count)) else start), start


def _within(robot: Robot, series: _Series, limits: _Limits, z: np.ndarray, count: int) -> np.ndarray:
    """The motion made smaller where it must be, by joints for positions and velocities, as a whole for efforts."""
    z = z.copy()
    z[0] = np.clip(z[0], limits.middle - 0.9 * limits.half, limits.middle + 0.9 * limits.half)
    moving = np.concatenate([np.zeros((1, series.nv)), z[1:]])
    q, v, _ = series.at(moving, _FINER * count)
    # Between N samples a series of degree n is no larger than at them, over cos(πn/N) (Ehlich and Zeller, 1964).
    between = np.cos(np.pi * len(series.w) / (_FINER * count))
    room = limits.half - np.abs(z[0] - limits.middle)
    shrink = np.minimum(room / np.abs(q).max(axis=0), limits.velocity / np.abs(v).max(axis=0))
    z[1:] *= np.minimum(1.0, between * shrink)

    def heaviest(share: float) -> float:
        part = np.concatenate([z[:1], share * z[1:]])
        return float((np.abs(robot.inverse_dynamics(*series.at(part, _FINER * count))) / limits.effort).max())

    if not heaviest(0.0) < 1.0:
        z[0] = _lightest(robot, limits, z[0])
    low, high = 0.0, 1.0
    if heaviest(1.0) > 1.0:
        for _ in range(30):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if heaviest(middle) <= 1.0 else (low, middle)
        z[1:] *= low
    return z


def _lightest(robot: Robot, limits: _Limits, centre: np.ndarray) -> np.ndarray:
    """A centre near this one that the efforts can hold, between it and the lightest of random ones."""
    rng = np.random.default_rng(0)
    tried = limits.middle + 0.9 * limits.half * rng.uniform(-1, 1, (500, robot.nv))
    load = (np.abs(robot.gravity_force(tried)) / limits.effort).max(axis=1)
    best = int(np.argmin(load))
    if load[best] >= 1.0:
        raise InputError(f"robot {robot.name!r} is too heavy for its efforts: they hold it nowhere; give effort=")
    for share in np.linspace(0.0, 1.0, 21):
        between = centre + share * (tried[best] - centre)
        if (np.abs(robot.gravity_force(between)) / limits.effort).max() < 1.0:
            return np.asarray(between)
    return np.asarray(tried[best])
