"""What notebooks are shown: tables and curves as HTML without colours of their own, and who draws pictures."""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

_drawers: dict[str, tuple[str, str]] = {}  # kind of thing → module and function that draw it


def drawn_by(kind: str, module: str, function: str) -> None:
    """Say who draws things of a kind; the module is loaded when a notebook asks for one.

    Pictures are made by rooms that know those whose things they show, so the top of the house says which.
    """
    _drawers[kind] = (module, function)


def drawn(kind: str, thing: Any) -> str:
    """A thing as HTML, from who draws its kind."""
    module, function = _drawers[kind]
    made: str = getattr(import_module(module), function)(thing)
    return made


def table(rows: Sequence[Sequence[str]], heading: Sequence[str] = (), right: Sequence[int] = ()) -> str:
    """Rows of cells, which are HTML; the columns in ``right`` end together."""

    def line(cells: Sequence[str], tag: str) -> str:
        side = ("right" if i in right else "left" for i in range(len(cells)))
        return "".join(f'<{tag} style="text-align:{s}">{c}</{tag}>' for s, c in zip(side, cells))

    head = f"<thead><tr>{line(heading, 'th')}</tr></thead>" if heading else ""
    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f"<table>{head}<tbody>{body}</tbody></table>"


def titled(title: str, words: str, *parts: str) -> str:
    """Parts below a title in bold and words beside it, as plain text."""
    return f"<div><div><b>{text(title)}</b> &nbsp; {text(words)}</div>{''.join(parts)}</div>"


def folded(title: str, body: str) -> str:
    """What opens at a click."""
    return f"<details><summary>{text(title)}</summary>{body}</details>"


def listing(lines: str) -> str:
    """Text as it stands."""
    return f'<pre style="max-height:24em;overflow:auto">{text(lines)}</pre>'


def text(words: Any) -> str:
    """Plain text."""
    return html.escape(str(words))


def number(x: float) -> str:
    """A number for a table; a dash for one that is not finite."""
    return f"{x + 0.0:.4g}" if np.isfinite(x) else "–"


def curve(values: np.ndarray, width: int = 150, height: int = 22) -> str:
    """A small curve of values (n,) in the colour of the text, from its least to its greatest value."""
    y = np.asarray(values, float)
    y = y[np.isfinite(y)]
    if not len(y):
        return ""
    y = y[np.unique(np.linspace(0, len(y) - 1, min(len(y), width)).astype(int))]
    span = float(np.ptp(y))
    # A value that only rounding changes is drawn as the straight line that it is.
    level = (y - y.min()) / span if span > 1e-12 * max(float(np.abs(y).max()), 1.0) else np.full(len(y), 0.5)
    x = np.linspace(1, width - 1, len(y)) if len(y) > 1 else np.array([width / 2])
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, (height - 2) * (1 - level) + 1))
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}"><polyline points="{points}" fill="none"'
        ' stroke="currentColor" stroke-width="1.2"/></svg>'
    )
