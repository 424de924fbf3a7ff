"""A flexible body as people give it: mass points and nodes with mode shapes, stiffness, damping; checked on entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...arguments import shown
from ...errors import ModelError
from ...properties import cached_property
from ...spatial import skew
from ...values import ByValue, fixed
from ..inertia import as_array, as_vector
from .points import Points, fewest, from_moments

_OWN_MOTION = 1e-12  # the share of its kinetic energy that no other modes have, below which a mode has none of its own


@dataclass(frozen=True, eq=False)
class Node(ByValue):
    """A place on a flexible body where other bodies and frames may be: ``at`` (3,) [m] while the body is undeformed.

    ``shape`` (3, n) is how each mode displaces it [m per unit of the mode], ``turn`` (3, n) how it turns it [rad], and
    ``bend`` (3, n, n) its displacement of second order, ½η*Qη, where that is known. Axes are those of the body.
    """

    at: Any
    shape: Any
    turn: Any = None
    _: KW_ONLY
    bend: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", as_vector(self.at, "the place of a node"))
        shape = _numbers(self.shape, "the shape of a node", (3, None))
        n = shape.shape[1]
        turn = np.zeros((3, n)) if self.turn is None else _numbers(self.turn, "the turn of a node", (3, n))
        bend = None if self.bend is None else _numbers(self.bend, "the bend of a node", (3, n, n))
        for label, x in (("shape", shape), ("turn", turn), ("bend", bend)):
            object.__setattr__(self, label, None if x is None else fixed(x))


@dataclass(frozen=True, eq=False)
class Flexible(ByValue):
    """A body that bends: mass points and nodes that move with n modal coordinates η. It goes where an inertia goes.

    A point of the body is at r + Φη (+ ½η*Qη) in the body's frame, which sits where its joint holds it; there the modes
    neither move nor turn it. ``masses`` (N,) [kg] at ``places`` (N, 3) [m] with ``shapes`` Φ (N, 3, n) carry the
    inertia: nodes of a finite-element model, or points of an integration rule. ``stiffness`` and ``damping`` are (n,)
    or symmetric (n, n): the modes feel −Kη − Cη̇. ``nodes`` names the places, :class:`Node` or (at, shape, turn), where
    other bodies and frames may be. ``bends`` Q (N, 3, n, n) are displacements of second order, with which loads along
    the body stiffen or soften it. Where the modes move their own frame (free or pinned modes), ``clamped_at`` names the
    node whose motion is taken off all others, so that the body's frame is there.

    What results depend on is the second moments of points and shapes; :attr:`points` are the fewest with the same.
    """

    masses: Any
    places: Any
    shapes: Any
    stiffness: Any
    _: KW_ONLY
    damping: Any = 0.0
    nodes: Any = field(default_factory=dict)
    bends: Any = None
    clamped_at: str | None = None

    def __post_init__(self) -> None:
        masses = _numbers(self.masses, "the masses of a flexible body", (None,))
        count = len(masses)
        places = _numbers(self.places, "the places of a flexible body", (count, 3))
        shapes = _numbers(self.shapes, "the shapes of a flexible body", (count, 3, None))
        n = shapes.shape[2]
        bends = None if self.bends is None else _numbers(self.bends, "the bends of a flexible body", (count, 3, n, n))
        if not count or not n or (masses < 0).any() or not masses.sum() > 0:
            raise ModelError("a flexible body needs mass points, of masses that are not negative, and a mode or more")
        if bends is not None and np.abs(bends - np.swapaxes(bends, -1, -2)).max() > 1e-12 * np.abs(bends).max():
            raise ModelError("the displacements of second order, bends, must be symmetric in their two modes")
        nodes = _nodes(self.nodes, n)
        if self.clamped_at is not None:
            places, shapes, nodes = _clamped(self.clamped_at, places, shapes, bends, nodes)
        kept = {"masses": masses, "places": places, "shapes": shapes, "bends": bends}
        kept |= {"stiffness": _modal("stiffness", self.stiffness, n), "damping": _modal("damping", self.damping, n)}
        for label, x in kept.items():
            object.__setattr__(self, label, None if x is None else fixed(x))
        object.__setattr__(self, "nodes", tuple(nodes.items()))
        object.__setattr__(self, "clamped_at", None)
        self._refuse_alike_modes()

    def _refuse_alike_modes(self) -> None:
        """M_ff must be positive definite: modes that move mass, and each its own way."""
        mass = self.mass_matrix()[: self.modes, : self.modes]
        size = np.sqrt(np.diag(mass))
        if not (size > 0).all():
            raise ModelError(f"mode {int(np.argmin(size)) + 1} of a flexible body moves no mass")
        values, vectors = np.linalg.eigh(mass / np.outer(size, size))
        if values[0] < _OWN_MOTION:
            which = int(np.abs(vectors[:, 0]).argmax()) + 1
            raise ModelError(
                "the modes of a flexible body must each move its masses in a way of their own, and a combination in"
                f" which mode {which} has most moves none (its share of the kinetic energy is {values[0]:.2g}); leave"
                " such a mode out, or give the body more mass points"
            )

    # --- what it is --------------------------------------------------------------------------------

    @property
    def modes(self) -> int:
        """How many there are, n."""
        return int(self.shapes.shape[-1])

    @property
    def mass(self) -> float:
        """[kg]"""
        return float(self.masses.sum())

    @property
    def node_names(self) -> tuple[str, ...]:
        """The nodes, in the order given."""
        return tuple(name for name, _ in self.nodes)

    def node(self, name: str) -> Node:
        """The node of this name."""
        for known, node in self.nodes:
            if known == name:
                found: Node = node
                return found
        raise ModelError(f"a flexible body has no node {name!r}; it has {', '.join(self.node_names) or 'none'}")

    @cached_property
    def points(self) -> Points:
        """The fewest mass points with the same second moments, hence the same dynamics."""
        return fewest(Points(self.masses, self.places, self.shapes, self.bends))

    def mass_matrix(self, eta: Any = None) -> np.ndarray:
        """M_fl(η), (n + 6, n + 6), of [η̇; ω; v]: Σ mS*S with S = [Φ + Qη, −s̃, I] (math notes 5.1)."""
        x = np.zeros(self.modes) if eta is None else as_vector(eta, "modal coordinates", self.modes)
        moved, s = self.shapes, self.places + self.shapes @ x
        if self.bends is not None:
            moved, s = moved + self.bends @ x, s + 0.5 * (self.bends @ x) @ x
        S = np.concatenate([moved, -_skew(s), np.broadcast_to(np.eye(3), (len(s), 3, 3))], axis=-1)
        return np.asarray(np.einsum("j,jai,jak->ik", self.masses, S, S))

    @cached_property
    def frequencies(self) -> np.ndarray:
        """(n,) [rad/s], while the body's frame is held, lowest first."""
        mass = self.mass_matrix()[: self.modes, : self.modes]
        half = np.linalg.inv(np.linalg.cholesky(mass))
        squares = np.linalg.eigvalsh(half @ _square(self.stiffness) @ half.T)
        return np.asarray(np.sqrt(np.clip(squares, 0.0, None)))

    def normal_modes(self) -> Flexible:
        """The same body in its normal modes, lowest first: M_ff = mass · I while its frame is held, K and C diagonal.

        Damping that couples normal modes is refused; (n,) ratios of your own can be given in their place.
        """
        mass = self.mass_matrix()[: self.modes, : self.modes]
        half = np.linalg.inv(np.linalg.cholesky(mass)).T
        values, vectors = np.linalg.eigh(half.T @ _square(self.stiffness) @ half)
        W = np.sqrt(self.mass) * half @ vectors  # η = W ζ
        C = W.T @ _square(self.damping) @ W
        if np.abs(C - np.diag(np.diag(C))).max() > 1e-9 * max(float(np.abs(C).max()), 1e-300):
            raise ModelError(
                "the damping of a flexible body couples its normal modes; give damping (n,) for each of them, or one"
                " that is a sum of multiples of stiffness and mass"
            )

        def turned(node: Node) -> Node:
            bend = None if node.bend is None else W.T @ node.bend @ W
            return Node(node.at, node.shape @ W, node.turn @ W, bend=bend)

        return Flexible(
            self.masses,
            self.places,
            self.shapes @ W,
            self.mass * values.clip(min=0.0),
            damping=np.diag(C).clip(min=0.0),
            nodes={name: turned(node) for name, node in self.nodes},
            bends=None if self.bends is None else W.T @ self.bends @ W,
        )

    @cached_property
    def amplitude(self) -> np.ndarray:
        """(n,) by how much each mode may move for displacements of a fiftieth of the body's size."""
        size = float(np.ptp(np.vstack([self.places, np.zeros((1, 3))]), axis=0).max())
        size = size if size > 0 else float(np.abs(self.shapes).max())
        return fixed(0.02 * size / np.abs(self.shapes).max(axis=(0, 1)) / np.sqrt(self.modes))

    # --- integrals ---------------------------------------------------------------------------------

    def integrals(self) -> dict[str, np.ndarray]:
        """The constants of M_fl and b_fl for displacements that are linear in η (math notes 5.1), by their names there.

        m, h₀ (3,), J₀ (3, 3), h (n, 3) = ΣmΦ_i, c (n, 3) = Σm r×Φ_i, d (n, n, 3) with d_ji = ΣmΦ_j×Φ_i,
        N (n, 3, 3) = −Σm r̃Φ̃_i, NN (n, n, 3, 3) = −ΣmΦ̃_iΦ̃_j, M (n, n) = ΣmΦ_i·Φ_j.
        """
        m, r, phi = self.masses, self.places, np.moveaxis(self.shapes, -1, 1)  # (N, n, 3)
        R, F = _skew(r), _skew(phi)
        return {
            "m": np.array(m.sum()),
            "h0": m @ r,
            "J0": -np.einsum("j,jab,jbc->ac", m, R, R),
            "h": np.einsum("j,jia->ia", m, phi),
            "c": np.einsum("j,jab,jib->ia", m, R, phi),
            "d": np.einsum("j,jkab,jib->kia", m, F, phi),
            "N": -np.einsum("j,jab,jibc->iac", m, R, F),
            "NN": -np.einsum("j,jiab,jkbc->ikac", m, F, F),
            "M": np.einsum("j,jia,jka->ik", m, phi, phi),
        }

    @staticmethod
    def from_integrals(
        integrals: Mapping[str, Any], stiffness: Any, *, damping: Any = 0.0, nodes: Any = None
    ) -> Flexible:
        """A body from the integrals that :meth:`integrals` names, as modal bodies are often exchanged.

        ``N`` and ``NN`` hold the others of a mode: ``c``, ``d`` and ``M`` may be left out, and are checked where given.
        Integrals that no masses have are refused.
        """
        from .integrals import moments_of

        moments, n = moments_of(integrals)
        points = from_moments(moments, n)
        given: dict[str, Any] = {} if nodes is None else nodes
        return Flexible(points.masses, points.places, points.shapes, stiffness, damping=damping, nodes=given)

    # --- ways to one -------------------------------------------------------------------------------

    @staticmethod
    def beam(
        *,
        length: float,
        mass: float,
        stiffness: Any,
        modes: Any = 4,
        damping: float = 0.0,
        nodes: Mapping[str, float] | None = None,
        end: str = "free",
        tip_mass: float = 0.0,
        tip_inertia: float = 0.0,
        axial_stiffness: float | None = None,
        axial_modes: int = 0,
        torsion_stiffness: float | None = None,
        torsion_modes: int = 0,
        gyration: float = 0.0,
        stiffening: bool = False,
    ) -> Flexible:
        """A uniform Euler–Bernoulli beam along x, held at the origin, with a node "tip" at its end.

        ``length`` [m], ``mass`` [kg] and ``stiffness`` EI [N m²], of bending along y and along z where two are given.
        ``modes`` is how many bending modes, the lowest ones (those along z first where both are alike), or two numbers,
        along y and along z. Each mode has ∫φ² = length; its coordinate is in metres, and a clamped-free beam's tip
        moves by twice it. ``damping`` is the ratio ζ of each mode. ``nodes`` names further places by their x [m].

        Shapes are those of a beam clamped at x = 0 whose other end is "free", "pinned", "clamped" or "guided"
        (``end``), or, with ``tip_mass`` [kg] and ``tip_inertia`` [kg m²], carries a load of that size; the load itself
        is a body of its own at "tip". Fewer such modes do where loads are heavy. ``axial_modes`` and ``torsion_modes``
        with their stiffnesses EA [N] and GJ [N m²] lengthen and twist the beam; ``gyration`` [m] is the radius of
        gyration of its sections about x, 0 for a thin beam. ``stiffening`` adds the shortening of the bent beam, by
        which loads along it, as of spinning, stiffen or soften it.
        """
        from .beams import make_beam

        return make_beam(
            length=length,
            mass=mass,
            stiffness=stiffness,
            modes=modes,
            damping=damping,
            nodes=nodes,
            end=end,
            tip=(tip_mass, tip_inertia),
            axial=(axial_stiffness, axial_modes),
            torsion=(torsion_stiffness, torsion_modes),
            gyration=gyration,
            stiffening=stiffening,
        )

    @staticmethod
    def load(path: str | Path) -> Flexible:
        """Modal data from a ``.json`` or ``.npz`` file that :meth:`save` has written, or another program (docs)."""
        from .files import load

        found: Flexible = load(path)
        return found

    @staticmethod
    def from_universal_file(
        path: str | Path,
        masses: Any,
        *,
        nodes: Mapping[str, int],
        clamped_at: str | None = None,
        modes: Any = None,
    ) -> Flexible:
        """The normal modes in a universal file (``.unv``, ``.uff``), as finite-element codes and modal tests write.

        Such files hold nodes and mode shapes but no masses: ``masses`` (N,) [kg] are those of the nodes, in the order
        of the file, or by node number. ``nodes`` names some by their numbers, and ``clamped_at`` the one of these that
        is at the joint, where the modes move it. ``modes`` lists which ones to take, counted from 0; by default all.
        Needs the extra ``fem`` (pyuff).
        """
        from .files import from_universal_file

        found: Flexible = from_universal_file(path, masses, nodes=nodes, clamped_at=clamped_at, modes=modes)
        return found

    def save(self, path: str | Path) -> None:
        """Write all data to a ``.json`` or ``.npz`` file."""
        from .files import save

        save(self, path)

    def __repr__(self) -> str:
        named = f", nodes {', '.join(self.node_names)}" if self.nodes else ""
        return f"<Flexible: {self.mass:g} kg, {self.modes} modes{named}>"


