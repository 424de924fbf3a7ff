"""Beams against closed forms: roots, integrals, ends, loads, shortening (math notes 5.3 to 5.6)."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.model.flexible.beams import bending_modes

CLAMPED_FREE = [1.875104068711961, 4.694091132974175, 7.854757438237613, 10.995540734875467]
L, M, EI = 1.3, 2.1, 7.0


def beam(**options):
    return lw.Flexible.beam(**({"length": L, "mass": M, "stiffness": EI, "modes": (4, 0)} | options))


def test_roots_of_a_clamped_beam():
    found = [mode.b for mode in bending_modes(12)]
    np.testing.assert_allclose(found[:4], CLAMPED_FREE, rtol=1e-15)
    np.testing.assert_allclose(found[11], 11.5 * np.pi, rtol=1e-14)


def test_shapes_keep_their_digits_at_high_modes():
    """As the textbooks write them, all are lost at the twelfth mode."""
    for i, mode in enumerate(bending_modes(16)):
        tip = np.array([1.0])
        assert mode(tip)[0] == pytest.approx(2.0 * (-1) ** i, rel=1e-12)
        assert mode.curvature(tip)[0] == pytest.approx(0.0, abs=1e-11 * mode.b**2)
    b, x = bending_modes(12)[11].b, 0.9
    sigma = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
    textbook = np.cosh(b * x) - np.cos(b * x) - sigma * (np.sinh(b * x) - np.sin(b * x))
    assert abs(textbook - bending_modes(12)[11](np.array([x]))[0]) > 1e-3


@pytest.mark.parametrize(
    ("end", "condition", "first"),
    [
        ("pinned", lambda b: np.tan(b) - np.tanh(b), 3.926602312047919),
        ("clamped", lambda b: np.cos(b) * np.cosh(b) - 1, 4.730040744862704),
        ("guided", lambda b: np.tan(b) + np.tanh(b), 2.365020372431352),
    ],
)
def test_other_ends(end, condition, first):
    modes = bending_modes(3, end)
    assert modes[0].b == pytest.approx(first, rel=1e-14)
    for mode in modes:
        assert abs(condition(mode.b)) < 1e-9 * np.cosh(mode.b)


@pytest.mark.parametrize(("share", "b"), [(0.5, 1.419964430), (1.0, 1.247917410), (5.0, 0.870021459)])
def test_a_beam_that_carries_a_mass(share, b):
    assert bending_modes(1, "free", share)[0].b == pytest.approx(b, abs=1e-9)
    loaded = beam(tip_mass=share * M)
    tip = loaded.node("tip").shape
    mass = loaded.mass_matrix()[:4, :4] + share * M * tip.T @ tip
    np.testing.assert_allclose(mass - np.diag(np.diag(mass)), 0, atol=1e-11)  # its modes are orthogonal with the load
    np.testing.assert_allclose(loaded.stiffness[0] / mass[0, 0], (b / L) ** 4 * EI * L / M, rtol=1e-8)


def test_a_beam_that_carries_inertia():
    mu, gamma = 0.7, 0.3
    b = bending_modes(2, "free", mu, gamma)[1].b
    c, s, ch, sh = np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)
    residual = (  # 1 + cc + μb(c sh − s ch) − γb³(c sh + s ch) + μγb⁴(1 − c ch)
        1 + c * ch + mu * b * (c * sh - s * ch) - gamma * b**3 * (c * sh + s * ch) + mu * gamma * b**4 * (1 - c * ch)
    )
    assert abs(residual) < 1e-9 * b**4 * ch


def test_integrals_of_a_clamped_beam():
    """∫φ_iφ_j = Lδ, ∫φ = 2σ/β, ∫xφ = 2/β², ∫φ″φ″ = β⁴L, φ(L) and φ'(L)."""
    x, b = beam(), np.array(CLAMPED_FREE)
    sigma = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
    found, rho, beta = x.integrals(), M / L, b / L
    np.testing.assert_allclose(found["M"], M * np.eye(4), atol=1e-13)
    np.testing.assert_allclose(found["h"][:, 1], rho * 2 * sigma / beta, rtol=1e-13)
    np.testing.assert_allclose(found["c"][:, 2], rho * 2 / beta**2, rtol=1e-12)
    np.testing.assert_allclose(x.stiffness, EI * beta**4 * L, rtol=1e-12)
    signs = np.array([1, -1, 1, -1])
    np.testing.assert_allclose(x.node("tip").shape[1], 2 * signs, rtol=1e-13)
    np.testing.assert_allclose(x.node("tip").turn[2], 2 * beta * sigma * signs, rtol=1e-13)
    np.testing.assert_allclose(x.frequencies, beta**2 * np.sqrt(EI / rho), rtol=1e-13)
    np.testing.assert_allclose(beam(damping=0.03).damping, 2 * 0.03 * M * x.frequencies, rtol=1e-13)


