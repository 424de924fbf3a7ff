"""``robot.compile(name)`` and ``lw.compile(function, robot)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..arguments import shown, word
from ..errors import InputError, LinkwiseError, UnknownNameError, did_you_mean
from ..model.model import Model
from ..model.normal_form import normal_form
from .program.frame_freedom import computes_the_same
from .program.trace import Program, trace
from .rolled.program import PER_PAIR, ROLLABLE, different_kinds, is_rollable, roll
from .runtime.kernel import Kernel
from .runtime.remade import Remade, RunAsItIs, made
from .runtime.requests import recall, request
from .runtime.rolled_kernel import RolledKernel
from .sources.c import CSource
from .sources.cuda import CudaSource
from .sources.jax import JaxFunction

if TYPE_CHECKING:
    from ..robot.robot import Robot

# Functions whose arguments and results are in joint space alone: any frames on the bodies give the same.
JOINT_SPACE = frozenset(
    {
        "inverse_dynamics",
        "inverse_dynamics_with_reference",
        "bias_force",
        "gravity_force",
        "mass_matrix",
        "mass_matrix_inverse",
        "mass_times",
        "mass_solve",
        "innovations_factors",
        "inverse_factors",
        "forward_dynamics",
        "total_rates",
        "joint_rates",
        "working_forces",
        "joint_forces",
        "diagonal_coriolis",
        "diagonal_dynamics",
        "mass_factor",
        "mass_factor_rate",
        "mass_matrix_sensitivity",
        "linearize_inverse",
        "linearize_forward",
        "inverse_dynamics_jvp",
        "inverse_dynamics_vjp",
        "inverse_dynamics_hvp",
        "forward_dynamics_jvp",
        "forward_dynamics_vjp",
        "forward_dynamics_hvp",
        "momentum_force",
    }
)

MOST_BODIES = 64  # of a robot whose programs are unrolled without being asked for
MOST_NODES = 40_000  # of a program that is compiled without being asked for: about ten seconds
MOST_KINDS = 4  # of joints in a robot whose matrices are rolled: walks from each size of joint have code for each kind
MOST_CLASSES = 8  # the same, joints that differ in more than the direction of an axis counted apart
MOST_SCRATCH = 1 << 29  # bytes of memory that a thread may work in: matrices of some 1500 to 3000 degrees of freedom
LONG_CHAIN = 20_000  # operations of a chain's matrix from which loops serve better (benchmarks/rolled.py)

SOURCES = {"c": CSource, "cuda": CudaSource}
TARGETS = ("cpu", "numpy", "jax", *SOURCES)


def compile_function(
    function: Callable[..., Any],
    robot: Robot,
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
    _check_target(target)
    _check_robot(robot)
    found: Remade
    if target == "numpy":
        found = RunAsItIs(function, robot)
    elif target == "jax":
        found = JaxFunction(function, robot)
    else:
        program = _traced(function, robot, sizes, parameters)
        found = Kernel(program) if target == "cpu" else SOURCES[target](program, robot.name, dtype)
    options = {"target": target, "sizes": sizes, "dtype": dtype, "parameters": parameters}
    return made(found, compile_function, function, robot, **options)


def _traced(
    function: Callable[..., Any], robot: Robot, sizes: Mapping[str, int] | None, parameters: Sequence[str]
) -> Program:
    """A user's function traced, in the frames that make it shortest."""
    program = trace(robot, function, sizes=sizes, parameters=parameters)
    if parameters:
        return program
    forms = (normal_form(robot)[0], normal_form(robot, slide=False)[0])
    others = (_traced_if_possible(form, function, sizes) for form in forms)
    same = [other for other in others if other is not None and computes_the_same(program, other, robot)]
    return min([program, *same], key=lambda p: p.operations.total)


def _traced_if_possible(form: Model, function: Callable[..., Any], sizes: Mapping[str, int] | None) -> Program | None:
    """A function traced in other frames, or None where it does not exist there: a formula with the inverse of each
    body's inertia has none once a parent has taken over all of its child's mass."""
    try:
        return trace(form, function, sizes=sizes)
    except (LinkwiseError, ArithmeticError):
        return None


def compile_named(
    robot: Robot,
    name: str,
    target: str = "cpu",
    dtype: str = "float64",
    parameters: Sequence[str] = (),
    rolled: bool | None = None,
    **fixed: Any,
) -> Any:
    """A function of the catalogue compiled for one robot; ``fixed`` holds its other arguments (frame=…)."""
    _check_target(target)
    names = catalogue(type(robot)).get(word(name, "the name of a function"))
    if names is None:
        known = catalogue(type(robot))
        meant = did_you_mean(name, known) or f"choose from {', '.join(known)}"
        raise UnknownNameError(f"no function {name!r} to compile; {meant}")
    method = getattr(type(robot), name).plain
    if "external" in names and inspect.signature(method).parameters["external"].default is None:
        names = tuple(n for n in names if n != "external")
    call = _caller(method, names, fixed)
    if target == "numpy":
        return RunAsItIs(call, robot)
    if target == "jax":
        return JaxFunction(call, robot)

    def make() -> Program:
        return _fewest_operations(robot, call, name, names, parameters)

    if target in SOURCES:
        if rolled:
            raise InputError(f'target="{target}" gives straight-line code; leave rolled= out')
        return SOURCES[target](make(), robot.name, dtype)
    if rolled or (rolled is None and _wants_rolling(robot, name, names, fixed) and not parameters):
        if parameters:
            raise InputError("rolled code has the robot's numbers in tables: leave parameters= or rolled= out")
        kernel = _rolled(robot, call, name, names, fixed)
        if kernel.scratch_bytes > MOST_SCRATCH:
            raise InputError(
                f"{name} of {robot.nv} degrees of freedom would work in {kernel.scratch_bytes / 1e9:.1f} GB per thread;"
                ' use target="numpy", or what needs no matrix: mass_times, mass_solve, the _jvp and _vjp functions'
            )
        return kernel
    return Kernel.remembered(request(robot, name, names, fixed, parameters), make)


