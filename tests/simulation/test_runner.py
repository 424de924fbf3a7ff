"""Motions are made in pieces, between which Ctrl-C and progress have their turn, and no number depends on them."""

from itertools import pairwise

import numpy as np
import pytest

import linkwise as lw
from linkwise.simulation import runner

CASES = {
    "free": {},
    "controlled": {"controller": lambda t, q, v: -2.0 * q - v + np.sin(9.0 * t)},
    "held": {"controller": lambda t, q, v: -2.0 * q - v, "hold": True},
    "called back": {"controller": lambda t, q, v: -2.0 * q - v, "hold": True, "callback": True},
    "called back at every stage": {"controller": lambda t, q, v: -2.0 * q - v, "callback": True, "steps": 30},
    "table": {"tau": np.random.default_rng(0).normal(size=(3, 60, 2))},
    "noise": {"noise": lw.Noise(0.3, seed=1)},
    "pushed": {"external": lambda t, q, v: {"tip": np.ones(6) * t}, "cost": lambda q, v: q @ q + v @ v},
    "variational": {"method": "variational"},
    "total rates": {"coordinates": "total"},
}


@pytest.mark.parametrize("name", CASES)
def test_pieces_of_any_length_give_the_same_motion(name, monkeypatch):
    robot, q = lw.load("double_pendulum"), np.random.default_rng(2).normal(size=(3, 2))
    options = {"steps": 60, "every": 15, "method": "semi_implicit_euler", "implicit": None} | CASES[name]
    options = {k: x for k, x in options.items() if k != "steps" or "tau" not in options}
    whole = lw.simulate(robot, q, **options)
    monkeypatch.setattr(runner, "_FIRST_CHUNK", 12)
    monkeypatch.setattr(runner, "_CHUNK_SECONDS", 1e-6)
    pieces = lw.simulate(robot, q, **options)
    for what in ("time", "q", "v", "tau", "cost", "exchanged"):
        one, other = getattr(whole, what), getattr(pieces, what)
        assert (one is other is None) or np.array_equal(one, other)


def test_samples_far_apart_leave_ctrl_c_its_turn(monkeypatch):
    """A row whose steps take long is made some steps at a time."""
    made, turns = [], []

    class Stepper:
        def advance(self, q, w, first, steps, every, tau, out):
            made.append((first, steps))
            out[0][:], out[1][:] = q[:, None] + steps, w[:, None]

    class Task:
        is_per_state = False

        def times(self, first, count, every=1):
            return first + every * np.arange(count)

    monkeypatch.setattr(runner.Progress, "advance", lambda self, n: turns.append(n))
    ticks = iter(range(10**6))
    monkeypatch.setattr(runner.time, "perf_counter", lambda: 0.05 * next(ticks))  # each piece takes half of the time
    run = runner.Run(Task(), Stepper(), check=False)
    _, q, _ = run(np.zeros((20_000, 1)), np.zeros((20_000, 1)), 0, 6000, 3000, None)
    assert (q[..., 0] == [0.0, 3000.0, 6000.0]).all()
    assert [n for _, n in made] == turns and sum(turns) == 6000 and made[0] == (0, 1)
    assert [first for first, _ in made] == [0, *np.cumsum(turns)[:-1]]
    assert all(later <= 2 * n for n, later in pairwise(turns))
