"""Looking at robots: a viewer in the browser, stills, animations and pages, and plots (``lw.plots``).

The viewer needs the extra ``view``, pictures and plots the extra ``plot``; they are loaded when used.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ModelWarning
from ..progress import in_notebook
from ..robot.robot import Robot
from .motion import Motion, as_motion
from .scene import Scene

if TYPE_CHECKING:
    from .notebook import Embedded
    from .viewer import Viewer

__all__ = ["Motion", "Scene", "embed", "open", "save"]


def open(
    trajectory: Any = None,
    robot: Robot | None = None,
    *,
    external: Any = None,
    show: Sequence[str] = ("visuals",),
    mesh_folders: Sequence[str | os.PathLike[str]] = (),
    meshes: bool = True,
    host: str = "127.0.0.1",
    port: int = 8080,
    browser: bool | None = None,
) -> Viewer:
    """Show a trajectory, or a robot to pose, in the browser; gives the running :class:`Viewer`.

    ``trajectory`` is what ``lw.simulate`` gives, a :class:`Motion`, one configuration (nq,), or a robot. ``external``
    (n, bodies, 6) are forces to draw; ``show`` lists what is visible at first; ``mesh_folders`` are where
    ``package://`` names are looked for. With ``host="0.0.0.0"`` other machines see it too. A taken ``port`` gives the
    next free one; ``browser`` opens it there, and is not done in notebooks unless asked for, as a viewer shows itself
    in the cell that it ends. ``viewer.wait()`` keeps a script alive.
    """
    from .viewer import Viewer

    motion = _motion(trajectory, robot, external)
    scene = Scene(motion.robot, tuple(mesh_folders), meshes)
    viewer = Viewer(scene, motion, show=show, host=host, port=port)
    if not in_notebook() if browser is None else browser:
        viewer.open_browser()
    return viewer


def embed(
    trajectory: Any = None,
    robot: Robot | None = None,
    *,
    external: Any = None,
    show: Sequence[str] = ("visuals",),
    mesh_folders: Sequence[str | os.PathLike[str]] = (),
    meshes: bool = True,
    rate: float = 20.0,
    height: int = 420,
) -> Embedded:
    """A trajectory, or a robot, in a cell of a notebook: it plays and turns there, without a server, once saved too.

    ``rate`` is pictures a second, ``height`` that of the cell in pixels. The other arguments are those of :func:`open`.
    """
    from .notebook import Embedded
    from .page import page

    motion = _motion(trajectory, robot, external)
    scene = Scene(motion.robot, tuple(mesh_folders), meshes)
    return Embedded(page(scene, motion, show, rate), height)


def save(
    path: str | os.PathLike[str],
    trajectory: Any = None,
    robot: Robot | None = None,
    *,
    external: Any = None,
    show: Sequence[str] = ("visuals",),
    mesh_folders: Sequence[str | os.PathLike[str]] = (),
    meshes: bool = True,
    size: tuple[int, int] = (640, 480),
    rate: float | None = None,
    time: float = 0.0,
) -> Path:
    """Write a picture (.png), an animation (.gif, .webp, .mp4) or a page that plays offline (.html) of a trajectory.

    ``show`` lists what is drawn, from ``linkwise.view.pictures.LAYERS``; ``size`` is in pixels; ``rate`` is pictures
    a second (25 in a .gif, whose times are hundredths of seconds, otherwise 30); ``time`` [s] is the instant of a
    still. The other arguments are those of :func:`open`.
    """
    from . import files

    files.checked(path)
    motion = _motion(trajectory, robot, external)
    scene = Scene(motion.robot, tuple(mesh_folders), meshes)
    if scene.missing:
        said = f"{len(scene.missing)} meshes of {scene.robot.name!r} are not drawn, the first: {scene.missing[0]}"
        warnings.warn(said, ModelWarning, stacklevel=2)
    return files.save(path, motion, scene, show, size, rate, time)


def _motion(trajectory: Any, robot: Robot | None, external: Any) -> Motion:
    if isinstance(trajectory, Robot):
        trajectory, robot = None, trajectory
    return as_motion(trajectory, robot, external)
