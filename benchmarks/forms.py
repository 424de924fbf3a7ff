"""Which form every call takes, how long its first call takes with an empty and with a full cache, and a state then.

    python benchmarks/forms.py                     a few robots and functions, printed
    python benchmarks/forms.py --write             chains, trees and mixed trees of 5 to 300 bodies, kept with a picture
    python benchmarks/forms.py --robots humanoid --functions all

Each robot has two processes of its own, one with an empty cache and one that finds what the first left. First calls are
of one state; times of a state are of kernels on 512, on one core, the best of several. A call that is left to NumPy is
shown as such, with a warning's reason. The picture shows the time of a state by body, or by entry of a matrix.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results" / "forms.json"
TABLE = FOLDER / "results" / "forms.md"
PICTURE = FOLDER.parent / "docs" / "pictures" / "forms.png"
BATCH = 512

LENGTHS = (5, 10, 15, 20, 30, 50, 80, 120, 200, 300)
FAMILIES = {
    "chain": "lw.chain({n}, seed=0)",
    "tree": "lw.random_tree({n}, seed=1, joints='revolute')",
    "mixed": "lw.random_tree({n}, seed=1)",
}
FUNCTIONS = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "jacobian", "linearize_inverse", "coriolis_matrix")
FEW = ("panda", "humanoid", "chain 20", "chain 100", "tree 30", "mixed 30")
LONGEST = {"mass_matrix": 120, "linearize_inverse": 50, "coriolis_matrix": 30}  # bodies, in the scan that is kept


def maker(name: str) -> str:
    """The expression that makes a robot: a built-in name, or a family and a number of bodies."""
    family, _, n = name.partition(" ")
    return FAMILIES[family].format(n=n) if n else f"lw.load({name!r})"


# --- in a process of its own ---------------------------------------------------------------------------


def child(make: str, functions: list[str], timed: bool) -> None:
    """Print what was found for each function, a line of JSON each."""
    import numpy as np

    import linkwise as lw
    from linkwise.bench.machine import one_core
    from linkwise.codegen.facts import catalogue
    from linkwise.codegen.pipeline import compile_job, method_job
    from linkwise.errors import LinkwiseError

    one_core()
    robot = eval(make, {"lw": lw})
    size = len(robot.bodies), robot.nv
    robot.fingerprint  # noqa: B018  (a robot's own, whichever call asks for it first)
    for name in list(catalogue(type(robot))) if functions == ["all"] else functions:
        method = getattr(type(robot), name)
        fixed = _fixed(robot, method)
        given = {k: _input(robot, k, np) for k in method.facts.needed}
        begun = time.perf_counter()
        try:
            getattr(robot, name)(**given, **fixed)
        except LinkwiseError as e:
            print(json.dumps({"function": name, "form": f"refused: {type(e).__name__}"}), flush=True)
            continue
        found: dict[str, Any] = {"function": name, "first": time.perf_counter() - begun}
        found["bodies"], found["nv"] = size
        job = method_job(robot, method, None, fixed, patient=False)
        kernel = compile_job(job)
        found["form"] = _form(kernel, job)
        if timed and kernel is not None:
            found["ns"] = _nanoseconds(kernel, np)
        print(json.dumps(found), flush=True)


def _input(robot: Any, name: str, np: Any) -> Any:
    if name in ("q", "q0", "q1"):
        return robot.random_configuration(np.random.default_rng(1))
    return np.full(6 if name == "force" else (len(robot.bodies), 6) if name == "external" else robot.nv, 0.1)


def _fixed(robot: Any, method: Any) -> dict[str, Any]:
    """A frame, and joints, for methods that need some."""
    import inspect

    joints = [j.name for j, _, _ in robot.coordinates]
    known = {"frame": robot.tips[-1], "frames": (robot.tips[-1],), "prescribed": tuple(joints[::2])}
    known["passive"] = tuple(joints[1::2] or joints[:1])
    parameters = list(inspect.signature(method.plain).parameters.values())[1:]
    needed = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    return {n: known[n] for n in needed if n not in method.facts.arrays}


def _form(kernel: Any, job: Any) -> str:
    from linkwise.codegen.program.pieces import is_long
    from linkwise.codegen.runtime.rolled_kernel import RolledKernel

    if kernel is None:
        return f"NumPy: {job.journal[-1].note}"
    if isinstance(kernel, RolledKernel):
        return "loops"
    return "pieces" if is_long(kernel.program) else "straight"


def _nanoseconds(kernel: Any, np: Any) -> float:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(BATCH, n)) for n in kernel.signature.inputs.values()]
    outputs = [np.empty((BATCH, *shape)) for shape in kernel.signature.shapes]
    out = outputs[0] if kernel.signature.single else outputs
    taken = []
    for _ in range(12):
        begun = time.process_time()
        kernel(*arrays, out=out, threads=1)
        taken.append(time.process_time() - begun)
    return 1e9 * min(taken) / BATCH


# --- the scan ------------------------------------------------------------------------------------------


def scanned(name: str, functions: list[str]) -> list[dict[str, Any]]:
    """What a robot's calls took: a row for each function."""
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (_run(name, functions, cache, mode) for mode in ("--timed", "--untimed"))
    rows = []
    for row in cold:
        again = next((x for x in warm if x["function"] == row["function"]), {})
        rows.append({"robot": name, **row, "warm": again.get("first")})
    return rows


