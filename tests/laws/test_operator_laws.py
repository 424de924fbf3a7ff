"""The laws of linear operators, once, over all operators, robots, and batch shapes of q and of x."""

import itertools
import os

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


# --- which operators meet which robots and batches ---------------------------------------------------
#
# Every pair of (law, operator), (law, robot), (operator, robot), (law, batches) and (operator, batches) occurs, and
# for the first law every operator on every robot; LINKWISE_ALL_LAWS=1 runs the whole product. tests/planted_bugs.py
# plants wrong signs, transposes and indices and shows that both find the same.

BATCHES = [(q, x) for q in Q_BATCHES for x in X_BATCHES if (q, x) != ((3,), (4,))] + [((3,), (3,))]
LAWS = (
    "apply",
    "adjoint",
    "linearity",
    "composition",
    "columns",
    "adjoint of the adjoint",
    "dense adjoint",
    "single states",
)
WHOLE = bool(os.environ.get("LINKWISE_ALL_LAWS"))


def cases(law):
    """(operator, robot, batches of q and x) for a law; which robot and batches an operator meets turns with the law."""
    turn = LAWS.index(law)
    for i, name in enumerate(ALL):
        robots = ROBOTS if WHOLE or law == "apply" else [ROBOTS[(i + turn) % len(ROBOTS)]]
        for j, robot_name in enumerate(robots):
            # The six robots of the first law meet the first six pairs of batches, the other laws the others.
            chosen = BATCHES if WHOLE else [BATCHES[(i + (turn + 1 if turn else j)) % len(BATCHES)]]
            yield pytest.param(name, robot_name, chosen, id=f"{robot_name}-{name}")


def over(law):
    return pytest.mark.parametrize(("name", "robot_name", "batches"), list(cases(law)))


def met(robot_name, name, batches):
    """The operator at a batch of configurations, the batch of vectors, and that of both."""
    for q_batch, x_batch in batches:
        yield make(name, operators(robot_name, q_batch)), x_batch, np.broadcast_shapes(q_batch, x_batch)


def test_every_pair_occurs():
    """Of law, operator, robot and batches, whatever operators and robots there are."""
    found = [(law, *case.values[:2], pair) for law in LAWS for case in cases(law) for pair in case.values[2]]
    columns = list(zip(*found, strict=True))
    for i, j in itertools.combinations(range(4), 2):
        expected = set(itertools.product(columns[i], columns[j]))
        assert expected == set(zip(columns[i], columns[j], strict=True)), (i, j)
    assert set(columns[1]) == set(ALL) and set(columns[2]) == set(ROBOTS)
    assert set(columns[3]) == set(BATCHES)


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
    expected |= {"I", "I_joints", "I_tips", "I_edges", "I_inertial"}
    assert expected <= set(LEAVES)


@over("apply")
def test_apply_is_the_dense_matrix(robot_name, name, batches):
    """Sweeps against definitions, for every batch of q with every batch of x."""
    for A, x_batch, shape in met(robot_name, name, batches):
        x = vectors(A.cols, x_batch)
        expected = (A.dense() @ x[..., None])[..., 0]
        batch = x_batch if is_constant(A) else shape
        assert_close(A @ x, np.broadcast_to(expected, (*batch, A.rows.dimension)), TOLERANCE)


@over("adjoint")
def test_adjoint(robot_name, name, batches):
    """⟨y, A x⟩ = ⟨A* y, x⟩."""
    for A, x_batch, _ in met(robot_name, name, batches):
        x, y = vectors(A.cols, x_batch), vectors(A.rows, x_batch, seed=1)
        left, right = inner(y, A @ x), inner(A.T @ y, x)
        assert left.shape == right.shape
        assert_close(left, right, TOLERANCE)
        assert_close(y @ A, A.T @ y, 0.0)


@over("linearity")
def test_linearity(robot_name, name, batches):
    for A, x_batch, _ in met(robot_name, name, batches):
        x, y = vectors(A.cols, x_batch), vectors(A.cols, x_batch, seed=1)
        assert_close(A @ (2.0 * x - 3.0 * y), 2.0 * (A @ x) - 3.0 * (A @ y), TOLERANCE)
        assert_close((-0.5 * A) @ x, -0.5 * (A @ x), TOLERANCE)
        assert_close((A + A) @ x, 2.0 * (A @ x), TOLERANCE)
        assert not np.any((A - A) @ x)


@over("composition")
def test_product_is_composition(robot_name, name, batches):
    """(A A*) x = A (A* x) and (A* A) x = A* (A x)."""
    for A, x_batch, _ in met(robot_name, name, batches):
        x, y = vectors(A.cols, x_batch), vectors(A.rows, x_batch, seed=1)
        assert_close((A.T @ A) @ x, A.T @ (A @ x), TOLERANCE)
        assert_close((A @ A.T) @ y, A @ (A.T @ y), TOLERANCE)


