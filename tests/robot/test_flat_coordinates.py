"""Flat coordinates: unit mass matrix, straight lines without forces, and there and back again."""

import numpy as np
import pytest
from trees import assert_close

import linkwise as lw


def link(name, joint, mass, x, parent=None, at=(0, 0, 0), inertia=0.1):
    tensor = inertia * np.eye(3) if inertia else np.zeros((3, 3))
    return lw.Body(name, lw.Joint(joint, at=at), lw.Inertia(mass, (x, 0, 0), tensor), parent)


def polar():
    """A point mass on a hinge and a slider: polar coordinates of the plane."""
    return lw.assemble(
        "polar",
        [
            link("turn", lw.Revolute("z"), 0.0, 0.0, inertia=0.0),
            link("slide", lw.Prismatic("x"), 2.0, 0.0, "turn", inertia=0.0),
        ],
        gravity=(0, 0, 0),
    )


def puck():
    return lw.assemble("puck", [link("puck", lw.Planar(), 1.0, 0.2)], gravity=(0, 0, 0))


def gantry():
    return lw.chain(3, joint="prismatic", seed=0).with_gravity((0, 0, 0))


CASES = {
    "polar": (polar, [0.2, 1.5]),
    "puck": (puck, [0.1, -0.3, 0.4]),
    "gantry": (gantry, [0.0, 0.0, 0.0]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_factor_is_the_gradient_and_a_root_of_the_mass_matrix(name):
    make, origin = CASES[name]
    r = make()
    f = r.flat_coordinates(origin)
    q = np.asarray(origin) + 0.4 * np.random.default_rng(0).normal(size=(2, 3, r.nv))
    m, y = f.factor(q), f(q)
    assert y.shape == (2, 3, r.nv)
    assert_close(m @ m.swapaxes(-1, -2), r.mass_matrix(q), 1e-9)
    nudges = 1e-4 * np.concatenate([np.eye(r.nv), -np.eye(r.nv)])[:, None, None]
    ahead, behind = np.split(f(r.integrate(q, nudges)), 2)
    assert_close(np.moveaxis(ahead - behind, 0, -2) / 2e-4, m, 1e-7)  # ∂y/∂θ_i is row i of m
    assert_close(f.configuration(y), q, 1e-8)
    assert not f(origin).any()


def test_polar_coordinates_become_the_plane():
    """y is √m times the position, in axes of the origin: known in closed form."""
    r = polar()
    f = r.flat_coordinates([0.0, 1.0])
    q = np.array([[0.7, 2.0], [-1.2, 0.4]])
    place = q[:, 1:] * np.stack([np.cos(q[:, 0]), np.sin(q[:, 0])], axis=-1) - [1.0, 0.0]
    assert_close(np.abs(f(q)), np.abs(np.sqrt(2.0) * place[:, ::-1]), 1e-10)


@pytest.mark.parametrize("name", CASES)
def test_motion_is_that_of_a_free_point(name):
    """Without forces y goes straight on, although C(θ, ν) need not vanish; with forces ÿ = ℓT (Lemma 2.1)."""
    make, origin = CASES[name]
    r = make()
    f = r.flat_coordinates(origin)
    v = 0.3 * np.random.default_rng(1).normal(size=r.nv)
    run = lw.simulate(r, np.array(origin), v, duration=0.5, step=0.01, method="runge_kutta_4", target="numpy")
    y = f(run.q)
    straight = np.outer(run.time, f.factor(origin).T @ v)
    assert np.abs(y - straight).max() < 1e-7 * np.abs(straight).max()
    tau = np.linspace(0.5, -0.3, r.nv)
    pushed = lw.simulate(
        r, np.array(origin), v, lambda t, q, v: tau, duration=0.02, step=0.01, target="numpy", method="runge_kutta_4"
    )
    before, at, after = f(pushed.q)
    wanted = np.linalg.solve(f.factor(pushed.q[1]), tau)
    assert_close((after - 2 * at + before) / 1e-4, wanted, 1e-3)


def test_robots_with_curvature_are_refused():
    with pytest.raises(lw.NotAdmittedError, match=r"'panda'.*curvature"):
        lw.load("panda").flat_coordinates()


def test_bad_arguments():
    f = gantry().flat_coordinates()
    for call, message in (
        (lambda: f([0, 1]), r"\(..., 3\)"),
        (lambda: f([0, 1, np.nan]), "finite"),
        (lambda: f.configuration([0, np.inf, 0]), "finite"),
        (lambda: f.configuration("far"), "y"),
        (lambda: gantry().flat_coordinates(np.zeros((2, 3))), "one configuration"),
    ):
        with pytest.raises(lw.InputError, match=message):
            call()
    assert f(np.zeros((0, 3))).shape == (0, 3)
