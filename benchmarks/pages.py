"""Pages of the documentation whose tables a command makes."""

from __future__ import annotations

from pathlib import Path


def print_or_write(text: str, page: Path, marks: tuple[str, str], arguments: list[str]) -> None:
    """Print tables, or with --write put them between two marks of a page."""
    if "--write" not in arguments:
        print(text)
        return
    start, end = marks
    before, rest = page.read_text(encoding="utf-8").split(start)
    page.write_text(before + start + "\n" + text + "\n" + end + rest.split(end)[1], encoding="utf-8")
