"""Words on a terminal: errors and warnings on one line, Greek letters spelled where they cannot be shown."""

from __future__ import annotations

import codecs
import sys
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
    print(f"linkwise: warning: {_joined(str(message))}", file=sys.stderr)


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
