"""Closed robots in the rates that their loops leave: X, X*𝓜X, its inverse, and the operators of the algebra.

The oracles are dense: X from the loops' Jacobian by elimination, the mass matrix and the inverse dynamics of the open
tree projected by it, and differences of these.
"""

from functools import cache

import numpy as np
import pytest
from linkages import four_bar, four_bar_state, open_four_bar
from trees import assert_close

import linkwise as lw
from linkwise.algebra.dense import magnitude
from linkwise.algebra.linearized import FORWARD_LEMMAS, INVERSE_LEMMAS
from linkwise.algebra.operators import OPERATOR_NAMES

RULES = {r.name: r for r in lw.identities()}


def planar():
    return open_four_bar().close(
        lw.Loop("rocker_end", "coupler_end", "revolute", dependent=["coupler_hinge", "rocker_hinge"])
    )


@cache
def spatial(one_dof=True):
    """A tree with a ball on a rod between two of its branches: three of the joints between them follow."""
    kinds = ["revolute", "prismatic", "helical"] + ([] if one_dof else ["spherical"])
    rng = np.random.default_rng(5 if one_dof else 11)
    while True:
        tree = lw.random_tree(8, seed=rng, joints=kinds, branching=0.6, floating=not one_dof)
        names = [b.name for b in tree.bodies]
        a, b = rng.choice(len(names), 2, replace=False)
        frames = [lw.Frame(x, names[k], at=rng.normal(size=3)) for x, k in (("end_a", a), ("end_b", b))]
        between = sorted(set(tree.path(a)) ^ set(tree.path(b)))
        single = [tree.joints[k].name for k in between if tree.joints[k].kind.nv == 1]
        ball = any(tree.joints[k].kind.nv == 3 for k in between)
        if len(single) >= 4 and len(between) < 8 and (one_dof or ball):
            robot = tree.close(
                lw.Loop(*frames, "spherical", dependent=[str(x) for x in rng.choice(single, 3, replace=False)])
            )
            q = robot.random_configuration(rng)
            if np.linalg.cond(robot.loop_jacobian(q)[:, follow(robot)]) < 20.0:
                return robot, q


def follow(robot):
    """The entries of v of the joints that follow."""
    named = [n for loop in robot.loops for n in loop.dependent]
    return [i for n in named for i in range(*robot.v_slices[robot.joint(n)].indices(robot.nv))]


def basis(robot, q):
    """X by elimination in the loops' own rows."""
    G, dependent = robot.loop_jacobian(q, target="numpy"), follow(robot)
    free = [i for i in range(robot.nv) if i not in dependent]
    X = np.zeros((robot.nv, len(free)), dtype=G.dtype)
    X[free, np.arange(len(free))] = 1.0
    X[dependent] = -np.linalg.lstsq(G[:, dependent], G[:, free], rcond=None)[0]
    return X, free


def drift(robot, q, rates):
    """ẋ = −G_dep⁻¹Ġθ̇, Ġ by a complex step."""
    moved = robot.integrate(q + 0j, 1e-30j * rates, target="numpy")
    G, G_dot = robot.loop_jacobian(q, target="numpy"), robot.loop_jacobian(moved, target="numpy").imag / 1e-30
    out = np.zeros(robot.nv)
    out[follow(robot)] = -np.linalg.lstsq(G[:, follow(robot)], G_dot @ rates, rcond=None)[0]
    return out


def cases():
    robot = planar()
    q = four_bar_state(robot)[0]
    return {"planar": (robot, q), "spatial": spatial(), "with a ball": spatial(False)}


CASES = cases()


def moving(name, seed=0):
    robot, q = CASES[name]
    rng = np.random.default_rng(seed)
    X, free = basis(robot, q)
    beta, beta_dot = rng.normal(size=(2, len(free)))
    v = X @ beta
    return robot, q, v, X @ beta_dot + drift(robot, q, v), X, free


