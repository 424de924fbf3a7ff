"""How pictures of linkwise look: colours for light and dark pages, axes without clutter, figures that need no screen.

All that is read, words and curves, has a contrast of at least 4.5 : 1 to the background of its theme, and any two
colours of curves are at least 0.1 apart in OKLab (a just noticeable difference is about 0.02).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..arguments import flag, one_of
from ..errors import InputError
from ..extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LABELLED = 12  # curves up to this many are named, each in a colour of its own


@dataclass(frozen=True)
class Theme:
    """Colours for one kind of background; ``transparent`` leaves the background out."""

    background: str
    ink: str  # titles, totals
    pale: str  # labels, ticks
    grid: str
    faint: str  # curves in the background
    colours: tuple[str, ...]  # curves
    kinetic: str
    potential: str
    work: str
    transparent: bool = False


# fmt: off
LIGHT = Theme(
    "#ffffff", "#22303c", "#5d6975", "#dde3e8", "#b3bdc6",
    ("#2e6f95", "#c23b4e", "#8a6100", "#2f7d4f", "#7d5ba6", "#612258",
     "#3d34a9", "#104661", "#583410", "#105810", "#971010", "#97227c"),
    kinetic="#c23b4e", potential="#2e6f95", work="#2f7d4f",
)
DARK = Theme(
    "#14191f", "#e6ebf0", "#9daab6", "#2c353f", "#55616d",
    ("#6fb3dc", "#f08a97", "#e0a030", "#6fc28d", "#b79be0", "#e8f16a",
     "#f1cde8", "#6af1f1", "#8e857c", "#6a9710", "#c461a9", "#d66134"),
    kinetic="#f08a97", potential="#6fb3dc", work="#6fc28d",
)
# fmt: on
THEMES = {"light": LIGHT, "dark": DARK}

# Those of pages that are always white.
INK, PALE, GRID, COLOURS = LIGHT.ink, LIGHT.pale, LIGHT.grid, LIGHT.colours
KINETIC, POTENTIAL, TOTAL, WORK = LIGHT.kinetic, LIGHT.potential, LIGHT.ink, LIGHT.work


def theme_of(name: str, transparent: bool = False) -> Theme:
    """The theme of that name, "light" or "dark", with its background or without."""
    found = THEMES[one_of(name, THEMES, "theme", error=InputError)]
    return replace(found, transparent=flag(transparent, "transparent"))


def new_figure(width: float, height: float, title: str, subtitle: str = "", *, theme: Theme = LIGHT) -> Figure:
    """An empty figure [inches] with a title, drawn without a screen; notebooks show it."""
    require("matplotlib", "plot", "a plot")
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from .figure import ShownFigure

    layout = ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.08)
    figure = ShownFigure(figsize=(width, height), dpi=110, facecolor=_background(theme), layout=layout)
    figure.suptitle(title, x=0.012, ha="left", fontsize=13, weight="bold", color=theme.ink)
    if subtitle:
        figure.supxlabel(subtitle, x=0.012, ha="left", fontsize=9, color=theme.pale)
    return figure


def _background(theme: Theme) -> str:
    return "none" if theme.transparent else theme.background


def plain(ax: Any, title: str = "", ylabel: str = "", xlabel: str = "", *, theme: Theme = LIGHT) -> None:
    """Axes with a pale grid and two spines."""
    ax.set_facecolor(_background(theme))
    if title:
        ax.set_title(title, loc="left", fontsize=10.5, color=theme.ink)
    ax.set_ylabel(ylabel, color=theme.pale, fontsize=9.5)
    ax.set_xlabel(xlabel, color=theme.pale, fontsize=9.5)
    ax.grid(color=theme.grid, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(colors=theme.pale, labelsize=8.5, which="both")
    ax.yaxis.get_offset_text().set_color(theme.pale)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(theme.pale)


def named(ax: Any, beside: bool = False, *, below: bool = False, theme: Theme = LIGHT) -> None:
    """A legend without a frame, inside, to the right of or below the axes."""
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if beside else {"loc": "best"}
    if below:
        place = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.1)}
    legend = ax.legend(frameon=False, fontsize=8.5, **place)
    for text in legend.get_texts():
        text.set_color(theme.ink)


def shorter(names: list[str]) -> list[str]:
    """Names without what all of them begin with, as far as an underscore."""
    prefixes = {n.partition("_")[0] for n in names}
    if len(names) > 1 and len(prefixes) == 1 and all(n.partition("_")[2] for n in names):
        return [n.partition("_")[2] for n in names]
    return names


def contrast(one: str, other: str) -> float:
    """The ratio of the lightness of two colours "#rrggbb", as WCAG 2 has it: from 1 to 21."""
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
