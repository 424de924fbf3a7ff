"""The curvature of the mass metric (DD Lemma 2.2): against an independent tensor, and robots known to be flat."""

import numpy as np
import pytest
from trees import assert_close, derivative, robot, state

import linkwise as lw
from linkwise.errors import NotAdmittedError

STEP = 1e-30


def christoffel(r, q):
    """Γ^l_ij of 𝓜 by complex steps."""
    dM = r.mass_matrix(q + 1j * STEP * np.eye(r.nv)).imag / STEP
    first = 0.5 * (np.einsum("jik->ijk", dM) + dM - np.einsum("kij->ijk", dM))
    return np.einsum("ijm,ml->lij", first, np.linalg.inv(r.mass_matrix(q)))


def riemann(r, q):
    """R_hkij = g_hl (∂_i Γ^l_jk − ∂_j Γ^l_ik + Γ^l_im Γ^m_jk − Γ^l_jm Γ^m_ik), by central differences of Γ."""
    G = christoffel(r, q)
    dG = np.stack([derivative(lambda t, e=e: christoffel(r, q + t * e)) for e in np.eye(r.nv)])
    half = np.einsum("iljk->lkij", dG) + np.einsum("lim,mjk->lkij", G, G)
    return np.einsum("hl,lkij->hkij", r.mass_matrix(q), half - np.swapaxes(half, -1, -2))


SLIDERS_AND_HINGES = {
    "RRR": lw.chain(3, seed=1),
    "tree": lw.random_tree(4, seed=6, joints=["revolute", "prismatic", "helical"], rotors=True),
    "universal": lw.random_tree(2, seed=2, joints=["universal", "revolute"]),
    "cylindrical": lw.chain(2, joint="cylindrical", seed=2),
}


@pytest.mark.parametrize("name", SLIDERS_AND_HINGES)
def test_against_the_tensor_from_christoffel_symbols(name):
    r = SLIDERS_AND_HINGES[name]
    q = state(r, ()).q
    R = r.curvature(q)
    assert np.abs(R).max() > 1e-4
    assert_close(R, riemann(r, q), 1e-9)


@pytest.mark.parametrize("name", ["spherical", "planar", "free", "custom_ball", "arms", "panda"])
def test_symmetries_and_first_bianchi_identity(name):
    r = robot(name)
    R = r.curvature(state(r).q)
    size = np.abs(R).max()
    swapped = {"ihjk": -R, "hikj": -R, "jkhi": R}
    for order, expected in swapped.items():
        assert_close(np.einsum(f"...hijk->...{order}", R) / size, expected / size, 1e-10)
    cyclic = R + np.einsum("...hijk->...hjki", R) + np.einsum("...hijk->...hkij", R)
    assert_close(cyclic / size, 0 * R, 1e-10)


def body(name, joint, mass=1.0, com=(0, 0, 0), inertia=0.1, parent=None, at=(0, 0, 0)):
    own = lw.Inertia(mass, np.array(com, float), inertia * np.eye(3))
    return lw.Body(name, lw.Joint(joint, at=at, name=f"{name}_joint"), inertia=own, parent=parent)


def planar_arm(outer_com, inertia=0.1, inner_mass=1.0):
    return lw.assemble(
        "arm",
        [
            body("upper", lw.Revolute("z"), inner_mass, (0.4, 0, 0), inertia),
            body("fore", lw.Revolute("z"), 1.5, (outer_com, 0, 0), inertia, "upper", (1.0, 0, 0)),
        ],
    )


