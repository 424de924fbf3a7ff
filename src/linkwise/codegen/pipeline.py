"""From a method and a robot to a kernel: one ordered list of named passes.

``robot.compile(name)``, ``lw.compile(function, robot)`` and the first call of a method all come through here. The
first passes, :data:`PROGRAM_PASSES`, end with a kernel; its machine code is made by :data:`CODE_PASSES` when a
precision is first used. ``kernel.passes`` tells what each of them did. All numbers by which they decide are in
:mod:`.thresholds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from .. import arguments, inputs
from ..errors import InputError, NotAdmittedError, SingularError, UnknownNameError, UnrollableError, did_you_mean
from ..extras import require
from ..model.model import Model
from ..symbols.scalar import TooLongError
from . import thresholds
from .facts import Facts, catalogue, has_adjoint
from .job import DTYPES, SOURCES, TARGETS, Job
from .loops_or_not import (
    about,
    about_in_loops,
    can_be_rolled,
    is_long_chain,
    refuse_rolling,
    say_what_takes_long,
    shows_frames,
)
from .passes import Pass, run_passes
from .runtime.engine import CODE_PASSES
from .runtime.kernel import Kernel
from .runtime.remade import RunAsItIs, made
from .runtime.requests import LOOPS, recall, request
from .runtime.rolled_kernel import RolledKernel

if TYPE_CHECKING:
    from .program.trace import Program
    from .rolled.program import RolledProgram

OWN_FRAMES = "the robot's own frames"


# --- the passes ----------------------------------------------------------------------------------------


def leave_as_it_is(job: Job) -> str | None:
    """NumPy and JAX run the function itself, of the robot with its numbers as they are."""
    arguments.one_of(job.target, TARGETS, "target", also={"gpu": "cuda", "llvm": "cpu"}, error=InputError)
    arguments.one_of(job.dtype, DTYPES, "dtype of code", error=InputError)
    if job.rolled is not None:
        job.rolled = arguments.flag(job.rolled, "rolled")
    if job.target == "numpy":
        if job.parameters:
            raise InputError(
                'target="numpy" runs the robot with its numbers as they are: leave parameters= out, or take'
                ' target="cpu"'
            )
        job.finish(RunAsItIs(_counted(job), job.robot))
    elif job.target == "jax" and (job.rolled is False or (not job.rolled and not can_be_rolled(job))):
        say_what_takes_long(job)
        _leave_to_jax(job)
    return f"run by {job.target}" if job.done else None


def read_arguments(job: Job) -> str:
    """How many numbers each input has, from the method's declaration or from its name."""
    if job.facts is None:
        from .program.trace import lengths

        job.lengths = lengths(job.robot, job.arrays, job.sizes)
    else:
        shapes = {name: job.facts.arrays[name] for name in job.arrays}
        job.lengths = {name: math.prod(inputs.sizes(job.robot, shape)) for name, shape in shapes.items()}
    return ", ".join(f"{name} ({n})" for name, n in job.lengths.items()) or "none"


def look_up(job: Job) -> str | None:
    """What an earlier process made for the same request, or decided about it, is taken from the disk."""
    if job.rolled:
        refuse_rolling(job)
    if job.target != "cpu" or job.facts is None or job.on_card:
        return None
    job.key = request(job.robot, job.name, job.arrays, job.fixed, job.parameters, job.rolled)
    answer = recall(job.key)
    if answer is None or (answer.refused and job.patient):
        return None
    if answer.refused:
        job.finish(None)
        return f"left to NumPy: {answer.refused}"
    asked = job.asked
    if answer.form == LOOPS:
        straight = partial(_straight, asked)
        job.finish(RolledKernel.recalled(answer, job.key, partial(_rolled, asked), job.robot, job.journal, straight))
    else:
        job.finish(Kernel.remembered(job.key, partial(_program, asked), job.journal))
    return f"found, {answer.form}"


