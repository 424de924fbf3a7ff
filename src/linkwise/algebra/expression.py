"""Expression formulas: leaves, sums, products, adjoints, bound to no state of their robot.

An expression knows its spaces and its structure. ``A @ B`` multiplies, ``A.T`` is the adjoint A*, ``A.inv()`` an
expression for the inverse. Adjoints are pushed down to the leaves and sums and products are flat, so that equal
formulas compare equal. What the user holds is an expression together with states: :class:`.operator.Expression`.
Where the leaves have numbers (:attr:`.leaves.Leaves.q`) an expression applies to columns, by sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from typing import Any

from .. import arrays
from ..arguments import shown
from ..arrays import Array
from ..errors import SpaceError
from ..properties import cached_property
from . import spaces, typeset
from .spaces import Space, Structure, structure_name

Blocks = list[Any]  # one array (..., size, m) per block of a space


class Expression:
    """A linear operator between two spaces of a robot, as a formula."""

    rows: Space
    cols: Space
    relations: Structure  # where blocks may be non-zero
    used: tuple[Any, ...] = ()  # the identities that led to this expression

    # --- algebra -----------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Whether both are the same formula of the same leaves."""
        return isinstance(other, Expression) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __matmul__(self, other: Expression) -> Expression:
        return product([self, other])

    def __add__(self, other: Expression) -> Expression:
        return total([(1.0, self), (1.0, other)])

    def __sub__(self, other: Expression) -> Expression:
        return total([(1.0, self), (-1.0, other)])

    def __neg__(self) -> Expression:
        return total([(-1.0, self)])

    def __mul__(self, factor: Any) -> Expression:
        return total([(as_number(factor), self)])

    __rmul__ = __mul__

    @property
    def T(self) -> Expression:
        """The adjoint A*."""
        raise NotImplementedError

    def inv(self) -> Expression:
        """An expression for the inverse that runs in O(n), or :class:`NoRecursionError` where none is known."""
        from .inverse import inverse

        return inverse(self)

    def simplify(self) -> Expression:
        """The cheapest form known, by the papers' identities; :attr:`used` tells which led to it."""
        from .cheapest import simplify

        return simplify(self)

    def rewrite(self, rule: Any, *, backwards: bool | None = None, at: int | None = None) -> Expression:
        """One side of an identity put for the other; see :meth:`.operator.Operator.rewrite`."""
        from .rewrite import rewrite

        return rewrite(self, rule, backwards=backwards, at=at)

    def using(self, *rules: Any, at: int | None = None) -> Expression:
        """Rewritten by several identities, one after the other, each at the place ``at``."""
        out: Expression = self
        for rule in rules:
            out = out.rewrite(rule, at=at)
        return out

    def time_derivative(self, *, axes: str = "body", formal: bool = False) -> Expression:
        """d/dt of the formula; see :meth:`.operator.Operator.time_derivative`."""
        from .differentiation import by_time

        return by_time(self, axes, formal)

    def variation(
        self,
        dtheta: Expression | None = None,
        dtheta_dot: Expression | None = None,
        dtheta_ddot: Expression | None = None,
        *,
        formal: bool = False,
    ) -> Expression:
        """The derivative along changes of the state; see :meth:`.operator.Operator.variation`."""
        from .differentiation import along_direction

        return along_direction(self, (dtheta, dtheta_dot, dtheta_ddot), formal)

    def expand(self) -> Expression:
        """Everything multiplied out: A (B + C) = A B + A C."""
        from .rewrite import expand

        return expand(self)

    def factor(self) -> Expression:
        """Common factors of terms taken out: A B + A C = A (B + C)."""
        from .rewrite import factor

        return factor(self)

    # --- meaning -----------------------------------------------------------------------------------

    def apply_columns(self, x: Array) -> Array:
        """A X for the columns of X (..., n, m), by sweeps; its leaves must have numbers."""
        out = self.forward(self.cols.split(x))
        filled = [y for y, r in zip(out, self.rows.sizes) if r]
        if not filled:
            return arrays.zeros((*x.shape[:-2], 0, x.shape[-1]), like=x)
        filled = [arrays.zeros((r, x.shape[-1]), like=x) if y is None else y for y, r in zip(out, self.rows.sizes) if r]
        return self.rows.ordered(arrays.concatenate(filled, axis=-2))

    def forward(self, x: Blocks) -> Blocks:
        """The blocks of A x; a block None stands for zeros."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.dimension, self.cols.dimension

    @property
    def structure(self) -> str:
        """ "memoryless", "causal" (inward), "anticausal" (outward), strictly so, or what else it is."""
        return structure_name(self.relations)

    # --- words -------------------------------------------------------------------------------------

    def latex(self) -> str:
        """The formula in LaTeX."""
        from .printing import latex

        return latex(self)

    def __str__(self) -> str:
        from .printing import text

        return text(self)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def _repr_html_(self) -> str:
        """The formula, for notebooks."""
        return typeset.formula(self.latex())

    def __repr__(self) -> str:
        if self.cols.kind == "number":
            return f"<{self}: a vector of {self.shape[0]} numbers>"
        return f"<{self}: {self.shape[0]}×{self.shape[1]}, {self.structure}>"

    @property
    def is_constant(self) -> bool:
        """Whether it is made of identities and zeros alone, so that it knows no state."""
        return False

    @cached_property
    def key(self) -> Any:
        """What makes two expressions the same formula of the same leaves."""
        return self._key()

    def _key(self) -> Any:
        raise NotImplementedError

    def __reduce__(self) -> Any:
        from .recipe import pickled

        return pickled(self)

    def with_used(self, used: Sequence[Any]) -> Expression:
        """The same expression, remembering which identities led to it."""
        merged = tuple(dict.fromkeys((*self.used, *used)))
        if merged == self.used:
            return self
        out = self.copy()
        out.used = merged
        return out

    def copy(self) -> Expression:
        raise NotImplementedError


def as_number(factor: Any) -> float:
    """A finite real number as a float, or an error."""
    kind = getattr(getattr(factor, "dtype", None), "kind", "") if getattr(factor, "shape", None) == () else ""
    if not (isinstance(factor, (int, float)) or (kind and kind in "fiub")) or not isfinite(factor):
        raise SpaceError(f"an operator can be multiplied by a finite real number, got {shown(factor)}")
    return float(factor)


class Identity(Expression):
    """I on a space."""

    def __init__(self, space: Space) -> None:
        self.rows = self.cols = space
        self.relations = spaces.MEMORYLESS

    @property
    def T(self) -> Expression:
        return self

    @property
    def is_constant(self) -> bool:
        return True

    def forward(self, x: Blocks) -> Blocks:
        return x

    def _key(self) -> Any:
        return ("I", self.rows)

    def copy(self) -> Expression:
        return Identity(self.rows)


class Product(Expression):
    """A₁ A₂ … of at least two factors, none of them a product or an identity."""

    def __init__(self, factors: Sequence[Expression]) -> None:
        self.factors = tuple(factors)
        self.rows, self.cols = self.factors[0].rows, self.factors[-1].cols
        relations = self.factors[0].relations
        for f in self.factors[1:]:
            relations = spaces.composed(relations, f.relations)
        self.relations = relations
        self.used = tuple(dict.fromkeys(u for f in factors for u in f.used))

    @property
    def T(self) -> Expression:
        return product([f.T for f in reversed(self.factors)]).with_used(self.used)

    @property
    def is_constant(self) -> bool:
        return all(f.is_constant for f in self.factors)

    def forward(self, x: Blocks) -> Blocks:
        from .evaluation import applied

        return applied(self.factors, x)

    def _key(self) -> Any:
        return ("product", *(f.key for f in self.factors))

    def copy(self) -> Expression:
        return Product(self.factors)


class Sum(Expression):
    """c₁ A₁ + c₂ A₂ + …; also a single scaled operator."""

    def __init__(self, terms: Sequence[tuple[float, Expression]]) -> None:
        self.terms = tuple(terms)
        self.rows, self.cols = self.terms[0][1].rows, self.terms[0][1].cols
        self.relations = frozenset().union(*(t.relations for _, t in self.terms))
        self.used = tuple(dict.fromkeys(u for _, t in terms for u in t.used))

    @property
    def T(self) -> Expression:
        return total([(c, t.T) for c, t in self.terms]).with_used(self.used)

    @property
    def is_constant(self) -> bool:
        return all(t.is_constant for _, t in self.terms)

    def forward(self, x: Blocks) -> Blocks:
        from .evaluation import summed

        terms = [(c, t.factors if isinstance(t, Product) else (t,), x) for c, t in self.terms]
        return summed(terms, len(self.rows.sizes))

    def _key(self) -> Any:
        return ("sum", frozenset((t.key, c) for c, t in self.terms))

    def copy(self) -> Expression:
        return Sum(self.terms)


class Zero(Expression):
    """The operator that maps everything to zero."""

    def __init__(self, rows: Space, cols: Space) -> None:
        self.rows, self.cols, self.relations = rows, cols, spaces.NOTHING

    @property
    def T(self) -> Expression:
        return Zero(self.cols, self.rows)

    @property
    def is_constant(self) -> bool:
        return True

    def forward(self, x: Blocks) -> Blocks:
        return [None] * len(self.rows.sizes)

    def _key(self) -> Any:
        return ("zero", self.rows, self.cols)

    def copy(self) -> Expression:
        return Zero(self.rows, self.cols)


class Inclusion(Expression):
    """E_i, from part i of a stack to the whole; ``flipped`` makes it E_i*, which takes part i out."""

    def __init__(self, stack: Space, index: int, flipped: bool = False) -> None:
        self.stack, self.index, self.flipped = stack, index, flipped
        part = stack.parts[index]
        self.rows, self.cols = (part, stack) if flipped else (stack, part)
        self.relations = spaces.FULL

    @property
    def T(self) -> Expression:
        return Inclusion(self.stack, self.index, not self.flipped)

    @property
    def is_constant(self) -> bool:
        return True

    @property
    def where(self) -> slice:
        """The blocks of the stack that are the part's."""
        before = sum(len(part.sizes) for part in self.stack.parts[: self.index])
        return slice(before, before + len(self.stack.parts[self.index].sizes))

    def forward(self, x: Blocks) -> Blocks:
        if self.flipped:
            return x[self.where]
        out: Blocks = [None] * len(self.stack.sizes)
        out[self.where] = x
        return out

    def _key(self) -> Any:
        return ("part", self.stack, self.index, self.flipped)

    def copy(self) -> Expression:
        return Inclusion(self.stack, self.index, self.flipped)


