"""Motions that excite: gradients against differences, limits that hold at every time, and better error bars."""

import numpy as np
import pytest
from trees import assert_close, robot

import linkwise as lw
from linkwise import control
from linkwise.identification.excitation import _Goal, _Series
from linkwise.identification.unknowns import chosen_unknowns


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """The search asks for thousands of regressors."""
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")


@pytest.fixture(scope="module")
def arm():
    """Two hinges on a slider, with limits of all sorts."""
    limits = lw.Limits(-2.0, 1.0, velocity=3.0, effort=60.0)
    bodies = []
    for i, kind in enumerate((lw.Prismatic("x"), lw.Revolute("y"), lw.Revolute("z"))):
        inertia = lw.Inertia.box(1.0 + i, (0.1, 0.2, 0.3), at=(0.05, 0.02, 0.1))
        joint = lw.Joint(kind, f"joint{i}", at=(0.0, 0.1, 0.3), rpy=(0.2, 0.0, 0.1), limits=limits)
        bodies.append(lw.Body(f"link{i}", joint, inertia, f"link{i - 1}" if i else None))
    return lw.assemble("arm", bodies)


@pytest.mark.parametrize("criterion", ["log_det", "condition"])
@pytest.mark.parametrize("name", ["arm", "coupled"])
def test_gradients_are_those_of_differences(arm, criterion, name):
    r = arm if name == "arm" else lw.chain(4, seed=2).couple("joint3", "joint1", ratio=-0.7)
    unknowns = chosen_unknowns(r, None, True, True, True, False)
    goal = _Goal(unknowns, np.linspace(0.5, 2.0, r.nv), criterion)
    series = _Series(4.0, 3, r.nv)
    maps = series.maps(20)

    def value(z):
        """By singular values, which have more digits than the search needs."""
        condition, log_det = goal.told(tuple(m @ z for m in maps))
        return -log_det / len(goal.columns) if criterion == "log_det" else np.log(condition)

    def smooth(z):
        W = goal.equations(tuple(m @ z for m in maps))
        S = np.linalg.svd(W.reshape(-1, W.shape[-1]), compute_uv=False) ** 8
        return np.log(S.sum() * (1.0 / S).sum()) / 8

    z = np.random.default_rng(0).normal(size=(series.rows, r.nv))
    found, slopes = goal.with_gradient(tuple(m @ z for m in maps))
    assert found == pytest.approx(value(z), rel=1e-6)
    gradient = sum(m.T @ g for m, g in zip(maps, slopes))
    for direction in np.random.default_rng(1).normal(size=(4, *z.shape)):
        expected = (value(z + 1e-6 * direction) - value(z - 1e-6 * direction)) / 2e-6
        assert np.sum(gradient * direction) == pytest.approx(expected, rel=1e-4, abs=1e-5)
    if criterion == "condition":  # what the search takes in its place
        found, slopes = goal.with_gradient(tuple(m @ z for m in maps), power=4.0)
        assert found == pytest.approx(smooth(z), rel=1e-6)
        direction = np.random.default_rng(1).normal(size=z.shape)
        expected = (smooth(z + 1e-6 * direction) - smooth(z - 1e-6 * direction)) / 2e-6
        assert sum(np.sum(m.T @ g * direction) for m, g in zip(maps, slopes)) == pytest.approx(expected, rel=1e-4)


def test_limits_hold_at_every_time_and_it_begins_at_rest(arm):
    found = lw.excitation(arm, duration=5.0, harmonics=3, margin=0.0, starts=1, iterations=40, effort=[80.0, 30.0, 5.0])
    _, q, v, a = found.samples(5001)
    assert (q >= -2.0).all() and (q <= 1.0).all()
    assert (np.abs(v) <= 3.0).all()
    assert (np.abs(arm.inverse_dynamics(q, v, a)) <= [80.1, 30.1, 5.1]).all()
    assert_close(v[0], np.zeros(3))
    assert_close(a[0], np.zeros(3))
    near = np.array([np.abs(v).max(axis=0) / 3.0, (np.abs(q + 0.5) / 1.5).max(axis=0)])
    assert (near.max(axis=0) > 0.6).any()  # the limits are used


