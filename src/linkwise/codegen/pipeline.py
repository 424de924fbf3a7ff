"""From a method and a robot to a kernel: one ordered list of named passes.

``robot.compile(name)``, ``lw.compile(function, robot)`` and the first call of a method all come through here. The
first passes, :data:`PROGRAM_PASSES`, end with a kernel; its machine code is made by :data:`CODE_PASSES` when a
precision is first used. ``kernel.passes`` tells what each of them did. All numbers by which they decide are in
:mod:`.thresholds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .. import arguments, inputs
from ..errors import InputError, NotAdmittedError, UnknownNameError, UnrollableError, did_you_mean
from ..extras import require
from ..model.flexible.structure import grouped
from ..model.model import Model
from ..symbols.scalar import TooLongError
from . import thresholds
from .facts import Facts, catalogue, has_adjoint
from .passes import Journal, Pass, run_passes
from .runtime.engine import CODE_PASSES
from .runtime.kernel import Kernel
from .runtime.remade import RunAsItIs, made
from .runtime.requests import LOOPS, recall, remember_refusal, request
from .runtime.rolled_kernel import RolledKernel

if TYPE_CHECKING:
    from .program.trace import Program
    from .rolled.program import RolledProgram

SOURCES = ("c", "cuda")
TARGETS = ("cpu", "numpy", "jax", *SOURCES)
DTYPES = ("float64", "float32")
OWN_FRAMES = "the robot's own frames"


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

    lengths: dict[str, int] = field(default_factory=dict)
    key: str | None = None  # under which the disk knows the request
    loops: str = "no"  # whether sweeps are left as loops: "no", "yes", or "maybe", where they are worth a trial
    spare: Any = None  # a kernel with loops that was not taken, for the case that straight-line code cannot be had
    traced: list[tuple[str, Program]] = field(default_factory=list)  # by frames
    program: Program | None = None
    kernel: Any = None
    done: bool = False
    journal: Journal = field(default_factory=Journal)

    def finish(self, kernel: Any) -> None:
        self.kernel, self.done = kernel, True

    def refuse(self, why: str) -> str:
        """Leave a call to NumPy; that it was so decided is kept."""
        self.finish(None)
        remember_refusal(self.key, why)
        return f"left to NumPy: {why}"


# --- the passes ----------------------------------------------------------------------------------------


def leave_as_it_is(job: Job) -> str | None:
    """NumPy and JAX run the function itself."""
    arguments.one_of(job.target, TARGETS, "target", also={"gpu": "cuda", "llvm": "cpu"}, error=InputError)
    arguments.one_of(job.dtype, DTYPES, "dtype of code", error=InputError)
    if job.rolled is not None:
        job.rolled = arguments.flag(job.rolled, "rolled")
    if job.target == "numpy":
        job.finish(RunAsItIs(job.call, job.robot))
    elif job.target == "jax" and not job.rolled:
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
        _refuse_rolling(job)
    if job.target != "cpu" or job.facts is None:
        return None
    job.key = request(job.robot, job.name, job.arrays, job.fixed, job.parameters, job.rolled)
    answer = recall(job.key)
    if answer is None or (answer.refused and job.patient):
        return None
    if answer.refused:
        job.finish(None)
        return f"left to NumPy: {answer.refused}"
    if answer.form == LOOPS:
        job.finish(RolledKernel.recalled(answer, job.key, lambda: _rolled(job), job.robot, job.journal))
    else:
        job.finish(Kernel.remembered(job.key, lambda: _program(job), job.journal))
    return f"found, {answer.form}"


def choose_form(job: Job) -> str:
    """Straight-line code, or loops over the bodies where a robot is large and the function can be rolled."""
    if job.rolled is not None:
        job.loops = "yes" if job.rolled else "no"
        return f"{'loops' if job.rolled else 'straight line'}: as asked"
    if not _can_be_rolled(job):
        return "straight line: it cannot be rolled"
    n, about = len(job.robot.bodies), _about(job)
    if _is_long_chain(job, about):
        job.loops = "yes"
        return f"loops: a chain of {n}"
    if about > thresholds.LOOPS_FROM and thresholds.loops_are_worth_a_trial(_about_in_loops(job), about):
        job.loops = "maybe"
        return f"loops if they cost less than straight-line code of about {about} values"
    return f"straight line: about {about} values"


def record_loops(job: Job) -> str | None:
    """Each sweep's step is traced once for each class of bodies; what loops hand on to later ones is made least."""
    if job.loops == "no":
        return None
    if job.target == "jax":
        return _loops_of_jax(job)
    if job.target == "cuda":
        from .sources.cuda_loops import CudaLoopSource

        program: Any = _rolled(job)
        job.finish(CudaLoopSource(program, job.robot.name, job.dtype, job.robot))
        return f"cuda source, {job.dtype}, {program.length} values in loops"
    try:
        kernel = RolledKernel(_rolled(job), job.robot, job.journal, job.key)
    except (
        TooLongError,
        NotAdmittedError,
        UnrollableError,
    ) as e:  # too many classes of bodies; an algorithm that does not know them
        if job.rolled:
            raise
        return f"not taken: {e}"
    if job.patient and kernel.scratch_bytes > thresholds.MOST_SCRATCH:
        raise InputError(
            f"{job.name} of {job.robot.nv} degrees of freedom would work in {kernel.scratch_bytes / 1e9:.1f} GB per"
            ' thread; use target="numpy", or what needs no matrix: mass_times, mass_solve, the _jvp and _vjp functions'
        )
    note = f"{kernel.length} values in loops, {kernel.operations.total} operations"
    if not job.patient and kernel.scratch_bytes > thresholds.MOST_SCRATCH:
        job.refuse(f"its matrices would take {kernel.scratch_bytes / 1e9:.1f} GB per thread")
    elif job.loops == "yes" or thresholds.loops_cost_less(kernel.length, kernel.operations.total, _about(job)):
        job.finish(kernel)
    else:
        job.spare = kernel
        note += ": not taken"
    return note


