"""Which library an array is of. No library is imported for it: who has such an array has imported it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .arguments import numbers
from .errors import InputError

_LIBRARIES = {"torch": "torch", "jax": "jax", "jaxlib": "jax", "cupy": "cupy"}
# What brings arrays of a library to NumPy; those of JAX run the algorithms as they stand, and need not.
TO_NUMPY = {"torch": "x.numpy(force=True)", "cupy": "cupy.asnumpy(x)"}
_OWN = frozenset({np.ndarray, float, int, list, tuple, bool, np.float64, np.float32, type(None)})


def library(x: Any) -> str | None:
    """ "torch", "jax" or "cupy" for an array of theirs; None for NumPy's and for all else."""
    if type(x) in _OWN:
        return None
    for cls in type(x).__mro__:  # torch.nn.Parameter and users' own subclasses are arrays of torch as well
        found = _LIBRARIES.get(cls.__module__.partition(".")[0])
        if found is not None:
            return found if hasattr(x, "shape") and hasattr(x, "dtype") else None
    return None


def among(arrays: Iterable[Any]) -> bool:
    """Whether one of these is an array of another library."""
    return any(type(x) not in _OWN and library(x) is not None for x in arrays)


def common(named: Mapping[str, Any]) -> str:
    """The one library that all these arrays are of. Numbers and lists go with any; other arrays beside them do not."""
    found = {name: library(x) for name, x in named.items()}
    kinds = sorted({kind for kind in found.values() if kind is not None})
    others = [name for name, x in named.items() if found[name] is None and isinstance(x, np.ndarray) and x.ndim > 0]
    if len(kinds) > 1 or others:
        said = ", ".join(
            f"{name}: {found[name] or 'numpy' if hasattr(x, 'shape') else 'a list'}" for name, x in named.items()
        )
        raise InputError(
            f"arrays of several libraries in one call ({said}); bring them to one, as torch.as_tensor(x),"
            " jax.numpy.asarray(x), cupy.asarray(x) or numpy.asarray(x) do"
        )
    return kinds[0]


def as_one(kind: str, x: Any, what: str) -> Any:
    """What may be a list as an array: of arrays of a library as one of it, so that they keep their derivatives; of
    numbers as NumPy's."""
    found = _stacked(kind, x, what)
    return found if hasattr(found, "shape") else numbers(found, what)


def as_arrays(kind: str, names: Iterable[str], given: Sequence[Any]) -> list[Any]:
    """All that a call is given, each so; what is too much stays as it is."""
    known = list(names)
    return [x if hasattr(x, "shape") or k >= len(known) else as_one(kind, x, known[k]) for k, x in enumerate(given)]


def _stacked(kind: str, x: Any, what: str) -> Any:
    if not isinstance(x, (list, tuple)):
        return x
    parts = [_stacked(kind, part, what) for part in x]
    of_kind = [library(part) == kind for part in parts]
    if not any(of_kind):
        return x
    if not all(of_kind):
        raise InputError(f"{what} is a list of arrays of {kind} and of something else; make it one array of {kind}")
    return sys.modules["jax.numpy" if kind == "jax" else kind].stack(parts)


def on_device(arrays: Iterable[Any]) -> bool:
    """Whether one of these is in the memory of a graphics card, or may come to be (JAX decides when it compiles)."""
    for x in arrays:
        kind = library(x)
        if kind == "cupy" or (kind == "torch" and x.device.type == "cuda"):
            return True
        if kind == "jax":
            return bool(sys.modules["jax"].default_backend() == "gpu")
    return False


def refuse(x: Any, what: str) -> InputError:
    """The error that a call which is not compiled takes no array of this library."""
    kind = library(x) or ""
    brings = TO_NUMPY.get(kind, "numpy.asarray(x)")
    return InputError(f"{what} is an array of {kind}, and this call runs on NumPy alone; {brings} brings it there")


def refuse_all_but_numpy(**named: Any) -> None:
    """Refuse arrays of other libraries, also within tuples and mappings: what a search finds would not be of their
    kind, and have no gradient."""
    for name, x in named.items():
        parts = x.values() if isinstance(x, Mapping) else x if isinstance(x, (tuple, list)) else (x,)
        for part in parts:
            if type(part) not in _OWN and library(part) is not None:
                raise refuse(part, name)
