"""Runs the recursions that explain() prints, line by line: what is printed must be what happens.

The printed lines name bodies k, their parents (p, or k+1 in a chain) and their children (j under a Σ, or
k-1). A loop runs all its lines for one body before it goes to the next, inward or outward as its title says.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import linkwise as lw
from linkwise.algebra.blocks import dense_block
from linkwise.algebra.kinds import Leaf, leaves_of
from linkwise.algebra.printing import text

_TOKEN = re.compile(r"[^\s()\[\]]+?\*?\([^()]*\)|\d[\d.]*(?:e[+-]?\d+)?|Σ|\[|\]|\+|-")
_FACTOR = re.compile(r"(.+?)(\*?)\(([^()]*)\)")

Zero = None  # what a missing parent or child contributes


def _plus(x: Any, y: Any) -> Any:
    return y if x is Zero else x if y is Zero else x + y


class Reader:
    """Evaluates ``op.explain().recursion`` on a vector."""

    def __init__(self, op: lw.Operator) -> None:
        self.op = op
        self.text = op.explain().recursion
        leaves = leaves_of(op.numbers)
        owner = leaves[0].owner
        self.parents = owner.model.parents
        known: list[Leaf] = [leaf.upright() for leaf in leaves]
        if owner.is_default:
            known += [owner.phi, owner.psi]  # φ̃ and ψ̃ are printed with the edges of φ and ψ
        self.leaves = {text(leaf.upright()): leaf for leaf in known}
        self.vectors: dict[str, dict[int, np.ndarray]] = {}

    def run(self, x: np.ndarray) -> np.ndarray:
        self.vectors = {"x": dict(enumerate(np.split(x, np.cumsum(self.op.cols.sizes)[:-1])))}
        for order, lines in self._loops():
            for k in order:
                for line in lines:
                    name, right = line.split("(k) = ", 1)
                    self.vectors.setdefault(name, {})[k] = self._sum(_TOKEN.findall(right), k, None)
        rows = zip(self.vectors["y"].items(), [self.op.rows.sizes[k] for k in self.vectors["y"]])
        blocks = {k: np.zeros(r) if y is Zero else y for (k, y), r in rows}
        return np.concatenate([blocks[k] for k in sorted(blocks)])

    def _loops(self) -> list[tuple[Any, list[str]]]:
        loops: list[tuple[Any, list[str]]] = []
        n = len(self.parents)
        for line in self.text.splitlines():
            if not line.startswith("    "):
                skip = line.strip().startswith("first, ")  # P, D, G, … are taken from the leaves
                inward = "inward" in line
                loops.append((() if skip else range(n - 1, -1, -1) if inward else range(n), []))
            else:
                loops[-1][1].append(line.strip())
        return loops

    # --- expressions: sum := [-] term {(+|-) term}, term := [number] (A(…) term | Σ term | [sum] | v(…)) ---

    def _sum(self, tokens: list[str], k: int, child: int | None) -> Any:
        total, sign = Zero, 1.0
        while tokens and tokens[0] != "]":
            if tokens[0] in "+-":
                sign = 1.0 if tokens.pop(0) == "+" else -1.0
            value = self._term(tokens, k, child)
            total = _plus(total, Zero if value is Zero else sign * value)
        return total

    def _term(self, tokens: list[str], k: int, child: int | None) -> Any:
        token = tokens.pop(0)
        if token == "Σ":
            children = [j for j, p in enumerate(self.parents) if p == k]
            copies = [list(tokens) for _ in children] or [list(tokens)]
            values = [self._term(rest, k, j) for rest, j in zip(copies, children or [None])]
            tokens[:] = copies[0]
            total = Zero
            for value in values:
                total = _plus(total, value)
            return total
        if token == "[":
            inner = self._sum(tokens, k, child)
            assert tokens.pop(0) == "]"
            return inner
        if token[0].isdigit():
            value = self._term(tokens, k, child)
            return Zero if value is Zero else float(token) * value
        return self._factor(token, tokens, k, child)

    def _factor(self, token: str, tokens: list[str], k: int, child: int | None) -> Any:
        name, star, index = _FACTOR.fullmatch(token).groups()  # type: ignore[union-attr]
        body = self._body(index, k, child)
        if name not in self.leaves:  # a vector ends a product
            assert not star
            return Zero if body is None else self.vectors[name][body]
        value = self._term(tokens, k, child)
        block = Zero if body is None else self.leaves[name].blocks[body]
        if value is Zero or block is Zero:
            return Zero
        matrix = dense_block(block)
        return (matrix.T if star else matrix) @ value

    def _body(self, index: str, k: int, child: int | None) -> int | None:
        """The body whose block or vector is meant; an edge (inner, outer) belongs to its outboard end."""
        where = index.split(",")[-1].strip()
        parent = self.parents[k] if self.parents[k] >= 0 else None
        only = next((j for j, p in enumerate(self.parents) if p == k), None)
        return {"k": k, "p": parent, "k+1": parent, "j": child, "k-1": only}[where]
