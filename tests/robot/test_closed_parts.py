"""Long functions of closed robots from other calls: the same as in one, and taken where that would be too long."""

import warnings

import numpy as np
import pytest
from linkages import four_bar_state, four_bars, open_four_bar

import linkwise as lw
from linkwise.codegen import thresholds
from linkwise.robot import closed_parts

FOLLOW = ("coupler_hinge", "rocker_hinge")
PARTS = {
    "linearize_forward": closed_parts.linearized,
    "forward_dynamics_sensitivity": closed_parts.sensitivity,
    "embedded_linearize_forward": closed_parts.linearized_in_independent_rates,
}


def arrays_of(x):
    return x if isinstance(x, tuple) else (x,)


@pytest.mark.parametrize("name", PARTS)
def test_parts_agree_with_the_whole(name, rng, monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "numpy")
    robot = open_four_bar().close(lw.Loop("rocker_end", "coupler_end", "revolute", dependent=FOLLOW))
    q, v = (np.stack([x, x]) for x in four_bar_state(robot))
    tau, external = rng.normal(size=(2, robot.nv)), rng.normal(size=(2, len(robot.bodies), 6))
    for more in ({}, {"external": external}):
        expected = arrays_of(getattr(robot, name)(q, v, tau, **more))
        for x, y in zip(expected, arrays_of(PARTS[name](robot, q, v, tau, **more)), strict=True):
            assert x.shape == y.shape
            assert np.abs(x - y).max() <= 1e-12 * np.abs(x).max()


def test_they_are_taken_where_code_would_be_too_long(monkeypatch, tmp_path):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    monkeypatch.setattr(thresholds, "LONGEST_TRACE", 5_000)
    robot = four_bars(2)
    q = robot.closed_configuration([1.3, -0.9, 1.8] * 2)
    v, tau = np.zeros(robot.nv), np.ones(robot.nv)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = robot.linearize_forward(q, v, tau)
    assert found.state_space().A.shape == (2 * robot.nv, 2 * robot.nv)
    for x, y in zip(robot.linearize_forward(q, v, tau, target="numpy"), found):
        assert np.abs(x - y).max() <= 1e-12 * np.abs(x).max()
