"""The ``linkwise`` command: a thin skin over the library.

Each subcommand is one entry of :data:`COMMANDS`. Errors are one line on stderr and exit code 2;
``--debug`` shows the traceback instead.
"""

from __future__ import annotations

import argparse
import codecs
import os
import sys
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from . import __version__
from .bench import command as bench_command
from .errors import FileError, LinkwiseError

PICTURE = "linkwise-demo.png"
NO_MATPLOTLIB = 'No picture: matplotlib is missing. This brings it: pip install "linkwise[plot]"'


@dataclass(frozen=True)
class Command:
    """A subcommand: its name, one line of help, its arguments, and what it does."""

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code."""
    _spell_what_cannot_be_shown(sys.stdout, sys.stderr)
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 0
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            arguments.run(arguments)
            sys.stdout.flush()
    except BrokenPipeError:  # the reader went away, as `linkwise demo | head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    except Exception as e:
        if getattr(arguments, "debug", False):
            raise
        print(f"linkwise: error: {_one_line(e)}", file=sys.stderr)
        return 2
    return 0


# --- demo --------------------------------------------------------------------------------------------


def _demo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--robot", default="panda", metavar="NAME", help="a built-in robot or a URDF file (panda)")
    parser.add_argument("--output", default=PICTURE, metavar="FILE.png", help=f"where the picture goes ({PICTURE})")
    parser.add_argument("--no-picture", action="store_true", help="only print")


def _demo(arguments: argparse.Namespace) -> None:
    from . import demo
    from .make import load

    output = None if arguments.no_picture else _checked_output(Path(arguments.output))
    robot = load(arguments.robot)
    print(f"linkwise {__version__}: rigid-body dynamics as an algebra of operators")
    motion = demo.tell(robot)
    print()
    if output is not None:
        _draw(motion, output)
    print("Next: linkwise demo --robot ur5 (linkwise robots lists them all), then README.md and docs/index.md")


def _draw(motion: Any, output: Path) -> None:
    try:
        from .view import demo_picture
    except ImportError as e:
        missing = isinstance(e, ModuleNotFoundError) and (e.name or "").partition(".")[0] == "matplotlib"
        print(NO_MATPLOTLIB if missing else f"No picture: matplotlib cannot be used ({e})")
        return
    demo_picture.save(demo_picture.draw(motion), output)
    print(f"Picture: {output}")


def _checked_output(path: Path) -> Path:
    """The path, or an error before any work is done."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise FileError(f"cannot write {path}: a picture is a .png, .svg or .pdf file")
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder; name a file in it")
    if not path.parent.is_dir():
        raise FileError(f"cannot write {path}: the folder {path.parent} does not exist; make it first")
    if not os.access(path.parent, os.W_OK):
        raise FileError(
            f"cannot write {path}: the folder {path.parent.resolve()} is not writable; choose another place with"
            " --output FILE.png, or leave the picture out with --no-picture"
        )
    return path


# --- robots ------------------------------------------------------------------------------------------


def _robots(arguments: argparse.Namespace) -> None:
    from .make import load, robot_names

    print(f"{'name':<16} {'bodies':>6} {'nq':>4} {'nv':>4} {'mass [kg]':>10}  tips")
    for name in robot_names():
        r = load(name)
        print(f"{name:<16} {len(r.bodies):>6} {r.nq:>4} {r.nv:>4} {r.total_mass:>10.2f}  {', '.join(r.tips)}")


# --- the table ---------------------------------------------------------------------------------------

COMMANDS = (
    Command("demo", "show on one robot what linkwise does, and draw it", _demo_arguments, _demo),
    Command(
        "bench", "time linkwise beside other libraries on one core", bench_command.add_arguments, bench_command.run
    ),
    Command("robots", "list the built-in robots", lambda parser: None, _robots),
)


class _Parser(argparse.ArgumentParser):
    """Errors on one line, without the usage before them."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"linkwise: error: {message}; see {self.prog} --help\n")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = _Parser(prog="linkwise", description="Rigid-body dynamics as an algebra of operators.")
    parser.add_argument("--version", action="version", version=f"linkwise {__version__}")
    _add_debug(parser)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for c in COMMANDS:
        sub = subparsers.add_parser(c.name, help=c.help, description=f"{c.help[0].upper()}{c.help[1:]}.")
        c.add_arguments(sub)
        _add_debug(sub)
        sub.set_defaults(run=c.run)
    return parser


def _add_debug(parser: argparse.ArgumentParser) -> None:
    """``--debug`` before or after the subcommand; absent from the arguments unless given."""
    parser.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks of errors")


# --- words -------------------------------------------------------------------------------------------


def _one_line(e: Exception) -> str:
    text = " ".join(str(e).split())
    if isinstance(e, LinkwiseError):
        return text
    what = f"{type(e).__name__}: {text}" if text else type(e).__name__
    return f"{what} (unexpected; --debug shows where)"


def _show_warning(message: Warning | str, *rest: Any, **named: Any) -> None:
    print(f"linkwise: warning: {' '.join(str(message).split())}", file=sys.stderr)


_SPELLED = {
    **{"…": "...", "⁻": "^-", "¹": "1", "²": "^2", "³": "^3", "⁺": "+", "×": "x", "÷": "/", "°": " deg", "–": "-"},
    **{"Σ": "sum ", "\u0304": "_bar", "µ": "u"},
}


def _spell_what_cannot_be_shown(*streams: Any) -> None:
    """On a terminal without Unicode, print φ as "phi" rather than stop."""

    def spell(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeEncodeError)
        letters = error.object[error.start : error.end]
        return "".join(_spelled(c) for c in letters), error.end

    codecs.register_error("linkwise-spell", spell)
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="linkwise-spell")


def _spelled(letter: str) -> str:
    if letter in _SPELLED:
        return _SPELLED[letter]
    name = unicodedata.name(letter, "")
    if name.startswith("GREEK"):
        word = name.split()[-1].lower()
        return word.capitalize() if "CAPITAL" in name else word
    if name.startswith("SUBSCRIPT"):
        return str(unicodedata.digit(letter, 0))
    return "?"
