"""The scan: which form every call takes, its first call with an empty and a full cache, a state then, and Pinocchio.

    python benchmarks/forms.py                           a few robots, printed
    python benchmarks/forms.py --write                   the whole scan, kept with a picture; goes on where it stopped
    python benchmarks/forms.py --write --quick           the part of it that two cores finish in a quarter of an hour
    python benchmarks/forms.py --robots humanoid "chain 40" talos_reduced.urdf --functions all
    python benchmarks/forms.py --page                    table and picture again, from what is kept

The scan has the built-in robots, chains, trees and mixed trees of 5 to 300 bodies, each the first bodies of the longer
one, and the URDF files of the package example-robot-data; of files that hold the same robot one. Each robot has two
processes of its own: one with an empty cache, which also times kernels beside Pinocchio's algorithms compiled here in a
C++ loop (where it has the function and the joints), and one that finds what the first left. First calls are of one
state, in processor time; times of a state are of kernels, the least of several, on one core, one at a time even where
several robots are scanned at once. The form of every other function of the catalogue is decided without machine code.
A call that is left to NumPy is shown as such, with the reason; so is what a robot's share of time did not reach.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from forms_page import FAMILIES, PICTURE, RESULTS, TABLE, draw, into_page, page, summary, table

import linkwise as lw
from linkwise.bench.cases import ARGUMENTS, Case, stacked, states
from linkwise.bench.machine import machine
from linkwise.bench.native import compilers
from linkwise.bench.peers import pinocchio_native
from linkwise.codegen import pipeline
from linkwise.codegen.facts import catalogue
from linkwise.codegen.pipeline import compile_job, method_job
from linkwise.codegen.program.pieces import is_long
from linkwise.codegen.runtime.requests import library_fingerprint
from linkwise.codegen.runtime.rolled_kernel import RolledKernel
from linkwise.errors import LinkwiseError
from linkwise.interop.availability import NotHere
from linkwise.interop.example_robots import example_files

Row = dict[str, Any]

MOST_STATES = 4096
SAME = 1e-7  # relative to the largest number
NONE = 1e-15  # of results that are zeros, as Coriolis matrices of some robots
THROUGH_INVERSES = ("forward_dynamics", "mass_matrix_inverse", "linearize_forward")
MOST_BYTES = 48e6  # of results; of long chains there are fewer states

LENGTHS = (5, 7, 10, 13, 17, 22, 28, 36, 47, 60, 80, 100, 140, 200, 300)
FUNCTIONS = (
    "forward_dynamics",
    "inverse_dynamics",
    "mass_matrix",
    "mass_matrix_inverse",
    "jacobian",
    "frame_poses",
    "linearize_inverse",
    "linearize_forward",
    "coriolis_matrix",
)
FEW = ("panda", "humanoid", "chain 22", "chain 100", "tree 28", "mixed 28")
# Bodies up to which a function is in the scan that is kept (of mixed trees half, which have twice the degrees of
# freedom and more), and up to which the forms of all functions are decided.
LONGEST = {"linearize_inverse": 140, "linearize_forward": 140, "coriolis_matrix": 140, "mass_matrix_inverse": 200}
ALL_FORMS = 60
QUICK_FORMS = ("chain 10", "chain 36", "tree 22", "mixed 10", "mixed 22")  # of the families, in the quick scan
SHARE, QUICK_SHARE = 240, 60  # seconds of processor time for a robot, with an empty cache


# --- robots --------------------------------------------------------------------------------------------


def robot_named(name: str) -> lw.Robot:
    """A built-in robot, a family and a number of bodies, or a file of example-robot-data."""
    family, _, n = name.partition(" ")
    if name.endswith(".urdf"):
        return lw.load(next(path for path in example_files() if path.name == name))
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


def files() -> tuple[list[str], dict[str, str]]:
    """(the files with robots that move, largest first; why the others are left out)."""
    found: dict[Any, tuple[int, str]] = {}
    why: dict[str, str] = {}
    for path in example_files():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", lw.ModelWarning)  # what is odd in these files is not ours to mend
                robot = lw.load(path)
        except LinkwiseError as e:
            why[path.name] = f"{type(e).__name__}: {str(e).replace(str(path), path.name)[:120]}"
            continue
        if not robot.nv:
            why[path.name] = "nothing moves"
        elif robot.fingerprint in found:
            why[path.name] = f"the same as {found[robot.fingerprint][1]}"
        else:
            found[robot.fingerprint] = (robot.nv, path.name)
    return [name for _, name in sorted(found.values(), reverse=True)], why


# --- in a process of its own ---------------------------------------------------------------------------


def child(name: str, functions: list[str], mode: str, share: float) -> None:
    """Print what was found for each function, a line of JSON each: "cold" and "warm" calls, or "forms" alone."""
    robot = robot_named(name)
    size = {"bodies": len(robot.bodies), "nv": robot.nv}
    robot.fingerprint  # noqa: B018  (a robot's own, whichever call asks for it first)
    if mode == "forms":
        pipeline.normal_forms = lambda robot: []  # the form does not depend on the frames
        functions = [f for f in catalogue(type(robot)) if f not in functions]
    for function in functions:
        if time.process_time() > share:
            found: Row = {"form": "not reached"}
        elif mode == "forms":
            found = {"form": _decided(robot, function)[0]}
        else:
            found = _measured(robot, name, function, mode)
        print(json.dumps({"function": function, **size, **found}), flush=True)


def _measured(robot: Any, name: str, function: str, mode: str) -> Row:
    fixed = _fixed(robot, function)
    given = {k: _input(robot, k) for k in getattr(type(robot), function).facts.needed}
    begun = time.process_time()
    try:
        getattr(robot, function)(**given, **fixed)
    except LinkwiseError as e:
        return {"form": f"refused: {type(e).__name__}"}
    first = time.process_time() - begun
    if mode != "cold":
        return {"first": first}
    form, kernel = _decided(robot, function)
    found: Row = {"form": form, "first": first}
    if kernel is not None:
        found["ns"], found["states"] = _nanoseconds(kernel)
        found["operations"] = kernel.operations.total
        found["pinocchio"] = _pinocchio(robot, name, function, found["states"])
    return found


def _decided(robot: Any, function: str) -> tuple[str, Any]:
    """(the form of a mere call, its kernel)."""
    job = method_job(robot, getattr(type(robot), function), None, _fixed(robot, function), patient=False)
    try:
        kernel = compile_job(job)
    except LinkwiseError as e:
        return f"refused: {type(e).__name__}", None
    except Exception as e:  # a fault of linkwise, which the table shall show and the scan outlive
        return f"failed: {type(e).__name__}: {str(e)[:100]}", None
    if kernel is None and getattr(type(robot), function).facts.in_parts:
        return "other calls", None
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


def _nanoseconds(kernel: Any) -> tuple[float, int]:
    """(of a state, of how many at once)."""
    numbers = sum(int(np.prod(shape)) for shape in kernel.signature.shapes)
    count = int(min(MOST_STATES, max(16, 8 * (MOST_BYTES / 64 // max(numbers, 1)))))
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(count, n)) for n in kernel.signature.inputs.values()]
    outputs = [np.empty((count, *shape)) for shape in kernel.signature.shapes]
    if kernel.signature.single:
        return _least(kernel.bind(*arrays, out=outputs[0])) / count, count
    return _least(lambda: kernel(*arrays, out=outputs, threads=1)) / count, count


def _allowed(robot: Any, function: str, given: Sequence[np.ndarray]) -> float:
    """How far two right results may be from each other, relative to the largest number."""
    if function not in THROUGH_INVERSES:
        return SAME
    worst = np.linalg.cond(robot.mass_matrix(given[0])).max()  # 4e10 for fingers beside a trunk
    return max(SAME, 10 * float(np.finfo(float).eps) * float(worst))


def _pinocchio(robot: Any, name: str, function: str, count: int) -> float | None:
    """Nanoseconds of a state in Pinocchio's C++ loop; None where it has no such function, joint or loop."""
    if function not in ARGUMENTS or robot.loops or len(robot.joints) != len(robot.coordinates):
        return None
    case = Case(name, function, count)
    given = states(robot, case)
    try:
        work = pinocchio_native.in_loop(robot, case, given, among=compilers("C++")[:1])
    except (NotHere, LinkwiseError):
        return None
    ours = stacked(getattr(robot, function)(*given, **_fixed(robot, function)))
    if not np.abs(work.result(None) - ours).max() <= _allowed(robot, function, given) * np.abs(ours).max() + NONE:
        raise RuntimeError(f"{function} of {name}: Pinocchio's results differ")
    return _least(work.run) / count