def test_positions_velocities_and_accelerations_belong_together(arm):
    found = lw.excitation(arm, duration=5.0, harmonics=3, starts=1, iterations=5)
    t = np.linspace(0.3, 4.0, 7)
    q, v, a = found(t)
    h = 1e-5
    (q1, v1, _), (q0, v0, _) = found(t + h), found(t - h)
    assert_close((q1 - q0) / (2 * h), v, 1e-7)
    assert_close((v1 - v0) / (2 * h), a, 1e-7)
    assert_close(found(float(t[2]))[0], q[2])
    assert_close(found(t + 5.0)[0], q, 1e-9)  # periodic


@pytest.mark.parametrize("criterion", ["log_det", "condition"])
def test_it_tells_more_than_random_motions(arm, criterion):
    found = lw.excitation(arm, duration=5.0, harmonics=3, criterion=criterion, starts=4, iterations=40)
    (condition, log_det), n = found.before, len(lw.identify(arm, *_data(arm, found)).combinations)
    if criterion == "condition":
        assert found.condition < 0.7 * condition
    else:
        assert found.log_det > log_det + 0.5 * n  # error bars less than 0.8 of what they were, in the mean
    assert repr(found).startswith("<Excitation of 'arm': 5 s, 3 harmonics")


def test_roundings_do_not_choose_the_motion(arm):
    found = [
        lw.excitation(arm, duration=5.0 + k, harmonics=3, criterion="condition", starts=4, iterations=40)
        for k in (0.0, 1e-12)
    ]
    assert found[1].condition == pytest.approx(found[0].condition, rel=0.01)


def _data(r, motion, seed=0):
    _, q, v, a = motion.samples(120)
    return q, v, a, r.inverse_dynamics(q, v, a) + 0.1 * np.random.default_rng(seed).normal(size=v.shape)


def test_error_bars_become_smaller(arm):
    best = lw.excitation(arm, duration=5.0, harmonics=3, starts=2, iterations=60)
    other = lw.excitation(arm, duration=5.0, harmonics=3, starts=1, iterations=1)
    bars = [np.log([c.error for c in lw.identify(arm, *_data(arm, x), noise=0.1).combinations]) for x in (best, other)]
    assert bars[0].mean() < bars[1].mean() - 0.1


def test_it_is_a_reference_for_laws(arm):
    found = lw.excitation(arm, duration=5.0, harmonics=3, starts=1, iterations=5)
    law = control.PDPlus(arm, found, 5.0, 0.3)
    run = lw.simulate(arm, found(0.0)[0], controller=law, duration=1.0, step=2e-3)
    assert run.settings.functions == {"controller": "compiled"}
    assert_close(run.q, found(run.time)[0], 1e-5)


def test_refusals(arm):
    def refused(match, r=arm, error=lw.InputError, **options):
        with pytest.raises(error, match=match):
            lw.excitation(r, **options)

    refused("has no limit of position", r=lw.chain(2))
    refused("has no limit of velocity", r=lw.chain(2), position=(-1, 1))
    refused("does not move by ordinary coordinates", r=robot("spherical"), error=lw.NotAdmittedError)
    refused("position is a pair", position=3.0)
    refused("may not move", position=(1.0, -1.0))
    refused("limits of velocity must be numbers", velocity=[1.0, 2.0])
    refused("too heavy for its efforts", effort=0.1)
    refused("no criterion is named", criterion="trace")
    refused("margin is a share below 1", margin=1.0)
    refused("harmonics must be a whole number from 2 on", harmonics=1)
    refused("noise must be positive", noise=0.0)
    refused("excitation needs a robot", r=None)
