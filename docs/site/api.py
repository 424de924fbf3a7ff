"""The reference of every call, made from the docstrings: a page for each room of the house, an anchor for each call.

Each has its signature with types, what its docstring says (shapes, units, frames, equations), its source, and the pages
that show it at work.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import linkwise as lw
from linkwise import control, view
from linkwise.algebra.operators import Operators
from linkwise.codegen.runtime.kernel import Kernel
from linkwise.codegen.sources.c import CSource
from linkwise.codegen.sources.cuda import CudaSource
from linkwise.robot.closed import ClosedRobot
from linkwise.view import plots
from linkwise.view.viewer import Viewer

SOURCE = Path(lw.__file__).resolve().parent
TITLES = {
    "robot": "Robots",
    "model": "What robots are made of",
    "algebra": "The algebra",
    "codegen": "Machine code and sources",
    "simulation": "Simulation",
    "studies": "Studies",
    "control": "Control",
    "identification": "Identification",
    "view": "Pictures and plots",
    "interop": "Other libraries",
    "errors": "Errors",
    "dynamics": "Methods by name",
}
MOST_EXAMPLES = 4
_ROLE = re.compile(r":(?:py:)?(\w+):`~?([^`<]+?)(?: <[^>]*>)?`")


class Entry(NamedTuple):
    """A public name: how users write it, what it is, and who has it."""

    path: str  # "linkwise.simulate", "linkwise.Robot.jacobian"
    thing: Any
    owner: type | None = None

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


def pages() -> dict[str, str]:
    """Name of a page → its Markdown, in the order of the table of contents."""
    rooms: dict[str, list[Entry]] = {}
    for entry in public():
        rooms.setdefault(room_of(entry.thing), []).append(entry)
    order = sorted(rooms, key=lambda r: (list(TITLES).index(r) if r in TITLES else len(TITLES), r))
    return {room: page(room, rooms[room]) for room in order}


def public() -> Iterator[Entry]:
    """Every name that users meet: those of the package, of its modules, and the classes that calls return."""
    for name in lw.__all__:
        if not inspect.ismodule(getattr(lw, name)):
            yield Entry(f"linkwise.{name}", getattr(lw, name))
    for module in (control, plots, view):
        path = "linkwise.plots" if module is plots else module.__name__
        yield from (Entry(f"{path}.{name}", getattr(module, name)) for name in module.__all__)
    for made in (ClosedRobot, Operators, Kernel, CSource, CudaSource, Viewer):
        yield Entry(f"{made.__module__}.{made.__qualname__}", made)


def room_of(thing: Any) -> str:
    """The room that a thing is from; tables and other values are from where they are used."""
    module = getattr(thing, "__module__", None) or type(thing).__module__
    parts = module.split(".")
    return parts[1] if parts[0] == "linkwise" and len(parts) > 1 else "dynamics"


# --- pages -------------------------------------------------------------------------------------------


def page(room: str, entries: list[Entry]) -> str:
    title = TITLES.get(room, room.capitalize())
    says = inspect.getdoc(__import__(f"linkwise.{room}", fromlist=["_"])) or ""
    lines = [f"# {title}\n", f"{prose(says)}\n"]
    # The robot first: it is what is looked for.
    for entry in sorted(entries, key=lambda e: (e.thing is not lw.Robot, not inspect.isclass(e.thing), e.name.lower())):
        lines += [f"## {entry.name}\n", described(entry)]
    return "\n".join(lines)


def described(entry: Entry) -> str:
    """One name as a directive of the Python domain, members inside."""
    if inspect.isclass(entry.thing):
        return described_class(entry)
    if callable(entry.thing):
        return directive("py:function", f"{entry.path}{signature(entry.thing)}", body(entry))
    if isinstance(entry.thing, Mapping):
        words = "One of: " + ", ".join(f"`{key}`" for key in entry.thing) + "."
        return directive("py:data", entry.path, words)
    return directive("py:data", entry.path, body(entry))


def described_class(entry: Entry) -> str:
    kind = "py:exception" if issubclass(entry.thing, BaseException) else "py:class"
    own = "" if issubclass(entry.thing, (BaseException, enum.Enum)) else signature(entry.thing)
    parts = [body(entry)]
    for member in members(entry):
        parts.append(described_member(member))
    return directive(kind, f"{entry.path}{own}", "\n\n".join(parts))


def described_member(entry: Entry) -> str:
    getter = getattr(entry.thing, "func", None) or getattr(entry.thing, "fget", None)
    if getter is not None:
        given = inspect.signature(getter).return_annotation
        typed = f"\n:type: {given}" if isinstance(given, str) and given.isidentifier() else ""
        return directive("py:property", f"{entry.name}", body(entry), typed)
    return directive("py:method", f"{entry.name}{signature(entry.thing, bound=True)}", body(entry))


def members(entry: Entry) -> Iterator[Entry]:
    """The public methods and properties of a class that say something; of other kinds of robots those they add."""
    inherited = set(dir(lw.Robot)) if entry.thing is not lw.Robot and issubclass(entry.thing, lw.Robot) else set()
    inherited |= set(dir(BaseException)) if issubclass(entry.thing, BaseException) else set()
    for name, member in inspect.getmembers_static(entry.thing):
        if name.startswith("_") or name in inherited:
            continue
        function = getattr(member, "func", None) or getattr(member, "fget", None) or member
        function = getattr(function, "__func__", function)
        if callable(function) and inspect.getdoc(function):
            yield Entry(f"{entry.path}.{name}", member, entry.thing)


def directive(kind: str, head: str, text: str, options: str = "") -> str:
    """A directive with a fence longer than those inside."""
    longest = max((len(m) for m in re.findall(r"^`{3,}", text, re.MULTILINE)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{{{kind}}} {head}{options}\n\n{text}\n{fence}\n"


def body(entry: Entry) -> str:
    """What the docstring says, where the source is, and which pages show it."""
    function = getattr(entry.thing, "func", None) or getattr(entry.thing, "fget", None) or entry.thing
    parts = [prose(inspect.getdoc(function) or "")]
    links = [source_link(function), *EXAMPLES.links(entry)]
    found = " · ".join(link for link in links if link)
    return "\n\n".join([*parts, f"<small>{found}</small>" if found else ""]).strip()


# --- signatures --------------------------------------------------------------------------------------


def signature(thing: Any, bound: bool = False) -> str:
    """(name: type = default, …) -> type; defaults that are no plain values are …"""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "()"
    parameters = list(found.parameters.values())[1 if bound and not is_static(thing) else 0 :]
    written, keyword_only = [], False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not keyword_only:
            written.append("*")
        keyword_only = keyword_only or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        written.append(f"{star}{p.name}{annotated(p.annotation)}{default(p)}")
    gives = "" if found.return_annotation is found.empty or inspect.isclass(thing) else f" -> {found.return_annotation}"
    return f"({', '.join(written)}){gives}".replace("\n", " ")


def is_static(thing: Any) -> bool:
    return isinstance(thing, (staticmethod, classmethod)) or inspect.ismethod(thing)


def annotated(annotation: Any) -> str:
    return "" if annotation is inspect.Parameter.empty else f": {annotation}" if isinstance(annotation, str) else ""


def default(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return ""
    plain = parameter.default is None or isinstance(parameter.default, (bool, int, float, str))
    few = isinstance(parameter.default, tuple) and all(
        isinstance(x, (bool, int, float, str)) for x in parameter.default
    )
    return f" = {parameter.default!r}" if plain or few else " = ..."


# --- words -------------------------------------------------------------------------------------------


def prose(docstring: str) -> str:
    """A docstring as Markdown: code, cross-references, formulas as they stand."""
    out = []
    for block in docstring.split("\n\n"):
        indented = all(line.startswith("    ") for line in block.splitlines() if line)
        out.append(f"```text\n{inspect.cleandoc(block)}\n```" if indented and block.strip() else _line(block))
    return "\n\n".join(out)


def _line(text: str) -> str:
    text = _ROLE.sub(lambda m: f"``{m[2]}``", text)
    pieces = re.split(r"(``.+?``)", text, flags=re.DOTALL)
    for i, piece in enumerate(pieces):
        if i % 2:
            pieces[i] = f"`{' '.join(piece[2:-2].split())}`"
        else:
            pieces[i] = re.sub(r"(?m)(?<!^)([*_<>\[\]$|])", r"\\\1", re.sub(r"::$", ":", piece))
    return "".join(pieces)


# --- where it stands, and where it is shown ------------------------------------------------------------


def source_link(thing: Any) -> str:
    """The line of the source, as a link to its page."""
    try:
        function = inspect.unwrap(getattr(thing, "__func__", thing))
        file, line = Path(inspect.getsourcefile(function) or ""), inspect.getsourcelines(function)[1]
        inside = file.resolve().relative_to(SOURCE)
    except (TypeError, OSError, ValueError):
        return ""
    SHOWN_SOURCES.add(inside)
    return f'<a href="../source/{inside.as_posix()}.html#L-{line}">source</a>'


SHOWN_SOURCES: set[Path] = set()  # the files that pages link to


class Examples:
    """Which pages call what, from their Python blocks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def _pages(self) -> dict[str, tuple[str, str]]:
        """Name of a page → its title and its code."""
        out = {}
        for path in sorted(self.folder.glob("*.md")):
            text = path.read_text(encoding="utf-8")
            title = re.search(r"^# (.+)$", text, re.MULTILINE)
            code = "\n".join(re.findall(r"^```py(?:thon)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
            out[path.stem] = (title[1] if title else path.stem, code)
        return out

    def links(self, entry: Entry) -> list[str]:
        """The pages that call it, those that call it most first."""
        call = re.compile(rf"\.{entry.name}\b")
        counts = {page: len(call.findall(code)) for page, (_, code) in self._pages.items()}
        best = sorted((p for p, n in counts.items() if n), key=lambda p: -counts[p])[:MOST_EXAMPLES]
        return [f'<a href="../{p}.html">{self._pages[p][0]}</a>' for p in best]


EXAMPLES = Examples(Path(__file__).resolve().parent.parent)
