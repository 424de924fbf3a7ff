"""Derivatives of formulas, against complex steps of their dense matrices: every leaf, and random expressions."""

from functools import cache

import numpy as np
import pytest
from coupled import coupled_robot
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_zoo import EXPRESSIONS, general, positive

import linkwise as lw
from linkwise.algebra.operators import OPERATOR_NAMES
from linkwise.algebra.recursions import KINDS

STEP = 1e-30
ROBOTS = {
    "hinges": lambda: lw.random_tree(5, seed=9, joints=["revolute", "prismatic", "helical"]),
    "floating": lambda: lw.random_tree(7, seed=3, floating=True),
    "turning maps": lambda: lw.chain(4, joint="mixed", seed=1),
    "balls": lambda: lw.random_tree(4, seed=5, joints=["spherical", "cylindrical", "planar", "universal", "fixed"]),
    "rotors": lambda: lw.random_tree(5, seed=2, rotors=True),
    "coupled": coupled_robot,
}
THIRD = {"theta_ddot", "T", "alpha", "f", "H_ddot", "Psi_ddot"}  # by time they ask for a third derivative
NONE = {"classical_alpha", "classical_coriolis", "classical_gyroscopic", "F_script", "stiffness"}  # no rule
# Of maps that turn, and of joints with several degrees of freedom:
THIRD_OF_MAPS = {"H_ring_ring", "D_root_ring", "m_dot", "ell_dot"}
SECOND = {"H_ring", "P_ring", "Pi_dot", "D_ring", "G_ring", "tau_bar_ring", "E_psi_ring", "D_root_ring", "coriolis"}
ROOTS = {"D_root_ring", "m_dot", "ell_dot"}  # (D^½)° has no rate where a joint has several degrees of freedom
SECOND |= {"P_dot", "D_dot", "G_dot", "tau_bar_dot", "E_psi_dot"}  # where rotors turn with their parents
SECOND |= {"psi_dot", "K_dot", *ROOTS}
OF_NODES = {"F", "M_hat", "R_hat", "P_hat", "G_hat", "K_hat", "H_dot", "Psi_dot", "E_phi_dot", "phi_dot"}
OF_NODES |= {"phi_I", "phi_I_inverse", "E_I", "Phi_I", "H_I", "M_I", "J_hat", "rotor_inertia", "mass", "mass_dot"}
MAY_REFUSE = {
    "hinges": set(),
    "floating": ROOTS,
    "turning maps": THIRD_OF_MAPS,
    "balls": THIRD_OF_MAPS,
    "rotors": SECOND | {"gyroscopic", "H_ring_ring"},
    "coupled": SECOND | OF_NODES | {"gyroscopic", "H_ring_ring"},
}


class Moving:
    """A robot at a state, and what its operators become along a direction of states."""

    def __init__(self, name):
        self.robot = ROBOTS[name]()
        rng = np.random.default_rng(7)
        self.q = self.robot.random_configuration(rng)
        self.v, self.a, *self.change = rng.normal(size=(5, self.robot.nv))  # change: of θ, θ̇ and θ̈
        self.op = self.robot.operators(self.q, v=self.v, a=self.a)

    def along(self, dq, dv, da):
        """The operators at a complex step; imaginary parts are derivatives."""
        return self.robot.operators(
            self.robot.integrate(self.q, 1j * STEP * dq), v=self.v + 1j * STEP * dv, a=self.a + 1j * STEP * da
        )

    @property
    def in_time(self):
        return self.along(self.v, self.a, 0.0 * self.a)


@cache
def moving(name):
    return Moving(name)


def close(got, wanted, tolerance):
    """Relative to the largest entry, or to 1."""
    assert np.shape(got) == np.shape(wanted)
    assert np.abs(got - wanted).max(initial=0.0) <= tolerance * (1 + np.abs(wanted).max(initial=0.0))


def assert_leaf(name, got, wanted):
    error = np.abs(got - wanted).max(initial=0.0) / (1 + np.abs(wanted).max(initial=0.0))
    assert error < 1e-10, f"{name}: {error}"


