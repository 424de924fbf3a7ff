"""Modal data on disk: a plain format of linkwise's own, as JSON or as NumPy's archive, and universal files of others.

Both plain forms hold the same names, those of :class:`.Flexible`: ``masses`` (N,), ``places`` (N, 3), ``shapes``
(N, 3, n), ``stiffness`` and ``damping`` (n,) or (n, n), and where there are any ``bends``, ``nodes`` (by name ``at``
(3,), ``shape`` (3, n), ``turn`` (3, n), ``bend``) and ``clamped_at``. JSON nests them; in an archive of arrays a path
names each, as ``nodes/tip/shape``. SI units, axes of the body.

Universal files (I-DEAS, ``.unv`` or ``.uff``), which finite-element codes and modal tests write, are read by pyuff: the
nodes of datasets 15 and 2411, the normal modes of dataset 55. They hold no masses, which are given beside.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...arguments import file_path, mapping
from ...errors import FileError, ModelError
from ...extras import require
from ...whole_files import write_bytes, write_text
from ..inertia import as_array
from .body import Flexible, Node

FORMAT = "linkwise flexible body"
_ARRAYS = ("masses", "places", "shapes", "stiffness", "damping", "bends")
_OF_NODE = ("at", "shape", "turn", "bend")


def save(x: Flexible, path: str | Path) -> None:
    """:meth:`.Flexible.save`."""
    to = file_path(path, "modal data")
    if to.suffix == ".json":
        write_text(to, json.dumps(_plain(_told(x)), indent=1))
    elif to.suffix == ".npz":
        buffer = io.BytesIO()
        arrays: Any = dict(_flat("", _told(x)))
        np.savez(buffer, **arrays)
        write_bytes(to, buffer.getvalue())
    else:
        raise FileError(f"modal data are written to .json or .npz files, not {to.name!r}")


def load(path: str | Path) -> Flexible:
    """:meth:`.Flexible.load`."""
    found = file_path(path, "modal data")
    if found.suffix not in (".json", ".npz"):
        raise FileError(
            f"modal data are read from .json or .npz files, not {found.name!r}; for universal files of other programs"
            " there is lw.Flexible.from_universal_file"
        )
    try:
        told = _read_json(found) if found.suffix == ".json" else _read_archive(found)
    except OSError as e:
        raise FileError(f"cannot read {found}: {e.strerror or e}") from e
    except (ValueError, zipfile.BadZipFile, KeyError) as e:
        raise FileError(f"{found}: is no file of modal data: {e}") from e
    try:
        return _made(told)
    except (ModelError, TypeError) as e:
        raise FileError(f"{found}: {e}") from e


# --- the plain format ------------------------------------------------------------------------------------


def _told(x: Flexible) -> dict[str, Any]:
    """What a body is, by the names of the format."""
    out: dict[str, Any] = {"format": FORMAT}
    out |= {k: getattr(x, k) for k in _ARRAYS if getattr(x, k) is not None}
    if x.nodes:
        out["nodes"] = {name: _of_node(node) for name, node in x.nodes}
    return out


def _of_node(node: Node) -> dict[str, np.ndarray]:
    return {k: getattr(node, k) for k in _OF_NODE if getattr(node, k) is not None}


def _made(told: Mapping[str, Any]) -> Flexible:
    if told.get("format") != FORMAT:
        raise ModelError(f"its format must be {FORMAT!r}, and is {told.get('format')!r}")
    known = {"format", "nodes", "clamped_at", *_ARRAYS}
    if odd := sorted(set(told) - known):
        raise ModelError(f"it has {odd[0]!r}, which the format does not know; there are {', '.join(sorted(known))}")
    missing = [k for k in ("masses", "places", "shapes", "stiffness") if k not in told]
    if missing:
        raise ModelError(f"it has no {missing[0]!r}")
    rest = {k: told[k] for k in ("damping", "bends", "clamped_at") if k in told}
    return Flexible(
        *(told[k] for k in ("masses", "places", "shapes", "stiffness")),
        nodes={name: _node(name, x) for name, x in told.get("nodes", {}).items()},
        **rest,
    )


def _node(name: str, x: Any) -> Node:
    given = dict(mapping(x, f"node {name!r}"))
    if odd := sorted(set(given) - set(_OF_NODE)) or [k for k in ("at", "shape") if k not in given]:
        raise ModelError(f"node {name!r} must have at and shape, and may have turn and bend; {odd[0]!r} is not so")
    return Node(**given)


def _plain(x: Any) -> Any:
    """Arrays as nested lists; JSON's numbers keep every digit."""
    if isinstance(x, dict):
        return {k: _plain(y) for k, y in x.items()}
    return x.tolist() if isinstance(x, np.ndarray) else x


def _flat(path: str, x: Any) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(x, dict):
        for k, y in x.items():
            yield from _flat(f"{path}/{k}" if path else k, y)
    else:
        yield path, np.asarray(x)


