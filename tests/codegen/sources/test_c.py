"""The C target: compiled with the system's compiler and run against the NumPy path."""

import numpy as np
import pytest
from c_code import built, needs_compiler, pointer
from numpy_samples import PAIRS, USES

import linkwise as lw
from linkwise.codegen.program.trace import trace
from linkwise.codegen.runtime.kernel import Kernel
from linkwise.codegen.sources.c import CSource


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_forward_dynamics_in_c(tmp_path, dtype):
    robot = lw.load("ur5")
    function = built(robot.compile("forward_dynamics", target="c", dtype=dtype), tmp_path)
    rng = np.random.default_rng(0)
    args = [robot.random_configuration(rng), rng.normal(size=6), rng.normal(size=6)]
    args = [x.astype(dtype) for x in args]
    out = np.empty(6, dtype)
    function(*(pointer(x) for x in args), pointer(out))
    expected = robot.forward_dynamics(*(x.astype(float) for x in args))
    assert np.abs(out - expected).max() < (1e-12 if dtype == "float64" else 1e-4) * np.abs(expected).max()


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_function_of_numpy(tmp_path, dtype):
    """What the text computes is what the machine code computes, infinities and NaN included."""
    program = trace(lw.chain(3), lambda robot, q: np.concatenate([f(q).reshape(-1) for f in USES.values()]), "numpy")
    function = built(CSource(program, "chain", dtype), tmp_path)
    states = np.ascontiguousarray(PAIRS.astype(dtype))
    found = np.empty((len(states), len(program.roots)), dtype)
    for x, out in zip(states, found):
        function(pointer(x), pointer(out))
    expected = Kernel(program)(states)
    assert np.allclose(found, expected, rtol=4 * np.finfo(dtype).eps, atol=0.0, equal_nan=True)


@needs_compiler
def test_several_outputs_and_unused_inputs(tmp_path):
    robot = lw.load("double_pendulum")
    function = built(robot.compile("energy", target="c"), tmp_path)
    q, v = np.array([0.3, -0.2]), np.array([1.0, 2.0])
    kinetic, potential = np.empty(1), np.empty(1)
    function(pointer(q), pointer(v), pointer(kinetic), pointer(potential))
    assert np.allclose([kinetic[0], potential[0]], robot.energy(q, v), rtol=1e-13)


def test_names_and_header():
    source = lw.random_tree(3, seed=1).compile("mass_matrix", target="c")
    assert source.name.isidentifier()
    assert "row by row" in source.header and "#include <math.h>" in source.source
    with pytest.raises(lw.InputError, match="dtype"):
        lw.load("ur5").compile("mass_matrix", target="c", dtype="int")
