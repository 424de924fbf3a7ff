"""The figures of a report: distributions, what drives results, correlations, sensitivities, convergence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..view.style import LIGHT, named, new_figure, plain
from . import estimates, sensitivity
from .estimates import Estimate
from .sensitivity import Estimates

_BLUE, _RED = LIGHT.colours[0], LIGHT.colours[1]
_POINTS = 3000  # of a cloud


def _panels(count: int, columns: int, width: float, height: float, title: str, subtitle: str = "") -> tuple[Any, Any]:
    """A figure with so many axes, side by side in rows."""
    columns = min(columns, count)
    rows = -(-count // columns)
    wide = max(width * columns, _wide_enough(subtitle))
    figure = new_figure(wide, height * rows + 0.7, title, subtitle)
    axes = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    for ax in axes[count:]:
        ax.set_visible(False)
    return figure, axes


def _wide_enough(subtitle: str) -> float:
    """[inches] What stands below must not press the axes together, nor end before its end."""
    return 0.072 * len(subtitle)


def distributions(results: Mapping[str, np.ndarray], worst: Mapping[str, Sequence[float]], intervals: bool) -> Any:
    """Histograms with median and the 1 and 99 % quantiles, bands for their intervals; worst cases are marked."""
    said = "line: median; dashed: 1 and 99 % quantiles; red: worst cases"
    said += "; grey: 95 % intervals" if intervals else ""
    figure, axes = _panels(len(results), 3, 3.7, 2.5, "Distributions", said)
    for ax, (name, y) in zip(axes, results.items()):
        bins = int(np.clip(2 * np.cbrt(len(y)), 8, 60))
        ax.hist(y, bins=bins, color=_BLUE, alpha=0.85)
        left, right = ax.get_xlim()
        for p, style in zip(estimates.QUANTILES, ("--", "-", "--")):
            found = estimates.quantile(y, p)
            ax.axvline(found.value, color=LIGHT.ink, linestyle=style, linewidth=1.1)
            if intervals:
                low, high = max(found.low, left), min(found.high, right)
                ax.axvspan(low, high, color=LIGHT.ink, alpha=0.12, linewidth=0)
        marks = worst.get(name, ())
        at: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "color": _RED, "markersize": 6}
        ax.plot(marks, np.full(len(marks), 0.04), "v", linestyle="none", **at)
        ax.set_xlim(left, right)
        plain(ax, name, "runs")
    return figure


def drivers(
    name: str, y: np.ndarray, inputs: Mapping[str, np.ndarray], worst: Sequence[int], drawn: np.ndarray | None
) -> Any:
    """A result over the parameters that it goes with most, one point a run; ``worst`` are marked.

    Correlations are those of the runs that were ``drawn`` independently; where none was, they have no intervals.
    """
    asked = np.ones(len(y), dtype=bool) if drawn is None else drawn
    found = sensitivity.rank_correlations({n: x[asked] for n, x in inputs.items()}, y[asked])
    chosen = np.argsort(-np.abs(found.values), kind="stable")[:3]
    figure, axes = _panels(len(chosen), 3, 3.7, 2.7, f"{name} over what it goes with most", "red: worst cases")
    shown = np.unique(np.linspace(0, len(y) - 1, min(len(y), _POINTS)).astype(int))
    for ax, i in zip(axes, chosen):
        x = inputs[found.names[i]]
        style: dict[str, Any] = {"linewidths": 0, "rasterized": True}
        ax.scatter(x[shown], y[shown], s=7, color=_BLUE, alpha=0.35, **style)
        ax.scatter(x[list(worst)], y[list(worst)], s=34, color=_RED, **style)
        digits = 2 if found.errors[i] >= 0.01 else 4
        error = "" if drawn is None else f" ± {found.errors[i]:.{digits}f}"
        said = f"rank correlation {found.values[i]:.{digits}f}{error}"
        plain(ax, said, name if ax is axes[0] else "", found.names[i])
    return figure


def correlations(inputs: Mapping[str, np.ndarray], results: Mapping[str, np.ndarray]) -> Any:
    """Rank correlations of all numbers with each other; those that may be chance alone are left pale."""
    everything = {**inputs, **results}
    matrix = sensitivity.rank_matrix(everything)
    count, n = len(next(iter(everything.values()))), len(everything)
    chance = 1.96 / np.sqrt(max(count - 1, 1))
    size = 2.6 + 0.36 * n
    said = f"rank correlations of {count:,} runs; numbers: |r| above {chance:.2f}, which chance exceeds in 5 % of pairs"
    figure = new_figure(max(size + 0.8, _wide_enough(said)), size, "", said)
    ax = figure.subplots()
    sure = np.abs(matrix) > chance
    image = ax.imshow(np.where(sure, matrix, 0.0), cmap="RdBu_r", vmin=-1, vmax=1)
    ax.set_xticks(range(n), list(everything), rotation=90)
    ax.set_yticks(range(n), list(everything))
    plain(ax)
    ax.grid(False)
    if n <= 14:
        for i, j in zip(*np.nonzero(sure & ~np.eye(n, dtype=bool))):
            dark = abs(matrix[i, j]) > 0.6
            text: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7}
            ax.text(j, i, f"{matrix[i, j]:.2f}", color="white" if dark else LIGHT.ink, **text)
    ax.axhline(len(inputs) - 0.5, color=LIGHT.ink, linewidth=0.8)
    ax.axvline(len(inputs) - 0.5, color=LIGHT.ink, linewidth=0.8)
    figure.colorbar(image, ax=ax, shrink=0.8)
    return figure


def sensitivities(found: Mapping[str, Sequence[Estimates]], subtitle: str) -> Any:
    """Bars with 95 % intervals, one panel a result."""
    most = max(len(x[0].names) for x in found.values())
    figure, axes = _panels(len(found), 2, 5.4, 1.2 + 0.3 * most, "", subtitle)
    for ax, (name, estimated) in zip(axes, found.items()):
        height = 0.8 / len(estimated)
        order = np.argsort(estimated[-1].values)
        for i, e in enumerate(estimated):
            at = np.arange(len(e.names)) + (i - (len(estimated) - 1) / 2) * height
            bars = {"color": LIGHT.colours[i], "ecolor": LIGHT.ink, "capsize": 2.5, "label": e.what}
            ax.barh(at, e.values[order], height, xerr=e.errors[order], error_kw={"linewidth": 1.0}, **bars)
        ax.set_yticks(range(len(order)), [estimated[0].names[i] for i in order])
        plain(ax, name)
        ax.axvline(0.0, color=LIGHT.pale, linewidth=0.8)
        if len(estimated) > 1 or ax is axes[0]:
            named(ax)
    return figure


def convergence(results: Mapping[str, np.ndarray]) -> Any:
    """Mean and 99 % quantile as runs come in, with 95 % intervals."""
    said = "estimates as runs come in; bands: 95 % intervals, open above where runs are too few for the quantile"
    figure, axes = _panels(len(results), 3, 3.7, 2.4, "", said)
    for ax, (name, y) in zip(axes, results.items()):
        bounds: list[float] = []
        bands: list[tuple[np.ndarray, list[Estimate], str]] = []
        for colour, (what, (n, found)) in zip((_BLUE, _RED), estimates.convergence(y).items()):
            low, high = (np.array([getattr(x, end) for x in found]) for end in ("low", "high"))
            late = n >= max(n[0], n[-1] // 50)
            known = [x for x in (*low[late], *high[late]) if np.isfinite(x)]
            bounds += [*known, *(x.value for x, is_late in zip(found, late) if is_late)]
            ax.plot(n, [x.value for x in found], color=colour, label=what)
            bands.append((n, found, colour))
        room = 0.05 * (max(bounds) - min(bounds)) or 0.5  # of results that do not vary
        ax.set_ylim(min(bounds) - room, max(bounds) + room)
        for band in bands:
            _band(ax, *band)
        ax.set_xscale("log")
        plain(ax, name, "", "runs")
        if ax is axes[0]:
            named(ax)
    return figure


def _band(ax: Any, n: np.ndarray, found: Sequence[Estimate], colour: str) -> None:
    """Intervals; one that is open goes to the edge of the axes."""
    bottom, top = ax.get_ylim()
    low, high = (np.clip([getattr(x, end) for x in found], bottom, top) for end in ("low", "high"))
    ax.fill_between(n, low, high, color=colour, alpha=0.2, linewidth=0)
