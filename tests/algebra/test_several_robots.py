"""Formulas of several robots, matrices of one's own, stacks: against dense matrices and closed chains."""

import pickle

import numpy as np
import pytest
from coupled import coupled_robot
from held_objects import BOX, contact, frames_on, state

import linkwise as lw
from linkwise.algebra.frame_freedom import is_frame_free
from linkwise.algebra.stacking import blocks_of

RNG = np.random.default_rng(0)


def near(x, y, tolerance=1e-10):
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape
    assert np.abs(x - y).max(initial=0) <= tolerance * (1 + np.abs(y).max(initial=0))


def moving(robot, frames, seed):
    rng = np.random.default_rng(seed)
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
    return robot.operators(q, v=v, a=np.zeros(robot.nv), frames=frames)


def at_last_body(robot, seed):
    return robot.operators(robot.random_configuration(seed), frames=robot.bodies[-1].name)


@pytest.fixture(scope="module")
def pair():
    """A panda and a branching tree on a free base, of which nothing is the same."""
    tree = lw.random_tree(5, seed=2).floating()
    last = tree.bodies[-1].name
    return moving(lw.load("panda"), "tcp", 0), moving(tree, last, 1)


def joined(one, two):
    """Both tips' velocities in one space."""
    c = lw.space("contact", 6)
    return one.matrix(np.eye(6), c, "tips") @ one.J, two.matrix(np.eye(6), c, "tips") @ two.J


# --- several robots --------------------------------------------------------------------------------------


def test_sums_and_products_over_two_robots(pair):
    one, two = pair
    G1, G2 = joined(one, two)
    both = G1 @ one.mass.inv() @ G1.T + G2 @ two.mass.inv() @ G2.T
    J1, J2, M1, M2 = (x.dense() for x in (one.J, two.J, one.mass, two.mass))
    dense = J1 @ np.linalg.solve(M1, J1.T) + J2 @ np.linalg.solve(M2, J2.T)
    x = RNG.normal(size=6)
    near(both.dense(), dense)
    for form in (both, both.simplify(), both.expand(), pickle.loads(pickle.dumps(both))):
        for target in ("cpu", "numpy"):
            near(form.apply(x, target=target), dense @ x)
    across = G1.T @ G2  # from the second robot's joints to the first's
    assert across.shape == (7, two.model.nv) and across.T == G2.T @ G1
    near(across @ np.ones(two.model.nv), J1.T @ J2 @ np.ones(two.model.nv))
    near(both.inv() @ x, np.linalg.solve(dense, x), 1e-8)
    assert str(both.simplify()).startswith("A₁ B₁* ψ₁* H₁* D⁻¹₁ H₁ ψ₁ B₁ A₁* + A₂ B₂*")


def test_what_stands_at_the_second_place_tells_formulas_apart():
    """Another robot, other numbers or other frames there: not the code of the formula seen before."""
    arm = lw.load("panda")
    one = arm.operators(arm.random_configuration(0), frames="tcp")
    names = [b.name for b in arm.bodies]
    second = [(arm, names[2]), (arm, names[5]), (arm, (names[2], names[5])), (lw.load("ur5"), "tool0")]
    second.append((arm.with_inertias({names[1]: lw.Inertia.box(3.0, (0.1, 0.1, 0.1))}), names[2]))
    for robot, frames in second:
        two = robot.operators(robot.random_configuration(1), frames=frames)
        A = one.matrix(np.ones((6, two.tips.dimension)), one.tips, two.tips)
        formula = one.mass.inv() @ one.J.T @ A @ two.J @ two.mass.inv()
        dense = np.linalg.solve(one.mass.dense(), one.J.dense().T) @ A.dense() @ two.J.dense()
        x = np.arange(two.model.nv, dtype=float)
        near(formula.apply(x, target="cpu"), dense @ np.linalg.solve(two.mass.dense(), x))
        if robot is arm:
            y = RNG.normal(size=two.tips.dimension)
            near((one.J @ two.J.T).apply(y, target="cpu"), one.J.dense() @ two.J.dense().T @ y)