def measured(ahead, formula):
    return formula(ahead).dense().imag / STEP


@pytest.mark.parametrize("robot", ROBOTS)
def test_every_leaf_by_time(robot):
    m, refused = moving(robot), set()
    ahead = m.in_time
    for name in OPERATOR_NAMES:
        try:
            got = getattr(m.op, name).time_derivative()
        except lw.NotAdmittedError:
            refused.add(name)
            continue
        wanted = measured(ahead, lambda o, name=name: getattr(o, name))
        assert_leaf(name, got.dense(), wanted)
        x = np.linspace(-1, 1, got.shape[1])
        close(got.apply(x, target="numpy"), got.dense() @ x, 1e-10)
    assert THIRD | NONE <= refused <= THIRD | NONE | MAY_REFUSE[robot]


@pytest.mark.parametrize("robot", ROBOTS)
def test_every_leaf_along_any_change_of_the_state(robot):
    m, refused = moving(robot), set()
    ahead = m.along(*m.change)
    for name in OPERATOR_NAMES:
        try:
            got = getattr(m.op, name).variation(*m.change)
        except lw.NotAdmittedError:
            refused.add(name)
            continue
        assert_leaf(name, got.dense(), measured(ahead, lambda o, name=name: getattr(o, name)))
    assert NONE <= refused <= NONE | MAY_REFUSE[robot] | (THIRD if robot in ("rotors", "coupled") else set())


def test_one_change_leaves_the_others_alone():
    """δT by θ, θ̇ and θ̈ apart are the linearised model's B_D, A_D and 𝓜."""
    m = moving("floating")
    x = m.change[0]
    model = m.robot.linearize_inverse(m.q, m.v, m.a)
    close(m.op.T.variation(x).value, model.dq @ x, 1e-10)
    close(m.op.T.variation(None, x).value, model.dv @ x, 1e-10)
    close(m.op.T.variation(dtheta_ddot=x).value, model.M @ x, 1e-10)


@pytest.mark.parametrize("robot", ["hinges", "balls"])
def test_partial_derivatives(robot):
    m = moving(robot)
    for k, joint in enumerate(m.robot.joints):
        for axis in range(joint.kind.nv):
            x = np.zeros(m.robot.nv)
            x[m.robot.v_slices[k].start + axis] = 1.0
            by_name, by_place = m.op.mass.partial(joint.name, axis), m.op.mass.partial(k, axis)
            wanted = measured(m.along(x, 0.0 * x, 0.0 * x), lambda o: o.mass)
            close(by_name.dense(), wanted, 1e-10)
            close(by_place.dense(), wanted, 1e-10)
    with pytest.raises(lw.InputError, match="so there is none of axis 7"):
        m.op.mass.partial(0, 7)
    with pytest.raises(lw.UnknownNameError, match="no joint is named 'elbow'"):
        m.op.mass.partial("elbow")


# --- laws over random expressions ----------------------------------------------------------------------

LEAVES = ["H", "D", "D_inverse", "rotor_inertia", "phi", "psi", "M", "P", "tau_bar", "E_psi", "E_phi", "K", "G", "R"]
LEAVES += ["Upsilon", "F", "V_tilde", "M_hat", "B", "Omega_tips"]


@st.composite
def products(draw, length=4):
    """Names and stars of leaves that fit together, from left to right."""
    op = moving("hinges").op
    space, chosen = draw(st.sampled_from(["body", "joint", "tip"])), []
    for _ in range(draw(st.integers(1, length))):
        fitting = [
            (name, starred)
            for name in LEAVES
            for starred in (False, True)
            if (getattr(op, name).T if starred else getattr(op, name)).rows.kind == space
        ]
        name, starred = draw(st.sampled_from(fitting))
        chosen.append((name, starred))
        leaf = getattr(op, name)
        space = (leaf.T if starred else leaf).cols.kind
    return tuple(chosen)


