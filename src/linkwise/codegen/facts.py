"""What the compiler must know of a method of a robot, said where the method is: ``@compiled(q="nq", v="nv", …)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

Shape = tuple[str | int, ...]  # of an array for one state: numbers, and names of numbers of the robot ("nv", "bodies")

_JOINT_SPACE = (("nq",), ("nv",))


@dataclass(frozen=True)
class Facts:
    """The array arguments of a method and the shape of each, and what may be done to it without changing results."""

    arrays: Mapping[str, Shape]
    optional: frozenset[str] = frozenset()  # arrays that may be left out
    joint_space: bool = False  # whether its results are in joint space alone, so that any frames on the bodies do
    rolls: tuple[str | None, ...] = ()  # the values of ``method`` with which it is sweeps and walks and nothing besides
    per_pair: int = 0  # about how many operations a matrix takes for each two degrees of freedom on one path
    per_body: int = 0  # the same for each body of what is no matrix; 0 is as many as forward dynamics has
    mixes_columns: bool = False  # whether its matrices are multiplied by K and d of springs, which no loop does
    # (robot, *arrays, **others) → the same from other compiled calls, where code of its own would be long
    in_parts: Callable[..., Any] | None = None
    parts_last: bool = False  # whether these are for code of its own that a mere call would not wait for
    on_arrays: tuple[str, ...] = ()  # the values of ``method`` with which NumPy and JAX run it, and no scalar code can
    rolls_with: tuple[str, ...] = ()  # its other arguments, such as frames, with which loops of machine code have it
    # (robot, other arguments) → of every body whether its joint is driven, where results have columns for those joints
    # alone, and matrices rows for the others
    driven: Callable[..., Sequence[bool]] | None = None

    @property
    def needed(self) -> tuple[str, ...]:
        """The arrays that must be given."""
        return tuple(name for name in self.arrays if name not in self.optional)

    def shows_frames(self, names: Iterable[str]) -> bool:
        """Whether results depend on where the bodies' frames are, these arrays given."""
        return not self.joint_space or any(self.arrays[n] not in _JOINT_SPACE for n in names)

    def can_roll(self, names: Iterable[str], fixed: Mapping[str, Any]) -> bool:
        """Whether its sweeps may be left as loops, with these arrays and other arguments."""
        known = fixed.get("method") in self.rolls and not set(fixed) - {"method", *self.rolls_with}
        return known and all(self.arrays[n] in _JOINT_SPACE for n in names)


def catalogue(cls: type) -> dict[str, Facts]:
    """The functions of a robot that can be compiled, and what is known of each."""
    return {name: method.facts for name, method in inspect.getmembers(cls, lambda x: hasattr(x, "facts"))}


@lru_cache(maxsize=16)
def argument_shapes(cls: Any) -> dict[str, Shape]:
    """The arguments of the catalogue's functions by name; those that differ from function to function are left out."""
    found: dict[str, set[Shape]] = {}
    for facts in catalogue(cls).values():
        for name, shape in facts.arrays.items():
            found.setdefault(name, set()).add(shape)
    return {name: shapes.pop() for name, shapes in found.items() if len(shapes) == 1}


def has_adjoint(robot: Any, name: str) -> bool:
    """Whether a method of (q, v, a third vector) has derivatives of its own, from which its gradients are: methods of
    its name, its adjoint (_vjp) and its derivative along a direction (_jvp), in the tangent space of q."""
    from ..dynamics import coordinate_gradients

    adjoint = getattr(type(robot), f"{name}_vjp", None)
    return (
        hasattr(adjoint, "facts")
        and not getattr(adjoint, "refuses", False)
        and not robot.loops
        and coordinate_gradients.has_orthogonal_rates(robot)
    )
