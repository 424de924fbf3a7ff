"""One rule, applied where the user says: an expression rewritten by an identity, multiplied out, or factored.

A rule fits a run of neighbouring factors or some terms of a sum, as it stands or as its adjoint, at any depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

from ..arguments import flag, shown, whole
from ..errors import InputError, NotAdmittedError, UnknownNameError
from . import spaces
from .expression import Expression, Identity, Product, Sum, Zero, product, total
from .kinds import families_of, leaves_of
from .leaves import Leaves
from .printing import text
from .rules import Rule, cost, identities
from .words import Dictionary

Made = Callable[[], Expression]  # the expression after a rewriting at one place


def rewrite(op: Expression, rule: str | Rule, *, backwards: bool | None = None, at: int | None = None) -> Expression:
    """The expression with one side of a rule put for the other; see :meth:`.operator.Operator.rewrite`."""
    if at is not None:
        whole(at, "at", least=0)
    if backwards is not None:
        flag(backwards, "backwards")
    refusals = []
    for candidate in rules_named(rule):
        for direction in (False, True) if backwards is None else (backwards,):
            places = list(_places_of_rule(op, candidate, direction))
            if places and (at or 0) < len(places):
                return places[at or 0]().with_used([*op.used, candidate])
            if places:
                count = "one place" if len(places) == 1 else f"{len(places)} places"
                refusals.append(f"{candidate.name} fits at {count}, so at= is at most {len(places) - 1}")
                break
        else:
            refusals.append(_refusal(op, candidate, backwards))
    raise NotAdmittedError("; ".join(dict.fromkeys(refusals)))


def rules_named(rule: str | Rule) -> list[Rule]:
    """The rules of a name, or those printed at a place such as "OA Lemma 4.1"."""
    if isinstance(rule, Rule):
        return [rule]
    if not isinstance(rule, str):
        raise InputError(f"a rule is given by its name, by where it is printed, or as a Rule, got {shown(rule)}")
    named = [r for r in identities() if r.name == rule]
    exact = [r for r in identities() if rule in r.cites]
    begun = [r for r in identities() if any(c.startswith((f"{rule} (", f"{rule},")) for c in r.cites)]
    within = [r for r in identities() if any(_cited(c, rule) for c in r.cites)]
    found = list(dict.fromkeys([*named, *begun, *exact, *within]))
    if not found:
        known = [r.name for r in identities()] + [c for r in identities() for c in r.cites]
        near = get_close_matches(rule, known, n=3, cutoff=0.5)
        hint = f"; near are {', '.join(map(repr, near))}" if near else ""
        raise UnknownNameError(f"no identity is named {rule!r} or printed there{hint}; see linkwise.identities()")
    return found


def _cited(cite: str, wanted: str) -> bool:
    """Whether "OA (4.5)" is part of "OA Lemma 4.2 (4.5)"."""
    paper, _, place = wanted.partition(" ")
    return bool(place) and cite.startswith(f"{paper} ") and place in cite and place.startswith("(")


# --- where a rule fits -----------------------------------------------------------------------------------


def _places_of_rule(op: Expression, rule: Rule, backwards: bool) -> Iterator[Made]:
    for owner in families_of(op):
        if not rule.admits(owner):
            continue
        for lhs, rhs in _instances(op, rule, owner):
            sides = (rhs, lhs) if backwards else (lhs, rhs)
            both = [sides] if sides[0].T.key == sides[0].key else [sides, (sides[0].T, sides[1].T)]
            for wanted, given in both:
                if not isinstance(wanted, (Identity, Zero)):
                    yield from _places(op, wanted, given)


def _instances(op: Expression, rule: Rule, owner: Leaves) -> Iterator[tuple[Expression, Expression]]:
    """The two sides; with a free X, for each block diagonal on the bodies that the expression has."""
    if not rule.free:
        yield rule.expressions(owner)
        return
    found = {x.key: x for x in leaves_of(op) if x.rows == x.cols == owner.bodies and x.relations <= spaces.MEMORYLESS}
    for X in found.values():
        yield rule.expressions(owner, X)


def _places(op: Expression, wanted: Expression, given: Expression) -> Iterator[Made]:
    """Every way to put ``given`` for one occurrence of ``wanted``, outermost and leftmost first."""
    if op.key == wanted.key:
        yield lambda: given
        return
    factors: Sequence[Expression] = op.factors if isinstance(op, Product) else ()
    run = wanted.factors if isinstance(wanted, Product) else (wanted,)
    keys = [f.key for f in run]
    for i in range(len(factors) - len(run) + 1):
        if [f.key for f in factors[i : i + len(run)]] == keys:
            yield partial(_replaced, factors, i, len(run), given)
    if isinstance(op, Sum):
        yield from _among_terms(op, wanted, given)
    for i, factor in enumerate(factors):
        if isinstance(factor, Sum):  # (a leaf was compared above)
            for made in _places(factor, wanted, given):
                yield partial(_replaced, factors, i, 1, made)


def _replaced(factors: Sequence[Expression], i: int, n: int, given: Expression | Made) -> Expression:
    inner = given if isinstance(given, Expression) else given()
    return product([*factors[:i], inner, *factors[i + n :]])


def _replaced_term(terms: Sequence[tuple[float, Expression]], i: int, made: Made) -> Expression:
    return total([*terms[:i], (terms[i][0], made()), *terms[i + 1 :]])


def _among_terms(op: Sum, wanted: Expression, given: Expression) -> Iterator[Made]:
    terms = op.terms
    if isinstance(wanted, Sum):
        have = {t.key: c for c, t in terms}
        if all(t.key in have for _, t in wanted.terms):
            ratio, *others = [have[t.key] / c for c, t in wanted.terms]
            if all(abs(x - ratio) <= 1e-14 * abs(ratio) for x in others):
                gone = {t.key for _, t in wanted.terms}
                rest = [(c, t) for c, t in terms if t.key not in gone]
                yield lambda: total([*rest, (ratio, given)])
        return
    for i, (_, term) in enumerate(terms):
        for made in _places(term, wanted, given):
            yield partial(_replaced_term, terms, i, made)


def _refusal(op: Expression, rule: Rule, backwards: bool | None) -> str:
    owners = families_of(op)
    if not owners:
        return f"{rule.name} does not fit: {text(op)} has no operators"
    if not any(rule.admits(o) for o in owners):
        return str(rule.refusal(owners[0]))
    sides = [s for o in owners if rule.admits(o) for pair in _instances(op, rule, o) for s in pair]
    wanted = sides[:1] if backwards is False else sides[1:2] if backwards else sides[:2]
    near = max((_nearest(op, s) for s in sides), key=len, default="")
    looked = " nor ".join(text(s) for s in wanted if not isinstance(s, (Identity, Zero)))
    hint = f" (near is {near})" if near else ""
    return f"{rule.name} ({rule.formula}) does not fit: {text(op)} has no {looked or 'block diagonal X'}{hint}"


def _nearest(op: Expression, wanted: Expression) -> str:
    """The longest run of the wanted factors that the expression has."""
    best: tuple[Expression, ...] = ()
    for side in (wanted, wanted.T):
        run = side.factors if isinstance(side, Product) else ()
        for i in range(len(run)):
            for j in range(i + 2, len(run) + 1):
                part = product(run[i:j])
                if j - i > len(best) and next(_places(op, part, part), None) is not None:
                    best = tuple(run[i:j])
    return text(product(best)) if best else ""


# --- distributivity ----------------------------------------------------------------------------------------


def expand(op: Expression) -> Expression:
    """Everything multiplied out: a sum of products of leaves."""
    dictionary = Dictionary()
    p = dictionary.polynomial(op)
    if not p:
        return Zero(op.rows, op.cols).with_used(op.used)
    return total([(float(c), dictionary.word(w, op.rows)) for w, c in p.items()]).with_used(op.used)


def factor(op: Expression) -> Expression:
    """Common factors at the left and at the right of terms taken out, the dearest first."""
    if isinstance(op, Product):
        return product([factor(f) for f in op.factors]).with_used(op.used)
    if not isinstance(op, Sum):
        return op
    terms = [(c, _factors(t)) for c, t in op.terms]
    groups: dict[Any, list[int]] = {}
    for i, (_, factors) in enumerate(terms):
        for end in (0, -1) if factors else ():
            groups.setdefault((end, factors[end].key), []).append(i)
    worth = {key: (len(where) - 1) * cost(terms[where[0]][1][key[0]]) for key, where in groups.items()}
    best = max(worth, key=lambda key: worth[key], default=None)
    if best is None or worth[best] <= 0:
        return total([(c, factor(t)) for c, t in op.terms]).with_used(op.used)
    end, where = best[0], groups[best]
    common = terms[where[0]][1][end]
    space = common.cols if end == 0 else common.rows
    inner = [(c, product(rest) if rest else Identity(space)) for c, rest in (_without(terms[i], end) for i in where)]
    sign, bracket = _signed(factor(total(inner)))
    taken = product([common, bracket] if end == 0 else [bracket, common])
    rest = [term for i, term in enumerate(op.terms) if i not in where]
    if not rest:
        return (sign * taken).with_used(op.used)
    return factor(total([(sign, taken), *rest] if sign > 0 else [*rest, (sign, taken)])).with_used(op.used)


def _signed(op: Expression) -> tuple[float, Expression]:
    """±1 and the expression, so that brackets which differ by their sign become the same."""
    if not isinstance(op, Sum):
        return 1.0, op
    first = next((c for c, t in op.terms if isinstance(t, Identity)), op.terms[0][0])
    return (-1.0, -op) if first < 0 else (1.0, op)


def _factors(op: Expression) -> tuple[Expression, ...]:
    return op.factors if isinstance(op, Product) else () if isinstance(op, Identity) else (op,)


def _without(term: tuple[float, tuple[Expression, ...]], end: int) -> tuple[float, tuple[Expression, ...]]:
    c, factors = term
    return c, factors[1:] if end == 0 else factors[:-1]
