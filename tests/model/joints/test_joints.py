"""Laws that every joint kind keeps, over batch shapes: its map, its transform, its configuration manifold."""

import numpy as np
import pytest

from linkwise.dynamics.tangent import brackets
from linkwise.errors import ModelError
from linkwise.model.joints.kinds import (
    Custom,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
    pose_from_transform,
    unit_axis,
)
from linkwise.spatial import Transform, rotation_from_quaternion

TILTED, OTHER = np.array([2.0, -1.0, 2.0]) / 3.0, np.array([0.0, 0.6, 0.8])
SCREW = [[0.6], [0.0], [-0.8], [0.1], [0.2], [0.3]]
ROUND_LINE = np.array([[0, 0, 1, 0.4, -0.2, 0], [0, 0, 0, 0, 0, 1]]).T  # about and along a line beside O
SLIDES = np.array([[0, 0, 0, 1, 0, 1], [0, 0, 0, 0, 2, 1]]).T
SKATE = np.array([[0, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0]]).T  # forward and turning: not holonomic
ANYTHING = np.array([[1, 0, 0, 0, 0.3, 0], [0, 0.8, 0, 1, 0, 0], [0.2, 0, 0.5, 0, 0, -1]]).T

KINDS = {
    "revolute": Revolute("y"),
    "revolute tilted": Revolute(TILTED),
    "prismatic": Prismatic(TILTED),
    "helical": Helical(TILTED, 0.2),
    "helical left": Helical("-x", -0.3),
    "cylindrical": Cylindrical(OTHER),
    "universal": Universal("x", "y"),
    "universal oblique": Universal(TILTED, OTHER),
    "spherical": Spherical(),
    "planar": Planar("z"),
    "planar tilted": Planar(TILTED),
    "planar below": Planar("-z"),
    "free": Free(),
    "fixed": Fixed(),
    "custom screw": Custom(SCREW),
    "custom line": Custom(ROUND_LINE),
    "custom slides": Custom(SLIDES),
    "custom skate": Custom(SKATE),
    "custom anything": Custom(ANYTHING),
    "custom full": Custom(np.eye(6) + 0.1 * np.arange(36).reshape(6, 6) / 36),
}
BATCHES = [(), (1,), (4,), (2, 3)]


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def kind(request):
    return request.param


@pytest.fixture(params=BATCHES, ids=str)
def batch(request):
    return request.param


def draw(kind, batch=(), seed=5):
    """Random configurations (*batch, nq) and velocities (*batch, nv) of moderate size."""
    rng = np.random.default_rng(seed)
    q = np.array([kind.random(rng) for _ in range(int(np.prod(batch)))]).reshape(*batch, kind.nq)
    return q, rng.uniform(-1, 1, (*batch, kind.nv))


def body_velocity(pose_at, h=1e-5):
    """[ω; v] in body axes at the origin of a moving pose, at time 0, by fourth-order differences."""
    weights = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
    poses = {k: pose_at(k * h) for k in weights}
    R_dot = sum(w * poses[k].R for k, w in weights.items()) / h
    l_dot = sum(w * poses[k].l for k, w in weights.items()) / h
    Rt = pose_at(0.0).R.swapaxes(-1, -2)
    return spatial_velocity(Rt @ R_dot, (Rt @ l_dot[..., None])[..., 0])


def spatial_velocity(tilde, linear):
    """[ω; v] of a skew matrix ω̃ (..., 3, 3) and a vector v (..., 3), which may lack batch axes."""
    omega = np.stack([tilde[..., 2, 1], tilde[..., 0, 2], tilde[..., 1, 0]], axis=-1)
    return np.concatenate(np.broadcast_arrays(omega, linear), axis=-1)


def same_pose(a, b, tolerance=1e-12):
    for x, y in ((a.R, b.R), (a.l, b.l)):  # a constant part may lack batch axes
        np.testing.assert_allclose(*np.broadcast_arrays(x, y), rtol=0, atol=tolerance)


# --- shapes ----------------------------------------------------------------------------------------


def test_shapes(kind, batch):
    q, v = draw(kind, batch)
    pose, H = kind.transform(q), kind.map(q)
    assert np.broadcast_shapes(pose.R.shape, (*batch, 3, 3)) == (*batch, 3, 3)
    assert np.broadcast_shapes(pose.l.shape, (*batch, 3)) == (*batch, 3)
    assert H.shape[-2:] == (6, kind.nv)
    assert kind.H_star.shape == (6, kind.nv)
    assert kind.integrate(q, v).shape == (*batch, kind.nq)
    assert kind.difference(q, kind.integrate(q, v)).shape == (*batch, kind.nv)
    assert kind.kind == type(kind).__name__.lower()