def test_joint_space_of_two_robots_may_come_from_other_frames_of_the_first(pair):
    """The code of such formulas takes one robot in its normal form and the other as it is."""
    one, two = pair
    A = one.matrix(RNG.normal(size=(7, two.model.nv)), one.joints, two.joints)
    formula = one.mass.inv() @ A @ two.mass
    assert is_frame_free(formula.expression)
    x = RNG.normal(size=two.model.nv)
    near(formula.apply(x, target="cpu"), np.linalg.solve(one.mass.dense(), A.dense() @ two.mass.dense() @ x))
    forces = [op.H @ op.phi @ (op.M @ op.phi.T @ (op.a + op.g) + op.b) for op in pair]
    both = forces[0] + A @ forces[1]
    assert is_frame_free(both.expression)
    biases = [op.model.bias_force(op.q, op.v, target="numpy") for op in pair]
    near(both.value, biases[0] + A.dense() @ biases[1])

    def typed(robot, q, x):
        return robot.operators(q).mass.inv() @ (A @ (two.mass @ x))

    near(lw.compile(typed, one.model, sizes={"x": two.model.nv})(one.q, x), formula @ x)


def test_batches_of_both_and_single_precision(pair):
    one, two = (op.model for op in pair)
    q1, q2 = one.random_configuration(0, batch=4), two.random_configuration(1, batch=(3, 1))
    ops = one.operators(q1, frames="tcp"), two.operators(q2, frames=two.bodies[-1].name)
    G1, G2 = joined(*ops)
    both = G1 @ ops[0].mass.inv() @ G1.T + G2 @ ops[1].mass.inv() @ G2.T
    x = RNG.normal(size=(3, 4, 6))
    y = both @ x
    near(y, both.apply(x, target="numpy"))
    for i, j in np.ndindex(3, 4):
        alone = [o.model.operators(q, frames=o.frames) for o, q in zip(ops, (q1[j], q2[i, 0]))]
        H1, H2 = joined(*alone)
        near(y[i, j], (H1 @ alone[0].mass.inv() @ H1.T + H2 @ alone[1].mass.inv() @ H2.T).dense() @ x[i, j])
    small = [o.model.operators(q.astype(np.float32), frames=o.frames) for o, q in zip(ops, (q1, q2))]
    A = small[0].matrix(np.ones((7, two.nv), np.float32), "joints", small[1].joints)
    y = (small[0].mass.inv() @ A @ small[1].mass) @ np.ones(two.nv, np.float32)
    assert y.dtype == np.float32 and y.shape == (3, 4, 7)
    full = ops[0].matrix(np.ones((7, two.nv)), "joints", ops[1].joints)
    near(y, (ops[0].mass.inv() @ full @ ops[1].mass) @ np.ones(two.nv), 1e-3)


def test_operation_counts_take_each_robot_as_it_is(pair):
    one, two = pair
    G1, G2 = joined(one, two)
    alone = [(G @ op.mass.inv() @ G.T).explain().operations.total for G, op in ((G1, one), (G2, two))]
    both = (G1 @ one.mass.inv() @ G1.T + G2 @ two.mass.inv() @ G2.T).explain()
    assert abs(both.operations.total - sum(alone)) <= 12
    text = str(both)
    assert "φ₁(k,k-1)" in text or "φ₁(k,j)" in text
    assert "φ₂" in text


# --- the papers' own -------------------------------------------------------------------------------------


