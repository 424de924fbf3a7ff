"""Uniform beams: the mode shapes of Euler and Bernoulli's beam, of bars that lengthen and of shafts that twist.

A beam clamped at x = 0 bends by φ = cosh βx − cos βx − σ(sinh βx − sin βx), in which its other end decides σ and β.
cosh βx − σ sinh βx is evaluated as ½(1−σ)e^{βx} + ½(1+σ)e^{−βx} with 1 − σ in a form that loses no digits: as the
textbooks have it, seven are lost at the sixth mode and all at the twelfth (math notes 5.3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arguments import flag, mapping, number, one_of, whole
from ...errors import ModelError
from ..inertia import as_array
from .body import Flexible, Node

MOST_MODES = 50  # in one plane: beyond, a beam of any use is too short for this theory
_ENDS = ("free", "pinned", "clamped", "guided")


@dataclass(frozen=True, eq=False)
class Bending:
    """One mode of a clamped beam of unit length, ∫φ² = 1: φ and its slope at x from 0 to 1."""

    b: float  # βL
    less: float  # (1 − σ) eᵇ
    sigma: float
    size: float

    @staticmethod
    def at_root(b: float, less: float, sigma: float) -> Bending:
        """The mode with the norm worked out; its sign is that of the tip of a free end, +, −, +, …"""
        bare = Bending(b, less, sigma, 1.0)
        x, w = _gauss(0.0, 1.0, 40 + int(2 * b))
        return Bending(b, less, sigma, 1.0 / float(np.sqrt(w @ bare(x) ** 2)))

    def __call__(self, x: np.ndarray) -> np.ndarray:
        grows, decays = self._waves(x)
        return np.asarray(self.size * (grows + decays - np.cos(self.b * x) + self.sigma * np.sin(self.b * x)))

    def slope(self, x: np.ndarray) -> np.ndarray:
        """dφ/dx."""
        grows, decays = self._waves(x)
        return np.asarray(self.size * self.b * (grows - decays + np.sin(self.b * x) + self.sigma * np.cos(self.b * x)))

    def curvature(self, x: np.ndarray) -> np.ndarray:
        """d²φ/dx²."""
        grows, decays = self._waves(x)
        return np.asarray(
            self.size * self.b**2 * (grows + decays + np.cos(self.b * x) - self.sigma * np.sin(self.b * x))
        )

    def _waves(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 0.5 * self.less * np.exp(self.b * (x - 1.0)), 0.5 * (1.0 + self.sigma) * np.exp(-self.b * x)


def bending_modes(count: int, end: str = "free", mass: float = 0.0, inertia: float = 0.0) -> list[Bending]:
    """The lowest modes of a beam of unit length and mass, clamped at 0; at 1 the end is as said, with a load there.

    ``mass`` and ``inertia`` are those of a load at a free end, in terms of the beam's own (ρAL, ρAL³).
    """
    at = _END_CONDITIONS[one_of(end, _ENDS, "end of a beam")](mass, inertia)
    roots: list[float] = []
    # One root lies in every interval of length π of b, as the sine and cosine decide the sign of the condition there.
    grid = np.linspace(1e-3, np.pi * (count + 3), 400 * (count + 3))
    values = [_condition(b, at) for b in grid]
    for lower, upper, f, g in zip(grid[:-1], grid[1:], values[:-1], values[1:]):
        if f * g < 0 and len(roots) < count:
            roots.append(_bisected(lambda b: _condition(b, at), lower, upper))
    return [Bending.at_root(b, *_sigma(b, at)) for b in roots]


# What an end asks for, as two conditions each linear in (φ, φ', φ'', φ''') with derivatives by βx: of rows (4,) at b.
_End = Callable[[float], tuple[np.ndarray, np.ndarray]]


def _loaded(mass: float, inertia: float) -> _End:
    """φ'' = b³γ φ' and φ''' = −bμ φ of a load of mass μ and inertia γ (none: a free end)."""
    return lambda b: (np.array([0, -(b**3) * inertia, 1, 0]), np.array([b * mass, 0, 0, 1]))


def _held(first: int, second: int) -> Callable[[float, float], _End]:
    rows = np.eye(4)[first], np.eye(4)[second]

    def end(mass: float, inertia: float) -> _End:
        if mass or inertia:
            raise ModelError('a tip mass or inertia hangs on an end that is "free"')
        return lambda b: rows

    return end


_END_CONDITIONS: dict[str, Callable[[float, float], _End]] = {
    "free": _loaded,
    "pinned": _held(0, 2),
    "clamped": _held(0, 1),
    "guided": _held(1, 3),
}


def _ends_of(b: float) -> tuple[np.ndarray, np.ndarray]:
    """(φ, φ', φ'', φ''') at the end, times e⁻ᵇ, of u = cosh − cos and of w = sinh − sin − u, which does not grow.

    φ = u − σ(sinh − sin) = (1−σ)u − σw.
    """
    e = np.exp(-b)
    cosh, sinh, c, s = 0.5 * (1 + e * e), 0.5 * (1 - e * e), e * np.cos(b), e * np.sin(b)
    u = np.array([cosh - c, sinh + s, cosh + c, sinh - s])
    w = np.array([-e * e - s + c, e * e - c - s, -e * e + s - c, e * e + c + s])
    return u, w


def _condition(b: float, end: _End) -> float:
    """det of the end's two conditions on u and w."""
    (u, w), (first, second) = _ends_of(b), end(b)
    return float((first @ u) * (second @ w) - (second @ u) * (first @ w)) * float(np.exp(b))


