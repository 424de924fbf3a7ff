"""Links of pages to what lies outside docs/ (examples, benchmarks, the licence): their targets become part of the site.

On a code host a link such as ``../examples`` opens the folder. Here its target becomes a page under ``repository/``:
folders as lists, programs as their text, Markdown as it is; pictures and data are copied. All links follow.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FENCE = re.compile(r"^```.*?^```[ ]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\()([^)\s#]+)([^)]*\))")
LANGUAGES = {".py": "python", ".toml": "toml", ".ipynb": "json", "": "text"}  # what is shown as text; others are copied


def follow_links(stage: Path) -> None:
    """Turn the links of all pages of a staged site, and add the pages that they lead to."""
    origins = {p.relative_to(stage).as_posix(): f"docs/{p.relative_to(stage).as_posix()}" for p in stage.glob("*.md")}
    waiting = list(origins)
    while waiting:
        here = waiting.pop()
        page = stage / here
        text = page.read_text(encoding="utf-8")
        for target in sorted(set(targets(text, origins[here]))):
            place = place_of(target)
            if place in origins or (stage / place).exists():
                continue
            (stage / place).parent.mkdir(parents=True, exist_ok=True)
            if place.endswith(".md"):
                (stage / place).write_text(f"---\norphan: true\n---\n\n{text_of(ROOT / target)}", encoding="utf-8")
                origins[place] = f"{target}/README.md" if (ROOT / target).is_dir() else target
                waiting.append(place)
            else:
                shutil.copy(ROOT / target, stage / place)
        page.write_text(turned(text, here, origins[here]), encoding="utf-8")


def turned(markdown: str, here: str, origin: str) -> str:
    """A page with its links to files of the repository as links to their pages."""

    def turn(link: re.Match[str]) -> str:
        target = target_of(link[2], origin)
        if target is None:
            return link[0]
        place = target.removeprefix("docs/") if target.startswith("docs/") else place_of(target)
        place = re.sub(r"^(\w+)\.ipynb$", r"\1.md", place)  # notebooks are pages too
        return link[1] + posixpath.relpath(place, posixpath.dirname(here) or ".") + link[3]

    return outside_fences(markdown, lambda text: LINK.sub(turn, text))


def targets(markdown: str, origin: str) -> list[str]:
    """The files of the repository outside docs/ that a page links to."""
    prose = FENCE.sub("", markdown)
    found = (target_of(link[2], origin) for link in LINK.finditer(prose))
    return [target for target in found if target is not None and not target.startswith("docs/")]


def target_of(link: str, origin: str) -> str | None:
    """Where a link leads within the repository; None for addresses of the web and for what is not there."""
    if "://" in link or link.startswith(("mailto:", "/")):
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), link))
    return target if (ROOT / target).exists() else None


def place_of(target: str) -> str:
    """The place on the site of a file or folder of the repository."""
    path = ROOT / target
    if path.is_dir():
        return f"repository/{target}/index.md"
    if path.name == "README.md":
        return f"repository/{posixpath.dirname(target)}/index.md"
    return f"repository/{target}" + (".md" if path.suffix in LANGUAGES else "")


def text_of(path: Path) -> str:
    """A file or folder as Markdown."""
    if path.is_dir():
        readme = path / "README.md"
        return readme.read_text(encoding="utf-8") if readme.exists() else listing(path)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    return f"# {path.name}\n\n```{LANGUAGES[path.suffix]}\n{text.rstrip()}\n```\n"


def listing(folder: Path) -> str:
    """The files of a folder, programs with the first line of what they say of themselves."""
    entries = sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    lines = (f"- [{p.name}]({p.name}){says(p)}\n" for p in entries)
    return f"# {folder.name.capitalize()}\n\n" + "".join(lines)


def says(path: Path) -> str:
    said = re.match(r'"""(.+?)(?:"""|\n)', path.read_text(encoding="utf-8")) if path.suffix == ".py" else None
    return f": {said[1]}" if said else ""


def outside_fences(markdown: str, change: Callable[[str], str]) -> str:
    """The text with `change` applied everywhere but in code blocks."""
    out, at = [], 0
    for fence in FENCE.finditer(markdown):
        out += [change(markdown[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*out, change(markdown[at:])])