def test_two_arms_as_the_operator_algebra_paper_types_them():
    """OA (5.6)–(5.11): free accelerations, Λ_c of the cut, its force, corrections; against the dense equations."""
    left, right = lw.load("panda"), lw.load("ur5")
    one, two = moving(left, "tcp", 3), moving(right, "tool0", 4)
    c = lw.space("tip", 6)
    I1, I2 = one.matrix(np.eye(6), c, "tips"), two.matrix(np.eye(6), c, "tips")
    T1, T2 = one.vector(RNG.normal(size=7), name="T_own"), two.vector(RNG.normal(size=6), name="T_own")
    names = {"I_1": I1, "I_2": I2, "T_1": T1, "T_2": T2}

    def typed(text, **more):
        return lw.formula(text)(one, two, **names, **more)

    C = [typed(f"H_{i} φ_{i} (M_{i} φ_{i}* (a_{i} + g_{i}) + b_{i})") for i in (1, 2)]
    near(C[0].value, left.bias_force(one.q, one.v))
    free = [typed(f"(I - H_{i} ψ_{i} K_{i})* D_{i}⁻¹ (I - H_{i} ψ_{i} K_{i}) (T_{i} - C)", C=C[i - 1]) for i in (1, 2)]
    alpha = [typed(f"I_{i} (J_{i} f + B_{i}* φ_{i}* (a_{i} + g_{i}))", f=free[i - 1]) for i in (1, 2)]
    compliance = typed("I₁ J₁ 𝓜₁⁻¹ J₁* I₁* + I₂ J₂ 𝓜₂⁻¹ J₂* I₂*")  # Λ_c⁻¹
    f = compliance.inv() @ (alpha[1] - alpha[0])  # (5.11)
    a1 = typed("x + (I - H₁ ψ₁ K₁)* D₁⁻¹ H₁ ψ₁ B₁ I₁* f", x=free[0], f=f)  # (5.9)
    a2 = typed("x - (I - H₂ ψ₂ K₂)* D₂⁻¹ H₂ ψ₂ B₂ I₂* f", x=free[1], f=f)

    J1, J2, M1, M2 = (x.dense() for x in (one.J, two.J, one.mass, two.mass))
    drift = [(op.B.T @ op.phi.T @ (op.coriolis + op.g)).value for op in (one, two)]
    whole = np.block([[M1, np.zeros((7, 6)), -J1.T], [np.zeros((6, 7)), M2, J2.T], [J1, -J2, np.zeros((6, 6))]])
    right_side = np.concatenate([T1.value - C[0].value, T2.value - C[1].value, drift[1] - drift[0]])
    found = np.linalg.solve(whole, right_side)
    for x, y in ((a1, found[:7]), (a2, found[7:13]), (f, found[13:])):
        near(x.value, y, 1e-8)
        near(x.simplify().value, y, 1e-8)
    near(
        left.acceleration(one.q, one.v, a1.value, "tcp")[:3],
        right.acceleration(two.q, two.v, a2.value, "tool0")[:3],
        1e-8,
    )


def test_the_same_as_one_stack():
    """[𝓜₁, 0, −G₁*; 0, 𝓜₂, G₂*; G₁, −G₂, 0]⁻¹, typed; every block against the dense inverse."""
    one, two = moving(lw.load("panda"), "tcp", 3), moving(lw.load("ur5"), "tool0", 4)
    G1, G2 = joined(one, two)
    typed = lw.formula("[𝓜₁, 0, -G₁*; 0, 𝓜₂, G₂*; G₁, -G₂, 0]")(one, two, G_1=G1, G_2=G2)
    stacked = lw.stack([[one.mass, 0, -G1.T], [0, two.mass, G2.T], [G1, -G2, None]])
    assert typed == stacked and typed.shape == (19, 19)
    dense = np.linalg.inv(stacked.dense())
    x = RNG.normal(size=19)
    for inverse in (stacked.inv(), stacked.inv().simplify(), pickle.loads(pickle.dumps(stacked.inv()))):
        near(inverse.apply(x, target="numpy"), dense @ x, 1e-8)
        near(inverse.apply(x, target="cpu"), dense @ x, 1e-8)
        near(inverse.dense(), dense, 1e-8)


