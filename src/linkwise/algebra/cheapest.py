"""simplify: the cheapest of the forms of an expression that its canonical form and the papers' identities give.

The canonical form (:mod:`.theory`) decides what is zero, and what is equal; it is seldom cheap, as definitions are
written out in it. So it is factored and the identities are applied to it, and the cheapest form is taken, where that
is cheaper than what the identities alone give: by a rough price, and, for robots of few degrees of freedom, by exact
operation counts. The work is bounded by the words of the expression when multiplied out and by the rewritings: beyond
that the identities alone are applied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..codegen.thresholds import MOST_COMPARED
from .binding import Binding
from .completion import Adjoint, Displaced, Overlap, Rewrite, Use
from .expression import Expression, Identity, Product, Sum, Zero
from .kinds import Leaf, leaves_of
from .operator import bound
from .price import brings_in_nothing, price
from .rewrite import factor
from .rules import Rule, cost, rule
from .rules import simplify as by_identities
from .theory import Law, Theory

MOST_WORDS = 256  # of an expression multiplied out
MOST_USES = 4000  # of rules on the way to the canonical form
MOST_TERMS = 64  # of a canonical form that is brought into others: longer ones are never the cheaper


def simplify(op: Expression) -> Expression:
    """The cheapest known form; ``used`` tells which identities led to it."""
    out = by_identities(op)
    if isinstance(out, (Leaf, Identity, Zero)) or _words(out) > MOST_WORDS:
        return out
    if any(leaf.owner.q is not None for leaf in leaves_of(out)):  # with numbers: formulas are worked out without
        return out
    return min((form for form in _from_canonical(out) if _is_cheaper(form, out)), key=price, default=out)


def simplify_for(op: Expression, binding: Binding) -> Expression:
    """As :func:`simplify`, with exact operation counts deciding for robots of up to :data:`MOST_COMPARED` dofs."""
    from .explain import operation_count

    plain, found = by_identities(op), simplify(op)
    if (
        found.key == plain.key
        or isinstance(found, (Leaf, Identity, Zero))
        or sum(m.nv for m in binding.models) > MOST_COMPARED
    ):
        return found
    counts = [operation_count(bound(form, binding)) for form in (plain, found)]
    if None in counts:  # blocks of the user's own vary over a batch
        return found
    return min(zip((found, plain), reversed(counts)), key=lambda pair: pair[1].total if pair[1] else 0)[0]


def _is_cheaper(form: Expression, op: Expression) -> bool:
    """By both prices, and without recursions that the expression does without."""
    return price(form) <= _WORTH * price(op) and cost(form) <= cost(op) and brings_in_nothing(form, op)


_WORTH = 0.9  # another form than the identities give is to be cheaper by a tenth: prices are rough


def _words(op: Expression) -> int:
    """How many words an expression has when it is multiplied out, at most."""
    if isinstance(op, Sum):
        return sum(_words(t) for _, t in op.terms)
    count = 1
    for f in op.factors if isinstance(op, Product) else ():
        count *= _words(f)
    return count


def _from_canonical(op: Expression) -> Iterator[Expression]:
    """Other forms of an expression, with the axioms behind them as used."""
    theory = Theory([op])
    uses: list[Use] = []
    p = theory.system.reduced(theory.dictionary.polynomial(op), uses, MOST_USES)
    if p and not theory.system.complete:  # the adjoint may be nearer to zero
        turned: list[Use] = []
        if not (q := theory.system.reduced(theory.dictionary.polynomial(op.T), turned, MOST_USES)) and q is not None:
            p, uses = q, turned
    if p is None:
        return
    if len(p) > MOST_TERMS:
        return
    used = [*op.used, *rules_behind([use.rewrite for use in uses])]
    canonical = theory.printed(p, op).with_used(used)
    if not p:
        yield canonical
        return
    for form in (canonical, factor(canonical)):
        folded = by_identities(form)
        yield folded
        yield by_identities(factor(folded))


def rules_behind(rewrites: list[Rewrite]) -> list[Rule]:
    """The axioms that rewrites come from, as the papers' identities where they are such."""
    seen: set[int] = set()
    found: dict[str, Rule] = {}
    todo = list(rewrites)
    while todo:
        r = todo.pop()
        if id(r) in seen:
            continue
        seen.add(id(r))
        todo += [use.rewrite for use in r.uses]
        source: Any = r.source
        if isinstance(source, Overlap):
            todo += [source.first, source.second]
        elif isinstance(source, (Adjoint, Displaced)):
            todo.append(source.of)
        else:
            named = _named(source)
            if named is not None:
                found[named.name] = named
    return [found[name] for name in sorted(found)]


_RECURSIONS = {
    "recursion φφ": "lyapunov",
    "recursion ψφ": "articulated_lyapunov",
    "recursion ψ*ψ": "compliance_lyapunov",
    "recursion φ*φ⁻*": "rigid_commutator",
    "recursion ψ*φ⁻*": "articulated_commutator",
}


def _named(source: Rule | Law) -> Rule | None:
    """The identity of an axiom's name; a recursion counts as the identity that it is for."""
    if isinstance(source, Rule):
        return rule(source.name)
    return rule(_RECURSIONS[source.name]) if source.name in _RECURSIONS else None
