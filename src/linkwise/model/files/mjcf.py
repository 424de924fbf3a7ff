"""MJCF files (MuJoCo's format) → :class:`Model`, read by the ``mujoco`` package itself (the extra ``mjcf``).

The package compiles the file, so defaults, includes, frames, angles in degrees, inertias made from geoms and
all else mean what they mean there; this module takes bodies, joints, sites and gravity from the compiled model.

* **Frames.** Every body of the file keeps a frame under its name, at the pose MuJoCo reports for it. Bodies
  without joints are merged into the one that carries them.
* **Several joints** in one body, and joints away from its origin, become massless bodies in between, named
  "body:joint". One joint of the file is one joint here, in the file's order: q and v have MuJoCo's order too.
* **Zeros.** Joint positions count from the pose in the file: q = qpos − ref. Free joints have the pose in the
  world, as in MuJoCo. :class:`~linkwise.interop.mujoco_states.MujocoStates` turns states either way.
* **Armature** is a rotor's reflected inertia; that of an actuator, times its gear squared, is added to it.
* **Looks** are the geoms that MuJoCo's viewer shows (:mod:`.mjcf_visuals`).
* **Springs and dampers** (stiffness, springref, damping) act; **frictionloss, limits** are kept as data of the joints.
* **Loops.** Equality constraints connect and weld are loops of the robot (:mod:`.mjcf_loops`).
* Everything else is listed in ``Model.notes``; what would change the motion is also warned about.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ...arrays import as_numpy
from ...errors import FileError, ModelError, ModelWarning
from ...extras import require
from ...spatial import Transform, rotation_from_quaternion
from ..edit import float_base, merge_fixed
from ..inertia import Inertia
from ..joints.kinds import Fixed, Free, JointKind, Prismatic, Revolute, Spherical
from ..model import Model
from ..parts import Body, Frame, Joint, Limits, Rotor
from . import xml
from .mjcf_couplings import with_equal_joints
from .mjcf_limits import refuse_huge
from .mjcf_loops import loops_in
from .mjcf_notes import in_the_motion, not_in_the_motion
from .mjcf_visuals import read_visuals
from .urdf import UNLIMITED
from .xml import is_text

M = TypeVar("M", bound=Model)

_UNNAMED = "MuJoCo Model"  # what the package calls a model without a name


def read_mjcf(
    source: str | os.PathLike[str],
    floating: bool = False,
    coupled: bool = True,
    *,
    cls: type[M],
    close: Callable[..., M] | None = None,
) -> M:
    """The robot in an MJCF file, given by its path or as text; ``cls`` is the class of model to make.

    With ``floating``, what is bolted to the world moves freely, unless a body of the file does so already. Without
    ``coupled``, equality constraints between joints are not imposed. ``close(model, loop)`` closes a loop; without it,
    equality constraints between bodies are not imposed.
    """
    mujoco = _package()
    label = "XML text" if is_text(source) else os.fspath(source)
    compiled, left_out = compile_mjcf(source)
    file = MjcfFile(mujoco, compiled)
    try:
        model = _model(file, _name(file, source), source, cls)
        if floating and not any(isinstance(j.kind, Free) for j in model.joints):
            model = float_base(model, _unused("root_joint", {j.name for j in model.joints}))
        told: set[int] = set()
        refused: list[str] = []
        if coupled:
            model, told, refused = with_equal_joints(file, model)
        if close is not None:
            model, closed = _closed(file, model, close)
            told = told | closed
    except ModelError as e:
        raise FileError(f"{label}: {e}") from None
    moving = [*left_out, *file.renamed, *refused, *in_the_motion(file, told)]
    model = replace(model, notes=(*moving, *not_in_the_motion(file)))
    if moving:
        # Two levels up: whoever called lw.load.
        said = xml.summary(label, moving, heading="loaded, but not all of it is modelled:")
        warnings.warn(said, ModelWarning, stacklevel=3)
    return model


def _closed(file: MjcfFile, model: M, close: Callable[..., M]) -> tuple[M, set[int]]:
    """The model with the file's loops closed, and the equality constraints that these are."""
    told: set[int] = set()
    for i, loop in loops_in(file)[0].items():
        ends = [model.frame(x)[0] for x in (loop.frame_a, loop.frame_b)]
        if ends[0] != ends[1]:  # (between bodies without a joint between them, there is nothing to hold)
            model = close(model, loop)
        told.add(i)
    return model, told


def _package() -> Any:
    return require("mujoco", "mjcf", "reading MJCF files")


def compile_mjcf(source: str | os.PathLike[str]) -> tuple[Any, list[str]]:
    """The ``mujoco.MjModel`` of a file or text, and what had to be left out of it, in words."""
    mujoco = _package()
    label = "XML text" if is_text(source) else os.fspath(source)
    refuse_huge(source)
    try:
        if is_text(source):
            return mujoco.MjModel.from_xml_string(source), []
        return mujoco.MjModel.from_xml_path(os.fspath(source)), []
    except (ValueError, TypeError, RuntimeError, MemoryError, mujoco.FatalError, mujoco.UnexpectedError) as e:
        said = " ".join(str(e).split())
        missing = "opening file" in said
        if missing and (found := _without_shapes(mujoco, source)):
            return found, [f"shapes from files that are not there were left out: {xml.shortened(said, 200)}"]
        hint = "; meshes and textures must lie where the file says" if missing else ""
        raise FileError(
            f"{xml.shortened(label, 300)}: MuJoCo cannot read it: {xml.shortened(said, 400)}{hint}"
        ) from None


