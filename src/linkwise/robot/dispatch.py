"""Catalogue methods run as machine code by default.

A method marked ``@compiled(q="nq", v="nv", …)`` is traced and compiled for its robot when it is first called with NumPy
arrays; ``target="numpy"`` runs it as it stands, and so do arguments that are not plain numbers (JAX arrays,
symbols, complex steps). ``LINKWISE_TARGET=numpy`` makes that the default. Inputs are checked as the method itself
checks them; a result that is not sound (a singular mass matrix) is computed again on NumPy, which says why.

The methods are ordinary Python functions before and after their first call. Their code is in the robot's
:class:`CodeStore`, where a call with arrays alone finds the C function that takes them: some 0.1 µs of Python
before it, and about 0.5 µs where there are frames, options or optional arrays, by which it is looked up. (A C
function put on the robot itself would save that, and hide the method's signature, help and pickle.)
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from .. import array_kinds, inputs
from ..arguments import one_of, shown, unmasked
from ..codegen.facts import Facts
from ..codegen.foreign.calls import prepare
from ..errors import InputError, SingularError, UntraceableError, warn_of_slow_path
from ..symbols.creation import by_plain_arrays
from ..symbols.users_line import at_users_line
from .call_forms import CallForm, call_form, kept, key_of
from .for_loops import UNSAID, ForLoops

TARGETS = ("cpu", "numpy")
_NOT_YET = object()
P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class BoundMethod(Protocol[P, R_co]):
    """A marked method of one robot, to a type checker: called as declared, or with a ``target`` besides.

    (A keyword cannot be added to a declared list of parameters: with a target, only the result is checked.)
    """

    @overload
    def __call__(self, *args: P.args, **named: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, *args: Any, target: str | None, **named: Any) -> R_co: ...


class Method(Protocol[P, R_co]):
    """A marked method, to a type checker; it is an ordinary function."""

    def __get__(self, robot: Any, owner: Any, /) -> BoundMethod[P, R_co]: ...


def compiled(
    *,
    joint_space: bool = False,
    rolls: bool | tuple[str, ...] = False,
    per_pair: int = 0,
    per_body: int = 0,
    mixes_columns: bool = False,
    in_parts: Callable[..., Any] | None = None,
    parts_last: bool = False,
    on_arrays: tuple[str, ...] = (),
    rolls_with: tuple[str, ...] = (),
    driven: Callable[..., Sequence[bool]] | None = None,
    loops: ForLoops = UNSAID,
    **arrays: str | int | tuple[str | int, ...],
) -> Callable[[Callable[Concatenate[Any, P], R_co]], Method[P, R_co]]:
    """Mark a method of Robot that runs as machine code, and say what the compiler must know of it.

    ``arrays`` names its array arguments in order, with the shape of each for one state: a number, the name of one of
    the robot's ("nq", "nv", "bodies"), or a tuple of these. Its other arguments are fixed when it is compiled.
    ``joint_space`` says that results are in joint space alone, the same for any frames on the bodies. ``rolls`` says
    that it is sweeps and walks and nothing besides, so that large robots may keep their loops; for a method with
    variants, in which of them (their names, the default being one). ``per_pair`` is, for a matrix, about how many
    operations it takes for each two degrees of freedom of general geometry of which one is inboard of the other, and
    ``per_body`` about how many for each body, where it is no matrix and more than forward dynamics has.
    ``mixes_columns`` that springs multiply its matrices, which loops do not do.
    ``in_parts(robot, *arrays, **others)`` gets the same from other compiled calls, for robots whose code would be long;
    with ``parts_last``, for those alone for whom it would be so long that a call were left to NumPy.
    ``rolls_with`` names other arguments, of frames and joints, with which machine code has loops; results have joint
    space last, or those of its columns of which ``driven(robot, other arguments)`` says so, body by body.
    ``on_arrays`` names variants that work on arrays of all bodies: they run as they stand, whatever the target.
    ``loops`` says what it is for robots with loops that have no version of their own of it (:mod:`.for_loops`).
    """
    shapes = {name: shape if isinstance(shape, tuple) else (shape,) for name, shape in arrays.items()}
    variants = (None, *rolls) if isinstance(rolls, tuple) else (None,) if rolls else ()

    def decorate(method: Callable[Concatenate[Any, P], R_co]) -> Method[P, R_co]:
        signature = inspect.signature(method)
        names = tuple(signature.parameters)[1:]
        positional = tuple(n for n in names if signature.parameters[n].kind is not inspect.Parameter.KEYWORD_ONLY)
        known = frozenset(names)
        optional = frozenset(n for n in shapes if signature.parameters[n].default is not inspect.Parameter.empty)
        facts = Facts(
            shapes,
            optional,
            joint_space,
            variants,
            per_pair,
            per_body,
            mixes_columns,
            in_parts,
            parts_last,
            on_arrays,
            rolls_with,
            driven,
        )
        needed = frozenset(facts.needed)
        arrays_alone = positional == facts.needed
        forms: dict[Any, CallForm | None] = {}  # by how many arguments are given by place, and which by name

        @functools.wraps(method)
        def call(self: Any, *args: Any, **named: Any) -> Any:
            # Some tenths of a microsecond in all: one statement more is felt.
            written: Any
            if named:
                written, values = (len(args), *named), (*args, *named.values())
            elif arrays_alone:
                quick = self._code.quick.get(method)
                return checked(self, args, named, method) if quick is None else quick(*args)
            else:
                written, values = len(args), args
            try:
                form = forms[written]
            except KeyError:
                form = forms[written] = call_form(positional, facts, len(args), tuple(named))
            if form is None:
                return checked(self, args, named)
            key: Any = form
            if form.fixed:
                option = values[form.first]
                if form.one_fixed and type(option) is str:
                    key = (form, option)
                else:
                    key, values = form.read(values)
            try:
                found = self._code.ways.get(key)
            except TypeError:  # an argument that nothing can be kept under
                found = None
            if found is not None:
                found.used = True
                return found.quick(*form.pick(values))  # it hands on an optional array that is None
            arrays = form.pick(values)
            if form.has_optional and any(x is None for x in arrays):  # code of other arrays, not to be kept under it
                key = None
            return checked(self, (), dict(zip(form.arrays, arrays)) | form.options(values), key)

        def checked(self: Any, args: Sequence[Any], named: Mapping[str, Any], key: Any = None) -> Any:
            """The call as the method checks it; what is quick from now on is kept under ``key``."""
            if args and not named:
                again = _kept_answer(self, method, args)
                if again is not None:
                    return again(args)
            named = dict(named)
            target = named.pop("target", None)
            if array_kinds.among(args) or array_kinds.among(named.values()):
                given = dict(zip(positional, args)) | named
                if len(given) == len(args) + len(named) and given.keys() <= known:
                    result = _on_foreign(self, call, given, target)
                    if result is not _NOT_YET:
                        return result
            if _chosen(target) == "numpy" or (on_arrays and _runs_on_arrays(named, on_arrays, target)):
                return by_plain_arrays(method, self, *args, **named)
            given = dict(zip(positional, args)) | named
            proper = len(given) == len(args) + len(named) and given.keys() <= known
            found = _arrays(given, shapes) if proper else None
            if found is None or not found.keys() >= needed:
                return by_plain_arrays(method, self, *args, **named)
            fixed = {name: kept(x, name) for name, x in given.items() if name not in shapes}
            code = (method, *found, *((name, key_of(x)) for name, x in fixed.items()))
            try:
                run = self._code.get(code, _NOT_YET)
            except TypeError:
                return _not_kept(self, method, found, fixed)
            if run is _NOT_YET:
                run = _runner(self, code, found, fixed, call, checked)
            if run is None:
                return as_it_is(self, **found, **fixed)
            if key is not None and run.quick is not None:
                self._code.keep_way(key, code, run.quick)
            return run.run(*found.values())

        as_it_is: Any = method  # with all arguments by name, which its declared type does not say
        said = {"facts": facts, "plain": method, "loops": loops, "again": decorate}
        marked: Method[P, R_co] = _marked(call, _with_target(signature), **said)
        return marked

    return decorate


def _kept_answer(robot: Any, method: Any, args: Sequence[Any]) -> Any:
    """What answered such a call with arrays of this type before, or None."""
    again = robot._code.foreign.get((method, type(args[0]), getattr(args[0], "is_cuda", False)))
    return again if again is not None and again.takes(args) else None


def _on_foreign(robot: Any, call: Any, given: dict[str, Any], target: str | None) -> Any:
    """The answer to arrays of other libraries from compiled code; _NOT_YET where the method itself is to take them."""
    from . import foreign_calls

    facts: Facts = call.facts
    found = {name: given[name] for name in facts.arrays if given.get(name) is not None}
    if not found.keys() >= frozenset(facts.needed) or not array_kinds.among(found.values()):
        return _NOT_YET
    library = array_kinds.common(found)
    if library == "jax" and _chosen(target) == "numpy":
        return _NOT_YET
    if library != "jax" and target is not None and _chosen(target) == "numpy":
        raise foreign_calls.refuse(library, call.__name__, 'target="numpy" runs on NumPy\'s alone')
    fixed = {name: kept(x, name) for name, x in given.items() if name not in facts.arrays}
    if facts.on_arrays and fixed.get("method") in facts.on_arrays:
        if library != "jax":
            raise foreign_calls.refuse(library, call.__name__, f"method={fixed['method']!r} is not compiled")
        return _NOT_YET
    if library == "jax" and not hasattr(sys.modules["jax"], "ffi"):
        return _traced_loops(robot, call, found, fixed)
    prepare(library)
    asked = (call, library, tuple(found), tuple(fixed.items()), array_kinds.on_device(found.values()))
    robot._make_answer(*asked)
    answer = robot._code.get(foreign_calls.answer_key(*asked))
    if answer is None:
        if library != "jax":
            raise foreign_calls.refuse(library, call.__name__, "it is left to NumPy here")
        return _NOT_YET
    kinds = {(type(x), getattr(x, "is_cuda", False)) for x in found.values()}
    if not fixed and target is None and tuple(found) == facts.needed and len(kinds) == 1:
        robot._code.foreign[call.plain, *kinds.pop()] = answer
    return answer(tuple(found.values()))


def _traced_loops(robot: Any, call: Any, found: dict[str, Any], fixed: dict[str, Any]) -> Any:
    """Without foreign functions JAX traces what it is given: loops over bodies, or (_NOT_YET) the method itself."""
    from ..codegen.pipeline import compile_job, method_job
    from ..codegen.sources.jax import JaxLoopFunction

    key = ("traced", call.plain, *found, *((name, key_of(x)) for name, x in fixed.items()))
    function = robot._code.get(key, _NOT_YET)
    if function is _NOT_YET:
        function = compile_job(method_job(robot, call, tuple(found), fixed, target="jax", patient=False))
        robot._code.keep(key, function)
    return function(*found.values()) if isinstance(function, JaxLoopFunction) else _NOT_YET


def _runs_on_arrays(named: Mapping[str, Any], on_arrays: tuple[str, ...], target: str | None) -> bool:
    """Whether the variant that is asked for is one of these; machine code of it is refused."""
    variant = named.get("method")
    if not isinstance(variant, str) or variant not in on_arrays:
        return False
    if target is not None:
        raise InputError(
            f'method="{variant}" works on arrays of all bodies, which NumPy and JAX run, and has no target="{target}";'
            " leave target out, or name the default method"
        )
    return True


def on_numpy(method: Callable[Concatenate[Any, P], R_co]) -> Method[P, R_co]:
    """Mark a method of Robot that NumPy alone runs: it takes ``target=`` as the others do, and refuses any other."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def call(self: Any, *args: Any, target: str | None = None, **named: Any) -> Any:
        if target is not None and not (isinstance(target, str) and target == "numpy"):
            raise InputError(f'{method.__name__} runs on NumPy alone: target is "numpy" here, got {shown(target)}')
        return method(self, *args, **named)

    marked: Method[P, R_co] = _marked(call, _with_target(signature), loops=UNSAID)
    return marked


