"""``linkwise completion``: a script that lets a shell complete the command line.

The script is made from the parser itself and holds all words, so that completing starts no Python.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from .command import Command, Output

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = """examples:
  eval "$(linkwise completion bash)"                     in ~/.bashrc
  eval "$(linkwise completion zsh)"                      in ~/.zshrc, after compinit
  linkwise completion fish > ~/.config/fish/completions/linkwise.fish
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="which shell")


def run(arguments: argparse.Namespace, out: Output) -> None:
    from ..model import robots
    from .main import build_parser

    grammar = list(_commands(build_parser()))
    write = {"bash": bash, "zsh": zsh, "fish": fish}[arguments.shell]
    script = write(grammar, robots.names())
    out.say(script.rstrip("\n"))
    out.give(shell=arguments.shell, script=script)


# --- what there is to complete -----------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """An option: its spellings, what it does, and the words its value may be (None: it takes no value)."""

    spellings: tuple[str, ...]
    help: str
    values: tuple[str, ...] | None


@dataclass(frozen=True)
class Grammar:
    """A command: its options, the words its first argument may be, and whether that is a robot."""

    name: str
    help: str
    options: tuple[Option, ...]
    words: tuple[str, ...]
    takes_robot: bool


def _commands(parser: argparse.ArgumentParser) -> Iterator[Grammar]:
    subparsers = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    helps = {a.dest: a.help or "" for a in subparsers._choices_actions}
    for name, sub in subparsers.choices.items():
        options = tuple(_option(a) for a in sub._actions if a.option_strings)
        positional = [a for a in sub._actions if not a.option_strings]
        words = tuple(str(c) for a in positional[:1] for c in a.choices or ())
        takes_robot = any(a.dest == "robot" for a in sub._actions)
        yield Grammar(name, helps[name], options, words, takes_robot)


def _option(action: argparse.Action) -> Option:
    values = None if action.nargs == 0 else tuple(str(c) for c in action.choices or ())
    return Option(tuple(action.option_strings), (action.help or "").replace("%%", "%"), values)


# --- the scripts -------------------------------------------------------------------------------------

_BASH = """# Completion of linkwise for bash; made by: linkwise completion bash
_linkwise() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="" command="" words="" files="" i
    if [ "$COMP_CWORD" -gt 0 ]; then previous="${{COMP_WORDS[COMP_CWORD-1]}}"; fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${{COMP_WORDS[i]}}" in
            -*) ;;
            *) command="${{COMP_WORDS[i]}}"; break ;;
        esac
    done
    case "$command $previous" in
{values}
        *)
            case "$command" in
                "") words={commands} ;;
{words}
                *) files=yes ;;
            esac ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    if [ -n "$files" ]; then COMPREPLY+=($(compgen -f -- "$current")); fi
}}
complete -o filenames -F _linkwise linkwise
"""


def _known(option: Option, robots: list[str]) -> tuple[str, ...]:
    """The words an option's value may be; beside them, files, unless it has a choice of its own."""
    return tuple(robots) if option.spellings == ("--robot",) else option.values or ()


_TOP = ("--help", "--version", "--debug")


def bash(grammar: list[Grammar], robots: list[str]) -> str:
    """The script for bash."""
    values, words = [], []
    for c in grammar:
        for o in c.options:
            if o.values is None:
                continue
            patterns = "|".join(shlex.quote(f"{c.name} {s}") for s in o.spellings)
            known = _known(o, robots)
            here = f"words={shlex.quote(' '.join(known))}" if known else ""
            files = "" if o.values else "files=yes"
            values.append(f"        {patterns}) {'; '.join(x for x in (here, files) if x)} ;;")
        listed = [s for o in c.options for s in o.spellings if s.startswith("--")]
        listed += [*c.words, *(robots if c.takes_robot else ())]
        files = "; files=yes" if c.takes_robot else ""
        words.append(f"                {c.name}) words={shlex.quote(' '.join(listed))}{files} ;;")
    commands = shlex.quote(" ".join([*(c.name for c in grammar), *_TOP]))
    return _BASH.format(values="\n".join(values), words="\n".join(words), commands=commands)


def zsh(grammar: list[Grammar], robots: list[str]) -> str:
    """The script for zsh: that for bash, which zsh can run."""
    head = "# Completion of linkwise for zsh; made by: linkwise completion zsh\n"
    own = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -u }\n"
    both = "autoload -Uz bashcompinit && bashcompinit\n"
    return head + own + both + bash(grammar, robots).split("\n", 1)[1]


def fish(grammar: list[Grammar], robots: list[str]) -> str:
    """The script for fish."""
    lines = ["# Completion of linkwise for fish; made by: linkwise completion fish", "complete -c linkwise -f"]
    lines += [f"complete -c linkwise -n __fish_use_subcommand -l {s[2:]}" for s in _TOP]
    for c in grammar:
        lines.append(f"complete -c linkwise -n __fish_use_subcommand -a {c.name} -d {_quoted(c.help)}")
        inside = f"complete -c linkwise -n '__fish_seen_subcommand_from {c.name}'"
        first = [*c.words, *(robots if c.takes_robot else ())]
        if first:
            lines.append(f"{inside} {'-F ' if c.takes_robot else ''}-a {_quoted(' '.join(first))}")
        for o in c.options:
            names = " ".join(f"-l {s[2:]}" if s.startswith("--") else f"-s {s[1:]}" for s in o.spellings)
            known = f" -a {_quoted(' '.join(_known(o, robots)))}" if _known(o, robots) else ""
            value = "" if o.values is None else f" -x{known}" if o.values else f" -r -F{known}"
            lines.append(f"{inside} {names}{value} -d {_quoted(o.help)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Text in single quotes, as fish reads them."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


COMMAND = Command("completion", "print a script that completes linkwise in a shell", add_arguments, run, EXAMPLES)
