"""Operators of robots with coupled joints: nodes in place of bodies, and all laws as ever, in independent coordinates.

The oracles are the operators of the free tree, projected by X (helpers/coupled.py), and dense matrices.
"""

from functools import cache

import numpy as np
import pytest
from coupled import Dense, coupled_robot, drift, free_tree
from methods import inputs
from operator_zoo import EXPRESSIONS, LEAVES, general, make, positive
from trees import assert_close

import linkwise as lw
from linkwise.algebra.linearized import FORWARD_LEMMAS, INVERSE_LEMMAS
from linkwise.algebra.random_robots import coupled_robot as random_coupled
from linkwise.algebra.rules import CONSTANT_MAPS, INVERTIBLE_EDGES
from linkwise.symbols.outputs import count
from linkwise.symbols.scalar import Graph

ROBOT = coupled_robot()
RULES = {r.name: r for r in lw.identities()}
REFUSED = {n for n, r in RULES.items() if {CONSTANT_MAPS, INVERTIBLE_EDGES} & r.requires}
NO_INVERSE = {"J_hat", "recursion φ*φ⁻*", "recursion ψ*φ⁻*", "recursion φ*·φ⁻*"}  # they need φ⁻¹ of a node
NO_POINT = {"phi_I", "phi_I_inverse", "E_I", "Phi_I", "H_I", "M_I"}  # of one body each
NO_RATE = {"mass_dot"}  # Γ of rotors whose bodies move as one node is refused by name
NO_MEANING = NO_INVERSE | NO_POINT | NO_RATE | {"H_ring_ring"}


@cache
def state():
    return inputs(ROBOT, seed=1)


@cache
def operators():
    x = state()
    return ROBOT.operators(x.q, v=x.v, a=x.a)


@cache
def free_operators():
    """Those of the free tree at θ, θ̇ and θ̈."""
    x, d = state(), Dense(state().q)
    theta, rates, accelerations = d.moving(x.v, x.a)
    return free_tree().operators(theta, v=rates, a=accelerations)


# --- identities ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(RULES) - REFUSED))
def test_identities_hold_on_random_coupled_robots(name):
    report = lw.check_identity(RULES[name], trials=4, rotors=True, coupled=True)
    assert report.holds and report.worst < 1e-10, str(report)
    assert report.sweeps < 1e-10, str(report)


def test_the_others_are_refused_with_the_reason():
    """Those of joint maps that are constant in their bodies, and those with φ⁻¹."""
    assert {n for n in REFUSED if INVERTIBLE_EDGES in RULES[n].requires} == {
        "rigid_commutator", "articulated_commutator", "A_C_split", "B_C_split",
    }  # fmt: skip
    assert len(REFUSED) == 25
    for name in REFUSED:
        with pytest.raises(lw.NotAdmittedError, match=rf"{name!r} needs .* one node"):
            lw.check_identity(RULES[name], coupled=True)
        assert not RULES[name].admits(operators())
        assert repr(name) in RULES[name].refusal(operators())
    hinges = lw.chain(3).operators(np.zeros(3), v=np.zeros(3))
    assert all(RULES[name].refusal(hinges) is None for name in REFUSED)


def test_identities_of_constant_maps_do_fail_on_nodes():
    """So that they are refused for a reason: P° = E_ψΠ̇E_ψ* is wrong where a node's map turns in its bodies."""
    o = lw.chain(4, seed=1).couple("joint4", "joint2", ratio=0.7)
    x = inputs(o, seed=0)
    left, right = RULES["P_ring"].sides(o.operators(x.q, v=x.v, a=x.a))
    assert np.abs(left.dense() - right.dense()).max() > 1e-2


def test_false_identities_are_found_out():
    assert not lw.check_identity(lambda o: o.H @ o.psi @ o.K, lambda o: o.H @ o.phi @ o.K, trials=4, coupled=True)


def test_the_robots_that_are_tried_differ():
    models = [random_coupled(seed, seed % 2 == 1, seed % 3 == 0, seed % 4 == 0) for seed in range(12)]
    assert all(m.couplings for m in models)
    assert {c.ratios is None for m in models for c in m.couplings} == {True, False}
    assert max(len(group) for m in models for group in m.aggregates) >= 4
    assert any(j.kind.nv > 1 for m in models for group in m.aggregates for j in [m.joints[k] for k in group])


