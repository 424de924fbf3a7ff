"""Linearised models against differentiation: every algorithm, every joint kind, rotors, external forces."""

import sys

import numpy as np
import pytest
from trees import ALL, ROTORS, State, assert_close, derivative, robot, state

import linkwise as lw
from linkwise.dynamics.linearized import models
from linkwise.dynamics.linearized.inverse import algorithm_1, algorithm_2
from linkwise.dynamics.linearized.models import inverse_motion
from linkwise.dynamics.linearized.state_space import matrix_exponential
from linkwise.dynamics.linearized.variations import motion, velocity_terms
from linkwise.dynamics.links import base_acceleration, evaluate
from linkwise.dynamics.referred_links import referred

ROBOTS = [*ALL, "arms", "hinges", "panda"]
NON_HOLONOMIC = {"custom_skate", "custom_four", "tree_rotors", "floating", "big_floating_rotors"}
HOLONOMIC = [name for name in ROBOTS if name not in NON_HOLONOMIC]


def jacobians(r, s: State, function):
    """∂function/∂(q tangent, v, third) of function(q, v, x) by differences of sixth order, each (nv, nv)."""
    E = np.eye(r.nv)
    moved = (
        lambda t: (r.integrate(s.q, t * E), s.v, s.a),
        lambda t: (s.q, s.v + t * E, s.a),
        lambda t: (s.q, s.v, s.a + t * E),
    )
    return [derivative(lambda t, along=along: function(*along(t))).T for along in moved]


@pytest.mark.parametrize("name", ROBOTS)
def test_inverse_dynamics(name):
    r, s = robot(name), state(robot(name), (), seed=1)
    dq, dv, M = jacobians(r, s, lambda q, v, a: r.inverse_dynamics(q, v, a, external=s.external))
    for method in ("algorithm_1", "algorithm_2"):
        found = r.linearize_inverse(s.q, s.v, s.a, external=s.external, method=method)
        assert_close(found.M, M, 1e-9, method)
        assert_close(found.dv, dv, 1e-9, method)
        assert_close(found.dq, dq, 1e-9, method)


@pytest.mark.parametrize("name", ROBOTS)
def test_forward_dynamics(name):
    r, s = robot(name), state(robot(name), (), seed=2)
    dq, dv, Minv = jacobians(r, s, lambda q, v, tau: r.forward_dynamics(q, v, tau, external=s.external))
    admitted = [m for m in lw.FORWARD_LINEARIZATIONS if m.startswith("algorithm")]
    if name in (*ROTORS, "arms", "hinges"):
        admitted = [m for m in admitted if m not in ("algorithm_5", "algorithm_6")]
    for method in (None, *admitted):
        found = r.linearize_forward(s.q, s.v, s.a, external=s.external, method=method)
        assert_close(found.Minv, Minv, 1e-8, method)
        assert_close(found.dv, dv, 1e-8, method)
        assert_close(found.dq, dq, 1e-8, method)


def test_a_rotor_on_a_free_base_notices_what_the_base_answers():
    box = lw.Inertia.box(1.0, (0.3, 0.2, 0.1))
    trunk = lw.Body("trunk", lw.Joint(lw.Free(), "float", rotor=lw.Rotor(0.7)), box)
    legs = [lw.Body(x, lw.Joint(lw.Revolute(x), at=(0.1, 0.2, -0.1)), box, "trunk") for x in "xyz"]
    r = lw.assemble("armature", [trunk, *legs])
    s = state(r, (), seed=2)
    dq, dv, _ = jacobians(r, s, lambda q, v, tau: r.forward_dynamics(q, v, tau, target="numpy"))
    for method in (m for m in lw.FORWARD_LINEARIZATIONS if m.startswith("algorithm")):
        found = r.linearize_forward(s.q, s.v, s.a, method=method, target="numpy")
        assert_close(found.dv, dv, 1e-8, method)
        assert_close(found.dq, dq, 1e-8, method)


