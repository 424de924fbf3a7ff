"""Expressions as polynomials in words of leaves: what proofs and canonical forms are worked out with.

A word is a product of leaves, a polynomial a sum of words with rational numbers before them; the adjoint reverses
words. Every sum and product of operators is one polynomial, so that formulas which differ by distributivity alone
are the same. Words are ordered by weight, then letter by letter; weights put what is defined before what it is
defined by (:data:`WEIGHTS`), so that rewriting towards smaller words eliminates definitions.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

from .expression import Expression, Identity, Inclusion, Product, Sum, Zero, product, total
from .kinds import Leaf, UserBlockDiagonal, leaves_of
from .rate import Rate
from .spaces import Space

Number = int | Fraction
Word = tuple[int, ...]
Polynomial = dict[Word, Number]

# What is defined by others weighs more than its definition; R, Υ and their like more than the articulated family.
WEIGHTS = {
    "phi_tilde": 10, "psi_tilde": 10, "K": 10, "L": 20, "tau": 10, "tau_bar": 20, "E_psi": 20, "Delta_psi": 20,
    "P_plus": 20, "M": 40, "G_hat": 80, "K_hat": 100, "rotor_inertia": 20, "rotor_coupling": 20,
    "P_ring": 50, "Pi_dot": 12, "R": 30, "Upsilon": 40, "Upsilon_plus": 200, "H_dot": 20, "V_tilde": 10,
    "H_ring": 30, "D_ring": 90, "G_ring": 160, "tau_bar_ring": 200, "E_psi_ring": 240, "D_root_ring": 120,
    "E_I": 5, "Phi_I": 5,
    "V": 4, "coriolis": 34, "alpha": 38, "gyroscopic": 58, "f": 82, "T": 86, "Psi_dot": 13,
}  # fmt: skip
_DRIVEN, _OWN, _OTHER, _RATE = 30, 60, 1, 100_000

# Where weights are equal, letters later in this list come first in words that lead: P H* gives way to G D.
_ORDER = ("D_inverse", "D", "D_root_inverse", "D_root", "G", "E_phi", "phi", "psi", "H", "P")


_AFTER_ALL = (inf,)  # a word that goes on is greater than one that ends


class Alphabet:
    """Numbers for leaves. Leaves of different robots with the same key are the same letter."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.adjoints: list[int] = []
        self.weights: list[int] = []
        self.ranks: list[tuple[int, int, int]] = []
        self.parts: dict[int, tuple[int, bool]] = {}  # of a stack: which part, and whether it is taken out

    def letter(self, leaf: Expression) -> int:
        """The number of a leaf."""
        found = self.numbers.get(leaf.key)
        return self._enter(leaf) if found is None else found

    def _enter(self, leaf: Expression) -> int:
        first = len(self.adjoints)
        sides = [leaf] if leaf.T.key == leaf.key else [leaf, leaf.T]
        name = leaf.name if isinstance(leaf, Leaf) else ""
        rank = _ORDER.index(name) if name in _ORDER else len(_ORDER)
        for i, side in enumerate(sides):
            self.numbers[side.key] = first + i
            self.adjoints.append(first + len(sides) - 1 - i)
            self.weights.append(_weight(leaf))
            flipped = isinstance(side, Leaf) and side.flipped
            self.ranks.append((rank, int(flipped), first))
            if isinstance(side, Inclusion):
                self.parts[first + i] = (side.index, side.flipped)
        return first

    def order(self, word: Word) -> tuple[Any, ...]:
        """What words are compared by."""
        return (sum(self.weights[x] for x in word), [self.ranks[x] for x in word])

    def downwards(self, word: Word) -> tuple[Any, ...]:
        """The same comparison the other way round, for heaps, from which the greatest comes first."""
        ranks = [(-a, -b, -c) for a, b, c in (self.ranks[x] for x in word)]
        return (-sum(self.weights[x] for x in word), [*ranks, _AFTER_ALL])

    def leading(self, p: Polynomial) -> Word:
        """The greatest word of a polynomial."""
        return max(p, key=self.order)

    def adjoint(self, p: Polynomial) -> Polynomial:
        """p*."""
        flip = self.adjoints
        return {tuple(flip[x] for x in reversed(word)): c for word, c in p.items()}