def _least(run: Any) -> float:
    """The least nanoseconds of a call, in processor time; nobody else of this scan is timed meanwhile."""
    with _alone():
        taken: list[float] = []
        until = time.process_time() + 0.1
        while len(taken) < 3 or (time.process_time() < until and len(taken) < 15):
            begun = time.process_time()
            run()
            taken.append(time.process_time() - begun)
    return 1e9 * min(taken)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    path = os.environ.get("LINKWISE_SCAN_LOCK")
    if path is None:
        yield
        return
    import fcntl

    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# --- the scan ------------------------------------------------------------------------------------------


def scanned(name: str, functions: list[str], share: float, core: int | None = None) -> list[Row]:
    """What a robot's calls took: a row for each function."""
    with tempfile.TemporaryDirectory() as cache:
        # What is compiled for Pinocchio stays where it is: it is no part of a cold call.
        kept = Path(os.environ.get("LINKWISE_CACHE") or Path.home() / ".cache" / "linkwise", "bench")
        kept.mkdir(parents=True, exist_ok=True)
        Path(cache, "bench").symlink_to(kept)
        cold, warm = (_run(name, functions, mode, share, core, cache) for mode in ("cold", "warm"))
    again = {row["function"]: row.get("first") for row in warm}
    return [row | {"warm": again.get(row["function"])} for row in cold]


