"""Results of a study as an xarray.Dataset along ``run``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FileError
from ..extras import require
from .parts import PARAMETER, RESULT
from .reading import arrays_of, read_series, series_of
from .results import axes_of, refuse_unknown
from .shapes import stacked, with_numbers

if TYPE_CHECKING:
    from .results import OpenStudy


_WORD = "_word"  # after the name of a result that is an array in some runs and a word in others


def dataset(study: OpenStudy, wanted: Sequence[str] | None, limit: float) -> Any:
    """The finished runs, in their order; a result with the name of a parameter is ``name_result``."""
    tables, loose = study.tables(limit), study.loose()
    own = np.array([r.run for r in loose], dtype=np.int64)
    runs = np.concatenate([*(t["run"].to_numpy() for t in tables), own])
    columns = _columns(study, tables, loose)
    arrays = _arrays(study, tables, loose, wanted, limit)
    for name in [n for n in arrays if n in columns]:  # some runs gave arrays, others numbers or words
        if columns[name].dtype.kind == "U":
            columns[name + _WORD] = columns.pop(name)
        else:
            arrays[name] = with_numbers(arrays[name], columns.pop(name))
    known = [*columns, *arrays]
    if wanted is not None:
        refuse_unknown([x for x in wanted if runs.size], known)
    order = np.argsort(runs, kind="stable")
    found: dict[str, Any] = {}
    lengths: dict[str, int] = {"run": len(runs)}
    for name, x in {**columns, **arrays}.items():
        if wanted is not None and name not in wanted:
            continue
        axes = axes_of(name, x.ndim - 1)
        if any(lengths.get(axis, n) != n for axis, n in zip(axes, x.shape[1:])):
            axes = tuple(f"{name}_{i}" for i in range(x.ndim - 1))
        lengths.update(zip(axes, x.shape[1:]))
        found[name] = (("run", *axes), x[order])
    about = {"study": str(study.place), "samples": study.samples, "seed": str(study.manifest["seed"])}
    made = _study_dataset()
    return made(found, coords={"run": runs[order]}, attrs=about)


def _columns(study: OpenStudy, tables: list[Any], loose: list[Any]) -> dict[str, np.ndarray]:
    names = list(dict.fromkeys(c for t in tables for c in t.column_names))
    parameters = list(study.manifest["parameters"])
    found: dict[str, np.ndarray] = {}
    drawn = drawn_again(study, loose, parameters)
    for name in parameters:
        parts = [_values(t, PARAMETER + name) for t in tables]
        if loose:
            own = np.stack([d[name] for d in drawn])
            if parts and study.manifest["parameters"][name].get("kind") == "function":  # what it gave is not known yet
                own = np.full((len(loose), *parts[0].shape[1:]), np.nan)
            parts.append(own)
        found[name] = _joined(name, parts)
    results = [c.removeprefix(RESULT) for c in names if c.startswith(RESULT)]
    results += [n for r in loose for n, x in r.values.items() if np.ndim(x) == 0]
    for name in dict.fromkeys(results):
        parts = [_values(t, RESULT + name) for t in tables]
        rest = [_plain(r.values.get(name)) for r in loose]
        found[free_name(name, parameters)] = _joined(name, [*parts, _from_list(rest)] if loose else parts)
    ends = [np.array([r.status for r in loose], dtype=str)]
    found["status"] = _joined("status", [_values(t, "status") for t in tables] + ends)
    return found


def free_name(name: str, parameters: Iterable[str]) -> str:
    """What a result is named beside parameters."""
    return f"{name}_result" if name in parameters else name


def _plain(x: Any) -> Any:
    return None if x is None or np.ndim(x) else x if isinstance(x, str) else np.asarray(x).item()


def drawn_again(study: OpenStudy, loose: list[Any], parameters: Sequence[str]) -> list[dict[str, Any]]:
    """Parameters of runs that are on record alone: drawn again, as they depend on the seed and the run only."""
    from .distributions import from_plain
    from .sampling import Sampling

    if not loose:
        return []
    plain = {n: d for n, d in study.manifest["parameters"].items() if d.get("kind") != "function"}
    about = study.manifest
    sampling = Sampling({n: from_plain(d) for n, d in plain.items()}, study.samples, about["seed"], about["sampling"])
    found = []
    for r in loose:
        own = sampling.run(r.run) if plain else {}
        found.append({n: own.get(n, np.nan) for n in parameters})
    return found


def _values(table: Any, name: str) -> np.ndarray:
    """A column as an array; missing numbers are NaN, missing words empty, missing columns all that."""
    if name not in table.column_names:
        return np.full(len(table), np.nan)
    column = table[name].combine_chunks()
    kind = str(column.type)
    if kind.startswith("fixed_size_list"):
        shape = [len(column)]
        while str(column.type).startswith("fixed_size_list"):
            shape.append(column.type.list_size)
            column = column.flatten()
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=float).reshape(shape)
    if kind == "double":
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=float)
    return _from_list(column.to_pylist())


def _from_list(values: list[Any]) -> np.ndarray:
    there = [x for x in values if x is not None]
    if there and all(isinstance(x, str) for x in there):
        return np.array(["" if x is None else x for x in values], dtype=str)
    if len(there) == len(values) and there:
        return np.array(values)
    return np.array([np.nan if x is None else float(x) for x in values], dtype=float)


def _joined(name: str, parts: list[np.ndarray]) -> np.ndarray:
    parts = [p for p in parts if len(p)]
    if not parts:
        return np.empty(0)
    if any(p.dtype.kind == "U" for p in parts):
        parts = [p if p.dtype.kind == "U" else np.array(["" if x != x else str(x) for x in p.tolist()]) for p in parts]
    shapes = sorted({p.shape[1:] for p in parts})
    if len(shapes) > 1:
        raise FileError(f"chunks of the study hold {name!r} in several shapes, {', '.join(map(str, shapes))}")
    return np.concatenate(parts)


def _arrays(
    study: OpenStudy,
    tables: list[Any],
    loose: list[Any],
    wanted: Sequence[str] | None,
    limit: float,
) -> dict[str, np.ndarray]:
    """Arrays of all runs, small ones filled up with NaN."""
    parameters = list(study.manifest["parameters"])
    names = [n for n in wanted if n not in parameters] if wanted is not None else None
    if names is not None:  # as their files name them
        names += [n for n in parameters if free_name(n, [n]) in names]
        names += [n.removesuffix(_WORD) for n in names]
    parts: list[tuple[int, dict[str, Any]]] = []
    size = 0.0
    for table in tables:
        series, there = series_of(table), arrays_of(table)
        if names is not None and there is not None and not set(there) & set(names):
            series = None
        found = {} if series is None else read_series(study.place, series, limit, names, len(table))
        size += sum(x.nbytes for x in found.values())
        if size > limit:
            raise FileError(
                f"the arrays of {study.place} have more than {limit / 2**30:.2g} GiB; ask for some names"
                " (results([…])), or for a larger limit="
            )
        parts.append((len(table), found))
    for record in loose:
        own = {n: np.asarray(x)[None] for n, x in record.values.items() if np.ndim(x)}
        parts.append((1, {n: x for n, x in own.items() if names is None or n in names}))
    known = list(dict.fromkeys(n for _, found in parts for n in found))
    return {free_name(n, parameters): stacked([(k, f.get(n)) for k, f in parts], limit) for n in known}


def _study_dataset() -> Any:
    """The class of results, made once xarray is there."""
    global _CLASS
    if _CLASS is None:
        xarray = require("xarray", "study", "results of a study")

        class StudyDataset(xarray.Dataset):  # type: ignore[misc, name-defined]
            """An xarray.Dataset of runs; :meth:`to_pandas` gives one row a run."""

            __slots__ = ()

            def to_pandas(self) -> Any:
                return frame(self)

        _CLASS = StudyDataset
    return _CLASS


_CLASS: Any = None


def frame(found: Any) -> Any:
    """A pandas.DataFrame, one row a run; vectors as columns ``name[i]``, larger arrays left out."""
    pandas = require("pandas", "study", "a table of results")
    columns: dict[str, Any] = {}
    for name, x in found.data_vars.items():
        values = x.values
        own = {name: values} if values.ndim == 1 else {}
        if values.ndim == 2:
            own = {f"{name}[{i}]": values[:, i] for i in range(values.shape[1])}
        columns |= {free_name(n, columns): x for n, x in own.items()}
    return pandas.DataFrame(columns, index=pandas.Index(found["run"].values, name="run"))