def test_grasp_equations_as_formulas_of_three_robots():
    """JPL Part II: M_eff = M_o + Σ A_iX_i⁻¹A_i*, and the motion of two arms that hold an object, against lw.grasp."""
    arms = [lw.chain(7, seed=3), lw.chain(6, seed=4)]
    contacts = [contact("rigid", 0), contact("hard_finger", 1)]
    team = lw.grasp(arms, BOX, contacts)
    held = lw.assemble("object", [lw.Body("object", lw.Free(), BOX)], frames_on("object", contacts))
    q, v, tau = state(team)
    v = 0 * v
    splits = [7, 13]
    qs, vs, taus = np.split(q, splits), np.split(v, splits), np.split(tau, splits)
    one, two = (a.operators(x, v=y, frames="tip") for a, x, y in zip(arms, qs, vs))
    obj = held.operators(qs[2], v=vs[2], frames=("handle0", "handle1"))
    c = lw.space("contacts", (6, 3))
    W = []
    for i, x in enumerate(contacts):
        R = held.pose(qs[2], f"handle{i}")[0]
        W.append(np.kron(np.eye(2), R) @ x.W)
    rows = [np.vstack([W[0].T, np.zeros((3, 6))]), np.vstack([np.zeros((6, 6)), W[1].T])]
    G1, G2 = one.matrix(rows[0], c, "tips", name="W") @ one.J, two.matrix(rows[1], c, "tips", name="W") @ two.J
    G3 = obj.matrix(np.hstack(rows), c, "tips", name="W") @ obj.J
    own = {"G_1": G1, "G_2": G2, "G_3": G3}
    X = lw.formula("G₁ 𝓜₁⁻¹ G₁* + G₂ 𝓜₂⁻¹ G₂*")(one, two, obj, **own)
    effective = lw.formula("𝓜₃ + G₃* X⁻¹ G₃")(one, two, obj, X=X, **own)
    near(effective.dense(), team.effective_inertia(q), 1e-8)

    everything = lw.formula("[𝓜₁, 0, 0, G₁*; 0, 𝓜₂, 0, G₂*; 0, 0, 𝓜₃, -G₃*; G₁, G₂, -G₃, 0]")(one, two, obj, **own)
    free = [op.vector(t) - op.H @ op.phi @ op.M @ op.phi.T @ op.g for op, t in zip((one, two, obj), taus)]
    gravity = [op.J @ (0 * t) + op.B.T @ op.phi.T @ op.g for op, t in zip((one, two, obj), free)]
    drift = lw.formula("W_1 x_1 + W_2 x_2 - W_3 x_3")(
        one,
        two,
        obj,
        **{
            f"W_{i + 1}": op.matrix(w, c, "tips")
            for i, (op, w) in enumerate(zip((one, two, obj), (*rows, np.hstack(rows))))
        },
        **{f"x_{i + 1}": x for i, x in enumerate(gravity)},
    )
    found = everything.inv() @ lw.stack([*free, -drift])
    near(found.value[: team.nv], team.forward_dynamics(q, v, tau), 1e-8)
    near(found.value[team.nv :], team.contact_components(q, v, tau), 1e-7)


# --- stacks ----------------------------------------------------------------------------------------------


def random_operator(op, rows, cols, rng):
    """A formula between two of (joints, bodies, tips) of a robot, or a matrix to those of another."""
    ways = {
        ("joints", "joints"): [op.mass, op.mass.inv(), op.I_joints + op.H @ op.phi @ op.K],
        ("joints", "bodies"): [op.H @ op.phi, op.H],
        ("bodies", "joints"): [op.phi.T @ op.H.T, op.K],
        ("bodies", "bodies"): [op.phi, op.M, op.P + op.I],
        ("tips", "joints"): [op.J],
        ("joints", "tips"): [op.J.T],
    }
    known = ways.get((rows, cols))
    if known:
        return known[rng.integers(len(known))]
    return op.matrix(rng.normal(size=(getattr(op, rows).dimension, getattr(op, cols).dimension)), rows, cols)


