"""What applying an expression costs, roughly, in operations per body, without tracing it: what forms are compared by.

Equal parts applied to equal arguments count once, terms that begin with the same factor share its sweep, and so does a
shift that follows a propagation across the same edges: as in the compiled program.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from .expression import Expression, Identity, Inclusion, Product, Sum, Zero, product, total
from .kinds import BlockDiagonal, Leaf, Propagation, Shift, StrictPropagation, leaves_of

_CROSSING = 36  # of an edge by a spatial vector
_STRUCTURED = {"H": 2, "M": 30, "V_tilde": 30, "F": 20, "M_hat": 40, "S": 6}

# Operators that are there once others are: a form may bring in these, and no other that the expression did without.
_RIGID = frozenset(["H", "phi", "phi_tilde", "E_phi", "M"])
_ARTICULATED = frozenset(["P", "P_plus", "D", "D_inverse", "G", "tau", "tau_bar", "K", "E_psi", "psi", "psi_tilde"])


def brings_in_nothing(form: Expression, op: Expression) -> bool:
    """Whether a form of an expression needs no recursion that the expression does without."""
    had, has = _names(op), _names(form)
    for family, names in has.items():
        known = had.get(family, set()) | _RIGID
        if known & _ARTICULATED:
            known |= _ARTICULATED
        if names - known:
            return False
    return True


def _names(op: Expression) -> dict[Any, set[Any]]:
    out: dict[Any, set[Any]] = {}
    for leaf in leaves_of(op):
        what = leaf.name if leaf.driver is None and leaf.inverse_of is None else leaf.upright().key
        out.setdefault(leaf.owner.identity, set()).add(what)
    return out


def price(op: Expression) -> float:
    """The price of applying an expression to one vector."""
    account = _Account()
    account.run(op, 0)
    return account.price


class _Account:
    """Values by what they are made of, each with a number, and the price of all of them."""

    def __init__(self) -> None:
        self.values: dict[Any, int] = {}
        self.price = 0.0

    def run(self, op: Expression, x: int) -> int:
        """The number of the value A x; −1 is zero."""
        if isinstance(op, Product):
            for left, right in pairwise(op.factors):
                self.price -= _CROSSING * _share_edges(left, right)
            for factor in reversed(op.factors):
                x = self.run(factor, x)
            return x
        if isinstance(op, Sum):
            return self._sum(op, x)
        if isinstance(op, Identity) or x < 0:
            return x
        return -1 if isinstance(op, Zero) else self._value((op.key, x), _of_leaf(op))

    def _sum(self, op: Sum, x: int) -> int:
        groups: dict[Any, list[tuple[float, Expression]]] = {}
        for c, term in op.terms:
            first = term.factors[0].key if isinstance(term, Product) else term.key
            groups.setdefault(first, []).append((c, term))
        parts = []
        for members in groups.values():
            heads = [t.factors[0] for _, t in members if isinstance(t, Product)]
            if len(members) > 1 and len(heads) == len(members):
                inner = total([(c, product(t.factors[1:])) for c, t in members if isinstance(t, Product)])
                parts.append((1.0, self.run(heads[0], self.run(inner, x))))
            else:
                parts += [(c, self.run(t, x)) for c, t in members]
        return self._value(frozenset(parts), (len(parts) - 1) * (1.0 if op.rows.kind == "joint" else 6.0))

    def _value(self, key: Any, price: float) -> int:
        found = self.values.get(key)
        if found is None:
            found = self.values[key] = len(self.values) + 1
            self.price += price
        return found


def _share_edges(a: Expression, b: Expression) -> bool:
    """Of φK and of K*φ*; JPL's S crosses no edge."""
    if isinstance(a, Shift) and isinstance(b, Propagation):
        return a.name != "S" and a.flipped and b.flipped
    return isinstance(a, Propagation) and isinstance(b, Shift) and b.name != "S" and not a.flipped and not b.flipped


def _of_leaf(op: Expression) -> float:
    """A block of r rows and c columns costs 2rc, crossing an edge what a transform does, τ̄ its form I − GH."""
    if isinstance(op, Inclusion):
        return 0.0
    assert isinstance(op, Leaf)
    sizes = list(zip(op.rows.sizes, op.cols.sizes))
    joints = op.owner.joints.sizes
    projection = 14.0 * sum(joints) / max(len(joints), 1)
    if op.name in _STRUCTURED:
        return _STRUCTURED[op.name]
    if op.name == "tau_bar":
        return projection
    if isinstance(op, (Propagation, StrictPropagation)):
        return _CROSSING + 6 + (projection if op.name.startswith("psi") else 0)
    if isinstance(op, Shift):
        return _CROSSING + (0 if op.name == "E_phi" else projection)
    if isinstance(op, BlockDiagonal):
        edge = _CROSSING if op.rows.kind == "edge" or op.cols.kind == "edge" else 0
        return edge + sum(2.0 * r * c for r, c in sizes) / max(len(sizes), 1)
    return _CROSSING
