"""Flexible bodies against closed forms of beams, rigid chains with springs, and conservation laws (math notes 5.6)."""

import numpy as np
import pytest
from flexible_bodies import beam

import linkwise as lw
from linkwise.model.flexible.beams import bending_modes

L, M, EI = 1.0, 1.2, 9.0
RHO = M / L


def arm(joint: lw.Joint | object, flexible: lw.Flexible, *others: lw.Body, gravity=(0.0, 0.0, 0.0)) -> lw.Robot:
    return lw.assemble("arm", [lw.Body("arm", joint, flexible), *others], gravity=gravity)


def frequencies(robot: lw.Robot, q=None) -> np.ndarray:
    """[rad/s] about a state of rest, from the linearised model."""
    q = robot.neutral() if q is None else q
    found = robot.linearize_inverse(q, np.zeros(robot.nv), np.zeros(robot.nv))
    values = np.linalg.eigvals(np.linalg.solve(found.M, found.dq))
    return np.sort(np.sqrt(np.abs(values.real)))


def roots(omega: np.ndarray) -> np.ndarray:
    """βL of frequencies."""
    return np.sqrt(omega * np.sqrt(RHO / EI)) * L


def test_a_clamped_beam_has_its_frequencies_exactly():
    found = roots(frequencies(arm(lw.Fixed(), beam((0, 4)))))
    np.testing.assert_allclose(found, [1.875104068711961, 4.694091132974175, 7.854757438237613, 10.995540734875467])


@pytest.mark.parametrize(("modes", "error"), [(2, 1.1e-3), (4, 1.1e-5), (8, 9.6e-8)])
def test_a_pinned_beam_from_a_hinge_and_clamped_modes(modes, error):
    found = frequencies(arm(lw.Revolute("y"), beam((0, modes))))
    exact = (3.926602312047919 / L) ** 2 * np.sqrt(EI / RHO)
    assert found[0] < 1e-6  # turning as a whole
    assert found[1] / exact - 1 == pytest.approx(error, rel=0.05)


@pytest.mark.parametrize(("share", "b"), [(0.5, 1.419964430), (1.0, 1.247917410), (5.0, 0.870021459)])
def test_a_mass_at_the_tip(share, b):
    """Of a body of its own: clamped modes carry no shear at the tip, and modes with the load have it exactly."""
    load = lw.Body("load", lw.Joint(lw.Fixed(), at=(L, 0, 0)), lw.Inertia.point(share * M), "arm")
    exact = (b / L) ** 2 * np.sqrt(EI / RHO)
    found = frequencies(arm(lw.Fixed(), beam((0, 8)), load))
    assert 1e-6 < found[0] / exact - 1 < 5e-5
    loaded = frequencies(arm(lw.Fixed(), beam((0, 2), tip_mass=share * M), load))
    assert loaded[0] / exact - 1 == pytest.approx(0.0, abs=2e-9)


def test_sag_and_tip_load():
    robot = arm(lw.Fixed(), beam((0, 8)), gravity=(0, 0, -1e-3))
    stiffness = robot.linearize_inverse(robot.neutral(), np.zeros(8), np.zeros(8)).dq
    eta = -np.linalg.solve(stiffness, robot.bias_force(robot.neutral(), np.zeros(8)))
    sag = -robot.pose(eta, "arm.tip")[1][2] / (RHO * 1e-3 * L**4 / EI)
    b = np.array([mode.b for mode in bending_modes(8)])
    sigma = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
    assert sag == pytest.approx(np.sum(4 * sigma * (-1) ** np.arange(8) / b**5), abs=1e-11)
    assert sag == pytest.approx(1 / 8, abs=2.5e-7)
    weightless = robot.with_gravity((0, 0, 0))
    external = weightless.wrenches(robot.neutral(), {"arm.tip": np.array([0, 0, 0, 0, 0, 1e-3])})
    push = -weightless.bias_force(robot.neutral(), np.zeros(8), external=external)
    tip = robot.jacobian(robot.neutral(), "arm.tip")[5] @ np.linalg.solve(stiffness, push)
    assert tip / (1e-3 * L**3 / (3 * EI)) - 1 == pytest.approx(0.0, abs=2e-4)