def _run(
    name: str, functions: list[str], mode: str, share: float, core: int | None = None, cache: str | None = None
) -> list[Row]:
    command = [sys.executable, "-W", "ignore", __file__, "--child", name, mode, str(share)]
    if core is not None:
        command = ["taskset", "-c", str(core), *command]
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as errors:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"} | ({"LINKWISE_CACHE": cache} if cache else {})
        work = subprocess.Popen([*command, "--functions", *functions], env=environment, stdout=said, stderr=errors)
        _wait(work, 2 * share)
        said.seek(0)
        errors.seek(0)
        lines, last_words = said.read().splitlines(), errors.read().strip().splitlines()
    rows = [{"robot": name, **json.loads(x)} for x in lines if x.startswith("{") and x.endswith("}")]
    if work.returncode:
        last = (last_words or [f"ended with {work.returncode}"])[-1][:160]
        print(f"{name}, {mode}: {last}", file=sys.stderr)
        rows.append({"robot": name, "function": f"({mode})", "form": f"failed: {last}"})
    return rows


def _wait(work: subprocess.Popen[bytes], seconds: float) -> None:
    """Until it ends, or has had so many seconds of processor time. (A limit set on it would make its clocks coarse.)"""
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            work.wait(0.5)
            return
        fields = Path(f"/proc/{work.pid}/stat").read_text().rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > seconds:
            work.kill()


def whole() -> tuple[list[str], dict[str, str]]:
    """(the robots of the scan that is kept, why files are left out): what the picture needs comes first."""
    families = [f"{family} {n}" for n in LENGTHS for family in FAMILIES if family != "mixed" or n <= 140]
    found, why = files()
    return [*families, *lw.robots(), *found], why


def kept() -> dict[str, Any]:
    """An interrupted scan of the same code; nothing where there is no such."""
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return found if found.get("code") == library_fingerprint() else {}


