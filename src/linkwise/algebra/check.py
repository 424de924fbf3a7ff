"""Test a claimed identity on random robots: the oracle is the dense meaning of both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..arguments import flag, number, shown, whole
from ..arrays import as_numpy
from ..errors import InputError, NotAdmittedError, SingularError
from ..model.model import Model
from .binding import Binding, Blocks, State, unbound_things
from .blocks import dense_block
from .dense import magnitude
from .expression import Expression
from .kinds import families_of, leaves_of
from .leaves import unbound
from .operator import Operator, bound
from .operators import Operators
from .random_robots import Drawing
from .recipe import build, recipe_of
from .rules import CHAIN, CONSTANT_MAPS, INVERTIBLE_EDGES, NO_GYRO, NO_ROTORS, ONE_DOF, ONE_TIP, REASONS, Rule


@dataclass(frozen=True)
class IdentityReport:
    """What a test of lhs = rhs found.

    ``worst`` is the largest difference of the dense matrices, relative to the size of the terms they are made of
    (so that 0 = 0 can be judged where both sides cancel, and small quantities are judged by their own size).
    """

    holds: bool
    worst: float
    robot: str
    seed: int | None
    trials: int
    tolerance: float
    formula: str
    sweeps: float  # the largest relative difference between sweeps and dense matrices, over both sides
    redrawn: int = 0  # random robots that were drawn again, as a side does not exist there or nearly so

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "does NOT hold"
        return (
            f"{self.formula}\n  {verdict} on {self.trials} random robots: worst relative difference {self.worst:.2g}"
            f" on {self.robot} (tolerance {self.tolerance:g}); sweeps agree with matrices to {self.sweeps:.2g}"
            + (f"; {self.redrawn} robots were drawn again, as a side is singular there" if self.redrawn else "")
        )


Side = Callable[[Operators], Operator] | Operator


def check_identity(
    lhs: Side | Rule,
    rhs: Side | None = None,
    *,
    trials: int = 20,
    seed: int = 0,
    tolerance: float = 1e-9,
    rotors: bool = False,
    coupled: bool = False,
) -> IdentityReport:
    """Does lhs = rhs hold? Tried on random chains and trees with all joint kinds, dense against dense.

    Each side is a function of the operators, such as ``lambda op: op.H @ op.phi``, or an expression bound
    to some robot, which is then rebuilt on each random one. ``rotors`` also tries robots with rotors, ``coupled`` also
    robots with coupled joints. A :class:`Rule` of :func:`linkwise.identities` may be given alone; one that does not
    hold where joints are coupled is refused with the reason.

    Where a side does not exist on a random robot (too few joints for Λ, say), another is drawn, and so where what it
    inverts is nearly singular: a condition above 10⁶, or a pivot D below 10⁻⁶ of its P. ``redrawn`` in the report
    counts them; :class:`SingularError` says when no robot will do.
    """
    whole(trials, "trials", least=1)
    whole(seed, "seed")
    number(tolerance, "tolerance", least=0.0)
    drawing = Drawing(rotors=flag(rotors, "rotors"), coupled=flag(coupled, "coupled"))
    if isinstance(lhs, Rule):
        return _check_rule(lhs, trials, seed, tolerance, drawing)
    refuse_unlike(lhs, rhs, "check_identity")
    assert rhs is not None
    return _search(lambda op: (_side(lhs, op), _side(rhs, op)), trials, seed, tolerance, drawing)


def refuse_unlike(lhs: Any, rhs: Any, caller: str) -> None:
    """Refuse sides that are no two sides of one identity."""
    if rhs is None:
        raise InputError(f"{caller} takes two sides, or one Rule of linkwise.identities()")
    for side in (lhs, rhs):
        if not (callable(side) or isinstance(side, Operator)):
            raise InputError(f"each side is a function of the operators, or an expression, got {shown(side)}")
    given = [x.binding.things for x in (lhs, rhs) if isinstance(x, Operator)]
    if any(isinstance(t, Blocks) for things in given for t in things):
        raise InputError(
            "an expression with blocks, a vector or a matrix of your own belongs to one robot; give functions of op"
            " that build it"
        )
    if len({t.serial for things in given for t in things}) > 1:
        raise InputError("the two sides are bound to different robots or configurations; give functions of op instead")


def refuse_coupled(rule: Rule, coupled: bool) -> None:
    """Refuse a rule that does not hold where joints are coupled, where those are asked for."""
    for needed in (CONSTANT_MAPS, INVERTIBLE_EDGES):
        if coupled and needed in rule.requires:
            raise NotAdmittedError(
                f"identity {rule.name!r} needs {needed}, which robots with coupled joints do not have:"
                f" {REASONS[needed]}"
            )


def _check_rule(rule: Rule, trials: int, seed: int, tolerance: float, drawing: Drawing) -> IdentityReport:
    refuse_coupled(rule, drawing.coupled)

    def sides(op: Operators) -> tuple[Operator, Operator]:
        X = None
        if rule.free:
            rng = np.random.default_rng(seed)
            X = op.block_diagonal([rng.normal(size=(r, r)) for r in op.bodies.sizes], name="X")
        return rule.sides(op, X)

    return _search(sides, trials, seed, tolerance, narrowed(drawing, rule.requires))


def narrowed(drawing: Drawing, requires: frozenset[str]) -> Drawing:
    """The same robots where the conditions leave room for them."""
    return replace(
        drawing,
        rotors=drawing.rotors and NO_ROTORS not in requires,
        chains=bool({CHAIN, ONE_TIP} & requires),  # a chain has one tip
        one_dof=ONE_DOF in requires,
        gyro=NO_GYRO not in requires,
    )


def _side(side: Side, op: Operators) -> Operator:
    if isinstance(side, Operator):
        return bound(build(recipe_of(side.expression), unbound_things(op.binding)), op.binding)
    out = side(op)
    if not isinstance(out, Operator):
        raise InputError(f"each side must give an operator, got {type(out).__name__}")
    return out


def _search(
    sides: Callable[[Operators], tuple[Operator, Operator]],
    trials: int,
    seed: int,
    tolerance: float,
    drawing: Drawing,
) -> IdentityReport:
    worst, worst_sweep, where, which, formula, redrawn = -1.0, 0.0, "", 0, "", 0
    for trial in range(trials):
        left, right, drawn = None, None, seed + trial
        for attempt in range(_MOST_DRAWN):
            drawn = seed + trial + attempt * trials
            left, right = _regular_sides(_drawn_operators(drawing, trial, drawn), sides)
            if left is not None:
                break
            redrawn += 1
        if left is None or right is None:
            raise SingularError(
                f"a side of the identity is singular, or nearly so, on each of {_MOST_DRAWN} random robots: nothing to"
                " compare"
            )
        rng = np.random.default_rng(drawn)
        a, b = left.dense(), right.dense()
        difference = _relative(a, b, scale=max(magnitude(left.numbers), magnitude(right.numbers)))
        formula = formula or f"{left} = {right}"
        worst_sweep = max(worst_sweep, _sweep_error(left, a, rng), _sweep_error(right, b, rng))
        if difference > worst or np.isnan(difference):
            worst, which = difference, drawn
            model = left.binding.leaves.model
            where = f"{model.name!r} ({len(model.bodies)} bodies, nv={model.nv})"
    holds = bool(worst <= tolerance)
    return IdentityReport(holds, worst, where, which, trials, tolerance, formula, worst_sweep, redrawn)


_MOST_DRAWN = 30  # robots for one trial
_WORST_CONDITION = 1e6  # of what is inverted: above it rounding alone may exceed the tolerance


@lru_cache(maxsize=64)  # every identity is tried on the same ones
def _drawn_operators(drawing: Drawing, trial: int, seed: int) -> Operators:
    """The operators of the robot of a trial at a random state."""
    model = drawing.robot(trial, seed)
    rng = np.random.default_rng(seed)
    q, v, a = model.random_configuration(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    return operators_at(model, q, v, a)


def _regular_sides(
    op: Operators, sides: Callable[[Operators], tuple[Operator, Operator]]
) -> tuple[Operator, Operator] | tuple[None, None]:
    """Both sides at a random state of a robot, or nothing where one does not exist there or nearly so."""
    try:
        left, right = sides(op)
        regular = all(_is_regular(side.numbers) for side in (left, right))
    except SingularError:
        return None, None
    if left.rows != right.rows or left.cols != right.cols:
        raise InputError(
            f"the two sides live in different spaces: {left} maps {left.cols} to {left.rows}, {right} maps"
            f" {right.cols} to {right.rows}"
        )
    return (left, right) if regular else (None, None)


def _is_regular(side: Expression) -> bool:
    """Whether all that an expression inverts is well conditioned."""
    for leaf in leaves_of(side):
        if leaf.inverse_of is not None:
            blocks = [as_numpy(dense_block(x)) for x in leaf.blocks]
            if any(x.size and np.linalg.cond(x) > _WORST_CONDITION for x in blocks):
                return False
            if not _is_regular(leaf.inverse_of):
                return False
    for family in families_of(side):
        if family.is_default:
            continue  # bodies that all have mass and inertia
        for P, D in zip(family.articulated.P, family.articulated.D):
            if D.size and np.linalg.eigvalsh(D)[0] < np.abs(as_numpy(dense_block(P))).max() / _WORST_CONDITION:
                return False
    return True


def operators_at(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Operators:
    """The operators of a model that need not be a robot; they run as sweeps on NumPy."""
    leaves = unbound(model, model.tips, (True, True))
    return Operators(leaves, Binding((State(leaves, q, v, a),)))


def _sweep_error(op: Operator, matrix: np.ndarray, rng: np.random.Generator) -> float:
    x = rng.normal(size=op.cols.dimension)
    return _relative(op.apply(x), matrix @ x, scale=magnitude(op.numbers) * float(np.abs(x).max(initial=0.0)))


def _relative(a: Any, b: Any, scale: float) -> float:
    return float(np.abs(a - b).max(initial=0.0)) / scale if scale else 0.0