def _sigma(b: float, end: _End) -> tuple[float, float]:
    """((1 − σ)eᵇ, σ): of (1−σ)u = σw at the end, by that of its conditions that is better determined."""
    (u, w), rows = _ends_of(b), end(b)
    row = max(rows, key=lambda x: abs(float(x @ u)) / float(np.abs(x).max()))
    ratio = float(row @ w) / float(row @ u)  # (1 − σ)/σ
    sigma = 1.0 / (1.0 + ratio)
    return ratio * sigma * float(np.exp(b)), sigma


def _bisected(f: Callable[[float], float], lower: float, upper: float) -> float:
    """The root between, to the last digit."""
    at_lower = f(lower)
    while True:
        middle = 0.5 * (lower + upper)
        if middle in (lower, upper):
            return middle
        value = f(middle)
        if value == 0.0:
            return middle
        lower, upper, at_lower = (middle, upper, value) if value * at_lower > 0 else (lower, middle, at_lower)


# --- a beam as a flexible body -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Mode:
    """Functions of x/L: displacement (3,), turn (3,); stiffness, mass of ∫φ², and dφ/dx by plane for shortening."""

    move: Callable[[np.ndarray], np.ndarray]
    turn: Callable[[np.ndarray], np.ndarray]
    stiffness: float
    frequency: float
    slopes: tuple[int, Callable[[np.ndarray], np.ndarray]] | None = None


