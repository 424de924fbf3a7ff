"""The command line as a whole: the table of commands, the parser, exit codes.

0: done. 1: a check failed. 2: bad usage or input. 130: interrupted. Errors are one line on stderr, without a
traceback; ``--debug`` shows it. With ``--json`` an error is also an object {"error": …} on stdout.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from .. import __version__
from ..bench import command as bench_command
from ..errors import did_you_mean
from . import check, completion, demo, explain, export, info, linearize, plot, robots, simulate, sweep, view
from .arguments import STATE_OPTIONS
from .command import BAD_INPUT, INTERRUPTED, OK, Command, Output, to_json
from .terminal_text import one_line, said, show_warning, spell_what_cannot_be_shown

COMMANDS: tuple[Command, ...] = (
    demo.COMMAND,
    robots.COMMAND,
    info.COMMAND,
    check.COMMAND,
    explain.COMMAND,
    linearize.COMMAND,
    simulate.COMMAND,
    sweep.COMMAND,
    plot.COMMAND,
    view.COMMAND,
    export.COMMAND,
    Command(
        "bench",
        "time linkwise beside other libraries on one core",
        completion.bench_arguments,
        lambda arguments, _: bench_command.run(arguments),
        bench_command.EXAMPLES,
        own_json=True,
    ),
    completion.COMMAND,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code."""
    with _interrupts() as asked:
        try:
            return _main(argv, asked)
        except KeyboardInterrupt:
            print("linkwise: interrupted", file=sys.stderr)
            return INTERRUPTED


@contextlib.contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Notes every Ctrl-C, beside raising it: libraries in C turn one that comes while they load into another error."""
    asked: list[int] = []

    def note(number: int, frame: Any) -> None:
        asked.append(number)
        signal.default_int_handler(number, frame)

    own = threading.current_thread() is threading.main_thread()
    if not own or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # who calls has seen to it
        yield asked
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _main(argv: Sequence[str] | None, interrupts: Sequence[int] = ()) -> int:
    spell_what_cannot_be_shown(sys.stdout, sys.stderr)
    parser = build_parser()
    arguments = parser.parse_args(_with_negative_numbers(sys.argv[1:] if argv is None else list(argv)))
    if arguments.command is None:
        parser.print_help()
        return OK
    out = Output(json=getattr(arguments, "as_json", False))
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_warning
            code = arguments.run(arguments, out)
            out.finish()
            sys.stdout.flush()
            return code or OK
    except BrokenPipeError:  # the reader went away, as `linkwise demo | head` does
        _forget_stdout()
        return OK
    except Exception as e:
        if interrupts:
            raise KeyboardInterrupt from e
        _report(e, out, debug=getattr(arguments, "debug", False))
        return BAD_INPUT


def _report(e: Exception, out: Output, debug: bool) -> None:
    if debug:
        traceback.print_exception(e)
    print(said("error", one_line(e)), file=sys.stderr)
    try:
        if out.json:
            print(to_json({"error": one_line(e)}))
        sys.stdout.flush()
    except OSError:  # a full disk behind stdout: what is left in the buffer can go nowhere
        _forget_stdout()


def _forget_stdout() -> None:
    """Send what is still to be printed nowhere, so that Python does not complain about it at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# --- the parser --------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Errors on one line, without the usage before them; options may stand between the other arguments."""

    def error(self, message: str) -> NoReturn:
        end = " see" if message.endswith("?") else "; see"
        self.exit(BAD_INPUT, said("error", f"{message}{end} {self.prog} --help") + "\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, rest = super().parse_known_args(args, namespace)
        # Before Python 3.13 an argument that may be missing counts as missing once an option follows the one before it.
        for action in self._get_positional_actions():
            missing = action.nargs == "?" and getattr(found, action.dest) is None
            if missing and rest and not rest[0].startswith("-"):
                setattr(found, action.dest, rest.pop(0))
        if rest:
            self.error(self._not_known(rest))
        return found, rest

    def _not_known(self, rest: Sequence[str]) -> str:
        """Which argument is one too many, and which option may have been meant."""
        options = [word.partition("=")[0] for word in rest if word.startswith("--")]
        known = [s for action in self._actions for s in action.option_strings if s.startswith("--")]
        names = [s[2:] for s in known]
        near = {word: get_close_matches(word[2:], names, n=1) for word in options}
        meant = [f"there is no {word}; did you mean --{found[0]}?" for word, found in near.items() if found]
        return meant[0] if meant else f"unrecognized arguments: {' '.join(rest)}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(x) for x in action.choices]
            meant = did_you_mean(str(value), known) or f"choose from {', '.join(known)}"
            raise argparse.ArgumentError(action, f"there is no {value!r}; {meant}")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = _Parser(
        prog="linkwise",
        description="Rigid-body dynamics as an algebra of operators.",
        epilog="linkwise COMMAND --help tells more, with examples.\n"
        "Exit codes: 0 done, 1 a check failed, 2 bad usage or input, 130 interrupted.",
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=16),
    )
    parser.add_argument("--version", action="version", version=f"linkwise {__version__}")
    _add_debug(parser)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for c in COMMANDS:
        sub = subparsers.add_parser(
            c.name,
            help=c.help,
            description=f"{c.help[0].upper()}{c.help[1:]}.",
            epilog=c.examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        c.add_arguments(sub)
        if not c.own_json:
            sub.add_argument("--json", dest="as_json", action="store_true", help="print one JSON object, for programs")
        _add_debug(sub)
        sub.set_defaults(run=c.run)
    return parser


def _add_debug(parser: argparse.ArgumentParser) -> None:
    """``--debug`` before or after the subcommand; absent from the arguments unless given."""
    parser.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks of errors")


def _with_negative_numbers(argv: Sequence[str]) -> list[str]:
    """``--q -0.5,1`` as ``--q=-0.5,1``: argparse would take the value for an option."""
    out: list[str] = []
    for word in argv:
        starts_negative = word[:1] == "-" and word[1:2] and word[1] in "0123456789."
        if out and out[-1] in STATE_OPTIONS and starts_negative:
            out[-1] = f"{out[-1]}={word}"
        else:
            out.append(word)
    return out
