"""Robots, motions and viewers in the cells of notebooks."""

from __future__ import annotations

import base64
import html
import io
from dataclasses import dataclass

import numpy as np

from .. import shown
from ..model.units import force_units, position_units, velocity_units
from ..robot.robot import Robot
from ..simulation.trajectory import Trajectory, labels
from .motion import Motion
from .pictures import Studio
from .scene import Scene

MOST_ROWS = 40  # joints that are listed
WIDTH, HEIGHT = 240, 190  # of pictures, in pixels


def robot(robot: Robot) -> str:
    """A robot: its picture beside a table of its joints."""
    words = f"{len(robot.bodies)} bodies, nq = {robot.nq}, nv = {robot.nv}, {robot.total_mass:.4g} kg"
    if robot.loops:
        words += f", {len(robot.loops)} loops"
    positions, rates, forces = position_units(robot), velocity_units(robot), force_units(robot)
    rows = []
    for joint, a, b in list(robot.coordinates)[:MOST_ROWS]:
        limits = ["", "", "", ""]
        if b.stop - b.start == 1:
            k = b.start
            limits = [
                _with_unit(robot.lower_limits[k], positions[a.start]),
                _with_unit(robot.upper_limits[k], positions[a.start]),
                _with_unit(robot.velocity_limits[k], rates[k]),
                _with_unit(robot.effort_limits[k], forces[k]),
            ]
        rows.append((shown.text(joint.name), shown.text(joint.kind.kind), _span(a), _span(b), *limits))
    heading = ("joint", "kind", "q", "v", "lower", "upper", "speed", "effort")
    listed = shown.table(rows, heading, right=range(2, 8)) + _more(len(robot.coordinates))
    notes = shown.folded(f"{len(robot.notes)} notes", shown.listing("\n".join(robot.notes))) if robot.notes else ""
    picture = _picture(robot, robot.neutral()[None])
    return shown.titled(robot.name, words, _beside(picture, listed), notes)


def _with_unit(x: float, unit: str) -> str:
    """A limit as it is read; of one that there is not, infinity alone."""
    return f"{shown.number(float(x))} {unit}" if np.isfinite(x) else shown.number(float(x))


def trajectory(run: Trajectory) -> str:
    """A motion: the robot at its start and end, and the course of every position."""
    words = repr(run).partition(": ")[2].rstrip(">")
    q = run.q.reshape(-1, *run.q.shape[-2:])[0]
    if run.batch:
        words += "; below, the first of the batch"
    names = run.labels[0] if run.labels is not None else labels(run.robot)[0] if run.robot is not None else ()
    units = position_units(run.robot) if run.robot is not None else ("",) * q.shape[-1]
    rows = [
        (shown.text(name), unit, shown.number(x[0]), shown.number(x[-1]), shown.curve(x))
        for name, unit, x in list(zip(names, units, q.T))[:MOST_ROWS]
    ]
    listed = shown.table(rows, ("", "", "start", "end", ""), right=(2, 3)) + _more(q.shape[-1])
    pictures = ""
    if run.robot is not None and np.isfinite(q).all():
        pictures = "<br>".join(_picture(run.robot, q, step) for step in (0, len(q) - 1))
    title = "Trajectory" if run.robot is None else f"Trajectory of {run.robot.name}"
    return shown.titled(title, words, _beside(pictures, listed))


@dataclass(frozen=True)
class Embedded:
    """A page that plays a motion, to be shown in a cell of a notebook; ``html`` is its text."""

    html: str
    height: int = 420

    def _repr_html_(self) -> str:
        source = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{source}" width="100%" height="{self.height}" style="border:0"></iframe>'


def live(url: str, height: int = 520) -> str:
    """A running viewer in a cell."""
    return f'<iframe src="{shown.text(url)}" width="100%" height="{height}" style="border:0"></iframe>'


# --- parts ---------------------------------------------------------------------------------------------


def _picture(robot: Robot, q: np.ndarray, step: int = 0) -> str:
    """The robot at one of configurations q (n, nq), in view at all of them; nothing where pillow is missing."""
    try:
        from PIL import Image
    except ImportError:
        return ""
    motion = Motion(robot, np.arange(len(q), dtype=float), q)
    studio = Studio(Scene(robot), motion, aspect=WIDTH / HEIGHT)
    buffer = io.BytesIO()
    # Twice the pixels, for screens that have them.
    Image.fromarray(next(studio.pictures([step], 2 * WIDTH, 2 * HEIGHT, sharpness=1))).save(
        buffer, format="PNG", optimize=True
    )
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="{shown.text(robot.name)}" width="{WIDTH}" height="{HEIGHT}" src="data:image/png;base64,{data}">'


def _beside(picture: str, words: str) -> str:
    return (
        f'<div style="display:flex;gap:1em;align-items:flex-start">{picture and f"<div>{picture}</div>"}{words}</div>'
    )


def _span(where: slice) -> str:
    return str(where.start) if where.stop - where.start == 1 else f"{where.start}–{where.stop - 1}"


def _more(count: int) -> str:
    return f"<div>… and {count - MOST_ROWS} more</div>" if count > MOST_ROWS else ""
