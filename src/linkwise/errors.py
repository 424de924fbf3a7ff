"""Every error linkwise raises on purpose. Each says what is wrong, where, and what to do."""

import difflib
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager


def did_you_mean(name: str, known: Iterable[str], also: Mapping[str, str] | None = None) -> str:
    """``did you mean …?`` where a known name is near; empty otherwise.

    Capitals, blanks and hyphens do not count. ``also`` are names that others have for known ones: other → known.
    """
    meant = {x.lower(): x for x in known} | dict(also or {})
    plain = "_".join(name.lower().replace("-", " ").split())
    swapped = [x for x in meant if sorted(x) == sorted(plain)]  # of the same letters: nearer than any other
    near = [plain] if plain in meant else swapped or difflib.get_close_matches(plain, meant, n=1)
    return f"did you mean {meant[near[0]]}?" if near else ""


class LinkwiseError(Exception):
    """Base of all errors raised by linkwise."""


class ModelError(LinkwiseError, ValueError):
    """A robot that cannot be right: a body, joint, frame or inertia that fails its checks."""


class FileError(ModelError):
    """A robot file that cannot be read or cannot be right; names file, line, element and reason."""


class InputError(LinkwiseError, ValueError):
    """An argument of the wrong shape, length, kind or value."""


class UnknownNameError(LinkwiseError, KeyError):
    """A body, joint, frame, robot or method that does not exist; lists those that do."""

    def __str__(self) -> str:  # KeyError would print the repr, with quotes and escapes
        return str(self.args[0]) if self.args else ""


class SpaceError(LinkwiseError, ValueError):
    """Operators (or an operator and a vector) whose spaces do not fit together."""


class NoRecursionError(LinkwiseError, ValueError):
    """An inverse for which no O(n) route is known."""


class SingularError(LinkwiseError, ValueError):
    """A joint that no inertia resists, or a Jacobian without the rank that was asked for."""


class ClosureError(LinkwiseError, ValueError):
    """A loop that cannot be closed, or a state that does not close it; names the loop and what is left open."""


class NotAdmittedError(LinkwiseError, ValueError):
    """An algorithm that does not admit this kind of robot (joint kinds, trees, base)."""


class UntraceableError(LinkwiseError, TypeError):
    """A function that is no one program: it decides by the values of its arguments, or does what symbols cannot.

    ``filename``, ``lineno`` and ``text`` say where, as those of a SyntaxError: the line of the user's function that
    could not be traced, None and "" where no such line is known.
    """

    filename: str | None = None
    lineno: int | None = None
    text: str = ""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        raised: list[UntraceableError] | None = getattr(_TRACE, "raised", None)
        if raised is not None:
            raised.append(self)

    @property
    def reason(self) -> str:
        """What is wrong and what to do, without the place."""
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        if self.filename is None:
            return self.reason
        shown = f": {self.text}" if self.text else ""
        return f"{self.reason} ({self.filename}, line {self.lineno}{shown})"


_TRACE = threading.local()


@contextmanager
def refusals() -> Iterator[list[UntraceableError]]:
    """The list of what this thread's symbols refuse meanwhile, also where the function that asked them catches it: it
    goes on then as it would for no number."""
    before, mine = getattr(_TRACE, "raised", None), list[UntraceableError]()
    _TRACE.raised = mine
    try:
        yield mine
    finally:
        _TRACE.raised = before


class UnrollableError(InputError):
    """An algorithm that asks for single bodies, so that it cannot be recorded as loops over all of them."""


class SimulationError(LinkwiseError, ArithmeticError):
    """A motion that cannot go on: its state is no longer finite, or a solver gave up; says when and where."""


class MissingExtraError(LinkwiseError, ImportError):
    """A package that an extra brings is not installed; names the command that installs it."""


class ModelWarning(UserWarning):
    """A robot file that looks odd but can be used."""


class SimulationWarning(UserWarning):
    """A simulation less sure than it might be: a checkpoint of which a part cannot be compared, runs that failed."""


class SlowPathWarning(UserWarning):
    """Something that runs in Python or on NumPy arrays where compiled code was to be expected; says why."""


def warn_of_slow_path(message: str) -> None:
    """Say at the user's own line that something is slower than it might be."""
    warn_at_users_line(message, SlowPathWarning)


def warn_at_users_line(message: str, category: type[Warning]) -> None:
    """Warn at the user's own line, the innermost outside linkwise."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "linkwise":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
