"""Formulas as text → operators: ``H phi M phi* H*``, ``H φ M φ* H*`` or ``H @ phi @ M @ phi.T @ H.T``.

Names are those of :class:`Operators`, the letters ``explain`` prints, or its LaTeX (:mod:`.formula_words`). Factors
stand side by side, or with ``@`` or ``·`` between them. A star right behind a factor is its adjoint (so are ``.T`` and
``^T``); with a blank before it, it multiplies. ``.inv()``, ``⁻¹`` and ``^-1`` are the inverse, ``.simplify()`` applies
the identities, ``.time_derivative()`` differentiates, and ``d/dt(…)`` is that derivative as it stands. ``I`` is the
identity of the space its sum is on. Numbers stand in front of what they multiply. Indices right behind a factor name a
block, ``φ(3,1)`` or ``P(2)``; blocks meet blocks alone. ``Ṽ[x]`` is Ṽ along a vector x. Text is never run as code, and
what could be read in two ways is refused: powers H^2, numbers behind operators, D^-1/2.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..arguments import one_of, shown
from ..errors import InputError
from .binding import merged, moved, placed, trimmed
from .block_terms import OURS, PAPERS, BlockTerm
from .expression import Expression
from .formula_dialects import COMMON, DIALECTS
from .formula_letters import ALIASES, UNREAD, composed
from .formula_parser import Parser, own_name
from .formula_words import tokens
from .leaves import Leaves
from .operator import Operator, bound
from .operators import OPERATOR_NAMES, Operators
from .printing import lowered
from .vectors import VectorLeaves


class Formula:
    """A formula as text, for the operators of any robot: ``lw.formula("H φ M φ* H*")(robot.operators(q))``."""

    def __init__(self, text: str, indices: str, paper: str | None = None) -> None:
        self.text, self.indices, self.paper = text, indices, paper
        signs = [t for t in tokens(text) if t.kind == "="]  # (what no robot could read is refused now)
        self.is_equation = bool(signs)
        if len(signs) > 1:
            raise InputError(f"the formula, column {signs[1].column}: one equation has one =")

    @property
    def sides(self) -> tuple[Formula, ...]:
        """The sides of an equation, as formulas: ``lw.prove(*lw.formula("ψ⁻¹ = φ⁻¹ + K H").sides)``."""
        return tuple(Formula(side.strip(), self.indices, self.paper) for side in self.text.split("="))

    @property
    def needs_motion(self) -> bool:
        """Whether it names an operator that takes velocities and accelerations: ``robot.operators(q, v=…, a=…)``."""
        return needs_motion(self.text)

    def __call__(self, *operators: Operators, **own: Operator) -> Any:
        """The operator, or the array of blocks, that the formula means with these operators; of an equation both sides.

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
            parser = Parser(self.text, [op.leaves], self.indices, self.paper)
            read = self._read(parser)
            found: list[Any] = [x.value(op) if isinstance(x, BlockTerm) else bound(x, op.binding) for x in read]
        else:
            found = [*self._of_several(operators, own)]
        return tuple(found) if self.is_equation else found[0]

    def _read(self, parser: Parser) -> tuple[Any, ...]:
        """The formula, or both sides of the equation."""
        return parser.equation() if self.is_equation else (parser.whole(),)

    def _of_several(self, operators: tuple[Operators, ...], own: dict[str, Operator]) -> list[Operator]:
        if not all(op.leaves.is_default for op in operators):
            raise InputError("operators of an inertia of your own cannot be named together with others in a formula")
        binding = merged([*(op.binding for op in operators), *(x.binding for x in own.values())])
        robots = [placed(op.leaves, binding.things.index(op.state)) for op in operators]
        given = {own_name(name): moved(x.expression, x.binding, binding) for name, x in own.items()}
        parser = Parser(self.text, robots, self.indices, self.paper, given)
        found = self._read(parser)
        left = [name for name in parser.own if name not in parser.used and _stands_in(name, self.text)]
        if left:
            raise InputError(
                f"the formula is read without {', '.join(left)}: what could be operators' names is read as these (KH is"
                " K H); give names of their own"
            )
        for x in found:
            if isinstance(x, BlockTerm):
                raise InputError(f"{x.text} is a block; blocks are of the operators of one robot, and of no others")
        return [bound(*trimmed(x, binding)) for x in found]

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

    What linkwise prints is read, its LaTeX too, or refused by name: a bare I or 0, whose space no text tells, parts ι
    of stacks, letters of other inertias, ψ_X, of recursions, S_φφ, and variations δ(…). Vectors that were given, such
    as δθ in F[δθ], are given again by their names. A formula of operators gives an operator; one of blocks, such as
    ``"φ(3,1) P(1)"`` or ``"M(2) V(2)"``, their array; an equation, ``"T = H f"``, the pair of its sides.
    ``indices="ours"`` counts bodies as ``robot.bodies`` does, base first, from 0; ``indices="papers"`` as the papers
    do, from the tip of a serial chain, which is 1, to the base, n, with the point of the tip as 0, ``"φ(1,0)"``.
    ``paper`` ("OA", "JPL", "UF", "LD" or "DD") reads letters that papers use differently as that one does: Φ is JPL's
    φS, or LD's φ; α, a and b are classical ones in OA, JPL and UF; Ω̃, Ṁ and Ḣ are rates in inertial axes, or LD's
    about one point. Operators of several robots, ``formula(one, two)``, have their numbers, ``J₁ 𝓜₁⁻¹ J₁*``, in the
    order in which they are given; what is printed numbers the states in the order in which they were made. Brackets
    with commas and semicolons are stacks, ``[A, B; C, 0]``.
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
    found = Parser(text, [leaves], OURS).whole()
    if isinstance(found, BlockTerm):
        raise InputError(
            f"{found.text} is a block, an array of a robot at a state: lw.formula(text)(robot.operators(q)) has it; a"
            " number that multiplies stands in front, as in 2 P"
        )
    return found


