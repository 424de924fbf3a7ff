"""A hook of the site: what the pages link to outside docs/ (examples, benchmarks, the licence) becomes part of it.

On GitHub a link such as ``../examples`` opens the folder. Here its target becomes a page under ``repository/``: folders
as lists, programs as their text, Markdown as it is; pictures and data are copied. The links of every page follow.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent.parent
FENCE = re.compile(r"^```.*?^```[ ]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\()([^)\s#]+)([^)]*\))")
LANGUAGES = {".py": "python", ".toml": "toml", "": "text"}  # what is shown as text; other files are copied

origins: dict[str, str] = {}  # page of the site → the file in the repository that it shows


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is linked to from docs/, and what is linked to from there."""
    origins.clear()
    origins.update({f.src_uri: f"docs/{f.src_uri}" for f in files.documentation_pages()})
    waiting = [t for f in files.documentation_pages() for t in targets(f.content_string, origins[f.src_uri])]
    while waiting:
        target = waiting.pop()
        uri = uri_of(target)
        if target.startswith("docs/") or files.get_file_from_path(uri) is not None:
            continue
        if uri.endswith(".md"):
            text = text_of(ROOT / target)
            origins[uri] = f"{target}/README.md" if (ROOT / target).is_dir() else target
            added = File.generated(config, uri, content=text, inclusion=InclusionLevel.NOT_IN_NAV)
            waiting += targets(text, origins[uri])
        else:
            added = File.generated(config, uri, abs_src_path=str(ROOT / target))
        files.append(added)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links to files of the repository into links to their pages."""
    here = page.file.src_uri

    def turned(link: re.Match[str]) -> str:
        target = target_of(link[2], origins[here])
        if target is None:
            return link[0]
        uri = target.removeprefix("docs/") if target.startswith("docs/") else uri_of(target)
        return link[1] + posixpath.relpath(uri, posixpath.dirname(here) or ".") + link[3]

    return outside_fences(markdown, lambda text: LINK.sub(turned, text))


def targets(markdown: str, origin: str) -> list[str]:
    """The files of the repository, outside docs/ too, that a page links to."""
    prose = FENCE.sub("", markdown)
    found = (target_of(link[2], origin) for link in LINK.finditer(prose))
    return [target for target in found if target is not None and not target.startswith("docs/")]


def target_of(link: str, origin: str) -> str | None:
    """Where a link leads within the repository; None for addresses of the web and for what is not there."""
    if "://" in link or link.startswith(("mailto:", "/")):
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), link))
    return target if (ROOT / target).exists() else None


def uri_of(target: str) -> str:
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
