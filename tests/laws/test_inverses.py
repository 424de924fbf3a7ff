"""Inverses: every known form against the inverse of the dense matrix, and clear words where there is none."""

import numpy as np
import pytest
from operator_zoo import ROBOTS, general, operators, positive
from trees import assert_close, robot, state

import linkwise as lw


def sandwich(o, X):
    return o.H @ o.phi @ X @ o.phi.T @ o.H.T


# Each is defined for every robot.
FORMS = {
    "identity": lambda o: o.I,
    "c I": lambda o: -2.5 * o.I_joints,
    "M": lambda o: o.M,
    "P": lambda o: o.P,
    "R": lambda o: o.R,
    "D": lambda o: o.D,
    "D⁻¹": lambda o: o.D_inverse,
    "c M": lambda o: 0.2 * o.M,
    "M + R": lambda o: o.M + 2.0 * o.R,
    "user's, not symmetric": general,
    "user's on joints": lambda o: general(o, "joints"),
    "product of block diagonals": lambda o: o.M @ general(o) @ o.P,
    "φ": lambda o: o.phi,
    "φ*": lambda o: o.phi.T,
    "ψ": lambda o: o.psi,
    "ψ*": lambda o: o.psi.T,
    "c φ": lambda o: 3.0 * o.phi,
    "I - E_φ": lambda o: o.I - o.E_phi,
    "I - E_ψ": lambda o: o.I - o.E_psi,
    "(I - E_ψ)*": lambda o: (o.I - o.E_psi).T,
    "φ⁻¹ + KH": lambda o: o.I - o.E_phi + o.K @ o.H,
    "ψ⁻¹ - KH": lambda o: o.I - o.E_psi - o.K @ o.H,
    "I + HφK": lambda o: o.I_joints + o.H @ o.phi @ o.K,
    "(I + HφK)*": lambda o: (o.I_joints + o.H @ o.phi @ o.K).T,
    "I - HψK": lambda o: o.I_joints - o.H @ o.psi @ o.K,
    "I + φKH": lambda o: o.I + o.phi @ o.K @ o.H,
    "I - ψKH": lambda o: o.I - o.psi @ o.K @ o.H,
    "I + KHφ": lambda o: o.I + o.K @ o.H @ o.phi,
    "(I - KHψ)*": lambda o: (o.I - o.K @ o.H @ o.psi).T,
    "2I + 2HφK": lambda o: 2.0 * (o.I_joints + o.H @ o.phi @ o.K),
    "mass": lambda o: o.mass,
    "c mass": lambda o: 4.0 * o.mass,
    "mass, links only": lambda o: sandwich(o, o.M),
    "HφXφ*H*": lambda o: sandwich(o, positive(o)),
    "HφcXφ*H*": lambda o: sandwich(o, 0.3 * positive(o)),
    "two inertias": lambda o: sandwich(o, positive(o)) + 2.0 * sandwich(o, o.M),
    "Hφ(X + M)φ*H*": lambda o: sandwich(o, positive(o) + o.M),
    "HφXφ*H* + Γ": lambda o: sandwich(o, positive(o)) + positive(o, "joints"),
    "mass + damping": lambda o: sandwich(o, o.M) + 0.1 * o.I_joints,
    "φMφ*": lambda o: o.phi @ o.M @ o.phi.T,
    "product": lambda o: (o.I_joints + o.H @ o.phi @ o.K) @ o.D,
    "factored mass": lambda o: (o.I_joints + o.H @ o.phi @ o.K) @ o.D @ (o.I_joints + o.H @ o.phi @ o.K).T,
    "inverse mass": lambda o: o.mass.inv(),
    "user's on tips": lambda o: positive(o, "tips"),
    "tips": lambda o: o.J @ o.mass.inv() @ o.J.T + positive(o, "tips"),
    "tips, not symmetric": lambda o: o.J @ o.mass.inv() @ o.J.T + general(o, "tips") + 10.0 * o.I_tips,
}


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("robot_name", ROBOTS)
@pytest.mark.parametrize("name", FORMS)
def test_inverse(name, robot_name, batch):
    o = operators(robot_name, batch)
    A = FORMS[name](o)
    inverse = A.inv()
    dense = np.linalg.inv(A.dense())
    tolerance = 1e-14 * max(1e3, np.linalg.cond(A.dense()).max())
    assert (inverse.rows, inverse.cols) == (A.cols, A.rows)
    assert_close(inverse.dense(), dense, tolerance)
    x = np.random.default_rng(0).normal(size=A.cols.dimension)
    assert_close(A @ (inverse @ x), np.broadcast_to(x, (A @ x).shape), tolerance)
    assert_close(inverse @ (A @ x), np.broadcast_to(x, (A @ x).shape), tolerance)


