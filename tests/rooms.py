"""The rooms of the source, the order in which they may import each other, and what the code says of that.

:data:`ROOMS` is the one table: the test of the arrow, the tables in CONTRIBUTING.md and docs/architecture.md, and the
picture docs/pictures/rooms.png are made from it and from the imports themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "linkwise"

# Files and folders of src/linkwise; each may import those above it, at its head, within a function, or for its types.
ROOMS = (
    "errors",
    "arguments",
    "extras",
    "progress",
    "shown",
    "whole_files",
    "properties",
    "values",
    "tolerances",
    "array_kinds",
    "arrays",
    "spatial",
    "sweeps",
    "aggregates",
    "riccati",
    "singularity",
    "symbols",
    "model",
    "inputs",
    "rotations",
    "dynamics",
    "codegen",
    "algebra",
    "robot",
    "simulation",
    "control",
    "identification",
    "interop",
    "check",
    "view",
    "study",
    "__init__",
    "bench",
    "demo",
    "cli",
    "__main__",
)

GROUND = ROOMS[: ROOMS.index("symbols")]  # what every room may use; it knows no robot


@dataclass(frozen=True)
class Import:
    """One import of a room by another."""

    importer: str
    imported: str
    where: str  # file:line
    when: str  # "at once", "when used" (within a function) or "for types"

    @property
    def points_back(self) -> bool:
        return ROOMS.index(self.imported) > ROOMS.index(self.importer)


def imports(source: Path = SOURCE) -> list[Import]:
    """Every import of a room by another, by walking the files; those of names unknown to :data:`ROOMS` too."""
    return [found for file in sorted(source.rglob("*.py")) for found in _imports_of(file, source)]


def _imports_of(file: Path, source: Path) -> Iterator[Import]:
    package = file.relative_to(source).parts[:-1]
    room = package[0] if package else file.stem
    for node, when in _statements(ast.parse(file.read_text(encoding="utf-8")), "at once"):
        for imported in _rooms_named(node, package, source):
            if imported != room:
                yield Import(room, imported, f"{file.relative_to(source).as_posix()}:{node.lineno}", when)


def _statements(node: ast.AST, when: str) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, when
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from _statements(child, "when used")
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from _statements(child, "for types")
        else:
            yield from _statements(child, when)


def _rooms_named(node: ast.Import | ast.ImportFrom, package: tuple[str, ...], source: Path) -> Iterator[str]:
    """The rooms that one statement imports from."""
    if isinstance(node, ast.Import):
        paths = [tuple(alias.name.split(".")) for alias in node.names]
    elif node.level:
        above = ("linkwise", *package[: len(package) - node.level + 1])
        paths = [(*above, *(node.module or "").split("."))] if node.module else [(*above, a.name) for a in node.names]
    else:
        module = tuple((node.module or "").split("."))
        paths = [(*module, alias.name) for alias in node.names] if module == ("linkwise",) else [module]
    for path in paths:
        if path[0] == "linkwise":
            within = path[1] if len(path) > 1 else "__init__"
            is_room = (source / within).is_dir() or (source / f"{within}.py").is_file()
            yield within if is_room else "__init__"  # a name of the public face


def says(room: str) -> str:
    """The first sentence of what a room says of itself."""
    path = SOURCE / room
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(said.partition("\n\n")[0].split()).replace("``", "`")


def room_table() -> str:
    """The rooms in the order of the arrow, with what each says of itself."""
    rows = ["| where | what is in it |", "|---|---|"]
    for room in ROOMS:
        path = f"src/linkwise/{room}" + ("/" if (SOURCE / room).is_dir() else ".py")
        rows.append(f"| `{path}` | {says(room)} |")
    return "\n".join(rows) + "\n"


def rooms_within_table() -> str:
    """The rooms of rooms, with what each says of itself."""
    within = sorted(p.parent.relative_to(SOURCE).as_posix() for p in SOURCE.glob("*/*/__init__.py"))
    order = sorted(within, key=lambda r: (ROOMS.index(r.partition("/")[0]), r))
    rows = ["| where | what is in it |", "|---|---|"]
    return "\n".join([*rows, *(f"| `src/linkwise/{room}/` | {says(room)} |" for room in order)]) + "\n"
