"""An algorithm of the catalogue as recursions, read from its code.

:mod:`.algorithm_trace` has found which functions ran, and which of their lines. Here these lines are read, statement by
statement, with formulas in place of numbers: an assignment to ``P`` is the line that says what P(k) is, a sweep over
the tree is a loop of such lines, a function that was called is read in its turn. What is no formula of a body and its
neighbours stays as it is in the code, the whole function of it. So a changed algorithm has a changed explanation.
"""

from __future__ import annotations

import ast
from typing import Any

from .algorithm_calls import Calls
from .algorithm_page import Page
from .algorithm_trace import Run
from .algorithm_values import ATOM, Items, Loop, Record, Several, Text, Thing, UnreadableError, is_quantity, standing
from .recursion_text import LOCAL, ONCE


class Reader(Page):
    """Reads runs of functions onto a page."""

    def call(
        self,
        run: Run,
        given: list[Any],
        named: dict[str, Any],
        closure: Scope | None = None,
        in_loop: Loop | None = None,
    ) -> Any:
        """What a function returns, its lines collected; lines go to ``in_loop`` where it is called in one."""
        scope = Scope(self, run, closure, in_loop)
        arguments = run.tree.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        scope.env.update(zip(names, given))
        if arguments.vararg is not None:
            scope.env[arguments.vararg.arg] = Several(list(given[len(names) :]))
        scope.env.update(named)
        for name, x in scope.env.items():
            scope.env[name] = self.settled(name, x, run.values.get(name))
        if isinstance(run.tree, ast.Lambda):
            return scope.value(run.tree.body)
        found = scope.block(run.tree.body)
        if not scope.unreadable:
            return found
        scope.leave_as_code()
        return Thing()

    def settled(self, name: str, stands: Any, value: Any) -> Any:
        """What stands for a variable, known what it is when the code runs: objects are no formulas."""
        if isinstance(stands, Thing) and stands.value is None and is_quantity(value):
            return standing(name, self.letters.of(name), value)
        is_object = value is not None and not is_quantity(value) and not isinstance(value, (int, float))
        return Thing(value) if isinstance(stands, Text) and is_object else stands


