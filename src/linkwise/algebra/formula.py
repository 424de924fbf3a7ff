"""Formulas as text → operators: ``H phi M phi* H*``, ``H φ M φ* H*`` or ``H @ phi @ M @ phi.T @ H.T``.

Names are those of :class:`Operators`, the letters ``explain`` prints, or its LaTeX (:mod:`.formula_words`). Factors
stand side by side, or with ``@`` or ``·`` between them. A star right behind a factor is its adjoint (so are ``.T``
and ``^T``); with a blank before it, it multiplies. ``.inv()``, ``⁻¹`` and ``^-1`` are the inverse, ``.simplify()``
applies the identities, ``.time_derivative()`` differentiates, and ``d/dt(…)`` is that derivative as it stands. ``I``
is the identity of the space its sum is on. Numbers stand in front of what they multiply. Indices right behind a
factor name a block, ``φ(3,1)`` or ``P(2)``; blocks meet blocks alone. Text is never run as code, and what could be
read in two ways is refused: powers H^2, numbers behind operators, D^-1/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

from ..arguments import one_of, shown
from ..errors import InputError, LinkwiseError, did_you_mean
from .binding import merged, moved, placed, trimmed
from .block_terms import OURS, PAPERS, BlockTerm, block, block_product, block_sum
from .expression import Expression, Identity, product, total
from .formula_dialects import DIALECTS, REFUSED, Meaning
from .formula_words import ALIASES, Token, operator_names, tokens
from .leaves import Leaves
from .operator import Operator, bound
from .operators import OPERATOR_NAMES, Operators
from .printing import STARRED, lowered
from .stacking import stacked_expressions
from .vectors import VectorLeaves

_DEEPEST = 50


class Formula:
    """A formula as text, for the operators of any robot: ``lw.formula("H φ M φ* H*")(robot.operators(q))``."""

    def __init__(self, text: str, indices: str, paper: str | None = None) -> None:
        self.text, self.indices, self.paper = text, indices, paper
        tokens(text)  # what no robot could read is refused now

    @property
    def needs_motion(self) -> bool:
        """Whether it names an operator that takes velocities and accelerations: ``robot.operators(q, v=…, a=…)``."""
        return needs_motion(self.text)

    def __call__(self, *operators: Operators, **own: Operator) -> Any:
        """The operator, or the array of blocks, that the formula means with these operators.

        With those of several robots the letters have their numbers, ``φ₁`` or ``φ_1`` of the first. Names given as
        ``A=…`` are operators and vectors of your own; ``A_1=…`` is what the text calls A₁.
        """
        if not operators:
            raise InputError("a formula is of the operators of a robot: formula(robot.operators(q))")
        for op in operators:
            if not isinstance(op, Operators):
                raise InputError(f"a formula is of the operators of a robot, robot.operators(q), got {shown(op)}")
        for name, x in own.items():
            if not isinstance(x, Operator):
                raise InputError(f"{name} must be an operator or a vector of a robot's operators, got {shown(x)}")
        if len(operators) == 1 and not own:
            (op,) = operators
            found = _Parser(self.text, [op.leaves], self.indices, self.paper).whole()
            return found.value(op) if isinstance(found, BlockTerm) else bound(found, op.binding)
        return self._of_several(operators, own)

    def _of_several(self, operators: tuple[Operators, ...], own: dict[str, Operator]) -> Operator:
        if not all(op.leaves.is_default for op in operators):
            raise InputError("operators of an inertia of your own cannot be named together with others in a formula")
        binding = merged([*(op.binding for op in operators), *(x.binding for x in own.values())])
        robots = [placed(op.leaves, binding.things.index(op.state)) for op in operators]
        given = {name: moved(x.expression, x.binding, binding) for name, x in own.items()}
        parser = _Parser(self.text, robots, self.indices, self.paper, given)
        found = parser.whole()
        left = [name for name in parser.own if name not in parser.used and _stands_in(name, self.text)]
        if left:
            raise InputError(
                f"the formula is read without {', '.join(left)}: what could be operators' names is read as these (KH is"
                " K H); give names of their own"
            )
        if isinstance(found, BlockTerm):
            raise InputError(f"{found.text} is a block; blocks are of the operators of one robot, and of no others")
        return bound(*trimmed(found, binding))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and self._told == other._told

    def __hash__(self) -> int:
        return hash(self._told)

    @property
    def _told(self) -> tuple[Any, ...]:
        return (self.text, self.indices, self.paper)

    def __repr__(self) -> str:
        options = "" if self.indices == OURS else f", indices={self.indices!r}"
        return f"lw.formula({self.text!r}{options}{'' if self.paper is None else f', paper={self.paper!r}'})"


def formula(text: str, *, indices: str = OURS, paper: str | None = None) -> Formula:
    """A formula as text, such as ``"H φ M φ* H*"``: called with ``robot.operators(q)`` it is what that text means.

    What linkwise prints is read, its LaTeX too (but for a bare I or 0, whose space no text tells, parts ι of stacks,
    and letters of other inertias, ψ_X). A formula of operators gives an operator; one of blocks, such as
    ``"φ(3,1) P(1)"``, their array. ``indices="ours"`` counts bodies as ``robot.bodies`` does, base first, from 0;
    ``indices="papers"`` as the papers do, from the tip of a serial chain, which is 1, to the base, n. ``paper`` ("OA",
    "JPL", "UF", "LD" or "DD") reads letters that papers use differently as that one does: Φ is JPL's φS, or LD's φ; α,
    a and b are classical ones in all papers but LD; Ω̃, Ṁ and Ḣ are rates in inertial axes, or LD's about one point.
    Operators of several robots, ``formula(one, two)``, have their numbers, ``J₁ 𝓜₁⁻¹ J₁*``, in the order in which they
    are given; what is printed numbers the states in the order in which they were made. Brackets with commas and
    semicolons are stacks, ``[A, B; C, 0]``.
    """
    if not isinstance(text, str):
        raise InputError(f"a formula is text, such as 'H φ M φ* H*', got {shown(text)}")
    one_of(indices, (OURS, PAPERS), "way to count bodies", error=InputError)
    if paper is not None:
        one_of(paper, tuple(DIALECTS), "paper", error=InputError)
    return Formula(text, indices, paper)


def parse_formula(text: str, operators: Operators) -> Operator:
    """The operator that a formula names; raises :class:`InputError` with the column of what it cannot read."""
    return bound(parse_expression(text, operators.leaves), operators.binding)


def parse_expression(text: str, leaves: Leaves) -> Expression:
    """As :func:`parse_formula`, bound to no state."""
    found = _Parser(text, [leaves], OURS).whole()
    if isinstance(found, BlockTerm):
        raise InputError(
            f"{found.text} is a block, an array of a robot at a state: lw.formula(text)(robot.operators(q)) has it; a"
            " number that multiplies stands in front, as in 2 P"
        )
    return found


def needs_motion(text: str) -> bool:
    """Whether a formula names an operator that takes velocities and accelerations."""
    moving = {name for name in OPERATOR_NAMES if hasattr(VectorLeaves, name)}
    found = tokens(text)
    if any(t.kind in ("rate", "derivative") for t in found):
        return True
    return any(t.kind == "name" and ALIASES.get(t.text, t.text) in moving for t in found)


# --- grammar -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Unit:
    """A multiple of the identity, of a space not known yet."""

    scale: float = 1.0


class _Parser:
    """Reads sums of products of factors, by recursive descent."""

    def __init__(
        self,
        text: str,
        robots: list[Leaves],
        indices: str,
        paper: str | None = None,
        own: dict[str, Expression] | None = None,
    ) -> None:
        self.robots, self.indices = robots, indices
        self.own = {normalize("NFC", name): x for name, x in (own or {}).items()}
        self.used: set[str] = set()
        self.paper = paper
        self.tokens = [*tokens(text), Token("end", "", len(text) + 1)]
        self.at = 0
        self.depth = 0

    @property
    def here(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def error(self, token: Token, reason: str) -> InputError:
        return InputError(f"the formula, column {token.column}: {reason}")

    def whole(self) -> Expression | BlockTerm:
        value = self.sum()
        if self.here.kind != "end":
            raise self.error(self.here, f"{self.here.text!r} is one too many")
        if isinstance(value, _Unit):
            return self.robots[0].I if value.scale == 1 else value.scale * self.robots[0].I
        if not isinstance(value, (Expression, BlockTerm)):
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

    def _added(self, terms: list[tuple[float, Token, Any]], start: Token) -> Any:
        if any(isinstance(t, BlockTerm) for _, _, t in terms):
            return self._added_blocks(terms)
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

    def _added_blocks(self, terms: list[tuple[float, Token, Any]]) -> BlockTerm:
        for _, token, t in terms:
            if not isinstance(t, BlockTerm):
                raise self.error(token, "a block can be added to blocks alone")
        return terms[0][2] if len(terms) == 1 and terms[0][0] == 1 else block_sum([(c, t) for c, _, t in terms])

    def product(self) -> Any:
        """Factors side by side, or with @, ·, or a star between them; numbers in front multiply, and divide with /."""
        start = self.here
        scale, units, factors = 1.0, False, list[Any]()
        between: Token | None = None  # the sign before a factor; None where it stands side by side with the last
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
            elif self.here.kind not in ("name", "number", "(", "rate"):
                break
        if not math.isfinite(scale):
            raise self.error(start, "a number here is too large")
        if not factors:
            return _Unit(scale) if units else scale
        if any(isinstance(f, BlockTerm) for f in factors):
            if units or not all(isinstance(f, BlockTerm) for f in factors):
                raise self.error(start, "a block is multiplied by blocks and numbers alone")
            return block_product(factors).scaled(scale)
        whole = factors[0] if len(factors) == 1 else self._made(start, lambda: product(factors))
        return whole if scale == 1 else scale * whole

    def _refuse_number(self, token: Token, between: Token | None, first: bool) -> None:
        """A number multiplies what it stands in front of; behind something only with a sign that says so."""
        if between is not None and between.text == "@":
            raise self.error(between, "@ stands between operators; a number multiplies with * or a blank")
        if not first and between is None:
            raise self.error(token, "a number stands in front of what it multiplies: 2 P, not P 2 or P (2)")

    def _divisor(self) -> float:
        sign = self.take()
        if self.here.kind != "number" or self.here.value == 0:
            raise self.error(sign, "only numbers other than zero divide; an inverse is .inv() or ^-1")
        number = self.take()
        if self.here.is_glued and self.here.kind in ("name", "("):
            raise self.error(self.here, f"does {number.text} divide this as well? put a blank or parentheses")
        return number.value

    def factor(self) -> Any:
        """A number, a name or parentheses, and what stands behind it."""
        token = self.take()
        if token.kind == "number":
            return token.value
        if token.kind == "name":
            value = self._named(token)
        elif token.kind == "(":
            value = self._parenthesis(token)
        elif token.kind == "rate":
            value = self._rate(token)
        elif token.kind == "end":
            raise self.error(token, "the formula ends where a factor should stand")
        else:
            raise self.error(token, f"{token.text!r} where a factor should stand")
        starred = False
        while self.here.kind in ("adjoint", "inverse", "simplify", "derivative", "indices"):
            postfix = self.take()
            value = self._block(value, postfix, starred) if postfix.kind == "indices" else self._changed(value, postfix)
            starred = postfix.kind == "adjoint"
        return value

    def _rate(self, token: Token) -> Any:
        """d/dt(…), as it stands."""
        inner = self._parenthesis(self.take())
        if not isinstance(inner, Expression):
            raise self.error(token, "d/dt(…) is of a formula of operators")
        return self._made(token, lambda: inner.time_derivative(formal=True))

    def _block(self, value: Any, token: Token, starred: bool) -> BlockTerm:
        """A block of what stands before its indices; of an adjoint the adjoint of the block."""
        if isinstance(value, _Unit) or not isinstance(value, Expression):
            raise self.error(token, f"{token.text} reads as a block of what stands before it, which has none")
        return block(value.T if starred else value, token.indices, self.indices, starred)

    def _parenthesis(self, opening: Token) -> Any:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error(opening, f"more than {_DEEPEST} parentheses inside each other")
        value = self.sum()
        if opening.text == "[" and self.here.kind in (",", ";"):
            value = self._stack(opening, value)
        if self.here.kind != ")":
            raise self.error(opening, "this parenthesis is not closed")
        self.take()
        self.depth -= 1
        return value

    def _stack(self, opening: Token, first: Any) -> Expression:
        """[A, B; C, D]: block rows and columns; 0 is a block of zeros, I the identity that fits."""
        rows = [[first]]
        while self.here.kind in (",", ";"):
            if self.take().kind == ";":
                rows.append([])
            rows[-1].append(self.sum())
        if len({len(row) for row in rows}) != 1:
            raise self.error(opening, f"the rows of this stack have {', '.join(str(len(r)) for r in rows)} blocks")
        full = [[self._cell(opening, rows, i, j) for j in range(len(rows[0]))] for i in range(len(rows))]
        found: Expression = self._made(opening, lambda: stacked_expressions(full))
        return found

    def _cell(self, opening: Token, rows: list[list[Any]], i: int, j: int) -> Expression | None:
        x = rows[i][j]
        if isinstance(x, Expression) or (isinstance(x, float) and x == 0):
            return x if isinstance(x, Expression) else None
        if not isinstance(x, _Unit):
            raise self.error(opening, f"block ({i + 1}, {j + 1}) of this stack is no operator and not 0")
        beside = [y.rows for y in rows[i] if isinstance(y, Expression)]
        below = [row[j].cols for row in rows if isinstance(row[j], Expression)]
        if not (beside or below):
            raise self.error(opening, f"the I in block ({i + 1}, {j + 1}) may be of any space: name one, as I_joints")
        return x.scale * Identity((beside or below)[0])

    def _changed(self, value: Any, token: Token) -> Any:
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
        if isinstance(value, BlockTerm):
            if token.kind != "inverse":
                raise self.error(token, f"a block is an array, which has no {token.text}")
            return value.inv()
        made = {"inverse": value.inv, "simplify": value.simplify, "derivative": value.time_derivative}
        return self._made(token, made[token.kind])

    def _named(self, token: Token) -> Any:
        number = "" if token.robot is None else f"_{token.robot}"
        for spelled in (f"{token.spelling}{number}", f"{token.text}{number}"):
            if spelled in self.own:
                self.used.add(spelled)
                return self.own[spelled]
        name = ALIASES.get(token.text, token.text)
        if name == "I" and token.robot is None:
            return _Unit()
        reason = REFUSED[self.paper].get(name) if self.paper else None
        if reason:
            raise self.error(token, f"{token.spelling or name} is not read with paper={self.paper!r}: {reason}")
        meaning = self._meaning(token, name)
        if isinstance(meaning, str) and meaning not in operator_names():
            known = [*operator_names(), *self.own]
            raise self.error(token, f"no operator is named {name!r}{_meant(name, known)}")
        robot = self._robot(token)
        value = self._made(token, lambda: robot.leaf(meaning) if isinstance(meaning, str) else meaning(robot))
        # The letters Ḣ and Ḧ carry a star where the operator itself is printed.
        return value.T if token.is_letter and name in STARRED else value

    def _meaning(self, token: Token, name: str) -> Meaning:
        """What a name stands for, as the paper uses it."""
        if self.paper == "JPL" and name == "g" and self._follows_E():
            return "alpha_base"  # (3.21): of E g, g is the base's acceleration
        letters = DIALECTS[self.paper] if self.paper else {}
        return letters.get(token.text) or letters.get(name, name)

    def _follows_E(self) -> bool:
        """Whether the name that was taken last stands right behind E."""
        before = [t for t in self.tokens[: self.at - 1] if t.text != "@"]
        return bool(before) and before[-1].kind == "name" and before[-1].text == "E"

    def _robot(self, token: Token) -> Leaves:
        """Whose operator a name is."""
        count = len(self.robots)
        if token.robot is None:
            if count > 1:
                raise self.error(token, f"of which robot? The letters of {count} robots have numbers, 1 … {count}")
            return self.robots[0]
        if not 1 <= token.robot <= count:
            there = "operators of one robot were" if count == 1 else f"those of {count} robots were"
            raise self.error(token, f"there is no robot {token.robot}: {there} given")
        return self.robots[token.robot - 1]

    def _made(self, token: Token, make: Any) -> Any:
        """What ``make`` gives, its errors with the column."""
        try:
            return make()
        except InputError:
            raise
        except LinkwiseError as e:
            raise type(e)(f"the formula, column {token.column}: {e}") from None


def _stands_in(name: str, text: str) -> bool:
    """Whether a name, or one with a number behind it such as A_1, is part of a text."""
    base, _, number = name.rpartition("_")
    forms = [name]
    if base and number.isdigit():
        forms += [f"{base}{lowered(int(number))}", f"{base}_{{{number}}}"]
    return any(form in normalize("NFC", text) for form in forms)


def _meant(name: str, known: list[str]) -> str:
    """A hint at the name that is near, or at all there are."""
    near = did_you_mean(name, known)
    return f"; {near}" if near else f"; separate factors by blanks; there are {', '.join(known)}"
