"""How pictures of linkwise look: colours, axes without clutter, figures that need no screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, PALE, GRID = "#22303c", "#8a97a3", "#dde3e8"
KINETIC, POTENTIAL, TOTAL, WORK = "#d1495b", "#2e6f95", "#22303c", "#4f9d69"
COLOURS = ("#2e6f95", "#d1495b", "#e0a030", "#4f9d69", "#7d5ba6", "#3bb0b0", "#b5651d", "#6b7a8f")
MOST_LABELLED = 12  # curves up to this many are named


def new_figure(width: float, height: float, title: str, subtitle: str = "") -> Figure:
    """An empty figure [inches] with a title, drawn without a screen."""
    require("matplotlib", "plot", "a plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.08)
    figure = Figure(figsize=(width, height), dpi=110, facecolor="white", layout=layout)
    FigureCanvasAgg(figure)
    figure.suptitle(title, x=0.012, ha="left", fontsize=13, weight="bold", color=INK)
    if subtitle:
        figure.supxlabel(subtitle, x=0.012, ha="left", fontsize=9, color=PALE)
    return figure


def plain(ax: Any, title: str = "", ylabel: str = "", xlabel: str = "") -> None:
    """Axes with a pale grid and two spines."""
    if title:
        ax.set_title(title, loc="left", fontsize=10.5, color=INK)
    ax.set_ylabel(ylabel, color=PALE, fontsize=9.5)
    ax.set_xlabel(xlabel, color=PALE, fontsize=9.5)
    ax.grid(color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(colors=PALE, labelsize=8.5, which="both")
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(PALE)


def named(ax: Any, beside: bool = False) -> None:
    """A legend without a frame, inside or to the right of the axes."""
    place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if beside else {"loc": "best"}
    legend = ax.legend(frameon=False, fontsize=8.5, **place)
    for text in legend.get_texts():
        text.set_color(INK)


def shorter(names: list[str]) -> list[str]:
    """Names without what all of them begin with, as far as an underscore."""
    prefixes = {n.partition("_")[0] for n in names}
    if len(names) > 1 and len(prefixes) == 1 and all(n.partition("_")[2] for n in names):
        return [n.partition("_")[2] for n in names]
    return names
