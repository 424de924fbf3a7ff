"""Motions as functions of flat arrays with derivatives of first and second order, as other libraries call them.

With x what a motion depends on, X its samples and J = ∂X/∂x: the motion x ↦ X, its gradient (x, W) ↦ J*W, and its
derivative along a direction (x, d) ↦ Jd. Of these two again, with H = ∂(J*W)/∂x, which is symmetric:

    gradient (x, W)     backwards by d: (Hd, Jd)      along (δx, δW): Hδx + J*δW
    direction (x, d)    backwards by W: (Hd, J*W)     along (δx, δd): ∂(Jd)/∂x δx + Jδd
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..codegen.foreign.function import ArrayFunction
from ..codegen.program.repeat_derivatives import change, seed
from ..codegen.program.signature import Signature
from ..errors import InputError, SimulationError
from ..properties import cached_property
from .loop_arrays import arrays_like
from .motion_derivatives import STATE, Arrays, Motions

SAMPLES = tuple(map(seed, STATE))  # what has the shapes of samples: the results themselves, and what weighs them
Derivative = Callable[[], ArrayFunction]


class MotionFunction(ArrayFunction):
    """``compute`` on flat batches: of motions and arrays by the names ``takes``, one for each of ``gives``.

    ``vjp`` and ``jvp`` make its derivatives.
    """

    def __init__(
        self,
        motions: Motions,
        token: str,
        takes: Sequence[str],
        gives: Sequence[str],
        compute: Callable[[Motions, Arrays], Sequence[Any]],
        vjp: Derivative | None = None,
        jvp: Derivative | None = None,
    ) -> None:
        self._motions, self._shapes = motions, shapes(motions)
        given = {x: math.prod(self._shape(x)) for x in takes}
        shaped = tuple(gives) == SAMPLES  # gradients are rows of numbers, as the inputs that they are by
        out = tuple(self._shape(x) if shaped else (math.prod(self._shape(x)),) for x in gives)
        self.signature = Signature("simulate", given, out, single=False)
        self._token, self._compute, self._vjp, self._jvp = token, compute, vjp, jvp

    @property
    def token(self) -> str:
        return self._token

    @cached_property
    def vjp(self) -> ArrayFunction:
        return _known(self._vjp)

    @cached_property
    def jvp(self) -> ArrayFunction:
        return _known(self._jvp)

    def _shape(self, name: str) -> tuple[int, ...]:
        """That of an array for one state; changes have that of what changes."""
        while name not in self._shapes:
            name = name.partition("_")[2]
        return self._shapes[name]

    def run(self, arrays: list[Any]) -> list[Any]:
        return self._run(self._motions, arrays)

    def run_on_card(self, tensors: Sequence[Any]) -> list[Any]:
        return self._run(self._motions.on_cards, [x.detach() for x in tensors])

    def made_of_loops(self, arrays: Sequence[Any]) -> list[Any]:
        return self._run(self._motions.on_cards, list(arrays))

    def _run(self, motions: Motions, arrays: list[Any]) -> list[Any]:
        """The outputs, of arrays of NumPy or on a card."""
        batch = self.batch([tuple(x.shape) for x in arrays])
        states, on = math.prod(batch), arrays_like(arrays[0])
        if not states:
            return [on.zeros((states, math.prod(s))).reshape(*batch, *s) for s in self.signature.shapes]
        given = {}
        for name, x in zip(self.signature.inputs, arrays):
            one = x.ndim == 1 and name.rpartition("d_")[2] not in (*STATE, *SAMPLES) and not name.startswith("e_")
            flat = x if one else on.spread(x, (*batch, x.shape[-1])).reshape(states, x.shape[-1])
            given[name] = flat.reshape(*flat.shape[:-1], *self._shape(name))
        found = self._compute(motions, given)
        return [x.reshape(*batch, *s) for x, s in zip(found, self.signature.shapes)]

    def run_into(self, arrays: list[np.ndarray], outputs: list[np.ndarray]) -> None:
        try:
            found = self.run(arrays)
        except SimulationError:  # of some states: each by itself, which leaves the others as they are
            found = [np.empty_like(y) for y in outputs]
            batch = self.batch([x.shape for x in arrays])
            wide = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays]
            for i in np.ndindex(*batch):
                try:
                    one = self.run([x[i] for x in wide])
                except SimulationError:
                    one = [np.full(s, np.nan) for s in self.signature.shapes]
                for y, x in zip(found, one):
                    y[i] = x
        for y, x in zip(outputs, found):
            y[...] = x


def shapes(motions: Motions) -> dict[str, tuple[int, ...]]:
    """Those of what a motion takes and gives, for one state."""
    inputs = motions.stepper.loop.signature.inputs
    found: dict[str, tuple[int, ...]] = {x: (inputs[x],) for x in motions.moving}
    if "tau" in found:
        found["tau"] = (motions.steps, *found["tau"])
    return found | {seed(x): (motions.samples, *found[x]) for x in STATE}


def _known(make: Derivative | None) -> ArrayFunction:
    if make is None:
        raise InputError(
            "motions have derivatives of first and second order; for higher ones make the steps by calls, as"
            " robot.forward_dynamics, which have all"
        )
    return make()


def motion(motions: Motions, token: str) -> MotionFunction:
    """x ↦ X: the samples of q and of v."""
    takes = motions.moving
    return MotionFunction(
        motions,
        token,
        takes,
        SAMPLES,
        lambda motions, given: _picked(motions.states(given), STATE),
        lambda: _gradient(motions, f"{token}-vjp"),
        lambda: _direction(motions, f"{token}-jvp"),
    )


def _gradient(motions: Motions, token: str) -> MotionFunction:
    takes = motions.moving
    state = (*takes, *SAMPLES)

    def along(motions: Motions, given: Arrays) -> list[Any]:
        return _picked(motions.changes_of_gradients(given), _changes(takes))

    def backwards(motions: Motions, given: Arrays) -> list[Any]:
        second = motions.changes_of_gradients(given | _still(given, SAMPLES))
        return [*_picked(second, _changes(takes)), *_picked(motions.changes(given), _changes(STATE))]

    return MotionFunction(
        motions,
        token,
        state,
        takes,
        lambda motions, given: _picked(motions.gradients(given), takes),
        lambda: MotionFunction(motions, f"{token}-vjp", (*state, *_changes(takes)), state, backwards),
        lambda: MotionFunction(motions, f"{token}-jvp", (*state, *_changes(state)), takes, along),
    )


def _direction(motions: Motions, token: str) -> MotionFunction:
    takes = (*motions.moving, *_changes(motions.moving))

    def along(motions: Motions, given: Arrays) -> list[Any]:
        return _picked(motions.second_changes(given), [change(change(x), "e") for x in STATE])

    def backwards(motions: Motions, given: Arrays) -> list[Any]:
        second = motions.changes_of_gradients(given | _still(given, SAMPLES))
        return _picked(second, (*_changes(motions.moving), *motions.moving))

    return MotionFunction(
        motions,
        token,
        takes,
        SAMPLES,
        lambda motions, given: _picked(motions.changes(given), _changes(STATE)),
        lambda: MotionFunction(motions, f"{token}-vjp", (*takes, *SAMPLES), takes, backwards),
        lambda: MotionFunction(motions, f"{token}-jvp", (*takes, *_changes(takes, "e")), SAMPLES, along),
    )


def _changes(names: Sequence[str], sort: str = "d") -> tuple[str, ...]:
    return tuple(change(x, sort) for x in names)


def _picked(found: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    return [found[x] for x in names]


def _still(given: Arrays, names: Sequence[str]) -> Arrays:
    """Changes of nothing."""
    return {change(x): arrays_like(given[x]).zeros(tuple(given[x].shape)) for x in names}
