"""Plots beside the viewer: any group of channels against time, with a mark at the time shown."""

from __future__ import annotations

from typing import Any

import numpy as np

from .motion import Motion
from .style import COLOURS, INK, shorter

MOST_POINTS, MOST_CURVES = 600, 12
MOST_LETTERS = 14  # of a name in the legend, two of which stand side by side in the panel


class Chart:
    """A panel with a plot; a dropdown chooses the group of channels, another one channel of it or all."""

    def __init__(self, server: Any, motion: Motion) -> None:
        self._motion, self._server = motion, server
        self._steps = np.unique(np.linspace(0, len(motion) - 1, MOST_POINTS).astype(int))
        self._now = 0
        panel = server.gui.add_panel()
        with panel.add_tab("Plot"):
            groups = tuple(motion.channels)
            self._group = server.gui.add_dropdown("What", groups, initial_value=groups[0])
            self._channel = server.gui.add_dropdown("Of", self._choices(), initial_value="all")
            self._plot = server.gui.add_uplot(**self._content(), aspect=1.25, legend={"show": True})
        panel.dock_below(server.gui.main_panel)
        self._group.on_update(lambda _: self._regroup())
        self._channel.on_update(lambda _: self._redraw())

    def mark(self, step: int) -> None:
        """Put the mark at a step of the motion."""
        near = int(np.clip(np.searchsorted(self._steps, step), 0, len(self._steps) - 1))
        if near != self._now:
            self._now = near
            self._plot.data = self._data(self._curves())

    def _choices(self) -> tuple[str, ...]:
        return ("all", *self._motion.channels[self._group.value])

    def _curves(self) -> dict[str, np.ndarray]:
        """The curves shown, by name."""
        group = self._motion.channels[self._group.value]
        names = list(group)[:MOST_CURVES] if self._channel.value == "all" else [self._channel.value]
        return {name: group[name][self._steps] for name in names if name in group}

    def _data(self, curves: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        """Time, the curves, and the mark: a vertical line at the time shown, from bottom to top of the curves.

        uPlot draws lines between neighbours, so the line is two points close together in an otherwise empty series.
        """
        x = self._motion.time[self._steps] - self._motion.time[0]
        mark = np.full(len(x), np.nan)
        first = min(self._now, len(x) - 2)
        mark[first : first + 2] = _range(curves)
        return (x, *curves.values(), mark)

    def _content(self) -> dict[str, Any]:
        curves = self._curves()
        series: list[dict[str, Any]] = [{"label": "t [s]"}]
        group = list(self._motion.channels[self._group.value])
        for name, label in zip(curves, fitting(list(curves))):
            colour = COLOURS[group.index(name) % len(COLOURS)]  # the same alone and among all
            series.append({"label": label, "stroke": colour, "width": 1.5})
        series.append({"label": "now", "stroke": INK, "width": 2, "points": {"show": False}})
        return {"data": self._data(curves), "series": tuple(series), "scales": self._scales(curves)}

    def _regroup(self) -> None:
        self._channel.options = self._choices()
        self._channel.value = "all"
        self._redraw()

    def _redraw(self) -> None:
        content = self._content()
        self._plot.series, self._plot.scales, self._plot.data = content["series"], content["scales"], content["data"]

    def _scales(self, curves: dict[str, np.ndarray]) -> dict[str, Any]:
        """Fixed, so that the mark's empty places do not count."""
        return {"x": {"time": False}, "y": {"auto": False, "range": _range(curves)}}


def fitting(names: list[str]) -> list[str]:
    """Names for a narrow legend: without what all begin with, and what is still long with its middle left out."""
    return [n if len(n) <= MOST_LETTERS else f"{n[:6]}…{n[6 - MOST_LETTERS + 1 :]}" for n in shorter(names)]


def _range(curves: dict[str, np.ndarray]) -> tuple[float, float]:
    """From the lowest value of all curves to the highest, and a little room."""
    values = np.concatenate([*(c[np.isfinite(c)] for c in curves.values()), np.zeros(0)])
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    room = 0.05 * (high - low) or 1e-3 + 0.05 * abs(low)
    return low - room, high + room