def _with_target(signature: inspect.Signature) -> inspect.Signature:
    extra = inspect.Parameter("target", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str | None")
    kept = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    return signature.replace(parameters=[*kept, extra])


def _marked(call: Any, signature: inspect.Signature, **known: Any) -> Any:
    """The function ``call`` with what is known of it."""
    call.__signature__ = signature
    for name, x in known.items():
        setattr(call, name, x)
    return call


def default_target() -> str:
    """What methods run on where no target is named."""
    chosen = os.environ.get("LINKWISE_TARGET", "cpu")
    return one_of(chosen, TARGETS, "target that LINKWISE_TARGET may choose", error=InputError)


def _chosen(target: Any) -> str:
    if target is None:
        return default_target()
    return one_of(target, TARGETS, "target of a call (robot.compile has others)", error=InputError)


def _arrays(given: dict[str, Any], array_names: Iterable[str]) -> dict[str, np.ndarray] | None:
    """The array arguments as NumPy arrays of real numbers; None where one is something else."""
    out = {}
    for name in array_names:
        x = given.get(name)
        if x is None:
            continue
        if isinstance(x, (list, tuple, int, float)):
            try:
                x = np.asarray(unmasked(x, name))
            except ValueError:
                return None
        elif type(x) is not np.ndarray and isinstance(x, np.ndarray) and x.dtype.kind in "fiub":
            x = np.asarray(unmasked(x, name))  # memory of a file, a matrix, a mask that hides nothing
        if type(x) is not np.ndarray or x.dtype.kind not in "fiub" or x.dtype.itemsize > 8:
            return None
        out[name] = x
    return out


def _checked(robot: Any, found: dict[str, np.ndarray], facts: Facts) -> list[np.ndarray]:
    """The arrays in one precision, checked as the methods check them; those of several axes as rows of numbers."""
    checks = {name: inputs.shaped(robot, x, facts.arrays[name], name) for name, x in found.items()}
    return inputs.together(robot, **checks)[1]


def _runner(
    robot: Any,
    code: tuple[Any, ...],
    found: dict[str, Any],
    fixed: dict[str, Any],
    call: Any,
    checked: Callable[..., Any],
) -> Run | Parts | _SingularCall | None:
    """What runs this method with these fixed arguments, and is kept for the next time; None where NumPy must do."""
    parts = call.facts.in_parts
    kernel = compiled_call(robot, call, tuple(found), fixed)
    run: Run | Parts | _SingularCall | None = None
    if isinstance(kernel, Singular):
        run = _SingularCall(robot, call, tuple(found), fixed, kernel)
    elif kernel is not None:
        in_one = kernel is not parts
        run = (
            Run(robot, kernel, call, tuple(found), fixed, checked)
            if in_one
            else Parts(robot, tuple(found), fixed, call.facts)
        )
    robot._code.keep(code, run)
    return run


class Singular:
    """What symbols found to be singular in every state: a joint that nothing resists, say."""

    def __init__(self, what: str, error: Exception) -> None:
        self.what, self.reason = what, str(error)
        self.error = error if isinstance(error, SingularError) else SingularError(f"{what}: {error}")
        self.said = False

    def say(self) -> None:
        """NumPy had an answer all the same."""
        if not self.said:
            self.said = True
            warn_of_slow_path(
                f'{self.what} runs on NumPy, not compiled: {self.reason}; target="numpy" says that this is meant'
            )


class _SingularCall:
    """A method that is singular in every state: NumPy names the joint."""

    quick = None

    def __init__(
        self, robot: Any, call: Any, names: tuple[str, ...], fixed: dict[str, Any], singular: Singular
    ) -> None:
        self._robot, self._call, self._names, self._fixed, self._singular = robot, call, names, fixed, singular

    def run(self, *arrays: Any) -> Any:
        result = self._call.plain(self._robot, **dict(zip(self._names, arrays)), **self._fixed)
        self._singular.say()
        return result


class Parts:
    """A method that gets its result from other compiled calls, behind the checks that the method makes."""

    quick = None

    def __init__(self, robot: Any, names: tuple[str, ...], fixed: Mapping[str, Any], facts: Facts) -> None:
        self._robot, self._names, self._fixed, self._facts = robot, names, fixed, facts
        self._sizes = [inputs.sizes(robot, facts.arrays[name]) for name in names]

    def run(self, *arrays: np.ndarray) -> Any:
        assert self._facts.in_parts is not None
        rows = _checked(self._robot, dict(zip(self._names, arrays)), self._facts)
        checked = [x.reshape((*x.shape[:-1], *n)) for x, n in zip(rows, self._sizes)]
        return self._facts.in_parts(self._robot, *checked, **self._fixed)


class Run:
    """A kernel behind the checks that its method makes, and the method where the kernel's result is not sound.

    ``quick`` is the same for plain arrays: a C function, which hands on to be checked what it cannot do itself.
    """

    def __init__(
        self, robot: Any, kernel: Any, call: Any, names: tuple[str, ...], fixed: dict[str, Any], checked: Any
    ) -> None:
        self._robot, self._kernel, self._call, self._names, self._fixed = robot, kernel, call, names, fixed
        self._doubt = Doubt(f"{call.__name__}({', '.join(names)}{_asked(fixed)}) of {robot.name!r}")

        by_place = not fixed and names == call.facts.needed

        def again(*arrays: Any) -> Any:
            if len(arrays) != len(names):  # an error, which says what arguments there were
                return checked(robot, arrays, fixed)
            if by_place and array_kinds.among(arrays):
                return checked(robot, arrays, {})
            return checked(robot, (), dict(zip(names, arrays)) | fixed | {"target": "cpu"})

        self._single: Callable[..., Any] | None = None

        def in_single_precision(*arrays: Any) -> Any:
            """What is all float32 has an entry of its own, made when it is first needed."""
            kept = _kept_answer(robot, call.plain, arrays) if by_place and arrays else None
            if kept is not None:
                return kept(arrays)
            if arrays and all(type(x) is np.ndarray and x.dtype == np.float32 for x in arrays):
                if self._single is None:
                    self._single = self._entry(again, np.float32)
                return self._single(*arrays)
            return again(*arrays)

        quick = self._entry(in_single_precision)
        self.quick = None if quick is in_single_precision else quick
        self.run = self._entry(self._checked)  # the same code, so that a first call gives what later ones give

    def _entry(self, fallback: Callable[..., Any], dtype: Any = np.float64) -> Callable[..., Any]:
        """The kernel's way in from Python; what it cannot do itself it hands to ``fallback``."""
        axes = {name: inputs.sizes(self._robot, self._call.facts.arrays[name]) for name in self._names}
        shapes = {name: shape for name, shape in axes.items() if len(shape) > 1}
        quick: Callable[..., Any] = self._kernel.quick_before(fallback, shapes=shapes, dtype=dtype)
        if quick is fallback or not hasattr(self._kernel.signature.kind, "set_origin"):
            return quick
        return _with_origin(quick, self._robot, self._names.index("v"))

    def _checked(self, *arrays: np.ndarray) -> Any:
        checked: Sequence[np.ndarray] = arrays
        if not self._kernel.takes(arrays):
            checked = _checked(self._robot, dict(zip(self._names, arrays)), self._call.facts)
        result, sound = self._kernel.run(checked)
        if not sound:
            result = self._call.plain(self._robot, **dict(zip(self._names, arrays)), **self._fixed)
            self._doubt.say(checked[0].dtype)  # NumPy had an answer: nothing was wrong with the state
            return result
        if hasattr(result, "set_origin"):  # a result that knows its robot and velocity
            result.set_origin(self._robot, checked[self._names.index("v")])
        return result


def _with_origin(quick: Callable[..., Any], robot: Any, v: int) -> Callable[..., Any]:
    """The same for results that know their robot and velocity."""

    def call(*arrays: Any) -> Any:
        result = quick(*arrays)
        if getattr(result, "origin", v) is None:
            result.set_origin(robot, arrays[v])
        return result

    return call


class Doubt:
    """Says once that NumPy answered what compiled code had computed and could not vouch for."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.said = False

    def say(self, dtype: Any) -> None:
        if not self.said:
            self.said = True
            more = "; float64 has more digits" if dtype == np.float32 else ""
            warn_of_slow_path(
                f"{self.what} is computed again on NumPy: its compiled code does not vouch for its result in {dtype} in"
                f' some state, where a matrix that it inverts is nearly singular{more}; target="numpy" says that this'
                " is meant"
            )


def compiled_call(robot: Any, call: Any, arrays: tuple[str, ...], fixed: dict[str, Any], **options: Any) -> Any:
    """The kernel; the parts where it would be too long and there are such; None, and a word of it, where NumPy does;
    :class:`Singular` where there is nothing to compile."""
    from ..codegen.pipeline import compile_job, method_job

    parts = call.facts.in_parts
    job = method_job(robot, call, arrays, fixed, **{"patient": False, **options})
    try:
        kernel = compile_job(job)
        reason = (
            "" if kernel else f"{job.journal[-1].note}; robot.compile({job.name!r}) takes its time and gives a kernel"
        )
    except (SingularError, ArithmeticError) as e:
        return Singular(f"{call.__name__}({', '.join(arrays)}{_asked(fixed)}) of {robot.name!r}", e)
    except UntraceableError as e:
        kernel, reason = None, str(at_users_line(e))
    if kernel is None and parts is not None:
        return parts
    if kernel is None:
        warn_of_slow_path(
            f"{job.name}({', '.join(arrays)}{_asked(fixed)}) of {robot.name!r} runs on NumPy, not compiled: {reason}"
            '; target="numpy" says that this is meant'
        )
    return kernel


def _asked(fixed: dict[str, Any]) -> str:
    """Fixed arguments as a call has them."""
    return "".join(f", {name}={value!r}" for name, value in fixed.items())


def _not_kept(robot: Any, method: Any, found: dict[str, Any], fixed: dict[str, Any]) -> Any:
    """What NumPy gives for fixed arguments that code cannot be kept under, and a word that it was NumPy."""
    result = method(robot, **found, **fixed)
    kinds = ", ".join(f"{name} ({type(x).__name__})" for name, x in fixed.items())
    warn_of_slow_path(
        f"{method.__name__} of {robot.name!r} runs on NumPy, not compiled: code is kept by the values of {kinds}, which"
        ' cannot be told apart by a hash; give lists of names or of numbers; target="numpy" says that this is meant'
    )
    return result