# --- the mass matrix -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "target"), [*((n, "numpy") for n in CASES), ("planar", "cpu"), ("spatial", "cpu")])
def test_mass_matrix_in_independent_rates(name, target):
    robot, q, *_, X, free = moving(name)
    dense = X.T @ robot.opened.mass_matrix(q, target="numpy") @ X
    tau = np.random.default_rng(1).normal(size=robot.nv)
    assert_close(robot.embedded_basis(q, target=target), X, 1e-12)
    assert_close(robot.embedded_mass_matrix(q, target=target), dense, 1e-12)
    assert_close(robot.embedded_mass_inverse(q, target=target), np.linalg.inv(dense), 1e-9)
    assert_close(robot.embedded_mass_solve(q, tau, target=target), np.linalg.solve(dense, X.T @ tau), 1e-9)
    assert_close(robot.embedded_log_det_mass(q, target=target), np.linalg.slogdet(dense)[1], 1e-10)
    assert_close(robot.embedded_mass_solve(q, tau, target=target), robot.mass_solve(q, tau)[free], 1e-8)
    assert robot.independent_joints == tuple(
        j.name for j in robot.joints if j.kind.nv and j.name not in robot.loops[0].dependent
    )


def test_batches():
    robot, q = CASES["spatial"]
    q = q + 0.05 * np.random.default_rng(2).normal(size=(3, 2, robot.nq))
    found = robot.embedded_mass_inverse(q) @ robot.embedded_mass_matrix(q)
    assert found.shape == (3, 2, robot.nv - 3, robot.nv - 3)
    assert_close(found, np.broadcast_to(np.eye(robot.nv - 3), found.shape), 1e-9)
    op = robot.operators(q, embedded=True)
    T = np.random.default_rng(3).normal(size=robot.nv - 3)
    assert_close(op.mass.inv() @ T, np.linalg.solve(op.mass.dense(), T[:, None])[..., 0], 1e-9)


def test_who_does_not_say_what_follows_is_refused():
    robot = four_bar()
    for call in (
        lambda: robot.embedded_mass_matrix(np.zeros(3)),
        lambda: robot.operators(np.zeros(3), embedded=True),
    ):
        with pytest.raises(lw.NotAdmittedError, match=r"loop .*rocker_end.* does not say which joints follow"):
            call()
    assert len(robot.independent_joints) == 3
    soft = open_four_bar().close(lw.Loop("rocker_end", "coupler_end", "spherical", stiffness=10.0))
    with pytest.raises(lw.NotAdmittedError, match="no loop holds for good"):
        soft.embedded_basis(np.zeros(3))


# --- operators -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_operators_are_those_of_the_tree_projected(name):
    robot, q, v, a, X, free = moving(name)
    op = robot.operators(q, v=v, a=a, embedded=True)
    tree = robot.operators(q, v=v, a=a)
    assert tree.joints.dimension == robot.nv and op.joints.dimension == len(free)
    assert_close((op.phi.T @ op.H.T).dense(), (tree.phi.T @ tree.H.T).dense() @ X, 1e-12)
    assert_close(op.J.dense(), tree.J.dense() @ X, 1e-12)
    for leaf in ("M", "V_tilde", "M_hat"):
        assert_close(op.leaf(leaf).dense(), tree.leaf(leaf).dense(), 1e-11)
    assert_close(op.mass.dense(), X.T @ tree.mass.dense() @ X, 1e-12)
    assert_close(op.m @ (op.m.T @ v[free]), op.mass @ v[free], 1e-10)


@pytest.mark.parametrize("name", CASES)
def test_sweeps_and_matrices_agree(name):
    robot, q, v, a, *_ = moving(name)
    op, rng = robot.operators(q, v=v, a=a, embedded=True), np.random.default_rng(0)
    refused = set()
    for leaf in OPERATOR_NAMES:
        try:
            A = getattr(op, leaf)
        except lw.NotAdmittedError:
            refused.add(leaf)
            continue
        matrix, x = A.dense(), rng.normal(size=A.shape[1])
        scale = 1e-12 * len(matrix) * max(np.abs(matrix).max(initial=0.0), 1e-2)
        assert np.abs(A.apply(x, target="numpy") - matrix @ x).max(initial=0.0) < scale, leaf
    assert refused == {"J_hat", "phi_I", "phi_I_inverse", "E_I", "Phi_I", "H_I", "M_I", "H_ring_ring"}


