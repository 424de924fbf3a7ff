"""The drawings of docs/algebra.md: a two-link arm and what is carried along it, sweeps, patterns of operators; and a
guided joint, of docs/conventions.md.

Positions, velocities and forces are those of the robot; only labels are placed by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

import linkwise as lw

INK, PALE, GRID = "#1f2933", "#7b8794", "#e4e7eb"
OUTWARD, INWARD, LINK = "#1b7f5c", "#b3431e", "#9aa5b1"
X_AXIS, Z_AXIS = "#c0392b", "#2457a6"


# --- the two-link arm ------------------------------------------------------------------------------------


def two_links() -> Figure:
    """The arm with its frames, the velocities carried outward, the forces carried inward."""
    arm = lw.load("double_pendulum")
    q = np.array([0.3, 0.5])
    figure = Figure(figsize=(11.0, 3.5), facecolor="white")
    frames, velocities, forces = figure.subplots(1, 3)
    for ax, title in ((frames, "Frames"), (velocities, "Velocities, outward"), (forces, "Forces, inward")):
        _arm(ax, arm, q)
        ax.set_title(title, fontsize=12, color=INK, loc="left", weight="bold")
    _frames(frames, arm, q)
    _velocities(velocities, arm, q, np.array([0.8, 0.5]))
    _forces(forces, arm, q)
    figure.subplots_adjust(left=0.01, right=0.99, top=0.91, bottom=0.01, wspace=0.02)
    return figure


def _place(arm: lw.Robot, q: np.ndarray, frame: str) -> np.ndarray:
    return np.asarray(arm.pose(q, frame)[1])[[0, 2]]


def _arm(ax: Any, arm: lw.Robot, q: np.ndarray) -> None:
    joints = np.array([_place(arm, q, name) for name in ("upper", "lower", "tip")])
    ax.plot(*joints.T, color=LINK, linewidth=11, solid_capstyle="round", zorder=1)
    ax.plot([-0.25, 0.25], [0.08, 0.08], color=INK, linewidth=3)
    ax.scatter(*joints[:2].T, s=60, color="white", edgecolor=INK, zorder=3)
    ax.set(xlim=(-1.6, 2.65), ylim=(-2.2, 0.55), aspect="equal")
    ax.axis("off")


def _arrow(ax: Any, start: np.ndarray, end: np.ndarray, colour: str, width: float = 2.0) -> None:
    how = {"arrowstyle": "-|>", "mutation_scale": 13, "linewidth": width, "zorder": 4}
    ax.add_patch(FancyArrowPatch(start, end, color=colour, **how))


def _turn(ax: Any, centre: np.ndarray, rate: float, colour: str, radius: float = 0.2) -> None:
    """A turn about y, which points into the page: positive ones go clockwise here, z up and x to the right."""
    ends = [centre + radius * np.array([np.cos(angle), np.sin(angle)]) for angle in (2.6, 0.3)]
    arc = "arc3,rad=-0.75" if rate > 0 else "arc3,rad=0.75"
    how = {"connectionstyle": arc, "arrowstyle": "-|>", "mutation_scale": 11, "zorder": 4}
    ax.add_patch(FancyArrowPatch(*(ends if rate > 0 else ends[::-1]), color=colour, **how))


def _say(ax: Any, where: np.ndarray, text: str, colour: str = INK, **how: Any) -> None:
    ax.text(*where, text, color=colour, fontsize=9.5, va="center", **how)


def _frames(ax: Any, arm: lw.Robot, q: np.ndarray) -> None:
    names = {"upper": "the upper link's,\nat its joint", "lower": "the lower link's,\nat its joint", "tip": "the tip's"}
    for frame, name in names.items():
        R, _ = arm.pose(q, frame)
        p = _place(arm, q, frame)
        for axis, colour, letter in ((0, X_AXIS, "x"), (2, Z_AXIS, "z")):
            end = p + 0.38 * R[[0, 2], axis]
            _arrow(ax, p, end, colour)
            _say(ax, p + 0.47 * R[[0, 2], axis], letter, colour, ha="center")
        _say(ax, p + np.array([0.62, -0.04]), name, ha="left")
    _say(ax, np.array([-1.55, -2.12]), "y points into the page, both joints turn about it", PALE)


def _velocities(ax: Any, arm: lw.Robot, q: np.ndarray, v: np.ndarray) -> None:
    lines = {
        "upper": "V(2) = H*(2) θ̇(2)\nturns, its joint rests",
        "lower": "V(1) = φ*(2,1) V(2) + H*(1) θ̇(1)\nturns faster, its joint moves",
        "tip": "V(0) = φ*(1,0) V(1)",
    }
    for frame, line in lines.items():
        twist = arm.velocity(q, v, frame)
        p = _place(arm, q, frame)
        _turn(ax, p, twist[1], OUTWARD, 0.15 + 0.06 * twist[1])
        if np.hypot(twist[3], twist[5]) > 1e-9:
            _arrow(ax, p, p + 0.35 * twist[[3, 5]], OUTWARD, 2.4)
        _say(ax, p + np.array([0.26, -0.16]), line, OUTWARD, ha="left")


def _forces(ax: Any, arm: lw.Robot, q: np.ndarray) -> None:
    """At rest: what holds the arm against its weight, at each joint."""
    rest = np.zeros(2)
    held = arm.link_forces(q, rest, rest)
    lines = {
        "lower": "f(1) = M(1) α(1)\nholds the lower link",
        "upper": "f(2) = φ(2,1) f(1) + M(2) α(2)\nholds both",
    }
    for body, line in lines.items():
        R, _ = arm.pose(q, body)
        moment, force = (R @ x for x in np.split(held[arm.body(body)], 2))
        p = _place(arm, q, body)
        _arrow(ax, p, p + 0.022 * force[[0, 2]], INWARD, 2.4)
        _turn(ax, p, moment[1], INWARD, 0.16 + 0.008 * abs(moment[1]))
        _say(ax, p + np.array([0.26, -0.16]), line, INWARD, ha="left")
    for body in arm.bodies:
        R, p = arm.pose(q, body.name)
        centre = (np.asarray(p) + np.asarray(R) @ body.inertia.com)[[0, 2]]
        _arrow(ax, centre, centre + 0.022 * np.array([0.0, -9.81 * body.inertia.mass]), PALE, 1.4)
        _say(ax, centre + np.array([-0.22, -0.13]), "mg", PALE, ha="right")


# --- sweeps ------------------------------------------------------------------------------------------------


def sweeps() -> Figure:
    """𝓜x = HφMφ*H*x as boxes and arrows: outward, across, inward."""
    figure = Figure(figsize=(11.0, 4.3), facecolor="white")
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set(xlim=(-1.9, 10.4), ylim=(-0.75, 4.35))
    ax.axis("off")
    columns = {2.0: "n", 4.6: "k+1", 7.2: "k", 9.8: "1"}
    rows = {3.6: ("x({})", GRID), 2.6: ("α({})", "#d5efe4"), 1.1: ("f({})", "#f7dccf"), 0.1: ("y({})", GRID)}
    steps = {3.6: ("H*", OUTWARD), 2.6: ("M", INK), 1.1: ("H", INWARD)}
    for x, k in columns.items():
        for y, (word, colour) in rows.items():
            _box(ax, x, y, word.format(k), colour)
        for (y, (letter, colour)), below in zip(steps.items(), (2.6, 1.1, 0.1)):
            _arrow(ax, np.array([x, y - 0.26]), np.array([x, below + 0.26]), colour, 1.6)
            _say(ax, np.array([x + 0.12, (y + below) / 2]), f"{letter}({k})", colour, ha="left")
    _along(ax, columns, 2.6, "φ*", OUTWARD, outward=True)
    _along(ax, columns, 1.1, "φ", INWARD, outward=False)
    words = {
        3.6: ("joint space", INK),
        2.6: ("φ*: outward,\nbase to tip", OUTWARD),
        1.1: ("φ: inward,\ntip to base", INWARD),
        0.1: ("joint space", INK),
    }
    for y, (word, colour) in words.items():
        _say(ax, np.array([-1.75, y]), word, colour, ha="left", weight="bold")
    _say(ax, np.array([-1.75, 1.85]), "M: each link\nby itself", INK, ha="left", weight="bold")
    _say(ax, np.array([2.0, -0.5]), "base", PALE, ha="center")
    _say(ax, np.array([9.8, -0.5]), "tip", PALE, ha="center")
    return figure


def _box(ax: Any, x: float, y: float, word: str, colour: str) -> None:
    ax.add_patch(
        FancyBboxPatch((x - 0.42, y - 0.2), 0.84, 0.4, boxstyle="round,pad=0.05", facecolor=colour, edgecolor="none")
    )
    _say(ax, np.array([x, y]), word, ha="center")


def _along(ax: Any, columns: dict[float, str], y: float, letter: str, colour: str, outward: bool) -> None:
    """Arrows from box to box; dots between n and k+1, and between k and 1, for the links left out."""
    for (left, inner), (right, outer) in zip(list(columns.items())[:-1], list(columns.items())[1:]):
        start, end = np.array([left + 0.5, y]), np.array([right - 0.5, y])
        _arrow(ax, *((start, end) if outward else (end, start)), colour, 2.4)
        named = (inner, outer) == ("k+1", "k")
        _say(ax, (start + end) / 2 + np.array([0.0, 0.2]), f"{letter}(k+1,k)" if named else "…", colour, ha="center")


# --- patterns ----------------------------------------------------------------------------------------------


def patterns() -> Figure:
    """Which entries of the operators of a chain of six hinges are not zero."""
    robot = lw.chain(6)
    op = robot.operators(robot.random_configuration(0))
    colour = op.I_joints + op.H @ op.phi @ op.K
    white = op.I_joints - op.H @ op.psi @ op.K
    bodies = {"φ": op.phi, "φ*": op.phi.T, "ψ": op.psi, "M": op.M, "P": op.P}
    joints = {"𝓜": op.mass, "I + HφK": colour, "D": op.D, "I − HψK": white, "𝓜⁻¹": op.mass.inv()}
    figure = Figure(figsize=(11.0, 5.2), facecolor="white")
    for axes, operators in zip(figure.subplots(2, 5), (bodies, joints)):
        for ax, (name, operator) in zip(axes, operators.items()):
            _pattern(ax, name, operator.dense(), 6 if operators is bodies else 1)
    figure.subplots_adjust(left=0.02, right=0.98, top=0.93, bottom=0.05, wspace=0.12, hspace=0.3)
    return figure


def _pattern(ax: Any, name: str, matrix: np.ndarray, block: int) -> None:
    filled = np.abs(matrix) > 1e-12 * np.abs(matrix).max()
    ax.imshow(np.where(filled, 1.0, np.nan), cmap="Blues", vmin=0, vmax=1.3, interpolation="nearest")
    n = matrix.shape[0]
    for edge in np.arange(-0.5, n, block):
        ax.axhline(edge, color=GRID, linewidth=0.8)
        ax.axvline(edge, color=GRID, linewidth=0.8)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_title(name.replace("𝓜", r"$\mathcal{M}$"), fontsize=11, color=INK, loc="left")
    ax.set_xlabel(f"{n} × {n}", fontsize=9, color=PALE)
    for side in ax.spines.values():
        side.set_color(PALE)


# --- a guided joint ------------------------------------------------------------------------------------------


def guided(robot: lw.Robot) -> Figure:
    """A body on a guided joint in the x-y plane: where it is and how it moves, and its mass matrix along the way."""
    figure = Figure(figsize=(9.0, 3.6), facecolor="white")
    path, mass = figure.subplots(1, 2, width_ratios=(1.0, 1.35))
    turn = np.linspace(0.0, 2 * np.pi, 181)[:, None]
    body = robot.bodies[0].name
    path.plot(*robot.pose(turn, body)[1][:, :2].T, color=LINK, linewidth=2.0, zorder=1)
    for q in turn[:-1:30]:
        R, p = robot.pose(q, body)
        for axis, colour in ((0, X_AXIS), (1, Z_AXIS)):
            path.plot(*np.array([p, p + 0.016 * R[:, axis]])[:, :2].T, color=colour, linewidth=2.2, zorder=2)
        v = robot.velocity(q, np.ones(1), body)[3:5]
        _arrow(path, p[:2], p[:2] + 0.8 * v, OUTWARD)
        path.scatter(*p[:2], s=34, color="white", edgecolor=INK, zorder=5)
        away = (p[:2] - np.array([0.0, 0.12])) * 0.58
        _say(path, p[:2] - away, f"{np.degrees(q[0]):.0f}°", PALE, ha="center")
    path.set(aspect="equal", xlim=(-0.075, 0.085), ylim=(0.052, 0.188))
    path.axis("off")
    path.set_title("Its axes, and its velocity for q̇ = 1", fontsize=11, color=INK, loc="left", weight="bold")
    mass.plot(np.degrees(turn[:, 0]), 1e3 * robot.mass_matrix(turn)[:, 0, 0], color=INWARD, linewidth=2.0)
    mass.set(xlabel="q [°]", xlim=(0, 360), xticks=range(0, 361, 60))
    mass.grid(color=GRID)
    mass.set_axisbelow(True)
    mass.spines[["top", "right"]].set_visible(False)
    mass.set_title(r"$\mathcal{M}$(q) [10⁻³ kg m²]", fontsize=11, color=INK, loc="left", weight="bold")
    figure.subplots_adjust(left=0.01, right=0.98, top=0.9, bottom=0.14, wspace=0.2)
    return figure
