"""Formulas as text → operators: ``H phi M phi* H*``, ``H φ M φ* H*`` or ``H @ phi @ M @ phi.T @ H.T``.

Names are those of :class:`Operators` or the letters ``explain`` prints. Factors stand side by side, or with
``@`` or ``·`` between them. A star right behind a factor is its adjoint (so are ``.T`` and ``^T``); with a blank
before it, it multiplies. ``.inv()``, ``⁻¹`` and ``^-1`` are the inverse, ``.simplify()`` applies the identities.
``I`` is the identity of the space its sum is on. Numbers stand in front of what they multiply. Text is never run as
code, and what could be read in two ways is refused: blocks P(2), powers H^2, numbers behind operators, D^-1/2.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ..errors import InputError, LinkwiseError, did_you_mean
from .expression import Expression, Identity, product, total
from .leaves import Leaves
from .motion import MotionLeaves
from .operator import Operator, bound
from .operators import OPERATOR_NAMES, Operators
from .printing import STARRED, TEXT

_LONGEST, _DEEPEST = 2000, 50
_LETTERS = {"Φ": "Phi", "Ψ": "Psi", "Ω": "Omega", "ℓ": "ell", "𝓜": "mass", "R̂": "R_hat", "P̂": "P_hat", "Ĵ": "J_hat"}
_ALIASES = {"N": "rotor_coupling"}
_POSTFIXES = {
    "adjoint": re.compile(r"\.T(?!\w)|\^T(?!\w)|\^\*|ᵀ"),
    "inverse": re.compile(r"\.inv\(\)|⁻¹|\^-1(?!\d)|\^\{-1\}"),
    "simplify": re.compile(r"\.simplify\(\)"),
}
_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_SIGNS = {"−": "-", "·": "@", "∙": "@"}


def parse_formula(text: str, operators: Operators) -> Operator:
    """The operator that a formula names; raises :class:`InputError` with the column of what it cannot read."""
    return bound(parse_expression(text, operators.leaves), operators.binding)


def parse_expression(text: str, leaves: Leaves) -> Expression:
    """As :func:`parse_formula`, bound to no state."""
    return _Parser(text, leaves).whole()


def needs_motion(text: str) -> bool:
    """Whether a formula names an operator that takes velocities and accelerations."""
    moving = {name for name in OPERATOR_NAMES if hasattr(MotionLeaves, name)}
    return any(t.kind == "name" and t.text in moving for t in _tokens(text))


def operator_names() -> list[str]:
    """Every name a formula may use, ``I`` apart."""
    return sorted(set(OPERATOR_NAMES) - {"I"})


@cache
def _letters() -> dict[str, str]:
    """Spellings that are no plain words, each with its operator's name, longest first."""
    spelled = {_composed(s): name for s, name in [*((s, n) for n, s in TEXT.items()), *_LETTERS.items()]}
    odd = {s: n for s, n in spelled.items() if not _WORD.fullmatch(s)}
    return dict(sorted(odd.items(), key=lambda item: -len(item[0])))


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


# --- words -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Token:
    """A piece of a formula: kind "name", "number", "adjoint", "inverse", "simplify", or the sign itself."""

    kind: str
    text: str
    column: int
    is_letter: bool = False  # a name spelled as it is printed
    is_glued: bool = False  # whether no blank stands before it


def _tokens(text: str) -> list[_Token]:
    if len(text) > _LONGEST:
        raise InputError(f"the formula has {len(text)} letters, more than the {_LONGEST} that are read")
    text = _composed(text)
    out: list[_Token] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        behind = bool(out) and _ends_operand(out[-1])
        glued = at > 0 and not text[at - 1].isspace()
        _refuse_two_meanings(text, at, behind and glued)
        token, length = _next(text, at, behind)
        out.append(replace(token, is_glued=glued))
        at += length
    return out


_INDICES = re.compile(r"\(\s*[\dijknp+−-][\dijknp+−,\s-]*\)|\([^()]*,[^()]*\)")


