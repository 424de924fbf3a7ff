"""Every identity of the papers holds on random robots; what is false is found out."""

from dataclasses import replace

import numpy as np
import pytest
from operator_zoo import operators
from trees import assert_close, robot, state

import linkwise as lw
from linkwise.algebra.identities import colour, white
from linkwise.algebra.rules import NO_GYRO, NO_ROTORS, cost, rule

RULES = {r.name: r for r in lw.identities()}
FREE = {name for name, r in RULES.items() if r.free}


@pytest.mark.parametrize("name", RULES)
def test_holds(name):
    """Dense against dense on chains and trees with all joint kinds, rotors where the identity admits them."""
    report = lw.check_identity(RULES[name], trials=8, rotors=True)
    assert report.holds and report.worst < 1e-9, str(report)
    assert report.sweeps < 1e-9, str(report)
    assert report.trials == 8 and bool(report)


@pytest.mark.parametrize("name", sorted(set(RULES) - FREE))
def test_sides_live_where_they_say(name):
    """Both sides between the same spaces, of compatible structure; a formula that names its letters."""
    o = operators("chain4")
    left, right = RULES[name].sides(o)
    assert (left.rows, left.cols) == (right.rows, right.cols)
    assert RULES[name].formula == f"{left} = {right}" or " = " in RULES[name].formula
    assert RULES[name].cites and all(RULES[name].cites)
    assert str(RULES[name]).startswith(RULES[name].formula)


def test_names_are_unique_and_found():
    assert len(RULES) == len(lw.identities()) > 100
    assert rule("whitening") is RULES["whitening"]
    with pytest.raises(lw.UnknownNameError, match="no identity is named 'magic'"):
        rule("magic")


def test_the_main_results_are_there():
    """Math notes 7.1, each by the lemma it is printed under."""
    cited = {c for r in RULES.values() for c in r.cites}
    lemmas = ["OA Lemma 4.1", "OA Lemma 4.2", "OA Lemma 4.3", "OA Lemma 5.1", "OA Lemma A.1", "UF Lemma 3.1"]
    lemmas += ["UF Lemma 6.1", "UF Lemma 6.2", "UF Lemma 6.3", "UF Lemma 6.4", "JPL Fact 4.1", "JPL Fact 4.2"]
    lemmas += [
        "JPL Theorem 4.1",
        "JPL Identity 5.1",
        "JPL A.2",
        "JPL A.3",
        "JPL A.4",
        "JPL A.5",
        "JPL A.6",
        "JPL A.7",
    ]
    for lemma in lemmas:
        assert any(c.startswith(lemma) for c in cited), lemma


# --- false ones --------------------------------------------------------------------------------------

FALSE = {
    "wrong sign": (white, lambda o: o.I_joints + o.H @ o.psi @ o.K),
    "phi for psi": (lambda o: colour(o) @ (o.I_joints - o.H @ o.phi @ o.K), lambda o: o.I_joints),
    "adjoint forgotten": (lambda o: o.phi @ o.M @ o.phi, lambda o: o.phi @ o.M @ o.phi.T),
    "P for M": (lambda o: o.H @ o.phi @ o.P @ o.phi.T @ o.H.T, lambda o: o.H @ o.phi @ o.M @ o.phi.T @ o.H.T),
    "only on chains": (RULES["mass_inverse_split"].lhs, RULES["mass_inverse_split"].rhs),
}


@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_is_reported(name):
    report = lw.check_identity(*FALSE[name], trials=8)
    assert not report.holds and not report
    assert report.worst > 1e-3
    assert "does NOT hold" in str(report) and report.robot in str(report)
    assert report.sweeps < 1e-9  # both sides are still what they say


def without_spin(r):
    """The robot with its rotors reduced to their reflected inertia."""
    bodies = []
    for b in r.bodies:
        rotor = None if b.joint.rotor is None else replace(b.joint.rotor, axis=None)
        bodies.append(replace(b, joint=replace(b.joint, rotor=rotor)))
    return replace(r, bodies=tuple(bodies))


