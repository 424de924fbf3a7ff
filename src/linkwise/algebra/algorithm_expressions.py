"""Expressions of an algorithm's code as formulas of body k, its parent and its children."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from .algorithm_trace import Run
from .algorithm_values import (
    ATOM,
    PRODUCT,
    SUM,
    Items,
    Loop,
    Record,
    Several,
    Text,
    Thing,
    UnreadableError,
    is_quantity,
    is_zero,
    standing,
    whole_number,
)
from .recursion_text import LOCAL


class Expressions:
    """One function while it is read: its variables, and how far its run has come."""

    def __init__(self, reader: Any, run: Run, closure: Any, in_loop: Loop | None = None) -> None:
        self.reader, self.run, self.closure = reader, run, closure
        self.letters = reader.letters
        self.env: dict[str, Any] = {}
        self.cursor = 0
        self.in_loop = in_loop
        self.first: dict[str, Any] = {}  # the variables of a comprehension at some body
        self.unreadable = False
        self.own_lines: list[Any] = []

    def value(self, node: ast.expr) -> Any:
        """What stands for an expression."""
        read = getattr(self, f"_read_{type(node).__name__.lower()}", None)
        try:
            found = read(node) if read is not None else None
        except UnreadableError:
            found = None
        if found is None:
            known = self.runtime(node, failure := object())
            if known is failure or is_quantity(known):
                raise UnreadableError
            found = Thing(known)
        return found

    def formula(self, node: ast.expr) -> Text:
        """The same as a formula at body k."""
        return self.as_formula(self.value(node))

    def as_formula(self, value: Any) -> Text:
        if isinstance(value, Text):
            return value
        if isinstance(value, Items):
            return value.own
        if isinstance(value, Several):
            parts = [self.as_formula(x) for x in value.items]
            uses = frozenset().union(*(x.uses for x in parts))
            return Text(f"({', '.join(x.text for x in parts)})", ATOM, uses)
        if isinstance(value, Thing) and is_zero(value.value):
            return Text("0")
        raise UnreadableError

    def _read_constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return Text(f"{node.value:g}")
        return Thing(node.value)

    def _read_name(self, node: ast.Name) -> Any:
        scope: Any = self
        while scope is not None:
            if node.id in scope.env:
                return scope.env[node.id]
            scope = scope.closure
        return self._known(node, node.id)

    def _read_attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        if isinstance(owner, Record) and node.attr in owner.fields:
            return owner.fields[node.attr]
        if node.attr in ("mT", "T") and isinstance(owner, (Text, Items)):
            return self._adjoint(self.as_formula(owner))
        if node.attr in ("real", "matrix"):
            return owner
        if isinstance(owner, (Text, Items)):
            return self._part(self.as_formula(owner), node.attr)
        return self._known(node, node.attr)

    def _part(self, x: Text, attribute: str) -> Text | None:
        """The rotation R(p,k) and offset l(p,k) of φ(p,k), the numbers of M(k)."""
        letter = {"rotation": "R", "R": "R", "l": "l", "h": "h", "J": "J", "m": "m"}.get(attribute)
        _, bracket, index = x.text.partition("(")
        return None if letter is None else Text(f"{letter}{bracket}{index}", ATOM, x.uses)

    def _known(self, node: ast.expr, name: str) -> Any:
        """A value that comes from outside of what is read, told by what it is when the code runs."""
        value = self.runtime(node)
        letter = self.letters.of(name)
        return standing(name, letter, value)

    def runtime(self, node: ast.expr, failure: Any = None) -> Any:
        """The value of an expression when the function ended; ``failure`` where it cannot be told."""
        values: dict[str, Any] = {}
        scope: Any = self
        while scope is not None:
            values = scope.run.values | scope.first | values
            scope = scope.closure
        try:
            code = compile(ast.fix_missing_locations(ast.Expression(node)), "<explained>", "eval")
            return eval(code, self.run.globals, values)
        except (LookupError, NameError, AttributeError, TypeError, ValueError):
            return failure

    def _adjoint(self, x: Text) -> Text:
        if x.text in ("0", "I"):
            return x
        inner = x.text if x.level == ATOM and not x.text.startswith("[") else None
        shown = f"[{x.text}]{self.letters.star}" if inner is None else self.letters.adjoint(inner)
        return Text(shown, ATOM, x.uses)

    def _read_binop(self, node: ast.BinOp) -> Any:
        if isinstance(node.op, ast.BitOr):
            left, right = self.value(node.left), self.value(node.right)
            both = isinstance(left, Record) and isinstance(right, Record)
            return Record(left.fields | right.fields) if both else None
        a, b = self.formula(node.left), self.formula(node.right)
        uses = a.uses | b.uses
        if isinstance(node.op, (ast.MatMult, ast.Mult)):
            if "0" in (a.text, b.text):
                return Text("0")
            if "I" in (a.text, b.text) or "1" in (a.text, b.text):
                return b if a.text in ("I", "1") else a
            return Text(f"{a.wrapped(PRODUCT)} {b.wrapped(PRODUCT)}", PRODUCT, uses)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            minus = isinstance(node.op, ast.Sub)
            if b.text == "0":
                return a
            if a.text == "0" and not minus:
                return b
            right = b.wrapped(PRODUCT if minus else SUM)
            if right.startswith("-"):
                minus, right = not minus, right[1:]
            return Text(f"{a.text} {'-' if minus else '+'} {right}", SUM, uses)
        if isinstance(node.op, ast.Div):
            return Text(f"{a.wrapped(PRODUCT)} / {b.wrapped(ATOM)}", PRODUCT, uses)
        if isinstance(node.op, ast.Pow):
            return Text(f"{a.wrapped(ATOM)}^{b.wrapped(ATOM)}", PRODUCT, uses)
        return None

    def _read_unaryop(self, node: ast.UnaryOp) -> Any:
        x = self.formula(node.operand)
        return Text(f"-{x.wrapped(PRODUCT)}", PRODUCT, x.uses) if isinstance(node.op, ast.USub) else None

    def _read_ifexp(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self._holds(node.test) else node.orelse)

    def _holds(self, test: ast.expr) -> bool:
        """Which way a condition went."""
        value = self.runtime(test)
        if value is None and isinstance(test, ast.Compare):  # "s is None" of a loop's own variable
            stands = self.value(test.left)
            empty = isinstance(stands, Thing) and stands.value is None
            return empty == isinstance(test.ops[0], ast.Is)
        return bool(value) if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__len__") else len(value) > 0

    def _read_tuple(self, node: ast.Tuple | ast.List) -> Several:
        items: list[Any] = []
        for x in node.elts:
            if isinstance(x, ast.Starred):
                inner = self.value(x.value)
                items += inner.items if isinstance(inner, Several) else [inner]
            else:
                items.append(self.value(x))
        return Several(items)

    _read_list = _read_tuple

    def _read_subscript(self, node: ast.Subscript) -> Any:
        owner, index = self.value(node.value), node.slice
        if isinstance(owner, Record):
            return owner.fields.get(getattr(index, "value", ""))
        place = whole_number(index)
        if isinstance(owner, Several) and place is not None:
            return owner.items[place] if -len(owner.items) <= place < len(owner.items) else None
        if isinstance(owner, Several) and isinstance(index, ast.Slice):
            return Several(owner.items, owner.each)
        shown = ast.unparse(index).strip("()").replace("..., ", "").replace(", :", "")
        if isinstance(owner, Items) and shown in ("0", "None"):  # a column as a vector, and back
            return owner
        if isinstance(owner, Items):
            at = self.value(index)
            if isinstance(at, Text) and at.text == "k":
                return owner.own
            raise UnreadableError
        x = self.as_formula(owner)
        if shown in ("...", "0", "()") or "None" in shown:
            return x
        if shown in (":3", "3:") and x.level == ATOM and not x.text.startswith("["):
            return Text(self.letters.lowered(x.text, angular=shown == ":3"), ATOM, x.uses)
        if not re.fullmatch(r"[\d:, ]+", shown):
            raise UnreadableError
        return Text(f"{x.wrapped(ATOM)}[{shown}]", ATOM, x.uses)

    def _read_dict(self, node: ast.Dict) -> Record:
        """Quantities by name; in a loop each has its line."""
        fields: dict[str, Any] = {}
        for key, x in zip(node.keys, node.values):
            value = self.value(x)
            if key is None:
                fields |= value.fields if isinstance(value, Record) else {}
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                fields[key.value] = self._named(key.value, value) if self.in_loop is not None else value
        return Record(fields)

    def _read_lambda(self, node: ast.Lambda) -> Thing:
        return Thing(node)

    def _read_listcomp(self, node: ast.ListComp | ast.GeneratorExp) -> Any:
        """One formula for every body."""
        generator = node.generators[0]
        source = self.value(generator.iter)
        over_bodies = isinstance(source, Items) or (isinstance(source, Several) and source.each)
        if len(node.generators) > 1 or not over_bodies:
            raise UnreadableError
        scope = type(self)(self.reader, self.run, self, self.in_loop or self.reader.loop(LOCAL.removesuffix(":")))
        scope._bind(generator.target, source)
        scope.cursor, first = self.cursor, self.cursor
        scope.first = self._first(generator)
        found = scope.value(node.elt)
        self.own_lines += scope.own_lines
        self.cursor = scope.cursor
        self._skip_others(first)
        if isinstance(found, Text):
            return self._of_all(found)
        return found if isinstance(found, (Items, Several, Record)) else Thing()

    def _of_all(self, x: Text) -> Items:
        """A formula of body k as a quantity of all bodies."""
        if x.level == ATOM and x.text.endswith("(k)") and len(x.uses) == 1:
            return Items(next(iter(x.uses)), x.text.removesuffix("(k)"))
        return Items(None, formula=x)

    _read_generatorexp = _read_listcomp

    def _first(self, generator: ast.comprehension) -> dict[str, Any]:
        """The variables of a comprehension at some body."""
        source = self.runtime(generator.iter)
        try:
            items = list(source) if source is not None else []
        except TypeError:
            return {}
        item = items[self.reader.body % len(items)] if items else None
        if isinstance(generator.target, ast.Name):
            return {generator.target.id: item}
        names = [x.id if isinstance(x, ast.Name) else "" for x in getattr(generator.target, "elts", [])]
        return dict(zip(names, item)) if isinstance(item, (tuple, list)) else {}

    def _bind(self, target: ast.expr, source: Any) -> None:
        """The variable of a loop over bodies."""
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = source.items if isinstance(source, Several) else [source] * len(target.elts)
            for part, item in zip(target.elts, parts):
                self._bind(part, item)
        elif isinstance(target, ast.Name):
            if isinstance(source, Several) and source.each and len(source.items) == 1:
                source = source.items[0]
            self.env[target.id] = source.own if isinstance(source, Items) else source

    # --- what statements and calls bring ---------------------------------------------------------------

    def _read_call(self, node: ast.Call) -> Any:
        raise NotImplementedError

    def _named(self, name: str, value: Any) -> Any:
        raise NotImplementedError

    def _skip_others(self, first: int) -> None:
        raise NotImplementedError
