"""An expression explained: its formula, the recursions it runs as, the identities used, what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import as_numpy
from ..codegen.garbage import collection_paused
from ..codegen.thresholds import MOST_EXPLAINED
from ..properties import cached_property
from ..symbols.products import signals_wait
from . import typeset
from .binding import Binding, State
from .diagonal_text import diagonal_blocks
from .kinds import leaves_of
from .preludes import preludes
from .printing import latex, lowered, numbered_places, text
from .recipe import OwnBlocks, build, recipe_of
from .recursion_text import Block, recursions
from .typeset import prose

if TYPE_CHECKING:
    from ..symbols.operations import Operations
    from ..symbols.scalar import Graph
    from .operator import Operator


class Explanation:
    """What ``op.explain()`` returns; print it, or take its parts."""

    def __init__(self, op: Operator) -> None:
        self.op, self.expression = op, op.expression

    @property
    def formula(self) -> str:
        return text(self.expression)

    @property
    def latex(self) -> str:
        """The formula, the recursions, the identities used and the operation count as a LaTeX fragment."""
        lines = [r"\[", latex(self.expression), r"\]"]
        for block in self._blocks(as_latex=True):
            lines += [rf"\textit{{{prose(block.title)}}}", r"\begin{align*}"]
            lines += [f" {line}{end}" for line, end in zip(block.typeset, [r" \\"] * (len(block.typeset) - 1) + [""])]
            lines.append(r"\end{align*}")
        if self.rules:
            items = [rf"\item \( {r.latex} \) ({prose('; '.join(r.cites))})" for r in self.rules]
            lines += ["Identities used:", r"\begin{itemize}", *items, r"\end{itemize}"]
        operations = self.operations
        if operations is not None:
            lines.append(f"Operations: {prose(str(operations))}.")
        return "\n".join(lines)

    @property
    def recursion(self) -> str:
        """The sweeps, as the papers would print them: body 1 outermost, n at the base."""
        return "\n".join(line for block in self._blocks() for line in block.text)

    @property
    def diagonal(self) -> str:
        """The blocks on the diagonal by themselves, as one recursion, where the formula is symmetric; else empty."""
        block = diagonal_blocks(self.expression, self._serial)
        return "" if block is None else "\n".join(block.text)

    @property
    def _serial(self) -> bool:
        return all(leaf.owner.is_chain for leaf in leaves_of(self.expression))

    def _blocks(self, as_latex: bool = False) -> list[Block]:
        serial = self._serial
        return preludes(self.expression, serial, as_latex) + recursions(self.expression, serial, as_latex)

    def _nodes(self) -> list[str]:
        """The bodies of every node that holds several."""
        owners = {id(leaf.owner.nodes): leaf.owner for leaf in leaves_of(self.expression)}
        return [
            ", ".join(owner.model.bodies[k].name for k in held)
            for owner in owners.values()
            if owner.nodes is not None
            for held in owner.nodes.members
            if len(held) > 1
        ]

    def _robots(self) -> list[str]:
        """Which letters are of which robot, where there are several states."""
        numbers = numbered_places(self.expression)
        states = {p: t for p, t in enumerate(self.op.binding.things) if isinstance(t, State)}
        whose = [f"{lowered(n)} of {states[p].leaves.model.name!r}" for p, n in numbers.items()]
        return [f"  (letters with {', with '.join(whose)}; what comes first is run for each)"] if whose else []

    @property
    def rules(self) -> tuple[Any, ...]:
        """The identities that led to this expression."""
        return self.op.used

    @cached_property
    def operations(self) -> Operations | None:
        """What applying it to one vector costs, from q on, for this robot; None where it is too big to trace."""
        return operation_count(self.op)

    def __str__(self) -> str:
        op = self.op
        what = f"a vector of {op.rows}" if op.is_vector else f"maps {op.cols} to {op.rows}; {op.structure}"
        lines = [f"{self.formula}", f"  {what}", "", "Runs as"]
        lines.append(self.recursion or "    y = x")
        if any(not leaf.owner.is_chain for leaf in leaves_of(self.expression)):
            lines.append("  (Σ over the children j of body k; p is the parent of k)")
        lines += [f"  ({x} move as one body of the tree)" for x in self._nodes()]
        lines += self._robots()
        lines += ["", self.diagonal] if self.diagonal else []
        lines += ["", "Identities used"]
        lines += [f"  {r}" for r in self.rules] or ["  none"]
        operations = self.operations
        lines += [
            "",
            "Operations, starting from the state" if op.is_vector else "Operations for one vector, starting from q",
        ]
        too_many = f"  not counted (more than {MOST_EXPLAINED} degrees of freedom)"
        lines.append(too_many if operations is None else f"  {operations}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_latex_(self) -> str:
        """The formula and its recursions, for notebooks without HTML."""
        return typeset.displayed(latex(self.expression), self._typeset_blocks())

    def _repr_html_(self) -> str:
        """All of it, for notebooks."""
        op = self.op
        what = f"a vector of {op.rows}" if op.is_vector else f"maps {op.cols} to {op.rows}; {op.structure}"
        parts = [typeset.formula(latex(self.expression)), typeset.words(what)]
        parts += [typeset.loop(block) for block in self._typeset_blocks()]
        if self.rules:
            parts.append(typeset.listed("Identities used", [(r.latex, "; ".join(r.cites)) for r in self.rules]))
        operations = self.operations
        counted = (
            f"not counted (more than {MOST_EXPLAINED} degrees of freedom)" if operations is None else str(operations)
        )
        return typeset.page([*parts, typeset.words(f"Operations: {counted}")])

    def _typeset_blocks(self) -> list[Block]:
        block = diagonal_blocks(self.expression, self._serial, as_latex=True)
        return self._blocks(as_latex=True) + ([] if block is None else [block])


@collection_paused()
@signals_wait()
def operation_count(op: Operator) -> Operations | None:
    """Count by running the expression on symbols: q and x symbolic, the robot's constants folded."""
    from ..symbols.operations import Operations
    from ..symbols.outputs import count
    from ..symbols.scalar import Graph

    if not leaves_of(op.expression):
        return Operations()
    if sum(m.nv for m in op.binding.models) > MOST_EXPLAINED or _varies(op.binding):
        return None
    graph = Graph()
    with graph.held():
        return count(_results(op, graph))


def _results(op: Operator, graph: Graph) -> np.ndarray:
    """Symbols of what the expression gives for symbols, or of itself where it is a vector."""
    symbolic: dict[int, Any] = {}
    for i, thing in enumerate(op.binding.things):
        if isinstance(thing, State):
            q, v, a = (
                None if x is None else graph.inputs(f"{name}{i}", x.shape[-1])
                for name, x in (("q", thing.q), ("v", thing.v), ("a", thing.a))
            )
            assert q is not None
            symbolic[i] = thing.leaves.at(thing.leaves.model, q, v, a)
        else:
            symbolic[i] = OwnBlocks(i, thing.blocks)
    traced = build(recipe_of(op.expression), symbolic)
    vector = traced.cols.kind == "number"
    x: Any = np.ones((1, 1)) if vector else graph.inputs("x", traced.cols.dimension)[:, None]
    return np.ravel(as_numpy(traced.apply_columns(x)))


def _varies(binding: Binding) -> bool:
    """Whether a block diagonal of the user's own varies over a batch, so that no single count exists."""
    return any(b.ndim > 2 for t in binding.things if not isinstance(t, State) for b in t.blocks)
