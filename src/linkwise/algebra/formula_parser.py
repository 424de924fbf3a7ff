"""The grammar of formulas: sums of products of factors, read by recursive descent into expressions or blocks."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, LinkwiseError, SpaceError, did_you_mean
from .block_terms import BlockTerm, block, block_product, block_sum
from .derivative import linear
from .expression import Expression, Identity, Zero, product, total
from .formula_dialects import COMMON, DIALECTS, REFUSED, Meaning
from .formula_letters import ALIASES, UNREAD, composed, operator_names
from .formula_words import LOWERED, Token, tokens
from .kinds import MOVING
from .leaves import Leaves
from .printing import STARRED
from .spaces import Space
from .stacking import stacked_expressions

_DEEPEST = 50
_BY_VELOCITY = ("V_tilde", "M_hat", "Omega_tilde", "Omega_tips")  # what goes by the velocities of bodies
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class _Unit:
    """A multiple of the identity, of a space not known yet; I₁ is of a space of robot 1."""

    scale: float = 1.0
    robot: Leaves | None = None

    def fits(self, space: Space) -> bool:
        """Whether it may be the identity of a space."""
        return self.robot is None or any(s.place == self.robot.place for s in space.leaves)


class Parser:
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
        self.own = own or {}
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
        """A formula that is no equation."""
        value = self.sum()
        if self.here.kind == "=":
            raise self.error(self.here, "this is an equation, and one formula is wanted here")
        self._ended()
        if isinstance(value, _Unit):
            robot = value.robot or self.robots[0]
            return robot.I if value.scale == 1 else value.scale * robot.I
        if not isinstance(value, (Expression, BlockTerm)):
            raise InputError("the formula is a number; it must name an operator")
        return value

    def equation(self) -> tuple[Any, Any]:
        """Both sides of an equation; a bare I or 0 is that of the other side's spaces."""
        left, sign = self.sum(), self.take()
        if sign.kind != "=":
            raise self.error(sign, f"{sign.text!r} is one too many")
        start, right = self.here, self.sum()
        self._ended()
        if all(isinstance(x, BlockTerm) for x in (left, right)):
            self._made(start, lambda: block_sum([(1.0, left), (1.0, right)]))  # (says where they differ)
            return left, right
        if any(isinstance(x, BlockTerm) for x in (left, right)):
            raise self.error(sign, "a block equals blocks alone")
        known = next((x for x in (left, right) if isinstance(x, Expression)), None)
        if known is None:
            raise self.error(sign, "neither side names an operator")
        sides = self._side(left, known, sign), self._side(right, known, sign)
        if (sides[0].rows, sides[0].cols) != (sides[1].rows, sides[1].cols):
            maps = " and the right one ".join(f"maps {x.cols} to {x.rows}" for x in sides)
            raise SpaceError(f"the formula, column {sign.column}: the left side {maps}")
        return sides

    def _side(self, value: Any, other: Expression, sign: Token) -> Expression:
        if isinstance(value, Expression):
            return value
        if isinstance(value, float):
            if value != 0:
                raise self.error(sign, f"{value:g} alone equals no operator; write {value:g} I")
            return Zero(other.rows, other.cols)
        if other.rows != other.cols:
            raise self.error(sign, f"{other} maps {other.cols} to {other.rows}, so that it equals no I")
        identity = Identity(other.rows)
        return identity if value.scale == 1 else identity * float(value.scale)

    def _ended(self) -> None:
        if self.here.kind != "end":
            raise self.error(self.here, f"{self.here.text!r} is one too many")

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
            of = next((t.robot for _, _, t in terms if t.robot is not None), None)
            return _Unit(sum(c * t.scale for c, _, t in terms), of)
        full: list[tuple[float, Expression]] = []
        for c, token, t in terms:
            if isinstance(t, float):
                hint = f"; an inverse is {known}^-1" if (c, t) == (-1.0, 1.0) else ""
                raise self.error(token, f"{t:g} alone cannot be added to {known}; write {t:g} I{hint}")
            if isinstance(t, _Unit):
                if known.rows != known.cols:
                    raise self.error(token, f"{known} maps {known.cols} to {known.rows}, so no I can be added to it")
                if not t.fits(known.rows):
                    raise self.error(token, f"{known} is of another robot than this I")
                c, t = c * t.scale, Identity(known.rows)
            full.append((c, t))
        if len(full) == 1 and full[0][0] == 1:
            return full[0][1]
        return self._made(start, lambda: total(full))

    def _added_blocks(self, terms: list[tuple[float, Token, Any]]) -> BlockTerm:
        for _, token, t in terms:
            if not isinstance(t, BlockTerm):
                raise self.error(token, "a block can be added to blocks alone")
        if len(terms) == 1 and terms[0][0] == 1:
            only: BlockTerm = terms[0][2]
            return only
        found: BlockTerm = self._made(terms[0][1], lambda: block_sum([(c, t) for c, _, t in terms]))
        return found

    def product(self) -> Any:
        """Factors side by side, or with @, ·, or a star between them; numbers in front multiply, and divide with /."""
        start = self.here
        scale, units, factors = 1.0, list[_Unit](), list[Any]()
        between: Token | None = None  # the sign before a factor; None where it stands side by side with the last
        first = True
        while True:
            token = self.here
            value = self.factor()
            if isinstance(value, float):
                self._refuse_number(token, between, first)
                scale *= value
            elif isinstance(value, _Unit):
                scale *= value.scale
                units.append(value)
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
            return _Unit(scale, next((u.robot for u in units if u.robot), None)) if units else scale
        if any(isinstance(f, BlockTerm) for f in factors):
            if units or not all(isinstance(f, BlockTerm) for f in factors):
                raise self.error(start, "a block is multiplied by blocks and numbers alone")
            return self._made(start, lambda: block_product(factors)).scaled(scale)
        if not all(u.fits(f.rows) or u.fits(f.cols) for u in units for f in factors):
            raise self.error(start, "the I here is of another robot than what it multiplies")
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
            if self._brackets_follow:
                value = self._along(token, value)
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
        whole = value.T if starred else value
        make = lambda: block(whole, token.indices, self.indices, starred, self.robots[0])
        found: BlockTerm = self._made(token, make)
        return found

    def _parenthesis(self, opening: Token) -> Any:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error(opening, f"more than {_DEEPEST} parentheses inside each other")
        value = self.sum()
        if opening.text == "[" and self.here.kind in (",", ";"):
            value = self._stack(opening, value)
        if self.here.kind != ")":
            raise self.error(opening, "this parenthesis is not closed")
        if self.here.text != _CLOSING[opening.text]:
            raise self.error(self.here, f"{self.here.text!r} closes what {opening.text!r} opened")
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
            return _Unit(1.0 / value.scale, value.robot)
        if token.kind == "adjoint":
            return value.T
        if isinstance(value, BlockTerm):
            if token.kind != "inverse":
                raise self.error(token, f"a block is an array, which has no {token.text}")
            return self._made(token, value.inv)
        made = {"inverse": value.inv, "simplify": value.simplify, "derivative": value.time_derivative}
        return self._made(token, made[token.kind])

    def _named(self, token: Token) -> Any:
        given = self._given(token)
        if given is not None:
            return given
        name = ALIASES.get(token.text, token.text)
        if name == "I":
            return _Unit(robot=None if token.robot is None else self._robot(token))
        if not (name == "S" and self._brackets_follow):
            self._refuse_by_paper(token, name)
        meaning = self._meaning(token, name)
        if isinstance(meaning, str) and meaning not in operator_names():
            raise self.error(token, self._unknown(token, name))
        robot = self._robot(token)
        value = self._made(token, lambda: robot.leaf(meaning) if isinstance(meaning, str) else meaning(robot))
        # The letters Ḣ and Ḧ carry a star where the operator itself is printed.
        return value.T if token.is_letter and name in STARRED else value

    @property
    def _brackets_follow(self) -> bool:
        return self.here.kind == "(" and self.here.text == "[" and self.here.is_glued

    def _refuse_by_paper(self, token: Token, name: str) -> None:
        """Refuse a letter that the paper uses for what linkwise has no operator for."""
        reason = REFUSED[self.paper].get(name) if self.paper else None
        if reason:
            raise self.error(token, f"{token.spelling or name} is not read with paper={self.paper!r}: {reason}")

    def _given(self, token: Token) -> Expression | None:
        """What the user gave under a name, if it is one."""
        number = "" if token.robot is None else f"_{token.robot}"
        plain = [unicodedata.normalize("NFKC", token.text)] if token.text in UNREAD else []  # as Python has 𝓒=…: C
        for spelled in (token.spelling, token.text, *plain):
            name = own_name(f"{spelled}{number}")
            if name in self.own:
                self.used.add(name)
                return self.own[name]
        return None

    def _unknown(self, token: Token, name: str) -> str:
        """Why a name is not read."""
        if name in UNREAD:
            return f"{token.spelling or name} is not read: it is {UNREAD[name]}"
        if name.startswith(("δ", "e_")):
            own = name if token.robot is None else f"{name}_{token.robot}"
            return f"{own} is a vector that somebody gave: give it again by its name, formula(op, {own}=op.vector(x))"
        return f"no operator is named {name!r}{_meant(name, [*operator_names(), *self.own])}"

    def _along(self, token: Token, value: Any) -> Any:
        """F[x]: what moves along a vector x in place of θ̇ or V; of other letters brackets hold the next factor."""
        if self._given(token) is not None:
            return value
        name = self._meaning(token, ALIASES.get(token.text, token.text))
        if name == "S" and isinstance(value, Expression):
            return self._cross_force(token, value)
        if not isinstance(name, str) or name not in MOVING:
            return value
        opening, letter = self.here, token.spelling or token.text
        x = self._parenthesis(self.take())
        robot = self._robot(token)
        spaces = {"joints": robot.joints} | ({"bodies": robot.bodies} if name in _BY_VELOCITY else {})
        if not (isinstance(x, Expression) and x.cols.kind == "number" and x.rows in spaces.values()):
            raise self.error(
                opening,
                f"{letter}[x] is {letter} along a vector x of {' or '.join(spaces)}, which this is not; where a product"
                " is meant, put a blank before the bracket",
            )
        # (H°° is not linear in the motion.)
        make = lambda: robot.along(x).leaf(name) if name == "H_ring_ring" else linear(robot, name, x)
        found: Expression = self._made(token, make)
        return found.T if token.is_letter and name in STARRED else found

    def _cross_force(self, token: Token, S: Expression) -> Expression:
        """S[X] = −X̃* for a vector X of bodies (LD (1.5)); JPL's shift S is multiplied by what it fits."""
        at, depth = self.at, self.depth
        x = self._parenthesis(self.take())
        robot = self._robot(token)
        if isinstance(x, Expression) and x.cols.kind == "number" and x.rows == robot.bodies:
            turned: Expression = self._made(token, lambda: -1.0 * linear(robot, "V_tilde", x).T)
            return turned
        self._refuse_by_paper(token, "S")
        self.at, self.depth = at, depth
        return S

    def _meaning(self, token: Token, name: str) -> Meaning:
        """What a name stands for, as the paper uses it."""
        if self.paper == "JPL" and name == "g" and self._follows_E():
            return "alpha_base"  # (3.21): of E g, g is the base's acceleration
        letters = COMMON | DIALECTS[self.paper] if self.paper else COMMON
        return letters.get(token.text) or letters.get(name, name)

    def _follows_E(self) -> bool:
        """Whether the name that was taken last stands right behind E."""
        before = [t for t in self.tokens[: self.at - 1] if t.text != "@"]
        return bool(before) and (before[-1].kind, before[-1].text) == ("name", "E") and self._given(before[-1]) is None

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


def _meant(name: str, known: list[str]) -> str:
    """A hint at the name that is near, or at all there are."""
    near = did_you_mean(name, known)
    return f"; {near}" if near else f"; separate factors by blanks; there are {', '.join(known)}"


def own_name(name: str) -> str:
    """A name of the user's own as it is looked up: A₁ is A_1."""
    return re.sub("[₀-₉]+", lambda m: f"_{m[0].translate(LOWERED)}", composed(name))
