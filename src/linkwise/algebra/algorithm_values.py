"""What stands on the page for the values of an algorithm: formulas, quantities of all bodies, and loops of lines.

A formula is written at body k, its parent p and its children j; :func:`indexed` puts the papers' k − 1 and k + 1 there
for a chain, whose bodies they number from the tip.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .printing import LATEX, TEXT
from .typeset import in_formula

SUM, PRODUCT, ATOM = 0, 1, 2
FIRST = "(→,i)"  # where a walk from body i comes first: at its parent
WORLD = "(0)"  # the index of the world, of which the bodies on it are children
_CHAIN = {"(p,k)": "(k+1,k)", "(k,j)": "(k,k-1)", "(j)": "(k-1)", "(p)": "(k+1)", WORLD: "(n+1)"}
_CHAIN |= {"(p,i)": "(k+1,i)", FIRST: "(i+1,i)"}

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "kappa": "κ", "lam": "λ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "phi": "φ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Phi": "Φ",
    "Psi": "Ψ", "Omega": "Ω", "Upsilon": "Υ",
}  # fmt: skip
_MARKS = {"dot": "\u0307", "ddot": "\u0308", "bar": "\u0304", "hat": "\u0302", "tilde": "\u0303"}
_RAISED = {"plus": ("⁺", "{+}"), "inverse": ("⁻¹", "{-1}"), "star": ("*", "{*}"), "ring": ("°", r"{\circ}")}
_ACCENTS = {"dot": r"\dot", "ddot": r"\ddot", "bar": r"\bar", "hat": r"\hat", "tilde": r"\tilde"}


class Text(NamedTuple):
    """A formula and how tightly it binds; ``uses`` are the quantities that are named in it."""

    text: str
    level: int = ATOM
    uses: frozenset[str] = frozenset()

    def wrapped(self, least: int) -> str:
        """In brackets where it binds more loosely than its place asks."""
        return self.text if self.level >= least else f"[{self.text}]"


@dataclass(eq=False)
class Loop:
    """Lines that run for every body in one direction, or once."""

    title: str
    lines: list[Line] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)
    uses: frozenset[str] = frozenset()  # what the initial values rest on

    code: list[str] = field(default_factory=list)  # what is no formula, as it stands in the code

    @property
    def heading(self) -> str:
        """The title with the initial values."""
        return f"{self.title}, from {', '.join(self.starts)}:" if self.starts else f"{self.title}:"

    @property
    def text(self) -> list[str]:
        """The heading and the lines, as they are printed."""
        lines = [f"{line.left} = {line.right}" for line in self.lines]
        return [f"  {self.heading}", *(f"    {line}" for line in [*lines, *self.code])]

    @property
    def typeset(self) -> list[str]:
        """The lines in LaTeX, the initial values first."""
        starts = [x.replace(" =", " &=", 1) for x in self.starts]
        code = [f"& {in_formula(line)}" for line in self.code]
        return [*starts, *(f"{x.left} &= {x.right}" for x in self.lines), *code]


@dataclass(eq=False)
class Line:
    """A quantity and what it is."""

    name: str
    left: str
    right: str
    uses: frozenset[str]


@dataclass(eq=False)
class Items:
    """A quantity of all bodies; one that has no name yet has its formula, and the loop that computes it."""

    name: str | None
    letter: str = ""
    edge: bool = False  # φ and its kin: between a body and its parent
    pair: str = ""  # of two bodies, the index of both
    formula: Text | None = None
    loop: Loop | None = None
    hole: str = ""  # the mark that stands for it at the parent, until it has a name

    @property
    def own(self) -> Text:
        """Of body k."""
        if self.name is None:
            return self.formula or Text("…")
        index = self.pair or ("(p,k)" if self.edge else "(k)")
        return Text(f"{self.letter}{index}", ATOM, frozenset({self.name}))


@dataclass(eq=False)
class Several:
    """A tuple of values; ``each`` says that it is one for every body."""

    items: list[Any]
    each: bool = False


@dataclass(eq=False)
class Record:
    """Values by name: a dictionary, or an object of fields."""

    fields: dict[str, Any]


class Thing(NamedTuple):
    """What is no quantity: a model, links, a function."""

    value: Any = None


class UnreadableError(Exception):
    """Code that is no formula of body k and its neighbours."""


class Letters:
    """Names of variables as letters, in text or in LaTeX."""

    def __init__(self, as_latex: bool) -> None:
        self.as_latex = as_latex
        self.star = "^*" if as_latex else "*"
        self.inverse = "^{-1}" if as_latex else "⁻¹"
        self.times = r"\times" if as_latex else "×"
        self.sum = r"\textstyle\sum_j " if as_latex else "Σ "

    def of(self, name: str) -> str:
        """D_inverse is D⁻¹, beta_dot is β̇; words stay words."""
        name = name.strip("_") or "x"
        known = LATEX.get(name) if self.as_latex else TEXT.get(name)
        if known is not None or name in TEXT:
            return known or TEXT[name]
        base, *rest = name.split("_")
        if len(base) > 1 and base not in _GREEK:
            return self.word(name)
        out = _GREEK.get(base, base)
        if self.as_latex:
            out = base if len(base) == 1 else rf"\{'lambda' if base == 'lam' else base}"
        for part in rest:
            out = self._marked(out, part)
        return out

    def _marked(self, letter: str, mark: str) -> str:
        if mark in _MARKS:
            return rf"{_ACCENTS[mark]}{{{letter}}}" if self.as_latex else letter + _MARKS[mark]
        if mark in _RAISED:
            return f"{{{letter}}}^{_RAISED[mark][1]}" if self.as_latex else letter + _RAISED[mark][0]
        return rf"{{{letter}}}_{{\mathrm{{{mark}}}}}" if self.as_latex else f"{letter}_{mark}"

    def word(self, name: str) -> str:
        """A word that is no letter."""
        shown = name.replace("_", " ")
        return in_formula(shown) if self.as_latex else shown

    def lowered(self, x: str, angular: bool) -> str:
        """The angular or linear part of a spatial vector, V_ω(k) or V_v(k)."""
        base, bracket, index = x.partition("(")
        part = (r"\omega" if self.as_latex else "ω") if angular else "v"
        return (rf"{{{base}}}_{{{part}}}" if self.as_latex else f"{base}_{part}") + bracket + index

    def adjoint(self, x: str) -> str:
        """x* of an atom, whose star goes before its index."""
        found = re.fullmatch(r"(.+?)(\([^()]*\))", x)
        base, index = found.groups() if found else (x, "")
        if base.endswith(self.star):
            return base.removesuffix(self.star) + index
        if self.as_latex and "^" in base:
            base = f"{{{base}}}"
        return f"{base}{self.star}{index}"


def moved_to_child(text: str) -> str:
    """A formula of body k as one of its child j."""
    return text.replace("(p,k)", "(k,j)").replace("(k)", "(j)")


def indexed(text: str, serial: bool, letters: Letters) -> str:
    """With the papers' indices for a chain."""
    if not serial:
        return text.replace(FIRST, "(p,i)")
    for tree, chain in _CHAIN.items():
        text = text.replace(tree, chain)
    return text.replace(letters.sum, "")


# --- values of the running code ------------------------------------------------------------------------


def whole_number(node: ast.expr) -> int | None:
    """A whole number that stands in the code, also a negative one."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = whole_number(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def standing(name: str, letter: str, value: Any) -> Any:
    """What stands for a variable whose value comes from code that was not read."""
    if not is_quantity(value):
        return Thing(value)
    if isinstance(value, (list, tuple)):
        return Items(name, letter, edge=name == "phi")
    return Text(letter, ATOM, frozenset({name}))


_BLOCKS = ("Transform", "RigidInertia", "AdjointTransform", "Rotation", "Members", "InertiaRate")


def is_quantity(value: Any) -> bool:
    """Whether something holds numbers that a state may change: arrays, blocks, and lists of them."""
    if isinstance(value, (list, tuple)):
        return any(map(is_quantity, value))
    if isinstance(value, dict):
        return any(map(is_quantity, value.values()))
    return isinstance(value, (np.ndarray, np.generic)) or type(value).__name__ in _BLOCKS


def is_zero(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(is_zero, value))
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0
