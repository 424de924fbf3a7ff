"""What a call of the catalogue runs: which functions, which of their lines, which sweeps, in order.

The method runs once on numbers, with the interpreter's trace on. Of every sweep one body is followed, one that has both
a parent and a child where there is one. :mod:`.algorithm_text` writes what was found as recursions.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from .. import dynamics, riccati, sweeps
from ..model.joints.kinds import JointKind
from ..model.model import Model

_FOLLOWED = (str(Path(dynamics.__file__).parent), str(riccati.__file__))
_TREE = str(sweeps.__file__)
SWEEPS = ("outward", "inward", "inward_from_each", "outward_from_each")
# What the catalogue starts from, or what is a formula by itself: named, and not gone into.
NOT_ENTERED = frozenset(
    {
        *(
            "evaluate",
            "positions",
            "pivot_inverse",
            "split",
            "split_rows",
            "unstack",
            "join",
            "join_rows",
            "join_columns",
        ),
        *("stack", "matrix", "from_blocks", "matrix_of", "no_motion", "still", "at_rest", "identity", "centripetal"),
        *("base_acceleration", "wider", "wide", "gathered", "constants", "levels", "levels_of", "whole", "dense"),
        *("set_origin", "moved", "__add__", "__matmul__", "adjoint_times"),
        *("with_exact_rows", "coordinate_axes", "like", "links", "nodes", "gathering", "carried", "split_forces"),
    }
)


@dataclass(eq=False)
class Run:
    """One call of a function: which of its lines ran, what it called in turn, and its values in the end."""

    name: str
    tree: Any  # its definition: ast.FunctionDef, ast.Lambda, or None for a sweep
    lines: set[int] = field(default_factory=set)
    inner: list[Run] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    globals: dict[str, Any] = field(default_factory=dict)
    body: int | None = None  # the body that a step of a sweep runs for
    elsewhere: set[int] = field(default_factory=set)  # lines that ran in other turns of the loop that calls it

    def ran(self, statement: ast.stmt, anywhere: bool = False) -> bool:
        """Whether a statement ran; ``anywhere`` says in any turn of the loop that calls this function."""
        last = statement.end_lineno or statement.lineno
        if isinstance(statement, (ast.If, ast.For, ast.While, ast.With)):
            last = statement.lineno
        lines = self.lines | self.elsewhere if anywhere else self.lines
        return any(statement.lineno <= line <= last for line in lines)


def traced(call: Callable[[], Any], body: int) -> list[Run]:
    """The outermost functions of the catalogue that a call runs; of sweeps, the steps of this body."""
    recorder = _Recorder(body)
    before = sys.gettrace()
    sys.settrace(recorder)
    try:
        call()
    finally:
        sys.settrace(before)
    return recorder.root.inner


def followed_body(model: Model) -> int:
    """A body with a parent and a child, of a joint of which there is most to say; the last one where there is none."""
    tree = model.tree
    inner = [
        k for k in range(len(model.bodies)) if tree.parent(k) >= 0 and tree.children(k) and model.joints[k].kind.nv
    ]
    if not inner:
        return max(len(model.bodies) - 1, 0)

    def much(k: int) -> tuple[bool, bool]:
        c = model.constants()[k]
        moves = type(c.kind).map_derivative is not JointKind.map_derivative
        return moves, c.spin is not None or c.reflected is not None

    return max(inner, key=much)


class _Recorder:
    def __init__(self, body: int) -> None:
        self.body = body
        self.root = Run("", None)
        self.stack: list[tuple[FrameType, Run | None]] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        """A new frame: a sweep, a function of the catalogue, or what is of no interest."""
        code = frame.f_code
        if code.co_filename == _TREE:
            return self._sweep(frame, code)
        entered = code.co_filename.startswith(_FOLLOWED) and code.co_name not in NOT_ENTERED
        if not entered or (code.co_name.startswith("<") and code.co_name != "<lambda>"):
            return None
        parent = self._parent()
        if parent is None:  # a step for another body than the one that is followed, or what it calls
            return self._ignored(frame)
        body = None
        if parent.name in SWEEPS:
            body = _body_of(frame.f_back)
            if body != self.body or any(x.name == code.co_name for x in parent.inner):
                return self._ignored(frame)
        tree = definition(code)
        if tree is None:  # no function of a file
            return None
        run = Run(code.co_name, tree, body=body, globals=frame.f_globals)
        parent.inner.append(run)
        return self._entered(frame, run)

    def _sweep(self, frame: FrameType, code: CodeType) -> Any:
        parent = self._parent()
        if code.co_name not in SWEEPS or parent is None:
            return None
        run = Run(code.co_name, None)
        parent.inner.append(run)
        return self._entered(frame, run)

    def _ignored(self, frame: FrameType) -> Any:
        self.stack.append((frame, None))
        return self._leaving

    def _entered(self, frame: FrameType, run: Run) -> Any:
        self.stack.append((frame, run))
        return self._inside

    def _inside(self, frame: FrameType, event: str, _: Any) -> Any:
        run = self.stack[-1][1] if self.stack else None
        if event == "line" and run is not None and self.stack[-1][0] is frame:
            run.lines.add(frame.f_lineno)
        elif event == "return":
            if run is not None and run.tree is not None:
                run.values = dict(frame.f_locals)
            self._pop(frame)
        return self._inside

    def _leaving(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "return":
            self._pop(frame)
        return self._leaving

    def _pop(self, frame: FrameType) -> None:
        while self.stack and self.stack.pop()[0] is not frame:
            pass

    def _parent(self) -> Run | None:
        return self.stack[-1][1] if self.stack else self.root


def _body_of(frame: FrameType | None) -> int | None:
    """Which body a tree's sweep is at."""
    values = frame.f_locals if frame is not None else {}
    found = values.get("j", values.get("k")) if "kept" in values and "held_by" not in values else values.get("k")
    return found if isinstance(found, int) else None


@lru_cache(maxsize=4096)
def definition(code: CodeType) -> Any:
    """The definition of a function in its file."""
    for node in ast.walk(_module(code.co_filename)):
        if isinstance(node, ast.Lambda):
            found = code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
        elif isinstance(node, ast.FunctionDef):
            first = node.decorator_list[0] if node.decorator_list else node
            found = node.name == code.co_name and first.lineno == code.co_firstlineno
        else:
            continue
        if found:
            return node
    return None


@lru_cache(maxsize=256)
def _module(filename: str) -> ast.Module:
    return ast.parse(Path(filename).read_text(encoding="utf-8"))


def alone(function: Callable[..., Any], robot: Any, given: dict[str, Any]) -> Run:
    """The run of a method that calls nothing of the catalogue: its own lines, all of them."""
    code = function.__code__
    tree = definition(code)
    lines = {x.lineno for x in ast.walk(tree) if isinstance(x, ast.stmt)}
    return Run(code.co_name, tree, lines, values={"self": robot, **given}, globals=function.__globals__)
