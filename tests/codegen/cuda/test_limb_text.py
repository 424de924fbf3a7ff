"""The text for several threads a state, built for the host and run there by as many threads of its own."""

import numpy as np
import pytest
from device_text import built_for_threads, laid, needs_compiler, words

import linkwise as lw
from linkwise.codegen.cuda.limb_text import LimbText

pytestmark = needs_compiler


@pytest.fixture(scope="module")
def robot():
    """A tree on a free base; several of its bodies have branches."""
    return lw.random_tree(9, seed=3, floating=True, joints=["revolute", "prismatic"], branching=0.6)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("method", "layouts"), [("forward_dynamics", "rrrr"), ("inverse_dynamics", "srsr"), ("mass_times", "rss")]
)
def test_as_the_sweeps_do(robot, method, layouts, dtype, tmp_path):
    """Whole warps and parts of one, arrays in every layout; nothing is written behind the last state."""
    program = robot.compile(method).program
    text = LimbText(program, "device", dtype, layouts, registers=12, workers=2)
    assert text.divided is not None and text.divided.phases >= 2
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
