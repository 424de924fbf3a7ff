"""What ``linkwise sweep`` does with the folder of a study: how far it is, its report, one of its runs again."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import linkwise as lw

from ..errors import InputError, LinkwiseError
from .command import OK, Output

if TYPE_CHECKING:
    from ..study.results import OpenStudy

_PICTURES = (".png", ".gif", ".webp", ".mp4", ".html")
_MOST_SHOWN = 8  # numbers of an array


def look(arguments: argparse.Namespace, folders: tuple[Path, ...], out: Output) -> int:
    """Say how far the study in a folder is; write its report, or make a run again, where that is asked for."""
    for name in ("resume", "dry_run"):
        if getattr(arguments, name):
            raise InputError(f"--{name.replace('_', '-')} takes the study file, and {arguments.study} is a folder")
    found = lw.open_study(arguments.study)
    if arguments.replay is not None:
        return replay(_study_of(found, folders), found, arguments, out)
    found = found.still()  # it may be running
    tell(found, arguments.study, out)
    for said, count in list(found.errors().items())[:5]:
        out.say(f"  {count} by {said}")
    if (first := found.first_failed()) is not None:
        words = ["linkwise", "sweep", arguments.study, "--replay", str(first)]
        words += [word for folder in arguments.path for word in ("--path", folder)]
        out.say(f"The first that failed, again: {shlex.join(words)}")
    if arguments.report is not None:
        source = _source(found, folders, out)
        file = found.report(arguments.report or None, worst_of=arguments.worst_of, study=source)
        out.say(f"Written: {file}")
        out.give(file=str(file))
    return OK


def tell(found: OpenStudy, folder: str, out: Output) -> None:
    """How many runs there are, by how they ended."""
    counts = found.counts()
    out.give(folder=str(folder), samples=found.samples, counts=counts, errors=found.errors(), finished=found.finished)
    said = ", ".join(f"{n} {status}" for status, n in counts.items()) or "no run yet"
    out.say(f"{folder}: {said}, of {found.samples} runs")
    out.give(ways=found.ways())


# --- the study itself ----------------------------------------------------------------------------------


def _study_of(found: OpenStudy, folders: tuple[Path, ...]) -> lw.Study:
    """The study that the file in the folder says; that it is the one whose runs are there is made sure."""
    from ..study.manifest import FILE
    from .study_file import StudyFile

    if not found.has_file:
        raise InputError(
            f"{found.place.url} keeps no study file, as it was started from Python: study.replay(K) there, or"
            " linkwise sweep FILE.toml --replay K"
        )
    study = StudyFile(found.place.own_path(FILE), folders).study().on(found.manifest.get("device"))
    study.begin(found.place)
    return study


def _source(found: OpenStudy, folders: tuple[Path, ...], out: Output) -> lw.Study | None:
    """The study for moving pictures; why there are none is said where it cannot be made."""
    try:
        return _study_of(found, folders)
    except LinkwiseError as e:
        out.say(f"no moving pictures: {e}")
        return None


# --- one run again ---------------------------------------------------------------------------------------


def replay(study: lw.Study, found: OpenStudy | None, arguments: argparse.Namespace, out: Output) -> int:
    """One run again: its parameters, what it gives and whether that is on record so; its motion, into a file."""
    run = arguments.replay
    drawn = study.draw(run)
    kept = {} if found is None else found.record(run)
    out.say(f"run {run} of {study!r}")
    for name, x in drawn.items():
        out.say(f"  {name} = {_shown(x)}")
    result = study.result(run)
    same = {name: bool(np.array_equal(kept[name], x, equal_nan=True)) for name, x in result.items() if name in kept}
    for name, x in result.items():
        where = "" if study.device is None else f", made on {study.device}: the processor has other roundings"
        other = f"  ({_shown(kept[name])} on record{where})" if name in same and not same[name] else ""
        out.say(f"  {name}: {_shown(x)}{'  as on record' if same.get(name) else other}")
    out.give(run=run, parameters=_plain(drawn), results=_plain(result), as_on_record=same)
    if arguments.save is not None:
        motion = study.replay(run)
        if Path(arguments.save).suffix.lower() in _PICTURES:
            lw.view.save(arguments.save, motion)
        else:
            motion.save(arguments.save)
        out.say(f"Written: {arguments.save}")
        out.give(file=arguments.save)
    else:
        again = shlex.join(["linkwise", "sweep", arguments.study, "--replay", str(run), "--save", f"run-{run}.gif"])
        out.say(f"See it move: {again}")
    return OK


def _shown(x: Any) -> str:
    if isinstance(x, str) or np.ndim(x) == 0:
        return str(x) if isinstance(x, str) else f"{float(x):.8g}"
    flat = np.asarray(x).ravel()
    more = f" … ({'×'.join(map(str, np.shape(x)))})" if flat.size > _MOST_SHOWN else ""
    return "[" + ", ".join(f"{v:.5g}" for v in flat[:_MOST_SHOWN]) + "]" + more


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {k: x if isinstance(x, str) else np.asarray(x).tolist() for k, x in values.items()}
