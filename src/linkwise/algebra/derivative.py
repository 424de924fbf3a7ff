"""Derivatives of expressions: by time, by one joint, along any direction. They are expressions again.

Sums, products, adjoints and inverses follow the rules of calculus, (AB)° = A°B + AB° and (A⁻¹)° = −A⁻¹A°A⁻¹; what a
leaf's derivative is, :mod:`.derivative_rules` says. Numbers are differentiated as they stand: those of a body in its
own axes at its joint (° of the Diagonalized dynamics paper), those of tips in world axes, those of joints as they are.
So V° is the spatial acceleration without gravity, and M° is zero. :func:`inertial` turns a derivative into that of the
components in common inertial axes. Blocks and vectors of the user's own do not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InputError, NotAdmittedError
from ..properties import cached_property
from .expression import Expression, Identity, Inclusion, Product, Sum, Zero, product, total
from .kinds import Leaf, UserBlockDiagonal, UserColumn, UserMatrix
from .spaces import NUMBER

if TYPE_CHECKING:
    from .leaves import Leaves


@dataclass(frozen=True, eq=False)
class Direction:
    """What changes: θ by ``q``, θ̇ by ``v``, θ̈ by ``a``, vectors of joint space; what is None does not.

    As time passes (``time``) they are θ̇, θ̈ and what nobody knows, of the state that each operator is at.
    """

    q: Expression | None = None
    v: Expression | None = None
    a: Expression | None = None
    time: bool = False

    @property
    def key(self) -> Any:
        """What makes two directions the same."""
        return ("time",) if self.time else tuple(None if x is None else x.key for x in (self.q, self.v, self.a))


TIME = Direction(time=True)


def time_derivative(op: Expression) -> Expression:
    """d/dt of an expression, in the numbers that it has."""
    return derivative(op, TIME)


def derivative(op: Expression, direction: Direction) -> Expression:
    """The derivative of an expression along a direction."""
    if isinstance(op, (Identity, Zero, Inclusion)):
        return Zero(op.rows, op.cols)
    if isinstance(op, Sum):
        return total([(c, derivative(t, direction)) for c, t in op.terms])
    if isinstance(op, Product):
        return _of_product(op, direction)
    assert isinstance(op, Leaf)
    out = of_leaf(op.upright(), direction)
    return out.T if op.flipped else out


def _of_product(op: Product, direction: Direction) -> Expression:
    """(ABC)° = A°BC + AB°C + ABC°."""
    terms: list[tuple[float, Expression]] = [(1.0, Zero(op.rows, op.cols))]
    for i, factor in enumerate(op.factors):
        change = derivative(factor, direction)
        if not isinstance(change, Zero):
            terms.append((1.0, product([*op.factors[:i], change, *op.factors[i + 1 :]])))
    return total(terms)


def of_leaf(leaf: Leaf, direction: Direction) -> Expression:
    """The derivative of a leaf, which is no adjoint."""
    from .derivative_rules import DRIVEN, RULES
    from .printing import text
    from .rate import Rate

    if isinstance(leaf, (UserBlockDiagonal, UserColumn, UserMatrix)):
        return Zero(leaf.rows, leaf.cols)
    if isinstance(leaf, Rate):
        return derivative(leaf.value, direction)
    change = Change(leaf.owner.still, direction)
    if leaf.inverse_of is not None:
        inner = derivative(leaf.inverse_of, direction)
        return -1.0 * leaf @ inner @ leaf
    if leaf.driver is not None:
        return DRIVEN[leaf.driver[0]](leaf, change)
    if leaf.name not in RULES:
        raise NotAdmittedError(f"{text(leaf)} ({leaf.name}) has no rule of differentiation")
    return RULES[leaf.name](leaf.owner, change)


class Change:
    """A direction, seen from the leaves of one family: what its operators are along it."""

    def __init__(self, leaves: Leaves, direction: Direction) -> None:
        self.leaves, self.direction = leaves, direction

    def of(self, op: Expression) -> Expression:
        """The derivative of an expression."""
        return derivative(op, self.direction)

    def leaf(self, name: str) -> Expression:
        """A leaf that goes by the joint velocities, such as "F" or "P_ring", along the direction."""
        return linear(self.leaves, name, self.q)

    def by_velocity(self, name: str) -> Expression:
        """The change of a leaf that is linear in the bodies' velocities, "V_tilde" or "M_hat": that of V°."""
        return linear(self.leaves, name, self.of(self.leaves.V))

    # --- what changes --------------------------------------------------------------------------------

    @cached_property
    def q(self) -> Expression:
        """θ°."""
        if not self.direction.time:
            return self._given(self.direction.q)
        if not self.leaves.has_motion:
            raise InputError(
                "the rate of an operator needs a velocity: make the operators with robot.operators(q, v=v)"
            )
        return self.leaves.theta_dot

    @cached_property
    def v(self) -> Expression:
        """θ̇°."""
        if not self.direction.time:
            return self._given(self.direction.v)
        if not self.leaves.moving[1]:
            raise NotAdmittedError(
                "d/dt θ̇ (theta_dot) is θ̈, and these operators have no acceleration: make them with"
                " robot.operators(q, v=v, a=a)"
            )
        return self.leaves.theta_ddot

    @cached_property
    def a(self) -> Expression:
        """θ̈°."""
        if not self.direction.time:
            return self._given(self.direction.a)
        raise NotAdmittedError(
            "d/dt θ̈ (theta_ddot) is a third derivative, which operators do not have; T, f, α and what is made of them"
            " change along directions that you give: variation(dtheta, dtheta_dot, dtheta_ddot)"
        )

    def _given(self, x: Expression | None) -> Expression:
        return Zero(self.leaves.joints, NUMBER) if x is None else x


def linear(o: Leaves, name: str, x: Expression) -> Expression:
    """A leaf along x, to which it is linear: term by term, and the plain leaf along θ̇ or V."""
    if isinstance(x, Zero):
        leaf = o.leaf(name)
        return Zero(leaf.rows, leaf.cols)
    if isinstance(x, Sum):
        return total([(c, linear(o, name, t)) for c, t in x.terms])
    if o.has_motion and x.key in (o.theta_dot.key, o.V.key):
        return o.leaf(name)
    return o.along(x).leaf(name)


def direction_of(leaves: Leaves) -> Direction:
    """The direction that the leaves of a family move along."""
    return TIME if leaves.direction is None else Direction(q=leaves.direction)


# --- inertial axes -------------------------------------------------------------------------------------


def inertial(op: Expression, ring: Expression) -> Expression:
    """Ȧ = A° + Ω̃A − AΩ̃: the derivative of the components in common inertial axes, given in those of the bodies.

    Ω̃ stands where the space is that of bodies (DD (6.6), Table 4); numbers of joints have no axes, and those of tips
    are in the world's.
    """
    from .kinds import leaves_of

    leaves = leaves_of(op)
    if not leaves:
        return ring
    o = leaves[0].owner.still
    for space in (op.rows, op.cols):
        if space.kind not in ("body", "joint", "tip", "number"):
            raise NotAdmittedError(f"{op}: there is no derivative in inertial axes for {space}")
    terms = [(1.0, ring)]
    if op.rows.kind == "body":
        terms.append((1.0, o.Omega_tilde @ op))
    if op.cols.kind == "body":
        terms.append((-1.0, op @ o.Omega_tilde))
    return total(terms)