@over("columns")
def test_columns_are_vectors_side_by_side(robot_name, name, batches):
    """apply_columns serves many right-hand sides in one sweep."""
    for A, x_batch, shape in met(robot_name, name, batches):
        X = np.random.default_rng(0).normal(size=(*x_batch, A.cols.dimension, 5))
        found = np.broadcast_to(A.apply_columns(X), (*shape, A.rows.dimension, 5))
        for i in range(5):
            assert_close(found[..., i], np.broadcast_to(A @ X[..., i], found[..., i].shape), TOLERANCE)


@over("adjoint of the adjoint")
def test_adjoint_of_the_adjoint(robot_name, name, batches):
    for A, _, _ in met(robot_name, name, batches):
        assert A.T.T.key == A.key
        assert (A.T.rows, A.T.cols) == (A.cols, A.rows)
        assert str(A.T.T) == str(A)
        assert_close(A.T.T.dense(), A.dense(), 0.0)


@over("dense adjoint")
def test_dense_of_the_adjoint_is_the_transpose(robot_name, name, batches):
    for A, _, _ in met(robot_name, name, batches):
        assert_close(A.T.dense(), A.dense().swapaxes(-1, -2), 1e-12)


@over("single states")
def test_batches_are_single_states_side_by_side(robot_name, name, batches):
    for q_batch, x_batch in batches:
        op = operators(robot_name, q_batch)
        A = make(name, op)
        x = vectors(A.cols, x_batch)
        shape = np.broadcast_shapes(q_batch, x_batch)
        found = np.broadcast_to(A @ x, (*shape, A.rows.dimension))
        q, v, a, x = (np.broadcast_to(y, (*shape, y.shape[-1])) for y in (op.q, op.v, op.state.a, x))
        for i in np.ndindex(shape):
            alone = make(name, op.model.operators(q[i], v=v[i], a=a[i]))
            assert_close(found[i], alone @ x[i], TOLERANCE)


@pytest.mark.parametrize("name", ALL)
def test_the_result_has_the_batch_of_both(name):
    """Whatever the operator is made of: q (2, 1) and x (3,) give (2, 3)."""
    A = make(name, operators("arms", (2, 1)))
    batch = (3,) if is_constant(A) else (2, 3)
    assert (A @ vectors(A.cols, (3,))).shape == (*batch, A.rows.dimension)


_FLOAT64 = ("user", "sandwich", "outboard", "lyapunov", "recursion", "other")  # with the user's own blocks


@pytest.mark.parametrize("name", [n for n in ALL if not any(word in n for word in _FLOAT64)])
def test_float32_stays(name):
    op = operators("arms", (2,))
    small = op.model.operators(**{k: getattr(op.state, k).astype(np.float32) for k in ("q", "v", "a")})
    A = make(name, small)
    x = vectors(A.cols, (2,)).astype(np.float32)
    assert (A @ x).dtype == np.float32
    assert A.dense().dtype == (np.float64 if is_constant(A) else np.float32)


# --- the algebra around single operators -------------------------------------------------------------


@pytest.mark.parametrize("turn", range(len(ROBOTS)), ids=list(ROBOTS))
def test_products_and_sums_of_different_operators(turn):
    """(A B) x = A (B x), (A + B) x = A x + B x, (A B)* = B* A*, for all pairs of leaves that fit, each on one robot."""
    op = operators(list(ROBOTS)[turn])
    leaves = [getattr(op, n) for n in LEAVES]
    for i, (A, B) in enumerate(itertools.product(leaves, leaves)):
        if not WHOLE and (i // len(leaves) + i) % len(ROBOTS) != turn:
            continue
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


def test_tips_on_one_body_and_matrices_of_ones_own():
    """B adds up what pulls at one body; a matrix that is not symmetric has another adjoint."""
    r = lw.load("ur5")
    q = r.random_configuration(3)
    frames = [r.tips[0], lw.Frame("beside", r.bodies[-1].name, at=(0.1, -0.2, 0.3)), r.bodies[2].name]
    o = r.operators(q, frames=frames)
    f = vectors(o.B.cols, ())
    assert_close(o.B @ f, o.B.dense() @ f, TOLERANCE)
    pulls = sum(r.jacobian(q, frame).T @ part for frame, part in zip(frames, f.reshape(3, 6)))
    assert_close(o.J.T @ f, pulls, TOLERANCE)
    A = np.random.default_rng(1).normal(size=(r.nv, 18))
    X = o.matrix(A, "joints", "tips")
    tau = vectors(X.rows, ())
    assert_close(X @ f, A @ f, TOLERANCE)
    assert_close(X.T @ tau, A.T @ tau, TOLERANCE)
