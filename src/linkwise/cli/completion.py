"""``linkwise completion``: a script that lets a shell complete the command line.

The script is made from the parser itself and holds all words, so that completing starts no Python; the frames of robot
files alone are asked for when they are needed.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from ..bench import command as bench_command
from ..errors import InputError
from ..properties import cached_property
from .arguments import FRAMES, WORDS, completes, functions, load_robot
from .command import Command, Output

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = """examples:
  eval "$(linkwise completion bash)"                     in ~/.bashrc
  eval "$(linkwise completion zsh)"                      in ~/.zshrc, after compinit
  linkwise completion fish > ~/.config/fish/completions/linkwise.fish
  linkwise completion --frames my_arm.urdf
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", nargs="?", choices=SHELLS, help="which shell")
    parser.add_argument("--frames", metavar="ROBOT", help="print the names of a robot's frames instead")


def run(arguments: argparse.Namespace, out: Output) -> None:
    if arguments.frames is not None:
        names = [frame.name for frame in load_robot(arguments.frames).frames]
        out.say("\n".join(names))
        out.give(frames=names)
        return
    if arguments.shell is None:
        raise InputError(f"name a shell: {', '.join(SHELLS)}")
    from .main import build_parser

    write = {"bash": bash, "zsh": zsh, "fish": fish}[arguments.shell]
    script = write(Grammar(build_parser()))
    out.say(script.rstrip("\n"))
    out.give(shell=arguments.shell, script=script)


def bench_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``linkwise bench``, and the words that they may be."""

    def suites() -> list[str]:
        from ..bench.suites import DECLARED, read_suites

        return list(read_suites(DECLARED))

    def libraries() -> list[str]:
        from ..bench.peers import PEERS

        return list(PEERS)

    bench_command.add_arguments(parser)
    known = {"suite": suites, "library": libraries, "function": functions}
    for action in parser._actions:
        if action.dest in known:
            completes(action, known[action.dest])


# --- what there is to complete -----------------------------------------------------------------------


@dataclass(frozen=True)
class Words:
    """What an argument may be: words, a robot, one of a robot's frames, a file."""

    words: tuple[str, ...] = ()
    robot: bool = False
    frames: bool = False
    files: bool = False


@dataclass(frozen=True)
class Option:
    """An option: its spellings, what it does, and what its value may be (None: it takes no value)."""

    spellings: tuple[str, ...]
    help: str
    value: Words | None


@dataclass(frozen=True)
class Sub:
    """A command: its options, and what its arguments may be, one after another."""

    name: str
    help: str
    options: tuple[Option, ...]
    places: tuple[Words, ...]


class Grammar:
    """The whole command line."""

    top = ("--help", "--version", "--debug")

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        subparsers = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
        helps = {a.dest: a.help or "" for a in subparsers._choices_actions}
        self.commands = tuple(_command(name, helps[name], sub) for name, sub in subparsers.choices.items())

    @cached_property
    def robots(self) -> tuple[str, ...]:
        from ..model import robots

        return tuple(robots.names())

    @cached_property
    def frames(self) -> dict[str, list[str]]:
        """Those of every built-in robot."""
        return {name: [frame.name for frame in load_robot(name).frames] for name in self.robots}

    def known(self, what: Words) -> tuple[str, ...]:
        """The words, and the built-in robots where it is one."""
        return (*what.words, *(self.robots if what.robot else ()))

    @property
    def valued(self) -> Iterator[tuple[Sub, Option, Words]]:
        """Every option that takes a value."""
        for c in self.commands:
            yield from ((c, o, o.value) for o in c.options if o.value is not None)


def _command(name: str, help: str, parser: argparse.ArgumentParser) -> Sub:
    options = tuple(_option(a) for a in parser._actions if a.option_strings)
    return Sub(name, help, options, tuple(_words(a) for a in parser._actions if not a.option_strings))


def _option(action: argparse.Action) -> Option:
    value = None if action.nargs == 0 else _words(action)
    return Option(tuple(action.option_strings), (action.help or "").replace("%%", "%"), value)


def _words(action: argparse.Action) -> Words:
    given = WORDS.get(action, action.choices or ())
    if given is FRAMES:
        return Words(frames=True)
    words = tuple(str(w) for w in (given() if callable(given) else given))
    is_robot = action.dest in ("robot", "named", "frames")
    return Words(words, robot=is_robot, files=is_robot or not words)


# --- the scripts -------------------------------------------------------------------------------------

_BASH = """# Completion of linkwise for bash; made by: linkwise completion bash
_linkwise_frames() {{
    case "$1" in
        "") ;;
{frames}
        *) linkwise completion --frames "$1" 2> /dev/null ;;
    esac
}}
_linkwise() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="" command="" robot="" words="" files="" value="" word
    local i place=0
    if [ "$COMP_CWORD" -gt 0 ]; then previous="${{COMP_WORDS[COMP_CWORD-1]}}"; fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${{COMP_WORDS[i]}}"
        if [ -n "$value" ]; then value=""; continue; fi
        if [ -z "$command" ]; then
            case "$word" in -*) ;; *) command="$word" ;; esac
            continue
        fi
        case "$command $word" in
            {valued}) value=yes ;;
            *" -"*) ;;
            *) place=$((place + 1)); if [ "$place" = 1 ]; then robot="$word"; fi ;;
        esac
    done
    case "$command $previous" in
{values}
        *)
            case "$command $place" in
                " "*) words={commands} ;;
{words}
                *) files=yes ;;
            esac ;;
    esac
    case "$current" in  # several words with commas between them
        *,*) words="$(for word in $words; do echo "${{current%,*}},$word"; done)" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    if [ -n "$files" ]; then COMPREPLY+=($(compgen -f -- "$current")); fi
}}
complete -o filenames -F _linkwise linkwise
"""


