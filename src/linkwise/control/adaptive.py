"""Adaptive tracking: the law learns the inertias of bodies while it moves them (Slotine and Li, 1987).

    τ = Y(q, v, v_s, a_s)π̂ − Kd s,    dπ̂/dt = −Γ Y*s,    s = v − v_s,    v_s = v_r − Λe

Whatever the true parameters π, ½s*𝓜s + ½(π̂ − π)*Γ⁻¹(π̂ − π) falls at the rate s*Kd s. Both products with Y are sweeps
over the bodies, O(n): Yπ̂ inward and Y*s outward (:mod:`linkwise.dynamics.reference_parameters`).

The estimates are part of the state that a simulation integrates. They are carried beside the robot, as the speeds of
masses of one kilogramme that slide freely: a force on such a mass is the rate of its estimate. So every method of
steps, events, batches, checkpoints and files treat them as they treat the joints.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from .. import arrays, inputs
from ..arguments import names, numbers, one_of
from ..arrays import Array, SameKind
from ..dynamics.reference_parameters import parameter_forces
from ..errors import InputError, NotAdmittedError
from ..model.edit import inertial_parameters
from ..model.flexible.structure import parts_of_flexible
from ..model.inertia import Inertia
from ..model.joints.kinds import Custom
from ..model.parts import Body, Joint
from ..robot.calls import refuse_other_than_robot
from ..robot.robot import Robot
from .law import state
from .tracking import Tracking, TrackingLaw, times, tracking

_SLIDES = np.eye(6)[:, 3:]


@dataclass(frozen=True, eq=False)
class AdaptiveTracking(TrackingLaw):
    """τ = Yπ̂ − Kd s with dπ̂/dt = −ΓY*s, for a robot whose inertias are known badly (Slotine and Li, 1987).

    ``robot`` is what is known: kinematics, rotors, and first estimates of the inertias of ``bodies`` (names; default
    all), which the law then adapts. ``Kp`` is Λ [1/s] as in :class:`SlidingTracking`; ``gain`` Γ is positive: one
    number, ten (of m, h, J) or (bodies, 10). ``form`` "recursive" multiplies by Y and Y* in O(n), "regressor" forms Y,
    in O(n²).

    The law moves ``plant(robot)``, the robot with the estimates beside it: states are those of :meth:`start`, and
    :meth:`estimates` reads the parameters off velocities. ``nominal`` is the robot as given.
    """

    _: KW_ONLY
    gain: Any = 1.0
    bodies: Iterable[str] | None = None
    form: str = "recursive"
    nominal: Robot = field(init=False, repr=False)
    adapted: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        refuse_other_than_robot(self.robot, "AdaptiveTracking")
        nominal = self.robot
        if nominal.loops:
            raise NotAdmittedError(f"AdaptiveTracking is for robots without loops, and {nominal.name!r} has some")
        if flexible := sorted(parts_of_flexible(nominal)):
            raise NotAdmittedError(
                f"AdaptiveTracking is for rigid bodies, and {nominal.bodies[flexible[0]].name!r} of robot"
                f" {nominal.name!r} is flexible: nothing drives its modes"
            )
        super().__post_init__()
        one_of(self.form, ("recursive", "regressor"), "form of adaptation", error=InputError)
        adapted = _adapted(nominal, self.bodies)
        self._set(
            nominal=nominal,
            adapted=adapted,
            bodies=tuple(nominal.bodies[k].name for k in adapted),
            gain=_gain(self.gain, len(adapted)),
            robot=_with_estimates(nominal, adapted),
        )

    # --- states with estimates ---------------------------------------------------------------------------

    def plant(self, robot: Robot) -> Robot:
        """A robot of the same joints, such as the true one, with the estimates of this law beside it."""
        refuse_other_than_robot(robot, "a plant")
        if [j.name for j, _, _ in robot.coordinates] != [j.name for j, _, _ in self.nominal.coordinates]:
            raise InputError(f"robot {robot.name!r} has other joints than {self.nominal.name!r}, which the law knows")
        return _with_estimates(robot, self.adapted)

    def start(self, q: Any, v: Any = None, parameters: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) of the plant for a state of the robot, at rest unless v is given, and its first estimates.

        ``parameters`` (..., adapted bodies, 10) are by default those of ``nominal``.
        """
        q = np.asarray(inputs.configuration(self.nominal, q), dtype=float)
        v = np.zeros(self.nominal.nv) if v is None else v
        v = np.asarray(inputs.vector(v, self.nominal.nv, "v", self.nominal), dtype=float)
        first = self._known if parameters is None else numbers(parameters, "parameters")
        if first.shape[-2:] != (len(self.adapted), 10):
            raise InputError(f"parameters must have shape (..., {len(self.adapted)}, 10), got {first.shape}")
        first = first.reshape(*first.shape[:-2], -1)
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], first.shape[:-1])
        wide = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (q, np.zeros_like(first), v, first)]
        return np.concatenate(wide[:2], axis=-1), np.concatenate(wide[2:], axis=-1)

    def estimates(self, v: Any) -> SameKind:
        """π̂, (..., adapted bodies, 10), of velocities (..., nv) of the plant."""
        v = inputs.vector(v, self.robot.nv, "v", self.robot)
        own = v[..., self.nominal.nv :]
        return own.reshape((*own.shape[:-1], len(self.adapted), 10))

    @property
    def _known(self) -> np.ndarray:
        return np.asarray(inertial_parameters(self.nominal)[list(self.adapted)])

    # --- the law -----------------------------------------------------------------------------------------

    def errors(self, t: Any, q: Array, v: Array) -> Tracking:
        q, v = self._own(q, v)
        return tracking(self.nominal, self.reference, t, q, v)

    def _own(self, q: Array, v: Array) -> tuple[Array, Array]:
        """The state of the robot within that of the plant."""
        return q[..., : self.nominal.nq], v[..., : self.nominal.nv]

    def forces(self, t: Any, q: Array, v: Array) -> SameKind:
        x = self.errors(t, q, v)
        changes = self._changes(v)
        q, v = self._own(q, v)
        v_s, a_s = x.v_ref - self.Kp * x.e, x.a_ref - self.Kp * x.e_dot
        s, robot = v - v_s, self.nominal
        if self.form == "recursive":
            push = parameter_forces(robot, q, v, v_s, a_s, changes)
            tau = robot.inverse_dynamics_with_reference(q, v, v_s, a_s, external=-push)
            gradient = robot.parameter_gradient(q, v, v_s, a_s, s)
        else:
            Y = robot.regressor_with_reference(q, v, v_s, a_s)
            flat = changes.reshape((*changes.shape[:-2], 10 * len(robot.bodies)))
            tau = robot.inverse_dynamics_with_reference(q, v, v_s, a_s) + times(Y, flat)
            gradient = times(arrays.transpose(Y), s)
            gradient = gradient.reshape((*gradient.shape[:-1], len(robot.bodies), 10))
        return arrays.concatenate([(tau - self.Kd * s)[..., None], self._rates(gradient)[..., None]], axis=-2)[..., 0]

    def _changes(self, v: Array) -> Array:
        """π̂ − π of the nominal robot, (..., bodies, 10); zero for bodies that are not adapted."""
        found = self.estimates(v) - arrays.constant(self._known, like=v)
        none = 0.0 * found[..., 0, :]
        rows = [none] * len(self.nominal.bodies)
        for i, k in enumerate(self.adapted):
            rows[k] = found[..., i, :]
        return arrays.stack(rows, axis=-2)

    def _rates(self, gradient: Array) -> Array:
        """The forces on the masses that carry the estimates, −ΓY*s less their weights, (..., 10 adapted)."""
        rows = [gradient[..., k, :] * arrays.constant(-self.gain[i], like=gradient) for i, k in enumerate(self.adapted)]
        rates = arrays.concatenate([x[..., None] for x in rows], axis=-2)[..., 0]
        return rates - arrays.constant(np.tile(_pull(self.nominal), len(self.adapted)), like=rates)

    def surface(self, t: Any, q: Any, v: Any) -> SameKind:
        """s = ε̇ + Λe, (..., nv of the robot)."""
        x = self.errors(t, *state(self.robot, q, v))
        return x.rate + self.Kp * x.e

    def lyapunov(self, t: Any, q: Any, v: Any, *, truth: Robot) -> SameKind:
        """½s*𝓜s + ½(π̂ − π)*Γ⁻¹(π̂ − π), (...), with 𝓜 and π of the true robot (not of its plant)."""
        s = self.surface(t, q, v)
        missing = self.estimates(v) - inertial_parameters(truth)[list(self.adapted)]
        moving = truth.kinetic_energy(self._own(q, v)[0], s)
        return moving + 0.5 * (missing * missing / self.gain).sum(axis=(-2, -1))

    def lyapunov_rate(self, t: Any, q: Any, v: Any) -> SameKind:
        """−s*Kd s, (...)."""
        s = self.surface(t, q, v)
        return -(self.Kd * s * s).sum(axis=-1)


