"""The prover: both sides are reduced to their canonical forms by the completed axioms (:mod:`.completion`).

The steps are read off the reductions, from the left side down to where it meets the right side and up again, and each
is checked on random robots. A claim whose difference does not vanish is tried on random robots: it is false, with a
robot to show it, or it was not found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import flag, names, number, shown, whole
from ..errors import InputError, LinkwiseError
from .binding import Blocks, State, merged, moved
from .check import (
    IdentityReport,
    Side,
    _check_rule,
    _search,
    _side,
    narrowed,
    operators_at,
    refuse_coupled,
    refuse_unlike,
)
from .expression import Expression
from .leaves import Leaves
from .operator import Operator
from .operators import Operators
from .proof import Proof, Step
from .random_robots import Drawing
from .rate import unfolded
from .recipe import OwnBlocks, build, recipe_of
from .rules import CHAIN, NO_GYRO, NO_ROTORS, ONE_DOF, REASONS, Rule
from .spaces import NUMBER
from .steps import Writer, known_lemmas
from .theory import Premise, Theory, found_premises
from .trials import draw, random_model


def prove(
    lhs: Side | Rule,
    rhs: Side | None = None,
    *,
    requires: Iterable[str] = (),
    assuming: Sequence[Rule] = (),
    trials: int = 3,
    seed: int = 0,
    tolerance: float = 1e-9,
    rotors: bool = False,
    coupled: bool = False,
) -> Proof:
    """A proof that lhs = rhs from the axioms of the operators (:mod:`linkwise.algebra.axioms`), or what is left of it.

    The sides are what :func:`check_identity` takes: functions of the operators, expressions bound to a robot, or one
    :class:`Rule` alone. The claim is about all robots without rotors or coupled joints; ``rotors`` and ``coupled`` ask
    for those with them as well. ``requires`` narrows it: "serial chain", "one-dof joints", "no gyroscopic rotors"; a
    rule brings its own.
    ``assuming`` are rules of yours that may be used beside the axioms; they are tried on random robots first. Each
    step is checked on ``trials`` random robots, drawn from ``seed``, to ``tolerance``.
    """
    whole(trials, "trials", least=1)
    whole(seed, "seed")
    number(tolerance, "tolerance", least=0.0)
    asked = (flag(rotors, "rotors"), flag(coupled, "coupled"))
    needs = frozenset(names(requires, "requires", "conditions"))
    if needs - set(REASONS):
        raise InputError(f"unknown condition {sorted(needs - set(REASONS))[0]!r}; there are {', '.join(REASONS)}")
    if isinstance(lhs, Rule):
        if rhs is not None:
            raise InputError("prove takes two sides, or one Rule of linkwise.identities()")
        needs |= lhs.requires
        refuse_coupled(lhs, coupled)
    else:
        refuse_unlike(lhs, rhs, "prove")
    claim = _Claim(lhs, rhs, needs, _rules(assuming), trials, seed, tolerance)
    wider = [Drawing(r, c) for r in {False, asked[0] and NO_ROTORS not in needs} for c in {False, asked[1]} if r or c]
    proof = claim.proof(Drawing())
    cases = tuple(claim.proof(d) for d in wider)
    failed = next((case.verdict for case in cases if not case), None)
    return replace(proof, cases=cases, verdict=failed if proof and failed else proof.verdict) if wider else proof


def _rules(assuming: Any) -> tuple[Rule, ...]:
    """Rules of the user's own, checked."""
    given = tuple(assuming) if isinstance(assuming, Iterable) else (assuming,)
    for x in given:
        if not isinstance(x, Rule):
            raise InputError(
                f"assuming is a list of rules, lw.Rule(…) or some of linkwise.identities(), got {shown(x)}"
            )
    return given


