"""CUDA source on a device: does it build, does it agree, how long does a state take?

    python benchmarks/cuda_check.py --export FOLDER    write sources, inputs and expected results; needs linkwise
    python benchmarks/cuda_check.py --run FOLDER       build, compare and time them; needs nvcc, a GPU, NumPy and CuPy

The second runs where linkwise cannot be installed. Every function is built twice: by nvcc, all warnings errors, and
called through its launcher; and by NVRTC through CuPy. Both must agree with linkwise's NumPy sweeps in double precision
for 1, 1000 and 2**20 states, to 1e-12 (float32: 1e-4) of the largest number. Times are of the NVRTC kernel, by CUDA
events. ``--export FOLDER --only forward_dynamics --registers 80 --threads 64`` tries other thresholds.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

STATES = 251  # different ones; larger batches repeat them, and no block has as many threads
BATCHES = (1, 1000, 1 << 20)
TOLERANCE = {"float64": 1e-12, "float32": 1e-4}
ROUNDS = 7
LIST = "cases.json"

CASES = [
    ("panda", "forward_dynamics", {}),
    ("panda", "inverse_dynamics", {}),
    ("panda", "mass_matrix", {}),
    ("panda", "jacobian", {"frame": "panda_hand_tcp"}),
    ("panda", "linearize_forward", {}),
    ("humanoid", "forward_dynamics", {}),
    ("humanoid", "inverse_dynamics", {}),
]


# --- here: sources, inputs, expected results ----------------------------------------------------------


def yields(robot: Any, q: Any, push: Any) -> Any:
    """A formula of the user: how the hand yields to a push."""
    op = robot.operators(q, frames="panda_hand_tcp")
    return (op.J @ op.mass.inv() @ op.J.T).simplify() @ push


def export(folder: Path, only: str | None, registers: int | None, threads: int) -> int:
    """Write NAME.cu, NAME.h and NAME.npz for each case and precision, and a list of them."""
    import linkwise as lw
    from linkwise.codegen.sources import cuda

    cuda.THREADS = threads
    if registers is not None:
        cuda.CUDA_REGISTERS.update({"float64": registers, "float32": 2 * registers})
    panda = lw.load("panda")

    def one_by_one(q: Any, push: Any) -> Any:
        return np.array([yields(panda, *state) for state in zip(q, push)])

    listed = []
    for dtype in TOLERANCE:
        for name, function, fixed in CASES:
            if only not in (None, function):
                continue
            robot = lw.load(name)
            source = robot.compile(function, target="cuda", dtype=dtype, **fixed)
            expected = robot.compile(function, target="numpy", **fixed)
            listed.append(_exported(folder / dtype, robot, source, expected, threads))
        if only is not None:
            continue
        source = lw.compile(yields, panda, target="cuda", dtype=dtype, sizes={"push": 6})
        listed.append(_exported(folder / dtype, panda, source, one_by_one, threads))
    (folder / LIST).write_text(json.dumps(listed, indent=1))
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    print(f"{len(listed)} functions, {size / 1e6:.1f} MB in {folder}")
    return 0


def _exported(folder: Path, robot: Any, source: Any, function: Any, threads: int) -> dict[str, Any]:
    """Write one function with its inputs, rounded to its precision, and what NumPy makes of those in double."""
    source.write(folder)
    rng = np.random.default_rng(0)
    inputs = {
        name: robot.random_configuration(rng, batch=STATES) if name == "q" else rng.normal(size=(STATES, length))
        for name, length in source.program.inputs.items()
    }
    inputs = {name: x.astype(source.dtype) for name, x in inputs.items()}
    results = function(*(x.astype(float) for x in inputs.values()))
    results = results if isinstance(results, tuple) else (results,)
    arrays = {f"in{k}": x for k, x in enumerate(inputs.values())}
    arrays |= {f"out{k}": np.asarray(x).reshape(STATES, -1) for k, x in enumerate(results)}
    np.savez_compressed(folder / f"{source.name}.npz", **arrays)
    return {
        "folder": folder.name,
        "name": source.name,
        "kernel": source.kernel,
        "dtype": source.dtype,
        "inputs": len(inputs),
        "outputs": len(results),
        "operations": source.operations.total,
        "threads": threads,
    }


# --- there: build, compare, time -----------------------------------------------------------------------


def check(folder: Path) -> int:
    """Build, compare and time what was exported; the exit code says whether all was well."""
    import cupy

    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise SystemExit("nvcc is not on the PATH")
    device = cupy.cuda.runtime.getDeviceProperties(0)
    print(f"{device['name'].decode()}, {device['multiProcessorCount']} multiprocessors, CuPy {cupy.__version__}")
    print(subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    print(f"{'function':<40} {'dtype':<8} {'nvcc':>6} {'NVRTC':>6} {'registers':>9} {'local':>7}", end=" ")
    print(f"{'launcher':>9} {'NVRTC':>9} {'ns/state':>9} {'Gop/s':>7}")
    failures = []
    for case in json.loads((folder / LIST).read_text()):
        try:
            print(_checked(cupy, nvcc, folder / case["folder"], case), flush=True)
        except (AssertionError, subprocess.CalledProcessError, cupy.cuda.compiler.CompileException) as e:
            failures.append(case)
            detail = e.stderr if isinstance(e, subprocess.CalledProcessError) else e
            print(f"{case['name']:<40} {case['dtype']:<8} FAILED: {detail}", flush=True)
    print(f"{len(failures)} failed" if failures else "all agree")
    return 1 if failures else 0


def _checked(cupy: Any, nvcc: str, folder: Path, case: dict[str, Any]) -> str:
    """One line of the table; AssertionError where results differ."""
    threads = case["threads"]
    arrays = np.load(folder / f"{case['name']}.npz")
    inputs = [arrays[f"in{k}"] for k in range(case["inputs"])]
    expected = [arrays[f"out{k}"] for k in range(case["outputs"])]

    start = time.perf_counter()
    launcher = _built(cupy, nvcc, folder, case["name"])
    by_nvcc = time.perf_counter() - start
    start = time.perf_counter()
    module = cupy.RawModule(code=(folder / f"{case['name']}.cu").read_text(), options=("--std=c++17",))
    kernel = module.get_function(case["kernel"])
    by_nvrtc = time.perf_counter() - start

    def launched(batch: int, pointers: list[Any]) -> None:
        stream = ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
        code = launcher(ctypes.c_size_t(batch), *(ctypes.c_void_p(x.data.ptr) for x in pointers), stream)
        assert code == 0, f"the launcher returned cudaError {code}"

    def compiled(blocks: int) -> Any:
        return lambda batch, pointers: kernel((blocks,), (threads,), (np.uint64(batch), *pointers))

    errors = {"launcher": 0.0, "nvrtc": 0.0}
    for batch in BATCHES:
        data = Batch(cupy, inputs, expected, batch, case["dtype"])
        errors["launcher"] = max(errors["launcher"], data.error(launched))
        for blocks in {-(-batch // threads), 3}:  # one thread per state; threads that loop
            errors["nvrtc"] = max(errors["nvrtc"], data.error(compiled(blocks)))
    for way, error in errors.items():
        assert error < TOLERANCE[case["dtype"]], f"{way}: differs by {error:.1e} of the largest number"

    seconds = data.seconds(compiled(-(-batch // threads)))
    return (
        f"{case['name']:<40} {case['dtype']:<8} {by_nvcc:5.1f}s {by_nvrtc:5.1f}s {kernel.num_regs:>9}"
        f" {kernel.local_size_bytes:>7} {errors['launcher']:9.1e} {errors['nvrtc']:9.1e}"
        f" {1e9 * seconds / batch:9.3f} {1e-9 * case['operations'] * batch / seconds:7.0f}"
    )


def _built(cupy: Any, nvcc: str, folder: Path, name: str) -> Any:
    """The launcher out of a library made by nvcc, every warning an error; the header is included from C as well."""
    (folder / "includes.c").write_text(f'#include "{name}.h"\nint main(void) {{ return 0; }}\n')
    strict = ["-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror"]
    c = [nvcc, *strict, "-c", str(folder / "includes.c"), "-o", str(folder / "includes.o")]
    subprocess.run(c, capture_output=True, text=True, check=True)
    library = folder / f"{name}.so"
    target = f"-arch=sm_{cupy.cuda.Device(0).compute_capability}"
    command = [nvcc, "-std=c++17", target, *strict, "-Xcompiler", "-fPIC", "-shared"]
    subprocess.run(
        [*command, str(folder / f"{name}.cu"), "-o", str(library)], capture_output=True, text=True, check=True
    )
    return getattr(ctypes.CDLL(str(library)), name)


class Batch:
    """States on the device, element i of state s at [i, s]; the room behind each output must stay as it is."""

    def __init__(self, cupy: Any, inputs: list[Any], expected: list[Any], batch: int, dtype: str) -> None:
        self.cupy, self.batch = cupy, batch
        states = np.arange(batch) % STATES
        self.inputs = [cupy.asarray(np.ascontiguousarray(x[states].T.astype(dtype))) for x in inputs]
        self.expected = [x.T for x in expected]
        self.outputs = [cupy.empty((x.shape[1] + 1, batch), dtype) for x in expected]

    def error(self, run: Any) -> float:
        """The largest difference of any output of any state, relative to the largest number of that output."""
        for out in self.outputs:
            out.fill(np.nan)
        run(self.batch, [*self.inputs, *self.outputs])
        self.cupy.cuda.Device().synchronize()
        found = 0.0
        for out, x in zip(self.outputs, self.expected):
            assert bool(self.cupy.isnan(out[-1]).all()), "something was written behind the last element"
            places = self.cupy.arange(self.batch) % STATES
            rows = (self.cupy.abs(row - self.cupy.asarray(e)[places]).max() for row, e in zip(out, x))
            worst = max(float(difference) for difference in rows)
            assert np.isfinite(worst), "not all results are finite"
            found = max(found, worst / np.abs(x).max())
        return found

    def seconds(self, run: Any) -> float:
        """The median of some rounds, by CUDA events, after one to warm up."""
        event = self.cupy.cuda.Event
        spent = []
        for _ in range(ROUNDS + 1):
            start, stop = event(), event()
            start.record()
            run(self.batch, [*self.inputs, *self.outputs])
            stop.record()
            stop.synchronize()
            spent.append(1e-3 * self.cupy.cuda.get_elapsed_time(start, stop))
        return statistics.median(spent[1:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--export", type=Path, metavar="FOLDER", help="write sources, inputs and expected results")
    chosen.add_argument("--run", type=Path, metavar="FOLDER", help="build, compare and time what was exported")
    parser.add_argument("--only", metavar="FUNCTION", help="this function alone")
    parser.add_argument("--registers", type=int, help="registers for values in double precision, half those in single")
    parser.add_argument("--threads", type=int, default=128, help="threads of a block")
    arguments = parser.parse_args()
    return (
        export(arguments.export, arguments.only, arguments.registers, arguments.threads)
        if arguments.export
        else check(arguments.run)
    )


if __name__ == "__main__":
    sys.exit(main())
