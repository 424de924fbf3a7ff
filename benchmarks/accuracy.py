"""How exact the results are: errors against extended precision, as tables for the docs.

``python benchmarks/accuracy.py`` prints them, with ``--write`` they go between the markers of ``docs/accuracy.md``.

The oracle is the catalogue itself on NumPy's long doubles (64 bits of mantissa on x86): the same inputs, taken as
exact, through the algorithms as they are written. An error is the largest difference in a result divided by the largest
number in it, the largest over all states.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pages import print_or_write

from linkwise.bench.cases import ARGUMENTS, Case, robot_of, stacked
from linkwise.bench.cases import states as states_of
from linkwise.bench.machine import describe, machine
from linkwise.bench.peers import pinocchio
from linkwise.codegen.pipeline import compile_function, compile_job, method_job
from linkwise.errors import LinkwiseError
from linkwise.interop.availability import NotHere
from linkwise.model.model import BodyConstants
from linkwise.robot.make import load
from linkwise.robot.robot import Robot
from linkwise.spatial import Transform

PAGE = Path(__file__).parents[1] / "docs" / "accuracy.md"
START, END = "<!-- accuracy -->", "<!-- end accuracy -->"
ROBOTS = ("panda", "humanoid", "chain-30", "chain-100")
FUNCTIONS = (
    "forward_dynamics",
    "inverse_dynamics",
    "mass_matrix",
    "mass_matrix_inverse",
    "linearize_inverse",
    "linearize_forward",
    "jacobian",
)
STATES = 64
ANGLES = (np.pi, 1e2, 1e4, 1e6)  # largest angles of the tests of sine and cosine
WIDE = np.longdouble


@dataclass(frozen=True)
class Errors:
    """Of one function of one robot; None where there is no such way to run it."""

    compiled: float | None
    numpy: float
    compiled32: float | None
    numpy32: float
    pinocchio: float | None


def refuse_short_long_doubles() -> None:
    if np.finfo(WIDE).eps >= np.finfo(float).eps:
        raise LinkwiseError("NumPy's long doubles have no more digits than float64 on this machine; x86 has them")


def extended(robot: Robot) -> Robot:
    """The robot with constants in long doubles. Its rotations, orthogonal to float64, become orthogonal to all digits:
    otherwise algorithms that agree for rotations would differ by float64's rounding.
    """

    def orthogonal(R: np.ndarray) -> np.ndarray:
        R = R.astype(WIDE)
        for _ in range(2):  # Newton's steps towards the nearest rotation; the first gives all digits
            R = R @ (3 * np.eye(3, dtype=WIDE) - R.T @ R) / 2
        return R

    def wide(c: BodyConstants) -> BodyConstants:
        placement = Transform(orthogonal(c.placement.R), c.placement.l.astype(WIDE))
        return replace(c.cast(WIDE), placement=placement)

    return robot.with_constants(wide(c) for c in robot.constants())


def error(found: Any, exact: Any) -> float:
    """The largest difference in each state's result by the largest number in it; the worst state counts."""
    found, exact = np.asarray(found, dtype=WIDE), np.asarray(exact, dtype=WIDE)
    inner = tuple(range(1, exact.ndim))
    return float((np.abs(found - exact).max(axis=inner) / np.abs(exact).max(axis=inner)).max())


# --- functions of robots -------------------------------------------------------------------------------


def arguments(robot: Robot, case: Case) -> tuple[list[np.ndarray], dict[str, Any]]:
    """The states of a case, and the other arguments of its function."""
    if case.function == "jacobian":
        return [robot.random_configuration(np.random.default_rng(0), case.batch)], {"frame": robot.tips[-1]}
    return states_of(robot, case), {}


def is_compiled(robot: Robot, function: str, fixed: dict[str, Any]) -> bool:
    """Whether a call runs as machine code; matrices of long chains run on NumPy."""
    method = getattr(type(robot), function)
    return compile_job(method_job(robot, method, None, fixed, patient=False)) is not None


def measured(robot_name: str, function: str, batch: int = STATES) -> Errors:
    """The errors of one function of one robot."""
    case = Case(robot_name, function, batch)
    robot = robot_of(case)
    oracle = extended(robot)
    inputs, fixed = arguments(robot, case)

    def run(x: Iterable[np.ndarray], target: str, robot: Robot = robot) -> np.ndarray:
        return stacked(getattr(robot, function)(*x, **fixed, target=target))

    def errors(dtype: Any) -> tuple[float | None, float, np.ndarray]:
        rounded = [x.astype(dtype) for x in inputs]
        exact = run((x.astype(WIDE) for x in rounded), "numpy", oracle)
        fast = error(run(rounded, "cpu"), exact) if is_compiled(robot, function, fixed) else None
        return fast, error(run(rounded, "numpy"), exact), exact

    compiled, plain, exact = errors(np.float64)
    compiled32, plain32, _ = errors(np.float32)
    return Errors(compiled, plain, compiled32, plain32, beside(robot, case, inputs, exact))


def beside(robot: Robot, case: Case, inputs: list[np.ndarray], exact: np.ndarray) -> float | None:
    """The error of Pinocchio on the same states, where it is installed and has the function."""
    if case.function not in ARGUMENTS:
        return None
    try:
        return error(pinocchio.in_loop(robot, case, inputs).result(None), exact)
    except NotHere:
        return None


