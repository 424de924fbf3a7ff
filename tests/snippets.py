"""Markdown that runs: Python blocks, the output beside them, and the tables made from the code.

    python tests/snippets.py            check README.md, CONTRIBUTING.md and docs/*.md
    python tests/snippets.py --write    put what is printed, and the tables, into them
    python tests/snippets.py control.md --write    of one page, or several

The ```python blocks of a file run in order in one namespace and an empty folder. What a block prints must
stand in a ```text block right after it. A ```console block is one command line, ``$ linkwise …``, and what it prints.
Tables between ``<!-- table: NAME -->`` and ``<!-- end -->`` are made
by the function of that name in :data:`doc_tables.TABLES`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

from doc_tables import TABLES
from linkwise.cli import main as main_of_linkwise

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"(<!-- table: (\w+)(?: (\w+))? -->\n)(.*?)(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Snippet:
    """A Python block and the text block right after it, as they stand in a page."""

    line: int
    code: str
    end: int  # where its fence ends in the page
    expected: str | None
    expected_span: tuple[int, int] | None


def snippets(page: str) -> list[Snippet]:
    """The Python blocks of a page, in order."""
    fences = list(FENCE.finditer(page))
    out = []
    for i, f in enumerate(fences):
        if f[1] != "python":
            continue
        after = fences[i + 1] if i + 1 < len(fences) else None
        paired = after is not None and after[1] == "text" and not page[f.end() : after.start()].strip()
        expected, span = (after[2], (after.start(), after.end())) if paired and after else (None, None)
        out.append(Snippet(page.count("\n", 0, f.start()) + 1, f[2], f.end(), expected, span))
    return out


def run(path: Path, page: str) -> list[tuple[Snippet, str]]:
    """Every snippet with what it prints; an error names the page and the line."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    out = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), np.printoptions(), as_a_reader_has_it():
        for s in snippets(page):
            printed = io.StringIO()
            try:
                code = compile("\n" * s.line + s.code, str(path), "exec")
                with contextlib.redirect_stdout(printed):
                    exec(code, namespace)
            except Exception as e:
                raise AssertionError(f"{path.name}, line {s.line}: {traceback.format_exc(limit=-2)}") from e
            out.append((s, "".join(line.rstrip() + "\n" for line in printed.getvalue().splitlines())))
    return out


@contextlib.contextmanager
def as_a_reader_has_it() -> Iterator[None]:
    """Calls run compiled, whatever the tests run on; a page's choice of JAX's precision is taken back at its end."""
    x64 = "jax" in sys.modules and sys.modules["jax"].config.jax_enable_x64
    with mock.patch.dict(os.environ, {"LINKWISE_TARGET": "cpu"}):
        yield
    if "jax" in sys.modules:
        sys.modules["jax"].config.update("jax_enable_x64", x64)


def mismatches(path: Path) -> list[str]:
    """What is wrong with a page: outputs that differ, outputs not shown, tables out of date."""
    page = path.read_text(encoding="utf-8")
    wrong = []
    for s, printed in run(path, page):
        if printed != (s.expected or ""):
            wrong.append(f"{path.name}, line {s.line}: it prints\n{printed}\nbut the page shows\n{s.expected}")
    if page != with_consoles(path, page):
        wrong.append(f"{path.name}: what a command prints differs; run python tests/snippets.py --write")
    if page != with_tables(page):
        wrong.append(f"{path.name}: a table is out of date; run python tests/snippets.py --write")
    return wrong


def rewritten(path: Path) -> str:
    """The page with the outputs and tables that its code gives now."""
    page = path.read_text(encoding="utf-8")
    for s, printed in reversed(run(path, page)):
        block = f"```text\n{printed}```" if printed else ""
        if s.expected_span is not None:
            page = page[: s.expected_span[0]] + block + page[s.expected_span[1] :]
        elif block:
            page = page[: s.end] + "\n\n" + block + page[s.end :]
    return with_tables(with_consoles(path, page))


def with_consoles(path: Path, page: str) -> str:
    """The page with every ```console block made anew; the commands run in order in one empty folder."""

    def fill(m: re.Match[str]) -> str:
        if m[1] != "console":
            return m[0]
        command, printed = m[2].partition("\n")[0], io.StringIO()
        program, *argv = shlex.split(command.removeprefix("$ "))
        assert program == "linkwise", f"{path.name}: {command!r} is no linkwise command"
        with contextlib.redirect_stdout(printed):
            code = main_of_linkwise(argv)
        assert code in (0, 1), f"{path.name}: {command!r} ends with {code}"
        shown = "".join(line.rstrip() + "\n" for line in printed.getvalue().splitlines())
        return f"```console\n{command}\n{shown}```"

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), as_a_reader_has_it():
        return FENCE.sub(fill, page)


# --- tables made from the code -----------------------------------------------------------------------


def with_tables(page: str) -> str:
    """The page with every marked table made anew."""

    def fill(m: re.Match[str]) -> str:
        arguments = [] if m[3] is None else [m[3]]
        return f"{m[1]}{TABLES[m[2]](*arguments)}{m[5]}"

    return TABLE.sub(fill, page)


# Packages that a page may need and that are too large to ask for.
LARGE = ("torch",)


def left_out(path: Path) -> str | None:
    """The package for want of which a page cannot be run."""
    page = path.read_text(encoding="utf-8")
    needed = [name for name in LARGE if re.search(rf"^import {name}$", page, re.MULTILINE)]
    return next((name for name in needed if importlib.util.find_spec(name) is None), None)


def main() -> int:
    wrong: list[str] = []
    named = {Path(x).name for x in sys.argv[1:]} - {"--write"}
    unknown = named - {path.name for path in PAGES}
    if unknown:
        sys.exit(f"there is no page {', '.join(sorted(unknown))}")
    pages = [path for path in PAGES if path.name in named] or PAGES
    for path in pages:
        missing = left_out(path)
        if missing:
            print(f"{path.name}: left out, as {missing} is not installed")
            continue
        if "--write" in sys.argv[1:]:
            new = rewritten(path)
            if new != path.read_text(encoding="utf-8"):
                path.write_text(new, encoding="utf-8")
                print(f"{os.path.relpath(path)}: written")
        wrong += mismatches(path)
    print("\n\n".join(wrong) or f"{len(pages)} pages agree with their code")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