def catalogue(cls: Any) -> dict[str, tuple[str, ...]]:
    """The functions of a robot that can be compiled, and what each takes as arrays."""
    found = inspect.getmembers(cls, lambda x: hasattr(x, "array_names"))
    return {name: method.array_names for name, method in found}


def compile_for_calls(
    robot: Robot, method: Callable[..., Any], arrays: tuple[str, ...], fixed: Mapping[str, Any]
) -> Kernel | None:
    """The kernel behind a method of a robot; None where its program would be too long to be worth the wait."""
    name = method.__name__
    call = _caller(method, arrays, fixed)
    wanted = _wants_rolling(robot, name, arrays, fixed)
    asked = request(robot, name, arrays, fixed)
    known = not wanted and recall(asked) is not None  # as straight-line code, which then needs no tracing
    may_pay = _can_be_rolled(robot, name, arrays, fixed) and _matrix_operations(robot, name) > MOST_NODES
    if wanted or (may_pay and not known):
        rolled = _rolled(robot, call, name, arrays, fixed)
        fits = rolled.length <= MOST_NODES and rolled.scratch_bytes <= MOST_SCRATCH
        if fits and (wanted or rolled.operations.total > 2 * MOST_NODES):
            return rolled
    if len(robot.bodies) > MOST_BODIES:
        return None
    kernel = Kernel.remembered(asked, lambda: _fewest_operations(robot, call, name, arrays, ()))
    return kernel if kernel.is_remembered or len(kernel.program.nodes) <= MOST_NODES else None


def _can_be_rolled(robot: Robot, name: str, arrays: Sequence[str], fixed: Mapping[str, Any]) -> bool:
    if not is_rollable(name, fixed) or "external" in arrays or any(c.spin is not None for c in robot.constants()):
        return False
    if name not in PER_PAIR:
        return True
    return len({type(j.kind) for j in robot.joints}) <= MOST_KINDS and different_kinds(robot) <= MOST_CLASSES


def _wants_rolling(robot: Robot, name: str, arrays: Sequence[str], fixed: Mapping[str, Any]) -> bool:
    """Whether a robot is so large that its sweeps are better left as loops, and they can be."""
    if not _can_be_rolled(robot, name, arrays, fixed):
        return False
    is_chain = all(p == k - 1 for k, p in enumerate(robot.parents))
    return len(robot.bodies) > MOST_BODIES or (is_chain and _matrix_operations(robot, name) > LONG_CHAIN)


def _matrix_operations(robot: Robot, name: str) -> int:
    """About how many operations a matrix takes; 0 of what is no matrix."""
    inboard: list[int] = []  # degrees of freedom of a body and of those inboard of it
    pairs = 0
    for joint, p in zip(robot.joints, robot.parents):
        before, own = (inboard[p] if p >= 0 else 0), joint.kind.nv
        pairs += own * before + own * (own - 1) // 2
        inboard.append(before + own)
    return PER_PAIR.get(name, 0) * pairs


def _rolled(robot: Robot, call: Any, name: str, arrays: Sequence[str], fixed: Mapping[str, Any]) -> RolledKernel:
    if not is_rollable(name, fixed):
        ways = ", ".join(f"{k} ({m})" if m else k for k, methods in ROLLABLE.items() for m in methods)
        raise InputError(f"{name} cannot be rolled with these arguments; these can: {ways}")
    if not robot.bodies:
        raise InputError("a robot without bodies has nothing to loop over; leave rolled out")
    return RolledKernel(roll(robot, call, name, arrays), robot)


def _caller(method: Callable[..., Any], arrays: tuple[str, ...], fixed: Mapping[str, Any]) -> Callable[..., Any]:
    """The method as a function of the robot and these arrays."""

    def call(robot: Robot, *values: Any) -> Any:
        given = dict(zip(arrays, values))
        if "external" in given:
            given["external"] = given["external"].reshape((*given["external"].shape[:-1], -1, 6))
        return method(robot, **given, **fixed)

    return call


def _fewest_operations(robot: Robot, call: Any, name: str, names: Sequence[str], parameters: Sequence[str]) -> Program:
    """The program in the frames that make it shortest: the user's, or a normal form where no frame shows."""
    models = [lambda: robot]
    if name in JOINT_SPACE and not parameters and "external" not in names:
        models += [lambda: normal_form(robot)[0], lambda: normal_form(robot, slide=False)[0]]
    programs = (trace(model(), call, name, names=names, parameters=parameters) for model in models)
    return min(programs, key=lambda program: program.operations.total)


def _check_target(target: Any) -> None:
    if not isinstance(target, str) or target not in TARGETS:
        raise InputError(f"target must be one of {', '.join(TARGETS)}, got {shown(target)}")


def _check_robot(robot: Any) -> None:
    if not isinstance(robot, Model):
        raise InputError(f"code is compiled for a robot, got {shown(robot)}")
