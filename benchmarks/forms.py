"""Which form every call takes, how long its first call takes with an empty and with a full cache, and a state then.

    python benchmarks/forms.py                     a few robots and functions, printed
    python benchmarks/forms.py --write             the whole scan, kept with a picture; goes on where it was interrupted
    python benchmarks/forms.py --robots humanoid "chain 40" talos_reduced.urdf --functions all

The scan has the built-in robots, chains, trees and mixed trees of 5 to 300 bodies, each the first bodies of the longer
one, and the URDF files of the package example-robot-data, which comes with Pinocchio's wheel. Each robot has two
processes of its own, one with an empty cache and one that finds what the first left. First calls are of one state;
times of a state are of kernels on 512, on one core, the best of several, beside Pinocchio's algorithms compiled here in
a C++ loop where it has the function and the joints. The form of every other function of the catalogue is decided
without machine code. A call that is left to NumPy is shown as such, with the reason. The picture shows the time of a
state by degree of freedom, or by entry of a matrix.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import linkwise as lw
from linkwise.bench.cases import ARGUMENTS, Case, states
from linkwise.bench.machine import one_core
from linkwise.bench.peers import pinocchio_native
from linkwise.codegen import pipeline
from linkwise.codegen.facts import catalogue
from linkwise.codegen.pipeline import compile_job, method_job
from linkwise.codegen.program.pieces import is_long
from linkwise.codegen.runtime.requests import library_fingerprint
from linkwise.codegen.runtime.rolled_kernel import RolledKernel
from linkwise.errors import LinkwiseError
from linkwise.interop.availability import NotHere

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results" / "forms.json"
TABLE = FOLDER / "results" / "forms.md"
PICTURE = FOLDER.parent / "docs" / "pictures" / "forms.png"
BATCH = 512

LENGTHS = (5, 7, 10, 13, 17, 22, 28, 36, 47, 60, 80, 100, 140, 200, 300)
FAMILIES = ("chain", "tree", "mixed")
FUNCTIONS = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "jacobian", "linearize_inverse", "coriolis_matrix")
MATRICES = ("mass_matrix", "linearize_inverse", "coriolis_matrix")
FEW = ("panda", "humanoid", "chain 22", "chain 100", "tree 28", "mixed 28")
# Bodies up to which a function is in the scan that is kept (of mixed trees a third, which have three times the joints'
# degrees of freedom), and up to which the forms of all functions are decided.
LONGEST = {"linearize_inverse": 100, "coriolis_matrix": 140}
ALL_FORMS = 60
LIMIT = 180  # seconds for a robot; what is compiled for Pinocchio is kept beside the kernels


# --- robots --------------------------------------------------------------------------------------------


def robot_named(name: str) -> lw.Robot:
    """A built-in robot, a family and a number of bodies, or a file of example-robot-data."""
    family, _, n = name.partition(" ")
    if name.endswith(".urdf"):
        return lw.load(next(path for path in files() if path.name == name))
    if not n:
        return lw.load(name)
    return lw.chain(int(n), seed=0) if family == "chain" else branching(int(n), mixed=family == "mixed")


def branching(n: int, mixed: bool) -> lw.Robot:
    """A tree in which every body carries two, of hinges or of all kinds of joints: the first bodies of a larger one."""
    kinds = (lw.Revolute, lw.Prismatic, lw.Universal, lw.Helical, lw.Spherical, lw.Cylindrical, lw.Planar)
    bodies = []
    for k in range(n):
        rng = np.random.default_rng(k)
        axis, other, at, rpy, com = rng.normal(size=(5, 3))
        kind = kinds[k % len(kinds)] if mixed else lw.Revolute
        given = (axis, other) if kind is lw.Universal else () if kind is lw.Spherical else (axis,)
        joint = lw.Joint(kind(*given), at=0.2 * at, rpy=rpy)
        inertia = lw.Inertia(rng.uniform(0.5, 2.0), com=0.1 * com, tensor=np.diag(rng.uniform(0.1, 0.15, 3)))
        bodies.append(lw.Body(f"body{k}", joint, inertia, f"body{(k - 1) // 2}" if k else None))
    return lw.assemble(f"{'mixed' if mixed else 'tree'}{n}", bodies)


def files() -> list[Path]:
    """The URDF files of example-robot-data, where Pinocchio's wheel brings them; those of equal names once."""
    import importlib.util

    found = importlib.util.find_spec("pinocchio")
    if found is None or found.origin is None:
        return []
    folders = [p / "share" / "example-robot-data" / "robots" for p in Path(found.origin).parents]
    paths = sorted(path for folder in folders if folder.is_dir() for path in folder.rglob("*.urdf"))
    return list({path.name: path for path in paths}.values())