@dataclass(frozen=True)
class _Claim:
    """lhs = rhs, and how it is to be tried."""

    lhs: Any
    rhs: Any
    requires: frozenset[str]
    assuming: tuple[Rule, ...]
    trials: int
    seed: int
    tolerance: float

    def proof(self, drawing: Drawing) -> Proof:
        """The proof for the robots of a drawing."""
        drawing = narrowed(drawing, self.requires)
        start, end, leaves = self.sides(drawing)
        given = [Premise(r, *r.expressions(leaves)) for r in self.assuming if r.admits(leaves)]
        wrong = self._wrong(given, drawing)
        if wrong:
            return Proof(start, end, "wrong step", wrong, requires=self.requires)
        down, up = unfolded(start), unfolded(end)
        left, right = down[-1].whole if down else start, up[-1].whole if up else end
        number = left.rows == left.cols == NUMBER
        if number:  # x = ½(x + x*)
            left, right = (0.5 * (x + x.T) for x in (left, right))
        both = [left, right, *(x for p in given for x in (p.lhs, p.rhs))]
        theory = Theory(both, [*found_premises(both), *given])
        rest = theory.normal(left - right)
        turned = bool(rest) and not theory.normal((left - right).T)  # where the system is not complete
        if rest and not turned and not (down or up):
            return self._unproved(left, right, theory.printed(rest, left), drawing)
        for x in (start, end, *(u.whole for u in (*down, *up))):
            theory.dictionary.polynomial(x)  # (so that robots are drawn with all letters)
        trials = draw(theory.dictionary, drawing, self.seed, self.trials)
        name = self.lhs.name if isinstance(self.lhs, Rule) else ""
        writer = Writer(theory, trials, self.tolerance, known_lemmas(theory, leaves, name))
        first, last = writer.differentiated(start, down), writer.differentiated(end, up)
        if number:
            first, last = (writer.as_number(steps, x) for steps, x in ((first, start), (last, end)))
        if any(not s.holds for s in (*first, *last)):
            return Proof(start, end, "wrong step", (*first, *last), requires=self.requires)
        if rest and not turned:
            return self._unproved(start, end, theory.printed(rest, left), drawing)
        steps = writer.chain(left.T, right.T) if turned else writer.chain(left, right)
        steps = tuple(s.T for s in steps) if turned else steps
        steps = (*first, *steps, *(writer.reversed(s) for s in reversed(last)))
        proof = Proof(start, end, "proved", steps, requires=self.requires, about=_about(drawing), robots=len(trials))
        return replace(proof, verdict="wrong step") if proof.wrong else proof

    def sides(self, drawing: Drawing) -> tuple[Expression, Expression, Leaves]:
        """Both sides as formulas on a robot that is no more special than the drawing."""
        op = general_operators(drawing)
        if isinstance(self.lhs, Rule):
            X = op.leaves.own_blocks(1, "bodies", "X") if self.lhs.free else None
            left, right = self.lhs.expressions(op.leaves, X)
        else:
            left, right = _together(_side(self.lhs, op), _side(self.rhs, op))
        if left.rows != right.rows or left.cols != right.cols:
            raise InputError(
                f"the two sides live in different spaces: {left} maps {left.cols} to {left.rows}, {right} maps"
                f" {right.cols} to {right.rows}"
            )
        return left, right, op.leaves

    def _unproved(self, left: Expression, right: Expression, rest: Expression, drawing: Drawing) -> Proof:
        report, hint, about = self._tried(drawing), self._hint(drawing), _about(drawing)
        verdict = "not found" if report else "false"
        return Proof(left, right, verdict, (), rest, report, self.requires, about, hint=hint)

    def _wrong(self, given: list[Premise], drawing: Drawing) -> tuple[Step, ...]:
        """The assumed rules that fail on random robots."""
        found = []
        for premise in given:
            rule = premise.rule
            assert isinstance(rule, Rule)
            sides = lambda op, rule=rule: rule.sides(op)
            report = _search(
                sides, _TRIALS, self.seed, self.tolerance, narrowed(drawing, rule.requires | self.requires)
            )
            if not report:
                found.append(Step(rule, premise.lhs, premise.rhs, holds=False, worst=report.worst))
        return tuple(found)

    def _tried(self, drawing: Drawing) -> IdentityReport:
        """Both sides on random robots."""
        if isinstance(self.lhs, Rule):
            rule = replace(self.lhs, requires=self.requires)
            return _check_rule(rule, _TRIALS, self.seed, self.tolerance, drawing)
        return _search(
            lambda op: (_side(self.lhs, op), _side(self.rhs, op)), _TRIALS, self.seed, self.tolerance, drawing
        )

    def _hint(self, drawing: Drawing) -> str:
        """Under which conditions the claim has a proof, where it has one."""
        for more in ((CHAIN,), (ONE_DOF,), (CHAIN, ONE_DOF), (NO_GYRO,)):
            narrower = narrowed(drawing, self.requires | set(more))
            if narrower == drawing:
                continue
            left, right, _ = self.sides(narrower)
            if not Theory([left, right]).normal(left - right):
                return f"It is proved with a condition: requires=[{', '.join(repr(x) for x in more)}]."
        return ""


_TRIALS = 20  # random robots on which a claim that has no proof is tried


def _about(drawing: Drawing) -> str:
    """Which robots a proof is about, beside plain ones."""
    return " and ".join([*(["rotors"] if drawing.rotors else []), *(["coupled joints"] if drawing.coupled else [])])


def general_operators(drawing: Drawing) -> Operators:
    """The operators of a robot that is no more special than the drawing."""
    found = _GENERAL.get(drawing)
    if found is None:
        found = _GENERAL[drawing] = _general(drawing)
    return found


_GENERAL: dict[Drawing, Operators] = {}


def _general(drawing: Drawing) -> Operators:
    gyro = drawing.rotors and drawing.gyro and not drawing.coupled
    for seed in range(200):
        model = random_model(seed, drawing)
        leaves = Leaves(model, model.tips, moving=(True, True))
        one_dof = all(j.kind.nv <= 1 for j in model.joints)
        has = (leaves.is_chain, one_dof, leaves.has_rotors, leaves.has_spinning_rotors, leaves.nodes is not None)
        turns = leaves.has_turning_maps == (drawing.coupled or not drawing.one_dof)
        if turns and has == (drawing.chains, drawing.one_dof, drawing.rotors, gyro, drawing.coupled):
            rng = np.random.default_rng(seed)
            q, v, a = model.random_configuration(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
            return operators_at(model, q, v, a)
    raise LinkwiseError(f"no random robot is as general as {drawing}")


def _together(left: Operator, right: Operator) -> tuple[Expression, Expression]:
    """The formulas of both sides, with equal blocks of the user's own as one letter."""
    both = merged([left.binding, right.binding])
    own = [i for i, t in enumerate(both.things) if isinstance(t, Blocks)]
    places: dict[int, int] = {}
    for i in own:
        same = (j for j in own[: own.index(i)] if _equal(both.things[i], both.things[j]))
        places[i] = next(same, i)
    state: Any = next(t for t in both.things if isinstance(t, State))
    things: dict[int, Leaves | OwnBlocks] = {i: OwnBlocks(p) for i, p in places.items()}
    things |= {i: state.leaves for i in range(len(both.things)) if i not in places}
    sides = (build(recipe_of(moved(x.expression, x.binding, both)), things) for x in (left, right))
    return next(sides), next(sides)


def _equal(a: Any, b: Any) -> bool:
    return len(a.blocks) == len(b.blocks) and all(np.array_equal(x, y) for x, y in zip(a.blocks, b.blocks))
