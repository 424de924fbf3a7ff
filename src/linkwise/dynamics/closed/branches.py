"""The bodies that loops hold, their core, and the branches that hang on it and on nothing else.

Ends of loops and everything inboard of them are the core. A branch is an open tree on a body c of the core: what it
does to c goes through six numbers. So the core is a robot by itself, whose bodies carry the articulated inertias P and
the hat inertias P̂ of the branches on them (Linearized dynamics paper Lemma 4.7), and a branch is on a body that yields
as the closed core does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...properties import cached_property
from ...spatial import Transform, congruence
from ...sweeps import BodyTree
from ..articulated import Articulated, articulated, matrix_of, past_joint
from ..inertia_rate import InertiaRate
from ..linearized.forward import hat_quantities
from ..linearized.variations import Motion
from ..links import Links, identity
from ..referred_links import own_frames

# --- parts of a tree -------------------------------------------------------------------------------------------------


def part_of_links(links: Links, bodies: Sequence[int]) -> Links:
    """These bodies alone; those whose parent is not among them hang on the world."""
    place = {k: i for i, k in enumerate(bodies)}
    tree = BodyTree(tuple(place.get(links.tree.parent(k), -1) for k in bodies))
    lists = ("names", "phi", "H", "M", "Gamma", "s", "sizes", "theta")
    given: dict[str, Any] = {name: [getattr(links, name)[k] for k in bodies] for name in lists}
    return replace(links, tree=tree, loads=[links.carried[k] for k in bodies], **given)


def part_of_motion(m: Motion, links: Links, bodies: Sequence[int]) -> Motion:
    """What these bodies do, over the ``links`` that are theirs."""
    rates = {f.name: _chosen(getattr(m.rates, f.name), bodies) for f in fields(m.rates) if f.name != "placed"}
    own = {f.name: _chosen(getattr(m, f.name), bodies) for f in fields(m) if f.name != "rates"}
    return replace(m, rates=replace(m.rates, placed=own_frames(links), **rates), **own)


def _chosen(x: Sequence[Any], bodies: Sequence[int]) -> list[Any]:
    return [x[k] for k in bodies]


def _without_first(x: list[Array]) -> list[Array]:
    """Columns of joints, of which the first has none."""
    return [x[0][..., :0, :], *x[1:]]


def core_bodies(links: Links, ends: Sequence[int]) -> list[int]:
    """Ends of loops, all inboard of them, and bodies on the world; every body where rotors spin on their carriers."""
    if any(s is not None for s in links.s):
        return list(range(len(links.sizes)))
    roots = [k for k in range(len(links.sizes)) if links.tree.on_world(k)]
    return sorted({k for end in (*ends, *roots) for k in links.tree.path(end)})


@dataclass(frozen=True, eq=False)
class Branches:
    """The branches on one body of the core: that body first, without its joint, then theirs."""

    on: int  # the body of the core, by its number in the core
    bodies: list[int]  # in the whole robot
    links: Links

    def moving(self, m: Motion) -> Motion:
        """What these bodies do of the robot's motion; the first one as it is carried, without a joint."""
        own = part_of_motion(m, self.links, self.bodies)
        r = own.rates
        rates = replace(
            r,
            beta=_without_first(r.beta),
            Psi_dot=[r.Psi_dot[0][..., :0], *r.Psi_dot[1:]],
            turning=[None, *r.turning[1:]],
            partials=[None, *r.partials[1:]],
            springs=[None, *r.springs[1:]],
            softness=[None, *r.softness[1:]],
        )
        return replace(own, rates=rates, beta_dot=_without_first(own.beta_dot), T=_without_first(own.T))

    @cached_property
    def art(self) -> Articulated:
        """P of the branches, and at the first body what it and they weigh together."""
        return articulated(self.links)

    @cached_property
    def W(self) -> Array:
        """(..., 6, n): joints answer to an acceleration λ of their carrier by −W*λ; W T is what forces T do to it."""
        links, G = self.links, self.art.G

        def inboard(W: Array, phi: Transform, H: Array, G: Array) -> Any:
            return phi @ past_joint(W, H, G), W

        starts = [phi @ g if r else None for phi, g, r in zip(links.phi, G, links.sizes)]
        found = links.tree.inward_from_each(inboard, starts, links.phi, links.H, G)
        return arrays.concatenate([found[0, j] for j, r in enumerate(links.sizes) if r], axis=-1)


