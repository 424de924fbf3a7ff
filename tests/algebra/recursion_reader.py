"""Runs the recursions that explain() prints, line by line: what is printed must be what happens.

The printed lines name bodies k, their parents (p, or k+1 in a chain) and their children (j under a Σ, or
k-1). A loop runs all its lines for one body before it goes to the next, inward or outward as its title says.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import linkwise as lw
from linkwise.algebra.leaves import Leaf, dense_block, leaves_of
from linkwise.algebra.printing import symbol

_FACTOR = re.compile(r"([^\s()\[\]]+?)(\*?)\(([^()]*)\)")
_TERM = re.compile(r"(^|\s[+-]\s)")


class Reader:
    """Evaluates ``op.explain().recursion`` on a vector."""

    def __init__(self, op: lw.Operator) -> None:
        self.op = op
        self.text = op.explain().recursion
        leaves = leaves_of(op)
        owner = leaves[0].owner
        self.parents = owner.model.parents
        known: list[Leaf] = [leaf.upright() for leaf in leaves]
        if owner.is_default:
            known += [owner.phi, owner.psi]  # φ̃ and ψ̃ are printed with the edges of φ and ψ
        self.leaves = {symbol(leaf): leaf for leaf in known}
        self.vectors: dict[str, dict[int, np.ndarray]] = {}

    def run(self, x: np.ndarray) -> np.ndarray:
        self.vectors = {"x": dict(enumerate(np.split(x, np.cumsum(self.op.cols.sizes)[:-1])))}
        for order, lines in self._loops():
            for k in order:
                for line in lines:
                    name, right = line.split("(k) = ", 1)
                    self.vectors.setdefault(name, {})[k] = self._sum(right, k)
        y = self.vectors["y"]
        return np.concatenate([np.broadcast_to(y[k], (r,)) for k, r in enumerate(self.op.rows.sizes)])

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

    def _sum(self, right: str, k: int) -> Any:
        parts = _TERM.split(right)
        total: Any = 0.0
        sign = 1.0
        for part in parts:
            if part.strip() in ("+", "-"):
                sign = 1.0 if part.strip() == "+" else -1.0
            elif part.strip():
                total = total + sign * self._term(part.strip(), k)
        return total

    def _term(self, term: str, k: int) -> Any:
        if term.startswith("-"):
            return -self._term(term[1:].strip(), k)
        if term.startswith("Σ "):
            children = [j for j, p in enumerate(self.parents) if p == k]
            return sum((self._product(term[2:], k, j) for j in children), 0.0)
        if "k-1" in term:
            children = [j for j, p in enumerate(self.parents) if p == k]
            return sum((self._product(term, k, j) for j in children), 0.0)
        return self._product(term, k, None)

    def _product(self, term: str, k: int, child: int | None) -> Any:
        """c A(…) B(…) v(…), from the right; zero where it asks for the parent of a body on the world."""
        scale = re.match(r"([\d.]+(?:e[+-]?\d+)?)\s", term)
        factors = _FACTOR.findall(term)
        if any(index in ("p", "k+1") for _, _, index in factors) and self.parents[k] < 0:
            return 0.0
        name, star, index = factors[-1]
        assert not star, f"{term!r} does not end in a vector"
        y = self.vectors[name][self._body(index, k, child)]
        for name, star, index in reversed(factors[:-1]):
            matrix = dense_block(self.leaves[name].blocks[self._body(index, k, child)])
            y = (matrix.T if star else matrix) @ y
        return float(scale.group(1)) * y if scale else y

    def _body(self, index: str, k: int, child: int | None) -> int:
        """The body whose block or vector is meant; an edge (outer, inner) belongs to its outboard end."""
        where = index.split(",")[-1].strip()
        if where in ("j", "k-1"):
            assert child is not None
            return child
        return {"k": k, "p": self.parents[k], "k+1": self.parents[k]}[where]
