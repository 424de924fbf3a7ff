r"""The words of a formula: names, numbers, signs, adjoints, inverses, indices of blocks.

Names are those of :class:`.operators.Operators`, the letters that linkwise prints, or its LaTeX: ``phi``, ``φ`` and
``\phi`` are one. With a subscript, ``φ₁`` or ``\phi_{1}``, they are of one of several robots. Capitals may stand
together: ``KH`` is ``K H``. What could be read in two ways is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ..errors import InputError
from .formula_letters import ALIASES, composed, letters, raised_letters
from .operators import OPERATOR_NAMES

_LONGEST = 20_000
_POSTFIXES = {
    "adjoint": re.compile(r"\.T(?!\w)|\^T(?!\w)|\^\*|\^\{\*\}|\^\{T\}|\^\{?\\(?:top|ast)\}?(?![A-Za-z])|ᵀ"),
    "inverse": re.compile(r"\.inv\(\)|⁻¹|\^-1(?!\d)|\^\{-1\}"),
    "simplify": re.compile(r"\.simplify\(\)"),
    "derivative": re.compile(r"\.time_derivative\(\)"),
}
_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|½|\\[td]?frac(?:\{1\}\{2\}|12(?!\d))")
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|[α-ωΑ-Ω]")
_NUMBERED = re.compile(r"([A-Za-z_][A-Za-z_0-9]*?)_(?:(\d+)(?![A-Za-z_0-9])|\{(\d+)\})")
_ROBOT = re.compile(r"([₀-₉]+)|_\{(\d+)\}|_(\d+)(?!\w)")
LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_SPACE = re.compile(r"\s+|\\[,;:! ]|\\quad\b|\\left(?=[(\[])|\\right(?=[)\]])")
_SIGNS = {"−": "-", "·": "@", "∙": "@", "[": "(", "]": ")", "{": "(", "}": ")", "&": ","}
_TABLE = {"\\\\": (";", ";")}
_TABLE |= {rf"\begin{{{x}matrix}}": ("(", "[") for x in "bp"} | {rf"\end{{{x}matrix}}": (")", "]") for x in "bp"}
_RATE = re.compile(r"(?:d/dt|\\frac\{d\}\{dt\})(?=\s*\()")
_COMMAND = re.compile(r"\\[A-Za-z]+$")
_TIMES = re.compile(r"\\cdot(?![A-Za-z])")
_INDICES = re.compile(r"\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_NAMED_INDICES = re.compile(r"\(\s*[\dijknp+−-][\dijknp+−,\s-]*\)|\([^()]*,[^()]*\)")


@dataclass(frozen=True)
class Token:
    """A piece of a formula: kind "name", "number", "adjoint", "inverse", "simplify", "derivative", "rate",
    "indices", or the sign itself."""

    kind: str
    text: str
    column: int
    is_letter: bool = False  # a name spelled as it is printed
    is_glued: bool = False  # whether no blank stands before it
    robot: int | None = None  # of several, whose operator a name is, from 1 on
    spelling: str = ""  # of a name, as it was typed

    @property
    def value(self) -> float:
        """Of a number."""
        return 0.5 if self.text == "½" or self.text.startswith("\\") else float(self.text)

    @property
    def indices(self) -> tuple[int, ...]:
        """Of a block."""
        return tuple(int(x) for x in re.findall(r"\d+", self.text))


def tokens(text: str) -> list[Token]:
    """The pieces of a formula, in order."""
    if len(text) > _LONGEST:
        raise InputError(f"the formula has {len(text)} letters, more than the {_LONGEST} that are read")
    text = composed(text)
    out: list[Token] = []
    at = 0
    glued = False
    while at < len(text):
        space = _SPACE.match(text, at)
        if space:
            at, glued = space.end(), False
            continue
        behind = bool(out) and _ends_operand(out[-1])
        _refuse_two_meanings(text, at, behind and glued)
        found, length = _next(text, at, behind, glued)
        out += [replace(token, is_glued=glued or i > 0) for i, token in enumerate(found)]
        at, glued = at + length, True
    _refuse_stray_separators(out)
    return out


def _refuse_stray_separators(found: list[Token]) -> None:
    """Commas and semicolons stand between the blocks of a stack, in brackets."""
    around: list[str] = []
    for token in found:
        if token.kind == "(":
            around.append(token.text)
        elif token.kind == ")" and around:
            around.pop()
        elif token.kind in (",", ";") and around[-1:] != ["["]:
            raise InputError(
                f"the formula, column {token.column}: {token.text!r} means nothing here; in brackets it stands between"
                " the blocks of a stack, as in [H, 0; 0, φ]"
            )


def _refuse_two_meanings(text: str, at: int, behind_operand: bool) -> None:
    """What stands right behind an operator and means something else in the papers or in Python than a product."""
    if not behind_operand:
        return
    where, rest = f"the formula, column {at + 1}: ", text[at:]
    block = _NAMED_INDICES.match(rest)
    if block and not _INDICES.match(rest):
        raise InputError(
            f"{where}{block[0]} reads as a block of the operator before it, and the indices of a block are whole"
            " numbers, as in φ(3,1); a sum that is multiplied stands behind a blank"
        )
    if rest.startswith("**"):
        raise InputError(f"{where}** is no power; write the product out, and the adjoint of the adjoint as (H*)*")
    if re.match(r"\*\d", rest):
        raise InputError(
            f"{where}a star right behind an operator is its adjoint; the number it seems to multiply by stands in front"
        )
    if rest.startswith("^-1/"):
        raise InputError(
            f"{where}a root, or an inverse that is divided? D^-1/2 may be D^(-1/2), or 0.5 D^-1: write which"
        )
    if rest[0] in "^²³⁴⁵⁶⁷⁸⁹" and not any(p.match(text, at) for p in _POSTFIXES.values()):
        raise InputError(f"{where}powers other than ^-1, ^T and ^* are not there; write products out, as in P P")


def _ends_operand(token: Token) -> bool:
    return token.kind in ("name", ")", "adjoint", "inverse", "simplify", "derivative", "indices")


def _next(text: str, at: int, behind_operand: bool, glued: bool) -> tuple[list[Token], int]:
    """The token at a place of the text (of capitals that stand together, several), and how long it is."""
    indices = _INDICES.match(text, at) if behind_operand and glued else None
    if indices:
        return [Token("indices", indices[0], at + 1)], len(indices[0])
    rate = _RATE.match(text, at)
    if rate:
        return [Token("rate", rate[0], at + 1)], len(rate[0])
    named = _named(text, at)
    if named is not None:
        return named
    for kind, pattern in _POSTFIXES.items():
        found = pattern.match(text, at)
        if found and behind_operand:
            return [Token(kind, found[0], at + 1)], len(found[0])
    if text[at] == "*" and behind_operand and glued:
        return [Token("adjoint", "*", at + 1)], 1
    number = _NUMBER.match(text, at)
    if number:
        return [Token("number", number[0], at + 1)], len(number[0])
    word = _WORD.match(text, at)
    if word:
        return _word(text, at, word[0])
    times = _TIMES.match(text, at)
    if times:
        return [Token("@", times[0], at + 1)], len(times[0])
    for table, (kind, sign) in _TABLE.items():
        if text.startswith(table, at):
            return [Token(kind, sign, at + 1)], len(table)
    sign = _SIGNS.get(text[at], text[at])
    if sign in "+-@*/(),;=":
        return [Token(sign, text[at], at + 1)], 1
    if text.startswith(".", at):
        raise InputError(
            f"the formula, column {at + 1}: of an operator there are .T, .inv(), .simplify() and"
            f" .time_derivative(), not {text[at:][:12]!r}"
        )
    raise InputError(f"the formula, column {at + 1}: {text[at]!r} means nothing here; see linkwise explain --help")


def _named(text: str, at: int) -> tuple[list[Token], int] | None:
    """A letter that is no plain word, with the number of its robot behind it, if there is one: φ, φ₁, {P^{+}}_{1}."""
    between = _numbered_between(text, at)
    if between is not None:
        return between
    braced = text[at] == "{"
    start = at + braced
    spelling = next((s for s in letters() if _begins(text, start, s)), None)
    if spelling is None:
        return None
    end = start + len(spelling)
    if braced and not text.startswith("}_{", end):
        return None
    number = _ROBOT.match(text, end + braced)
    robot = None if number is None else _robot(number)
    length = end + braced + (len(number[0]) if number else 0) - at
    return [Token("name", letters()[spelling], at + 1, is_letter=True, robot=robot, spelling=spelling)], length


def _numbered_between(text: str, at: int) -> tuple[list[Token], int] | None:
    """A letter with the number of its robot before what is above it: P₁⁺, D_1^½."""
    for letter, above, name in raised_letters():
        number = _ROBOT.match(text, at + len(letter)) if text.startswith(letter, at) else None
        if number is not None and text.startswith(above, number.end()):
            robot, length = _robot(number), number.end() + len(above) - at
            return [Token("name", name, at + 1, is_letter=True, robot=robot, spelling=f"{letter}{above}")], length
    return None


def _robot(number: re.Match[str]) -> int:
    """The number of a robot behind a letter."""
    return int(next(x for x in number.groups() if x).translate(LOWERED))


def _word(text: str, at: int, word: str) -> tuple[list[Token], int]:
    """A name in plain letters, with the number of its robot behind it, if there is one: H, H₁, H_1, H_{1}."""
    numbered = _NUMBERED.match(text, at)
    if numbered and word not in OPERATOR_NAMES:
        return [Token("name", numbered[1], at + 1, robot=int(numbered[2] or numbered[3]))], len(numbered[0])
    number = _ROBOT.match(text, at + len(word))
    found = _names(word, at + 1)
    if number is None:
        return found, len(word)
    return [*found[:-1], replace(found[-1], robot=_robot(number))], len(word) + len(number[0])


def _begins(text: str, at: int, spelling: str) -> bool:
    """Whether a spelling stands here, and is not the beginning of a longer LaTeX word."""
    if not text.startswith(spelling, at):
        return False
    after = text[at + len(spelling) : at + len(spelling) + 1]
    return not (_COMMAND.search(spelling) and after.isascii() and after.isalpha())


def _names(word: str, column: int) -> list[Token]:
    """A word as a name; capitals that stand together, and are no name, as one name each."""
    known = {*OPERATOR_NAMES, *ALIASES, "I"}
    if word in known or not (word.isupper() and all(letter in known for letter in word)):
        return [Token("name", word, column)]
    return [Token("name", letter, column + i) for i, letter in enumerate(word)]
