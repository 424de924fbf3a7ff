"""Several bodies as one node of a tree: what stands for φ, M and P there, with six numbers at each interface.

An aggregate of m bodies has 6m rows, those of its members one below the other. Inside it is a tree of its own, along
which transforms, forces and inertias go body by body, so that no 6m×6m matrix comes about unless a recursion asks for
one (compliances do):

    φ(p, 𝒢) = [φ(p, k₁) … φ(p, k_m)]      :class:`Inside`, by sweeps over the members
    M, P    = diag over the members        :class:`Members`
    P⁺      = P − UD⁻¹U*                    :class:`Reduced`, of rank r less than P
    Π*φ(k, c), a child c of one member     :class:`Port`, and :class:`AtPorts` what it passes on

(Closed chains and flexible bodies, math notes 0, 1.1, 1.2; :mod:`linkwise.sweeps` says what nodes are asked for.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import arrays
from .arrays import Array
from .spatial import RigidInertia, Transform, adjoint_congruence, congruence
from .sweeps import BodyTree


def rows(member: int) -> slice:
    """Where a member's six rows are."""
    return slice(6 * member, 6 * member + 6)


def member_rows(x: Array, count: int) -> list[Array]:
    """Columns (..., 6m, ·) as those of each member."""
    return [x[..., rows(i), :] for i in range(count)]


def stacked(parts: Sequence[Array]) -> Array:
    """Columns of members one below the other."""
    return arrays.concatenate(list(parts), axis=-2)


@dataclass(frozen=True, eq=False)
class Outward:
    """φ*: motions outward, through what φ says of them."""

    of: Any

    def __matmul__(self, motion: Array) -> Array:
        moved: Array = self.of.outward(motion)
        return moved


@dataclass(frozen=True, eq=False)
class Inside:
    """φ(p, 𝒢): from the one body that an aggregate hangs on to all its members, (6, 6m), through its own tree."""

    tree: BodyTree  # −1 is the body outside
    phi: list[Any]

    @property
    def T(self) -> Outward:
        return Outward(self)

    def __matmul__(self, f: Any) -> Any:
        own = parts_of(f, len(self.phi))
        return self.gathered(own, lambda phi, x: phi @ x)

    def gathered(self, own: Sequence[Any], step: Callable[[Any, Any], Any]) -> Any:
        """What reaches the body outside of what each member has (the integer 0 is nothing), by ``step(φ(k), sum)``."""
        total: Any = 0
        gathered = list(own)
        for k in range(len(self.phi) - 1, -1, -1):
            if isinstance(gathered[k], int):
                continue
            passed, p = step(self.phi[k], gathered[k]), self.tree.parent(k)
            if p < 0:
                total = total + passed
            else:
                gathered[p] = passed + gathered[p]
        return total

    @property
    def matrix(self) -> Array:
        """(..., 6, 6m)."""
        return arrays.transpose(self.outward(arrays.eye(6, like=self.phi[0].R)))

    def outward(self, motion: Array) -> Array:
        return stacked(self.tree.outward(lambda above, phi: phi.T @ above, motion, self.phi))

    def to(self, member: int, motion: Array) -> Array:
        """φ*(p, k) of motions (..., 6, ·) of the body outside, on one member alone."""
        for k in self.tree.path(member):
            motion = self.phi[k].T @ motion
        return motion

    def spread(self, start: Array, own: Sequence[Array]) -> list[Array]:
        """x(k) = φ*x(parent) + own(k) of every member; ``start`` is that of the body outside."""
        return self.tree.outward(lambda above, phi, x: phi.T @ above + x, start, self.phi, own)

    def congruence(self, P: Any) -> Any:
        """FPF* by composite sums inside: φ(P₁ + φP₂φ*)φ*, and what a joint took away, of rank r."""
        if isinstance(P, Reduced):
            U = self @ P.U
            return self.congruence(P.P) - arrays.symmetric(U @ P.D_inverse @ U.mT)
        if not isinstance(P, Members):  # (..., 6m, 6m)
            return self @ arrays.transpose(self @ P)
        return self.gathered(P.parts, congruence)

    def both_sides(self, S: Any) -> Any:
        """F S F* of an S that need not be symmetric, of members or (..., 6m, 6m)."""
        if not isinstance(S, Members):
            return self @ arrays.transpose(self @ arrays.transpose(S))
        return self.gathered(S.parts, both_sides)

    def adjoint_congruence(self, U: Array) -> Array:
        """F*UF, (..., 6m, 6m): a compliance of the body outside, seen by all members."""
        half = self.outward(U)
        return self.outward(arrays.transpose(half))


