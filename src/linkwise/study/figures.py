"""The figures of a report: distributions, correlations, sensitivities, convergence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..view.style import LIGHT, named, new_figure, plain
from . import sensitivity
from .sensitivity import Estimates

_BLUE, _RED = LIGHT.colours[0], LIGHT.colours[1]


def distributions(results: Mapping[str, np.ndarray], worst: Mapping[str, Sequence[float]]) -> Any:
    """Histograms with median and the 1 and 99 % quantiles; worst cases are marked."""
    columns = min(3, len(results))
    rows = -(-len(results) // columns)
    figure = new_figure(3.7 * columns, 2.5 * rows + 0.7, "Distributions", "line: median; dashed: 1 and 99 % quantiles")
    axes = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    for ax, (name, y) in zip(axes, results.items()):
        bins = int(np.clip(2 * np.cbrt(len(y)), 8, 60))
        ax.hist(y, bins=bins, color=_BLUE, alpha=0.85)
        for p, style in ((0.01, "--"), (0.5, "-"), (0.99, "--")):
            ax.axvline(np.quantile(y, p), color=LIGHT.ink, linestyle=style, linewidth=1.1)
        for x in worst.get(name, ()):
            ax.axvline(x, color=_RED, linewidth=1.0, ymax=0.12)
        plain(ax, name, "runs")
    for ax in axes[len(results) :]:
        ax.set_visible(False)
    return figure


def correlations(inputs: Mapping[str, np.ndarray], results: Mapping[str, np.ndarray]) -> Any:
    """Rank correlations of all numbers with each other, those of parameters first."""
    everything = {**inputs, **results}
    ranks = np.array([np.argsort(np.argsort(x)) for x in everything.values()], dtype=float)
    still = ranks.std(axis=1) == 0
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix = np.corrcoef(ranks)
    matrix[still], matrix[:, still] = 0.0, 0.0
    n = len(everything)
    size = 2.6 + 0.36 * n
    figure = new_figure(size + 0.8, size, "Rank correlations")
    ax = figure.subplots()
    image = ax.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
    ax.set_xticks(range(n), list(everything), rotation=90)
    ax.set_yticks(range(n), list(everything))
    plain(ax)
    ax.grid(False)
    if n <= 14:
        for i in range(n):
            for j in range(n):
                dark = abs(matrix[i, j]) > 0.6
                text: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7}
                ax.text(j, i, f"{matrix[i, j]:.2f}", color="white" if dark else LIGHT.ink, **text)
    ax.axhline(len(inputs) - 0.5, color=LIGHT.ink, linewidth=0.8)
    ax.axvline(len(inputs) - 0.5, color=LIGHT.ink, linewidth=0.8)
    figure.colorbar(image, ax=ax, shrink=0.8)
    return figure


def sensitivities(found: Mapping[str, Sequence[Estimates]], subtitle: str) -> Any:
    """Bars with 95 % intervals, one panel a result."""
    columns = min(2, len(found))
    rows = -(-len(found) // columns)
    most = max(len(x[0].names) for x in found.values())
    figure = new_figure(5.4 * columns, (1.2 + 0.3 * most) * rows + 0.7, "Sensitivities", subtitle)
    axes = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    for ax, (name, estimates) in zip(axes, found.items()):
        height = 0.8 / len(estimates)
        order = np.argsort(estimates[-1].values)
        for i, e in enumerate(estimates):
            at = np.arange(len(e.names)) + (i - (len(estimates) - 1) / 2) * height
            bars = {"color": LIGHT.colours[i], "ecolor": LIGHT.ink, "capsize": 2.5, "label": e.what}
            ax.barh(at, e.values[order], height, xerr=e.errors[order], error_kw={"linewidth": 1.0}, **bars)
        ax.set_yticks(range(len(order)), [estimates[0].names[i] for i in order])
        plain(ax, name)
        ax.axvline(0.0, color=LIGHT.pale, linewidth=0.8)
        if len(estimates) > 1 or ax is axes[0]:
            named(ax)
    for ax in axes[len(found) :]:
        ax.set_visible(False)
    return figure


def convergence(results: Mapping[str, np.ndarray]) -> Any:
    """Means as runs come in, with 95 % intervals."""
    columns = min(3, len(results))
    rows = -(-len(results) // columns)
    figure = new_figure(3.7 * columns, 2.4 * rows + 0.7, "Convergence of the means", "band: 95 % interval of the mean")
    axes = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    for ax, (name, y) in zip(axes, results.items()):
        n, mean, half = sensitivity.convergence(y)
        ax.fill_between(n, mean - half, mean + half, color=_BLUE, alpha=0.25, linewidth=0)
        ax.plot(n, mean, color=_BLUE)
        ax.set_xscale("log")
        late = n >= max(10, n[-1] // 50)
        if late.any():
            ax.set_ylim(float((mean - half)[late].min()), float((mean + half)[late].max()))
        plain(ax, name, "", "runs")
    for ax in axes[len(results) :]:
        ax.set_visible(False)
    return figure