def trace_in_own_frames(job: Job) -> str:
    """The function runs once on symbols; what remains is its scalar program. Long code has its frames chosen before."""
    frames, robot = _promising_frames(job) if _will_be_long(job) else (OWN_FRAMES, job.robot)
    try:
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

    free = not _shows_frames(job)
    if not job.parameters and (free or job.facts is None):
        for name, form in normal_forms(job.robot):
            job.traced.append((name, _traced(job, form if free else stand_in(job.robot, form))))
    chosen, job.program = shortest(job.traced)
    counts = [f"{program.operations.total} in {name}" for name, program in job.traced[1:]]
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
    from .program.function_memory import refusing_memory
    from .program.trace import argument_names

    name = getattr(function, "__name__", "function")
    given = {} if sizes is None else arguments.mapping(sizes, "sizes")
    job = Job(robot, name, function, tuple(argument_names(function)), sizes=given, target=target, dtype=dtype)
    job.parameters = tuple(arguments.names(parameters, "parameters"))
    options = {"target": target, "sizes": sizes, "dtype": dtype, "parameters": parameters}
    # JAX draws random numbers when it is first imported, which are no memory of the function's.
    if isinstance(target, str) and target == "jax":
        require("jax", "jax", 'target="jax"')
    with refusing_memory(function):
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
    if job.facts is None or job.parameters or not job.facts.rolls or _shows_frames(job):
        return False
    return _about(job) > thresholds.FRAMES_TRIED


def _promising_frames(job: Job) -> tuple[str, Any]:
    """The frames in which forward dynamics has the fewest operations."""
    found = []
    for name, robot in [(OWN_FRAMES, job.robot), *normal_forms(job.robot)]:
        trial = method_job(robot, type(robot).forward_dynamics, None, {}, patient=job.patient)
        read_arguments(trial)
        found.append((_traced(trial, robot).operations.total, name, robot))
    return min(found, key=lambda x: x[0])[1:]


def _traced(job: Job, robot: Any) -> Program:
    """The program in the frames of this robot."""
    plain = job.facts is not None  # the catalogue needs none of NumPy's functions on symbols
    most = None if job.patient else thresholds.LONGEST_TRACE
    if most and job.facts is not None and job.facts.in_parts:
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
    job.finish(JaxFunction(job.call, job.robot))


def _loops_of_jax(job: Job) -> str:
    """JAX traces loops, where they are asked for.

    (They compile sooner; but processes that had many of them compiled have ended with a fault in Python's memory, and
    why is not known: so not by default.)
    """
    from .sources.jax import JaxLoopFunction

    program = _rolled(job)
    has_rules = job.arrays == job.facts.needed and has_adjoint(job.robot, job.name) if job.facts else False
    job.finish(JaxLoopFunction(program, job.robot, (lambda which: _derivative(job, which)) if has_rules else None))
    return f"{program.length} values in loops, {program.operations.total} operations"


def _derivative(job: Job, which: str) -> RolledProgram:
    """The loops of a method's adjoint ("vjp") or derivative along a direction ("jvp")."""
    return _rolled(method_job(job.robot, getattr(type(job.robot), f"{job.name}_{which}"), None, {}))


