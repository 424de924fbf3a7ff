"""What the methods of a robot share: checking arguments, running an algorithm, fitting its result to the batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays, inputs
from ..arguments import one_of, shown
from ..arrays import Array
from ..errors import InputError
from ..model.model import Model
from .code_store import HasCode


def choose(methods: Mapping[str, Any], name: str, what: str) -> Any:
    """The method of this name, or an error that lists those there are."""
    return methods[one_of(name, methods, what)]


def as_frames(frame: Any) -> list[Any]:
    """One frame or several, as a list."""
    if isinstance(frame, np.ndarray):
        frame = frame.tolist()
    if not isinstance(frame, (list, tuple)):
        return [frame]
    if not frame:
        raise InputError("name at least one frame")
    return list(frame)


@dataclass(frozen=True, eq=False, repr=False)
class Calls(HasCode, Model):
    """A model with the ways its methods call algorithms, and with a store of the machine code of those calls."""

    def _pair(self, x: Array, y: Array, nx: str, ny: str) -> tuple[Array, Array, tuple[int, ...]]:
        batch, (x, y) = inputs.together(self, **{nx: x, ny: y})
        return x, y, batch

    def _concatenated(self, parts: Sequence[Array], batch: tuple[int, ...], like: Array) -> Array:
        parts = [p for p in parts if p.shape[-1]]
        if not parts:
            return arrays.zeros((*batch, 0), like=like)
        xp = arrays.namespace(*parts)
        return xp.concatenate([xp.broadcast_to(p, batch + p.shape[-1:]) for p in parts], axis=-1)

    def _call(self, function: Callable[..., Array], tail: int, q: Any, *args: Any, **named: Any) -> Array:
        """Check q and the named joint-space vectors, run ``function(self, q, *vectors, *args)``."""
        checked = {"q": inputs.configuration(self, q)}
        checked |= {k: inputs.vector(x, self.nv, k, self) for k, x in named.items()}
        batch, values = inputs.together(self, **checked)
        return inputs.fit(function(self, *values, *args), batch, tail)

    def _with_forces(
        self, function: Callable[..., Array], tail: int, external: Any, q: Any, *args: Any, **named: Any
    ) -> Array:
        """As _call, for functions that also take external forces; their batch counts too."""
        f = inputs.forces(self, external)
        checked = {"q": inputs.configuration(self, q)}
        checked |= {k: inputs.vector(x, self.nv, k, self) for k, x in named.items()}
        batch, values, f = self._joined_with(f, checked)
        return inputs.fit(function(self, *values, *args, f), batch, tail)

    def _joined_with(self, f: Array | None, checked: Mapping[str, Array]) -> tuple[tuple[int, ...], list[Array], Any]:
        """The common batch of the checked inputs and of external forces, and all of them in one precision."""
        shown = {} if f is None else {"external": f.reshape((*f.shape[:-2], f.shape[-2] * 6))}
        batch, values = inputs.together(self, **checked, **shown)
        values = values[: len(checked)]
        if f is not None and arrays.is_numpy(f):
            f = f.astype(values[0].dtype)
        return batch, values, f

    def _checked_state(self, external: Any, **named: Any) -> tuple[tuple[int, ...], list[Array], Any]:
        """The common batch of a state, its arrays in one precision, and the external forces."""
        f = inputs.forces(self, external)
        q = inputs.configuration(self, named.pop("q"))
        return self._joined_with(f, {"q": q} | {k: inputs.vector(x, self.nv, k, self) for k, x in named.items()})


def refuse_other_than_robot(x: Any, what: str) -> None:
    """Refuse what is no robot where ``what`` needs one."""
    if not isinstance(x, Calls):
        raise InputError(f"{what} needs a robot, such as lw.load gives, got {shown(x)}")
