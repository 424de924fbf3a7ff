"""Calls in an algorithm's code: formulas by name, sweeps, functions that are read in their turn."""

from __future__ import annotations

import ast
from typing import Any

from .algorithm_expressions import Expressions
from .algorithm_sweeps import read_sweep
from .algorithm_trace import SWEEPS, Run
from .algorithm_values import (
    ATOM,
    PRODUCT,
    SUM,
    Items,
    Record,
    Several,
    Text,
    Thing,
    UnreadableError,
    is_quantity,
    moved_to_child,
    whole_number,
)

_SAME = frozenset(
    {
        *("symmetric", "matrix_of", "whole", "dense", "join", "join_rows", "asarray", "astype", "join_columns"),
        *("stack", "broadcast_to", "fit", "total", "by_turns", "as_numpy", "constant", "split_forces", "reshape"),
    }
)
_INVERSES = frozenset({"inverse_spd", "inverse", "pivot_inverse", "invert", "inv", "general_inverse"})
_CROSS = {"cross_motion": "", "cross": "", "cross_force": "*"}
_ZEROS = frozenset({"zeros", "at_rest", "no_motion", "still"})
_MATRICES = frozenset({"matrix", "from_blocks"})
_LISTS = frozenset({"zip", "enumerate", "range", "list", "reversed", "len"})