def bash(grammar: Grammar) -> str:
    """The script for bash."""
    values, words, valued = [], [], []
    for c, o, value in grammar.valued:
        patterns = "|".join(shlex.quote(f"{c.name} {s}") for s in o.spellings)
        valued.append(patterns)
        values.append(f"        {patterns}) {_bash_offer(grammar, value)} ;;")
    for c in grammar.commands:
        options = [s for o in c.options for s in o.spellings if s.startswith("--")]
        for i, what in enumerate(c.places):
            words.append(f"                '{c.name} {i}') {_bash_offer(grammar, what, options)} ;;")
        words.append(f"                '{c.name} '*) words={shlex.quote(' '.join(options))} ;;")
    return _BASH.format(
        frames="\n".join(f"        {n}) echo {shlex.quote(' '.join(x))} ;;" for n, x in grammar.frames.items()),
        valued=" | ".join(valued),
        values="\n".join(values),
        words="\n".join(words),
        commands=shlex.quote(" ".join([*(c.name for c in grammar.commands), *grammar.top])),
    )


def _bash_offer(grammar: Grammar, what: Words, options: list[str] | None = None) -> str:
    offered = shlex.quote(" ".join([*(options or ()), *_one_word(grammar.known(what))]))
    parts = [f"words={offered}"] if offered != "''" else []
    parts += ['words="$(_linkwise_frames "$robot")"'] if what.frames else []
    parts += ["files=yes"] if what.files else []
    return "; ".join(parts) or "words=''"


def _one_word(words: tuple[str, ...]) -> list[str]:
    """Those without blanks; shells take others apart."""
    return [w for w in words if " " not in w]


def zsh(grammar: Grammar) -> str:
    """The script for zsh: that for bash, which zsh can run."""
    head = "# Completion of linkwise for zsh; made by: linkwise completion zsh\n"
    own = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -u }\n"
    both = "autoload -Uz bashcompinit && bashcompinit\n"
    return head + own + both + bash(grammar).split("\n", 1)[1]


_FISH = """# Completion of linkwise for fish; made by: linkwise completion fish
function __linkwise_places --description 'the arguments that are there, without options and their values'
    set -l value no
    set -l command ''
    for word in (commandline -opc)[2..-1]
        if test $value = yes
            set value no
        else if test -z "$command"
            string match -q -- '-*' $word; or set command $word
        else if contains -- "$command $word" {valued}
            set value yes
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end
function __linkwise_at
    test (count (__linkwise_places)) -eq $argv[1]
end
function __linkwise_frames
    set -l robot (__linkwise_places)[1]
    switch "$robot"
        case ''
{frames}
        case '*'
            linkwise completion --frames $robot 2> /dev/null
    end
end
complete -c linkwise -f
"""


def fish(grammar: Grammar) -> str:
    """The script for fish."""
    valued = [_quoted(f"{c.name} {s}") for c, o, _ in grammar.valued for s in o.spellings]
    cases = [
        f"        case {name}\n            printf '%s\\n' {' '.join(map(_quoted, x))}"
        for name, x in grammar.frames.items()
    ]
    lines = [_FISH.format(valued=" ".join(valued), frames="\n".join(cases)).rstrip("\n")]
    lines += [f"complete -c linkwise -n __fish_use_subcommand -l {s[2:]}" for s in grammar.top]
    for c in grammar.commands:
        lines.append(f"complete -c linkwise -n __fish_use_subcommand -a {c.name} -d {_quoted(c.help)}")
        inside = f"__fish_seen_subcommand_from {c.name}"
        for i, what in enumerate(c.places):
            offered = _fish_offer(grammar, what)
            lines.append(f"complete -c linkwise -n '{inside}; and __linkwise_at {i}' {offered}")
        for o in c.options:
            names = " ".join(f"-l {s[2:]}" if s.startswith("--") else f"-s {s[1:]}" for s in o.spellings)
            value = "" if o.value is None else f" {'-r' if o.value.files else '-x'} {_fish_offer(grammar, o.value)}"
            lines.append(f"complete -c linkwise -n '{inside}' {names}{value} -d {_quoted(o.help)}")
    return "\n".join(lines) + "\n"


def _fish_offer(grammar: Grammar, what: Words) -> str:
    words = "(__linkwise_frames)" if what.frames else " ".join(_one_word(grammar.known(what)))
    offered = f" -a {_quoted(words)}" if words else ""
    return f"{'-F' if what.files else ''}{offered}".strip()


def _quoted(text: str) -> str:
    """Text in single quotes, as fish reads them."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


COMMAND = Command("completion", "print a script that completes linkwise in a shell", add_arguments, run, EXAMPLES)
