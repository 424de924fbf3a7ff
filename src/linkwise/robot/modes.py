"""Vibrations about a rest: frequencies and shapes of 𝓜δq̈ + dδq̇ + Kδq = 0, in the coordinates that loops leave free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from ..arguments import flag, number, one_of, whole
from ..array_kinds import refuse_all_but_numpy
from ..errors import InputError, SingularError
from .dispatch import TARGETS
from .stiffness import Held, asked, basis, held, refuse_infinite

_NOTHING = 1e-10  # of what pulls a shape to and fro, below which nothing of it is left
_ROUNDING = 64 * 2.3e-16  # for each mode, of the largest ω²: what the lowest is known to
_OF_EXPONENTS = 2e-7  # of the largest exponent: zeros come in pairs, which are known to the root of a rounding
_LOW = 1e-4  # of the largest ω², below which modes are worked out anew, by K⁻¹𝓜
_ASYMMETRIC = 1e-8  # of the largest entry of K, by which loads may keep it from being symmetric


@dataclass(frozen=True, eq=False)
class Modes:
    """What :meth:`Robot.modes` found, slowest first: m modes, or 2m exponents with ``damped``.

    ``exponents`` s (..., m) [1/s]: motions are Re(shape e^{st}); i ω of a vibration, real and positive where the rest
    is unstable, 0 where nothing pulls back. ``shapes`` (..., nv, m) are the velocities of all joints, with
    shape*𝓜 shape = 1. ``held`` (..., nv) [N m, N] are joint forces beside τ that q needs to be at rest; they are taken
    as constant.
    """

    robot: Any
    q: np.ndarray
    exponents: np.ndarray
    shapes: np.ndarray
    held: np.ndarray

    @property
    def frequencies(self) -> np.ndarray:
        """|Im s|, (..., m) [rad/s]."""
        found: np.ndarray = np.abs(self.exponents.imag)
        return found

    @property
    def growth(self) -> np.ndarray:
        """Re s where it is positive, (..., m) [1/s]: how fast an unstable mode grows."""
        found: np.ndarray = np.maximum(self.exponents.real, 0.0)
        return found

    @property
    def decay(self) -> np.ndarray:
        """−Re s where it is negative, (..., m) [1/s]: how fast a damped mode dies away."""
        found: np.ndarray = np.maximum(-self.exponents.real, 0.0)
        return found

    @property
    def unstable(self) -> np.ndarray:
        """Which modes grow, (..., m)."""
        found: np.ndarray = self.exponents.real > 0
        return found

    @property
    def rigid(self) -> np.ndarray:
        """Which modes nothing pulls back, (..., m): motions of a free-flyer, joints without springs or weight."""
        found: np.ndarray = self.exponents == 0
        return found

    def swing(self, mode: int, *, amplitude: float = 0.3, samples: int = 40) -> tuple[np.ndarray, np.ndarray]:
        """(time (samples,) [s], q (samples, nq)) of one period of a mode, for pictures: ``lw.view.Motion(robot, …)``.

        No joint moves by more than ``amplitude`` [rad, m]. A mode without a frequency takes a second.
        """
        self._refuse_batch("a picture")
        number(amplitude, "amplitude", above=0.0)
        i = whole(mode, "mode", least=0, most=len(self.exponents) - 1)
        shape = self.shapes[:, i]
        shape = shape / max(float(np.abs(shape).max()), 1e-300)
        omega = float(self.frequencies[i]) or 2 * np.pi
        time = np.arange(whole(samples, "samples", least=2)) * (2 * np.pi / omega / samples)
        away = amplitude * (shape * np.exp(1j * (omega * time - np.pi / 2))[:, None]).real
        q = np.asarray(self.robot.integrate(self.q, away))
        return time, np.asarray(self.robot.closed_configuration(q)) if self.robot.loops else q

    def _refuse_batch(self, what: str) -> None:
        if self.exponents.ndim != 1:
            raise InputError(
                f"{what} is of one configuration's modes, these are of a batch {self.exponents.shape[:-1]}"
            )

    def __str__(self) -> str:
        if self.exponents.ndim != 1:
            return f"<Modes: {self.exponents.shape[-1]} each of {self.exponents.shape[:-1]} configurations>"
        names = [j.name for j, _, where in self.robot.coordinates for _ in range(where.stop - where.start)]
        rows = [f"{'mode':>4}  {'ω [rad/s]':>10}  {'f [Hz]':>10}  what it does"]
        for i, s in enumerate(self.exponents):
            most = names[int(np.abs(self.shapes[:, i]).argmax())] if names else ""
            rows.append(f"{i:>4}  {abs(s.imag):>10.5g}  {abs(s.imag) / (2 * np.pi):>10.5g}  {_word(s)}mostly {most}")
        if np.abs(self.held).max(initial=0.0) > 1e-6 * max(1.0, float(np.abs(self.exponents).max(initial=0.0))):
            rows.append(
                f"      not at rest by itself: constant joint forces hold it, up to {np.abs(self.held).max():.3g}"
            )
        return "\n".join(rows)


def _word(s: complex) -> str:
    if s == 0:
        return "rigid, "
    if s.real > 0:
        return f"unstable, grows by {s.real:.4g}/s, "
    return f"dies away by {-s.real:.4g}/s, " if s.real < 0 else ""


def modes(
    robot: Any, q: Any, tau: Any = None, *, external: Any = None, damped: bool = False, target: str | None = None
) -> Modes:
    """See :meth:`.statics.Statics.modes`."""
    refuse_all_but_numpy(q=q, tau=tau, external=external)
    flag(damped, "damped")
    if target is not None:
        one_of(target, TARGETS, "target", error=InputError)
    q, loads, batch = asked(robot, q, tau, external)
    if robot.loops:
        q = np.asarray(robot.closed_configuration(q))
    x = held(robot, q, loads, target)
    refuse_infinite(robot, x)
    found = [_damped(x, i) if damped else _undamped(x, i) for i in range(len(q))]
    counts = sorted({len(s) for s, _ in found})
    if len(counts) > 1:
        raise InputError(f"these configurations have different numbers of modes, {counts}; ask for them one by one")
    m = counts[0] if counts else 0
    exponents = np.array([s for s, _ in found], dtype=complex).reshape((*batch, m))
    shapes = np.array([y for _, y in found]).reshape((*batch, robot.nv, m))
    return Modes(robot, q.reshape((*batch, robot.nq)), exponents, shapes, x.left.reshape((*batch, robot.nv)))


def _parts(x: Held, i: int) -> tuple[np.ndarray, ...]:
    X = basis(x, i)
    M, K, d = (X.T @ y[i] @ X for y in (x.mass, x.stiffness, x.damping))
    return X, 0.5 * (M + M.T), K, d


def _symmetric(K: np.ndarray) -> bool:
    return bool(np.abs(K - K.T).max(initial=0.0) <= _ASYMMETRIC * np.abs(K).max(initial=0.0))


def eigenvalues(x: Held, i: int) -> tuple[np.ndarray, bool]:
    """ω² of one configuration, and whether it is stable: all real and positive, by more than roundings."""
    _, M, K, _ = _parts(x, i)
    if not len(M):
        return np.zeros(0), True
    if _is_singular(M):  # nothing moves slower than at once: what is pulled back stays
        values = np.linalg.eigvalsh(0.5 * (K + K.T))
        return np.array([np.nan]), bool(values[0] > _NOTHING * np.abs(values).max())
    squares, Y = _squares(M, K)
    least = _least(M, K, squares, Y)
    firm = (squares.real > least) & (np.abs(squares.imag) <= least)
    return squares, bool(firm.all())


def _is_singular(M: np.ndarray) -> bool:
    """Whether some direction weighs nothing, to roundings, in coordinates that all weigh alike."""
    root = np.sqrt(np.maximum(np.diagonal(M), 1e-300))
    return bool(np.linalg.eigvalsh(M / np.outer(root, root))[0] <= _ROUNDING * len(M))


def _refuse_weightless(M: np.ndarray) -> None:
    if _is_singular(M):
        raise SingularError(
            "the mass matrix is singular here: some motion weighs nothing, and so has no frequency. Give inertia to the"
            " bodies that it moves, a rotor to its joint, or lock it"
        )


def _least(M: np.ndarray, K: np.ndarray, squares: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The ω² of every shape y below which there is none: a share of |y|*|K||y|/y*𝓜y, or roundings of the largest."""
    weight = np.einsum("ji,jk,ki->i", Y.conj(), M, Y).real
    pulled = np.einsum("ji,jk,ki->i", np.abs(Y), np.abs(K), np.abs(Y))
    rounding = _ROUNDING * len(squares) * float(np.abs(squares).max(initial=0.0))
    found: np.ndarray = np.maximum(_NOTHING * pulled / np.maximum(weight, 1e-300), rounding)
    return found


