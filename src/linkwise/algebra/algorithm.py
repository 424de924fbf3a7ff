"""A call of the catalogue explained: the recursions that its code runs as for this robot, and what they cost."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inputs
from ..arguments import shown
from ..codegen.pipeline import compile_job, method_job, method_named
from ..codegen.thresholds import MOST_EXPLAINED
from ..errors import InputError, LinkwiseError
from ..model.model import Model
from ..properties import cached_property
from . import typeset
from .algorithm_page import finished
from .algorithm_text import Reader
from .algorithm_trace import alone, followed_body, traced
from .algorithm_values import Items, Loop, Several, Text, indexed

if TYPE_CHECKING:
    from ..symbols.operations import Operations


class AlgorithmExplanation:
    """What ``lw.explain(robot, "forward_dynamics")`` returns; print it, or take its parts.

    The recursions are read from the code of the algorithm: it runs once, in a random state, and the lines that ran for
    one body are written as formulas, under the names that the code has for them.
    """

    def __init__(self, robot: Any, name: str, fixed: Mapping[str, Any]) -> None:
        self.robot, self.name, self.fixed = robot, name, dict(fixed)
        self._method = method_named(type(robot), name)
        given = _arguments(robot, self._method, self.fixed)
        self._body = followed_body(robot)
        runs = traced(lambda: self._method.plain(robot, **given), self._body)
        self._runs = [x for x in runs if x.tree is not None] or [alone(self._method.plain, robot, given)]

    @property
    def recursion(self) -> str:
        """The sweeps, as the papers would print them: in a chain, body 1 is the outermost and n at the base."""
        return "\n".join(line for loop in self.loops for line in loop.text)

    @cached_property
    def loops(self) -> list[Loop]:
        """Loops over the bodies, each with its title, initial values and lines."""
        return self._read(as_latex=False)[0]

    @cached_property
    def result(self) -> str:
        """What the call gives, in the letters of the recursions."""
        return self._read(as_latex=False)[1]

    def _read(self, as_latex: bool) -> tuple[list[Loop], str]:
        reader, result = Reader(as_latex, self._body, len(self.robot.bodies)), Text("")
        for run in self._runs:
            found = _formula(reader.call(run, [], {}))
            result = found if found is not None else result
        serial = self.robot.tree.is_chain
        loops = finished(reader, result, serial)
        return loops, indexed(result.text, serial, reader.letters)

    @cached_property
    def operations(self) -> Operations | None:
        """What one state costs in compiled code for this robot; None where there is none, or it is long to trace."""
        if self.robot.nv > MOST_EXPLAINED:
            return None
        arrays = [n for n in self._method.facts.arrays if n in self._method.facts.needed or n in self.fixed]
        others = {n: x for n, x in self.fixed.items() if n not in self._method.facts.arrays}
        try:
            fixed = others | _thought_of(self.robot, self._method, others)
            kernel = compile_job(method_job(self.robot, self._method, arrays, fixed, patient=False))
        except LinkwiseError:  # what cannot be traced has no count
            return None
        found: Operations | None = getattr(kernel, "operations", None)
        return found

    @property
    def latex(self) -> str:
        """The recursions as LaTeX."""
        loops, result = self._read(as_latex=True)
        return typeset.displayed(result, loops).strip("$")

    @property
    def body(self) -> str | None:
        """The name of the body whose lines these are; joints of other kinds may leave some out, or have others."""
        return self.robot.bodies[self._body].name if self.robot.bodies else None

    def _gives(self) -> list[str]:
        return [f"  and gives {self.result}"] if self.result else []

    def _title(self) -> str:
        options = "".join(f", {key}={value!r}" for key, value in self.fixed.items())
        return f"{self.name}({', '.join(self._method.facts.needed)}{options}) of {self.robot.name!r}"

    def __str__(self) -> str:
        lines = [self._title(), "", "Runs as", self.recursion or "    (no recursion)", *self._gives()]
        if not self.robot.tree.is_chain:
            lines.append("  (Σ over the children j of body k; p is the parent of k, 0 the world)")
        if len({type(j.kind) for j in self.robot.joints}) > 1:
            kind = self.robot.joints[self._body].kind.kind
            lines.append(f"  (as for body {self.body!r} on its {kind} joint; other kinds may need less, or more)")
        counted = "  not counted" if self.operations is None else f"  {self.operations}"
        return "\n".join([*lines, "", "Operations for one state", counted])

    def __repr__(self) -> str:
        return str(self)

    def _repr_latex_(self) -> str:
        return f"$${self.latex}$$"

    def _repr_html_(self) -> str:
        """All of it, for notebooks."""
        loops, result = self._read(as_latex=True)
        counted = "not counted" if self.operations is None else str(self.operations)
        parts = [typeset.words(self._title()), *(typeset.loop(x) for x in loops)]
        parts += [typeset.formula(result)] if result else []
        return typeset.page([*parts, typeset.words(f"Operations for one state: {counted}")])


def _formula(value: Any) -> Text | None:
    """What a function gave, as a formula; None of what is none."""
    if isinstance(value, Items):
        return value.own
    if isinstance(value, Several):
        parts = [x for x in map(_formula, value.items) if x is not None]
        return Text(", ".join(x.text for x in parts), 0, frozenset().union(*(x.uses for x in parts))) if parts else None
    return value if isinstance(value, Text) else None


def _arguments(robot: Any, method: Any, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """A random state, and the other arguments."""
    rng, facts = np.random.default_rng(0), method.facts
    given: dict[str, Any] = {}
    for array, shape in facts.arrays.items():
        if shape == ("nq",):
            given[array] = robot.random_configuration(rng)
        elif array in facts.needed or array in fixed:
            given[array] = rng.normal(size=inputs.sizes(robot, shape))
    return given | {n: x for n, x in fixed.items() if n not in facts.arrays} | _thought_of(robot, method, fixed)


def _thought_of(robot: Any, method: Any, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that a call needs and that were not given: the first tip, every other joint."""
    needed = [n for n, p in inspect.signature(method.plain).parameters.items() if p.default is p.empty]
    known = {"frame": robot.tips[0] if robot.tips else None}
    known["prescribed"] = [j.name for j in robot.joints[::2] if j.kind.nv]
    return {n: x for n, x in known.items() if n in needed and n not in fixed}


def explain(robot: Any, name: str, **fixed: Any) -> AlgorithmExplanation:
    """A call of the catalogue explained: ``lw.explain(robot, "forward_dynamics", method="fd1")``.

    The recursions that it runs as for this robot, read from its code, and what it costs. ``fixed`` holds the arguments
    that are no arrays (and ``external=True`` for external forces); without a frame it is the first tip, without
    ``prescribed`` joints every other one. Print it, or take ``.recursion``, ``.latex``, ``.operations``; a notebook
    shows it typeset.
    """
    refuse_other(robot)
    return AlgorithmExplanation(robot, name, fixed)


def refuse_other(robot: Any) -> None:
    """Refuse what is no robot."""
    if not isinstance(robot, Model):
        raise InputError(f"explain takes a robot, such as lw.load gives, got {shown(robot)}")
