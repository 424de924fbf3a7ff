"""What forward dynamics costs as robots grow: O(N), O(N²) and O(N³) methods, counted and timed (UF §3 to §6)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import mapping, names, numbers, one_of, shown, word
from ...dynamics.forward.methods import FORWARD_METHODS
from ...errors import InputError
from ...progress import Progress
from ...robot import make
from ...robot.calls import refuse_other_than_robot
from ...robot.robot import Robot
from .. import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = {
    "articulated_body": ("O(N): articulated bodies", 0),
    "triangular": ("O(N²): triangular factors", 2),
    "composite_cholesky": (r"O(N³): Cholesky of $\mathcal{M}$", 1),
}  # words, and the number of the colour
SIZES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40)
BATCH = 512
SCATTER = 0.05  # of times: what two runs of the same code may differ by


@dataclass(frozen=True)
class Costs:
    """Operations and nanoseconds a state: method → one number for each of ``sizes``."""

    sizes: tuple[int, ...]
    operations: Mapping[str, tuple[int, ...]]
    nanoseconds: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        count = len(_increasing(self.sizes))
        for what in ("operations", "nanoseconds"):
            for method, values in mapping(getattr(self, what), what).items():
                found = numbers(values, f"{what} of {word(method, 'a method')}")
                if found.shape != (count,) or not (np.isfinite(found) & (found > 0)).all():
                    raise InputError(f"{what} of {method} must be {count} positive numbers, one for each size")

    def crossover(
        self, table: Mapping[str, Sequence[float]], fast: str, slow: str, *, margin: float = 0.0
    ) -> float | None:
        """The size at which ``fast`` becomes and stays cheaper, between two sizes by a straight line; None if never.

        With a ``margin`` it must be cheaper by that share: what is timed scatters.
        """
        gap = np.array(table[fast], float) - (1.0 - margin) * np.array(table[slow], float)
        later = [k for k in range(len(gap)) if (gap[k:] < 0).all()]
        if not later:
            return None
        k = later[0]
        if k == 0:
            return float(self.sizes[0])
        return float(np.interp(0.0, [gap[k], gap[k - 1]], [self.sizes[k], self.sizes[k - 1]]))


def measure_costs(
    sizes: Sequence[int] = SIZES,
    *,
    methods: Sequence[str] = tuple(METHODS),
    robot: Callable[[int], Robot] = make.chain,
    timed: bool = True,
) -> Costs:
    """Count, and time on one core, the compiled forward dynamics of ``robot(n)`` for each size n.

    Operations are those of the compiled program, constants folded. Times are the best of several runs over a batch of
    512 states. The default sizes take about a minute the first time, seconds once the code is in the cache.
    """
    methods = [
        one_of(m, FORWARD_METHODS, "forward-dynamics method", error=InputError) for m in names(methods, "methods")
    ]
    sizes = _increasing(sizes)
    if not callable(robot):
        raise InputError(f"robot is a function that gives the robot of n joints, got {shown(robot)}")
    operations: dict[str, list[int]] = {m: [] for m in methods}
    nanoseconds: dict[str, list[float]] = {m: [] for m in methods}
    with Progress(len(sizes) * len(methods), "kernels") as bar:
        for n in sizes:
            built = robot(n)
            refuse_other_than_robot(built, "what robot(n) gives: a measurement")
            for m in methods:
                kernel = built.compile("forward_dynamics", method=m, rolled=False)
                operations[m].append(int(kernel.operations.total))
                if timed:
                    nanoseconds[m].append(_best_time(kernel, built))
                bar.advance(1)
    timings = {m: tuple(x) for m, x in nanoseconds.items()} if timed else {}
    return Costs(tuple(sizes), {m: tuple(x) for m, x in operations.items()}, timings)


def _increasing(sizes: Any) -> tuple[int, ...]:
    """Numbers of joints, in order."""
    given = np.asarray(numbers(sizes, "sizes"))
    if given.ndim != 1 or not given.size or given[0] < 1 or (np.diff(given) <= 0).any() or (given % 1).any():
        raise InputError(f"sizes must be increasing whole numbers from 1, got {shown(sizes)}")
    return tuple(int(n) for n in given)


def _best_time(kernel: Any, robot: Robot, runs: int = 40) -> float:
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, (BATCH,))
    v, tau = rng.normal(size=(2, BATCH, robot.nv))
    best = np.inf
    for _ in range(runs):
        begun = time.perf_counter()
        kernel(q, v, tau, threads=1)
        best = min(best, time.perf_counter() - begun)
    return 1e9 * best / BATCH


def costs(measured: Costs | None = None, *, theme: str = "light", transparent: bool = False) -> Figure:
    """Operations, and nanoseconds a state, against the number of joints, with the crossover marked.

    Both axes are logarithmic with decades of one length, so that a power of N is a straight line of that slope; pale
    lines have the slopes 1, 2 and 3. ``measured`` is what :func:`measure_costs` gave; without it, it is measured now.
    ``theme`` and ``transparent`` are those of :func:`joints`.
    """
    look = style.theme_of(theme, transparent)
    found = measure_costs() if measured is None else measured
    if not isinstance(found, Costs):
        raise InputError(f"costs are drawn of what lw.plots.measure_costs gives, got {shown(found)}")
    panels: list[tuple[str, str, Mapping[str, Sequence[float]]]] = [
        ("operations of the compiled program", "operations", found.operations)
    ]
    if found.nanoseconds:
        panels.append((f"time, one core, batch of {BATCH}", "nanoseconds a state", found.nanoseconds))
    figure = style.new_figure(5.4 * len(panels) + 0.2, 7.0, "Forward dynamics of a chain of N hinges", theme=look)
    for ax, (title, ylabel, table) in zip(np.atleast_1d(figure.subplots(1, len(panels))), panels):
        style.plain(ax, title, ylabel, "joints N", theme=look)
        ax.set_xscale("log")
        ax.set_yscale("log")
        for k, (method, values) in enumerate(table.items()):
            label, colour = METHODS.get(method, (method, k + 3))
            slope = _slope(found.sizes, values)
            named = f"{label}, ends as $N^{{{slope:.1f}}}$"
            shade = look.colours[colour % len(look.colours)]
            ax.plot(found.sizes, values, "o-", color=shade, markersize=3.5, linewidth=1.8, label=named)
        _draw_slopes(ax, found.sizes, table, look)
        _mark_crossover(ax, found, table, look)
        ax.set_aspect("equal", adjustable="datalim")
        ax.minorticks_off()
        ax.set_xticks([n for n in (1, 2, 4, 8, 16, 32, 64, 128) if found.sizes[0] <= n <= found.sizes[-1]])
        ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        style.named(ax, theme=look, below=True)
    return figure


def _draw_slopes(ax: Any, sizes: Sequence[int], table: Mapping[str, Sequence[float]], look: style.Theme) -> None:
    """Pale lines N, N² and N³ from where the curves are in their middle."""
    if len(sizes) < 2 or not table:
        return
    k = len(sizes) // 2
    start = float(np.median([values[k] for values in table.values()]))
    highest = 1.5 * max(max(values) for values in table.values())
    for power, label in ((1, "N"), (2, "N²"), (3, "N³")):
        end = min(sizes[-1], sizes[k] * (highest / start) ** (1 / power))
        height = start * (end / sizes[k]) ** power
        ax.plot([sizes[k], end], [start, height], color=look.faint, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
        ax.annotate(label, (end, height), xytext=(3, 2), textcoords="offset points", color=look.pale, fontsize=9)


def _slope(sizes: Sequence[int], values: Sequence[float]) -> float:
    """The exponent of growth between the last size and the one at half of it."""
    x, y = np.log(np.array(sizes, float)), np.log(np.array(values, float))
    if len(x) < 2:
        return float("nan")
    half = x[-1] - np.log(2.0)
    return float((y[-1] - np.interp(half, x, y)) / np.log(2.0))


def _mark_crossover(ax: Any, found: Costs, table: Mapping[str, Sequence[float]], look: style.Theme) -> None:
    """A line where the O(N) method becomes the cheaper one, beside the O(N³) method."""
    if not {"articulated_body", "composite_cholesky"} <= set(table):
        return
    timed = table is found.nanoseconds
    at = found.crossover(table, "articulated_body", "composite_cholesky", margin=SCATTER if timed else 0.0)
    if at is None or at <= found.sizes[0]:
        return
    height = float(np.interp(at, found.sizes, table["articulated_body"]))
    ax.axvline(at, color=look.pale, linewidth=1.0, linestyle="--")
    ax.plot(at, height, "o", markersize=10, markerfacecolor="none", markeredgecolor=look.ink, markeredgewidth=1.3)
    note = {"textcoords": "offset points", "fontsize": 9, "color": look.ink}
    what = f"faster than O(N³)\nby more than {SCATTER:.0%}" if timed else "cheaper than O(N³)"
    ax.annotate(
        f"from N = {int(np.floor(at)) + 1} on\nO(N) is {what}", (at, height), (14, -46 if timed else -30), **note
    )
