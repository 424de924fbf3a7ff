"""A traced program: named inputs, shaped outputs, and the scalar graph between them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from ...arguments import shown
from ...errors import InputError, LinkwiseError, UntraceableError, refusals
from ...inputs import sizes as sizes_of
from ...model.model import Model
from ...progress import waiting
from ...properties import cached_property
from ...symbols.array import Symbols
from ...symbols.creation import arrays_take_symbols
from ...symbols.operations import Operations
from ...symbols.outputs import counted, evaluate, reachable
from ...symbols.products import signals_wait
from ...symbols.results import LEAF, flatten, is_plain
from ...symbols.scalar import Graph, Guard, OtherProgramError, Scalar, Truth
from ...symbols.users_line import at_users_line
from ..facts import argument_shapes
from ..garbage import collection_paused
from ..levels import takes_first_order
from .fusion import absorbed, use_counts
from .limbs import Limbs, limbs_of
from .parameters import parameter_sizes, with_symbols
from .schedule import order_of_tracing, schedule
from .signature import Signature

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Program:
    """What a function computes, as scalars. ``roots`` lists the outputs' entries, row by row."""

    name: str
    inputs: dict[str, int]
    shapes: tuple[tuple[int, ...], ...]
    single: bool
    roots: tuple[Any, ...]
    structure: Any = None
    limbs: Limbs = field(default_factory=dict)  # of the robot, for who divides the work

    def __post_init__(self) -> None:
        graph = next((x.graph for x in self.roots if isinstance(x, Scalar)), None)
        if graph is not None:
            graph.hold()
        self.__dict__["_graph"] = graph  # only now: what was not held is not let go of

    def __getstate__(self) -> dict[str, Any]:
        return {k: x for k, x in self.__dict__.items() if k not in ("_graph", "_steps")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copies hold the graph as well."""
        self.__dict__.update(state)
        self.__post_init__()

    def __del__(self) -> None:
        """Its graph is a cycle, which would wait for a search for garbage."""
        graph = self.__dict__.get("_graph")
        if graph is not None:
            graph.let_go()

    def once(self, make: Callable[..., Made], *how: Any) -> Made:
        """``make(self, *how)``, which steps of making code ask for several times: kept until :meth:`forget_steps`."""
        steps = self._steps
        if (make, how) not in steps:
            steps[make, how] = make(self, *how)
        found: Made = steps[make, how]
        return found

    def forget_steps(self) -> None:
        """The code is made."""
        self.__dict__.pop("_steps", None)  # which another thread that makes code may still have

    @cached_property
    def _steps(self) -> dict[tuple[Callable[..., Any], tuple[Any, ...]], Any]:
        return {}

    @property
    def signature(self) -> Signature:
        return Signature(self.name, self.inputs, self.shapes, self.single, self.structure)

    @cached_property
    def nodes(self) -> list[Scalar]:
        """Everything the outputs and the guards need, arguments first, in an order that suits the registers, or, where
        code is to be made soon, that of tracing."""
        if takes_first_order():
            return order_of_tracing(self._needed_by_all)
        return self.best_order

    @cached_property
    def best_order(self) -> list[Scalar]:
        """The order that suits the registers. Derivatives add up by it, which are the same to the last digit however
        soon code is to be made."""
        return schedule(self.roots, self._looked_at, self._needed_by_all, self.uses)

    @cached_property
    def fused(self) -> dict[int, int]:
        """By the id of a sum, that of the product that is computed with it, with one rounding for both."""
        return absorbed(self._needed_by_all, self.uses)

    @cached_property
    def uses(self) -> Mapping[int, int]:
        """How often each value, by id, is an argument, a result or looked at."""
        return use_counts(self._needed_by_all, [*self.roots, *self._looked_at])

    @cached_property
    def _needed(self) -> list[Scalar]:
        """Everything the outputs need, without what guards look at."""
        return reachable(self.roots)

    @cached_property
    def _needed_by_all(self) -> list[Scalar]:
        """The same, then what guards need beside it."""
        known = {id(x) for x in self._needed}
        missing = [x for x in self._looked_at if id(x) not in known]
        return self._needed + [x for x in reachable(missing, known) if id(x) not in known]

    @property
    def _looked_at(self) -> list[Scalar]:
        """What the guards look at."""
        return [x for g in self.guards for x in g.nodes]

    @cached_property
    def length(self) -> int:
        """How many values it has."""
        return len(self._needed_by_all)

    @cached_property
    def guards(self) -> list[Guard]:
        """What must hold for the results to mean anything: that matrices which are inverted are not singular."""
        graph: Graph | None = self.__dict__["_graph"]
        if graph is None:
            return []
        if not graph.guards and not graph.conditions:
            return []
        used = {id(x) for x in self._needed}
        found = [g for g in graph.guards if any(id(x) in used for x in g.on)] + graph.conditions
        return list({g.key: g for g in found}.values())

    @cached_property
    def operations(self) -> Operations:
        """Exact counts of +, ×, ÷, √ and sin/cos for one state."""
        return counted(self._needed)

    @cached_property
    def unused_inputs(self) -> list[tuple[str, int]]:
        """Inputs (name, index) that no output depends on."""
        used = {n.args for n in self.nodes if n.op == "input"}
        return [(name, i) for name, size in self.inputs.items() for i in range(size) if (name, i) not in used]

    def interpret(self, **values: Any) -> Any:
        """Run the program on one state with plain floats: the oracle of the compiled targets."""
        return self.signature.result(self.interpreted(values))

    def interpreted(self, values: Mapping[str, Any]) -> list[np.ndarray]:
        """The outputs as a flat list of arrays."""
        flat = evaluate(self.roots, dict(values))
        out, start = [], 0
        for shape in self.shapes:
            size = int(np.prod(shape))
            out.append(np.array(flat[start : start + size]).reshape(shape))
            start += size
        return out


@collection_paused()
@signals_wait()
def trace(
    model: Model,
    function: Callable[..., Any],
    name: str | None = None,
    sizes: Mapping[str, int] | None = None,
    names: Sequence[str] | None = None,
    parameters: Sequence[str] = (),
    plain: bool = False,
    most: int | None = None,
) -> Program:
    """Run ``function(robot, q, …)`` on symbols.

    Arguments after the robot are vectors. Their lengths follow from their names (q: nq; v, a, tau and others: nv)
    unless ``sizes`` gives them; the names are those of the function's parameters unless ``names`` gives them.
    ``parameters`` keeps constants of the robot symbolic, as further inputs: "inertial" (bodies × 10, as
    ``robot.inertial_parameters``) and "offsets" (bodies × 3, the joints' positions in their parents).

    What cannot be traced is an :class:`UntraceableError` with the line of the function where it happened. A mistake in
    the function that has nothing to do with symbols comes out as it is. With more than ``most`` values, those that no
    result needs included, tracing ends with a :class:`TooLongError`.
    """
    known = lengths(model, argument_names(function) if names is None else names, sizes or {})
    graph = Graph(most)
    with waiting(f"compiling {name or function.__name__}"), graph.held():
        return _traced(model, function, name, known, parameters, plain, graph)


def _traced(
    model: Model,
    function: Callable[..., Any],
    name: str | None,
    known: dict[str, int],
    parameters: Sequence[str],
    plain: bool,
    graph: Graph,
) -> Program:
    symbols = {k: graph.inputs(k, n) for k, n in known.items()}
    extra = {k: graph.inputs(k, n) for k, n in parameter_sizes(model, parameters).items()}
    if plain:
        with refusals():  # linkwise's own, which nobody else hears of
            result = function(with_symbols(model, extra), *symbols.values())
    else:
        with _failures_named(model, function, known), arrays_take_symbols(), refusals() as refused:
            result = function(with_symbols(model, extra), *(x.view(Symbols) for x in symbols.values()))
            for e in refused:  # and the function has caught it: what it did then it would do for no number
                raise e
    graph.refuse_length()
    known = known | {k: x.size for k, x in extra.items()}
    leaves, structure = flatten(result)
    arrays = [np.asarray(x) for x in leaves]
    for x in arrays:
        if x.dtype != object and x.dtype.kind not in "fiu":
            raise InputError(f"{name or function.__name__} must return arrays of numbers, got dtype {x.dtype}")
    roots = tuple(v if isinstance(v, Scalar) else _number(v, name or function.__name__) for x in arrays for v in x.flat)
    if any(isinstance(v, Truth) for v in roots):
        raise UntraceableError(
            f"{name or function.__name__} gives truth values, but compiled code numbers; use np.where(mask, 1.0, 0.0)"
        )
    shapes = tuple(x.shape for x in arrays)
    single = structure is LEAF
    kept = None if is_plain(structure) else structure
    program = Program(name or function.__name__, known, shapes, single, roots, kept, limbs_of(model))
    if any(x.graph is not graph for x in program._needed):
        raise OtherProgramError(
            f"{name or function.__name__} uses a symbol of another program: a function that is traced cannot keep"
            " symbols from one call to another"
        )
    return program


def _number(x: Any, name: str) -> float:
    if x is None:
        raise InputError(f"{name} must return arrays of numbers, got None: perhaps it returns nothing")
    if not isinstance(x, Real):
        raise InputError(f"{name} must return arrays of numbers, got {shown(x)}")
    return float(x)


_OF_SYMBOLS = (TypeError, AttributeError, ValueError)  # what NumPy raises where it cannot take symbols


@contextmanager
def _failures_named(model: Model, function: Callable[..., Any], lengths: Mapping[str, int]) -> Iterator[None]:
    """What fails in the function as what it is: something that cannot be traced, with its line, or a mistake."""
    try:
        yield
    except UntraceableError as e:
        at_users_line(e)
        raise
    except LinkwiseError:
        raise
    except _OF_SYMBOLS as e:
        if _fails_on_numbers(model, function, lengths, next(kind for kind in _OF_SYMBOLS if isinstance(e, kind))):
            raise
        raise at_users_line(UntraceableError(f"this cannot be done with symbols: {e}"), e) from e


def _fails_on_numbers(
    model: Model, function: Callable[..., Any], lengths: Mapping[str, int], kind: type[Exception]
) -> bool:
    """Whether a function that failed on symbols fails so on numbers too, and the symbols are not to blame."""
    rng = np.random.default_rng(0)
    is_configuration = {k: k in ("q", "q0", "q1") and n == model.nq for k, n in lengths.items()}
    numbers = [model.random_configuration(rng) if is_configuration[k] else rng.normal(size=lengths[k]) for k in lengths]
    try:
        function(model, *numbers)
    except kind:
        return True
    except Exception:  # of the user's own, who does not expect these numbers
        return False
    return False


def argument_names(function: Callable[..., Any]) -> list[str]:
    """The parameters after the robot that have no default."""
    return [
        p.name
        for p in list(inspect.signature(function).parameters.values())[1:]
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]


def lengths(model: Model, names: Sequence[str], sizes: Mapping[str, int]) -> dict[str, int]:
    """How many numbers each argument has: as ``sizes`` says, or as an argument of that name has in the catalogue."""
    cls: Any = type(model)
    shapes = argument_shapes(cls)
    known = {n: math.prod(sizes_of(model, shapes[n])) for n in names if n in shapes} | dict(sizes)
    missing = [n for n in names if n not in known]
    if missing:
        raise InputError(
            f"the length of argument {missing[0]!r} is not known; give it, as in sizes={{{missing[0]!r}: 6}}"
        )
    return {n: known[n] for n in names}
