"""A stand-in for CuPy: its arrays are NumPy's in memory, and compiled functions run on them on the processor."""

import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np

from linkwise.simulation import motion_vjp, on_arrays


class Array(np.ndarray):
    """An array that linkwise takes for one of CuPy."""

    device = nullcontext()


Array.__module__ = "cupy"


def use_numpy_as_cupy(monkeypatch):
    """Let simulations take the stand-in's arrays; gives the stand-in for the module."""

    def asarray(x, dtype=None):
        return np.asarray(x, dtype).view(Array)

    def run_on(library, function, arrays):
        assert library == "cupy"
        return [x.view(Array) for x in function.run([np.asarray(x) for x in arrays])]

    cupy = SimpleNamespace(
        ndarray=Array,
        asarray=asarray,
        array=lambda x, dtype=None: np.array(x, dtype).view(Array),
        broadcast_to=np.broadcast_to,
        concatenate=np.concatenate,
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for module in (motion_vjp, on_arrays):
        monkeypatch.setattr(module, "run_on", run_on)
    monkeypatch.setattr(on_arrays, "on_card", lambda arrays: False)
    return cupy
