"""The one place where a robot keeps its machine code."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Self

from ..codegen import thresholds
from ..codegen.foreign.calls import at_once_for_torch
from ..symbols.function_memory import refusing_memory
from ..symbols.scalar import text_refused


class Way:
    """The quick function of a call, the code that it is of, and whether it was used lately."""

    __slots__ = ("code", "quick", "used")

    def __init__(self, quick: Any, code: Hashable) -> None:
        self.quick, self.code, self.used = quick, code, False


class CodeStore:
    """The machine code of one robot, made when it is first asked for.

    A robot is frozen, and its code follows from it: the store is no part of its value. Every robot, however it is made
    (built, copied, unpickled), starts with an empty one. ``quick`` holds, for methods called with arrays alone, the C
    functions that take them, and ``foreign`` what takes arrays of other libraries; there are no more of them than
    methods. All other code is kept under what it was asked for with, and there is a bound to it, since fixed arguments
    (frames) may be as many as the user likes. Ways lead from calls as they are written to the C functions of that code,
    and go with it.
    """

    __slots__ = ("_kept", "foreign", "quick", "ways")

    def __init__(self) -> None:
        self.quick: dict[Callable[..., Any], Any] = {}
        self.foreign: dict[tuple[Callable[..., Any], type, bool], Any] = {}
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self.ways: dict[Hashable, Way] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable, default: Any = None) -> Any:
        """What is kept under a key; it counts as used now."""
        try:
            found = self._kept[key]
            self._kept.move_to_end(key)  # (another thread may just have let it go)
        except KeyError:
            return default
        return found

    def keep(self, key: Hashable, code: Any) -> None:
        """Keep code under a key. (Where two threads have made it, one remains.)"""
        self._kept[key] = code
        if len(self._kept) > thresholds.MOST_KERNELS:
            self._let_go()

    def of_function(
        self, function: Callable[..., Any], identity: str | None, key: tuple[Hashable, ...], make: Callable[[], Any]
    ) -> Any:
        """What ``make`` gets by tracing a user's ``function``, kept for functions that compute the same.

        That is what ``identity`` says, which is not known of all: a function that is the same object may have other
        globals, or a field that was changed, and code that was made of it before has another answer than it.
        """
        key = (*key, "of a function", identity)
        found = None if identity is None else self.get(key)
        if found is None:
            with refusing_memory(function), text_refused():
                found = make()
            if identity is not None:
                self.keep(key, found)
        return found

    def keep_way(self, key: Hashable, code: Hashable, quick: Any) -> None:
        """Keep the quick function of a call under it, or under its method alone; ``code`` is what it belongs to."""
        if callable(key):
            self.quick[key] = quick
            return
        if len(self.ways) >= _WAYS * thresholds.MOST_KERNELS:
            self.ways = {k: way for k, way in self.ways.items() if way.used}
        self.ways[key] = Way(quick, code)

    def _let_go(self) -> None:
        """Drop what was used longest ago, by a way since the last time or otherwise."""
        newest = next(reversed(self._kept))
        for way in list(self.ways.values()):
            if way.used and way.code in self._kept:
                self._kept.move_to_end(way.code)
            way.used = False
        self._kept.move_to_end(newest)
        while len(self._kept) > thresholds.MOST_KERNELS:
            self._kept.popitem(last=False)
        self.ways = {k: way for k, way in self.ways.items() if way.code in self._kept}


_WAYS = 4  # in which the same call is written, at most on average


class HasCode:
    """A thing with a store of code, empty at first: in a slot of its own, beside the attributes that are its value."""

    __slots__ = ("_code",)
    _code: CodeStore

    def __new__(cls, *_: Any, **__: Any) -> Self:
        new = super().__new__(cls)
        object.__setattr__(new, "_code", CodeStore())
        return new

    @at_once_for_torch
    def _make_answer(self, *asked: Any) -> None:
        """From now on the store has what answers such a call with arrays of another library."""
        from .foreign_calls import make_answer

        make_answer(self, *asked)
