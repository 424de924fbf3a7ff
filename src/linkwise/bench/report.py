"""The figures as JSON and as Markdown tables."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import FileError
from ..symbols.operations import Operations
from ..whole_files import write_text
from .cases import ARGUMENTS, Case
from .instructions import Instructions
from .limits import Limit
from .machine import describe, machine
from .peak import Peak, kernel_rate
from .peers import PEERS
from .runner import LeftOut, Row
from .suites import Suite

TITLES = {
    "forward_dynamics": "forward dynamics",
    "inverse_dynamics": "inverse dynamics",
    "mass_matrix": "mass matrix",
    "mass_matrix_inverse": "inverse mass matrix",
    "linearize_inverse": "linearised inverse",
    "linearize_forward": "linearised forward",
    "jacobian": "Jacobian of a tip",
    "jacobian_dot_v": "J̇v of a tip",
    "operational_inertia": "Λ of a tip",
    "frame_poses": "poses of all frames",
    "coriolis_matrix": "Coriolis matrix",
    "centroidal_matrix": "momentum matrix",
}


@dataclass(frozen=True)
class Report:
    """What a suite gave, and where."""

    suite: str
    about: str
    rows: list[Row]
    left_out: list[LeftOut]
    machine: dict[str, Any]
    peaks: dict[str, Peak] = field(default_factory=dict)  # by dtype
    limits: list[Limit] = field(default_factory=list)


def make_report(
    suite: Suite, rows: list[Row], left_out: list[LeftOut], peaks: dict[str, Peak], limits: list[Limit]
) -> Report:
    """Put together, with the versions of the libraries that ran."""
    used = {r.library for r in rows}
    distributions = {d for name in used for d in PEERS[name].distributions} | {"numpy"}
    return Report(suite.name, suite.about, rows, left_out, machine(distributions), peaks, limits)


# --- JSON --------------------------------------------------------------------------------------------


def to_json(report: Report) -> str:
    timed = {name: PEERS[name].timed for name in dict.fromkeys(r.library for r in report.rows)}
    return json.dumps({**asdict(report), "timed": timed}, indent=1, ensure_ascii=False) + "\n"


def from_json(text: str) -> Report:
    """A report read back, as for another table or plot of figures that are there already."""
    found = json.loads(text)
    rows = []
    for r in found["rows"]:
        operations = None if r["operations"] is None else Operations(**r["operations"])
        rows.append(
            Row(Case(**r["case"]), r["library"], r["nanoseconds"], r["difference"], operations, r.get("how", ""))
        )
    return Report(
        found["suite"],
        found["about"],
        rows,
        [LeftOut(Case(**x["case"]), x["library"], x["reason"]) for x in found["left_out"]],
        found["machine"],
        {dtype: Peak(**x) for dtype, x in found["peaks"].items()},
        [_limit(x) for x in found["limits"]],
    )


def _limit(x: dict[str, Any]) -> Limit:
    found = x.get("instructions")
    return Limit(
        Case(**x["case"]), x["kernel"], x["traffic"], x["sines"], None if found is None else Instructions(**found)
    )


# --- Markdown ----------------------------------------------------------------------------------------


def markdown(report: Report) -> str:
    """One table per robot, batch and precision, then how near the kernels are to the limit, and what was left out."""
    parts = _tables(report)
    if report.peaks:
        parts.append(f"**How near to the machine's limit**\n\n{peak_table(report)}")
    used = dict.fromkeys(r.library for r in report.rows)
    parts.append(
        "What is timed:\n\n" + "\n".join(f"- {name}: {PEERS[name].timed}{_builds(report, name)}" for name in used)
    )
    worst = max((r.difference for r in report.rows), default=0.0)
    parts.append(f"Results agree with the NumPy sweeps to {worst:.0e} of their largest number.")
    if report.left_out:
        parts.append("Left out: " + "; ".join(left_out_lines(report.left_out)) + ".")
    parts.append("Made on " + describe(report.machine))
    return "\n\n".join(parts) + "\n"


def _builds(report: Report, library: str) -> str:
    """Which build was the quicker one in how many cases."""
    counts = Counter(r.how for r in report.rows if r.library == library and r.how)
    return f" (taken: {', '.join(f'{how} {n}×' for how, n in counts.most_common())})" if counts else ""


def short_markdown(report: Report) -> str:
    """The tables and the machine alone."""
    return "\n\n".join([*_tables(report), "Made on " + describe(report.machine)]) + "\n"


def _tables(report: Report) -> list[str]:
    about = report.about or f"Suite {report.suite!r}"
    parts = [f"{about}, on one core: nanoseconds per state, and in brackets how many times linkwise's that is."]
    for robot, batch, dtype in dict.fromkeys((r.case.robot, r.case.batch, r.case.dtype) for r in report.rows):
        chosen = [r for r in report.rows if (r.case.robot, r.case.batch, r.case.dtype) == (robot, batch, dtype)]
        states = "one state per call" if batch == 1 else f"batch of {batch}"
        parts.append(f"**{robot}**, {states}, {dtype}\n\n{_library_table(chosen)}")
    return parts


def _library_table(rows: list[Row]) -> str:
    functions = [f for f in ARGUMENTS if any(r.case.function == f for r in rows)]
    own = {r.case.function: r.nanoseconds for r in rows if r.library == "linkwise"}
    lines = [_line("library", *(TITLES[f] for f in functions)), _line("---", *("---:" for _ in functions))]
    for library in dict.fromkeys(r.library for r in rows):
        found = {r.case.function: r.nanoseconds for r in rows if r.library == library}
        cells = [_cell(found.get(f), None if library == "linkwise" else own.get(f)) for f in functions]
        lines.append(_line(f"**{library}**" if library == "linkwise" else library, *cells))
    return "\n".join(lines)


def _cell(nanoseconds: float | None, own: float | None) -> str:
    if nanoseconds is None:
        return "–"
    return _digits(nanoseconds) + (f" ({_digits(nanoseconds / own)}×)" if own else "")


def _digits(x: float) -> str:
    """Three digits, thousands apart."""
    if x >= 100:
        return f"{x:,.0f}"
    return f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def peak_table(report: Report) -> str:
    """Operations and rates of linkwise's kernels beside the measured peak of the core."""
    limits = {x.case: x for x in report.limits}
    head = ["robot", "function", "operations", "G/s", "of the peak", "fused", "stores", "ns"]
    head += ["× alone", "read/write alone", "sin/cos alone"]
    lines = [_line(*head), _line("---", "---", "---", *("---:" for _ in head[3:]))]
    for r in report.rows:
        if r.library != "linkwise" or r.operations is None or r.case.dtype not in report.peaks:
            continue
        rate, peak, limit = kernel_rate(r), report.peaks[r.case.dtype], limits.get(r.case)
        parts = [_digits(_multiplying(r, peak)), *(map(_digits, (limit.traffic, limit.sines)) if limit else ("–", "–"))]
        code = limit.instructions if limit else None
        cells = [
            r.case.robot,
            TITLES[r.case.function],
            str(r.operations),
            f"{rate / 1e9:.1f}",
            f"{rate / peak.fused:.0%}",
        ]
        cells += [f"{code.fused / code.arithmetic:.0%}", f"{code.stores / code.arithmetic:.2f}"] if code else ["–", "–"]
        lines.append(_line(*cells, _digits(r.nanoseconds), *parts))
    rates = "; ".join(
        f"{dtype}: {p.fused / 1e9:.1f} G/s fused, {p.unfused / 1e9:.1f} unfused, {p.storing / 1e9:.1f} fused with every"
        " third result stored"
        for dtype, p in report.peaks.items()
    )
    notes = (
        "G/s counts × and + alone. Fused is the part of the vector instructions for × and + that do both, stores are"
    )
    notes += " vector stores for each of them, both counted in the machine code. × alone is the time of a state's"
    notes += " multiplications at that peak: fused or not, each takes a place in the same pipes."
    return "\n".join(lines) + f"\n\nMeasured peak of additions and multiplications, {rates}. {notes}"


