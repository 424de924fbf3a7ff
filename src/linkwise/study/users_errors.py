"""What a user's code raises: which of it ends its run alone, and how it is put into words that files can hold."""

from __future__ import annotations

import traceback

# Beside errors an exit: who asks for the end of "the program" within a run ends that run. Ctrl-C is no run's own.
RAISED = (Exception, SystemExit)

_LONGEST = 20_000  # characters of a text that are kept


def message_of(e: BaseException) -> str:
    """What an error says, also where it cannot say it."""
    try:
        return _shortened(str(e))
    except Exception:  # of the user's own class, in its __str__
        return "<it cannot say what is wrong: its __str__ raises>"


def traceback_of(e: BaseException) -> str:
    """An error with the lines that led to it."""
    return _shortened("".join(traceback.format_exception(e)))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}\n…\n{text[-_LONGEST // 2 :]}"