# --- in a process of its own ---------------------------------------------------------------------------


def child(name: str, functions: list[str], mode: str) -> None:
    """Print what was found for each function, a line of JSON each."""
    robot = robot_named(name)
    size = {"bodies": len(robot.bodies), "nv": robot.nv}
    robot.fingerprint  # noqa: B018  (a robot's own, whichever call asks for it first)
    with one_core():
        if mode == "pinocchio":
            for function in [f for f in functions if f in ARGUMENTS]:
                print(json.dumps({"function": function, "ns": _pinocchio(robot, name, function)}), flush=True)
            return
        for function in functions:
            print(json.dumps({"function": function, **size, **_measured(robot, function, mode)}), flush=True)
        if mode == "cold" and len(robot.bodies) <= ALL_FORMS:
            pipeline.normal_forms = lambda robot: []  # the form does not depend on the frames
            for function in [f for f in catalogue(type(robot)) if f not in functions]:
                print(json.dumps({"function": function, **size, "form": _decided(robot, function)[0]}), flush=True)


def _measured(robot: Any, function: str, mode: str) -> dict[str, Any]:
    fixed = _fixed(robot, function)
    given = {k: _input(robot, k) for k in getattr(type(robot), function).facts.needed}
    begun = time.perf_counter()
    try:
        getattr(robot, function)(**given, **fixed)
    except LinkwiseError as e:
        return {"form": f"refused: {type(e).__name__}"}
    first = time.perf_counter() - begun
    if mode != "cold":
        return {"first": first}
    form, kernel = _decided(robot, function)
    found: dict[str, Any] = {"form": form, "first": first}
    if kernel is not None:
        found["ns"] = _nanoseconds(kernel)
    return found


def _decided(robot: Any, function: str) -> tuple[str, Any]:
    """(the form of a mere call, its kernel)."""
    job = method_job(robot, getattr(type(robot), function), None, _fixed(robot, function), patient=False)
    try:
        kernel = compile_job(job)
    except LinkwiseError as e:
        return f"refused: {type(e).__name__}", None
    if kernel is None:
        return f"NumPy: {job.journal[-1].note}", None
    if isinstance(kernel, RolledKernel):
        return "loops", kernel
    return "pieces" if is_long(kernel.program) else "straight", kernel


def _input(robot: Any, name: str) -> Any:
    if name in ("q", "q0", "q1"):
        return robot.random_configuration(np.random.default_rng(1))
    return np.full(6 if name == "force" else (len(robot.bodies), 6) if name == "external" else robot.nv, 0.1)


def _fixed(robot: Any, function: str) -> dict[str, Any]:
    """A frame, and joints, for methods that need some."""
    method = getattr(type(robot), function)
    joints = [j.name for j, _, _ in robot.coordinates]
    known = {"frame": robot.tips[-1], "frames": (robot.tips[-1],), "prescribed": tuple(joints[::2])}
    known["passive"] = tuple(joints[1::2] or joints[:1])
    parameters = list(inspect.signature(method.plain).parameters.values())[1:]
    needed = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    return {n: known[n] for n in needed if n not in method.facts.arrays}


def _nanoseconds(kernel: Any) -> float:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(BATCH, n)) for n in kernel.signature.inputs.values()]
    outputs = [np.empty((BATCH, *shape)) for shape in kernel.signature.shapes]
    out = outputs[0] if kernel.signature.single else outputs
    return _best(lambda: kernel(*arrays, out=out, threads=1))


