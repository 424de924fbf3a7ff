"""Flexible bodies as data: the fewest points with the same moments, integrals, clamping, and what is refused."""

import pickle

import numpy as np
import pytest
from flexible_bodies import beam, random_flexible

import linkwise as lw


def moments(x: lw.Flexible) -> np.ndarray:
    from linkwise.model.flexible.points import Points

    F = Points(x.masses, x.places, x.shapes, x.bends).features()
    return F.T @ (x.masses[:, None] * F)


@pytest.mark.parametrize("bends", [False, True])
def test_few_points_have_the_moments_of_many(rng, bends):
    x = random_flexible(rng, modes=2, points=40, bends=bends)
    few = x.points
    assert len(few.masses) == (4 + 6 + 9 if bends else 10)  # the features of a point
    np.testing.assert_allclose(few.masses, x.mass / len(few.masses), rtol=1e-12)
    F = few.features()
    np.testing.assert_allclose(F.T @ (few.masses[:, None] * F), moments(x), atol=1e-12)
    eta = np.array([0.4, -0.7])
    stand_in = lw.Flexible(*few[:3], x.stiffness, bends=few.bends)
    np.testing.assert_allclose(stand_in.mass_matrix(eta), x.mass_matrix(eta), atol=1e-12)


def test_beams_of_two_planes_take_as_many_points_as_their_functions():
    """1, x and the shapes, whatever the planes; zeros stay zeros, and equal shapes equal."""
    few = beam(4).points
    assert len(few.masses) == 4
    assert not few.places[:, 1:].any() and not few.shapes[:, 0].any()
    np.testing.assert_array_equal(few.shapes[:, 2, 0], few.shapes[:, 1, 1])


def test_points_that_are_few_already_stay(rng):
    x = random_flexible(rng, modes=3, points=7)
    np.testing.assert_array_equal(x.points.masses, x.masses)
    np.testing.assert_array_equal(x.points.shapes, x.shapes)


def test_integrals_are_those_of_the_mass_matrix(rng):
    """M_fl(η) from the constants of math notes 5.1, and a body from them alone."""
    x = random_flexible(rng, modes=3)
    found, eta = x.integrals(), np.array([0.3, -0.2, 0.5])
    h = found["h0"] + eta @ found["h"]
    J = found["J0"] + np.einsum("i,iab->ab", eta, found["N"] + np.swapaxes(found["N"], 1, 2))
    J = J + np.einsum("i,j,ijab->ab", eta, eta, found["NN"])
    M = x.mass_matrix(eta)
    np.testing.assert_allclose(M[:3, :3], found["M"], atol=1e-12)
    np.testing.assert_allclose(M[:3, 3:6], found["c"] + np.einsum("j,jia->ia", eta, found["d"]), atol=1e-12)
    np.testing.assert_allclose(M[:3, 6:], found["h"], atol=1e-12)
    np.testing.assert_allclose(M[3:6, 3:6], J, atol=1e-12)
    np.testing.assert_allclose(M[3:6, 6:], [[0, -h[2], h[1]], [h[2], 0, -h[0]], [-h[1], h[0], 0]], atol=1e-12)
    again = lw.Flexible.from_integrals(found, x.stiffness)
    np.testing.assert_allclose(again.mass_matrix(eta), M, atol=1e-12)
    fewer = {k: found[k] for k in ("m", "h0", "J0", "h", "N", "NN")}
    np.testing.assert_allclose(lw.Flexible.from_integrals(fewer, 1.0).mass_matrix(eta), M, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"NN": None}, "'NN' of a flexible body is missing"),
        ({"M": lambda x: x + np.eye(3)}, "'M' of a flexible body contradicts"),
        ({"c": lambda x: -x}, "'c' of a flexible body contradicts"),
        ({"h": lambda x: x[:, :2]}, "'h' must be finite, of shape"),
        ({"m": lambda x: -x}, "mass of a flexible body must be positive"),
        ({"extra": 1.0}, "no integral of a flexible body is named 'extra'"),
        ({"m": lambda x: 0.1 * x}, "those of no masses"),
    ],
)
def test_integrals_that_contradict(rng, change, said):
    found = dict(random_flexible(rng, modes=3).integrals())
    for k, f in change.items():
        if f is None:
            del found[k]
        else:
            found[k] = f(found[k]) if callable(f) else np.asarray(f)
    with pytest.raises(lw.ModelError, match=said):
        lw.Flexible.from_integrals(found, 1.0)


