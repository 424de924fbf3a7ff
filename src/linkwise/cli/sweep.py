"""``linkwise sweep``: run a study that a TOML file says, go on with one, and report what came of it."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import linkwise as lw

from ..errors import InputError
from .command import INTERRUPTED, OK, Command, Output
from .sweep_folder import look, paths, replay, tell

if TYPE_CHECKING:
    from ..study.places import Place

EXAMPLES = """examples:
  linkwise sweep dispersion.toml --dry-run
  linkwise sweep dispersion.toml --workers 8
  linkwise sweep dispersion.toml --resume
  linkwise sweep landing.toml --path scenarios --folder /data/landing --engine dask
  linkwise sweep dispersion --report
  linkwise sweep dispersion --report board.html
  linkwise sweep dispersion --replay 1234 --save worst.gif

a study file:
  [study]
  robot = "panda"                 # built-in, chain-N, or a file beside this one
  scenario = "simulate"           # simulate, closed_loop, poles, identify, or module:function in a --path
  samples = 10_000
  seed = 1
  keep = ["q_end", "speed_max"]

  [scenario]                      # options of a built-in scenario
  duration = 0.5
  payload_at = "tcp"

  [parameters.payload]            # kinds: uniform, normal, log_normal, choice, grid, fixed, function
  kind = "uniform"
  lower = 0
  upper = 2
"""
ENGINES = ("local", "ray", "dask")
_BESIDE = ""  # in the folder of the study, where no file is named


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help="a TOML file, or the folder of a study")
    parser.add_argument("--folder", metavar="FOLDER", help="where runs are kept (default: beside the file)")
    parser.add_argument("--resume", action="store_true", help="go on in a folder that is there already")
    parser.add_argument("--engine", choices=ENGINES, default="local", help="who makes the runs (local)")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one per core)")
    parser.add_argument("--device", metavar="CARD", help="cuda, cuda:1, …: make batches of motions on graphics cards")
    parser.add_argument("--address", metavar="URL", help="of a cluster of Ray's or Dask's")
    parser.add_argument(
        "--path", action="append", default=[], metavar="FOLDER", help="where functions that the file names are"
    )
    parser.add_argument("--replay", type=int, metavar="K", help="make run K again, of a study file or of a folder")
    parser.add_argument("--save", metavar="FILE", help="the motion of --replay: .gif, .mp4, .html, .png, .npz, …")
    parser.add_argument("--worst-of", metavar="RESULT", help="whose largest values are a report's worst cases")
    parser.add_argument("--dry-run", action="store_true", help="make a few runs, and say what time and disk all take")
    parser.add_argument(
        "--report", nargs="?", const=_BESIDE, metavar="FILE", help="write a report of a folder, one HTML file"
    )


def run(arguments: argparse.Namespace, out: Output) -> int | None:
    if arguments.workers is not None and arguments.workers < 1:
        raise InputError(f"--workers must be 1 or more, got {arguments.workers}")
    if arguments.replay is None and arguments.save is not None:
        raise InputError("--save takes the motion of a run: --replay K --save FILE")
    folders = tuple(map(_folder, arguments.path))
    if "://" in arguments.study or Path(arguments.study).is_dir():
        return look(arguments, folders, out)
    if arguments.report is not None:
        raise InputError(f"--report takes the folder of a study, and {arguments.study} is none")
    from .study_file import StudyFile

    study = StudyFile(Path(arguments.study), folders).study()
    if arguments.replay is not None:
        return replay(study, None, arguments, out)
    return _estimate(study, arguments, out) if arguments.dry_run else _run(study, arguments, out)


def _folder(given: str) -> Path:
    if not Path(given).is_dir():
        raise InputError(f"--path names a folder, and {given} is none")
    return Path(given).resolve()


# --- running it --------------------------------------------------------------------------------------


def _run(study: lw.Study, arguments: argparse.Namespace, out: Output) -> int:
    from ..study.manifest import NAME
    from ..study.places import Place

    folder = arguments.folder or _default_folder(arguments.study)
    place = Place.of(folder)
    there = place.exists(NAME) or (place.is_local and Path(place.url).is_dir() and any(Path(place.url).iterdir()))
    if there and not arguments.resume:
        raise InputError(f"{folder} is there already: --resume goes on with the study in it, --folder names another")
    if arguments.resume and not there:
        out.say(f"{folder} holds nothing to go on with; the study begins")
    study.file = Path(arguments.study).read_bytes()
    try:
        found = study.run(
            place,
            engine=arguments.engine,
            workers=arguments.workers,
            address=arguments.address,
            device=arguments.device,
        )
    except KeyboardInterrupt:
        _say_how_to_go_on(place, arguments)
        return INTERRUPTED
    tell(found, folder, out)
    elsewhere = [os.path.relpath(x) for x in study.folders]
    file = [] if place.is_local else ["report.html"]
    out.say(f"Look at it: {shlex.join(['linkwise', 'sweep', str(folder), '--report', *file, *paths(elsewhere)])}")
    return OK


def _default_folder(file: str) -> str:
    return str(Path(file).with_suffix("")) if Path(file).suffix else f"{file}-runs"


def _say_how_to_go_on(place: Place, arguments: argparse.Namespace) -> None:
    from ..study.manifest import NAME

    kept = sum(lw.open_study(place).counts().values()) if place.exists(NAME) else 0
    words = ["linkwise", "sweep", arguments.study, "--resume", "--engine", arguments.engine]
    for name in ("folder", "workers", "address", "device"):
        if getattr(arguments, name) is not None:
            words += [f"--{name}", str(getattr(arguments, name))]
    words += paths(arguments.path)
    print(f"linkwise: interrupted; {kept} runs are kept in {place}. To go on:\n  {shlex.join(words)}",
          file=sys.stderr)  # fmt: skip


def _estimate(study: lw.Study, arguments: argparse.Namespace, out: Output) -> int:
    from ..study.estimate import estimated
    from ..study.progress import duration

    found = estimated(study, arguments.workers, arguments.device)
    out.give(
        samples=study.samples,
        tried=found.tried,
        failed=sum(found.failures.values()),
        errors=found.failures,
        workers=found.workers,
        start_seconds=found.start_seconds,
        run_seconds=found.run_seconds,
        seconds=found.seconds,
        bytes=found.bytes,
    )
    out.say(f"{study!r}")
    out.say(
        f"tried: {found.tried} runs, each {_short(found.run_seconds)} after a start of {_short(found.start_seconds)}"
    )
    for said, count in found.failures.items():
        out.say(f"failed: {count} of {found.tried}, {said}")
    workers = "1 worker" if found.workers == 1 else f"{found.workers} workers"
    out.say(f"all {study.samples} runs: about {duration(found.seconds)} with {workers}, {_size(found.bytes)} on disk")
    return OK


def _short(seconds: float) -> str:
    if seconds >= 100:
        from ..study.progress import duration

        return duration(seconds)
    unit, scale = next(((u, x) for u, x in (("s", 1.0), ("ms", 1e-3)) if seconds >= x), ("µs", 1e-6))
    return f"{seconds / scale:.3g} {unit}"


def _size(count: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count / 1e3:.0f} kB"


COMMAND = Command("sweep", "run a study, many runs with drawn parameters, and report it", add_arguments, run, EXAMPLES)
