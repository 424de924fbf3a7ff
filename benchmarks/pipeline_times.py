"""What each pass of the compiler takes, first and from the disk, as the table of docs/pipeline.md.

python benchmarks/pipeline_times.py            print it
python benchmarks/pipeline_times.py --write    put it into the page
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import linkwise as lw
from linkwise.codegen.pipeline import PASSES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "pipeline.md"
ROBOTS: dict[str, Callable[[], Any]] = {
    "arm (7 joints)": lambda: lw.load("panda"),
    "humanoid (35)": lambda: lw.load("humanoid"),
    "chain of 100": lambda: lw.chain(100),
}


def milliseconds(robot: Any) -> dict[str, float]:
    """Of each pass that had something to do, by name."""
    kernel = robot.compile("forward_dynamics")
    kernel.code(float)
    return {x.name: 1e3 * x.seconds for x in kernel.passes}


def table() -> str:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LINKWISE_CACHE"] = folder
        milliseconds(lw.load("double_pendulum"))  # LLVM and its tables are loaded once
        runs = [milliseconds(make()) for make in ROBOTS.values() for _ in range(2)]
    heads = [f"{name}{when}" for name in ROBOTS for when in ("", ", later")]
    lines = [f"| pass | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for name in (p.name for p in PASSES):
        if any(name in run for run in runs):
            lines.append(f"| {name} | {' | '.join(f'{run[name]:.1f}' if name in run else '–' for run in runs)} |")
    lines.append(f"| together | {' | '.join(f'{sum(run.values()):.0f}' for run in runs)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put it into docs/pipeline.md")
    made = table()
    if parser.parse_args().write:
        page = PAGE.read_text(encoding="utf-8")
        parts = re.sub(r"(<!-- times -->\n).*?(<!-- end -->)", lambda m: m[1] + made + m[2], page, flags=re.DOTALL)
        PAGE.write_text(parts, encoding="utf-8")
    else:
        print(made, end="")


if __name__ == "__main__":
    main()
