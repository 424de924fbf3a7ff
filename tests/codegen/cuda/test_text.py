"""The text for graphics cards, built for the host and run there: every layout, warp by warp."""

import ctypes
import re
from itertools import product

import numpy as np
import pytest
from device_text import built, laid, needs_compiler, words

import linkwise as lw
from linkwise.codegen.cuda.launch import flat_strides
from linkwise.codegen.cuda.limb_text import LimbText, divided
from linkwise.codegen.cuda.repeat_text import repeat_text
from linkwise.codegen.cuda.text import TAKEN, DeviceText, layouts_within, padded
from linkwise.codegen.sources.source import argument


@needs_compiler
@pytest.mark.parametrize(
    ("joints", "layouts"), [(2, "rrr"), (3, "rrr"), (2, "sss"), (3, "srs"), (2, "ccs"), (3, "crr")]
)
@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_layout_and_batch(tmp_path, joints, layouts, dtype, ahead):
    """Rows of even length are padded, those of odd length go in pieces; nothing is written behind the last state."""
    robot = lw.chain(joints, seed=1)
    program = robot.compile("mass_times").program
    text = DeviceText(program, "device", dtype, layouts, registers=8, ahead=ahead)
    kernel = built(text, tmp_path)
    assert "lw_kept[" in text.source
    rng = np.random.default_rng(0)
    for batch in (1, 31, 32, 33, 100):
        q, x = rng.normal(size=(2, batch, joints)).astype(dtype)
        out = laid(np.full((batch + 1, joints), np.nan, dtype), layouts[2])
        arrays = [laid(q, layouts[0]), laid(x, layouts[1]), out]
        arguments = [w for a, layout in zip(arrays, layouts) for w in words(a, layout)]
        kernel(ctypes.c_size_t(batch), *map(ctypes.c_longlong, arguments))
        expected = robot.mass_times(q.astype(float), x.astype(float))
        assert np.allclose(out[:batch], expected, rtol=0, atol=20 * np.finfo(dtype).eps * np.abs(expected).max())
        assert np.isnan(out[batch]).all()


@needs_compiler
def test_a_row_that_serves_every_state_and_singular_ones(tmp_path):
    robot = lw.random_tree(1, seed=2, joints=["spherical"])
    program = robot.compile("gravity_force").program
    kernel = built(DeviceText(program, "device", "float32", "ss"), tmp_path)
    q = np.array([0.1, 0.2, 0.3, 1.0], np.float32)
    out = np.empty((40, 3), np.float32)
    kernel(ctypes.c_size_t(40), *map(ctypes.c_longlong, [q.ctypes.data, 0, 1, out.ctypes.data, 3, 1]))
    assert np.allclose(out, robot.gravity_force(q.astype(float)), rtol=1e-5, atol=1e-6)
    states = np.tile(q, (40, 1))
    states[7] = 0.0
    kernel(ctypes.c_size_t(40), *map(ctypes.c_longlong, [states.ctypes.data, 4, 1, out.ctypes.data, 3, 1]))
    assert np.isnan(out[7]).all() and np.isfinite(np.delete(out, 7, axis=0)).all()


@needs_compiler
def test_inputs_may_be_called_what_kernels_call_something(tmp_path):
    def law(robot, largest, turns, here, into, kept):
        return np.sin(largest) + np.sin(turns) + np.sin(here) + np.sin(into) + np.sin(kept)

    sizes = dict.fromkeys(("largest", "turns", "here", "into", "kept"), 2)
    program = lw.compile(law, lw.chain(2), sizes=sizes).program
    kernel = built(DeviceText(program, "device", "float64", "rrrsrr", registers=3, ahead=True), tmp_path)
    given = np.random.default_rng(0).normal(size=(5, 40, 2))
    out = np.empty((40, 2))
    strided = [w for k, x in enumerate(given) for w in words(x, "s" if k == 3 else "r")]
    kernel(ctypes.c_size_t(40), *map(ctypes.c_longlong, [*strided, out.ctypes.data]))
    assert np.allclose(out, np.sin(given).sum(axis=0), rtol=0, atol=1e-14)