def _multiplying(row: Row, peak: Peak) -> float:
    """Nanoseconds that a state's multiplications take where they are done at the peak, and nothing beside them."""
    return 1e9 * row.operations.multiplications / (peak.fused / 2) if row.operations else 0.0


def limits_text(report: Report) -> str:
    """What stands between the kernels and the peak, in the figures of the table."""
    own = {r.case: r for r in report.rows if r.library == "linkwise"}
    limits = [x for x in report.limits if x.case in own and x.case.dtype in report.peaks]
    rate = {x.case: kernel_rate(own[x.case]) / report.peaks[x.case.dtype].fused for x in limits}
    peak = next(iter(report.peaks.values()))
    codes = [(x.case, x.instructions) for x in limits if x.instructions]
    lines = [
        f"The kernels of the table reach {_range(rate)} of the peak: independent fused multiply-adds in registers,"
        " nothing read or written. These things stand between. Each was measured by itself; none was taken out of a"
        " kernel to see what it gains, so how the rest divides among them is a reading, not a measurement.",
    ]
    if codes:
        stores = {case: code.stores / code.arithmetic for case, code in codes}
        fused = {case: code.fused / code.arithmetic for case, code in codes}
        lines += [
            "- **Values that do not fit in registers.** A straight-line program of thousands of operations has more"
            " live values than there are registers; what waits is stored and loaded again, and results are stored as"
            f" well. The kernels have {_range(stores, '.2f')} vector stores for each instruction of arithmetic. With"
            f" one for three, the loop of the peak runs at {peak.storing / peak.fused:.0%} of it.",
            "- **Operations that do not pair.** A fused instruction does a multiplication and an addition at once;"
            f" {_range(fused)} of the instructions for these are fused. With none, the loop of the peak runs at"
            f" {peak.unfused / peak.fused:.0%} of it.",
        ]
    products = {x.case: _multiplying(own[x.case], report.peaks[x.case.dtype]) / own[x.case].nanoseconds for x in limits}
    sines = {x.case: x.sines / x.kernel for x in limits}
    traffic = {x.case: x.traffic / x.kernel for x in limits}
    lines += [
        "- **Multiplications.** Fused with an addition or not, each takes a place in the pipes that the peak fills: a"
        " program with more multiplications than additions cannot reach it. At the peak's rate they alone take"
        f" {_range(products)} of the time.",
        "- **Sines and cosines** are one operation each in the table, but take a polynomial. A kernel of these alone,"
        f" its own reading included, takes {_range(sines)} of the time.",
        "- **Reading and writing.** States are rows of the caller's arrays and several rows make the lanes of a vector,"
        " so that numbers are transposed on their way in and out. A kernel that does this with the same arrays and"
        f" computes next to nothing takes {_range(traffic)} of the time.",
    ]
    return "\n\n".join([lines[0], "\n".join(lines[1:])]) + "\n"


