"""What functions are made of: the same in another process, other where anything that matters is."""

import math
import os
import subprocess
import sys
import types
from functools import partial

import numpy as np
import pytest

import linkwise as lw
from linkwise import control
from linkwise.symbols.fingerprints import differences, made_of

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


# Laws that differ in one number, GAIN, and in no field, closure or default; by what has to be named.
DEEP = {
    "Deep.gain (": """
class Deep:
    gain = GAIN
    def __call__(self, t, q, v):
        return -self.gain * v
law = Deep()
""",
    "Deep.gain.code": """
class Deep:
    @property
    def gain(self):
        return GAIN
    def __call__(self, t, q, v):
        return -self.gain * v
law = Deep()
""",
    "Deep.scaled.code": """
class Deep:
    @staticmethod
    def scaled(v):
        return GAIN * v
    def law(self, t, q, v):
        return self.scaled(v)
law = Deep().law
""",
    "Deep.scaled.code ": """
class Deep:
    @classmethod
    def scaled(cls, v):
        return GAIN * v
    @classmethod
    def law(cls, t, q, v):
        return cls.scaled(v)
law = Deep.law
""",
    "Deep.helper.code": """
import functools
class Deep:
    @functools.cached_property
    def helper(self):
        return GAIN
    def __call__(self, t, q, v):
        return self.helper * v
law = Deep()
""",
    "Base.scaled.code": """
class Base:
    def scaled(self, v):
        return GAIN * v
class Deep(Base):
    def __call__(self, t, q, v):
        return super().scaled(v)
law = Deep()
""",
    "Meta.gain (": """
class Meta(type):
    gain = GAIN
class Deep(metaclass=Meta):
    def __call__(self, t, q, v):
        return type(self).gain * v
law = Deep()
""",
    "Settings.Settings.gain (": """
class Settings:
    gain = GAIN
def law(t, q, v):
    return Settings.gain * v
""",
    "settings": """
class Settings:
    gain = GAIN
settings = Settings()
def law(t, q, v):
    return settings.gain * v
""",
    "cached.code": """
import functools
@functools.lru_cache
def cached():
    return GAIN
def law(t, q, v):
    return cached() * v
""",
    "scaled.argument 1 (": """
import functools, operator
scaled = functools.partial(operator.mul, GAIN)
def law(t, q, v):
    return scaled(v)
""",
    "made.Deep.gain (": """
import functools
class Deep:
    gain = GAIN
    def __call__(self, v):
        return self.gain * v
made = functools.partial(Deep)
def law(t, q, v):
    return made()(v)
""",
    "noise": """
import numpy as np
noise = np.random.default_rng(int(GAIN)).normal
def law(t, q, v):
    return noise() * v
""",
    "code": """
import functools, numpy as np
@functools.wraps(np.sin)
def law(t, q, v):
    return GAIN * v
""",
}


@pytest.mark.parametrize("name", DEEP)
def test_what_a_law_reaches_through_classes_and_wrappers_is_a_part_of_it(name):
    before, again, other = (_defined(DEEP[name], gain) for gain in ("2.0", "2.0", "3.0"))
    assert made_of(before).unknown == [] and differences(parts(before), parts(again)) == []
    assert all(part.startswith(name.strip()) for part in differences(parts(before), parts(other)))
    assert differences(parts(before), parts(other))


def _defined(source, gain):
    namespace = {"__name__": "users_module"}
    exec(source.replace("GAIN", gain), namespace)
    return namespace["law"]


def test_modules_read_within_a_function_are_parts_of_it(monkeypatch):
    settings = types.ModuleType("users_settings")
    settings.gain = 2.0
    monkeypatch.setitem(sys.modules, "users_settings", settings)

    def imports(t, q, v):
        import users_settings

        return users_settings.gain * v

    closing_over = closing(settings)
    before = [parts(f) for f in (imports, closing_over)]
    settings.gain = 3.0
    found = [differences(x, parts(f)) for x, f in zip(before, (imports, closing_over))]
    assert found == [["users_settings", "users_settings.gain (2.0 then, 3.0 now)"], ["value"]]


def test_vectorized_functions_do_not_show_what_they_are_made_of():
    assert made_of(closing(np.frompyfunc(helper, 1, 1))).unknown == ["value (helper (vectorized))"]


def test_many_functions_that_call_each_other_are_taken_apart_once():
    lines = [f"def f{i}(x):\n    return {' + '.join(f'f{j}(x)' for j in range(i))} + GAIN" for i in range(1, 60)]
    source = "def f0(x):\n    return x\n" + "\n".join(lines) + "\nlaw = f59\n"
    assert differences(parts(_defined(source, "2.0")), parts(_defined(source, "3.0")))


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


def test_the_environment_is_listed_and_not_compared():
    """Another terminal has another one, and what is read of it may be the same."""

    def reads(robot, p):
        return os.environ.get("HOME")

    found = made_of(reads)
    assert found.unknown == ["os.environ (the environment of the process)"] and found.identity is None
    assert not any("environ" in name for name in found.parts)


def test_another_process_finds_the_same():
    script = """
import sys
sys.path[:0] = ["tests/symbols"]
import numpy as np
import linkwise as lw
from test_fingerprints import DEEP, Law, _defined, calls_a_helper, closing, helper, parts
from linkwise import control
made = closing({"a": {1, 2, "three"}, "b": np.ones(2), "robot": lw.load("panda")})
law = control.PDGravity(lw.load("ur5"), np.zeros(6), 1.0, 1.0)
deep = [_defined(source, "2.0") for source in DEEP.values()]
laws = (made, law, Law({"x", "y"}), closing({Law, helper, len}), calls_a_helper, *deep)
print([sorted(parts(f).items()) for f in laws])
"""
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    found = set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", script], cwd=root, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1


def test_defaults_of_libraries_are_known():
    """np.clip has a default that is made by copyreg's functions."""
    law = lambda t, q, v: np.clip(-q, -1.0, 1.0)
    assert made_of(law).identity is not None
    assert made_of(lambda t, q, v: np.eye(2) @ np.diff(q)).identity is not None
    assert made_of(lambda t, q, v: np.loadtxt("gains") * q).identity is None
    assert made_of(lambda t, q, v: np.load("gains") * q).identity is None
