"""The methods of a robot about rest: where it is in equilibrium, and how it vibrates about that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..arrays import ArrayLike
from .calls import Calls

if TYPE_CHECKING:
    from .equilibrium import Equilibrium
    from .modes import Modes


@dataclass(frozen=True, eq=False, repr=False)
class Statics(Calls):
    """Equilibria and modes."""

    def equilibrium(
        self,
        q0: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        *,
        external: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        tolerance: float = 1e-10,
        steps: int = 200,
        target: str | None = None,
    ) -> Equilibrium:
        """A configuration near ``q0`` (..., nq; default neutral) in which the robot rests, loops closed.

        Gravity, the springs of joints and of soft loops, constant joint forces ``tau`` (..., nv) [N m, N; default none]
        and ``external`` forces balance there. These are {frame: (..., 6)}, [moment; force] in world axes, whose
        direction stays as the robot moves, or (..., bodies, 6) in body axes, which turn with the bodies. By Newton's
        method with exact derivatives, damped, and by falling where that leads nowhere; ``steps`` at most. It is reached
        where what is left is at most ``tolerance`` of the forces that balance. Equilibria may be unstable: the result
        tells.

        Returns an :class:`Equilibrium`: ``q``, ``reached``, ``residual``, ``stable`` and more, for batches at once.
        """
        from .equilibrium import equilibrium

        options: dict[str, Any] = {"external": external, "tolerance": tolerance, "steps": steps, "target": target}
        return equilibrium(self, q0, tau, **options)

    def modes(
        self,
        q: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        external: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        damped: bool = False,
        target: str | None = None,
    ) -> Modes:
        """Frequencies [rad/s] and shapes of small vibrations about a rest q (..., nq), slowest first.

        Those of 𝓜δq̈ + Kδq = 0 with the stiffness K = ∂T/∂q of gravity, springs, loads and what loops carry; ``damped``
        with the dampers too. ``tau`` and ``external`` are those of :meth:`equilibrium`. Where q is no equilibrium,
        constant joint forces hold it, and the result has them. Robots with loops vibrate in the coordinates that these
        leave free.

        Returns :class:`Modes`: ``frequencies`` (..., m), ``shapes`` (..., nv, m), which are ``unstable`` or ``rigid``.
        """
        from .modes import modes

        return modes(self, q, tau, external=external, damped=damped, target=target)
