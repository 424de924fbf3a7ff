"""What looks odd about the whole of a robot file, whatever its format: loose joints, and inertias of no real body.

The inertia tensor of a real body has non-negative principal moments, none larger than the sum of the others. A link
that fails this is only warned about as long as the *moving* body it ends up in, after merging, passes. Where that body
fails as well, the file is refused, except where its excess is at most 2·mass·|com|² and no moment is below
−0.2·mass·|com|²: so much comes of moving a tensor wrongly between the joint and the centre of mass, which files of real
robots show. A fixed base is never judged: its inertia plays no part.
"""

from __future__ import annotations

import numpy as np

from ..inertia import Inertia
from ..loose_joints import loose_joints
from ..model import Model
from .xml import Element, Notes

NO_REAL_BODY = "its inertia tensor breaks the triangle inequality, which that of a real body does not"
WRONG_POINT = f"{NO_REAL_BODY}; a slip in moving it from the joint to the centre of mass would explain it"


def mention_loose_joints(model: Model, links: dict[str, Element], notes: Notes) -> None:
    for i in loose_joints(model):
        reason = "no inertia resists its joint: the mass matrix is singular, so forward dynamics will fail"
        notes.add(links[model.bodies[i].name], reason)


def _explained(body: Inertia, excess: float) -> bool:
    """Whether a tensor given about the wrong point would explain what is wrong with it."""
    moved = body.mass * float(body.com @ body.com)
    return excess <= 2 * moved and -float(np.linalg.eigvalsh(body.tensor)[0]) <= 0.2 * moved


def judge_inertias(model: Model, links: dict[str, Element], inertias: dict[str, Inertia], notes: Notes) -> None:
    """The rule for tensors in the module's docstring."""
    carrier = {f.name: f.body for f in model.frames}
    whole = {b.name: b.inertia for b in model.bodies}
    culprits: dict[str | None, list[str]] = {}
    for name in links:
        if inertias[name].excess() > 0:
            culprits.setdefault(carrier[name], []).append(name)
    for body, names in culprits.items():
        worst = max(names, key=lambda n: inertias[n].excess())
        excess = 0.0 if body is None else whole[body].excess()
        if body is not None and not _explained(whole[body], excess):
            moments = ", ".join(f"{x:.6g}" for x in np.linalg.eigvalsh(inertias[worst].tensor))
            raise (links[worst].only("inertial") or links[worst]).error(
                f"the inertia tensor is that of no real body: its principal moments ({moments}) must not be"
                " negative, nor one exceed the sum of the others (the triangle inequality); correct it"
            )
        for name in names:
            notes.add(links[name], WRONG_POINT if excess > 0 and name == worst else NO_REAL_BODY)
