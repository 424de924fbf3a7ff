"""Sphinx's settings for the site; docs/site/build.py runs it."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import linkwise

HERE = Path(__file__).resolve().parent

project, author = "linkwise", "The linkwise developers"
version = release = linkwise.__version__
copyright = "The linkwise developers, Apache-2.0"
html_title = "linkwise"
language = "en"

extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
root_doc = "index"
myst_enable_extensions = ["dollarmath", "attrs_inline"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
highlight_language = "text"
add_module_names = False
python_display_short_literal_types = True
python_maximum_signature_line_length = 88
copybutton_exclude = ".linenos, .gp"
# Blocks with … in them are no code of any language; tables that are made have headings of the third level.
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
nitpicky = False
show_warning_types = True

html_theme = "pydata_sphinx_theme"
html_theme_options: dict[str, Any] = {
    "logo": {"text": "linkwise", "image_light": "pictures/icon.svg", "image_dark": "pictures/icon.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
}
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_favicon = str(HERE.parent / "pictures" / "icon.svg")
html_static_path = [str(HERE / "style.css"), str(HERE / "typeset.js")]
html_css_files = ["katex/katex.min.css", "style.css"]
html_js_files = ["katex/katex.min.js", "typeset.js"]
html_math_renderer = "katex"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_sidebars = {"index": []}


def setup(app: Any) -> None:
    """KaTeX, which lies beside this file, typesets formulas in the browser: no network is asked."""
    app.add_html_math_renderer("katex", inline_renderers=(inline_math, None), block_renderers=(display_math, None))
    app.connect("build-finished", copy_katex)


def inline_math(translator: Any, node: Any) -> None:
    translator.body.append(f'<span class="formula">{html.escape(node.astext())}</span>')
    _skip()


def display_math(translator: Any, node: Any) -> None:
    anchor = f' id="{node["ids"][0]}"' if node.get("ids") else ""
    translator.body.append(f'<div class="formula display"{anchor}>{html.escape(node.astext())}</div>')
    _skip()


def _skip() -> None:
    from docutils import nodes

    raise nodes.SkipNode


def copy_katex(app: Any, error: Exception | None) -> None:
    import shutil

    if error is None:
        target = Path(app.outdir) / "_static" / "katex"
        shutil.copytree(HERE / "katex", target, dirs_exist_ok=True)
