"""Joints by a pose of the user's own: against Lagrange's equations, other kinds written as poses, and differences."""

import copy
import pickle

import numpy as np
import pytest

import linkwise as lw

STEP = 1e-30


def cam(a):
    """A follower that turns and slides as the cam does."""
    r, turn = 0.1 + 0.03 * np.cos(2 * a), 0.5 * np.sin(a)
    c, s = np.cos(turn), np.sin(turn)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]), [r * np.cos(a), r * np.sin(a), 0.05 * a]


def spread(a, b):
    c, s = np.cos(a), np.sin(a)
    return [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [b * c, b * s, np.sin(a * b)]


def rail(s):
    return [s, 0.3 * np.sin(2 * s), 0.2 * s * s]


def robot():
    rng = np.random.default_rng(0)

    def inertia():
        A = rng.normal(size=(3, 3)) * 0.2
        return lw.Inertia(1 + rng.random(), rng.normal(size=3) * 0.2, A @ A.T + 0.3 * np.eye(3))

    bodies = [
        lw.Body("a", lw.Joint(lw.Guided(cam), at=(0.1, 0.2, 0.3), rpy=(0.1, 0.4, 0.2)), inertia()),
        lw.Body("b", lw.Joint(lw.Guided(spread, 2, neutral_at=[0.1, 0.4]), stiffness=2.0, damping=0.3), inertia(), "a"),
        lw.Body("c", lw.Joint(lw.Revolute("x"), at=(0, 0.3, 0)), inertia(), "b"),
        lw.Body("d", lw.Joint(lw.Guided(rail), at=(0, 0.3, 0)), inertia(), "c"),
    ]
    return lw.assemble("cams", bodies, [lw.Frame("tip", "d", at=(0.1, 0.1, 0.1))])


ROBOT = robot()


def state(seed=1):
    rng = np.random.default_rng(seed)
    return ROBOT.random_configuration(rng), *rng.normal(size=(2, ROBOT.nv))


def slope(function, x):
    """By complex steps, last axis."""
    return np.stack([np.asarray(function(x + 1j * STEP * e)).imag / STEP for e in np.eye(len(x))], -1)


def test_lagranges_equations():
    """d/dt ∂L/∂v − ∂L/∂q, with 𝓜 from the kinetic energy of poses alone: the bodies' points, differentiated."""
    q, v, a = state()

    def mass(q):
        """Σ over bodies of J*MJ, with J from differences of poses by complex steps."""
        total = 0.0
        for body in ROBOT.bodies:
            R, _ = ROBOT.pose(q, body.name, target="numpy")
            moved = [ROBOT.pose(q + 1j * STEP * e, body.name, target="numpy") for e in np.eye(ROBOT.nv)]
            turn = [R.T @ (x[0].imag / STEP) for x in moved]
            w = np.array([[t[2, 1], t[0, 2], t[1, 0]] for t in turn]).T
            u = np.array([R.T @ (x[1].imag / STEP) for x in moved]).T
            J, M = np.vstack([w, u]), arrays(body.inertia)
            total = total + J.T @ M @ J
        return total

    np.testing.assert_allclose(ROBOT.mass_matrix(q), mass(q), atol=1e-12)
    dM = slope(lambda x: ROBOT.mass_matrix(x, target="numpy"), q)  # ∂𝓜/∂q_k, last axis
    coriolis = np.einsum("ijk,j,k->i", dM, v, v) - 0.5 * np.einsum("jki,j,k->i", dM, v, v)
    pulled = slope(lambda x: ROBOT.potential_energy(x, target="numpy"), q)
    expected = ROBOT.mass_matrix(q) @ a + coriolis + pulled + ROBOT.damping * v
    np.testing.assert_allclose(ROBOT.inverse_dynamics(q, v, a), expected, atol=1e-11)


def arrays(inertia):
    M = inertia.spatial()
    h = np.array([[0, -M.h[2], M.h[1]], [M.h[2], 0, -M.h[0]], [-M.h[1], M.h[0], 0]])
    return np.block([[M.J, h], [h.T, M.m * np.eye(3)]])


def test_forward_dynamics_by_every_method():
    q, v, a = state()
    tau = ROBOT.inverse_dynamics(q, v, a)
    for method in lw.FORWARD_METHODS:
        if method != "armstrong":
            np.testing.assert_allclose(ROBOT.forward_dynamics(q, v, tau, method=method), a, atol=1e-10)


def test_linearised():
    q, v, a = state()
    dq = slope(lambda x: ROBOT.inverse_dynamics(x, v, a, target="numpy"), q)
    for target in ("numpy", "cpu"):
        model = ROBOT.linearize_inverse(q, v, a, target=target)
        np.testing.assert_allclose(model.dq, dq, atol=1e-11)
    tau = ROBOT.inverse_dynamics(q, v, a)
    forward = ROBOT.linearize_forward(q, v, tau, method="algorithm_6")
    np.testing.assert_allclose(forward.dq, -np.linalg.solve(model.M, dq), atol=1e-10)
    with pytest.raises(lw.NotAdmittedError, match="'a_joint'.*guided"):
        ROBOT.linearize_inverse(q, v, a, method="lemma_3_1")


@pytest.mark.parametrize(
    ("kind", "pose", "freedoms"),
    [
        (
            lw.Revolute("z"),
            lambda a: (np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]]), [0, 0, 0]),
            1,
        ),
        (lw.Prismatic("y"), lambda s: [0, s, 0], 1),
        (
            lw.Universal("x", "y"),
            lambda a, b: (
                np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
                @ np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]]),
                [0, 0, 0],
            ),
            2,
        ),
    ],
)  # fmt: skip
def test_other_kinds_written_as_poses(kind, pose, freedoms):
    own = lw.Guided(pose, freedoms)
    q = np.random.default_rng(0).normal(size=(3, freedoms))
    np.testing.assert_allclose(own.transform(q).R, np.broadcast_to(kind.transform(q).R, (3, 3, 3)), atol=1e-15)
    np.testing.assert_allclose(own.map(q), np.broadcast_to(kind.map(q), (3, 6, freedoms)), atol=1e-15)
    v = np.random.default_rng(1).normal(size=(3, freedoms, 1))
    rate = kind.map_derivative(q, v)
    np.testing.assert_allclose(own.map_derivative(q, v), 0 * own.map(q) if rate is None else rate, atol=1e-14)