def _read_json(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError("it must hold an object")
    return found


def _read_archive(path: Path) -> dict[str, Any]:
    out: dict[str, Any] = {}
    with np.load(path, allow_pickle=False) as z:
        for name in z.files:
            *folders, last = name.split("/")
            room = out
            for folder in folders:
                room = room.setdefault(folder, {})
            value = z[name]
            room[last] = str(value) if value.dtype.kind == "U" else value
    return out


# --- universal files -------------------------------------------------------------------------------------


def from_universal_file(
    path: str | Path, masses: Any, *, nodes: Mapping[str, int], clamped_at: str | None, modes: Any
) -> Flexible:
    """:meth:`.Flexible.from_universal_file`."""
    found = file_path(path, "a universal file")
    if not found.is_file():
        raise FileError(f"cannot read {found}: there is no such file")
    numbers, places, shapes = _datasets(found)
    order = {k: i for i, k in enumerate(numbers)}
    weights = _weights(masses, numbers, found)
    chosen = range(len(shapes)) if modes is None else [_mode(i, len(shapes), found) for i in modes]
    vectors = np.stack([_vectors(shapes[i], order, found) for i in chosen], axis=-1)  # (N, 6, n)
    named = {}
    for name, number in mapping(nodes, "nodes").items():
        if number not in order:
            raise FileError(f"{found}: node {name!r} is number {number!r}, which the file does not have")
        i = order[number]
        named[name] = Node(places[i], vectors[i, :3], vectors[i, 3:])
    moved = vectors[:, :3]
    own = np.einsum("j,jai->i", weights, moved**2)
    # A modal mass of zero says that the file does not know it.
    mass = np.array([float(shapes[i].get("modal_m") or 0.0) for i in chosen])
    mass = np.where(mass > 0, mass, own)
    omega = 2.0 * np.pi * np.array([float(shapes[i]["freq"]) for i in chosen])
    zeta = np.array([float(shapes[i].get("modal_damp_vis") or 0.0) for i in chosen])
    return Flexible(
        weights, places, moved, mass * omega**2, damping=2.0 * zeta * mass * omega, nodes=named, clamped_at=clamped_at
    )


def _datasets(path: Path) -> tuple[list[int], np.ndarray, list[dict[str, Any]]]:
    """Node numbers, places (N, 3), and the normal modes, in the order of the file."""
    pyuff = require("pyuff", "fem", "reading universal files")
    try:
        sets = pyuff.UFF(str(path)).read_sets()
    except (ValueError, IndexError, KeyError, TypeError, UnboundLocalError) as e:  # whatever its parsers stumble over
        raise FileError(f"{path}: is no universal file that pyuff can read: {e}") from e
    sets = sets if isinstance(sets, list) else [sets]
    grids = [x for x in sets if x.get("type") in (15, 2411)]
    shapes = [x for x in sets if x.get("type") == 55 and int(x.get("analysis_type", 0)) == 2]
    if len(grids) != 1 or not shapes:
        raise FileError(f"{path}: must have one dataset 15 or 2411 (nodes) and normal modes in datasets 55")
    grid = grids[0]
    numbers = [int(k) for k in np.ravel(grid["node_nums" if "node_nums" in grid else "grid_global"])]
    return numbers, np.column_stack([np.ravel(grid[k]).astype(float) for k in "xyz"]), shapes


def _vectors(shape: Mapping[str, Any], order: Mapping[int, int], path: Path) -> np.ndarray:
    """(N, 6) displacements and turns of the nodes, in the order of their dataset."""
    out = np.full((len(order), 6), np.nan)
    columns = [np.ravel(shape[f"r{k}"]) for k in range(1, 1 + int(shape["n_data_per_node"]))]
    if len(columns) not in (3, 6) or any(np.iscomplexobj(x) for x in columns):
        raise FileError(f"{path}: normal modes must have three or six real numbers at every node")
    for k, number in enumerate(np.ravel(shape["node_nums"])):
        if int(number) in order:
            out[order[int(number)]] = [*(float(x[k]) for x in columns), *[0.0] * (6 - len(columns))]
    if np.isnan(out).any():
        missing = [n for n, i in order.items() if np.isnan(out[i]).any()]
        raise FileError(f"{path}: mode {shape.get('mode_n')} says nothing of node {missing[0]}")
    return out


def _mode(i: Any, count: int, path: Path) -> int:
    if not isinstance(i, (int, np.integer)) or not 0 <= i < count:
        raise FileError(f"{path}: there is no mode {i!r}; the file has {count}, counted from 0")
    return int(i)


def _weights(masses: Any, numbers: list[int], path: Path) -> np.ndarray:
    if isinstance(masses, Mapping):
        unknown = [k for k in masses if k not in numbers]
        if unknown:
            raise FileError(f"{path}: has no node {unknown[0]!r}, of which a mass is given")
        return as_array([masses.get(k, 0.0) for k in numbers], "masses must be numbers")
    found = as_array(masses, "masses must be numbers")
    if found.shape != (len(numbers),):
        raise FileError(f"{path}: has {len(numbers)} nodes, and masses have shape {found.shape}")
    return found