class Calls(Expressions):
    """The calls of a function."""

    def _read_call(self, node: ast.Call) -> Any:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in SWEEPS and isinstance(node.func, ast.Attribute):
            return self._sweep(name, node)
        known = self._formula_of(name, node)
        if known is not None:
            return known
        receiver = self.value(node.func.value) if isinstance(node.func, ast.Attribute) else None
        given = self._arguments(node)
        if name == "unzip":
            return Several(given[0].items) if isinstance(given[0], Several) else given[0]
        if name in _LISTS:
            return self._for_each(name, given)
        named = {x.arg: self.value(x.value) for x in node.keywords if x.arg is not None}
        run = self._next(name) or self._next(getattr(self.runtime(node.func), "__name__", name))
        if run is None:
            return self._unknown(name, node, given, receiver)
        if receiver is not None and run.tree.args.args and run.tree.args.args[0].arg == "self":
            given = [receiver, *given]
        return self._read(run, node, given, named)

    def _for_each(self, name: str, given: list[Any]) -> Any:
        """What Python's own functions of lists go through: all bodies."""
        if name in ("range", "enumerate"):
            return Several([Text("k"), *(given if name == "enumerate" else [])], each=True)
        return Several(given, each=True) if name == "zip" else given[0] if given else Thing()

    def _arguments(self, node: ast.Call) -> list[Any]:
        return self._read_tuple(ast.Tuple(node.args)).items

    def _read(self, run: Run, node: ast.Call, given: list[Any], named: dict[str, Any]) -> Any:
        nested = isinstance(node.func, ast.Name) and self._is_own(node.func.id)
        found = self.reader.call(run, given, named, self if nested else None, self.in_loop)
        return Thing() if found is None else found

    def _is_own(self, name: str) -> bool:
        """Whether a function is defined in this one, or in one around it."""
        return name in self.env or (self.closure is not None and self.closure._is_own(name))

    def _next(self, name: str) -> Run | None:
        """The run that a call made: the next one of this name."""
        stands = self.env.get(name)
        names = {name} | ({"<lambda>"} if isinstance(stands, Thing) and isinstance(stands.value, ast.Lambda) else set())
        for i in range(self.cursor, len(self.run.inner)):
            run = self.run.inner[i]
            if run.name in names and run.tree is not None:
                alike = [x for x in self.run.inner[i:] if x.tree is run.tree]
                run = alike[self.reader.body] if len(alike) == self.reader.bodies else run
                self.cursor = i + 1
                run.elsewhere = {line for x in alike for line in x.lines}
                return run
        return None

    def _formula_of(self, name: str, node: ast.Call) -> Any:
        """Functions that are formulas by themselves."""
        if not node.args:
            return None
        if name in ("transpose", "swapaxes"):
            return self._adjoint(self.formula(node.args[0]))
        if name in _ZEROS:
            return Text("0")
        if name in ("split", "split_rows", "unstack"):
            x = self.value(node.args[0])
            is_vector = isinstance(x, Text) and x.level == ATOM and x.text != "0"
            return Items(next(iter(x.uses), x.text), x.text) if is_vector else x
        if name in ("at_parents", "from_children"):
            return self._neighbours(name, self.formula(node.args[0]))
        if name in ("concatenate", "block") and isinstance(node.args[0], (ast.List, ast.Tuple)):
            parts = [self.as_formula(x) for x in self._read_tuple(node.args[0]).items]
            beside = any(x.arg == "axis" and whole_number(x.value) == -1 for x in node.keywords)
            rows = (", " if beside else "; ").join(x.text for x in parts)
            return Text(f"[{rows}]", ATOM, frozenset().union(*(x.uses for x in parts)))
        if name == "centripetal":
            w, x = (self.formula(y) for y in node.args)
            times = self.letters.times
            return Text(f"{w.text} {times} [{w.text} {times} {x.text}]", SUM, w.uses | x.uses)
        if name == "eye":
            return Text("I")
        if name == "base_acceleration":
            return Text("[0; -g]")
        if name in _SAME:
            return self.value(node.args[0])
        if name in ("with_exact_rows", "not_a_number_where"):  # the same numbers, written otherwise
            return self.value(node.args[1])
        if name in ("moved", "adjoint_times") and isinstance(node.func, ast.Attribute):
            x, other = self.formula(node.func.value), self.formula(node.args[0])
            factors = [other, x, self._adjoint(other)] if name == "moved" else [self._adjoint(x), other]
            return Text(" ".join(y.wrapped(PRODUCT) for y in factors), PRODUCT, x.uses | other.uses)
        if name in _INVERSES:
            x = self.formula(node.args[0])
            return Text(f"{self._power(x)}", ATOM, x.uses)
        if name in _CROSS:
            a, b = (self.formula(x) for x in node.args[:2])
            sign = self.letters.times + (self.letters.star if _CROSS[name] else "")
            return Text(f"{a.wrapped(ATOM)} {sign} {b.wrapped(PRODUCT)}", SUM, a.uses | b.uses)
        if name in ("congruence", "adjoint_congruence"):
            phi, P = (self.formula(x) for x in node.args[:2])
            left, right = (phi, self._adjoint(phi)) if name == "congruence" else (self._adjoint(phi), phi)
            return Text(f"{left.text} {P.wrapped(PRODUCT)} {right.text}", PRODUCT, phi.uses | P.uses)
        if name in _MATRICES and isinstance(node.func, ast.Attribute) and len(node.args) >= 2:
            return self._matrix(node)
        return None

    def _neighbours(self, name: str, x: Text) -> Items:
        """A quantity at every body's parent, or summed over its children."""
        if name == "at_parents":
            return Items(next(iter(x.uses), ""), x.text.removesuffix("(k)"), pair="(p)")
        return Items(None, formula=Text(f"{self.letters.sum}{moved_to_child(x.wrapped(PRODUCT))}", PRODUCT, x.uses))

    def _power(self, x: Text) -> str:
        if x.level < ATOM:
            return f"[{x.text}]{self.letters.inverse}"
        base, bracket, index = x.text.partition("(")
        return f"{base}{self.letters.inverse}{bracket}{index}"

    def _matrix(self, node: ast.Call) -> Text:
        """A matrix from blocks on its diagonal and beside it."""
        parts = [x for x in self._arguments(node)[:3] if not isinstance(x, Thing)]
        formulas = [self.as_formula(y) for x in parts for y in (x.items if isinstance(x, Several) else [x])]
        if not formulas:
            raise UnreadableError
        uses = frozenset().union(*(x.uses for x in formulas))
        return Text(f"{self.letters.word('blocks')} {', '.join(x.text for x in formulas)}", PRODUCT, uses)

    def _unknown(self, name: str, node: ast.Call, arguments: list[Any], receiver: Any) -> Any:
        """A function that is not gone into: its name and what it is given."""
        known = self.runtime(node, failure := object())
        made = self.runtime(node.func) if isinstance(node.func, ast.Name) else None
        fields = getattr(made, "_fields", None) or list(getattr(made, "__dataclass_fields__", ()))
        if fields:
            told = [*zip(fields, arguments), *((x.arg, self.value(x.value)) for x in node.keywords)]
            return Record({str(key): self._named(str(key), x) if isinstance(x, Items) else x for key, x in told})
        if known is not failure and not is_quantity(known):
            return Thing(known)
        if not arguments:
            raise UnreadableError
        given = [self.as_formula(x) for x in arguments]
        if isinstance(receiver, (Text, Items)):
            given = [self.as_formula(receiver), *given]
        uses = frozenset().union(*(x.uses for x in given)) if given else frozenset()
        return Text(f"{self.letters.word(name)}({', '.join(x.text for x in given)})", ATOM, uses)

    # --- sweeps --------------------------------------------------------------------------------------

    def _sweep(self, name: str, node: ast.Call) -> Any:
        """A sweep or walk over the tree: a loop of the lines of its step."""
        for i in range(self.cursor, len(self.run.inner)):
            if self.run.inner[i].name == name and self.run.inner[i].tree is None:
                self.cursor = i + 1
                return read_sweep(self, self.run.inner[i], self._arguments(node))
        return Thing()
