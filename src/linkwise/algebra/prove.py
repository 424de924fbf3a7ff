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

from ..arguments import flag, number, whole
from ..errors import InputError, LinkwiseError
from .binding import Blocks, State, merged, moved
from .check import IdentityReport, Side, _search, _side, check_identity, operators_at, refuse_unlike
from .expression import Expression
from .leaves import Leaves
from .operator import Operator
from .operators import Operators
from .proof import Proof, Step
from .recipe import OwnBlocks, build, recipe_of
from .rules import CHAIN, MOTION, NO_GYRO, NO_ROTORS, ONE_DOF, Rule
from .steps import Writer, known_lemmas
from .theory import Premise, Theory, found_premises
from .trials import draw, random_model

CONDITIONS = (NO_ROTORS, NO_GYRO, CHAIN, ONE_DOF, MOTION)


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
) -> Proof:
    """A proof that lhs = rhs from the axioms of the operators (:mod:`linkwise.algebra.axioms`), or what is left of it.

    The sides are what :func:`check_identity` takes: functions of the operators, expressions bound to a robot, or one
    :class:`Rule` alone. The claim is about all robots without rotors; ``rotors`` asks for those with rotors as well.
    ``requires`` narrows it: "serial chain", "one-dof joints", "no gyroscopic rotors"; a rule brings its own.
    ``assuming`` are rules of yours that may be used beside the axioms; they are tried on random robots first. Each
    step is checked on ``trials`` random robots, drawn from ``seed``, to ``tolerance``.
    """
    whole(trials, "trials", least=1)
    whole(seed, "seed")
    number(tolerance, "tolerance", least=0.0)
    flag(rotors, "rotors")
    needs = frozenset(requires)
    if needs - set(CONDITIONS):
        raise InputError(f"unknown condition {sorted(needs - set(CONDITIONS))[0]!r}; there are {', '.join(CONDITIONS)}")
    if isinstance(lhs, Rule):
        if rhs is not None:
            raise InputError("prove takes two sides, or one Rule of linkwise.identities()")
        needs |= lhs.requires
    else:
        refuse_unlike(lhs, rhs, "prove")
    claim = _Claim(lhs, rhs, needs, tuple(assuming), trials, seed, tolerance)
    proof = claim.proof(rotors=False)
    if rotors and NO_ROTORS not in needs:
        proof = replace(proof, cases=(claim.proof(rotors=True),))
    return proof


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

    def proof(self, rotors: bool) -> Proof:
        """The proof for robots without rotors, or with."""
        left, right, leaves = self.sides(self.requires, rotors)
        given = [Premise(r, *r.expressions(leaves)) for r in self.assuming if r.admits(leaves)]
        both = [left, right, *(x for p in given for x in (p.lhs, p.rhs))]
        wrong = self._wrong(given, rotors)
        if wrong:
            return Proof(left, right, "wrong step", wrong, requires=self.requires)
        theory = Theory(both, [*found_premises(both), *given])
        rest = theory.normal(left - right)
        if rest:
            return self._unproved(left, right, theory.printed(rest, left), rotors)
        name = self.lhs.name if isinstance(self.lhs, Rule) else ""
        trials = draw(theory.dictionary, self.requires, rotors, self.seed, self.trials)
        writer = Writer(theory, trials, self.tolerance, known_lemmas(theory, leaves, name))
        proof = Proof(left, right, "proved", writer.chain(left, right), requires=self.requires, robots=len(trials))
        return replace(proof, verdict="wrong step") if proof.wrong else proof

    def sides(self, requires: frozenset[str], rotors: bool) -> tuple[Expression, Expression, Leaves]:
        """Both sides as formulas on a robot that has nothing beyond the conditions."""
        op = general_operators(requires, rotors)
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

    def _unproved(self, left: Expression, right: Expression, rest: Expression, rotors: bool) -> Proof:
        report = self._tried(rotors)
        verdict = "not found" if report else "false"
        return Proof(left, right, verdict, left=rest, report=report, requires=self.requires, hint=self._hint(rotors))

    def _wrong(self, given: list[Premise], rotors: bool) -> tuple[Step, ...]:
        """The assumed rules that fail on random robots."""
        found = []
        for premise in given:
            assert isinstance(premise.rule, Rule)
            needs = premise.rule.requires | self.requires
            rule = replace(premise.rule, requires=needs)
            report = check_identity(rule, seed=self.seed, tolerance=self.tolerance, rotors=rotors)
            if not report:
                found.append(Step(rule, premise.lhs, premise.rhs, holds=False, worst=report.worst))
        return tuple(found)

    def _tried(self, rotors: bool) -> IdentityReport:
        """Both sides on random robots."""
        needs = self.requires
        if isinstance(self.lhs, Rule):
            return check_identity(
                replace(self.lhs, requires=needs), seed=self.seed, tolerance=self.tolerance, rotors=rotors
            )
        sides = lambda op: (_side(self.lhs, op), _side(self.rhs, op))
        kind = {"chains_only": CHAIN in needs, "one_dof": ONE_DOF in needs, "gyro": NO_GYRO not in needs}
        return _search(sides, 20, self.seed, self.tolerance, rotors and NO_ROTORS not in needs, **kind)

    def _hint(self, rotors: bool) -> str:
        """Under which conditions the claim has a proof, where it has one."""
        for more in ((CHAIN,), (ONE_DOF,), (CHAIN, ONE_DOF), *(((NO_GYRO,),) if rotors else ())):
            if set(more) <= self.requires:
                continue
            left, right, _ = self.sides(self.requires | set(more), rotors)
            if not Theory([left, right]).normal(left - right):
                named = ", ".join(repr(x) for x in more)
                return f"It is proved with a condition: requires=[{named}]."
        return ""


def general_operators(requires: frozenset[str], rotors: bool) -> Operators:
    """The operators of a robot that fulfils the conditions and no more."""
    rotors = rotors and NO_ROTORS not in requires
    key = (requires & {CHAIN, ONE_DOF, NO_GYRO}, rotors)
    found = _GENERAL.get(key)
    if found is None:
        found = _GENERAL[key] = _general(requires, rotors)
    return found


_GENERAL: dict[Any, Operators] = {}


def _general(requires: frozenset[str], rotors: bool) -> Operators:
    for seed in range(100):
        model = random_model(seed, requires, rotors)
        leaves = Leaves(model, model.tips, moving=(True, True))
        narrow = {
            CHAIN: model.is_chain,
            ONE_DOF: all(j.kind.nv <= 1 for j in model.joints),
            NO_ROTORS: not leaves.has_rotors,
            NO_GYRO: not leaves.has_spinning_rotors,
        }
        wanted = {CHAIN: CHAIN in requires, ONE_DOF: ONE_DOF in requires, NO_ROTORS: not rotors}
        wanted[NO_GYRO] = not rotors or NO_GYRO in requires
        if narrow == wanted:
            rng = np.random.default_rng(seed)
            q, v, a = model.random_configuration(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
            return operators_at(model, q, v, a)
    raise LinkwiseError(f"no random robot fulfils {sorted(requires)} and no more")


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
