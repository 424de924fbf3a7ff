"""The leaf operators of a robot: H, φ, M, B, the articulated family, JPL's shifts.

Leaves without numbers are what formulas, rules and proofs are made of; a robot has them once (:func:`unbound`).
Leaves with numbers, at a configuration, are what sweeps run over; they compute their blocks when first applied.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .. import arrays
from ..arrays import Array
from ..errors import NoRecursionError, NotAdmittedError, SpaceError
from ..model.model import Model
from ..properties import cached_property
from ..sweeps import Tree
from . import spaces
from .articulated_leaves import ArticulatedLeaves
from .blocks import Edge, Unit, dense_block
from .directions import DirectedLeaves
from .expression import Expression, Identity, Zero
from .ground_leaves import GroundLeaves
from .kinds import (
    BlockDiagonal,
    Column,
    Pick,
    Propagation,
    Shift,
    StrictPropagation,
    UserBlockDiagonal,
    UserColumn,
    UserMatrix,
)
from .nodes import edge_maps, interface_maps, interfaces, nodes_of
from .recursions import solve_recursion
from .spaces import Space
from .vectors import VectorLeaves

if TYPE_CHECKING:
    from ..dynamics.closed.locality import Group
    from ..dynamics.links import Links

Made = TypeVar("Made")


class Leaves(ArticulatedLeaves, DirectedLeaves, GroundLeaves, VectorLeaves):
    """The leaf operators of a robot, at a configuration q (..., nq) where they have numbers.

    Spaces: ``bodies`` (6 per body, body axes at its joint), ``joints`` (nv), ``tips`` (6 per frame, world
    axes at its origin), ``edges`` (6 per edge, in the parent's frame), ``base`` (6, at the world's origin) and
    ``inertial`` (6 per body, all of them there). Bodies whose joints are coupled have one block together, as one node
    of the tree (:mod:`.nodes`).
    """

    def __init__(
        self,
        model: Model,
        frames: tuple[Any, ...] = (),
        q: Array | None = None,
        v: Array | None = None,
        a: Array | None = None,
        *,
        moving: tuple[bool, bool] | None = None,
        place: int = 0,
        groups: tuple[Group, ...] = (),
    ) -> None:
        self.model, self.frames, self.place = model, frames, place
        self.q, self.v, self.a = q, v, a
        self.moving = (v is not None, a is not None) if moving is None else moving
        self.groups = groups  # of loops that are embedded
        self.nodes = nodes_of(model, groups)
        self.tip_nodes = [b if self.nodes is None else self.nodes.node(b) for b in (model.frame(f)[0] for f in frames)]
        self.has_rotors = any(c.reflected is not None for c in model.constants())
        self.has_spinning_rotors = any(c.spin is not None for c in model.constants())
        self.rigid_key = ("leaves", place) if q is None else ("leaves", id(self))
        self.memory: dict[Any, Any] = {}  # what was made of unbound leaves before, see :func:`remembered`
        self._inertia: Expression | None = None
        self._measurement: tuple[Expression | None, Expression | None] = (None, None)
        self.family_key: Any = ()
        self.root = self  # the family of the robot's own inertia
        self.direction: Expression | None = None  # what moves in place of θ̇, see :meth:`along`
        self.still = self  # the same without that direction
        self._make_spaces()

    def at(self, model: Model, q: Array, v: Array | None, a: Array | None) -> Leaves:
        """The same leaves with numbers, of the model at a state."""
        return Leaves(model, self.frames, q, v, a, groups=self.groups)

    @cached_property
    def body_links(self) -> Links:
        """φ(p, k), H(k), M(k), … of every body, in numbers."""
        from ..dynamics.closed.independent import followed_links
        from ..dynamics.links import evaluate

        if self.still is not self:
            return self.still.body_links
        if self.groups:
            return followed_links(self.model, self.values, self.groups)
        return evaluate(self.model, self.values)

    @cached_property
    def links(self) -> Links:
        """Those of every node: of every body, where none move together."""
        return self.body_links.nodes

    @property
    def tree(self) -> Tree:
        """The tree of nodes."""
        return self.model.tree if self.nodes is None else self.nodes.tree

    @property
    def is_chain(self) -> bool:
        """Whether every node hangs on the one before it."""
        return self.tree.is_chain

    @property
    def values(self) -> Array:
        """The configuration, where there is one."""
        if self.q is None:
            raise SpaceError("these leaves have no numbers: formulas of theirs are bound to a configuration first")
        return self.q

    def _make_spaces(self) -> None:
        tree, nodes, name, key = self.tree, self.nodes, self.model.name, ("space", self.model)
        embedded = tuple(g.members for g in self.groups)
        owners = tuple(range(len(tree)))
        if nodes is None:
            heights, rows = (6,) * len(tree), None
            widths, rates = tuple(j.kind.nv for j in self.model.joints), None
        else:
            heights, rows, widths, rates = nodes.heights, nodes.rows, tuple(map(len, nodes.columns)), nodes.rates
        place = self.place
        self.bodies = Space("body", name, heights, owners, (*key, "body", *embedded), rows, place)
        self.joints = Space("joint", name, widths, owners, (*key, "joint", *embedded), rates, place)
        self.edges = Space("edge", name, (6,) * len(tree), tree.parents, (*key, "edge", *embedded), None, place)
        tip_key = (*key, "tip", tuple(getattr(f, "name", f) for f in self.frames), *embedded)
        self.tips = Space("tip", name, (6,) * len(self.frames), tuple(self.tip_nodes), tip_key, None, place)
        self.base = Space("base", name, (6,), (-1,), (*key, "base"), None, place)
        self.inertial = Space("inertial", name, heights, owners, (*key, "inertial", *embedded), rows, place)
        self.I, self.I_joints = Identity(self.bodies), Identity(self.joints)
        self.I_tips, self.I_edges = Identity(self.tips), Identity(self.edges)
        self.I_inertial = Identity(self.inertial)

    # --- names -------------------------------------------------------------------------------------

    _RIGID = frozenset({"H", "phi", "phi_tilde", "E_phi", "B", "S", "Delta_phi", "rotor_inertia", "rotor_coupling"})
    _RIGID |= {"E", "alpha_base", "phi_I", "phi_I_inverse", "E_I", "Phi_I"}
    _SHARED = _RIGID | {"body_links", "links", "_rates", "_velocities", "_accelerations", "_slope_rows"}

    def leaf_key(self, name: str) -> Any:
        """Rigid leaves are shared by all families; articulated ones belong to their own inertia X."""
        if name in self._RIGID:
            return (self.rigid_key, name)
        return (self.rigid_key, self.family_key, *(() if self.direction is None else (self.direction.key,)), name)

    @property
    def identity(self) -> Any:
        """What tells a family from the others: its inertia, and what it moves by."""
        return (self.rigid_key, self.family_key, None if self.direction is None else self.direction.key)

    def leaf(self, name: str) -> Expression:
        """A leaf by its name, such as "phi" or "tau_bar"."""
        found: Expression = getattr(self, name)
        return found

    def with_inertia(self, X: Expression, rotor_inertia: Any = None, rotor_coupling: Any = None) -> Leaves:
        """The same robot and configuration with a block-diagonal X in place of M: its own P, D, K, ψ, …

        ``rotor_inertia`` adds a joint-space block diagonal to D, as a rotor's reflected inertia does.
        """
        if X.rows != self.bodies or X.cols != self.bodies or X.relations - spaces.MEMORYLESS:
            raise SpaceError(f"an inertia must be block diagonal on {self.bodies}; {X} is {X.structure}")
        if self.q is not None:
            self._refuse_asymmetric(X)
        measurement = (rotor_inertia, rotor_coupling)
        key = (X.key, *(None if m is None else m.key for m in measurement))
        return remembered(self, ("family", key), lambda: self._other_family(X, measurement, key))

    def _other_family(self, X: Expression, measurement: tuple[Any, Any], key: Any) -> Leaves:
        other = copy.copy(self)
        other.__dict__.pop("_known_along", None)
        for name in [n for n in other.__dict__ if isinstance(getattr(type(self), n, None), cached_property)]:
            if name not in self._SHARED:
                del other.__dict__[name]
        other._inertia, other._measurement, other.family_key, other.still = X, measurement, key, other
        return other

    def _refuse_asymmetric(self, X: Expression) -> None:
        for k, block in enumerate(self.blocks_of(X)):
            x = dense_block(block)
            if arrays.is_eager(x) and np.nanmax(np.abs(x - x.mT), initial=0) > 1e-9 * np.nanmax(np.abs(x), initial=0):
                raise NoRecursionError(
                    f"the Riccati recursion, and so the inverse of HφXφ*H*, needs a symmetric X; block {k} (body"
                    f" {self.links.names[k]!r}) of {X} is not"
                )

    @property
    def has_joint_inertia(self) -> bool:
        """Whether D holds more than HPH*, so that HG = I and its like fail."""
        return self.has_rotors if self.is_default else any(m is not None for m in self._measurement)

    @property
    def joint_noise(self) -> Expression | None:
        """Γ: what D holds beside HPH*, or None."""
        if self.is_default:
            return self.rotor_inertia if self.has_rotors else None
        return self._measurement[0]

    @property
    def has_coupling(self) -> bool:
        """Whether a rotor couples its joint with its parent's motion, so that GD = PH* and its like fail."""
        if self.is_default:
            return self.has_spinning_rotors
        return self._measurement[1] is not None

    @property
    def is_default(self) -> bool:
        """Whether the inertia is the robot's own M (with its rotors)."""
        return self._inertia is None

    # --- rigid leaves ------------------------------------------------------------------------------

    def _diagonal(self, name: str, rows: Space, cols: Space, blocks: Callable[[], Any]) -> BlockDiagonal:
        return BlockDiagonal(self, name, rows, cols, spaces.MEMORYLESS, blocks)

    @cached_property
    def H(self) -> Expression:
        """The joint map H(k), r×6: projects a link force onto the joint's own directions."""
        return self._diagonal("H", self.joints, self.bodies, lambda: self.links.H)

    def _rigid_edges(self) -> list[Edge]:
        return [Edge(phi, Unit(self.values, r)) for phi, r in zip(edge_maps(self.links), self.bodies.sizes)]

    @cached_property
    def E_phi(self) -> Expression:
        """E_φ: block φ(p, k) at (parent, child)."""
        return Shift(self, "E_phi", self.bodies, self.bodies, spaces.STRICTLY_CAUSAL, self._rigid_edges)

    @cached_property
    def phi(self) -> Expression:
        """φ = (I − E_φ)⁻¹: rigid force propagation, an inward sweep; φ* propagates velocities outward."""
        return Propagation(self, "phi", self.bodies, self.bodies, spaces.CAUSAL, self._rigid_edges)

    @cached_property
    def phi_tilde(self) -> Expression:
        """φ̃ = φ − I."""
        return StrictPropagation(self, "phi_tilde", self.bodies, self.bodies, spaces.STRICTLY_CAUSAL, self._rigid_edges)

    @cached_property
    def B(self) -> Expression:
        """B: picks the tips. J = B*φ*H*."""
        return Pick(self, "B", self.bodies, self.tips, spaces.MEMORYLESS, self._tip_blocks)

    def _tip_blocks(self) -> list[Any]:
        """φ(k, tip) for every tip, in world axes; the bodies' rotations come from one sweep."""
        from ..dynamics.kinematics import tip_transforms

        found = tip_transforms(self.model, self.body_links, self.frames)
        if self.nodes is None:
            return found
        return [self.nodes.at_body(self.model.frame(f)[0], phi) for f, phi in zip(self.frames, found)]

    @cached_property
    def S(self) -> Expression:
        """JPL 88-11's block shift: the identity from edge k to the parent's block."""
        blocks = lambda: interfaces(self.links, self.values)
        return Shift(self, "S", self.bodies, self.edges, spaces.MEMORYLESS, blocks)

    @cached_property
    def Delta_phi(self) -> Expression:
        """Δφ = diag φ(p, k), so that E_φ = SΔφ (JPL 88-11 A.1)."""
        relations = spaces.STRICTLY_CAUSAL

        def blocks() -> list[Edge]:
            return [Edge(phi, Unit(self.values, r)) for phi, r in zip(interface_maps(self.links), self.bodies.sizes)]

        return BlockDiagonal(self, "Delta_phi", self.edges, self.bodies, relations, blocks)

    @property
    def Phi(self) -> Expression:
        """JPL 88-11's Φ = φS."""
        return self.phi @ self.S

    # --- inertias ----------------------------------------------------------------------------------

    @property
    def M(self) -> Expression:
        """The links' spatial inertias (or the X of :meth:`with_inertia`)."""
        return self._own_inertia if self._inertia is None else self._inertia

    @cached_property
    def _own_inertia(self) -> Expression:
        return self._diagonal("M", self.bodies, self.bodies, lambda: self.links.M)

    def blocks_of(self, X: Expression) -> list[Array]:
        """The blocks of a memoryless expression, by applying it to the identity of each block."""
        if isinstance(X, BlockDiagonal) and not X.flipped:
            return X.blocks
        basis = [arrays.eye(r, like=self.values) for r in X.cols.sizes]
        zero = [arrays.zeros((r, c), like=self.values) for r, c in zip(X.rows.sizes, X.cols.sizes)]
        return [z if y is None else y for y, z in zip(X.forward(basis), zero)]

    # --- rotors ------------------------------------------------------------------------------------

    @cached_property
    def rotor_inertia(self) -> Expression:
        """Γ: the reflected rotor inertias, joint space, zero where a joint has no rotor."""

        def blocks() -> list[Array]:
            return [
                arrays.zeros((r, r), like=self.values) if g is None else g
                for g, r in zip(self.links.Gamma, self.links.sizes)
            ]

        return self._diagonal("rotor_inertia", self.joints, self.joints, blocks)

    @cached_property
    def rotor_coupling(self) -> Expression:
        """Block (p, k): the moment on the parent per acceleration of joint k, from a rotor that turns with p."""

        def blocks() -> list[Any]:
            return [None if s is None else Edge(phi, s) for phi, s in zip(edge_maps(self.links), self.links.s)]

        return Shift(self, "rotor_coupling", self.bodies, self.joints, spaces.STRICTLY_CAUSAL, blocks)

    # --- common expressions ------------------------------------------------------------------------

    @property
    def mass(self) -> Expression:
        """𝓜 = HφMφ*H*, plus what rotors add."""
        H, phi, M = self.H, self.phi, self.M
        out = H @ phi @ M @ phi.T @ H.T
        if not self.is_default:
            return out
        if self.has_spinning_rotors:
            coupling = H @ phi @ self.rotor_coupling
            out = out + coupling + coupling.T
        return out + self.rotor_inertia if self.has_rotors else out

    @property
    def m(self) -> Expression:
        """m = (I + HφK) D^{1/2}: 𝓜 = m m*, ν = m*θ̇, T = mε (DD (5.1))."""
        return (self.I_joints + self.H @ self.phi @ self.K) @ self.D_root

    @property
    def ell(self) -> Expression:
        """ℓ = m⁻¹ = D^{-1/2}(I − HψK): 𝓜⁻¹ = ℓ*ℓ, ε = ℓT, θ̇ = ℓ*ν (DD (5.1))."""
        return self.D_root_inverse @ (self.I_joints - self.H @ self.psi @ self.K)

    @property
    def J(self) -> Expression:
        """The Jacobian J = B*φ*H*."""
        return self.B.T @ self.phi.T @ self.H.T

    # --- other block diagonals -----------------------------------------------------------------------

    def own_blocks(self, place: int, space: str, name: str, blocks: list[Array] | None = None) -> UserBlockDiagonal:
        """A block diagonal of the user's own, whose blocks stand at ``place`` of the binding."""
        where: Space = getattr(self, space)
        held: Any = blocks  # none for unbound leaves, of which nobody asks for them
        out = UserBlockDiagonal(self, name, where, where, spaces.MEMORYLESS, lambda: held)
        out.token, out.place, out.space = ("own", place, space), place, space
        return out

    def _column(self, name: str, space: Space, blocks: Callable[[], list[Array]]) -> Expression:
        relations = spaces.MEMORYLESS if space == self.base else spaces.STRICTLY_ANTICAUSAL
        return Column(self, name, space, spaces.NUMBER, relations, blocks)

    def own_vector(self, place: int, space: Space, name: str, blocks: list[Array] | None = None) -> UserColumn:
        """A vector of the user's own, whose numbers stand at ``place`` of the binding."""
        held: Any = blocks
        out = UserColumn(self, name, space, spaces.NUMBER, spaces.STRICTLY_ANTICAUSAL, lambda: held)
        out.token, out.place = ("own", place, space), place
        return out

    def own_matrix(
        self, place: int, rows: Space, cols: Space, name: str, blocks: list[Array] | None = None
    ) -> UserMatrix:
        """A matrix of the user's own between any spaces, whose numbers stand at ``place`` of the binding."""
        held: Any = blocks
        out = UserMatrix(self, name, rows, cols, spaces.FULL, lambda: held)
        out.token, out.place = ("own", place, rows, cols), place
        return out

    def lyapunov(self, X: Expression, name: str | None = None) -> Expression:
        """The block diagonal S with S(k) = Σ φ(k,j) S(j) φ*(k,j) + X(k), so that φXφ* = φS + Sφ̃* (LD (A.1))."""
        if name:
            return self._diagonal(name, self.bodies, self.bodies, lambda: solve_recursion(self, X, "φφ"))
        return self.recursion(X, "φφ")

    def recursion(self, X: Expression, kind: str, letter: str | None = None) -> Expression:
        """A block diagonal driven by X across other edges, as identities (A.2)–(A.5) of LD need it.

        ``kind`` is one of :data:`linkwise.algebra.recursions.KINDS`; ``letter`` is what it prints as.
        """
        if self.nodes is not None and "⁻" in kind:
            raise NotAdmittedError(
                f"{letter or 'the recursion ' + kind} needs the inverse of φ(p, k), which bodies that move as one node"
                " do not have (six numbers of the body that they hang on do not tell their motion), and robot"
                f" {self.model.name!r} has such"
            )
        if isinstance(X, Zero):
            return Zero(self.bodies, self.bodies)
        blocks = lambda: solve_recursion(self, X, kind)
        out = self._diagonal(letter or f"S_{kind}", self.bodies, self.bodies, blocks)
        out.token, out.driver = X.key, (kind, X)
        out.symmetric = kind in _SYMMETRIC_KINDS and X.T.key == X.key
        return out