def test_all_that_kernels_call_something_is_known():
    """Each name with lw_ before it, and each variable, but those that are made of the inputs' names."""
    humanoid, robot = lw.load("humanoid"), lw.chain(3, seed=1)
    program = robot.compile("forward_dynamics").program
    limbs = humanoid.compile("forward_dynamics").program
    texts = [
        DeviceText(program, "device", "float32", "rrsr", registers=20, ahead=True),
        DeviceText(program, "device", "float64", "rrsr"),
        LimbText(limbs, "device", "float64", "rrrr", workers=2, shares=divided(limbs, "float64", 2), registers=60),
        repeat_text(program, "float64", {"q": 0}, frozenset(["tau"]), 60.0, 10**6),
    ]
    for text in texts:
        source = text.source[text.source.index('extern "C"') :]
        variable = r"(?:unsigned|int|size_t|long long|float|double)(?: \*)?(?: const)? (?!lw_)([a-z]\w*)"
        found = {*re.findall(r"\blw_([a-z]\w*)", source), *re.findall(variable, source)} - {"const", "volatile"}
        own = {x for x in found if re.search(r"(^|_)(q|v|tau|out)$", x) or re.fullmatch(r"[a-z]\d+(_\d+)?", x)}
        assert found - own
        for name in found - own:
            assert argument(name, TAKEN) != name, name


def test_texts_are_the_same_wherever_values_lie():
    """Of another robot in other memory, as in another process, which finds the kernel on the disk by its text."""

    def source():
        program = lw.load("panda").compile("forward_dynamics").program
        return DeviceText(program, "device", "float64", "rrrr", registers=60).source

    kept = [source() for _ in range(3)]
    assert "lw_kept[" in kept[0] and len(set(kept)) == 1


def test_rows_that_are_too_long_stay_where_they_are(monkeypatch):
    monkeypatch.setattr("linkwise.codegen.cuda.text.CUDA_ROOM", 32 * 8 * 40)
    assert layouts_within({"q": 7, "v": 7, "out": 7}, "rrr", 8) == "rrr"
    assert layouts_within({"q": 7, "v": 7, "out": 49}, "rrr", 8) == "rrs"
    assert layouts_within({"q": 7, "v": 7, "out": 7}, "rsr", 8) == "rsr"
    assert layouts_within({"q": 7, "v": 7, "out": 7}, "rrr", 8, taken=32 * 8 * 30) == "rss"
    assert layouts_within({"q": 7, "v": 7, "out": 7}, "rss", 8, inputs=2) == "rcs"
    assert all(padded(n) % 2 and padded(n) - n in (0, 1) for n in range(1, 9))


def test_flat_strides_are_those_of_the_spread_array():
    """Against the addresses of NumPy's own broadcasting; None just where no two strides give them."""
    base = np.arange(4000.0).reshape(4, 5, 10, 20)
    views = {
        "rows": base[0, 0],
        "columns": base[0, 0].T,
        "every second": base[0, 0, ::2],
        "within": base[0, 0, :, ::3],
        "back": base[0, 0, ::-1],
        "one": base[0, 0, 0],
        "two axes": base[0],
        "cut": base[0, :, :7],
        "inner": base[0, :1],
        "outer": base[0, :, :1],
        "three": base,
    }
    for x, more in product(views.values(), [(), (3,), (1,), (3, 1)]):
        batch = np.broadcast_shapes(x.shape[:-1], (*more, *(1,) * (x.ndim - 1)))
        wide = np.broadcast_to(x, (*batch, x.shape[-1]))
        found = flat_strides(x.shape, [s // 8 for s in x.strides], batch)
        numbers = np.ascontiguousarray(wide).reshape(-1, x.shape[-1])
        start = x.ravel()[0]
        k, i = np.indices(numbers.shape)
        if found is not None:
            assert np.array_equal(numbers, start + k * found[0] + i * found[1])
        else:
            steps = np.unique(np.diff(numbers[:, 0]))
            assert len(steps) > 1