@dataclass(frozen=True, eq=False)
class Port:
    """Π*φ: a node that hangs on one member of an aggregate of ``count``."""

    member: int
    count: int
    phi: Any

    @property
    def T(self) -> Outward:
        return Outward(self)

    def __matmul__(self, f: Array) -> AtPorts:
        return AtPorts(self.count, {self.member: self.phi @ f})

    @property
    def matrix(self) -> Array:
        """(..., 6m of the aggregate, d)."""
        own = self.phi.matrix
        return stacked([own if i == self.member else 0.0 * own for i in range(self.count)])

    def outward(self, motion: Any) -> Array:
        moved: Array = self.phi.T @ at_member(motion, self.member)
        return moved

    def congruence(self, P: Any) -> AtPorts:
        return AtPorts(self.count, {self.member: congruence(self.phi, P)})

    def adjoint_congruence(self, U: Array) -> Array:
        return adjoint_congruence(self.phi, U[..., rows(self.member), rows(self.member)])


def come_in(phi: Any, x: Any) -> Any:
    """What has come as far as the body outside, at the port where φ comes in, if at one."""
    return AtPorts(phi.count, {phi.member: x}) if isinstance(phi, Port) else x


def at_member(x: Any, member: int) -> Array:
    """The rows of a member in columns of an aggregate, all of them or those at its ports alone."""
    own: Array = x.held[member] if isinstance(x, AtPorts) else x[..., rows(member), :]
    return own


def parts_of(x: Any, count: int) -> list[Any]:
    """Columns of an aggregate of so many members as those of each; the integer 0 where there are none."""
    return [x.held.get(k, 0) for k in range(count)] if isinstance(x, AtPorts) else member_rows(x, count)


class AtPorts:
    """Forces (..., 6, ·) or inertias, by the member that they belong to: what children of an aggregate pass to it; and
    motions of the members that carry children. As columns they are 6m rows of which the others are zero, or unasked."""

    __array_ufunc__ = None  # arrays leave ``+`` and ``@`` to this class

    def __init__(self, count: int, held: dict[int, Any]) -> None:
        self.count, self.held = count, held

    def __add__(self, other: Any) -> Any:
        if isinstance(other, AtPorts):
            return AtPorts(self.count, self.held | {k: self.held.get(k, 0) + x for k, x in other.held.items()})
        if isinstance(other, int) and other == 0:  # the empty sum over no children
            return self
        if isinstance(other, Members):
            return other.mapped(lambda x, y: x + y, [self.held.get(k, 0) for k in range(self.count)])
        if isinstance(other, Full):
            return other + self
        return stacked([x + self.held.get(k, 0) for k, x in enumerate(member_rows(other, self.count))])

    __radd__ = __add__

    def __sub__(self, other: Array) -> Any:
        return whole(self) - other

    def __rsub__(self, other: Array) -> Any:
        return other - whole(self)

    def __rmatmul__(self, H: Array) -> Array:
        """H x of the rows that are not zero."""
        return arrays.total(H[..., rows(k)] @ x for k, x in self.held.items())

    def __getitem__(self, where: Any) -> AtPorts:
        """Some of the columns."""
        return self.mapped(lambda x: x[where])

    def mapped(self, function: Callable[[Any], Any]) -> AtPorts:
        """A function of what each member has."""
        return AtPorts(self.count, {k: function(x) for k, x in self.held.items()})

    @property
    def shape(self) -> tuple[int, ...]:
        one = next(iter(self.held.values()))
        return (*one.shape[:-2], self.count * one.shape[-2], one.shape[-1])

    @property
    def mT(self) -> Transposed:
        return Transposed(self)


@dataclass(frozen=True, eq=False)
class Transposed:
    """x* of columns at ports."""

    of: AtPorts

    def __matmul__(self, y: Any) -> Array:
        """x*y of columns y (..., 6m, ·), or at the same ports."""
        return arrays.total(x.mT @ at_member(y, k) for k, x in self.of.held.items())


def whole(x: Any) -> Any:
    """What was passed inward as columns of the node it has come to, (..., d, ·)."""
    if not isinstance(x, AtPorts):
        return x
    some = next(iter(x.held.values()))
    return stacked([x.held.get(k, 0.0 * some) for k in range(x.count)])


