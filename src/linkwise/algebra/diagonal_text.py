"""The blocks on the diagonal of a symmetric product, as the recursion of one block diagonal (OA after (5.5), UF (24)).

    L φ Y φ* L*     S(k) = Σ φ(k,j) S(j) φ*(k,j) + Y(k)                inward
    L ψ* Y ψ L*     Ω(k) = ψ*(k+1,k) Ω(k+1) ψ(k+1,k) + Y(k)            outward

with Y memoryless and L a memoryless factor, the tips' B*, or nothing: block (k, k) of the product is L S L*.
"""

from __future__ import annotations

from .expression import Expression, Product
from .kinds import Leaf, Pick, Propagation
from .recursion_text import INWARD, OUTWARD, Block, Writer
from .spaces import MEMORYLESS


def diagonal_blocks(op: Expression, serial: bool, as_latex: bool = False) -> Block | None:
    """The recursion of the blocks on the diagonal; None where the product is none of these."""
    parts = _parts(op)
    if parts is None:
        return None
    left, edge, middle = parts
    w = Writer(op, serial, as_latex)
    letter = "S" if not edge.flipped else r"\Omega" if as_latex else "Ω"
    driver = " ".join(w.name(x, "k") for x in middle) or "I"
    carried = _carried(w, edge, letter)
    title = f"its blocks on the diagonal, {OUTWARD if edge.flipped else INWARD}"
    lines = [f"{letter}(k) {w.equals} {carried} + {driver}"]
    if left:
        star = "^*" if as_latex else "*"
        lines.append(f"y(k,k) {w.equals} {_outside(left, w, letter, star)}")
    return Block(title, lines)


def _parts(op: Expression) -> tuple[tuple[Leaf, ...], Leaf, tuple[Leaf, ...]] | None:
    """(L, the propagation left of Y, Y) of L X Y X* L*."""
    if not isinstance(op, Product) or op.key != op.T.key or not all(isinstance(x, Leaf) for x in op.factors):
        return None
    factors: list[Leaf] = [x for x in op.factors if isinstance(x, Leaf)]
    where = [i for i, x in enumerate(factors) if isinstance(x, Propagation)]
    if len(where) != 2 or where[0] > 1:
        return None
    i, j = where
    middle, left = factors[i + 1 : j], factors[:i]
    memoryless = all(x.relations <= MEMORYLESS for x in middle)
    outside = all(isinstance(x, Pick) or x.relations <= MEMORYLESS for x in left)
    return (tuple(left), factors[i], tuple(middle)) if memoryless and outside else None


def _carried(w: Writer, edge: Leaf, letter: str) -> str:
    """X(k,j) S(j) X*(k,j), summed over children; or X*(p,k) S(p) X(p,k)."""
    star = "^*" if w.as_latex else "*"
    name = w.written(edge.upright())
    if edge.flipped:
        there, between = ("k+1", "k+1,k") if w.serial else ("p", "p,k")
        return f"{name}{star}({between}) {letter}({there}) {name}({between})"
    there = "k-1" if w.serial else "j"
    total = "" if w.serial else r"\textstyle\sum_j " if w.as_latex else "Σ "
    return f"{total}{name}(k,{there}) {letter}({there}) {name}{star}(k,{there})"


def _outside(left: tuple[Leaf, ...], w: Writer, letter: str, star: str) -> str:
    """L(k) S(k) L*(k); at tips φ*(k,0) S(k) φ(k,0)."""
    if isinstance(left[0], Pick):
        phi = r"\phi" if w.as_latex else "φ"
        return f"{phi}{star}(k,0) {letter}(k) {phi}(k,0){w.words('for every tip 0 on its body k')}"
    back = left[0].T
    assert isinstance(back, Leaf)
    return f"{w.name(left[0], 'k')} {letter}(k) {w.name(back, 'k')}"