class Scope(Calls):
    """The statements of a function."""

    def block(self, statements: list[ast.stmt]) -> Any:
        """The returned value of the statements that ran; None where they went to their end."""
        for statement in statements:
            if isinstance(statement, ast.FunctionDef):
                self.env[statement.name] = Thing(statement)
                continue
            if not self.run.ran(statement):
                continue
            try:
                found = self._statement(statement)
            except UnreadableError:
                self.unreadable = True
                found = Thing() if isinstance(statement, ast.Return) else None
                self._forget(statement)
            if found is not None:
                return found
        return None

    def _statement(self, statement: ast.stmt) -> Any:
        """What a statement returns; None where the function goes on."""
        if isinstance(statement, ast.Return):
            return Thing() if statement.value is None else self.value(statement.value)
        if isinstance(statement, ast.If):
            found = self.block(statement.body)
            return self.block(statement.orelse) if found is None else found
        if isinstance(statement, (ast.For, ast.While, ast.With, ast.Try)):
            return self._repeated(statement)
        self._plain(statement)
        return None

    def _forget(self, statement: ast.stmt) -> None:
        """Variables that were set by code which is no formula are known by their names alone."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.env[node.id] = self._known(ast.Name(node.id, ast.Load()), node.id)

    def leave_as_code(self) -> None:
        """The lines of this function as they stand in the code, in place of the formulas read from it."""
        own = set(map(id, self.own_lines))
        for loop in self.reader.loops:
            loop.lines = [line for line in loop.lines if id(line) not in own]
        lines = [x for statement in self.run.tree.body for x in _source(statement, self.run)]
        if not any(loop.code == lines for loop in self.reader.loops):
            self.reader.loops.append(Loop(f"{self.run.name}, as in the code", code=lines))

    def _repeated(self, statement: Any) -> Any:
        """A loop of Python's own over the bodies, read once; what one turn hands to the next is no formula."""
        if not isinstance(statement, ast.For):
            raise UnreadableError
        source, first, before = self.value(statement.iter), self.cursor, self.in_loop
        over_bodies = isinstance(source, Items) or (isinstance(source, Several) and source.each)
        stored = {x.id for x in ast.walk(statement) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        carried = stored - {x.id for x in ast.walk(statement.target) if isinstance(x, ast.Name)}
        if not over_bodies or carried & set(self.env) or self.in_loop is not None:
            raise UnreadableError
        self._bind(statement.target, source)
        self.in_loop = self.reader.loop(LOCAL.removesuffix(":"))
        found = self.block(statement.body)
        self._skip_others(first)
        self.in_loop = before
        return found

    def _skip_others(self, first: int) -> None:
        """Past the same calls for the other turns of a loop."""
        names = {x.name for x in self.run.inner[first : self.cursor]}
        while self.cursor < len(self.run.inner) and self.run.inner[self.cursor].name in names:
            self.cursor += 1

    def _plain(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            self._set(statement.targets[0], statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._set(statement.target, statement.value)
        elif isinstance(statement, ast.AugAssign):
            whole = ast.BinOp(_loaded(statement.target), statement.op, statement.value)
            self._assign(statement.target, self.value(ast.copy_location(whole, statement)))
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            self._done(statement.value)

    def _set(self, target: ast.expr, node: ast.expr) -> None:
        """An assignment; what holds no numbers need not be read."""
        try:
            value = self.value(node)
        except UnreadableError:
            if not isinstance(target, ast.Name) or is_quantity(self.run.values.get(target.id)):
                raise
            value = Thing(self.run.values.get(target.id))
        self._assign(target, value)

    def _done(self, node: ast.Call) -> None:
        """A call for what it does: a list that grows by what is said of every body."""
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "append" and isinstance(function.value, ast.Name):
            value = self.value(node.args[0])
            if isinstance(value, Text):
                value = self._of_all(value)
            self.env[function.value.id] = self._named(function.value.id, value)
        else:
            self.value(node)

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = value.items if isinstance(value, Several) else [Thing()] * len(target.elts)
            for part, item in zip(target.elts, [*parts, *[Thing()] * len(target.elts)]):
                self._assign(part, item)
        elif isinstance(target, ast.Name):
            self.env[target.id] = self._named(target.id, value)
        else:
            raise UnreadableError

    def _named(self, name: str, value: Any) -> Any:
        """A value under the name that the code gives it; formulas have a line then."""
        if isinstance(value, Items) and value.name is None and value.formula is not None:
            loop = value.loop or self.reader.loop(LOCAL.removesuffix(":"))
            index = value.pair or "(k)"
            keep = self.reader.define if value.loop is not None else self.define  # (the line of a sweep stays)
            defined = keep(name, index, value.formula, loop)
            letter, uses = defined.text.removesuffix(index), defined.uses
            if value.hole:
                self.reader.fill(value.hole, Text(f"{letter}(p)", ATOM, uses))
            return Items(next(iter(uses)), letter, value.edge, value.pair)
        if isinstance(value, Record):
            return Record({key: self._named(key, x) for key, x in value.fields.items()})
        value = self.reader.settled(name, value, self.run.values.get(name))
        if isinstance(value, Text) and value.level < ATOM:
            of_blocks = value.text.startswith(self.letters.word("blocks"))
            if not of_blocks and (self.in_loop is not None or "(k)" in value.text):
                return self.define(name, "(k)", value, self.in_loop or self.reader.loop(LOCAL.removesuffix(":")))
            return self.define(name, "", value, self.reader.loop(ONCE.removesuffix(":")))
        return value

    def define(self, name: str, index: str, formula: Text, loop: Loop) -> Text:
        """A line of this function."""
        found: Text = self.reader.define(name, index, formula, loop)
        self.own_lines.append(loop.lines[-1])
        return found


def _source(statement: ast.stmt, run: Run) -> list[str]:
    """The lines of a statement that ran."""
    if isinstance(statement, ast.FunctionDef):
        return [] if run.inner else ast.unparse(statement).splitlines()
    if not run.ran(statement, anywhere=True):
        return []
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return []  # the docstring
    if isinstance(statement, (ast.If, ast.For, ast.While)):
        head = ast.unparse(statement).splitlines()[0]
        inner = [x for y in (*statement.body, *statement.orelse) for x in _source(y, run)]
        return inner if isinstance(statement, ast.If) else [head, *(f"    {x}" for x in inner)]
    return ast.unparse(statement).splitlines()


def _loaded(target: ast.expr) -> ast.expr:
    """What is assigned to, as what is read."""
    return ast.parse(ast.unparse(target), mode="eval").body
