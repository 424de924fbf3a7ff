"""The picture of a report: nanoseconds per state on a logarithmic axis, linkwise beside its peers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure

from .report import TITLES, Report
from .runner import Row

CHAIN = re.compile(r"chain-(\d+)")  # a serial chain of so many links
_INK, _PALE, _GRID = "#22303c", "#8a97a3", "#dde3e8"
# Ways to run one library share a hue, from its darkest shade to its palest; all other libraries have one each.
_HUES = {"linkwise": ("#8c1c2e", "#d1495b", "#f0b9c0"), "Pinocchio": ("#12344a", "#2e6f95", "#8dbbd6", "#d3e5ef")}
_OTHERS = ("#e0a030", "#4f9d69", "#7d5ba6", "#3bb0b0", "#b5651d", "#6b7a8f", "#c9c03a", "#2b2b2b")


def draw(report: Report) -> Figure:
    """How the time grows, as lines, where the robots are chains; otherwise bars, a panel for each robot."""
    return _draw_growth(report) if len(_lengths(report)) > 2 else _draw_bars(report)


def _lengths(report: Report) -> list[int]:
    """The links of the chains that were measured, in order; none where there are other robots."""
    names = dict.fromkeys(r.case.robot for r in report.rows)
    found = [CHAIN.fullmatch(name) for name in names]
    return sorted(int(x[1]) for x in found if x) if all(found) else []


def _draw_growth(report: Report) -> Figure:
    """One panel per function: nanoseconds per state over the number of links, a line for each library."""
    functions = [f for f in TITLES if any(r.case.function == f for r in report.rows)]
    libraries = list(dict.fromkeys(r.library for r in report.rows))
    figure = _figure(report, (1.0 + 5.5 * len(functions), 5.2))
    axes = np.atleast_1d(figure.subplots(1, len(functions), sharey=True))
    for axis, function in zip(axes, functions):
        for library in libraries:
            rows = [r for r in report.rows if r.case.function == function and r.library == library]
            found = sorted((int(r.case.robot.partition("-")[2]), r.nanoseconds) for r in rows)
            if found:
                style = {"color": colour(library, libraries), "linewidth": 2.4 if library == "linkwise" else 1.6}
                axis.plot(*zip(*found), marker="o", markersize=4, label=library, **style)
        axis.set_xscale("log")
        axis.set_xticks(_lengths(report), [str(n) for n in _lengths(report)], minor=False)
        axis.minorticks_off()
        axis.set_xlabel("links", color=_INK)
        axis.set_title(TITLES[function], loc="left", fontsize=11, color=_INK)
        _tidy(axis)
        axis.grid(axis="x", color=_GRID)
    axes[0].set_ylabel("ns per state", color=_INK)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


def _figure(report: Report, size: tuple[float, float]) -> Figure:
    figure = Figure(figsize=size, dpi=120, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{report.about or report.suite}, one core", x=0.01, ha="left", weight="bold", color=_INK)
    figure.text(0.99, 0.992, report.machine["processor"], ha="right", va="top", fontsize=9, color=_PALE)
    return figure


def _tidy(axis: Any) -> None:
    axis.set_yscale("log")
    axis.grid(axis="y", color=_GRID)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _draw_bars(report: Report) -> Figure:
    """One panel per robot, batch and precision, bars grouped by function."""
    panels = list(dict.fromkeys((r.case.robot, r.case.batch, r.case.dtype) for r in report.rows))
    libraries = list(dict.fromkeys(r.library for r in report.rows))
    figure = _figure(report, (12.0, 1.6 + 3.6 * len(panels)))
    axes = np.atleast_1d(figure.subplots(len(panels), 1, squeeze=True))
    for axis, panel in zip(axes, panels):
        chosen = [r for r in report.rows if (r.case.robot, r.case.batch, r.case.dtype) == panel]
        _draw_panel(axis, chosen, libraries)
        robot, batch, dtype = panel
        axis.set_title(f"{robot}, batch of {batch}, {dtype}", loc="left", fontsize=11, color=_INK)
    handles, labels = axes[0].get_legend_handles_labels()
    for axis in axes[1:]:  # a library may be in some panels only
        for handle, label in zip(*axis.get_legend_handles_labels()):
            if label not in labels:
                handles, labels = [*handles, handle], [*labels, label]
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


def _draw_panel(axis: Any, rows: list[Row], libraries: list[str]) -> None:
    functions = [f for f in TITLES if any(r.case.function == f for r in rows)]
    width = 0.84 / max(sum(r.case.function == f for r in rows) for f in functions)
    labelled: set[str] = set()
    for i, function in enumerate(functions):
        group = sorted((r for r in rows if r.case.function == function), key=lambda r: libraries.index(r.library))
        for k, r in enumerate(group):
            x, y = i + (k - 0.5 * (len(group) - 1)) * width, r.nanoseconds
            label = None if r.library in labelled else r.library
            labelled.add(r.library)
            axis.bar(x, y, 0.92 * width, label=label, color=colour(r.library, libraries))
            axis.annotate(_short(y), (x, y), (0, 2), textcoords="offset points", ha="center", fontsize=6.5, color=_INK)
    axis.set_ylabel("ns per state", color=_INK)
    axis.set_xticks(range(len(functions)), [TITLES[f] for f in functions])
    axis.margins(y=0.12)
    _tidy(axis)


def colour(library: str, libraries: list[str]) -> str:
    """Its own among these, as far as there are colours to tell apart."""
    family = _family(library)
    members = [x for x in libraries if _family(x) == family]
    place = members.index(library)
    if not family:
        return _OTHERS[place % len(_OTHERS)]
    shades = LinearSegmentedColormap.from_list(family, _HUES[family])
    return to_hex(shades((place + 1) / (len(members) + 1) if len(members) < 3 else place / (len(members) - 1)))


def _family(library: str) -> str:
    return next((f for f in _HUES if library.startswith(f)), "")


def _short(nanoseconds: float) -> str:
    """Three letters or so, to stand on a thin bar."""
    if nanoseconds < 999.5:
        return f"{nanoseconds:.3g}"
    thousands = nanoseconds / 1000
    return f"{thousands:.1f}k" if thousands < 9.95 else f"{thousands:.0f}k"