@pytest.mark.parametrize("seed", range(4))
def test_hinges_by_complex_steps(seed):
    """To rounding, with gravity: joints whose configuration is a number."""
    r = lw.random_tree(7, seed=seed, joints=["revolute", "prismatic", "helical", "cylindrical", "universal"])
    s = state(r, (), seed)
    h = 1e-30

    def by_complex_steps(function, which):
        columns = []
        for e in np.eye(r.nv):
            x = [s.q.astype(complex), s.v.astype(complex), s.a.astype(complex)]
            x[which] = x[which] + 1j * h * e
            columns.append(function(*x).imag / h)
        return np.array(columns).T

    inverse = r.linearize_inverse(s.q, s.v, s.a)
    forward = r.linearize_forward(s.q, s.v, s.a)
    for i, (mine, theirs) in enumerate(
        zip((inverse.dq, inverse.dv, inverse.M), (forward.dq, forward.dv, forward.Minv))
    ):
        assert_close(mine, by_complex_steps(r.inverse_dynamics, i), 1e-12)
        assert_close(theirs, by_complex_steps(r.forward_dynamics, i), 1e-10)


@pytest.mark.parametrize("name", ROBOTS)
def test_products_are_those_of_the_matrices(name):
    r, s = robot(name), state(robot(name), (), seed=3)
    x, y, z, w = np.random.default_rng(5).normal(size=(4, r.nv))
    inverse = r.linearize_inverse(s.q, s.v, s.a, external=s.external)
    along = r.inverse_dynamics_jvp(s.q, s.v, s.a, x, y, z, external=s.external)
    assert_close(along, inverse.dq @ x + inverse.dv @ y + inverse.M @ z, 1e-12)
    g = r.inverse_dynamics_vjp(s.q, s.v, s.a, w, external=s.external)
    for mine, matrix in zip(g, (inverse.dq, inverse.dv, inverse.M)):
        assert_close(mine, matrix.T @ w, 1e-12)

    forward = r.linearize_forward(s.q, s.v, s.tau, external=s.external)
    expected = forward.dq @ x + forward.dv @ y + forward.Minv @ z
    for method in ("algorithm_3", "algorithm_5_ii"):
        assert_close(
            r.forward_dynamics_jvp(s.q, s.v, s.tau, x, y, z, external=s.external, method=method), expected, 1e-10
        )
    g = r.forward_dynamics_vjp(s.q, s.v, s.tau, w, external=s.external)
    for mine, matrix in zip(g, (forward.dq, forward.dv, forward.Minv)):
        assert_close(mine, matrix.T @ w, 1e-10)


@pytest.mark.parametrize("name", HOLONOMIC)
@pytest.mark.parametrize("which", ["inverse", "forward"])
def test_second_derivatives(name, which):
    """w·f(x ⊕ ξ) twice differentiated: symmetric, and what differences of first derivatives give."""
    r, s = robot(name), state(robot(name), (), seed=4)
    n = r.nv
    rng = np.random.default_rng(6)
    w, d, e = rng.normal(size=n), *rng.normal(size=(2, 3 * n))
    second = getattr(r, f"{which}_dynamics_hvp")

    def times(d):
        return np.concatenate(second(s.q, s.v, s.a, w, d[:n], d[n : 2 * n], d[2 * n :]))

    assert_close(e @ times(d), d @ times(e), 1e-9)

    function = getattr(r, f"{which}_dynamics")

    def value(t):
        return w @ function(r.integrate(s.q, t * d[:n]), s.v + t * d[n : 2 * n], s.a + t * d[2 * n :])

    h = 4e-3 / np.abs(d).max()
    numbers = [value(i * h) for i in range(-3, 4)]
    twice = np.dot([2, -27, 270, -490, 270, -27, 2], numbers) / (180 * h * h)
    assert_close(d @ times(d), twice, 1e-6)