FLAT = {
    "single hinge": lw.chain(1, seed=0),
    "single screw": lw.random_tree(1, seed=1, joints=["helical"]),
    "gantry": lw.assemble(
        "gantry",
        [
            body("x", lw.Prismatic("x"), 3.0),
            body("y", lw.Prismatic("y"), 2.0, parent="x"),
            body("z", lw.Prismatic("z"), 1.0, parent="y"),
        ],
    ),
    "oblique sliders": lw.random_tree(5, seed=4, joints=["prismatic"]),
    "balanced fore arm": planar_arm(0.0),
    "cart with a balanced wheel": lw.assemble(
        "cart", [body("cart", lw.Prismatic("x"), 3.0), body("wheel", lw.Revolute("y"), parent="cart")]
    ),
    "point mass in polar coordinates": lw.assemble(
        "polar",
        [body("arm", lw.Revolute("z"), 0.0, inertia=0.0), body("bead", lw.Prismatic("x"), 2.0, (1, 0, 0), 0.0, "arm")],
    ),
    "one point mass on two hinges": planar_arm(0.7, inertia=0.0, inner_mass=0.0),
    "puck": lw.assemble("puck", [body("puck", lw.Planar(), 2.0, (0.3, 0.2, 0.1))]),
    "cart and pole": lw.assemble(
        "cart_pole",
        [body("cart", lw.Prismatic("x"), 3.0), body("pole", lw.Revolute("y"), 1.0, (0, 0, 0.5), parent="cart")],
    ),
}

CURVED = {
    "planar arm": planar_arm(0.3),
    "spatial arm": lw.chain(2, seed=3),
    "body in space": lw.assemble("body", [body("body", lw.Free())]),
    "ball joint": lw.assemble("ball", [body("ball", lw.Spherical())]),
    "heavy bead on a turning arm": lw.assemble(
        "polar",
        [body("arm", lw.Revolute("z"), 1.0), body("bead", lw.Prismatic("x"), 2.0, (1, 0, 0), 0.1, "arm")],
    ),
    "panda": lw.load("panda"),
}


@pytest.mark.parametrize("name", FLAT)
def test_flat(name):
    assert FLAT[name].is_diagonalizable()


@pytest.mark.parametrize("name", CURVED)
def test_curved(name):
    assert not CURVED[name].is_diagonalizable()


def test_planar_arm_is_what_the_formula_says():
    """|R_1212| = |b cos θ₂ (ad − d² − b²)| / det 𝓜 with 𝓜 = [[a + 2b cos θ₂, d + b cos θ₂], [·, d]]."""
    r = planar_arm(0.3)
    for q2 in (0.3, 2.0):
        M = r.mass_matrix([0.0, q2])
        d, b = M[1, 1], (M[0, 1] - M[1, 1]) / np.cos(q2)
        a = M[0, 0] - 2 * b * np.cos(q2)
        expected = abs(b * np.cos(q2) * (a * d - d * d - b * b)) / np.linalg.det(M)
        assert_close(abs(r.curvature([0.0, q2])[0, 1, 0, 1]), expected, 1e-13)
    assert r.is_diagonalizable([0.0, np.pi / 2])  # flat at one configuration, not everywhere
    assert not r.is_diagonalizable([[0.0, np.pi / 2], [0.0, 0.1]])


def test_a_ball_is_a_round_sphere():
    """SO(3) with the metric J·I has sectional curvature 1/(4J): R_1212 = J/4."""
    r = CURVED["ball joint"]
    R = r.curvature(r.random_configuration(3))
    assert_close(R[0, 1, 0, 1], 0.1 / 4, 1e-14)
    assert_close(R[0, 2, 0, 2], 0.1 / 4, 1e-14)
    assert_close(R[0, 1, 0, 2], 0.0, 1e-14)


def test_flatness_does_not_make_the_coriolis_term_vanish():
    """On a flat robot m need not be the gradient of coordinates (math notes II.2)."""
    r = FLAT["point mass in polar coordinates"]
    C = r.diagonal_coriolis([0.4, 0.3], [1.0, 2.0])
    assert np.abs(C).max() > 0.1


def test_scale_does_not_matter():
    for factor in (1e-6, 1e6):
        for name, r in {**FLAT, **CURVED}.items():
            scaled = r.with_inertial_parameters(factor * r.inertial_parameters)
            assert scaled.is_diagonalizable() == (name in FLAT), name


def test_what_is_refused():
    r = robot("custom_skate")
    with pytest.raises(NotAdmittedError, match="non-holonomic"):
        r.is_diagonalizable()
    with pytest.raises(lw.InputError, match="real NumPy"):
        robot("panda").curvature(np.zeros(7, complex))
    with pytest.raises(lw.InputError, match="q must have shape"):
        robot("panda").is_diagonalizable(np.zeros(6))
