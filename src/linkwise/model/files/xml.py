"""XML as a small tree of elements that know their file and line, and say so when they are wrong.

Built on the standard library's expat. Namespaces are not resolved (``xacro:macro`` is a plain tag), and a DOCTYPE is
refused, so no entity is ever expanded or fetched.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from ...errors import FileError
from ..inertia import LARGEST

MAX_DEPTH = 200  # robot files nest to ten or so; deeper ones are not robot files

MAX_BYTES = 2**28  # of a robot file; a device would never end

# Each alternative can match in one way only, so long runs of digits cannot make the matching slow.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def shortened(text: str, length: int = 60) -> str:
    """Text from a file, cut and stripped of control characters, so that an error stays readable."""
    text = "".join(c if c.isprintable() else " " for c in text[: length + 1])
    return text if len(text) <= length else text[:length] + "…"


@dataclass(eq=False)
class Element:
    """One XML element: its tag, attributes, child elements, and where it stands in the file."""

    tag: str
    attributes: dict[str, str]
    line: int
    source: str
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)  # of the text between its tags

    def __repr__(self) -> str:
        return f"<Element {self.where()}>"

    # --- where it stands ---------------------------------------------------------------------------

    def label(self) -> str:
        """The element as ``<link name="arm">``."""
        name = self.attributes.get("name")
        named = "" if name is None else f' name="{shortened(name)}"'
        return f"<{shortened(self.tag)}{named}>"

    def path(self) -> str:
        """The element below its root, as in ``<link name="arm"> <inertial>``."""
        labels = [self.label()]
        at = self.parent
        while at is not None and at.parent is not None:
            labels.append(at.label())
            at = at.parent
        return " ".join(reversed(labels))

    def where(self) -> str:
        """File, line and path, as in ``robot.urdf:42: <link name="arm"> <inertial>``."""
        return f"{self.source}:{self.line}: {self.path()}"

    def error(self, reason: str) -> FileError:
        """An error about this element, to be raised by the caller."""
        return FileError(f"{self.where()}: {reason}")

    # --- children ----------------------------------------------------------------------------------

    def all(self, tag: str) -> list[Element]:
        """The direct children with this tag, in file order."""
        return [c for c in self.children if c.tag == tag]

    def only(self, tag: str) -> Element | None:
        """The direct child with this tag, or None; two of them are an error."""
        found = self.all(tag)
        if len(found) > 1:
            raise found[1].error(f"a second <{tag}> after the one on line {found[0].line}; keep the right one")
        return found[0] if found else None

    # --- attributes --------------------------------------------------------------------------------

    def text(self, name: str) -> str:
        """An attribute that must be there and not be blank."""
        value = self.attributes.get(name)
        if value is None:
            near = next((a for a in self.attributes if _one_slip(a, name)), None)
            hint = f"it has {shortened(near)!r}, a slip?" if near else f'write <{self.tag} {name}="…">'
            raise self.error(f"has no {name}; {hint}")
        if not value.strip():
            raise self.error(f'{name}="{shortened(value)}" is empty; give it a value')
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """A finite number; ``default`` where the attribute is absent, an error without one."""
        if name not in self.attributes and default is not None:
            return default
        value = self.text(name)
        return self._parsed(value.strip(), f'{name}="{shortened(value)}"', value)

    def numbers(self, name: str, count: int, default: Any = None) -> np.ndarray:
        """``count`` finite numbers (count,), separated by blanks."""
        if name not in self.attributes and default is not None:
            return np.array(default, dtype=float)
        value = self.text(name)
        return self._all_parsed(value, count, f'{name}="{shortened(value)}"')

    # --- the text between its tags -----------------------------------------------------------------

    @property
    def content(self) -> str:
        """The text between its tags, without blanks around it."""
        return "".join(self.pieces).strip()

    def content_numbers(self, count: int) -> np.ndarray:
        """``count`` finite numbers (count,), separated by blanks."""
        return self._all_parsed(self.content, count, f'"{shortened(self.content)}"')

    def child_text(self, tag: str, default: str | None = None) -> str:
        """The text in a direct child; ``default`` where there is none, an error without one."""
        child = self.only(tag)
        if child is None and default is not None:
            return default
        if child is None:
            raise self.error(f"has no <{tag}>; write <{tag}>…</{tag}>")
        if not child.content:
            raise child.error("is empty; give it a value")
        return child.content

    def child_number(self, tag: str, default: float | None = None) -> float:
        """The finite number in a direct child; ``default`` where there is none, an error without one."""
        text = self.child_text(tag, None if default is None else "")
        if not text:
            assert default is not None  # child_text refuses an empty child
            return default
        child = self.only(tag)
        assert child is not None
        return child._parsed(text, f'"{shortened(text)}"', text)

    def _all_parsed(self, value: str, count: int, what: str) -> np.ndarray:
        entries = value.split()
        if len(entries) != count:
            hint = "; separate them by blanks, without commas" if "," in value else f"; give {count}"
            raise self.error(f"{what} holds {len(entries)} values, not {count}{hint}")
        return np.array([self._parsed(w, what, value) for w in entries])

    def _parsed(self, word: str, what: str, value: str) -> float:
        if "${" in value or "$(" in value:
            raise self.error(f"{what} is an xacro expression; expand it first: xacro FILE.xacro > FILE.urdf")
        if _NUMBER.fullmatch(word) is None:
            if word.lower().lstrip("+-") in ("nan", "inf", "infinity"):
                raise self.error(f"{what} is not finite; write a finite number")
            raise self.error(f"{what} is not a number; write one like 0.25 or -1.5e-3")
        number = float(word)
        if not abs(number) <= LARGEST:
            raise self.error(f"{what} is too large to be meant; use SI units")
        return number


# --- what looks odd -------------------------------------------------------------------------------


class Notes:
    """What looks odd, gathered by reason: a file with one oddity on thirty joints gets one line."""

    def __init__(self) -> None:
        self._by_reason: dict[str, list[Element]] = {}

    def add(self, element: Element, reason: str) -> None:
        self._by_reason.setdefault(reason, []).append(element)

    def lines(self) -> list[str]:
        """One line a reason: where it was first met, the reason, and where else it holds."""
        out = []
        for reason, (first, *others) in self._by_reason.items():
            also = "; ".join(f"line {e.line}: {e.path()}" for e in others)
            out.append(f"line {first.line}: {first.path()}: {reason}" + (f" (also {also})" if also else ""))
        return out


def summary(source: str, notes: Sequence[str], most: int = 5, heading: str = "loaded, but this looks odd:") -> str:
    """The text of the one warning a file gets."""
    shown = [f"{source}: {heading}", *(shortened(n, 300) for n in notes[:most])]
    if len(notes) > most:
        shown.append(f"… and {len(notes) - most} more; the robot's .notes has them all")
    return "\n  ".join(shown)


# --- spelling -------------------------------------------------------------------------------------


def look_for_misspellings(
    element: Element,
    children: Mapping[str, Sequence[str]],
    attributes: Mapping[str, Sequence[str]],
    odd: Notes,
) -> None:
    """Notes tags and attributes one slip away from those known, which would be passed over unread.

    ``children`` and ``attributes`` list what is known in each element; elements not in them are not entered.
    """
    for name in element.attributes:
        if near := meant(name, attributes.get(element.tag, ())):
            odd.add(element, f"the attribute {shortened(name)!r} is not read; {near!r} may be meant")
    for child in element.children:
        known = children.get(element.tag, ())
        if child.tag in known:
            look_for_misspellings(child, children, attributes, odd)
        elif near := meant(child.tag, known):
            odd.add(child, f"the tag is not read; <{near}> may be meant")


def meant(word: str, known: Sequence[str]) -> str | None:
    """The known word that ``word`` is one slip of the pen away from, unless it is itself known."""
    return None if word in known else next((k for k in known if _one_slip(word, k)), None)


def _one_slip(a: str, b: str) -> bool:
    """Whether two words differ in capitals, or by one letter added, lost, changed or swapped."""
    a, b = a.lower(), b.lower()
    if a == b:
        return True
    if abs(len(a) - len(b)) > 1:
        return False
    start = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    a, b = a[start:], b[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


# --- reading ---------------------------------------------------------------------------------------


def read(source: str | os.PathLike[str]) -> Element:
    """The root element of a file, or of XML text (a string whose first visible character is ``<``)."""
    return parse(*_data(source))


def is_text(source: Any) -> bool:
    """Whether a source is XML itself, not the path of a file."""
    return isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<")


def _data(source: str | os.PathLike[str]) -> tuple[str | bytes, str]:
    """What a file holds, or the text itself, and what to call it."""
    if is_text(source):
        return str(source), "XML text"
    if not isinstance(source, (str, os.PathLike)):
        raise FileError(f"a robot file is given by its path or as XML text, got {type(source).__name__}")
    name = os.fspath(source)
    if not name:
        raise FileError("the path of the robot file is empty; give a path or XML text")
    return file_bytes(name), str(name)


def file_bytes(path: str) -> bytes:
    """What a file holds; one that is no file, or too large for a robot, is refused."""
    try:
        with open(Path(path), "rb") as f:
            data = f.read(MAX_BYTES + 1)
    except (OSError, ValueError, TypeError) as e:  # a path with a null character; a path of bytes
        reason = getattr(e, "strerror", None) or str(e)
        raise FileError(f"{shortened(str(path), 300)}: cannot be read ({reason}); check the path") from None
    if len(data) > MAX_BYTES:
        raise FileError(f"{shortened(path, 300)}: it has more than {MAX_BYTES >> 20} MiB; no robot file is so large")
    return data


def root_tag(source: str | os.PathLike[str]) -> str | None:
    """The tag of a file's (or a text's) root element, which tells its format; None where there is none to read."""
    found: list[str] = []

    def start(tag: str, _: Any) -> None:
        found.append(tag)
        raise _FoundError

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    with contextlib.suppress(_FoundError, expat.ExpatError, LookupError, ValueError):
        parser.Parse(_without_leading_blanks(_data(source)[0])[0], True)
    return found[0] if found else None


class _FoundError(Exception):
    """Ends a parse that has seen enough."""


def parse(data: str | bytes, source: str) -> Element:
    """The root element of XML given as text or bytes; ``source`` is the file name for errors."""
    data, skipped = _without_leading_blanks(data)
    if not data:
        raise FileError(f"{source}:1: the file is empty; a robot file is XML")
    builder = _Builder(source, skipped)
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as e:
        raise FileError(f"{source}:{e.lineno + skipped}: {_syntax_error(e, data, builder.open)}") from None
    except FileError:
        raise
    except (LookupError, ValueError) as e:  # an encoding expat does not know, or lone surrogates in a string
        raise FileError(f"{source}:1: the encoding cannot be read ({e}); save the file as UTF-8") from None
    assert builder.root is not None  # expat refuses a document without a root
    return builder.root


class _Builder:
    """Grows the tree from expat's events; no recursion, so depth costs nothing."""

    def __init__(self, source: str, skipped: int) -> None:
        self.source, self.skipped = source, skipped
        self.root: Element | None = None
        self.open: Element | None = None
        self.depth = 0
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._doctype

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber + self.skipped

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.line, self.source, self.open)
        if self.open is None:
            self.root = element
        else:
            self.open.children.append(element)
        self.open = element
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise FileError(f"{self.source}:{self.line}: {element.label()} is nested too deep ({self.depth})")

    def _end(self, tag: str) -> None:
        assert self.open is not None  # expat pairs the tags
        self.open = self.open.parent
        self.depth -= 1

    def _text(self, data: str) -> None:
        if self.open is not None and not data.isspace():
            self.open.pieces.append(data)

    def _doctype(self, *_: Any) -> None:
        raise FileError(f"{self.source}:{self.line}: a DOCTYPE is not allowed in a robot file; remove it")