def _pinocchio(robot: Any, name: str, function: str) -> float | None:
    """Nanoseconds of a state in Pinocchio's C++ loop; None where it does not have these joints."""
    case = Case(name, function, BATCH)
    try:
        return _best(pinocchio_native.in_loop(robot, case, states(robot, case)).run)
    except NotHere:
        return None


def _best(run: Any) -> float:
    """The least nanoseconds of a state."""
    taken = []
    until = time.perf_counter() + 0.3
    while len(taken) < 4 or (time.perf_counter() < until and len(taken) < 12):
        begun = time.process_time()
        run()
        taken.append(time.process_time() - begun)
    return 1e9 * min(taken) / BATCH


# --- the scan ------------------------------------------------------------------------------------------


def scanned(name: str, functions: list[str]) -> list[dict[str, Any]]:
    """What a robot's calls took: a row for each function."""
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (_run(name, functions, {"LINKWISE_CACHE": cache}, mode) for mode in ("cold", "warm"))
    again = {row["function"]: row.get("first") for row in warm}
    other = {row["function"]: row["ns"] for row in _run(name, functions, {}, "pinocchio")}
    rows = [{"robot": name, **row} for row in cold]
    return [r | {"warm": again.get(r["function"]), "pinocchio": other.get(r["function"])} for r in rows]


def _run(name: str, functions: list[str], environment: dict[str, str], mode: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-W", "ignore", __file__, "--child", name, mode, "--functions", *functions]
    try:
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=LIMIT)
        out, failed = done.stdout, done.stderr.strip().splitlines()[-1:] if done.returncode else []
    except subprocess.TimeoutExpired as e:
        out, failed = (e.stdout or b"").decode(), [f"took more than {LIMIT} s"]
    for line in failed:
        print(f"{name}: {line}", file=sys.stderr)
    rows = [json.loads(line) for line in out.splitlines() if line.endswith("}")]
    return [*rows, {"function": "(not finished)", "form": failed[0]}] if failed and mode == "cold" else rows


def whole() -> list[str]:
    """The robots of the scan that is kept."""
    families = [f"{family} {n}" for n in LENGTHS for family in FAMILIES if family != "mixed" or n <= 100]
    return [*lw.robots(), *families, *(path.name for path in files())]


def kept() -> list[dict[str, Any]]:
    """The rows of an interrupted scan of the same code on this machine; none where there is no such."""
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return found.get("rows", []) if found.get("code") == library_fingerprint() else []


def keep(rows: list[dict[str, Any]]) -> None:
    RESULTS.write_text(json.dumps({"code": library_fingerprint(), "rows": rows}, indent=0) + "\n", encoding="utf-8")
    TABLE.write_text(summary(rows) + "\n\n" + table([r for r in rows if "first" in r]) + "\n", encoding="utf-8")


def wanted(name: str, functions: list[str]) -> list[str]:
    """The functions that are timed of a robot in the scan that is kept."""
    family, _, n = name.partition(" ")
    bodies = (3 if family == "mixed" else 1) * int(n or 0)
    return [f for f in functions if bodies <= LONGEST.get(f, bodies)]


