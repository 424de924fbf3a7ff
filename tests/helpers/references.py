"""Whether what compiled code is made of has as many references as are held of it."""

import ctypes
import gc
import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from linkwise.symbols.scalar import Graph, Scalar


@contextmanager
def symbols_held() -> Iterator[list[Scalar]]:
    """All symbols that are made meanwhile, which so outlive a reference too few."""
    held: list[Scalar] = []
    make = Graph._new

    def new(self, *arguments):
        found = make(self, *arguments)
        held.append(found)
        return found

    new.__code__ = new.__code__.replace(co_filename=make.__code__.co_filename)  # a part of the operation
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Graph, "_new", new)
        yield held


def missing_references(held: list[Scalar]) -> list[Scalar]:
    """Those of all symbols that have fewer references than their graphs and they themselves hold."""
    needed = Counter(id(a) for x in held for a in x.args if isinstance(a, Scalar))
    found = []
    for i in range(len(held)):
        # Those that are counted: a list, a graph that was not discarded, and the argument.
        in_graph = held[i].graph.count > 0
        lack = needed[id(held[i])] + 2 + in_graph - sys.getrefcount(held[i])
        if lack > 0:
            found.append(held[i])
            for _ in range(lack + 1):  # that the process goes on
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(held[i]))
    return found


_SHARED = [None, True, False, (), float, tuple, dict, np.ndarray, np.dtype(float), np.dtype(np.float32)]
_OWN_BYTES = 20_000  # that are taken once: by NumPy, which keeps small blocks, and by the counts themselves


def changes(call, *things, times=200):
    """By how many references each of these has more or less after calls than before, and what all calls use has less
    (NumPy's own ``np.zeros`` keeps one of its dtype); and the bytes that are not given back.

    Calls may fail. A few are made before, which may keep what they find.
    """

    def run(n):
        for _ in range(n):
            with suppress(Exception):
                call()

    def counts(things):
        return [sys.getrefcount(x) for x in things]

    run(5)
    tracemalloc.start()
    try:
        run(2)
        gc.collect()  # the frames that errors went through
        before, bytes_before = [counts(_SHARED), counts(things)], tracemalloc.get_traced_memory()[0]
        run(times)
        gc.collect()
        after, bytes_after = [counts(_SHARED), counts(things)], tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    found = {repr(x)[:60]: b - a for x, a, b in zip(_SHARED, before[0], after[0]) if b <= a - times // 2}
    found |= {repr(x)[:60]: b - a for x, a, b in zip(things, before[1], after[1]) if abs(b - a) >= times // 2}
    grown = bytes_after - bytes_before
    return found | ({"bytes a call": grown / times} if grown > 8 * times + _OWN_BYTES else {})