# --- checks --------------------------------------------------------------------------------------------


def _numbers(x: Any, what: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """Finite numbers of this shape (None: any length)."""
    found = as_array(x, f"{what} must be numbers")
    fits = found.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, found.shape))
    if not fits or not np.isfinite(found).all():
        wanted = ", ".join("any" if k is None else str(k) for k in shape)
        raise ModelError(f"{what} must be finite numbers of shape ({wanted}), got shape {found.shape}")
    return found


def _modal(what: str, given: Any, n: int) -> np.ndarray:
    """Stiffness or damping, (n,) or (n, n): symmetric, not negative."""
    x = as_array(given, f"the {what} of a flexible body must be numbers")
    x = np.full(n, float(x)) if x.ndim == 0 else x
    if x.shape not in ((n,), (n, n)) or not np.isfinite(x).all():
        raise ModelError(f"the {what} of {n} modes must be ({n},) or ({n}, {n}) finite numbers, got shape {x.shape}")
    if x.ndim == 2:
        if np.abs(x - x.T).max() > 1e-9 * np.abs(x).max():
            raise ModelError(f"the {what} of a flexible body must be symmetric")
        x = 0.5 * (x + x.T)
        if not (x - np.diag(np.diag(x))).any():
            x = np.diag(x).copy()
    lowest = float(np.linalg.eigvalsh(x)[0] if x.ndim == 2 else x.min())
    if lowest < -1e-9 * float(np.abs(x).max()):
        raise ModelError(f"the {what} of a flexible body must not be negative: its lowest eigenvalue is {lowest:.3g}")
    return x