def test_one_configuration_meets_a_batch_of_velocities(kind):
    q, _ = draw(kind)
    _, v = draw(kind, (3,))
    together = kind.integrate(q, v)
    one_by_one = np.array([kind.integrate(q, x) for x in v]).reshape(3, kind.nq)
    np.testing.assert_allclose(together, one_by_one, rtol=0, atol=1e-15)


def test_batches_are_elementwise(kind):
    q, _ = draw(kind, (2, 3))
    R = np.broadcast_to(kind.transform(q).R, (2, 3, 3, 3))
    H = np.broadcast_to(kind.map(q), (2, 3, 6, kind.nv))
    for i in np.ndindex(2, 3):
        np.testing.assert_allclose(R[i], kind.transform(q[i]).R, rtol=0, atol=1e-15)
        np.testing.assert_allclose(H[i], kind.map(q[i]), rtol=0, atol=1e-15)


# --- the configuration manifold --------------------------------------------------------------------


def test_neutral_is_the_identity(kind):
    q = kind.neutral()
    assert q.shape == (kind.nq,)
    same_pose(kind.transform(q), Transform.identity(), 0)


def test_random_is_a_valid_configuration(kind):
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = kind.random(rng)
        assert q.shape == (kind.nq,) and np.isfinite(q).all()
        assert kind.error(q) is None
        if kind.nq >= 4:
            assert np.linalg.norm(q[-4:]) == pytest.approx(1.0, abs=1e-14)
    assert kind.nq == 0 or not np.allclose(kind.random(rng), kind.random(rng))


def test_integrate_and_difference_are_inverse(kind, batch):
    q, v = draw(kind, batch)
    np.testing.assert_allclose(kind.difference(q, kind.integrate(q, v)), v, rtol=0, atol=1e-13)
    np.testing.assert_allclose(kind.difference(q, q), 0 * v, rtol=0, atol=1e-15)
    same_pose(kind.transform(kind.integrate(q, 0 * v)), kind.transform(q), 1e-14)


@pytest.mark.parametrize("size", [1e-9, 1e-4, 2e-4, 0.1, 1.5])
def test_inverse_at_every_size_of_step(kind, size):
    q, v = draw(kind, (5,))
    step = size * v
    back = kind.difference(q, kind.integrate(q, step))
    np.testing.assert_allclose(back, step, rtol=0, atol=2e-15 + 1e-13 * size)


def test_any_two_configurations_are_joined(kind):
    """q0 ⊕ (q1 ⊖ q0) = q1, where every pose can be reached at once (not so for a skate)."""
    if isinstance(kind, Custom) and not kind.commutes and kind.nv < 6:
        pytest.skip("not holonomic, or moves on a subgroup without a straight way between any two poses")
    (q0, _), (q1, _) = draw(kind, (6,), seed=1), draw(kind, (6,), seed=2)
    reached = kind.integrate(q0, kind.difference(q0, q1))
    same_pose(kind.transform(reached), kind.transform(q1))


def test_integrate_keeps_quaternions_unit_and_continuous(kind):
    if kind.nq == kind.nv:
        pytest.skip("no quaternion")
    q, v = draw(kind)
    for _ in range(200):
        step = kind.integrate(q, 0.1 * v)
        assert np.linalg.norm(step[-4:]) == pytest.approx(1.0, abs=1e-14)
        assert np.dot(step[-4:], q[-4:]) > 0.9  # it never jumps to the other of the two quaternions
        q = step


# --- the map ---------------------------------------------------------------------------------------


def test_map_gives_the_relative_velocity(kind, batch):
    """d/dt of the transform, in body axes at the body's origin, is H*(q) v."""
    q, v = draw(kind, batch)
    velocity = body_velocity(lambda t: kind.transform(kind.integrate(q, t * v)), h=1e-3)
    expected = np.broadcast_to((kind.map(q) @ v[..., None])[..., 0], (*batch, 6))
    np.testing.assert_allclose(np.broadcast_to(velocity, (*batch, 6)), expected, rtol=0, atol=1e-10)


def test_map_by_complex_step():
    """The same to the last digit, for the kinds whose transform takes complex numbers as it stands."""
    for name in ("revolute tilted", "prismatic", "helical", "cylindrical", "universal oblique"):
        kind = KINDS[name]
        q, v = draw(kind, (3,))
        h = 1e-30
        moved = kind.transform(q + 1j * h * v)
        Rt = kind.transform(q).R.swapaxes(-1, -2)
        linear = Rt @ (moved.l.imag / h)[..., None]
        velocity = spatial_velocity(Rt @ (moved.R.imag / h), linear[..., 0])
        np.testing.assert_allclose(velocity, (kind.map(q) @ v[..., None])[..., 0], rtol=0, atol=1e-15)


