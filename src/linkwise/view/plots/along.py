"""Plots along a trajectory: joint histories, the energy account, phase portraits, manipulability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...robot.robot import Robot
from ...simulation.energy import EnergyAccount
from .. import style
from ..motion import Motion, as_motion, velocity_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PORTRAITS = 16


def joints(trajectory: Any, robot: Robot | None = None, joints: Sequence[str] | None = None) -> Figure:
    """Positions, velocities and forces of the joints against time, as far as they are known.

    ``joints`` are the names of those shown, all by default. Position limits are drawn where a joint comes near them.
    """
    motion = as_motion(trajectory, robot)
    chosen = _chosen(motion.robot, joints)
    rows = [(_position_rows, "position"), *((_velocity_rows(x), n) for n, x in _known(motion))]
    idle = motion.tau is not None and not motion.tau.any()
    title = f"{motion.robot.name}: joints along {motion.duration:g} s{', no joint forces' if idle else ''}"
    figure = style.new_figure(9.0, 0.7 + 2.3 * len(rows), title)
    axes = np.atleast_1d(figure.subplots(len(rows), 1, sharex=True))
    for ax, (take, what) in zip(axes, rows):
        curves = take(motion, chosen)
        labels = style.shorter([name for name, _ in curves])
        liveliest = _liveliest([x for _, x in curves])
        for k, (label, (_, values)) in enumerate(zip(labels, curves)):
            if k in liveliest:
                colour = style.COLOURS[liveliest.index(k) % len(style.COLOURS)]
                ax.plot(motion.time, values, color=colour, linewidth=1.6, label=label)
            else:
                ax.plot(motion.time, values, color=style.GRID, linewidth=0.9, zorder=1)
        if len(curves) > len(liveliest):
            ax.plot([], [], color=style.GRID, label=f"{len(curves) - len(liveliest)} that move less")
        style.plain(ax, ylabel=f"{what} {_units(motion.robot, chosen, what)}")
        ax.set_xlim(motion.time[0], motion.time[-1] if len(motion) > 1 else motion.time[0] + 1)
    several = len(_velocity_indices(motion.robot, chosen)) > style.MOST_LABELLED
    if not several:
        _draw_limits(axes[0], motion, chosen)
    for ax in axes if several else axes[:1]:  # few have the same colours in all
        if ax.get_legend_handles_labels()[1]:
            style.named(ax, beside=True)
    axes[-1].set_xlabel("time [s]", color=style.PALE, fontsize=9.5)
    return figure


def energy(trajectory: Any, robot: Robot | None = None) -> Figure:
    """The energy account: kinetic, potential and total energy, what was put in and taken out, and what is left over.

    A trajectory of lw.simulate brings its own account, integrated with the state. Of others the work of τ is found by a
    rule of fourth order, and what damping, friction or external forces did is part of what is left over.
    """
    motion = as_motion(trajectory, robot)
    kinetic, potential = motion.energies
    rise = potential - potential[0]
    total = kinetic + rise
    exchanged = _exchanged(trajectory, motion)
    figure = style.new_figure(9.0, 5.4, f"{motion.robot.name}: energy account")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
    curves: list[tuple[str, np.ndarray, str, Any]] = [
        ("kinetic", kinetic, style.KINETIC, "-"),
        ("potential, from its start", rise, style.POTENTIAL, "-"),
    ]
    curves += [("total", total, style.TOTAL, "-")]
    shades = (style.WORK, *style.COLOURS[4:])
    curves += [(label, x, c, (0, (2, 2))) for (label, x), c in zip(exchanged.items(), shades) if np.abs(x).max() > 0]
    for label, values, colour, dashes in curves:
        upper.plot(motion.time, values, color=colour, linewidth=1.9, label=label, linestyle=dashes)
    for values, colour in ((kinetic, style.KINETIC), (rise, style.POTENTIAL)):
        upper.fill_between(motion.time, 0, values, color=colour, alpha=0.07, linewidth=0)
    style.plain(upper, ylabel="energy [J]")
    style.named(upper, beside=True)
    left_over = total - total[0] - sum(exchanged.values())
    lower.plot(motion.time, left_over, color=style.INK, linewidth=1.3)
    lower.axhline(0.0, color=style.PALE, linewidth=0.8)
    without = " without the dashed" if any(np.abs(x).max() > 0 for x in exchanged.values()) else ""
    title = f"left over of the total{without}: at most {np.abs(left_over).max():.1e} J"
    style.plain(lower, title, "left over [J]", "time [s]")
    lower.set_xlim(motion.time[0], motion.time[-1] if len(motion) > 1 else motion.time[0] + 1)
    return figure


def phase(trajectory: Any, robot: Robot | None = None, joints: Sequence[str] | None = None) -> Figure:
    """Velocity against position of every joint with one degree of freedom, coloured from start (pale) to end."""
    motion = as_motion(trajectory, robot)
    if motion.v is None:
        raise InputError("a phase portrait needs the velocities v of the trajectory")
    chosen = [i for i in _chosen(motion.robot, joints) if motion.robot.joints[i].kind.nq == 1]
    if not chosen:
        raise InputError(f"robot {motion.robot.name!r} has no joint of one position among those asked for")
    count = len(chosen)
    if joints is None and count > MOST_PORTRAITS:
        spans = [float(np.ptp(motion.q[:, motion.robot.q_slices[i]])) for i in chosen]
        chosen = sorted(sorted(chosen, key=lambda i: -spans[chosen.index(i)])[:MOST_PORTRAITS])
    columns = int(np.ceil(np.sqrt(len(chosen))))
    rows = -(-len(chosen) // columns)
    some = "" if len(chosen) == count else f" of the {len(chosen)} joints of {count} that move most"
    title = f"{motion.robot.name}: phase portraits{some}, {motion.duration:g} s"
    size = 3.4 if len(chosen) < 3 else 2.5
    figure = style.new_figure(max(size * columns, 4.0), 0.7 + size * rows, title, "dot: start; light to dark: time")
    axes = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    labels = style.shorter([motion.robot.joints[i].name for i in chosen])
    for ax, label, i in zip(axes, labels, chosen):
        slides = not np.linalg.norm(motion.robot.joints[i].kind.H_star[:3])
        x, y = motion.q[:, motion.robot.q_slices[i]][:, 0], motion.v[:, motion.robot.v_slices[i]][:, 0]
        _shaded_path(ax, x, y)
        unit = "m" if slides else "rad"
        style.plain(ax, label, f"v [{unit}/s]", f"q [{unit}]")
    for ax in axes[len(chosen) :]:
        ax.set_axis_off()
    return figure


def manipulability(trajectory: Any, robot: Robot | None = None, frame: Any = None) -> Figure:
    """The singular values of the Jacobian of a frame along a trajectory, and the manipulability √det(J J*).

    Turning and moving have different units, so each half of J has its own singular values; the manipulability is that
    of all of J, or the product of its singular values where it has fewer columns than rows. ``frame`` defaults to the
    robot's first tip.
    """
    motion = as_motion(trajectory, robot)
    chosen = motion.robot.tips[0] if frame is None else frame
    J = motion.robot.jacobian(motion.q, chosen, target="numpy")
    name = getattr(chosen, "name", chosen)
    figure = style.new_figure(9.0, 6.4, f"{motion.robot.name}: how freely {name} can move")
    axes = figure.subplots(3, 1, sharex=True)
    for ax, part, what in ((axes[0], J[:, 3:], "moving [m/rad]"), (axes[1], J[:, :3], "turning [rad/rad]")):
        values = np.linalg.svd(part, compute_uv=False)
        for k in range(values.shape[1]):
            ax.plot(motion.time, values[:, k], color=style.COLOURS[k], linewidth=1.7, label=f"σ{'₁₂₃'[k]}")
        style.plain(ax, ylabel=f"σ, {what}")
        ax.set_ylim(bottom=0)
        style.named(ax, beside=True)
    w = np.linalg.svd(J, compute_uv=False).prod(axis=-1)
    axes[2].plot(motion.time, w, color=style.INK, linewidth=1.9)
    lowest = int(np.argmin(w))
    axes[2].plot(motion.time[lowest], w[lowest], "o", color=style.KINETIC, markersize=5, clip_on=False, zorder=5)
    where = f"lowest {w[lowest]:.2g} at {motion.time[lowest]:.3g} s"
    style.plain(axes[2], f"manipulability √det(J J*): {where}", "w", "time [s]")
    axes[2].set_ylim(bottom=0)
    axes[2].set_xlim(motion.time[0], motion.time[-1] if len(motion) > 1 else motion.time[0] + 1)
    return figure


# --- parts ---------------------------------------------------------------------------------------------


def _chosen(robot: Robot, names: Sequence[str] | None) -> list[int]:
    if names is None:
        return [k for k in range(len(robot.joints)) if k not in robot.dependents]
    return [_moved_by_itself(robot, n) for n in ([names] if isinstance(names, str) else names)]


def _moved_by_itself(robot: Robot, name: str) -> int:
    k = robot.joint(name)
    if k in robot.dependents:
        followed = ", ".join(map(repr, robot.dependents[k].independents))
        raise InputError(
            f"joint {name!r} follows {followed} and has no entry of its own; robot.joint_positions(q) has it"
        )
    return k


def _known(motion: Motion) -> list[tuple[str, np.ndarray]]:
    """Velocities and joint forces, where there are any."""
    forces = motion.tau if motion.tau is not None and motion.tau.any() else None
    return [(name, x) for name, x in (("velocity", motion.v), ("force", forces)) if x is not None]


def _liveliest(curves: Sequence[np.ndarray]) -> list[int]:
    """Which curves are named: all of a few; of many those that change most."""
    if len(curves) <= style.MOST_LABELLED:
        return list(range(len(curves)))
    by_span = sorted(range(len(curves)), key=lambda k: -float(np.ptp(curves[k])))
    return sorted(k for k in by_span[: len(style.COLOURS)] if np.ptp(curves[k]) > 0)


def _velocity_indices(robot: Robot, chosen: Sequence[int]) -> list[int]:
    return [k for i in chosen for k in range(robot.v_slices[i].start, robot.v_slices[i].stop)]


def _position_rows(motion: Motion, chosen: Sequence[int]) -> list[tuple[str, np.ndarray]]:
    """Every position of these joints by name; quaternions entry by entry."""
    out = []
    for i in chosen:
        joint, where = motion.robot.joints[i], motion.robot.q_slices[i]
        for k in range(joint.kind.nq):
            out.append((joint.name if joint.kind.nq == 1 else f"{joint.name}[{k}]", motion.q[:, where.start + k]))
    return out


def _velocity_rows(values: np.ndarray) -> Any:
    def take(motion: Motion, chosen: Sequence[int]) -> list[tuple[str, np.ndarray]]:
        names = velocity_names(motion.robot)
        return [(names[k], values[:, k]) for k in _velocity_indices(motion.robot, chosen)]

    return take


def _units(robot: Robot, chosen: Sequence[int], what: str) -> str:
    turning, sliding = {"position": ("rad", "m"), "velocity": ("rad/s", "m/s"), "force": ("N m", "N")}[what]
    maps = [robot.joints[i].kind.H_star for i in chosen]
    turns = any(np.abs(H[:3]).any() for H in maps)
    slides = any((np.abs(H[:3]).max(axis=0, initial=0) == 0).any() for H in maps if H.shape[1])
    return f"[{', '.join(u for u, there in ((turning, turns), (sliding, slides)) if there) or '–'}]"


def _draw_limits(ax: Any, motion: Motion, chosen: Sequence[int]) -> None:
    """Limits that a joint comes within a tenth of its range of, or passes, as dotted lines in its colour."""
    k = 0
    for i in chosen:
        kind = motion.robot.joints[i].kind
        if kind.nq == 1:
            lower, upper, _, _ = motion.robot.joints[i].limits.arrays(1)
            x = motion.q[:, motion.robot.q_slices[i]][:, 0]
            span = float(upper[0] - lower[0])
            for bound, gap in ((lower[0], x.min() - lower[0]), (upper[0], upper[0] - x.max())):
                if np.isfinite(bound) and gap < 0.1 * (span if np.isfinite(span) else 1.0):
                    ax.axhline(bound, color=style.COLOURS[k % len(style.COLOURS)], linewidth=1.0, linestyle=":")
        k += kind.nq


def _exchanged(trajectory: Any, motion: Motion) -> dict[str, np.ndarray]:
    """What was put in since the start, by name, (n,) [J]; what was taken out is negative."""
    kept = getattr(trajectory, "energy", None)
    if isinstance(kept, EnergyAccount) and kept.work.shape == motion.time.shape:
        found = {
            "work of the joint forces": kept.work,
            "external forces": kept.external,
            "damping and friction": -kept.dissipated,
            "stops": -kept.stops,
        }
        return {name: x - x[0] for name, x in found.items()}
    work = _work(motion)
    return {} if work is None else {"work of the joint forces": work}


def _work(motion: Motion) -> np.ndarray | None:
    """(n,): the work of the joint forces since the start [J]; None where τ is not known.

    The trapezoidal rule with its end corrections: ∫ = h (P₀ + P₁)/2 + h² (P₀' − P₁')/12, of fourth order.
    """
    if motion.tau is None:
        return None
    power = np.einsum("ni,ni->n", motion.tau, motion.v)
    h = np.diff(motion.time)
    steps = 0.5 * h * (power[1:] + power[:-1])
    if len(motion) > 2:
        rate = np.gradient(power, motion.time, edge_order=2)
        steps = steps + h**2 / 12.0 * (rate[:-1] - rate[1:])
    return np.concatenate([[0.0], np.cumsum(steps)])


def _shaded_path(ax: Any, x: np.ndarray, y: np.ndarray) -> None:
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    points = np.stack([x, y], axis=1)
    shades = colormaps["viridis_r"](np.linspace(0.1, 1.0, max(len(x) - 1, 1)))
    ax.add_collection(LineCollection(list(np.stack([points[:-1], points[1:]], axis=1)), colors=shades, linewidths=1.4))
    ax.plot(x[0], y[0], "o", color=style.KINETIC, markersize=4.5)
    ax.autoscale_view()
