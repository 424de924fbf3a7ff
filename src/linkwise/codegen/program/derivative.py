"""Exact derivatives of a program, as programs: along directions, against weights, whole Jacobians.

Derivatives are with respect to the numbers of an input as they stand; for a quaternion that means its four
numbers, not the tangent space.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arguments import one_of
from ...errors import InputError
from ...symbols.derivative import Call, against, along
from ...symbols.scalar import Scalar
from .trace import Program


def tangents(program: Program, seeds: dict[tuple[str, int], Any], calls: Sequence[Call] = ()) -> list[Any]:
    """Forward mode: the derivatives of all outputs along the direction given by the inputs' seeds."""
    inputs = [x for x in program.nodes if x.op == "input"]
    return along(program.roots, inputs, [seeds.get((x.args[0], x.args[1]), 0.0) for x in inputs], calls)


def jvp(program: Program) -> Program:
    """(inputs, directions) → derivatives along the directions, one per output; directions are named d‹input›.

    (With more d's in front where the function has an input of that name.)
    """
    graph = graph_of(program)
    names = fresh([f"d{k}" for k in program.inputs], program)
    directions = dict(zip(names, program.inputs.values()))
    seeds = {(k, i): x for k, d in zip(program.inputs, names) for i, x in enumerate(graph.inputs(d, directions[d]))}
    roots = tuple(tangents(program, seeds))
    return Program(
        f"{program.name}_jvp",
        {**program.inputs, **directions},
        program.shapes,
        program.single,
        roots,
        limbs=program.limbs,
    )


def vjp(program: Program) -> Program:
    """(inputs, weights) → Σ weight · ∂output/∂input, one array per input; weights are named w0, w1, …"""
    graph = graph_of(program)
    names = fresh([f"w{i}" for i in range(len(program.shapes))], program)
    sizes = {name: int(np.prod(s)) for name, s in zip(names, program.shapes)}
    weights = [x for name, n in sizes.items() for x in graph.inputs(name, n)]
    found = against(program.roots, weights, program.best_order)
    roots = tuple(found.get((k, i), 0.0) for k, n in program.inputs.items() for i in range(n))
    shapes = tuple((n,) for n in program.inputs.values())
    return Program(
        f"{program.name}_vjp", {**program.inputs, **sizes}, shapes, len(shapes) == 1, roots, limbs=program.limbs
    )


def jacobian(program: Program, wrt: str) -> Program:
    """∂outputs/∂‹wrt›, each (*output shape, length of wrt), in whichever mode needs fewer sweeps."""
    one_of(wrt, program.inputs, f"input of {program.name}", error=InputError)
    n, m = program.inputs[wrt], len(program.roots)
    columns = np.zeros((m, n), dtype=object)
    if n <= m:
        for i in range(n):
            columns[:, i] = tangents(program, {(wrt, i): 1.0})
    else:
        for j in range(m):
            found = against(program.roots, [1.0 if k == j else 0.0 for k in range(m)], program.best_order)
            columns[j] = [found.get((wrt, i), 0.0) for i in range(n)]
    shapes = tuple((*s, n) for s in program.shapes)
    return Program(
        f"{program.name}_d{wrt}", program.inputs, shapes, program.single, tuple(columns.ravel()), limbs=program.limbs
    )


def fresh(wanted: list[str], program: Program) -> list[str]:
    """These names, lengthened at the front until no input or other of them has the same."""
    taken = set(program.inputs)
    out = []
    for name in wanted:
        while name in taken:
            name = name[0] + name
        taken.add(name)
        out.append(name)
    return out


def graph_of(program: Program) -> Any:
    for root in program.roots:
        if isinstance(root, Scalar):
            return root.graph
    raise InputError(f"{program.name} is constant")
