"""What ``linkwise sweep`` does with the folder of a study: how far it is, its report, one of its runs again."""

from __future__ import annotations

import argparse
import shlex
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import linkwise as lw

from ..errors import InputError, LinkwiseError
from ..study.results import in_a_line
from ..study.users_errors import RAISED, message_of
from .command import FAILED, OK, Output

if TYPE_CHECKING:
    from ..study.columns import Record
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
        out.say(f"The first that failed, again: {shlex.join([*words, *paths(arguments.path)])}")
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


def paths(folders: Sequence[str]) -> list[str]:
    """The words that name folders again."""
    return [word for folder in folders for word in ("--path", folder)]


# --- the study itself ----------------------------------------------------------------------------------


def _study_of(found: OpenStudy, folders: tuple[Path, ...]) -> lw.Study:
    """The study that the file in the folder says; that it is the one whose runs are there is made sure."""
    from ..study.manifest import FILE
    from .study_file import MOST_BYTES, StudyFile

    if not found.has_file:
        raise InputError(
            f"{found.place} keeps no study file, as it was started from Python: study.replay(K) there, or"
            " linkwise sweep FILE.toml --replay K"
        )
    with tempfile.TemporaryDirectory() as folder:
        if found.place.is_local:
            file = found.place.own_path(FILE)
        else:
            file = Path(folder) / FILE
            file.write_bytes(found.place.read(FILE, MOST_BYTES))
        study = StudyFile(file, folders).study().on(found.manifest.get("device"))
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
    record = None if found is None else found.record(run)
    kept = {} if record is None else record.values
    out.say(f"run {run} of {study!r}")
    for name, x in drawn.items():
        out.say(f"  {name} = {_shown(x)}")
    if record is not None and record.status != "done":
        out.say(f"  on record: {record.status}, {in_a_line(record.error, record.message, 500)}")
    try:
        result = study.result(run)
    except RAISED as e:  # of the user's own code, as it was when it failed
        return _failed_again(e, record, run, drawn, out)
    same = {name: _same(kept[name], x) for name, x in result.items() if name in kept}
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
        words = ["linkwise", "sweep", arguments.study, "--replay", str(run), "--save", f"run-{run}.gif"]
        out.say(f"See it move: {shlex.join([*words, *paths(arguments.path)])}")
    return OK


def _failed_again(e: BaseException, record: Record | None, run: int, drawn: dict[str, Any], out: Output) -> int:
    """A run that raises: how, where, and whether it did so before."""
    message = message_of(e)
    same = record is not None and (record.error, record.message) == (type(e).__name__, message)
    out.say("".join(traceback.format_exception(e)).rstrip())
    out.say(f"run {run} fails{' as on record' if same else '' if record is None else ' otherwise than on record'}")
    said = f"{type(e).__name__}: {message}"
    out.give(run=run, parameters=_plain(drawn), error=said, as_on_record=same)
    return FAILED


def _same(kept: Any, x: Any) -> bool:
    """Whether a result is that on record, where arrays are as large as the largest of their chunk."""
    if np.ndim(x) and np.ndim(kept) >= np.ndim(x):
        kept = kept[(*map(slice, np.shape(x)), *(0,) * (np.ndim(kept) - np.ndim(x)))]
    numbers = not isinstance(x, str) and not isinstance(kept, str)
    return bool(np.array_equal(kept, x, equal_nan=True)) if numbers else bool(kept == x)


def _shown(x: Any) -> str:
    if isinstance(x, str) or np.ndim(x) == 0:
        return str(x) if isinstance(x, str) else f"{float(x):.8g}"
    flat = np.asarray(x).ravel()
    more = f" … ({'×'.join(map(str, np.shape(x)))})" if flat.size > _MOST_SHOWN else ""
    return "[" + ", ".join(f"{v:.5g}" for v in flat[:_MOST_SHOWN]) + "]" + more


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {k: x if isinstance(x, str) else np.asarray(x).tolist() for k, x in values.items()}
