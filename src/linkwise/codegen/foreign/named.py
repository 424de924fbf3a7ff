"""Functions by their names: what programs of XLA and graphs of PyTorch hold of a compiled function."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from ...errors import InputError

if TYPE_CHECKING:
    from .function import ArrayFunction


class Named:
    """Functions by their tokens, as long as something else holds them; the ``most`` that were used last, in any case.

    Equal robots have equal tokens, and share what was named first.
    """

    def __init__(self, most: int, held: str) -> None:
        self._most, self._held = most, held
        self._all: WeakValueDictionary[str, ArrayFunction] = WeakValueDictionary()
        self._last: OrderedDict[str, ArrayFunction] = OrderedDict()
        self._lock = threading.Lock()  # XLA calls from threads of its own

    def named(self, function: ArrayFunction) -> ArrayFunction:
        """The function that has this one's token from now on: this, or one that is equal."""
        return self._used(function.token, self._all.setdefault(function.token, function))

    def __getitem__(self, token: str) -> ArrayFunction:
        try:
            return self._used(token, self._all[token])
        except KeyError:
            raise InputError(
                f"what this program calls, {token.partition('-')[0]}, is there no longer: {self._held}; keep its"
                " robot or kernel as long as the program"
            ) from None

    def _used(self, token: str, function: ArrayFunction) -> ArrayFunction:
        with self._lock:
            self._last[token] = function
            self._last.move_to_end(token)
            while len(self._last) > self._most:
                self._last.popitem(last=False)
        return function
