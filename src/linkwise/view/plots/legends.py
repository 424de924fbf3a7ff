"""Legends that cover nothing: inside the axes where there is room, else below them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arguments import shown
from ...errors import InputError
from ...extras import require

BETWEEN = 40  # points looked at on each piece of a curve, so that none crosses a legend unseen
ROOM = 3.0  # pixels that a legend keeps from curves
PLACES = ("best", "upper left", "upper right", "lower left", "lower right")  # inside, in the order they are tried


def legend(ax: Any, **options: Any) -> Any:
    """Name the curves of matplotlib's axes where the names cover none of them; gives matplotlib's legend.

    It is put inside where there is a free place, below the axes otherwise. Call it when all is drawn; ``options`` are
    those of ``ax.legend``.
    """
    axes = require("matplotlib.axes", "plot", "a legend")
    if not isinstance(ax, axes.Axes):
        raise InputError(f"a legend is put into matplotlib's axes, got {shown(ax)}")
    options = {"frameon": False, **options}
    for place in PLACES:
        made = ax.legend(**({"loc": place} | options))
        if not covers(ax, made):
            return made
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncols": 2}
    return ax.legend(**(below | options))


def covers(ax: Any, legend: Any) -> bool:
    """Whether a legend lies over a curve, bar or point of its axes."""
    renderer = _renderer(ax.figure)
    ax.figure.draw_without_rendering()  # gives everything its place
    box = legend.get_window_extent(renderer).padded(ROOM)
    for line in ax.get_lines():
        points = line.get_transform().transform(np.column_stack(line.get_data(orig=False)).astype(float))
        marker = 0.0 if line.get_marker() in ("", " ", "None", None) else line.get_markersize()
        if box.padded(marker * ax.figure.dpi / 144.0).count_contains(
            _filled(points)
        ):  # half of it, from points of 1/72"
            return True
    for patch in ax.patches:
        if box.overlaps(patch.get_window_extent(renderer)):
            return True
    for group in ax.collections:
        offsets = group.get_offset_transform().transform(np.ma.filled(group.get_offsets(), np.nan))
        if len(group.get_offsets()) > 1 or not len(group.get_paths()):
            if box.count_contains(offsets):
                return True
        elif any(box.count_contains(_filled(group.get_transform().transform(p.vertices))) for p in group.get_paths()):
            return True
    return False


def _filled(points: np.ndarray) -> np.ndarray:
    """Points (n, 2) with others between them; nowhere where a curve is interrupted."""
    if len(points) < 2:
        return points
    part = np.linspace(0.0, 1.0, BETWEEN)[:, None, None]
    between: np.ndarray = (1.0 - part) * points[:-1] + part * points[1:]
    return between.reshape(-1, 2)


def _renderer(figure: Any) -> Any:
    """What measures words; a figure made without pyplot has none yet."""
    if not hasattr(figure.canvas, "get_renderer"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        FigureCanvasAgg(figure)
    return figure.canvas.get_renderer()
