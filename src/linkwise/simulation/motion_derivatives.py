"""Motions of flat batches and their derivatives: along directions, and back from weights of the states (the discrete
adjoint), each a loop over steps in machine code.

Backwards the states of all steps are needed. They are made again: where they are too many to be kept, in parts, from
checkpoints about as many as a part has steps, so that memory grows with the root of the number of steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..codegen.cuda.repeats import Turning
from ..codegen.program.repeat import Repeated
from ..codegen.program.repeat_derivatives import Roles, adjoint, change, seed, tangent
from ..codegen.program.trace import Program
from ..properties import cached_property
from ..symbols.derivative import Call
from .external_forces import INPUT
from .loop_arrays import AFTER_START, LAST, ROWS, LoopArrays, arrays_like
from .recorded import RecordedSystem
from .staged import StageStepper, has_stages
from .steppers import CompiledStepper, raise_singular
from .system import System

# Bytes of states that are kept for the way back; where there are more, they are made from checkpoints. (An H200, 2**16
# arms and 100 steps in float32, from checkpoints and kept: midpoint 4.8e8 and 6.1e8 steps a second, semi-implicit Euler
# 1.6e9 and 3.1e9.)
KEPT, MORE_ON_CARDS = 2**28, 8
STATE = ("q", "w")

Arrays = dict[str, Any]  # of NumPy, or tensors on a card


@dataclass(frozen=True, eq=False)
class Motions:
    """So many ``steps`` of a compiled stepper in joint rates, without energies: (q, w = v) after every ``every``-th.

    What is given are arrays by name: q (states, nq), w (states, nv), and where the task has them tau, (states, steps,
    nv) or (steps, nv), external forces and parameters, (states, n) or (n,). Their changes are called d_‹name›, and what
    weighs the samples is seed_q and seed_w, (states, samples, n) each.
    """

    stepper: CompiledStepper
    steps: int
    every: int
    kept: int = KEPT

    @property
    def samples(self) -> int:
        """How many states come out, the start among them."""
        return self.steps // self.every + 1

    @cached_property
    def moving(self) -> tuple[str, ...]:
        """What derivatives are with respect to."""
        gains = () if self.stepper.task.controller is None else self.stepper.task.controller.gains
        given = (x for x in ("tau", INPUT, *gains) if x in self.stepper.names)
        return (*STATE, *given, *self.stepper.task.parameters)

    @cached_property
    def on_cards(self) -> Motions:
        """The same by loops that suit cards: stages of a step are turns there, as long programs have no registers."""
        task, kept = self.stepper.task, MORE_ON_CARDS * self.kept
        return replace(self, stepper=StageStepper(task) if has_stages(task) else self.stepper, kept=kept)

    # --- loops -----------------------------------------------------------------------------------------

    @cached_property
    def _carried(self) -> tuple[str, ...]:
        return tuple(self.stepper.carried)

    @cached_property
    def _roles(self) -> Roles:
        stepped = tuple(n for n in self.stepper.stepped if n in self.stepper.names)
        inside = [x for x in self._carried if x not in STATE]  # what turns of a step hand on to each other
        return Roles(self.stepper.carried, stepped, (*self.moving, *inside), STATE, len(self._carried))

    @cached_property
    def _step(self) -> tuple[Program, list[Call]]:
        """What a turn computes, and its calls of forward dynamics."""
        calls: list[Call] = []
        known = tuple(self.stepper.task.parameters)
        if "offsets" in known:  # by which forward dynamics has no linearised algorithm
            return self.stepper.traced(), calls

        def observed(system: System) -> System:
            return RecordedSystem(**vars(system), calls=calls, inertial="inertial" in known)

        return self.stepper.traced(observed), calls

    def _loop(self, what: str, roles: Roles, make: Callable[[], Program]) -> Repeated:
        return self.stepper.kept(f"simulate.{what}", make, roles.carried, roles.stepped)

    @cached_property
    def _tangent(self) -> Repeated:
        return self._loop("tangent", self._roles.tangent(), lambda: tangent(self._step[0], self._roles, self._step[1]))

    @cached_property
    def _second_tangent(self) -> Repeated:
        roles = self._roles.tangent()

        def make() -> Program:
            return tangent(tangent(self._step[0], self._roles, self._step[1]), roles, sort="e")

        return self._loop("second_tangent", roles.tangent("e"), make)

    @cached_property
    def _adjoint(self) -> Repeated:
        return self._loop("adjoint", self._roles.adjoint(), self._adjoint_program)

    def _adjoint_program(self) -> Program:
        return adjoint(self._step[0], self._roles, self._step[1])

    @cached_property
    def _tangent_of_adjoint(self) -> Repeated:
        roles = self._roles.adjoint()
        return self._loop("tangent_of_adjoint", roles.tangent(), lambda: tangent(self._adjoint_program(), roles))

    # --- forwards --------------------------------------------------------------------------------------

    def states(self, given: Mapping[str, Any]) -> Arrays:
        """q and w (states, samples, n), the start among the samples."""
        return self._sampled(self.stepper.loop, given, STATE)

    def changes(self, given: Mapping[str, Any]) -> Arrays:
        """d_q and d_w (states, samples, n)."""
        return self._sampled(self._tangent, given, [change(x) for x in STATE])

    def second_changes(self, given: Mapping[str, Any]) -> Arrays:
        """e_d_q and e_d_w (states, samples, n): by what :meth:`changes` change where what they depend on does, by
        e_‹name›, d_‹name› among the names."""
        return self._sampled(self._second_tangent, given, [change(change(x), "e") for x in STATE])

    def _sampled(self, loop: Repeated, given: Mapping[str, Any], wanted: Iterable[str]) -> Arrays:
        start = self._start(loop, given)
        return self._advanced(loop, given, start, 0, self.steps, self.every, dict.fromkeys(wanted, AFTER_START))

    def _start(self, loop: Repeated, given: Mapping[str, Any]) -> Arrays:
        """What a loop carries before the first step."""
        states, on = len(given["q"]), self._on(given)
        sizes = loop.signature.inputs
        return {x: given[x] if x in given else on.zeros((states, sizes[x])) for x in loop.carried}

    def _advanced(
        self,
        loop: Repeated,
        given: Mapping[str, Any],
        start: Arrays,
        first: int,
        steps: int,
        every: int,
        wanted: Mapping[str, str],
    ) -> Arrays:
        """What is ``wanted`` of what is carried, in steps from ``start``, the one of number ``first`` on."""
        turns = self.stepper.turns
        inputs = self._inputs(loop, given, slice(first, first + steps)) | start
        names = {i: x for x, i in loop.carried.items()}
        found = self._run(
            loop,
            given,
            inputs,
            Turning(steps * turns, every * turns),
            [wanted.get(names[i]) for i in range(len(names))],
        )
        return {x: found[loop.carried[x]] for x in wanted}

    def _run(
        self, loop: Repeated, given: Mapping[str, Any], inputs: Arrays, how: Turning, wanted: Sequence[str | None]
    ) -> list[Any]:
        found: list[Any] | None = self._on(given).run(loop, inputs, wanted, how)
        if found is None:
            raise_singular(self.stepper.task, given["q"], given["w"])
        return found

    def _on(self, given: Mapping[str, Any]) -> LoopArrays:
        return arrays_like(given["q"], self.stepper.task.threads)

    def _inputs(self, loop: Repeated, given: Mapping[str, Any], rows: slice) -> Arrays:
        """What a loop takes at these steps beside what it carries and what was kept on the way."""
        task, on = self.stepper.task, self._on(given)
        new: Arrays = {}
        known: Arrays = {"h": on.array([task.step])}
        if "t" in self.stepper.names:
            new["t"] = task.times(0, self.steps)[rows, None]
        for name in loop.signature.inputs:
            if name in given and name in loop.stepped and not name.startswith("seed_"):
                new[name] = given[name][..., rows, :]
            elif name in given:
                known[name] = given[name]
        if INPUT in loop.signature.inputs and INPUT not in known:
            assert task.external is not None and task.external.numbers is not None
            known[INPUT] = on.array(task.external.numbers)
        by_turns = self.stepper.by_turns(new, rows.stop - rows.start, on.repeated)
        return known | {k: on.array(x) for k, x in by_turns.items()}

    # --- backwards -------------------------------------------------------------------------------------

    def gradients(self, given: Mapping[str, Any]) -> Arrays:
        """Of Σ seed_q · q + seed_w · w over the samples, by each moving input, for every state by itself."""
        return self._back(self._adjoint, self.stepper.loop, given, self._roles.moving)

    def changes_of_gradients(self, given: Mapping[str, Any]) -> Arrays:
        """The gradients, and as d_‹name› what they change by, where inputs change by d_‹name›, and the weights by
        d_seed_q and d_seed_w."""
        return self._back(self._tangent_of_adjoint, self._tangent, given, self._roles.tangent().moving)

    def _back(self, loop: Repeated, ahead: Repeated, given: Mapping[str, Any], names: Sequence[str]) -> Arrays:
        """What ``loop`` gives of these ``names`` from the last step to the first, on the way that ``ahead`` goes."""
        states, on, sizes = len(given["q"]), self._on(given), loop.signature.inputs
        seeds = [x for x in sizes if x in loop.stepped and x in given and self._is_seed(x)]
        carried = {i: name for name, i in loop.carried.items()}
        back: Arrays = {x: on.zeros((states, sizes[x])) for x in loop.carried}
        wanted = [LAST if i in carried else ROWS for i in range(len(names))]
        new: dict[str, list[Any]] = {x: [] for i, x in enumerate(names) if i not in carried}
        for first, start in self._checkpoints(ahead, given):
            steps = min(self._part(ahead, given), self.steps - first)
            turns = steps * self.stepper.turns
            way = self._way(ahead, given, start, first, steps)
            inputs = self._inputs(loop, given, slice(first, first + steps)) | way
            inputs |= {x: self._seeds(given[x], first, steps) for x in seeds} | back
            out = self._run(loop, given, inputs, Turning(turns, 1, backwards=True), wanted)
            back = {carried[i]: x for i, x in enumerate(out) if i in carried}
            for x, rows in zip(names, out):
                if x in new:
                    new[x].append(rows.reshape(states, steps, self.stepper.turns, sizes[x]).sum(axis=2))
        last = {x: back[carried[i]] for i, x in enumerate(names) if i in carried}
        found = last | {x: on.joined(parts[::-1]) for x, parts in new.items()}
        for x in seeds:  # the weights of the start itself
            y = x.replace("seed_", "")
            found[y] = found[y] + given[x][:, 0]
        return found

    @staticmethod
    def _is_seed(name: str) -> bool:
        return name in {f(seed(x)) for x in STATE for f in (str, change)}

    def _part(self, ahead: Repeated, given: Mapping[str, Any]) -> int:
        """How many steps there are from one checkpoint to the next."""
        numbers = sum(ahead.signature.inputs[x] for x in ahead.carried)
        whole = len(given["q"]) * self.steps * self.stepper.turns * numbers * given["q"].dtype.itemsize
        return self.steps if whole <= self.kept else math.isqrt(self.steps - 1) + 1

    def _checkpoints(self, ahead: Repeated, given: Mapping[str, Any]) -> list[tuple[int, Arrays]]:
        """(number of a step, what is carried there), from the last to the first."""
        part, start = self._part(ahead, given), self._start(ahead, given)
        count = -(-self.steps // part)
        if count == 1:
            return [(0, start)]
        further = self._advanced(ahead, given, start, 0, part * (count - 1), part, dict.fromkeys(start, ROWS))
        later = [(part * (i + 1), {x: y[:, i] for x, y in further.items()}) for i in range(count - 1)]
        return [(0, start), *later][::-1]

    def _way(self, ahead: Repeated, given: Mapping[str, Any], start: Arrays, first: int, steps: int) -> Arrays:
        """What is carried at the start of every turn from a checkpoint on, (states, turns, n)."""
        turns = steps * self.stepper.turns
        inputs = self._inputs(ahead, given, slice(first, first + steps)) | start
        short = {x: y[..., : turns - 1, :] if x in ahead.stepped else y for x, y in inputs.items()}
        found = self._run(ahead, given, short, Turning(turns - 1, 1), [AFTER_START] * len(start))
        return {x: found[i] for x, i in ahead.carried.items()}

    def _seeds(self, weights: Any, first: int, steps: int) -> Any:
        """What weighs the states after each turn of these steps, (states, turns, n)."""
        turns, every = self.stepper.turns, self.every
        begin = (first // every + 1) * every  # the first sample that lies after one of these steps
        chosen = range(begin, first + steps + 1, every)
        at = [(i - first) * turns - 1 for i in chosen]
        return arrays_like(weights).placed(weights, [i // every for i in chosen], at, steps * turns)
