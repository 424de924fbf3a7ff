"""The backward sweep of iLQR and DDP as operations on matrices, which machine code goes through step after step.

The cost to go is ½δx*Pδx + p*δx. With a column for the number 1 beside those of δx, V = [P p] has both, and what holds
for P gives p with it. One step, δx' = [A B](δx, δu):

    Q = [A B]*P[A B] + second derivatives of the cost,    δu = −Quu⁻¹(Qux δx + Qu),    V ← Qxx + K*(QuuK + Qux) + Qux*K

Semi-implicit steps have δq' = Yδq + hZδv' (Y and Z are 1 but for joints with quaternions), so that δv' = W(δx, δu)
alone, half of [A B], takes part in products. Regularisation μ adds μB*B and μB*A, for semi-implicit steps those of δv'.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..codegen.runtime.matrix_tape import Tape, padded
from ..properties import cached_property
from .box import minimise_in_box
from .costs import Expansion
from .steps import StepChanges, Steps

SHARE = 1e-6  # of μ, that is added to the diagonal of Quu


@dataclass(eq=False)
class Policy:
    """What a backward sweep found: δu = αk + Kδx, and the decrease α·slope + α²·bend/2 that it promises.

    ``gradient`` is the largest |∂cost/∂u| that limits leave free.
    """

    k: np.ndarray
    K: np.ndarray
    slope: float
    bend: float
    gradient: float


class BackwardSweep:
    """The arrays of a sweep over N steps, and the operations on them."""

    def __init__(
        self, steps: Steps, count: int, bounds: tuple[np.ndarray, np.ndarray], second_order: bool, compiled: bool
    ) -> None:
        self.steps, self.count, self.bounds, self.second_order = steps, count, bounds, second_order
        self._free = not second_order and not np.isfinite(bounds).any()
        self._compiled = compiled
        self._mu, self._after = np.nan, (Tape(), Tape())
        n, m = steps.robot.nv, steps.inputs
        self._n, self._m = n, m
        # Columns: δq | δv, 1 | δu, each in whole vectors.
        self._nq, self._nx = padded(n), padded(n) + padded(n + 1)
        self._width = self._nx + padded(m)
        self._one = self._nq + n
        self._of_q, self._of_v, self._of_u = slice(0, n), slice(self._nq, self._one), slice(self._nx, self._nx + m)
        self._rows = n if steps.is_semi_implicit else 2 * n  # of [A B] that take part in products
        empty = np.zeros
        self._F = empty((count, self._rows + 1, self._width))  # W, or [A B], and a row for the 1
        self._F[:, -1, self._one] = 1.0
        self._turns = [empty((count, 2, len(range(*t.indices(n))), self._nq)) for t in steps.turning]  # Z − 1, Y − 1
        self._Hx, self._Hu = empty((count, 2 * n, self._nx)), empty((count, m, self._width))  # of the cost
        self._linear = empty((count, 1, self._width))
        self._V, self._Qx = empty((2 * n, self._nx)), empty((2 * n, self._nx))
        self._T = empty((self._rows, self._width))
        self._Qu, self._G = empty((count, m, self._width)), empty((m, self._width))
        self._K, self._Y = empty((count, m, self._nx)), empty((m, self._nx))
        self._adjoint, self._g = empty((1, self._nx)), empty((1, self._width))
        self._gradient = empty((count, 1, padded(m)))
        self._unit = np.eye(m, padded(m))
        self._kept = (empty((2 * n, self._nq)), empty((n, self._nx)), empty((1, self._nq)))

    # --- along a trajectory ----------------------------------------------------------------------------

    def read(self, changes: StepChanges, cost: Expansion) -> None:
        """Take over the derivatives of the steps and of the cost along a trajectory."""
        n = self._n
        parts = ((self._of_q, slice(0, n)), (self._of_v, slice(n, 2 * n)))
        for here, there in (*parts, (self._of_u, slice(2 * n, None))):
            self._F[:, :-1, here] = changes.W[..., there]
        for into, of, (Y, Z) in zip(self._turns, self.steps.turning, changes.turns):
            into[:, 0, :, of], into[:, 1, :, of] = (X - np.eye(X.shape[-1]) for X in (Z, Y))
        for here, there in parts:
            self._Hx[:, :, here] = cost.xx[:-1, :, there]
            self._Hu[:, :, here] = cost.ux[..., there]
            self._linear[:, 0, here] = cost.x[:-1, there]
        self._Hu[..., self._of_u] = cost.uu
        self._Hx[..., self._one], self._Hu[..., self._one] = cost.x[:-1], cost.u
        self._linear[:, 0, self._of_u] = cost.u
        self._end = cost.x[-1], cost.xx[-1]

    def run(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, mu: float, exact: bool = False) -> Policy | None:
        """The policy, or None where some Quu is not positive definite; ``exact`` with the curvature of the steps."""
        self._start()
        if self._free:
            expand, gain, value = self._tapes(mu)
            if not (expand + gain + value).run(self.count - 1, self.count, -1):
                return None
        elif not self._by_steps(q, v, u, mu, exact):
            return None
        self._gradients.run(self.count - 1, self.count, -1)
        k, K = self._K[..., self._one], np.concatenate([self._K[..., self._of_q], self._K[..., self._of_v]], axis=-1)
        slope = float((k * self._Qu[..., self._one]).sum())
        bend = float((k * (self._Qu[..., self._of_u] @ k[..., None])[..., 0]).sum())
        gradient = _free_part(self._gradient[:, 0, : self._m], u, *self.bounds)
        return Policy(k.copy(), K, slope, bend, float(np.abs(gradient).max()))

    def _start(self) -> None:
        """V and the adjoint at the end."""
        slope, bend = self._end
        n = self._n
        for here, there in ((self._of_q, slice(0, n)), (self._of_v, slice(n, 2 * n))):
            self._V[:, here] = bend[:, there]
            self._adjoint[0, here] = slope[there]
        self._V[:, self._one] = slope

    def _by_steps(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, mu: float, exact: bool) -> bool:
        """The sweep with limits, or with the curvature of steps, which come in between."""
        expand, gain, value = self._tapes(mu)
        for i in range(self.count - 1, -1, -1):
            p = self._V[:, self._one].copy()
            expand.run(i)
            if exact:
                self._bend(i, self.steps.curvature(q[i], v[i], u[i], p))
            if not gain.run(i) or not self._within(i, u[i], mu):
                return False
            value.run(i)
        return True

    def _bend(self, i: int, bent: np.ndarray) -> None:
        n = self._n
        for here, there in ((self._of_q, slice(0, n)), (self._of_v, slice(n, 2 * n))):
            self._Qx[:, here] += bent[: 2 * n, there]
            self._Qu[i, :, here] += bent[2 * n :, there]
        self._Qu[i, :, self._of_u] += bent[2 * n :, 2 * n :]

    def _within(self, i: int, u: np.ndarray, mu: float) -> bool:
        """Bring the gains of a step within the limits; whether that could be done."""
        lower, upper = (bound - u for bound in self.bounds)
        k = self._K[i, :, self._one]
        if ((k > lower) & (k < upper)).all():
            return True
        stiff = self._stiff(i, mu)
        try:
            best = minimise_in_box(stiff[:, self._of_u], self._Qu[i, :, self._one], lower, upper)
            if best is None:
                return False
            gains = np.zeros_like(self._K[i])
            if best.free.any():
                own = stiff[best.free]
                gains[best.free] = -np.linalg.solve(own[:, self._of_u][:, best.free], own[:, : self._nx])
        except np.linalg.LinAlgError:  # singular to rounding, although it has a Cholesky factor
            return False
        gains[:, self._one] = best.x
        self._K[i] = gains
        return True

    def _stiff(self, i: int, mu: float) -> np.ndarray:
        """The rows of u with their regularisation."""
        Fu = self._F[i, :-1, self._of_u]
        stiff: np.ndarray = self._Qu[i] + mu * (Fu.T @ self._F[i, :-1])
        stiff[:, self._of_u] += mu * SHARE * np.eye(self._m)
        return stiff

    # --- one step ----------------------------------------------------------------------------------------

    def _tapes(self, mu: float) -> tuple[Tape, Tape, Tape]:
        """The step in three parts; those of the last μ are kept."""
        if mu != self._mu:
            gain, value = Tape(self._compiled), Tape(self._compiled)
            self._gain(gain, mu)
            self._value(value, least=self._free and mu == 0.0)
            self._mu, self._after = mu, (gain, value)
        return (self._expanding, *self._after)

    @cached_property
    def _expanding(self) -> Tape:
        tape = Tape(self._compiled)
        self._expand(tape)
        return tape

    @cached_property
    def _gradients(self) -> Tape:
        tape = Tape(self._compiled)
        self._slopes(tape)
        return tape

    def _expand(self, tape: Tape) -> None:
        """Q of the step: its rows Qx without the columns of u, and Qu."""
        n, nx, F = self._n, self._nx, self._F
        x_rows = self._Qx[:n], self._Qx[n:]
        if self.steps.is_semi_implicit:
            self._before_moving(tape)
            of_q, of_v = self._V[:n], self._V[n:]
            ahead = slice(self._nq, self._one + 1)
            tape.multiply(self._T, of_v[:, ahead], F)
            tape.add(self._T[:, : self._nq], of_v[:, : self._nq])
            tape.multiply(x_rows[0], of_q[:, ahead], F[..., :nx])
            tape.add(x_rows[0][:, : self._nq], of_q[:, : self._nq])
        else:
            tape.multiply(self._T, self._V[:, self._of_q], F[:, :n])
            tape.multiply(self._T, self._V[:, self._nq : self._one + 1], F[:, n:], add=True)
        T, moved = self._T, _transposed(F[:, :-1])
        tape.multiply(x_rows[0], moved[:, self._of_q], T[:, :nx], add=self.steps.is_semi_implicit)
        tape.multiply(x_rows[1], moved[:, self._of_v], T[:, :nx])
        tape.multiply(self._Qu, moved[:, self._of_u], T)
        tape.add(self._Qx, self._Hx)
        tape.add(self._Qu, self._Hu)

    def _before_moving(self, tape: Tape) -> None:
        """V in (δq, δv') instead of (δq', δv'): δq' = Yδq + hZδv'."""
        n, h, V = self._n, self.steps.step, self._V
        columns, rows, _ = self._kept
        if self._turns:
            tape.copy(columns, V[:, : self._nq])
        tape.add(V[:, self._nq : 2 * self._nq], V[:, : self._nq], h)
        for turn, of in zip(self._turns, self.steps.turning):
            tape.multiply(V[:, self._nq : 2 * self._nq], columns[:, of], turn[:, 0], h, add=True)
            tape.multiply(V[:, : self._nq], columns[:, of], turn[:, 1], add=True)
        if self._turns:
            tape.copy(rows, V[:n])
        tape.add(V[n:], V[:n], h)
        for turn, of in zip(self._turns, self.steps.turning):
            tape.multiply(V[n:], _transposed(turn[:, 0, :, :n]), rows[of], h, add=True)
            tape.multiply(V[:n], _transposed(turn[:, 1, :, :n]), rows[of], add=True)

    def _gain(self, tape: Tape, mu: float) -> None:
        """[K k] = −Quu⁻¹[Qux Qu]."""
        tape.copy(self._G, self._Qu)
        if mu:
            moved = self._F[:, :-1]
            tape.multiply(self._G, _transposed(moved[..., self._of_u]), moved, mu, add=True)
            tape.add(self._G[:, self._nx :], self._unit, mu * SHARE)
        tape.eliminate(self._G, self._G[:, self._of_u])
        tape.copy(self._K, self._G[:, : self._nx], -1.0)

    def _value(self, tape: Tape, least: bool) -> None:
        """V of the step's start; ``least`` says that QuuK + Qux vanishes."""
        n, nx = self._n, self._nx
        tape.copy(self._V, self._Qx)
        if not least:
            tape.copy(self._Y, self._Qu[..., :nx])
            tape.multiply(self._Y, self._Qu[..., self._of_u], self._K, add=True)
        for rows, of in ((self._V[:n], self._of_q), (self._V[n:], self._of_v)):
            tape.multiply(rows, _transposed(self._Qu[..., of]), self._K, add=True)
            if not least:
                tape.multiply(rows, _transposed(self._K[..., of]), self._Y, add=True)
        top, bottom = self._V[:n], self._V[n:]
        tape.symmetrise(top[:, self._of_q], top[:, self._of_q])
        tape.symmetrise(bottom[:, self._of_v], bottom[:, self._of_v])
        tape.symmetrise(top[:, self._of_v], bottom[:, self._of_q])

    def _slopes(self, tape: Tape) -> None:
        """∂cost/∂u of the trajectory itself, by its adjoint."""
        n, nq, x, g, F = self._n, self._nq, self._adjoint, self._g, self._F[:, :-1]
        if self.steps.is_semi_implicit:
            kept = self._kept[2]
            tape.copy(kept, x[:, :nq])
            tape.add(x[:, nq : 2 * nq], x[:, :nq], self.steps.step)
            for turn, of in zip(self._turns, self.steps.turning):
                tape.multiply(x[:, nq : 2 * nq], kept[:, of], turn[:, 0], self.steps.step, add=True)
                tape.multiply(x[:, :nq], kept[:, of], turn[:, 1], add=True)
            tape.multiply(g, x[:, self._of_v], F)
            tape.add(g[:, :nq], x[:, :nq])
        else:
            tape.multiply(g, x[:, self._of_q], F[:, :n])
            tape.multiply(g, x[:, self._of_v], F[:, n:], add=True)
        tape.add(g, self._linear)
        tape.copy(self._gradient, g[:, self._nx :])
        tape.copy(x, g[:, : self._nx])


def _transposed(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x, -1, -2)


def _free_part(gradient: np.ndarray, u: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The gradient without what pushes against a limit."""
    held = ((u <= lower) & (gradient > 0)) | ((u >= upper) & (gradient < 0))
    return np.where(held, 0.0, gradient)
