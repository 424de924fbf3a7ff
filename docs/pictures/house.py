"""The picture of docs/architecture.md: the rooms of the source and who imports whom, from the imports themselves.

A room stands one storey above the highest room that it imports. Dark lines are imports that no other room brings along;
pale ones are short cuts past them; broken ones are for types alone. What every room may use lies below the ground.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from rooms import GROUND, ROOMS, imports

SHOWN = {"__init__": "public names", "__main__": ""}  # python -m linkwise is the command line under another name
INK, PALE, LINE, SHORT_CUT = "#1f2933", "#7b8794", "#52606d", "#cbd2d9"
FILLS = ("#e6f0ef", "#e9eef7", "#f3eee3", "#f2e9f1")  # by storey, in turn
# Where a room stands from left to right, so that dark lines pass between boxes.
COLUMNS = {
    "symbols": 1.2,
    "model": 2.6,
    "dynamics": 0.5,
    "inputs": 2.4,
    "interop": 4.3,
    "algebra": 0.6,
    "codegen": 1.9,
    "robot": 1.5,
    "simulation": 0.9,
    "check": 3.0,
    "view": 1.3,
    "control": 0.1,
    "identification": 2.5,
    "__init__": 1.9,
    "demo": 0.6,
    "bench": 3.6,
    "cli": 2.4,
}
WIDTH, HEIGHT, GAP, STOREY, MARGIN = 118, 44, 34, 92, 24

Edges = dict[tuple[str, str], set[str]]  # (importer, imported) → when


def edges() -> Edges:
    """Who imports whom among the rooms that are drawn, and when."""
    found: Edges = {}
    for x in imports():
        if not x.points_back and not {x.importer, x.imported} & {*GROUND, "__main__"}:
            found.setdefault((x.importer, x.imported), set()).add(x.when)
    return found


def storeys(found: Edges) -> list[list[str]]:
    """The rooms by how long the longest way down from them is."""
    level: dict[str, int] = {}
    for room in ROOMS:  # those that a room imports come before it
        if room not in GROUND and SHOWN.get(room, room):
            level[room] = max((level[below] + 1 for above, below in found if above == room), default=0)
    return [[r for r in level if level[r] == k] for k in range(max(level.values()) + 1)]


def needed_by_others(found: Edges) -> set[tuple[str, str]]:
    """The imports that a longer way down brings along anyway."""
    below: dict[str, set[str]] = {}
    for room in ROOMS:
        direct = {b for a, b in found if a == room}
        below[room] = direct.union(*(below[b] for b in direct))
    return {(a, b) for a, b in found if any(b in below[c] for x, c in found if x == a)}


def places(floors: list[list[str]]) -> dict[str, tuple[float, float]]:
    """The middle of every room: its column by hand, its storey from the imports."""
    return {
        room: (
            MARGIN + WIDTH / 2 + COLUMNS[room] * (WIDTH + GAP),
            MARGIN + HEIGHT / 2 + (len(floors) - 1 - k) * STOREY,
        )
        for k, rooms in enumerate(floors)
        for room in rooms
    }


def picture() -> str:
    """The drawing as SVG; the same text wherever it is made."""
    found = edges()
    floors = storeys(found)
    at = places(floors)
    carried = needed_by_others(found)
    width = max(x for x, _ in at.values()) + WIDTH / 2 + MARGIN
    depth = MARGIN + len(floors) * STOREY
    height = depth + HEIGHT + MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif">',
        "<title>The rooms of linkwise and their imports</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 1 L7 4 L0 7 z" fill="{LINE}"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
    ]
    for pair in sorted(found, key=lambda p: (p not in carried, ROOMS.index(p[0]), ROOMS.index(p[1]))):
        out.append(_line(at[pair[0]], at[pair[1]], found[pair], pair in carried))
    for k, rooms in enumerate(floors):
        out += [_box(at[room], room, FILLS[k % len(FILLS)]) for room in rooms]
    out += [
        f'<rect x="{MARGIN}" y="{depth:.0f}" width="{width - 2 * MARGIN:.0f}" height="{HEIGHT}" rx="4"'
        ' fill="#e4e7eb"/>',
        f'<text x="{width / 2:.0f}" y="{depth + 19:.0f}" text-anchor="middle" font-size="13" fill="{INK}">'
        f"{'  ·  '.join(GROUND)}</text>",
        f'<text x="{width / 2:.0f}" y="{depth + 36:.0f}" text-anchor="middle" font-size="11" fill="{PALE}">'
        "the ground that every room stands on</text>",
        "</svg>",
    ]
    return "\n".join(out) + "\n"


def _line(above: tuple[float, float], below: tuple[float, float], when: set[str], carried: bool) -> str:
    (x0, y0), (x1, y1) = above, below
    y0, y1 = y0 + HEIGHT / 2, y1 - HEIGHT / 2
    bend = min(40.0, (y1 - y0) / 2)
    style = f'stroke="{SHORT_CUT}" stroke-width="1"' if carried else f'stroke="{LINE}" stroke-width="1.6"'
    broken = ' stroke-dasharray="4 3"' if when == {"for types"} else ""
    tip = "" if carried else ' marker-end="url(#tip)"'
    way = f"M{x0:.0f} {y0:.0f} C{x0:.0f} {y0 + bend:.0f} {x1:.0f} {y1 - bend:.0f} {x1:.0f} {y1:.0f}"
    return f'<path d="{way}" fill="none" {style}{broken}{tip}/>'


def _box(at: tuple[float, float], room: str, fill: str) -> str:
    x, y = at
    name = SHOWN.get(room, room)
    return (
        f'<rect x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="4"'
        f' fill="{fill}" stroke="{LINE}"/>'
        f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle" font-size="15" fill="{INK}">{name}</text>'
    )
