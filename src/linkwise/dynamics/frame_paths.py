"""Frames and the joints that move them, by sweeps: what leads from a frame to every body on its way to the world."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import arrays
from ..arrays import Array
from ..spatial import Transform
from ..sweeps import added
from .links import Links


class Seen(NamedTuple):
    """What is known at a body on whose joint a frame's motion depends; in loops at every body, as zeros at others."""

    X: Transform  # φ(k, tip)
    known: list[Array]  # what is known at the frame


def seen_from(links: Links, body: int, tip: Transform, *known: Array) -> list[Seen | None]:
    """φ(k, tip) of a frame on this body, inward, with what is ``known`` there; None where the frame does not move.

    What a body passes on has a one beside R and l, so that zeros, which others pass in loops, add nothing.
    """
    own: list[Any] = [None] * len(links.tree)
    if body >= 0:
        own[body] = (tip.R, tip.l, 1, *known)

    def step(gathered: Any, phi: Any, own: Any) -> Any:
        here = gathered if own is None else added(gathered, own)
        if isinstance(here, int):
            return 0, None
        R, l, one, *rest = here
        X = Transform(R, l)
        outer = phi.compose(X)
        offset = outer.l if isinstance(one, int) else outer.l + (one - 1.0) * phi.l
        return (outer.R, offset, one, *rest), Seen(X, rest)

    return links.tree.inward(step, 0, links.phi, own)


def columns_of(links: Links, seen: list[Seen | None]) -> list[Array]:
    """φ*(k, tip)H* of every joint: how it moves the frame, (..., 6, r)."""
    zero = [arrays.zeros((6, r), like=links.q) for r in links.sizes]
    return [z if x is None else x.X.T @ H.mT for x, z, H in zip(seen, zero, links.H)]
