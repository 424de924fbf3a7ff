"""What a compiled function takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import UntraceableError
from ...symbols.results import rebuild


@dataclass(frozen=True, eq=False)
class Signature:
    """What a compiled function takes and gives."""

    name: str
    inputs: dict[str, int]  # name → how many numbers
    shapes: tuple[tuple[int, ...], ...]  # of the outputs
    single: bool  # whether the function returned one array
    structure: Any = None  # what else it returned: how its arrays stand in tuples, dicts, …; None is a plain tuple

    @property
    def kind(self) -> type:
        """What holds the outputs: an array, a tuple, …"""
        return np.ndarray if self.single else tuple if self.structure is None else self.structure[0].cls

    def result(self, arrays: list[Any]) -> Any:
        """The outputs as the function returned them."""
        if self.single:
            return arrays[0]
        return tuple(arrays) if self.structure is None else rebuild(self.structure, iter(arrays))

    def refuse_symbols(self, x: np.ndarray, name: str) -> None:
        """Refuse a call from within a function that is traced: machine code becomes no part of a program."""
        if x.dtype == object and any(hasattr(entry, "graph") for entry in x.flat):
            raise UntraceableError(
                f"the kernel {self.name} is machine code, and its argument {name} holds symbols here: call the method"
                " of the robot, or the function, that the kernel was made of"
            )
