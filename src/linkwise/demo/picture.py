"""The picture of ``linkwise demo``: the fall in space, its joints, its energies, and the factored mass matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Normalize, SymLogNorm
from matplotlib.figure import Figure

from ..robot.robot import Robot
from ..simulation.trajectory import Trajectory
from ..view.style import COLOURS, GRID, INK, KINETIC, PALE, POTENTIAL, TOTAL
from .story import floats

SHOWN_INSTANTS = 7
MOST_NUMBERS = 8  # matrices up to this size show their entries
MOST_LABELLED = 8  # curves up to this many are named


def draw(fall: Trajectory) -> Figure:
    """Four panels, 13 × 9.6 inches."""
    figure = Figure(figsize=(13.0, 9.6), dpi=120, facecolor="white")
    FigureCanvasAgg(figure)
    upper = figure.add_gridspec(
        1, 2, left=0.03, right=0.975, top=0.865, bottom=0.44, wspace=0.12, width_ratios=(1, 1.05)
    )
    energy = figure.add_gridspec(1, 1, left=0.065, right=0.365, top=0.335, bottom=0.065)
    factors = figure.add_gridspec(1, 1, left=0.41, right=0.985, top=0.335, bottom=0.148)
    how = "thrown and left alone" if fall.v[0].any() else "released with its motors off"
    what = f"{_robot(fall).nv} degrees of freedom, {fall.time[-1]:g} s, no friction, no end stops, no floor"
    figure.text(0.03, 0.955, f"{_robot(fall).name}, {how}", fontsize=17, weight="bold", color=INK)
    figure.text(0.03, 0.928, what, fontsize=11, color=PALE)
    _draw_motion(figure.add_subplot(upper[0], projection="3d"), fall)
    _draw_joints(figure.add_subplot(upper[1]), fall)
    _draw_energy(figure.add_subplot(energy[0]), fall)
    _draw_factors(figure, factors[0], fall)
    return figure


def _robot(fall: Trajectory) -> Robot:
    assert fall.robot is not None  # it comes from a simulation, not from a file
    return fall.robot


# --- the motion in space -----------------------------------------------------------------------------


def stick_figure(fall: Trajectory) -> np.ndarray:
    """(segments, 2, N, 3): the ends of a line from every body's parent to it, and from tip bodies to their tips."""
    robot = _robot(fall)
    origins = [robot.pose(fall.q, b.name)[1] for b in robot.bodies]
    held = np.zeros_like(origins[0])
    ends = [(held if p < 0 else origins[p], o) for p, o in zip(robot.parents, origins) if not _flies(robot, p)]
    for tip in robot.tips:
        ends.append((origins[robot.frame(tip)[0]], robot.pose(fall.q, tip)[1]))
    return np.array(ends)


def _flies(robot: Robot, parent: int) -> bool:
    """A body that floats is not tied to the world by a line."""
    return parent < 0 and floats(robot)


def _draw_motion(ax: Any, fall: Trajectory) -> None:
    from matplotlib import colormaps

    segments = stick_figure(fall)
    last = len(fall.time) - 1
    instants = np.unique(np.linspace(0, last, SHOWN_INSTANTS).astype(int))
    shade = colormaps["viridis_r"]
    for i in instants:
        age = i / last
        colour = shade(0.12 + 0.8 * age)
        width, alpha = (3.4, 1.0) if i in (0, last) else (2.0, 0.75)
        for start, end in segments[:, :, i]:
            x, y, z = np.stack([start, end]).T
            ax.plot(x, y, z, color=colour, linewidth=width, alpha=alpha, solid_capstyle="round")
        joints = segments[:, 1, i]
        ax.scatter(*joints.T, s=12 if width > 3 else 5, color=[colour], alpha=alpha, depthshade=False)
    for tip in _robot(fall).tips:
        trace = _robot(fall).pose(fall.q, tip)[1]
        ax.plot(*trace.T, color=KINETIC, linewidth=1.0, alpha=0.9)
    _equal_box(ax, segments)
    first, final = (shade(0.12), shade(0.92))
    figure, ends = ax.get_figure(), ((first, "0 s"), (final, f"{fall.time[-1]:g} s"), (KINETIC, "path of the tip"))
    figure.text(0.03, 0.882, "The motion in space", fontsize=12, color=INK, weight="bold")
    for i, (colour, label) in enumerate(ends):
        figure.text(0.03, 0.858 - 0.022 * i, "━━", color=colour, fontsize=10)
        figure.text(0.057, 0.858 - 0.022 * i, label, color=INK, fontsize=10)
    if not _flies(_robot(fall), -1):
        ax.scatter(0, 0, 0, s=70, marker="s", color=INK, depthshade=False)
    ax.set_xlabel("x [m]", color=PALE)
    ax.set_ylabel("y [m]", color=PALE)
    ax.set_zlabel("z [m]", color=PALE)


