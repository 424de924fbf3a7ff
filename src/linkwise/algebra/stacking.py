"""Block rows and columns: operators one beside the other, as one operator between stacks of spaces.

A stack is made of inclusions: E_i puts a vector into part i of a stack, E_i* takes part i out, E_i*E_i = I and
E_i*E_j = 0. So [A, B; C, D] is E₁AE₁* + E₁BE₂* + E₂CE₁* + E₂DE₂*: a sum like others, which all that works on sums
(adjoints, products, identities, code) takes as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..arguments import shown, whole
from ..errors import InputError, SpaceError
from .expression import Expression, Identity, Inclusion, Product, Sum, Zero, total
from .spaces import Space, own_space, stacked

if TYPE_CHECKING:
    from .operator import Operator


# --- stacks of expressions ---------------------------------------------------------------------------


Entries = dict[tuple[int | None, int | None], list[tuple[float, Expression]]]


def blocks_of(op: Expression) -> Entries | None:
    """The blocks (i, j) of what was stacked, as terms; an index is None where that side is no stack."""
    tall, wide = op.rows.kind == "stack", op.cols.kind == "stack"
    if not (tall or wide):
        return None
    out: Entries = {}
    for c, term in op.terms if isinstance(op, Sum) else [(1.0, op)]:
        factors = list(term.factors if isinstance(term, Product) else [term])
        first, last = factors[0], factors[-1]
        i = j = None
        if tall:
            if not isinstance(first, Inclusion) or first.flipped:
                return None
            i = first.index
            factors = factors[1:]
        if wide:
            if not factors or not isinstance(last, Inclusion) or not last.flipped:
                return None
            j = last.index
            factors = factors[:-1]
        inner = Identity(op.rows.parts[i] if i is not None else op.rows) if not factors else _product(factors)
        out.setdefault((i, j), []).append((c, inner))
    return out


def _product(factors: list[Expression]) -> Expression:
    return factors[0] if len(factors) == 1 else Product(factors)


def stacked_expressions(rows: Sequence[Sequence[Expression | None]]) -> Expression:
    """[A, B; C, D] of expressions of one binding; None is a block of zeros."""
    tall, wide = len(rows) > 1, len(rows[0]) > 1
    row_spaces = [_common([x.rows for x in row if x is not None], f"row {i}") for i, row in enumerate(rows)]
    columns = list(zip(*rows))
    col_spaces = [_common([x.cols for x in column if x is not None], f"column {j}") for j, column in enumerate(columns)]
    below, beside = (stacked(tuple(s)) for s in (row_spaces, col_spaces))
    terms: list[tuple[float, Expression]] = []
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            if x is not None:
                x = Inclusion(below, i) @ x if tall else x
                terms.append((1.0, x @ Inclusion(beside, j, flipped=True) if wide else x))
    nothing = Zero(below if tall else row_spaces[0], beside if wide else col_spaces[0])
    return total([(1.0, nothing), *terms])


def _common(found: list[Space], where: str) -> Space:
    if not found:
        raise SpaceError(f"{where} of the stack holds zeros alone, so that its space is not known")
    for space in found[1:]:
        if space != found[0]:
            raise SpaceError(f"{where} of the stack has blocks of {found[0]} and of {space}")
    return found[0]


# --- what the user writes ----------------------------------------------------------------------------


def stack(rows: Any) -> Operator:
    """Operators one beside and below the other as one: ``lw.stack([[A, B], [C, D]])``, block rows and columns.

    ``lw.stack([A, C])`` stands one below the other, ``lw.stack([[A, B]])`` side by side; 0 or None is a block of
    zeros. Vectors stack as columns do. The spaces of a row agree on the left, those of a column on the right; the
    vectors that the stack takes and gives have the parts one behind the other. Operators may be of several robots.
    """
    from .binding import merged, moved
    from .operator import Operator, bound

    if not isinstance(rows, (list, tuple)) or not rows:
        raise InputError(f"a stack is a list of rows of operators, got {shown(rows)}")
    table = [list(row) if isinstance(row, (list, tuple)) else [row] for row in rows]
    if len({len(row) for row in table}) != 1 or not table[0]:
        raise InputError(f"the rows of a stack are equally long, got {', '.join(str(len(row)) for row in table)}")
    for i, row in enumerate(table):
        for j, x in enumerate(row):
            if x is not None and not isinstance(x, Operator) and not _is_zero(x):
                raise InputError(f"block ({i}, {j}) of the stack is {shown(x)}; give an operator, or 0")
    given = [x for row in table for x in row if isinstance(x, Operator)]
    if not given:
        raise InputError("the stack has no operator")
    binding = merged([x.binding for x in given])
    if len(table) == len(table[0]) == 1:
        return given[0]
    expressions = [
        [moved(x.expression, x.binding, binding) if isinstance(x, Operator) else None for x in row] for row in table
    ]
    return bound(stacked_expressions(expressions), binding)


def _is_zero(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool) and x == 0


def space(name: str, size: int | Sequence[int]) -> Space:
    """A space of your own, of no robot: ``lw.space("grasp", (6, 6))`` has two blocks of six numbers.

    Matrices (``op.matrix``) and vectors (``op.vector``) of any robot's operators may be on it, so that several robots
    meet there. It is told by its name and sizes.
    """
    if not isinstance(name, str) or not name:
        raise InputError(f"a space has a name, got {shown(name)}")
    sizes = tuple(size) if isinstance(size, (list, tuple)) else (size,)
    if not sizes:
        raise InputError(f"how many numbers does the space {name!r} have? lw.space({name!r}, 6)")
    return own_space(name, tuple(whole(n, f"the size of {name!r}", least=1) for n in sizes))