def test_map_rate_is_the_derivative_of_the_map(kind, batch):
    """map_rate = (d/dt H*(q(t))) v along q(t) = q ⊕ t v, in body axes; None where H* is constant."""
    q, v = draw(kind, batch)
    rate = kind.map_rate(q, v[..., None])
    h = 1e-3
    weights = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
    H_dot = sum(w * kind.map(kind.integrate(q, k * h * v)) for k, w in weights.items()) / h
    expected = H_dot @ v[..., None]
    np.testing.assert_allclose(0.0 * expected if rate is None else rate, expected, rtol=0, atol=1e-10)
    derivative = kind.map_derivative(q, v[..., None])
    np.testing.assert_allclose(0.0 * H_dot if derivative is None else derivative, H_dot, rtol=0, atol=1e-10)
    assert (rate is None) == (derivative is None) == (not isinstance(kind, Universal))


def test_velocities_are_independent(kind, batch):
    q, _ = draw(kind, batch)
    smallest = np.linalg.svd(kind.map(q), compute_uv=False)[..., -1:] if kind.nv else np.ones(1)
    assert smallest.min() > 0.1


def test_transforms_are_rigid(kind, batch):
    q, _ = draw(kind, batch)
    R = kind.transform(q).R
    np.testing.assert_allclose(R @ R.swapaxes(-1, -2) - np.eye(3), 0.0, rtol=0, atol=1e-14)
    np.testing.assert_allclose(np.linalg.det(R), 1.0, rtol=0, atol=1e-14)


# --- what single kinds are -------------------------------------------------------------------------


def test_helical_advances_by_its_pitch():
    pose = Helical("z", 0.2).transform(np.array([np.pi]))
    np.testing.assert_allclose(pose.l, [0, 0, 0.2 * np.pi])


def test_universal_turns_about_the_parents_axis_first():
    q = np.array([0.4, 0.7])
    expected = Revolute("x").transform(q[:1]).R @ Revolute("y").transform(q[1:]).R
    np.testing.assert_allclose(Universal("x", "y").transform(q).R, expected, rtol=0, atol=1e-15)


def test_planar_keeps_to_its_plane():
    kind = Planar(TILTED)
    q, v = draw(kind, (10,))
    assert np.abs(kind.transform(kind.integrate(q, v)).l @ TILTED).max() < 1e-15


def test_planar_moves_as_a_free_joint_in_the_plane():
    q, v = draw(Planar("z"), (10,))
    zero = 0 * v[:, 0]
    twist = np.stack([zero, zero, v[:, 2], v[:, 0], v[:, 1], zero], axis=-1)
    start = np.array([pose_from_transform(Planar("z").transform(x)) for x in q])
    planar, free = Planar("z").integrate(q, v), Free().integrate(start, twist)
    same_pose(Planar("z").transform(planar), Free().transform(free))


def test_lengths_of_quaternions_divide_out():
    q, _ = draw(Free())
    longer = q * np.array([1, 1, 1, 3, 3, 3, 3])
    same_pose(Free().transform(longer), Free().transform(q))


def test_commuting_columns_need_no_pose():
    sizes = {"screw": 1, "line": 2, "slides": 2, "skate": 7, "anything": 7, "full": 7}
    for name, nq in sizes.items():
        kind = KINDS[f"custom {name}"]
        assert (kind.nq, kind.commutes) == (nq, nq < 7)


def test_custom_maps_reproduce_the_named_kinds():
    for named in (Revolute(TILTED), Prismatic(TILTED), Helical(TILTED, 0.2), Cylindrical(TILTED)):
        own = Custom(named.H_star)
        q, _ = draw(named, (4,))
        same_pose(own.transform(q), named.transform(q))
    full = Custom(np.eye(6))
    q, v = draw(Free(), (4,))
    np.testing.assert_allclose(full.integrate(q, v), Free().integrate(q, v), rtol=0, atol=1e-14)


def test_a_skate_is_not_holonomic():
    """Forward, turn, back, turn back ends up beside the start: no r numbers could describe its pose."""
    q = KINDS["custom skate"].neutral()
    for v in ([0.1, 0], [0, 0.1], [-0.1, 0], [0, -0.1]):
        q = KINDS["custom skate"].integrate(q, np.array(v))
    assert abs(q[1]) > 0.009


# --- precision -------------------------------------------------------------------------------------


