"""The source files that the reference links to, as pages with numbered lines."""

from __future__ import annotations

import html
from collections.abc import Iterable
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{name} – linkwise</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ margin: 1.5rem; font: 0.9rem/1.4 ui-monospace, monospace; background: #fff; color: #22303c }}
a {{ color: inherit; text-decoration: none }} .linenos a {{ color: #8793a0; padding-right: 1em }}
pre {{ margin: 0 }} :target {{ background: #fff2c2 }}
{light}
@media (prefers-color-scheme: dark) {{ body {{ background: #14191f; color: #e6ebf0 }} :target {{ background: #4a3f14 }}
{dark} }}
</style></head><body><p><b>{name}</b></p>{code}</body></html>
"""


def write_sources(files: Iterable[Path], root: Path, out: Path) -> None:
    """A page for each of ``files``, which are relative to ``root``, under ``out``."""
    formatter = HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True, linespans="S")
    looks = {"light": HtmlFormatter(style="default"), "dark": HtmlFormatter(style="github-dark")}
    styles = {
        name: look.get_style_defs(".highlight").replace("background: #0d1117;", "") for name, look in looks.items()
    }
    for file in sorted(files):
        code = highlight((root / file).read_text(encoding="utf-8"), PythonLexer(), formatter)
        target = out / f"{file.as_posix()}.html"
        target.parent.mkdir(parents=True, exist_ok=True)
        name = html.escape(f"linkwise/{file.as_posix()}")
        target.write_text(PAGE.format(name=name, code=code, **styles), encoding="utf-8")