def rods(count: int, root_stiffness: float = 0.0) -> lw.Robot:
    """The same beam as rigid rods with springs between them."""
    part = L / count
    bodies = []
    for i in range(count):
        k = EI / part if i else root_stiffness
        joint = lw.Joint(lw.Revolute("y"), at=(part if i else 0, 0, 0), stiffness=k)
        rod = lw.Inertia.cylinder(M / count, 0.0, (0, 0, 0), (part, 0, 0))
        bodies.append(lw.Body(f"rod{i}", joint, rod, f"rod{i - 1}" if i else None))
    return lw.assemble(f"rods{count}", bodies, [lw.Frame("tip", f"rod{count - 1}", at=(part, 0, 0))], gravity=(0, 0, 0))


@pytest.mark.parametrize(("count", "clamped", "pinned"), [(10, -4.6e-3, -1.8e-5), (20, -1.1e-3, -1.1e-6)])
def test_rigid_chains_come_near(count, clamped, pinned):
    chain, exact = rods(count, 2 * EI / (L / count)), 1.875104068711961**2 * np.sqrt(EI / RHO)
    assert frequencies(chain)[0] / exact - 1 == pytest.approx(clamped, rel=0.05)
    exact = 3.926602312047919**2 * np.sqrt(EI / RHO)
    assert frequencies(rods(count))[1] / exact - 1 == pytest.approx(pinned, rel=0.05)


def two_links(flexible: lw.Flexible) -> lw.Robot:
    joint = lw.Joint(lw.Revolute("y"), at=(L, 0, 0))
    return arm(lw.Revolute("y"), flexible, lw.Body("fore", joint, flexible, "arm"))


def test_a_two_link_arm_against_rods():
    """Frequencies of a straight two-link arm within the truncation: fewer modes come from above."""
    part = 20
    rod, k = lw.Inertia.cylinder(M / part, 0.0, (0, 0, 0), (L / part, 0, 0)), EI * part / L
    bodies = []
    for i in range(2 * part):
        joint = lw.Joint(lw.Revolute("y"), at=(L / part if i else 0, 0, 0), stiffness=0.0 if i % part == 0 else k)
        bodies.append(lw.Body(f"rod{i}", joint, rod, f"rod{i - 1}" if i else None))
    expected = frequencies(lw.assemble("rods", bodies, gravity=(0, 0, 0)))[2:4]
    errors = [frequencies(two_links(beam((0, n))))[2:4] / expected - 1 for n in (2, 4, 6)]
    assert (np.abs(errors[0]) < 0.02).all() and (np.abs(errors[2]) < 3e-4).all()
    assert (errors[0] > errors[1]).all() and (errors[1] > errors[2] - 1e-6).all()


# --- spinning --------------------------------------------------------------------------------------------


def spinning(robot: lw.Robot, speed: float, of: slice) -> np.ndarray:
    """Frequencies [rad/s] of modes while the hub turns at a constant speed."""
    q, v = robot.neutral(), np.zeros(robot.nv)
    v[0] = speed
    found = robot.linearize_inverse(q, v, np.zeros(robot.nv))
    n = of.stop - of.start
    first = np.linalg.solve(found.M[of, of], np.hstack([found.dq[of, of], found.dv[of, of]]))
    values = np.linalg.eigvals(np.block([[np.zeros((n, n)), np.eye(n)], [-first[:, :n], -first[:, n:]]]))
    return np.sort(np.abs(values.imag))[::2]


def test_spinning_beams_stiffen_with_their_shortening():
    flexible = beam((5, 5), stiffening=True)
    robot = arm(lw.Revolute("z"), flexible)
    lowest, in_plane, out_of_plane = flexible.frequencies[0], slice(1, 6), slice(6, 11)
    assert spinning(robot, 0.4 * lowest, in_plane)[0] / lowest == pytest.approx(1.015168, abs=1e-6)
    assert spinning(robot, 0.4 * lowest, out_of_plane)[0] / lowest == pytest.approx(1.091131, abs=1e-6)


def test_spinning_beams_of_one_mode():
    """κ of Southwell; without the shortening a beam softens, and there is nothing left of it at Ω = ω₀."""
    for stiffening, kappa in ((True, 1.193336), (False, 0.0)):
        flexible = beam((1, 1), stiffening=stiffening)
        robot = arm(lw.Revolute("z"), flexible)
        own = flexible.frequencies[0]
        speed = 0.7 * own
        in_plane, across = (spinning(robot, speed, slice(k, k + 1))[0] for k in (1, 2))
        assert (in_plane**2 - own**2) / speed**2 == pytest.approx(kappa - 1, abs=1e-6)
        assert (across**2 - own**2) / speed**2 == pytest.approx(kappa, abs=1e-6)


