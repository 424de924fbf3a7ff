"""The report of a study: one HTML file that needs no network, with pictures inside, for whoever has to decide by it."""

from __future__ import annotations

import base64
import html
import io
import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import file_path
from ..errors import InputError, LinkwiseError, UnknownNameError
from ..properties import cached_property
from ..whole_files import write_text
from . import estimates, figures, sensitivity
from .estimates import Estimate, Independent
from .sampling import DESIGNS, Sampling
from .sensitivity import Estimates

if TYPE_CHECKING:
    from .results import OpenStudy
    from .study import Study

_RESULTS = 6  # that are shown
_FEWEST = 10  # runs of which correlations are said
_FEWEST_BINNED = 40  # runs of which shares of a variance are said
_INPUTS = 16  # numbers of parameters that are shown
_WORST = 3
_FAILED = 10
_TOLD = 6  # parameters of a worst case
_FRAMES = 24  # of a moving picture
_POSES = 3  # that stand for it on paper, and where nothing is to move
_LARGE = 1e100
_SHARP = 180  # pixels of a picture in an inch that it has 110 of on the page

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #22303c; background: #fff; max-width: 1000px; margin: 2.5em auto;
  padding: 0 1.2em; }
h1 { font-size: 1.7em; margin-bottom: 0.1em; }
h2 { margin-top: 2em; border-bottom: 1px solid #dde3e8; }
table { border-collapse: collapse; font-size: 0.93em; }
td, th { padding: 0.25em 0.9em 0.25em 0; text-align: left; vertical-align: top; }
td + td { overflow-wrap: anywhere; }
th { color: #5d6975; font-weight: 600; }
tr + tr { border-top: 1px solid #eef1f4; }
code, pre { font: 0.92em ui-monospace, monospace; background: #f4f6f8; padding: 0.1em 0.3em; border-radius: 3px; }
pre { padding: 0.7em; overflow-x: auto; white-space: pre-wrap; }
img { max-width: 100%; height: auto; }
.wide { overflow-x: auto; margin: 1em 0; }
.wide img { max-width: max(100%, 640px); }
.wide td { overflow-wrap: normal; }
.stills { display: none; }
.stills img { width: 100%; }
.pale { color: #5d6975; }
.case { display: inline-block; margin: 0 1em 1em 0; vertical-align: top; width: 300px; }
.bar { height: 10px; border-radius: 5px; background: #c23b4e; overflow: hidden; }
.bar div { height: 100%; background: #2f7d4f; }
@media print, (prefers-reduced-motion: reduce) { .moving { display: none; } .stills { display: block; } }
@media print {
  body { max-width: none; margin: 0; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h2, h3 { break-after: avoid; }
  tr, .wide, .case, details { break-inside: avoid; }
  .wide { overflow-x: visible; }
  .wide img { max-width: 100%; }
  .case { width: 31%; margin-right: 1.5%; }
}
"""


def write_report(study: OpenStudy, path: Any, worst_of: str | None, source: Study | None) -> Path:
    """Write the report; gives its path."""
    if path is None and not study.place.is_local:
        raise InputError("the study lies behind a URL; name a file for the report: report(path), --report FILE")
    target = study.place.path("report.html") if path is None else file_path(path, "the report")
    write_text(target, Report(study, worst_of, source).text())
    return target


@dataclass(frozen=True, eq=False)
class Report:
    """What a report says of the runs that are finished."""

    study: OpenStudy
    worst_of: str | None = None
    source: Study | None = None

    # --- the numbers -----------------------------------------------------------------------------------

    @cached_property
    def runs(self) -> Any:
        return self.study.to_pandas()

    @cached_property
    def inputs(self) -> dict[str, np.ndarray]:
        """Numbers of parameters that vary, all runs; the first so many."""
        found: dict[str, np.ndarray] = {}
        for name in self._of_parameters:
            if self.runs[name].dtype.kind in "fib":
                x = self.runs[name].to_numpy(dtype=float)
                sound = x[np.isfinite(x)]  # NaN where it could not be drawn
                if (sound != sound[:1]).any():
                    found |= _drawable(name, x)
        return dict(list(found.items())[:_INPUTS])

    @cached_property
    def words(self) -> dict[str, np.ndarray]:
        """Words of parameters that vary, as numbers from 0 on; the first so many."""
        drawn = {n: self.runs[n].to_numpy() for n in self._of_parameters if self.runs[n].dtype.kind not in "fib"}
        found = {n: np.unique(x.astype(str), return_inverse=True)[1] for n, x in drawn.items()}
        return dict([(n, x) for n, x in found.items() if x.any()][:_INPUTS])

    @cached_property
    def _of_parameters(self) -> list[str]:
        """The columns of parameters; those of vectors have their numbers' places in brackets."""
        found = []
        for name in self.study.manifest["parameters"]:
            own = re.compile(re.escape(name) + r"\[\d+\]")
            found += [name] if name in self.runs.columns else [c for c in self.runs.columns if own.fullmatch(c)]
        return found

    @cached_property
    def results(self) -> dict[str, np.ndarray]:
        """Results that are single numbers, NaN where a run failed; of a study without, those of its vectors."""
        own = [n for n in self.runs.columns if n not in self._of_parameters]
        found = {n: self._values(n) for n in own if self.runs[n].dtype.kind in "fib" and n != "status"}
        found = {n: y for n, y in found.items() if np.isfinite(y).sum() > 1}
        if not found and self.study.arrays:
            whole = self.study.results([*self.study.arrays, "status"])
            flat = {n: whole[n].values for n in self.study.arrays if whole[n].ndim == 2}
            for name, x in flat.items():
                found |= {f"{name}[{i}]": x[:, i].astype(float) for i in range(x.shape[1])}
        chosen = list(found)[:_RESULTS]
        if self.worst_of is not None:
            if self.worst_of not in found:
                raise UnknownNameError(f"no result is named {self.worst_of!r}; the study has {', '.join(found)}")
            chosen = [self.worst_of, *(n for n in chosen if n != self.worst_of)][:_RESULTS]
        return {name: y for n in chosen for name, y in _drawable(n, found[n]).items()}

    def _values(self, name: str) -> np.ndarray:
        y = self.runs[name].to_numpy(dtype=float)
        return np.where(self.runs["status"].to_numpy() == "done", y, np.nan)

    @cached_property
    def independent(self) -> Independent:
        """Which runs are drawn independently, as intervals ask for."""
        about = self.study.manifest
        cycle = self._sampling().cycle if about["sampling"] in DESIGNS else 1
        return estimates.independent(about["sampling"], about["parameters"], cycle)

    @cached_property
    def drawn(self) -> np.ndarray:
        """Which rows of the table say what distributions are: those drawn independently; all, where none is."""
        runs = self.runs.index.to_numpy()
        return self.independent.among(runs) if self.independent.any else np.ones(len(runs), dtype=bool)

    @cached_property
    def finite(self) -> dict[str, np.ndarray]:
        found = {name: y[np.isfinite(y) & self.drawn] for name, y in self.results.items()}
        return {name: y for name, y in found.items() if len(y) > 1}

    @cached_property
    def worst(self) -> list[int]:
        """Runs with the largest values of the first result."""
        if not self.results:
            return []
        y = next(iter(self.results.values()))
        order = np.argsort(np.where(np.isfinite(y), y, -np.inf))[::-1][:_WORST]
        return [int(self.runs.index[i]) for i in order if np.isfinite(y[i])]

    # --- the page --------------------------------------------------------------------------------------

    def text(self) -> str:
        """The page."""
        about = self.study.manifest
        title = f"Study of {about['robot'].get('name', 'a robot')}"
        parts = [f"<h1>{html.escape(title)}</h1>", self._said(), self._what()]
        if self.finite:
            parts += [self._numbers(), self._distributions()]
            parts.append(self._drivers() if self.inputs else "")
            parts.append(self._sensitivities() if self.inputs or self.words else "")
            parts.append(self._correlations() if self.inputs else "")
            parts += [self._convergence(), self._worst_cases()]
        parts.append(self._failures())
        head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        return f"{head}<style>{_STYLE}</style><body>{''.join(parts)}</body></html>\n"

    def _said(self) -> str:
        counts = self.study.counts()
        made, done = sum(counts.values()), counts.get("done", 0)
        said = ", ".join(f"{n:,} {status}" for status, n in counts.items()) or "nothing yet"
        share = 100.0 * done / made if made else 100.0
        bar = f'<div class="bar"><div style="width:{share:.2f}%"></div></div>' if made else ""
        return f'<p class="pale">{made:,} of {self.study.samples:,} runs: {said}</p>{bar}'

    def _what(self) -> str:
        about = self.study.manifest
        kind = about["scenario"].get("kind")
        scenario = ", ".join(f"{k} {v}" for k, v in about["scenario"].items() if k != "kind" and _is_short(v))
        rows = [
            ("scenario", f"{kind} {scenario}" if kind != "function" else scenario),
            ("sampling", f"{about['sampling']}, seed {about['seed']}"),
            ("made by", ", ".join(f"{k} {v}" for k, v in about["made_by"].items() if v)),
            ("robot", ", ".join(f"{k} {str(v)[:12]}" for k, v in about["robot"].items() if v)),
            ("how", str(about.get("how", ""))),
            ("made as", ", ".join(f"{n:,} {way}" for way, n in self.study.ways().items()) or "none on record"),
        ]
        drawn = []
        for name, d in about["parameters"].items():
            said = ", ".join(f"{k} {_short(v)}" for k, v in d.items() if k != "kind")
            drawn.append((name, f"{d.get('kind')} ({said})"))
        return f"<h2>What was run</h2>{_table(rows)}<h3>Parameters</h3>{_table(drawn)}"

    def _numbers(self) -> str:
        rows, head, is_open = [], ["result"], False
        for name, y in self.finite.items():
            found = estimates.estimates(y)
            head = ["result", *found, "least", "largest"]
            cells = [_cell(x, self.independent.any) for x in found.values()]
            is_open |= not all(np.isfinite([x.low, x.high]).all() for x in found.values())
            every = self.results[name][np.isfinite(self.results[name])]
            rows.append([html.escape(name), *cells, f"{every.min():.5g}", f"{every.max():.5g}"])
        said = [f"[95 % intervals] {self.independent.said}".strip()] if self.independent.any else []
        said += ["those of quantiles are between order statistics"] if said else []
        said += ["‥: too few runs to bound it"] if said and is_open else []
        said = said or [self.independent.said]
        failed = sum(n for status, n in self.study.counts().items() if status != "done")
        said += [f"{failed:,} runs that are not done are in none of these numbers"] if failed else []
        note = f'<p class="pale">{html.escape("; ".join(said))}</p>'
        return f'<h2>Results</h2><div class="wide">{_table(rows, head, raw=True)}</div>{note}'

    def _distributions(self) -> str:
        first = next(iter(self.results))
        marked = {first: [self.results[first][self._at(k)] for k in self.worst]}
        figure = figures.distributions(self.finite, marked, self.independent.any)
        return _picture(figure, "distributions of the results")

    def _drivers(self) -> str:
        name, y, rows = self._first()
        if self.drawn[rows].sum() < _FEWEST:
            return ""
        worst = [int(np.searchsorted(rows, self._at(k))) for k in self.worst if self._at(k) in rows]
        drawn = self.drawn[rows] if self.independent.any else None
        inputs = {n: x[rows] for n, x in self.inputs.items()}
        return _picture(figures.drivers(name, y, inputs, worst, drawn), "the first result over parameters")

    def _first(self) -> tuple[str, np.ndarray, np.ndarray]:
        """The first result: its name, its numbers, and the rows of the table in which it has some."""
        name, y = next(iter(self.results.items()))
        rows = np.flatnonzero(np.isfinite(y))
        return name, y[rows], rows

    def _at(self, run: int) -> int:
        return int(self.runs.index.get_loc(run))

    def _correlations(self) -> str:
        counts = {name: int((np.isfinite(y) & self.drawn).sum()) for name, y in self.results.items()}
        common = [name for name, n in counts.items() if 2 * n > max(counts.values())]  # others are in few runs only
        good = np.all([np.isfinite(self.results[name]) for name in common], axis=0) & self.drawn
        if self.study.manifest["sampling"] == "morris" or good.sum() < _FEWEST:
            return ""  # paths move one parameter at a time: the effects above say what correlations would
        inputs = {n: x[good] for n, x in self.inputs.items()}
        results = {n: self.results[n][good] for n in common}
        return f"<h2>Correlations</h2>{_picture(figures.correlations(inputs, results), 'rank correlations')}"

    def _sensitivities(self) -> str:
        how = self.study.manifest["sampling"]
        found: dict[str, list[Estimates]] = {}
        if how in DESIGNS:
            sampling = self._sampling()
            runs = self._of_rows(sampling.cycle)
            most = 0
            for name in self.results:
                y = self._in_order(name, runs)
                if how == "saltelli":
                    *own, rows = sensitivity.sobol_indices(sampling.factors, y)
                else:
                    size, spread, rows = sensitivity.morris_effects(sampling.factors, self._uniform(sampling, runs), y)
                    own = [spread, size]
                if rows > 1:
                    found[name], most = own, max(most, rows)
            if not found:
                return '<h2>Sensitivities</h2><p class="pale">too few rows of the design are finished</p>'
            said = {
                "saltelli": f"Sobol indices from {most} rows of a Saltelli design; bars: 95 % intervals",
                "morris": f"Morris: mean size μ* and spread σ of the effects, {most} paths; bars: 95 % intervals",
            }[how]
        else:
            inputs = {**self.inputs, **self.words}
            for name, y in self.results.items():
                good = np.isfinite(y)
                if good.sum() >= _FEWEST_BINNED:
                    asked = {n: x[good] for n, x in inputs.items()}
                    found[name] = [sensitivity.first_order(asked, y[good], even=how == "sobol")]
            if not found:
                return f'<h2>Sensitivities</h2><p class="pale">they need {_FEWEST_BINNED} runs at least</p>'
            said = "shares of the variance that each parameter has alone (first-order indices); bars: 95 % intervals"
        return f"<h2>Sensitivities</h2>{_picture(figures.sensitivities(found, said), 'sensitivities')}"

    def _sampling(self) -> Sampling:
        from .distributions import from_plain

        about = self.study.manifest
        plain = {n: from_plain(d) for n, d in about["parameters"].items() if d.get("kind") != "function"}
        return Sampling(plain, self.study.samples, about["seed"], about["sampling"])

    def _of_rows(self, cycle: int) -> np.ndarray:
        """All runs of those rows of a design of which one is finished."""
        rows = np.unique(self.runs.index.to_numpy() // cycle)
        return np.asarray((rows[:, None] * cycle + np.arange(cycle)).ravel())

    def _in_order(self, name: str, runs: np.ndarray) -> np.ndarray:
        """A result by run, NaN where there is none."""
        y = np.full(len(runs), np.nan)
        y[np.searchsorted(runs, self.runs.index.to_numpy())] = self.results[name]
        return y

    def _uniform(self, sampling: Sampling, runs: np.ndarray) -> dict[str, np.ndarray]:
        numbers, at = np.unique(runs // sampling.block, return_inverse=True)
        blocks = [sampling.uniform(int(b)) for b in numbers]
        return {n: np.stack([b[n] for b in blocks])[at, runs % sampling.block] for n in sampling.factors}

    def _convergence(self) -> str:
        if not self.independent.any:
            return ""
        return f"<h2>Convergence</h2>{_picture(figures.convergence(self.finite), 'estimates as runs come in')}"

    # --- cases -----------------------------------------------------------------------------------------

    def _worst_cases(self) -> str:
        name = next(iter(self.results))
        cases = []
        for run in self.worst:
            known = {**self.inputs, **self.results}
            rows = [(n, f"{known[n][self._at(run)]:.5g}") for n in [name, *self._driving[:_TOLD]]]
            rows += [(n, str(self.runs[n].iloc[self._at(run)])) for n in list(self.words)[:_TOLD]]
            picture = self._moving(run)
            command = f"<p><code>{html.escape(self._replay(run))}</code></p>"
            cases.append(f'<div class="case"><h3>run {run}</h3>{picture}{_table(rows)}{command}</div>')
        return f"<h2>Worst cases: the largest {html.escape(name)}</h2>{''.join(cases)}"

    @property
    def _driving(self) -> list[str]:
        """Parameters, those first that the first result goes with most."""
        _, y, rows = self._first()
        kept = self.drawn[rows]
        if not self.inputs or kept.sum() < _FEWEST:
            return list(self.inputs)
        found = sensitivity.rank_correlations({n: x[rows][kept] for n, x in self.inputs.items()}, y[kept])
        return [found.names[i] for i in np.argsort(-np.abs(found.values), kind="stable")]

    def _replay(self, run: int) -> str:
        """How a run is made again: by the command where a study file is kept in the folder, else in Python."""
        if self.study.has_file:
            words = ["linkwise", "sweep", str(self.study.place), "--replay", str(run)]
            known = self.source is not None or not self.study.manifest["code"]
            folders = ("FOLDER",) if not known else () if self.source is None else self.source.folders
            return shlex.join([*words, *(word for folder in folders for word in ("--path", folder))])
        return f"study.replay({run})"

    def _moving(self, run: int) -> str:
        from .. import view

        if self.source is None:
            return '<p class="pale">no moving picture: that needs the study itself, report(study=study)</p>'
        try:
            motion = self.source.replay(run)
        except LinkwiseError as e:
            return f'<p class="pale">no moving picture: {html.escape(str(e))}</p>'
        rate = min(25.0, _FRAMES / max(motion.duration, 1e-9))
        times = np.linspace(0.0, motion.duration, _POSES)
        with tempfile.TemporaryDirectory() as folder:
            path = view.save(Path(folder) / "case.gif", motion, size=(300, 225), rate=rate)
            stills = [view.save(Path(folder) / f"{t}.png", motion, size=(300, 225), time=t) for t in times]
            moving, *poses = [base64.b64encode(x.read_bytes()).decode() for x in (path, *stills)]
        images = " ".join(
            f'<img alt="run {run} at {t:.4g} s" src="data:image/png;base64,{x}">' for t, x in zip(times, poses)
        )
        said = f'<p class="pale">at {", ".join(f"{t:.4g}" for t in times)} s</p>'
        return (
            f'<img class="moving" alt="run {run}, moving" src="data:image/gif;base64,{moving}">'
            f'<div class="stills">{images}{said}</div>'
        )

    def _failures(self) -> str:
        failed = self.study.failures()
        if not len(failed):
            return "<h2>Failures</h2><p>none</p>"
        parts = []
        for run, row in failed.head(_FAILED).iterrows():
            text = row["traceback"] or row["message"] or ""
            parts.append(
                f"<details><summary>run {run}: {html.escape(row['status'])}, {html.escape(str(row['error']))}:"
                f" {html.escape(str(row['message'])[:200])}</summary><pre>{html.escape(str(text)[-3000:])}</pre>"
                f"<code>{html.escape(self._replay(int(run)))}</code></details>"
            )
        more = f"<p>and {len(failed) - _FAILED} more</p>" if len(failed) > _FAILED else ""
        return f"<h2>Failures</h2>{''.join(parts)}{more}"


def _drawable(name: str, x: np.ndarray) -> dict[str, np.ndarray]:
    """Numbers whose squares can be summed and whose axes can be drawn: very large ones by a power of ten less."""
    size = np.abs(x[np.isfinite(x)]).max(initial=0.0)
    if size < _LARGE:
        return {name: x}
    power = int(np.floor(np.log10(size)))
    return {f"{name} / 1e{power}": x / 10.0**power}


def _cell(x: Estimate, interval: bool) -> str:
    """A number with its interval."""
    if not interval:
        return f"{x.value:.5g}"
    low, high = (f"{end:.4g}" if np.isfinite(end) else "‥" for end in (x.low, x.high))
    return f'{x.value:.5g}<br><span class="pale">[{low}, {high}]</span>'


def _table(rows: Sequence[Sequence[str]], head: Sequence[str] = (), raw: bool = False) -> str:
    escaped = (lambda x: x) if raw else html.escape
    top = "".join(f"<th>{html.escape(x)}</th>" for x in head)
    body = "".join(f"<tr>{''.join(f'<td>{escaped(str(x))}</td>' for x in row)}</tr>" for row in rows)
    return f"<table>{f'<tr>{top}</tr>' if top else ''}{body}</table>"


def _picture(figure: Any, alt: str) -> str:
    out = io.BytesIO()
    width = round(figure.get_figwidth() * figure.dpi)
    figure.savefig(out, format="png", dpi=_SHARP)
    data = base64.b64encode(out.getvalue()).decode()
    return f'<div class="wide"><img alt="{alt}" width="{width}" src="data:image/png;base64,{data}"></div>'


def _is_short(x: Any) -> bool:
    return not isinstance(x, (list, Mapping)) and len(str(x)) < 80


def _short(x: Any) -> str:
    """A value of a distribution, in a line."""
    text = _digits(x)
    return text if len(text) < 80 else f"{text[:77]}…"


def _digits(x: Any) -> str:
    if isinstance(x, float):
        return f"{x:.6g}"
    return f"[{', '.join(map(_digits, x))}]" if isinstance(x, list) else str(x)
