"""The site: every public call has its place in the reference, with types, source and examples; nothing is fetched."""

import inspect
import re
import sys

import pytest

import linkwise as lw
from snippets import ROOT

SITE = ROOT / "docs" / "site"
sys.path.append(str(SITE))

import api  # noqa: E402
import contents  # noqa: E402
import links  # noqa: E402
import notebook_page  # noqa: E402


@pytest.fixture(scope="module")
def pages():
    return api.pages()


def test_every_public_name_has_an_anchor(pages):
    text = "\n".join(pages.values())
    for name in lw.__all__:
        if not inspect.ismodule(getattr(lw, name)):
            assert re.search(rf"^`+\{{py:\w+\}} linkwise\.{name}\b", text, re.MULTILINE), name
    for name in (n for n, x in inspect.getmembers_static(lw.Robot) if not n.startswith("_") and callable(x)):
        assert re.search(rf"^`+\{{py:method\}} {name}\(", text, re.MULTILINE), name


def test_a_call_has_types_shapes_source_and_examples(pages):
    found = re.search(r"^`+\{py:method\} inverse_dynamics\((.*?)^`+$", pages["robot"], re.MULTILINE | re.DOTALL)[1]
    assert "q: ArrayLike" in found and "external: ArrayLike | None = None" in found and "-> " in found
    assert "(..., nv) \\[N m, N\\]" in found
    assert re.search(r'href="\.\./source/robot/robot\.py\.html#L-\d+">source', found)
    assert 'href="../start.html"' in found or 'href="../from_pinocchio.html"' in found


def test_sources_are_where_links_say():
    api.source_link(lw.Robot.frames.func if hasattr(lw.Robot.frames, "func") else lw.simulate)
    for file in api.SHOWN_SOURCES:
        assert (api.SOURCE / file).is_file()


def test_every_page_is_in_the_contents():
    listed = {*contents.SECTIONS, *(p for pages in contents.SECTIONS.values() for p in pages), "index"}
    for page in (ROOT / "docs").glob("*.md"):
        assert page.stem in listed, f"docs/{page.name} has no place in docs/site/contents.py"
    there = {p.stem for p in (ROOT / "docs").glob("*.*")}
    assert {p for p in listed if "/" not in p} <= there
    assert set(contents.NAMES) == set(contents.SECTIONS)


def test_prose_is_markdown_that_means_what_the_docstring_says():
    assert api.prose("H* and ``x``, :func:`linkwise.simulate`") == "H\\* and `x`, `linkwise.simulate`"
    assert api.prose("words\n\n    z(k) = 1\n    y = 2") == "words\n\n```text\nz(k) = 1\ny = 2\n```"


def test_links_to_the_repository_become_pages():
    assert links.target_of("../examples", "docs/index.md") == "examples"
    assert links.place_of("examples") == "repository/examples/index.md"
    assert links.target_of("https://example.org", "docs/index.md") is None
    turned = links.turned("[a](../examples) [b](tour.ipynb) [c](cli.md)", "index.md", "docs/index.md")
    assert turned == "[a](repository/examples/index.md) [b](tour.md) [c](cli.md)"


def test_the_tour_becomes_a_page(tmp_path):
    page = notebook_page.page(ROOT / "docs" / "tour.ipynb", tmp_path)
    assert page.startswith("# A tour") and "```python" in page and 'class="formula' in page
    assert len(list(tmp_path.glob("*.png"))) >= 2


def test_nothing_is_fetched():
    """KaTeX and its fonts lie beside the site, its licence with them."""
    style = (SITE / "katex" / "katex.min.css").read_text(encoding="utf-8")
    fonts = set(re.findall(r"url\((fonts/[^)]+)\)", style))
    assert fonts and all((SITE / "katex" / font).is_file() for font in fonts)
    assert "http" not in style and "MIT" in (SITE / "katex" / "LICENSE").read_text(encoding="utf-8")
