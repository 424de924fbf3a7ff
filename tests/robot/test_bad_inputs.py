"""What is refused, and how: every error is linkwise's own, names the culprit and says what was wanted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from methods import CALLS, inputs
from trees import KINDS, robot

import linkwise as lw


@pytest.fixture(scope="module")
def r():
    return robot("arms")


def length(r, field):
    return {"q": r.nq, "external": 6, "force": 6}.get(field, r.nv)


# --- shapes and kinds --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CALLS)
def test_wrong_lengths(r, name):
    good = inputs(r, (2,))
    for field in CALLS[name].reads:
        for bad in (np.zeros((2, length(r, field) + 1)), np.zeros(length(r, field) - 1), np.float64(1.0)):
            with pytest.raises((lw.InputError, lw.SpaceError), match=str(length(r, field))):
                CALLS[name](r, good.changed(field, bad))


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_array_of_numbers(r, name):
    good = inputs(r)
    for field in CALLS[name].reads:
        n = length(r, field)
        for bad in (
            "abc",
            ["a"] * n,
            [[1.0, 2.0], [3.0]],
            {"a": 1},
            [None] * n,
            np.array(["2020"] * n, "datetime64"),
        ):
            with pytest.raises(lw.InputError):
                CALLS[name](r, good.changed(field, bad))


@pytest.mark.parametrize("name", [n for n in CALLS if len(CALLS[n].reads) > 1])
def test_batches_that_do_not_fit(r, name):
    """(2,) beside (3,); the message shows the shapes."""
    two, three = inputs(r, (2,)), inputs(r, (3,))
    for field in CALLS[name].reads:
        with pytest.raises((lw.InputError, lw.SpaceError), match=r"\(3,.*\(2|\(2,.*\(3|2.*3|3.*2"):
            CALLS[name](r, two.changed(field, getattr(three, field)))


def test_messages_name_the_argument_and_the_robot(r):
    with pytest.raises(lw.InputError, match=r"q must have shape \(\.\.\., 27\) for robot 'random_tree9'.*\(26,\)"):
        r.mass_matrix(np.zeros(26))
    with pytest.raises(lw.InputError, match="batches come first: pass shape \\(4, 23\\)"):
        r.mass_times(r.neutral(), np.zeros((23, 4)))
    with pytest.raises(lw.InputError, match="tau must hold numbers, got dtype <U3"):
        r.mass_solve(r.neutral(), "abc")
    with pytest.raises(lw.InputError, match=r"external must have shape \(\.\.\., 9, 6\).*wrenches"):
        r.bias_force(r.neutral(), np.zeros(23), external=np.zeros(6))
    with pytest.raises(lw.InputError, match="the force on 'world' must have shape"):
        r.wrenches(r.neutral(), {"world": np.zeros(5)})


def test_errors_are_value_errors_too(r):
    with pytest.raises(ValueError):
        r.mass_matrix(np.zeros(3))
    with pytest.raises(KeyError):
        r.pose(r.neutral(), "nowhere")


_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(width=32),
    st.complex_numbers(max_magnitude=10),
    st.text(max_size=3),
    st.binary(max_size=3),
)
_nested = st.recursive(_values, lambda x: st.lists(x, max_size=4), max_leaves=12)


@given(_nested)
def test_anything_at_all_is_taken_or_refused(x):
    """No input escapes as an error of NumPy's or Python's own."""
    r = robot("chain4")
    try:
        out = r.mass_matrix(x)
    except lw.LinkwiseError:
        return
    assert out.shape == (*np.shape(x)[:-1], 4, 4)


# --- quaternions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["spherical", "free", "custom_skate"])
def test_quaternions_without_length(kind):
    r = lw.random_tree(2, seed=0, joints=[KINDS[kind]])
    q = np.stack([r.neutral(), r.neutral()])
    second = r.q_slices[1]
    q[1, second.stop - 4 : second.stop] = 0.0
    for name, call in CALLS.items():
        x = inputs(r, (2,)).changed("q", q)
        with pytest.raises(lw.InputError, match=f"joint {r.joints[1].name!r} has a quaternion of zero length"):
            call(r, x)
            pytest.fail(f"{name} took it")


@pytest.mark.parametrize("size", [1e-160, 1e160])
@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_quaternions_whose_squares_are_no_numbers(size, target):
    r = lw.assemble("ball", [lw.Body("a", lw.Joint(lw.Spherical(), "socket"), lw.Inertia.sphere(1.0, 0.1))])
    far = np.array([0.0, 0.0, 0.0, size])
    said = f"joint 'socket' has a quaternion of length about {size:.0e}".replace("+", r"\+")
    with pytest.raises(lw.InputError, match=said):
        r.pose(far, "a", target=target)
    with pytest.raises(lw.InputError, match=said):
        lw.simulate(r, far, duration=0.01, target=target)


def test_quaternions_need_not_be_normalised():
    r = robot("arms")
    x = inputs(r, (2,))
    scaled = x.q.copy()
    for joint, own in zip(r.joints, r.q_slices):
        if joint.kind.nq != joint.kind.nv and joint.kind.kind in ("spherical", "free"):
            scaled[:, own.stop - 4 : own.stop] *= 3.0
    assert np.allclose(r.forward_dynamics(scaled, x.v, x.tau), r.forward_dynamics(x.q, x.v, x.tau), rtol=1e-10)


# --- names -------------------------------------------------------------------------------------------


def test_unknown_frames(r):
    q, v = r.neutral(), np.zeros(r.nv)
    calls = (
        lambda f: r.pose(q, f),
        lambda f: r.velocity(q, v, f),
        lambda f: r.acceleration(q, v, v, f),
        lambda f: r.jacobian(q, f),
        lambda f: r.jacobian_dot_v(q, v, f),
        lambda f: r.jacobian_force(q, np.zeros(6), f),
        lambda f: r.jacobian_outer(q, f),
        lambda f: r.jacobian_inner(q, f),
        lambda f: r.jacobian_inner_inverse(q, f),
        lambda f: r.wrenches(q, {f: np.zeros(6)}),
        lambda f: r.operational_inertia(q, f),
        lambda f: r.operational_compliance(q, ["body1", f]),
        lambda f: r.operational_bias(q, v, f),
        lambda f: r.consistent_inverse(q, f),
        lambda f: r.tip_force_correction(q, np.zeros(6), f),
        lambda f: r.operators(q, frames=[f]),
    )
    for call in calls:
        with pytest.raises(lw.UnknownNameError, match="'nowhere'.*'body1'"):
            call("nowhere")
    with pytest.raises(lw.UnknownNameError, match="'lost'"):
        r.pose(q, lw.Frame("f", "lost"))
    with pytest.raises(lw.InputError, match="at least one frame"):
        r.operational_compliance(q, [])


def test_unknown_methods(r):
    x = inputs(r)
    with pytest.raises(lw.UnknownNameError, match="'magic'.*articulated_body.*armstrong.*rosenthal"):
        r.forward_dynamics(x.q, x.v, x.tau, method="magic")
    with pytest.raises(lw.UnknownNameError, match="'magic'"):
        r.forward_quantities(x.q, x.v, x.tau, method="magic")
    with pytest.raises(lw.UnknownNameError, match="newton_euler, composite_body"):
        r.inverse_dynamics(x.q, x.v, x.a, method="magic")
    with pytest.raises(lw.UnknownNameError, match="composite, symmetric, direct"):
        r.mass_matrix(x.q, method="magic")


def test_unknown_joints_and_axes(r):
    x = inputs(r)
    with pytest.raises(lw.UnknownNameError, match="no joint is named 'body1'; robot.*'root_joint'"):
        r.hybrid_dynamics(x.q, x.v, x.a, x.tau, ["body1"])
    with pytest.raises(lw.InputError, match="a list of joint names, got the string 'root_joint'"):
        r.hybrid_dynamics(x.q, x.v, x.a, x.tau, "root_joint")
    for call in (r.velocity, lambda *y, axes: r.acceleration(*y[:2], x.a, y[2], axes=axes)):
        with pytest.raises(lw.InputError, match="no choice of axes is named 'body'; choose from world, local"):
            call(x.q, x.v, "body1", axes="body")


# --- robots without joints ---------------------------------------------------------------------------


@pytest.mark.parametrize("bodies", [[], [lw.Body("stone", lw.Fixed(), lw.Inertia.box(1, (1, 1, 1)))]])
def test_nothing_moves(bodies):
    """Robots without degrees of freedom answer with empty arrays, or say why they cannot."""
    r = lw.assemble("still", bodies, [lw.Frame("here")] if not bodies else [])
    frame = "here" if not bodies else "stone"
    empty = np.zeros((3, 0))
    external = np.ones((3, len(bodies), 6))
    for method in lw.FORWARD_METHODS:
        assert r.forward_dynamics(empty, empty, empty, external=external, method=method).shape == (3, 0)
    assert r.inverse_dynamics(empty, empty, empty, external=external).shape == (3, 0)
    assert [x.shape for x in r.hybrid_dynamics(empty, empty, empty, empty, [], external=external)] == [(3, 0), (3, 0)]
    assert r.mass_matrix(empty).shape == r.mass_matrix_inverse(empty).shape == (3, 0, 0)
    assert r.coriolis_matrix(empty, empty).shape == (3, 0, 0)
    assert r.jacobian(empty, frame).shape == (3, 6, 0)
    assert r.wrenches(empty, {frame: np.ones(6)}).shape == external.shape
    assert r.link_forces(empty, empty, empty).shape == external.shape
    assert not r.velocity(empty, empty, frame).any()
    assert not r.kinetic_energy(empty, empty).any() and not r.log_det_mass(empty).any()
    with pytest.raises(lw.SingularError, match="in 3 of 3 states"):
        r.operational_inertia(empty, frame)
