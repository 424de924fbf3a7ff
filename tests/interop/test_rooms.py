"""Adapters to other libraries are one room that checks and benchmarks share: the product needs no benchmark."""

import ast
from pathlib import Path

import linkwise
from linkwise.interop.availability import NotHere, needs

SOURCE = Path(linkwise.__file__).parent


def imported(file: Path) -> set[str]:
    """The rooms of linkwise that a file imports, at its head or within a function."""
    within = file.relative_to(SOURCE).parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            above = within[: len(within) - node.level + 1]
            named = (*above, *(node.module or "").split(".")) if node.module else above
            found |= {named[0]} if named else {alias.name for alias in node.names}
    return found


def test_only_the_command_line_knows_the_benchmarks():
    users = {p.relative_to(SOURCE).parts[0] for p in SOURCE.rglob("*.py") if "bench" in imported(p)}
    assert users == {"bench", "cli"}


def test_nothing_in_the_package_writes_docs():
    assert not [p for p in SOURCE.rglob("*.py") if '"docs"' in p.read_text(encoding="utf-8")]


def test_what_is_missing_is_named_with_what_brings_it():
    try:
        needs("no_such_library", "no-such-distribution")
    except NotHere as e:
        assert "pip install no-such-distribution" in str(e)
    else:
        raise AssertionError("a missing library was found")
