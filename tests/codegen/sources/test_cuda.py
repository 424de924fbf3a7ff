"""The CUDA target: the whole file built for the host and run there; by nvcc where it is installed."""

import ctypes
import re
import runpy
import shutil
import subprocess

import numpy as np
import pytest
from cuda_source import WARNINGS, built, needs_compiler
from numpy_samples import PAIRS, USES

import linkwise as lw
from linkwise.codegen.program.trace import trace
from linkwise.codegen.runtime.kernel import Kernel
from linkwise.codegen.sources.cuda import CudaSource
from snippets import ROOT

NVCC = shutil.which("nvcc")

needs_nvcc = pytest.mark.skipif(NVCC is None, reason="no nvcc on this machine")


def run(source, library, *inputs):
    """The launcher on a batch: inputs (batch, n) as the user has them, outputs (batch, entries)."""
    batch = len(inputs[0])
    arrays = [np.ascontiguousarray(x.astype(source.dtype).T) for x in inputs]  # element i of state s at [i, s]
    outputs = [np.full((int(np.prod(shape)) + 1, batch), np.nan, source.dtype) for shape in source.program.shapes]
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*arrays, *outputs)]
    assert getattr(library, source.name)(ctypes.c_size_t(batch), *pointers, None) == 0
    assert all(np.isnan(out[-1]).all() for out in outputs)  # nothing is written beyond the last element
    return [out[:-1].T for out in outputs]


def states(robot, names, rng, batch):
    """Random inputs of these names."""
    makers = {"q": lambda: robot.random_configuration(rng, batch=batch)}
    return [makers.get(name, lambda: rng.normal(size=(batch, robot.nv)))() for name in names]


def largest_difference(found, expected):
    """Over all outputs, relative to the largest entry of each."""
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert len(found) == len(expected)
    pairs = [(a, np.asarray(b).reshape(a.shape)) for a, b in zip(found, expected)]
    return max(np.abs(a - b).max() / np.abs(b).max() for a, b in pairs)


# Those that benchmarks/cuda_check.py runs on a graphics card.
CASES = runpy.run_path(str(ROOT / "benchmarks" / "cuda_check.py"))["CASES"]


# The precisions in turn; benchmarks/cuda_check.py has all of them.
TURNS = [(*case, ("float64", "float32")[i % 2]) for i, case in enumerate(CASES)]


@needs_compiler
@pytest.mark.parametrize(("robot", "function", "fixed", "dtype"), TURNS, ids=lambda x: x if isinstance(x, str) else "")
def test_agrees_with_numpy(tmp_path, robot, function, fixed, dtype):
    robot = lw.load(robot)
    source = robot.compile(function, target="cuda", dtype=dtype, **fixed)
    inputs = states(robot, source.program.inputs, np.random.default_rng(0), 131)
    inputs = [x.astype(dtype).astype(float) for x in inputs]
    found = run(source, built(source, tmp_path), *inputs)
    expected = getattr(robot, function)(*inputs, **fixed, target="numpy")
    assert largest_difference(found, expected) < (1e-12 if dtype == "float64" else 1e-4)


def everything(robot, q, push):
    """Every operation that there is, a constant result, and an input as a result."""
    angle = np.arctan2(push[0], abs(q[1]) + 1.0)
    size = np.sqrt(push @ push + 1.0)
    mixed = np.sin(angle) + np.cos(angle) + np.exp(-size) + np.log(size) - np.tan(q[0]) / size + np.cos(q[1])
    return mixed + robot.mass_matrix(q), np.array([2.5, -1.0]), push[1], abs(push)


@needs_compiler
@pytest.mark.parametrize("blocks", [2**32 - 1, 2])
def test_a_formula_of_the_user(tmp_path, blocks):
    """On a grid that covers the batch, and on one whose threads must loop."""
    robot = lw.load("double_pendulum")
    source = lw.compile(everything, robot, target="cuda", sizes={"push": 3})
    rng = np.random.default_rng(0)
    q, push = rng.normal(size=(1000, 2)), rng.normal(size=(1000, 3))
    library = built(source, tmp_path)
    library.use_at_most(ctypes.c_uint(blocks))
    found = run(source, library, q, push)
    expected = [everything(robot, *state) for state in zip(q, push)]
    expected = tuple(np.array([np.ravel(e[k]) for e in expected]) for k in range(4))
    assert largest_difference(found, expected) < 1e-12


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_function_of_numpy(tmp_path, dtype):
    """What the text computes is what the machine code computes, infinities and NaN included."""
    program = trace(lw.chain(3), lambda robot, q: np.concatenate([f(q).reshape(-1) for f in USES.values()]), "numpy")
    source = CudaSource(program, "chain", dtype)
    states = PAIRS.astype(dtype)
    (found,) = run(source, built(source, tmp_path), states)
    expected = Kernel(program)(states)
    assert np.allclose(found, expected, rtol=4 * np.finfo(dtype).eps, atol=0.0, equal_nan=True)


