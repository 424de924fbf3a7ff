"""Steps that take dampers, springs and friction where they end: stable for any, of full order, with closed books."""

from fractions import Fraction

import numpy as np
import pytest

import linkwise as lw
from linkwise.codegen.program.trace import trace
from linkwise.simulation.implicit import LINES, PARTS, part_of_step, parts, weights
from linkwise.simulation.joint_forces import PassiveForces, passive_forces
from linkwise.simulation.system import System

METHODS = list(PARTS)


def start(r, seed=0, speed=0.5):
    rng = np.random.default_rng(seed)
    return r.random_configuration(rng), speed * rng.normal(size=r.nv)


def geared():
    """Two joints driven through elastic gears."""
    arm = lw.load("double_pendulum")
    gear = lw.Gear(40.0, ratio=10.0, rotor=1e-3, damping=0.3)
    return arm.with_elastic_joints({j.name: gear for j in arm.joints})


def sprung(kind, stiffness, damping):
    body = lw.Inertia(1.3, [0.1, 0.2, 0.3], np.diag([0.3, 0.2, 0.25]))
    joint = lw.Joint(kind, "held", stiffness=stiffness, damping=damping)
    return lw.Robot("sprung", (lw.Body("body", joint, body),))


def coupled():
    """A follower with a damper and a spring of its own."""
    r = lw.chain(3, seed=2)
    return r.with_springs({r.joints[2].name: {"stiffness": 4.0, "damping": 0.5}}).couple(
        r.joints[2].name, r.joints[1].name, ratio=-0.7
    )