def make_beam(
    *,
    length: Any,
    mass: Any,
    stiffness: Any,
    modes: Any,
    damping: Any,
    nodes: Mapping[str, Any] | None,
    end: str,
    tip: tuple[Any, Any],
    axial: tuple[Any, Any],
    torsion: tuple[Any, Any],
    gyration: Any,
    stiffening: Any,
) -> Flexible:
    """:meth:`.Flexible.beam`."""
    L, m = _size(length, "the length of a beam"), _size(mass, "the mass of a beam")
    radius = number(gyration, "gyration", least=0.0)
    radius = _size(radius, "gyration") if radius else 0.0
    zeta = number(damping, "the damping ratio", least=0.0)
    load = number(tip[0], "tip_mass", least=0.0) / m, number(tip[1], "tip_inertia", least=0.0) / (m * L * L)
    found = [
        *_bent(L, m, stiffness, modes, end, load),
        *_stretched(L, m, *_pair(axial, "axial")),
        *_twisted(L, m, radius, *_pair(torsion, "torsion")),
    ]
    if not found:
        raise ModelError("a beam needs a mode or more; a rigid one is an lw.Inertia.cylinder")
    bends = flag(stiffening, "stiffening")
    x, w = _gauss(0.0, 1.0, 48 + 6 * len(found))
    offsets = radius * np.array([(0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]) if radius else np.zeros((1, 3))
    masses, places, shapes = [], [], []
    for offset in offsets:
        section = _section(found, L, x, bends)
        masses.append(m * w / len(offsets))
        places.append(section.at + offset)
        shapes.append(section.shape + np.cross(np.swapaxes(section.turn, 1, 2), offset).swapaxes(1, 2))
    bend = None if section.bend is None else np.concatenate([section.bend] * len(offsets))
    further = mapping({} if nodes is None else nodes, "nodes of a beam")
    where = {"tip": L} | {k: _on_beam(k, v, L) for k, v in further.items()}
    at = _section(found, L, np.array([*where.values()]) / L, bends)
    return Flexible(
        np.concatenate(masses),
        np.concatenate(places),
        np.concatenate(shapes),
        np.array([f.stiffness for f in found]),
        damping=np.array([2.0 * zeta * f.stiffness / f.frequency if f.frequency else 0.0 for f in found]),
        nodes=dict(zip(where, at.nodes())),
        bends=bend,
    )


def _size(x: Any, what: str) -> float:
    """A positive number that leaves room for its powers."""
    found = number(x, what, above=0.0)
    if not 1e-30 < found < 1e30:
        raise ModelError(f"{what} can hardly be meant, got {found:g}; use SI units")
    return found


def _on_beam(name: str, x: Any, L: float) -> float:
    at = number(x, f"the place of node {name!r} [m]", least=0.0)
    if at > L * (1 + 1e-12):
        raise ModelError(f"node {name!r} at x = {at:g} m is not on the beam, which is {L:g} m long")
    return min(at, L)


def _pair(given: tuple[Any, Any], what: str) -> tuple[float, int]:
    stiffness, count = given
    modes = whole(count, f"{what}_modes", most=MOST_MODES)
    if modes and stiffness is None:
        raise ModelError(f"{what}_modes={modes} need {what}_stiffness=")
    return (_size(stiffness, f"{what}_stiffness") if modes else 0.0), modes


def _bent(L: float, m: float, stiffness: Any, modes: Any, end: str, load: tuple[float, float]) -> list[_Mode]:
    """The bending modes of both planes, lowest first."""
    given = as_array(stiffness, "the stiffness EI of a beam must be a number, or two")
    if given.shape not in ((), (2,)) or not ((given > 1e-30) & (given < 1e30)).all():
        raise ModelError(f"the stiffness EI of a beam must be positive, one number or two, got {given.tolist()}")
    EI = np.broadcast_to(given, (2,))
    pair = isinstance(modes, (tuple, list))
    if pair and len(modes) != 2:
        raise ModelError(f"modes of a beam are one number, or two: along y and along z; got {modes!r}")
    counts = [whole(k, "the modes of a beam", most=MOST_MODES) for k in (modes if pair else (modes, modes))]
    shapes = bending_modes(max(counts), end, *load) if max(counts) else []
    found = []
    for plane, count in ((2, counts[1]), (1, counts[0])):  # along z first where both are alike
        for shape in shapes[:count]:
            found.append(_bending(L, m, float(EI[plane - 1]), plane, shape, load))
    if pair:
        return sorted(found, key=lambda f: (0 if f.slopes is None else f.slopes[0], f.frequency))
    return sorted(found, key=lambda f: f.frequency)[: counts[0]]


def _bending(L: float, m: float, EI: float, plane: int, shape: Bending, load: tuple[float, float]) -> _Mode:
    """A mode along y (1) or z (2): w' turns sections about z or −y."""
    x, w = _gauss(0.0, 1.0, 60 + int(2 * shape.b))
    stiffness = EI / L**3 * float(w @ shape.curvature(x) ** 2)
    axis, sign = (2, 1.0) if plane == 1 else (1, -1.0)

    def move(x: np.ndarray) -> np.ndarray:
        return np.outer(shape(x), np.eye(3)[plane])

    def turn(x: np.ndarray) -> np.ndarray:
        return np.outer(sign / L * shape.slope(x), np.eye(3)[axis])

    return _Mode(move, turn, stiffness, (shape.b / L) ** 2 * float(np.sqrt(EI * L / m)), (plane, shape.slope))


def _stretched(L: float, m: float, EA: float, count: int) -> list[_Mode]:
    """√2 sin((i − ½)πx/L) along x."""
    return [_standing(L, k, EA / L, EA / (m * L), 0, moves=True) for k in range(count)]


def _twisted(L: float, m: float, radius: float, GJ: float, count: int) -> list[_Mode]:
    """The same about x, of sections with this radius of gyration about it."""
    if count and not radius:
        raise ModelError("a beam that twists needs sections with inertia: give gyration=, their radius of gyration [m]")
    return [_standing(L, k, GJ / L, GJ / (L * m * radius**2), 0, moves=False) for k in range(count)]


def _standing(L: float, k: int, stiffness: float, ratio: float, axis: int, moves: bool) -> _Mode:
    b = (k + 0.5) * np.pi

    def along(x: np.ndarray) -> np.ndarray:
        return np.outer(np.sqrt(2.0) * np.sin(b * x), np.eye(3)[axis])

    def none(x: np.ndarray) -> np.ndarray:
        return np.zeros((len(x), 3))

    return _Mode(along if moves else none, none if moves else along, stiffness * b * b, b * float(np.sqrt(ratio)))


@dataclass(frozen=True, eq=False)
class _Section:
    """Places (N, 3) along the beam with their shapes (N, 3, n), turns (N, 3, n), and Q (N, 3, n, n) or None."""

    at: np.ndarray
    shape: np.ndarray
    turn: np.ndarray
    bend: np.ndarray | None

    def nodes(self) -> list[Node]:
        bends = [None] * len(self.at) if self.bend is None else self.bend
        return [Node(a, s, t, bend=q) for a, s, t, q in zip(self.at, self.shape, self.turn, bends)]


def _section(modes: list[_Mode], L: float, x: np.ndarray, bends: bool) -> _Section:
    at = np.outer(L * x, [1.0, 0.0, 0.0])
    shape = np.stack([f.move(x) for f in modes], axis=-1)
    turn = np.stack([f.turn(x) for f in modes], axis=-1)
    return _Section(at, shape, turn, _shortening(modes, L, x) if bends else None)


def _shortening(modes: list[_Mode], L: float, x: np.ndarray) -> np.ndarray:
    """Q = −e_x ∫₀ˣ φ'φ'* dx, of modes of one plane (math notes 5.4)."""
    n = len(modes)
    out = np.zeros((len(x), 3, n, n))
    s, w = _gauss(0.0, 1.0, 60 + 4 * n)
    inside = np.multiply.outer(x, s)  # (N, points)
    bending = {i: f.slopes for i, f in enumerate(modes) if f.slopes is not None}
    slopes = {i: slope(inside.ravel()).reshape(inside.shape) for i, (_, slope) in bending.items()}
    for i, a in slopes.items():
        for j, b in slopes.items():
            if bending[i][0] == bending[j][0]:
                out[:, 0, i, j] = -x / L * ((a * b) @ w)
    return out


def _gauss(lower: float, upper: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of Gauss and Legendre's rule."""
    x, w = np.polynomial.legendre.leggauss(count)
    half = 0.5 * (upper - lower)
    return lower + half * (x + 1.0), half * w
