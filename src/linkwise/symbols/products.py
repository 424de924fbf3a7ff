"""Matrix products of symbols: NumPy's ``@`` of object arrays must not see a product of entries fail.

Where it does, NumPy (all its versions to now) gives back a reference that it does not have: to the sum that it has just
written as the entry before. That symbol or number is then freed while it is in use, and what takes its memory stands
for it, until Python's collector stumbles over it. A sum that fails does no harm, nor does any other of NumPy's
functions. ``tests/symbols/test_products.py`` shows it with NumPy alone. So

- values that are too many are refused by sums alone (:class:`.scalar.Graph`),
- handlers of signals, such as that of Ctrl-C, which may raise anything anywhere, wait for one (:func:`signals_wait`),
- arrays of a user's function, whose entries may be anything, are multiplied here (:func:`matrix_product`).
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from .scalar import Graph, Scalar

# Those that tell a program something, and that Python may have a handler for.
_SIGNALS = [
    getattr(signal, f"SIG{name}")
    for name in ("INT", "TERM", "HUP", "ALRM", "VTALRM", "PROF", "USR1", "USR2", "BREAK")
    if hasattr(signal, f"SIG{name}")
]
_OWN = (Graph.node.__code__.co_filename, __file__)  # a handler that waits may be interrupted too


def matrix_product(a: Any, b: Any) -> Any:
    """``a @ b`` of arrays of objects, entry by entry in NumPy's order."""
    a, b = np.asarray(a), np.asarray(b)
    shape = np.matmul(np.broadcast_to(0.0, a.shape), np.broadcast_to(0.0, b.shape)).shape  # or NumPy's error
    left, right = a if a.ndim > 1 else a[None], b if b.ndim > 1 else b[:, None]
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    m, n, p = left.shape[-2], left.shape[-1], right.shape[-1]
    left, right = np.broadcast_to(left, (*batch, m, n)), np.broadcast_to(right, (*batch, n, p))
    out = np.empty((*batch, m, p), dtype=object)
    for i in np.ndindex(batch):
        columns = right[i].T.tolist()
        for j, row in enumerate(left[i].tolist()):
            for k, column in enumerate(columns):
                out[(*i, j, k)] = _sum_of_products(row, column)
    return out.reshape(shape)[()]


def _sum_of_products(row: list[Any], column: list[Any]) -> Any:
    products = (x * y for x, y in zip(row, column))
    total = next(products, 0)
    for x in products:
        total = total + x
    return total


@contextmanager
def signals_wait() -> Iterator[None]:
    """Inside, Python's handlers of signals are not called within an operation of symbols, but by the next sum."""
    changed: list[_Waiting] = []
    if threading.current_thread() is threading.main_thread():  # no other calls handlers
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler) and not isinstance(handler, _Waiting):
                changed.append(_Waiting(handler))
                signal.signal(number, changed[-1])
    try:
        yield
    finally:
        for number in _SIGNALS if changed else ():
            handler = signal.getsignal(number)
            if isinstance(handler, _Waiting) and handler in changed:  # and not one that what ran inside has set
                signal.signal(number, handler.handler)
        for waiting in changed:
            waiting.graph.call_waiting()


class _Waiting:
    """A handler that waits where an operation of symbols runs, which NumPy may have called."""

    def __init__(self, handler: Callable[[int, FrameType | None], Any]) -> None:
        self.handler, self.graph = handler, Graph()

    def __call__(self, number: int, frame: FrameType | None) -> None:
        graph = _at_work(frame)
        if graph is None:
            self.handler(number, frame)
        else:
            self.graph = graph
            graph.wait(lambda: self.handler(number, sys._getframe()))


def _at_work(frame: FrameType | None) -> Graph | None:
    """The graph of the operation that runs, or None."""
    while frame is not None and frame.f_code.co_filename in _OWN:
        one = frame.f_locals.get("self")
        if isinstance(one, Scalar):
            one = getattr(one, "graph", None)  # a new one has none yet
        if isinstance(one, Graph):
            return one
        frame = frame.f_back
    return None