def spin_up(stiffening: bool) -> tuple[np.ndarray, np.ndarray]:
    """(time, tip lag) of Simo and Vu-Quoc's beam while its hub is turned up to 6 rad/s in 15 s; 3 modes."""
    flexible = lw.Flexible.beam(length=10.0, mass=12.0, stiffness=1.4e4, modes=(3, 0), stiffening=stiffening)
    robot = arm(lw.Revolute("z"), flexible)
    assert flexible.frequencies[0] == pytest.approx(3.7977, abs=1e-4)
    h, time, lag = 0.02, [0.0], [0.0]
    q, v = np.zeros(4), np.zeros(4)
    tip = flexible.node("tip").shape[1]

    def rates(t, eta, eta_dot):
        angle = 0.4 * (0.5 * t * t + (15 / 2 / np.pi) ** 2 * (np.cos(2 * np.pi * t / 15) - 1)) if t < 15 else 6 * t - 45
        speed = 0.4 * (t - 15 / 2 / np.pi * np.sin(2 * np.pi * t / 15)) if t < 15 else 6.0
        given = 0.4 * (1 - np.cos(2 * np.pi * t / 15)) if t < 15 else 0.0
        q, v = np.array([angle, *eta]), np.array([speed, *eta_dot])
        a = robot.hybrid_dynamics(q, v, np.array([given, 0, 0, 0]), np.zeros(4), ["arm_joint"], target="cpu")[0]
        return eta_dot, a[1:]

    eta, eta_dot = q[1:], v[1:]
    while time[-1] < 20 and abs(lag[-1]) < 5:
        t, (k, l) = time[-1], rates(time[-1], eta, eta_dot)
        stages = [(k, l)]
        for part in (0.5, 0.5, 1.0):
            k, l = rates(t + part * h, eta + part * h * stages[-1][0], eta_dot + part * h * stages[-1][1])
            stages.append((k, l))
        eta = eta + h / 6 * sum(w * s[0] for w, s in zip((1, 2, 2, 1), stages))
        eta_dot = eta_dot + h / 6 * sum(w * s[1] for w, s in zip((1, 2, 2, 1), stages))
        time.append(t + h)
        lag.append(float(tip @ eta))
    return np.array(time), np.array(lag)


def test_spin_up():
    """The largest lag of .574 m, back to nothing at full speed; linear modes diverge, as 6 rad/s is beyond ω₀."""
    time, lag = spin_up(stiffening=True)
    assert np.abs(lag).max() == pytest.approx(0.5744, rel=0.02)
    assert np.abs(lag[time > 16]).max() < 0.02
    time, lag = spin_up(stiffening=False)
    assert np.abs(lag[-1]) > 5 and time[-1] < 12.6


def test_steady_lengthening_of_a_spinning_beam():
    """ρAΩ²L³/3EA = 5.142857e-4 of Simo and Vu-Quoc's beam, by axial modes; published 5.14e-4."""
    flexible = lw.Flexible.beam(length=10.0, mass=12.0, stiffness=1.4e4, modes=0, axial_stiffness=2.8e7, axial_modes=8)
    robot = arm(lw.Revolute("z"), flexible)
    v = np.zeros(robot.nv)
    v[0] = 6.0
    stiff = robot.linearize_inverse(robot.neutral(), v, np.zeros(robot.nv)).dq[1:, 1:]
    eta = -np.linalg.solve(stiff, robot.bias_force(robot.neutral(), v)[1:])
    longer = robot.pose(np.array([0, *eta]), "arm.tip")[1][0] - 10.0
    assert longer == pytest.approx(5.142857e-4, rel=2e-3)


# --- motion ----------------------------------------------------------------------------------------------


