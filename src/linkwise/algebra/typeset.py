"""Formulas, recursions and proofs as HTML with LaTeX, as notebooks typeset it (MathJax)."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Protocol

_LATEX_WORDS = {"…": r"\ldots{}", "§": r"\S{}", "–": "--", "×": r"\(\times\)", "÷": r"\(\div\)", "√": r"\(\surd\)"}


class Loop(Protocol):
    """Lines in LaTeX under a title."""

    title: str

    @property
    def typeset(self) -> list[str]: ...


def prose(words: str) -> str:
    """Words for LaTeX, without letters it may not know."""
    for letter, tex in _LATEX_WORDS.items():
        words = words.replace(letter, tex)
    return words


def in_formula(words: str) -> str:
    """Words inside a formula: what LaTeX would read as its own is told that it is not."""
    for letter in "\\{}":
        words = words.replace(letter, "")
    for letter in "_&%#$":
        words = words.replace(letter, f"\\{letter}")
    return rf"\text{{{words}}}"


def inline(tex: str) -> str:
    """A formula in a line of text."""
    return f"${html.escape(tex)}$"


def formula(tex: str) -> str:
    """A formula on a line of its own."""
    return f"<div>$${html.escape(tex)}$$</div>"


def aligned(lines: Sequence[str]) -> str:
    """Lines under each other, aligned at &."""
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def displayed(tex: str, loops: Sequence[Loop]) -> str:
    """A formula and the loops it runs as, in LaTeX alone."""
    lines = [f"& {tex}"]
    for loop in loops:
        lines += [rf"& {in_formula(loop.title)}", *(rf"\quad {line}" for line in loop.typeset)]
    return f"$${aligned(lines)}$$"


def words(text: str) -> str:
    """A line of text."""
    return f"<div>{html.escape(text)}</div>"


def loop(block: Loop) -> str:
    """The lines of a loop under its title."""
    return f"<div><i>{html.escape(block.title)}</i></div>{formula(aligned(block.typeset))}"


def listed(title: str, items: Sequence[tuple[str, str]]) -> str:
    """Formulas with words behind them, one below the other."""
    rows = "".join(f"<li>{inline(tex)} &nbsp; {html.escape(said)}</li>" for tex, said in items)
    return f"<div><i>{html.escape(title)}</i></div><ul>{rows}</ul>"


def steps(rows: Sequence[tuple[str, str]]) -> str:
    """A chain of formulas in LaTeX, each with the reason for it."""
    body = "".join(
        f'<tr><td style="text-align:left">{inline(tex)}</td><td style="text-align:left">{html.escape(why)}</td></tr>'
        for tex, why in rows
    )
    return f"<table>{body}</table>"


def page(parts: Sequence[str]) -> str:
    """Parts of a page one below the other."""
    return "<div>" + "\n".join(parts) + "</div>"
