"""Whether a function depends on where the bodies' frames are: compared on numbers, as nobody has declared it."""

from __future__ import annotations

import numpy as np

from ...model.model import Model
from ...symbols.operations import OPERATIONS
from .trace import Program

_STATES, _TOLERANCE = 3, 1e-9


def computes_the_same(program: Program, other: Program, model: Model) -> bool:
    """Whether two programs, of one function in two choices of frames, have the same results.

    They are analytic functions of their inputs, so that those that agree at random states agree everywhere. Programs
    that choose between branches are not, and count as different.
    """
    if other.shapes != program.shapes or not all(_is_analytic(x.op) for x in program.nodes):
        return False
    rng = np.random.default_rng(0)
    for _ in range(_STATES):
        values = {k: _random(k, n, model, rng) for k, n in program.inputs.items()}
        try:
            a, b = (np.concatenate([np.ravel(x) for x in p.interpreted(values)]) for p in (program, other))
        except (ArithmeticError, ValueError):  # outside the domain of a root or logarithm: nothing to compare
            return False
        if not np.abs(a - b).max(initial=0.0) <= _TOLERANCE * np.abs(a).max(initial=0.0):
            return False
    return True


def _is_analytic(op: str) -> bool:
    return op == "input" or OPERATIONS[op].analytic


def _random(name: str, size: int, model: Model, rng: np.random.Generator) -> np.ndarray:
    """Numbers for an input: a configuration where it is one."""
    is_configuration = name in ("q", "q0", "q1") and size == model.nq
    return model.random_configuration(rng) if is_configuration else rng.normal(size=size)