def _weight(leaf: Expression) -> int:
    if not isinstance(leaf, Leaf):
        return _OTHER
    if isinstance(leaf, Rate):  # more than all that its rule gives
        return _RATE * len(leaves_of(leaf.inner)) + _nodes(leaf.inner)
    if isinstance(leaf, UserBlockDiagonal):
        return _OWN
    if leaf.driver is not None:
        return _DRIVEN
    return WEIGHTS.get(leaf.name, _OTHER)


def _nodes(op: Expression) -> int:
    """How many sums and products an expression has."""
    parts = [t for _, t in op.terms] if isinstance(op, Sum) else op.factors if isinstance(op, Product) else ()
    return sum(_nodes(x) for x in parts) + (1 if parts else 0)


ALPHABET = Alphabet()


class Dictionary:
    """The leaves behind letters, for one robot: what polynomials are turned back into expressions with."""

    def __init__(self) -> None:
        self.leaves: dict[int, Expression] = {}

    def polynomial(self, op: Expression) -> Polynomial:
        """An expression with everything multiplied out."""
        if isinstance(op, Zero):
            return {}
        if isinstance(op, Identity):
            return {(): 1}
        if isinstance(op, Sum):
            out: Polynomial = {}
            for c, term in op.terms:
                add(out, self.polynomial(term), rational(c))
            return out
        if isinstance(op, Product):
            out = {(): 1}
            for factor in op.factors:
                out = met(multiplied(out, self.polynomial(factor)))
            return out
        return {(self.letter(op),): 1}

    def letter(self, leaf: Expression) -> int:
        """The letter of a leaf, which this dictionary then knows."""
        found = ALPHABET.letter(leaf)
        if found not in self.leaves:
            self.leaves[found] = leaf
            self.leaves.setdefault(ALPHABET.adjoints[found], leaf.T)
        return found

    def word(self, word: Word, rows: Space) -> Expression:
        """A word as an expression."""
        return product([self.leaves[x] for x in word]) if word else Identity(rows)

    def expression(self, p: Polynomial, rows: Space, cols: Space) -> Expression:
        """A polynomial as an expression, what is added before what is taken away, its greatest words first."""
        if not p:
            return Zero(rows, cols)
        words = sorted(sorted(p, key=ALPHABET.order, reverse=True), key=lambda word: p[word] < 0)
        return total([(float(p[w]), self.word(w, rows)) for w in words])


def rational(c: float) -> Number:
    """A coefficient as the fraction that a person would have meant: 0.1 is 1/10."""
    if c == int(c):
        return int(c)
    near = Fraction(c).limit_denominator(1000)
    return near if abs(float(near) - c) <= 1e-15 * abs(c) else Fraction(c)


def add(p: Polynomial, q: Polynomial, c: Number = 1) -> None:
    """p += c q."""
    for word, d in q.items():
        value = p.get(word, 0) + c * d
        if value:
            p[word] = value
        else:
            p.pop(word, None)


def multiplied(p: Polynomial, q: Polynomial) -> Polynomial:
    """p q."""
    out: Polynomial = {}
    for left, c in p.items():
        add(out, {left + right: d for right, d in q.items()}, c)
    return out


def met(p: Polynomial) -> Polynomial:
    """p with E_i*E_i = I and E_i*E_j = 0 in its words, where it has parts of stacks."""
    parts = ALPHABET.parts
    if not parts or not any(x in parts for word in p for x in word):
        return p
    out: Polynomial = {}
    for word, c in p.items():
        kept: list[int] | None = []
        for x in word:
            assert kept is not None
            last = parts.get(kept[-1]) if kept else None
            here = parts.get(x)
            if last is None or here is None or not last[1] or here[1]:
                kept.append(x)
            elif last[0] == here[0]:
                kept.pop()
            else:
                kept = None
                break
        if kept is not None:
            add(out, {tuple(kept): 1}, c)
    return out


def within(left: Word, p: Polynomial, right: Word) -> Polynomial:
    """left p right."""
    return {left + word + right: c for word, c in p.items()}


def scaled(p: Polynomial, c: Number) -> Polynomial:
    """c p."""
    return {word: c * d for word, d in p.items()}
