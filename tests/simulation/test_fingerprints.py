"""What functions are made of: the same in another process, other where anything that matters is."""

import math
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import linkwise as lw
from linkwise import control
from linkwise.simulation.fingerprints import differences, made_of

SCALE = 2.0


def helper(x):
    return SCALE * x


def calls_a_helper(t, q, v):
    return helper(v) * math.pi


class Law:
    bias = 0.5

    def __init__(self, gain):
        self.gain, self.history = gain, []

    def __call__(self, t, q, v):
        return -self.gain * v

    def method(self, t, q, v):
        return self.gain * q


def closing(value):
    return lambda t, q, v: value


def parts(function):
    return made_of(function).parts


@pytest.mark.parametrize(
    ("make", "one", "other", "name"),
    [
        (closing, 1.0, 2.0, "value"),
        (closing, np.ones(3), np.arange(3.0), "value"),
        (closing, {"a": [1, 2]}, {"a": [1, 3]}, "value"),
        (closing, lw.load("ur5"), lw.load("ur5").with_gravity((0, 0, 0)), "value"),
        (closing, closing(1), closing(2), r"value\.value"),
        (closing, Law(1), Law(2), "value"),
        (closing, np.random.default_rng(0), np.random.default_rng(1), "value"),
        (Law, 1.0, 2.0, "gain"),
        (lambda x: Law(x).method, 1.0, 2.0, "gain"),
        (lambda x: partial(gained, gain=x), 1.0, 2.0, "gain"),
        (lambda x: control.PDGravity(lw.load("ur5"), np.zeros(6), x, 1.0), 1.0, 2.0, "Kp"),
        (lambda x: control.PDGravity(lw.load("ur5"), np.full(6, x), 1.0, 1.0), 1.0, 2.0, r"reference\.q"),
    ],
)
def test_values_that_differ_are_named(make, one, other, name):
    assert differences(parts(make(one)), parts(make(one))) == []
    (found,) = differences(parts(make(one)), parts(make(other)))
    assert found == name.replace("\\", "") or found.startswith(name.replace("\\", "") + " (")


def gained(t, q, v, gain):
    return gain * v


def test_code_and_what_it_reads(monkeypatch):
    assert differences(parts(lambda t, q, v: v), parts(lambda t, q, v: v)) == []
    assert differences(parts(lambda t, q, v: v), parts(lambda t, q, v: -v)) == ["code"]
    assert differences(parts(lambda t, q, v: 2 * v), parts(lambda t, q, v: 3 * v)) == ["code"]
    before = parts(calls_a_helper)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert differences(before, parts(calls_a_helper)) == ["helper.SCALE (2.0 then, 3.0 now)"]


def test_what_a_function_worked_out_is_no_part_of_it():
    robot = lw.load("ur5")
    law = control.PDGravity(robot, np.zeros(6), 1.0, 1.0)
    before = parts(law)
    law(0.0, np.zeros(6), np.zeros(6))
    assert differences(before, parts(law)) == []


def test_circles_end():
    law = Law(1.0)
    law.history.append(law)
    assert differences(parts(law), parts(law)) == []

    def calls_itself(t, q, v):
        return v if t > 1 else calls_itself(t + 1, q, v)

    assert parts(calls_itself)


def test_what_cannot_be_taken_apart_is_listed():
    with open(os.devnull) as stream:
        assert made_of(closing(stream)).unknown == ["value (TextIOWrapper)"]
        assert made_of(closing([stream])).unknown == ["value (TextIOWrapper)"]


def test_another_process_finds_the_same():
    script = """
import sys
sys.path[:0] = ["tests/simulation"]
import numpy as np
import linkwise as lw
from test_fingerprints import Law, closing, calls_a_helper, parts
from linkwise import control
made = closing({"a": {1, 2, "three"}, "b": np.ones(2), "robot": lw.load("panda")})
law = control.PDGravity(lw.load("ur5"), np.zeros(6), 1.0, 1.0)
print([sorted(parts(f).items()) for f in (made, law, Law({"x", "y"}), calls_a_helper)])
"""
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    found = set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", script], cwd=root, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1
