"""Inverse kinematics beside other solvers: how many random reachable poses each reaches, and how long it takes.

    pip install pin-pink "qpsolvers[daqp]" mink pytracik roboticstoolbox-python ssik
    taskset -c 0 python benchmarks/inverse_kinematics.py panda ur5 humanoid --goals 10000 --peer-goals 300

Goals are the poses of random configurations within the limits (of the humanoid, of its four limbs at once, its pelvis
free). A goal counts as reached where linkwise's own ``pose``, on NumPy, finds position and rotation within 2e-6 m and
rad, where 1e-6 was asked for, and all joints within their limits, to 2e-6 too. Every solver
starts from the middle of the limits and may try again from random configurations, as it comes, or, where it has no such
thing, up to ten times; those that are not there are left out. Times are processor time on one core, without the first
call.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

import linkwise as lw
from linkwise.dynamics.inverse_kinematics import limited

TIPS = {
    "panda": ["panda_link8"],
    "ur5": ["tool0"],
    "humanoid": ["left_sole", "right_sole", "left_palm", "right_palm"],
}
ROOTS = {"panda": "panda_link0", "ur5": "base_link"}
TOLERANCE = 1e-6  # asked of the solvers, some of which take it for each component
JUDGED = 2e-6
STEPS, ATTEMPTS = 60, 10  # of solvers that only take steps

Poses = list[tuple[np.ndarray, np.ndarray]]  # of every tip
Solver = Callable[[Poses], list[Any]]  # one configuration, or None, for every goal


def middle(robot: Any) -> np.ndarray:
    q: np.ndarray = robot.neutral()
    for i, _, low, high in limited(robot):
        q[i] = 0.5 * (low + high)
    return q


def matrix(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    return np.block([[R, p[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])


def share_reached(robot: Any, tips: list[str], found: list[Any], goals: Poses) -> float:
    """The share of goals that are reached, judged by the pose."""
    there = np.array([x is not None for x in found])
    q = np.array([robot.neutral() if x is None else x for x in found])
    for tip, (R, p) in zip(tips, goals):
        S, s = robot.pose(q, tip, target="numpy")
        there &= np.linalg.norm(s - p, axis=-1) <= JUDGED
        there &= np.linalg.norm(S - R, axis=(-2, -1)) / np.sqrt(2) <= JUDGED
    for i, _, low, high in limited(robot):
        there &= (q[:, i] >= low - JUDGED) & (q[:, i] <= high + JUDGED)
    return float(there.mean())


# --- solvers -------------------------------------------------------------------------------------------


def linkwise(robot: Any, tips: list[str]) -> Solver:
    return lambda goals: list(robot.inverse_kinematics(tips, goals).q)


def linkwise_one_by_one(robot: Any, tips: list[str]) -> Solver:
    def solve(goals: Poses) -> list[Any]:
        return [robot.inverse_kinematics(tips, [(R[i], p[i]) for R, p in goals]).q for i in range(len(goals[0][1]))]

    return solve


def trac_ik(robot: Any, tips: list[str], urdf: Path) -> Solver:
    from trac_ik import TracIK

    solver = TracIK(ROOTS[robot.name], tips[0], str(urdf), timeout=0.05, epsilon=TOLERANCE)
    start = middle(robot)
    R0, p0 = robot.pose(start, ROOTS[robot.name])  # it knows nothing of a world
    return lambda goals: [solver.ik(R0.T @ (p - p0), R0.T @ R, start) for R, p in zip(*goals[0])]


def robotics_toolbox(robot: Any, tips: list[str], urdf: Path) -> Solver:
    import roboticstoolbox

    ets = roboticstoolbox.Robot.URDF(str(urdf)).ets(end=tips[0])
    start = middle(robot)

    def solve(goals: Poses) -> list[Any]:
        out = []
        for R, p in zip(*goals[0]):
            found = ets.ik_LM(matrix(R, p), q0=start, tol=1e-13, method="chan", k=1.0)  # half the squared error
            out.append(found.q if found.success else None)
        return out

    return solve


def ssik(robot: Any, tips: list[str], urdf: Path) -> Solver:
    import ssik

    arm = ssik.Manipulator.from_urdf(str(urdf), ee=tips[0])

    def solve(goals: Poses) -> list[Any]:
        found = [arm.solve(matrix(R, p), max_solutions=1) for R, p in zip(*goals[0])]
        return [x[0].q if x else None for x in found]

    return solve


def guesses(robot: Any) -> Iterator[np.ndarray]:
    yield middle(robot)
    yield from robot.random_configuration(0, batch=ATTEMPTS - 1)


def pink(robot: Any, tips: list[str], urdf: Path) -> Solver:
    import pink
    import pinocchio as pin

    free = robot.joints[0].kind.kind == "free"
    text = _floating_root(urdf.read_text())
    model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer()) if free else pin.buildModelFromXML(text)
    order = [model.joints[model.getJointId(j.name)].idx_q for j in robot.joints if j.kind.nq == 1]
    first = 7 if free else 0
    starts = []
    for q in guesses(robot):
        theirs = pin.neutral(model)
        theirs[order] = q[first:]
        starts.append(theirs)
    data = model.createData()
    options: dict[str, Any] = {"solver": "daqp", "limits": [pink.limits.ConfigurationLimit(model)], "damping": 1e-9}
    options["safety_break"] = False  # a limit may be passed by a rounding
    tasks = [pink.tasks.FrameTask(t, position_cost=1.0, orientation_cost=1.0, lm_damping=0.1) for t in tips]

    def solve(goals: Poses) -> list[Any]:
        out = []
        for i in range(len(goals[0][1])):
            for task, (R, p) in zip(tasks, goals):
                task.set_target(pin.SE3(R[i], p[i]))
            out.append(one())
        return out

    def one() -> Any:
        for start in starts:
            at = pink.Configuration(model, data, start)
            for _ in range(STEPS):
                if max(np.abs(task.compute_error(at)).max() for task in tasks) < 0.5 * TOLERANCE:
                    return np.concatenate([at.q[:first], at.q[order]])
                v = pink.solve_ik(at, tasks, 1.0, **options)
                at.integrate_inplace(v, 1.0)
        return None

    return solve


def _floating_root(urdf: str) -> str:
    """Without the link that a floating joint hangs on: MuJoCo lets only what hangs on the world float."""
    root = ElementTree.fromstring(urdf)
    for joint in root.findall("joint[@type='floating']"):
        parent = joint.find("parent")
        assert parent is not None
        root.remove(joint)
        root.remove(next(x for x in root.findall("link") if x.get("name") == parent.get("link")))
    return ElementTree.tostring(root, encoding="unicode")


def mink(robot: Any, tips: list[str], urdf: Path) -> Solver:
    import mink
    import mujoco

    spec = mujoco.MjSpec.from_string(_floating_root(urdf.read_text()))
    if robot.joints[0].kind.kind == "free":
        spec.worldbody.first_body().add_freejoint()
    spec.compiler.fusestatic = False
    spec.compiler.boundmass = spec.compiler.boundinertia = 1e-6  # it takes no body without mass
    model = spec.compile()
    moving = [j.name for j in robot.joints if j.kind.nq == 1]
    order = [model.joint(name).qposadr[0] for name in moving]
    first = 7 if len(moving) < robot.nv else 0
    tasks = [mink.FrameTask(t, "body", position_cost=1.0, orientation_cost=1.0, lm_damping=0.1) for t in tips]
    limits = [mink.ConfigurationLimit(model)]

    def solve(goals: Poses) -> list[Any]:
        out = []
        for i in range(len(goals[0][1])):
            for task, (R, p) in zip(tasks, goals):
                task.set_target(mink.SE3.from_rotation_and_translation(mink.SO3.from_matrix(R[i]), p[i]))
            out.append(one())
        return out

    def one() -> Any:
        for q in guesses(robot):
            at = mink.Configuration(model)
            start = at.q.copy()
            start[order] = q[first:]
            at.update(start)
            for _ in range(STEPS):
                if max(np.abs(task.compute_error(at)).max() for task in tasks) < 0.5 * TOLERANCE:
                    base = at.q[[0, 1, 2, 4, 5, 6, 3]] if first else []  # its quaternions start with w
                    return np.concatenate([base, at.q[order]])
                at.integrate_inplace(mink.solve_ik(at, tasks, 1.0, "daqp", 1e-9, limits=limits), 1.0)
        return None

    return solve


CHAINS = {"TRAC-IK": trac_ik, "Robotics Toolbox (C++)": robotics_toolbox, "ssik": ssik}
TREES = {"pink": pink, "mink": mink}


# --- the table -----------------------------------------------------------------------------------------


def measured(robot: Any, tips: list[str], solver: Solver, count: int) -> tuple[float, float]:
    """(the share of goals reached, microseconds of processor time for one)."""
    poses = robot.random_configuration(5, batch=count)
    goals = [robot.pose(poses, tip) for tip in tips]
    solver([(R[:3], p[:3]) for R, p in goals])
    start = time.process_time()
    found = solver(goals)
    taken = time.process_time() - start
    return share_reached(robot, tips, found, goals), 1e6 * taken / count


def table(name: str, options: argparse.Namespace) -> None:
    robot, tips = lw.load(name), TIPS[name]
    with tempfile.TemporaryDirectory() as folder:
        urdf = Path(folder) / f"{name}.urdf"
        urdf.write_text(robot.to_urdf(), encoding="utf-8")
        rows: list[tuple[str, Callable[[], Solver], int]] = [
            ("linkwise", lambda: linkwise(robot, tips), options.goals),
            ("linkwise, goal by goal", lambda: linkwise_one_by_one(robot, tips), options.peer_goals),
        ]
        for label, make in ((CHAINS if len(tips) == 1 else {}) | TREES).items():
            rows.append((label, lambda make=make: make(robot, tips, urdf), options.peer_goals))
        for label, make, count in rows:
            try:
                solver = make()
            except ImportError as e:
                print(f"{name:9} {label:24} is not here ({e.name})")
                continue
            reached, taken = measured(robot, tips, solver, count)
            print(f"{name:9} {label:24} {count:6d} goals {100 * reached:7.2f} % {taken:10.1f} µs each", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*", default=list(TIPS), choices=list(TIPS))
    parser.add_argument("--goals", type=int, default=10_000)
    parser.add_argument("--peer-goals", type=int, default=300)
    logging.disable(logging.WARNING)
    for name in (options := parser.parse_args()).robots:
        table(name, options)


if __name__ == "__main__":
    main()