def choose_form(job: Job) -> str:
    """Straight-line code, or loops over the bodies where a robot is large and the function can be rolled."""
    if job.rolled is not None:
        job.loops = "yes" if job.rolled else "no"
        return f"{'loops' if job.rolled else 'straight line'}: as asked"
    if not can_be_rolled(job):
        say_what_takes_long(job)
        return "straight line: it cannot be rolled"
    if job.on_card:
        return _form_on_card(job)
    n, values = len(job.robot.bodies), about(job)
    if is_long_chain(job, values):
        job.loops = "yes"
        return f"loops: a chain of {n}"
    if job.target == "jax":
        if values > thresholds.JAX_LOOPS_FROM and about_in_loops(job) < values / 2:
            job.loops = "yes"
            return f"loops: body after body JAX would compile about {values} values"
        _leave_to_jax(job)
        return f"body after body: {n} of them, which run quicker so where they do not take long to compile"
    if values > thresholds.LOOPS_FROM and thresholds.loops_are_worth_a_trial(about_in_loops(job), values):
        job.loops = "maybe"
        return f"loops if they cost less than straight-line code of about {values} values"
    return f"straight line: about {values} values"


def record_loops(job: Job) -> str | None:
    """Each sweep's step is traced once for each class of bodies; what loops hand on to later ones is made least."""
    if job.loops == "no":
        return None
    if job.target == "jax":
        return _loops_of_jax(job)
    if job.target == "cuda":
        from .rolled.tables import tables
        from .sources.cuda_loops import CudaLoopSource

        program: Any = _rolled(job)
        job.finish(CudaLoopSource(program, job.robot.name, job.dtype, tables(program, job.robot)))
        return f"cuda source, {job.dtype}, {program.length} values in loops"
    is_trial = job.loops == "maybe" and not job.on_card
    trial = thresholds.longest_trial(about(job)) if is_trial else None
    try:
        kernel = _loops(job, trial)
    except (
        TooLongError,
        NotAdmittedError,
        UnrollableError,
    ) as e:  # too many classes of bodies; an algorithm that does not know them
        if job.rolled:
            raise
        return f"not taken: {e}"
    if job.on_card:
        done = kernel.operations.total
        if job.loops == "yes" or done >= thresholds.CUDA_LOOPS_FROM:
            job.finish(kernel)
        return f"{done} operations in loops" + ("" if job.done else ": not taken")
    if job.patient and kernel.scratch_bytes > thresholds.MOST_SCRATCH:
        raise InputError(
            f"{job.name} of {job.robot.nv} degrees of freedom would work in {kernel.scratch_bytes / 1e9:.1f} GB per"
            ' thread; use target="numpy", or what needs no matrix: mass_times, mass_solve, the _jvp and _vjp functions'
        )
    note = f"{kernel.length} values in loops, {kernel.operations.total} operations"
    if not job.patient and kernel.scratch_bytes > thresholds.MOST_SCRATCH:
        job.refuse(f"its matrices would take {kernel.scratch_bytes / 1e9:.1f} GB per thread")
    elif job.loops == "yes" or thresholds.loops_cost_less(kernel.length, kernel.operations.total, about(job)):
        job.finish(kernel)
    else:
        job.spare = kernel
        note += ": not taken"
    return note


def trace_in_own_frames(job: Job) -> str:
    """The function runs once on symbols; what remains is its scalar program. Long code has its frames chosen before."""
    try:
        frames, robot = _promising_frames(job) if _will_be_long(job) else (OWN_FRAMES, job.robot)
        job.traced = [(frames, _traced(job, robot))]
    except TooLongError as e:
        return _without_straight_line(job, str(e))
    job.program = None if frames == OWN_FRAMES and not _will_be_long(job) else job.traced[0][1]
    return f"{job.traced[0][1].operations.total} operations" + (f" in {frames}" if job.program else "")


def trace_in_normal_form(job: Job) -> str | None:
    """The same in frames that take fewer operations, where what is asked of the robot cannot show it."""
    if job.program is not None:
        return None
    from .program.frames import shortest, stand_in

    free = not shows_frames(job)
    if not job.parameters and (free or job.facts is None):
        for name, form in normal_forms(job.robot):
            job.traced.append((name, _traced(job, form if free else stand_in(job.robot, form))))
    chosen, job.program = shortest(job.traced)
    counts = [f"{program.operations.total} in {name}" for name, program in job.traced[1:]]
    job.traced = []
    return f"{', '.join(counts)}; taken: {chosen}" if counts else None


