"""A motion to look at: times and configurations of a robot, and what else is known along it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import inputs
from ..errors import InputError
from ..model.units import force_units, position_units, velocity_units
from ..properties import cached_property
from ..robot.closed import ClosedRobot
from ..robot.grasp import Grasp
from ..robot.robot import Robot


@dataclass(frozen=True, eq=False)
class Motion:
    """``time`` (n,) [s] and ``q`` (n, nq) of a robot; ``v``, ``a``, ``tau`` (n, nv) and ``external`` where known.

    ``external`` (n, bodies, 6) is the [moment; force] on each body, in body axes at its origin.
    """

    robot: Robot
    time: Any
    q: Any
    v: Any = None
    a: Any = None
    tau: Any = None
    external: Any = None

    def __post_init__(self) -> None:
        q = np.asarray(inputs.configuration(self.robot, self.q), float)
        time = np.asarray(inputs.as_array(self.time, "time"), float)
        if q.ndim != 2 or time.shape != q.shape[:1] or not len(time):
            raise InputError(
                f"a motion has time (n,) and q (n, {self.robot.nq}), n ≥ 1; got {time.shape} and {q.shape};"
                " of a batch, take one: trajectory.state(i)"
            )
        if not np.isfinite(time).all() or (np.diff(time) <= 0).any():
            raise InputError("the times of a motion must be finite and increase")
        bad = np.flatnonzero(~np.isfinite(q).all(axis=1))
        if len(bad):
            raise InputError(f"q is not finite at step {bad[0]} (t = {time[bad[0]]:g} s); cut the motion before it")
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "q", q)
        for name in ("v", "a", "tau"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(
                    self, name, self._checked(inputs.vector(given, self.robot.nv, name, self.robot), name)
                )
        if self.external is not None:
            forces = np.asarray(inputs.forces(self.robot, self.external), float)
            object.__setattr__(self, "external", np.broadcast_to(forces, (len(time), *forces.shape[-2:])))

    def _checked(self, x: Any, name: str) -> np.ndarray:
        x = np.asarray(x, float)
        if x.ndim > 2 or (x.ndim == 2 and len(x) not in (1, len(self.time))):
            raise InputError(f"{name} must have one row for each of the {len(self.time)} times, got shape {x.shape}")
        return np.broadcast_to(x, (len(self.time), x.shape[-1]))

    def __len__(self) -> int:
        return len(self.time)

    @property
    def duration(self) -> float:
        """From the first time to the last [s]."""
        return float(self.time[-1] - self.time[0])

    def index(self, t: float) -> int:
        """The step nearest to a time, counted from the motion's start."""
        at = self.time[0] + t
        right = int(np.clip(np.searchsorted(self.time, at), 1, max(len(self) - 1, 1)))
        is_before = bool(at - self.time[right - 1] < self.time[min(right, len(self) - 1)] - at)
        return min(right - is_before, len(self) - 1)

    def every(self, rate: float) -> np.ndarray:
        """The steps (k,) nearest to ``rate`` pictures a second, first and last included, each at most once."""
        wanted = np.arange(0.0, self.duration + 0.5 / rate, 1.0 / rate)
        return np.unique([self.index(t) for t in wanted])

    def at(self, steps: np.ndarray) -> Motion:
        """The motion at some of its steps (k,) alone."""
        known = {name: getattr(self, name) for name in ("v", "a", "tau", "external")}
        taken = {name: None if x is None else x[steps] for name, x in known.items()}
        return Motion(self.robot, self.time[steps], self.q[steps], **taken)

    # --- channels ------------------------------------------------------------------------------------

    @cached_property
    def channels(self) -> dict[str, dict[str, np.ndarray]]:
        """What can be plotted against time, in one unit a group: group → name → (n,) values."""
        robot, out = self.robot, {}
        rates = velocity_units(robot)
        known: tuple[tuple[str, Any, Any, Any], ...] = (
            ("position q", position_names(robot), self.q, position_units(robot)),
            ("velocity v", velocity_names(robot), self.v, rates),
            ("acceleration a", velocity_names(robot), self.a, [f"{unit}²" for unit in rates]),
            ("force τ", velocity_names(robot), self.tau, force_units(robot)),
        )
        for group, names, values, units in known:
            if values is not None:
                for unit in dict.fromkeys(units):
                    out[f"{group} [{unit}]"] = {n: values[:, k] for k, n in enumerate(names) if units[k] == unit}
        if self.v is not None:
            kinetic, potential = self.energies
            out["energy [J]"] = {"kinetic": kinetic, "potential": potential, "total": kinetic + potential}
        out["centre of mass [m]"] = _named(("x", "y", "z"), self.center_of_mass)
        return out

    @cached_property
    def energies(self) -> tuple[np.ndarray, np.ndarray]:
        """(kinetic, potential), each (n,) [J]."""
        if self.v is None:
            raise InputError("this motion has no velocities v, which the kinetic energy needs")
        return self.robot.energy(self.q, self.v, target="numpy")

    @cached_property
    def center_of_mass(self) -> np.ndarray:
        """(n, 3) [m]; the origin for a robot without mass."""
        if self.robot.total_mass == 0:
            return np.zeros((len(self), 3))
        return self.robot.center_of_mass(self.q, target="numpy")

    @cached_property
    def reactions(self) -> np.ndarray | None:
        """(n, bodies, 6): the force on every body by its inboard neighbour, where v and a are known."""
        if self.v is None or self.a is None:
            return None
        if not isinstance(self.robot, ClosedRobot):
            return self.robot.link_forces(self.q, self.v, self.a, external=self.external, target="numpy")
        if self.loop_forces is None:
            return None
        tree = self.robot.opened
        pulled = self._on_bodies(tree, self.loop_forces)
        acting = pulled if self.external is None else self.external + pulled
        return tree.link_forces(self.q, self.v, self.a, external=acting, target="numpy")

    @cached_property
    def loop_forces(self) -> np.ndarray | None:
        """(n, loops, 6): what every loop does to its frame b, in world axes at its frame a; where v and τ are known."""
        if not isinstance(self.robot, ClosedRobot) or self.v is None or self.tau is None:
            return None
        f = self.robot.loop_forces(self.q, self.v, self.tau, external=self.external, target="numpy")
        parts = []
        for i, loop in enumerate(self.robot.loops):
            R, _ = self.robot.pose(self.q, loop.frame_a, target="numpy")
            parts.append(np.concatenate([(R @ x[..., None])[..., 0] for x in (f[:, i, :3], f[:, i, 3:])], axis=-1))
        return np.stack(parts, axis=-2)

    @cached_property
    def loop_places(self) -> np.ndarray:
        """(n, loops, 3): where the loops' frames a are in the world."""
        found = [self.robot.pose(self.q, loop.frame_a, target="numpy")[1] for loop in self.robot.loops]
        return np.stack(found, axis=-2) if found else np.zeros((len(self), 0, 3))

    @cached_property
    def contact_forces(self) -> dict[str, np.ndarray] | None:
        """Of a grasp, where v and τ are known: what the hands do to the object, (n, contacts, 3) [N], world axes.

        In two parts: "motion", which carries and moves the object, and "internal", which only squeezes it.
        """
        if not isinstance(self.robot, Grasp) or self.v is None or self.tau is None:
            return None
        given: dict[str, Any] = {"external": self.external, "target": "numpy"}
        out = {}
        for part in ("motion", "internal"):
            f = self.robot.contact_forces(self.q, self.v, self.tau, part=part, **given)[..., 3:]
            out[part] = np.einsum("ncij,ncj->nci", self._contact_axes, f)
        return out

    @property
    def contact_normals(self) -> np.ndarray:
        """(n, contacts, 3): where the hands of a grasp press to, world axes."""
        return self._contact_axes[..., :, 2]

    @cached_property
    def contact_places(self) -> np.ndarray:
        """(n, contacts, 3) [m]: where the hands of a grasp touch its object."""
        contacts = getattr(self.robot, "contacts", ())
        touch = [self.robot.pose(self.q, x.hand_frame, target="numpy")[1] for x in contacts]
        balls = np.array([x.radius or 0.0 for x in contacts])
        places: np.ndarray = np.stack(touch, axis=-2) + balls[:, None] * self.contact_normals  # of balls the foot
        return places

    @cached_property
    def _contact_axes(self) -> np.ndarray:
        """(n, contacts, 3, 3): those of the object's contact frames."""
        contacts = getattr(self.robot, "contacts", ())
        return np.stack([self.robot.pose(self.q, x.object_frame, target="numpy")[0] for x in contacts], axis=-3)

    def _on_bodies(self, tree: Robot, forces: np.ndarray) -> np.ndarray:
        """Loop forces as wrenches (n, bodies, 6) on the two bodies of each loop."""
        total = np.zeros((len(self), len(tree.bodies), 6))
        for i, loop in enumerate(self.robot.loops):
            N, F = forces[:, i, :3], forces[:, i, 3:]
            for frame, sign in ((loop.frame_a, -1.0), (loop.frame_b, 1.0)):
                if tree.frame(frame)[0] >= 0:
                    arm = self.loop_places[:, i] - tree.pose(self.q, frame, target="numpy")[1]
                    wrench = np.concatenate([N + np.cross(arm, F), F], axis=-1)
                    total = total + tree.wrenches(self.q, {frame: sign * wrench}, target="numpy")
        return total


