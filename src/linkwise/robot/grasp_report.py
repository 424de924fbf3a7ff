"""What a grasp says of itself: whether it is well posed, and the squeeze that friction needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import SingularError


class Squeeze(NamedTuple):
    """Internal forces λ (m,), joint forces (nv,) that make them, contact forces (contacts, 6), their margins [N]."""

    internal: np.ndarray
    tau: np.ndarray
    forces: np.ndarray
    margins: np.ndarray


@dataclass(frozen=True)
class GraspReport:
    """How a grasp stands at a configuration.

    ``mobility``: ways that arms and object can move together; ``forces``: how many the contacts transmit;
    ``undetermined``: how many combinations of loop forces no equation determines; ``internal``: combinations that
    squeeze; ``uncontrolled``: directions of the object that no contact force drives; ``singular_arms``: those without
    a finite inertia at their contacts; ``open_by``: the largest error of a loop [rad, m].
    """

    grasp: str
    mobility: int
    forces: int
    undetermined: int
    internal: int
    uncontrolled: int
    singular_arms: tuple[str, ...]
    open_by: float

    @property
    def well_posed(self) -> bool:
        """Whether contact forces are unique; accelerations always are."""
        return self.undetermined == 0

    def check(self) -> None:
        """Raise :class:`SingularError` unless contact forces are unique and can drive the object in all directions."""
        if self.undetermined:
            arms = f" ({', '.join(self.singular_arms)} cannot give way)" if self.singular_arms else ""
            raise SingularError(
                f"grasp {self.grasp!r}: {self.undetermined} combinations of its contact forces are determined by"
                f" nothing{arms}. Accelerations are unique all the same, and contact_forces gives the forces of least"
                " norm; hold with contacts that transmit less, or with arms that have more joints"
            )
        if self.uncontrolled:
            raise SingularError(
                f"grasp {self.grasp!r}: no contact force drives the object in {self.uncontrolled} of its directions;"
                " add a contact, or one that transmits more"
            )

    def __str__(self) -> str:
        rows = [
            f"grasp {self.grasp!r}: {self.mobility} ways to move, {self.forces} contact forces, {self.internal} of them"
            " internal"
        ]
        if self.undetermined:
            rows.append(
                f"  {self.undetermined} forces are undetermined; accelerations are unique, forces of least norm"
            )
        if self.uncontrolled:
            rows.append(f"  {self.uncontrolled} directions of the object are driven by no contact")
        if self.singular_arms:
            rows.append(f"  without a finite inertia at their contacts: {', '.join(self.singular_arms)}")
        if self.open_by > 1e-6:
            rows.append(f"  open by {self.open_by:.3g} rad or m; closed_configuration closes it")
        return "\n".join(rows)
