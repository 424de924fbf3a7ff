"""Formulas are worked out once for a robot and bound to its states."""

import cProfile

import numpy as np
import pytest
from trees import assert_close

import linkwise as lw
from linkwise.algebra import leaves as leaves_module
from linkwise.algebra import rules
from linkwise.algebra.leaves import unbound

pytestmark = pytest.mark.usefixtures("little_garbage")


def compliance(robot, q):
    op = robot.operators(q)
    return (op.J @ op.mass.inv() @ op.J.T).simplify()


@pytest.fixture
def arm():
    return lw.chain(4, seed=1)


def test_formulas_are_the_same_objects_at_every_configuration(arm):
    a, b = (arm.operators(q) for q in arm.random_configuration(0, 2))
    for make in (
        lambda o: o.phi,
        lambda o: o.mass.inv(),
        lambda o: (o.H @ o.phi) @ (o.M @ o.phi.T @ o.H.T),
        lambda o: (o.mass.inv() + 0.5 * o.D_inverse).T,
        lambda o: (o.J @ o.mass.inv() @ o.J.T).simplify(),
    ):
        assert make(a).expression is make(b).expression
        assert make(a) == make(a) and make(a) != make(b)
    typed = a.H @ (a.phi @ (a.M @ (a.phi.T @ a.H.T)))
    assert typed.expression is a.mass.expression  # whatever the order of the products


def test_rules_are_tried_once_for_a_formula(arm, monkeypatch):
    qs = arm.random_configuration(0, 3)
    compliance(arm, qs[0])
    monkeypatch.setattr(rules, "_fire", None)  # would fail where a rule is tried
    assert str(compliance(arm, qs[1])) == "B* ψ* H* D⁻¹ H ψ B"


def test_a_new_configuration_takes_few_calls(arm):
    """Counted, not timed: what 100 µs may hold."""
    compliance(arm, arm.neutral())
    q = arm.random_configuration(0)
    profile = cProfile.Profile()
    profile.runcall(compliance, arm, q)
    assert sum(entry.callcount for entry in profile.getstats()) < 300


def test_states_of_an_operator_decide_its_numbers(arm):
    q = arm.random_configuration(0, 2)
    for i in range(2):
        assert_close(compliance(arm, q[i]).dense(), arm.operational_compliance(q[i], "tip"), 1e-12)
    q_mine = q[0].copy()
    A = arm.operators(q_mine).mass
    before = A.dense()
    assert np.array_equal(A.dense(), before)


def test_what_is_remembered_has_a_bound(arm, monkeypatch):
    monkeypatch.setattr(leaves_module, "_MOST_REMEMBERED", 50)
    op = arm.operators(arm.neutral())
    memory = unbound(arm, arm.tips).memory
    for i in range(300):
        A = op.mass + (0.1 + i) * op.I_joints
        assert_close(A @ np.ones(4), op.mass @ np.ones(4) + 0.1 + i, 1e-12)
        assert len(memory) <= 50
    for i in range(100):
        arm.operators(arm.neutral(), frames=lw.Frame("grip", "link4", at=(i, 0, 0)))
    assert len(arm.__dict__["_leaves"]) <= 16


def test_one_state_more_or_less(arm):
    """Formulas of several states keep those they name, in the order the states were made."""
    a, b = (arm.operators(q) for q in arm.random_configuration(0, 2))
    assert a.mass + b.mass == b.mass + a.mass
    assert (a.mass + b.mass) - b.mass == a.mass
    assert (a.mass @ b.mass - a.mass @ b.mass).expression.is_constant
    assert len((a.I_joints + b.mass).binding.things) == 1
    assert_close((a.J @ b.mass.inv() @ a.J.T).dense(), a.J.dense() @ b.mass.inv().dense() @ a.J.dense().T, 1e-10)
    X, Y = (a.block_diagonal([(k + 1) * np.eye(6) for k in range(4)]) for _ in range(2))
    assert X != Y and X + Y == Y + X and (X + Y) - Y == X
    assert_close((X @ Y + X).dense(), X.dense() @ Y.dense() + X.dense(), 1e-13)


def test_blocks_live_as_long_as_their_operators(arm):
    import gc
    import weakref

    op = arm.operators(arm.neutral())
    X = op.block_diagonal([np.eye(6)] * 4)
    seen = weakref.ref(X.binding.things[1])
    A = op.phi @ X
    del X
    gc.collect()
    assert seen() is not None
    del A
    gc.collect()
    assert seen() is None


def test_robots_do_not_outlive_their_formulas():
    import gc
    import weakref

    arm = lw.chain(2)
    compliance(arm, arm.neutral())
    seen = weakref.ref(arm)
    del arm
    gc.collect()
    assert seen() is None


def test_leaves_without_numbers_say_so(arm):
    with pytest.raises(lw.SpaceError, match="no numbers"):
        unbound(arm).mass.apply_columns(np.eye(4))
