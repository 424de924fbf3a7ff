"""The declared benchmarks, read from suites.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any

from ..arguments import shown, word
from ..errors import FileError, InputError, UnknownNameError, did_you_mean
from .cases import ARGUMENTS, PLAIN, Case
from .peers import PEERS

_KINDS = {int: "whole numbers", str: "names"}
DECLARED = Path(__file__).with_name("suites.toml")


@dataclass(frozen=True)
class Suite:
    """A named set of cases and the libraries that run them: all combinations of what it lists."""

    name: str
    about: str = ""
    robots: tuple[str, ...] = ("panda", "humanoid")
    functions: tuple[str, ...] = PLAIN
    batches: tuple[int, ...] = (4096,)
    dtypes: tuple[str, ...] = ("float64",)
    libraries: tuple[str, ...] = field(default_factory=lambda: tuple(PEERS))

    def __post_init__(self) -> None:
        self._known("functions", ARGUMENTS)
        self._known("dtypes", ("float64", "float32"))
        self._known("libraries", PEERS)
        if any(not isinstance(n, int) or n < 1 for n in self.batches):
            raise InputError(f"suite {self.name!r}: batches must be whole numbers of at least 1, got {self.batches}")

    def _known(self, what: str, choices: Any) -> None:
        unknown = [x for x in getattr(self, what) if x not in choices]
        if unknown:
            meant = f"{did_you_mean(unknown[0], choices)} choose from {', '.join(choices)}".lstrip()
            raise InputError(f"suite {self.name!r}: {what} has {unknown[0]!r}; {meant}")

    def cases(self) -> Iterator[Case]:
        """All combinations, robot by robot."""
        for robot, batch, dtype, function in product(self.robots, self.batches, self.dtypes, self.functions):
            yield Case(robot, function, batch, dtype)


def read_suites(path: Path = DECLARED) -> dict[str, Suite]:
    """The suites of a TOML file by name."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise FileError(f"{path}: cannot be read ({e.strerror})") from None
    except UnicodeDecodeError as e:
        raise FileError(f"{path}: not TOML, which is UTF-8 text ({e.reason} at byte {e.start})") from None
    except (tomllib.TOMLDecodeError, RecursionError) as e:
        raise FileError(f"{path}: not TOML: {e}") from None
    return {name: _suite(path, name, table) for name, table in tables.items()}


def _suite(path: Path, name: str, table: Any) -> Suite:
    known = [f.name for f in fields(Suite) if f.name != "name"]
    if not isinstance(table, Mapping) or not set(table) <= set(known):
        raise FileError(f"{path}: suite {name!r} must be a table with any of {', '.join(known)}")
    listed: dict[str, Any] = {}
    for key, value in table.items():
        kind: type = int if key == "batches" else str
        if key != "about" and not (isinstance(value, list) and all(type(x) is kind for x in value)):
            raise FileError(f"{path}: suite {name!r}: {key} must be a list of {_KINDS[kind]}, got {shown(value)}")
        listed[key] = word(value, f"{path}: suite {name!r}: about") if key == "about" else tuple(value)
    return Suite(name, **listed)


def find_suite(name: str, path: Path = DECLARED) -> Suite:
    """A declared suite by name."""
    suites = read_suites(path)
    if name not in suites:
        meant = f"{did_you_mean(name, suites)} {path.name} declares {', '.join(suites)}".lstrip()
        raise UnknownNameError(f"no suite is named {name!r}; {meant}")
    return suites[name]