@pytest.mark.parametrize("robot_name", ROBOTS)
def test_inverse_of_the_inverse(robot_name):
    """Leaves come back as themselves."""
    o = operators(robot_name)
    for A in (o.phi, o.psi.T, o.D, o.I_joints - o.H @ o.psi @ o.K, o.I - o.E_phi):
        assert A.inv().inv().key == A.key


def test_mass_inverse_uses_the_robots_own_quantities():
    """Typed by hand it is recognised: no second Riccati recursion, no other letters."""
    o = operators("panda")
    typed = (o.H @ o.phi @ o.M @ o.phi.T @ o.H.T).inv()
    assert str(typed) == str(o.mass.inv()) == "(I - H ψ K)* D⁻¹ (I - H ψ K)"
    gyro = operators("arms")
    assert str(gyro.mass.inv()) == str(typed)
    assert {r.name for r in typed.used} == {"mass_inverse"}


@pytest.mark.parametrize("name", ["ur5", "chain6", "chain4"])
def test_jacobian_inner_product(name):
    """(J*J)⁻¹ of an arm without redundancy: a mass matrix with the tip's unit inertia alone."""
    r = robot(name)
    o = r.operators(state(r, (3,)).q)
    A = o.J.T @ o.J
    dense = A.dense()
    # Positive definite but nearly singular: compare what it does, scaled by its condition.
    one = np.broadcast_to(np.eye(r.nv), dense.shape)
    tolerance = 1e-14 * r.nv * np.linalg.cond(dense).max()
    assert_close(A.inv().dense() @ dense, one, tolerance)
    assert_close(A.inv().dense(), r.jacobian_inner_inverse(o.q, r.tips[0]), tolerance * np.abs(A.inv().dense()).max())


def test_operational_inertia():
    for name in ("panda", "arms"):
        r = robot(name)
        o = r.operators(state(r, (2,)).q, frames=list(r.tips[:2]))
        Lambda = (o.J @ o.mass.inv() @ o.J.T).simplify().inv()
        expected = r.operational_inertia(o.q, list(r.tips[:2]))
        assert_close(Lambda.dense() / np.abs(expected).max(), expected / np.abs(expected).max(), 1e-9)
        assert "operational_compliance" in {u.name for u in Lambda.used}


# --- what has none -----------------------------------------------------------------------------------


def test_no_route_is_said_so():
    o = operators("arms")
    for A in (o.mass + o.H @ o.phi @ o.H.T, o.phi + o.phi.T, o.mass - o.mass, o.I + o.phi @ o.phi.T):
        with pytest.raises(lw.NoRecursionError, match="no O\\(n\\) route.*invert .dense\\(\\)") as caught:
            A.inv()
        assert str(A) in str(caught.value) and A.structure in str(caught.value)
    with pytest.raises(lw.NoRecursionError, match="symmetric X; block 0 \\(body 'body1'\\)"):
        sandwich(o, general(o)).inv()