def _without_shapes(mujoco: Any, source: Any) -> Any:
    """The model without its meshes and textures; None where inertias come of them."""
    try:
        spec = mujoco.MjSpec.from_string(source) if is_text(source) else mujoco.MjSpec.from_file(os.fspath(source))
        shaped = [g for g in spec.geoms if g.meshname or g.hfieldname]
        if any(_weighs(mujoco, spec, g) for g in shaped):
            return None
        for part in (*spec.geoms, *spec.sites, *spec.tendons):
            part.material = ""
        for part in (*shaped, *spec.skins, *spec.meshes, *spec.hfields, *spec.materials, *spec.textures):
            spec.delete(part)
        return spec.compile()
    except (ValueError, TypeError):
        return None


def _weighs(mujoco: Any, spec: Any, geom: Any) -> bool:
    """Whether a geom's shape decides its body's inertia."""
    from_geoms = spec.compiler.inertiafromgeom
    automatic = from_geoms == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO
    given = geom.parent.explicitinertial or geom.parent is spec.worldbody
    return not given if automatic else from_geoms == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE


def _name(file: MjcfFile, source: Any) -> str:
    given: str = file.model.names.split(b"\0", 1)[0].decode("utf-8", "replace")
    if given and given != _UNNAMED:
        return given
    return "robot" if is_text(source) else Path(os.fspath(source)).stem or "robot"


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


class MjcfFile:
    """A compiled file, its things under names that are unique here."""

    def __init__(self, mujoco: Any, model: Any) -> None:
        self.mujoco, self.model = mujoco, model
        self.renamed: list[str] = []
        self._moved: list[bool] | None = None
        taken, joints = {"world"}, set[str]()
        self.bodies = ["world", *(self._called("body", b, taken) for b in range(1, model.nbody))]
        self.joints = [self._called("joint", j, joints) for j in range(model.njnt)]
        # In the file each sort of thing has names of its own; here a frame's name stands for one frame.
        taken |= {f"{self.bodies[b]}:{self.joints[j]}" for j, b in enumerate(model.jnt_bodyid)}
        self.sites = [self._called("site", s, taken) for s in range(model.nsite)]

    def given_name(self, sort: str, index: int) -> str:
        """The name in the file, or an empty text."""
        return self.mujoco.mj_id2name(self.model, getattr(self.mujoco.mjtObj, f"mjOBJ_{sort.upper()}"), index) or ""

    def _called(self, sort: str, index: int, taken: set[str]) -> str:
        given = self.given_name(sort, index)
        name = given or f"{sort}{index}"
        if name in taken:
            name = _unused(f"{name}_{sort}", taken)
            if given:
                self.renamed.append(f"the {sort} {given!r} is called {name!r}: its name was taken already")
        taken.add(name)
        return name

    def moved_meshes(self, source: Any) -> list[bool]:
        """Of every mesh, whether the file itself moves or turns its vertices; where that cannot be told, True."""
        if self._moved is None:
            found: list[bool] = []
            try:
                given = self.mujoco.MjSpec
                spec = given.from_string(source) if is_text(source) else given.from_file(os.fspath(source))
                found = [bool(np.any(x.refpos) or not np.array_equal(x.refquat, (1, 0, 0, 0))) for x in spec.meshes]
            except (ValueError, TypeError):
                found = []
            self._moved = found if len(found) == self.model.nmesh else [True] * self.model.nmesh
        return self._moved

    def joint_type(self, joint: int) -> str:
        """ "free", "ball", "slide" or "hinge"."""
        name: str = self.mujoco.mjtJoint(self.model.jnt_type[joint]).name
        return name.removeprefix("mjJNT_").lower()

    def dofs(self, joint: int) -> slice:
        start = int(self.model.jnt_dofadr[joint])
        return slice(start, start + {"free": 6, "ball": 3}.get(self.joint_type(joint), 1))

    def reference(self, joint: int) -> float:
        """qpos of a hinge or slide in the pose of the file."""
        return float(self.model.qpos0[self.model.jnt_qposadr[joint]])

    def driven_by(self, joint: int) -> tuple[int, float] | None:
        """(actuator, gear²) of the actuator that adds armature and damping to a joint, or None."""
        actuator = int(self.model.jnt_actuatorid[joint])
        return None if actuator < 0 else (actuator, float(self.model.actuator_gear[actuator, 0]) ** 2)


# --- the model -------------------------------------------------------------------------------------


