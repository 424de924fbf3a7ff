"""A study as a TOML file says it. Every error names the file and the line; nothing in the file is executed.

Functions that it names are looked for in folders that the user gave on the command line, and nowhere else.
"""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, NoReturn

import linkwise as lw

from ..arguments import shown
from ..errors import FileError, InputError, LinkwiseError, did_you_mean
from ..model import robots
from ..properties import cached_property
from ..study.distributions import KINDS, from_plain
from ..study.scenarios import BUILT_IN, made, option_names
from .arguments import is_chain, load_robot

MOST_BYTES = 2**20
TABLES = ("study", "scenario", "parameters")
SETTINGS = (
    "robot", "floating", "scenario", "samples", "seed", "sampling", "keep", "timeout", "finite", "chunk",
    "callback",
)  # fmt: skip
_SAME = {"low": "lower", "high": "upper"}  # other names of what distributions take
_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_KEYS = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*=")
_HEADER = re.compile(rf"\s*\[\[?\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*\]")
_FUNCTION = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")

Keys = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class StudyFile:
    """A TOML file of a study; ``folders`` are those that functions may be imported from."""

    path: Path
    folders: Sequence[Path] = field(default_factory=tuple)
    needed: list[Path] = field(default_factory=list)  # those, and its own, in which what it names was found

    def study(self) -> lw.Study:
        """The study that it says."""
        self._refuse_other(self.tables, TABLES, (), "table")
        about = self._table("study")
        self._refuse_other(about, SETTINGS, ("study",), "setting")
        for name in ("robot", "scenario"):
            if name not in about:
                self._refuse(("study",), f"[study] has no {name}")
        robot, scenario = self._robot(about), self._scenario(about["scenario"])
        parameters = {name: self._parameter(name, x) for name, x in self._table("parameters").items()}
        others = {k: x for k, x in about.items() if k not in ("robot", "floating", "scenario")}
        try:
            found = lw.Study(robot, scenario, parameters, **others)
        except LinkwiseError as e:
            self._refuse(self._culprit(str(e)), str(e))
        found.folders = tuple(dict.fromkeys(str(folder.resolve()) for folder in self.needed))
        return found

    # --- its text --------------------------------------------------------------------------------------

    @cached_property
    def text(self) -> str:
        try:
            if self.path.stat().st_size > MOST_BYTES:
                raise FileError(f"{self.path}: a study file has {MOST_BYTES // 2**20} MiB at most")
            return self.path.read_bytes().decode("utf-8-sig")
        except OSError as e:
            raise FileError(f"{self.path}: cannot be read ({e.strerror})") from None
        except UnicodeDecodeError as e:
            raise FileError(f"{self.path}: not TOML, which is UTF-8 text ({e.reason} at byte {e.start})") from None

    @cached_property
    def tables(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as e:
            said, _, place = str(e).rpartition(" (at ")
            line = re.match(r"line (\d+)", place)
            number = int(line[1]) if line else self.text.rstrip().count("\n") + 1
            raise FileError(f"{self.path}:{number}: not TOML: {said or e}") from None
        except RecursionError:
            raise FileError(f"{self.path}: not TOML: nested too deep") from None
        except ValueError:  # the one number that Python does not read
            digits = re.search(r"[0-9][0-9_]{4000,}", self.text)
            number = self.text.count("\n", 0, digits.start() if digits else 0) + 1
            raise FileError(f"{self.path}:{number}: not TOML: a number of thousands of digits") from None

    @cached_property
    def lines(self) -> dict[Keys, int]:
        """The line on which each table and each key stands first."""
        found: dict[Keys, int] = {}
        within: Keys = ()
        for i, line in enumerate(self.text.split("\n"), 1):
            if header := _HEADER.match(line):
                within = _parts(header[1])
                for n in range(1, len(within) + 1):  # with the tables around it, where they have no line of their own
                    found.setdefault(within[:n], i)
            elif key := _KEYS.match(line):
                found.setdefault((*within, *_parts(key[1])), i)
        return found

    def _refuse(self, where: Keys, said: str) -> NoReturn:
        """Raise an error about a key, at its line or at that of the table around it."""
        while where and where not in self.lines:
            where = where[:-1]
        line = f":{self.lines[where]}" if where else ""
        raise FileError(f"{self.path}{line}: {said}") from None

    def _refuse_other(self, found: Iterable[str], known: Sequence[str], where: Keys, what: str) -> None:
        for name in found:
            if name not in known:
                meant = did_you_mean(name, known)
                self._refuse(
                    (*where, name), f"there is no {what} {name!r}; {meant}{' ' * bool(meant)}known: {', '.join(known)}"
                )

    def _culprit(self, said: str) -> Keys:
        """The key that an error is about: the one that it quotes first, by its name or what it says, or names first."""
        keys: list[Keys] = [(t, k) for t in TABLES for k in self._table(t)]
        for quoted in re.findall(r"'([^']*)'", said):
            for table, k in keys:
                value = self._table(table)[k]
                said_there = [k, *(value if isinstance(value, list) else [value])]
                if any(quoted in (x, str(x).partition(".")[2]) for x in said_there):  # whole, or the name after a dot
                    return table, k
        places = {key: re.search(rf"(?<![\w.]){re.escape(key[1])}(?![\w.]\w)", said) for key in keys}
        named = {key: m.start() for key, m in places.items() if m is not None}
        return min(named, key=lambda key: (named[key], -len(key[1]))) if named else ("study",)

    def _table(self, name: str) -> dict[str, Any]:
        found = self.tables.get(name, {})
        if not isinstance(found, dict):
            self._refuse((name,), f"{name} must be a table, [{name}], got {shown(found)}")
        if name == "study" and not found:
            self._refuse((), "there is no table [study], which says robot, scenario and samples")
        return found

    # --- what it names ---------------------------------------------------------------------------------

    def _robot(self, about: Mapping[str, Any]) -> lw.Robot:
        name, floating = about["robot"], about.get("floating", False)
        where = ("study", "robot")
        if not isinstance(name, str):
            self._refuse(where, f"robot must be a text, got {shown(name)}")
        if not isinstance(floating, bool):
            self._refuse(("study", "floating"), f"floating must be true or false, got {shown(floating)}")
        if name not in robots.names() and not is_chain(name):
            name = str(self._robot_file(name))
        try:
            return load_robot(name, floating)
        except LinkwiseError as e:
            self._refuse(where, str(e))

    def _robot_file(self, name: str) -> Path:
        """A robot's file beside the study file, or in a folder that the user gave."""
        where = ("study", "robot")
        if not Path(name).suffix:
            meant = did_you_mean(name, robots.names())
            self._refuse(where, f"no robot is named {name!r}; {meant}{' ' * bool(meant)}give a built-in one (linkwise"
                                " robots lists them), chain-N or a file")  # fmt: skip
        if Path(name).suffix == ".xacro":
            self._refuse(where, f"{name} is a program that makes a robot; name the URDF file that it makes")
        for folder in (self.path.parent, *self.folders):
            file = (folder / name).resolve()
            if file.is_file() and file.is_relative_to(folder.resolve()):
                self.needed.append(folder)
                return file
        self._refuse(where, f"there is no {name!r} in the folder of the study file or in one given by --path")

    def _scenario(self, name: Any) -> Any:
        where = ("study", "scenario")
        options = dict(self._table("scenario"))
        if isinstance(name, str) and ":" in name:
            if options:
                self._refuse(("scenario",), "options are those of built-in scenarios; a function has its parameters")
            return self._function(name, where)
        if not isinstance(name, str) or name not in BUILT_IN:
            meant = did_you_mean(name, BUILT_IN) if isinstance(name, str) else ""
            self._refuse(where, f"no scenario is named {shown(name)}; {meant}{' ' * bool(meant)}choose from"
                                f" {', '.join(BUILT_IN)}, or name a function: module:function")  # fmt: skip
        self._refuse_other(options, option_names(name), ("scenario",), f"option of {name}")
        if "controller" in options:
            options["controller"] = self._function(options["controller"], ("scenario", "controller"))
        try:
            return made(name, options)
        except LinkwiseError as e:
            self._refuse(self._culprit(str(e)) if options else where, str(e))

    def _parameter(self, name: str, given: Any) -> Any:
        where = ("parameters", name)
        if not isinstance(given, dict):
            return given
        kinds = (*KINDS, "function")
        kind = given.get("kind")
        if kind is None:
            self._refuse(where, f'parameter {name!r} has no kind; one of {", ".join(kinds)}. Names with a dot stand in'
                                ' quotes: [parameters."mass.forearm"]')  # fmt: skip
        if not isinstance(kind, str) or kind not in kinds:
            meant = did_you_mean(kind, kinds, {"lognormal": "log_normal"}) if isinstance(kind, str) else ""
            self._refuse((*where, "kind"), f"no distribution is named {shown(kind)}; {meant}{' ' * bool(meant)}choose"
                                           f" from {', '.join(kinds)}")  # fmt: skip
        known = ["function"] if kind == "function" else [f.name for f in fields(KINDS[kind])]
        plain: dict[str, Any] = {}
        for key, x in given.items():
            said = _SAME[key] if _SAME.get(key) in known else key
            if said in plain:
                self._refuse((*where, key), f"{key!r} is {said!r}, which is given already")
            plain[said] = x
        self._refuse_other(plain, ["kind", *known], where, f"number of {kind}")
        if kind == "function":
            return self._function(plain.get("function"), (*where, "function"))
        try:
            return from_plain(plain)
        except LinkwiseError as e:
            named = next((k for k in given if k != "kind" and re.search(rf"\b{_SAME.get(k, k)}\b", str(e))), "kind")
            self._refuse((*where, named), f"parameter {name!r}: {e}")

    def _function(self, name: Any, where: Keys) -> Any:
        """The function that ``module:function`` names, from one of the user's folders."""
        found = _FUNCTION.fullmatch(name) if isinstance(name, str) else None
        if found is None:
            self._refuse(where, f"a function is named as module:function, got {shown(name)}")
        if not self.folders:
            self._refuse(where, f"{name!r} is looked for in a folder that you give: --path FOLDER")
        try:
            folder, function = _imported(found[1], found[2], self.folders)
        except InputError as e:
            self._refuse(where, str(e))
        self.needed.append(folder)
        return function


def _parts(keys: str) -> Keys:
    """A dotted key as its parts."""
    table, found = tomllib.loads(f"{keys} = 0"), []
    while isinstance(table, dict):
        ((key, table),) = table.items()
        found.append(key)
    return tuple(found)


def _imported(module: str, name: str, folders: Sequence[Path]) -> tuple[Path, Any]:
    """The folder in which a module is, and a function of it."""
    top = module.partition(".")[0]
    folder = next((f for f in folders if _is_in(top, f)), None)
    if folder is None:
        raise InputError(f"there is no module {top!r} in {', '.join(map(str, folders))}")
    known = sys.modules.get(top)
    if known is not None and not _lies_in(getattr(known, "__file__", None), folder):
        raise InputError(f"another module is named {top!r}; give the one in {folder} another name")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        found = importlib.import_module(module)
    except (ImportError, SyntaxError) as e:
        raise InputError(f"{module} cannot be imported: {e}") from None
    function = getattr(found, name, None)
    if not callable(function) or str(getattr(function, "__module__", "")).partition(".")[0] != top:
        own = [k for k, x in vars(found).items() if callable(x) and getattr(x, "__module__", None) == module]
        meant = did_you_mean(name, own) or f"it has {', '.join(own) or 'none'}"
        raise InputError(f"{module} defines no function {name!r}; {meant}")
    return folder, function


def _is_in(module: str, folder: Path) -> bool:
    """Whether a module's file lies in a folder; nothing is imported to know it."""
    spec = PathFinder.find_spec(module, [str(folder)])
    return spec is not None and _lies_in(spec.origin, folder)


def _lies_in(file: str | None, folder: Path) -> bool:
    return file is not None and Path(file).resolve().is_relative_to(folder.resolve())
