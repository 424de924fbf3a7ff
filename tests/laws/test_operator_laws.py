"""The laws of linear operators, once, over all operators × robots × batch shapes of q and of x."""

import numpy as np
import pytest
from operator_zoo import EXPRESSIONS, LEAVES, Q_BATCHES, ROBOTS, X_BATCHES, make, operators
from trees import assert_close

import linkwise as lw
from linkwise.algebra.expression import Identity, Zero

ALL = [*LEAVES, *EXPRESSIONS]
TOLERANCE = 1e-11


def vectors(space, batch, seed=0):
    return np.random.default_rng(seed).normal(size=(*batch, space.dimension))


def is_constant(A):
    """I and 0 know no configuration, hence no batch."""
    return isinstance(A.expression, (Identity, Zero))


def inner(x, y):
    return (x * y).sum(axis=-1)


@pytest.fixture(params=ALL)
def name(request):
    return request.param


@pytest.fixture(params=ROBOTS)
def robot_name(request):
    return request.param


def every_batch(robot_name, name):
    for q_batch in Q_BATCHES:
        A = make(name, operators(robot_name, q_batch))
        for x_batch in X_BATCHES:
            try:
                shape = np.broadcast_shapes(q_batch, x_batch)
            except ValueError:
                continue
            yield A, q_batch, x_batch, shape


def test_the_zoo_has_every_leaf():
    """Those of the papers by name, so that none can drop out unnoticed."""
    expected = {
        "H",
        "phi",
        "phi_tilde",
        "E_phi",
        "M",
        "B",
        "J",
        "mass",
        "P",
        "P_plus",
        "D",
        "D_inverse",
        "G",
        "K",
    }
    expected |= {"tau", "tau_bar", "psi", "psi_tilde", "E_psi", "R", "Upsilon", "Omega", "Upsilon_plus"}
    expected |= {"S", "L", "Delta_phi", "Delta_psi", "Phi", "Psi", "rotor_inertia", "rotor_coupling"}
    expected |= {"I", "I_joints", "I_tips", "I_edges"}
    assert expected <= set(LEAVES)


def test_apply_is_the_dense_matrix(robot_name, name):
    """Sweeps against definitions, for every batch of q with every batch of x."""
    for A, _, x_batch, shape in every_batch(robot_name, name):
        x = vectors(A.cols, x_batch)
        expected = (A.dense() @ x[..., None])[..., 0]
        batch = x_batch if is_constant(A) else shape
        assert_close(A @ x, np.broadcast_to(expected, (*batch, A.rows.dimension)), TOLERANCE)


def test_adjoint(robot_name, name):
    """⟨y, A x⟩ = ⟨A* y, x⟩."""
    for A, _, x_batch, _ in every_batch(robot_name, name):
        x, y = vectors(A.cols, x_batch), vectors(A.rows, x_batch, seed=1)
        left, right = inner(y, A @ x), inner(A.T @ y, x)
        assert left.shape == right.shape
        assert_close(left, right, TOLERANCE)
        assert_close(y @ A, A.T @ y, 0.0)


def test_linearity(robot_name, name):
    for A, _, x_batch, _ in every_batch(robot_name, name):
        x, y = vectors(A.cols, x_batch), vectors(A.cols, x_batch, seed=1)
        assert_close(A @ (2.0 * x - 3.0 * y), 2.0 * (A @ x) - 3.0 * (A @ y), TOLERANCE)
        assert_close((-0.5 * A) @ x, -0.5 * (A @ x), TOLERANCE)
        assert_close((A + A) @ x, 2.0 * (A @ x), TOLERANCE)
        assert not np.any((A - A) @ x)


def test_product_is_composition(robot_name, name):
    """(A A*) x = A (A* x) and (A* A) x = A* (A x)."""
    for A, _, x_batch, _ in every_batch(robot_name, name):
        x, y = vectors(A.cols, x_batch), vectors(A.rows, x_batch, seed=1)
        assert_close((A.T @ A) @ x, A.T @ (A @ x), TOLERANCE)
        assert_close((A @ A.T) @ y, A @ (A.T @ y), TOLERANCE)


def test_columns_are_vectors_side_by_side(robot_name, name):
    """apply_columns serves many right-hand sides in one sweep."""
    A = make(name, operators(robot_name, (3,)))
    X = np.random.default_rng(0).normal(size=(3, A.cols.dimension, 5))
    found = np.broadcast_to(A.apply_columns(X), (3, A.rows.dimension, 5))
    for i in range(5):
        assert_close(found[..., i], np.broadcast_to(A @ X[..., i], found[..., i].shape), TOLERANCE)


