"""A stand-in for a graphics card: arrays are NumPy's, and kernels are built for the host and run there."""

import ctypes

import numpy as np
from device_text import built

from linkwise.codegen.cuda.turns import DeviceTurns, Lying
from linkwise.codegen.cuda.turns_text import TurnsText


class HostCard:
    """What a motion asks of a card (:class:`linkwise.simulation.cards.Card`)."""

    library, device, stream, name = None, 0, 0, "a host, by ctypes"

    def __init__(self, dtype):
        self.dtype, self.held = dtype, []

    def array(self, x):
        self.held.append(np.ascontiguousarray(x, self.dtype))
        return self.held[-1]

    def empty(self, shape):
        return np.full(shape, np.nan, self.dtype)

    def lying(self, x, rows=False):
        strides = [s // x.itemsize for s in x.strides]
        between = 0 if x.ndim == 1 + rows else strides[0]
        return Lying(x.ctypes.data, between, strides[-1], strides[-2] if rows else None)


def use_host_card(monkeypatch, folder):
    """Let motions on cards run on the host; gives the list of (device, states) of every launch."""
    launches, kernels = [], {}

    def run(self, count, span, inputs, outputs, table, noise, dtype, device, stream):
        if self not in kernels:
            place = folder / f"kernel-{len(kernels)}"
            place.mkdir()
            kernels[self] = built(TurnsText(self.turns, dtype, table is not None, noise is not None), place, "-O0")
        words = [ctypes.c_size_t(count), *map(ctypes.c_longlong, (span.turns, span.every, span.begun))]
        words.append(ctypes.c_double(span.length))
        named = [inputs[name] for name in (*self.turns.carried, *self.turns.constants)]
        for x in [*named, *([] if table is None else [table]), *outputs]:
            words += [ctypes.c_ulonglong(n) for n in x.words]
        kernels[self](*words)
        launches.append(count)

    monkeypatch.setattr(DeviceTurns, "run", run)
    monkeypatch.setattr("linkwise.simulation.cards.card_at", lambda device, dtype: HostCard(dtype))
    return launches
