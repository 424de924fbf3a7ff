"""Plots along a trajectory: joint histories, the energy account, phase portraits, manipulability."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...arguments import names
from ...errors import InputError
from ...model.units import force_units, position_units, velocity_of_position, velocity_units
from ...robot.robot import Robot
from ...simulation.energy import EnergyAccount
from .. import style
from ..motion import Motion, as_motion, position_names, velocity_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PORTRAITS = 16


def joints(
    trajectory: Any,
    *,
    robot: Robot | None = None,
    joints: Sequence[str] | None = None,
    theme: str = "light",
    transparent: bool = False,
) -> Figure:
    """Positions, velocities and forces of the joints against time, as far as they are known.

    ``joints`` are the names of those shown, all by default. A joint has one colour in all panels, and a panel one unit.
    Position limits are drawn where a joint comes near them. ``theme`` is "light" or "dark", for pages of that kind;
    ``transparent`` leaves the background out.
    """
    look = style.theme_of(theme, transparent)
    motion = as_motion(trajectory, robot)
    chosen = _chosen(motion.robot, joints)
    panels = list(_panels(motion, chosen))
    colours = _colours(panels, look)
    idle = motion.tau is not None and not motion.tau.any()
    title = f"{motion.robot.name}: joints along {motion.duration:g} s{', no joint forces' if idle else ''}"
    figure = style.new_figure(9.0, 0.7 + 2.3 * len(panels), title, theme=look)
    axes = np.atleast_1d(figure.subplots(len(panels), 1, sharex=True))
    named: set[int | None] = set()  # freedoms that a panel above has named already
    for ax, panel in zip(axes, panels):
        _draw_panel(ax, motion.time, panel, colours, look)
        style.plain(ax, ylabel=f"{panel.what} [{panel.unit}]", theme=look)
        ax.set_xlim(motion.time[0], motion.time[-1] if len(motion) > 1 else motion.time[0] + 1)
        new = {c.freedom for c in panel.curves} - named
        if new and ax.get_legend_handles_labels()[1]:
            style.named(ax, beside=True, theme=look)
        named |= new
    _draw_limits(list(axes), panels, motion, colours)
    axes[-1].set_xlabel("time [s]", color=look.pale, fontsize=9.5)
    return figure


def energy(trajectory: Any, *, robot: Robot | None = None, theme: str = "light", transparent: bool = False) -> Figure:
    """The energy account: kinetic, potential and total energy, what was put in and taken out, and what is left over.

    A trajectory of lw.simulate brings its own account, integrated with the state. Of others the work of τ is found by a
    rule of fourth order, and what damping, friction or external forces did is part of what is left over. ``theme`` and
    ``transparent`` are those of :func:`joints`.
    """
    look = style.theme_of(theme, transparent)
    motion = as_motion(trajectory, robot)
    kinetic, potential = motion.energies
    rise = potential - potential[0]
    total = kinetic + rise
    exchanged = _exchanged(trajectory, motion)
    figure = style.new_figure(9.0, 5.4, f"{motion.robot.name}: energy account", theme=look)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
    curves: list[tuple[str, np.ndarray, str, Any]] = [
        ("kinetic", kinetic, look.kinetic, "-"),
        ("potential, from its start", rise, look.potential, "-"),
    ]
    curves += [("total", total, look.ink, "-")]
    shades = (look.work, *look.colours[4:])
    curves += [(label, x, c, (0, (2, 2))) for (label, x), c in zip(exchanged.items(), shades) if np.abs(x).max() > 0]
    for label, values, colour, dashes in curves:
        upper.plot(motion.time, values, color=colour, linewidth=1.9, label=label, linestyle=dashes)
    for values, colour in ((kinetic, look.kinetic), (rise, look.potential)):
        upper.fill_between(motion.time, 0, values, color=colour, alpha=0.07, linewidth=0)
    style.plain(upper, ylabel="energy [J]", theme=look)
    style.named(upper, beside=True, theme=look)
    left_over = total - total[0] - sum(exchanged.values())
    lower.plot(motion.time, left_over, color=look.ink, linewidth=1.3)
    lower.axhline(0.0, color=look.pale, linewidth=0.8)
    without = " without the dashed" if any(np.abs(x).max() > 0 for x in exchanged.values()) else ""
    title = f"left over of the total{without}: at most {np.abs(left_over).max():.1e} J"
    style.plain(lower, title, "left over [J]", "time [s]", theme=look)
    lower.set_xlim(motion.time[0], motion.time[-1] if len(motion) > 1 else motion.time[0] + 1)
    return figure


def phase(
    trajectory: Any,
    *,
    robot: Robot | None = None,
    joints: Sequence[str] | None = None,
    theme: str = "light",
    transparent: bool = False,
) -> Figure:
    """Velocity against position of every joint with one degree of freedom, coloured from start (pale) to end.

    ``joints``, ``theme`` and ``transparent`` are those of :func:`joints`.
    """
    look = style.theme_of(theme, transparent)
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
    figure = style.new_figure(max(size * columns, 4.0), 0.7 + size * rows, title, _TIMES[theme], theme=look)
    axes = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    labels = style.shorter([motion.robot.joints[i].name for i in chosen])
    for ax, label, i in zip(axes, labels, chosen):
        slides = not np.linalg.norm(motion.robot.joints[i].kind.H_star[:3])
        x, y = motion.q[:, motion.robot.q_slices[i]][:, 0], motion.v[:, motion.robot.v_slices[i]][:, 0]
        _shaded_path(ax, x, y, look)
        unit = "m" if slides else "rad"
        style.plain(ax, label, f"v [{unit}/s]", f"q [{unit}]", theme=look)
    for ax in axes[len(chosen) :]:
        ax.set_axis_off()
    return figure


def manipulability(
    trajectory: Any,
    *,
    robot: Robot | None = None,
    frame: Any = None,
    theme: str = "light",
    transparent: bool = False,
) -> Figure:
    """The singular values of the Jacobian of a frame along a trajectory, and the manipulability √det(J J*).

    Turning and moving have different units, so each half of J has its own singular values; the manipulability is that
    of all of J, or the product of its singular values where it has fewer columns than rows. ``frame`` defaults to the
    robot's first tip; ``theme`` and ``transparent`` are those of :func:`joints`.
    """
    look = style.theme_of(theme, transparent)
    motion = as_motion(trajectory, robot)
    chosen = motion.robot.tips[0] if frame is None else frame
    J = motion.robot.jacobian(motion.q, chosen, target="numpy")
    name = getattr(chosen, "name", chosen)
    figure = style.new_figure(9.0, 6.4, f"{motion.robot.name}: how freely {name} can move", theme=look)
    axes = figure.subplots(3, 1, sharex=True)
    for ax, part, what in ((axes[0], J[:, 3:], "moving [m/rad]"), (axes[1], J[:, :3], "turning [rad/rad]")):
        values = np.linalg.svd(part, compute_uv=False)
        for k in range(values.shape[1]):
            ax.plot(motion.time, values[:, k], color=look.colours[k], linewidth=1.7, label=f"σ{'₁₂₃'[k]}")
        style.plain(ax, ylabel=f"σ, {what}", theme=look)
        ax.set_ylim(bottom=0)
        style.named(ax, beside=True, theme=look)
    w = np.linalg.svd(J, compute_uv=False).prod(axis=-1)
    axes[2].plot(motion.time, w, color=look.ink, linewidth=1.9)
    lowest = int(np.argmin(w))
    axes[2].plot(motion.time[lowest], w[lowest], "o", color=look.kinetic, markersize=5, clip_on=False, zorder=5)
    where = f"lowest {w[lowest]:.2g} at {motion.time[lowest]:.3g} s"
    style.plain(axes[2], f"manipulability √det(J J*): {where}", "w", "time [s]", theme=look)
    axes[2].set_ylim(bottom=0)
    axes[2].set_xlim(motion.time[0], motion.time[-1] if len(motion) > 1 else motion.time[0] + 1)
    return figure


# --- parts ---------------------------------------------------------------------------------------------


def _chosen(robot: Robot, given: Sequence[str] | None) -> list[int]:
    if given is None:
        return [k for k in range(len(robot.joints)) if k not in robot.dependents]
    return [
        _moved_by_itself(robot, n)
        for n in ([given] if isinstance(given, str) else names(given, "joints", "joint names"))
    ]


def _moved_by_itself(robot: Robot, name: str) -> int:
    k = robot.joint(name)
    if k in robot.dependents:
        followed = ", ".join(map(repr, robot.dependents[k].independents))
        raise InputError(
            f"joint {name!r} follows {followed} and has no entry of its own; robot.joint_positions(q) has it"
        )
    return k


class _Curve(NamedTuple):
    """A number along the motion, and the freedom (entry of v) that it belongs to; None: of no single one."""

    name: str
    freedom: int | None
    values: np.ndarray


class _Panel(NamedTuple):
    """Curves of one quantity in one unit."""

    what: str
    unit: str
    curves: list[_Curve]


def _panels(motion: Motion, chosen: Sequence[int]) -> Iterator[_Panel]:
    """Positions, velocities and forces that are known, each unit apart."""
    robot = motion.robot
    freedoms = [k for i in chosen for k in range(robot.v_slices[i].start, robot.v_slices[i].stop)]
    places = [k for i in chosen for k in range(robot.q_slices[i].start, robot.q_slices[i].stop)]
    belongs = velocity_of_position(robot)
    # Shortened together, so that a joint has one name in all panels.
    together = style.shorter([*velocity_names(robot), *position_names(robot)])
    names, positions = together[: robot.nv], together[robot.nv :]
    yield from _by_unit(
        "position", position_units(robot), [(k, _Curve(positions[k], belongs[k], motion.q[:, k])) for k in places]
    )
    forces = motion.tau if motion.tau is not None and motion.tau.any() else None
    known = (("velocity", motion.v, velocity_units(robot)), ("force", forces, force_units(robot)))
    for what, values, units in known:
        if values is not None:
            yield from _by_unit(what, units, [(k, _Curve(names[k], k, values[:, k])) for k in freedoms])


def _by_unit(what: str, units: Sequence[str], curves: Sequence[tuple[int, _Curve]]) -> Iterator[_Panel]:
    words = {"N m": "torque", "–": "quaternion, modes" if what == "position" else what}
    for unit in dict.fromkeys(units[k] for k, _ in curves):
        yield _Panel(words.get(unit, what), unit, [c for k, c in curves if units[k] == unit])


def _colours(panels: Sequence[_Panel], look: style.Theme) -> dict[int | None, str]:
    """Freedom → colour: one for each of a few; of many those that change most, as a share of their panels."""
    change: dict[int, float] = {}
    for panel in panels:
        most = max((float(np.ptp(c.values)) for c in panel.curves), default=0.0) or 1.0
        for c in panel.curves:
            if c.freedom is not None:
                change[c.freedom] = max(change.get(c.freedom, 0.0), float(np.ptp(c.values)) / most)
    liveliest = sorted(change)
    if len(liveliest) > style.MOST_LABELLED:
        liveliest = sorted(sorted(change, key=lambda k: -change[k])[: style.MOST_LABELLED])
    return dict(zip(liveliest, look.colours))


def _draw_panel(ax: Any, time: np.ndarray, panel: _Panel, colours: Mapping[int | None, str], look: style.Theme) -> None:
    others = 0
    for c in panel.curves:
        if c.freedom in colours:
            ax.plot(time, c.values, color=colours[c.freedom], linewidth=1.6, label=c.name)
        elif c.freedom is None:  # the w of a quaternion
            ax.plot(time, c.values, color=look.pale, linewidth=1.2, linestyle="--", label=c.name)
        else:
            ax.plot(time, c.values, color=look.faint, linewidth=0.9, zorder=1)
            others += 1
    if others:
        ax.plot([], [], color=look.faint, label=f"{others} that move less")


def _draw_limits(
    axes: Sequence[Any], panels: Sequence[_Panel], motion: Motion, colours: Mapping[int | None, str]
) -> None:
    """Limits that a joint comes within a tenth of its range of, or passes, as dotted lines in its colour."""
    robot = motion.robot
    for i, joint in enumerate(robot.joints):
        freedom = robot.v_slices[i].start
        where = [ax for ax, p in zip(axes, panels) if p.what == "position" and freedom in [c.freedom for c in p.curves]]
        if joint.kind.nq != 1 or i in robot.dependents or freedom not in colours or not where:
            continue
        lower, upper, _, _ = joint.limits.arrays(1)
        x = motion.q[:, robot.q_slices[i]][:, 0]
        span = float(upper[0] - lower[0])
        for bound, gap in ((lower[0], x.min() - lower[0]), (upper[0], upper[0] - x.max())):
            if np.isfinite(bound) and gap < 0.1 * (span if np.isfinite(span) else 1.0):
                where[0].axhline(bound, color=colours[freedom], linewidth=1.0, linestyle=":")


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


_SHADES = {style.LIGHT.background: "viridis_r", style.DARK.background: "viridis"}  # ends far from the background
_TIMES = {"light": "dot: start; light to dark: time", "dark": "dot: start; dark to light: time"}


def _shaded_path(ax: Any, x: np.ndarray, y: np.ndarray, look: style.Theme) -> None:
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    points = np.stack([x, y], axis=1)
    shades = colormaps[_SHADES[look.background]](np.linspace(0.25, 1.0, max(len(x) - 1, 1)))
    ax.add_collection(LineCollection(list(np.stack([points[:-1], points[1:]], axis=1)), colors=shades, linewidths=1.4))
    ax.plot(x[0], y[0], "o", color=look.kinetic, markersize=4.5)
    ax.autoscale_view()
