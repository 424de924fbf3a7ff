"""The page that an algorithm is written on: loops of lines, marks that are filled later, and what is left of it all."""

from __future__ import annotations

import re
from typing import Any

from .algorithm_values import ATOM, Items, Letters, Line, Loop, Text, indexed


class Page:
    """Loops of lines, in the order in which they run."""

    def __init__(self, as_latex: bool = False, body: int = 0, bodies: int = 0) -> None:
        self.body, self.bodies = body, bodies  # which body of how many the lines are of
        self.letters = Letters(as_latex)
        self.loops: list[Loop] = []
        self.marks = 0
        self.unnamed: list[Items] = []  # what sweeps hand outward, to be named by who takes it

    def loop(self, title: str) -> Loop:
        """The loop that lines go to: the last one where it has this title."""
        if not self.loops or self.loops[-1].title != title or self.loops[-1].starts:
            self.loops.append(Loop(title))
        return self.loops[-1]

    def fill(self, hole: str, text: Text) -> None:
        """Text for a mark, wherever it stands."""
        for loop in self.loops:
            for line in loop.lines:
                if hole in line.right:
                    line.right = line.right.replace(hole, text.text)
                    line.uses = line.uses | text.uses
            loop.starts = [x.replace(hole, text.text.removesuffix("(p)")) for x in loop.starts]

    def name_the_rest(self) -> None:
        """A letter for what a sweep hands outward under no name."""
        for item in [x for x in self.unnamed if any(x.hole in line.right for y in self.loops for line in y.lines)]:
            assert item.formula is not None and item.loop is not None
            named = self.define("lam", "(k)", item.formula, item.loop)
            self.fill(item.hole, Text(named.text.replace("(k)", "(p)"), ATOM, named.uses))

    def mark(self) -> str:
        """A mark that stands nowhere yet."""
        self.marks += 1
        return f"⟪{self.marks}⟫"

    def define(self, name: str, index: str, formula: Text, loop: Loop) -> Text:
        """A line of its own for a formula; what is said a second time of one name goes on from the first, or is x′."""
        letter = self.letters.of(name)
        while self._is_taken(f"{letter}{index}"):
            last = loop.lines[-1] if loop.lines else None
            if last is not None and last.left == f"{letter}{index}" and formula.text.startswith(f"{last.left} "):
                loop.lines.pop()
                whole = last.right + formula.text.removeprefix(last.left)
                formula = Text(whole, formula.level, formula.uses | last.uses)
                break
            name, letter = f"{name}'", f"{letter}'" if self.letters.as_latex else f"{letter}′"
        left = f"{letter}{index}"
        loop.lines.append(Line(name, left, formula.text, formula.uses))
        return Text(left, ATOM, frozenset({name}))

    def _is_taken(self, left: str) -> bool:
        return any(line.left == left for loop in self.loops for line in loop.lines)


_OUTBOARD = re.compile(r"([^\s\[(]+)\(k-1\)")


def finished(page: Page, result: Any, serial: bool) -> list[Loop]:
    """The loops with what the result rests on, in the papers' indices."""
    page.name_the_rest()
    letters = page.letters
    all_read = not any(loop.code for loop in page.loops)  # code may rest on anything
    wanted = set(result.uses) if isinstance(result, Text) and all_read else set()
    if not any(line.name in wanted for loop in page.loops for line in loop.lines):
        wanted = set()  # what the result rests on was not followed: nothing is left out
    kept: list[Loop] = []
    for loop in reversed(page.loops):
        if loop.code:
            kept.append(loop)
        lines = _needed(loop, wanted) if wanted else loop.lines
        for line in lines:
            line.left, line.right = (indexed(x, serial, letters) for x in (line.left, line.right))
        if lines:
            own = {line.left.removesuffix("(k)") for line in lines}
            before = [name for line in lines for name in _OUTBOARD.findall(line.right) if name in own]
            starts = [indexed(x, serial, letters) for x in loop.starts]
            kept.append(Loop(loop.title, lines, [*starts, *(f"{name}(0) = 0" for name in dict.fromkeys(before))]))
    return kept[::-1]


def _needed(loop: Loop, wanted: set[str]) -> list[Line]:
    """The lines of a loop that what is wanted rests on; ``wanted`` grows by what they rest on in turn."""
    while True:  # a line may read what a later one gives at a neighbour
        lines = [line for line in loop.lines if line.name in wanted]
        more = ({name for line in lines for name in line.uses} | (loop.uses if lines else set())) - wanted
        if not more:
            return lines
        wanted |= more
