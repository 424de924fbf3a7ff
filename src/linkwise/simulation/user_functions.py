"""Functions of the user's: controllers, events and external forces, called as (robot, t, q, v) or (t, q, v).

Which of the two is decided by the names of their parameters. Where numbers of the robot vary (``parameters=``),
``robot`` of a controller is the robot as it is known; one whose first parameter is named ``true_robot`` gets the robot
that moves. They get copies of the state and what they give is copied, so that they may write into what they are given
and give the same buffer every time. Where a function runs on symbols it is compiled in; where it cannot be traced, and
only there, it is called back from Python, which is said once.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from .. import arrays
from ..arguments import shown, unmasked
from ..codegen.program.trace import Program, trace
from ..codegen.runtime.kernel import Kernel
from ..errors import InputError, SlowPathWarning, UntraceableError
from ..properties import cached_property
from ..robot.robot import Robot
from ..symbols.additive import additive_factor, numbers_among
from ..symbols.fingerprints import made_of
from ..symbols.function_memory import refusing_memory
from ..symbols.scalar import Scalar, text_refused
from ..symbols.users_code import fits
from .cards import as_its_kind

TRUE = "true_robot"  # the first parameter of a controller that is to have the robot that moves, whatever it is
FORMS = (("robot", "t", "q", "v"), (TRUE, "t", "q", "v"), ("t", "q", "v"))
_NAMES = {"robot", TRUE, "t", "q", "v"}
_HOW = "(robot, t, q, v), or (t, q, v)"
_SAID: dict[Any, Any] = {}  # what warnings were given, so that each is given once


@dataclass(frozen=True, eq=False)
class UserFunction:
    """A function and what is known of it; ``what`` it is, for messages: "the controller", "the event 'x'"."""

    what: str
    function: Callable[..., Any]
    callback: bool = False  # whether it is to be called, and not compiled

    def __post_init__(self) -> None:
        _ = self._takes_robot  # refused at once where it is not clear

    def __call__(self, robot: Robot, t: Any, q: np.ndarray, v: np.ndarray) -> Any:
        """What it gives for copies of the state; the caller copies what it keeps of that."""
        given = (t, np.array(q), np.array(v))
        return self.function(robot, *given) if self._takes_robot else self.function(*given)

    @cached_property
    def _takes_robot(self) -> bool:
        return takes_robot(self.what, self.function)

    @cached_property
    def identity(self) -> str | None:
        """The same for functions that compute the same, by all that they are made of; None where that is not known."""
        return made_of(self.function).identity

    @property
    def wants_true_robot(self) -> bool:
        """Whether its first parameter says that it is given the robot that moves."""
        return next(iter(inspect.signature(self.function).parameters), None) == TRUE

    def kernel(
        self,
        robot: Robot,
        traced: Callable[..., Any],
        name: str,
        sizes: Mapping[str, int],
        names: Sequence[str] = (),
        parameters: Sequence[str] = (),
    ) -> Kernel | None:
        """``traced``, which calls it with (robot, t, q, v, …), as machine code; None where it is called back.

        It is kept with the robot for functions that compute the same.
        """
        if self.callback:
            return None
        key = ("user", name, *sizes.items(), *names, *parameters)
        make = lambda: Kernel(trace(robot, traced, name, sizes, names or None, parameters))
        try:
            found: Kernel = robot._code.of_function(self.function, self.identity, key, make)
            return found
        except UntraceableError as e:
            warn_that_it_is_called_back(self.what, self.function, e)
            return None
        except Exception as e:  # the user's own error, as it came; where it may come from is added
            e.add_note(f"(while {self.what} ran on symbols, to be compiled in; callback=True calls it from Python)")
            raise


# --- which arguments ----------------------------------------------------------------------------------


def takes_robot(what: str, function: Callable[..., Any]) -> bool:
    """Whether a function is called as (robot, t, q, v), and not as (t, q, v); an error where that is not clear."""
    name = getattr(function, "__name__", type(function).__name__)
    if not callable(function):
        raise InputError(f"{what} must be a function of {_HOW}, got {function!r}")
    if isinstance(function, Kernel):
        raise InputError(
            f"{what} is a kernel, {shown(function)}; give what it was made of, which is compiled in (law, not"
            " law.compile()), or have it called back: lambda t, q, v: kernel([t], q, v)"
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise InputError(
            f"{what} is a function of {_HOW}, and {name} does not say what it takes; wrap it, as in"
            f" lambda robot, t, q, v: {name}(…)"
        ) from None
    fitting = [form for form in FORMS if _fits(signature, form)]
    if not fitting:
        by_keyword = [p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
        hint = f"; functools.partial({name}, {by_keyword[0]}=…) gives it what it needs" if by_keyword else ""
        raise InputError(f"{what} is a function of {_HOW}, but {name} takes {signature}{hint}")
    if len(fitting) > 1:
        raise InputError(
            f"{what} is a function of {_HOW}, and {name}{signature} could be either; name its first parameters so"
        )
    return len(fitting[0]) == len(FORMS[0])


def _fits(signature: inspect.Signature, form: tuple[str, ...]) -> bool:
    return fits(signature, form, _NAMES) and (form[0] != TRUE or next(iter(signature.parameters)) == TRUE)


# --- called back ----------------------------------------------------------------------------------------


def warn_that_it_is_called_back(what: str, function: Callable[..., Any], error: UntraceableError) -> None:
    """Say at the line that could not be traced that a function runs in Python, at every step."""
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    place = ("", 1) if code is None else (code.co_filename, code.co_firstlineno)  # of one without a line of its own
    message = (
        f"{what} cannot be compiled in and is called back from Python, which is slower: {error.reason}"
        " (callback=True says that this is meant)"
    )
    file, line = place if error.filename is None else (error.filename, error.lineno or 1)
    warnings.warn_explicit(message, SlowPathWarning, file, line, registry=_SAID)


# --- what controllers give --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Controller:
    """A user's function that gives joint forces, for states of a batch."""

    robot: Robot
    asked: UserFunction
    batch: tuple[int, ...] = ()

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """τ in the shape and precision of v."""
        return self._checked(self.asked(self.robot, t, q, v), v)

    def on(self, robot: Robot) -> Controller:
        """The same where ``robot`` moves, whose numbers may be symbols: seen by those that ask for the true robot."""
        return Controller(robot, self.asked, self.batch) if self.asked.wants_true_robot else self

    @property
    def gains(self) -> dict[str, int]:
        """Numbers of its own that are inputs of the steps, with how many each has (:mod:`.gains`)."""
        return {}

    def with_gains(self, given: Mapping[str, np.ndarray]) -> Controller:
        """The controller with these for its gains."""
        return self

    def at_flat(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """τ (states, nv) at flat states, asked in the user's batch shape where these are all of its states."""
        shape = batch_of(q, self.batch)
        return self(t, q.reshape(*shape, q.shape[-1]), v.reshape(*shape, v.shape[-1])).reshape(v.shape)

    @cached_property
    def kernel(self) -> Kernel | None:
        """The controller as machine code of (t, q, v); None where it is called back."""
        return self.asked.kernel(self.robot, self._traced, "controller", {"t": 1}, ("t", "q", "v"))

    def along(self, time: np.ndarray, q: np.ndarray, v: np.ndarray, parameters: Mapping[str, np.ndarray]) -> np.ndarray:
        """τ (..., samples, nv) at the samples of a motion, of a robot with these ``parameters`` (..., n)."""
        t = as_its_kind(time[:, None], q)
        assert self.kernel is not None
        if not (parameters and self.asked.wants_true_robot):
            known: np.ndarray = self.kernel(t, q, v)
            return known
        own = [as_its_kind(x, q)[..., None, :] for x in parameters.values()]
        true: np.ndarray = self.kernel_with(tuple(parameters))(t, q, v, *own)
        return true

    def kernel_with(self, parameters: tuple[str, ...]) -> Kernel:
        """The controller, which is compiled, as machine code of (t, q, v) and of these parameters of the robot."""
        found = self.asked.kernel(self.robot, self._traced, "controller", {"t": 1}, ("t", "q", "v"), parameters)
        assert found is not None
        return found

    @cached_property
    def _program(self) -> Program | None:
        """What it computes; None where it cannot be traced."""
        if self.kernel is not None:
            return self.kernel.program
        if not self.asked.callback:
            return None
        try:
            with refusing_memory(self.asked.function), text_refused():
                return trace(self.robot, self._traced, "controller", {"t": 1}, ("t", "q", "v"))
        except Exception:  # whatever it raises on symbols: it is to be called with numbers, and need not take them
            return None

    def _traced(self, robot: Robot, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.on(robot)(t[0], q, v)

    @cached_property
    def slopes(self) -> tuple[np.ndarray, np.ndarray] | None:
        """(nv,) numbers d and k, not negative: τ of a joint has the terms −d v and −k q of that joint.

        Read from its program, whether it runs as that or is called back; None where it has none, or no such terms.
        """
        if self._program is None:
            return None
        found = falls(self.robot, self._program)
        return (found[0], found[1]) if found.any() else None

    def _checked(self, tau: Any, v: np.ndarray) -> np.ndarray:
        """What was given, as joint forces of its own memory."""
        if type(tau) is np.ndarray and tau.shape == v.shape and tau.dtype == v.dtype and tau.dtype.kind == "f":
            return tau.copy()
        unmasked(tau, "the joint forces of the controller")
        out = numbers_given(tau, "the controller")
        try:
            wide = np.broadcast_to(out, np.broadcast_shapes(out.shape, v.shape))
        except ValueError:
            wide = None
        if wide is None or wide.shape != v.shape:
            refuse_shape("the controller must give joint forces", out.shape, v, self.batch, 1)
        assert wide is not None
        return np.array(wide) if arrays.is_symbolic(v) else wide.astype(v.dtype)


def numbers_given(x: Any, who: str) -> np.ndarray:
    """What a function of the user's gives, as an array of real numbers or of symbols; an error where it is neither."""
    try:
        out = np.asarray(x)
    except ValueError:  # rows of several lengths
        out = np.empty(0, dtype="O,O")
    if out.dtype.kind in "fiub" or (out.dtype == object and all(isinstance(n, (Real, Scalar)) for n in out.flat)):
        return out
    got = "None: it returns nothing" if x is None else f"dtype {out.dtype}" if out.dtype.kind in "cUS" else shown(x)
    raise InputError(f"{who} must give real numbers, got {got}")


def falls(robot: Robot, program: Program, name: str = "", numbers: np.ndarray | None = None) -> np.ndarray:
    """(2, ..., nv) the numbers d and k of :attr:`Controller.slopes`, 0 where a law has no such term.

    Where the program has an input ``name`` of numbers of the law, with these (..., n).
    """
    known = {} if numbers is None else numbers_among(program.roots, name, numbers)
    return np.asarray(np.maximum(0.0, -_factors(robot, program, () if numbers is None else numbers.shape[:-1], known)))


def may_fall(robot: Robot, program: Program, name: str, size: int) -> bool:
    """Whether a law has such terms for any numbers (n,) that its input ``name`` may have."""
    known = dict.fromkeys(numbers_among(program.roots, name, np.zeros(size)), np.nan)  # none of which is known
    factors = _factors(robot, program, (), known)
    return bool((np.isnan(factors) | (factors < 0.0)).any())


def _factors(robot: Robot, program: Program, batch: tuple[int, ...], known: Mapping[int, Any]) -> np.ndarray:
    """(2, *batch, nv): by what v and q of a joint are multiplied among the terms of its force."""
    given = {(x.args[0], x.args[1]): x for x in program.nodes if x.op == "input"}
    found = np.zeros((2, *batch, robot.nv))
    for _, of_q, of_v in robot.coordinates:
        plain = of_q.stop - of_q.start == of_v.stop - of_v.start  # positions whose rates the velocities are
        for i, j in zip(range(of_v.start, of_v.stop), range(of_q.start, of_q.stop)):
            for row, variable in enumerate((("v", i), ("q", j))):
                if variable in given and (plain or row == 0):
                    found[row, ..., i] = additive_factor(program.roots[i], given[variable], known)
    return found


def batch_of(q: np.ndarray, batch: tuple[int, ...]) -> tuple[int, ...]:
    """The shape in which flat states are shown to the user: their own, where these are all of them."""
    return batch if len(q) == int(np.prod(batch, dtype=int)) else q.shape[:-1]


def refuse_shape(must: str, shape: tuple[int, ...], v: np.ndarray, batch: tuple[int, ...], axes: int) -> None:
    """Say which shape is wanted; on symbols, numbers for the states of a batch are no error but cannot be traced."""
    if arrays.is_symbolic(v) and batch and shape[:-axes] == batch:
        raise UntraceableError(f"it has numbers of its own for each state of the batch {batch}")
    wanted = v.shape if axes == 1 else (*v.shape[:-1], "bodies", 6)
    raise InputError(f"{must} of shape {wanted} (or that broadcast to it), got {shape}")
