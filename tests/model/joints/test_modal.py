"""The joint of a point of a flexible body: its map and the map's derivatives are those of its pose."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.model.joints.modal import Modal
from linkwise.spatial import skew

STEP = 1e-30
N = 4


def kinds(rng) -> dict[str, Modal]:
    shape, turn = rng.normal(size=(3, N)), rng.normal(size=(3, N))
    bend = rng.normal(size=(3, N, N))
    bend = bend + np.swapaxes(bend, 1, 2)
    about_y = np.outer([0, 1, 0], turn[0])
    slanted = np.outer([0.6, 0.0, 0.8], [1.0, 2.0, -4.0, 0.5])
    return {
        "mass point": Modal(shape),
        "bent point": Modal(shape, None, bend),
        "node": Modal(shape, turn),
        "bent node": Modal(shape, turn, bend),
        "about one axis": Modal(shape, about_y),
        "about one axis, bent": Modal(shape, about_y, bend),
        "about a slanted axis": Modal(shape, slanted, bend),
    }


NAMES = list(kinds(np.random.default_rng(0)))


def complex_step(f, q, i):
    return f(q + 1j * STEP * np.eye(N)[i]).imag / STEP


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [0.0, 1e-9, 0.3, 0.5, 3.0])  # of the angle: none, by series, at the switch, beyond
def test_the_map_is_the_derivative_of_the_pose(rng, name, size):
    kind = kinds(rng)[name]
    q = size * rng.normal(size=N)
    R = kind.transform(q).R
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
    for i in range(N):
        moved = R.T @ complex_step(lambda x: kind.transform(x).l, q, i)
        spun = R.T @ complex_step(lambda x: kind.transform(x).R + 0j, q, i)
        np.testing.assert_allclose(kind.map(q)[3:, i], moved, atol=1e-13)
        np.testing.assert_allclose(skew(kind.map(q)[:3, i]), spun, atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [0.0, 0.3, 3.0])
def test_derivatives_of_the_map(rng, name, size):
    kind = kinds(rng)[name]
    q, v = size * rng.normal(size=N), rng.normal(size=(N, 1))
    found = kind.map_partials(q)
    if name == "mass point":
        assert found is None and kind.map_derivative(q, v) is None and kind.map_rate(q, v) is None
        return
    first, second = found
    scale = 1 + max(np.abs(d).max() for row in second for d in row)
    for i in range(N):
        np.testing.assert_allclose(first[i], complex_step(lambda x: kind.map(x) + 0j, q, i), atol=1e-13 * scale)
        for j in range(N):
            by_j = complex_step(lambda x, i=i: kind.map_partials(x)[0][i] + 0j, q, j)
            np.testing.assert_allclose(second[i][j], by_j, atol=1e-13 * scale)
            np.testing.assert_allclose(second[i][j], second[j][i], atol=1e-13 * scale)
    np.testing.assert_allclose(kind.map_rate(q, v), kind.map_derivative(q, v) @ v, atol=1e-12 * scale)
    np.testing.assert_allclose(kind.map_derivative(q, v), sum(d * x for d, x in zip(first, v[:, 0])), atol=1e-12)


def test_turns_about_one_axis_are_planar(rng):
    kind = kinds(rng)["about one axis"]
    np.testing.assert_array_equal(np.abs(kind.axis), [0, 1, 0])
    assert kinds(rng)["node"].axis is None
    q = rng.normal(size=N)
    general = Modal(kind.shape, kind.turn + 1e-300 * np.eye(3, N))  # no common axis, and the same to rounding
    assert general.axis is None
    np.testing.assert_allclose(kind.transform(q).R, general.transform(q).R, atol=1e-14)


def test_single_precision(rng):
    for kind in kinds(rng).values():
        q = rng.normal(size=N).astype(np.float32)
        assert kind.transform(q).R.dtype == kind.transform(q).l.dtype == kind.map(q).dtype == np.float32


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"shape": np.zeros((2, 3))}, "must be 3×n"),
        ({"shape": np.ones((3, 2)), "turn": np.ones((3, 1))}, "turn must be finite, of shape"),
        ({"shape": np.ones((3, 2)), "bend": np.full((3, 2, 2), np.nan)}, "bend must be finite"),
    ],
)
def test_points_that_cannot_be(given, said):
    with pytest.raises(lw.ModelError, match=said):
        Modal(**given)