# --- one part -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_part_is_the_equation_with_dense_matrices(seed):
    """(𝓜 + hd + h²k) a = T − hkv − 𝓒, with the robot's own springs and dampers and others beside."""
    rng = np.random.default_rng(seed)
    r = lw.random_tree(6, seed=seed, joints=["revolute", "prismatic", "helical"], rotors=True)
    own = {j.name: {"stiffness": rng.uniform(1, 9), "damping": rng.uniform(1, 9)} for j in r.joints[::2]}
    r, h = r.with_springs(own), 0.03
    q, v = start(r, seed)
    passive = passive_forces(r, damping=rng.uniform(1, 5, r.nv), friction=lw.Friction(0.3, speed=0.1))
    law = (rng.uniform(0, 3, r.nv), rng.uniform(0, 3, r.nv))
    tau = rng.normal(size=r.nv)
    s = System(r, r, lambda t, q, v: tau, passive, "numpy", slopes=law)
    q1, w1 = part_of_step(s, 0.0, q, np.concatenate([v, np.zeros(4)]), h)
    friction = 0.3 / np.sqrt(v * v + 0.01)
    outside = passive.damping + friction
    D = np.diag(r.damping + outside + law[0])
    K = np.diag(r.stiffness + law[1])
    M = r.mass_matrix(q, target="numpy")
    right = tau - outside * v - h * K @ v - r.inverse_dynamics(q, v, 0 * v, target="numpy")
    a = np.linalg.solve(M + h * D + h * h * K, right)
    np.testing.assert_allclose(w1[: r.nv], v + h * a, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(q1, q + h * (v + h * a), rtol=1e-12, atol=1e-12)


def test_a_part_costs_one_articulated_pass():
    """What is added to D is added once: O(n), with nothing solved beside."""

    def count(n, run):
        r = lw.chain(n, seed=1)
        return trace(r, run).operations.total

    def part(robot, q, v):
        s = System(robot, robot, None, PassiveForces(damping=np.full(robot.nv, 2.0)))
        return part_of_step(s, 0.0, q, np.concatenate([v, np.zeros(4)]), 1e-3)

    def plain(robot, q, v):
        return robot.forward_dynamics(q, v, 0 * v)

    with_rotors = lambda robot, q, v: robot.with_constants(
        [c.__class__(c.placement, c.kind, c.M, 0.1 * np.eye(1)) for c in robot.constants()]
    ).forward_dynamics(q, v, 0 * v)
    assert count(12, part) < count(12, with_rotors) + 12 * 40
    assert count(24, part) - count(12, part) < 1.02 * (count(36, part) - count(24, part))
    assert count(12, part) < 1.35 * count(12, plain)


@pytest.mark.parametrize("order", LINES)
def test_weights_cancel_the_first_terms(order):
    """Of y(s) + x e₁(s) + x²e₂(s) + …, with s = i/n, x = 1/n and e(0) = 0, y(1) is left of all terms to the order."""
    counted = weights(order)
    w, n, i = (np.array(x) for x in (list(counted.values()), *zip(*counted)))
    for m in range(order + 1):
        assert w @ (i / n) ** m == pytest.approx(1.0, abs=1e-12)
        for power in range(1, order + 1 - m if m else 0):
            assert w @ ((i / n) ** m / n**power) == pytest.approx(0.0, abs=1e-12)
    assert {(round(1 / p.length), round((p.start + p.length) / p.length)) for p in parts(order)} >= set(counted)
    assert sum(p.weight for p in parts(order)) == pytest.approx(1.0)
    assert len(parts(order)) == {1: 1, 2: 3, 4: 14}[order]
    assert parts(order)[-1].start + parts(order)[-1].length == pytest.approx(1.0)


@pytest.mark.parametrize("order", LINES)
def test_no_vibration_grows_whatever_its_frequency(order):
    """|Q(iy)|² − |P(iy)|² of R = P/Q has no negative coefficient, exactly: |R| ≤ 1 on the axis, hence left of it."""
    counted = {where: Fraction(w).limit_denominator(10**5) for where, w in weights(order).items()}
    assert all(float(w) == weights(order)[where] for where, w in counted.items())
    power = {n: max(i for m, i in counted if m == n) for n in LINES[order]}

    def product(taken):
        found = [Fraction(1)]
        for n, i in taken.items():
            for _ in range(i):
                found = [a - b / n for a, b in zip([*found, Fraction(0)], [Fraction(0), *found])]
        return found

    Q = product(power)
    P = [Fraction(0)] * len(Q)
    for (n, i), w in counted.items():
        for j, c in enumerate(product(power | {n: power[n] - i})):
            P[j] += w * c

    def squared(p):  # in powers of y²
        found = [Fraction(0)] * len(p)
        for j, a in enumerate(p):
            for k, b in enumerate(p):
                if (j + k) % 2 == 0:  # Re (iʲ conj(iᵏ)), the odd ones cancel
                    found[(j + k) // 2] += a * b * (1 if (j - k) % 4 == 0 else -1)
        return found

    left = [a - b for a, b in zip(squared(Q), squared(P))]
    assert min(left) >= 0 and max(left) > 0
    assert len([c for c in P if c]) < len(Q)  # nothing is left at infinity
    assert left[: order // 2 + 1] == [0] * (order // 2 + 1)
    if order == 4:  # what the account of energies may lack of something that dies away
        z = -np.logspace(-3, 5, 2000)
        values = np.array([(1 - z / n) ** -i for n, i in counted])
        w = np.array(list(weights(order).values()))
        assert np.abs(w @ values**2 - (w @ values) ** 2).max() < 3e-3


# --- stability -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("damping", [2.0, 1e3, 1e8])
def test_any_damping_is_stable(method, damping):
    r = lw.load("ur5")
    q, v = start(r, 1)
    t = lw.simulate(r, q, v, damping=damping, duration=0.05, step=1e-3, method=method)
    fall = np.linalg.solve(np.diag(np.full(6, damping)), -np.asarray(r.gravity_force(t.q[-1])))
    if damping > 100:  # nothing but the balance of gravity and dampers is left
        assert np.abs(t.v[-1] - fall).max() < 2e-3 * np.abs(fall).max() + 1e-2 * (damping < 1e4)
    else:
        exact = lw.simulate(r, q, v, damping=damping, duration=0.05, step=0.05, method="radau")
        assert np.abs(t.v[-1] - exact.v[-1]).max() < {1: 0.1, 2: 1e-3, 4: 1e-5}[PARTS[method]]
    account = t.energy
    turned_over = account.kinetic[0] + np.ptp(account.potential)
    assert np.abs(account.drift).max() < {1: 0.05, 2: 0.02, 4: 2e-3}[PARTS[method]] * turned_over


def test_a_law_that_damps_is_stable_and_right():
    r = lw.load("panda")
    q = r.neutral() + 0.3
    law = lambda robot, t, q, v: robot.gravity_force(q) - 20.0 * v - 400.0 * (q - 0.5)
    t = lw.simulate(r, q, np.ones(7), law, duration=0.1)
    exact = lw.simulate(r, q, np.ones(7), law, duration=0.1, step=0.1, method="radau")
    assert np.abs(t.q[-1] - exact.q[-1]).max() < 1e-6
    assert np.abs(t.energy.drift).max() < 1e-4
    limited = lambda robot, t, q, v: np.clip(law(robot, t, q, v), -87.0, 87.0)
    assert np.isfinite(lw.simulate(r, q, np.ones(7), limited, duration=0.1).q).all()


@pytest.mark.parametrize("stiffness", [1e2, 1e6, 1e10])
def test_any_stiffness_is_stable(stiffness):
    r = sprung(lw.Revolute("y"), stiffness, 0.0)
    t = lw.simulate(r, [0.1], [0.0], duration=0.1, step=1e-3)
    assert np.abs(t.q).max() < 0.11
    held = 1.3 * 9.81 * 0.3 / stiffness
    if stiffness > 1e8:  # too fast to be followed: it settles where it rests
        assert np.abs(t.q[-1, 0]) < 10 * held


@pytest.mark.parametrize("method", METHODS)
def test_undamped_vibrations_do_not_grow(method):
    """Springs without dampers, from those that steps resolve to those that they do not."""
    frequencies = np.array([20.0, 100.0, 300.0, 600.0, 900.0, 1200.0, 1500.0, 5000.0])
    inertia = lw.Inertia(1.0, tensor=0.2 * np.eye(3))
    joints = [lw.Joint(lw.Revolute("z"), f"j{i}", stiffness=0.2 * w * w) for i, w in enumerate(frequencies)]
    r = lw.assemble("forks", [lw.Body(f"b{i}", j, inertia) for i, j in enumerate(joints)], gravity=(0, 0, 0))
    t = lw.simulate(r, np.full(r.nq, 0.1), duration=2.0, step=1e-3, method=method)
    amplitude = np.hypot(t.q, t.v / frequencies)
    assert (amplitude <= 0.1 * (1 + 1e-9)).all()
    if method == "runge_kutta_4":
        assert amplitude[-1, 1] > 0.0999999
    beam = lw.Flexible.beam(length=1.0, mass=1.2, stiffness=126.0, modes=(4, 0))  # 36 to 1240 rad/s
    arm = lw.assemble("arm", [lw.Body("link", lw.Joint(lw.Revolute("y"), "hinge"), beam)], gravity=(0, 0, 0))
    t = lw.simulate(arm, [0.0, 0.001, 0.0005, 0.0002, 0.0002], duration=1.0, every=20, method=method)
    assert (np.diff(t.energy.total) <= 1e-9 * t.energy.total[0]).all()


def test_gears_and_beams_as_stiff_as_they_come():
    r = lw.load("double_pendulum")
    hard = r.with_elastic_joints({j.name: lw.Gear(1e9, ratio=50.0, rotor=1e-4, damping=1.0) for j in r.joints})
    q = np.array([0.4, 0.0, 0.4, 0.0])  # the springs at rest
    t = lw.simulate(hard, q, duration=0.1)
    assert np.abs(t.q).max() < 1.0
    beam = lw.Flexible.beam(length=1.0, mass=1.0, stiffness=1e7, modes=3)
    arm = lw.Robot("beam", (lw.Body("link", lw.Joint(lw.Revolute("y"), "hinge"), beam),))
    t = lw.simulate(arm, arm.neutral(), np.r_[1.0, np.zeros(arm.nv - 1)], duration=0.1)
    assert np.isfinite(t.q).all() and np.abs(t.energy.drift).max() < 0.02 * t.energy.kinetic[0]


def test_friction_sticks_without_chatter():
    r = lw.load("double_pendulum")
    t = lw.simulate(r, [0.3, 0.1], [1.0, -1.0], friction=30.0, duration=1.0, step=1e-3)
    assert np.abs(t.v[-1]).max() < 1e-3  # creep
    assert np.abs(np.diff(t.v[500:], axis=0)).max() < 1e-7
    assert np.abs(t.energy.drift).max() < 2e-2 * t.energy.dissipated[-1]


# --- order -----------------------------------------------------------------------------------------------------


CASES = {
    "gears": (geared, {}, 0.0025),
    "coupled": (coupled, {}, 0.01),
    "ball": (lambda: sprung(lw.Spherical(), 3.0, 0.4), {}, 0.01),
    "friction": (lambda: lw.load("double_pendulum"), {"friction": lw.Friction(0.4, speed=0.5)}, 0.01),
    "law": (lambda: lw.chain(3, seed=4), {"controller": lambda robot, t, q, v: np.sin(3 * t) - 0.8 * v - 2 * q}, 0.002),
}


@pytest.mark.parametrize("case", CASES)
def test_order_of_convergence(case):
    make, options, step = CASES[case]
    r = make()
    q, v = start(r, 3)
    method, order = ("midpoint", 2) if case == "coupled" else ("runge_kutta_4", 4)
    run = lambda **how: lw.simulate(r, q, v, duration=0.2, **options, **how)
    exact = run(step=0.2, method="dop853", tolerances=(1e-13, 1e-14))
    errors = []
    for h in (step, step / 2):
        t = run(step=h, method=method, implicit=True)
        moved = np.abs(r.difference(exact.q[-1], t.q[-1])).max()
        errors.append([max(moved, np.abs(t.v[-1] - exact.v[-1]).max()), np.abs(t.energy.drift[-1])])
    for before, after in zip(*errors):
        assert before / after == pytest.approx(2.0**order, rel=0.35)
        assert after > 1e-13  # rounding would hide the order


def test_nothing_changes_where_nothing_resists():
    r = lw.load("ur5")
    q, v = start(r)
    push = lambda robot, t, q, v: robot.gravity_force(q) * np.sin(5 * t)
    for options in ({}, {"controller": push}, {"tau": np.ones((20, 6))}):
        a, b = (lw.simulate(r, q, v, steps=20, implicit=x, **options) for x in (None, False))
        assert np.array_equal(a.q, b.q) and np.array_equal(a.v, b.v)


# --- every way to run them -------------------------------------------------------------------------------------


def closed():
    r = lw.load("four_bar")
    q = r.closed_configuration(r.neutral() + 0.3)
    return r, q, r.closed_velocity(q, np.ones(r.nv))


@pytest.mark.parametrize("closing", ["projection", "embedded", "baumgarte"])
def test_robots_with_loops(closing):
    r, q, v = closed()
    options = {"damping": np.full(r.nv, 5.0), "closing": closing, "steps": 10, "implicit": True, "method": "midpoint"}
    a = lw.simulate(r, q, v, **options)
    b = lw.simulate(r, q, v, target="numpy", **options)
    np.testing.assert_allclose(a.v, b.v, atol=1e-10)
    fine = lw.simulate(r, q, v, step=1e-4, **(options | {"steps": 100, "implicit": False}))
    assert np.abs(a.q[-1] - fine.q[-1]).max() < 1e-5
    assert np.abs(lw.simulate(r, q, v, **(options | {"damping": np.full(r.nv, 1e6)})).v[-1]).max() < 1e-3


@pytest.mark.parametrize("make", [geared, coupled, lambda: lw.load("satellite").with_springs(damping_acts=True)])
def test_compiled_on_arrays_called_back_held_and_in_batches(make):
    r = make()
    rng = np.random.default_rng(1)
    q, v = r.random_configuration(rng, 3), 0.3 * rng.normal(size=(3, r.nv))
    law = lambda robot, t, q, v: -0.5 * v - 0.1 * np.sin(t)
    options = {"damping": 0.4, "friction": lw.Friction(0.1, speed=0.3), "steps": 4, "step": 2e-3}
    for hold in (False, True):
        a = lw.simulate(r, q, v, law, hold=hold, **options)
        for other in ({"target": "numpy"}, {"callback": True}):
            b = lw.simulate(r, q, v, law, hold=hold, **options, **other)
            np.testing.assert_allclose(a.v, b.v, atol=1e-11)
            np.testing.assert_allclose(a.energy.work, b.energy.work, atol=1e-11)
        one = lw.simulate(r, q[1], v[1], law, hold=hold, **options)
        assert np.array_equal(a.q[1], one.q)


def test_large_robots_keep_their_loops():
    r = lw.chain(70)
    q = 0.1 * r.random_configuration(0)
    options = {"steps": 2, "damping": 50.0, "method": "midpoint"}
    with pytest.warns(lw.SlowPathWarning):
        t = lw.simulate(r, q, target="cpu", **options)
    plain = lw.simulate(r, q, target="numpy", **options)
    np.testing.assert_allclose(t.v, plain.v, rtol=1e-8, atol=1e-10)
    with pytest.warns(lw.SlowPathWarning, match="on NumPy"):
        lw.simulate(r, q, target="cpu", friction=1.0, **(options | {"steps": 1}))


def test_single_precision():
    r = lw.load("ur5")
    q, v = start(r)
    a = lw.simulate(r, q.astype(np.float32), v.astype(np.float32), damping=2.0, duration=0.02)
    b = lw.simulate(r, q, v, damping=2.0, duration=0.02)
    assert a.q.dtype == np.float32
    assert np.abs(a.q - b.q).max() < 1e-4


def test_a_motion_goes_on_and_is_kept(tmp_path):
    r = lw.load("double_pendulum")
    whole = lw.simulate(r, [0.3, 0.4], damping=3.0, duration=0.1, implicit=None)
    half = lw.simulate(r, [0.3, 0.4], damping=3.0, duration=0.05)
    half.save(tmp_path / "half.npz")
    again = lw.Trajectory.load(tmp_path / "half.npz", robot=r)
    assert again.settings.implicit is None
    assert np.array_equal(again.resume(0.05).q, whole.q)
    plain = lw.simulate(r, [0.3, 0.4], damping=3.0, duration=0.05, implicit=False)
    assert not np.array_equal(plain.q, half.q)
    plain.save(tmp_path / "plain.npz")
    assert lw.Trajectory.load(tmp_path / "plain.npz", robot=r).settings.implicit is False


def test_events_within_a_step():
    r = lw.load("double_pendulum")
    event = lw.Event(lambda t, q, v: q[..., 0] - 0.2, stop=True)
    t = lw.simulate(r, [0.3, 0.4], damping=3.0, duration=2.0, step=0.02, events=event)
    assert abs(t.q[-1, 0] - 0.2) < 1e-10


# --- what is said where a step is too long -----------------------------------------------------------------------


def test_the_diagnosis_names_the_joint_the_rate_and_what_would_do():
    r = lw.load("panda")
    q = r.neutral() + 0.3
    law = lambda robot, t, q, v: -20.0 * v
    rates = np.linalg.eigvals(20.0 * r.mass_matrix_inverse(q, target="numpy")).real
    with pytest.raises(lw.SimulationError, match="panda_joint7") as e:
        lw.simulate(r, q, controller=law, implicit=False)
    said = str(e.value)
    assert f"{rates.max():.3g} 1/s" in said and "implicit=False" in said and 'method="radau"' in said
    step = float(said.split("step=")[1].split(",")[0])
    assert step < 2.785 / rates.max()
    assert np.isfinite(lw.simulate(r, q, controller=law, implicit=False, step=step, duration=100 * step).q).all()
    with pytest.raises(lw.SimulationError, match="leave out hold=True"):
        lw.simulate(r, q, controller=law, hold=True)
    with pytest.raises(lw.SimulationError, match='use method="runge_kutta_4"'):
        lw.simulate(r, q, damping=20.0, method="rotation_midpoint", coordinates="total")

    def python(robot, t, q, v):
        return -20.0 * v if float(t) < 9 else v

    with pytest.raises(lw.SimulationError, match="give what damps as damping="), pytest.warns(lw.SlowPathWarning):
        lw.simulate(r, q, controller=python)


def test_what_implicit_steps_do_not_admit():
    r = lw.load("double_pendulum")
    with pytest.raises(lw.InputError, match="implicit=True takes"):
        lw.simulate(r, [0.0, 0.0], method="variational", implicit=True)
    with pytest.raises(lw.InputError, match="implicit"):
        lw.simulate(r, [0.0, 0.0], implicit="yes")


def bending():
    """A joint that carries a beam, whose modes have dampers."""
    beam = lw.Flexible.beam(length=1.0, mass=1.0, stiffness=50.0, modes=2, damping=0.02)
    return lw.assemble("bending", [lw.Body("a", lw.Joint(lw.Revolute("z"), "hinge", damping=0.1), beam)])


@pytest.mark.parametrize("make", [geared, bending])
def test_one_number_of_damping_is_that_of_the_joints_alone(make):
    """Modes and springs of gears keep their own dampers, as if these were given beside it."""
    r = make()
    inner = [j.name.endswith(("_spring", ".modes")) for j, _, _ in r.coordinates]
    own = [np.broadcast_to(np.asarray(j.damping, float), (j.kind.nv,)) for j, _, _ in r.coordinates]
    given = np.concatenate([d if kept else np.full(len(d), 0.7) for d, kept in zip(own, inner)])
    assert any(inner) and not all(inner) and all(d.all() for d, kept in zip(own, inner) if kept)
    q, v = start(r)
    q[np.concatenate([np.full(j.kind.nq, kept) for (j, _, _), kept in zip(r.coordinates, inner)])] *= 0.01
    how = {"duration": 0.05, "step": 1e-4, "every": 100, "implicit": False}
    one, each, all_alike = (lw.simulate(r, q, v, damping=d, **how).q for d in (0.7, given, np.full(r.nv, 0.7)))
    assert np.abs(one - each).max() < 1e-9
    assert np.abs(one - all_alike).max() > 1e-5


@pytest.mark.parametrize("method", ["midpoint", "runge_kutta_4"])
def test_steps_in_float32_lose_no_more_than_rounding(method):
    """Increments are extrapolated: differences of positions lost 3e-5 rad in 100 steps."""
    r = lw.load("panda")
    q, v = r.random_configuration(0), np.full(r.nv, 0.5)
    how = {"duration": 0.1, "damping": 2.0, "implicit": True, "method": method}
    single = lw.simulate(r, q.astype(np.float32), v.astype(np.float32), **how)
    assert single.q.dtype == np.float32
    assert np.abs(single.q[-1] - lw.simulate(r, q, v, **how).q[-1]).max() < 2e-6
