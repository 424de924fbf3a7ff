"""Operator expressions: leaves, sums, products, adjoints. What the user writes.

An expression knows its spaces and its structure. ``A @ B`` multiplies, ``A @ x`` applies (by sweeps, no
matrix), ``A.T`` is the adjoint A*, ``A.inv()`` an expression for the inverse. Adjoints are pushed down to
the leaves and sums and products are flat, so that equal formulas compare equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..errors import SpaceError
from . import spaces
from .spaces import Space, Structure, structure_name

if TYPE_CHECKING:
    from .explain import Explanation

Blocks = list[Any]  # one array (..., size, m) per block of a space


class Operator:
    """A linear operator between two spaces of a robot at a configuration."""

    rows: Space
    cols: Space
    relations: Structure  # where blocks may be non-zero
    used: tuple[Any, ...] = ()  # the identities that led to this expression
    __array_ufunc__ = None  # so that ndarray @ operator comes here

    # --- algebra -----------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Whether both are the same formula of the same leaves."""
        return isinstance(other, Operator) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __matmul__(self, other: Any) -> Any:
        """A @ B is the product of operators; A @ x applies A to a vector (..., n) or a batch of them."""
        return product([self, other]) if isinstance(other, Operator) else self.apply(other)

    def __rmatmul__(self, x: Any) -> Array:
        """x @ A is A* applied to x."""
        return self.T.apply(x)

    def __add__(self, other: Any) -> Operator:
        if not isinstance(other, Operator):
            raise SpaceError(f"cannot add {type(other).__name__} to an operator; for c·I write c * op.I")
        return total([(1.0, self), (1.0, other)])

    __radd__ = __add__

    def __sub__(self, other: Any) -> Operator:
        return self + (-other) if isinstance(other, Operator) else self + other

    def __rsub__(self, other: Any) -> Operator:
        return self + other

    def __neg__(self) -> Operator:
        return total([(-1.0, self)])

    def __mul__(self, factor: Any) -> Operator:
        if isinstance(factor, Operator):
            raise SpaceError("use @ for the product of operators; * is for numbers")
        return total([(_number(factor), self)])

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> Operator:
        if _number(factor) == 0:
            raise SpaceError("an operator cannot be divided by zero")
        return self * (1.0 / float(factor))

    @property
    def T(self) -> Operator:
        """The adjoint A*."""
        raise NotImplementedError

    def inv(self) -> Operator:
        """An expression for the inverse that runs in O(n), or :class:`NoRecursionError` where none is known."""
        from .inverse import inverse

        return inverse(self)

    def simplify(self) -> Operator:
        """The expression after the papers' identities; :attr:`used` tells which fired."""
        from .rules import simplify

        return simplify(self)

    # --- meaning -----------------------------------------------------------------------------------

    def apply(self, x: Any) -> Array:
        """A x for a vector (..., n) or any batch of vectors, by sweeps."""
        from .. import inputs

        x = inputs.as_array(x, "the vector")
        if x.ndim == 0 or x.shape[-1] != self.cols.dimension:
            hint = ""
            if x.ndim == 2 and x.shape[0] == self.cols.dimension:
                hint = "; batches come first, so pass its transpose"
            raise SpaceError(
                f"{self} takes vectors of {self.cols}, shape (..., {self.cols.dimension}); got {tuple(x.shape)}{hint}"
            )
        batch = self._batch(x)
        out = self.apply_columns(x[..., None])[..., 0]
        return inputs.fit(out, np.broadcast_shapes(batch, out.shape[:-1]), 1)

    def _batch(self, x: Array) -> tuple[int, ...]:
        """The batch shape of A x: that of the states with that of the vectors."""
        from .kinds import leaves_of

        owners = [leaf.owner for leaf in leaves_of(self)]
        given = {s.shape[:-1] for owner in owners for s in (owner.q, owner.v, owner.a) if s is not None}
        try:
            return np.broadcast_shapes(*given, x.shape[:-1])
        except ValueError:
            shapes = ", ".join(str(tuple(s)) for s in given)
            raise SpaceError(
                f"{self} is a batch of shape {shapes}, which does not fit vectors in a batch of shape"
                f" {tuple(x.shape[:-1])}"
            ) from None

    def apply_columns(self, x: Array) -> Array:
        """A X for the columns of X (..., n, m)."""
        from .frame_freedom import in_frames_that_suit

        suited = in_frames_that_suit(self)
        if suited is not self:
            return suited.apply_columns(x)
        ends = np.cumsum(self.cols.sizes)
        blocks = [x[..., e - r : e, :] for e, r in zip(ends, self.cols.sizes)]
        out = self.forward(blocks)
        filled = [y for y, r in zip(out, self.rows.sizes) if r]
        if not filled:
            return arrays.zeros((*x.shape[:-2], 0, x.shape[-1]), like=x)
        filled = [arrays.zeros((r, x.shape[-1]), like=x) if y is None else y for y, r in zip(out, self.rows.sizes) if r]
        return arrays.concatenate(filled, axis=-2)

    def forward(self, x: Blocks) -> Blocks:
        """The blocks of A x; a block None stands for zeros."""
        raise NotImplementedError

    def dense(self) -> Array:
        """The matrix of the operator, (..., rows, columns), from the definitions (no sweep)."""
        from .dense import dense

        return dense(self)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.dimension, self.cols.dimension

    @property
    def structure(self) -> str:
        """ "memoryless", "causal" (inward), "anticausal" (outward), strictly so, or what else it is."""
        return structure_name(self.relations)

    # --- words -------------------------------------------------------------------------------------

    def explain(self) -> Explanation:
        """The formula, the recursions it runs as, the identities used and the operation count; printable."""
        from .explain import Explanation

        return Explanation(self)

    def latex(self) -> str:
        """The formula in LaTeX."""
        from .printing import latex

        return latex(self)

    def __str__(self) -> str:
        from .printing import text

        return text(self)

    def __repr__(self) -> str:
        return f"<{self}: {self.shape[0]}×{self.shape[1]}, {self.structure}>"

    @property
    def key(self) -> Any:
        """What makes two expressions the same formula at the same configuration."""
        raise NotImplementedError

    def with_used(self, used: Sequence[Any]) -> Operator:
        """The same expression, remembering which identities led to it."""
        merged = tuple(dict.fromkeys((*self.used, *used)))
        if merged == self.used:
            return self
        out = self.copy()
        out.used = merged
        return out

    def copy(self) -> Operator:
        raise NotImplementedError


