"""Identification: exact without noise, as SciPy's least squares with it, and refusals that say what is wrong."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from coupled import coupled_robot
from scipy.stats import t as student
from sprung import sprung
from trees import assert_close, robot, state

import linkwise as lw
from linkwise.identification.least_squares import quantile
from linkwise.simulation.joint_forces import FRICTION_SPEED


def changed(r, seed=3):
    """The robot with other inertias, of real bodies."""
    rng = np.random.default_rng(seed)
    other = {}
    for b in r.bodies:
        point = lw.Inertia.point(rng.uniform(0.1, 0.5), rng.normal(size=3) * 0.1)
        other[b.name] = b.inertia + point + lw.Inertia.box(rng.uniform(0.1, 0.5), (0.1, 0.2, 0.3))
    return r.with_inertias(other)


def data(r, samples=150, seed=1):
    return state(r, (samples,), seed)


def rubbed(r, x, damping, friction):
    """Joint forces with friction as simulations have it."""
    dry = x.v / np.sqrt(x.v**2 + FRICTION_SPEED**2)
    return r.inverse_dynamics(x.q, x.v, x.a) + damping * x.v + friction * dry


# --- without noise -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["panda", "chain3", "tree_rotors", "floating_rotors", "spherical", "prismatic", "universal", "coupled"]
)
def test_a_robot_is_found_from_exact_forces(name):
    r = coupled_robot() if name == "coupled" else robot(name)
    true = changed(r)
    x, y = data(r), data(r, 5, seed=2)
    found = lw.identify(r, x.q, x.v, x.a, true.inverse_dynamics(x.q, x.v, x.a))
    assert_close(found.predict(y.q, y.v, y.a), true.inverse_dynamics(y.q, y.v, y.a))
    told = found.projection @ true.inertial_parameters.ravel()
    assert_close(np.array([c.value for c in found.combinations]), told)
    assert len(found.combinations) == len(r.base_parameters().columns)


def test_what_is_told_alone_is_found_alone():
    r = robot("panda")
    true = changed(r)
    x = data(r)
    found = lw.identify(r, x.q, x.v, x.a, true.inverse_dynamics(x.q, x.v, x.a))
    alone = np.isfinite(found.standard_errors)
    assert 15 < alone.sum() < 43
    assert_close(found.parameters[alone], true.inertial_parameters[alone])
    assert alone[6, 1] and not alone[6, 0]  # hx of the last link; of its mass, arms on a fixed base show none alone


@pytest.mark.parametrize("name", ["chain3", "hinges"])
def test_friction_rotors_and_offsets(name):
    r, rng = robot(name), np.random.default_rng(5)
    damping, friction, offsets = rng.uniform(0.1, 1.0, (3, r.nv))
    x = data(r)
    tau = rubbed(changed(r), x, damping, friction) + offsets
    rotors = [0.05 if j.rotor is None else j.rotor.reflected for j in r.joints]
    motor = [j for j in r.joints if j.rotor is None]
    tau = tau + np.array([0.05 if j in motor else 0.0 for j in r.joints]) * x.a
    found = lw.identify(r, x.q, x.v, x.a, tau, rotors=True, damping=True, friction=True, offsets=True)
    assert_close(found.damping, damping)
    assert_close(found.friction, friction)
    last = found[f"{r.joints[-1].name}.rotor"]
    assert np.isfinite(last[1]) and abs(last[0] - rotors[-1]) < 1e-9
    # Offsets of joints under gravity alone can be told too, but for those of a mass on a slider.
    y = data(r, 4, seed=8)
    expected = rubbed(changed(r), y, damping, friction) + offsets
    expected = expected + np.array([0.05 if j in motor else 0.0 for j in r.joints]) * y.a
    assert_close(found.predict(y.q, y.v, y.a), expected)


def test_the_robot_that_is_found_moves_as_the_true_one():
    r = robot("chain3")
    true = changed(r)
    x = data(r)
    tau = rubbed(true, x, 0.4, 0.7)
    found = lw.identify(r, x.q, x.v, x.a, tau, damping=True, friction=True, consistent=True).robot
    assert_close(found.damping, np.full(3, 0.4), 1e-7)
    assert_close(found.friction, np.full(3, 0.7), 1e-7)
    y = data(r, 5, seed=2)
    damped = true.forward_dynamics(y.q, y.v, y.tau - 0.4 * y.v)  # found damping acts, as what it was found from did
    assert_close(found.forward_dynamics(y.q, y.v, y.tau), damped, 1e-6)


def test_damping_that_joints_add_to_those_they_follow_stays_theirs():
    r = coupled_robot()
    joint = r.joints[1].name
    x = data(r)
    i = r.v_slices[1].start
    tau = r.inverse_dynamics(x.q, x.v, x.a)
    tau[:, i] += 0.3 * x.v[:, i]
    found = lw.identify(r, x.q, x.v, x.a, tau, bodies=[], damping=[joint])
    assert_close(found.robot.damping[i], r.damping[i] + 0.3)


def test_a_payload():
    r = robot("panda")
    held = lw.Inertia.box(1.8, (0.12, 0.08, 0.20))
    true = r.weld("tcp", held, at=(0.02, 0.01, 0.06))
    x, rng = data(r, 400), np.random.default_rng(1)
    tau = true.inverse_dynamics(x.q, x.v, x.a) + 0.1 * rng.normal(size=(400, 7))
    found = lw.identify(r, x.q, x.v, x.a, tau, bodies=["panda_link7"])
    payload = found.payload("panda_link7")
    expected = (true.inertial_parameters - r.inertial_parameters)[-1]
    com = expected[1:4] / expected[0]
    assert abs(payload.mass - 1.8) < 3 * payload.mass_error < 0.1
    assert np.all(np.abs(payload.com - com) < 3.5 * payload.com_error)
    assert np.all(np.abs(payload.parameters - expected) < 3.5 * payload.errors)
    assert np.all(found.standard_errors[:-1] == 0)  # the others are known
    assert_close(found.noise, np.full(7, 0.1), 0.1)


# --- the wrench on the base --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["chain3", "prismatic"])
def test_the_wrench_on_a_base_tells_without_joint_forces(name):
    r = robot(name)
    true = changed(r)
    x = data(r)

    def wrench(r, x):
        """From momentum and gravity, not from a free joint: the world's force is ḣ − m g, about the world's origin."""
        step = 1e-5
        h = [r.momentum(r.integrate(x.q, s * step * x.v + 0.5 * step**2 * x.a), x.v + s * step * x.a) for s in (1, -1)]
        total = (h[0] - h[1]) / (2 * step)
        for mass, com in ((r.total_mass, r.center_of_mass(x.q)), (r.base.mass, r.base.com)):
            weight = mass * np.asarray(r.gravity)
            total[:, 3:] -= weight
            total[:, :3] -= np.cross(com, weight)
        return total

    measured = wrench(true, x)
    found = lw.identify(r, x.q, x.v, x.a, base_wrench=measured)
    y = data(r, 5, seed=2)
    assert_close(found.predict(y.q, y.v, y.a), wrench(true, y), 1e-6)
    both = lw.identify(r, x.q, x.v, x.a, true.inverse_dynamics(x.q, x.v, x.a), base_wrench=measured)
    assert len(both.combinations) >= len(found.combinations)
    assert both.check(x.q, x.v, x.a, true.inverse_dynamics(x.q, x.v, x.a), base_wrench=measured).error.max() < 1e-5


def test_the_base_of_a_floating_robot_tells_alone():
    """Forces of the joints are not needed where those on the base are known (Ayusawa and others, 2014)."""
    r = robot("floating_rotors")
    true = changed(r)
    x = data(r, 300)
    tau = true.inverse_dynamics(x.q, x.v, x.a)
    tau[:, 6:] = np.nan  # not measured, so not looked at
    found = lw.identify(r, x.q, x.v, x.a, tau, measured=[r.joints[0].name])
    y = data(r, 5, seed=2)
    assert_close(found.predict(y.q, y.v, y.a), true.inverse_dynamics(y.q, y.v, y.a)[:, :6])
    assert len(found.combinations) == len(r.base_parameters().columns)


def test_known_external_forces_are_taken_off():
    r = robot("chain3")
    true = changed(r)
    x = data(r)
    tau = true.inverse_dynamics(x.q, x.v, x.a, external=x.external)
    found = lw.identify(r, x.q, x.v, x.a, tau, external=x.external)
    assert_close(found.predict(x.q, x.v, x.a, external=x.external), tau)


# --- with noise: SciPy as the oracle -------------------------------------------------------------------------


def test_estimates_and_covariances_are_those_of_weighted_least_squares():
    r, rng = robot("panda"), np.random.default_rng(4)
    x = data(r, 200)
    sigma = np.geomspace(0.05, 1.0, 7)
    tau = r.inverse_dynamics(x.q, x.v, x.a) + sigma * rng.normal(size=(200, 7))
    found = lw.identify(r, x.q, x.v, x.a, tau, noise=sigma)
    W = r.inverse_dynamics_regressor(x.q, x.v, x.a)[..., found.columns] / sigma[:, None]
    expected, _, rank, _ = scipy.linalg.lstsq(W.reshape(-1, 43), (tau / sigma).ravel())
    assert rank == 43
    assert_close(np.array([c.value for c in found.combinations]), expected)
    flat = W.reshape(-1, 43)
    assert_close(found.covariance, np.linalg.inv(flat.T @ flat), 1e-6)


def test_noise_of_every_channel_is_found():
    """The fixed point: σ_c² = RSS_c/(N − h_c) at weights 1/σ_c, by dense matrices."""
    r, rng = robot("chain3"), np.random.default_rng(4)
    x = data(r, 60)
    sigma = np.array([0.02, 0.5, 3.0])
    tau = r.inverse_dynamics(x.q, x.v, x.a) + sigma * rng.normal(size=(60, 3))
    found = lw.identify(r, x.q, x.v, x.a, tau)
    W = r.inverse_dynamics_regressor(x.q, x.v, x.a)[..., found.columns] / found.noise[:, None]
    flat = W.reshape(-1, len(found.columns))
    hat = flat @ np.linalg.solve(flat.T @ flat, flat.T)
    left = ((np.eye(180) - hat) @ (tau / found.noise).ravel()).reshape(60, 3) * found.noise
    leverage = np.diag(hat).reshape(60, 3).sum(axis=0)
    assert_close(found.noise**2, (left**2).sum(axis=0) / (60 - leverage), 1e-6)


def test_many_motions_count_as_one():
    r, rng = robot("chain3"), np.random.default_rng(4)
    x = data(r, 60)
    tau = r.inverse_dynamics(x.q, x.v, x.a) + rng.normal(size=(60, 3))
    split = [np.reshape(y, (4, 15, 3)) for y in (x.q, x.v, x.a, tau)]
    one, several = lw.identify(r, x.q, x.v, x.a, tau), lw.identify(r, *split)
    assert_close(one.values, several.values)
    one, again = (lw.identify(r, x.q, x.v, x.a, y, noise=1.0) for y in (tau, np.stack([tau, tau])))
    assert_close(again.values, one.values)
    assert_close(2 * again.covariance, one.covariance)
    assert again.samples == 120


def test_columns_are_pinocchios():
    pin = pytest.importorskip("pinocchio")
    r = lw.load("ur5")
    model = pin.buildModelFromXML(r.to_urdf())
    x = data(r, 80)
    d = model.createData()
    stacked = np.concatenate([pin.computeJointTorqueRegressor(model, d, *row) for row in zip(x.q, x.v, x.a)])
    tau = np.array([pin.rnea(model, d, *row) for row in zip(x.q, x.v, x.a)])
    found = lw.identify(changed(r), x.q, x.v, x.a, tau)
    assert np.linalg.matrix_rank(stacked, tol=1e-8) == len(found.combinations)
    assert_close(found.predict(x.q, x.v, x.a), tau)
    assert_close(np.array([c.value for c in found.combinations]), found.projection @ r.inertial_parameters.ravel())


@pytest.mark.parametrize("level", [0.5, 0.68, 0.95, 0.999])
def test_quantiles_are_students(level):
    for freedoms, digits in ((10, 3e-3), (50, 1e-5), (1000, 1e-9)):
        assert quantile(level, freedoms) == pytest.approx(student.ppf(0.5 + level / 2, freedoms), rel=digits)


# --- the result ------------------------------------------------------------------------------------------------


def test_data_that_the_fit_has_not_seen():
    r, rng = robot("panda"), np.random.default_rng(4)
    true = changed(r)
    x, y = data(r, 300), data(r, 300, seed=9)
    noisy = lambda x: true.inverse_dynamics(x.q, x.v, x.a) + 0.3 * rng.normal(size=x.v.shape)
    found = lw.identify(r, x.q, x.v, x.a, noisy(x))
    met = found.check(y.q, y.v, y.a, noisy(y))
    assert np.all(np.abs(met.error / 0.3 - 1.0) < 0.15)
    assert met.before.mean() > 5 * met.error.mean()


def test_it_reads_well_and_can_be_kept():
    r = robot("chain3")
    x = data(r, 100)
    found = lw.identify(r, x.q, x.v, x.a, r.inverse_dynamics(x.q, x.v, x.a) + x.tau, damping=True)
    assert repr(found).startswith("<Identification of 'chain3': ") and "100 samples" in repr(found)
    assert "± 1 σ" in str(found) and "N m s/rad" in str(found)
    name = found.combinations[0].name
    assert name.split(" ")[0] in found.names
    back = pickle.loads(pickle.dumps(found))
    assert_close(back.values, found.values)
    assert repr(back) == repr(found)
    low, high = found.interval(0.95)
    wide, _ = found.interval(0.99)
    told = np.isfinite(found.errors)
    assert np.all(low[told] < found.values[told]) and np.all(wide[told] < low[told])
    assert np.all(np.isinf(high[~told]))


# --- refusals ------------------------------------------------------------------------------------------------


def refused(match, error=lw.InputError, robot_name="chain3", **options):
    r = robot(robot_name)
    x = data(r, 30)
    given = {"q": x.q, "v": x.v, "a": x.a, "tau": x.tau} | options
    with pytest.raises(error, match=match):
        lw.identify(r, **given)


def test_refusals():
    r = robot("chain3")
    x = data(r, 30)
    spoilt = x.tau.copy()
    spoilt[7, 1] = np.nan
    refused(r"tau holds NaN or infinity, first in sample \(7,\)", tau=spoilt)
    refused("3 samples of 3 numbers each are too few", q=x.q[:3], v=x.v[:3], a=x.a[:3], tau=x.tau[:3])
    refused("nothing is measured", tau=None)
    refused("must have shape", v=x.v[:, :2])
    refused("batch dimensions do not fit", tau=x.tau[:7])
    refused("no body is named 'hand'", lw.UnknownNameError, bodies=["hand"])
    refused("names one twice", bodies=["link1", "link1"])
    refused("nothing is unknown", bodies=[])
    refused("no joint is named", lw.UnknownNameError, damping=["elbow"])
    refused("noise must be one positive number or 3", noise=[0.1, 0.2])
    refused("noise must be one positive number or 3", noise=-1.0)
    refused("consistent must be True or False", consistent="yes")
    wrench = np.zeros((30, 6))
    refused("measured names joints whose forces are in tau", tau=None, base_wrench=wrench, measured=["joint1"])
    refused("not bolted to the world", robot_name="floating_rotors", base_wrench=np.zeros((30, 6)))
    with pytest.raises(lw.InputError, match="identify needs a robot"):
        lw.identify(None, x.q, x.v, x.a, x.tau)
    found = lw.identify(r, x.q, x.v, x.a, x.tau)
    with pytest.raises(lw.InputError, match="no unknown is named 'm'"):
        found["m"]
    with pytest.raises(lw.NotAdmittedError, match="cannot be told from other unknowns"):
        found.payload(r.bodies[0].name)
    with pytest.raises(lw.InputError, match="identified from tau"):
        found.check(x.q, x.v, x.a)


def test_a_robot_that_rests_excites_nothing():
    x = data(robot("chain3"), 30)
    refused("the motion does not excite", lw.SingularError, v=0 * x.v, a=0 * x.a)


def test_loops_are_refused():
    closed = lw.load("four_bar")
    q = np.zeros((20, closed.nq))
    with pytest.raises(lw.NotAdmittedError, match="has loops"):
        lw.identify(closed, q, 0 * q, 0 * q, 0 * q)


def test_a_joint_that_follows_has_no_friction_of_its_own():
    r = coupled_robot()
    x = data(r, 20)
    with pytest.raises(lw.InputError, match="follows"):
        lw.identify(r, x.q, x.v, x.a, x.tau, friction=[r.couplings[0].dependent])


@pytest.mark.parametrize("name", ["chain3", "hinges", "universal"])
def test_springs_are_found(name):
    r = sprung(robot(name))
    stiffer = {j.name: {"stiffness": 2.0 + np.arange(j.kind.nv)} for j, _, _ in r.coordinates}
    true = r.with_springs(stiffer)
    x = data(r)
    found = lw.identify(r, x.q, x.v, x.a, true.inverse_dynamics(x.q, x.v, x.a), bodies=[], springs=True)
    assert_close(found.values, np.concatenate([2.0 + np.arange(j.kind.nv) for j, _, _ in r.coordinates]))
    assert found.names[0].endswith(".stiffness") or found.names[0].endswith("[0].stiffness")
    y = data(r, 4, seed=2)
    assert_close(found.robot.inverse_dynamics(y.q, y.v, y.a), true.inverse_dynamics(y.q, y.v, y.a))


def test_springs_of_balls_are_not_found():
    r = robot("spherical")
    x = data(r, 20)
    with pytest.raises(lw.InputError, match="no ordinary coordinates"):
        lw.identify(r, x.q, x.v, x.a, x.tau, springs=[r.joints[0].name])


def flexible_arm():
    beam = lw.Flexible.beam(length=1.0, mass=1.0, stiffness=20.0, modes=2)
    hand = lw.Inertia.box(1.0, (0.3, 0.1, 0.1), at=(0.15, 0.02, 0.01))
    bodies = [
        lw.Body("beam", lw.Joint(lw.Revolute("z"), "base"), beam),
        lw.Body("hand", lw.Joint(lw.Revolute("z"), "wrist", at=(1.0, 0, 0)), hand, "beam"),
    ]
    return lw.assemble("flexible", bodies, [lw.Frame("tip", "hand", at=(0.3, 0, 0))])


def test_what_a_flexible_link_carries_is_found_and_its_modes_are_known():
    r = flexible_arm()
    true = r.weld("hand", lw.Inertia.point(0.4, (0.1, 0.0, 0.0)))
    rng = np.random.default_rng(0)
    q, (v, a) = 0.1 * rng.normal(size=(60, r.nq)), rng.normal(size=(2, 60, r.nv))
    found = lw.identify(r, q, v, a, true.inverse_dynamics(q, v, a))
    assert {name.split(".")[0] for name in found.names} == {"hand"}
    assert found.payload("hand").mass == pytest.approx(0.4)
    with pytest.raises(lw.NotAdmittedError, match="'beam' is flexible"):
        lw.identify(r, q, v, a, 0 * v, bodies=["beam"])
    from linkwise import control

    with pytest.raises(lw.NotAdmittedError, match="AdaptiveTracking is for rigid bodies"):
        control.AdaptiveTracking(r, r.neutral(), 1.0, 1.0)
    change = np.zeros((len(r.bodies), 6))
    change[0], change[-1] = [0.01, 0, 0, 0, 0.02, 0], [0, 0.01, 0, 0.01, 0, 0]
    placed = lw.calibrate(r, q, r.with_placements(change).pose(q, "tip"))
    assert_close(placed.robot.pose(q, "tip")[1], r.with_placements(change).pose(q, "tip")[1], 1e-9)
    with pytest.raises(lw.InputError, match="flexible body's modes"):
        r.with_placements(np.full_like(change, 0.1))
    with pytest.raises(lw.NotAdmittedError, match="flexible body's modes"):
        lw.calibrate(r, q, r.pose(q, "tip"), joints=["beam.tip_modes"])


def test_dampers_that_act_are_found_too():
    r = lw.chain(3, seed=1).with_springs({"joint1": {"stiffness": 4.0, "damping": 0.3}, "joint2": {"damping": 0.2}})
    data = replace(r, bodies=(r.bodies[0], *r.with_springs(damping_acts=False).bodies[1:]))
    true = r.with_springs({"joint1": {"damping": 0.7}, "joint2": {"damping": 0.9}})
    x = state(r, (60,), seed=2)
    tau = true.inverse_dynamics(x.q, x.v, x.a)
    for start in (r, data):
        found = lw.identify(start, x.q, x.v, x.a, tau, damping=True)
        assert_close(found.damping, np.array([0.7, 0.9, 0.0]), 1e-9)