def _run(name: str, functions: list[str], cache: str, mode: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-W", "ignore", __file__, "--child", maker(name), mode, "--functions", *functions]
    done = subprocess.run(command, env={**os.environ, "LINKWISE_CACHE": cache}, capture_output=True, text=True)
    if done.returncode:
        print(f"{name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| robot | function | form | first call [s] | again, in another process [ms] | ns a state |"]
    lines.append("|---|---|---|---|---|---|")
    for row in rows:
        first = f"{row['first']:.2f}" if "first" in row else ""
        warm = f"{1e3 * row['warm']:.0f}" if row.get("warm") else ""
        lines.append(
            f"| {row['robot']} | `{row['function']}` | {row['form']} | {first} | {warm} | {row.get('ns', 0):.0f} |"
        )
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]]) -> None:
    """Time by body, or by entry of a matrix, over the number of bodies: a line a family, a mark a form."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    marks = {"straight": "o", "pieces": "s", "loops": "^"}
    figure, panels = plt.subplots(2, 3, figsize=(11, 6), sharex=True, layout="constrained")
    for panel, name in zip(panels.ravel(), FUNCTIONS):
        matrix = name in ("mass_matrix", "linearize_inverse", "coriolis_matrix")
        for colour, family in zip(("#1f6f8b", "#c1532b", "#5b8c3e"), FAMILIES):
            own = [r for r in rows if r["robot"].startswith(family) and r["function"] == name and "ns" in r]
            x = [r["bodies"] for r in own]
            y = [r["ns"] / (r["nv"] ** 2 if matrix else r["bodies"]) for r in own]
            panel.plot(x, y, color=colour, lw=1.2, label=family)
            for form, mark in marks.items():
                at = [i for i, r in enumerate(own) if r["form"] == form]
                panel.plot([x[i] for i in at], [y[i] for i in at], mark, color=colour, ms=6)
        panel.set_title(name.replace("_", " "), fontsize=10)
        panel.set(xscale="log", yscale="log", ylabel="ns by entry" if matrix else "ns by body")
        panel.grid(alpha=0.3, which="both", lw=0.4)
    for panel in panels[1]:
        panel.set_xlabel("bodies")
    for form, mark in marks.items():
        panels[0, 0].plot([], [], mark, color="#444", label=form, ms=6)
    panels[0, 0].legend(fontsize=8, ncols=2)
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--robots", nargs="+", metavar="ROBOT", help='built-in names, "chain 40", "tree 40", "mixed 40"'
    )
    parser.add_argument("--functions", nargs="+", default=list(FUNCTIONS), metavar="FUNCTION", help='names, or "all"')
    parser.add_argument("--write", action="store_true", help="the whole scan, kept with its picture")
    parser.add_argument("--draw", action="store_true", help="the picture again, from what is kept")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--timed", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--untimed", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        child(asked.child, asked.functions, asked.timed)
        return
    if asked.draw:
        draw(json.loads(RESULTS.read_text(encoding="utf-8")))
        return
    whole = [*("panda", "quadruped", "humanoid"), *(f"{family} {n}" for n in LENGTHS for family in FAMILIES)]
    rows: list[dict[str, Any]] = []
    for name in asked.robots or (whole if asked.write else FEW):
        n = int(name.partition(" ")[2] or 0)
        wanted = [f for f in asked.functions if not asked.write or n <= LONGEST.get(f, n)]
        found = scanned(name, wanted)
        rows += found
        print(table(found).partition("\n|---|---|---|---|---|---|\n")[2], flush=True)
        if asked.write:
            RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
            TABLE.write_text(table(rows) + "\n", encoding="utf-8")
    if asked.write:
        draw(rows)


if __name__ == "__main__":
    main()
