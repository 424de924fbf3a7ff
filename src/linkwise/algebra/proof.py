"""Proofs: chains of equal expressions, each step with the rule it rests on and its check on random robots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from . import typeset
from .expression import Expression
from .printing import latex, text
from .rules import Rule, is_axiom, is_known
from .theory import Law

if TYPE_CHECKING:
    from .check import IdentityReport

DISTRIBUTIVITY = Law("distributivity", (), "A (B + C) = A B + A C")
OWN_ADJOINT = Law("a number is its own adjoint", (), "x = x*")


@dataclass(frozen=True, eq=False)
class Lemma(Law):
    """A law that was derived from the axioms on the way; ``steps`` are its own derivation, from 0 to lhs − rhs."""

    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, eq=False)
class Step:
    """One equality of a proof: ``before`` = ``expression`` by ``rule`` (read from right to left where ``backwards``).

    ``worst`` is the largest difference on random robots, relative to the size of the terms; ``holds`` compares it
    with the tolerance.
    """

    rule: Rule | Law
    before: Expression
    expression: Expression
    backwards: bool = False
    holds: bool = True
    worst: float = 0.0
    follows: bool = True  # whether it follows from the rule by algebra: of a line that somebody wrote

    @property
    def formula(self) -> str:
        """The equality as text."""
        return f"{text(self.before)} = {text(self.expression)}"

    def __getstate__(self) -> dict[str, Any]:
        rule = self.rule
        if isinstance(rule, Rule) and not (is_known(rule) or is_axiom(rule)):  # two functions of the user's
            rule = Law(rule.name, rule.cites, rule.formula, rule.latex)
        return {**self.__dict__, "rule": rule}

    @property
    def T(self) -> Step:
        """The same equality between the adjoints."""
        return replace(self, before=self.before.T, expression=self.expression.T)

    @property
    def reason(self) -> str:
        """The rule's name, its formula and where it is printed."""
        known = f"{self.rule.name}: {self.rule.formula}" if self.rule.formula else self.rule.name
        cites = f"   ({'; '.join(self.rule.cites)})" if self.rule.cites else ""
        return f"{known}{' read backwards' if self.backwards else ''}{cites}"

    @property
    def cited(self) -> str:
        """Where the rule is printed, or its name."""
        return f"({'; '.join(self.rule.cites) or self.rule.name})"

    def __str__(self) -> str:
        failed = "" if self.holds else f"   DOES NOT HOLD: worst relative difference {self.worst:.2g}"
        failed += "" if self.follows else "   DOES NOT FOLLOW"
        return f"= {text(self.expression)}\n      by {self.reason}{failed}"


