"""Trajectories: what a simulation gives."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from .. import shown
from ..arguments import whole
from ..errors import InputError
from ..properties import cached_property
from ..robot.robot import Robot
from ..values import ByValue, value_of
from .cards import as_its_kind, as_numpy, on_card
from .closing import LEFT, Closing
from .energy import EnergyAccount
from .events import Crossing
from .external_forces import ExternalForces
from .joint_forces import PassiveForces
from .system import EXCHANGED
from .user_functions import UserFunction


@dataclass(frozen=True, eq=False)
class Settings(ByValue):
    """How a trajectory was made: what is needed to go on with it."""

    method: str
    step: float
    every: int = 1
    first: int = 0  # the number of the step at its first sample, counted from time 0
    hold: bool = False
    passive: PassiveForces = field(default_factory=PassiveForces)
    tolerances: tuple[float, float] | None = None  # relative, absolute, of adaptive methods
    coordinates: str = "joint"
    functions: Mapping[str, str] = field(default_factory=dict)  # of the user's: "compiled" or "called back"
    closing: Closing = LEFT  # what keeps the robot's loops closed
    implicit: bool | None = None  # whether what resists is taken where steps end; None: where it can be

    @cached_property
    def _value(self) -> Hashable:
        """What it is; of the functions, what they are by name, in whatever order."""
        known = vars(self) | {"functions": tuple(sorted(self.functions.items()))}
        return type(self), value_of([known[f.name] for f in fields(self)])


_KNOWN = ("a", "tau", "_energies")  # what is worked out, and known of a motion that comes from a file


class Sample(NamedTuple):
    """One sample of a trajectory."""

    time: float
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Samples of a motion: ``time`` (samples,) [s], ``q`` (..., samples, nq), ``v`` (..., samples, nv).

    The batch comes first, time before the numbers of a sample. Accelerations, joint forces, energies and poses are
    worked out when asked for. ``len``, slices and numbers go along time; :meth:`state` picks one of the batch.
    """

    robot: Robot | None
    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    settings: Settings
    events: tuple[Crossing, ...] = ()
    forces: Any = None  # τ: an array (..., samples, nv), the controller that gives it, or None
    exchanged: np.ndarray | None = None  # (..., samples, 4): work, dissipated, stops, external; or None
    parameters: Mapping[str, np.ndarray] = field(default_factory=dict)  # of the robot, (..., n), as given to simulate
    labels: tuple[tuple[str, ...], tuple[str, ...]] | None = None  # names of the numbers of q and of v
    external_forces: Any = None  # an array (..., samples, bodies, 6), what gives them, or None
    cost: np.ndarray | None = None  # the running cost since the start, (..., samples), or None

    def __getstate__(self) -> dict[str, Any]:
        """Its fields and what files hold besides; for functions of the user's, which may not pickle, what they gave."""
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        state |= {name: self.__dict__[name] for name in _KNOWN if name in self.__dict__}
        if hasattr(self.forces, "along"):
            state["forces"] = self.tau
        if hasattr(self.external_forces, "along"):
            state["external_forces"] = self.external
        return state

    # --- size and parts ------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.time)

    @property
    def batch(self) -> tuple[int, ...]:
        """The batch dimensions."""
        return self.q.shape[:-2]

    @property
    def duration(self) -> float:
        """From the first sample to the last [s]."""
        return float(self.time[-1] - self.time[0])

    def __getitem__(self, index: Any) -> Any:
        """A sample, or the trajectory of a slice of the samples."""
        if isinstance(index, slice):
            return self._cut(index)
        try:
            i = int(index.__index__())
        except (AttributeError, TypeError):
            raise InputError(f"trajectories are indexed by a number or a slice along time, got {index!r}") from None
        if not -len(self) <= i < len(self):
            raise IndexError(f"sample {i} of a trajectory with {len(self)}")
        return Sample(float(self.time[i]), self.q[..., i, :], self.v[..., i, :], self.a[..., i, :], self.tau[..., i, :])

    def _cut(self, index: slice) -> Trajectory:
        chosen = range(len(self))[index]
        if not chosen or chosen.step < 0:
            raise InputError(f"a slice of a trajectory must hold samples, forward in time; got {index}")
        settings = self.settings
        first = settings.first + chosen.start * settings.every
        settings = replace(settings, first=first, every=settings.every * chosen.step)
        time, forces, acting = self.time[index], *self._acting()
        part = replace(
            self,
            time=time,
            q=self.q[..., index, :],
            v=self.v[..., index, :],
            settings=settings,
            events=tuple(e for e in self.events if time[0] <= e.time <= time[-1]),
            forces=forces[..., index, :] if hasattr(forces, "shape") else forces,
            exchanged=None if self.exchanged is None else self.exchanged[..., index, :],
            external_forces=acting[..., index, :, :] if hasattr(acting, "shape") else acting,
            cost=None if self.cost is None else self.cost[..., index],
        )
        return part._with_known(self, lambda x, axes: x[..., index, :] if axes else x[..., index])

    def state(self, *index: int) -> Trajectory:
        """The trajectory of one state of the batch."""
        if len(index) != len(self.batch):
            raise InputError(f"a batch of shape {self.batch} needs {len(self.batch)} numbers, got {len(index)}")
        index = tuple(whole(i, "a state of the batch", least=-n, most=n - 1) for i, n in zip(index, self.batch))
        forces, acting = self._acting()
        part = replace(
            self,
            q=self.q[index],
            v=self.v[index],
            events=tuple(replace(e, state=()) for e in self.events if e.state == index),
            forces=forces[index] if hasattr(forces, "shape") else forces,
            exchanged=None if self.exchanged is None else self.exchanged[index],
            parameters={k: x[index] if x.ndim > 1 else x for k, x in self.parameters.items()},
            external_forces=self._external_on(acting, index),
            cost=None if self.cost is None else self.cost[index],
        )
        return part._with_known(self, lambda x, axes: x[index])

    def _acting(self) -> tuple[Any, Any]:
        """Joint and external forces for a part: worked out, where what gives them knows the whole motion alone."""
        given = self.tau if hasattr(self.forces, "is_whole") else self.forces
        return given, self.external if hasattr(self.external_forces, "is_whole") else self.external_forces

    def _external_on(self, acting: Any, index: tuple[int, ...]) -> Any:
        if isinstance(acting, ExternalForces):
            return acting.of(int(np.ravel_multi_index(index, self.batch)) if index else 0)
        return None if acting is None else acting[index]

    def _with_known(self, whole: Trajectory, pick: Callable[[np.ndarray, int], np.ndarray]) -> Trajectory:
        """This part of a trajectory, with its share of what was worked out there or came from a file."""
        for name in _KNOWN:
            if name in whole.__dict__:
                known = whole.__dict__[name]
                self.__dict__[name] = tuple(pick(x, 0) for x in known) if name == "_energies" else pick(known, 1)
        return self

    # --- what follows from the states ------------------------------------------------------------------

    @cached_property
    def tau(self) -> np.ndarray:
        """Joint forces of controller or table at the samples, (..., samples, nv) [N m, N]."""
        if self.forces is None:
            return 0.0 * self.v
        if hasattr(self.forces, "along"):
            known: np.ndarray = self.forces.along(self.time, self.q, self.v, self.parameters)
            return known
        table: np.ndarray = self.forces
        return table

    @cached_property
    def a(self) -> np.ndarray:
        """Joint accelerations at the samples, (..., samples, nv), all forces included."""
        robot, passive = self._robot("accelerations"), self.settings.passive
        total = self.tau
        if passive.active:
            self._here("accelerations under damping, friction or stops")
            total = total + passive.resistance(self.v) + passive.stops(robot, self.q, self.v)
        if self.external is not None:
            total = total + self._evaluate("external_force", self.q, self.external)
        accelerations: np.ndarray = self._evaluate("forward_dynamics", self.q, self.v, total)
        return accelerations

    @cached_property
    def external(self) -> np.ndarray | None:
        """External [moment; force] on every body at the samples, (..., samples, bodies, 6), body axes; None: none."""
        if hasattr(self.external_forces, "along"):
            known: np.ndarray = self.external_forces.along(self.time, self.q, self.v)
            return known
        table: np.ndarray | None = self.external_forces
        return table

    @cached_property
    def _energies(self) -> tuple[np.ndarray, np.ndarray]:
        self._robot("energies")
        self._here("its energies")
        kinetic, potential = self._evaluate("energy", self.q, self.v)
        return kinetic, potential

    @property
    def energy(self) -> EnergyAccount:
        """The energy account: what the robot holds, what was put in and taken out, and what is left over."""
        none = np.zeros(self.q.shape[:-1])
        exchanged = [none] * len(EXCHANGED) if self.exchanged is None else np.moveaxis(self.exchanged, -1, 0)
        account = EnergyAccount(*self._energies, *exchanged)
        return replace(account, loops=self._loop_errors, springs=self._spring_energies)

    @cached_property
    def _spring_energies(self) -> np.ndarray | None:
        """What springs of soft loops hold at the samples, (..., samples); None where no such number is known."""
        sprung = [] if self.robot is None else [x for x in self.robot.loops if x.stiffness]
        if not sprung or not all(x.holds_energy for x in sprung):
            return None
        return np.asarray(self._evaluate("spring_energy", self.q))

    @cached_property
    def _loop_errors(self) -> np.ndarray | None:
        """How far loops are open at the samples, the largest of each, (..., samples); None without loops."""
        if self.robot is None or not self.robot.loops:
            return None
        return np.asarray(np.abs(self._evaluate("loop_error", self.q)).max(axis=-1))

    @cached_property
    def momentum(self) -> np.ndarray:
        """[angular about the world's origin; linear], (..., samples, 6), world axes."""
        self._robot("momenta")
        momentum: np.ndarray = self._evaluate("momentum", self.q, self.v)
        return momentum

    def pose(self, frame: Any) -> tuple[np.ndarray, np.ndarray]:
        """(R, p) of a frame in the world at the samples, (..., samples, 3, 3) and (..., samples, 3) [m]."""
        return self._robot("poses").pose(self.q, frame)

    def velocity(self, frame: Any) -> np.ndarray:
        """[ω; v] of a frame's origin at the samples, (..., samples, 6), world axes."""
        return self._robot("velocities").velocity(self.q, self.v, frame)

    def along(self, function: Callable[..., Any]) -> np.ndarray:
        """``function(robot, t, q, v)``, or of (t, q, v), at every sample: (..., samples, …).

        It is called with all states of a sample at once, q (..., nq), as controllers are; ``law.lyapunov`` is one.
        """
        self._here("functions along it")
        asked = UserFunction("what is evaluated along a motion", function)
        robot = self._robot("functions of the state")
        found = [
            np.array(asked(robot, float(t), self.q[..., i, :], self.v[..., i, :])) for i, t in enumerate(self.time)
        ]
        return np.stack(found, axis=len(self.batch))

    def _evaluate(self, name: str, *arrays: np.ndarray) -> Any:
        assert self.robot is not None
        if not self.parameters:
            return getattr(self.robot, name)(*arrays)
        kernel = self.robot.compile(name, parameters=tuple(self.parameters))
        own = [as_its_kind(x, self.q)[..., None, :] for x in self.parameters.values()]
        flat = [x.reshape(*self.q.shape[:-1], -1) for x in arrays]  # forces on bodies are rows of numbers there
        return kernel(*flat, *own)

    # --- on graphics cards ---------------------------------------------------------------------------

    def to_numpy(self) -> Trajectory:
        """The same motion with arrays of NumPy, where it was made on a graphics card."""
        if not on_card([self.q]):
            return self
        acting, pushed = self.tau if self.forces is not None else None, self.external
        made = replace(
            self,
            q=np.ascontiguousarray(as_numpy(self.q)),
            v=np.ascontiguousarray(as_numpy(self.v)),
            forces=as_numpy(acting),
            exchanged=as_numpy(self.exchanged),
            parameters={k: as_numpy(x) for k, x in self.parameters.items()},
            external_forces=as_numpy(pushed),
            cost=as_numpy(self.cost),
        )
        return made._with_known(self, lambda x, axes: as_numpy(x))

    def _here(self, what: str) -> None:
        """Refuse what is worked out on NumPy alone of a motion that is on a card."""
        if on_card([self.q]):
            raise InputError(f"this motion is on a graphics card; {what}: take those of trajectory.to_numpy()")

    def _robot(self, what: str) -> Robot:
        if self.robot is None:
            raise InputError(f"{what} need the robot, which files do not hold: lw.Trajectory.load(path, robot=robot)")
        return self.robot

    # --- names, files, going on ------------------------------------------------------------------------

    @property
    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the numbers of q and of v: the joints', numbered where a joint has several."""
        if self.robot is None:
            assert self.labels is not None
            return self.labels
        return labels(self.robot)

    def to_xarray(self) -> Any:
        """An xarray.Dataset: time, q, v, a, tau and the energies, with the joints' names as coordinates."""
        from .storage import to_xarray

        self._here("tables and files of it")

        return to_xarray(self)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame, one row for each state and sample: state, time, ``q.shoulder`` and so on, the energies,
        and the robot's parameters where they vary (``inertial.forearm.mass``)."""
        from .storage import to_pandas

        self._here("tables and files of it")

        return to_pandas(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .npz, .nc (NetCDF), .zarr or .parquet file, whole or not at all. The robot is not part of it."""
        from .storage import save

        self._here("tables and files of it")

        save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str], *, robot: Robot | None = None, limit: float | None = None) -> Trajectory:
        """Read a file that :meth:`save` wrote; with the robot, poses can be asked for and the motion resumed.

        A robot with other bodies, gravity, couplings or loops than the one that moved is named in a warning.
        A file that is damaged, cut short or changed is refused (:class:`FileError`), as is one that unpacks to more
        than ``limit`` bytes (default: a thousand times its size, or 256 MiB).
        """
        from .storage import load

        return load(path, robot=robot, limit=limit)

    def resume(self, duration: float, *, controller: Any = None, tau: Any = None, **options: Any) -> Trajectory:
        """This motion continued for ``duration`` [s] in the same way, from its last sample; gives both parts as one.

        Controllers, tables of joint forces and external forces are not kept: give them again. ``options`` are those of
        :func:`linkwise.simulate` that may change (external, events, progress, threads, target, check, callback).
        """
        from .simulate import resume

        self._here("motions that go on")

        return resume(self, duration, controller, tau, **options)

    def _repr_html_(self) -> str:
        """Where every joint went, with a picture of the start and of the end, for notebooks."""
        return shown.drawn("Trajectory", self)

    def __repr__(self) -> str:
        name = "a robot" if self.robot is None else repr(self.robot.name)
        settings = self.settings
        said = [settings.method]
        said += [f"{settings.coordinates} rates"] if settings.coordinates != "joint" else []
        said += [f"batch {self.batch}"] if self.batch else []
        said += [f"{what} {how}" for what, how in settings.functions.items()]
        span = f"{len(self)} samples, {self.time[0]:g} to {self.time[-1]:g} s"
        return f"<Trajectory of {name}: {span}, {', '.join(said)}>"


def labels(robot: Robot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the numbers of q and of v."""

    def named(sizes: list[int]) -> tuple[str, ...]:
        out = []
        for (joint, _, _), n in zip(robot.coordinates, sizes):
            out += [joint.name] if n == 1 else [f"{joint.name}[{i}]" for i in range(n)]
        return tuple(out)

    kinds = [joint.kind for joint, _, _ in robot.coordinates]
    return named([kind.nq for kind in kinds]), named([kind.nv for kind in kinds])