# --- leaves and expressions ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in (*LEAVES, *EXPRESSIONS) if n not in NO_MEANING])
def test_sweeps_and_matrices_agree(name):
    A = make(name, operators())
    matrix, rng = A.dense(), np.random.default_rng(0)
    assert matrix.shape == A.shape
    for op, dense in ((A, matrix), (A.T, matrix.T)):
        x = rng.normal(size=(3, op.shape[1]))
        scale = max(np.abs(dense).max(initial=0.0), 1e-9)
        assert np.abs(op.apply(x, target="numpy") - x @ dense.T).max(initial=0.0) < 1e-12 * scale * len(dense) + 1e-13


def test_vectors_of_nodes_obey_the_equations_of_motion():
    """α = φ*(H*θ̈ + a + g), f = φ(Mα + b), T = Hf, with α and T those of the free tree."""
    robot = small()
    x = inputs(robot, seed=3)
    o = robot.operators(x.q, v=x.v, a=x.a)
    alpha = o.phi.T @ (o.H.T @ o.theta_ddot + o.coriolis + o.g)
    assert_close(alpha.value, o.alpha.value, 1e-11)
    assert_close((o.phi @ (o.M @ o.alpha + o.gyroscopic)).value, o.f.value, 1e-11)
    assert_close((o.H @ o.f).value, robot.inverse_dynamics(x.q, x.v, x.a, target="numpy"), 1e-11)
    assert_close(o.T.value, (o.H @ o.f).value, 1e-11)
    d = Dense(state().q)
    theta, rates, accelerations = d.moving(state().v, state().a)
    assert_close(operators().alpha.value, free_tree().operators(theta, v=rates, a=accelerations).alpha.value, 1e-11)


@pytest.mark.parametrize("name", sorted(NO_POINT))
def test_nodes_have_no_inertial_frame(name):
    with pytest.raises(lw.NotAdmittedError, match="refers every body to one inertial point"):
        make(name, operators())


def test_nodes_have_no_second_turn():
    with pytest.raises(lw.NotAdmittedError, match="H_ring_ring is of single bodies"):
        make("H_ring_ring", operators())


@pytest.mark.parametrize("name", sorted(NO_INVERSE))
def test_leaves_without_meaning_are_refused_by_name(name):
    letter = "Ĵ" if name == "J_hat" else name
    with pytest.raises(lw.NotAdmittedError, match=f"{letter.replace('*', '.')} needs the inverse of φ"):
        make(name, operators())


def test_other_inertias_have_no_rates_on_nodes():
    o = operators()
    with pytest.raises(lw.NotAdmittedError, match="P_ring and Pi_dot of another inertia"):
        o.with_inertia(positive(o)).P_ring.dense()


def test_operators_are_those_of_the_free_tree_projected():
    o, free, X, x = operators(), free_operators(), Dense(state().q).X, state()
    assert_close((o.phi.T @ o.H.T).dense(), (free.phi.T @ free.H.T).dense() @ X, 1e-13)
    assert_close(o.J.dense(), free.J.dense() @ X, 1e-13)
    for name in ("M", "V_tilde", "M_hat"):
        assert_close(o.leaf(name).dense(), free.leaf(name).dense(), 1e-13)
    assert_close((o.phi.T @ o.H.T) @ x.v, free.phi.T @ free.H.T @ (X @ x.v), 1e-12)


def test_maps_from_joints_are_derivatives_of_those_of_velocities():
    """φ*Ḣ* = φ*Ḣ*X + φ*H*Ẋ with the operators of the free tree on the right, and so φ*Ψ̇."""
    o, free, d, x = operators(), free_operators(), Dense(state().q), state()
    bent = np.stack([drift(x.q, x.v, e) for e in np.eye(ROBOT.nv)], axis=-1)  # Ẋ
    turned = (free.phi.T @ (free.H_dot)).dense() @ d.X + (free.phi.T @ free.H.T).dense() @ bent
    assert_close((o.phi.T @ o.H_dot).dense(), turned, 1e-12)
    turned = (free.phi.T @ (free.Psi_dot)).dense() @ d.X + (free.phi.T @ free.H.T).dense() @ bent
    assert_close((o.phi.T @ o.Psi_dot).dense(), turned, 1e-12)