def _refuse_two_meanings(text: str, at: int, behind_operand: bool) -> None:
    """What stands right behind an operator and means something else in the papers or in Python than a product."""
    if not behind_operand:
        return
    where, rest = f"the formula, column {at + 1}: ", text[at:]
    block = _INDICES.match(rest)
    if block:
        raise InputError(
            f"{where}{block[0]} reads as a block of the operator before it, and blocks are not there yet; a number"
            " that multiplies stands in front, as in 2 P"
        )
    if rest.startswith("**"):
        raise InputError(f"{where}** is no power; write the product out, and the adjoint of the adjoint as (H*)*")
    if re.match(r"\*\d", rest):
        raise InputError(
            f"{where}a star right behind an operator is its adjoint; the number it seems to multiply by stands in front"
        )
    if rest.startswith("^-1/"):
        raise InputError(
            f"{where}a root, or an inverse that is divided? D^-1/2 may be D_root_inverse, or 0.5 D^-1: write which"
        )
    if rest[0] in "^²³⁴⁵⁶⁷⁸⁹" and not any(p.match(text, at) for p in _POSTFIXES.values()):
        raise InputError(f"{where}powers other than ^-1, ^T and ^* are not there; write products out, as in P P")


def _ends_operand(token: _Token) -> bool:
    return token.kind in ("name", ")", "adjoint", "inverse", "simplify")


def _next(text: str, at: int, behind_operand: bool) -> tuple[_Token, int]:
    """The token at a place of the text, and how long it is."""
    letters = next((s for s in _letters() if text.startswith(s, at)), None)
    if letters is not None:
        return _Token("name", _letters()[letters], at + 1, is_letter=True), len(letters)
    for kind, spelling in _POSTFIXES.items():
        found = spelling.match(text, at)
        if found and behind_operand:
            return _Token(kind, found[0], at + 1), len(found[0])
    if text[at] == "*" and behind_operand and not text[at - 1].isspace():
        return _Token("adjoint", "*", at + 1), 1
    number = _NUMBER.match(text, at)
    if number:
        return _Token("number", number[0], at + 1), len(number[0])
    word = _WORD.match(text, at)
    if word:
        return _Token("name", word[0], at + 1), len(word[0])
    sign = _SIGNS.get(text[at], text[at])
    if sign in "+-@*/()":
        return _Token(sign, text[at], at + 1), 1
    if text.startswith(".", at):
        raise InputError(
            f"the formula, column {at + 1}: of an operator there are .T, .inv() and .simplify(), not {text[at:][:12]!r}"
        )
    raise InputError(f"the formula, column {at + 1}: {text[at]!r} means nothing here; see linkwise explain --help")


# --- grammar -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Unit:
    """A multiple of the identity, of a space not known yet."""

    scale: float = 1.0