def test_ways_of_using_it():
    q, v, a = state()
    tau = ROBOT.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(ROBOT.forward_dynamics(q, v, tau, target="cpu"), a, atol=1e-10)
    single = ROBOT.forward_dynamics(*(x.astype(np.float32) for x in (q, v, tau)), target="cpu")
    assert single.dtype == np.float32
    for other in (copy.deepcopy(ROBOT), pickle.loads(pickle.dumps(ROBOT)), robot()):
        assert other == ROBOT and other.fingerprint == ROBOT.fingerprint is not None
    changed = lw.Guided(lambda a: [a, 0.31 * np.sin(2 * a), 0.0])
    assert changed != lw.Guided(lambda a: [a, 0.3 * np.sin(2 * a), 0.0])
    t = lw.simulate(ROBOT, q, v, duration=0.2, target="cpu")
    assert np.abs(t.energy.drift).max() < 1e-8
    assert ROBOT.equilibrium(q).reached
    assert "double" in ROBOT.compile("inverse_dynamics", target="c").source
    with pytest.raises(lw.ModelError, match="'a_joint' is guided, which URDF cannot say"):
        ROBOT.to_urdf()


def test_code_that_loops():
    beads = lw.chain(5, joint=lw.Guided(rail))
    q, v, a = (np.random.default_rng(2).normal(size=(2, 5)) for _ in range(3))
    rolled = beads.compile("inverse_dynamics", rolled=True)
    np.testing.assert_allclose(rolled(q, v, a), beads.inverse_dynamics(q, v, a), atol=1e-10)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: lw.Guided(3.0), "is a function of 1 coordinates, got 3.0"),
        (lambda: lw.Guided(lambda a, b: [a, b, 0]), "cannot be evaluated for 1 coordinates"),
        (lambda: lw.Guided(lambda a: [a, 0]), r"p has shape \(2,\)"),
        (lambda: lw.Guided(lambda a: (2.0 * np.eye(3), [a, 0, 0])), "R is no rotation matrix"),
        (lambda: lw.Guided(lambda a: [a * a, 0, 0]), "must move by each of its coordinates"),
        (lambda: lw.Guided(lambda a: [np.floor(a), 0, a]), "floor jumps"),
        (lambda: lw.Guided(lambda a: [np.abs(a + 2e-6), 0, a]), "not that of differences"),
        (lambda: lw.Guided(lambda a: [np.log(a), 0, a]), "is not finite"),
        (lambda: lw.Guided(lambda a: [0 if a > 0 else 1, 0, a]), "one smooth function"),
        (lambda: lw.Guided(lambda a: [a, 0, 0], 9), "freedoms"),
        (lambda: lw.Guided(lambda a: [a, 0, 0], neutral_at=[1, 2]), "1 finite numbers"),
    ],
)
def test_what_is_no_joint_is_refused(make, said):
    with pytest.raises(lw.LinkwiseError, match=said):
        make()