@pytest.mark.parametrize("seed", range(12))
def test_stacks_against_dense_matrices(seed):
    rng = np.random.default_rng(seed)
    op = at_last_body(lw.random_tree(int(rng.integers(2, 5)), seed=seed), seed)
    rows, cols = (rng.choice(["joints", "bodies", "tips"], size=rng.integers(1, 4)) for _ in range(2))
    table = [[random_operator(op, r, c, rng) for c in cols] for r in rows]
    for i in range(1, len(rows)):
        if len(cols) > 1:
            table[i][rng.integers(len(cols))] = 0
    dense = [
        [
            np.zeros((getattr(op, r).dimension, getattr(op, c).dimension)) if x == 0 else x.dense()
            for x, c in zip(line, cols)
        ]
        for line, r in zip(table, rows)
    ]
    if any(all(line[j] == 0 for line in table) for j in range(len(cols))):
        with pytest.raises(lw.SpaceError, match="zeros alone"):
            lw.stack(table)
        return
    S, A = lw.stack(table), np.block(dense)
    x, y = rng.normal(size=A.shape[1]), rng.normal(size=A.shape[0])
    near(S.dense(), A)
    near(S @ x, A @ x)
    near(S.T @ y, A.T @ y)
    near(S.apply(x, target="numpy"), A @ x)
    assert S.T.T == S
    near((S.T @ S) @ x, A.T @ (A @ x))
    near((S + 2 * S).expand() @ x, 3 * A @ x)
    assert str((S - S).simplify()) == "0" and str((S @ S.T - S @ S.T).expand()) == "0"
    table = blocks_of(S.expression)
    assert (table is None) == (len(rows) == len(cols) == 1)


def test_inverses_of_stacks_by_elimination():
    """[A, B; C, D]⁻¹ where A is on joints: 𝓜 with a spring between joints and tips, bodies beside joints."""
    op = at_last_body(lw.random_tree(4, seed=5), 0)
    C = op.matrix(np.diag(RNG.uniform(1, 2, 6)), "tips", "tips", name="C")
    stacks = [
        lw.stack([[op.mass, op.J.T], [op.J, -1 * C]]),
        lw.stack([[C, op.J], [op.J.T, op.mass]]),
        lw.stack([[op.mass, op.H @ op.phi], [0, op.phi]]),
        lw.stack([[op.mass, 0], [0, op.P]]),
        lw.stack([[C, 2 * C], [C, C]]),
    ]
    for S in stacks:
        A, x = S.dense(), RNG.normal(size=S.shape[0])
        near(S.inv() @ x, np.linalg.solve(A, x), 1e-8)
        near(S.inv().apply(x, target="numpy"), np.linalg.solve(A, x), 1e-8)


def test_the_cost_of_a_closed_chain_as_a_stack_is_linear():
    """[𝓜, −J*; J, 0]⁻¹ of chains: operations grow in proportion to the bodies."""
    counts = []
    for n in (8, 16, 32):
        op = lw.chain(n, seed=1).operators(np.zeros(n), frames="tip")
        counts.append(lw.stack([[op.mass, -op.J.T], [op.J, 0]]).inv().explain().operations.total)
    assert counts[2] - counts[1] <= 2.1 * (counts[1] - counts[0])


def test_vectors_on_spaces_of_ones_own(pair):
    one, two = pair
    c = lw.space("contact", (2, 1))
    A, B = one.matrix(RNG.normal(size=(3, 6)), c, "tips"), two.matrix(RNG.normal(size=(3, 6)), c, "tips", name="B_own")
    f = two.vector([1.0, 2.0, 3.0], c, name="f_own")
    near((one.J.T @ A.T @ f).value, one.J.dense().T @ A.dense().T @ [1, 2, 3])
    near(lw.stack([one.theta_dot, f]).value, [*one.v, 1, 2, 3])
    near(
        (A @ one.J @ one.theta_dot - B @ two.J @ two.theta_dot).value,
        A.dense() @ one.J.dense() @ one.v - B.dense() @ two.J.dense() @ two.v,
    )
    near(f[1], [3.0])
    assert f.rows == lw.space("contact", (2, 1)) != lw.space("contact", 3)
    C = one.matrix(np.diag([1.0, 2, 4]), c, c, name="C")
    near(C.inv() @ [1, 2, 4], [1, 1, 1])


