"""State-space models: continuous or discrete A and B, and the way to python-control."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ... import arrays
from ...arrays import Array, SameKind
from ...errors import InputError, MissingExtraError


class StateSpace(NamedTuple):
    """ẋ = Ax + Bu, or x(t + step) = Ax + Bu; A (..., n, n), B (..., n, m)."""

    A: SameKind
    B: SameKind
    step: float | None = None

    def to_control(self, C: Any = None, D: Any = None) -> Any:
        """A ``control.StateSpace`` whose output is the whole state unless C and D are given."""
        try:
            import control
        except ImportError:
            raise MissingExtraError("a control.StateSpace needs python-control: pip install control") from None
        if self.A.ndim != 2:
            raise InputError(f"a control.StateSpace is one system; this one has batch shape {self.A.shape[:-2]}")
        C = np.eye(self.A.shape[0]) if C is None else np.asarray(C)
        n, m = self.B.shape
        if C.ndim != 2 or C.shape[1] != n:
            raise InputError(f"C must have shape (outputs, {n}) for {n} states, got {C.shape}")
        D = np.zeros((C.shape[0], m)) if D is None else np.asarray(D)
        if D.shape != (C.shape[0], m):
            raise InputError(
                f"D must have shape {(C.shape[0], m)} for {C.shape[0]} outputs and {m} inputs, got {D.shape}"
            )
        return control.StateSpace(self.A, self.B, C, D, 0 if self.step is None else self.step)


def zero_order_hold(A: Array, B: Array, step: float) -> tuple[Array, Array]:
    """exp([[A, B], [0, 0]] step): its upper blocks are A and B of the sampled system with u held between samples."""
    if arrays.is_extended(A):
        raise InputError("sampled models need linear solves, for double and single precision alone: cast q")
    n, m = A.shape[-1], B.shape[-1]
    bottom = arrays.zeros((m, n + m), like=A)
    both = matrix_exponential(step * arrays.concatenate([arrays.concatenate([A, B], axis=-1), bottom], axis=-2))
    return both[..., :n, :n], both[..., :n, n:]


def matrix_exponential(X: Array) -> Array:
    """exp X of (..., n, n) by scaling and squaring a Padé approximant of order 8."""
    xp = arrays.namespace(X)
    rows: Any = xp.abs(X).sum(axis=-1)
    norm: Any = rows.max(axis=-1) if X.shape[-1] else xp.zeros(X.shape[:-2])
    finite = norm[np.isfinite(norm)] if arrays.is_numpy(X) else norm
    largest = float(finite.max()) if finite.size else 0.0
    halvings = max(0, int(np.ceil(np.log2(max(largest, 1e-300)))) + 2)
    X = X / 2.0**halvings
    numerator = denominator = identity = arrays.eye(X.shape[-1], like=X)
    power, c, order = identity, 1.0, 8
    for k in range(1, order + 1):
        c *= (order - k + 1) / (k * (2 * order - k + 1))
        power = power @ X
        numerator = numerator + c * power
        denominator = denominator + (-1.0) ** k * c * power
    out = xp.linalg.solve(denominator, numerator)
    for _ in range(halvings):
        out = out @ out
    return out
