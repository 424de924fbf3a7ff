"""d/dt(A) and δ(A) as they stand: a letter of formulas and proofs, with the rules of differentiation as its axioms.

Applied, it is what the rules give (:mod:`.derivative`). Its dense meaning knows no rule: the matrix of A is
differentiated along the motion by a complex step. So each rule that a proof uses is checked against differentiation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array, as_numpy
from ..properties import cached_property
from . import spaces
from .derivative import Direction, derivative, of_leaf
from .expression import Blocks, Expression, Identity, Inclusion, Product, Sum, Zero, product, total
from .kinds import Leaf, all_leaves, leaves_of, own_leaves

_STEP = 1e-30


class Rate(Leaf):
    """The derivative of ``inner`` along a direction, not worked out."""

    inner: Expression
    along: Direction

    @staticmethod
    def of(op: Expression, direction: Direction) -> Expression:
        """d/dt(A); zero where A has no leaves."""
        leaves = all_leaves(op)
        if not leaves:
            return Zero(op.rows, op.cols)
        out = Rate(leaves[0].owner.still, "rate", op.rows, op.cols, spaces.FULL, lambda: [])
        out.inner, out.along = op, direction
        out.relations = out.value.relations  # (which also says now what has no derivative)
        return out

    @property
    def value(self) -> Expression:
        """What the rules of differentiation give."""
        return derivative(self.inner, self.along)

    @property
    def inside(self) -> list[Expression]:
        return [self.inner, *(x for x in (self.along.q, self.along.v, self.along.a) if x is not None)]

    @property
    def T(self) -> Any:
        return Rate.of(self.inner.T, self.along)

    def upright(self) -> Leaf:
        return self

    def _key(self) -> Any:
        return ("rate", self.inner.key, self.along.key)

    def forward(self, x: Blocks) -> Blocks:
        return self._worked_out.forward(x)

    @cached_property
    def _worked_out(self) -> Expression:
        return self.value

    # --- its dense meaning, without any rule ---------------------------------------------------------

    def measured(self) -> Array:
        """The derivative of the matrix of ``inner``, by a complex step along the motion."""
        from .dense import dense
        from .recipe import build, recipe_of

        found = arrays_of(self)
        if not all(arrays.is_numpy(leaves.q) for leaves in found.values() if not isinstance(leaves, list)):
            return dense(self.value)
        ahead = dense(build(recipe_of(self.inner), self._stepped()))
        out: Array = np.imag(as_numpy(ahead)) / _STEP
        return out

    def _stepped(self) -> Any:
        """The leaves of every state a complex step ahead."""
        from .recipe import OwnBlocks

        things: dict[int, Any] = {}
        for place, held in arrays_of(self).items():
            if isinstance(held, list):
                things[place] = OwnBlocks(place, held)
            else:
                things[place] = self._ahead(held)
        return things

    def _ahead(self, o: Any) -> Any:
        from ..dynamics.tangent import configuration_rate

        given = (self.along.q, self.along.v, self.along.a)
        dq, dv, da = (o.v, o.a, None) if self.along.time else map(_value, given)
        q = o.q + 0j if dq is None else o.q + 1j * _STEP * configuration_rate(o.model, o.q, dq)
        v, a = (x if x is None or dx is None else x + 1j * _STEP * dx for x, dx in ((o.v, dv), (o.a, da)))
        return o.at(o.model, q, v, a)


def _value(x: Expression | None) -> Any:
    """The array of a vector with numbers."""
    return None if x is None else x.apply_columns(np.eye(1))[..., 0]


def arrays_of(op: Expression) -> dict[int, Any]:
    """The leaves with numbers of every state that an expression is of, and the user's own blocks, by their places."""
    own = {leaf.place: leaf.blocks for leaf in own_leaves(op)}
    return {leaf.owner.place: leaf.owner.root for leaf in all_leaves(op)} | own


# --- the rules, one at a time --------------------------------------------------------------------------

# Where rules of differentiation are printed.
CITES = {
    "E_phi": "DD Table 4 row 1",
    "phi": "DD Table 4 row 2",
    "phi_tilde": "DD Table 4 row 2",
    "H": "DD Table 4 row 3",
    "M": "DD Table 4 row 4",
    "P": "DD Algorithm 6.1",
    "D": "DD Table 4 row 5",
    "G": "DD Table 4 row 6",
    "tau_bar": "DD Table 4 row 7",
    "E_psi": "DD Table 4 row 8",
    "V": "LD (A.9)",
    "phi_I": "LD (2.6)",
}


def laws_of_rate(rate: Rate) -> Iterator[tuple[str, str, Expression, Expression]]:
    """What d/dt(A) is by one rule: (name, where printed, lhs, rhs)."""
    op = rate.inner
    if isinstance(op, Sum):
        yield "derivative of a sum", "d(A + B) = dA + dB", rate, total([(c, _rate(t, rate)) for c, t in op.terms])
    elif isinstance(op, Product):
        yield "product rule", "d(AB) = dA B + A dB", rate, _by_product_rule(op, rate)
    elif isinstance(op, Leaf):
        yield _of_leaf(op, rate)


def _rate(op: Expression, rate: Rate) -> Expression:
    constant = isinstance(op, (Identity, Zero, Inclusion))
    return Zero(op.rows, op.cols) if constant else Rate.of(op, rate.along)


def _by_product_rule(op: Product, rate: Rate) -> Expression:
    terms = []
    for i, factor in enumerate(op.factors):
        terms.append((1.0, product([*op.factors[:i], _rate(factor, rate), *op.factors[i + 1 :]])))
    return total(terms)


def _of_leaf(leaf: Leaf, rate: Rate) -> tuple[str, str, Expression, Expression]:
    from .printing import text

    if leaf.inverse_of is not None:
        inner = Rate.of(leaf.inverse_of, rate.along)
        inner = inner.T if leaf.flipped else inner
        return "derivative of an inverse", "d(A⁻¹) = −A⁻¹ dA A⁻¹", rate, -1.0 * leaf @ inner @ leaf
    upright = leaf.upright()
    found = of_leaf(upright, rate.along)
    where = CITES.get(leaf.name, "its definition")
    return f"derivative of {text(upright)}", where, rate, found.T if leaf.flipped else found


@dataclass(frozen=True, eq=False)
class Unfolding:
    """One rule of differentiation applied: ``rate`` is ``found``, and the whole expression is then ``whole``."""

    name: str
    cites: str
    rate: Rate
    found: Expression
    whole: Expression


def unfolded(op: Expression) -> list[Unfolding]:
    """How the derivatives in an expression are worked out, rule by rule."""
    out: list[Unfolding] = []
    while rates := [x for x in leaves_of(op) if isinstance(x, Rate)]:
        name, cites, _, found = next(laws_of_rate(rates[0]))
        op = _substituted(op, rates[0], found)
        out.append(Unfolding(name, cites, rates[0], found, op))
    return out


def _substituted(op: Expression, wanted: Expression, given: Expression) -> Expression:
    if op.key == wanted.key:
        return given
    if isinstance(op, Product):
        return product([_substituted(f, wanted, given) for f in op.factors])
    if isinstance(op, Sum):
        return total([(c, _substituted(t, wanted, given)) for c, t in op.terms])
    return op
