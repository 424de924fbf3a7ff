"""Functions and loops by their names, which are all that programs of XLA and graphs of PyTorch hold of them."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar
from weakref import WeakSet, WeakValueDictionary

from ...errors import InputError


class HasToken(Protocol):
    """What is named."""

    @property
    def token(self) -> str: ...


F = TypeVar("F", bound=HasToken)


class Named(Generic[F]):
    """Functions by their tokens, as long as something else holds them; the ``most`` that were used last, in any case.

    Equal robots have equal tokens, and share what was named first; when that is gone, what was named next.
    """

    def __init__(self, most: int, held: str, take_used: Callable[[str], bool] = lambda token: False) -> None:
        """``take_used`` says of a token whether something was used under it, past this, since it was asked."""
        self._most, self._held, self._take_used = most, held, take_used
        self._all: WeakValueDictionary[str, F] = WeakValueDictionary()
        self._twins: WeakSet[F] = WeakSet()  # of what was named before them
        self._last: OrderedDict[str, F] = OrderedDict()
        # XLA calls from threads of its own; and garbage that Python finds meanwhile may be someone's who calls again.
        self._free_in_child()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._free_in_child)

    def _free_in_child(self) -> None:
        """A forked child has none of the threads that may hold the lock."""
        self._lock = threading.RLock()

    def named(self, function: F) -> F:
        """The function that has this one's token from now on: this, or one that is equal."""
        token = function.token
        with self._lock:
            first = self._all.setdefault(token, function)
            if first is not function:
                self._twins.add(function)
        return self._used(token, first)

    def __getitem__(self, token: str) -> F:
        return self._used(token, self._found(token))

    def _found(self, token: str) -> F:
        with self._lock:
            function = self._all.get(token) or next((x for x in self._twins if x.token == token), None)
        if function is not None:
            return function
        # PyTorch keeps graphs on disk, and those of derivatives name what only the process that made them has named.
        of, _, which = token.rpartition("-")
        if which in ("vjp", "jvp"):
            derivative: F = getattr(self._found(of), which)
            return derivative
        raise InputError(
            f"what this program calls, {token.partition('-')[0]}, is not there (any longer, or in this process):"
            f" {self._held}; keep its robot or kernel as long as the program, and call it once in each process"
        )

    def _used(self, token: str, function: F) -> F:
        with self._lock:
            self._all.setdefault(token, function)
            self._last[token] = function
            self._last.move_to_end(token)
            gone = self._too_many()
        del gone  # after the lock, for the last of someone's may go with them
        return function

    def _too_many(self) -> list[F]:
        """Those that are held no longer: what was used past this counts as used now."""
        if len(self._last) <= self._most:
            return []
        *others, newest = self._last
        for token in others:
            if self._take_used(token) and token in self._last:  # garbage found meanwhile may have called others
                self._last.move_to_end(token)
        self._last.move_to_end(newest)
        return [self._last.popitem(last=False)[1] for _ in range(len(self._last) - self._most)]