# --- identities ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Residuals:
    """How well results that must fit together do, in float64, and how hard the robot makes it."""

    condition: float  # of the mass matrix
    inverse: float  # |𝓜 𝓜⁻¹ − I|
    factors: float  # |(I + HφK) D (I + HφK)* − 𝓜| / |𝓜|
    round_trip: float  # |forward(inverse(a)) − a| / |a|
    oracle: float  # the same in extended precision


def residuals(robot_name: str, batch: int = STATES) -> Residuals:
    robot = robot_of(Case(robot_name, "inverse_dynamics"))
    q, v, a = states_of(robot, Case(robot_name, "inverse_dynamics", batch))
    mass, inverse = robot.mass_matrix(q), robot.mass_matrix_inverse(q)
    factor, D = robot.innovations_factors(q)

    def round_trip(robot: Robot, target: str, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
        tau = robot.inverse_dynamics(q, v, a, target=target)
        return error(robot.forward_dynamics(q, v, tau, target=target), a)

    return Residuals(
        float(np.linalg.cond(mass).max()),
        float(np.abs(mass @ inverse - np.eye(robot.nv)).max()),
        error(factor @ D @ factor.swapaxes(-1, -2), mass),
        round_trip(robot, "cpu", q, v, a),
        round_trip(extended(robot), "numpy", q.astype(WIDE), v.astype(WIDE), a.astype(WIDE)),
    )


# --- sine and cosine -----------------------------------------------------------------------------------


def _turns(robot: Robot, q: Any, x: Any) -> tuple[Any, Any]:
    return np.sin(x), np.cos(x)


def ulps(largest: float, dtype: Any, samples: int = 200_000) -> tuple[float, float]:
    """The largest errors of compiled sines and cosines of angles up to ``largest``, in units of their last place.

    Half the angles are spread evenly, half lie next to multiples of π/2, where one of the two is nearly zero.
    """
    robot = load("double_pendulum")
    kernel = compile_function(_turns, robot, sizes={"x": 1})
    rng = np.random.default_rng(0)
    quarters = np.round(rng.uniform(-largest, largest, samples // 2) / (np.pi / 2)) * (np.pi / 2)
    x = np.concatenate([rng.uniform(-largest, largest, samples // 2), quarters]).astype(dtype)[:, None]
    found = kernel(np.zeros((1, robot.nq), dtype), x)
    exact = np.sin(x.astype(WIDE)), np.cos(x.astype(WIDE))
    places = (np.spacing(np.abs(e).astype(dtype)) for e in exact)
    sine, cosine = (float((np.abs(f - e) / place).max()) for f, e, place in zip(found, exact, places))
    return sine, cosine


# --- the page ------------------------------------------------------------------------------------------


def shown(x: float | None) -> str:
    """One significant digit, rounded up."""
    if x is None:
        return "–"
    if x == 0.0:
        return "0"
    exponent = int(np.floor(np.log10(x)))
    digit = int(np.ceil(x / 10.0**exponent * (1 - 1e-12)))
    return f"1e{exponent + 1}" if digit == 10 else f"{digit}e{exponent}"


def function_table(robots: Iterable[str] = ROBOTS, functions: Iterable[str] = FUNCTIONS) -> str:
    ways = ("float64, compiled", "float64, NumPy", "float32, compiled", "float32, NumPy", "Pinocchio, float64")
    lines = ["| robot | function | " + " | ".join(ways) + " |", "|---|---" + "|---" * len(ways) + "|"]
    for robot in robots:
        for function in functions:
            e = measured(robot, function)
            cells = (e.compiled, e.numpy, e.compiled32, e.numpy32, e.pinocchio)
            words = function.replace("_", " ")
            lines.append(f"| {robot} | {words} | " + " | ".join(shown(x) for x in cells) + " |")
    return "\n".join(lines)


def identity_table(robots: Iterable[str] = ROBOTS) -> str:
    lines = [
        "| robot | condition of 𝓜 | 𝓜 𝓜⁻¹ − I | factors of 𝓜 | forward of inverse dynamics | in long doubles |",
        "|---|---|---|---|---|---|",
    ]
    for robot in robots:
        r = residuals(robot)
        cells = (r.condition, r.inverse, r.factors, r.round_trip, r.oracle)
        lines.append(f"| {robot} | " + " | ".join(shown(x) for x in cells) + " |")
    return "\n".join(lines)


def angle_table() -> str:
    lines = ["| angles up to | sin, float64 | cos, float64 | sin, float32 | cos, float32 |", "|---|---|---|---|---|"]
    for largest in ANGLES:
        cells = (*ulps(largest, np.float64), *ulps(largest, np.float32))
        name = "π" if largest == np.pi else f"{largest:.0e}".replace("e+0", "e")
        lines.append(f"| {name} | " + " | ".join(f"{np.ceil(10 * x) / 10:.1f}" for x in cells) + " |")
    return "\n".join(lines)


SECTIONS: dict[str, Callable[[], str]] = {
    "Functions": function_table,
    "Identities": identity_table,
    "Sine and cosine": angle_table,
}


def main(options: list[str]) -> None:
    refuse_short_long_doubles()
    text = "\n\n".join(f"### {title}\n\n{table()}" for title, table in SECTIONS.items())
    text += "\n\nMade on " + describe(machine(("linkwise", "llvmlite", "numpy", "pin")))
    print_or_write(text, PAGE, (START, END), options)


if __name__ == "__main__":
    main(sys.argv[1:])
