"""Completion: from axioms to a system of rewriting rules that settles what follows from them.

The axioms become rules leading word → smaller words. Where two rules meet on one word they may disagree; what they
say about each other is reduced and becomes a rule of its own, a lemma, until nothing new comes (Knuth and Bendix;
for polynomials in words Buchberger, Mora). Adjoints of rules are rules. Every lemma keeps where it comes from, so that
a proof that uses it can be taken back to the axioms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heapify, heappop, heappush
from typing import Any, overload

from ..errors import LinkwiseError
from .words import ALPHABET, Polynomial, Word, add, scaled, within


@dataclass(eq=False)
class Rewrite:
    """word → polynomial. ``source`` is an axiom's rule, or the overlap of two rewrites that led to it."""

    lead: Word
    rest: Polynomial
    source: Any
    given: Polynomial  # the relation that the source gave
    uses: list[Use]  # what it was reduced by before it became this rewrite

    @property
    def root(self) -> Rewrite:
        """The rewrite that this is the adjoint of, or itself."""
        return self.source.of.root if isinstance(self.source, Adjoint) and not self.uses else self

    @property
    def relation(self) -> Polynomial:
        """lead − rest."""
        out = scaled(self.rest, -1)
        add(out, {self.lead: 1})
        return out


@dataclass(frozen=True, eq=False)
class Overlap:
    """A word that two rewrites reduce: the first at its beginning, the second behind ``at`` letters."""

    word: Word
    first: Rewrite
    second: Rewrite
    at: int


@dataclass(frozen=True, eq=False)
class Adjoint:
    """A rewrite read as its adjoint."""

    of: Rewrite


@dataclass(frozen=True, eq=False)
class Displaced:
    """A rewrite that left as a newer one reduces its leading word."""

    of: Rewrite


@dataclass(eq=False)
class Use:
    """One rewrite applied to one word of a polynomial: left lead right → left rest right."""

    rewrite: Rewrite
    left: Word
    right: Word

    @property
    def word(self) -> Word:
        return self.left + self.rewrite.lead + self.right

    def apply(self, p: Polynomial) -> None:
        """Rewrite the word in a polynomial."""
        add(p, within(self.left, self.rewrite.rest, self.right), p.pop(self.word))


@dataclass(eq=False)
class System:
    """Rewriting rules, completed up to words of a bounded weight and a bounded number of rules."""

    rewrites: dict[int, list[Rewrite]] = field(default_factory=dict)  # by the first letter of the leading word
    complete: bool = False
    count: int = 0
    memory: dict[Word, Use | None] = field(default_factory=dict, repr=False)  # where rules fit, once completed

    def all(self) -> list[Rewrite]:
        return [r for group in self.rewrites.values() for r in group]

    def find(self, word: Word) -> Use | None:
        """The first place where a rule fits."""
        for i, letter in enumerate(word):
            for r in self.rewrites.get(letter, ()):
                n = len(r.lead)
                if word[i : i + n] == r.lead:
                    return Use(r, word[:i], word[i + n :])
        return None

    @overload
    def reduced(self, p: Polynomial, uses: list[Use] | None = None) -> Polynomial: ...
    @overload
    def reduced(self, p: Polynomial, uses: list[Use], most: int) -> Polynomial | None: ...
    def reduced(self, p: Polynomial, uses: list[Use] | None = None, most: int | None = None) -> Polynomial | None:
        """The polynomial after all rules; ``uses`` collects which were applied, greatest words first.

        Nothing comes back where more than ``most`` uses would be needed.
        """
        todo, done = dict(p), Polynomial()
        greatest = [(ALPHABET.downwards(word), word) for word in todo]
        heapify(greatest)
        while todo:
            _, word = heappop(greatest)
            c = todo.pop(word, None)
            if c is None:  # cancelled since
                continue
            use = self.find(word)
            if use is None:
                done[word] = c
                continue
            if uses is not None:
                uses.append(use)
                if most is not None and len(uses) > most:
                    return None
            put = within(use.left, use.rewrite.rest, use.right)
            for new in put:
                if new not in todo:
                    heappush(greatest, (ALPHABET.downwards(new), new))
            add(todo, put, c)
        return done


