"""Actuators between what is commanded and the joint forces: a lag of first order, or a motor with its electric circuit.

    τ̇ = −τ/lag − e v + g u

for each degree of freedom, so that linearised models have the joint forces as states: [δq; δv; δτ] under δu.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import arrays
from ...arguments import numbers
from ...arrays import Array
from ...errors import InputError
from ...values import ByValue, fixed


@dataclass(frozen=True, eq=False)
class Actuators(ByValue):
    """Actuators of all degrees of freedom: ``Actuators(lag)`` [s] gives the force u after a lag of first order.

    ``back`` e [N m/rad, N/m] is what velocity takes off the rate of the force, and ``gain`` g what the input adds to it
    (default 1/lag: u is the force that is asked for). Each is one number, or one per degree of freedom.
    :meth:`motors` makes them of a motor's data.
    """

    lag: Any
    back: Any = 0.0
    gain: Any = None

    def __post_init__(self) -> None:
        lag = _checked(self.lag, "lag", above=True)
        gain = 1.0 / lag if self.gain is None else _checked(self.gain, "gain", above=True)
        for name, x in (("lag", lag), ("back", _checked(self.back, "back", above=False)), ("gain", gain)):
            object.__setattr__(self, name, fixed(x))
        shapes = {x.shape for x in (self.lag, self.back, self.gain) if x.ndim}
        if len(shapes) > 1:
            raise InputError(f"lag, back and gain must be of one length, got {sorted(shapes)}")

    @staticmethod
    def motors(
        *, resistance: Any, inductance: Any, torque_constant: Any, gear_ratio: Any = 1.0, back_emf: Any = None
    ) -> Actuators:
        """Motors under voltages u [V]: L i̇ = u − R i − k_e γ v, τ = γ k_t i, with R [Ω], L [H], k_t [N m/A], gear γ.

        ``back_emf`` k_e [V s/rad] is k_t unless given.
        """
        R, L, k = (
            _checked(x, what, above=True)
            for x, what in (
                (resistance, "resistance"),
                (inductance, "inductance"),
                (torque_constant, "torque_constant"),
            )
        )
        gear = numbers(gear_ratio, "gear_ratio")
        if not np.isfinite(gear).all() or (gear == 0).any():
            raise InputError(f"gear_ratio must not be zero, got {gear_ratio!r}")
        emf = k if back_emf is None else _checked(back_emf, "back_emf", above=False)
        return Actuators(L / R, gear * gear * k * emf / L, np.abs(gear) * k / L)

    def blocks(self, nv: int, like: Array) -> tuple[Array, Array, Array]:
        """−1/lag, −e and g as diagonal matrices (nv, nv)."""
        return (
            _diagonal(-1.0 / self.lag, nv, like),
            _diagonal(-self.back, nv, like),
            _diagonal(self.gain, nv, like),
        )


def _diagonal(x: np.ndarray, nv: int, like: Array) -> Array:
    if x.shape not in ((), (nv,)):
        raise InputError(f"actuators of {x.shape[0]} degrees of freedom do not fit a robot that has {nv}")
    return arrays.constant(np.diag(np.broadcast_to(x, (nv,))), like=like)


def _checked(given: Any, what: str, above: bool) -> np.ndarray:
    x = numbers(given, what)
    if x.ndim > 1 or not np.isfinite(x).all() or (x < 0).any() or (above and (x == 0).any()):
        how = "positive" if above else "zero or more"
        raise InputError(f"{what} must be {how}, one number or one per degree of freedom, got {given!r}")
    return x
