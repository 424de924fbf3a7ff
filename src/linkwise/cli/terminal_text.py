"""Words on a terminal: errors and warnings, wrapped and coloured there, and Greek letters where they can be shown."""

from __future__ import annotations

import codecs
import os
import shutil
import sys
import textwrap
import unicodedata
from typing import Any

from ..errors import LinkwiseError
from ..whole_files import cannot_write

_SPELLED = {
    **{"…": "...", "⁻": "^-", "¹": "1", "²": "^2", "³": "^3", "⁺": "+", "×": "x", "÷": "/", "°": " deg", "–": "-"},
    **{"Σ": "sum ", "\u0304": "_bar", "µ": "u", "│": "|", "├": "|", "└": "`", "─": "-", "✓": "ok", "✗": "failed"},
    **{"·": "-", "−": "-"},
}


def one_line(e: BaseException) -> str:
    """An error as one line that helps."""
    text = " ".join(str(e).split())
    if isinstance(e, LinkwiseError):
        return text
    if isinstance(e, MemoryError):
        return "not enough memory; take a smaller robot or batch"
    if isinstance(e, OSError) and e.errno is not None:
        return " ".join(cannot_write(e.filename or "the output", e).split()) if _is_writing(e) else text
    what = f"{type(e).__name__}: {text}" if text else type(e).__name__
    return f"{what} (unexpected; --debug shows where)"


def _is_writing(e: OSError) -> bool:
    return e.filename is None or not isinstance(e, FileNotFoundError)


def show_warning(message: Warning | str, *rest: Any, **named: Any) -> None:
    print(said("warning", _joined(str(message))), file=sys.stderr)


def said(kind: str, text: str) -> str:
    """An error or a warning as standard error shows it: one line, which a terminal has wrapped between words."""
    head = f"linkwise: {kind}:"
    if not _is_terminal(sys.stderr):
        return f"{head} {text}"
    lines = textwrap.wrap(f"{head} {text}", _width(), subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines).replace(head, painted(head, "red" if kind == "error" else "yellow", sys.stderr), 1)


def _width() -> int:
    return max(40, shutil.get_terminal_size().columns)


# --- colour ------------------------------------------------------------------------------------------

_CODES = {"bold": "1", "dim": "2", "red": "1;31", "green": "32", "yellow": "33"}


def painted(text: str, colour: str, stream: Any = None) -> str:
    """Text in a colour ("bold", "dim", "red", "green", "yellow"), where the stream (standard output) shows colours."""
    return f"\033[{_CODES[colour]}m{text}\033[0m" if shows_colour(sys.stdout if stream is None else stream) else text


def shows_colour(stream: Any) -> bool:
    """Whether a stream is a terminal with colours; NO_COLOR (any value) says no, FORCE_COLOR says yes to anything."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return _is_terminal(stream) and os.environ.get("TERM") != "dumb"


def _is_terminal(stream: Any) -> bool:
    return bool(getattr(stream, "isatty", lambda: False)())


def _joined(text: str) -> str:
    """The lines of a list as one line, semicolons between them."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return "; ".join(lines).replace(":; ", ": ")


def spell_what_cannot_be_shown(*streams: Any) -> None:
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