def midpoint(robot: lw.Robot, step: float, steps: int) -> np.ndarray:
    """From rest, by the implicit midpoint rule, which stiff springs allow; (steps + 1, nv) configurations."""
    q, v, a = np.zeros(robot.nv), np.zeros(robot.nv), np.zeros(robot.nv)
    out, springs = [q], 0.25 * step * step * np.diag(robot.stiffness)
    for _ in range(steps):
        change = np.inf
        while change > 1e-6:
            v_m = v + 0.5 * step * a
            q_m = q + 0.5 * step * v_m
            left = robot.inverse_dynamics(q_m, v_m, a, target="cpu")
            da = np.linalg.solve(robot.mass_matrix(q_m, target="cpu") + springs, left)
            a, change = a - da, step * np.abs(da).max()
        v = v + step * a
        q = q + step * (v - 0.5 * step * a)
        out.append(q)
    return np.array(out)


def fallen(robot: lw.Robot, step: float, steps: int) -> np.ndarray:
    """From rest, by Runge and Kutta's rule; (steps + 1, nv) configurations."""
    call = robot.compile("forward_dynamics")
    x, out, zero = np.zeros((2, robot.nv)), [np.zeros(robot.nv)], np.zeros(robot.nv)

    def rate(x: np.ndarray) -> np.ndarray:
        return np.array([x[1], call(x[0], x[1], zero)])

    for _ in range(steps):
        k = [rate(x)]
        for part in (0.5, 0.5, 1.0):
            k.append(rate(x + part * step * k[-1]))
        x = x + step / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3])
        out.append(x[0])
    return np.array(out)


def test_falling_beam_against_two_hundred_rods():
    """A beam on a hinge falls from the horizontal by 90° and more: the tip to 1 % of the way of the rods' tip."""
    down, step, steps = (0, 0, -9.81), 8e-3, 65
    chain = rods(200).with_gravity(down)
    theta = midpoint(chain, step, steps)
    angle = np.cumsum(theta, axis=1)
    expected = np.stack([np.cos(angle).sum(axis=1), -np.sin(angle).sum(axis=1)], axis=1) * L / 200
    for stiffening in (False, True):
        robot = arm(lw.Revolute("y"), beam((0, 3), stiffening=stiffening), gravity=down)
        q = fallen(robot, step / 8, 8 * steps)[::8]
        tip = robot.pose(q, "arm.tip", target="cpu")[1][:, [0, 2]]
        away = np.linalg.norm(tip - expected, axis=1).max()
        assert away < 0.01 * np.linalg.norm(np.diff(expected, axis=0), axis=1).sum()
        if stiffening:
            assert away < 5e-3  # most of it the step of the midpoint rule
    assert tip[-1, 0] < 0


def free_flyer() -> lw.Robot:
    """A box with a panel that is fixed to it and one on a hinge, in space."""
    panel = beam(2, damping=0.0)
    bodies = [
        lw.Body("bus", lw.Free(), lw.Inertia.box(3.0, (0.4, 0.3, 0.2), at=(0.02, 0.01, 0))),
        lw.Body("fixed", lw.Joint(lw.Fixed(), at=(0.2, 0, 0)), panel, "bus"),
        lw.Body("turning", lw.Joint(lw.Revolute("x"), at=(-0.2, 0, 0), rpy=(0, 0, 3)), beam(2, gyration=0.1), "bus"),
    ]
    return lw.assemble("flyer", bodies, gravity=(0, 0, 0))


def test_a_flexible_free_flyer_keeps_its_momentum_and_energy():
    robot, rng = free_flyer(), np.random.default_rng(2)
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
    motion = lw.simulate(robot, q, v, duration=0.4, step=1e-3, target="cpu")
    momentum = robot.momentum(motion.q, motion.v, target="cpu")
    assert np.abs(momentum - momentum[0]).max() < 1e-8 * np.abs(momentum[0]).max()
    account = motion.energy
    assert np.abs(account.drift).max() < 1e-6 * account.kinetic[0]
    assert np.ptp(account.total - account.kinetic) > 1e-3 * account.kinetic[0]  # it goes between motion and strain


def test_damped_modes_take_energy_as_the_books_say():
    robot = arm(lw.Revolute("y"), beam(4, damping=0.05), gravity=(0, 0, -9.81))
    motion = lw.simulate(robot, robot.random_configuration(1), duration=0.3, step=1e-3, target="cpu")
    account = motion.energy
    assert account.dissipated[-1] > 1e-6
    assert np.abs(account.drift).max() < 1e-6 * account.kinetic.max()
