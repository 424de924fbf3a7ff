"""Formulas without their numbers: 0.1 A + B and 0.2 A + B run through the same code, which takes 0.1 or 0.2."""

from __future__ import annotations

from typing import Any

from .recipe import Recipe


def taken_out(recipe: Recipe) -> tuple[Recipe, tuple[float, ...]]:
    """A recipe whose coefficients other than ±1 are numbered by their size, and these sizes.

    Names that the user chose say nothing about the code and go too.
    """
    numbers: list[float] = []

    def walk(part: Any) -> Any:
        if not isinstance(part, tuple) or not part:
            return part
        if part[0] == "sum":
            return ("sum", *((slot(c), walk(term)) for c, term in part[1:]))
        if part[0] in ("own", "vector", "matrix"):
            return (*part[:4], "X", part[5])
        return tuple(map(walk, part))

    def slot(c: float) -> Any:
        if abs(c) == 1:
            return c
        if abs(c) not in numbers:
            numbers.append(abs(c))
        return ("c", numbers.index(abs(c)), 1 if c > 0 else -1)

    return walk(recipe), tuple(numbers)


def put_back(recipe: Any, numbers: Any) -> Any:
    """The recipe with these in place of the numbers that :func:`taken_out` took."""
    if not isinstance(recipe, tuple) or not recipe:
        return recipe
    if recipe[0] == "sum":
        return ("sum", *((_number(c, numbers), put_back(term, numbers)) for c, term in recipe[1:]))
    return tuple(put_back(part, numbers) for part in recipe)


def _number(c: Any, numbers: Any) -> Any:
    return c if not isinstance(c, tuple) else numbers[c[1]] if c[2] > 0 else -numbers[c[1]]


class Coefficient:
    """A number that is not known yet, in front of a term: arithmetic, and never equal to 0, 1 or −1."""

    def __init__(self, symbol: Any) -> None:
        self.symbol = symbol

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (int, float)):
            return self if other == 1 else Coefficient(self.symbol * other)
        return Coefficient(self.symbol * other.symbol) if isinstance(other, Coefficient) else other * self.symbol

    __rmul__ = __mul__
    __array_ufunc__ = None

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Coefficient):
            return Coefficient(self.symbol + other.symbol)
        return self if other == 0 else Coefficient(self.symbol + other)

    __radd__ = __add__

    def __neg__(self) -> Coefficient:
        return Coefficient(-self.symbol)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Coefficient):
            return 1.0 if self == other else Coefficient(self.symbol / other.symbol)
        return Coefficient(self.symbol / other)

    def __rtruediv__(self, other: float) -> Coefficient:
        return Coefficient(other / self.symbol)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coefficient) and self.symbol is other.symbol

    def __hash__(self) -> int:
        return id(self.symbol)

    def __abs__(self) -> Coefficient:
        return self

    def __lt__(self, other: Any) -> bool:
        return False

    def __format__(self, spec: str) -> str:
        return "c"