def _equal_box(ax: Any, segments: np.ndarray) -> None:
    """The same scale on all three axes."""
    points = segments.reshape(-1, 3)
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.maximum(high - low, 0.4 * (high - low).max())
    middle = 0.5 * (low + high)
    for axis, c, s in zip("xyz", middle, span):
        getattr(ax, f"set_{axis}lim")(c - 0.52 * s, c + 0.52 * s)
    ax.set_box_aspect(span, zoom=1.12)
    ax.view_init(elev=18, azim=-58)
    for pane in (ax.xaxis, ax.yaxis, ax.zaxis):
        pane.set_pane_color((1, 1, 1, 0))
        pane._axinfo["grid"]["color"] = GRID
        pane.set_tick_params(labelsize=8, colors=PALE)
        pane.line.set_color(PALE)
    ax.locator_params(nbins=5)
    ax.locator_params(axis="y", nbins=3)


# --- curves ------------------------------------------------------------------------------------------


def _plain(ax: Any, title: str, ylabel: str) -> None:
    ax.set_title(title, loc="left", fontsize=12, color=INK, weight="bold")
    ax.set_ylabel(ylabel, color=PALE)
    ax.set_xlabel("time [s]", color=PALE)
    ax.grid(color=GRID, linewidth=0.8)
    ax.tick_params(colors=PALE, labelsize=9)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(PALE)


def _draw_joints(ax: Any, fall: Trajectory) -> None:
    robot = _robot(fall)
    curves = [
        (j.name, fall.q[:, a][:, 0], j.kind.kind) for j, a, _ in robot.coordinates if j.kind.nq == 1 and j.kind.nv == 1
    ]
    slides = any(kind == "prismatic" for _, _, kind in curves)
    _plain(ax, "Joint positions", "angle [rad], displacement [m]" if slides else "angle [rad]")
    labelled = len(curves) <= MOST_LABELLED
    for i, (_, values, _) in enumerate(curves):
        ax.plot(fall.time, values, color=COLOURS[i % len(COLOURS)], linewidth=2.0 if labelled else 1.1)
    ax.set_xlim(0, fall.time[-1])
    if labelled:
        _name_ends(ax, fall.time[-1], [(name, float(x[-1]), COLOURS[i]) for i, (name, x, _) in enumerate(curves)])
    elif curves:
        ax.text(0.99, 0.02, f"{len(curves)} joints", transform=ax.transAxes, ha="right", color=PALE)
    else:
        ax.text(0.5, 0.5, "no joint has a single position", transform=ax.transAxes, ha="center", color=PALE)


def _name_ends(ax: Any, at: float, ends: list[tuple[str, float, str]]) -> None:
    """Names at the curves' right ends, pushed apart where they would overlap."""
    low, high = ax.get_ylim()
    gap = 0.052 * (high - low)
    heights: list[float] = []
    ordered = sorted(ends, key=lambda e: e[1])
    for _, y, _ in ordered:
        heights.append(max(y, heights[-1] + gap) if heights else max(y, low))
    for i in range(len(heights) - 1, -1, -1):
        ceiling = high if i == len(heights) - 1 else heights[i + 1] - gap
        heights[i] = min(heights[i], ceiling)
    prefixes = {name.partition("_")[0] for name, _, _ in ordered}
    shared = len(ordered) > 1 and len(prefixes) == 1 and all("_" in name for name, _, _ in ordered)
    for (name, _, colour), y in zip(ordered, heights):
        label = name.partition("_")[2] if shared else name
        style = {"va": "center", "color": colour, "fontsize": 9, "annotation_clip": False}
        ax.annotate(label, (at, y), xytext=(6, 0), textcoords="offset points", **style)
    box = ax.get_position()
    ax.set_position((box.x0, box.y0, box.width - 0.045, box.height))