def product(factors: Sequence[Expression]) -> Expression:
    """The product, flattened: nested products joined, identities dropped, numbers brought to the front."""
    for left, right in pairwise(factors):
        if left.cols != right.rows:
            raise SpaceError(
                f"cannot multiply {left} by {right}: the first takes {left.cols}, the second gives {right.rows}"
                f"{_of_another(left.cols, right.rows)}"
            )
    used = [u for f in factors for u in f.used]
    flat: list[Expression] = []
    scale = 1.0
    for f in factors:
        if isinstance(f, Zero):
            return Zero(factors[0].rows, factors[-1].cols)
        if isinstance(f, Sum) and len(f.terms) == 1:
            scale, f = scale * f.terms[0][0], f.terms[0][1]
        flat.extend(f.factors if isinstance(f, Product) else () if isinstance(f, Identity) else (f,))
    if any(isinstance(f, Inclusion) for f in flat):
        parts = _met(flat)
        if parts is None:
            return Zero(factors[0].rows, factors[-1].cols)
        flat = parts
    out: Expression = Identity(factors[0].rows) if not flat else flat[0] if len(flat) == 1 else Product(flat)
    return (out if scale == 1 else total([(scale, out)])).with_used(used)


def _of_another(a: Space, b: Space) -> str:
    """A word where two spaces look the same and are not: a robot that is being compiled is another one than it was."""
    return ", of another robot (or of other numbers) of that name" if a != b and str(a) == str(b) else ""


def _met(factors: list[Expression]) -> list[Expression] | None:
    """Factors with E_i*E_i = I left out; None where some E_i*E_j makes the product zero."""
    out: list[Expression] = []
    for f in factors:
        last = out[-1] if out else None
        if isinstance(f, Inclusion) and isinstance(last, Inclusion) and last.flipped and not f.flipped:
            if last.index != f.index:
                return None
            out.pop()
        else:
            out.append(f)
    return out


def total(terms: Sequence[tuple[float, Expression]]) -> Expression:
    """The sum, flattened: nested sums joined, equal terms gathered, zeros dropped."""
    first = terms[0][1]
    gathered: dict[Any, tuple[float, Expression]] = {}
    used: list[Any] = []
    for c, t in terms:
        if t.rows != first.rows or t.cols != first.cols:
            raise SpaceError(
                f"cannot add {first} and {t}: the first maps {first.cols} to {first.rows},"
                f" the second {t.cols} to {t.rows}{_of_another(first.rows, t.rows) or _of_another(first.cols, t.cols)}"
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
