"""Programs as readable text: t7 = t3 * t5, and so on."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import Program
from .rolled import RolledProgram
from .scalar import Scalar, reachable


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
    """A rolled program as text: for each phase and class, the loads, the lines and what becomes of them."""
    lines = []
    for p, works in enumerate(program.phases):
        lines.append(f"phase {p}: for each body, {'base to tips' if p % 2 == 0 else 'tips to base'}")
        for c, work in enumerate(works):
            lines.append(f"  class {c} ({len(program.classes[c].members)} bodies)")
            names: dict[int, str] = {}
            for node in reachable(work.sinks, stop=work.loads):
                if id(node) in work.loads:
                    names[id(node)] = f"saved[{work.loads[id(node)]}]"
                elif node.op == "input":
                    names[id(node)] = f"{node.args[0]}[{node.args[1]}]"
                else:
                    names[id(node)] = f"t{len(names)}"
                    lines.append(f"    {names[id(node)]} = {_right_side(node, names)}")
            sinks = {f"hand {s.index}[{i}]": x for s, slots in work.hands for i, x in enumerate(slots)}
            sinks |= {f"out{k}[{j}]": x for k, j, x in work.outputs}
            sinks |= {f"saved[{place}]": x for place, x in work.saves.items()}
            lines += [f"    {to} = {names[id(x)] if isinstance(x, Scalar) else x!r}" for to, x in sinks.items()]
    return "\n".join(lines)


def _right_side(node: Scalar, names: dict[int, str]) -> str:
    arguments = [names[id(x)] if isinstance(x, Scalar) else repr(x) for x in node.args]
    symbol = {"add": "+", "sub": "-", "mul": "*"}.get(node.op)
    if symbol:
        return f"{arguments[0]} {symbol} {arguments[1]}"
    forms = {"neg": "-{}", "inv": "1 / {}", "less": "{} < {}", "select": "{1} if {0} else {2}"}
    forms["atan2"] = "atan2({}, {})"
    return forms.get(node.op, node.op + "({})").format(*arguments)
