"""Formulas as matplotlib's parser takes them, or an error."""

import re
from functools import cache

from matplotlib import mathtext


def refuse_bad_latex(formula):
    """Line by line, without the alignment that the parser does not know, and each word of them once.

    (A line takes it 10 ms, and most words of most lines have been in one before. What braces or \\left and \\right hold
    is one word with them.)
    """
    body = re.sub(r"\\(begin|end)\{aligned\}|\\textstyle", "", formula)
    for line in re.split(r"\\\\", body):
        line = re.sub(r"\\text\{(?:\\.|[^{}\\])*\}", "w", line.replace("&", " ").replace(r"\lbrace", "")).strip()
        for word in words(line):
            parse(word)


def words(line):
    """Parts of a line between spaces, but for those within braces, between \\left and \\right, and behind accents."""
    found, open_parts = [], ""
    for part in line.split():
        open_parts = f"{open_parts} {part}".strip()
        closed = open_parts.count("{") == open_parts.count("}") and lefts(open_parts) == 0
        if closed and not re.search(r"\\(tilde|hat|bar|d?dot|mathring|vec|sqrt)$", open_parts):
            found.append(open_parts)
            open_parts = ""
    return [*found, open_parts] if open_parts else found


def lefts(text):
    return len(re.findall(r"\\left(?![a-z])", text)) - len(re.findall(r"\\right(?![a-z])", text))


@cache
def parse(word):
    mathtext.MathTextParser("agg").parse(f"${word}$")