def test_planes():
    """The lowest modes of both planes, along z first where they are alike; a node turns with the slope."""
    x = beam(modes=4)
    tip = x.node("tip")
    assert [int(np.abs(column).argmax()) for column in tip.shape.T] == [2, 1, 2, 1]
    assert tip.shape[2, 0] == tip.shape[1, 1] == pytest.approx(2.0, rel=1e-14)
    assert tip.turn[1, 0] == -tip.turn[2, 1] < 0
    stiff = beam(modes=3, stiffness=(7.0, 700.0)).node("tip").shape
    assert [int(np.abs(column).argmax()) for column in stiff.T] == [1, 1, 2]
    both = beam(modes=(2, 1)).node("tip").shape
    assert [int(np.abs(column).argmax()) for column in both.T] == [1, 1, 2]


def test_lengthening_and_twisting():
    x = beam(modes=0, axial_stiffness=400.0, axial_modes=2, torsion_stiffness=3.0, torsion_modes=1, gyration=0.05)
    odd = np.array([0.5, 1.5]) * np.pi
    along, about = odd * np.sqrt(400.0 / (M * L)), odd[0] * np.sqrt(3.0 / (L * M)) / 0.05
    np.testing.assert_allclose(x.frequencies, sorted([*along, about]), rtol=1e-12)
    np.testing.assert_allclose(x.mass_matrix()[3, 3], M * 0.05**2, rtol=1e-12)  # turning about its own axis
    np.testing.assert_allclose(x.node("tip").turn[0], [0, 0, np.sqrt(2)], atol=1e-15)


def test_shortening():
    """Q = −∫φ'φ' of one plane, along x: the arc keeps its length to second order."""
    x = beam(modes=(2, 1), stiffening=True, nodes={"middle": 0.5 * L})
    eta = 1e-4 * np.array([1.0, -0.4, 0.7])
    for name, at in (("middle", 0.5 * L), ("tip", L)):
        bend = x.node(name).bend
        assert not bend[1:].any() and not bend[0, :2, 2].any()
        s, w = np.polynomial.legendre.leggauss(80)
        places = 0.5 * at * (s + 1)
        slopes = [
            mode.slope(places / L) / L * amplitude
            for mode, amplitude in zip([*bending_modes(2), bending_modes(1)[0]], eta)
        ]
        lost = 0.5 * at * w @ (0.5 * (slopes[0] + slopes[1]) ** 2 + 0.5 * slopes[2] ** 2)
        assert 0.5 * eta @ bend[0] @ eta == pytest.approx(-lost, rel=1e-11)
    np.testing.assert_allclose(x.bends, np.swapaxes(x.bends, -1, -2), atol=1e-15)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"length": 0.0}, "length of a beam must be greater than 0"),
        ({"mass": -1.0}, "mass of a beam must be greater"),
        ({"stiffness": -1.0}, "stiffness EI of a beam must be positive"),
        ({"modes": 0}, "needs a mode"),
        ({"modes": (1, 2, 3)}, "along y and along z"),
        ({"modes": 2.5}, "whole number"),
        ({"end": "loose"}, "no end of a beam is named 'loose'"),
        ({"end": "pinned", "tip_mass": 1.0}, 'an end that is "free"'),
        ({"nodes": {"far": 9.0}}, "node 'far' at x = 9 m is not on the beam"),
        ({"axial_modes": 1}, "axial_modes=1 need axial_stiffness="),
        ({"torsion_modes": 1, "torsion_stiffness": 1.0}, "give gyration="),
        ({"stiffening": 1}, "stiffening must be True or False"),
    ],
)
def test_beams_that_cannot_be(options, said):
    with pytest.raises(lw.LinkwiseError, match=said):
        beam(**options)