def keep(found: dict[str, Any]) -> None:
    text = json.dumps({k: v for k, v in found.items() if k != "rows"}, ensure_ascii=False)[:-1]
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in found["rows"])
    RESULTS.write_text(f'{text}, "rows": [\n{rows}\n]}}\n', encoding="utf-8")
    TABLE.write_text(page(found), encoding="utf-8")


def wanted_forms(name: str) -> bool:
    """Whether the forms of all functions of a robot are decided."""
    return int(name.partition(" ")[2] or 0) <= ALL_FORMS


def wanted(name: str, functions: list[str]) -> list[str]:
    """The functions that are timed of a robot in the scan that is kept."""
    family, _, n = name.partition(" ")
    bodies = (2 if family == "mixed" else 1) * int(n or 0)
    return [f for f in functions if bodies <= LONGEST.get(f, bodies)]


def scan(asked: argparse.Namespace, functions: list[str]) -> None:
    """All robots that were not scanned yet, on as many cores as asked for, as long as there is time.

    First the calls that are timed, of all robots; then the forms of all other functions.
    """
    names, why = whole()
    fresh = {"code": library_fingerprint(), "machine": machine(("linkwise", "pin")), "rows": [], "done": []}
    found: dict[str, Any] = kept() or fresh
    found["files left out"] = why
    forms = [n for n in names if n in QUICK_FORMS or not asked.quick or " " not in n]
    todo = [f"{what}: {n}" for what, some in (("calls", names), ("forms", forms)) for n in some]
    until = time.monotonic() + 60 * asked.minutes
    share = QUICK_SHARE if asked.quick else SHARE
    free = sorted(os.sched_getaffinity(0))[: asked.jobs]

    def one(item: str) -> None:
        if time.monotonic() > until or item in found["done"]:
            return
        what, _, name = item.partition(": ")
        core, begun = free.pop(), time.monotonic()
        if what == "calls":
            rows = scanned(name, wanted(name, functions), share, core)
        else:
            rows = _run(name, functions, "forms", share, core) if wanted_forms(name) else []
        free.append(core)
        found["rows"] += rows
        found["done"].append(item)
        found["not reached"] = [x for x in todo if x not in found["done"]]
        keep(found)
        print(f"{item}: {len(rows)}, {time.monotonic() - begun:.0f} s", flush=True)

    # Built once, before several processes ask for it.
    if _pinocchio(lw.load("panda"), "panda", "mass_matrix", 8) is None:
        sys.exit("Pinocchio's loop cannot be built here: pip install 'linkwise[bench]', and have clang++ or g++")
    with tempfile.NamedTemporaryFile() as lock, ThreadPoolExecutor(len(free)) as pool:
        os.environ["LINKWISE_SCAN_LOCK"] = lock.name
        list(pool.map(one, todo))
    keep(found)
    draw(found)
    into_page(found)
    print(summary(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", nargs="+", metavar="ROBOT", help='built-in names, files, "chain 40", "tree 40", …')
    parser.add_argument("--functions", nargs="+", default=list(FUNCTIONS), metavar="FUNCTION", help='names, or "all"')
    parser.add_argument("--write", action="store_true", help="the whole scan, kept with its picture")
    parser.add_argument(
        "--quick", action="store_true", help="all forms of fewer chains and trees, less time for each robot"
    )
    parser.add_argument("--minutes", type=float, default=240.0, metavar="N", help="start no robot after so many")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="robots at once, each on a core of its own")
    parser.add_argument("--page", action="store_true", help="table and picture again, from what is kept")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    functions = list(catalogue(lw.Robot)) if asked.functions == ["all"] else asked.functions
    if asked.child:
        name, mode, share = asked.child
        child(name, functions, mode, float(share))
    elif asked.page:
        found = json.loads(RESULTS.read_text(encoding="utf-8"))
        keep(found)
        draw(found)
        into_page(found)
        print(f"{TABLE.name} and {PICTURE.name} written\n{summary(found)}")
    elif asked.write:
        scan(asked, functions)
    else:
        for name in asked.robots or FEW:
            print(table(scanned(name, functions, SHARE)), flush=True)


if __name__ == "__main__":
    main()