def test_free_modes_are_clamped_on_entry(rng):
    """A body given with modes that move its root, and the same with the root's motion taken off: one physics."""
    x = random_flexible(rng, modes=3)
    root = lw.Node((0.3, -0.2, 0.1), rng.normal(size=(3, 3)), rng.normal(size=(3, 3)))

    def dragged(at, shape):  # Φ + Φ_d + Φʳ_d × (r − d), in a frame whose origin is d before
        return shape + root.shape - np.cross(at[..., :, None], root.turn, axisa=-2, axisb=-2, axisc=-2)

    nodes = {k: lw.Node(n.at + root.at, dragged(n.at, n.shape), n.turn + root.turn) for k, n in x.nodes}
    free = lw.Flexible(
        x.masses,
        x.places + root.at,
        dragged(x.places, x.shapes),
        x.stiffness,
        damping=x.damping,
        nodes=nodes | {"root": root},
        clamped_at="root",
    )
    np.testing.assert_allclose(free.places, x.places, atol=1e-15)
    np.testing.assert_allclose(free.shapes, x.shapes, atol=1e-14)
    assert free.node_names == x.node_names
    np.testing.assert_allclose(free.node("tip").shape, x.node("tip").shape, atol=1e-14)
    np.testing.assert_allclose(free.node("tip").turn, x.node("tip").turn, atol=1e-14)


def test_normal_modes_are_the_same_body(rng):
    x = random_flexible(rng, modes=3)
    normal = x.normal_modes()
    assert normal.stiffness.ndim == 1 and normal.damping.ndim == 1
    np.testing.assert_allclose(normal.frequencies, x.frequencies, rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(normal.stiffness / np.diag(normal.mass_matrix())[:3]), x.frequencies, rtol=1e-12)
    np.testing.assert_allclose(normal.node("tip").shape @ normal.node("tip").shape.T, _own(x, "tip"), rtol=1e-9)


def _own(x: lw.Flexible, node: str) -> np.ndarray:
    """Φ M⁻¹ Φ* of a node, whatever the modes' coordinates, with M_ff = mass · I of normal modes."""
    mass = x.mass_matrix()[: x.modes, : x.modes]
    return x.mass * x.node(node).shape @ np.linalg.solve(mass, x.node(node).shape.T)


def test_damping_that_is_not_modal_is_refused(rng):
    x = random_flexible(rng, modes=3)
    odd = lw.Flexible(x.masses, x.places, x.shapes, x.stiffness, damping=np.diag([1.0, 0.0, 0.0]))
    with pytest.raises(lw.ModelError, match="couples its normal modes"):
        odd.normal_modes()


def test_equal_copies(rng):
    x = beam()
    assert x == beam() and hash(x) == hash(beam()) and x != beam(mass=1.3)
    again = pickle.loads(pickle.dumps(x))
    assert again == x and repr(again) == "<Flexible: 1.2 kg, 4 modes, nodes tip>"
    with pytest.raises(ValueError, match="read-only"):
        x.shapes[0] = 0


POINTS = {
    "masses": [1.0, 1.0, 1.0],
    "places": [[1, 0, 0], [2, 0, 0], [3, 0.1, 0]],
    "shapes": [[[0], [0.1], [0]], [[0], [0.4], [0]], [[0], [0.9], [0]]],
    "stiffness": [5.0],
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"masses": [1.0, -1.0, 1.0]}, "masses that are not negative"),
        ({"places": [[1, 0, 0]]}, r"places of a flexible body must be finite numbers of shape \(3, 3\)"),
        ({"shapes": [[[0]] * 3] * 2}, "shapes of a flexible body"),
        ({"shapes": np.zeros((3, 3, 1))}, "mode 1 of a flexible body moves no mass"),
        ({"shapes": np.full((3, 3, 2), [[0.1, -0.2]]), "stiffness": [5.0, 6.0]}, "which mode 1 has most moves none"),
        ({"stiffness": [-1.0]}, "stiffness of a flexible body must not be negative"),
        ({"stiffness": [1.0, 2.0]}, r"stiffness of 1 modes must be \(1,\)"),
        ({"damping": [-1.0]}, "damping of a flexible body must not be negative"),
        ({"nodes": {"tip": ((1, 0, 0), np.zeros((3, 2)))}}, "node 'tip' of a flexible body has shapes of 2 modes"),
        ({"nodes": {"": ((1, 0, 0), np.zeros((3, 1)))}}, "needs a name of its own"),
        ({"clamped_at": "root"}, "clamped_at='root' names no node"),
        ({"bends": np.ones((3, 3, 2, 2))}, "bends of a flexible body"),
    ],
)
def test_bodies_that_cannot_be(change, said):
    assert lw.Flexible(**POINTS).modes == 1
    with pytest.raises(lw.ModelError, match=said):
        lw.Flexible(**(POINTS | change))


def test_matrices_that_are_not_symmetric_are_refused(rng):
    x = random_flexible(rng, modes=2)
    with pytest.raises(lw.ModelError, match="stiffness of a flexible body must be symmetric"):
        lw.Flexible(x.masses, x.places, x.shapes, [[1.0, 0.5], [0.0, 1.0]])
    with pytest.raises(lw.ModelError, match="symmetric in their two modes"):
        lw.Flexible(x.masses, x.places, x.shapes, 1.0, bends=rng.normal(size=(9, 3, 2, 2)))
