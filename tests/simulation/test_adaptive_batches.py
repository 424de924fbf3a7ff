"""Adaptive methods for many states at once: the way that SciPy's solvers go with each alone."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.simulation import adaptive
from linkwise.simulation.adaptive_batches import EXPLICIT, Batch

TOLERANCES = {"rk23": (1e-6, 1e-8), "rk45": (1e-10, 1e-12), "dop853": (1e-10, 1e-12)}


def states(r, n=5):
    rng = np.random.default_rng(3)
    return r.random_configuration(rng, n), rng.normal(size=(n, r.nv)) * np.arange(1, n + 1)[:, None]  # of unlike speeds


@pytest.mark.parametrize("step", [0.15, 0.003])
@pytest.mark.parametrize("method", EXPLICIT)
def test_each_state_goes_its_own_way(method, step, monkeypatch):
    r = lw.random_tree(4, seed=2, floating=True)
    q, v = states(r)
    law = lambda robot, t, q, v: np.sin(9 * t) - 0.3 * v
    options = {"duration": 0.3, "step": step, "method": method, "tolerances": TOLERANCES[method], "target": "cpu"}
    alone = [lw.simulate(r, q[i], v[i], law, **options) for i in range(len(q))]
    monkeypatch.setattr(adaptive, "_solve_one", None)  # no state by itself
    together = lw.simulate(r, q, v, law, **options)
    for i, one in enumerate(alone):
        np.testing.assert_allclose(together.q[i], one.q, atol=1e-11)
        np.testing.assert_allclose(together.v[i], one.v, atol=1e-11)
        np.testing.assert_allclose(together.energy.work[i], one.energy.work, atol=1e-10)


def test_forces_of_their_own():
    r = lw.load("double_pendulum")
    q, v = states(r, 3)
    push = {"upper": np.arange(18.0).reshape(3, 6)}
    options = {"duration": 0.1, "step": 0.05, "method": "dop853", "target": "cpu"}
    together = lw.simulate(r, q, v, external=push, **options)
    for i in range(3):
        one = lw.simulate(r, q[i], v[i], external={"upper": push["upper"][i]}, **options)
        np.testing.assert_allclose(together.q[i], one.q, atol=1e-12)
    shared = lw.simulate(r, q, v, external={"upper": push["upper"][1]}, **options)
    np.testing.assert_allclose(shared.q[1], together.q[1], atol=1e-12)


def test_what_is_watched_or_called_back_goes_one_by_one():
    r = lw.load("double_pendulum")
    q, v = states(r, 3)
    options = {"duration": 0.1, "step": 0.05, "method": "rk45", "target": "cpu"}
    plain = lw.simulate(r, q, v, **options)
    event = lw.Event(lambda t, q, v: q[..., 0] - 0.01)
    np.testing.assert_allclose(lw.simulate(r, q, v, events=event, **options).q, plain.q, atol=1e-12)
    none = lambda t, q, v: 0.0 * v
    np.testing.assert_allclose(lw.simulate(r, q, v, none, callback=True, **options).q, plain.q, atol=1e-12)


def test_as_many_calls_as_the_slowest_state_needs():
    calls = []

    def rate(t, y, which):
        calls.append(len(which))
        return -(1.0 + which[:, None]) * y

    from linkwise.progress import Progress

    batch = Batch(rate, "rk45", np.linspace(0.0, 1.0, 3), (1e-8, 1e-10), np.ones((50, 1)))
    with Progress(50_000, "ms", False) as bar:
        found = batch.run(bar)
    np.testing.assert_allclose(found[:, -1, 0], np.exp(-np.arange(1.0, 51.0)), atol=1e-7)
    assert len(calls) < 0.1 * sum(calls)
    assert min(calls) < 10  # those that are done are not asked


def test_a_state_that_is_lost_is_named():
    def rate(t, y, which):
        return np.where(which[:, None] == 1, y * y, -y)  # 1/(1 − t) ends at 1

    from linkwise.progress import Progress

    batch = Batch(rate, "dop853", np.linspace(0.0, 2.0, 3), (1e-8, 1e-10), np.ones((3, 1)))
    with (
        Progress(6000, "ms", False) as bar,
        pytest.raises(lw.SimulationError, match="gave up after t = 1 s in state 1"),
    ):
        batch.run(bar)


def test_the_code_is_kept(monkeypatch):
    r = lw.load("double_pendulum")
    run = lambda: lw.simulate(r, [0.1, 0.2], duration=0.05, step=0.05, method="rk45", target="cpu")
    first = run()
    monkeypatch.setattr(adaptive, "trace", None)  # nothing is traced again
    assert np.array_equal(run().q, first.q)