def build(chosen, o):
    out = None
    for name, starred in chosen:
        leaf = getattr(o, name).T if starred else getattr(o, name)
        out = leaf if out is None else out @ leaf
    return out


@settings(max_examples=25, deadline=None)
@given(products(), products(), st.floats(-3, 3))
def test_laws_of_differentiation(first, second, c):
    m = moving("hinges")
    A, B = build(first, m.op), build(second, m.op)
    wanted = measured(m.in_time, lambda o: build(first, o))
    dA, dB = A.time_derivative(), B.time_derivative()
    close(dA.dense(), wanted, 1e-9)
    assert A.T.time_derivative() == dA.T
    close((c * A).time_derivative().dense(), c * wanted, 1e-9)
    if A.cols == B.rows:
        both = A.dense() @ dB.dense() + dA.dense() @ B.dense()
        close((A @ B).time_derivative().dense(), both, 1e-9)
    if A.shape == B.shape and A.rows == B.rows and A.cols == B.cols:
        close((A + B).time_derivative().dense(), (dA + dB).dense(), 1e-12)


@pytest.mark.parametrize("name", ["colour", "inverse mass", "compliance", "deep nesting", "inverse of the user's"])
def test_expressions_and_inverses(name):
    for robot in ("hinges", "floating", "rotors"):
        m = moving(robot)
        wanted = measured(m.in_time, EXPRESSIONS[name])
        got = EXPRESSIONS[name](m.op).time_derivative()
        close(got.dense(), wanted, 1e-8)


