"""``linkwise sweep``: a name that is taken for runs over many robots and machines, which are not there yet."""

from __future__ import annotations

import argparse

from ..errors import LinkwiseError
from .command import Command, Output

EXAMPLES = """examples:
  linkwise sweep panda

Until then lw.simulate with parameters= varies a robot over a batch on one machine: see docs/simulate.md.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", nargs="?", metavar="ROBOT", help="a built-in robot, a URDF or MJCF file, or chain-N")


def run(arguments: argparse.Namespace, out: Output) -> None:
    raise LinkwiseError(
        "sweep is reserved for runs over many machines and comes in a later version; today lw.simulate(…, parameters=…)"
        ' varies a robot on one. pip install "linkwise[cluster]" brings what it will run on'
    )


COMMAND = Command("sweep", "reserved: runs over many machines, in a later version", add_arguments, run, EXAMPLES)