def _refined(M: np.ndarray, K: np.ndarray, squares: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lowest modes, whose digits much higher ones drown: as the largest of K⁻¹𝓜, where K is definite."""
    low = np.abs(squares) < _LOW * np.abs(squares).max(initial=0.0)
    if not low.any():
        return squares, Y
    root = np.sqrt(np.maximum(np.diagonal(K), 1e-300))
    try:
        factor = scipy.linalg.cho_factor(K / np.outer(root, root))
        Z = scipy.linalg.cho_solve(factor, (M @ Y[:, low]) / root[:, None]) / root[:, None]
        Z = Z / np.linalg.norm(Z, axis=0)
        found, C = scipy.linalg.eigh(Z.T @ K @ Z, Z.T @ M @ Z)
    except np.linalg.LinAlgError:
        return squares, Y
    squares, Y = squares.copy(), Y.copy()
    squares[low], Y[:, low] = found, Z @ C
    return squares, Y


def _squares(M: np.ndarray, K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """ω² and shapes, lowest first; complex where loads that turn with bodies keep K from being symmetric."""
    if _symmetric(K):
        squares, Y = _refined(M, 0.5 * (K + K.T), *scipy.linalg.eigh(0.5 * (K + K.T), M))
        return squares.astype(complex), Y
    squares, Y = scipy.linalg.eig(K, M)
    order = np.argsort(np.abs(squares))
    Y = Y / np.sqrt(np.einsum("ji,jk,ki->i", Y.conj(), M, Y).real)
    return squares[order], Y[:, order]


def _undamped(x: Held, i: int) -> tuple[np.ndarray, np.ndarray]:
    """(s, shapes): s = √(−ω²) with a part that is not negative, real or imaginary."""
    X, M, K, _ = _parts(x, i)
    if not len(M):
        return np.zeros(0, complex), np.zeros((X.shape[0], 0))
    _refuse_weightless(M)
    squares, Y = _squares(M, K)
    s = np.sqrt(-squares)
    s[np.abs(squares) <= _least(M, K, squares, Y)] = 0.0
    s = np.where(squares.imag == 0, np.where(squares.real > 0, 1j * np.abs(s), np.abs(s)), s)
    return s, X @ Y


def _damped(x: Held, i: int) -> tuple[np.ndarray, np.ndarray]:
    """(s, shapes) of s²𝓜 + sd + K, all 2m of them, by the size of s."""
    X, M, K, d = _parts(x, i)
    m = len(M)
    if not m:
        return np.zeros(0, complex), np.zeros((X.shape[0], 0), complex)
    _refuse_weightless(M)
    solve = scipy.linalg.cho_factor(M)
    A = np.block(
        [[np.zeros((m, m)), np.eye(m)], [-scipy.linalg.cho_solve(solve, K), -scipy.linalg.cho_solve(solve, d)]]
    )
    s, Z = np.linalg.eig(A)
    order = np.lexsort((s.imag, s.real, np.abs(s).round(12)))
    s, Y = s[order], Z[:m, order]
    s[np.abs(s) <= _OF_EXPONENTS * np.abs(s).max(initial=0.0)] = 0.0
    Y = Y / np.sqrt(np.maximum(np.einsum("ji,jk,ki->i", Y.conj(), M, Y).real, 1e-300))
    return s, X @ Y