class _Parser:
    """Reads sums of products of factors, by recursive descent."""

    def __init__(self, text: str, leaves: Leaves) -> None:
        self.leaves = leaves
        self.tokens = [*_tokens(text), _Token("end", "", len(text) + 1)]
        self.at = 0
        self.depth = 0

    @property
    def here(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def error(self, token: _Token, reason: str) -> InputError:
        return InputError(f"the formula, column {token.column}: {reason}")

    def whole(self) -> Expression:
        value = self.sum()
        if self.here.kind != "end":
            raise self.error(self.here, f"{self.here.text!r} is one too many")
        if isinstance(value, _Unit):
            return self.leaves.I if value.scale == 1 else value.scale * self.leaves.I
        if not isinstance(value, Expression):
            raise InputError("the formula is a number; it must name an operator")
        return value

    def sum(self) -> Any:
        """Products with + and − between them; a bare I becomes the identity of the others' space."""
        start = self.here
        sign = -1.0 if self.here.kind == "-" else 1.0
        if self.here.kind in "+-":
            self.take()
        terms = [(sign, self.here, self.product())]
        while self.here.kind in ("+", "-"):
            sign = 1.0 if self.take().kind == "+" else -1.0
            terms.append((sign, self.here, self.product()))
        return self._added(terms, start)

    def _added(self, terms: list[tuple[float, _Token, Any]], start: _Token) -> Any:
        known = next((t for _, _, t in terms if isinstance(t, Expression)), None)
        if known is None:
            number = next((token for _, token, t in terms if isinstance(t, float)), None)
            if len(terms) > 1 and number is not None:
                raise self.error(number, "a number alone cannot be added; for twice the identity write 2 I")
            if number is not None:
                return terms[0][0] * terms[0][2]
            return _Unit(sum(c * t.scale for c, _, t in terms))
        full: list[tuple[float, Expression]] = []
        for c, token, t in terms:
            if isinstance(t, float):
                hint = f"; an inverse is {known}^-1" if (c, t) == (-1.0, 1.0) else ""
                raise self.error(token, f"{t:g} alone cannot be added to {known}; write {t:g} I{hint}")
            if isinstance(t, _Unit):
                if known.rows != known.cols:
                    raise self.error(token, f"{known} maps {known.cols} to {known.rows}, so no I can be added to it")
                c, t = c * t.scale, Identity(known.rows)
            full.append((c, t))
        if len(full) == 1 and full[0][0] == 1:
            return full[0][1]
        return self._made(start, lambda: total(full))

    def product(self) -> Any:
        """Factors side by side, or with @, ·, or a star between them; numbers in front multiply, and divide with /."""
        start = self.here
        scale, units, factors = 1.0, False, list[Expression]()
        between: _Token | None = None  # the sign before a factor; None where it stands side by side with the last
        first = True
        while True:
            token = self.here
            value = self.factor()
            if isinstance(value, float):
                self._refuse_number(token, between, first)
                scale *= value
            elif isinstance(value, _Unit):
                scale, units = scale * value.scale, True
            else:
                factors.append(value)
            while self.here.kind == "/":
                scale /= self._divisor()
            between, first = None, False
            if self.here.kind in ("@", "*"):
                between = self.take()
                if between.text == "@" and isinstance(value, float):
                    raise self.error(between, "@ stands between operators; a number multiplies with * or a blank")
            elif self.here.kind not in ("name", "number", "("):
                break
        if not math.isfinite(scale):
            raise self.error(start, "a number here is too large")
        if not factors:
            return _Unit(scale) if units else scale
        whole = factors[0] if len(factors) == 1 else self._made(start, lambda: product(factors))
        return whole if scale == 1 else scale * whole

    def _refuse_number(self, token: _Token, between: _Token | None, first: bool) -> None:
        """A number multiplies what it stands in front of; behind something only with a sign that says so."""
        if between is not None and between.text == "@":
            raise self.error(between, "@ stands between operators; a number multiplies with * or a blank")
        if not first and between is None:
            raise self.error(token, "a number stands in front of what it multiplies: 2 P, not P 2 or P (2)")

    def _divisor(self) -> float:
        sign = self.take()
        if self.here.kind != "number" or float(self.here.text) == 0:
            raise self.error(sign, "only numbers other than zero divide; an inverse is .inv() or ^-1")
        number = self.take()
        if self.here.is_glued and self.here.kind in ("name", "("):
            raise self.error(self.here, f"does {number.text} divide this as well? put a blank or parentheses")
        return float(number.text)

    def factor(self) -> Any:
        """A number, a name or parentheses, and what stands behind it."""
        token = self.take()
        if token.kind == "number":
            return float(token.text)
        if token.kind == "name":
            value = self._named(token)
        elif token.kind == "(":
            value = self._parenthesis(token)
        elif token.kind == "end":
            raise self.error(token, "the formula ends where a factor should stand")
        else:
            raise self.error(token, f"{token.text!r} where a factor should stand")
        while self.here.kind in ("adjoint", "inverse", "simplify"):
            value = self._changed(value, self.take())
        return value

    def _parenthesis(self, opening: _Token) -> Any:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error(opening, f"more than {_DEEPEST} parentheses inside each other")
        value = self.sum()
        if self.here.kind != ")":
            raise self.error(opening, "this parenthesis is not closed")
        self.take()
        self.depth -= 1
        return value

    def _changed(self, value: Any, token: _Token) -> Any:
        if isinstance(value, float):
            raise self.error(token, f"{token.text!r} is for operators, not for numbers")
        if isinstance(value, _Unit):
            if token.kind != "inverse":
                return value
            if not value.scale:
                raise self.error(token, "this is zero times the identity, which has no inverse")
            return _Unit(1.0 / value.scale)
        if token.kind == "adjoint":
            return value.T
        return self._made(token, value.inv if token.kind == "inverse" else value.simplify)

    def _named(self, token: _Token) -> Any:
        name = _ALIASES.get(token.text, token.text)
        if name == "I":
            return _Unit()
        if name not in operator_names():
            raise self.error(token, f"no operator is named {name!r}{_meant(name, operator_names())}")
        value = self._made(token, lambda: getattr(self.leaves, name))
        # The letters Ḣ and Ḧ carry a star where the operator itself is printed.
        return value.T if token.is_letter and name in STARRED else value

    def _made(self, token: _Token, make: Any) -> Any:
        """What ``make`` gives, its errors with the column."""
        try:
            return make()
        except InputError:
            raise
        except LinkwiseError as e:
            raise type(e)(f"the formula, column {token.column}: {e}") from None


def _meant(name: str, known: list[str]) -> str:
    """A hint at the name that is near, or at all there are."""
    near = did_you_mean(name, known)
    return f"; {near}" if near else f"; separate factors by blanks; there are {', '.join(known)}"
