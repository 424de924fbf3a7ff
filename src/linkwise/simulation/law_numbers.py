"""A user's function taken apart: the real numbers that it holds, and the same function with others in their place.

``lambda t, q, v: -gain * q`` made anew for every run is one function with one number. The numbers are found where
functions hold them: in closures, defaults, partial arguments and fields of objects, also within lists, tuples and
dicts of these; and in robots that differ from a known one by their inertias alone, which are numbers as well. Whole
numbers, words and literals in the code are not taken: by these functions are told apart.
"""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..codegen.program.parameters import with_symbols
from ..properties import cached_property
from ..robot.robot import Robot
from ..symbols.fingerprints import made_of
from ..symbols.users_code import is_installed, is_worked_out

LONGEST = 256  # numbers of an array that are taken; longer ones are tables, by which functions are told apart

# What makes a value again: of the numbers of all values, or of None, for one that stands for all with other numbers.
Make = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Taken:
    """A function: its ``numbers`` (n,), and ``make``, which gives it with others."""

    numbers: np.ndarray
    make: Make

    @cached_property
    def identity(self) -> str | None:
        """The same for functions that differ in their numbers alone; None where that is not known."""
        return made_of(self.make(None)).identity

    def on(self, numbers: Any) -> Any:
        """The function with these numbers (n,), which may be symbols."""
        return self.make(numbers)


def taken_apart(function: Any, robot: Robot) -> Taken:
    """A function that may hold ``robot``, or robots with other inertias."""
    taking = _Taking(robot)
    make = taking.value(function)
    numbers = np.concatenate(taking.numbers) if taking.numbers else np.zeros(0)
    return Taken(numbers, make)


def with_inertias_of(robot: Robot, known: Robot) -> Robot:
    """The robot with the inertias of another that has the same bodies; as it is where that has others."""
    if robot is known or len(robot.bodies) != len(known.bodies):
        return robot
    bodies = [replace(a, inertia=b.inertia) for a, b in zip(robot.bodies, known.bodies)]
    if all(a == b for a, b in zip(robot.bodies, bodies)):
        return robot
    return replace(robot, bodies=tuple(bodies))


class _Taking:
    """Walks through a value; every method gives what makes it again."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.numbers: list[np.ndarray] = []
        self.count = 0
        self.within: set[int] = set()  # what it is inside of: a function that holds itself is left as it is

    def value(self, x: Any) -> Make:
        if isinstance(x, (float, np.floating)):
            place = self._put(np.array([float(x)])).start
            return lambda given: 0.0 if given is None else given[place]
        if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size <= LONGEST:
            where, shape = self._put(x.astype(float).ravel()), x.shape
            return lambda given: np.zeros(shape) if given is None else given[where].reshape(shape)
        if isinstance(x, Robot):
            return self._robot(x)
        if id(x) in self.within:
            return lambda given: x
        self.within.add(id(x))
        try:
            return self._compound(x)
        finally:
            self.within.discard(id(x))

    def _put(self, numbers: np.ndarray) -> slice:
        start = self.count
        self.numbers.append(numbers)
        self.count += len(numbers)
        return slice(start, self.count)

    def _robot(self, x: Robot) -> Make:
        known = with_inertias_of(x, self.robot)
        if known is not x:
            where = self._put(x.inertial_parameters.ravel())
            name = f"robot {hash(known)} with other inertias"
            return lambda given: name if given is None else with_symbols(known, {"inertial": given[where]})
        name = f"robot {hash(x)}"  # in place of the robot, which takes long to be compared
        return lambda given: name if given is None else x

    def _compound(self, x: Any) -> Make:
        if type(x) is dict:
            parts = {k: self.value(y) for k, y in x.items()}
            return lambda given: {k: make(given) for k, make in parts.items()}
        if type(x) in (list, tuple):
            kind, items = type(x), [self.value(y) for y in x]
            return lambda given: kind(make(given) for make in items)
        if isinstance(x, functools.partial):
            function, arguments, named = self.value(x.func), self.value(x.args), self.value(dict(x.keywords))
            return lambda given: functools.partial(function(given), *arguments(given), **named(given))
        if isinstance(x, types.MethodType):
            called, holder = x.__func__, self.value(x.__self__)
            return lambda given: types.MethodType(called, holder(given))
        if isinstance(x, types.FunctionType):
            return self._function(x)
        if callable(x) and _is_plain_object(x):
            return self._object(x)
        return lambda given: x

    def _function(self, f: types.FunctionType) -> Make:
        cells = [self._cell(cell) for cell in f.__closure__ or ()]
        defaults = None if f.__defaults__ is None else self.value(f.__defaults__)
        named = None if f.__kwdefaults__ is None else self.value(f.__kwdefaults__)
        if not cells and defaults is None and named is None:
            return lambda given: f

        def make(given: Any) -> Any:
            filled = tuple(types.CellType(cell(given)) for cell in cells)
            made = types.FunctionType(f.__code__, f.__globals__, f.__name__, closure=filled or None)
            made.__defaults__ = None if defaults is None else defaults(given)
            made.__kwdefaults__ = None if named is None else named(given)
            made.__qualname__, made.__module__ = f.__qualname__, f.__module__
            return made

        return make

    def _cell(self, cell: types.CellType) -> Make:
        try:
            return self.value(cell.cell_contents)
        except ValueError:  # not filled yet
            return lambda given: None

    def _object(self, x: Any) -> Make:
        ours = is_installed(type(x))  # whose properties find again what they have found; users may have put it there
        fields = {k: self.value(y) for k, y in vars(x).items() if not (ours and is_worked_out(type(x), k))}

        def make(given: Any) -> Any:
            made = copy.copy(x)
            own = vars(made)
            own.clear()
            own.update({k: field(given) for k, field in fields.items()})
            return made

        return make


def _is_plain_object(x: Any) -> bool:
    """Whether an object is what its ``__dict__`` says, and copied as such."""
    kind = type(x)
    slots = any(getattr(base, "__slots__", ()) for base in kind.__mro__)
    own_copy = hasattr(kind, "__copy__") or "__reduce_ex__" in {
        name for base in kind.__mro__[:-1] for name in vars(base)
    }
    return hasattr(x, "__dict__") and not isinstance(x, (type, types.ModuleType)) and not slots and not own_copy