def give_up_on_long_code(job: Job) -> str | None:
    """A mere call does not wait for a very long program either."""
    assert job.program is not None
    if not job.patient and job.program.length > thresholds.LONGEST_CODE:
        return _without_straight_line(job, f"{job.program.length} values")
    return None


def make_kernel(job: Job) -> str:
    """Source text of the program, or a kernel that makes machine code when a precision is first used."""
    assert job.program is not None
    if job.target in SOURCES:
        job.finish(_source(job.target)(job.program, job.robot.name, job.dtype))
        return f"{job.target} source, {job.dtype}"
    job.finish(Kernel(job.program, job.key, job.journal))
    return "kernel"


TRACE_PASSES = (Pass("trace", trace_in_own_frames), Pass("normal form", trace_in_normal_form))
PROGRAM_PASSES = (
    Pass("as it is", leave_as_it_is),
    Pass("arguments", read_arguments),
    Pass("look up", look_up),
    Pass("loops or not", choose_form),
    Pass("loops", record_loops),
    *TRACE_PASSES,
    Pass("long code", give_up_on_long_code),
    Pass("kernel", make_kernel),
)
PASSES = (*PROGRAM_PASSES, *CODE_PASSES)  # all of them, in order


# --- the entry -----------------------------------------------------------------------------------------


def compile_job(job: Job) -> Any:
    """Run the passes; the kernel, or None where a mere call should not wait for one."""
    run_passes(PROGRAM_PASSES, job, job.journal, job.name)
    return job.kernel


def method_job(
    robot: Model, method: Any, arrays: Sequence[str] | None, fixed: Mapping[str, Any], **options: Any
) -> Job:
    """The job for a method of the catalogue with these arrays (by default those it needs) and other arguments."""
    facts: Facts = method.facts
    names = facts.needed if arrays is None else tuple(arrays)
    for name in names:
        if name in fixed:
            raise InputError(f"{name} is one of the arrays that {method.__name__} is called with; leave {name}= out")
    call = _caller(method.plain, {name: facts.arrays[name] for name in names}, fixed)
    return Job(robot, method.__name__, call, names, facts, fixed, **options)


def method_named(cls: type, name: str) -> Any:
    """The method of the catalogue of this name, or an error that says which there are."""
    known = catalogue(cls)
    if arguments.word(name, "the name of a function") not in known:
        meant = did_you_mean(name, known) or f"choose from {', '.join(known)}"
        raise UnknownNameError(f"no function {name!r} to compile; {meant}")
    return getattr(cls, name)


def compile_function(
    function: Callable[..., Any],
    robot: Model,
    *,
    target: str = "cpu",
    sizes: Mapping[str, int] | None = None,
    dtype: str = "float64",
    parameters: Sequence[str] = (),
) -> Any:
    """A user's ``function(robot, q, …)`` compiled for one robot.

    It may use any method of the robot and any operator expression. Its arguments after the robot are
    vectors, of lengths known by name (q; v, a, tau, x, dv) or given in ``sizes``. ``target`` is "cpu" (a
    :class:`Kernel`), "jax" (a jitted function), "c" or "cuda" (a :class:`CSource` or :class:`CudaSource`, of
    ``dtype``) or "numpy".
    ``parameters`` ("inertial", "offsets") keeps those numbers of the robot as further inputs.
    """
    if not isinstance(robot, Model):
        raise InputError(f"code is compiled for a robot, got {arguments.shown(robot)}")
    if not callable(function):
        raise InputError(f"what is compiled is a function of (robot, q, …), got {arguments.shown(function)}")
    from ..symbols.function_memory import refusing_memory
    from .program.trace import argument_names

    name = getattr(function, "__name__", "function")
    names, given = tuple(argument_names(function)), {} if sizes is None else arguments.mapping(sizes, "sizes")
    for array, n in given.items():
        arguments.one_of(array, names, f"array of {name}", error=InputError)
        arguments.whole(n, f"the size of {array!r}")
    job = Job(robot, name, function, names, sizes=given, target=target, dtype=dtype)
    job.parameters = tuple(arguments.names(parameters, "parameters"))
    options = {"target": target, "sizes": sizes, "dtype": dtype, "parameters": parameters}
    # JAX draws random numbers when it is first imported, which are no memory of the function's.
    if isinstance(target, str) and target == "jax":
        require("jax", "jax", 'target="jax"')
    with refusing_memory(function) if target != "numpy" else nullcontext():
        kernel = compile_job(job)
    return made(kernel, compile_function, function, robot, **options)


