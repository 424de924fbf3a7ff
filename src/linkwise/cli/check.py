"""``linkwise check``: is a robot file right, and are the numbers that come of it?"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError, ModelError
from .arguments import add_robot, robot_of
from .command import FAILED, OK, Command, Output
from .terminal_text import painted

if TYPE_CHECKING:
    from ..check.findings import Finding

EXAMPLES = """examples:
  linkwise check my_arm.urdf
  linkwise check dog.urdf --floating --states 20
  linkwise check humanoid.xml --strict --json

The file is loaded, its inertias are looked at, and at random states inverse and forward dynamics, mass matrix, energies
and velocities are compared with each other, with finite differences, and with Pinocchio and MuJoCo where they are
installed. Exit code 1 where a check failed (with --strict, also where one warned).
"""
_MARKS = {"passed": "✓", "failed": "✗", "warned": "!", "skipped": "-"}
_COLOURS = {"passed": "green", "failed": "red", "warned": "yellow", "skipped": "dim"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser, "FILE")
    parser.add_argument("--states", type=int, default=5, metavar="N", help="random states to compare at (5)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random states (0)")
    parser.add_argument("--strict", action="store_true", help="warnings fail too")


def run(arguments: argparse.Namespace, out: Output) -> int:
    from ..check import Finding, check_robot

    if arguments.states < 1 or arguments.seed < 0:
        raise InputError(
            f"--states must be at least 1 and --seed not negative, got {arguments.states}, {arguments.seed}"
        )
    is_file = Path(arguments.robot).is_file()
    found: list[Finding] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the robot's notes are among the findings
            robot = robot_of(arguments)
    except ModelError as e:
        if not is_file:  # there is nothing to check
            raise
        found.append(_told(Finding("file", "failed", " ".join(str(e).split())), out))
    else:
        out.say(f"{robot.name}: {len(robot.bodies)} bodies, {robot.nv} degrees of freedom")
        source = arguments.robot if is_file else None
        for finding in check_robot(robot, source, arguments.states, arguments.seed):
            found.append(_told(finding, out))
    return _concluded(found, arguments.strict, out)


def _told(finding: Finding, out: Output) -> Finding:
    numbers = (
        "" if finding.difference is None else f" (off by {finding.difference:.1e}, may be {finding.tolerance:.0e})"
    )
    if finding.difference is not None and finding.status == "passed":
        numbers = f" ({finding.difference:.1e})"
    detail = f": {finding.detail}" if finding.detail else ""
    mark = painted(_MARKS[finding.status], _COLOURS[finding.status])
    out.say(f"{mark} {finding.name}{detail}{numbers}")
    return finding


def _concluded(found: list[Finding], strict: bool, out: Output) -> int:
    counts = {status: sum(f.status == status for f in found) for status in _MARKS}
    bad = counts["failed"] + (counts["warned"] if strict else 0)
    out.say(", ".join(f"{n} {status}" for status, n in counts.items() if n))
    out.give(ok=bad == 0, **counts, checks=[asdict(f) for f in found])
    return FAILED if bad else OK


COMMAND = Command("check", "check a robot file and the numbers that come of it", add_arguments, run, EXAMPLES)
