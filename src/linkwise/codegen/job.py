"""What is to be compiled: a function and a robot, with all that was asked for, and what the passes have made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .facts import Facts
from .passes import Journal
from .runtime.requests import remember_refusal

if TYPE_CHECKING:
    from .program.trace import Program

SOURCES = ("c", "cuda")
TARGETS = ("cpu", "numpy", "jax", *SOURCES)
DTYPES = ("float64", "float32")


@dataclass(eq=False)
class Job:
    """What is to be compiled, and what the passes have made of it so far."""

    robot: Any
    name: str
    call: Callable[..., Any]  # (robot, *arrays) → results
    arrays: tuple[str, ...]  # the names of its inputs
    facts: Facts | None = None  # of a method of the catalogue; nothing is known of a user's function
    fixed: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)  # lengths of inputs that their names do not tell
    target: str = "cpu"
    dtype: str = "float64"
    parameters: tuple[str, ...] = ()
    rolled: bool | None = None
    patient: bool = True  # whether code may take longer to make than a mere call can wait for
    on_card: bool = False  # whether the kernel is for a graphics card, which has another use for loops

    lengths: dict[str, int] = field(default_factory=dict)
    key: str | None = None  # under which the disk knows the request
    loops: str = "no"  # whether sweeps are left as loops: "no", "yes", or "maybe", where they are worth a trial
    spare: Any = None  # a kernel with loops that was not taken, for the case that straight-line code cannot be had
    traced: list[tuple[str, Program]] = field(default_factory=list)  # by frames
    program: Program | None = None
    kernel: Any = None
    done: bool = False
    journal: Journal = field(default_factory=Journal)

    @property
    def asked(self) -> Job:
        """The same with nothing that was made of it: kernels that can be made again hold this, and not themselves."""
        return replace(self, spare=None, traced=[], program=None, kernel=None, done=False)

    def finish(self, kernel: Any) -> None:
        self.kernel, self.done = kernel, True

    def refuse(self, why: str) -> str:
        """Leave a call to NumPy; that it was so decided is kept."""
        self.finish(None)
        remember_refusal(self.key, why)
        return f"left to NumPy: {why}"