def _rolled(job: Job, most: int | None = None) -> RolledProgram:
    """The function as loops over bodies; ``most`` values, or as many as a mere call can wait for."""
    from .rolled.program import roll

    assert job.facts is not None
    if most is None:
        most = None if job.patient or job.rolled else thresholds.LONGEST_TRACE
    shapes = {name: job.facts.arrays[name] for name in job.arrays}
    return roll(job.robot, job.call, job.name, shapes, most, in_own_frames=_shows_frames(job))


def _shows_frames(job: Job) -> bool:
    """Whether results depend on where the bodies' frames are."""
    return job.facts is None or job.facts.shows_frames(job.arrays)


def _without_straight_line(job: Job, why: str) -> str:
    """Loops where they can be had, or NumPy."""
    if job.spare is None or job.spare.length > thresholds.LONGEST_CODE:
        return job.refuse(why)
    job.finish(job.spare)
    return f"loops after all: {why}"


def _refuse_rolling(job: Job) -> None:
    """Say why a function cannot be rolled that was asked to be."""
    if job.target == "c":
        raise InputError('target="c" gives straight-line code; leave rolled= out')
    if job.parameters:
        raise InputError("rolled code has the robot's numbers in tables: leave parameters= or rolled= out")
    if job.facts is None or not job.facts.can_roll(job.arrays, job.fixed):
        known = catalogue(type(job.robot)).items()
        ways = ", ".join(f"{k} ({m})" if m else k for k, facts in known for m in facts.rolls)
        raise InputError(f"{job.name} cannot be rolled with these arguments; these can: {ways}")
    if job.robot.couplings:
        raise InputError(
            f"robot {job.robot.name!r} has {grouped(job.robot)}, which rolled code does not know: its loops have one"
            " step for all bodies, and those that move as one node need another; leave rolled out"
        )
    if _mixes_columns(job):
        raise InputError(
            f"robot {job.robot.name!r} has springs or dampers in its joints, with which {job.name} has 𝓜⁻¹K beside what"
            " rolled code knows; leave rolled out"
        )
    if not job.robot.bodies:
        raise InputError("a robot without bodies has nothing to loop over; leave rolled out")


def _mixes_columns(job: Job) -> bool:
    """Whether a matrix is multiplied by K and d of springs, column by column."""
    return job.facts is not None and job.facts.mixes_columns and bool(job.robot.has_springs)


def _can_be_rolled(job: Job) -> bool:
    if job.target not in ("cpu", "jax") or job.parameters or job.facts is None:
        return False
    if not job.facts.can_roll(job.arrays, job.fixed):
        return False
    return bool(job.robot.bodies) and not job.robot.couplings and not _mixes_columns(job)


def _is_long_chain(job: Job, about: int) -> bool:
    """Whether a robot is a chain of joints that are all alike, but for its base, and long enough for loops."""
    assert job.facts is not None
    n, is_matrix = len(job.robot.bodies), job.facts.per_pair > 0
    if not job.robot.is_chain or not (n >= thresholds.CHAIN_LINKS or (is_matrix and about > thresholds.LONG_CHAIN)):
        return False
    if len(_class_sizes(job)) > thresholds.CHAIN_CLASSES:
        return False
    if n >= thresholds.ALIGNED_LINKS or not _is_aligned(job):
        return True
    return is_matrix and about > 2 * thresholds.LONG_CHAIN  # half of it is not there


def _is_aligned(job: Job) -> bool:
    """Whether the axes of a robot are aligned, so that straight-line code is shorter than what loops do."""
    from .rolled.program import is_aligned

    return is_aligned(job.robot)


def _about_in_loops(job: Job) -> int:
    """About how many values its loops have: walks from each class of bodies have code for each class."""
    assert job.facts is not None
    sizes = _class_sizes(job)
    pairs = sum(set(sizes)) * sum(sizes)
    return thresholds.LOOPS_PER_PAIR * job.facts.per_pair * pairs + _per_body(job) * len(sizes)


def _class_sizes(job: Job) -> list[int]:
    """The degrees of freedom of each class of bodies that loops would have."""
    from .rolled.program import class_sizes

    return class_sizes(job.robot, _shows_frames(job))


def _about(job: Job) -> int:
    """About how many values straight-line code of a function that can be rolled has."""
    assert job.facts is not None
    if not job.facts.per_pair:
        return _per_body(job) * len(job.robot.bodies)
    inboard: list[int] = []  # degrees of freedom of a body and of those inboard of it
    pairs = 0
    for joint, p in zip(job.robot.joints, job.robot.parents):
        before, own = (inboard[p] if p >= 0 else 0), joint.kind.nv
        pairs += own * before + own * (own - 1) // 2
        inboard.append(before + own)
    return job.facts.per_pair * pairs


def _per_body(job: Job) -> int:
    """About how many values a body adds to what is no matrix."""
    assert job.facts is not None
    return job.facts.per_body or thresholds.VALUES_PER_BODY
