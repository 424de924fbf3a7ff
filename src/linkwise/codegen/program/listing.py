"""Programs as readable text: t7 = t3 * t5, and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...symbols.outputs import reachable
from ...symbols.scalar import Scalar
from .trace import Program

if TYPE_CHECKING:
    from ..rolled.program import RolledProgram
    from ..rolled.work import Work


def listing(program: Program) -> str:
    """A program as text: t7 = t3 * t5, and so on."""
    names: dict[int, str] = {}

    def value(x: Any) -> str:
        return names[id(x)] if isinstance(x, Scalar) else repr(x)

    lines: list[str] = []
    for node in program.nodes:
        if node.op == "input":
            names[id(node)] = f"{node.args[0]}[{node.args[1]}]"
            continue
        right = _right_side(node, names)
        name = names[id(node)] = f"t{len(lines)}"
        lines.append(f"{name} = {right}")
    start = 0
    for k, shape in enumerate(program.shapes):
        size = int(np.prod(shape))
        label = "out" if program.single else f"out{k}"
        lines += [f"{label}[{i}] = {value(x)}" for i, x in enumerate(program.roots[start : start + size])]
        start += size
    return "\n".join(lines)


def rolled_listing(program: RolledProgram) -> str:
    """A rolled program as text: for each loop and class, the loads, the lines and what becomes of them."""
    lines = []
    for p, works in enumerate(program.phases):
        lines.append(f"phase {p}: for each body, {'base to tips' if p % 2 == 0 else 'tips to base'}")
        for sweep in program.sweeps:
            if sweep.phase == p and any(sweep.start):
                lines.append(f"  carry {sweep.index} is {', '.join(map(repr, sweep.start))} before the first body")
        for c, work in enumerate(works):
            lines += [f"  class {c} ({len(program.classes[c].members)} bodies)", *_work_lines(work, "    ")]
    for loop in program.loops:
        lines.append(f"for each body of class {', '.join(map(str, loop.origins))}")
        for c, work in loop.begin.items():
            lines += [f"  class {c} begins", *_work_lines(work, "    ")]
        for walk, works in zip(loop.walks, loop.steps):
            reached = "that is not inboard of it, base to tips" if walk.outward else "inboard of it, tip to base"
            lines.append(f"  walk {walk.index}: to each body {reached}")
            for c, work in enumerate(works):
                lines += [f"    class {c}", *_work_lines(work, "      ")]
    for blocked in program.factors.walks:
        block, way = program.factors.block, "base to tips" if blocked.walk.outward else "tip to base"
        lines.append(f"walk {blocked.walk.index} in blocks of {block} bodies, {way}")
        for c, (step, unit) in enumerate(zip(blocked.steps, blocked.units)):
            lines += [f"  class {c}, within a block", *_work_lines(step, "    ")]
            lines += [f"  class {c}, from a unit vector", *_work_lines(unit, "    ")]
    lines += [f"matrix {k}: {matrix}" for k, matrix in program.factors.matrices.items()]
    return "\n".join(lines)


def _work_lines(work: Work, indent: str) -> list[str]:
    lines: list[str] = []
    names: dict[int, str] = {}
    for node in reachable(work.sinks, stop=work.loads):
        if id(node) in work.loads:
            names[id(node)] = f"saved[{work.loads[id(node)]}]"
        elif node.op == "input":
            names[id(node)] = f"{node.args[0]}[{node.args[1]}]"
        else:
            names[id(node)] = f"t{len(names)}"
            lines.append(f"{indent}{names[id(node)]} = {_right_side(node, names)}")
    sinks = {f"hand {s.index}[{i}]": x for s, slots in work.hands for i, x in enumerate(slots)}
    sinks |= {f"pair:{w}[{i}]": x for w, slots in work.carries.items() for i, x in enumerate(slots)}
    sinks |= {f"fork:{w}[{i}]": x for w, slots in work.forks.items() for i, x in enumerate(slots)}
    sinks |= {f"{place.where}[{j}]": x for place, j, x in work.outputs}
    sinks |= {f"saved[{place}]": x for place, x in work.saves.items()}
    return lines + [f"{indent}{to} = {names[id(x)] if isinstance(x, Scalar) else x!r}" for to, x in sinks.items()]


def _right_side(node: Scalar, names: dict[int, str]) -> str:
    arguments = [names[id(x)] if isinstance(x, Scalar) else repr(x) for x in node.args]
    symbol = {"add": "+", "sub": "-", "mul": "*"}.get(node.op)
    if symbol:
        return f"{arguments[0]} {symbol} {arguments[1]}"
    form = _FORMS.get(node.op, f"{node.op}({', '.join(['{}'] * len(arguments))})")
    return form.format(*arguments)


_FORMS = {
    "neg": "-{}",
    "inv": "1 / {}",
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "equal": "{} == {}",
    "and": "{} and {}",
    "or": "{} or {}",
    "not": "not {}",
    "select": "{1} if {0} else {2}",
}
