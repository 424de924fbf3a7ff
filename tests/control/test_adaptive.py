"""Adaptive tracking: the Lyapunov function falls by exactly s*Kd s, whatever the truth; both forms are one law."""

import numpy as np
import pytest
from coupled import coupled_robot
from loops import ROBOTS, STEP, swinging
from sprung import sprung
from trees import assert_close, robot, state

import linkwise as lw
from linkwise import control


def truth(r, seed=3):
    """The robot with other inertias, of real bodies."""
    rng = np.random.default_rng(seed)
    return r.with_inertias(
        {b.name: b.inertia + lw.Inertia.point(rng.uniform(0.2, 0.8), rng.normal(size=3) * 0.1) for b in r.bodies}
    )


def law_of(r, **options):
    rng = np.random.default_rng(4)
    inertia = np.diag(r.mass_matrix(r.neutral()))
    given = {"gain": rng.uniform(0.1, 2.0, 10), "base_forces": True} | options
    return control.AdaptiveTracking(r, swinging(r), rng.uniform(2, 5, r.nv), 5.0 * inertia, **given)


@pytest.mark.parametrize("form", ["recursive", "regressor"])
@pytest.mark.parametrize("name", [*ROBOTS, "coupled", "sprung"])
def test_the_lyapunov_function_falls_by_what_it_says(name, form):
    """dV/dt along the closed loop, by a complex step, at random states and estimates far from the truth."""
    r = coupled_robot() if name == "coupled" else sprung(robot("hinges")) if name == "sprung" else robot(name)
    law, true = law_of(r, form=form), truth(r)
    plant = law.plant(true)
    s = state(r, (3,), seed=3)
    rng = np.random.default_rng(8)
    q, v = law.start(s.q, s.v, rng.normal(size=(3, len(r.bodies), 10)))  # not even estimates of real bodies
    t = 0.4
    a = plant.forward_dynamics(q, v, law(t, q, v))
    moved = plant.integrate(q, 1j * STEP * v)
    rate = law.lyapunov(t + 1j * STEP, moved, v + 1j * STEP * a, truth=true).imag / STEP
    assert_close(rate, law.lyapunov_rate(t, q, v), 2e-9)
    assert (rate < 0).all()


@pytest.mark.parametrize("name", ["ur5", "hinges", "small_floating", "coupled"])
def test_both_forms_are_one_law(name):
    r = coupled_robot() if name == "coupled" else robot(name)
    bodies = [r.bodies[-1].name, r.bodies[0].name]
    laws = [law_of(r, form=form, bodies=bodies) for form in ("recursive", "regressor")]
    s = state(r, (3,), seed=1)
    q, v = laws[0].start(s.q, s.v, np.random.default_rng(2).normal(size=(2, 10)))
    assert_close(laws[0](0.3, q, v), laws[1](0.3, q, v))
    assert laws[0](0.3, q, v).shape == (3, r.nv + 20)


def test_where_the_estimates_are_right_it_is_sliding_tracking():
    r = robot("ur5")
    law = law_of(r)
    plain = control.SlidingTracking(r, law.reference, law.Kp, law.Kd)
    s = state(r, (2,), seed=1)
    q, v = law.start(s.q, s.v)
    assert_close(law(0.3, q, v)[:, :6], plain(0.3, s.q, s.v))


def test_it_falls_at_every_step_and_the_robot_follows(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    r = lw.chain(2, seed=5)
    true = truth(r)
    law = control.AdaptiveTracking(r, swinging(r), 5.0, 2.0, gain=[2.0, 0.3, 0.3, 0.3, *[0.1] * 6])
    start = r.integrate(law.reference(0.0)[0], [[0.2, -0.3], [-0.1, 0.2]])
    step = 1e-3
    run = lw.simulate(law.plant(true), *law.start(start), law, duration=4.0, step=step)
    assert run.settings.functions == {"controller": "compiled"}
    V = run.along(lambda t, q, v: law.lyapunov(t, q, v, truth=true))
    assert V.shape == (2, 4001)
    assert (np.diff(V) < 0).all()
    rate = run.along(law.lyapunov_rate)
    lost = (step / 3) * (rate[:, :-2:2] + 4 * rate[:, 1:-1:2] + rate[:, 2::2]).sum(axis=-1)  # Simpson's rule
    assert_close(V[:, -1] - V[:, 0], lost, 1e-6)
    off = np.abs(run.along(lambda t, q, v: law.errors(t, q, v).e)).max(axis=-1)
    assert (off[:, -800:].max(axis=-1) < 0.02 * off[:, 0]).all()
    # A law that takes the first estimates for the truth stays off.
    fixed = control.SlidingTracking(r, law.reference, 5.0, 2.0)
    plain = lw.simulate(true, start, controller=fixed, duration=4.0, step=step)
    left = np.abs(plain.along(lambda t, q, v: fixed.errors(t, q, v).e)).max(axis=-1)
    assert (left[:, -800:].max(axis=-1) > 10 * off[:, -800:].max(axis=-1)).all()


def test_bodies_that_are_not_adapted_are_known():
    r = robot("panda")
    held = lw.Inertia.box(1.5, (0.1, 0.1, 0.1))
    true = r.weld("tcp", held, at=(0.0, 0.02, 0.05))
    law = control.AdaptiveTracking(r, r.neutral(), 4.0, 5.0, bodies=["panda_link7"])
    assert law.robot.nv == 17 and law.bodies == ("panda_link7",)
    q, v = law.start(r.neutral() + 0.1, parameters=true.inertial_parameters[-1:])
    plain = control.SlidingTracking(true, r.neutral(), 4.0, 5.0)
    assert_close(law(0.0, q, v)[:7], plain(0.0, q[:7], v[:7]))
    assert_close(law.estimates(v), true.inertial_parameters[-1:])


def test_sweeps_take_fewer_operations_than_the_regressor():
    counts = {
        form: {n: law_of(robot(f"chain{n}"), form=form).compile().operations.total for n in (4, 8)}
        for form in ("recursive", "regressor")
    }
    assert counts["recursive"][8] < 2.3 * counts["recursive"][4]
    assert counts["regressor"][8] > 2.6 * counts["regressor"][4]


@pytest.mark.parametrize(
    ("match", "options"),
    [
        ("gain must be positive", {"gain": -1.0}),
        ("gain must be positive", {"gain": [1.0, 2.0]}),
        ("no form of adaptation is named", {"form": "matrix"}),
        ("bodies names the bodies", {"bodies": []}),
        ("Kd must be", {"Kd": [1.0, 2.0]}),
    ],
)
def test_refusals(match, options):
    r = robot("ur5")
    with pytest.raises(lw.InputError, match=match):
        control.AdaptiveTracking(**{"robot": r, "reference": r.neutral(), "Kp": 1.0, "Kd": 1.0} | options)


def test_other_robots_are_refused():
    r = robot("ur5")
    law = control.AdaptiveTracking(r, r.neutral(), 1.0, 1.0)
    with pytest.raises(lw.InputError, match="has other joints"):
        law.plant(robot("panda"))
    with pytest.raises(lw.InputError, match=r"parameters must have shape \(..., 6, 10\)"):
        law.start(r.neutral(), parameters=np.zeros((2, 10)))
    closed = lw.load("four_bar")
    with pytest.raises(lw.NotAdmittedError, match="without loops"):
        control.AdaptiveTracking(closed, closed.neutral(), 1.0, 1.0)
    cart = lw.load("cartpole")
    with pytest.raises(lw.NotAdmittedError, match="needs forces at every joint"):
        control.AdaptiveTracking(cart, cart.neutral(), 1.0, 1.0)