def summary(rows: list[dict[str, Any]]) -> str:
    """How many calls take which form, and the longest first calls and steps between neighbours."""
    forms = Counter(str(r["form"]).partition(":")[0] for r in rows)
    lines = [
        f"{len(rows)} calls of {len({r['robot'] for r in rows})} robots: "
        + ", ".join(f"{count} {form}" for form, count in forms.most_common())
    ]
    timed = [r for r in rows if "first" in r]
    for what, key in (("cold", "first"), ("warm", "warm")):
        worst = max((r for r in timed if r.get(key)), key=lambda r: r[key], default=None)
        if worst:
            lines.append(f"Longest first call, {what}: {worst[key]:.2f} s, `{worst['function']}` of {worst['robot']}.")
    for family in FAMILIES:
        for function in FUNCTIONS:
            step, where = max(_steps(rows, family, function), default=(0.0, ""))
            if step > 1.3:
                lines.append(f"Step of {step:.2f} by {_unit(function)}: `{function}` of {where}.")
    ratios = sorted((r["pinocchio"] / r["ns"], r["robot"], r["function"]) for r in timed if r.get("pinocchio"))
    if ratios:
        least, middle = ratios[0], ratios[len(ratios) // 2]
        lines.append(f"Pinocchio's time over linkwise's: {middle[0]:.1f} in the middle of {len(ratios)}, least")
        lines[-1] += f" {least[0]:.1f} (`{least[2]}` of {least[1]})."
    return "\n".join(lines)


def _unit(function: str) -> str:
    return "entry" if function in MATRICES else "degree of freedom"


def _by_size(rows: list[dict[str, Any]], family: str, function: str) -> list[tuple[int, float, str]]:
    """(bodies, nanoseconds by degree of freedom or by entry, form) of a family."""
    own = [r for r in rows if r["robot"].split(" ")[0] == family and r["function"] == function and "ns" in r]
    power = 2 if function in MATRICES else 1
    return sorted((r["bodies"], r["ns"] / r["nv"] ** power, r["form"]) for r in own)


def _steps(rows: list[dict[str, Any]], family: str, function: str) -> list[tuple[float, str]]:
    points = _by_size(rows, family, function)
    return [(b[1] / a[1], f"{family} {a[0]} → {b[0]}") for a, b in pairwise(points)]


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| robot | function | form | first call [s] | in another process [ms] | ns a state | Pinocchio |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in rows:
        first = f"{row['first']:.2f}" if "first" in row else ""
        warm = f"{1e3 * row['warm']:.0f}" if row.get("warm") else ""
        ns = f"{row['ns']:.0f}" if "ns" in row else ""
        ratio = f"{row['pinocchio'] / row['ns']:.1f}×" if row.get("pinocchio") else ""
        lines.append(f"| {row['robot']} | `{row['function']}` | {row['form']} | {first} | {warm} | {ns} | {ratio} |")
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]]) -> None:
    """Time by degree of freedom, or by entry of a matrix, over the number of bodies: a line a family, a mark a form."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    marks = {"straight": "o", "pieces": "s", "loops": "^"}
    figure, panels = plt.subplots(2, 3, figsize=(11, 6), sharex=True, layout="constrained")
    for panel, function in zip(panels.ravel(), FUNCTIONS):
        for colour, family in zip(("#1f6f8b", "#c1532b", "#5b8c3e"), FAMILIES):
            points = _by_size(rows, family, function)
            panel.plot([p[0] for p in points], [p[1] for p in points], color=colour, lw=1.2, label=family)
            for form, mark in marks.items():
                own = [p for p in points if p[2] == form]
                panel.plot([p[0] for p in own], [p[1] for p in own], mark, color=colour, ms=6)
        panel.set_title(function.replace("_", " "), fontsize=10)
        panel.set(xscale="log", yscale="log", ylabel=f"ns by {_unit(function)}")
        panel.grid(alpha=0.3, which="both", lw=0.4)
    for panel in panels[1]:
        panel.set_xlabel("bodies")
    for form, mark in marks.items():
        panels[0, 0].plot([], [], mark, color="#444", label=form, ms=6)
    panels[0, 0].legend(fontsize=8, ncols=2)
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", nargs="+", metavar="ROBOT", help='built-in names, files, "chain 40", "tree 40", …')
    parser.add_argument("--functions", nargs="+", default=list(FUNCTIONS), metavar="FUNCTION", help='names, or "all"')
    parser.add_argument("--write", action="store_true", help="the whole scan, kept with its picture")
    parser.add_argument("--draw", action="store_true", help="the picture again, from what is kept")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    functions = list(catalogue(lw.Robot)) if asked.functions == ["all"] else asked.functions
    if asked.child:
        child(asked.child[0], functions, asked.child[1])
        return
    if asked.draw:
        draw(json.loads(RESULTS.read_text(encoding="utf-8"))["rows"])
        return
    rows = kept() if asked.write else []
    done = {row["robot"] for row in rows}
    for name in asked.robots or (whole() if asked.write else FEW):
        if name in done:
            continue
        found = scanned(name, wanted(name, functions) if asked.write else functions)
        rows += found
        print(table(found).partition("\n")[2].partition("\n")[2], flush=True)
        if asked.write:
            keep(rows)
    if asked.write:
        draw(rows)
    print(summary(rows))


if __name__ == "__main__":
    main()
