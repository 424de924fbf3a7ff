"""The sweeps of an expression, printed with the papers' indices: 1 is the outermost body, n the base.

Propagations become loops; memoryless factors and shifts are written into the line that uses them, so that
(I − HψK) x reads ε(k) = x(k) − H(k) z(k) with z(k) = ψ(k,k−1) z(k−1) + K(k,k−1) x(k−1).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .expression import Expression, Identity, Inclusion, Product, Sum, Zero, product, total
from .kinds import Column, Leaf, Pick, Propagation, Shift, SmallMatrix, StrictPropagation, UserMatrix
from .printing import latex, lowered, text
from .stacking import blocks_of

INWARD = "inward, k = 1 … n (tips to base):"
OUTWARD = "outward, k = n … 1 (base to tips):"
LOCAL = "at every k:"
ONCE = "once:"


_WORD = r"((?:\{[^{}]*\}|[^\s\[\](){},&])+)"  # a letter with what hangs on it, P⁺_{B B*}
_NEIGHBOUR = re.compile(
    _WORD + r"\((k-1|k\+1|p)\)(?=(\s+[^\s+-])?)"
)  # a quantity of a neighbour, and if a factor follows
_IN_BRACKETS = re.compile(r"\[([^\[\]]*)\]\((k-1|k\+1|p)\)")  # [A + B](k-1); edges are (k,k-1)
_DEFINED = re.compile(_WORD + r"\(k\)\s*&?=")


@dataclass
class Block:
    """Lines that run in one loop."""

    title: str
    lines: list[str] = field(default_factory=list)

    @property
    def starts(self) -> list[str]:
        """What its recursions start from: quantities beyond the ends, of which there are none, are zero.

        (Sums over children are empty at the tips.) Operators between an edge and a vector need no value there.
        """
        beyond = {"k-1": "(0) = 0", "k+1": "(n+1) = 0", "p": " = 0 at the world"}
        own = {name for line in self.lines for name in _DEFINED.findall(line)}
        found = []
        for line in self.lines:
            found += [x + beyond[i] for x, i, factor in _NEIGHBOUR.findall(line) if x in own or not factor]
            for inside, i in _IN_BRACKETS.findall(line):
                found += [x + beyond[i] for x in inside.split() if x in own]
        return list(dict.fromkeys(found))

    @property
    def heading(self) -> str:
        """The title with the initial values."""
        return f"{self.title.removesuffix(':')}, from {', '.join(self.starts)}:" if self.starts else self.title

    @property
    def text(self) -> list[str]:
        """The heading and the lines, as they are printed."""
        return [f"  {self.heading}", *(f"    {line}" for line in self.lines)]

    @property
    def typeset(self) -> list[str]:
        """The lines of a block in LaTeX, the initial values first."""
        starts = [x.replace(" =", " &=").replace("at the world", r"\text{ at the world}") for x in self.starts]
        return [*starts, *self.lines]


@dataclass(frozen=True)
class Value:
    """A vector on the page: how its block at an index is written, and which loop that line must be in.

    A value that looks at a neighbour (a shift) can only be written at k itself.
    """

    at: Callable[[str], str]
    direction: str = LOCAL
    named: bool = False


class Writer:
    """Collects lines and names vectors: z inward, λ outward, ε, ν, η in joint space, t at tips."""

    def __init__(self, whole: Expression, serial: bool, as_latex: bool) -> None:
        self.whole, self.serial, self.as_latex = whole, serial, as_latex
        self.lines: list[tuple[str, str]] = []
        self.counts: dict[str, int] = {}
        self.equals = "&=" if as_latex else "="

    def define(self, kind: str, value: Value) -> Value:
        """Give a value its own line and name."""
        name = self.fresh(kind, value.direction)
        self.lines.append((value.direction, f"{name}(k) {self.equals} {value.at('k')}"))
        return self.variable(name)

    def variable(self, name: str) -> Value:
        return Value(lambda i: f"{name}({i})", named=True)

    def fresh(self, kind: str, direction: str) -> str:
        letters = {"joint": "ενη", "tip": "t", "edge": "e"}.get(kind) or ("λ" if direction == OUTWARD else "z")
        letter = next((x for x in letters if x not in self.counts), letters[0])
        self.counts[letter] = self.counts.get(letter, 0) + 1
        n = self.counts[letter]
        shown = self.letter(letter)
        return shown if n == 1 else f"{shown}_{n}" if self.as_latex else f"{shown}{lowered(n)}"

    def words(self, remark: str) -> str:
        """A remark behind a formula."""
        return rf" \quad\text{{{remark}}}" if self.as_latex else f"   {remark}"

    def letter(self, x: str) -> str:
        greek = {"ε": r"\epsilon", "ν": r"\nu", "η": r"\eta", "λ": r"\lambda"}
        return greek.get(x, x) if self.as_latex else x

    def name(self, leaf: Leaf, index: str) -> str:
        return f"{self.written(leaf)}({index})"

    def part(self, name: str, i: int) -> str:
        """Part i of a stack, from 0 on, of that name."""
        return f"{name}_{{{i + 1}}}" if self.as_latex else f"{name}{lowered(i + 1)}"

    def written(self, leaf: Leaf) -> str:
        """The letter of a leaf."""
        return latex(leaf, self.whole) if self.as_latex else text(leaf, self.whole)

    def across(self, leaf: Leaf, inner: Callable[[str], str]) -> str:
        """An edge map applied to the neighbour: φ(k,k−1) x(k−1), or φ*(k+1,k) x(k+1) for an adjoint."""
        if leaf.flipped:
            there, edge = ("k+1", "k+1,k") if self.serial else ("p", "p,k")
            return f"{self.name(leaf, edge)} {inner(there)}"
        if self.serial:
            return f"{self.name(leaf, 'k,k-1')} {inner('k-1')}"
        total = r"\textstyle\sum_j " if self.as_latex else "Σ "
        return f"{total}{self.name(leaf, 'k,j')} {inner('j')}"


def recursions(op: Expression, serial: bool, as_latex: bool = False) -> list[Block]:
    """The loops that applying ``op`` to x runs, ending in y."""
    w = Writer(op, serial, as_latex)
    x = Value(lambda i: "1", named=True) if op.cols.kind == "number" else w.variable("x")
    table = blocks_of(op) if op.rows.kind == "stack" else None
    if table is not None:
        for i in sorted({i for i, _ in table if i is not None}):
            y = _lower(_row(op, i), x, w)
            w.lines.append((y.direction, f"{w.part('y', i)}(k) {w.equals} {y.at('k')}"))
        return _grouped(w.lines)
    result = _lower(op, x, w)
    if result.named and w.lines and w.lines[-1][0] != ONCE:
        name = result.at("k").removesuffix("(k)")
        direction, line = w.lines[-1]
        w.lines[-1] = (direction, line.replace(f"{name}(", "y("))
    elif result.at("k") != "x(k)" and not result.named:
        w.lines.append((result.direction, f"y(k) {w.equals} {result.at('k')}"))
    return _grouped(w.lines)


def _row(op: Expression, i: int) -> Expression:
    """Part i of what a stack gives."""
    part = Inclusion(op.rows, i, flipped=True)
    return total([(c, product([part, t])) for c, t in (op.terms if isinstance(op, Sum) else [(1.0, op)])])


def _grouped(lines: list[tuple[str, str]]) -> list[Block]:
    """A loop goes on while the direction stays; local lines join the loop around them."""
    blocks: list[Block] = []
    for direction, line in lines:
        last = blocks[-1].title if blocks else None
        if direction == last or (direction == LOCAL and last in (INWARD, OUTWARD)):
            blocks[-1].lines.append(line)
        elif last == LOCAL and direction in (INWARD, OUTWARD):
            blocks[-1].title = direction
            blocks[-1].lines.append(line)
        else:
            blocks.append(Block(direction, [line]))
    return blocks


def _lower(op: Expression, x: Value, w: Writer) -> Value:
    """The value of op x, with whatever lines it needs."""
    if isinstance(op, Identity):
        return x
    if isinstance(op, Product):
        for f in reversed(op.factors):
            x = _lower(f, x, w)
        return x
    if isinstance(op, Sum):
        return _lower_sum(op, x, w)
    if isinstance(op, Zero):
        return w.define(op.rows.kind, Value(lambda i: "0"))
    if isinstance(op, Inclusion):
        return _lower_part(op, x, w)
    assert isinstance(op, Leaf)
    if isinstance(op, (Propagation, StrictPropagation)):
        return _lower_propagation(op, x, w)
    if isinstance(op, Shift):
        inner = _settled(op.cols.kind, x, w)
        return Value(lambda i: w.across(op, inner.at), OUTWARD if op.flipped else INWARD)
    if isinstance(op, Column):
        return _lower_vector(op, x, w)
    if isinstance(op, (Pick, SmallMatrix)):
        return _lower_once(op, x, w)
    return Value(lambda i: f"{w.name(op, i)} {x.at(i)}", x.direction)


def _lower_part(op: Inclusion, x: Value, w: Writer) -> Value:
    """A part of a stack is taken out, or put in."""
    x = _settled(op.cols.kind, x, w)
    if op.flipped and x.at("k") == "x(k)":
        return w.variable(w.part("x", op.index))
    if op.flipped:
        return Value(lambda i: w.part(f"[{x.at(i)}]", op.index))
    return Value(lambda i: f"[{x.at(i)}]{w.words('in part ' + str(op.index + 1))}")


def _lower_vector(leaf: Column, x: Value, w: Writer) -> Value:
    """A vector is at every body what it is; its adjoint adds up products with it."""
    if not leaf.flipped:
        return Value(lambda i: w.name(leaf, i))
    inner = _settled(leaf.cols.kind, x, w)
    total = r"\textstyle\sum_k " if w.as_latex else "Σ "
    w.lines.append((ONCE, f"y {w.equals} {total}{w.name(leaf, 'k')} {inner.at('k')}"))
    return w.variable("y")


def _settled(kind: str, x: Value, w: Writer) -> Value:
    """A value that may be read at any index: shifts need a line of their own first."""
    return x if x.direction == LOCAL else w.define(kind, x)


def _lower_sum(op: Sum, x: Value, w: Writer) -> Value:
    x = x if x.named else w.define(op.cols.kind, x)
    parts: list[tuple[float, Value]] = []
    direction = LOCAL
    for c, term in op.terms:
        part = _lower(term, x, w)
        if LOCAL not in (direction, part.direction) and part.direction != direction:
            part = w.define(op.rows.kind, part)
        direction = part.direction if direction == LOCAL else direction
        parts.append((c, part))

    def written(i: str) -> str:
        out = ""
        for c, part in parts:
            size = "" if abs(c) == 1 else f"{abs(c):g} "
            out += (" - " if c < 0 else " + " if out else "") + size + part.at(i)
        return out.strip()

    return w.define(op.rows.kind, Value(written, direction))


def _lower_propagation(leaf: Leaf, x: Value, w: Writer) -> Value:
    direction = OUTWARD if leaf.flipped else INWARD
    strict = isinstance(leaf, StrictPropagation)
    if strict or x.direction not in (LOCAL, direction):
        x = _settled(leaf.cols.kind, x, w)
    y = w.variable(w.fresh(leaf.rows.kind, direction))
    if strict:
        base = leaf.owner.phi if leaf.upright().name == "phi_tilde" else leaf.owner.psi
        edge = base.T if leaf.flipped else base
        assert isinstance(edge, Leaf)
        right = w.across(edge, lambda i: f"[{y.at(i)} + {x.at(i)}]")
    else:
        right = f"{w.across(leaf, y.at)} + {x.at('k')}"
    w.lines.append((direction, f"{y.at('k')} {w.equals} {right}"))
    return y


def _lower_once(leaf: Leaf, x: Value, w: Writer) -> Value:
    x = _settled(leaf.cols.kind, x, w)
    if isinstance(leaf, SmallMatrix):
        x = x if x.named else w.define(leaf.cols.kind, x)
        y = w.variable(w.fresh("tip", ONCE))
        remark = "" if isinstance(leaf, UserMatrix) else w.words("(a small matrix, formed in O(n))")
        w.lines.append((ONCE, f"{y.at('0')} {w.equals} {w.written(leaf)} {x.at('0')}{remark}"))
        return y
    phi = r"\phi" if w.as_latex else "φ"
    if leaf.flipped:
        star = "^*" if w.as_latex else "*"
        y = w.variable(w.fresh(leaf.rows.kind, ONCE))
        moved = f"{phi}{star}(1,0) {x.at('1')}{w.words('for every tip 0 on its body 1')}"
        w.lines.append((ONCE, f"{y.at('0')} {w.equals} {moved}"))
        return y
    y = w.variable(w.fresh(leaf.rows.kind, ONCE))
    placed = f"{phi}(1,0) {x.at('0')}{w.words('for every tip 0 on its body 1; elsewhere 0')}"
    w.lines.append((ONCE, f"{y.at('1')} {w.equals} {placed}"))
    return y
