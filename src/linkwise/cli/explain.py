"""``linkwise explain``: a formula of operators, or a call of a robot, as recursions, and what it costs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np

from ..dynamics.forward.methods import FORWARD_METHODS
from ..errors import InputError, did_you_mean
from .arguments import FRAMES, STATES, add_configuration, add_robot, completes, configuration, functions, robot_of
from .command import Command, Output

if TYPE_CHECKING:
    from ..algebra.operator import Operator
    from ..robot.robot import Robot

_MOST_DENSE = 100  # degrees of freedom up to which the matrix itself is made for comparison

EXAMPLES = """examples:
  linkwise explain panda "H phi M phi* H*"
  linkwise explain panda "(H φ M φ* H*)⁻¹"
  linkwise explain ur5 "H @ phi @ M @ phi.T @ H.T" --latex
  linkwise explain quadruped "I + H phi K"
  linkwise explain panda forward_dynamics --method fd1
  linkwise explain --names

factors stand side by side or with @ between them; a star right behind a factor is its adjoint (also .T);
.inv() or ^-1 is the inverse, .simplify() applies the papers' identities, I fits the space of its sum.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser, optional=True)
    what = 'such as "H phi M phi* H*", quoted; or a call of the robot, such as forward_dynamics'
    completes(parser.add_argument("formula", nargs="?", metavar="FORMULA", help=what), functions)
    add_configuration(parser, "where the numbers are compared")
    frame = parser.add_argument("--frame", action="append", metavar="NAME", help="a tip that B picks; may be repeated")
    completes(frame, FRAMES)
    method = parser.add_argument("--method", metavar="NAME", help="which algorithm, where a call has several")
    completes(method, lambda: FORWARD_METHODS)
    parser.add_argument("--latex", action="store_true", help="print LaTeX")
    parser.add_argument("--names", action="store_true", help="list the operators a formula may name")


def run(arguments: argparse.Namespace, out: Output) -> None:
    from ..algebra.formula import needs_motion, parse_formula
    from ..algebra.formula_letters import operator_names
    from ..algebra.operators import Operators
    from ..codegen.facts import catalogue

    if arguments.names:
        _list_names(operator_names(), Operators, out)
        return
    if arguments.formula is None:
        raise InputError('give a formula after the robot, such as "H phi M phi* H*"; --names lists the operators')
    robot = robot_of(arguments)
    if arguments.formula in catalogue(type(robot)):
        _explain_call(robot, arguments, out)
        return
    _refuse_misspelt_call(arguments.formula, type(robot))
    q = configuration(robot, arguments.q)
    moving = needs_motion(arguments.formula)
    v, a = np.random.default_rng(0).normal(size=(2, robot.nv)) if moving else (None, None)
    op = parse_formula(arguments.formula, robot.operators(q, frames=arguments.frame, v=v, a=a))
    found = op.explain()
    out.give(
        robot=robot.name,
        formula=found.formula,
        latex=op.latex(),
        shape=list(op.shape),
        structure=op.structure,
        recursion=found.recursion,
        identities=[{"name": r.name, "formula": r.formula, "cites": list(r.cites)} for r in found.rules],
        operations=None if found.operations is None else str(found.operations),
    )
    out.say(found.latex if arguments.latex else str(found))
    if robot.nv <= _MOST_DENSE:
        difference = _difference(op)
        out.give(difference=difference)
        if not arguments.latex:
            out.say()
            agrees = "it agrees with its matrix to rounding" if difference < 1e-12 else f"it is off by {difference:.1e}"
            out.say(f"Applied by sweeps to a random vector, {agrees}")


def _refuse_misspelt_call(formula: str, robot: type[Robot]) -> None:
    """A word that is no operator, but nearly a call."""
    from ..algebra.formula_letters import operator_names
    from ..codegen.facts import catalogue

    word = formula.strip()
    near = did_you_mean(word, catalogue(robot)) if word.isidentifier() and "_" in word else ""
    if near and word not in operator_names():
        raise InputError(f"no call of a robot, and no operator, is named {word!r}; {near}")


def _explain_call(robot: Robot, arguments: argparse.Namespace, out: Output) -> None:
    """A call of the catalogue instead of a formula."""
    from ..algebra.algorithm import explain

    options = {"method": arguments.method, "frame": arguments.frame and arguments.frame[0]}
    found = explain(robot, arguments.formula, **{k: x for k, x in options.items() if x})
    counted = None if found.operations is None else str(found.operations)
    out.give(robot=robot.name, call=found.name, recursion=found.recursion, latex=found.latex, operations=counted)
    out.say(found.latex if arguments.latex else str(found))


def _difference(op: Operator) -> float:
    """The largest difference between sweeps and matrix on a random vector, relative to the result."""
    x = np.random.default_rng(1).normal(size=op.shape[1])
    expected = op.dense() @ x
    scale = float(np.abs(expected).max(initial=0.0)) or 1.0
    return float(np.abs(op @ x - expected).max(initial=0.0)) / scale


def _list_names(names: list[str], operators: type, out: Output) -> None:
    from ..algebra.printing import TEXT

    rows = [("name", "prints as", "what it is")]
    for name in names:
        getter = getattr(operators, name, None)
        getter = getattr(getter, "func", None) or getattr(getter, "fget", None)
        said = (getter.__doc__ or "").split("\n")[0] if getter else "the identity of that space"
        rows.append((name, TEXT.get(name, name), said))
    out.table(rows)
    out.give(operators=[dict(zip(("name", "letter", "meaning"), row)) for row in rows[1:]])


COMMAND = Command(
    "explain",
    "explain a formula of operators or a call: recursions, identities, cost",
    add_arguments,
    run,
    f"{EXAMPLES}\n{STATES}",
)
