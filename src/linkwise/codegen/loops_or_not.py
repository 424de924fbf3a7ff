"""Whether a function can have loops over bodies, and about how long its code would be with them and without."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import InputError, UnrollableError, warn_of_slow_path
from ..model.flexible.structure import grouped
from . import thresholds
from .facts import catalogue
from .job import Job


def shows_frames(job: Job) -> bool:
    """Whether results depend on where the bodies' frames are, which arrays that are fixed may show as well."""
    if job.facts is None:
        return True
    fixed = [name for name, x in job.fixed.items() if name in job.facts.arrays and x is not None]
    return job.facts.shows_frames((*job.arrays, *fixed))


def can_be_rolled(job: Job) -> bool:
    """Whether a function can have loops, for its own sake and for the robot's."""
    if job.target not in ("cpu", "jax") or job.parameters or job.facts is None:
        return False
    if not job.facts.can_roll(job.arrays, job.fixed) or not _knows_frames(job):
        return False
    return bool(job.robot.bodies) and _knows_nodes(job) and not _mixes_columns(job)


def _knows_frames(job: Job) -> bool:
    """Whether loops can have what the other arguments single out, if they do: those of machine code can."""
    assert job.facts is not None
    singles = job.fixed.keys() - {"method"} or job.facts.driven is not None
    return not singles or (job.target == "cpu" and not job.on_card)


def _knows_nodes(job: Job) -> bool:
    """Whether loops can have this robot's bodies that move as one."""
    return not job.robot.couplings or _refusal_of_nodes(job) is None


def _refusal_of_nodes(job: Job) -> str | None:
    """Why loops cannot have them, if they cannot: those of machine code can."""
    from .rolled.classes import node_tree

    if job.target != "cpu" or job.on_card:
        return f"which loops know in machine code alone, and not with target={job.target!r}"
    try:
        node_tree(job.robot)
    except UnrollableError as e:
        return str(e)
    return None


def say_what_takes_long(job: Job) -> None:
    """Of a robot that would have loops as machine code and has none elsewhere, where its code is long."""
    elsewhere = "a graphics card" if job.on_card or job.target == "cuda" else "JAX" if job.target == "jax" else None
    if elsewhere is None or job.rolled is not None or job.facts is None or not job.robot.couplings:
        return
    if not job.facts.can_roll(job.arrays, job.fixed) or not (job.facts.per_pair or job.facts.joint_space):
        return
    values = about(job)
    if values > (thresholds.JAX_LOOPS_FROM if elsewhere == "JAX" else thresholds.CUDA_LONG):
        warn_of_slow_path(
            f"{job.name} of {job.robot.name!r} takes long to compile for {elsewhere}: about {values} values, body after"
            f" body. The robot has {grouped(job.robot)}; loops over these are machine code's alone"
            ' (target="cpu", which takes arrays of JAX as well). rolled=False says that this is meant'
        )


def refuse_rolling(job: Job) -> None:
    """Say why a function cannot be rolled that was asked to be."""
    if job.target == "c":
        raise InputError('target="c" gives straight-line code; leave rolled= out')
    if job.parameters:
        raise InputError("rolled code has the robot's numbers in tables: leave parameters= or rolled= out")
    if job.facts is None or not job.facts.can_roll(job.arrays, job.fixed):
        known = catalogue(type(job.robot)).items()
        ways = ", ".join(f"{k} ({m})" if m else k for k, facts in known for m in facts.rolls)
        raise InputError(f"{job.name} cannot be rolled with these arguments; these can: {ways}")
    if not _knows_frames(job):
        raise InputError(f"{job.name}, of some bodies alone, has loops in machine code alone; leave rolled out")
    refusal = _refusal_of_nodes(job) if job.robot.couplings else None
    if refusal is not None:
        raise InputError(f"robot {job.robot.name!r} has {grouped(job.robot)}: {refusal}; leave rolled out")
    if _mixes_columns(job):
        raise InputError(
            f"robot {job.robot.name!r} has springs or dampers in its joints, with which {job.name} has 𝓜⁻¹K beside what"
            " rolled code knows; leave rolled out"
        )
    if not job.robot.bodies:
        raise InputError("a robot without bodies has nothing to loop over; leave rolled out")


def _mixes_columns(job: Job) -> bool:
    """Whether a matrix is multiplied by K and d of springs, column by column."""
    mixes = job.facts is not None and job.facts.mixes_columns and bool(job.robot.has_springs)
    return mixes and not job.robot.couplings  # whose nodes have springs in the walks


def is_long_chain(job: Job, values: int) -> bool:
    """Whether a robot is a chain of joints that are all alike, but for its base, and long enough for loops."""
    assert job.facts is not None
    n, is_matrix = len(job.robot.bodies), job.facts.per_pair > 0
    if not job.robot.is_chain or not (n >= thresholds.CHAIN_LINKS or (is_matrix and values > thresholds.LONG_CHAIN)):
        return False
    if len(_class_sizes(job)) > thresholds.CHAIN_CLASSES:
        return False
    if n >= thresholds.ALIGNED_LINKS or not _is_aligned(job):
        return True
    return is_matrix and values > 2 * thresholds.LONG_CHAIN  # half of it is not there


def _is_aligned(job: Job) -> bool:
    """Whether the axes of a robot are aligned, so that straight-line code is shorter than what loops do."""
    from .rolled.classes import is_aligned

    return is_aligned(job.robot)


def about(job: Job) -> int:
    """About how many values straight-line code of a function that can be rolled has."""
    assert job.facts is not None
    if not job.facts.per_pair:
        own = _per_body(job) * len(job.robot.bodies)
        return int(thresholds.BODY_IN_NODES * own) if job.robot.couplings else own
    inboard: list[int] = []  # degrees of freedom of a body and of those inboard of it
    pairs = 0
    for own, p in _freedoms(job.robot):
        before = inboard[p] if p >= 0 else 0
        pairs += own * before + own * (own - 1) // 2
        inboard.append(before + own)
    if job.robot.couplings:
        pairs += thresholds.PAIRS_IN_NODES * len(job.robot.bodies)
    return job.facts.per_pair * pairs


def _freedoms(robot: Any) -> Iterable[tuple[int, int]]:
    """(degrees of freedom, number of the parent) of every body; where some move as one, of every node."""
    if not robot.couplings:
        return zip([joint.kind.nv for joint in robot.joints], robot.parents)
    from ..dynamics.coupled_links import coupled_nodes

    members, columns = coupled_nodes(robot)
    found = robot.tree.of_nodes(members, [len(held) > 1 for held in members])
    return zip(map(len, columns), found.tree.parents)


def about_in_loops(job: Job) -> int:
    """About how many values its loops have: walks from each class of bodies have code for each class."""
    assert job.facts is not None
    sizes = _class_sizes(job)
    pairs = sum(set(sizes)) * sum(sizes)
    return thresholds.LOOPS_PER_PAIR * job.facts.per_pair * pairs + _per_body(job) * len(sizes)


def _per_body(job: Job) -> int:
    """About how many values a body adds to what is no matrix."""
    assert job.facts is not None
    return job.facts.per_body or thresholds.VALUES_PER_BODY


def _class_sizes(job: Job) -> list[int]:
    """The degrees of freedom of each class of bodies that loops would have."""
    from .rolled.classes import class_sizes

    return class_sizes(job.robot, shows_frames(job))
