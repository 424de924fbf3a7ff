"""``lw.identify``: inertial parameters, friction and rotors of a robot from its measured motions, with error bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import inputs
from ..arguments import flag, numbers
from ..dynamics.linearized.inertial_parameters import combinations
from ..errors import InputError
from ..robot.calls import refuse_other_than_robot
from ..robot.robot import Robot
from .consistent import nearest_consistent, told_and_untold
from .least_squares import Reduced, estimate, finite
from .result import Identification
from .unknowns import INERTIAL, Rows, Unknowns, chosen_unknowns, measured_rows

_TOGETHER = 2048  # samples whose columns are in memory at once
# Bodies are taken base first and their parameters in this order, so that a mass or a moment that cannot be told alone
# counts with the body inboard of it, as Jzz + 0.1 m: the way it is commonly written.
_ENTRIES = tuple(INERTIAL.index(x) for x in ("Jxx", "Jxy", "Jxz", "Jyz", "Jzz", "hx", "hy", "Jyy", "hz", "m"))


def identify(
    robot: Robot,
    q: Any,
    v: Any,
    a: Any,
    tau: Any = None,
    *,
    bodies: Iterable[str] | None = None,
    rotors: Any = False,
    springs: Any = False,
    damping: Any = False,
    friction: Any = False,
    offsets: Any = False,
    base_wrench: Any = None,
    measured: Iterable[str] | None = None,
    external: Any = None,
    noise: Any = None,
    consistent: bool = False,
) -> Identification:
    """What measured motions say of a robot's inertias, with error bars: an :class:`Identification`.

    **Data.** q (..., nq), v, a and the joint forces ``tau`` (..., nv) [N m, N], any leading dimensions: samples of one
    motion or of many. ``base_wrench`` (..., 6) is, instead or besides, the [moment; force] [N m, N] that the world
    exerts on a base bolted to it, world axes, at the world's origin, the base's own weight (``robot.base``) included;
    of a robot on a free joint it is part of tau. ``measured`` names the joints whose forces count (default: all).
    ``external`` (..., bodies, 6) are known forces on the bodies, as in :meth:`Robot.inverse_dynamics`.

    **Unknown.** The inertias of ``bodies`` (names; default all that are rigid), and where they are set the ``rotors``
    (inertia that joints feel), the stiffness of ``springs`` about the rests that they have (``offsets`` tell of other
    rests), viscous ``damping``, dry ``friction`` and ``offsets`` of the sensors: True for all joints but free ones, or
    names of joints. All else stays as the robot has it; a payload is unknown by the body that carries it.

    **Method.** Least squares weighted by the noise of every channel, which is estimated, or given as ``noise``
    [N m, N], one number or one per channel (joint forces, then the wrench). What motions can tell apart follows from
    the rank of the equations at random states, a column counting as dependent where those before it leave less than
    1e-10 of it; parameters that cannot be told apart stay as near to the robot's own as their combinations allow.
    Measured motions that do not excite a combination are refused. ``consistent`` asks for inertias of real bodies, by a
    convex fit (``pip install "linkwise[identify]"``).
    """
    refuse_other_than_robot(robot, "identify")
    flag(consistent, "consistent")
    unknowns = chosen_unknowns(robot, bodies, rotors, damping, friction, offsets, springs)
    samples = _Samples(robot, q, v, a, tau, base_wrench, external, measured)
    columns, projection = told_apart(unknowns, samples.rows)
    data = Reduced(len(samples.rows), len(unknowns))
    for part in samples.parts():
        X = unknowns.columns(*part.state, samples.rows)
        data.add(X, part.y - unknowns.known(*part.state, samples.rows, part.external) + X @ unknowns.included)
    found = estimate(data.combined(columns), combination_names(unknowns, columns, projection), samples.noise(noise))
    steps, _ = told_and_untold(projection, unknowns.scales)
    theta = unknowns.own + steps @ (found.values - projection @ unknowns.own)
    if consistent:
        theta = nearest_consistent(unknowns, theta, projection, found.covariance)
    return Identification(unknowns, samples.rows, theta, columns, projection, found, data.samples, consistent)


def told_apart(unknowns: Unknowns, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """(columns, projection) of what motions of the robot can tell apart, by the rank at random states."""
    robot = unknowns.robot
    count = 8 + 4 * len(unknowns) // max(1, len(rows))
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, count)
    v, a = rng.normal(size=(2, count, robot.nv))
    W = unknowns.columns(q, v, a, rows).reshape(-1, len(unknowns)) * unknowns.scales
    inertial = [10 * k + i for k in range(len(unknowns.bodies)) for i in _ENTRIES]
    order = np.concatenate([inertial, np.arange(len(inertial), len(unknowns))]).astype(int)
    columns, scaled = combinations(W, order)
    if not len(columns):
        raise InputError("what is measured does not depend on what is unknown: name other bodies, or measure more")
    return columns, scaled * unknowns.scales[columns, None] / unknowns.scales


def combination_names(unknowns: Unknowns, columns: np.ndarray, projection: np.ndarray) -> tuple[str, ...]:
    """Every combination in words, such as "forearm.Jzz + 0.09 hand.m"; what stands for it comes first."""
    pairs = zip(columns, projection)
    return tuple(combination_name(row, int(i), unknowns.names, unknowns.scales) for i, row in pairs)


def combination_name(row: np.ndarray, first: int, names: Sequence[str], scales: np.ndarray) -> str:
    """One combination in words; factors of unknowns whose sizes are about ``scales``."""
    sizes = np.abs(row * scales)
    said = names[first]
    for i in map(int, np.flatnonzero(sizes > 1e-9 * sizes.max())):
        if i != first:
            size = abs(row[i])
            factor = "" if abs(size - 1.0) < 1e-9 else f"{size:.4g} "
            said += f"{' + ' if row[i] > 0 else ' − '}{factor}{names[i]}"
    return said


# --- the data -------------------------------------------------------------------------------------------


class _Part(NamedTuple):
    """Some of the samples."""

    state: tuple[np.ndarray, np.ndarray, np.ndarray]
    y: np.ndarray
    external: np.ndarray | None


class _Samples:
    """What was measured, checked, as rows."""

    def __init__(
        self, robot: Robot, q: Any, v: Any, a: Any, tau: Any, wrench: Any, external: Any, measured: Any
    ) -> None:
        if tau is None and wrench is None:
            raise InputError("nothing is measured: give tau, base_wrench, or both")
        if wrench is not None and robot.bodies and robot.v_slices[0] == slice(0, 6) and robot.nq > robot.nv:
            raise InputError(
                f"robot {robot.name!r} is not bolted to the world: the wrench on its base is tau of its first joint"
            )
        self.rows = measured_rows(robot, measured, tau is not None, wrench is not None)
        given = {"q": inputs.configuration(robot, q)}
        for name, x, n in (("v", v, robot.nv), ("a", a, robot.nv), ("tau", tau, robot.nv), ("base_wrench", wrench, 6)):
            if x is not None or name in ("v", "a"):
                given[name] = inputs.vector(x, n, name, robot)
        forces = inputs.forces(robot, external)
        if forces is not None:
            given["external"] = forces.reshape((*forces.shape[:-2], 6 * len(robot.bodies)))
        batch, _ = inputs.together(robot, **given)
        flat = {
            name: np.broadcast_to(numbers(x, name), (*batch, x.shape[-1])).reshape(-1, x.shape[-1])
            for name, x in given.items()
        }
        if "tau" in flat:  # what is not measured may be anything
            flat["tau"] = flat["tau"][:, list(self.rows.forces)]
        finite(**flat)
        self._flat, self._bodies = flat, len(robot.bodies)

    def parts(self) -> Iterable[_Part]:
        x = self._flat
        for i in range(0, len(x["q"]), _TOGETHER):
            part = slice(i, i + _TOGETHER)
            y = np.concatenate([x[name][part] for name in ("tau", "base_wrench") if name in x], axis=-1)
            external = x["external"][part].reshape(-1, self._bodies, 6) if "external" in x else None
            yield _Part((x["q"][part], x["v"][part], x["a"][part]), y, external)

    def noise(self, given: Any) -> np.ndarray | None:
        """Standard deviations of the channels, where they are given."""
        if given is None:
            return None
        x = numbers(given, "noise")
        if x.shape not in ((), (len(self.rows),)) or not np.isfinite(x).all() or (x <= 0).any():
            count = len(self.rows)
            raise InputError(f"noise must be one positive number or {count}, one for each channel, got {given!r}")
        return np.broadcast_to(x, (len(self.rows),)).astype(float)
