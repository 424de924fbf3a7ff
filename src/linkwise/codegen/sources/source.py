"""What the source targets have in common: names, numbers, right-hand sides, and a source file with its header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ... import shown
from ...arguments import one_of
from ...errors import FileError, InputError
from ...properties import cached_property
from ...symbols.operations import OPERATIONS, Operations
from ...symbols.scalar import Guard, Scalar
from ...tolerances import roundings
from ...whole_files import cannot_write, write_text
from ..program.trace import Program
from ..runtime.remade import Remade

_TAKEN = re.compile(r"out\d*|t\d+|singular")  # what the code itself calls its outputs and values
_KEYWORDS = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    bool catch constexpr decltype delete explicit export friend mutable namespace new noexcept nullptr operator private
    protected public template this throw typeid typename using virtual wchar_t
    sincos sincosf
    lw_far lw_turned lw_sincos lw_sincosf lw_sincos_near lw_inverse lw_two_over_pi NAN INFINITY""".split()  # noqa: SIM905
)


_FORMS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "neg": "-{}",
    "inv": "{one} / {}",
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "equal": "{} == {}",
    "and": "{} != 0 && {} != 0",
    "or": "{} != 0 || {} != 0",
    "not": "{} == 0",
    "select": "{} != 0 ? {} : {}",
}
_NAMES_OF_FUNCTIONS = frozenset(op + suffix for op in OPERATIONS if op not in _FORMS for suffix in ("", "f"))


def argument(name: str, more: frozenset[str] = frozenset()) -> str:
    """An input's name: its own, or with one more underscore where C, C++ or the code has that name for something else.

    ``more`` holds what else the code calls something. Letters beyond ASCII, which NVRTC and others refuse, become
    their numbers: θ is u3b8.
    """
    name = re.sub(r"[^\x00-\x7f]", lambda letter: f"u{ord(letter[0]):x}", name)
    if name.startswith("lw_"):  # so the code's own names begin
        name = f"x{name}"
    bare = name.rstrip("_")
    is_taken = bare in _KEYWORDS or bare in _NAMES_OF_FUNCTIONS or bare in more or _TAKEN.fullmatch(bare)
    return f"{name}_" if is_taken else name


class Expressions:
    """The values of a program as C expressions, in one precision."""

    def __init__(self, dtype: str) -> None:
        self.suffix = "" if dtype == "float64" else "f"  # of functions and constants
        self._names: dict[int, str] = {}
        self._variables = 0

    def __contains__(self, node: Scalar) -> bool:
        return id(node) in self._names

    def __getitem__(self, x: Any) -> str:
        """A value's name, or a constant."""
        return self._names[id(x)] if isinstance(x, Scalar) else self._constant(x)

    def call(self, node: Scalar, name: str) -> str:
        """Let a value go by this name from now on."""
        self._names[id(node)] = name
        return name

    def variable(self, node: Scalar) -> str:
        """A new variable for a value."""
        return self.call(node, self.spare())

    def spare(self) -> str:
        """A new variable for what is not needed."""
        self._variables += 1
        return f"t{self._variables - 1}"

    def right_side(self, node: Scalar) -> str:
        """What a value is computed by. Comparisons give 1 or 0."""
        arguments = [self[x] for x in node.args]
        form = _FORMS.get(node.op)
        if form is None:  # the others have the names of <math.h>
            return f"{node.op}{self.suffix}({', '.join(arguments)})"
        return form.format(*arguments, one=f"1.0{self.suffix}")

    def singular(self, guards: Sequence[Guard]) -> str:
        """Whether a guard does not hold; one expression without branches."""
        epsilon = roundings(1, np.float32 if self.suffix else np.float64)
        tests = []
        for guard in guards:
            factor, size = guard.limit(epsilon)
            least = self._constant(factor) if size is None else f"{self._constant(factor)} * {self[size]}"
            tests.append(f"({self[guard.value]} <= {least})")
        return " | ".join(tests)

    def _constant(self, x: float) -> str:
        with np.errstate(over="ignore"):
            x = float(np.float32(x)) if self.suffix else float(x)
        if not np.isfinite(x):
            return "NAN" if np.isnan(x) else "INFINITY" if x > 0 else "-INFINITY"
        return f"{x!r}{self.suffix}"


@dataclass(frozen=True, eq=False)
class Source(Remade):
    """A function as source text: ``source`` and ``header`` are texts, :meth:`write` puts them into a folder."""

    program: Program
    robot: str
    dtype: str = "float64"
    target: ClassVar[str]
    ending: ClassVar[str]  # of the source file

    def __post_init__(self) -> None:
        one_of(self.dtype, ("float64", "float32"), "dtype of source text", error=InputError)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.prototype}, {self.dtype}>"

    def _repr_html_(self) -> str:
        """Prototype and cost, and both texts to open, for notebooks."""
        return shown.titled(
            f"{self.name}{self.ending}",
            f"{self.operations} per state, {self.dtype}",
            shown.listing(f"{self.prototype};"),
            shown.folded(f"{self.name}.h", shown.listing(self.header)),
            shown.folded(
                f"{self.name}{self.ending}, {len(self.source.splitlines())} lines", shown.listing(self.source)
            ),
        )

    @property
    def name(self) -> str:
        """The function's name: robot and function, made a C identifier."""
        name = re.sub(r"\W", "_", f"{self.robot}_{self.program.name}", flags=re.ASCII)
        return f"_{name}" if name[0].isdigit() else name

    @property
    def operations(self) -> Operations:
        return self.program.operations

    @property
    def number(self) -> str:
        """The type of every number."""
        return "double" if self.dtype == "float64" else "float"

    @property
    def prototype(self) -> str:
        raise NotImplementedError

    @cached_property
    def header(self) -> str:
        raise NotImplementedError

    @cached_property
    def source(self) -> str:
        raise NotImplementedError

    def write(self, folder: str | Path = ".") -> tuple[Path, Path]:
        """Write the source and the header, NAME.h; gives their paths."""
        where = Path(folder)
        try:
            where.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise FileError(cannot_write(where, e)) from e
        paths = where / f"{self.name}{self.ending}", where / f"{self.name}.h"
        write_text(paths[0], self.source)
        write_text(paths[1], self.header)
        return paths

    def _outputs(self) -> dict[str, tuple[int, ...]]:
        """The outputs' names and shapes."""
        names = ["out"] if self.program.single else [f"out{i}" for i in range(len(self.program.shapes))]
        return dict(zip(names, self.program.shapes))

    def _entries(self) -> Iterator[tuple[str, int, Any]]:
        """Every number that is written: its output, its place there, its value."""
        roots = iter(self.program.roots)
        for name, shape in self._outputs().items():
            for i in range(int(np.prod(shape))):
                yield name, i, next(roots)

    def _header(self, note: str, includes: str = "") -> str:
        """A header for C and C++ that declares the function."""
        guard = f"{self.name.upper()}_H"
        return (
            f"/* {note.replace('*/', '* /')} */\n#ifndef {guard}\n#define {guard}\n{includes}"
            f'#ifdef __cplusplus\nextern "C" {{\n#endif\n'
            f"{self.prototype};\n#ifdef __cplusplus\n}}\n#endif\n#endif\n"
        )
