"""Ways to get a robot: load one, build a chain or a random tree, assemble it from parts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ..arguments import file_path, flag, shown
from ..errors import InputError, UnknownNameError, did_you_mean
from ..model import builders, edit, robots
from ..model.inertia import Inertia
from ..model.joints.kinds import Free
from ..model.model import STANDARD_GRAVITY
from ..model.parts import Body, Frame
from ..model.visuals import Visual
from ..whole_files import write_text
from .robot import Robot


def load(source: str | os.PathLike[str], *, floating: bool = False, coupled: bool = True, loops: bool = True) -> Robot:
    """A built-in robot by name (see :func:`linkwise.robots`), or the robot of a URDF, MJCF or SDF file.

    ``package://name/rest`` is a file of a ROS package, in the folders of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH;
    ``ur10e_description`` one that the package robot_descriptions knows; and .xacro files are expanded by xacro, where
    these packages are installed.

    ``floating`` puts the base link on a free joint. Mimic joints of URDF and SDF files and equal joints of MJCF files
    are coupled (:meth:`Robot.couple`), unless ``coupled`` is False. The loops of built-in mechanisms, of bodies that an
    MJCF file connects or welds, and of joints in an SDF file that close a chain, are closed (:meth:`Robot.close`),
    unless ``loops`` is False. What is odd about a file is in ``robot.notes``.
    """
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(f"load takes a robot's name or a path, got {shown(source)}")
    name = os.fspath(source)
    flag(floating, "floating")
    if isinstance(source, str) and name in robots.names():
        robot = robots.build(name, cls=Robot)
        floats = any(b.parent is None and isinstance(b.joint.kind, Free) for b in robot.bodies)
        robot = edit.float_base(robot) if floating and not floats else robot
        robot = robot if flag(coupled, "coupled") else edit.uncouple(robot)
        closing = robots.loops(name) if flag(loops, "loops") else ()
        return robot.close(*closing) if closing else robot
    from ..model.files import xml
    from ..model.files.packages import SCHEME, described, expanded_xacro, package_file

    if name.startswith(SCHEME):
        name = package_file(name)
    if name.isidentifier() and name.endswith("_description") and not os.path.exists(name):
        name = described(name)
    if not xml.is_text(name) and name.endswith(".xacro"):
        name = expanded_xacro(name)
    if isinstance(source, str) and not xml.is_text(name) and not any(c in name for c in "./\\"):
        _refuse_unknown(name)
    tag = xml.root_tag(name)
    close = (lambda robot, loop: robot.close(loop)) if flag(loops, "loops") else None
    if tag == "mujoco":
        from ..model.files.mjcf import read_mjcf

        return read_mjcf(name, floating=floating, coupled=flag(coupled, "coupled"), cls=Robot, close=close)
    if tag == "sdf":
        from ..model.files.sdf import read_sdf

        return read_sdf(name, floating=floating, coupled=flag(coupled, "coupled"), cls=Robot, close=close)
    from ..model.files.urdf import read_urdf

    return read_urdf(name, floating=floating, coupled=flag(coupled, "coupled"), cls=Robot)


def _refuse_unknown(name: str) -> None:
    """Refuse what is neither a built-in robot nor a file; os.path.exists takes names that are too long for files."""
    if not os.path.exists(name):
        meant = did_you_mean(name, robots.names()) or f"built in are {', '.join(robots.names())}"
        raise UnknownNameError(f"no built-in robot is named {shown(name)}, and no such file exists; {meant}")


def save_urdf(robot: Robot, path: str | os.PathLike[str], *, floating_root: bool = False) -> None:
    """Write a robot as a URDF file that loads as the same robot; see :meth:`Robot.to_urdf`."""
    if not isinstance(robot, Robot):
        raise InputError(f"save_urdf writes a robot, got {shown(robot)}")
    where = file_path(path)
    write_text(where, robot.to_urdf(floating_root=floating_root, folder=where.parent))


def save_mjcf(robot: Robot, path: str | os.PathLike[str]) -> None:
    """Write a robot as an MJCF file, for MuJoCo; see :meth:`Robot.to_mjcf`."""
    if not isinstance(robot, Robot):
        raise InputError(f"save_mjcf writes a robot, got {shown(robot)}")
    where = file_path(path)
    write_text(where, robot.to_mjcf(folder=where.parent))


def robot_names() -> list[str]:
    """The names of the built-in robots."""
    return robots.names()


def chain(n: int, *, joint: Any = "revolute", seed: int | None = None) -> Robot:
    """A serial chain of n links, link1 … linkn on joint1 … jointn, with a frame "tip" at its end.

    Without ``seed`` every link is a rod of 1 kg and 1 m along x, with axes y and z in turn; with one, offsets, axes and
    inertias are random. ``joint`` is a kind, its name, or "mixed".
    """
    return builders.chain(n, joint=joint, seed=seed, cls=Robot)


def random_tree(n: int, *, seed: int = 0, **options: Any) -> Robot:
    """A random tree of n bodies, body1 … bodyn, with mixed joints, the same for the same seed.

    ``options``: ``joints`` (names or kinds that may occur), ``floating`` (body1 on a free joint, carrying the others),
    ``branching`` (0, a chain, to 1) and ``rotors``.
    """
    return builders.random_tree(n, seed=seed, cls=Robot, **options)


def assemble(
    name: str,
    bodies: Iterable[Body],
    frames: Iterable[Frame] = (),
    *,
    gravity: Any = STANDARD_GRAVITY,
    base: Inertia | None = None,
    visuals: Iterable[Visual] = (),
) -> Robot:
    """A robot from bodies, each with its joint and its parent's name, in any order; ``visuals`` say how it looks."""
    return builders.assemble(name, bodies, frames, gravity, base, visuals=visuals, cls=Robot)