ROTOR_CONDITIONS = {NO_ROTORS, NO_GYRO}
CONDITIONAL = [n for n, r in RULES.items() if r.requires <= ROTOR_CONDITIONS and r.requires and not r.free]


@pytest.mark.parametrize("name", CONDITIONAL)
def test_conditions_on_rotors_are_exact(name):
    """What needs no rotors fails with any; what needs no gyroscopic ones holds with the others only."""
    r = RULES[name]
    gyroscopic = robot("arms")
    plain = without_spin(gyroscopic)
    differences = []
    for model in (plain, gyroscopic):
        o = model.operators(state(model, ()).q)
        left, right = (side.dense() for side in r.sides(o))
        differences.append(np.abs(left - right).max())
        assert r.admits(o) == (NO_GYRO in r.requires and model is plain)
    assert differences[1] > 1e-6
    assert differences[0] < 1e-10 if NO_GYRO in r.requires else differences[0] > 1e-6


@pytest.mark.parametrize("name", [n for n, r in RULES.items() if "serial chain" in r.requires and not r.free])
def test_branches_break_what_needs_a_chain(name):
    r = RULES[name]
    tree = lw.random_tree(7, seed=3, joints=["revolute", "helical"], branching=0.8)
    s = state(tree, ())
    o = tree.operators(s.q, v=s.v, a=s.a)
    assert not r.admits(o)
    left, right = r.sides(o)
    assert np.abs(left.dense() - right.dense()).max() > 1e-6


# --- the checker -------------------------------------------------------------------------------------


def test_bound_expressions_are_rebuilt_on_every_robot():
    o = operators("panda")
    assert lw.check_identity(o.mass.inv() @ o.mass, o.I_joints, trials=6)
    assert not lw.check_identity(o.mass.inv(), o.D_inverse, trials=6)
    assert lw.check_identity(o.with_inertia(o.R).P, lambda op: op.with_inertia(op.R).P, trials=3)


def test_reports_can_be_repeated():
    a, b = (lw.check_identity(*FALSE["phi for psi"], trials=5, seed=3) for _ in range(2))
    assert (a.worst, a.robot, a.seed) == (b.worst, b.robot, b.seed)


def test_the_checker_refuses_nonsense():
    o = operators("panda")
    X = o.block_diagonal([np.eye(6)] * len(o.model.bodies))
    with pytest.raises(lw.InputError, match="two sides"):
        lw.check_identity(lambda op: op.H)
    with pytest.raises(lw.InputError, match="body space.*joint space"):
        lw.check_identity(lambda op: op.H, lambda op: op.phi)
    with pytest.raises(lw.InputError, match="must give an operator, got float"):
        lw.check_identity(lambda op: 1.0, lambda op: op.phi)
    with pytest.raises(lw.InputError, match="trials must be a whole number from 1 on"):
        lw.check_identity(lambda op: op.phi, lambda op: op.phi, trials=0)
    with pytest.raises(lw.InputError, match="belongs to one robot"):
        lw.check_identity(X @ o.phi, o.phi)


# --- simplification ----------------------------------------------------------------------------------

SIMPLIFYING = [name for name, r in RULES.items() if r.simplifies]


@pytest.mark.parametrize("robot_name", ["floating", "arms", "chain4"])
@pytest.mark.parametrize("name", SIMPLIFYING)
def test_simplifying_rules_fire_and_never_cost_more(name, robot_name):
    """Left sides and their adjoints: same meaning, no dearer; what does not hold here does not fire."""
    o, r = operators(robot_name), RULES[name]
    left, right = r.sides(o)
    for side in (left, left.T):
        simple = side.simplify()
        assert cost(simple.expression) <= cost(side.expression)
        assert_close(simple.dense(), side.dense(), 1e-9)
        if r.admits(o) and cost(right.expression) <= cost(left.expression):
            assert simple.used, f"{side} stayed as it was"
        else:
            assert r not in simple.used