def test_not_square_is_said_with_both_spaces():
    o = operators("panda")
    with pytest.raises(lw.SpaceError, match=r"H has no inverse.*body space of 'panda'.*joint space of 'panda'"):
        o.H.inv()
    with pytest.raises(lw.SpaceError, match="tip space"):
        o.J.inv()


def test_singular_is_said_when_it_shows():
    """Structure allows an inverse, the numbers do not."""
    r = robot("panda")
    o = r.operators(r.neutral())
    x = np.ones(7)
    with pytest.raises(lw.SingularError, match="not positive definite"):
        (o.J.T @ o.J).inv() @ x  # seven joints, six directions
    chain = robot("chain4")
    o = chain.operators(state(chain, ()).q)
    with pytest.raises(lw.SingularError, match="too few joints"):
        (o.J @ o.mass.inv() @ o.J.T).inv() @ np.ones(6)
    flat = o.block_diagonal([np.zeros((6, 6))] * 4)
    with pytest.raises(lw.SingularError, match="block 0"):
        flat.inv() @ np.ones(24)


def test_operators_of_two_robots_do_not_mix():
    a, b = operators("panda"), operators("arms")
    for mix in (
        lambda: a.mass @ b.mass,
        lambda: a.mass + b.mass,
        lambda: a.H @ b.phi,
        lambda: b.mass - a.mass,
    ):
        with pytest.raises(lw.SpaceError, match="'panda'|'random_tree9'") as caught:
            mix()
        assert "'panda'" in str(caught.value) and "'random_tree9'" in str(caught.value)


def test_spaces_that_do_not_fit_are_both_named():
    o = operators("panda")
    with pytest.raises(
        lw.SpaceError, match=r"cannot multiply φ by H.*body space.*dimension 42.*joint space.*dimension 7"
    ):
        o.phi @ o.H
    with pytest.raises(lw.SpaceError, match=r"cannot add H and φ.*body space.*joint space.*body space"):
        o.H + o.phi
    with pytest.raises(lw.SpaceError, match=r"joint space of 'panda' \(dimension 7\).*\(6,\)"):
        o.mass @ np.ones(6)
    with pytest.raises(lw.SpaceError, match="batches come first"):
        o.mass @ np.ones((7, 3))
    with pytest.raises(lw.SpaceError, match=r"batch of shape \(3,\).*\(4,\)"):
        operators("panda", (3,)).mass @ np.ones((4, 7))
    with pytest.raises(lw.InputError, match="must hold numbers"):
        o.mass @ "abcdefg"


def test_block_diagonals_are_checked():
    o = operators("panda")
    with pytest.raises(lw.SpaceError, match="has 7 blocks, got 3"):
        o.block_diagonal(np.zeros((3, 6, 6)))
    with pytest.raises(lw.SpaceError, match="block 0 .* must be 6×6, got shape \\(5, 5\\)"):
        o.block_diagonal([np.eye(5)] * 7)
    with pytest.raises(lw.InputError, match="no space is named 'links'; choose from bodies, joints, tips, edges"):
        o.block_diagonal([np.eye(6)] * 7, space="links")
    with pytest.raises(lw.SpaceError, match="list of matrices"):
        o.block_diagonal(np.eye(6))
    with pytest.raises(lw.SpaceError, match="must be block diagonal"):
        o.with_inertia(o.phi)
    assert_close(o.block_diagonal([np.eye(6).tolist()] * 7).dense(), np.eye(42), 0.0)


def test_blocks_may_come_in_batches():
    """One array (..., blocks, 6, 6), with a batch of its own beside that of q."""
    o = operators("panda", (2, 1))
    X = np.random.default_rng(0).normal(size=(3, 7, 6, 6))
    X = X @ X.swapaxes(-1, -2) + 6 * np.eye(6)
    A = sandwich(o, o.block_diagonal(X))
    x = np.ones(7)
    assert (A @ x).shape == (A.inv() @ x).shape == (2, 3, 7)
    assert_close(A @ (A.inv() @ x), np.broadcast_to(x, (2, 3, 7)), 1e-10)
