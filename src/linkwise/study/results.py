"""``lw.open_study``: what a folder of a study holds, also while it runs: nothing in it is executed or unpickled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import names as as_names
from ..arguments import number
from ..errors import FileError, UnknownNameError
from ..extras import require
from ..properties import cached_property
from . import journal, manifest
from .columns import Record
from .parts import MOST_BYTES, PARAMETER, RESULT, chunks_there
from .places import Place
from .reading import arrays_of, read_series, read_table, series_of, ways_of
from .ways import add, counted

LIMIT = 2**33  # bytes that results may have in memory, where nothing else is said
# What the axes of arrays are, where a motion gave them.
_AXES = {
    "time": ("sample",), "q": ("sample", "position"), "v": ("sample", "freedom"), "a": ("sample", "freedom"),
    "tau": ("sample", "freedom"), "energy": ("sample",), "q_end": ("position",), "v_end": ("freedom",),
    "tau_end": ("freedom",), "momentum": ("sample", "component"),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Seen:
    """What a folder held at one moment: the tables of its chunks, and runs on record whose chunk was not written."""

    tables: dict[int, str]
    loose: list[Record]


@dataclass(frozen=True, eq=False)
class OpenStudy:
    """A study in a folder. Each call looks at the folder anew; those of :meth:`still` at one moment of it."""

    place: Place
    manifest: Mapping[str, Any]
    seen: Seen | None = None

    def still(self) -> OpenStudy:
        """The study as it is now, whatever is added while it is looked at: all that is said of it goes together."""
        return self if self.seen is not None else replace(self, seen=self._look())

    def _look(self) -> Seen:
        if self.seen is not None:
            return self.seen
        records = journal.records(self.place, LIMIT)  # first: what goes from there meanwhile has gone into a table
        chunk = int(self.manifest["chunk"])
        there = {c: name for c, name in chunks_there(self.place).items() if c * chunk < self.samples}  # no others
        runs = [k for k in sorted(records) if 0 <= k < self.samples and k // chunk not in there]
        return Seen(there, [records[k] for k in runs])

    @property
    def samples(self) -> int:
        """How many runs the study has when it is finished."""
        return int(self.manifest["samples"])

    def __repr__(self) -> str:
        counts = self.counts()
        said = ", ".join(f"{n} {status}" for status, n in counts.items()) or "nothing yet"
        return f"<study in {self.place}: {said}, of {self.samples} runs>"

    # --- how far it is ---------------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        """How many runs there are by how they ended: done, failed, crashed, timeout."""
        found: dict[str, int] = {}
        for status in self._records()["status"]:
            found[status] = found.get(status, 0) + 1
        return found

    def ways(self) -> dict[str, int]:
        """How runs were made → how many of those that are there; why, where it was one by one.

        A run whose motions were made in several ways is counted in each; one that never came to an end, in none.
        """
        now = self.still()
        found = counted(r.ways for r in now.loose())
        for table in now._each_table(MOST_BYTES):
            add(found, ways_of(table))
        return found

    @property
    def has_file(self) -> bool:
        """Whether the study file that it was started from is kept in the folder."""
        return self.place.exists(manifest.FILE)

    @property
    def finished(self) -> bool:
        """Whether every run is there."""
        chunks = -(-self.samples // int(self.manifest["chunk"]))
        return len(self._look().tables) >= chunks

    def record(self, run: int) -> Record | None:
        """What is kept of one run, None where it is not there; arrays may be filled up beyond their ends."""
        seen, chunk = self._look(), int(self.manifest["chunk"])
        first = run // chunk * chunk
        name = seen.tables.get(run // chunk)
        if name is None:
            return next((r for r in seen.loose if r.run == run), None)
        table = read_table(self.place, name, MOST_BYTES, (first, min(first + chunk, self.samples)))
        row, series = run - first, series_of(table)
        columns = [c for c in table.column_names if c.startswith(RESULT)]
        values = {c.removeprefix(RESULT): table[c][row].as_py() for c in columns}
        if series is not None:
            arrays = read_series(self.place, series, LIMIT, None, len(table))
            values |= {n: x[row] for n, x in arrays.items() if values.get(n) is None}  # a number stands there instead
        said = [table[c][row].as_py() for c in ("error", "message", "traceback")]
        return Record(run, table["status"][row].as_py(), values, *said)

    # --- what it found ---------------------------------------------------------------------------------

    def results(self, names: Sequence[str] | None = None, *, limit: float = LIMIT) -> Any:
        """An xarray.Dataset along ``run``: parameters, results and the ``status`` of every run that is finished.

        ``names`` are those of the variables wanted (default: all). Numbers of runs that gave none are NaN. What is
        larger than ``limit`` bytes is refused before it is read.
        """
        from .datasets import dataset

        wanted = None if names is None else as_names(names, "names")
        return dataset(self.still(), wanted, number(limit, "limit", above=0.0))

    def to_pandas(self, *, limit: float = LIMIT) -> Any:
        """A pandas.DataFrame, one row a run: parameters, their vectors as columns ``name[i]``, and single numbers.

        Arrays that runs gave are not read for it: ``results().to_pandas()`` has their vectors as well.
        """
        now = self.still()
        return now.results(now._single_names(limit), limit=limit).to_pandas()

    def failures(self) -> Any:
        """A pandas.DataFrame of the runs that are not done: status, error, message, traceback, parameters."""
        pandas = require("pandas", "study", "a table of failures")
        records = self._records(about=True)
        rows = [i for i, status in enumerate(records["status"]) if status != "done"]
        table = {name: [records[name][i] for i in rows] for name in records}
        return pandas.DataFrame(table).set_index("run")

    def errors(self) -> dict[str, int]:
        """What runs failed by and how many, the commonest first; empty where none did."""
        found: dict[str, int] = {}
        for _, said in self._failed():
            found[said] = found.get(said, 0) + 1
        return dict(sorted(found.items(), key=lambda x: -x[1]))

    def first_failed(self) -> int | None:
        """The first run that is not done; None where all are."""
        return min((run for run, _ in self._failed()), default=None)

    def _failed(self) -> Iterator[tuple[int, str]]:
        """Each run that is not done, and what it failed by in a line; tables are read one at a time."""
        now = self.still()
        for table in now._each_table(MOST_BYTES):
            columns = [table[x].to_pylist() for x in ("run", "status", "error", "message")]
            yield from ((run, in_a_line(*rest)) for run, status, *rest in zip(*columns) if status != "done")
        yield from ((r.run, in_a_line(r.error, r.message)) for r in now.loose() if r.status != "done")

    def report(self, path: Any = None, *, worst_of: str | None = None, study: Any = None) -> Any:
        """Write one HTML file that says what was run and what came of it; gives its path.

        ``path`` is by default ``report.html`` in the folder; ``worst_of`` names the result whose largest values are the
        worst cases; with the ``study`` itself, these are shown moving.
        """
        from .report import write_report

        return write_report(self.still(), path, worst_of, study)

    # --- tables ----------------------------------------------------------------------------------------

    def tables(self, limit: float = LIMIT) -> list[Any]:
        """The tables of all chunks that are there, in order."""
        found, size = [], 0.0
        for table in self._each_table(min(limit, MOST_BYTES)):
            size += table.nbytes
            if size > limit:
                raise FileError(
                    f"the tables of {self.place} have more than {limit / 2**30:.2g} GiB; ask for some names, or for"
                    " a larger limit="
                )
            found.append(table)
        return found

    def _each_table(self, most: float) -> Iterator[Any]:
        """The tables of the chunks that are there, in order, one at a time."""
        chunk = int(self.manifest["chunk"])
        for c, name in sorted(self._look().tables.items()):
            yield read_table(self.place, name, most, (c * chunk, min((c + 1) * chunk, self.samples)))

    def _single_names(self, limit: float) -> list[str]:
        from .datasets import free_name

        parameters = self.manifest["parameters"]
        found = dict.fromkeys(parameters)
        single = [c.removeprefix(RESULT) for t in self.tables(limit) for c in t.column_names if c.startswith(RESULT)]
        single += [n for r in self.loose() for n, x in r.values.items() if np.ndim(x) == 0]
        return [*found, *dict.fromkeys(free_name(n, parameters) for n in single), "status"]

    def loose(self) -> list[Record]:
        """Runs on record whose chunk is not written yet."""
        return self._look().loose

    def _records(self, about: bool = False) -> dict[str, list[Any]]:
        """Run and status of all that is there; ``about`` failures: how they failed, and their parameters."""
        from .datasets import drawn_again

        wanted = ["run", "status", *(["error", "message", "traceback"] if about else [])]
        parameters = list(self.manifest["parameters"]) if about else []
        found: dict[str, list[Any]] = {name: [] for name in (*wanted, *parameters)}
        now = self.still()
        for table in now.tables():
            for name in (*wanted, *(PARAMETER + x for x in parameters)):
                there = name in table.column_names  # not, where others have written it
                found[name.removeprefix(PARAMETER)] += table[name].to_pylist() if there else [None] * len(table)
        drawn = drawn_again(now, now.loose(), parameters) if about else []
        for i, record in enumerate(now.loose()):
            for name, column in found.items():
                column.append(getattr(record, name) if name in wanted else drawn[i][name])
        return found

    @cached_property
    def arrays(self) -> list[str]:
        """Names of results that are arrays."""
        found: dict[str, None] = {}
        for table in self._each_table(MOST_BYTES):
            found |= dict.fromkeys(arrays_of(table) or ())
        return list(found)


def in_a_line(error: str | None, message: str | None, most: int = 120) -> str:
    """What a run failed by, for terminals: of a folder that anybody may have written, nothing that moves a cursor."""
    said = " ".join(f"{error}: {message}".split()) if message else str(error)
    said = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in said)
    return said if len(said) <= most else f"{said[:most]}…"


def open_study(folder: Any) -> OpenStudy:
    """What a folder (or URL) of a study holds: ``lw.open_study("folder").results()``, also while it runs.

    Files are read as tables and numbers; nothing in them is executed.
    """
    place = Place.of(folder)
    if not place.exists(manifest.NAME):
        raise FileError(f"{place} holds no study: there is no {manifest.NAME} in it")
    return OpenStudy(replace(place, study=manifest.digest(place)), manifest.read(place))


def axes_of(name: str, dimensions: int) -> tuple[str, ...]:
    """Names of the axes of an array after ``run``."""
    known = _AXES.get(name, ())
    return known if len(known) == dimensions else tuple(f"{name}_{i}" for i in range(dimensions))


def refuse_unknown(wanted: Sequence[str], known: Sequence[str]) -> None:
    for name in wanted:
        if name not in known:
            raise UnknownNameError(f"the study has no {name!r}; it has {', '.join(known)}")