# --- text ------------------------------------------------------------------------------------------------


def test_what_is_printed_is_read_back(pair):
    one, two = pair
    A1, A2 = (x.matrix(np.eye(6), lw.space("contact", 6), "tips") for x in (one, two))
    own = {"A_1": A1, "A_2": A2}
    G1, G2 = A1 @ one.J, A2 @ two.J
    S = lw.stack([[one.mass, 0, -G1.T], [0, two.mass, G2.T], [G1, -G2, 0]])
    both = G1 @ one.mass.inv() @ G1.T + G2 @ two.mass.inv() @ G2.T
    more = A1 @ one.B.T @ one.P_plus @ one.B @ A1.T + 0.5 * A2 @ two.B.T @ two.E_psi @ two.tau_bar.T @ two.B @ A2.T
    for x in (S, S.T, S.inv(), both, both.inv(), both.simplify(), more):
        for text in (str(x), x.latex()):
            assert lw.formula(text)(one, two, **own) == x


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("H φ", "column 1: of which robot"),
        ("H₁ φ₃", "column 4: there is no robot 3"),
        ("[H₁, φ₂]", "row 0 of the stack"),
        ("[H₁; 0]", "row 1 of the stack holds zeros alone"),
        ("[I, I]", "may be of any space"),
        ("[H₁, H₁; H₁]", "rows of this stack have 2, 1"),
        ("[H₁, H₁", "not closed"),
        ("[H₁, 2]", "block \\(1, 2\\) of this stack"),
        ("Z₁ H₁", "no operator is named 'Z'"),
        ("H₁ H₂*", "cannot multiply"),
        ("P₁(2)", "blocks are of the operators of one robot"),
        ("H₁, H₁", "column 3: ',' means nothing here"),
    ],
)
def test_formulas_of_several_robots_say_what_is_wrong(pair, text, message):
    with pytest.raises(lw.LinkwiseError, match=message):
        lw.formula(text)(*pair)


def test_dialects_of_the_papers(pair):
    op = pair[0]
    assert lw.formula("H Φ M Φ* H*", paper="LD")(op) == op.mass
    assert lw.formula("Φ̃", paper="LD")(op) == op.phi_tilde
    assert lw.formula("H Φ L", paper="JPL")(op) == op.H @ op.phi @ op.S @ op.L == lw.formula("H Φ L")(op)
    assert lw.formula("a", paper="JPL")(op) == op.classical_coriolis != lw.formula("a")(op)
    assert lw.formula("φ* H* β", paper="UF")(op) == op.phi.T @ op.H.T @ op.theta_dot
    with pytest.raises(lw.InputError, match="OA"):
        lw.formula("H", paper="XX")
    with pytest.raises(lw.InputError, match="no operator is named 'beta'"):
        lw.formula("β")(op)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda o, t: o.matrix(np.eye(5), "tips", "tips"), r"shape \(..., 6, 6\), got \(5, 5\)"),
        (lambda o, t: o.matrix(np.eye(6), "hands", "tips"), "hands"),
        (lambda o, t: o.J.T @ t.J, "cannot multiply"),
        (lambda o, t: o.mass + t.mass, "cannot add"),
        (lambda o, t: lw.stack([]), "list of rows"),
        (lambda o, t: lw.stack([[o.mass, o.mass], [o.mass]]), "equally long, got 2, 1"),
        (lambda o, t: lw.stack([[o.mass, 3]]), r"block \(0, 1\) of the stack is 3"),
        (lambda o, t: lw.stack([[o.mass], [t.mass]]), "column 0 of the stack has blocks of"),
        (lambda o, t: lw.stack([[o.mass, 0], [0, o.J @ o.J.T]]).inv(), None),
        (lambda o, t: lw.stack([[o.mass, 0], [o.J, 0 * (o.J @ o.J.T)]]).inv(), "what is left on .* is zero"),
        (lambda o, t: lw.stack([[0, o.phi], [o.phi, 0]]).inv(), "block 0 of the diagonal.* is zero"),
        (lambda o, t: lw.space("x", ()), "how many numbers"),
        (lambda o, t: lw.space("x", 0), "from 1 on"),
        (lambda o, t: lw.formula("H")(), "of the operators of a robot"),
        (lambda o, t: lw.formula("A H")(o, A=3), "A must be an operator"),
        (lambda o, t: o.matrix(np.eye(6), t.expression_space, "tips"), "take the tip space"),
    ],
)
def test_bad_input_is_named(pair, make, message):
    one, two = pair

    class Other:
        """The second operators, with a space that lost its state."""

        def __getattr__(self, name):
            return two.leaves.tips if name == "expression_space" else getattr(two, name)

    if message is None:
        make(one, two)
        return
    with pytest.raises(lw.LinkwiseError, match=message):
        make(one, Other())


