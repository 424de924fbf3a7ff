"""``linkwise robots``: the built-in robots."""

from __future__ import annotations

import argparse

from .command import Command, Output

EXAMPLES = """examples:
  linkwise robots
  linkwise robots --json
"""


def run(arguments: argparse.Namespace, out: Output) -> None:
    from ..robot.make import load, robot_names

    rows = [("name", "bodies", "nq", "nv", "mass [kg]", "tips")]
    listed = []
    for name in robot_names():
        r = load(name)
        rows.append(
            (name, str(len(r.bodies)), str(r.nq), str(r.nv), f"{r.total_mass:.2f}", ", ".join(r.tips)),
        )
        listed.append({"name": name, "bodies": len(r.bodies), "nq": r.nq, "nv": r.nv, "mass": r.total_mass})
        listed[-1]["tips"] = list(r.tips)
    out.table(rows, right=(1, 2, 3, 4))
    out.give(robots=listed)


COMMAND = Command("robots", "list the built-in robots", lambda parser: None, run, EXAMPLES)
