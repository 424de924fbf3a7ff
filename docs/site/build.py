"""Build the site: python docs/site/build.py [FOLDER]   (default: site/; needs the extra docs)

The pages of docs/, what they link to in the repository, and the reference made from the docstrings are put together
in a folder of their own, from which Sphinx makes HTML that needs no network. A link or anchor that leads nowhere, a
page without a place in the table of contents, and anything else that Sphinx warns of, is an error.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCS, ROOT = HERE.parent, HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "src")]

import api  # noqa: E402
import contents  # noqa: E402
import links  # noqa: E402
import notebook_page  # noqa: E402
import sources  # noqa: E402
from sphinx.cmd.build import main as sphinx_build  # noqa: E402

import linkwise as lw  # noqa: E402


def main(out: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        stage = Path(folder)
        put_together(stage)
        code = sphinx_build(["-q", "-W", "--keep-going", "-b", "html", "-c", str(HERE), str(stage), str(out)])
    sources.write_sources(api.SHOWN_SOURCES, api.SOURCE, out / "source")
    shutil.rmtree(out / ".doctrees", ignore_errors=True)
    return code


def put_together(stage: Path) -> None:
    """All pages of the site, as Sphinx takes them."""
    for page in sorted(DOCS.glob("*.md")):
        shutil.copy(page, stage)
    shutil.copytree(DOCS / "pictures", stage / "pictures", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    (stage / "tour.md").write_text(notebook_page.page(DOCS / "tour.ipynb", stage / "pictures"), encoding="utf-8")
    (stage / "api").mkdir()
    for room, text in api.pages().items():
        (stage / "api" / f"{room}.md").write_text(text, encoding="utf-8")
    links.follow_links(stage)
    for page in stage.glob("*.md"):
        page.write_text(with_typeset_identities(page.read_text(encoding="utf-8")), encoding="utf-8")
    add_contents(stage)


def with_typeset_identities(page: str) -> str:
    """The identities in tables as formulas; the files have them as the text that linkwise prints and reads."""
    for formula, latex in IDENTITIES.items():
        page = page.replace(f"| `{formula}` |", f"| ${latex}$ |")
    return page


IDENTITIES = {rule.formula: rule.latex for rule in lw.identities()}


def add_contents(stage: Path) -> None:
    """Tables of contents at the end of the home page and of the first page of every section."""
    for section, listed in contents.SECTIONS.items():
        pages: list[str] = []
        for name in listed:
            found = sorted(p.relative_to(stage).with_suffix("").as_posix() for p in stage.glob(f"{name}.md"))
            pages += _in_order(found) if "*" in name else found
        append(stage / f"{section}.md", contents.toctree(pages))
        for place in pages:
            unmark(stage / f"{place}.md")
    names = [f"{name} <{section}>" for section, name in contents.NAMES.items()]
    append(stage / "index.md", contents.toctree(names))


def _in_order(found: list[str]) -> list[str]:
    order = list(api.TITLES)
    return sorted(found, key=lambda p: order.index(Path(p).stem) if Path(p).stem in order else len(order))


def append(page: Path, text: str) -> None:
    page.write_text(page.read_text(encoding="utf-8") + text, encoding="utf-8")


def unmark(page: Path) -> None:
    """A page of the repository that has a place in the table of contents is no orphan."""
    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub(r"\A---\norphan: true\n---\n\n", "", text), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "site").resolve()))