def branches_on(links: Links, core: Sequence[int]) -> list[Branches]:
    """All branches, by the body of the core that carries them."""
    held, place = set(core), {k: i for i, k in enumerate(core)}
    out = []
    for c in core:
        own = [k for child in links.tree.children(c) if child not in held for k in (child, *links.tree.outboard(child))]
        if any(links.sizes[k] for k in own):
            bodies = [c, *sorted(own)]
            out.append(Branches(place[c], bodies, _rooted(part_of_links(links, bodies))))
    return out


def _rooted(links: Links) -> Links:
    """Links whose first body has no joint."""
    first = {"phi": identity(links.q), "H": links.H[0][..., :0, :], "Gamma": None, "s": None, "sizes": 0}
    given: dict[str, Any] = {name: [x, *getattr(links, name)[1:]] for name, x in first.items()}
    return replace(links, loads=[None, *links.carried[1:]], **given)


def columns_of(links: Links, bodies: Sequence[int]) -> np.ndarray:
    """Which degrees of freedom of the robot these bodies have, in their order."""
    ends = np.cumsum(links.sizes)
    return np.array([i for k in bodies for i in range(ends[k] - links.sizes[k], ends[k])], dtype=int)


# --- what the core carries -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Loaded:
    """An inertia that is not rigid, (..., 6, 6), where others are."""

    matrix: Array

    def __matmul__(self, X: Array) -> Array:
        return self.matrix @ X

    def __add__(self, other: Any) -> Loaded:
        return self if isinstance(other, int) else Loaded(self.matrix + _matrix(other))

    __radd__ = __add__


def _matrix(R: Any) -> Array:
    found: Array = R.matrix if isinstance(R, Loaded) else matrix_of(R)
    return found


@dataclass(frozen=True, eq=False)
class LoadedRate:
    """A hat inertia that is not that of a rigid body: its left half (..., 6, 3); the right one is zero."""

    columns: Array

    def __matmul__(self, X: Array) -> Array:
        return self.columns @ X[..., :3, :]

    def adjoint_times(self, X: Array) -> Array:
        """P̂*X; its lower half is zero."""
        moment = arrays.transpose(self.columns) @ X
        return arrays.concatenate([moment, moment * 0.0], axis=-2)

    def __add__(self, other: Any) -> LoadedRate:
        return self if isinstance(other, int) else LoadedRate(self.columns + other.columns)

    __radd__ = __add__

    def moved(self, phi: Transform) -> LoadedRate:
        """φP̂φ*."""
        return LoadedRate(phi @ (self.columns @ arrays.transpose(phi.R)))


def composites(links: Links, carried: Sequence[Branches]) -> list[Any]:
    """R of every body of the core: what its joint carries with joints of the core held and those of branches free."""
    loads = {x.on: Loaded(x.art.P[0]) for x in carried}

    def step(gathered: Any, phi: Transform, M: Any) -> Any:
        R = gathered + M
        return (Loaded(congruence(phi, R.matrix)) if isinstance(R, Loaded) else congruence(phi, R)), R

    return links.tree.inward(step, 0, links.phi, [loads.get(k, M) for k, M in enumerate(links.M)])


def composite_rates(m: Motion, carried: Sequence[tuple[Branches, Motion]]) -> list[Any]:
    """R̂ of every body of the core, with P̂ of the branches."""
    loads = {x.on: LoadedRate(hat_quantities(own, x.art)[0][0]) for x, own in carried}
    rates: list[InertiaRate | LoadedRate] = [loads.get(k, M_hat) for k, M_hat in enumerate(m.rates.M_hat)]

    def step(gathered: Any, phi: Transform, own: Any) -> Any:
        total = gathered + own
        return total.moved(phi), total

    return m.links.tree.inward(step, 0, m.links.phi, rates)