@pytest.mark.parametrize("name", SIMPLIFYING)
def test_simplifying_rules_fire_inside_greater_expressions(name):
    """A multiple of the left side, among other terms, and as a factor."""
    o = operators("chain4")
    left, _ = RULES[name].sides(o)
    rng = np.random.default_rng(0)
    Y = o.block_diagonal([rng.normal(size=(r, r)) for r in left.rows.sizes], space=_SPACES[left.rows.kind])
    for whole in (-2.5 * left, Y @ left, 3.0 * left + Y @ left, Y @ (2.0 * left) - left):
        assert_close(whole.simplify().dense(), whole.dense(), 1e-9)


_SPACES = {"body": "bodies", "joint": "joints", "tip": "tips", "edge": "edges", "inertial": "inertial"}


def test_simplifying_rules_simplify_where_there_are_no_rotors():
    for r in map(RULES.get, SIMPLIFYING):
        left, right = r.sides(operators("chain4"))
        assert cost(right.expression) <= cost(left.expression), r.name


def random_expression(o, rng, depth=3):
    """A product or sum of leaves that fit, with some adjoints."""
    leaves = [
        o.H,
        o.phi,
        o.psi,
        o.M,
        o.P,
        o.G,
        o.K,
        o.D,
        o.D_inverse,
        o.tau,
        o.tau_bar,
        o.E_phi,
        o.E_psi,
        o.R,
    ]
    leaves += [o.phi_tilde, o.psi_tilde, o.P_plus, o.B, o.S, o.L, o.Delta_phi, o.Delta_psi, o.I, o.I_joints]
    leaves += [x.T for x in leaves]
    out = leaves[rng.integers(len(leaves))]
    for _ in range(depth):
        fitting = [x for x in leaves if x.rows == out.cols]
        out = out @ fitting[rng.integers(len(fitting))]
        if rng.random() < 0.5:
            alike = [x for x in leaves if (x.rows, x.cols) == (out.rows, out.cols)]
            if alike:
                out = out + float(rng.integers(-2, 3)) * alike[rng.integers(len(alike))]
    return out


@pytest.mark.parametrize("robot_name", ["tree", "arms", "chain4"])
def test_random_expressions_keep_their_meaning(robot_name):
    o = operators(robot_name)
    rng = np.random.default_rng(0)
    changed = 0
    for _ in range(80):
        expression = random_expression(o, rng)
        simple = expression.simplify()
        changed += simple.key != expression.key
        assert cost(simple.expression) <= cost(expression.expression), f"{expression} became {simple}"
        size = max(1.0, float(np.abs(expression.dense()).max()))
        assert_close(simple.dense() / size, expression.dense() / size, 1e-10)
        assert simple.simplify().key == simple.key  # nothing is left to do
    assert changed >= 10


def test_known_simplifications():
    """What a reader of the papers expects to see."""
    o = operators("panda")
    white_, colour_ = white(o), colour(o)
    cases = {
        o.mass.inv() @ o.mass: o.I_joints,
        colour_ @ white_: o.I_joints,
        white_ @ o.H @ o.phi: o.H @ o.psi,
        o.J @ o.mass.inv() @ o.J.T: o.B.T @ o.psi.T @ o.H.T @ o.D_inverse @ o.H @ o.psi @ o.B,
        (o.I - o.E_phi) @ o.phi: o.I,
        colour_ @ o.D @ colour_.T: o.mass,
        o.P - o.E_psi @ o.P @ o.E_psi.T: o.M,
        o.S @ o.L: o.K,
    }
    for expression, expected in cases.items():
        assert expression.simplify().key == expected.key, f"{expression} became {expression.simplify()}"
    assert {r.name for r in (colour_ @ white_).simplify().used} == {"whitening"}
