"""Long functions of closed robots from other calls: the same as in one, and taken where that would be too long."""

import warnings

import numpy as np
import pytest
from linkages import four_bar_state, four_bars, open_four_bar

import linkwise as lw
from linkwise.codegen import thresholds
from linkwise.robot import closed_parts, dispatch, foreign_calls

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
    robot, *state = single_four_bar()
    q, v = (np.stack([x, x]) for x in state[:2])
    tau, external = rng.normal(size=(2, robot.nv)), rng.normal(size=(2, len(robot.bodies), 6))
    for more in ({}, {"external": external}):
        expected = arrays_of(getattr(robot, name)(q, v, tau, **more))
        for x, y in zip(expected, arrays_of(PARTS[name](robot, q, v, tau, **more)), strict=True):
            assert x.shape == y.shape
            assert np.abs(x - y).max() <= 1e-12 * np.abs(x).max()


def kept(robot, kind):
    return [x for x in robot._code._kept.values() if isinstance(x, kind)]


def long_code(monkeypatch, tmp_path, longest=5_000):
    """A robot whose linearised dynamics are longer than one program may be, and a state."""
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    monkeypatch.setattr(thresholds, "LONGEST_TRACE", longest)
    robot = four_bars(2)
    q = robot.closed_configuration([1.3, -0.9, 1.8] * 2)
    return robot, q, np.zeros(robot.nv), np.ones(robot.nv)


def single_four_bar():
    robot = open_four_bar().close(lw.Loop("rocker_end", "coupler_end", "revolute", dependent=FOLLOW))
    return robot, *four_bar_state(robot), np.ones(robot.nv)


def test_they_are_taken_where_code_would_be_too_long(monkeypatch, tmp_path):
    robot, q, v, tau = long_code(monkeypatch, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = robot.linearize_forward(q, v, tau)
    assert len(kept(robot, dispatch.Parts)) == 1
    assert found.state_space().A.shape == (2 * robot.nv, 2 * robot.nv)
    for x, y in zip(robot.linearize_forward(q, v, tau, target="numpy"), found):
        assert np.abs(x - y).max() <= 1e-12 * np.abs(x).max()


def states(robot, q, v, tau):
    """Arguments of all sorts, right and wrong: (q, v, tau, external or None)."""
    n, bodies = robot.nv, len(robot.bodies)
    wide = np.tile(q, (2, 1, 1)), np.tile(v, (3, 1)), tau
    return {
        "scalar v": (q, 0.0, tau, None),
        "scalar tau": (q, v, 1.0, None),
        "scalar q": (0.0, v, tau, None),
        "scalar external": (q, v, tau, 0.0),
        "short v": (q, v[:3], tau, None),
        "long q": (np.append(q, 0.0), v, tau, None),
        "flat external": (q, v, tau, np.ones(6 * bodies)),
        "external of too few": (q, v, tau, np.ones((bodies - 1, 6))),
        "columns": (np.tile(q, (2, 1)).T, v, tau, None),
        "one number": (q, np.ones(1), tau, None),
        "other batches": (np.tile(q, (2, 1)), np.tile(v, (3, 1)), tau, None),
        "other batch of external": (np.tile(q, (2, 1)), v, tau, np.ones((3, bodies, 6))),
        "no state": (np.zeros((0, n)), np.zeros((0, n)), tau, None),
        "broadcast": (*wide, None),
        "broadcast external": (q, v, tau, 0.1 * np.ones((2, 1, bodies, 6))),
        "lists": (q.tolist(), v.tolist(), tau.tolist(), np.ones((bodies, 6)).tolist()),
        "float32": (*(x.astype(np.float32) for x in (q, v, tau)), None),
        "some float32": (q, v.astype(np.float32), tau.astype(np.float32), None),
        "integers": (q, v.astype(int), tau.astype(int), None),
        "truths": (q, v.astype(bool), tau.astype(bool), None),
        "text": (q, "x", tau, None),
        "texts": (q, v, np.full(n, "x"), None),
        "objects": (q, v, tau.astype(object), None),
        "NaN in v": (q, v * np.nan, tau, None),
        "NaN in tau": (np.tile(q, (2, 1)), v, np.stack([tau, tau * np.nan]), None),
    }


def outcome(call, *given, **more):
    """Its arrays, or the class and the text of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [np.asarray(x) for x in arrays_of(call(*given, **more))]
        except Exception as e:  # whatever it is, it must be the same
            return type(e), str(e)


def assert_same(found, expected, what):
    if isinstance(expected, tuple) or isinstance(found, tuple):
        assert found == expected, what
        return
    for some in (found, expected):
        assert any(np.isnan(x).any() for x in some) == ("NaN" in what), what
    for x, y in zip(expected, found, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype), what
        # Which entries do not depend on a NaN, code, parts and NumPy say differently.
        known = np.isfinite(x) & np.isfinite(y)
        assert known.all() or "NaN" in what, what
        limit = 2e-3 if x.dtype == np.float32 else 1e-11
        assert np.abs(x - y)[known].max(initial=0.0) <= limit * np.abs(x[known]).max(initial=0.0), what


@pytest.mark.parametrize("name", PARTS)
def test_parts_take_and_refuse_what_the_method_does(name, monkeypatch, tmp_path):
    embedded = name == "embedded_linearize_forward"
    longest = 500 if embedded else 5_000 if name == "linearize_forward" else 2_000
    robot, *state = long_code(monkeypatch, tmp_path, longest)
    if embedded:
        robot, *state = single_four_bar()
    call = getattr(robot, name)
    for what, (q, v, tau, external) in states(robot, *state).items():
        more = {} if external is None else {"external": external}
        expected = outcome(call, q, v, tau, target="numpy", **more)
        assert_same(outcome(call, q, v, tau, **more), expected, what)
    assert kept(robot, dispatch.Parts)


@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize("name", PARTS)
def test_parts_take_and_refuse_arrays_of_libraries_so(name, library, monkeypatch):
    kind = pytest.importorskip(library)
    if library == "jax":
        kind.config.update("jax_enable_x64", True)
    make = kind.tensor if library == "torch" else kind.numpy.asarray
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    robot, *state = single_four_bar()
    q = make(state[0])
    call = getattr(robot, name)
    whole = foreign_calls.compiled_call

    def in_parts(robot, call, *arguments, **options):
        return PARTS[name] if call.__name__ == name else whole(robot, call, *arguments, **options)

    monkeypatch.setattr(foreign_calls, "compiled_call", in_parts)
    _, v, tau = state
    given = {
        "scalar v": (q, 0.0, tau.tolist()),
        "short v": (q, make(v[:1]), make(tau)),
        "other batches": (make(np.tile(state[0], (2, 1))), make(np.tile(v, (3, 1))), make(tau)),
        "lists": (q, v.tolist(), tau.tolist()),
        "broadcast": (make(np.tile(state[0], (2, 1, 1))), make(np.tile(v, (3, 1))), tau.tolist()),
        "float32": (q, make(v.astype(np.float32)), make(tau.astype(np.float32))),
        "integers": (q, v.astype(int).tolist(), make(tau.astype(int))),
    }
    for what, arrays in given.items():
        plain = [np.asarray(x) for x in arrays]
        expected = outcome(call, *plain, target="numpy")
        assert_same(outcome(call, *arrays), expected, what)
    assert kept(robot, foreign_calls.AnswerInParts)
