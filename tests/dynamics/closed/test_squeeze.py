"""The least squeeze within friction cones: closed forms, SciPy, and the cones themselves."""

import numpy as np
import pytest
from held_objects import state, two_arms

import linkwise as lw
from linkwise.dynamics.closed.squeeze import cone_margins, least_squeeze

QUARTER = np.pi / 2


def between_two_fingers(friction=0.5, mass=2.0, kind="hard_finger", **more):
    """A box of 0.2 m between two fingers with three sliding joints each, along x."""
    slides = [
        lw.Body("x", lw.Prismatic("x"), lw.Inertia.sphere(0.1, 0.01)),
        lw.Body("y", lw.Prismatic("y"), lw.Inertia.sphere(0.1, 0.01), "x"),
        lw.Body("z", lw.Prismatic("z"), lw.Inertia.sphere(0.1, 0.01), "y"),
        lw.Body("ball", lw.Spherical(), lw.Inertia.sphere(0.1, 0.01), "z"),
    ]
    arm = lw.assemble("finger", slides)
    contacts = [
        lw.Contact("ball", lw.Frame(name, at=(x, 0, 0), rpy=(0, turn, 0)), kind, friction=friction, **more)
        for name, x, turn in (("left", -0.1, QUARTER), ("right", 0.1, -QUARTER))
    ]
    team = lw.grasp([arm, arm], lw.Inertia.box(mass, (0.2, 0.1, 0.1)), contacts, bases=[(-0.1, 0, 0), (0.1, 0, 0)])
    q = team.neutral()
    assert np.abs(team.loop_error(q)).max() < 1e-12
    held = team.share_load(q, [0, 0, 0, 0, 0, 9.81 * mass])
    tau = team.gravity_force(q) * np.r_[np.ones(12), np.zeros(6)] + team.contact_joint_forces(q, held)
    return team, q, np.zeros(team.nv), tau


@pytest.mark.parametrize("friction", [0.3, 0.8])
@pytest.mark.parametrize("margin", [0.0, 5.0])
def test_two_fingers_hold_a_weight(friction, margin):
    """Each carries half of it, so that each presses by mg/2μ, and by the margin besides."""
    team, q, v, tau = between_two_fingers(friction)
    np.testing.assert_allclose(team.forward_dynamics(q, v, tau), 0, atol=1e-9)
    assert (team.friction_margins(team.contact_forces(q, v, tau)) < 0).all()
    found = team.squeeze(q, v, tau, margin=margin)
    press = 9.81 / friction + margin
    np.testing.assert_allclose(found.forces[:, 5], press, rtol=1e-5)
    assert (found.margins >= margin - 1e-9 * press).all()
    np.testing.assert_allclose(team.forward_dynamics(q, v, found.tau), 0, atol=1e-7)
    np.testing.assert_allclose(team.contact_forces(q, v, found.tau), found.forces, atol=1e-5)


def test_soft_fingers_hold_a_spin_as_well():
    """(F_t/μ)² + (N_z/γ)² ≤ F_z²: a moment about the line between the fingers asks for more squeeze."""
    team, q, v, tau = between_two_fingers(kind="soft_finger", torsion=0.05)
    plain = team.squeeze(q, v, tau).forces[0, 5]
    turning = tau + team.contact_joint_forces(q, team.share_load(q, [1.0, 0, 0, 0, 0, 0]))
    spun = team.squeeze(q, v, turning)
    assert spun.forces[0, 5] > 1.1 * plain and (spun.margins >= 0).all()
    n, t, spin = spun.forces[0, 5], np.hypot(*spun.forces[0, 3:5]), spun.forces[0, 2]
    np.testing.assert_allclose((t / 0.5) ** 2 + (spin / 0.05) ** 2, n**2, rtol=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_least_as_scipy_finds_it(seed):
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(seed)
    contacts = [lw.Contact(f"h{i}", f"o{i}", "hard_finger", friction=rng.uniform(0.3, 1.0)) for i in range(3)]
    contacts.append(lw.Contact("h", "o", "soft_finger", friction=0.6, torsion=0.03))
    N = np.linalg.qr(rng.normal(size=(13, 7)))[0]
    inside = np.r_[np.tile([0.1, 0.1, 1.0], 3), 0.002, 0.1, 0.1, 1.0]
    lam = 3.0 * inside + N @ rng.normal(size=7)  # so that there is a squeeze

    def margins(z):
        lam_z, out, start = lam + N @ z, [], 0
        for x in contacts:
            own = lam_z[start : start + x.size]
            held = [own[i] / c for i, c in x.tangents.items()]
            out.append(own[x.transmitted.index(5)] - np.sqrt(sum(h * h for h in held) + 1e-18))
            start += x.size
        return np.array(out) - 0.2

    found = least_squeeze(lam, N, contacts, 0.2)
    z = N.T @ found
    assert margins(z).min() > -1e-7
    best = optimize.minimize(
        lambda z: 0.5 * z @ z,
        z * 1.5,
        jac=lambda z: z,
        constraints={"type": "ineq", "fun": margins},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert margins(best.x).min() > -1e-6
    np.testing.assert_allclose(np.linalg.norm(z), np.linalg.norm(best.x), rtol=1e-4)


def test_what_no_squeeze_can_hold_is_refused():
    """Two fingers side by side cannot press against each other."""
    team = two_arms("hard_finger", "frictionless_point")
    q, v, tau = state(team)
    with pytest.raises(lw.ClosureError, match=r"no squeeze makes these contacts hold: at best contact 'arm_\d/tip"):
        team.squeeze(q, v, 50 * tau)


def test_rigid_contacts_need_no_squeeze():
    team = two_arms("rigid", "rigid")
    q, v, tau = state(team)
    found = team.squeeze(q, v, tau)
    assert (found.internal == 0).all() and (found.margins == np.inf).all()
    internal = team.contact_components(q, v, found.tau, part="internal")
    np.testing.assert_allclose(internal, 0, atol=1e-6 * np.abs(team.contact_components(q, v, tau)).max())


def test_margins_by_hand():
    xs = [lw.Contact("a", "b", "hard_finger", friction=0.5), lw.Contact("c", "d", "frictionless_point")]
    forces = np.array([[[0, 0, 0, 3.0, 4.0, 12.0], [0, 0, 0, 0, 0, -1.0]]])
    np.testing.assert_allclose(cone_margins(forces, xs), [[2.0, -1.0]])
