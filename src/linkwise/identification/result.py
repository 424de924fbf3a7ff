"""What :func:`linkwise.identify` gives: parameters, error bars, combinations, and the robot that they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import inputs
from ..arguments import number, numbers
from ..errors import InputError, ModelError, NotAdmittedError
from ..model.edit import inertial_parameters
from ..properties import cached_property
from ..robot.robot import Robot
from .least_squares import Estimate, quantile
from .unknowns import Rows, Unknowns

_TOLD = 1e-9  # of an unknown's own share that may lie outside what the data tell


class Combination(NamedTuple):
    """A combination of unknowns that the data tell: in words, its value, and its standard error, SI units."""

    name: str
    value: float
    error: float


class Payload(NamedTuple):
    """What a body carries more than the robot knows, and the standard errors of that: mass [kg], its centre (3,) [m]
    in the body's axes, and the ten parameters (10,) about the body's origin."""

    mass: float
    mass_error: float
    com: np.ndarray
    com_error: np.ndarray
    parameters: np.ndarray
    errors: np.ndarray


class Prediction(NamedTuple):
    """How well measured forces are met: root mean squares (channels,) of what is left by the fit (``error``) and by the
    robot as it was (``before``), and the ``noise`` that the fit found."""

    error: np.ndarray
    before: np.ndarray
    noise: np.ndarray


@dataclass(frozen=True, eq=False)
class Identification:
    """Numbers found of a robot. ``values`` (unknowns,) in the order of ``names``; ``combinations`` are what was told
    apart, with ``covariance`` (combinations, combinations); ``noise`` (channels,) [N m, N] is that of the measurements
    and ``condition`` the condition number of the weighted equations, columns of unit length.

    Standard errors are those of least squares for normal noise that is independent from sample to sample. They are
    infinite where an unknown cannot be told from others. A ``consistent`` fit keeps them: bounds can only narrow them.
    """

    unknowns: Unknowns
    rows: Rows
    values: np.ndarray
    columns: np.ndarray  # (combinations,) the unknowns that stand for them
    projection: np.ndarray  # (combinations, unknowns)
    estimate: Estimate
    samples: int
    consistent: bool

    # --- numbers -------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """What the unknowns are called, such as "hand.m" or "elbow.damping"."""
        return self.unknowns.names

    @property
    def covariance(self) -> np.ndarray:
        """Of the combinations."""
        return self.estimate.covariance

    @property
    def noise(self) -> np.ndarray:
        """Standard deviations (channels,) of the measured forces [N m, N]."""
        return self.estimate.noise

    @property
    def condition(self) -> float:
        return self.estimate.condition

    @cached_property
    def combinations(self) -> tuple[Combination, ...]:
        """What the data tell, one by one, by values of the fit."""
        from .identify import combination_names

        names = combination_names(self.unknowns, self.columns, self.projection)
        errors = self.estimate.errors(np.eye(len(names)))
        return tuple(Combination(*x) for x in zip(names, (self.projection @ self.values).tolist(), errors.tolist()))

    @cached_property
    def _shares(self) -> np.ndarray:
        """C (unknowns, combinations) with θ = Cβ for unknowns that are told alone; NaN rows for others."""
        scaled = self.projection * self.unknowns.scales
        C = np.linalg.pinv(scaled)
        alone = np.abs(C @ scaled - np.eye(len(self.names))).max(axis=1) < _TOLD
        return np.where(alone[:, None], self.unknowns.scales[:, None] * C, np.nan)

    @cached_property
    def errors(self) -> np.ndarray:
        """Standard errors (unknowns,); infinite where an unknown cannot be told from others."""
        alone = np.isfinite(self._shares).all(axis=1)
        return np.where(alone, self.estimate.errors(np.where(alone[:, None], self._shares, 0.0)), np.inf)

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """(lowest, highest), each (unknowns,), that hold the true value at this rate, by Student's t."""
        told = np.isfinite(self.errors)
        half = np.full(len(self.names), np.inf)
        half[told] = self._half_width(level, self._shares[told])
        return self.values - half, self.values + half

    def combination_interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """The same of the combinations, each (combinations,)."""
        values, half = self.projection @ self.values, self._half_width(level, np.eye(len(self.projection)))
        return values - half, values + half

    def _half_width(self, level: float, C: np.ndarray) -> np.ndarray:
        level = number(level, "level", above=0.0)
        if level >= 1.0:
            raise InputError(f"level is a rate below 1, got {level:g}")
        return np.asarray(quantile(level, self.estimate.freedoms(C)) * self.estimate.errors(C))

    # --- by body and by joint --------------------------------------------------------------------------

    @property
    def parameters(self) -> np.ndarray:
        """(bodies, 10) inertial parameters, found or known, as :attr:`Robot.inertial_parameters`."""
        return self.unknowns.full(self.values, inertial_parameters(self.unknowns.robot))

    @property
    def standard_errors(self) -> np.ndarray:
        """(bodies, 10) of the inertial parameters: zero where known, infinite where not told alone."""
        return self.unknowns.full(self.errors, np.zeros((len(self.unknowns.robot.bodies), 10)))

    @property
    def damping(self) -> np.ndarray:
        """(nv,) viscous friction, found or the robot's own [N m s/rad, N s/m]."""
        return self.unknowns.by_rate("damping", self.values, self.unknowns.robot.damping)

    @property
    def friction(self) -> np.ndarray:
        """(nv,) dry friction, found or the robot's own [N m, N]."""
        return self.unknowns.by_rate("friction", self.values, self.unknowns.robot.friction)

    @property
    def offsets(self) -> np.ndarray:
        """(nv,) what sensors show at rest, zero where not asked for [N m, N]."""
        return self.unknowns.by_rate("offsets", self.values, np.zeros(self.unknowns.robot.nv))

    def __getitem__(self, name: str) -> tuple[float, float]:
        """(value, standard error) of an unknown by its name."""
        if name not in self.names:
            raise InputError(f"no unknown is named {name!r}; {', '.join(self.names[:6])} and others are")
        i = self.names.index(name)
        return float(self.values[i]), float(self.errors[i])

    def payload(self, body: str) -> Payload:
        """What an unknown body carries more than the robot knows."""
        robot = self.unknowns.robot
        k = robot.body(body)
        if k not in self.unknowns.bodies:
            raise InputError(f"the inertia of body {body!r} was not unknown; name it in bodies=[…]")
        own = slice(10 * self.unknowns.bodies.index(k), 10 * self.unknowns.bodies.index(k) + 10)
        C = self._shares[own]
        if not np.isfinite(C).all():
            raise NotAdmittedError(
                f"what body {body!r} carries cannot be told from other unknowns; name it alone in bodies=[…]"
            )
        covariance = C @ self.covariance @ C.T
        p = self.values[own] - inertial_parameters(robot)[k]
        com = p[1:4] / p[0]
        slope = np.concatenate([-com[:, None], np.eye(3)], axis=1) / p[0]  # of h/m
        com_error = np.sqrt(np.diag(slope @ covariance[:4, :4] @ slope.T))
        errors = np.sqrt(np.diag(covariance))
        return Payload(float(p[0]), float(errors[0]), com, com_error, p, errors)

    # --- the robot -----------------------------------------------------------------------------------

    @cached_property
    def robot(self) -> Robot:
        """The robot with what was found; refused where that is not what real bodies have."""
        try:
            return self.unknowns.robot_with(self.values)
        except ModelError as e:
            raise ModelError(f"{e}; consistent=True finds the nearest inertias of real bodies") from None

    def predict(self, q: Any, v: Any, a: Any, *, external: Any = None) -> np.ndarray:
        """The measured forces (..., channels) that this fit expects, consistent or not."""
        return self._predicted(q, v, a, self.values, external)

    def _predicted(self, q: Any, v: Any, a: Any, theta: np.ndarray, external: Any) -> np.ndarray:
        robot = self.unknowns.robot
        batch, state, f = robot._checked_state(external, q=q, v=v, a=a)
        arrays = [numbers(x, "the state") for x in state]
        flat = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in arrays]
        if f is not None:
            f = np.broadcast_to(f, (*batch, *f.shape[-2:])).reshape(-1, *f.shape[-2:])
        X = self.unknowns.columns(flat[0], flat[1], flat[2], self.rows)
        forces = self.unknowns.known(flat[0], flat[1], flat[2], self.rows, f) + X @ (theta - self.unknowns.included)
        return np.asarray(forces.reshape(*batch, len(self.rows)))

    def check(
        self, q: Any, v: Any, a: Any, tau: Any = None, *, base_wrench: Any = None, external: Any = None
    ) -> Prediction:
        """How well other data, which the fit has not seen, are met: close to the noise where the model is right."""
        robot, parts = self.unknowns.robot, []
        if self.rows.forces:
            if tau is None:
                raise InputError("this was identified from tau: give it")
            parts.append(inputs.vector(tau, robot.nv, "tau", robot)[..., list(self.rows.forces)])
        if self.rows.wrench:
            if base_wrench is None:
                raise InputError("this was identified from base_wrench: give it")
            parts.append(inputs.vector(base_wrench, 6, "base_wrench", robot))
        measured = np.concatenate(parts, axis=-1)
        sums = tuple(range(measured.ndim - 1))
        left = measured - self._predicted(q, v, a, self.values, external)
        before = measured - self._predicted(q, v, a, self.unknowns.own, external)
        return Prediction(np.sqrt(np.mean(left**2, axis=sums)), np.sqrt(np.mean(before**2, axis=sums)), self.noise)

    # --- in words ----------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        sure = "consistent, " if self.consistent else ""
        return (
            f"<Identification of {self.unknowns.robot.name!r}: {sure}{len(self.projection)} combinations of"
            f" {len(self.names)} unknowns from {self.samples} samples, condition {self.condition:.3g}>"
        )

    def __str__(self) -> str:
        """A table: unknowns that are told alone, then the combinations of others."""
        rows = [
            (name, x, e, unit)
            for name, x, e, unit in zip(self.names, self.values, self.errors, self.unknowns.units)
            if np.isfinite(e)
        ]
        alone = {name for name, *_ in rows}
        rows += [(c.name, c.value, c.error, "") for c in self.combinations if c.name not in alone]
        lines = [repr(self)[1:-1], f"{'found':>13}{'± 1 σ':>11}"]
        lines += [f"{x:>13.5g}{e:>11.2g} {unit:<10} {name}" for name, x, e, unit in rows]
        return "\n".join(lines)
