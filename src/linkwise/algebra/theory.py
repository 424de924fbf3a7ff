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
from .kinds import Leaf, leaves_of
from .leaves import Leaves
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
_MOST_SYSTEMS = 256


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
    families: dict[Any, tuple[Any, set[str]]] = {}  # of the leaves that appear: whose, and their names
    todo, fresh = list(expressions), True
    while todo or fresh:
        new: list[tuple[Any, Premise]] = []
        fresh = False
        for op in todo:
            for leaf in leaves_of(op):
                new += _of_leaf(leaf)
                names = families.setdefault(leaf.owner.identity, (leaf.owner, set()))[1]
                fresh = fresh or leaf.name not in names
                names.add(leaf.name)
        if fresh:
            everything = {name for _, names in families.values() for name in names}
            for family, (owner, names) in families.items():
                rules = [r for r in axioms_for(owner, names, everything) if (family, r.name) not in found]
                new += [((family, r.name), _premise(r, owner)) for r in rules]
        todo = []
        for key, premise in new:
            if key not in found:
                found[key] = premise
                todo += [premise.lhs, premise.rhs]
    return list(found.values())


def _premise(rule: Rule, owner: Leaves) -> Premise:
    """An axiom between the leaves of a family; along a direction its formula names that."""
    lhs, rhs = rule.expressions(owner)
    return Premise(rule if owner.direction is None else law(rule.name, rule.cites, lhs, rhs), lhs, rhs)


def _of_leaf(leaf: Leaf) -> Iterator[tuple[Any, Premise]]:
    """What defines a leaf that a recursion or an inversion has made."""
    for name, cites, lhs, rhs in laws_of(leaf):
        yield (name, leaf.upright().key), Premise(law(name, (cites,), lhs, rhs), lhs, rhs)


def law(name: str, cites: tuple[str, ...], lhs: Expression, rhs: Expression) -> Law:
    """lhs = rhs as a law."""
    return Law(name, cites, f"{text(lhs)} = {text(rhs)}", f"{latex(lhs)} = {latex(rhs)}")