def _number(factor: Any) -> float:
    real = isinstance(factor, (int, float, np.integer, np.floating)) or getattr(factor, "shape", None) == ()
    if not real or not np.isrealobj(factor) or not np.isfinite(factor):
        raise SpaceError(f"an operator can be multiplied by a finite real number, got {factor!r}")
    return float(factor)


class Identity(Operator):
    """I on a space."""

    def __init__(self, space: Space) -> None:
        self.rows = self.cols = space
        self.relations = spaces.MEMORYLESS

    @property
    def T(self) -> Operator:
        return self

    def forward(self, x: Blocks) -> Blocks:
        return x

    @property
    def key(self) -> Any:
        return ("I", self.rows.key)

    def copy(self) -> Operator:
        return Identity(self.rows)


class Product(Operator):
    """A₁ A₂ … of at least two factors, none of them a product or an identity."""

    def __init__(self, factors: Sequence[Operator]) -> None:
        self.factors = tuple(factors)
        self.rows, self.cols = self.factors[0].rows, self.factors[-1].cols
        relations = self.factors[0].relations
        for f in self.factors[1:]:
            relations = spaces.composed(relations, f.relations)
        self.relations = relations
        self.used = tuple(dict.fromkeys(u for f in factors for u in f.used))

    @property
    def T(self) -> Operator:
        return product([f.T for f in reversed(self.factors)]).with_used(self.used)

    def forward(self, x: Blocks) -> Blocks:
        from .kinds import fused

        i = len(self.factors)
        while i > 0:
            pair = fused(self.factors[i - 2], self.factors[i - 1]) if i > 1 else None
            x = (pair or self.factors[i - 1]).forward(x)
            i -= 2 if pair else 1
        return x

    @property
    def key(self) -> Any:
        return ("product", *(f.key for f in self.factors))

    def copy(self) -> Operator:
        return Product(self.factors)