def _adapted(robot: Robot, bodies: Any) -> tuple[int, ...]:
    chosen = range(len(robot.bodies)) if bodies is None else [robot.body(x) for x in names(bodies, "bodies")]
    out = tuple(sorted(chosen))
    if not out or len(set(out)) != len(out):
        raise InputError(f"bodies names the bodies whose inertias are adapted, each once; got {bodies!r}")
    return out


def _gain(gain: Any, count: int) -> np.ndarray:
    given = numbers(gain, "gain")
    if given.shape not in ((), (10,), (count, 10)) or not np.isfinite(given).all() or (given <= 0).any():
        raise InputError(f"gain must be positive: one number, 10, or ({count}, 10); got {gain!r}")
    return np.broadcast_to(given, (count, 10)).copy()


def _with_estimates(robot: Robot, adapted: tuple[int, ...]) -> Robot:
    """The robot, and for each of these bodies four masses of 1 kg that slide beside it: ten speeds."""
    masses = []
    for k in adapted:
        for i, columns in enumerate((slice(0, 3), slice(0, 3), slice(0, 3), slice(0, 1))):
            name = f"estimate {i} of {robot.bodies[k].name}"
            masses.append(Body(name, Joint(Custom(_SLIDES[:, columns]), name), Inertia(1.0)))
    return replace(robot, bodies=(*robot.bodies, *masses))


def _pull(robot: Robot) -> np.ndarray:
    """Gravity along each of the ten slides of a body [N]."""
    g = np.asarray(robot.gravity)
    return np.concatenate([g, g, g, g[:1]])
