"""Catalogue methods run as machine code by default.

A method marked ``@compiled(q="nq", v="nv", …)`` is traced and compiled for its robot when it is first called with NumPy
arrays; ``target="numpy"`` runs it as it stands, and so do arguments that are not plain numbers (JAX arrays,
symbols, complex steps). ``LINKWISE_TARGET=numpy`` makes that the default. Inputs are checked as the method itself
checks them; a result that is not sound (a singular mass matrix) is computed again on NumPy, which says why.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import inputs
from ..codegen.facts import Facts
from ..errors import InputError, UntraceableError

TARGETS = ("cpu", "numpy")
_NOT_YET = object()


def compiled(
    *,
    joint_space: bool = False,
    rolls: bool | tuple[str, ...] = False,
    per_pair: int = 0,
    **arrays: str | int | tuple[str | int, ...],
) -> Callable[[Any], Any]:
    """Mark a method of Robot that runs as machine code, and say what the compiler must know of it.

    ``arrays`` names its array arguments in order, with the shape of each for one state: a number, the name of one of
    the robot's ("nq", "nv", "bodies"), or a tuple of these. Its other arguments are fixed when it is compiled.
    ``joint_space`` says that results are in joint space alone, the same for any frames on the bodies. ``rolls`` says
    that it is sweeps and walks and nothing besides, so that large robots may keep their loops; for a method with
    variants, in which of them (their names, the default being one). ``per_pair`` is, for a matrix, about how many
    operations it takes for each two degrees of freedom of general geometry of which one is inboard of the other.
    """
    shapes = {name: shape if isinstance(shape, tuple) else (shape,) for name, shape in arrays.items()}
    variants = (None, *rolls) if isinstance(rolls, tuple) else (None,) if rolls else ()

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(method)
        names = tuple(signature.parameters)[1:]
        positional = tuple(n for n in names if signature.parameters[n].kind is not inspect.Parameter.KEYWORD_ONLY)
        optional = frozenset(n for n in shapes if signature.parameters[n].default is not inspect.Parameter.empty)
        facts = Facts(shapes, optional, joint_space, variants, per_pair)
        needed = set(facts.needed)

        @functools.wraps(method)
        def call(self: Any, *args: Any, target: str | None = None, **named: Any) -> Any:
            if (target or default_target()) == "numpy":
                return method(self, *args, **named)
            if target not in (None, "cpu"):
                raise InputError(f'target is "cpu" or "numpy" here, got {target!r}; robot.compile has others')
            given = dict(zip(positional, args)) | named
            proper = len(given) == len(args) + len(named) and given.keys() <= set(names)
            found = _arrays(given, shapes) if proper else None
            if found is None or not found.keys() >= needed:
                return method(self, *args, **named)
            run = _runner(self, method, given, found, call)
            return method(self, *args, **named) if run is None else run(*found.values())

        extra = inspect.Parameter("target", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str | None")
        kept = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        call.__signature__ = signature.replace(parameters=[*kept, extra])  # type: ignore[attr-defined]
        call.facts = facts  # type: ignore[attr-defined]
        call.plain = method  # type: ignore[attr-defined]
        return call

    return decorate


def default_target() -> str:
    """What methods run on where no target is named."""
    chosen = os.environ.get("LINKWISE_TARGET", "cpu")
    if chosen not in TARGETS:
        raise InputError(f'LINKWISE_TARGET must be "cpu" or "numpy", got {chosen!r}')
    return chosen


def _arrays(given: dict[str, Any], array_names: Iterable[str]) -> dict[str, np.ndarray] | None:
    """The array arguments as NumPy arrays of real numbers; None where one is something else."""
    out = {}
    for name in array_names:
        x = given.get(name)
        if x is None:
            continue
        if isinstance(x, (list, tuple, int, float)):
            try:
                x = np.asarray(x)
            except ValueError:
                return None
        if type(x) is not np.ndarray or x.dtype.kind not in "fiub" or x.dtype.itemsize > 8:
            return None
        out[name] = x
    return out


def _checked(robot: Any, found: dict[str, np.ndarray], facts: Facts) -> list[np.ndarray]:
    """The arrays in one precision, checked as the methods check them; those of several axes as rows of numbers."""
    checks = {name: inputs.shaped(robot, x, facts.arrays[name], name) for name, x in found.items()}
    return inputs.together(robot, **checks)[1]


def _runner(robot: Any, method: Any, given: dict[str, Any], found: dict[str, Any], call: Any) -> Any:
    """What runs this method with these fixed arguments, made when first asked for; None where NumPy must do."""
    fixed = {k: _hashable(v) for k, v in given.items() if k not in call.facts.arrays}
    key = (method.__name__, *found, *fixed.items())
    runners = robot.__dict__.setdefault("_runners", {})
    try:
        run = runners.get(key, _NOT_YET)
    except TypeError:  # an argument that cannot be a key
        return None
    if run is _NOT_YET:
        kernel = _compiled(robot, call, tuple(found), fixed)
        run = runners[key] = None if kernel is None else _checking(robot, kernel, call, tuple(found), fixed)
        own = getattr(type(robot), method.__name__, None) is call  # not where a subclass has its own
        if kernel is not None and own and not fixed and kernel.signature.single:
            # From now on the robot's own attribute is the quick entry; what it cannot do comes here again.
            robot.__dict__[method.__name__] = kernel.quick_before(call.__get__(robot))
    return run


def _checking(robot: Any, kernel: Any, call: Any, names: tuple[str, ...], fixed: dict[str, Any]) -> Any:
    """The kernel behind the checks that the method makes, and the method where the kernel's result is not sound."""

    def run(*arrays: np.ndarray) -> Any:
        given = dict(zip(names, arrays))
        checked = _checked(robot, given, call.facts)
        result, sound = kernel.run(checked)
        if not sound:
            return call.plain(robot, **given, **fixed)
        if hasattr(result, "set_origin"):  # a result that knows its robot and velocity
            result.set_origin(robot, checked[names.index("v")])
        return result

    return kernel.quick_before(run) if kernel.signature.single else run


def _compiled(robot: Any, call: Any, arrays: tuple[str, ...], fixed: dict[str, Any]) -> Any:
    from ..codegen.pipeline import compile_job, method_job

    try:
        return compile_job(method_job(robot, call, arrays, fixed, patient=False))
    except (UntraceableError, ArithmeticError):  # (a joint that nothing resists: NumPy names it)
        return None


def _hashable(x: Any) -> Any:
    return tuple(x) if isinstance(x, list) else x
