"""The one place where a robot keeps its machine code."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Self

from ..codegen import thresholds


class CodeStore:
    """The machine code of one robot, made when it is first asked for.

    A robot is frozen, and its code follows from it: the store is no part of its value. Every robot, however it is made
    (built, copied, unpickled), starts with an empty one. ``quick`` holds, for methods called with arrays alone, the C
    functions that take one state, and ``foreign`` what takes arrays of other libraries; there are no more of them than
    methods. All other code is kept under what it was
    asked for with, and there is a bound to it, since fixed arguments (frames) may be as many as the user likes.
    """

    __slots__ = ("_kept", "foreign", "quick")

    def __init__(self) -> None:
        self.quick: dict[Callable[..., Any], Any] = {}
        self.foreign: dict[tuple[Callable[..., Any], type, bool], Any] = {}
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()

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
        while len(self._kept) > thresholds.MOST_KERNELS:  # what was used longest ago goes first
            self._kept.popitem(last=False)


class HasCode:
    """A thing with a store of code, empty at first: in a slot of its own, beside the attributes that are its value."""

    __slots__ = ("_code",)
    _code: CodeStore

    def __new__(cls, *_: Any, **__: Any) -> Self:
        new = super().__new__(cls)
        object.__setattr__(new, "_code", CodeStore())
        return new
