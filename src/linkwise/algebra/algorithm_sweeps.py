"""Sweeps and walks of an algorithm as loops: what a neighbour hands on is written into the lines that read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .algorithm_trace import Run
from .algorithm_values import (
    ATOM,
    FIRST,
    PRODUCT,
    WORLD,
    Items,
    Line,
    Loop,
    Record,
    Several,
    Text,
    Thing,
    UnreadableError,
    moved_to_child,
)
from .recursion_text import INWARD, OUTWARD

if TYPE_CHECKING:
    from .algorithm_expressions import Expressions

_TITLES = {
    "outward": OUTWARD.removesuffix(":"),
    "inward": INWARD.removesuffix(":"),
    "inward_from_each": "for every body i, inward along its path, k inboard of i",
    "outward_from_each": "for every body i, outward, k not inboard of i",
}


def read_sweep(scope: Expressions, run: Run, given: list[Any]) -> Any:
    """What a sweep gives for all bodies, its loop collected; ``run`` has the step of one body."""
    loop = Loop(_TITLES[run.name])
    scope.reader.loops.append(loop)
    step = next((x for x in run.inner if x.tree is not None), None)
    if step is None or len(given) < 2:
        raise UnreadableError
    structure = given[1]
    data = given[3:] if run.name == "outward_from_each" else given[2:]
    first = step.tree.args.args[0].arg
    walk = run.name.endswith("_each")
    letter = scope.letters.of(first.removesuffix("_parent"))
    arriving = Text(f"{letter}(k,i)", ATOM, frozenset({first})) if walk else _holes(scope, structure)
    found = scope.reader.call(step, [arriving, *map(_of_body, data)], {}, scope, loop)
    if walk:
        begin = scope.as_formula(_of_body(structure))
        sent = begin.text.replace("(k)", "(i)").replace("(p,k)", FIRST)
        loop.starts.append(f"{letter}{FIRST if run.name == 'inward_from_each' else '(i,i)'} = {sent}")
        loop.uses |= begin.uses
        return _walked(scope, loop, first, letter, found, run.name)
    if run.name == "inward":
        return _gathered(scope, loop, first, arriving, found)
    return _spread(scope, loop, first, arriving, found, structure)


def _of_body(x: Any) -> Any:
    """What the data of a sweep are at body k."""
    if isinstance(x, Several):
        return Several([_of_body(y) for y in x.items])
    if isinstance(x, Record):
        return Record({key: _of_body(y) for key, y in x.fields.items()})
    return x.own if isinstance(x, Items) else x


def _holes(scope: Expressions, structure: Any) -> Any:
    """Marks in the place of what comes from the neighbour, one for each thing that is handed on."""
    if isinstance(structure, Several):
        return Several([_holes(scope, x) for x in structure.items])
    return Text(scope.reader.mark())


def _flat(x: Any) -> list[Any]:
    return [y for part in x.items for y in _flat(part)] if isinstance(x, Several) else [x]


def _with(value: Any, hole: str, text: Text) -> Any:
    """A value with text for a mark."""
    if isinstance(value, Several):
        return Several([_with(x, hole, text) for x in value.items], value.each)
    if isinstance(value, Record):
        return Record({key: _with(x, hole, text) for key, x in value.fields.items()})
    if isinstance(value, Text) and hole in value.text:
        return Text(value.text.replace(hole, text.text), min(value.level, text.level), value.uses | text.uses)
    return value


def _gathered(scope: Expressions, loop: Loop, first: str, holes: Any, found: Any) -> Any:
    """Inward: what the children pass on is summed where the body reads it; what is kept is the result."""
    passed, kept = found.items[:2] if isinstance(found, Several) and len(found.items) > 1 else (found, found)
    marks, handed = _flat(holes), _flat(passed)
    for i, (hole, what) in enumerate(zip(marks, handed)):
        text = scope.as_formula(what)
        if hole.text in text.text or _in_product(loop, hole.text):
            name = first if len(first) < 3 else "z"
            name = name if len(marks) == 1 else f"{name}_{i + 1}"
            own = Text(f"{scope.letters.of(name)}(k)", ATOM, frozenset({name}))
            text, kept = _with(text, hole.text, own), _with(kept, hole.text, own)
            scope.reader.fill(hole.text, own)
            loop.lines.insert(0, Line(name, own.text, _sum(scope, text), text.uses))
        else:
            carried = Text(_sum(scope, text), PRODUCT, text.uses)
            kept = _with(kept, hole.text, carried)
            scope.reader.fill(hole.text, carried)
    return _results(scope, loop, kept)


def _in_product(loop: Loop, hole: str) -> bool:
    """Whether a mark stands elsewhere than first in a sum."""
    return any(hole in line.right and not line.right.startswith((f"{hole} +", hole)) for line in loop.lines)


def _sum(scope: Expressions, text: Text) -> str:
    return "0" if text.text == "0" else f"{scope.letters.sum}{moved_to_child(text.wrapped(PRODUCT))}"


def _spread(scope: Expressions, loop: Loop, first: str, holes: Any, found: Any, structure: Any) -> Any:
    """Outward: the parent's value is that of the same quantity, at p."""
    parts, marks, starts = _flat(found), _flat(holes), _flat(structure)
    out: list[Any] = []
    for i, part in enumerate(parts):
        text = scope.as_formula(part)
        hole = marks[i].text if i < len(marks) else ""
        read = bool(hole) and (hole in text.text or any(hole in line.right for line in loop.lines))
        if not read:
            out.append(_results(scope, loop, text))
            continue
        begin = Text("0") if isinstance(starts[i], Thing) else scope.as_formula(starts[i])
        loop.uses |= begin.uses
        loop.starts.append(f"{hole}{WORLD} = {begin.text}")
        item = _results(scope, loop, text)
        if item.name is not None:
            scope.reader.fill(hole, Text(f"{item.letter}(p)", ATOM, frozenset({item.name})))
        elif first.endswith("_parent"):
            item.hole = hole
            item = scope._named(first.removesuffix("_parent"), item)
        else:
            item.hole = hole
            scope.reader.unnamed.append(item)
        out.append(item)
    return Several(out, each=True) if isinstance(found, Several) else out[0]


def _results(scope: Expressions, loop: Loop, value: Any) -> Any:
    """What is kept for every body, as quantities: under its name, or to be named by who takes it."""
    if isinstance(value, Several):
        return Several([_results(scope, loop, x) for x in value.items], each=True)
    if isinstance(value, Record):
        return Record({key: _results(scope, loop, x) for key, x in value.fields.items()})
    text = scope.as_formula(value)
    item: Items = scope._of_all(text)
    item.loop = loop
    return item


def _walked(scope: Expressions, loop: Loop, first: str, letter: str, found: Any, kind: str) -> Any:
    """A walk: what is sent on from k, and what is kept for the pair."""
    sent, kept = found.items[:2] if isinstance(found, Several) and len(found.items) > 1 else (found, found)
    text = scope.as_formula(sent)
    if text.text != f"{letter}(k,i)":
        there = "(p,i)" if kind == "inward_from_each" else "(k,i)"
        right = text.text if kind == "inward_from_each" else text.text.replace("(k,i)", "(p,i)")
        loop.lines.append(Line(first, f"{letter}{there}", right, text.uses))
    items = [Items(None, formula=scope.as_formula(x), loop=loop, pair="(k,i)") for x in _flat(kept)]
    return Several(list(items), each=True) if isinstance(kept, Several) else items[0]
