"""The theory of some expressions: the axioms that hold for their robots, completed, with names for the lemmas.

Systems of rules are worked out once for every set of axioms and kept; they know letters and no robot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .axioms import axioms_for, laws_of
from .completion import System, completed
from .expression import Expression
from .kinds import Leaf, families_of, leaves_of
from .printing import latex, text
from .rules import Rule
from .words import Dictionary, Polynomial


@dataclass(frozen=True)
class Law:
    """What a step rests on: a definition, an identity, or a law of algebra such as distributivity."""

    name: str
    cites: tuple[str, ...] = ()
    formula: str = ""
    latex: str = field(default="", compare=False)

    def __str__(self) -> str:
        where = f"   ({'; '.join(self.cites)})" if self.cites else ""
        return f"{self.name}: {self.formula}{where}" if self.formula else f"{self.name}{where}"


@dataclass(frozen=True, eq=False)
class Premise:
    """A relation that the theory takes as given: the rule it is, and its two sides for these leaves."""

    rule: Rule | Law
    lhs: Expression
    rhs: Expression


class Theory:
    """What holds between the operators of some expressions."""

    def __init__(self, expressions: Sequence[Expression], premises: Sequence[Premise] | None = None) -> None:
        self.dictionary = Dictionary()
        self.premises = tuple(found_premises(expressions) if premises is None else premises)
        relations = [(p.rule, self.dictionary.polynomial(p.lhs - p.rhs)) for p in self.premises]
        self.system = _system(relations)

    def normal(self, op: Expression) -> Polynomial:
        """The canonical form of an expression: the same for all that are equal by the axioms."""
        return self.system.reduced(self.dictionary.polynomial(op))

    def printed(self, p: Polynomial, like: Expression) -> Expression:
        """A polynomial as an expression with the spaces of another."""
        return self.dictionary.expression(p, like.rows, like.cols)


_SYSTEMS: dict[Any, System] = {}
_MOST_SYSTEMS = 64


def _system(relations: list[tuple[Any, Polynomial]]) -> System:
    key = tuple((rule.name, frozenset(p.items())) for rule, p in relations)
    found = _SYSTEMS.get(key)
    if found is None:
        if len(_SYSTEMS) >= _MOST_SYSTEMS:
            _SYSTEMS.pop(next(iter(_SYSTEMS)))
        found = _SYSTEMS[key] = completed(relations)
    return found


def found_premises(expressions: Iterable[Expression]) -> list[Premise]:
    """The axioms about the operators that appear, and about those that these are defined by."""
    found: dict[Any, Premise] = {}
    todo = list(expressions)
    seen: dict[Any, set[str]] = {}
    while todo:
        op = todo.pop()
        new = [(key, p) for leaf in leaves_of(op) for key, p in _of_leaf(leaf)]
        for owner in families_of(op):
            family = owner.identity
            names = seen.get(family, set())
            more = names | {leaf.name for leaf in leaves_of(op) if leaf.owner.identity == family}
            if more != names:
                seen[family] = more
                known = {name for where, name in found if where == family}
                rules = [r for r in axioms_for(owner, more) if r.name not in known]
                new += [((family, r.name), Premise(r, *r.expressions(owner))) for r in rules]
        for key, premise in new:
            if key not in found:
                found[key] = premise
                todo += [premise.lhs, premise.rhs]
    return list(found.values())


def _of_leaf(leaf: Leaf) -> Iterator[tuple[Any, Premise]]:
    """What defines a leaf that a recursion or an inversion has made."""
    for name, cites, lhs, rhs in laws_of(leaf):
        yield (name, leaf.upright().key), Premise(law(name, (cites,), lhs, rhs), lhs, rhs)


def law(name: str, cites: tuple[str, ...], lhs: Expression, rhs: Expression) -> Law:
    """lhs = rhs as a law."""
    return Law(name, cites, f"{text(lhs)} = {text(rhs)}", f"{latex(lhs)} = {latex(rhs)}")