@pytest.mark.parametrize("rule", [r for r in RULES.values() if not r.free], ids=lambda r: r.name)
def test_identities_hold(rule):
    """On all of these robots that admit them."""
    for name in CASES:
        robot, q, v, a, *_ = moving(name)
        op = robot.operators(q, v=v, a=a, embedded=True)
        if not rule.admits(op):
            assert repr(rule.name) in rule.refusal(op)
            continue
        left, right = rule.sides(op)
        scale = max(magnitude(left.numbers), magnitude(right.numbers))
        assert np.abs(left.dense() - right.dense()).max(initial=0.0) <= 1e-9 * scale, name


def test_compiled_products():
    robot, q, v, a, _, free = moving("planar")
    op, x = robot.operators(q, v=v, a=a, embedded=True), np.random.default_rng(4).normal(size=len(free))
    for A in (op.mass.inv(), op.H_dot, op.phi.T @ op.H.T):
        assert_close(A.apply(x, target="cpu"), A.dense() @ x, 1e-11)


@pytest.mark.parametrize("name", CASES)
def test_vectors_obey_the_equations_of_motion(name):
    """α, f and T of the nodes that loops make; T is X* of what the tree asks."""
    robot, q, v, a, X, _ = moving(name)
    o = robot.operators(q, v=v, a=a, embedded=True)
    assert_close((o.phi.T @ (o.H.T @ o.theta_ddot + o.coriolis + o.g)).value, o.alpha.value, 1e-9)
    assert_close((o.phi @ (o.M @ o.alpha + o.gyroscopic)).value, o.f.value, 1e-9)
    assert_close((o.H @ o.f).value, X.T @ robot.opened.inverse_dynamics(q, v, a, target="numpy"), 1e-9)
    assert_close(o.T.value, (o.H @ o.f).value, 1e-9)


# --- linearised models -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_lemmas_are_derivatives_in_independent_coordinates(name):
    """T = X*T_tree(θ, Xβ, Xβ̇ + ẋ), differenced along the motions that loops leave."""
    robot, q, v, a, X, free = moving(name)
    beta, beta_dot = v[free], a[free]

    def forces(q, beta, beta_dot):
        X = basis(robot, q)[0]
        rates = X @ beta
        return X.T @ robot.opened.inverse_dynamics(q, rates, X @ beta_dot + drift(robot, q, rates), target="numpy")

    h = 1e-4
    stencil = ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12))  # of fourth order
    by_q = np.stack(
        [
            sum(c * forces(robot.integrate(q, s * h * d, target="numpy"), beta, beta_dot) for s, c in stencil) / h
            for d in X.T
        ],
        axis=-1,
    )
    by_v = np.stack(
        [sum(c * forces(q, beta + s * h * e, beta_dot) for s, c in stencil) / h for e in np.eye(len(free))], axis=-1
    )
    leaves = robot.operators(q, v=v, a=a, embedded=True).state.numbers
    for lemma in INVERSE_LEMMAS.values():
        mass, A, B = (formula(leaves).apply_columns(np.eye(len(free))) for formula in lemma)
        scale = max(np.abs(by_q).max(), np.abs(by_v).max())
        assert np.abs(A - by_v).max() < 1e-7 * scale
        assert np.abs(B - by_q).max() < 1e-7 * scale
    for name in ("lemma_4_6", "lemma_4_7"):
        _, A_C, B_C = (formula(leaves).apply_columns(np.eye(len(free))) for formula in FORWARD_LEMMAS[name])
        assert_close(mass @ A_C, A, 1e-9)
        assert_close(mass @ B_C, B, 1e-9)