@dataclass(frozen=True, eq=False)
class Proof:
    """What :func:`linkwise.prove` found; true where every step was found and holds on the random robots.

    ``verdict`` is "proved", "false" (``report`` has a robot on which the sides differ), "not found" (the sides agree on
    random robots, but ``left``, what remains of their difference, was not shown to be zero) or "wrong step"; of several
    ``cases``, the first that is not proved decides.
    """

    lhs: Expression
    rhs: Expression
    verdict: str
    steps: tuple[Step, ...] = ()
    left: Expression | None = None
    report: IdentityReport | None = None
    requires: frozenset[str] = frozenset()
    about: str = ""  # "rotors", "coupled joints": what the robots of this proof have
    robots: int = 0
    hint: str = ""
    cases: tuple[Proof, ...] = field(default=(), repr=False)  # with rotors, with coupled joints, where asked for

    def __bool__(self) -> bool:
        return self.verdict == "proved" and all(self.cases)

    @property
    def formula(self) -> str:
        """The claim as text."""
        return f"{text(self.lhs)} = {text(self.rhs)}"

    @property
    def rules(self) -> tuple[Rule | Law, ...]:
        """What the steps rest on, each once."""
        return tuple({(s.rule.name, s.rule.formula): s.rule for s in self.steps}.values())

    @property
    def lemmas(self) -> tuple[Lemma, ...]:
        """The derived laws that the proof uses, those that others rest on first."""
        found: dict[tuple[str, str], Lemma] = {}
        for step in self.steps:
            _gather(step.rule, found)
        return tuple(found.values())

    @property
    def axioms(self) -> tuple[Rule | Law, ...]:
        """What the proof rests on in the end."""
        steps = [*self.steps, *(s for lemma in self.lemmas for s in lemma.steps)]
        plain = {s.rule.name: s.rule for s in steps if not isinstance(s.rule, Lemma)}
        return tuple(r for r in plain.values() if r not in (DISTRIBUTIVITY, OWN_ADJOINT))

    @property
    def worst(self) -> float:
        """The largest relative difference over all steps and random robots."""
        return max((s.worst for s in self._all_steps()), default=0.0)

    @property
    def wrong(self) -> tuple[Step, ...]:
        """The steps, of lemmas too, that fail on the random robots, or do not follow from their rules."""
        return tuple(s for s in self._all_steps() if not (s.holds and s.follows))

    def _all_steps(self) -> Iterator[Step]:
        yield from self.steps
        for lemma in self.lemmas:
            yield from lemma.steps

    def __str__(self) -> str:
        needs = f"   [{', '.join(sorted(self.requires))}]" if self.requires else ""
        lines = [f"{self.formula}{needs}", ""]
        for lemma in self.lemmas:
            lines += [f"  {lemma.name}: {lemma.formula}", *_derived(lemma), ""]
        if self.steps:
            lines += [f"    {text(self.steps[0].before)}", *(f"  {step}" for step in self.steps), ""]
        lines += self._words()
        for case in self.cases:
            lines += ["", f"With {case.about}:", str(case)]
        return "\n".join(lines)

    def _words(self) -> list[str]:
        failed = [case.about for case in self.cases if not case]
        if self.verdict == "proved" or (failed and self.left is None and self.steps):
            words = f"Proved in {len(self.steps)} steps"
            if self.lemmas:
                words += f" and {sum(len(x.steps) for x in self.lemmas)} of lemmas"
            robots = f"{self.robots} random robots"
            shown = f"{words}; every step holds on {robots}, worst relative difference {self.worst:.1e}."
            return [shown, *(f"Not with {about}: see there." for about in failed)]
        if self.wrong:
            how = {True: "does not give", False: "does not hold"}
            return [f"WRONG STEP: {s.rule.name} {how[s.holds]} ({s.formula})" for s in self.wrong]
        if self.verdict == "false":
            return ["FALSE.", str(self.report), *self._remains()]
        return ["NOT FOUND: the sides agree on random robots, but no chain of rules was found.", *self._remains()]

    def _remains(self) -> list[str]:
        lines = [] if self.left is None else [f"What is left of lhs - rhs: {text(self.left)}"]
        return [*lines, *([self.hint] if self.hint else [])]

    def _repr_latex_(self) -> str:
        if not self.steps:
            return rf"${latex(self.lhs)} = {latex(self.rhs)} \quad {typeset.in_formula(f'({self.verdict})')}$"
        first, *rest = [rf"={latex(step.expression)} && {typeset.in_formula(step.cited)}" for step in self.steps]
        lines = [f"{latex(self.steps[0].before)} &{first}", *(f"&{line}" for line in rest)]
        return f"$${typeset.aligned(lines)}$$"

    def _repr_html_(self) -> str:
        """The claim, the lemmas, every step with its reason, and the verdict, for notebooks."""
        parts = [typeset.formula(f"{latex(self.lhs)} = {latex(self.rhs)}")]
        for lemma in self.lemmas:
            parts += [typeset.words(f"{lemma.name}: {lemma.formula}"), typeset.steps([("0", ""), *_rows(lemma.steps)])]
        if self.steps:
            parts.append(typeset.steps([(latex(self.steps[0].before), ""), *_rows(self.steps)]))
        parts += [typeset.words(line) for line in self._words()]
        for case in self.cases:
            parts += [typeset.words(f"With {case.about}:"), case._repr_html_()]
        return typeset.page(parts)


def _rows(steps: tuple[Step, ...]) -> list[tuple[str, str]]:
    failed = " DOES NOT HOLD", " DOES NOT FOLLOW"
    return [
        (f"= {latex(s.expression)}", s.reason + ("" if s.holds else failed[0]) + ("" if s.follows else failed[1]))
        for s in steps
    ]


def _gather(rule: Rule | Law, found: dict[tuple[str, str], Lemma]) -> None:
    key = (rule.name, rule.formula)
    if isinstance(rule, Lemma) and key not in found:
        for step in rule.steps:
            _gather(step.rule, found)
        found[key] = rule


def _derived(lemma: Lemma) -> list[str]:
    return ["    0", *(f"    {step}".replace("\n", "\n  ") for step in lemma.steps)]
