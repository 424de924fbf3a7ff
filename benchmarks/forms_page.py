"""What the scan of benchmarks/forms.py found, as a page of tables and as a picture."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

from pages import print_or_write

from linkwise.bench.machine import describe

Row = dict[str, Any]
Found = dict[str, Any]

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results" / "forms.json"
TABLE = FOLDER / "results" / "forms.md"
PICTURE = FOLDER / "results" / "forms.png"

PAGE = FOLDER.parent / "docs" / "speed.md"
MARKS_OF_PAGE = ("<!-- scan -->", "<!-- end scan -->")

FAMILIES = ("chain", "tree", "mixed")
MATRICES = ("mass_matrix", "mass_matrix_inverse", "linearize_inverse", "linearize_forward", "coriolis_matrix")
SHORT = {
    "forward_dynamics": "forward",
    "inverse_dynamics": "inverse",
    "mass_matrix": "𝓜",
    "mass_matrix_inverse": "𝓜⁻¹",
    "jacobian": "J",
    "frame_poses": "poses",
    "linearize_inverse": "∂inverse",
    "linearize_forward": "∂forward",
    "coriolis_matrix": "C",
}
MARKS = {"straight": "", "pieces": " p", "loops": " l"}
STEP = 1.3  # between neighbours of a family
LONG_COLD, LONG_WARM = 6.0, 0.03  # [s] asked of robots of up to 50 joints; warm, of all


def page(found: Found) -> str:
    """The summary, what stands out, and a line a robot."""
    rows = found["rows"]
    left_out = found.get("files left out", {})
    parts = [
        "# The scan",
        summary(found),
        "## What stands out",
        *_lists(rows),
        "## A state, and Pinocchio's time over it",
    ]
    parts.append(
        "ns a state of the kernel, then how many times that Pinocchio's C++ loop takes; p: code in pieces, l: in loops."
    )
    parts.append(_by_robot(rows, _state))
    parts += ["## First calls", "Processor time [s] with an empty cache / [ms] in another process with a full one."]
    parts.append(_by_robot(rows, _first))
    if left_out:
        lines = [f"- {name}: {why}" for name, why in left_out.items()]
        parts.append("Files left out:\n\n" + "\n".join(lines))
    if found.get("not reached"):
        parts.append("Not reached in the time that was given: " + ", ".join(found["not reached"]) + ".")
    parts.append("Made on " + describe(found["machine"]) if "machine" in found else "")
    return "\n\n".join(parts) + "\n"


def into_page(found: Found) -> None:
    """The summary, line by line, where the page on speed has a place for it."""
    lines = "\n".join(f"- {line}" for line in summary(found).splitlines())
    made = f"{lines}\n\nMade on {describe(found['machine'])}"
    print_or_write(made, PAGE, MARKS_OF_PAGE, ["--write"])


def summary(found: Found) -> str:
    """How many calls take which form, and the worst of everything."""
    rows = found["rows"]
    forms = Counter(str(r["form"]).partition(":")[0] for r in rows)
    counted = ", ".join(f"{count} {form}" for form, count in forms.most_common())
    lines = [f"{len(rows)} calls of {len({r['robot'] for r in rows})} robots: {counted}."]
    timed = [r for r in rows if "ns" in r]
    for what, key in (("empty", "first"), ("full", "warm")):
        taken = sorted((r[key], r["function"], r["robot"]) for r in timed if r.get(key))
        if taken:
            middle, (worst, function, robot) = taken[len(taken) // 2][0], taken[-1]
            lines.append(
                f"First call with {'an' if what == 'empty' else 'a'} {what} cache: {middle:.2g} s in the middle,"
                f" at most {worst:.2g} s (`{function}` of {robot})."
            )
    steps = _all_steps(rows)
    if steps:
        step, where, function = steps[0]
        lines.append(
            f"Steps of more than {STEP} between neighbours: {sum(s[0] > STEP for s in steps)} of {len(steps)},"
            f" at most {step:.2f} (`{function}`, {where})."
        )
    ratios = sorted((r["pinocchio"] / r["ns"], r["robot"], r["function"]) for r in timed if r.get("pinocchio"))
    if ratios:
        least, middle = ratios[0], ratios[len(ratios) // 2]
        lines.append(
            f"Pinocchio's time over the kernel's: {middle[0]:.1f} in the middle of {len(ratios)}, least {least[0]:.1f}"
            f" (`{least[2]}` of {least[1]})."
        )
    return "\n".join(lines)


def _lists(rows: list[Row]) -> list[str]:
    """Everything that is not as it is asked to be, by name."""
    faults = [r for r in rows if str(r["form"]).startswith(("NumPy", "failed", "not reached"))]
    slow = [r for r in rows if "first" in r and r["nv"] <= 50 and r["first"] > LONG_COLD]
    late = [r for r in rows if (r.get("warm") or 0) > LONG_WARM]
    near = [r for r in rows if r.get("pinocchio") and r["pinocchio"] / r["ns"] < 5]
    steps = [x for x in _all_steps(rows) if x[0] > STEP]
    call = lambda r: f"`{r['function']}` of {r['robot']}"
    return [
        _list("Not compiled", [f"{call(r)}: {r['form']}" for r in faults]),
        _list(
            f"Steps of more than {STEP} between neighbours of a family",
            [f"{step:.2f} `{function}` {where}" for step, where, function in steps],
        ),
        _list(
            f"First calls of robots of up to 50 joints that take more than {LONG_COLD:g} s with an empty cache",
            [f"{r['first']:.1f} s {call(r)} ({r['form']})" for r in sorted(slow, key=lambda r: -r["first"])],
        ),
        _list(
            f"First calls that take more than {1e3 * LONG_WARM:g} ms with a full cache",
            [f"{1e3 * r['warm']:.0f} ms {call(r)} ({r['form']})" for r in sorted(late, key=lambda r: -r["warm"])],
        ),
        _list(
            "Less than five times as quick as Pinocchio's C++ loop",
            [f"{r['pinocchio'] / r['ns']:.1f} {call(r)} ({r['form']})" for r in near],
        ),
    ]


def _list(title: str, lines: list[str], most: int = 60) -> str:
    if not lines:
        return f"**{title}**: none."
    more = [f"- and {len(lines) - most} more"] if len(lines) > most else []
    return f"**{title}**: {len(lines)}\n\n" + "\n".join([*(f"- {line}" for line in lines[:most]), *more])


def _by_robot(rows: list[Row], cell: Any) -> str:
    lines = ["| robot | joints | " + " | ".join(SHORT.values()) + " |", "|---|---:|" + "---:|" * len(SHORT)]
    for robot in dict.fromkeys(r["robot"] for r in rows):
        own = {r["function"]: r for r in rows if r["robot"] == robot}
        nv = next(iter(own.values())).get("nv", "")
        cells = [cell(own[f]) if f in own else "" for f in SHORT]
        lines.append(f"| {robot} | {nv} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _state(row: Row) -> str:
    if "ns" not in row:
        return str(row["form"]).partition(":")[0]
    ratio = f" ({row['pinocchio'] / row['ns']:.1f}×)" if row.get("pinocchio") else ""
    return f"{row['ns']:,.0f}{ratio}{MARKS[row['form']]}"


def _first(row: Row) -> str:
    if "first" not in row:
        return ""
    return f"{row['first']:.2f} / {1e3 * row['warm']:.0f}" if row.get("warm") else f"{row['first']:.2f}"


def table(rows: list[Row]) -> str:
    """A line a call."""
    lines = ["| robot | function | form | first call [s] | in another process [ms] | ns a state | Pinocchio |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in rows:
        first = f"{row['first']:.2f}" if "first" in row else ""
        warm = f"{1e3 * row['warm']:.0f}" if row.get("warm") else ""
        ns = f"{row['ns']:.0f}" if "ns" in row else ""
        ratio = f"{row['pinocchio'] / row['ns']:.1f}×" if row.get("pinocchio") else ""
        lines.append(f"| {row['robot']} | `{row['function']}` | {row['form']} | {first} | {warm} | {ns} | {ratio} |")
    return "\n".join(lines)


# --- growth --------------------------------------------------------------------------------------------


def unit(function: str) -> str:
    return "entry" if function in MATRICES else "degree of freedom"


def by_size(rows: list[Row], family: str, function: str) -> list[tuple[int, float, str]]:
    """(bodies, nanoseconds by degree of freedom or by entry, form) of a family."""
    own = [r for r in rows if r["robot"].partition(" ")[0] == family and r["function"] == function and "ns" in r]
    power = 2 if function in MATRICES else 1
    return sorted((r["bodies"], r["ns"] / r["nv"] ** power, r["form"]) for r in own if " " in r["robot"])


def _all_steps(rows: list[Row]) -> list[tuple[float, str, str]]:
    """(by how much a neighbour takes longer by degree of freedom or entry, which, function), worst first."""
    found = []
    for family in FAMILIES:
        for function in SHORT:
            for a, b in pairwise(by_size(rows, family, function)):
                found.append((b[1] / a[1], f"{family} {a[0]} ({a[2]}) → {b[0]} ({b[2]})", function))
    return sorted(found, reverse=True)


# --- the picture ---------------------------------------------------------------------------------------

_COLOURS = dict(zip(FAMILIES, ("#1f6f8b", "#c1532b", "#5b8c3e")))
_SHAPES = {"straight": "o", "pieces": "s", "loops": "^"}
_HUES = ("#1f6f8b", "#c1532b", "#5b8c3e", "#7d5ba6", "#e0a030", "#3bb0b0", "#8c1c2e", "#6b7a8f", "#22303c")


def draw(found: Found) -> None:
    """Growth of the families, a panel a function; below, all robots: Pinocchio's time over ours, and first calls."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = found["rows"]
    figure, panels = plt.subplots(4, 3, figsize=(13, 14), layout="constrained")
    for panel, function in zip(panels.ravel(), SHORT):
        for family, colour in _COLOURS.items():
            points = by_size(rows, family, function)
            panel.plot([p[0] for p in points], [p[1] for p in points], color=colour, lw=1.4, label=family)
            for form, shape in _SHAPES.items():
                own = [p for p in points if p[2] == form]
                panel.plot([p[0] for p in own], [p[1] for p in own], shape, color=colour, ms=5)
        panel.set_title(function.replace("_", " "), fontsize=11, loc="left")
        panel.set(xscale="log", yscale="log", ylabel=f"ns by {unit(function)}")
        panel.set_xticks([5, 10, 20, 50, 100, 300], ["5", "10", "20", "50", "100", "300"], minor=False)
        panel.set_xlabel("bodies")
        panel.minorticks_off()
        _ticks(panel)
    for form, shape in _SHAPES.items():
        panels[0, 0].plot([], [], shape, color="#555555", label=form, ms=5)
    panels[0, 0].legend(fontsize=8, ncols=2, frameon=False)
    ratio, cold, warm = panels[3]
    timed = [r for r in rows if "ns" in r]
    for function, hue in zip(SHORT, _HUES):
        own = [r for r in timed if r["function"] == function]
        many = {"color": hue, "ms": 3.5, "alpha": 0.75, "label": function.replace("_", " ")}
        with_peer = [r for r in own if r.get("pinocchio")]
        ratio.plot([r["nv"] for r in with_peer], [r["pinocchio"] / r["ns"] for r in with_peer], "o", **many)
        cold.plot([r["nv"] for r in own], [r["first"] for r in own], "o", **many)
        again = [r for r in own if r.get("warm")]
        warm.plot([r["nv"] for r in again], [1e3 * r["warm"] for r in again], "o", **many)
    titles = {
        ratio: ("Pinocchio's time over ours, all robots", "times"),
        cold: ("first call, empty cache", "s of processor time"),
        warm: ("first call, full cache", "ms of processor time"),
    }
    for panel, (title, label) in titles.items():
        panel.set_title(title, fontsize=11, loc="left")
        panel.set(xscale="log", yscale="log", ylabel=label, xlabel="degrees of freedom")
        panel.set_xticks([1, 3, 10, 30, 100, 300], ["1", "3", "10", "30", "100", "300"], minor=False)
        panel.minorticks_off()
        _ticks(panel)
    ratio.axhline(1, color="#22303c", lw=0.8)
    handles, labels = cold.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9, markerscale=1.8)
    figure.savefig(PICTURE, dpi=100)


def _ticks(panel: Any) -> None:
    """1, 2, 5 of each decade, as plain numbers."""
    from matplotlib.ticker import LogLocator, ScalarFormatter

    if not any(len(line.get_xdata()) for line in panel.lines):
        panel.set_yscale("linear")
        return
    panel.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
    formatter = ScalarFormatter()
    formatter.set_scientific(False)
    panel.yaxis.set_major_formatter(formatter)
    panel.grid(alpha=0.35, lw=0.5)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
