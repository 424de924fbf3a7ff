"""The form that needs the fewest operations: the same joint-space results, to rounding, on any geometry."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.model.normal_form import normal_form


def arm(tilt, length=0.4, offset=0.1):
    """Six hinges; the middle three are parallel but for ``tilt`` [rad], as after a calibration."""
    rpy = [(0, 0, 0), (np.pi / 2, 0, 0), (tilt, 0, 0.1), (0, tilt, 0.2), (np.pi / 2, 0, 0), (-np.pi / 2, 0, 0)]
    bodies = []
    for i, turn in enumerate(rpy):
        joint = lw.Joint(lw.Revolute("z"), at=(length, offset, 0.05 * i), rpy=turn)
        inertia = lw.Inertia(2.0 - 0.2 * i, com=(0.2, 0.02, 0.05), tensor=np.diag([0.02, 0.03, 0.025]))
        bodies.append(lw.Body(f"b{i}", joint, inertia, f"b{i - 1}" if i else None))
    return lw.assemble("arm", bodies)


def states(robot, batch=6):
    rng = np.random.default_rng(0)
    return robot.random_configuration(rng, batch), *rng.normal(size=(2, batch, robot.nv))


@pytest.mark.parametrize("slide", [True, False])
@pytest.mark.parametrize("tilt", [0.0, 1e-15, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-3, 2e-3, 1e-2, 0.1])
def test_axes_that_are_nearly_parallel_lose_nothing(tilt, slide):
    robot = arm(tilt)
    form = normal_form(robot, slide)[0]
    q, v, x = states(robot)
    for name in ("forward_dynamics", "inverse_dynamics"):
        expected = getattr(robot, name)(q, v, x, target="numpy")
        found = getattr(form, name)(q, v, x, target="numpy")
        assert np.abs(found - expected).max() <= 2e-12 * np.abs(expected).max()


@pytest.mark.parametrize("tilt", [0.0, 1e-5, 1e-3, 1e-2])
def test_single_precision_is_as_good_as_in_the_users_frames(tilt):
    robot = arm(tilt)
    q, v, x = states(robot, 50)
    exact = robot.forward_dynamics(q, v, x, target="numpy")
    single = [y.astype(np.float32) for y in (q, v, x)]
    plain = np.abs(robot.forward_dynamics(*single, target="numpy") - exact).max()
    assert np.abs(robot.compile("forward_dynamics")(*single) - exact).max() <= 8 * plain


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("seed", range(4))
def test_any_tree_at_any_scale(seed, scale):
    tree = lw.random_tree(7, seed=seed)
    bodies = []
    for b in tree.bodies:
        p = b.joint.placement
        joint = lw.Joint(b.joint.kind, name=b.joint.name, at=scale * p.l, rotation=p.R)
        i = b.inertia
        inertia = lw.Inertia(i.mass, com=scale * np.array(i.com), tensor=scale**2 * np.array(i.tensor))
        bodies.append(lw.Body(b.name, joint, inertia, b.parent))
    robot = lw.assemble("scaled", bodies)
    q = states(robot)[0]
    expected = robot.mass_matrix(q, target="numpy")
    for slide in (True, False):
        found = normal_form(robot, slide)[0].mass_matrix(q, target="numpy")
        size = np.sqrt(np.einsum("...ii->...i", expected))
        assert (np.abs(found - expected) <= 1e-11 * size[..., :, None] * size[..., None, :]).all()


def test_frames_may_coincide_and_links_may_be_massless():
    bodies = [lw.Body("a", lw.Joint(lw.Revolute("x")), lw.Inertia(0.0))]
    bodies.append(lw.Body("b", lw.Joint(lw.Revolute("x")), lw.Inertia(0.0), "a"))
    bodies.append(lw.Body("c", lw.Joint(lw.Revolute("y")), lw.Inertia(1.0, com=(0, 0, 1), tensor=np.eye(3)), "b"))
    robot = lw.assemble("heap", bodies)
    q, v, x = states(robot)
    expected = robot.inverse_dynamics(q, v, x, target="numpy")
    assert np.allclose(robot.compile("inverse_dynamics")(q, v, x), expected, atol=1e-13)


class Sprung(lw.Revolute):
    """A user's own kind, as its base moves."""


class Geared(lw.Revolute):
    """A user's own kind that moves otherwise than its base."""

    def transform(self, q):
        return super().transform(2.0 * q)

    def map(self, q):
        return 2.0 * super().map(q)


@pytest.mark.parametrize("kind", [Sprung("y"), Sprung((0.6, 0.0, 0.8)), Geared("y")])
def test_kinds_of_the_users_own_keep_their_frames_and_inertias(kind):
    robot = lw.chain(3, joint=kind)
    q, v, x = states(robot)
    form = normal_form(robot)[0]
    for name in ("forward_dynamics", "inverse_dynamics"):
        expected = getattr(robot, name)(q, v, x, target="numpy")
        for found in (getattr(form, name)(q, v, x, target="numpy"), getattr(robot, name)(q, v, x, target="cpu")):
            assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()


def test_both_forms_are_found_once_each():
    """And neither is handed out for the other, nor to a robot with other numbers."""
    robot = arm(0.1)
    forms = [normal_form(robot, slide)[0] for slide in (True, False)]
    assert all(normal_form(robot, slide)[0] is form for slide, form in zip((True, False), forms))
    places = [np.array([c.placement.l for c in form.constants()]) for form in forms]
    assert np.abs(places[0] - places[1]).max() > 1e-3
    placed = normal_form(robot)[1]
    placed.clear()  # whoever has the list may do so
    assert len(normal_form(robot)[1]) == 6
    other = normal_form(robot.with_gravity((0, 0, 1)))[0]
    assert other is not forms[0] and not np.allclose(other.gravity, forms[0].gravity)
