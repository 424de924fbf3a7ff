"""Bodies in order, base first, each name once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..errors import InputError, ModelError
from .parts import WORLD, Body


def some(names: Iterable[str]) -> str:
    """Names in a message, twenty of them at most."""
    names = list(names)
    shown = ", ".join(repr(n) for n in names[:20])
    return shown + (f" and {len(names) - 20} more" if len(names) > 20 else "") if names else "none"


def refuse_duplicates(what: str, robot: str, names: Iterable[str]) -> None:
    """An error where a name is given twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ModelError(f"robot {robot!r}: the {what} name {name!r} is used twice; names must be unique")
        seen.add(name)


def sorted_base_first(robot: str, bodies: Sequence[Body]) -> tuple[Body, ...]:
    """The bodies with every parent before its children, otherwise in the order given."""
    for b in bodies:
        if not isinstance(b, Body):
            raise InputError(f"robot {robot!r}: bodies must be lw.Body objects, got {b!r}")
    refuse_duplicates("body", robot, (b.name for b in bodies))
    names = {b.name for b in bodies}
    if WORLD not in names:  # "world" means the world unless a body bears that name, as root links of URDF files do
        bodies = [replace(b, parent=None) if b.parent == WORLD else b for b in bodies]
    waiting: dict[str | None, list[Body]] = {}
    placed: set[str | None] = {None}
    ordered: list[Body] = []
    for b in bodies:
        if b.parent is not None and b.parent not in names:
            raise ModelError(f"robot {robot!r}: body {b.name!r} hangs on {b.parent!r}, which does not exist")
        if b.parent not in placed:
            waiting.setdefault(b.parent, []).append(b)
            continue
        ready = [b]
        while ready:
            x = ready.pop()
            ordered.append(x)
            placed.add(x.name)
            ready.extend(reversed(waiting.pop(x.name, [])))
    if len(ordered) < len(bodies):
        lost = [b.name for b in bodies if b.name not in placed]
        raise ModelError(f"robot {robot!r}: bodies {some(lost)} hang on each other in a cycle; a tree has none")
    return tuple(ordered)
