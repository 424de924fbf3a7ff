"""Derivations as a person writes them: a formula, and line by line the next one with the rules that give it.

Each line is checked twice: it must follow from the rules it names, by algebra alone, and hold on random robots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ..arguments import names, number, shown, whole
from ..errors import InputError
from .check import narrowed
from .expression import Expression
from .leaves import Leaves
from .proof import DISTRIBUTIVITY, Proof
from .prove import general_operators
from .random_robots import Drawing
from .rate import unfolded
from .rewrite import rules_named
from .rules import REASONS, Rule, rule
from .steps import Writer
from .theory import Law, Premise, Theory, found_premises, law
from .trials import draw

Formula = Callable[[Any], Any]  # of the operators, or of their leaves


def derive(
    start: Formula,
    *lines: tuple[str, Formula],
    requires: Iterable[str] = (),
    trials: int = 3,
    seed: int = 0,
    tolerance: float = 1e-9,
) -> Proof:
    """A derivation of your own, checked: ``start`` and then lines (rules, formula), each equal to the one before.

    Formulas are functions of the operators, such as ``lambda op: op.H @ op.phi``. The rules of a line are names, or
    places where they are printed, with a semicolon between them; "" is distributivity alone. Of d/dt(…) and δ(…),
    ``time_derivative(formal=True)``, "differentiation" is all rules of theirs, "product rule" or "derivative of φ" one.
    ``requires`` lists
    conditions, as in :func:`prove`; those of the rules are added. The :class:`Proof` that comes back is true where
    every line follows from its rules and holds on ``trials`` random robots; ``wrong`` has the lines that do not.
    """
    whole(trials, "trials", least=1)
    whole(seed, "seed")
    number(tolerance, "tolerance", least=0.0)
    if not lines:
        raise InputError("a derivation has at least one line (rules, formula) behind its start")
    for line in lines:
        if not (isinstance(line, tuple) and len(line) == 2 and isinstance(line[0], str)):
            raise InputError(f"a line of a derivation is (rules as text, formula), got {shown(line)}")
    named = [[_rule(name) for name in text.split(";") if name.strip()] for text, _ in lines]
    needs = frozenset(names(requires, "requires", "conditions")).union(
        *(r.requires for rules in named for r in rules if isinstance(r, Rule))
    )
    if needs - set(REASONS):
        raise InputError(f"unknown condition {sorted(needs - set(REASONS))[0]!r}; there are {', '.join(REASONS)}")
    drawing = narrowed(Drawing(), needs)
    leaves = general_operators(drawing).leaves
    formulas = [_formula(start, leaves), *(_formula(f, leaves) for _, f in lines)]
    theory = Theory(formulas, found_premises(formulas))  # (for its dictionary: all letters are drawn at once)
    writer = Writer(theory, draw(theory.dictionary, drawing, seed, trials), tolerance, {})
    steps = []
    for rules, before, after in zip(named, formulas, formulas[1:]):
        step = writer._step(_law(rules), before, after)
        steps.append(replace(step, follows=_follows(rules, before, after, leaves)))
    proof = Proof(formulas[0], formulas[-1], "proved", tuple(steps), requires=needs, robots=trials)
    return replace(proof, verdict="wrong step") if proof.wrong else proof


def _rule(name: str) -> Rule | Law:
    """A rule by its name (an axiom's too), or by the place where it is printed; or one of differentiation."""
    name = name.strip()
    if name in _CALCULUS or name.startswith("derivative of "):
        return Law(name)
    return rule(name) if name.isidentifier() else rules_named(name)[0]


_CALCULUS = ("differentiation", "product rule")  # all of them, or one


def _premises(named: Rule | Law, before: Expression, after: Expression, leaves: Leaves) -> list[Premise]:
    """What a rule says there; those of differentiation speak of the derivatives in both lines."""
    if isinstance(named, Rule):
        return [Premise(named, *named.expressions(leaves))]
    steps = [*unfolded(before), *unfolded(after)]
    kept = [u for u in steps if named.name in ("differentiation", u.name)]
    return [Premise(law(u.name, (u.cites,), u.rate, u.found), u.rate, u.found) for u in kept]


def _formula(formula: Formula, leaves: Leaves) -> Expression:
    if not callable(formula):
        raise InputError(f"a formula is a function of the operators, got {shown(formula)}")
    out = formula(leaves)
    if not isinstance(out, Expression):
        raise InputError(f"each formula must give an operator, got {type(out).__name__}")
    return out


def _law(rules: list[Rule | Law]) -> Rule | Law:
    """What a line rests on, as one."""
    if len(rules) == 1:
        return rules[0]
    if not rules:
        return DISTRIBUTIVITY
    cites = tuple(dict.fromkeys(cite for r in rules for cite in r.cites[:1]))
    return Law("; ".join(r.name for r in rules), cites, "; ".join(r.formula for r in rules if r.formula))


def _follows(rules: list[Rule | Law], before: Expression, after: Expression, leaves: Leaves) -> bool:
    """Whether a line follows from its rules alone."""
    premises = [p for r in rules for p in _premises(r, before, after, leaves)]
    theory = Theory([before, after], premises)
    return not theory.normal(before - after) or not theory.normal((before - after).T)