def _draw_energy(ax: Any, fall: Trajectory) -> None:
    _plain(ax, "Energy account", "energy [J]")
    kinetic, rise = fall.energy.kinetic, fall.energy.potential - fall.energy.potential[0]
    drift = np.abs(fall.energy.drift).max()
    for label, values, colour, width in (
        ("kinetic", kinetic, KINETIC, 2.2),
        ("potential, from its start", rise, POTENTIAL, 2.2),
        (f"total (moves by {drift:.0e} J)", kinetic + rise, TOTAL, 2.6),
    ):
        ax.plot(fall.time, values, color=colour, linewidth=width, label=label)
    ax.fill_between(fall.time, 0, kinetic, color=KINETIC, alpha=0.08, linewidth=0)
    ax.fill_between(fall.time, 0, rise, color=POTENTIAL, alpha=0.08, linewidth=0)
    ax.set_xlim(0, fall.time[-1])
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.35 * (high - low))
    legend = ax.legend(loc="upper left", frameon=False, fontsize=10)
    for text in legend.get_texts():
        text.set_color(INK)


# --- the factored mass matrix ------------------------------------------------------------------------


def _draw_factors(figure: Figure, where: Any, fall: Trajectory) -> None:
    """𝓜 = (I + HφK) D (I + HφK)* at the start, as three matrices."""
    robot, q = _robot(fall), fall.q[0]
    factor, D = robot.innovations_factors(q)
    mass = robot.mass_matrix(q)
    inner = where.subgridspec(1, 7, width_ratios=(1, 0.11, 1, 0.07, 1, 0.07, 1), wspace=0.0)
    box = where.get_position(figure)
    title = "Its mass matrix, and the same factored by the algebra"
    caption = (
        "In the starting posture, SI units. The inverse of each factor is known, so forces become accelerations\n"
        "by one sweep inward, one division per joint, and one sweep outward."
    )
    figure.text(box.x0, box.y0 - 0.095, caption, fontsize=10, color=PALE)
    figure.text(box.x0, box.y1 + 0.013, title, fontsize=12, color=INK, weight="bold")
    inertia_scale, unit_scale = _norm(mass, D), _norm(factor)
    panels = (
        (0, mass, r"$H\,\phi\,M\,\phi^*H^*$", "PuOr_r", inertia_scale),
        (2, factor, r"$I + H\phi K$", "PRGn", unit_scale),
        (4, D, r"$D$", "PuOr_r", inertia_scale),
        (6, factor.T, r"$(I + H\phi K)^*$", "PRGn", unit_scale),
    )
    for column, matrix, label, colours, norm in panels:
        ax = figure.add_subplot(inner[column])
        _heat_map(ax, matrix, label, colours, norm)
    for column, sign in ((1, "="), (3, "·"), (5, "·")):
        ax = figure.add_subplot(inner[column])
        ax.set_axis_off()
        ax.text(0.5, 0.5, sign, transform=ax.transAxes, ha="center", va="center", fontsize=15, color=INK)


def _norm(*matrices: np.ndarray) -> Normalize:
    """Colours symmetric about zero, and compressed, so that small entries show beside large ones."""
    largest = max(float(np.abs(m).max()) for m in matrices)
    return SymLogNorm(linthresh=0.02 * largest, vmin=-largest, vmax=largest)


def _heat_map(ax: Any, matrix: np.ndarray, label: str, colours: str, norm: Normalize) -> None:
    ax.imshow(np.where(np.abs(matrix) < 1e-12, np.nan, matrix), cmap=colours, norm=norm, interpolation="nearest")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlabel(label, fontsize=13, color=INK, labelpad=6)
    for spine in ax.spines.values():
        spine.set_color(PALE)
    n = len(matrix)
    if n <= MOST_NUMBERS:
        for i in range(n):
            for j in range(n):
                x = matrix[i, j]
                if abs(x) >= 5e-3:
                    dark = abs(norm(x) - 0.5) > 0.36
                    shown = f"{x:.2f}".replace("0.", ".", 1) if abs(x) < 1 else f"{x:.2g}"
                    colour = "white" if dark else INK
                    ax.text(j, i, shown, ha="center", va="center", fontsize=7, color=colour)