# --- what the passes use -------------------------------------------------------------------------------


def _caller(
    method: Callable[..., Any], shapes: Mapping[str, tuple[str | int, ...]], fixed: Mapping[str, Any]
) -> Callable[..., Any]:
    """The method as a function of the robot and of arrays, each with its numbers in a row."""

    def call(robot: Model, *rows: Any) -> Any:
        given = {}
        for (name, shape), x in zip(shapes.items(), rows):
            given[name] = x if len(shape) == 1 else x.reshape((*x.shape[:-1], *inputs.sizes(robot, shape)))
        return method(robot, **given, **fixed)

    return call


def _counted(job: Job) -> Callable[..., Any]:
    """What is run as it is, refused where it is not given as many arrays as it takes. (Users' own functions count.)"""
    if job.facts is None:
        return job.call
    call, name, names = job.call, job.name, job.arrays

    @wraps(call)
    def counted(robot: Model, *rows: Any) -> Any:
        if len(rows) != len(names):
            raise InputError(f"{name} takes {len(names)} arrays ({', '.join(names)}), got {len(rows)}")
        return call(robot, *rows)

    return counted


def _program(job: Job) -> Program:
    """The program of a job whose machine code was there before."""
    again = replace(job, done=False)
    run_passes(TRACE_PASSES, again, job.journal, job.name)
    assert again.program is not None
    return again.program


def _source(target: str) -> Any:
    """What makes source text. (Few ask for it, and whoever finds code on disk should not wait for its modules.)"""
    from .sources.c import CSource
    from .sources.cuda import CudaSource

    return {"c": CSource, "cuda": CudaSource}[target]


# These, as what else makes code, are imported when they are used: a process that finds its code on disk spends most of
# its first call on imports.


def trace(*arguments: Any) -> Program:
    """:func:`.program.trace.trace`."""
    from .program.trace import trace

    return trace(*arguments)


def normal_forms(robot: Any) -> list[tuple[str, Any]]:
    """:func:`.program.frames.normal_forms`."""
    from .program.frames import normal_forms

    return normal_forms(robot)


def _will_be_long(job: Job) -> bool:
    """Whether a function of joint space is thought to be so long that it is traced once, in one kind of frames."""
    if job.facts is None or job.parameters or not job.facts.rolls or shows_frames(job):
        return False
    return about(job) > thresholds.FRAMES_TRIED


def _promising_frames(job: Job) -> tuple[str, Any]:
    """The frames in which forward dynamics has the fewest operations; where it does not exist, inverse dynamics."""
    forms = [(OWN_FRAMES, job.robot), *normal_forms(job.robot)]
    kept: dict[Any, int] = job.robot._kept_structure  # for the next function of the robot
    if len(forms) == 1:
        return forms[0]
    if _promising_frames not in kept:
        kept[_promising_frames] = _fewest_operations([robot for _, robot in forms], job.patient)
    return forms[kept[_promising_frames]]


def _fewest_operations(robots: Sequence[Any], patient: bool) -> int:
    """Which of them has the shortest forward dynamics, or inverse dynamics."""
    for method in (type(robots[0]).forward_dynamics, type(robots[0]).inverse_dynamics):
        with suppress(SingularError):
            return min(range(len(robots)), key=lambda i: _operations(method, robots[i], patient))
    return 0


def _operations(method: Any, robot: Any, patient: bool) -> int:
    trial = method_job(robot, method, None, {}, patient=patient)
    read_arguments(trial)
    return _traced(trial, robot).operations.total


