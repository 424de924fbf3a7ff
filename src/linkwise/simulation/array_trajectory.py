"""Trajectories of which there are gradients, whose samples are arrays of any library."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from .. import array_kinds
from ..codegen.program.parameters import KINDS
from ..errors import InputError
from ..properties import cached_property
from ..values import ByValue
from .cards import as_its_kind
from .gains import PREFIX
from .trajectory import Trajectory
from .user_functions import Controller


class ArrayTrajectory(Trajectory):
    """Samples q (..., samples, nq), v (..., samples, nv) and tau as arrays of one library, which carry gradients.

    Poses, velocities, momenta and accelerations are of the same kind. Energies, files and what else goes by NumPy are
    refused by name: ``lw.simulate`` on arrays of NumPy has them.
    """

    @property
    def _library(self) -> str:
        return array_kinds.library(self.q) or "numpy"

    @cached_property
    def tau(self) -> Any:
        """Joint forces of controller or table at the samples, (..., samples, nv) [N m, N]."""
        if self.forces is None:
            return 0.0 * self.v
        if not isinstance(self.forces, Controller):
            return self.forces
        known = [x for x in self._of_robot if self.forces.asked.wants_true_robot]
        kernel = self.forces.kernel_with(tuple(known))
        gains = [name.removeprefix(PREFIX) for name in self.forces.gains]
        own = [self.parameters[name][..., None, :] for name in (*gains, *known)]
        return kernel(as_kind(self._library, self.time[:, None], self.q), self.q, self.v, *own)

    @cached_property
    def a(self) -> Any:
        """Joint accelerations at the samples, (..., samples, nv), all forces included."""
        if self.settings.passive.active or self.external_forces is not None:
            self._refuse("accelerations under friction, stops, dampers of your own or external forces")
        return self._evaluate("forward_dynamics", self.q, self.v, self.tau)

    @property
    def external(self) -> Any:
        return None if self.external_forces is None else self._refuse("external forces at the samples")

    @property
    def energy(self) -> NoReturn:
        self._refuse("energy accounts")

    def along(self, function: Any) -> NoReturn:
        self._refuse("functions along a motion")

    def to_xarray(self) -> NoReturn:
        self._refuse("tables")

    def to_pandas(self) -> NoReturn:
        self._refuse("tables")

    def save(self, path: Any) -> NoReturn:
        self._refuse("files")

    def resume(self, duration: float, controller: Any = None, tau: Any = None, **options: Any) -> NoReturn:
        self._refuse("motions that go on")

    def _refuse(self, what: str) -> NoReturn:
        if self._library == "numpy":
            raise InputError(f"{what} are for motions by lw.simulate; this one is by lw.simulate_vjp")
        raise InputError(
            f"{what} are for motions on arrays of NumPy; this one is on arrays of {self._library}: simulate again from"
            " NumPy's, or work them out of q and v by calls of the robot"
        )

    def _evaluate(self, name: str, *arrays: Any) -> Any:
        robot = self._robot(name)
        if not self._of_robot:
            return getattr(robot, name)(*arrays)
        own = [self.parameters[x][..., None, :] for x in self._of_robot]
        return robot.compile(name, parameters=self._of_robot)(*arrays, *own)

    @property
    def _of_robot(self) -> tuple[str, ...]:
        """The parameters that are the robot's, and not gains of the controller."""
        return tuple(name for name in self.parameters if name in KINDS)


@dataclass(frozen=True, eq=False)
class _Known(ByValue):
    """What a trajectory knows before it is computed: all but its arrays. JAX compares it where two must be alike."""

    robot: Any
    time: np.ndarray
    settings: Any
    forces: Any  # that are no array
    external_forces: Any


@lru_cache(maxsize=1)
def known_to_jax() -> None:
    """Tell JAX, once, which arrays a trajectory has, so that ``jit``, ``vmap`` and the like may give it."""
    sys.modules["jax"].tree_util.register_pytree_node(ArrayTrajectory, _apart, _together)


def _apart(run: ArrayTrajectory) -> tuple[Any, _Known]:
    forces, others = (run.forces, None) if array_kinds.library(run.forces) else (None, run.forces)
    known = _Known(run.robot, run.time, run.settings, others, run.external_forces)
    return (run.q, run.v, forces, dict(run.parameters)), known


def _together(known: _Known, arrays: Any) -> ArrayTrajectory:
    q, v, forces, parameters = arrays
    return ArrayTrajectory(
        known.robot,
        known.time,
        q,
        v,
        known.settings,
        forces=known.forces if forces is None else forces,
        parameters=parameters,
        external_forces=known.external_forces,
    )


def as_kind(library: str, x: np.ndarray, like: Any) -> Any:
    """An array of NumPy as one of a library, in the precision and on the device of another."""
    return sys.modules["jax"].numpy.asarray(x, like.dtype) if library == "jax" else as_its_kind(x, like)
