"""Runs the recursions that lw.explain() prints, line by line: what is printed must be what happens.

    sum := cross {(+|-) cross},  cross := product [× cross],  product := factor {factor}
    factor := number | Σ product | [sum] | [sum; sum] | name(index)

A name is a quantity of an earlier line, or one that the robot brings: φ, R and l of edges, H, M, J and h of bodies, and
the arrays of the call. X⁻¹ is the inverse of X where no line says otherwise; X_ω and X_v are its halves.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import linkwise as lw
from linkwise.dynamics.links import evaluate
from linkwise.spatial import cross_force, cross_motion, skew

_TOKEN = re.compile(r"\[|\]|;|Σ|×\*|×|[+-](?= )|-(?=[^\s])|\d+(?:\.\d+)?(?=\s)|[^\s\[\]();×]+?\*?\([^()]*\)|g")
_FACTOR = re.compile(r"(.+?)(\*?)\(([^()]*)\)")


class AlgorithmReader:
    """Evaluates ``lw.explain(robot, name, …).loops`` for one state."""

    def __init__(self, robot: lw.Robot, explanation: Any, q: np.ndarray, **arrays: np.ndarray) -> None:
        self.loops, self.parents = explanation.loops, robot.parents
        links = evaluate(robot, q)
        self.gravity = np.asarray(robot.gravity)[:, None]
        n = len(self.parents)
        self.edges = {
            "φ": [x.matrix for x in links.phi],
            "R": [x.R for x in links.phi],
            "l": [x.l[:, None] for x in links.phi],
        }
        self.known: dict[str, dict[int, Any]] = {
            "H": dict(enumerate(links.H)),
            "M": {k: x.matrix for k, x in enumerate(links.M)},
            "J": {k: x.J for k, x in enumerate(links.M)},
            "h": {k: x.h[:, None] for k, x in enumerate(links.M)},
            **{name: {k: x[robot.v_slices[k], None] for k in range(n)} for name, x in arrays.items()},
        }

    def run(self, name: str) -> np.ndarray:
        """All numbers of a quantity, body after body."""
        for loop in self.loops:
            assert not loop.code, loop.title
            inward = loop.title.startswith("inward")
            for start in loop.starts:
                left, right = start.split(" = ")
                quantity = left.partition("(")[0]
                self.known.setdefault(quantity, {})[-1] = self._sum(_TOKEN.findall(right + " "), 0, None)
            for k in range(len(self.parents) - 1, -1, -1) if inward else range(len(self.parents)):
                for line in loop.lines:
                    quantity = line.left.partition("(")[0]
                    self.known.setdefault(quantity, {})[k] = self._sum(_TOKEN.findall(line.right + " "), k, None)
        return np.concatenate([self.known[name][k][:, 0] for k in range(len(self.parents))])

    def _sum(self, tokens: list[str], k: int, child: int | None) -> Any:
        total: Any = 0.0
        sign = 1.0
        while tokens and tokens[0] not in ("]", ";"):
            if tokens[0] in "+-":
                sign = 1.0 if tokens.pop(0) == "+" else -1.0
                continue
            total, sign = total + sign * self._cross(tokens, k, child), 1.0
        return total

    def _cross(self, tokens: list[str], k: int, child: int | None) -> Any:
        left = self._product(tokens, k, child)
        if not tokens or tokens[0] not in ("×", "×*"):
            return left
        force = tokens.pop(0) == "×*"
        right = self._cross(tokens, k, child)
        if np.ndim(left) == 0 or np.ndim(right) == 0:
            return 0.0
        if len(left) == 3:
            return skew(left[:, 0]) @ right
        return (cross_force if force else cross_motion)(left, right)

    def _product(self, tokens: list[str], k: int, child: int | None) -> Any:
        value: Any = None
        while tokens and tokens[0] not in ("]", ";", "+", "-", "×", "×*"):
            factor = self._factor(tokens, k, child)
            zero = any(np.ndim(x) == 0 and x == 0.0 for x in (value, factor) if x is not None)
            small = np.ndim(value) == 0 or np.ndim(factor) == 0
            value = 0.0 if zero else factor if value is None else value * factor if small else value @ factor
        return value

    def _factor(self, tokens: list[str], k: int, child: int | None) -> Any:
        token = tokens.pop(0)
        if token == "Σ":
            children = [j for j, p in enumerate(self.parents) if p == k]
            copies = [list(tokens) for _ in children] or [list(tokens)]
            values = [self._product(rest, k, j) for rest, j in zip(copies, children or [None])]
            tokens[:] = copies[0]
            return sum(values) if children else 0.0
        if token == "[":
            parts = [self._sum(tokens, k, child)]
            while tokens.pop(0) == ";":
                parts.append(self._sum(tokens, k, child))
            whole = [np.zeros((3, 1)) if np.ndim(x) == 0 else x for x in parts]
            return np.vstack(whole) if len(parts) > 1 else parts[0]
        if token == "g":
            return self.gravity
        if token[0].isdigit():
            return float(token)
        return self._named(token, k, child)

    def _named(self, token: str, k: int, child: int | None) -> Any:
        name, star, index = _FACTOR.fullmatch(token).groups()  # type: ignore[union-attr]
        only = next((j for j, p in enumerate(self.parents) if p == k), None)
        outboard = child if child is not None or "j" in index else only
        ends = {"k": k, "p": self.parents[k], "k+1": self.parents[k], "j": outboard, "k-1": outboard}
        body = ends[index.split(",")[-1].strip()]
        if body is None:
            return 0.0
        value = self.edges[name][body] if "," in index else self._quantity(name, body)
        return value.T if star and np.ndim(value) else value

    def _quantity(self, name: str, body: int) -> Any:
        if name in self.known:
            return self.known[name][body]
        if name.endswith(("_ω", "_v")):
            value = self._quantity(name[:-2], body)
            half = slice(0, 3) if name.endswith("_ω") else slice(3, 6)
            return np.zeros((3, 1)) if np.ndim(value) == 0 else value[half]
        assert name.endswith("⁻¹"), f"nothing says what {name} is"
        return np.linalg.inv(self._quantity(name.removesuffix("⁻¹"), body))