def _traced(job: Job, robot: Any) -> Program:
    """The program in the frames of this robot."""
    plain = job.facts is not None  # the catalogue needs none of NumPy's functions on symbols
    most = None if job.patient else thresholds.LONGEST_TRACE
    if most and job.facts is not None and job.facts.in_parts and not job.facts.parts_last:
        most = thresholds.LONGEST_WITH_PARTS
    return trace(robot, job.call, job.name, job.lengths, job.arrays, job.parameters, plain, most)


def _leave_to_jax(job: Job) -> None:
    """JAX traces the algorithm itself."""
    from .sources.jax import JaxFunction

    if job.parameters:
        raise InputError(
            'target="jax" traces the robot with its numbers as they are: leave parameters= out, or call a kernel of'
            ' target="cpu", which takes arrays of JAX, with gradients in them'
        )
    job.finish(JaxFunction(_counted(job), job.robot, is_users=job.facts is None))


def _loops_of_jax(job: Job) -> str:
    """JAX traces loops, or the algorithm where it turns out not to admit them."""
    from .sources.jax import JaxLoopFunction

    try:
        program = _rolled(job)
    except (TooLongError, NotAdmittedError, UnrollableError) as e:
        if job.rolled:
            raise
        _leave_to_jax(job)
        return f"not taken: {e}"
    has_rules = job.arrays == job.facts.needed and has_adjoint(job.robot, job.name) if job.facts else False
    job.finish(JaxLoopFunction(program, job.robot, partial(_derivative, job.asked) if has_rules else None))
    return f"{program.length} values in loops, {program.operations.total} operations"


def _derivative(job: Job, which: str) -> RolledProgram:
    """The loops of a method's adjoint ("vjp") or derivative along a direction ("jvp")."""
    return _rolled(method_job(job.robot, getattr(type(job.robot), f"{job.name}_{which}"), None, {}))


def _straight(job: Job) -> Program:
    """The program of a job whose kernel has loops, without them: derivatives are made of it."""
    again = replace(job, patient=False, target="cpu")
    try:
        return _traced(again, job.robot if shows_frames(job) else _promising_frames(again)[1])
    except TooLongError as e:
        raise InputError(
            f"{job.name} of {job.robot.name!r} has loops over its bodies, and without them, as its derivatives are"
            f" made, it is too long ({e}); robot.linearize_forward and the like give derivatives in loops"
        ) from None


def _form_on_card(job: Job) -> str:
    """Loops for sweeps along chains once they are known to be long, and for all that would be long without them."""
    values = about(job)
    if values >= thresholds.CUDA_LONG:
        job.loops = "yes"
    elif job.robot.is_chain and not (job.facts and job.facts.per_pair):
        job.loops = "maybe"
    chosen = {"yes": "loops", "maybe": "loops if they are long", "no": "straight line"}[job.loops]
    return f"{chosen} on a card: about {values} values"


def _loops(job: Job, most: int | None = None) -> RolledKernel:
    """A kernel of the function as loops over bodies."""
    asked = job.asked
    made = partial(_rolled, asked, most=most)
    return RolledKernel(made, job.robot, job.journal, job.key, partial(_straight, asked))


def _rolled(job: Job, block: int = 0, most: int | None = None) -> RolledProgram:
    """The function as loops over bodies, of ``most`` values, or no more than a call waits for; walks in blocks of so
    many bodies."""
    from .rolled.classes import frames_among
    from .rolled.program import roll

    assert job.facts is not None
    if most is None and not (job.patient or job.rolled):
        most = thresholds.LONGEST_TRACE
    shapes = {name: job.facts.arrays[name] for name in job.arrays}
    return roll(
        job.robot,
        job.call,
        job.name,
        shapes,
        most,
        in_own_frames=shows_frames(job),
        block=block,
        frames=frames_among(job.fixed),
        driven=None if job.facts.driven is None else job.facts.driven(job.robot, job.fixed),
    )


def _without_straight_line(job: Job, why: str) -> str:
    """Loops where they can be had, or NumPy."""
    if job.spare is None and job.loops == "maybe":  # a trial of them may have been cut short
        with suppress(TooLongError, NotAdmittedError, UnrollableError):
            job.spare = _loops(job)
    if job.spare is None or job.spare.length > thresholds.LONGEST_CODE:
        return job.refuse(why)
    job.finish(job.spare)
    return f"loops after all: {why}"
