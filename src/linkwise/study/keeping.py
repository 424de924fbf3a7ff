"""What a study keeps of a motion: by name, or by a function of the trajectory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import shown, word
from ..errors import InputError, UnknownNameError, did_you_mean
from ..properties import cached_property
from ..simulation.trajectory import Trajectory

# Series along the samples, and what is known of a whole motion. Each takes a trajectory of any batch; but for machine
# code they pick, compare and subtract only, so that no number depends on how many motions there are side by side.
SERIES: dict[str, Callable[[Trajectory], Any]] = {
    "time": lambda x: np.broadcast_to(x.time, (*x.batch, len(x.time))),
    "q": lambda x: x.q,
    "v": lambda x: x.v,
    "a": lambda x: x.a,
    "tau": lambda x: x.tau,
    "energy": lambda x: x.energy.total,
    "momentum": lambda x: x.momentum,
}
WHOLE: dict[str, Callable[[Trajectory], Any]] = {
    "q_end": lambda x: x.q[..., -1, :],
    "v_end": lambda x: x.v[..., -1, :],
    "tau_end": lambda x: x.tau[..., -1, :],
    "energy_end": lambda x: x.energy.total[..., -1],
    "energy_error": lambda x: np.abs(x.energy.drift[..., -1]),
    "speed_max": lambda x: np.abs(x.v).max(axis=(-2, -1)),
    "tau_max": lambda x: np.abs(x.tau).max(axis=(-2, -1)),
    "loops_open": lambda x: np.max(np.asarray(x.energy.loops), axis=-1),
}
AT_FRAMES = ("position", "position_end", "speed_end")  # each with .FRAME
OF_ALL_SAMPLES = ("speed_max", "tau_max", "loops_open")
DEFAULT = ("q_end", "v_end", "energy_error")


@dataclass(frozen=True, eq=False)
class Keeping:
    """What is kept: names of :data:`SERIES`, :data:`WHOLE` and :data:`AT_FRAMES`, and functions of a trajectory."""

    items: Sequence[Any] = DEFAULT

    @cached_property
    def names(self) -> list[str]:
        return [keep_name(x) for x in self.items]

    @property
    def needs_samples(self) -> bool:
        """Whether samples between start and end are asked for."""
        ends = [x for x in self.items if isinstance(x, str) and x not in SERIES and x not in OF_ALL_SAMPLES]
        return any(not isinstance(x, str) or x not in ends or x.startswith("position.") for x in self.items)

    @property
    def needs_forces(self) -> bool:
        """Whether joint forces at the samples may be asked for."""
        return any(not isinstance(x, str) or x in ("a", "tau", "tau_end", "tau_max") for x in self.items)

    def check(self, robot: Any) -> None:
        """Refuse names that are none."""
        for item in self.items:
            if isinstance(item, str) and item not in SERIES and item not in WHOLE:
                kind, dot, frame = item.partition(".")
                if not dot or kind not in AT_FRAMES:
                    known = [*SERIES, *WHOLE, *(f"{x}.FRAME" for x in AT_FRAMES)]
                    raise UnknownNameError(
                        f"of a motion no {item!r} is kept; {did_you_mean(item, known)} choose from {', '.join(known)},"
                        " or give a function of the trajectory"
                    )
                robot.frame(frame)
            if item == "loops_open" and not robot.loops:
                raise InputError(f"robot {robot.name!r} has no loops that could be open; leave loops_open out")

    @property
    def functions(self) -> list[Callable[[Trajectory], Any]]:
        """Those that are functions of a trajectory."""
        return [x for x in self.items if not isinstance(x, str)]

    def of(self, trajectory: Trajectory) -> dict[str, Any]:
        """What is kept of one motion."""
        found = {**self.known(trajectory), **self.called(trajectory)}
        return {name: found[name] for name in self.names}

    def known(self, trajectory: Trajectory) -> dict[str, np.ndarray]:
        """What is kept by a name of ours, each (batch, …)."""
        return {item: np.asarray(_named(item, trajectory)) for item in self.items if isinstance(item, str)}

    def called(self, trajectory: Trajectory) -> dict[str, Any]:
        """What functions give of one motion; never of a batch: sums of NumPy's depend on how arrays lie in memory."""
        return {keep_name(function): function(trajectory) for function in self.functions}


def _named(item: str, trajectory: Trajectory) -> Any:
    if item in SERIES:
        return SERIES[item](trajectory)
    if item in WHOLE:
        return WHOLE[item](trajectory)
    kind, _, frame = item.partition(".")
    if kind == "position":
        return trajectory.pose(frame)[1]
    end = trajectory[-1:]
    if kind == "position_end":
        return end.pose(frame)[1][..., -1, :]
    v = end.velocity(frame)[..., -1, 3:]
    return np.sqrt(v[..., 0] ** 2 + v[..., 1] ** 2 + v[..., 2] ** 2)


def keep_name(item: Any) -> str:
    """The name under which something is kept."""
    if isinstance(item, str):
        return item
    name: str = getattr(item, "__name__", type(item).__name__)
    return name.strip("<>")


def as_items(keep: Any) -> list[Any] | None:
    """``keep`` as a list of names and functions, None where nothing was said."""
    if keep is None:
        return None
    if isinstance(keep, str) or callable(keep) or isinstance(keep, Mapping) or not hasattr(keep, "__iter__"):
        raise InputError(f"keep is a list of names, or of functions of a result, got {shown(keep)}")
    items = list(keep)
    for x in items:
        if not callable(x):
            word(x, "each of keep")
    names = [keep_name(x) for x in items]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two things to keep are named {name!r}; give functions names of their own")
    return items