def test_an_inverse_is_differentiated_by_its_own():
    m = moving("floating")
    A = m.op.P + m.op.R
    rate = A.inv().time_derivative()
    close(rate.dense(), -(A.inv().dense() @ A.time_derivative().dense() @ A.inv().dense()), 1e-9)
    close(rate.dense(), measured(m.in_time, lambda o: (o.P + o.R).inv()), 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_driven_block_diagonals(kind):
    """Driven by what changes, by what does not, and differentiated twice."""
    m = moving("hinges")
    for X in (lambda o: o.P, general):
        formula = lambda o, X=X: o.recursion(X(o), kind)
        wanted = measured(m.in_time, formula)
        close(formula(m.op).time_derivative().dense(), wanted, 1e-9)


@pytest.mark.parametrize("inertia", [lambda o: o.R, positive], ids=["R", "constant"])
def test_families_of_other_inertias(inertia):
    m = moving("floating")
    for name in ("P", "D", "G", "psi", "K", "P_plus", "Upsilon"):
        formula = lambda o, name=name: getattr(o.with_inertia(inertia(o)), name)
        wanted = measured(m.in_time, formula)
        close(formula(m.op).time_derivative().dense(), wanted, 1e-9)


@pytest.mark.parametrize("robot", ["hinges", "floating"])
def test_second_derivatives(robot):
    """The derivative of a derivative, while θ̈ stays: of the formula that the first one is."""
    m = moving(robot)
    for formula in (lambda o: o.mass, lambda o: o.J, lambda o: o.P, lambda o: o.psi, lambda o: o.Upsilon):
        once = lambda o, formula=formula: formula(o).time_derivative()
        wanted = measured(m.in_time, once)
        close(once(m.op).time_derivative().dense(), wanted, 1e-8)


# --- which frame is differentiated ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["E_phi", "phi", "M", "P", "D", "G", "tau_bar", "E_psi", "H", "V", "J"])
def test_rates_in_inertial_axes(name):
    """Components turned into the world's axes, differentiated there, and turned back (DD Table 4, (6.6))."""
    m = moving("floating")

    def turned(o):
        R = [np.asarray(x.R) for x in _poses(o)]
        turn = np.zeros((6 * len(R), 6 * len(R)), complex)
        for k, x in enumerate(R):
            for i in (6 * k, 6 * k + 3):
                turn[i : i + 3, i : i + 3] = x
        return turn

    def both(o, A, back):
        T = turned(o)
        left = T if getattr(m.op, name).rows.kind == "body" else np.eye(A.shape[0])
        right = T.T if getattr(m.op, name).cols.kind == "body" else np.eye(A.shape[1])
        return left.T @ A @ right.T if back else left @ A @ right

    ahead = m.in_time
    in_world = both(ahead, getattr(ahead, name).dense(), back=False).imag / STEP
    wanted = both(m.op, in_world, back=True).real
    got = getattr(m.op, name).time_derivative(axes="inertial").dense()
    close(got, wanted, 1e-10)
    local = getattr(m.op, name).time_derivative().dense()
    differs = getattr(m.op, name).rows.kind == "body" or name == "H"
    assert (np.abs(got - local).max() > 1e-3) == differs


def _poses(o):
    from linkwise.dynamics.kinematics import body_poses

    return body_poses(o.links)


def test_the_leaves_of_inertial_rates_are_those_derivatives():
    o = moving("floating").op
    for name in ("E_phi", "phi", "M", "P", "D", "G", "tau_bar", "E_psi"):
        assert getattr(o, f"{name}_dot") == getattr(o, name).time_derivative(axes="inertial")


def test_the_rate_of_V_is_the_spatial_acceleration():
    m = moving("floating")
    still = m.robot.with_gravity((0.0, 0.0, 0.0)).operators(m.q, v=m.v, a=m.a)
    close(m.op.V.time_derivative().value, still.alpha.value, 1e-11)


def test_the_rate_of_the_jacobian():
    m = moving("floating")
    frame = m.robot.frames[-1]
    o = m.robot.operators(m.q, v=m.v, a=m.a, frames=[frame])
    ahead = m.robot.jacobian(m.robot.integrate(m.q, 1j * STEP * m.v), frame).imag / STEP
    close(o.J.time_derivative().dense(), ahead, 1e-11)


# --- what is refused, and what a derivative is like ----------------------------------------------------


def test_refusals_name_what_is_missing():
    robot = lw.load("panda")
    q = np.full(robot.nv, 0.3)
    with pytest.raises(lw.InputError, match="needs a velocity"):
        robot.operators(q).phi.time_derivative()
    with pytest.raises(lw.NotAdmittedError, match="theta_dot.*no acceleration"):
        robot.operators(q, v=q).theta_dot.time_derivative()
    with pytest.raises(lw.NotAdmittedError, match="theta_ddot.*third derivative"):
        robot.operators(q, v=q, a=q).T.time_derivative()
    with pytest.raises(lw.NotAdmittedError, match="b_c .classical_gyroscopic. has no rule"):
        robot.operators(q, v=q, a=q).classical_gyroscopic.time_derivative()
    with pytest.raises(lw.InputError, match="inertial"):
        robot.operators(q, v=q).phi.time_derivative(axes="world")
    with pytest.raises(lw.SpaceError, match="a change of θ"):
        robot.operators(q, v=q).phi.variation(robot.operators(q, v=q).V)
    with pytest.raises(lw.InputError, match="at 2 states"):
        (robot.operators(q).phi @ robot.operators(2 * q).phi).variation(q)


def test_they_print_explain_simplify_run_compiled_and_in_batches():
    robot = lw.load("panda")
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 2, robot.nv))
    o = robot.operators(q, v=v, a=a)
    rate = o.mass.time_derivative()
    assert str(rate) == "H φ E_φ F φ M φ* H* + H φ M φ* F* E_φ* φ* H*"
    assert "Operations" in str(rate.explain())
    x = rng.normal(size=(2, robot.nv))
    close(rate @ x, rate.apply(x, target="numpy"), 1e-10)
    change = o.G.variation(x)
    assert str(change) == "G°[δθ]" and change.latex() == r"\mathring{G}[\delta\theta]"
    close(change @ v, np.einsum("bij,bj->bi", change.dense(), v), 1e-10)
    assert isinstance((rate - rate).simplify().expression, type((o.phi - o.phi).expression))
    assert (o.phi.time_derivative() - (o.V_tilde.T @ o.phi - o.phi @ o.V_tilde.T)).simplify().structure == "zero"