def test_float32_stays_float32(kind, batch):
    q, v = (x.astype(np.float32) for x in draw(kind, batch))
    pose, ahead = kind.transform(q), kind.integrate(q, v)
    results = {"R": pose.R, "l": pose.l, "map": kind.map(q), "integrate": ahead}
    results["difference"] = kind.difference(q, ahead)
    rate = kind.map_rate(q, v[..., None])
    if rate is not None:
        results["map_rate"] = rate
    assert {name: x.dtype for name, x in results.items()} == dict.fromkeys(results, np.dtype(np.float32))
    np.testing.assert_allclose(results["difference"], v, rtol=0, atol=1e-5)


# --- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: Revolute("w"), "'w'"),
        (lambda: Revolute((0, 0, 0)), "zero"),
        (lambda: Revolute((0, 1e-200, 0)), "about 1e-200 long, too short"),
        (lambda: Prismatic((1, 2)), "3 numbers"),
        (lambda: Prismatic((1, np.nan, 0)), "finite"),
        (lambda: Helical("z", np.inf), "pitch"),
        (lambda: Universal("x", "-x"), "parallel"),
        (lambda: Universal("x", "q"), "second axis"),
        (lambda: Planar((0, 0, 0)), "normal"),
        (lambda: Custom(np.zeros((5, 2))), "6×r"),
        (lambda: Custom(np.zeros((6, 0))), "6×r"),
        (lambda: Custom(np.ones((6, 2))), "independent"),
        (lambda: Custom("abc"), "'abc'"),
        (lambda: Custom(np.full((6, 1), np.nan)), "finite"),
    ],
)
def test_impossible_kinds_are_refused(make, hint):
    with pytest.raises(ModelError, match=hint):
        make()


def test_axes_are_normalised_or_left_alone():
    np.testing.assert_allclose(unit_axis((0, 3, 4)), OTHER)
    np.testing.assert_array_equal(unit_axis(OTHER), OTHER)
    np.testing.assert_array_equal(unit_axis("-y"), [0, -1, 0])
    for make in (Revolute, Prismatic, Helical):  # whose squares are too large for a float
        np.testing.assert_allclose(make((0, 3e200, 4e200)).axis, OTHER)
    np.testing.assert_allclose(Planar((0, 3e200, 4e200)).normal, OTHER)


def test_zero_quaternions_are_named():
    assert "quaternion" in Spherical().error(np.zeros(4))
    assert "quaternion" in Free().error(np.zeros((3, 7)))
    assert "quaternion" in KINDS["custom skate"].error(np.zeros(7))
    assert Revolute().error(np.zeros(1)) is None


def test_pose_from_transform_is_a_free_configuration():
    q, _ = draw(Free())
    pose = Free().transform(q)
    same_pose(Free().transform(pose_from_transform(pose)), pose, 1e-15)
    np.testing.assert_allclose(rotation_from_quaternion(pose_from_transform(pose)[3:]), pose.R, atol=1e-15)


@pytest.mark.parametrize("tilt", [0.0, 1e-300, 1e-160, 1e-12, 1e-7, 1e-6, 1.4e-6, 1e-3, 1.5, np.pi / 2, 1.7])
@pytest.mark.parametrize("up", [1, -1])
@pytest.mark.parametrize("turn", [0.0, 0.7, 4.0])
def test_a_plane_has_the_normal_that_was_asked_for(tilt, up, turn):
    """The smallest turn from z to n, to rounding, wherever n points (about any horizontal axis for n = −z)."""
    n = np.array([np.sin(tilt) * np.cos(turn), np.sin(tilt) * np.sin(turn), up * np.cos(tilt)])
    n = Planar(n).normal
    basis = Planar(n).basis
    assert (basis[:, 2] == n).all()
    assert np.abs(basis.T @ basis - np.eye(3)).max() < 5e-16 and abs(np.linalg.det(basis) - 1) < 1e-15
    assert np.trace(basis) == pytest.approx(1 + 2 * n[2], abs=1e-15)  # the angle is no larger than that between them


@pytest.mark.parametrize("scale", [1e-12, 1e-7, 1.0, 1e7, 1e12])
def test_whether_columns_commute_is_no_matter_of_units(scale):
    turns = Custom(scale * np.eye(6)[:, :2])
    moves = Custom(scale * np.eye(6)[:, 3:5])
    along = Custom(np.eye(6)[:, [2, 5]] * [scale, 1.0])
    both = Custom(np.eye(6)[:, [0, 4]] * [1.0, scale])
    assert not turns.commutes and not both.commutes
    assert moves.commutes and along.commutes


@pytest.mark.parametrize("scale", [1e-7, 1e7])
def test_brackets_of_columns_scale_with_them(scale):
    H = np.eye(6)[:, :3]
    np.testing.assert_allclose(brackets(Custom(scale * H), "j"), scale * brackets(Custom(H), "j"), rtol=1e-12)
