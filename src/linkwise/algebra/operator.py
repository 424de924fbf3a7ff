"""Operators: what the user writes. A formula together with the states it is taken at.

``A @ B`` multiplies, ``A @ x`` applies (by sweeps or compiled code, no matrix), ``A.T`` is the adjoint A*, ``A.inv()``
the inverse. Formulas are worked out once for their robot and remembered, whatever the state: at the next
configuration products, inverses and simplifications are looked up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .. import arrays, inputs
from ..arguments import flag, one_of
from ..arrays import ArrayLike, SameKind
from ..errors import InputError, SpaceError
from . import typeset
from .binding import Binding, merged, moved, rooted, trimmed
from .block_index import entries_of, rows_and_columns
from .expression import Expression, as_number
from .frame_freedom import is_frame_free
from .kinds import families_of
from .leaves import remembered
from .recipe import build, recipe_of
from .spaces import Space, Structure

if TYPE_CHECKING:
    from .explain import Explanation
    from .rules import Rule


class Operator:
    """A linear operator between two spaces of a robot at a configuration."""

    __slots__ = ("__weakref__", "_numbers", "binding", "expression")
    __array_ufunc__ = None  # so that ndarray @ operator comes here

    def __init__(self, expression: Expression, binding: Binding) -> None:
        self.expression, self.binding = expression, binding
        self._numbers: Expression | None = None

    # --- algebra -----------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Whether both are the same formula at the same states."""
        return isinstance(other, Operator) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def key(self) -> Any:
        """What makes two operators the same formula at the same states."""
        return (self.expression.key, () if self.expression.is_constant else self.binding.things)

    @overload
    def __matmul__(self, other: Operator) -> Operator: ...
    @overload
    def __matmul__(self, other: ArrayLike) -> SameKind: ...
    def __matmul__(self, other: Any) -> Any:
        """A @ B is the product of operators; A @ x applies A to a vector (..., n) or a batch of them."""
        return self._with("@", other) if isinstance(other, Operator) else self.apply(other)

    def __rmatmul__(self, x: ArrayLike) -> SameKind:
        """x @ A is A* applied to x."""
        return self.T.apply(x)

    def __add__(self, other: Any) -> Operator:
        return self._with("+", self._term(other))

    def _term(self, other: Any) -> Operator:
        """What is added, as an operator: an array beside a vector is one too."""
        if isinstance(other, Operator):
            return other
        if not self.is_vector:
            raise SpaceError(f"cannot add {type(other).__name__} to an operator; for c·I write c * op.I")
        from .operators import Operators

        leaves = self.binding.leaves
        return Operators(leaves, self.binding).vector(other, self.rows)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Operator:
        return self._with("-", self._term(other))

    def __rsub__(self, other: Any) -> Operator:
        return self._term(other)._with("-", self)

    def __neg__(self) -> Operator:
        return self * -1.0

    def __mul__(self, factor: Any) -> Operator:
        if isinstance(factor, Operator):
            raise SpaceError("use @ for the product of operators; * is for numbers")
        c = as_number(factor)
        return self._made(("*", c), lambda a: a * c)

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> Operator:
        if as_number(factor) == 0:
            raise SpaceError("an operator cannot be divided by zero")
        return self * (1.0 / float(factor))

    @property
    def T(self) -> Operator:
        """The adjoint A*."""
        return self._made("T", lambda a: a.T)

    def inv(self) -> Operator:
        """An expression for the inverse that runs in O(n), or :class:`NoRecursionError` where none is known."""
        out = self._made("inv", Expression.inv)
        if remembered(
            self.binding.leaves, ("asks", id(out.expression)), lambda: (_asks_symmetry(out.expression), out.expression)
        )[0]:
            out.numbers  # noqa: B018  the user's own blocks are looked at here, not when the inverse is applied
        return out

    def simplify(self) -> Operator:
        """The cheapest form known, by the papers' identities; :attr:`used` tells which led to it.

        What is zero comes out as zero: ``(lhs - rhs).simplify()`` settles every identity. Forms are compared by a
        rough price, and for robots of up to 20 degrees of freedom by exact operation counts.
        """
        from .cheapest import simplify_for

        return self._made("simplify", lambda op: simplify_for(op, self.binding))

    # --- derivatives -------------------------------------------------------------------------------

    def time_derivative(self, *, axes: str = "body", formal: bool = False) -> Operator:
        """d/dt of the formula while the robot moves with the v (and a) of its operators: a formula again.

        ``axes="body"`` differentiates the numbers as they stand, those of a body in its own axes at its joint (° of
        the Diagonalized dynamics paper): M° = 0, and V° is the spatial acceleration without gravity.
        ``axes="inertial"`` is the rate of the components in common inertial axes, given in the bodies' axes:
        Ȧ = A° + Ω̃A − AΩ̃ (DD (6.6)); in joint space, and at tips, both are the same. The user's own blocks and vectors
        do not change. :class:`NotAdmittedError` names what has no derivative here, such as θ̈.
        ``formal`` leaves d/dt(…) as it stands, for proofs, whose steps are then the rules of differentiation.
        """
        from .differentiation import by_time

        one_of(axes, ("body", "inertial"), "axes", error=InputError)
        return self._made(("time derivative", axes, flag(formal, "formal")), lambda op: by_time(op, axes, formal))

    def variation(
        self,
        dtheta: Operator | ArrayLike | None = None,
        dtheta_dot: Operator | ArrayLike | None = None,
        dtheta_ddot: Operator | ArrayLike | None = None,
        *,
        formal: bool = False,
    ) -> Operator:
        """The derivative along changes δθ, δθ̇ and δθ̈ of the state, each (..., nv) or a vector of joint space.

        What is not given does not change. δθ is in the coordinates of velocities, so of a spherical joint in its own
        axes; numbers are differentiated as they stand, as in :meth:`time_derivative`. So ``op.T.variation(x)`` is what
        the linearised model B_D x gives. ``formal`` leaves δ(…) as it stands, for proofs.
        """
        from .differentiation import along

        return along(self, (dtheta, dtheta_dot, dtheta_ddot), formal)

    def partial(self, joint: str | int, axis: int = 0) -> Operator:
        """∂/∂θ of one joint, by its name or its place among ``robot.joints``: a formula again.

        Of a joint of several degrees of freedom ``axis`` says which. Velocities and accelerations do not change.
        """
        from .differentiation import by_joint

        return by_joint(self, joint, axis)

    # --- rewriting ---------------------------------------------------------------------------------

    def rewrite(self, rule: str | Rule, *, backwards: bool | None = None, at: int | None = None) -> Operator:
        """One side of an identity put for the other, at one place; :attr:`used` has the identity then.

        ``rule`` is a :class:`Rule`, its name, or where it is printed, such as "OA Lemma 4.1"; its adjoint counts as
        well. It fits neighbouring factors, or terms of a sum, at any depth. The left side gives way to the right one,
        or, where it does not occur, the right to the left; ``backwards`` asks for one of them (False, True). ``at``
        counts the places where it fits, from 0 on, outermost and leftmost first; without it the first is taken.
        :class:`NotAdmittedError` says why a rule does not fit, :class:`UnknownNameError` that there is none.
        """
        return bound(self.expression.rewrite(rule, backwards=backwards, at=at), self.binding)

    def using(self, *rules: str | Rule, at: int | None = None) -> Operator:
        """Rewritten by several identities, one after the other, each where it first fits, or at the place ``at``."""
        return bound(self.expression.using(*rules, at=at), self.binding)

    def expand(self) -> Operator:
        """Everything multiplied out: A (B + C) = A B + A C."""
        return self._made("expand", Expression.expand)

    def factor(self) -> Operator:
        """Common factors of terms taken out, at the left and at the right: A B + A C = A (B + C)."""
        return self._made("factor", Expression.factor)

    def _made(self, how: Any, make: Callable[[Expression], Expression]) -> Operator:
        """What ``make`` makes of the expression, once for all states."""
        op, leaves = self.expression, self.binding.leaves
        found = leaves.memory.get((how, id(op)))
        if found is None:
            found = remembered(leaves, (how, id(op)), lambda: (_interned(make(op), self.binding), op))
        return Operator(found[0], self.binding)

    def _with(self, sign: str, other: Operator) -> Operator:
        """Self and another joined by @, + or −."""
        a, b, binding = self.expression, other.expression, self.binding
        if other.binding is not binding:
            return self._across(sign, other)
        memory = binding.leaves.memory
        key = (sign, id(a), id(b))
        found = memory.get(key)
        if found is None:
            found = remembered(binding.leaves, key, lambda: (_interned(_SIGNS[sign](a, b), binding), a, b))
        return Operator(found[0], binding)

    def _across(self, sign: str, other: Operator) -> Operator:
        """As _with, of operators at different states or with other blocks."""
        both = merged([self.binding, other.binding])
        a, b = (moved(x.expression, x.binding, both) for x in (self, other))
        op, binding = trimmed(_SIGNS[sign](a, b), both)
        return Operator(_interned(op, binding), binding)

    # --- meaning -----------------------------------------------------------------------------------

    @property
    def numbers(self) -> Expression:
        """The expression over leaves with numbers: what the sweeps run over."""
        if self._numbers is None:
            form = self.binding.form
            things = self.binding if form is None or not is_frame_free(self.expression) else form
            self._numbers = build(recipe_of(self.expression), things.numbers)
        return self._numbers

    @property
    def is_vector(self) -> bool:
        """Whether it is a vector: an operator from the numbers to a space."""
        return self.expression.cols.kind == "number"

    @property
    def value(self) -> SameKind:
        """The array (..., n) of a vector."""
        if not self.is_vector:
            raise SpaceError(f"{self} maps {self.cols} to {self.rows}; a vector has a value, an operator .dense()")
        return self._value(None)

    def _value(self, target: str | None) -> SameKind:
        code, states = self._code(target), self.binding.arrays
        if code is not None and states is not None:
            quick: Any = code.quick(*states, *code.numbers)
            if quick is not None:
                return quick

        def sweeps() -> SameKind:
            one = arrays.eye(1, like=self.binding.state.q)
            return self.numbers.apply_columns(one)[..., 0]

        y = sweeps() if code is None or states is None else code.value(states, sweeps)
        return inputs.fit(y, np.broadcast_shapes(self._batch(()), y.shape[:-1]), 1)

    def apply(self, x: ArrayLike, *, target: str | None = None) -> SameKind:
        """A x for a vector (..., n) or any batch of vectors.

        NumPy arrays go through code compiled for the robot when it is first asked for, as in its methods;
        ``target="numpy"`` runs the sweeps on the arrays themselves, and so do JAX arrays, symbols and complex numbers.
        """
        if self.is_vector:
            return self._value(target) * self._checked(x, -1)
        code, states = self._code(target), self.binding.arrays
        if code is not None and states is not None:
            y = code.quick(*states, *code.numbers, x)
            if y is not None:
                return y
        x = self._checked(x, -1)
        batch = self._batch(x.shape[:-1])

        def sweeps() -> Any:
            return self.numbers.apply_columns(x[..., None])[..., 0]

        y = sweeps() if code is None else code.run(states, x, sweeps)
        return inputs.fit(y, np.broadcast_shapes(batch, y.shape[:-1]), 1)

    def apply_columns(self, X: ArrayLike, *, target: str | None = None) -> SameKind:
        """A X for the columns of X (..., n, m)."""
        X = self._checked(X, -2)
        if self.is_vector:
            return self._value(target)[..., None] @ X
        code, states = self._code(target), self.binding.arrays
        if code is None or states is None:
            return self.numbers.apply_columns(X)
        self._batch(X.shape[:-2])

        def sweeps() -> Any:
            return self.numbers.apply_columns(X).swapaxes(-1, -2)

        return code.run(tuple(a[..., None, :] for a in states), X.swapaxes(-1, -2), sweeps).swapaxes(-1, -2)

    def _code(self, target: str | None) -> Any:
        """The compiled code where it is wanted and the states can go through it."""
        binding = self.binding
        if binding.compile is None:
            if target not in (None, "numpy"):
                raise InputError(f'these operators run on target="numpy" alone, got {target!r}')
            return None
        return binding.compile(self.expression, binding, target)

    def _checked(self, x: Any, axis: int) -> SameKind:
        """x as an array whose vectors fit."""
        x = inputs.as_array(x, "the vector")
        n = self.expression.cols.dimension
        if x.ndim < -axis or x.shape[axis] != n:
            hint = ""
            if axis == -1 and x.ndim == 2 and x.shape[0] == n:
                hint = "; batches come first, so pass its transpose"
            wanted = f"(..., {n})" if axis == -1 else f"(..., {n}, columns)"
            raise SpaceError(f"{self} takes vectors of {self.cols}, shape {wanted}; got {tuple(x.shape)}{hint}")
        return x

    def _batch(self, given: tuple[int, ...]) -> tuple[int, ...]:
        """The batch shape of A x: that of the states with that of the vectors."""
        if self.expression.is_constant:
            return given
        try:
            return np.broadcast_shapes(*self.binding.batches, given)
        except ValueError:
            shapes = ", ".join(str(tuple(s)) for s in self.binding.batches)
            raise SpaceError(
                f"{self} is a batch of shape {shapes}, which does not fit vectors in a batch of shape {given}"
            ) from None

    def dense(self) -> SameKind:
        """The matrix of the operator, (..., rows, columns), from the definitions (no sweep): an oracle.

        ``A.apply_columns(np.eye(n))`` gives it by sweeps in machine code, of 1024 states of a Panda's compliance at its
        hand in 0.2 ms where this takes 170.
        """
        from .dense import dense

        return dense(self.numbers)

    def __getitem__(self, index: Any) -> SameKind:
        """A block as an array: ``op.P[2]`` of a block diagonal, ``op.phi[3, 1]`` of any, ``op.V[2]`` of a vector.

        Indices are those of ``robot.bodies``, base first, from 0; negative ones count from the end, and names of
        bodies (at tips, of frames) do as well.
        """
        if self.is_vector:
            return self.value[..., entries_of(self.expression, index, self.binding.leaves_by_place)]
        rows, columns = rows_and_columns(self.expression, index, self.binding.leaves_by_place)
        basis = arrays.eye(self.expression.cols.dimension, like=self.binding.state.q)[:, columns]
        block: SameKind = self.apply_columns(basis)[..., rows, :]
        batch = np.broadcast_shapes(*self.binding.batches) if not self.expression.is_constant else ()
        return inputs.fit(block, np.broadcast_shapes(batch, block.shape[:-2]), 2)

    __iter__ = None  # an operator is no sequence of blocks

    @property
    def blocks(self) -> list[Any]:
        """The blocks of a leaf, in the forms they are applied in."""
        leaf: Any = self.numbers
        found: list[Any] = leaf.blocks
        return found

    # --- structure -----------------------------------------------------------------------------------

    @property
    def rows(self) -> Space:
        """The space that A x is in."""
        return rooted(self.expression.rows, self.binding)

    @property
    def cols(self) -> Space:
        """The space that x is in."""
        return rooted(self.expression.cols, self.binding)

    @property
    def relations(self) -> Structure:
        """Where blocks may be non-zero."""
        return self.expression.relations

    @property
    def used(self) -> tuple[Any, ...]:
        """The identities that led to this expression."""
        return self.expression.used

    @property
    def shape(self) -> tuple[int, int]:
        """(dimension of the rows' space, dimension of the columns' space)."""
        return self.expression.shape

    @property
    def structure(self) -> str:
        """ "memoryless", "causal" (inward), "anticausal" (outward), strictly so, or what else it is."""
        return self.expression.structure

    # --- words -------------------------------------------------------------------------------------

    def explain(self) -> Explanation:
        """The formula, the recursions it runs as, the identities used and the operation count; printable."""
        from .explain import Explanation

        return Explanation(self)

    def latex(self) -> str:
        """The formula in LaTeX."""
        return self.expression.latex()

    def __str__(self) -> str:
        return str(self.expression)

    def __repr__(self) -> str:
        return repr(self.expression)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def _repr_html_(self) -> str:
        """The formula and what it maps to what, for notebooks."""
        what = f"a vector of {self.rows}" if self.is_vector else f"maps {self.cols} to {self.rows}; {self.structure}"
        return typeset.page([typeset.formula(self.latex()), typeset.words(what)])

    def __reduce__(self) -> Any:
        from .rules import is_known

        # (A rule of the user's own is a pair of functions, which need not pickle; what it led to does.)
        used = tuple(r.name for r in self.used if is_known(r))
        return (_unpickled, (recipe_of(self.expression), used, self.binding))


_SIGNS: dict[str, Callable[[Expression, Expression], Expression]] = {
    "@": lambda a, b: a @ b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
}


def bound(expression: Expression, binding: Binding) -> Operator:
    """The operator of an expression at these states."""
    return Operator(_interned(expression, binding), binding)


def _interned(op: Expression, binding: Binding) -> Expression:
    """The one expression of this formula and history that the robot's leaves remember.

    Leaves are told by their place, so that what stands at the other places (another robot, other frames) counts too.
    """
    homes = binding.homes
    if not homes:
        return remembered(binding.leaves, ("formula", op.key, op.used), lambda: op)
    key = ("formula", op.key, op.used, tuple(map(id, homes)))
    return remembered(binding.leaves, key, lambda: (op, homes))[0]


def _asks_symmetry(op: Expression) -> bool:
    """Whether an inverse rests on an inertia whose symmetry only its numbers tell."""
    return any(not f.is_default and f.M.key != f.M.T.key for f in families_of(op))


def _unpickled(recipe: Any, used: tuple[str, ...], binding: Binding) -> Operator:
    from .binding import unbound_things
    from .rules import rule

    return bound(build(recipe, unbound_things(binding)).with_used([rule(name) for name in used]), binding)