def _range(shares: dict[Case, float], form: str = ".0%") -> str:
    """From the least to the most, each with its case."""
    (least, x), (most, y) = (f(shares.items(), key=lambda item: item[1]) for f in (min, max))
    named = [f"{value:{form}} ({case.robot}, {TITLES[case.function]})" for case, value in ((least, x), (most, y))]
    return " to ".join(named)


def left_out_lines(left_out: Iterable[LeftOut]) -> list[str]:
    """One line per library and reason, naming the cases where they are not all."""
    grouped: dict[tuple[str, str], list[Case]] = {}
    for x in left_out:
        grouped.setdefault((x.library, x.reason), []).append(x.case)
    return [f"{library} ({_where(cases)}: {reason})" for (library, reason), cases in grouped.items()]


def _where(cases: list[Case]) -> str:
    return ", ".join(dict.fromkeys(f"{c.robot} {TITLES[c.function]}" for c in cases))


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


# --- into a page -------------------------------------------------------------------------------------


def write_between_markers(path: Path, report: Report) -> None:
    """Put the tables between ``<!-- bench: SUITE -->`` and ``<!-- end bench -->`` of a page.

    ``SUITE short`` is the tables and the machine alone, ``SUITE limits`` what stands between the kernels and the peak.
    """
    try:
        page = path.read_text(encoding="utf-8")
    except OSError as e:
        raise FileError(f"{path}: cannot be read ({e.strerror})") from None
    texts = {report.suite: markdown(report), f"{report.suite} short": short_markdown(report)}
    if report.limits:
        texts[f"{report.suite} limits"] = limits_text(report)
    names = "|".join(map(re.escape, texts))
    marked = re.compile(rf"(<!-- bench: ({names}) -->\n).*?(<!-- end bench -->)", re.DOTALL)
    changed, count = marked.subn(lambda m: m[1] + texts[m[2]] + m[3], page)
    if not count:
        raise FileError(f"{path}: has no '<!-- bench: {report.suite} -->' … '<!-- end bench -->' to write between")
    write_text(path, changed)