def test_frames_of_reference_do_not_matter():
    """In link frames, in one frame, or in any mixture."""
    for name in ("tree", "floating", "arms", "panda"):
        r, s = robot(name), state(robot(name), (), seed=7)
        links = evaluate(r, s.q)
        paths = [r.path(k) for k in range(len(r.bodies))]
        roots, pairs = [path[0] for path in paths], [path[(len(path) - 1) // 2 * 2] for path in paths]
        tips = [max(k for k in range(len(paths)) if paths[k][0] == root) for root in roots]
        expected = algorithm_2(inverse_motion(r, s.q, s.v, s.a))
        x, y, z = np.random.default_rng(1).normal(size=(3, r.nv))
        for reference in (roots, pairs, tips):
            rates = velocity_terms(r, referred(links, reference), s.v)
            m = motion(rates, links.split(s.a), None, base_acceleration(r, s.q))
            for mine, reference in zip(algorithm_2(m), expected):
                assert_close(mine, reference, 1e-11)
            along = m.links.join(algorithm_1(m, *(links.split(d) for d in (x, y, z))))
            assert_close(along, expected[2] @ x + expected[1] @ y + expected[0] @ z, 1e-11)


@pytest.mark.parametrize("name", [*ALL, "arms", "hinges"])
def test_matrices_in_one_frame(name, monkeypatch):
    """As compiled code has them where axes are general: rotors, external forces, batches, either precision."""
    r = robot(name)
    s = state(r, (2,), seed=8)
    for call, method in ((r.linearize_inverse, "algorithm_2"), (r.linearize_forward, "algorithm_4")):
        expected = call(s.q, s.v, s.a, external=s.external, method=method, target="numpy")
        with monkeypatch.context() as patched:
            patched.setattr(models, "one_frame_pays", lambda links: True)
            found = call(s.q, s.v, s.a, external=s.external, method=method, target="numpy")
            singles = [x.astype(np.float32) for x in (s.q, s.v, s.a)]
            single = call(*singles, external=s.external.astype(np.float32), method=method, target="numpy")
        for mine, rough, reference in zip(found, single, expected):
            assert_close(mine, reference, 1e-11)
            assert rough.dtype == np.float32
            assert_close(rough, reference, 2e-3)


def test_one_frame_is_taken_where_it_saves_operations(monkeypatch):
    """And counted: chains and trees of general geometry, and not those of aligned axes."""
    monkeypatch.setenv("LINKWISE_CACHE", "off")

    def counts(r):
        with monkeypatch.context() as patched:
            found = r.compile("linearize_inverse", rolled=False).operations.total
            patched.setattr(models, "one_frame_pays", lambda links: False)
            in_links = r.compile("linearize_inverse", rolled=False).operations.total
            patched.setattr(models, "one_frame_pays", lambda links: True)
            return found, in_links, r.compile("linearize_inverse", rolled=False).operations.total

    for r, share in ((lw.chain(9, seed=1), 0.92), (lw.random_tree(8, seed=1), 0.8)):
        found, in_links, in_one = counts(r)
        assert found == in_one < share * in_links
    for name in ("panda", "quadruped"):
        found, in_links, in_one = counts(robot(name))
        assert found == in_links < in_one


# --- which method --------------------------------------------------------------------------------------


def test_what_is_not_admitted_says_why():
    r, s = robot("hinges"), state(robot("hinges"), ())
    rotor = next(b.name for b in r.bodies if b.joint.rotor is not None and b.joint.rotor.axis is not None)
    for method in ("algorithm_5", "algorithm_6"):
        with pytest.raises(lw.NotAdmittedError, match=rf"spinning rotor .*{rotor}"):
            r.linearize_forward(s.q, s.v, s.tau, method=method)
    with pytest.raises(lw.NotAdmittedError, match="spinning rotor"):
        r.linearize_inverse(s.q, s.v, s.a, method="lemma_3_1")
    r, s = robot("universal"), state(robot("universal"), ())
    with pytest.raises(lw.NotAdmittedError, match="universal"):
        r.linearize_inverse(s.q, s.v, s.a, method="lemma_3_2")
    r, s = robot("panda"), state(robot("panda"), ())
    with pytest.raises(lw.NotAdmittedError, match="external"):
        r.linearize_forward(s.q, s.v, s.tau, external=s.external, method="lemma_4_6")


def test_unknown_methods_list_the_known_ones():
    r, s = robot("panda"), state(robot("panda"), ())
    with pytest.raises(lw.UnknownNameError, match="algorithm_2.*lemma_3_1"):
        r.linearize_inverse(s.q, s.v, s.a, method="algorithm_7")
    with pytest.raises(lw.UnknownNameError, match="algorithm_6.*lemma_4_9"):
        r.linearize_forward(s.q, s.v, s.tau, method="algorithm_1")
    with pytest.raises(lw.UnknownNameError, match="algorithm_5_ii"):
        r.forward_dynamics_jvp(s.q, s.v, s.tau, s.v, s.v, s.v, method="algorithm_6")


def test_a_robot_without_inertia_is_named():
    bodies = [
        lw.Body("arm", lw.Revolute("y"), lw.Inertia.point(1.0, (0, 0, 1))),
        lw.Body("tip", lw.Revolute("x"), parent="arm"),
    ]
    r = lw.assemble("light", bodies)
    for method in ("algorithm_4", "algorithm_6"):
        with pytest.raises(lw.SingularError, match="'tip'"):
            r.linearize_forward([0.1, 0.2], [0, 0], [0, 0], method=method)


# --- state space ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOLONOMIC)
def test_state_space_is_how_neighbouring_motions_part(name):
    """d/dt of (q ⊖ q', v − v') for two motions that start close to each other."""
    r, s = robot(name), state(robot(name), (), seed=8)
    A, B, _ = r.linearize_forward(s.q, s.v, s.tau).state_space()
    x, y, u = np.random.default_rng(9).normal(size=(3, r.nv))

    def parting(t):
        """The rate of change of the distance between the motion and its neighbour x, y, u away, scaled by t."""
        q, v, tau = r.integrate(s.q, t * x), s.v + t * y, s.tau + t * u

        def apart(h):
            return r.difference(r.integrate(s.q, h * s.v), r.integrate(q, h * v))

        a = r.forward_dynamics(q, v, tau) - r.forward_dynamics(s.q, s.v, s.tau)
        return np.concatenate([derivative(apart), a])

    assert_close(A @ np.concatenate([x, y]) + B @ u, derivative(parting), 1e-6)


def test_discrete_models():
    from scipy.linalg import expm

    r, s = robot("panda"), state(robot("panda"), (2,), seed=1)
    x = r.linearize_forward(s.q, s.v, s.tau)
    A, B, _ = x.state_space()
    Ad, Bd, step = x.state_space(step=0.01)
    assert step == 0.01 and Ad.shape == (2, 14, 14) and Bd.shape == (2, 14, 7)
    for i in range(2):
        both = expm(0.01 * np.block([[A[i], B[i]], [np.zeros((7, 21))]]))
        assert_close(Ad[i], both[:14, :14], 1e-12)
        assert_close(Bd[i], both[:14, 14:], 1e-12)
    for step in (0.0, -0.1, np.nan, np.inf):
        with pytest.raises(lw.InputError, match="the step of a discrete model must be (finite|greater than 0)"):
            x.state_space(step=step)


@pytest.mark.parametrize("size", [0.0, 1e-8, 0.3, 5.0, 80.0])
def test_matrix_exponential(size):
    from scipy.linalg import expm

    X = size * np.random.default_rng(1).normal(size=(3, 5, 5)) / 5
    assert_close(matrix_exponential(X), np.array([expm(x) for x in X]), 1e-11)


def test_state_space_of_compiled_results_needs_the_robot():
    r, s = robot("spherical"), state(robot("spherical"), ())
    x = r.linearize_forward(s.q, s.v, s.tau)
    bare = type(x)(*x)
    with pytest.raises(lw.InputError, match=r"state_space\(robot=robot, v=v\)"):
        bare.state_space()
    for mine, theirs in zip(bare.state_space(robot=r, v=s.v)[:2], x.state_space()[:2]):
        assert_close(mine, theirs, 0.0)


def test_python_control():
    """The same system there: poles, time, the answer to a held input, and its own sampling."""
    control = pytest.importorskip("control")
    r, s = robot("panda"), state(robot("panda"), (), seed=6)
    x = r.linearize_forward(s.q, s.v, s.tau)
    model, sampled = x.state_space(), x.state_space(step=0.02)
    theirs = model.to_control()
    assert isinstance(theirs, control.StateSpace) and theirs.isctime() and theirs.name
    assert (theirs.nstates, theirs.ninputs, theirs.noutputs) == (14, 7, 14)
    assert_close(np.sort_complex(control.poles(theirs)), np.sort_complex(np.linalg.eigvals(model.A)), 1e-9)

    mine, by_control = sampled.to_control(), control.c2d(theirs, 0.02, method="zoh")
    assert mine.isdtime(strict=True) and mine.dt == 0.02
    for a, b in ((mine.A, by_control.A), (mine.B, by_control.B), (mine.C, np.eye(14)), (mine.D, np.zeros((14, 7)))):
        assert_close(a, b, 1e-11)

    start, push = np.random.default_rng(7).normal(size=(2, 14))
    push = push[:7]
    held = control.forced_response(theirs, [0.0, 0.02], np.stack([push, push], axis=1), start).states[:, -1]
    assert_close(sampled.A @ start + sampled.B @ push, held, 1e-9)


def test_python_control_with_outputs_of_ones_own():
    pytest.importorskip("control")
    r, s = robot("spherical"), state(robot("spherical"), ())
    model, n = r.linearize_forward(s.q, s.v, s.tau).state_space(), r.nv
    only_positions = np.eye(n, 2 * n)
    theirs = model.to_control(C=only_positions)
    assert_close(theirs.C, only_positions, 0.0)
    assert theirs.D.shape == (n, n) and not theirs.D.any()
    felt = model.to_control(C=model.A[n:], D=model.B[n:])  # accelerations
    assert_close(felt.D, model.B[n:], 0.0)
    with pytest.raises(lw.InputError, match=rf"C must have shape \(outputs, {2 * n}\)"):
        model.to_control(C=np.eye(n))
    with pytest.raises(lw.InputError, match="D must have shape"):
        model.to_control(C=only_positions, D=np.eye(n + 1))


def test_python_control_takes_one_system():
    pytest.importorskip("control")
    r, s = robot("panda"), state(robot("panda"), (2,))
    with pytest.raises(lw.InputError, match=r"one system.*batch shape \(2,\)"):
        r.linearize_forward(s.q, s.v, s.tau).state_space().to_control()


def test_without_python_control(monkeypatch):
    r, s = robot("panda"), state(robot("panda"), ())
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(lw.MissingExtraError, match="pip install control"):
        r.linearize_forward(s.q, s.v, s.tau).state_space().to_control()


def test_non_holonomic_joints_have_no_state_space():
    r, s = robot("custom_skate"), state(robot("custom_skate"), ())
    with pytest.raises(lw.NotAdmittedError, match="non-holonomic"):
        r.linearize_forward(s.q, s.v, s.tau).state_space()


# --- frames and operational space ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("axes", ["world", "local"])
def test_frames(name, axes):
    r, s = robot(name), state(robot(name), (), seed=5)
    tip = r.tips[-1]
    x, y, z = np.random.default_rng(3).normal(size=(3, r.nv))
    found = r.linearize_acceleration(s.q, s.v, s.a, tip, axes=axes)
    moved = derivative(lambda t: r.acceleration(r.integrate(s.q, t * x), s.v + t * y, s.a + t * z, tip, axes=axes))
    assert_close(found.dq @ x + found.dv @ y + found.J @ z, moved, 1e-9)
    assert_close(found.J, r.jacobian(s.q, tip, axes=axes), 1e-13)
    found = r.linearize_velocity(s.q, s.v, tip, axes=axes)
    moved = derivative(lambda t: r.velocity(r.integrate(s.q, t * x), s.v + t * y, tip, axes=axes))
    assert_close(found.dq @ x + found.dv @ y, moved, 1e-9)


def test_bias_acceleration_is_the_acceleration_at_rest_of_a():
    r, s = robot("panda"), state(robot("panda"), (), seed=5)
    x, y = np.random.default_rng(3).normal(size=(2, 7))
    found = r.linearize_acceleration(s.q, s.v, np.zeros(7), "tcp")
    moved = derivative(lambda t: r.jacobian_dot_v(s.q + t * x, s.v + t * y, "tcp"))
    assert_close(found.dq @ x + found.dv @ y, moved, 1e-9)


@pytest.mark.parametrize("name", ["panda", "humanoid", "arms", "tree"])
def test_tips_under_joint_and_external_forces(name):
    """The chain of both linearisations, for a batch."""
    r, s = robot(name), state(robot(name), (2,), seed=6)
    x, y, z = np.random.default_rng(3).normal(size=(3, r.nv))
    frame = r.tips[-1]

    def felt(t):
        q, v = r.integrate(s.q, t * x), s.v + t * y
        return r.acceleration(q, v, r.forward_dynamics(q, v, s.tau + t * z, external=s.external), frame)

    under = r.linearize_forward(s.q, s.v, s.tau, external=s.external)
    tip = r.linearize_acceleration(s.q, s.v, r.forward_dynamics(s.q, s.v, s.tau, external=s.external), frame)
    found = (tip.dq + tip.J @ under.dq) @ x + (tip.dv + tip.J @ under.dv) @ y + tip.J @ under.Minv @ z
    assert_close(found, derivative(felt), 1e-8)


def test_the_world_does_not_move():
    r, s = robot("panda"), state(robot("panda"), (2,))
    for part in (*r.linearize_velocity(s.q, s.v, "world"), *r.linearize_acceleration(s.q, s.v, s.a, "world")):
        assert part.shape == (2, 6, 7) and not part.any()
    for target in ("numpy", "cpu"):
        change = r.operational_compliance_derivative(s.q, "world", target=target)
        assert change.shape == (2, 6, 6, 7) and not change.any()
        both = r.operational_compliance_derivative(s.q, ["world", r.tips[0]], target=target)
        alone = r.operational_compliance_derivative(s.q, r.tips[0], target=target)
        assert not both[:, :6].any() and not both[:, :, :6].any()
        assert_close(both[:, 6:, 6:], alone, 1e-12)


@pytest.mark.parametrize("name", ["panda", "arms", "humanoid", "tree", "spherical"])
def test_operational_space(name):
    r, s = robot(name), state(robot(name), (), seed=5)
    frames = list(r.tips)[:2]
    x = np.random.default_rng(3).normal(size=r.nv)
    moved = derivative(lambda t: r.operational_compliance(r.integrate(s.q, t * x), frames))
    assert_close(r.operational_compliance_derivative(s.q, frames) @ x, moved, 1e-8)
    if name in ("panda", "arms", "humanoid"):
        moved = derivative(lambda t: r.operational_inertia(r.integrate(s.q, t * x), frames[:1]))
        assert_close(r.operational_inertia_derivative(s.q, frames[:1]) @ x, moved, 1e-7)
