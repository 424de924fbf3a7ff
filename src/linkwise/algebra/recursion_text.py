"""The sweeps of an expression, printed with the papers' indices: 1 is the outermost body, n the base.

Each factor becomes one line; neighbouring lines that run in the same direction share a loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .leaves import BlockDiagonal, Leaf, Pick, Propagation, Shift, SmallMatrix, StrictPropagation
from .operator import Identity, Operator, Product, Sum, Zero
from .printing import latex, symbol

INWARD = "inward, k = 1 … n (tips to base):"
OUTWARD = "outward, k = n … 1 (base to tips):"
LOCAL = "at every k:"
ONCE = "once:"


@dataclass
class Block:
    """Lines that run in one loop."""

    title: str
    lines: list[str] = field(default_factory=list)


class _Writer:
    """Collects lines and gives names to intermediate vectors: z inward, λ outward, ε in joint space."""

    def __init__(self, serial: bool, as_latex: bool) -> None:
        self.serial, self.as_latex = serial, as_latex
        self.lines: list[tuple[str, str]] = []
        self.counts: dict[str, int] = {}

    def fresh(self, kind: str, direction: str) -> str:
        letter = {"joint": "ε", "tip": "t", "edge": "e"}.get(kind) or ("λ" if direction == OUTWARD else "z")
        if self.as_latex:
            letter = {"ε": r"\epsilon", "λ": r"\lambda"}.get(letter, letter)
        self.counts[letter] = self.counts.get(letter, 0) + 1
        n = self.counts[letter]
        return letter if n == 1 else f"{letter}_{n}" if self.as_latex else f"{letter}{_subscript(n)}"

    def emit(self, direction: str, line: str) -> None:
        self.lines.append((direction, line))

    def name(self, leaf: Leaf, index: str) -> str:
        upright = leaf.upright()
        letter = latex(upright) if self.as_latex else symbol(upright)
        star = "^*" if self.as_latex else "*"
        return f"{letter}{star if leaf.flipped else ''}({index})"


def _subscript(n: int) -> str:
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(d)] for d in str(n))


def recursions(op: Operator, serial: bool, as_latex: bool = False) -> list[Block]:
    """The loops that applying ``op`` to x runs, ending in y."""
    writer = _Writer(serial, as_latex)
    result = _lower(op, "x", writer)
    blocks = _grouped(writer.lines)
    if blocks and result != "x":
        last = blocks[-1]
        last.lines[-1] = last.lines[-1].replace(f"{result}(k)", "y(k)") if last.title != ONCE else last.lines[-1]
        if last.title == ONCE:
            last.lines.append(f"y = {result}")
    return blocks


def _grouped(lines: list[tuple[str, str]]) -> list[Block]:
    """Local lines join the loop before them; a loop goes on while the direction stays."""
    blocks: list[Block] = []
    for direction, line in lines:
        if blocks and (direction == blocks[-1].title or (direction == LOCAL and blocks[-1].title in (INWARD, OUTWARD))):
            blocks[-1].lines.append(line)
        elif blocks and blocks[-1].title == LOCAL and direction in (INWARD, OUTWARD):
            blocks[-1].title = direction
            blocks[-1].lines.append(line)
        else:
            blocks.append(Block(direction, [line]))
    return blocks


def _lower(op: Operator, x: str, w: _Writer) -> str:
    """Write the lines that turn x into op x; gives the name of the result."""
    if isinstance(op, Identity):
        return x
    if isinstance(op, Product):
        for f in reversed(op.factors):
            x = _lower(f, x, w)
        return x
    if isinstance(op, Sum):
        return _lower_sum(op, x, w)
    if isinstance(op, Zero):
        y = w.fresh(op.rows.kind, LOCAL)
        w.emit(LOCAL, f"{y}(k) = 0")
        return y
    assert isinstance(op, Leaf)
    return _LOWER[type(op).__name__](op, x, w)


def _lower_sum(op: Sum, x: str, w: _Writer) -> str:
    parts = [(c, _lower(t, x, w)) for c, t in op.terms]
    y = w.fresh(op.rows.kind, LOCAL)
    right = ""
    for c, name in parts:
        size = "" if abs(c) == 1 else f"{abs(c):g} "
        right += (" - " if c < 0 else " + " if right else "") + f"{size}{name}(k)"
    w.emit(LOCAL, f"{y}(k) = {right.strip()}")
    return y


def _lower_diagonal(leaf: Leaf, x: str, w: _Writer) -> str:
    y = w.fresh(leaf.rows.kind, LOCAL)
    w.emit(LOCAL, f"{y}(k) = {w.name(leaf, 'k')} {x}(k)")
    return y


def _inboard(w: _Writer) -> tuple[str, str]:
    return ("k+1", "k+1,k") if w.serial else ("p", "p,k")


def _outboard(w: _Writer) -> tuple[str, str, str]:
    if w.serial:
        return "", "k-1", "k,k-1"
    return (r"\textstyle\sum_j " if w.as_latex else "Σ "), "j", "k,j"


def _lower_propagation(leaf: Leaf, x: str, w: _Writer) -> str:
    direction = OUTWARD if leaf.flipped else INWARD
    y = w.fresh(leaf.rows.kind, direction)
    if leaf.flipped:
        p, edge = _inboard(w)
        w.emit(OUTWARD, f"{y}(k) = {w.name(leaf, edge)} {y}({p}) + {x}(k)")
    else:
        total, j, edge = _outboard(w)
        w.emit(INWARD, f"{y}(k) = {total}{w.name(leaf, edge)} {y}({j}) + {x}(k)")
    return y


def _lower_strict(leaf: Leaf, x: str, w: _Writer) -> str:
    direction = OUTWARD if leaf.flipped else INWARD
    y = w.fresh(leaf.rows.kind, direction)
    base = leaf.owner.phi if leaf.upright().name == "phi_tilde" else leaf.owner.psi
    edge_leaf = base.T if leaf.flipped else base
    assert isinstance(edge_leaf, Leaf)
    if leaf.flipped:
        p, edge = _inboard(w)
        w.emit(OUTWARD, f"{y}(k) = {w.name(edge_leaf, edge)} [{y}({p}) + {x}({p})]")
    else:
        total, j, edge = _outboard(w)
        w.emit(INWARD, f"{y}(k) = {total}{w.name(edge_leaf, edge)} [{y}({j}) + {x}({j})]")
    return y


def _lower_shift(leaf: Leaf, x: str, w: _Writer) -> str:
    direction = OUTWARD if leaf.flipped else INWARD
    y = w.fresh(leaf.rows.kind, direction)
    if leaf.flipped:
        p, edge = _inboard(w)
        w.emit(OUTWARD, f"{y}(k) = {w.name(leaf, edge)} {x}({p})")
    else:
        total, j, edge = _outboard(w)
        w.emit(INWARD, f"{y}(k) = {total}{w.name(leaf, edge)} {x}({j})")
    return y


def _lower_pick(leaf: Leaf, x: str, w: _Writer) -> str:
    direction = OUTWARD if leaf.flipped else INWARD
    y = w.fresh(leaf.rows.kind, direction)
    star = ("^*" if w.as_latex else "*") if leaf.flipped else ""
    phi = r"\phi" if w.as_latex else "φ"
    if leaf.flipped:
        w.emit(ONCE, f"{y}(0) = {phi}{star}(1,0) {x}(1), for every tip 0 on its body 1")
    else:
        w.emit(ONCE, f"{y}(1) = {phi}(1,0) {x}(0) for every tip 0 on its body 1, {y}(k) = 0 elsewhere")
    return y


def _lower_small(leaf: Leaf, x: str, w: _Writer) -> str:
    y = w.fresh(leaf.rows.kind, LOCAL)
    w.emit(ONCE, f"{y} = {latex(leaf) if w.as_latex else symbol(leaf)} {x}   (a small matrix, formed in O(n))")
    return y


_LOWER: dict[str, Any] = {
    BlockDiagonal.__name__: _lower_diagonal,
    "UserBlockDiagonal": _lower_diagonal,
    Propagation.__name__: _lower_propagation,
    StrictPropagation.__name__: _lower_strict,
    Shift.__name__: _lower_shift,
    Pick.__name__: _lower_pick,
    SmallMatrix.__name__: _lower_small,
}


def riccati_lines(inertia: str, serial: bool, as_latex: bool = False) -> Block:
    """The articulated-body recursion that P, D, G, K and ψ come from (Diagonalized paper, Algorithm 4.1)."""
    title = f"first, articulated inertias, {INWARD}"
    if as_latex:
        total, j = ("", "k-1") if serial else (r"\textstyle\sum_j ", "j")
        return Block(
            title,
            [
                rf"P(k) &= {total}\phi(k,{j}) P^{{+}}({j}) \phi^*(k,{j}) + {inertia}(k)",
                r"D &= H P H^*, \quad G = P H^* D^{-1}, \quad \bar\tau = I - G H, \quad P^{+} = \bar\tau P",
                r"K(k+1,k) &= \phi(k+1,k) G(k), \quad \psi(k+1,k) = \phi(k+1,k) \bar\tau(k)",
            ],
        )
    total, j = ("", "k-1") if serial else ("Σ ", "j")
    p = "k+1" if serial else "p"
    return Block(
        title,
        [
            f"P(k) = {total}φ(k,{j}) P⁺({j}) φ*(k,{j}) + {inertia}(k)",
            "D(k) = H(k) P(k) H*(k),  G(k) = P(k) H*(k) D⁻¹(k),  τ̄(k) = I - G(k) H(k),  P⁺(k) = τ̄(k) P(k)",
            f"K({p},k) = φ({p},k) G(k),  ψ({p},k) = φ({p},k) τ̄(k)",
        ],
    )
