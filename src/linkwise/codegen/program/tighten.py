"""An order made tighter: what ends the wait of others is computed as soon as it can be.

Depth first, a value is computed where it is first needed. If it is the last to need its arguments, these wait until
then, each in a register or in memory, where it could have taken their place at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...symbols.scalar import Scalar
from .fusion import is_simple, together


def tightened(order: Sequence[Scalar], uses: Mapping[int, int]) -> list[Scalar]:
    """The same values; one is moved ahead where all its arguments are there, and one of them has no other use left."""
    groups = together(order, uses)
    arguments = _arguments(groups)
    users: list[list[int]] = [[] for _ in groups]
    for i, found in enumerate(arguments):
        for j in found:
            users[j].append(i)
    left = list(map(len, users))  # uses
    missing = list(map(len, arguments))
    waits = [not _is_read(group[-1]) for group in groups]
    done = bytearray(len(groups))
    result: list[Scalar] = []
    for first in range(len(groups)):
        stack = [first]
        while stack:
            i = stack.pop()
            if done[i] or missing[i]:
                continue
            done[i] = True
            result += groups[i]
            able = []
            for u in users[i]:
                missing[u] -= 1
                if not missing[u]:
                    able.append(u)
            for j in arguments[i]:
                left[j] -= 1
                if left[j] == 1 and waits[j]:  # another use of it may be its last now
                    able += [u for u in users[j] if not done[u] and not missing[u]]
            if able:
                stack += sorted({u for u in able for j in arguments[u] if left[j] == 1 and waits[j]}, reverse=True)
    return result


def _arguments(groups: Sequence[Sequence[Scalar]]) -> list[list[int]]:
    """By group, the groups that it needs, each once."""
    group_of = {id(x): i for i, group in enumerate(groups) for x in group}
    found = []
    for group in groups:
        needed = []
        for x in group:
            for a in x.args:
                i = group_of.get(id(a))
                if i is not None and i not in needed:
                    needed.append(i)
        if len(group) > 1:
            needed.remove(group_of[id(group[0])])
        found.append(needed)
    return found


def _is_read(x: Scalar) -> bool:
    """Whether memory has a value: inputs, and the sines and cosines of inputs."""
    return x.op == "input" or (x.op in ("sin", "cos") and is_simple(x.args[0]))
