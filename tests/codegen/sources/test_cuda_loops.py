"""Loops over bodies as CUDA source: built for the host and run there, as :mod:`test_cuda` does."""

import ctypes
import pickle

import numpy as np
import pytest
from cuda_source import built, needs_compiler
from trees import branches

import linkwise as lw

CASES = [
    (lambda: lw.chain(24, seed=1), "forward_dynamics", "float64", 40),
    (lambda: lw.chain(6, seed=1), "linearize_forward", "float32", 3),
    (lambda: branches([-1, 0, 0, 1, 2, -1]), "mass_matrix_inverse", "float64", 300),
    (lambda: branches([-1, 0, 0]).floating(), "inverse_dynamics", "float64", 1),
    (lambda: lw.chain(66), "mass_matrix", "float64", 2),  # of which every entry is a sum of products
]


def run(source, library, threads, *inputs):
    """The launcher on a batch, with scratch memory for so many threads."""
    batch = len(inputs[0])
    arrays = [np.ascontiguousarray(x.astype(source.dtype).T) for x in inputs]
    outputs = [np.full((int(np.prod(s)) + 1, batch), np.nan, source.dtype) for s in source.program.shapes]
    scratch = np.full(source.scratch * threads + 1, np.nan, source.dtype)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*arrays, *outputs, scratch)]
    assert getattr(library, source.name)(ctypes.c_size_t(batch), *pointers, ctypes.c_size_t(threads), None) == 0
    assert all(np.isnan(out[-1]).all() for out in outputs) and np.isnan(scratch[-1])  # nothing is written beyond
    return [out[:-1].T for out in outputs]


@needs_compiler
@pytest.mark.parametrize(("robot", "name", "dtype", "threads"), CASES, ids=[case[1] for case in CASES])
def test_agrees_with_numpy(tmp_path, robot, name, dtype, threads, rng):
    robot = robot()
    source = robot.compile(name, target="cuda", rolled=True, dtype=dtype)
    made = {"q": lambda: robot.random_configuration(rng, batch=5)}
    args = [made.get(x, lambda: rng.normal(size=(5, robot.nv)))() for x in source.program.inputs]
    found = run(source, built(source, tmp_path), threads, *args)
    expected = getattr(robot, name)(*args, target="numpy")
    expected = (expected,) if isinstance(expected, np.ndarray) else tuple(expected)
    for x, y in zip(found, expected, strict=True):
        assert np.abs(x - y.reshape(x.shape)).max() <= 1e5 * np.finfo(dtype).eps * np.abs(y).max()


@needs_compiler
def test_results_of_singular_states_are_nan(tmp_path):
    robot = lw.chain(3, seed=1).with_inertias({"link3": lw.Inertia(0.0)})
    source = robot.compile("mass_solve", target="cuda", rolled=True)
    (found,) = run(source, built(source, tmp_path), 2, np.zeros((2, 3)), np.ones((2, 3)))
    assert np.isnan(found).all()


def test_the_text_does_not_grow_with_a_chain():
    texts = [lw.chain(n, seed=1).compile("forward_dynamics", target="cuda", rolled=True).source for n in (30, 90)]
    code = [text[text.index("#define LW_WORK") :].splitlines() for text in texts]
    assert len(code[0]) == len(code[1]) < 1500


def test_what_has_loops_and_what_has_not():
    robot = lw.chain(3, seed=1)
    source = robot.compile("forward_dynamics", target="cuda", rolled=True)
    assert f"{source.scratch} x lw_threads" in source.header
    assert pickle.loads(pickle.dumps(source)).source == source.source
    with pytest.raises(lw.InputError, match="jacobian cannot be rolled"):
        robot.compile("jacobian", target="cuda", rolled=True, frame="tip")
    with pytest.raises(lw.InputError, match='target="c" gives straight-line code'):
        robot.compile("forward_dynamics", target="c", rolled=True)