def test_compliances_are_blocks_of_the_dense_one():
    o, d = operators(), Dense(state().q)
    maps = (o.phi.T @ o.H.T).dense()
    whole = maps @ np.linalg.solve(d.mass, maps.T)
    found = o.Upsilon.dense()
    for held in o.nodes.members:
        where = np.array([6 * k + i for k in held for i in range(6)])
        assert_close(found[np.ix_(where, where)], whole[np.ix_(where, where)], 1e-10)


def test_blocks_outside_the_relations_are_zero():
    """Structure is that of the tree of nodes."""
    o = operators()
    node = np.array([o.nodes.node(k) for k in range(len(ROBOT.bodies))]).repeat(6)
    tree = o.leaves.tree
    inboard = np.array([[i in tree.inboard(j) for j in range(len(tree))] for i in range(len(tree))])
    for A in (o.phi, o.psi):
        allowed = (node[:, None] == node) | inboard[node[:, None], node]
        assert A.structure == "causal" and not A.dense()[~allowed].any()
    for A in (o.P, o.Upsilon, o.tau_bar, o.R):
        assert A.structure == "memoryless" and not A.dense()[node[:, None] != node].any()


def test_blocks_of_ones_own_have_the_sizes_of_nodes():
    o = operators()
    assert o.bodies.sizes == (6, 36, 6, 6, 12) and o.joints.sizes == (6, 4, 3, 1, 1)
    assert o.edges.sizes == (6,) * 5
    with pytest.raises(lw.SpaceError, match="block 1 .* must be 36×36"):
        o.block_diagonal([np.eye(6)] * 5)
    X = general(o)
    assert_close((o.phi @ X @ o.phi.T).dense(), o.phi.dense() @ X.dense() @ o.phi.dense().T, 1e-12)
    inverse = (o.H @ o.phi @ positive(o) @ o.phi.T @ o.H.T + o.rotor_inertia).inv()
    dense = (o.H @ o.phi @ positive(o) @ o.phi.T @ o.H.T + o.rotor_inertia).dense()
    assert_close(inverse.dense() @ dense, np.eye(ROBOT.nv), 1e-9)


def test_blocks_by_their_index_are_those_of_nodes():
    """Members of a node need not be neighbours: b1, b2, b4, b5, b6 and b8 are one."""
    o = operators()
    for i, held in enumerate(o.nodes.members):
        where = np.array([6 * k + j for k in held for j in range(6)])
        assert_close(o.P[i], o.P.dense()[np.ix_(where, where)], 1e-12)
        assert_close(o.H[i], o.H.dense()[np.ix_(o.nodes.columns[i], where)], 1e-12)
        assert all(np.array_equal(o.P[ROBOT.bodies[k].name], o.P[i]) for k in held)


def test_explanations_name_the_nodes():
    said = str(operators().mass.inv().explain())
    assert "b1, b2, b4, b5, b6, b8 move as one body of the tree" in said and "b9, b10 move as one" in said
    assert "move as one" not in str(lw.chain(3).operators(np.zeros(3)).mass.inv().explain())


# --- linearised models -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [2, 5])
def test_lemmas_are_the_linearised_models(seed):
    """Nodes with a ball inside, couplings that are not linear: the formulas against the algorithms over all bodies."""
    kinds = ["revolute", "prismatic", "spherical", "helical"]
    free = lw.random_tree(6, seed=seed, joints=kinds, floating=seed % 2 == 1)
    names = [j.name for j in free.joints if j.kind.nv == 1]
    robot = free.couple(names[2], (names[0], names[1]), relation=lambda a, b: np.sin(a) * b + 0.3 * a * a)
    x = inputs(robot, seed=seed)
    expected = robot.linearize_inverse(x.q, x.v, x.a, method="algorithm_1", target="numpy")
    for lemma in INVERSE_LEMMAS:
        for y, z in zip(robot.linearize_inverse(x.q, x.v, x.a, method=lemma, target="numpy"), expected):
            assert_close(y, z, 1e-11)
    expected = robot.linearize_forward(x.q, x.v, x.tau, method="algorithm_4", target="numpy")
    for lemma in set(FORWARD_LEMMAS) - {"lemma_4_9"}:
        for y, z in zip(robot.linearize_forward(x.q, x.v, x.tau, method=lemma, target="numpy"), expected):
            assert_close(y, z, 1e-10)