class Members:
    """diag over the members: inertias, rigid ones or (..., 6, 6), each of its own body."""

    __array_ufunc__ = None

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = list(parts)

    def __matmul__(self, x: Array) -> Array:
        return stacked([P @ y for P, y in zip(self.parts, member_rows(x, len(self.parts)))])

    def __rmatmul__(self, H: Array) -> Array:
        """H x, (..., r, 6m)."""
        return arrays.concatenate([H[..., rows(k)] @ P for k, P in enumerate(self.parts)], axis=-1)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, AtPorts):
            return other + self
        if isinstance(other, Members):
            return self.mapped(lambda x, y: x + y, other.parts)
        return self if isinstance(other, int) and other == 0 else NotImplemented

    __radd__ = __add__

    @property
    def mT(self) -> Members:
        return self.mapped(lambda P: P if isinstance(P, RigidInertia) else arrays.transpose(P))

    @property
    def matrices(self) -> Members:
        """The same with matrices in place of rigid inertias."""
        return self.mapped(lambda P: getattr(P, "matrix", P))

    @property
    def trace(self) -> Array:
        return arrays.total(P[..., i, i] for P in self.parts for i in range(6))

    def mapped(self, function: Callable[..., Any], *others: Sequence[Any]) -> Members:
        """A function of every member's part (and of what others have for it)."""
        return Members([function(*x) for x in zip(self.parts, *others)])

    def adjoint_times(self, X: Array) -> Array:
        """The adjoint of parts that are not symmetric, times columns."""
        return stacked([P.adjoint_times(x) for P, x in zip(self.parts, member_rows(X, len(self.parts)))])

    def reduced(self, G: Array, U: Array, D_inverse: Array) -> Reduced:
        """P − GU*, which is not formed."""
        return Reduced(self, G, U, D_inverse)

    @property
    def matrix(self) -> Array:
        """(..., 6m, 6m), with the zeros."""
        return block_diagonal([getattr(P, "matrix", P) for P in self.parts])


@dataclass(frozen=True, eq=False)
class Reduced:
    """P⁺ = P − GU* with U = PH* (..., 6m, r) and G = UD⁻¹."""

    P: Members
    G: Array
    U: Array
    D_inverse: Array

    def __matmul__(self, x: Array) -> Array:
        return self.P @ x - self.G @ (self.U.mT @ x)

    @property
    def matrix(self) -> Array:
        """(..., 6m, 6m)."""
        return self.P.matrix - arrays.symmetric(self.G @ self.U.mT)


class Full:
    """An inertia (..., 6m, 6m) of an aggregate that is more than diag over its members, to which ports add theirs."""

    __array_ufunc__ = None

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix

    def __add__(self, other: Any) -> Array:
        if not isinstance(other, AtPorts):  # the empty sum over no children
            return self.matrix
        some = next(iter(other.held.values()))
        return self.matrix + block_diagonal([other.held.get(k, 0.0 * some) for k in range(other.count)])

    __radd__ = __add__


def both_sides(phi: Any, S: Any) -> Any:
    """φ S φ* of an S that need not be symmetric, whatever stands for φ."""
    if isinstance(phi, Transform):
        return phi @ arrays.transpose(phi @ arrays.transpose(S))
    return phi.both_sides(S)


def through_port(phi: Any, step: Callable[[Any], Any]) -> Any:
    """What ``step`` makes of φ, at the port where φ comes in, if at one."""
    if not isinstance(phi, Port):
        return step(phi)
    return AtPorts(phi.count, {phi.member: step(phi.phi)})


def at_interface(phi: Any, motion: Any) -> tuple[Any, Array]:
    """(φ without the port where it comes in, if at one; the six rows of a motion of what is inboard that are there)."""
    if not isinstance(phi, Port):
        return phi, motion
    return phi.phi, at_member(motion, phi.member)


def without_port(phi: Any) -> Any:
    """φ without the port where it comes in."""
    return phi.phi if isinstance(phi, Port) else phi


def turned(phi: Any, x: Any) -> Any:
    """R x of vectors (..., 3, ·): the angular half of [x; 0] as it goes inward; of an aggregate, 3 rows for each member
    or :class:`AtPorts`."""
    if isinstance(phi, Transform):
        return phi.R @ x
    if isinstance(phi, Port):
        return AtPorts(phi.count, {phi.member: turned(phi.phi, x)})
    count = len(phi.phi)
    own = parts_of(x, count) if isinstance(x, AtPorts) else [x[..., 3 * k : 3 * k + 3, :] for k in range(count)]
    return phi.gathered(own, lambda one, y: one.R @ y)


def dense(P: Any) -> Array:
    """An inertia of a node as a matrix."""
    return P.matrix if isinstance(P, (Members, Reduced)) else P


def block_diagonal(blocks: Sequence[Array]) -> Array:
    """Square blocks (..., 6, 6) on the diagonal of one matrix."""
    zero = 0.0 * blocks[0]
    return arrays.block([[b if i == j else zero for j, b in enumerate(blocks)] for i in range(len(blocks))])