def _model(file: MjcfFile, name: str, source: Any, cls: type[M]) -> M:
    m, mujoco = file.model, file.mujoco
    bodies = [part for b in range(1, m.nbody) for part in _body(file, b)]
    sites = [
        Frame(file.sites[s], _carrier(file, m.site_bodyid[s]), at=m.site_pos[s], rotation=_rotation(m.site_quat[s]))
        for s in range(m.nsite)
    ]
    sites += loops_in(file)[1]
    weightless = m.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
    gravity = np.zeros(3) if weightless else np.array(m.opt.gravity)
    base = _unused("base", {*file.bodies, *file.sites, *(b.name for b in bodies)})
    visuals = tuple(read_visuals(file, source))
    return merge_fixed(cls(name, tuple(bodies), tuple(sites), gravity, base_name=base, visuals=visuals))


def _carrier(file: MjcfFile, body: int) -> str | None:
    return None if body == 0 else file.bodies[body]


def _rotation(wxyz: Any) -> np.ndarray:
    return as_numpy(rotation_from_quaternion(np.roll(np.asarray(wxyz, dtype=float), -1)))


def _body(file: MjcfFile, b: int) -> Iterator[Body]:
    """A body of the file: one body here for each of its joints, the last at MuJoCo's frame for it."""
    m, name = file.model, file.bodies[b]
    R = _rotation(m.body_iquat[b])
    inertia = Inertia(float(m.body_mass[b]), m.body_ipos[b], R @ np.diag(m.body_inertia[b]) @ R.T)
    parent = _carrier(file, m.body_parentid[b])
    pose = Transform(_rotation(m.body_quat[b]), np.array(m.body_pos[b]))
    # Where the frame reached so far lies in the axes of MuJoCo's frame of this body.
    reached = np.zeros(3)
    for j in range(m.body_jntadr[b], m.body_jntadr[b] + m.body_jntnum[b]):
        kind = file.joint_type(j)
        anchor = np.array(m.jnt_pos[j]) if kind in ("hinge", "ball") else reached
        pose = Transform.identity() if kind == "free" else Transform(pose.R, pose.apply(anchor - reached))
        joint, reached = _joint(file, j, pose), anchor
        if j == m.body_jntadr[b] + m.body_jntnum[b] - 1 and not anchor.any():
            yield Body(name, joint, inertia, parent)
            return
        step = Body(f"{name}:{file.joints[j]}", joint, parent=parent)
        yield step
        parent, pose = step.name, Transform.identity()
    held = Joint(Fixed(), f"{name}:fixed", at=pose.apply(-reached), rotation=pose.R)
    yield Body(name, held, inertia, parent)


def _joint(file: MjcfFile, j: int, pose: Transform) -> Joint:
    m, own, nv = file.model, file.dofs(j), file.dofs(j).stop - file.dofs(j).start
    armature, damping = np.array(m.dof_armature[own]), np.array(m.dof_damping[own])
    driven = file.driven_by(j)
    if driven is not None and nv == 1:
        actuator, gear_squared = driven
        armature = armature + gear_squared * m.actuator_armature[actuator]
        damping = damping + gear_squared * m.actuator_damping[actuator]
    return Joint(
        _kind(file, j),
        file.joints[j],
        at=pose.l,
        rotation=pose.R,
        limits=_limits(file, j),
        **_spring(file, j),
        damping=damping,
        damping_acts=not _is_off(file, "DAMPER"),
        friction=np.array(m.dof_frictionloss[own]),
        rotor=Rotor(float(armature[0])) if armature[0] > 0 else None,
    )


def _spring(file: MjcfFile, j: int) -> dict[str, Any]:
    """The stiffness and the rest of a joint's spring: q = qpos − ref there too, quaternions xyzw."""
    m = file.model
    stiffness = float(m.jnt_stiffness[j])
    if not stiffness or _is_off(file, "SPRING"):
        return {}
    start, kind = int(m.jnt_qposadr[j]), file.joint_type(j)
    if kind in ("hinge", "slide"):
        return {"stiffness": stiffness, "rest": float(m.qpos_spring[start]) - file.reference(j)}
    given = np.array(m.qpos_spring[start : start + (7 if kind == "free" else 4)])
    return {"stiffness": stiffness, "rest": np.concatenate([given[:-4], np.roll(given[-4:], -1)])}


def _is_off(file: MjcfFile, what: str) -> bool:
    """Whether the file's flags switch springs or dampers off."""
    return bool(file.model.opt.disableflags & getattr(file.mujoco.mjtDisableBit, f"mjDSBL_{what}"))


def _kind(file: MjcfFile, j: int) -> JointKind:
    kind = file.joint_type(j)
    if kind in ("free", "ball"):
        return Free() if kind == "free" else Spherical()
    axis = np.array(file.model.jnt_axis[j])
    return Revolute(axis) if kind == "hinge" else Prismatic(axis)


def _limits(file: MjcfFile, j: int) -> Limits:
    m, limits = file.model, Limits()
    if m.jnt_limited[j] and file.joint_type(j) in ("hinge", "slide"):
        given = [float(x) - file.reference(j) if abs(x) < UNLIMITED else None for x in m.jnt_range[j]]
        limits = replace(limits, lower=given[0], upper=given[1])
    if m.jnt_actfrclimited[j]:
        limits = replace(limits, effort=float(np.abs(m.jnt_actfrcrange[j]).max()))
    return limits