def checked_name(name: Any) -> str:
    """A name of the user's own for an operator or vector: a word that formulas read, and that means nothing yet."""
    if not isinstance(name, str):
        raise InputError(f"the name of an operator or vector is a word, got {shown(name)}")
    reason = _no_name(name)
    if reason:
        raise InputError(f"{name!r} {reason}")
    return name


@cache
def _no_name(name: str) -> str:
    """Why a text is no name of the user's own; empty where it is one."""
    try:
        found = tokens(name)
    except InputError:
        found = []
    if len(found) != 1 or found[0].kind != "name" or name != name.strip():
        return "is not what a formula reads as one word: take a letter or a word, such as 'x', 'F_ext' or 'x_1'"
    word = ALIASES.get(found[0].text, found[0].text)
    if word in {"I", *COMMON, *OPERATOR_NAMES} or (word.startswith("S_") and word in UNREAD):
        other = f"{name}_own" if name.isascii() and name.isidentifier() else "x"
        return f"already means something in formulas, and would be read as that: take another name, such as {other!r}"
    return ""


def needs_motion(text: str) -> bool:
    """Whether a formula names an operator that takes velocities and accelerations."""
    moving = {*COMMON, *(name for name in OPERATOR_NAMES if hasattr(VectorLeaves, name))}
    found = tokens(text)
    if any(t.kind in ("rate", "derivative") for t in found):
        return True
    return any(t.kind == "name" and ALIASES.get(t.text, t.text) in moving for t in found)


def _stands_in(name: str, text: str) -> bool:
    """Whether a name, or one with a number behind it such as A_1, is part of a text."""
    base, _, number = name.rpartition("_")
    forms = [name]
    if base and number.isdigit():
        forms += [f"{base}{lowered(int(number))}", f"{base}_{{{number}}}"]
    return any(form in composed(text) for form in forms)