def test_singular_stacks_say_so():
    op = lw.chain(4, seed=1).operators(np.zeros(4), frames="tip")  # four joints cannot answer six constraints
    S = lw.stack([[op.mass, -op.J.T], [op.J, 0]]).inv()
    for target in ("numpy", "cpu"):
        with pytest.raises(lw.SingularError):
            S.apply(np.ones(10), target=target)


# --- states of one robot, in any order -------------------------------------------------------------------


@pytest.fixture
def states():
    """Three states of one robot, the first made first."""
    r = lw.chain(3, seed=1)
    return [r.operators(r.random_configuration(i), frames="tip") for i in range(3)]


def test_sums_over_two_states_have_no_inverse_of_the_one_form(states):
    """𝓜₁ + 𝓜₂ is no HφXφ*H*: refused, not taken for one."""
    a, b, _ = states
    for make in (lambda: a.mass + b.mass, lambda: b.mass + 2 * a.mass):
        with pytest.raises(lw.NoRecursionError):
            make().inv()
    with pytest.raises(lw.NoRecursionError):
        lw.stack([[a.I_joints, -1 * a.mass], [a.I_joints, b.mass]]).inv()
    X = a.mass + a.H @ a.phi @ b.M @ a.phi.T @ a.H.T  # M of another state, between one state's φ: this is one
    near(X.inv() @ np.ones(3), np.linalg.solve(X.dense(), np.ones(3)))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_inertias_and_recursions_driven_by_another_state(states, order):
    a, b = (states[i] for i in order)
    own = a.block_diagonal([np.eye(6) * (k + 1.0) for k in range(3)])
    phi, H = b.phi.dense(), b.H.dense()
    for X in (a.P, own, a.M + own):
        family = b.with_inertia(X)
        assert family.state is b.state and np.array_equal(family.q, b.q)
        near((family.H @ family.phi @ family.M @ family.phi.T @ family.H.T).dense(), H @ phi @ X.dense() @ phi.T @ H.T)
        mass = H @ phi @ X.dense() @ phi.T @ H.T
        near((b.H @ b.phi @ X @ b.phi.T @ b.H.T).inv() @ np.ones(3), np.linalg.solve(mass, np.ones(3)))
        near(
            (b.H @ b.phi @ X @ b.phi.T @ b.H.T).inv().apply(np.ones(3), target="numpy"),
            np.linalg.solve(mass, np.ones(3)),
        )
        S = b.lyapunov(X)
        near((b.phi @ S + S @ b.phi_tilde.T).dense(), phi @ X.dense() @ phi.T)
        near(family.with_inertia(a.P).D.dense(), b.with_inertia(a.P).D.dense())
        near((family.D_inverse @ family.D).dense(), np.eye(3))


