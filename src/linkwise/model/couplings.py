"""Joints that follow others, θ_dep = g(θ_ind): mimic fingers, gears, differentials, racks, cams; and what they group.

Bodies whose joints are coupled move as one node of the tree, an aggregate: the union of their paths towards the base,
as far as their nearest common ancestor, which belongs to it only where its own joint is coupled. Joints on the way
that are not coupled stay independent inside. (Closed chains and flexible bodies, math notes 1.1, 1.3.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import number, shown
from ..errors import InputError, ModelError
from ..sweeps import Tree
from ..values import ByValue
from .joints.modal import Modal
from .relations import JUMPS, Relation


@dataclass(frozen=True, eq=False)
class Coupling(ByValue):
    """The joint ``dependent`` is where ``relation`` of the positions of the joints ``independents`` says."""

    dependent: str
    independents: tuple[str, ...]
    relation: Relation

    @property
    def ratios(self) -> tuple[float, ...] | None:
        """dθ_dep/dθ_ind where these are constant, else None."""
        return self.relation.ratios

    @property
    def ratio(self) -> float | None:
        """dθ_dep/dθ_ind where one joint is followed by a constant ratio, else None."""
        return self.ratios[0] if self.ratios is not None and len(self.ratios) == 1 else None

    @property
    def offset(self) -> float:
        """Where the dependent joint is while the others are at zero."""
        return self.relation.offset

    def prefixed(self, prefix: str) -> Coupling:
        """The same of joints whose names have this prefix."""
        return replace(
            self, dependent=prefix + self.dependent, independents=tuple(prefix + n for n in self.independents)
        )

    def __repr__(self) -> str:
        if self.ratios is None:
            return f"<Coupling: {self.dependent} follows {', '.join(self.independents)}>"
        terms = [f"{ratio:g} {name}" for ratio, name in zip(self.ratios, self.independents)]
        return f"<Coupling: {self.dependent} = {' + '.join([*terms, f'{self.offset:g}'])}>"


def make_coupling(
    dependent: str, independents: str | Sequence[str], ratio: Any, offset: Any, relation: Callable[..., Any] | None
) -> Coupling:
    """The coupling that arguments of ``robot.couple`` say."""
    names = (independents,) if isinstance(independents, str) else independents
    if not isinstance(names, (tuple, list)) or not names or not all(isinstance(n, str) for n in names):
        raise InputError(f"joint {dependent!r} follows a joint or a list of joints, by name, got {shown(independents)}")
    names = tuple(names)
    if len(set(names)) < len(names):
        raise InputError(f"joint {dependent!r}: {', '.join(map(repr, names))} names a joint twice")
    what = f"joint {dependent!r}, which follows {', '.join(map(repr, names))}"
    if relation is not None:
        if ratio is not None or offset is not None:
            raise InputError(f"{what}: give either ratio= and offset=, or relation=")
        if not callable(relation):
            raise InputError(f"{what}: relation= must be a function of {len(names)} positions, got {shown(relation)}")
        traced = Relation.traced(relation, len(names), what)
        _refuse_jumps(traced, what)
        return Coupling(dependent, names, traced)
    ratios = (1.0,) * len(names) if ratio is None else tuple(np.atleast_1d(ratio).tolist())
    if len(ratios) != len(names):
        raise InputError(f"{what}: ratio= must be one number for each of the {len(names)} joints, got {shown(ratio)}")
    ratios = tuple(number(r, f"{what}: a ratio") for r in ratios)
    return Coupling(
        dependent, names, Relation.linear(ratios, number(0.0 if offset is None else offset, f"{what}: offset"))
    )


def _refuse_jumps(relation: Relation, what: str) -> None:
    found = sorted({op for op, *_ in relation.steps} & JUMPS)
    if found:
        raise ModelError(f"{what}: a relation must be smooth, and {found[0]} jumps; write it without")
    if any(isinstance(x, float) and not np.isfinite(x) for _, *args in relation.steps for x in args):
        raise ModelError(f"{what}: the relation has a constant that is not a finite number")
    if not any(op == "x" for op, *_ in relation.steps):
        raise ModelError(f"{what}: the relation does not depend on any of them; use robot.lock for a joint that rests")


def added(couplings: Sequence[Coupling], new: Coupling, robot: str) -> tuple[Coupling, ...]:
    """The couplings with another one, all written in terms of joints that follow none.

    A joint that follows a dependent one follows what that follows: gear trains are composed here.
    """
    table = {c.dependent: c for c in couplings}
    if new.dependent in table:
        raise ModelError(
            f"robot {robot!r}: joint {new.dependent!r} already follows {_listed(table[new.dependent].independents)};"
            " a joint follows one relation: uncouple it first, or put both into one relation="
        )
    given = [x for x in new.independents if x != new.dependent]
    new = _resolved(new, table)
    if new.dependent in new.independents:
        way = f", by way of {_listed(given)}" if given else ""
        raise ModelError(
            f"robot {robot!r}: joint {new.dependent!r} would follow itself{way}:"
            " couplings in a cycle leave nothing to choose; leave one of them out"
        )
    later = [_resolved(c, {new.dependent: new}) if new.dependent in c.independents else c for c in couplings]
    return (*later, new)


def _resolved(c: Coupling, table: Mapping[str, Coupling]) -> Coupling:
    """A coupling in which dependent joints are replaced by what they follow."""
    if not any(n in table for n in c.independents):
        return c
    parts = [table.get(n) for n in c.independents]
    names = tuple(
        dict.fromkeys(m for n, p in zip(c.independents, parts) for m in ((n,) if p is None else p.independents))
    )
    itself = Relation.linear([1.0], 0.0)
    inner = [itself if p is None else p.relation for p in parts]
    places = [[names.index(m) for m in ((n,) if p is None else p.independents)] for n, p in zip(c.independents, parts)]
    return replace(c, independents=names, relation=c.relation.of(inner, places, len(names)))


def at_rest(c: Coupling, locked: Mapping[str, float]) -> Coupling | float:
    """A coupling while some of the joints it follows rest at these positions; a number where all do."""
    left = tuple(n for n in c.independents if n not in locked)
    if not left:
        return float(c.relation([np.asarray(locked[n]) for n in c.independents])[0])
    inner = [Relation.linear([1.0], 0.0) if n in left else Relation(0, (), (float(locked[n]),)) for n in c.independents]
    places = [[left.index(n)] if n in left else [] for n in c.independents]
    return replace(c, independents=left, relation=c.relation.of(inner, places, len(left)))


def check_couplings(robot: str, couplings: Any, joints: Mapping[str, Any]) -> tuple[Coupling, ...]:
    """Couplings of joints of these names that fit together, or an error that names the joint."""
    found = tuple(couplings)
    dependents: set[str] = set()
    for c in found:
        if not isinstance(c, Coupling):
            raise InputError(f"robot {robot!r}: couplings are made by robot.couple, got {shown(c)}")
        if c.dependent in dependents:
            raise ModelError(f"robot {robot!r}: joint {c.dependent!r} follows two relations")
        dependents.add(c.dependent)
    for c in found:
        for name in (c.dependent, *c.independents):
            if name not in joints:
                raise ModelError(
                    f"robot {robot!r}: joint {c.dependent!r} follows {_listed(c.independents)}, and {name!r} is not a"
                    " joint of this robot; uncouple it first"
                )
        _refuse_kinds(robot, [joints[name] for name in (c.dependent, *c.independents)], c)
        driven = [n for n in c.independents if n in dependents]
        if driven:
            raise ModelError(
                f"robot {robot!r}: joint {c.dependent!r} follows {driven[0]!r}, which follows others itself"
            )
    return found


def _refuse_kinds(robot: str, joints: Sequence[Any], c: Coupling) -> None:
    if all(isinstance(j.kind, Modal) for j in joints) and is_shared(c) and len({j.kind.nv for j in joints}) == 1:
        return
    for joint in joints:
        if joint.kind.nq == 1 and joint.kind.nv == 1 and not isinstance(joint.kind, Modal):
            continue
        raise ModelError(
            f"robot {robot!r}: joint {joint.name!r} is {joint.kind.kind} with {joint.kind.nv} degrees of freedom, but"
            f" the coupling of {c.dependent!r} takes joints of one (revolute, prismatic, helical); split it into such"
        )


def is_shared(c: Coupling) -> bool:
    """Whether a joint has the very coordinates of one other, as points of a flexible body have."""
    return c.ratio == 1.0 and c.offset == 0.0


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


# --- aggregates --------------------------------------------------------------------------------------


def aggregates(tree: Tree, sets: Iterable[Iterable[int]]) -> tuple[tuple[int, ...], ...]:
    """The groups of bodies that move as one node, for these sets of coupled bodies; disjoint, members in order."""
    groups: list[set[int]] = []
    for coupled in sets:
        group = _smallest(tree, set(coupled))
        for other in [g for g in groups if g & group]:
            groups.remove(other)
            group |= other
        groups.append(group)
    return tuple(sorted(tuple(sorted(g)) for g in groups))


def _smallest(tree: Tree, coupled: set[int]) -> set[int]:
    paths = [tree.path(k) for k in sorted(coupled)]
    shared = [k for k in paths[0] if all(k in p for p in paths)]
    common = set(shared) - (coupled & set(shared[-1:]))  # the nearest common ancestor only where it is coupled itself
    return {k for p in paths for k in p} - common


# --- limits, damping and friction as the followed joints feel them --------------------------------------


def _linear(model: Any) -> list[tuple[int, int, Coupling, float]]:
    """(dependent body, entry of v, coupling, ratio) of the joints that follow one other by a constant ratio."""
    out = []
    for k, c in model.dependents.items():
        if c.ratio:
            out.append((k, model.v_slices[model.joint_index[c.independents[0]]].start, c, c.ratio))
    return out


def reflected_limits(model: Any, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The limits (nv,) within which dependent joints stay in theirs too."""
    lower, upper = lower.copy(), upper.copy()
    for k, i, c, ratio in _linear(model):
        ends = sorted((float(x[0]) - c.offset) / ratio for x in model.joints[k].limits.arrays(1)[:2])
        lower[i], upper[i] = max(lower[i], ends[0]), min(upper[i], ends[1])
        if lower[i] > upper[i]:
            raise ModelError(
                f"robot {model.name!r}: where joint {c.independents[0]!r} is within its limits, joint {c.dependent!r},"
                f" which follows it ({c!r}), is nowhere within its own; correct the limits of one of them"
            )
    return lower, upper


def reflected_speeds(model: Any, speeds: np.ndarray) -> np.ndarray:
    """The largest speeds (nv,) at which dependent joints stay below theirs too."""
    speeds = speeds.copy()
    for k, i, _, ratio in _linear(model):
        speeds[i] = min(speeds[i], float(model.joints[k].limits.arrays(1)[2][0]) / abs(ratio))
    return speeds


def per_freedom(model: Any, what: str, power: int) -> np.ndarray:
    """Stiffness, damping or friction (nv,), with that of dependent joints, which counts by a power of the ratio."""
    each = [np.broadcast_to(np.asarray(getattr(j, what), float), (j.kind.nv,)) for j, _, _ in model.coordinates]
    own = np.concatenate([*each, np.zeros(0)])
    for k, i, _, ratio in _linear(model):
        own[i] += abs(ratio) ** power * float(np.ravel(getattr(model.joints[k], what))[0])
    return own
