"""What ``linkwise demo`` tells: a robot, its mass matrix as a formula, its inverse, machine code, and a fall.

The story is text, chapter by chapter; the fall it ends with is a trajectory, which :mod:`.picture` draws.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..codegen.pipeline import compile_function
from ..dynamics.forward.methods import FORWARD_METHODS
from ..errors import InputError, NotAdmittedError
from ..robot.closed import ClosedRobot
from ..robot.make import chain
from ..robot.robot import Robot
from ..simulation.simulate import simulate
from ..simulation.trajectory import Trajectory
from ..symbols.outputs import count
from ..symbols.products import signals_wait
from ..symbols.scalar import Graph

INDENT = "   "
MOST_SHOWN = 8  # joints and matrix rows printed in full
UNBOUNDED_ANGLE = 0.4  # where a joint without limits starts [rad, m]
THROW = 1.0  # joint speed a robot on no base starts with [rad/s, m/s]

IDEAS = {
    "articulated_body": "links weighed with outer joints loose; O(n)",
    "fd1": "filter and smoother, four sweeps; O(n)",
    "fd2": "the same, and how all links accelerate; O(n)",
    "fd3": "three sweeps; O(n)",
    "fd4": "three sweeps, none for velocities alone; O(n)",
    "composite_cholesky": "build the matrix, factor it, solve; O(n³)",
    "conjugate_gradient": "multiply by it, again and again; O(n²)",
    "preconditioned_conjugate_gradient": "the same, guided by its diagonal; O(n²)",
    "triangular": "eliminate from the tips inward; O(n²)",
    "armstrong": "1979, for ball joints; O(n)",
    "vereshchagin": "1974, Gauss' least constraint; O(n)",
    "featherstone": "1983, articulated bodies; O(n)",
    "brandl_johanni_otter": "1986, elimination link by link; O(n)",
    "bae_haug": "1987, virtual work; O(n)",
    "rosenthal": "1990, Kane's equations; O(n)",
    "scan": "all links at once, on arrays; O(log n) steps",
}

Say = Callable[[str], None]
Rows = Sequence[tuple[str, ...]]


# --- the fall ----------------------------------------------------------------------------------------


def start_state(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """The middle of every joint's range, at rest; a robot that floats starts with its joints moving.

    Robots with loops start where they close, next to neutral, at rest.
    """
    q = robot.neutral()
    if isinstance(robot, ClosedRobot):
        return robot.closed_configuration(q), np.zeros(robot.nv)
    for joint, a, b in robot.coordinates:
        if joint.kind.nq == joint.kind.nv:
            lower, upper = robot.lower_limits[b], robot.upper_limits[b]
            bounded = np.isfinite(lower) & np.isfinite(upper)
            q[a] = np.where(bounded, 0.5 * (np.where(bounded, lower, 0) + np.where(bounded, upper, 0)), UNBOUNDED_ANGLE)
    v = np.zeros(robot.nv)
    if floats(robot) or not robot.gravity.any():
        for i, (joint, _, b) in enumerate(robot.coordinates):
            if joint.kind.nv == 1:
                v[b] = THROW * (-1) ** i
    return q, v


def floats(robot: Robot) -> bool:
    """Whether a body of the robot moves freely in space."""
    return any(j.kind.kind == "free" for j in robot.joints)


def fall(robot: Robot, duration: float = 0.8, steps: int = 400) -> Trajectory:
    """The motion from :func:`start_state` with no joint forces."""
    q, v = start_state(robot)
    return simulate(robot, q, v, duration=duration, step=duration / steps, progress=False)


# --- the story ---------------------------------------------------------------------------------------


def tell(robot: Robot, say: Say = print) -> Trajectory:
    """Say all chapters; gives the fall, for the picture."""
    if robot.nv == 0:
        raise InputError(f"robot {robot.name!r} has no joint that moves, so there is nothing to show")
    if robot.loops:
        raise NotAdmittedError(
            f"the demo is about trees, and robot {robot.name!r} has {len(robot.loops)} loops; linkwise info, simulate"
            " and view show it, and docs/closed.md tells about loops"
        )
    q, _ = start_state(robot)
    _introduce(robot, q, say)
    _weigh(robot, q, say)
    _invert(robot, q, say)
    _compare(robot, q, say)
    _compile(robot, q, say)
    return _let_go(robot, say)


def _introduce(robot: Robot, q: np.ndarray, say: Say) -> None:
    _heading(say, "1", "The robot")
    moving = sum(j.kind.nv > 0 for j in robot.joints)
    where = "floating freely" if floats(robot) else "bolted to the world"
    _prose(
        say,
        f"{robot.name}: {_counted(len(robot.bodies), 'body', 'bodies')} on {_counted(moving, 'joint', 'joints')},"
        f" {robot.total_mass:.1f} kg, {robot.nv} degrees of freedom, {where}.",
    )
    say("")
    rows = [("joint", "kind", "moves", "mass [kg]", "range")]
    rows += [
        (j.name, j.kind.kind, b.name, f"{b.inertia.mass:.2f}", _range(robot, k))
        for k, (j, b) in enumerate(zip(robot.joints, robot.bodies))
    ]
    _table(say, _shortened(rows), right=(3, 4))
    tip = robot.tips[0]
    x, y, z = robot.pose(q, tip)[1]
    say("")
    _prose(
        say,
        f"With every joint in the middle of its range, its tip {tip!r} is at x = {x:.3f}, y = {y:.3f},"
        f" z = {z:.3f} m. All that follows is computed in this posture.",
    )


def _range(robot: Robot, k: int) -> str:
    kind, where = robot.joints[k].kind, robot.v_slices[k]
    if k in robot.dependents:
        return f"follows {', '.join(robot.dependents[k].independents)}"
    if kind.nv != 1 or not np.isfinite([robot.lower_limits[where], robot.upper_limits[where]]).all():
        return "unlimited"
    lower, upper = robot.lower_limits[where][0], robot.upper_limits[where][0]
    if kind.kind == "prismatic":
        return f"{lower:.2f} … {upper:.2f} m"
    return f"{np.degrees(lower):.0f} … {np.degrees(upper):.0f}°"


def _weigh(robot: Robot, q: np.ndarray, say: Say) -> None:
    _heading(say, "2", "Its mass matrix is a formula")
    _prose(
        say,
        "Newton's F = m a, for a whole robot: joint forces = mass matrix × joint accelerations. Column j of the mass"
        " matrix holds the forces that every joint must give so that joint j alone accelerates by one unit. Off the"
        " diagonal, moving one joint drags on another. (SI units, without weight and friction.)",
    )
    say("")
    matrix = robot.mass_matrix(q)
    for line in _matrix_lines(matrix):
        say(INDENT + INDENT + line)
    say("")
    _prose(say, "linkwise holds it as a product of five operators, which you type as it stands in the papers:")
    say("")
    say(INDENT + INDENT + "op = robot.operators(q)")
    say(INDENT + INDENT + "mass = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T")
    say("")
    op = robot.operators(q)
    mass = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T
    for symbol, meaning in (
        ("H*", "turns joint rates into motion across each joint"),
        ("φ*", "carries motion outward, from each link to the next"),
        ("M", "turns the motion of each link into force, by its inertia"),
        ("φ", "carries the forces back inward, link by link, adding them up"),
        ("H", "keeps the part of a force that its joint feels"),
    ):
        say(f"{INDENT}{INDENT}{symbol:<3} {meaning}")
    say("")
    x = np.linspace(-1.0, 1.0, robot.nv)
    _prose(
        say,
        f"`mass @ x` runs these five, right to left, and never forms a matrix. It agrees with the matrix above to"
        f" {_relative(mass @ x, matrix @ x):.0e}, relatively.",
    )


def _invert(robot: Robot, q: np.ndarray, say: Say) -> None:
    _heading(say, "3", "Its inverse is one too")
    op = robot.operators(q)
    mass = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T
    inverse = mass.inv()
    explained = inverse.explain()
    _prose(
        say,
        "Which accelerations do given forces cause? That needs the inverse. The algebra knows it in closed form, and"
        " print(mass.inv().explain()) shows what runs: the recursions of a Kalman filter, over links instead of time.",
    )
    say("")
    say(f"{INDENT}{INDENT}mass.inv()  =  {explained.formula}")
    say("")
    say(textwrap.indent(textwrap.dedent(explained.recursion), INDENT + INDENT))
    say("")
    x = np.linspace(-1.0, 1.0, robot.nv)
    _prose(
        say,
        f"mass.inv() @ (mass @ x) gives x back to {_relative(inverse @ (mass @ x), x):.0e}. The work grows with the"
        " number of links, where a matrix takes the square of it to fill and the cube to solve. Operations to get the"
        " accelerations of a chain, counted exactly:",
    )
    say("")
    sizes = (4, 8, 16, 24)
    rows = [("links", *(str(n) for n in sizes))]
    for label, method in (("sweeps along the chain", "articulated_body"), ("through the matrix", "composite_cholesky")):
        rows.append((label, *(f"{_operations_of_a_chain(n, method):,}" for n in sizes)))
    _table(say, rows, right=(1, 2, 3, 4))


@cache
def _operations_of_a_chain(links: int, method: str) -> int:
    return operations(chain(links), method)


@signals_wait()
def operations(robot: Robot, method: str) -> int:
    """How many additions, multiplications, … forward dynamics takes by a method, counted on symbols."""
    graph = Graph()
    q, v, tau = graph.inputs("q", robot.nq), graph.inputs("v", robot.nv), graph.inputs("tau", robot.nv)
    with graph.held():
        return count(np.ravel(robot.forward_dynamics(q, v, tau, method=method))).total


def _compare(robot: Robot, q: np.ndarray, say: Say) -> None:
    _heading(say, "4", "Many algorithms, one answer")
    v, tau = np.linspace(1.0, -1.0, robot.nv), np.linspace(-2.0, 2.0, robot.nv)
    _prose(
        say,
        "Half a century of forward-dynamics algorithms, all in the catalogue, asked for the same accelerations:",
    )
    say("")
    reference = robot.forward_dynamics(q, v, tau, target="numpy")
    rows = [("method", "differs by", "idea")]
    for name in FORWARD_METHODS:
        try:
            a = robot.forward_dynamics(q, v, tau, method=name, target="numpy")
            error = _relative(a, reference)
            differs = f"{error:.0e}" if error else "0"
        except NotAdmittedError:
            differs = "not for it"
        rows.append((name, differs, IDEAS.get(name, "")))
    _table(say, rows, right=(1,))
    say("")
    _prose(
        say,
        "Five of the named ones agree to the last digit because they are one algorithm, found five times; linkwise runs"
        " it and hands out its quantities in each author's letters (docs/notations.md).",
    )


def _compile(robot: Robot, q: np.ndarray, say: Say) -> None:
    _heading(say, "5", "The same, as machine code")
    _prose(
        say,
        "Python is slow, and a robot's numbers never change. So linkwise runs an algorithm on symbols once, folds all"
        " constants, and compiles what is left for this one robot, several states at a time:",
    )
    say("")
    say(INDENT + INDENT + 'kernel = robot.compile("forward_dynamics")')
    say("")
    batch = 4096
    qs, none = np.tile(q, (batch, 1)), np.zeros((batch, robot.nv))
    begun = time.perf_counter()
    kernel = robot.compile("forward_dynamics")
    kernel(q, none[0], none[0])
    made = time.perf_counter() - begun
    numpy = robot.compile("forward_dynamics", target="numpy")
    rows = [
        ("NumPy, one state", _duration(_best(lambda: numpy(q, none[0], none[0])))),
        (
            f"NumPy, in a batch of {batch:,}",
            _duration(_best(lambda: numpy(qs, none, none), 1) / batch),
        ),
        ("compiled, one call from Python", _duration(_best(lambda: robot.forward_dynamics(q, none[0], none[0]), 50))),
        (
            f"compiled, in a batch of {batch:,}, one core",
            _duration(_best(lambda: kernel(qs, none, none, threads=1), 9) / batch),
        ),
    ]
    _table(say, [("forward dynamics", "a state"), *rows], right=(1,))
    say("")

    def formula(robot: Robot, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        op = robot.operators(q)
        return (op.H @ op.phi @ op.M @ op.phi.T @ op.H.T).inv() @ x

    typed: Any = compile_function(formula, robot)
    by_hand: Any = robot.compile("mass_solve")
    _prose(
        say,
        f"The kernel was ready after {made:.2f} s (on later runs it comes from a cache). Formulas of your own compile"
        " as well, and lose next to nothing by being typed as operators. Operations for one product with the inverse of"
        " chapter 3:",
    )
    say("")
    _table(say, [("typed as a formula", str(typed.operations)), ("written by hand", str(by_hand.operations))])


def _best(run: Callable[[], Any], times: int = 3) -> float:
    """The shortest of several runs [s]."""
    spent = []
    for _ in range(times):
        begun = time.perf_counter()
        run()
        spent.append(time.perf_counter() - begun)
    return min(spent)


def _duration(seconds: float) -> str:
    return f"{1e3 * seconds:.2f} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} µs"


def _let_go(robot: Robot, say: Say) -> Trajectory:
    _heading(say, "6", "Let go")
    motion = fall(robot)
    account, step = motion.energy, 1e3 * motion.settings.step
    drift = float(np.abs(account.drift).max())
    how = "The robot floats with its joints turning" if motion.v[0].any() else "The motors are switched off"
    _prose(
        say,
        f"{how}: no joint forces, no friction, no end stops. {motion.time[-1]:g} s in steps of {step:g} ms"
        " (Runge–Kutta, fourth order):",
    )
    say("")
    tip = robot.tips[0]
    height = robot.pose(motion.q, tip)[1][:, 2]
    rows: list[tuple[str, ...]] = [("time [s]", "tip's height [m]", "kinetic [J]", "potential [J]", "total [J]")]
    for i in np.linspace(0, len(motion.time) - 1, 5).astype(int):
        values = (motion.time[i], height[i], account.kinetic[i], account.potential[i], account.total[i])
        rows.append(tuple(f"{x:.{digits}f}" for x, digits in zip(values, (2, 3, 3, 3, 3))))
    _table(say, rows, right=(0, 1, 2, 3, 4))
    say("")
    share = drift / max(float(account.kinetic.max()), 1e-300)
    _prose(
        say,
        f"Nothing takes energy out, so the total must stand still. It moved by {drift:.1e} J at most,"
        f" {share:.0e} of the largest kinetic energy: the error of the time step.",
    )
    return motion


# --- words and tables --------------------------------------------------------------------------------


def _heading(say: Say, number: str, title: str) -> None:
    say("")
    say(f"{number}  {title}")
    say("")


def _prose(say: Say, text: str) -> None:
    say(textwrap.fill(text, width=96, initial_indent=INDENT, subsequent_indent=INDENT, break_on_hyphens=False))


def _counted(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def _shortened(rows: Rows) -> Rows:
    """A header and a few rows of many."""
    if len(rows) <= MOST_SHOWN + 3:
        return rows
    left = len(rows) - 1 - MOST_SHOWN
    return [*rows[: MOST_SHOWN + 1], (f"… {left} more", *[""] * (len(rows[0]) - 1))]


def _table(say: Say, rows: Rows, right: tuple[int, ...] = ()) -> None:
    """Columns as wide as their widest entry; those listed in ``right`` are set flush right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [x.rjust(w) if i in right else x.ljust(w) for i, (x, w) in enumerate(zip(row, widths))]
        say((INDENT + INDENT + "  ".join(cells)).rstrip())


def _matrix_lines(matrix: np.ndarray) -> list[str]:
    shown = matrix[:MOST_SHOWN, :MOST_SHOWN] + 0.0
    shown[np.abs(shown) < 0.5e-3] = 0.0  # no "-0.000"
    cells = [[f"{x:.3f}" for x in row] for row in shown]
    width = max(len(x) for row in cells for x in row)
    lines = ["  ".join(x.rjust(width) for x in row) for row in cells]
    if len(matrix) > MOST_SHOWN:
        lines = [line + "  …" for line in lines]
        lines.append(f"…  ({len(matrix)} × {len(matrix)} in all)")
    return lines


def _relative(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference of two arrays, over the largest entry of the second."""
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-300))