def test_coupled_joints_at_two_states_show_their_frames():
    r = coupled_robot()
    a, b = (r.operators(r.random_configuration(i)) for i in range(2))
    for A in (a.H @ b.G, a.G.T @ a.Upsilon @ b.G):
        x = RNG.normal(size=A.shape[1])
        near(A.apply(x, target="cpu"), A.dense() @ x, 1e-8)


def test_blocks_by_name_are_those_of_their_own_robot():
    def arm(*names):
        parents = (None, *names[:-1])
        inertia = lw.Inertia.box(1.0, (0.1, 0.2, 0.3))
        bodies = [
            lw.Body(n, lw.Joint(lw.Revolute("y"), at=(0, 0, 0.3)), inertia, parent=p) for n, p in zip(names, parents)
        ]
        return lw.assemble("arm", bodies)

    one, two = (arm(*names).operators([0.1, 0.2, 0.3], v=[1.0, 2.0, 3.0]) for names in ("abc", "cba"))
    A = one.matrix(np.arange(9.0).reshape(3, 3), one.joints, two.joints)
    assert A["a", "a"] == 2.0 and A["b", "c"] == 3.0 and A[0, 0] == 0.0
    near((A.T @ one.theta_dot)["a"], (A.T @ one.theta_dot).value[2:])
    stack = lw.stack([one.theta_dot, two.theta_dot])
    near(stack[3], [1.0])
    with pytest.raises(lw.SpaceError, match="have no names"):
        stack["a"]
    with pytest.raises(lw.SpaceError, match="have no names"):
        one.vector([1.0], lw.space("own", 1))["a"]


def test_names_of_ones_own_are_used_or_refused(states):
    op = states[0]
    y, X = op.vector([1.0, 2, 3]), op.block_diagonal([np.eye(6)] * 3)
    assert lw.formula("α + θ̇")(states[0].model.operators(op.q, v=np.ones(3)), **{"α": y}).value.tolist() == [
        2.0,
        3.0,
        4.0,
    ]
    with pytest.raises(lw.InputError, match="read without KH"):
        lw.formula("KH")(op, KH=X)
    assert lw.formula("H φ")(op, x=y, A_1=X) == op.H @ op.phi  # names that the text has not are no harm
    third = op.mass * (1 / 3)
    assert lw.formula(str(third))(op) == third and lw.formula(third.latex())(op) == third


def test_small_matrices_of_ones_own_have_inverses_on_any_space(states):
    op = states[0]
    A = RNG.normal(size=(3, 3))
    O = op.matrix(A, "joints", "joints", name="O")
    near(O.inv() @ np.ones(3), np.linalg.solve(A, np.ones(3)))
    S = lw.stack([[O, O], [O.T, 2 * O.T]])
    near(S.inv() @ np.ones(6), np.linalg.solve(S.dense(), np.ones(6)), 1e-8)


def test_derivatives_of_stacks_and_of_two_robots(pair):
    """By time, each robot along its own motion: against differences of the dense matrices."""
    c = lw.space("contact", 6)

    def made(time):
        moved = [op.model.integrate(op.q, time * op.v) for op in pair]
        one, two = (op.model.operators(q, v=op.v, frames=op.frames) for op, q in zip(pair, moved))
        G1, G2 = one.matrix(np.eye(6), c, "tips") @ one.J, two.matrix(np.eye(6), c, "tips") @ two.J
        both = G1 @ one.mass.inv() @ G1.T + G2 @ two.mass.inv() @ G2.T
        return both, lw.stack([[one.mass, -G1.T], [G1, both]])

    step = 1e-5
    for now, before, after in zip(made(0.0), made(-step), made(step)):
        near(now.time_derivative().dense(), (after.dense() - before.dense()) / (2 * step), 1e-6)
    with pytest.raises(lw.InputError, match="at 2 states"):
        made(0.0)[0].variation(np.zeros(7))
