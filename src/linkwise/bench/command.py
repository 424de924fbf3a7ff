"""``linkwise bench``: which cases to run, and where the figures go."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FileError, InputError
from ..extras import require
from ..whole_files import refuse_unwritable, write_figure, write_text

if TYPE_CHECKING:
    from .limits import Limit
    from .report import Report
    from .runner import Row
    from .suites import Suite

EXAMPLES = """examples:
  linkwise bench --list
  linkwise bench --suite reach
  linkwise bench --suite reach --peak --json reach.json --plot reach.png --markdown reach.md
  linkwise bench --suite peers --library linkwise --library "Pinocchio, batch call" --robot ur5
  linkwise bench --robot my_arm.urdf --function mass_matrix --batch 64 --batch 4096
  linkwise bench --from reach.json --write docs/speed.md
"""
_DEFAULT = "reach"
_MOST_PARTS = 64  # robots with more velocities have no kernels made for their parts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group("what to run")
    what.add_argument("--suite", metavar="NAME", help=f"a declared suite ({_DEFAULT}); --list names them")
    what.add_argument("--suites", metavar="FILE.toml", help="a file of suites of your own")
    what.add_argument("--list", action="store_true", help="list suites and libraries, and what is installed of them")
    for name, metavar, help in (
        ("robot", "NAME", "a robot's name or file, or chain-N, in place of the suite's"),
        (
            "function",
            "NAME",
            "forward_dynamics, inverse_dynamics, mass_matrix, linearize_forward, …",
        ),
        ("library", "NAME", "a library as --list names it"),
    ):
        what.add_argument(f"--{name}", action="append", metavar=metavar, help=f"{help}; may be repeated")
    what.add_argument("--batch", action="append", type=int, metavar="N", help="states at once; may be repeated")
    what.add_argument("--dtype", action="append", choices=("float64", "float32"), help="precision; may be repeated")
    what.add_argument("--repeats", type=int, default=7, metavar="N", help="rounds, of which the median counts (7)")
    what.add_argument("--peak", action="store_true", help="measure the core's peak too, and the parts of the kernels")
    what.add_argument("--from", dest="source", metavar="FILE.json", help="run nothing: take the figures of this file")
    where = parser.add_argument_group("where the figures go (a Markdown table is printed unless --markdown is given)")
    where.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE",
        help="everything, for programs and for --from; alone, it is printed",
    )
    where.add_argument("--plot", metavar="FILE.png", help='a picture; needs pip install "linkwise[plot]"')
    where.add_argument("--markdown", nargs="?", const="-", default="-", metavar="FILE", help="the table; - prints it")
    where.add_argument("--write", action="append", metavar="PAGE.md", help="put the table between a page's markers")


def run(arguments: argparse.Namespace) -> None:
    from . import report as reports

    if arguments.list:
        _list(arguments)
        return
    for path in (arguments.json, arguments.plot, arguments.markdown):
        if path not in (None, "-"):
            refuse_unwritable(path)
    if arguments.plot:
        _needs_matplotlib()
    found = _read(Path(arguments.source)) if arguments.source else _measured(arguments)
    text = reports.markdown(found)
    if arguments.json == "-":
        print(reports.to_json(found).rstrip("\n"))
    elif arguments.json:
        write_text(arguments.json, reports.to_json(found))
    if arguments.plot:
        from .plot import draw

        write_figure(arguments.plot, draw(found))
    for page in arguments.write or ():
        reports.write_between_markers(Path(page), found)
    if arguments.markdown != "-":
        write_text(arguments.markdown, text)
    elif arguments.json != "-":
        print(text, end="")


# --- what to run -------------------------------------------------------------------------------------


def _suite(arguments: argparse.Namespace) -> Suite:
    """The suite asked for, with what was chosen on the command line in place of its own."""
    from .suites import DECLARED, find_suite

    suite = find_suite(arguments.suite or _DEFAULT, Path(arguments.suites) if arguments.suites else DECLARED)
    chosen: dict[str, Any] = {
        "robots": arguments.robot,
        "functions": arguments.function,
        "batches": arguments.batch,
        "dtypes": arguments.dtype,
        "libraries": arguments.library,
    }
    changed = {k: tuple(v) for k, v in chosen.items() if v}
    return replace(suite, name="chosen", about="", **changed) if changed else suite


def _measured(arguments: argparse.Namespace) -> Report:
    from .machine import one_core
    from .peak import measure_peak
    from .report import make_report
    from .runner import run as measure

    suite = _suite(arguments)
    if arguments.repeats < 1:
        raise InputError(f"--repeats must be at least 1, got {arguments.repeats}")
    with one_core():
        rows, left_out = measure(suite.cases(), suite.libraries, arguments.repeats, _progress)
        peaks = {d: measure_peak(d) for d in suite.dtypes} if arguments.peak else {}
        limits = _limits(rows) if arguments.peak else []
    return make_report(suite, rows, left_out, peaks, limits)


def _limits(rows: list[Row]) -> list[Limit]:
    from .cases import PLAIN, robot_of
    from .limits import measure_limits

    own = [r for r in rows if r.library == "linkwise" and r.case.function in PLAIN]
    return [measure_limits(r) for r in own if robot_of(r.case).nv <= _MOST_PARTS]


def _progress(text: str) -> None:
    """What is being measured, for whoever waits at a terminal."""
    if sys.stderr.isatty():
        print(text, file=sys.stderr)


def _list(arguments: argparse.Namespace) -> None:
    from .machine import machine
    from .peers import PEERS
    from .suites import DECLARED, read_suites

    suites = read_suites(Path(arguments.suites) if arguments.suites else DECLARED)
    versions = machine(d for p in PEERS.values() for d in p.distributions)["versions"]
    if arguments.json == "-":
        installed = {p.name: {d: versions.get(d) for d in p.distributions} for p in PEERS.values()}
        print(json.dumps({"suites": {s.name: s.about for s in suites.values()}, "libraries": installed}, indent=2))
        return
    print("suites")
    for suite in suites.values():
        print(f"  {suite.name:<26} {suite.about}")
    print("libraries")
    for peer in PEERS.values():
        found = [f"{d} {versions[d]}" if d in versions else f"{d} is not installed" for d in peer.distributions]
        print(f"  {peer.name:<26} {', '.join(found)}")


# --- files -------------------------------------------------------------------------------------------


def _read(path: Path) -> Report:
    from .report import from_json

    try:
        return from_json(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise FileError(f"{path}: cannot be read ({e.strerror})") from None
    except (ValueError, KeyError, TypeError) as e:
        raise FileError(f"{path}: not what --json writes ({type(e).__name__}: {e})") from None


def _needs_matplotlib() -> None:
    require("matplotlib", "plot", "--plot")