class Sum(Operator):
    """c₁ A₁ + c₂ A₂ + …; also a single scaled operator."""

    def __init__(self, terms: Sequence[tuple[float, Operator]]) -> None:
        self.terms = tuple(terms)
        self.rows, self.cols = self.terms[0][1].rows, self.terms[0][1].cols
        self.relations = frozenset().union(*(t.relations for _, t in self.terms))
        self.used = tuple(dict.fromkeys(u for _, t in terms for u in t.used))

    @property
    def T(self) -> Operator:
        return total([(c, t.T) for c, t in self.terms]).with_used(self.used)

    def forward(self, x: Blocks) -> Blocks:
        terms = [(c, t.factors if isinstance(t, Product) else (t,)) for c, t in self.terms]
        return _summed(terms, x, len(self.rows.sizes))

    @property
    def key(self) -> Any:
        return ("sum", frozenset((t.key, c) for c, t in self.terms))

    def copy(self) -> Operator:
        return Sum(self.terms)


def _summed(terms: Sequence[tuple[float, tuple[Operator, ...]]], x: Blocks, size: int) -> Blocks:
    """Σ c A₁A₂… x, where terms that begin with the same factor share its sweep: AB + AC = A (B + C)."""
    out: Blocks = [None] * size
    groups: dict[Any, list[tuple[float, tuple[Operator, ...]]]] = {}
    for c, factors in terms:
        groups.setdefault(factors[0].key if len(factors) > 1 else None, []).append((c, factors))
    for key, members in groups.items():
        if key is None or len(members) == 1:
            parts = [(c, _chained(factors).forward(x)) for c, factors in members]
        else:
            head = members[0][1][0]
            inner = _summed([(c, factors[1:]) for c, factors in members], x, len(head.cols.sizes))
            parts = [(1.0, head.forward(inner))]
        for c, part in parts:
            for i, y in enumerate(part):
                if y is not None:
                    scaled = y if c == 1 else -y if c == -1 else c * y
                    out[i] = scaled if out[i] is None else out[i] + scaled
    return out


def _chained(factors: tuple[Operator, ...]) -> Operator:
    return factors[0] if len(factors) == 1 else Product(factors)


class Zero(Operator):
    """The operator that maps everything to zero."""

    def __init__(self, rows: Space, cols: Space) -> None:
        self.rows, self.cols, self.relations = rows, cols, spaces.NOTHING

    @property
    def T(self) -> Operator:
        return Zero(self.cols, self.rows)

    def forward(self, x: Blocks) -> Blocks:
        return [None] * len(self.rows.sizes)

    @property
    def key(self) -> Any:
        return ("zero", self.rows.key, self.cols.key)

    def copy(self) -> Operator:
        return Zero(self.rows, self.cols)


def product(factors: Sequence[Operator]) -> Operator:
    """The product, flattened: nested products joined, identities dropped, numbers brought to the front."""
    for left, right in pairwise(factors):
        if left.cols != right.rows:
            raise SpaceError(
                f"cannot multiply {left} by {right}: the first takes {left.cols}, the second gives {right.rows}"
            )
    used = [u for f in factors for u in f.used]
    flat: list[Operator] = []
    scale = 1.0
    for f in factors:
        if isinstance(f, Zero):
            return Zero(factors[0].rows, factors[-1].cols)
        if isinstance(f, Sum) and len(f.terms) == 1:
            scale, f = scale * f.terms[0][0], f.terms[0][1]
        flat.extend(f.factors if isinstance(f, Product) else () if isinstance(f, Identity) else (f,))
    out: Operator = Identity(factors[0].rows) if not flat else flat[0] if len(flat) == 1 else Product(flat)
    return (out if scale == 1 else total([(scale, out)])).with_used(used)


def total(terms: Sequence[tuple[float, Operator]]) -> Operator:
    """The sum, flattened: nested sums joined, equal terms gathered, zeros dropped."""
    first = terms[0][1]
    gathered: dict[Any, tuple[float, Operator]] = {}
    used: list[Any] = []
    for c, t in terms:
        if t.rows != first.rows or t.cols != first.cols:
            raise SpaceError(
                f"cannot add {first} and {t}: the first maps {first.cols} to {first.rows},"
                f" the second {t.cols} to {t.rows}"
            )
        used.extend(t.used)
        parts = t.terms if isinstance(t, Sum) else () if isinstance(t, Zero) else ((1.0, t),)
        for d, part in parts:
            old = gathered.get(part.key, (0.0, part))[0]
            gathered[part.key] = (old + c * d, part)
    kept = [(c, t) for c, t in gathered.values() if c != 0]
    if not kept:
        return Zero(first.rows, first.cols).with_used(used)
    out = kept[0][1] if len(kept) == 1 and kept[0][0] == 1 else Sum(kept)
    return out.with_used(used)