def _nodes(given: Any, n: int) -> dict[str, Node]:
    is_pairs = isinstance(given, tuple) and all(isinstance(x, tuple) and len(x) == 2 for x in given)  # as kept
    if not isinstance(given, Mapping) and not is_pairs:
        raise ModelError(f"nodes of a flexible body are a mapping of names to lw.Node, got {shown(given)}")
    pairs = given.items() if isinstance(given, Mapping) else given
    out: dict[str, Node] = {}
    for name, x in pairs:
        if not isinstance(name, str) or not name or name in out:
            raise ModelError(f"every node of a flexible body needs a name of its own, got {name!r}")
        out[name] = _node(f"node {name!r}", x, n)
    return out


def _node(what: str, x: Any, n: int) -> Node:
    if not isinstance(x, Node) and not (isinstance(x, (tuple, list)) and 2 <= len(x) <= 3):
        raise ModelError(f"{what} of a flexible body must be an lw.Node, or (at, shape, turn), got {shown(x)}")
    node = x if isinstance(x, Node) else Node(*x)
    if node.shape.shape[1] != n:
        raise ModelError(f"{what} of a flexible body has shapes of {node.shape.shape[1]} modes, but the body has {n}")
    return node


def _clamped(
    name: str, places: np.ndarray, shapes: np.ndarray, bends: Any, nodes: dict[str, Node]
) -> tuple[np.ndarray, np.ndarray, dict[str, Node]]:
    """Everything less the rigid motion that modes give the node of this name, which becomes the body's frame:
    Φ ← Φ − Φ_d + (r − d)~Φʳ_d (math notes 5.1)."""
    if not isinstance(name, str) or name not in nodes:
        raise ModelError(
            f"clamped_at={shown(name)} names no node of the flexible body; it has {', '.join(nodes) or 'none'}"
        )
    if bends is not None or any(x.bend is not None for x in nodes.values()):
        raise ModelError("clamped_at takes a motion of first order off the modes; leave bends out, or clamp them first")
    d = nodes.pop(name)

    def still(r: np.ndarray, shape: np.ndarray) -> np.ndarray:
        return np.asarray(shape - d.shape + _skew(r - d.at) @ d.turn)

    def moved(x: Node) -> Node:
        return Node(x.at - d.at, still(x.at, x.shape), x.turn - d.turn)

    return places - d.at, still(places, shapes), {k: moved(x) for k, x in nodes.items()}


def _skew(x: np.ndarray) -> np.ndarray:
    return np.asarray(skew(x))


def _square(x: np.ndarray) -> np.ndarray:
    """(n,) or (n, n) as a matrix."""
    return np.diag(x) if x.ndim == 1 else x
