"""Derivatives of a loop over steps, as loops: along directions, and back from the last step to the first.

A step takes carried values x, values u that are new at every step and values c that stay, and gives x'. Its tangent
carries changes of x beside x. Its adjoint runs against time: it carries weights of x, takes in what weighs the states
themselves (seeds), hands out the weights of u, and sums those of c. Both are steps again, with derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...symbols.derivative import Call, against
from .derivative import graph_of, tangents
from .trace import Program


def change(name: str, sort: str = "d") -> str:
    """What the change of an input is called; those of a second ``sort`` where there are changes already."""
    return f"{sort}_{name}"


def weight(name: str) -> str:
    """What the weight of an input is called, which is carried backwards."""
    return f"back_{name}"


def seed(name: str) -> str:
    """What is added to the weight of a carried input before each step back."""
    return f"seed_{name}"


@dataclass(frozen=True)
class Roles:
    """What the inputs of a step are: ``carried`` ones, by the outputs that take their place; ``stepped`` ones, which
    are new at every step; and of all those that ``moving`` names there are derivatives, the carried ones among them.
    Of the carried ones, those that are ``seeded`` are results."""

    carried: dict[str, int]
    stepped: tuple[str, ...]
    moving: tuple[str, ...]
    seeded: tuple[str, ...]
    outputs: int

    def tangent(self, sort: str = "d") -> Roles:
        """Those of the step with its derivative, whose outputs are the step's, then their changes."""
        changes = {change(name, sort): i + self.outputs for name, i in self.carried.items()}
        stepped = (*self.stepped, *(change(x, sort) for x in self.stepped if x in self.moving))
        moving = (*self.moving, *(change(x, sort) for x in self.moving))
        return Roles({**self.carried, **changes}, stepped, moving, self.seeded, 2 * self.outputs)

    def adjoint(self) -> Roles:
        """Those of the step back, whose outputs are weights of the moving inputs, in their order."""
        carried = {weight(name): i for i, name in enumerate(self.moving) if name not in self.stepped}
        seeds = tuple(map(seed, self.seeded))
        stepped = (*self.stepped, *self.carried, *seeds)
        return Roles(carried, stepped, (*self.moving, *carried, *seeds), (), len(self.moving))


def tangent(program: Program, roles: Roles, calls: Sequence[Call] = (), sort: str = "d") -> Program:
    """A step and its derivative where the moving inputs change; ``calls`` are parts whose derivatives are known."""
    graph = graph_of(program)
    sizes = {change(name, sort): program.inputs[name] for name in roles.moving}
    directions = {name: graph.inputs(change(name, sort), program.inputs[name]) for name in roles.moving}
    seeds = {(name, i): x for name, d in directions.items() for i, x in enumerate(d)}
    roots = (*program.roots, *tangents(program, seeds, calls))
    shapes = (*program.shapes, *program.shapes)
    return Program(f"{program.name}_tangent", {**program.inputs, **sizes}, shapes, False, roots, limbs=program.limbs)


def adjoint(program: Program, roles: Roles, calls: Sequence[Call] = ()) -> Program:
    """A step back: from weights of what it gave to those of what it took; of inputs that stay they are summed up."""
    graph, kept = graph_of(program), [name for name in roles.moving if name not in roles.stepped]
    sizes = {weight(name): program.inputs[name] for name in kept}
    sizes |= {seed(name): program.inputs[name] for name in roles.seeded}
    inputs = {name: graph.inputs(name, n) for name, n in sizes.items()}
    weights: list[Any] = [0.0] * len(program.roots)
    starts = np.cumsum([0, *(int(np.prod(s)) for s in program.shapes)])
    for name, i in roles.carried.items():
        own = inputs[weight(name)]
        weights[starts[i] : starts[i + 1]] = list(own + inputs[seed(name)] if name in roles.seeded else own)
    found = against(program.roots, weights, program.best_order, calls)
    roots: list[Any] = []
    for name in roles.moving:
        own = [found.get((name, i), 0.0) for i in range(program.inputs[name])]
        stays = name in kept and name not in roles.carried
        roots += list(inputs[weight(name)] + own) if stays else own
    shapes = tuple((program.inputs[name],) for name in roles.moving)
    return Program(
        f"{program.name}_adjoint", {**program.inputs, **sizes}, shapes, False, tuple(roots), limbs=program.limbs
    )