_SYMMETRIC_KINDS = ("φφ", "ψψ", "ψ*ψ", "φ*·φ")  # both sides of S are the same there


# --- unbound leaves ----------------------------------------------------------------------------------

# Results of a robot's leaves, six for a simplified formula of the arm, of 1.4 kB each: hundreds of formulas in 6 MB.
_MOST_REMEMBERED = 4096
_MOST_CHOICES = 16  # of frames, for which a robot keeps its leaves: at most 16 times that


def unbound(
    model: Model,
    frames: tuple[Any, ...] = (),
    moving: tuple[bool, bool] = (False, False),
    groups: tuple[Group, ...] = (),
) -> Leaves:
    """The leaves of a robot without numbers, the same for every configuration; ``moving``: with v, with a.

    ``groups`` are those of loops that are embedded.
    """
    known: dict[Any, Leaves] = model.__dict__.setdefault("_leaves", {})
    found = known.get((frames, moving, groups))
    if found is None:
        if len(known) >= _MOST_CHOICES:
            known.pop(next(iter(known)))
        found = known[frames, moving, groups] = Leaves(model, frames, moving=moving, groups=groups)
    return found


def remembered(leaves: Leaves, key: Any, make: Callable[[], Made]) -> Made:
    """What ``make`` gives, made once for unbound leaves; numbers are not kept."""
    if leaves.q is not None:
        return make()
    found: Made | None = leaves.memory.get(key)
    if found is None:
        made = make()
        if len(leaves.memory) >= _MOST_REMEMBERED:
            leaves.memory.clear()
        found = leaves.memory[key] = made
    return found