MOST_RULES = 400
LONGEST = 8  # letters of a word on which two rules are compared
MOST_TERMS = 30  # of a lemma


def completed(axioms: list[tuple[Any, Polynomial]]) -> System:
    """The system of these relations (each is zero), with what its rules say about each other.

    Where it is ``complete`` it settles every question about its axioms. Otherwise longer lemmas than the bounds
    allow were left out, and something may follow from the axioms that the system does not see.
    """
    system = System(complete=True)
    queue: list[tuple[Any, int, Any, Polynomial]] = []
    serial = 0
    for source, relation in axioms:
        if relation:
            heappush(queue, (ALPHABET.order(ALPHABET.leading(relation)), serial, source, relation))
            serial += 1
    while queue and system.count < MOST_RULES:
        _, _, source, relation = heappop(queue)
        if isinstance(source, Overlap) and not (_alive(system, source.first) and _alive(system, source.second)):
            continue
        given, uses = relation, list[Use]()
        relation = system.reduced(given, uses)
        if not relation:
            continue
        if len(relation) > MOST_TERMS and isinstance(source, Overlap):
            system.complete = False
            continue
        if not any(relation):
            raise LinkwiseError(f"the relations contradict each other: I = 0 follows (the last was {source})")
        new = Rewrite(*_oriented(relation), source, given, uses)
        system.count += 1
        waiting: list[tuple[Any, Any, Polynomial]] = [
            (ALPHABET.order(old.lead), Displaced(old), old.relation) for old in _displaced(system, new)
        ]
        system.rewrites.setdefault(new.lead[0], []).append(new)
        adjoint = ALPHABET.adjoint(new.relation)
        waiting.append((ALPHABET.order(ALPHABET.leading(adjoint)), Adjoint(new), adjoint))
        for overlap in _overlaps(system, new):
            if len(overlap.word) > LONGEST:
                system.complete = False
                continue
            waiting.append((ALPHABET.order(overlap.word), overlap, _difference(overlap)))
        for order, what, relation in waiting:
            heappush(queue, (order, serial, what, relation))
            serial += 1
    system.complete = system.complete and not queue
    return system


def _alive(system: System, r: Rewrite) -> bool:
    return any(r is x for x in system.rewrites.get(r.lead[0], ()))


def _oriented(relation: Polynomial) -> tuple[Word, Polynomial]:
    """A relation as leading word → the rest."""
    lead = ALPHABET.leading(relation)
    c = relation[lead]
    return lead, {w: _divided(-d, c) for w, d in relation.items() if w != lead}


def _divided(a: Any, b: Any) -> Any:
    value = Fraction(a) / Fraction(b)
    return int(value) if value.denominator == 1 else value


def _displaced(system: System, new: Rewrite) -> list[Rewrite]:
    """Old rules whose leading word the new one reduces: they leave, and come back reduced."""
    out = []
    n = len(new.lead)
    for first, group in system.rewrites.items():
        gone = [r for r in group if any(r.lead[i : i + n] == new.lead for i in range(len(r.lead) - n + 1))]
        system.rewrites[first] = [r for r in group if r not in gone]
        out += gone
    return out


def _overlaps(system: System, new: Rewrite) -> list[Overlap]:
    out = []
    for r in system.all():
        pairs = [(new, r)] if r is new else [(new, r), (r, new)]
        for a, b in pairs:
            for n in range(1, min(len(a.lead), len(b.lead))):
                if a.lead[-n:] == b.lead[:n]:
                    out.append(Overlap(a.lead + b.lead[n:], a, b, len(a.lead) - n))
    return out


def _difference(o: Overlap) -> Polynomial:
    """What the two ways of reducing the word say: their difference is zero."""
    out = within((), o.first.rest, o.word[len(o.first.lead) :])
    add(out, within(o.word[: o.at], o.second.rest, ()), -1)
    return out
