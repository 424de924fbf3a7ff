"""Lyapunov functions: their rates as the papers have them, and that they fall at every step of a closed loop."""

import numpy as np
import pytest
import sprung
from loops import LAWS, ROBOTS, laws, rate_along, swinging
from trees import assert_close, robot, state

import linkwise as lw
from linkwise import control


@pytest.fixture(autouse=True)
def compiled(monkeypatch, request):
    """Closed loops take thousands of steps: they run compiled."""
    if "along" not in request.node.name:
        monkeypatch.setenv("LINKWISE_TARGET", "cpu")


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("law", LAWS)
def test_rate_is_the_derivative_along_the_closed_loop(name, law):
    """On every joint kind, at random states far from the reference."""
    r = robot(name)
    s = state(r, (4,), seed=3)
    controller = laws(r)[law]
    found = controller.lyapunov_rate(0.4, s.q, s.v)
    assert_close(rate_along(r, controller, 0.4, s.q, s.v), found, 2e-9)
    assert (controller.lyapunov(0.4, s.q, s.v) > 0).all()
    if law != "ReferenceCoriolis":
        assert (found < 0).all()


@pytest.mark.parametrize("name", ["spherical", "hinges"])
@pytest.mark.parametrize("law", LAWS)
def test_rate_along_the_closed_loop_of_sprung_robots(name, law):
    r = sprung.tree(name)
    s = state(r, (2,), seed=3)
    controller = laws(r)[law]
    found = controller.lyapunov_rate(0.4, s.q, s.v)
    assert_close(rate_along(r, controller, 0.4, s.q, s.v), found, 2e-9)


@pytest.mark.parametrize("law", LAWS)
def test_falls_at_every_step(law):
    r = robot("ur5")
    controller = laws(r)[law]
    s = state(r, (3,), seed=1)
    run = lw.simulate(r, s.q, 0.5 * s.v, controller, duration=1.0, step=2e-3)
    V = run.along(controller.lyapunov)
    assert V.shape == (3, 501)
    assert (np.diff(V) < 1e-13 * V[:, :1]).all()
    assert (V[:, -1] < 0.5 * V[:, 0]).all()
    if law != "ReferenceCoriolis":  # what is lost is what the rate says, by Simpson's rule
        rate = run.along(controller.lyapunov_rate)
        lost = (2e-3 / 3) * (rate[:, :-2:2] + 4 * rate[:, 1:-1:2] + rate[:, 2::2]).sum(axis=-1)
        assert_close(V[:, -1] - V[:, 0], lost, 1e-5)


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("spherical", "RateFeedback"),
        ("planar", "PDPlus"),
        ("small_floating", "SlidingTracking"),
        ("code", "ComputedTorque"),
    ],
)
def test_falls_on_quaternions(name, law):
    r = robot(name)
    controller = laws(r, seed=2)[law]
    s = state(r, (), seed=4)
    q = r.integrate(controller.reference(0.0)[0], 0.2 * s.a) if law != "RateFeedback" else s.q
    V = lw.simulate(r, q, 0.3 * s.v, controller, duration=0.2, step=1e-3).along(controller.lyapunov)
    assert (np.diff(V) < 1e-13 * V[0]).all()


def test_one_gain_damps_as_an_exponential():
    """½|ν|² e^(−2ct), whatever the motion (DD Control 8.1)."""
    r = robot("ur5")
    s = state(r, (), seed=5)
    law = control.RateFeedback(r, 3.0)
    run = lw.simulate(r, s.q, s.v, law, duration=1.0, step=2e-3)
    V = run.along(law.lyapunov)
    assert_close(V / V[0], np.exp(-6.0 * run.time), 1e-8)


def test_working_forces_are_those_of_the_paper():
    """ε = −c₁ν + c₂D^{−½}HψBe, by operators (DD (8.6) with E18)."""
    r = robot("ur5")
    s = state(r, ())
    law = laws(r)["ConfigurationControl"]
    op = r.operators(s.q, frames=[r.tips[-1]])
    pull = np.diag(op.D.dense()) ** -0.5 * (op.H @ op.psi @ op.B @ law.force(s.q))  # D is diagonal for hinges
    expected = pull - law.damping * r.total_rates(s.q, s.v)
    assert_close(law.working_forces(0.0, s.q, s.v), expected, 1e-11)
    tau = law(0.0, s.q, s.v) - r.gravity_force(s.q)
    assert_close(r.working_forces(s.q, tau), expected, 1e-11)


def test_output_error_is_that_of_the_axes():
    """ν*ν + W|Ŷ − Y|² with Y of twelve numbers."""
    r = robot("ur5")
    s = state(r, ())
    law = laws(r)["ConfigurationControl"]
    R, p = r.pose(s.q, r.tips[-1])
    outputs = 10.0 * ((law.position - p) ** 2).sum() + 0.3 * ((law.rotation - R) ** 2).sum()
    assert law.lyapunov(0.0, s.q, s.v) == pytest.approx(2 * r.kinetic_energy(s.q, s.v) + outputs, rel=1e-12)


def test_gains_that_are_too_low_for_the_reference_are_seen():
    """ReferenceCoriolis: with a fast reference and little damping its rate is positive somewhere; PDPlus never."""
    r = robot("ur5")

    def fast(t):
        q, v, a = swinging(r)(t)
        return q, 40 * v, a

    s = state(r, (200,))
    low = {"Kp": 1.0, "Kd": 0.05}
    assert (control.ReferenceCoriolis(r, fast, **low).lyapunov_rate(0.0, s.q, s.v) > 0).any()
    assert (control.PDPlus(r, fast, **low).lyapunov_rate(0.0, s.q, s.v) < 0).all()


def test_a_wrong_model_breaks_the_proof_but_runs():
    """The law may believe in another robot; V then need not fall."""
    believed = robot("ur5")
    heavy = believed.weld(believed.tips[-1], lw.Inertia.sphere(8.0, 0.1))
    law = control.PDGravity(believed, np.zeros(6), 20.0, 2.0)
    V = lw.simulate(heavy, np.zeros(6), controller=law, duration=0.2, step=2e-3).along(law.lyapunov)
    assert V[-1] > V[0]