def test_the_stiffness_is_what_couplings_add():
    """𝒦 of linear couplings is zero, and so is that of hinges; a cam's is not."""
    arm = lw.chain(4, seed=2)
    for robot, least, most in (
        (arm, 0.0, 1e-15),
        (arm.couple("joint4", "joint2", ratio=2.0), 0.0, 1e-13),
        (arm.couple("joint4", "joint2", relation=np.sin), 1e-2, np.inf),
    ):
        x = inputs(robot, seed=0)
        found = np.abs(robot.operators(x.q, v=x.v, a=x.a).stiffness.dense()).max()
        assert least <= found <= most


# --- compiled --------------------------------------------------------------------------------------------


@cache
def small():
    """A node of a parent and its child, on which another body hangs."""
    arm = lw.chain(4, seed=3)
    return arm.couple("joint3", "joint2", relation=lambda a: np.sin(a) + 0.4 * a)


COMPILED = {
    "mass": lambda o: o.mass,
    "inverse": lambda o: o.mass.inv(),
    "other inertia": lambda o: (o.H @ o.phi @ (o.M + 0.5 * o.R) @ o.phi.T @ o.H.T).inv(),
    "velocities": lambda o: o.phi.T @ o.H.T,
    "gains": lambda o: o.H @ o.phi @ o.G,
    "rates": lambda o: o.H_ddot.T @ o.M_hat @ o.Psi_dot + o.stiffness,
    "compliance": lambda o: (o.J @ o.mass.inv() @ o.J.T).simplify(),
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_products_agree_with_matrices(name):
    robot, rng = small(), np.random.default_rng(4)
    q = np.stack([robot.random_configuration(i) for i in range(3)])
    v, a = rng.normal(size=(2, 3, robot.nv))
    A = COMPILED[name](robot.operators(q, v=v, a=a))
    x = rng.normal(size=(3, A.shape[1]))
    expected = (A.dense() @ x[..., None])[..., 0]
    assert np.abs(A.apply(x, target="cpu") - expected).max() < 1e-12 * np.abs(expected).max()


def test_a_formula_costs_what_the_method_does():
    """The same sweeps over nodes: 𝓜⁻¹τ as an operator and as mass_solve."""
    robot, graph = small(), Graph()
    q, x = graph.inputs("q", robot.nq), graph.inputs("x", robot.nv)
    formula, method = (count(np.ravel(y)) for y in (robot.operators(q).mass.inv() @ x, robot.mass_solve(q, x)))
    assert method.total <= formula.total <= 1.01 * method.total


def test_operations_grow_with_the_members_of_a_node():
    """No (6m, 6m) matrix is formed: each hinge more that follows the first costs as many as the one before."""

    def operations(members):
        robot = lw.chain(members + 1, seed=1)
        for i in range(2, members + 1):
            robot = robot.couple(f"joint{i}", "joint1", ratio=0.5)
        return robot.operators(robot.neutral()).mass.inv().explain().operations.total

    few, more, most = (operations(n) for n in (3, 6, 9))
    assert abs((most - more) - (more - few)) <= 0.02 * (most - more)


def test_operations_grow_with_the_number_of_nodes():
    """Pairs of coupled hinges in a chain: twice as many cost twice as much."""

    def operations(pairs):
        robot = lw.chain(2 * pairs, seed=1)
        for i in range(pairs):
            robot = robot.couple(f"joint{2 * i + 2}", f"joint{2 * i + 1}", ratio=0.6)
        return robot.operators(robot.neutral()).mass.inv().explain().operations.total

    few, more, most = (operations(n) for n in (4, 8, 12))
    assert abs((most - more) - (more - few)) <= 0.02 * (most - more)