def as_motion(trajectory: Any, robot: Robot | None = None, external: Any = None) -> Motion:
    """A motion from a trajectory (anything with ``time`` and ``q``), a mapping of them, or one configuration (nq,)."""
    if isinstance(trajectory, Motion):
        return trajectory
    values = trajectory if isinstance(trajectory, Mapping) else None

    def get(name: str) -> Any:
        return values.get(name) if values is not None else getattr(trajectory, name, None)

    robot = robot if robot is not None else get("robot")
    if not isinstance(robot, Robot):
        raise InputError("which robot moves? Give robot=, as the trajectory does not say")
    if get("q") is None or get("time") is None:
        if trajectory is None or (values is None and np.ndim(trajectory) == 1):
            return Motion(robot, np.zeros(1), [robot.neutral() if trajectory is None else trajectory])
        raise InputError(
            f"a trajectory has time (n,) and q (n, nq), as lw.simulate gives; got {type(trajectory).__name__};"
            " lw.view.Motion(robot, time, q) makes one of arrays"
        )
    known = {name: get(name) for name in ("v", "a", "tau")}
    return Motion(robot, get("time"), get("q"), external=external if external is not None else get("external"), **known)


def velocity_names(robot: Robot) -> list[str]:
    """A name for each entry of v: the joint's, numbered where it has several."""
    return [n for j, _, _ in robot.coordinates for n in _numbered(j.name, j.kind.nv)]


def position_names(robot: Robot) -> list[str]:
    """A name for each entry of q."""
    return [n for j, _, _ in robot.coordinates for n in _numbered(j.name, j.kind.nq)]


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}[{i}]" for i in range(count)]


def _named(names: Any, values: np.ndarray) -> dict[str, np.ndarray]:
    return {name: values[:, i] for i, name in enumerate(names)}