def _without_leading_blanks(data: str | bytes) -> tuple[str | bytes, int]:
    """Blank lines before ``<?xml`` are an error to expat but usual in text written in a program."""
    stripped: str | bytes
    if isinstance(data, str):
        stripped = data.lstrip("\ufeff \t\r\n")
        return stripped, data[: len(data) - len(stripped)].count("\n")
    body = data.removeprefix(b"\xef\xbb\xbf")
    stripped = body.lstrip(b" \t\r\n")
    return stripped, body[: len(body) - len(stripped)].count(b"\n")


def _syntax_error(e: expat.ExpatError, data: str | bytes, unclosed: Element | None) -> str:
    """What the parser found wrong, in words that help."""
    message = expat.ErrorString(e.code)
    if isinstance(data, bytes) and message == "not well-formed (invalid token)":
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as bad:
            line = data[: bad.start].count(b"\n") + 1
            if line == e.lineno:
                return f"byte 0x{data[bad.start]:02x} is not UTF-8; save the file as UTF-8 text"
    if unclosed is not None and message in ("no element found", "unclosed token"):
        return f"the file ends inside {unclosed.label()}, opened on line {unclosed.line}; it seems cut off"
    inside = "" if unclosed is None else f" inside {unclosed.label()}"
    return f"not valid XML: {message}{inside}, column {e.offset + 1}; correct the file there"