@needs_compiler
@pytest.mark.filterwarnings("ignore:invalid value")  # inf - inf, where frames are compared
def test_names_that_are_taken_and_numbers_that_are_not_finite(tmp_path):
    def odd(robot, batch, state, t1, t1_, new, stride_, θ, sin):
        return np.array([np.sin(batch[0]), state[0], t1[0], t1_[0], new[0] + θ[0], np.inf, np.nan, -np.inf])

    sizes = dict.fromkeys(["batch", "state", "t1", "t1_", "new", "stride_", "θ", "sin"], 1)
    source = lw.compile(odd, lw.load("double_pendulum"), target="cuda", dtype="float32", sizes=sizes)
    assert source.source.isascii()
    inputs = [np.full((3, 1), k) for k in range(8)]
    (found,) = run(source, built(source, tmp_path), *inputs)
    assert np.array_equal(found, [[0, 1, 2, 3, 10, np.inf, np.nan, -np.inf]] * 3, equal_nan=True)


@needs_compiler
def test_no_states(tmp_path):
    robot = lw.load("double_pendulum")
    source = robot.compile("mass_matrix", target="cuda")
    assert run(source, built(source, tmp_path), np.empty((0, 2)))[0].shape == (0, 4)


@needs_nvcc
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_nvcc_takes_it_without_a_warning(tmp_path, dtype):
    code, header = lw.load("panda").compile("forward_dynamics", target="cuda", dtype=dtype).write(tmp_path)
    flags = ["-std=c++17", "-Werror", "all-warnings", "-Xcompiler", ",".join(WARNINGS)]
    subprocess.run([NVCC, *flags, "-c", str(code), "-o", str(tmp_path / "x.o")], check=True)
    c = tmp_path / "includes.c"
    c.write_text(f'#include "{header.name}"\nint main(void) {{ return 0; }}\n')
    subprocess.run([NVCC, "-Xcompiler", ",".join(WARNINGS), "-c", str(c), "-o", str(tmp_path / "y.o")], check=True)


DOUBLE = re.compile(r"\b\d+\.\d+(?:e[-+]?\d+)?(?![\de.f])|\b\d+e[-+]?\d+(?![\df])")


@pytest.mark.parametrize("function", ["forward_dynamics", "frame_poses", "energy"])
def test_float32_has_no_double_in_it(function):
    robot = lw.load("panda")
    source = robot.compile(function, target="cuda", dtype="float32")
    text = source.source
    assert "double" not in text + source.header
    assert DOUBLE.findall(robot.compile(function, target="cuda").source) and not DOUBLE.findall(text)
    assert not re.findall(r"\b(?:sincos|sin|cos|sqrt|exp|log|atan2)\(", text)
    assert "sincosf(" in text and "sincos(" not in text


def test_nvrtc_sees_no_host_code():
    """What stands outside of #ifndef __CUDACC_RTC__ includes nothing and knows nothing of the runtime."""
    source = lw.load("panda").compile("forward_dynamics", target="cuda")
    seen = re.sub(r"#ifndef __CUDACC_RTC__\n.*?#endif\n", "", source.source, flags=re.DOTALL)
    assert "#include" not in seen and "cuda" not in seen.replace(f"{source.name}.h says", "")
    assert seen.count("{") == seen.count("}")
    assert f'extern "C" __global__ void __launch_bounds__(128, 1)\n{source.kernel}(' in seen


def test_the_header_documents_every_argument():
    source = lw.load("panda").compile("linearize_forward", target="cuda", dtype="float32")
    note, declared = source.header.split("*/")
    for name in ("q", "v", "tau"):
        assert f"     {name}: 7 x batch numbers\n" in note
        assert f"const float *{name}," in declared
    for name in ("out0", "out1", "out2"):
        assert f"     {name}: 7 x 7 x batch numbers, row by row, written\n" in note
        assert f" float *{name}," in declared
    assert "[i * batch + s]" in note and "at most 128 threads" in note
    assert source.kernel in note and source.state in note
    assert re.findall(r"\w+\(", source.prototype)[0] == f"{source.name}("


def test_refuses():
    robot = lw.load("ur5")
    with pytest.raises(lw.InputError, match="dtype"):
        robot.compile("mass_matrix", target="cuda", dtype="float16")
