"""What an MJCF file holds that a :class:`Model` does not: one line each, so that nothing is dropped unsaid."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .mjcf_visuals import shown_geoms

if TYPE_CHECKING:
    from .mjcf import MjcfFile

_MOST_NAMES = 6

# Things that only watch, or only look: (how many, what).
_IDLE = (
    ("nsensor", "sensor"),
    ("ncam", "camera"),
    ("nlight", "light"),
    ("nkey", "keyframe"),
    ("nhfield", "height field"),
    ("nskin", "skin"),
    ("ntex", "texture"),
    ("nnumeric", "custom number"),
    ("ntext", "custom text"),
    ("ntuple", "custom tuple"),
)
_STEPPING = ("timestep", "integrator", "solver", "iterations", "tolerance", "cone", "impratio")


def in_the_motion(file: MjcfFile, told: Collection[int] = ()) -> Iterator[str]:
    """What makes MuJoCo's motion differ from that of the model, or its numbers mean something else.

    ``told`` are equality constraints that need no mention.
    """
    yield from _contacts(file)
    yield from _couplings(file, told)
    yield from _joints(file)
    yield from _surroundings(file)


def not_in_the_motion(file: MjcfFile) -> Iterator[str]:
    """What plays no part in the motion, as one line, and options of the solver, as another."""
    m = file.model
    shown = [_count(getattr(m, size), what) for size, what in _IDLE if getattr(m, size)]
    undrawn = m.ngeom - len(list(shown_geoms(file)))
    if undrawn:
        shown.insert(0, f"the looks of {_count(undrawn, 'geom')} (planes, height fields, hidden groups)")
    if shown:
        yield f"not read, without effect on the motion: {', '.join(shown)}"
    usual = file.mujoco.MjOption()
    changed = [name for name in _STEPPING if getattr(m.opt, name) != getattr(usual, name)]
    if changed:
        yield f"not read, options of MuJoCo's own stepping: {', '.join(changed)}"


def _contacts(file: MjcfFile) -> Iterator[str]:
    m = file.model
    off = m.opt.disableflags & (file.mujoco.mjtDisableBit.mjDSBL_CONTACT | file.mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    touching = int(((m.geom_contype != 0) | (m.geom_conaffinity != 0)).sum())
    if not off and (touching > 1 or m.npair):
        pairs = f" and {_count(m.npair, 'contact pair')}" if m.npair else ""
        yield f"no contacts: {_count(touching, 'geom')} that may touch{pairs} exert no forces"
    if m.nflex:
        yield f"not modelled: {_named(file, 'flex', range(m.nflex))}"


def _couplings(file: MjcfFile, told: Collection[int]) -> Iterator[str]:
    m = file.model
    left = [i for i in range(m.neq) if i not in told]
    if left:
        kinds = {file.mujoco.mjtEq(m.eq_type[i]).name.removeprefix("mjEQ_").lower() for i in left}
        listed = _named(file, "equality constraint", left, "equality")
        yield f"not imposed: {listed} ({', '.join(sorted(kinds))})"
    if m.ntendon:
        yield f"without effect: {_named(file, 'tendon', range(m.ntendon))}"
    driving = [i for i in range(m.nactuator) if not _is_plain_motor(file, i)]
    if driving:
        listed = _named(file, "actuator", driving)
        yield f"not modelled: {listed}; joint forces are given directly"
    odd = [j for j in range(m.njnt) if file.driven_by(j) and file.joint_type(j) in ("ball", "free") and _adds(file, j)]
    if odd:
        yield f"left out: armature and damping that actuators add to {_joint_names(file, odd)}"
    if m.nplugin:
        yield f"not run: {_count(m.nplugin, 'plugin')}"


def _is_plain_motor(file: MjcfFile, actuator: int) -> bool:
    """Whether its control is the force of one joint, as joint forces are given here."""
    m, enums = file.model, file.mujoco
    if m.actuator_trntype[actuator] != enums.mjtTrn.mjTRN_JOINT:
        return False
    joint = int(m.actuator_trnid[actuator, 0])
    limits = m.actuator_ctrlrange[actuator], m.jnt_actfrcrange[joint]
    kept = bool(m.jnt_actfrclimited[joint]) and np.array_equal(*limits)  # as the joint's own limit of effort
    return bool(
        file.joint_type(joint) in ("hinge", "slide")
        and m.actuator_dyntype[actuator] == enums.mjtDyn.mjDYN_NONE
        and m.actuator_gaintype[actuator] == enums.mjtGain.mjGAIN_FIXED
        and m.actuator_biastype[actuator] == enums.mjtBias.mjBIAS_NONE
        and m.actuator_gainprm[actuator, 0] == 1.0
        and m.actuator_gear[actuator, 0] == 1.0
        and (kept or not m.actuator_ctrllimited[actuator])
        and not m.actuator_forcelimited[actuator]
    )


def _adds(file: MjcfFile, joint: int) -> bool:
    m, (actuator, _) = file.model, file.driven_by(joint) or (0, 0.0)
    return bool(m.actuator_armature[actuator] or m.actuator_damping[actuator])


def _joints(file: MjcfFile) -> Iterator[str]:
    m, joints = file.model, range(file.model.njnt)
    types = [file.joint_type(j) for j in joints]

    bent = [j for j in joints if np.any(m.jnt_stiffnesspoly[j])]
    if bent:
        yield f"only linear springs are kept: {_joint_names(file, bent)} also has terms of higher order"
    curved = [j for j in joints if np.any(m.dof_dampingpoly[file.dofs(j)])]
    curved += [j for j in joints if (by := file.driven_by(j)) and np.any(m.actuator_dampingpoly[by[0]])]
    if curved:
        yield f"only linear damping is kept: {_joint_names(file, sorted(set(curved)))} also has terms of higher order"
    cones = [j for j in joints if types[j] == "ball" and m.jnt_limited[j]]
    if cones:
        yield f"not kept: the limits of {_joint_names(file, cones)}"
    uneven = [j for j in joints if m.jnt_actfrclimited[j] and -m.jnt_actfrcrange[j, 0] != m.jnt_actfrcrange[j, 1]]
    if uneven:
        yield f"the effort limit of {_joint_names(file, uneven)} is the larger of two that differ by direction"
    heavy = [j for j in joints if types[j] == "free" and m.dof_armature[file.dofs(j)].any()]
    if heavy:
        yield (
            f"the armature of {_joint_names(file, heavy)} resists the velocity's change in body axes, in MuJoCo in"
            " world axes: the forces differ by armature · ω × v"
        )
    shifted = [j for j in joints if types[j] in ("hinge", "slide") and file.reference(j)]
    if shifted:
        yield f"zero is the pose of the file: q = qpos - ref for {_joint_names(file, shifted)}"


def _surroundings(file: MjcfFile) -> Iterator[str]:
    m = file.model
    if m.ngravcomp:
        lifted = [b for b in range(m.nbody) if m.body_gravcomp[b]]
        yield f"gravity acts in full: gravcomp of {_listed(file.bodies[b] for b in lifted)} has no effect"
    if m.opt.density or m.opt.viscosity:
        yield "no forces of the air or water around (density, viscosity, wind)"
    if m.nmocap:
        moved = [b for b in range(m.nbody) if m.body_mocapid[b] >= 0]
        yield f"bolted where the file has them: mocap bodies {_listed(file.bodies[b] for b in moved)}"


# --- words -----------------------------------------------------------------------------------------


def _count(n: Any, what: str) -> str:
    plural = {"mesh": "meshes"}.get(what, f"{what}s")
    return f"{int(n)} {what if n == 1 else plural}"


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _joint_names(file: MjcfFile, joints: Iterable[int]) -> str:
    names = [file.joints[j] for j in joints]
    return f"joint{'s' * (len(names) > 1)} {_listed(names)}"


def _named(file: MjcfFile, what: str, indices: Iterable[int], sort: str | None = None) -> str:
    names = [file.given_name(sort or what, i) for i in indices]
    called = _listed(n for n in names if n)
    return _count(len(names), what) + (f" ({called})" if called else "")
