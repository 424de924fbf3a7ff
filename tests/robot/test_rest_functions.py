"""A user's function as the rest of inverse kinematics: what it reads is read anew, and what it must be is said."""

from dataclasses import dataclass

import numpy as np
import pytest

import linkwise as lw

ARM = lw.chain(4, seed=3)
Q = np.array([0.3, -0.5, 0.4, 0.2])
GAIN = 1.0


def found(rest, robot=ARM, target="cpu"):
    """Where the arm comes to rest; the position of the tip leaves one way to move."""
    goal = ARM.pose(Q, ARM.tips[0], target="numpy")[1]
    reach = robot.inverse_kinematics(robot.tips[0], goal, Q, part="position", rest=rest, target=target)
    assert reach.reached
    return reach.q


def of_a_global(robot, q):
    return GAIN * np.arange(1.0, 5.0)


@dataclass
class Rest:
    gain: float = 1.0

    def __call__(self, robot, q):
        return self.gain * np.arange(1.0, 5.0)


def check(rest, change):
    """What is found before a change and after it; the latter is that of a robot that knew nothing before."""
    before = found(rest)
    assert np.array_equal(found(rest), before)
    change()
    after = found(rest)
    assert np.abs(after - before).max() > 0.1
    assert np.abs(after - found(rest, lw.chain(4, seed=3), "numpy")).max() < 1e-6


def test_a_global_that_changes(monkeypatch):
    check(of_a_global, lambda: monkeypatch.setitem(globals(), "GAIN", -1.0))


@pytest.mark.parametrize("called", ["object", "method", "closure"])
def test_a_field_that_changes(called):
    rest = Rest()  # a dataclass, which has no hash
    ways = {"object": rest, "method": rest.__call__, "closure": lambda robot, q: rest(robot, q)}
    check(ways[called], lambda: setattr(rest, "gain", -1.0))


def test_functions_that_compute_the_same_share_their_code(monkeypatch):
    found(Rest())
    kept = len(ARM._code)
    found(Rest())
    assert len(ARM._code) == kept


def test_random_numbers_are_drawn_at_every_step():
    rng, asked = np.random.default_rng(0), []

    def noisy(robot, q):
        asked.append(q)
        return 1e-3 * rng.normal(size=4)

    with pytest.warns(lw.SlowPathWarning, match=r"keeps something from call to call \((rng|asked)"):
        found(noisy)
    assert len(asked) > 20 and all(q.dtype == float for q in asked)


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        (lambda q: q, r"a function of \(robot, q\), but <lambda> takes \(q\)"),
        (lambda q, robot: q, r"takes \(q, robot\)"),
        (max, "max does not say what it takes"),
        (lambda robot, q: [[1.0], [1.0, 2.0]], "4 numbers"),
        (lambda robot, q: np.array(["a", "b", "c", "d"]), "real numbers"),
        (lambda robot, q: q[:2], r"shape \(4,\), got \(2,\)"),
    ],
)
@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_what_it_must_be_is_said(rest, said, target):
    with pytest.raises(lw.InputError, match=said):
        found(rest, target=target)


def test_an_error_of_its_own_comes_out_as_it_is():
    def fails(robot, q):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught:
        found(fails)
    assert "ran on symbols" in caught.value.__notes__[0]


def test_it_may_write_into_what_it_is_given():
    def writes(robot, q):
        q[:] = 1.0
        return q

    assert np.abs(found(writes, target="numpy") - found(lambda robot, q: np.ones(4), target="numpy")).max() < 1e-9
