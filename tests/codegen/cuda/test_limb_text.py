"""The text for several threads a state, built for the host and run there by as many threads of its own."""

import numpy as np
import pytest
from device_text import built_for_threads, laid, needs_compiler, words

import linkwise as lw
from linkwise.codegen.cuda.launch import by_limbs
from linkwise.codegen.cuda.limb_text import LimbText, divided

pytestmark = needs_compiler


@pytest.fixture(scope="module")
def robot():
    """A tree on a free base; several of its bodies have branches."""
    return lw.random_tree(6, seed=3, floating=True, joints=["revolute", "prismatic"], branching=0.6)


@pytest.mark.parametrize(
    ("method", "layouts", "dtype"),
    [
        ("forward_dynamics", "rrrr", "float64"),
        ("forward_dynamics", "ssrs", "float32"),
        ("inverse_dynamics", "srsr", "float32"),
        ("mass_times", "rss", "float64"),
    ],
)
def test_as_the_sweeps_do(robot, method, layouts, dtype, tmp_path):
    """Whole warps and parts of one, arrays in every layout; nothing is written behind the last state."""
    program = robot.compile(method).program
    shares = divided(program, dtype, 2)
    assert shares is not None and shares.phases >= 2
    text = LimbText(program, "device", dtype, layouts, registers=12, workers=2, shares=shares)
    assert "lw_kept[" in text.source and "lw_handed[" in text.source
    kernel = built_for_threads(text, tmp_path)
    rng = np.random.default_rng(0)
    for batch in (1, 33, 96):
        given = [robot.random_configuration(rng, batch=batch)]
        given += [rng.normal(size=(batch, robot.nv)) for _ in layouts[2:]]
        given = [x.astype(dtype) for x in given]
        out = laid(np.full((batch + 1, robot.nv), np.nan, dtype), layouts[-1])
        arrays = [*(laid(x, k) for x, k in zip(given, layouts)), out]
        kernel([batch, *(w for x, k in zip(arrays, layouts) for w in words(x, k))])
        expected = getattr(robot, method)(*(x.astype(float) for x in given), target="numpy")
        assert np.allclose(out[:batch], expected, rtol=0, atol=2000 * np.finfo(dtype).eps * np.abs(expected).max())
        assert np.isnan(out[batch]).all()


def test_singular_states_are_nan_and_their_neighbours_are_not(robot, tmp_path):
    """Whoever finds it, all of a state's threads write none of its results."""
    program = robot.compile("forward_dynamics").program
    text = LimbText(program, "device", "float64", "rrrr", workers=2, shares=divided(program, "float64", 2))
    assert any(text._guards)
    kernel = built_for_threads(text, tmp_path)
    rng = np.random.default_rng(0)
    q, (v, tau) = robot.random_configuration(rng, batch=40), rng.normal(size=(2, 40, robot.nv))
    q[7, 3:7] = 0.0  # a quaternion without a length
    out = np.zeros((40, robot.nv))
    kernel([40, *(w for x in (q, v, tau, out) for w in words(x, "r"))])
    assert np.isnan(out[7]).all() and np.isfinite(np.delete(out, 7, axis=0)).all()


def test_chains_are_not_divided():
    program = lw.chain(6, seed=0).compile("forward_dynamics").program
    assert not program.limbs and divided(program, "float64", 2) is None


def test_large_robots_are_divided_where_a_block_has_room():
    program = lw.load("humanoid").compile("inverse_dynamics").program
    text = by_limbs(program, "float64", "rrrr", 232_448)
    assert text is not None and text.workers == 4 and text.warp_bytes < 232_448 / 2
    assert by_limbs(program, "float64", "rrrr", 49_152) is None
    assert by_limbs(program, "float32", "rrrr", 232_448) is None  # too short for that
