"""MJCF files in which a few lines ask for a world: refused before MuJoCo's parser meets them.

Files that attach themselves, replicate a billion times or declare huge tables crash that parser or keep it busy for
hours. A parse in a process of its own would survive that, at a quarter of a second for every robot; reading the tags
first takes microseconds each, and says which one is wrong.

Tags are found as MuJoCo's reader finds them, and it is more tolerant than expat (of dashes in comments, for one). What
cannot be read here cannot be read there: it is left to MuJoCo, for its own words about it.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf, prod
from typing import NamedTuple

from ...errors import FileError
from . import xml

MAX_ADDED = 20_000  # elements beyond those written, by replicate, attach and flexcomp; the time grows with their square
MAX_NESTED = 30  # files within files

# (element, attributes) → the most that one, or the product of two, may be; None stands for every element.
MOST: dict[tuple[str | None, str], float] = {
    ("size", "memory"): 2**34,  # bytes
    ("size", "nkey"): 1e3,
    ("size", "nuserdata"): 1e6,
    ("size", "njmax"): 1e8,
    ("size", "nconmax"): 1e8,
    ("size", "nstack"): 1e9,
    **{("size", f"nuser_{x}"): 1e3 for x in ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor")},
    ("hfield", "nrow ncol"): 4e6,
    ("texture", "width height"): 3e7,
    ("mesh", "params"): 360.0,  # resolutions and angles of built-in shapes
    ("user", "dim"): 1e6,
    (None, "nsample"): 1e6,
}
_SIZED = {element for element, _ in MOST}
_UNITS = {unit: 2.0 ** (10 * (i + 1)) for i, unit in enumerate("KMGTPE")}

_NAME = rb"[\w:.\-\x80-\xff]++"
_VALUE = rb"\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+')"
_TOKEN = re.compile(
    rb"<\?.*?\?>|<!--.*?-->|<!\[CDATA\[.*?\]\]>|<![^>]*+>|"
    rb"<\s*+(/?)\s*+(" + _NAME + rb")((?:\s*+" + _NAME + _VALUE + rb")*+)\s*+(/?)>",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(rb"(" + _NAME + rb")\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


class Tag(NamedTuple):
    """One tag of a file: whether it opens or closes, its name, its attributes as they stand, and its place."""

    opens: bool
    closes: bool
    name: str
    raw: bytes
    at: int

    @property
    def attributes(self) -> dict[str, str]:
        """Name → value; of two with one name MuJoCo takes the first."""
        found = reversed(_ATTRIBUTE.findall(self.raw))
        return {_text(name): html.unescape(_text(a or b)) for name, a, b in found}


def _text(word: bytes) -> str:
    return word.decode("utf-8", "surrogateescape")


def tags(data: bytes) -> Iterator[Tag]:
    """The tags of a file, up to the first that is none."""
    at = data.find(b"<")
    while at >= 0 and (m := _TOKEN.match(data, at)):
        if m[2] is not None:
            yield Tag(not m[1], bool(m[1] or m[4]), _text(m[2]), m[3], at)
        at = data.find(b"<", m.end())


def refuse_huge(source: str | os.PathLike[str]) -> None:
    """Raise :class:`FileError` where a file (or text) attaches itself, or asks for more than a robot has."""
    path = os.fspath(source)
    if xml.is_text(source):
        _Model("", "XML text").grown(path.encode("utf-8", "replace"), "XML text", ())
    else:
        _Model(os.path.dirname(path), path).file(path, ())


class Size(NamedTuple):
    """How many elements a file has, and how many of them are written in it and its includes."""

    elements: float
    written: float


@dataclass
class _Model:
    """One model, its includes with it."""

    folder: str  # of its main file, where its other files are looked for first
    main: str
    attached: float = 0.0  # how many times the model of another file is put in
    largest: float = 0.0  # the elements of the largest of those
    seen: dict[str, float] = field(default_factory=dict)  # file of any model → its elements, with all that it attaches

    def file(self, path: str, within: tuple[str, ...]) -> Size:
        place = os.path.realpath(path)
        if place in within:
            chain = " → ".join(os.path.basename(p) for p in (*within[within.index(place) :], place))
            raise FileError(f"{self.main}: it includes or attaches itself ({chain}); break the ring")
        if len(within) >= MAX_NESTED:
            raise FileError(f"{self.main}: files within files, more than {MAX_NESTED} deep; put them together")
        if not os.path.isfile(place):
            if os.path.exists(place):  # a pipe, say, for which MuJoCo would wait
                raise FileError(f"{self.main}: {path} is no file")
            return Size(0, 0)  # MuJoCo will say so
        return self.grown(xml.file_bytes(path), path, (*within, place))

    def grown(self, data: bytes, label: str, within: tuple[str, ...]) -> Size:
        """The elements of a file with all that it replicates, includes and attaches; raises where they are too many."""
        elements = written = 0.0
        times = [1.0]  # how often the innermost open element is there
        for tag in tags(data):
            if not tag.opens:
                if len(times) > 1:
                    times.pop()
                continue
            now = inner = times[-1]
            more = Size(1, 1)
            try:
                if tag.name == "replicate":
                    count = max(_number(tag.attributes.get("count", "1")), 0.0)
                    inner, more = now * count, Size(1 + count, 1)  # it takes its time even where nothing is in it
                elif tag.name == "flexcomp":
                    more = Size(1 + _product(tag.attributes.get("count", "")), 1)
                elif tag.name == "include":
                    more = self._included(tag, label, within)
                elif tag.name == "model":
                    more = Size(1 + self._other_model(tag, label, within), 1)  # read anew each time
                elif tag.name == "attach":
                    self.attached += now
                _refuse_large(tag)
                elements, written = elements + now * more.elements, written + more.written
                _refuse_many(elements - written + self.attached * self.largest)
            except _TooMuch as e:
                line = data[: tag.at].count(b"\n") + 1
                raise FileError(f"{label}:{line}: <{tag.name}>: {e}") from None
            if not tag.closes:
                times.append(inner)
        return Size(elements, written)

    def _included(self, tag: Tag, label: str, within: tuple[str, ...]) -> Size:
        path = self._path(tag, label, within)
        return Size(1, 1) if path is None else self.file(path, within)

    def _other_model(self, tag: Tag, label: str, within: tuple[str, ...]) -> float:
        """The elements of the model in another file."""
        path = self._path(tag, label, within)
        if path is None:
            return 0.0
        place = os.path.realpath(path)
        if place not in self.seen:
            other = _Model(os.path.dirname(path), self.main, seen=self.seen)
            elements = other.file(path, within).elements
            self.seen[place] = elements + other.attached * other.largest
        self.largest = max(self.largest, self.seen[place])
        return self.seen[place]

    def _path(self, tag: Tag, label: str, within: tuple[str, ...]) -> str | None:
        """The file that an element names: beside the main one, or else beside the one that names it."""
        name = tag.attributes.get("file")
        if not name:
            return None
        folders = (self.folder, os.path.dirname(label) if within else "")
        return next((p for f in folders if os.path.exists(p := os.path.join(f, name))), None)


class _TooMuch(Exception):
    """What an element asks for; becomes a :class:`FileError` that says where."""


def _refuse_many(added: float) -> None:
    if not added <= MAX_ADDED:
        raise _TooMuch(
            f"with it the model grows by more than {MAX_ADDED} elements beyond those written, for which MuJoCo would"
            " need hours; ask for fewer"
        )


def _refuse_large(tag: Tag) -> None:
    if tag.name not in _SIZED and b"nsample" not in tag.raw:
        return
    given = tag.attributes
    for (element, names), most in MOST.items():
        if element not in (tag.name, None):
            continue
        asked = prod(_largest(given.get(name, "0")) for name in names.split())
        if not asked <= most:
            what = " times ".join(names.split())
            raise _TooMuch(f"{what} is {asked:.3g}, more than the {most:.3g} that a robot may ask for")


def _number(word: str) -> float:
    """A number, 64M among them; what is none counts as 0, since MuJoCo refuses it."""
    word = word.strip()
    unit = _UNITS.get(word[-1:].upper(), 1.0)
    try:
        found = float(word if unit == 1.0 else word[:-1]) * unit
    except ValueError:
        return 0.0
    return inf if found != found else found


def _largest(numbers: str) -> float:
    return max((abs(_number(w)) for w in numbers.split()), default=0.0)


def _product(numbers: str) -> float:
    return prod(max(_number(w), 1.0) for w in numbers.split()) if numbers.split() else 0.0