def test_adjoint_of_the_adjoint(robot_name, name):
    A = make(name, operators(robot_name))
    assert A.T.T.key == A.key
    assert (A.T.rows, A.T.cols) == (A.cols, A.rows)
    assert str(A.T.T) == str(A)
    assert_close(A.T.T.dense(), A.dense(), 0.0)


def test_dense_of_the_adjoint_is_the_transpose(robot_name, name):
    for q_batch in Q_BATCHES:
        A = make(name, operators(robot_name, q_batch))
        assert_close(A.T.dense(), A.dense().swapaxes(-1, -2), 1e-12)


def test_batches_are_single_states_side_by_side(robot_name, name):
    op = operators(robot_name, (3,))
    r, q, v, a = op.model, op.q, op.v, op.a
    A = make(name, op)
    x = vectors(A.cols, (3,))
    found = A @ x
    for i in range(3):
        alone = make(name, r.operators(q[i], v=v[i], a=a[i]))
        assert_close(found[i], alone @ x[i], TOLERANCE)


def test_the_result_has_the_batch_of_both(name):
    """Whatever the operator is made of: q (2, 1) and x (3,) give (2, 3)."""
    A = make(name, operators("arms", (2, 1)))
    batch = (3,) if is_constant(A) else (2, 3)
    assert (A @ vectors(A.cols, (3,))).shape == (*batch, A.rows.dimension)


_FLOAT64 = ("user", "sandwich", "outboard", "lyapunov", "recursion", "other")  # with the user's own blocks


@pytest.mark.parametrize("name", [n for n in ALL if not any(word in n for word in _FLOAT64)])
def test_float32_stays(name):
    op = operators("arms", (2,))
    small = op.model.operators(**{k: getattr(op, k).astype(np.float32) for k in ("q", "v", "a")})
    A = make(name, small)
    x = vectors(A.cols, (2,)).astype(np.float32)
    assert (A @ x).dtype == np.float32
    assert A.dense().dtype == (np.float64 if is_constant(A) else np.float32)


# --- the algebra around single operators -------------------------------------------------------------


def test_products_and_sums_of_different_operators(robot_name):
    """(A B) x = A (B x), (A + B) x = A x + B x, (A B)* = B* A*, for all pairs of leaves that fit."""
    op = operators(robot_name)
    leaves = [getattr(op, n) for n in LEAVES]
    for A in leaves:
        for B in leaves:
            x = vectors(B.cols, ())
            if A.cols == B.rows:
                assert_close((A @ B) @ x, A @ (B @ x), TOLERANCE)
                assert (A @ B).T.key == (B.T @ A.T).key
            if (A.rows, A.cols) == (B.rows, B.cols):
                assert_close((A + B) @ x, A @ x + B @ x, TOLERANCE)
                assert (A + B).key == (B + A).key


def test_normal_form():
    """Products and sums are flat, identities and zeros vanish, numbers move to the front, terms gather."""
    o = operators("tree")
    H, phi, M = o.H, o.phi, o.M
    assert ((H @ phi) @ M).key == (H @ (phi @ M)).key
    assert (o.I_joints @ H @ o.I).key == H.key
    assert (2.0 * H @ (3.0 * phi)).key == (6.0 * (H @ phi)).key
    assert (M + phi - M).key == phi.key
    assert (M + M + phi).key == (phi + 2.0 * M).key
    assert isinstance((0.0 * M).expression, Zero) and isinstance((H @ (M - M)).expression, Zero)
    assert (M / 4).key == (0.25 * M).key
    assert (-M).key == (-1 * M).key


def test_equal_names_of_two_configurations_are_different_operators():
    a, b = operators("chain4", seed=1), operators("chain4", seed=2)
    assert a.phi.key != b.phi.key and a.H.key != b.H.key
    total = a.mass - b.mass
    assert_close(total.dense(), a.mass.dense() - b.mass.dense(), 1e-13)


def test_operators_are_no_numbers():
    o = operators("tree")
    for bad in (lambda: o.M + 1, lambda: o.M - 1.0, lambda: o.M * o.M, lambda: o.M * float("nan")):
        with pytest.raises(lw.SpaceError):
            bad()
    with pytest.raises(lw.SpaceError, match="finite real number"):
        o.M * np.ones(3)
