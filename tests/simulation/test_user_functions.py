"""The user's functions: how they are called, that they may write where they like, and that nothing is silently slow."""

import functools
import logging
import multiprocessing
import warnings
import weakref
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from linkwise.simulation.user_functions import takes_robot

R = lw.load("double_pendulum")
START = np.array([1.0, 0.5])
LOG = logging.getLogger("users")


def untraced(t):
    return float(t)  # what symbols have not


# --- which arguments ----------------------------------------------------------------------------------


def test_names_decide_how_a_function_is_called():
    assert takes_robot("it", lambda robot, t, q, v: v)
    assert takes_robot("it", lambda r, t, q, v: v)
    assert takes_robot("it", lambda a, b, c, d: d)
    assert takes_robot("it", lambda robot, t, q, v, gain=5.0: v)
    assert takes_robot("it", lambda robot, t, q, v=None: v)
    assert not takes_robot("it", lambda t, q, v: v)
    assert not takes_robot("it", lambda a, b, c: c)
    assert not takes_robot("it", lambda t, q, v, gain=5.0: v)
    assert not takes_robot("it", lambda time, q, v, *, gain=5.0: v)
    for ambiguous in (lambda a, b, c, d=1.0: c, lambda *given: given[-1]):
        with pytest.raises(lw.InputError, match="could be either; name its first parameters so"):
            takes_robot("it", ambiguous)
    for wrong in (lambda q, v: v, lambda q, v, t: v, lambda r, t, q, gain=2.0: q, lambda t, q, v, robot: v):
        with pytest.raises(lw.InputError, match="it is a function of .* but <lambda> takes"):
            takes_robot("it", wrong)
    with pytest.raises(lw.InputError, match="does not say what it takes"):
        takes_robot("it", max)


@pytest.mark.parametrize("callback", [False, True])
def test_options_of_a_law_keep_their_values(callback):
    def law(t, q, v, gain=5.0):
        return -gain * v

    found = lw.simulate(R, START, controller=law, steps=50, callback=callback)
    assert np.allclose(found.tau, -5.0 * found.v)
    pushed = lw.simulate(R, START, external=lambda t, q, v: {"tip": np.zeros(6)}, steps=5, callback=callback)
    assert not pushed.external.any()
    low = lw.Event(lambda t, q, v: q[..., 0] - 0.99, name="low")
    assert lw.simulate(R, START, events=low, steps=100, callback=callback).events
    assert np.allclose(found.along(lambda t, q, v: t * v), found.time[:, None] * found.v)


# --- memory -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hold", [False, True])
@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("method", ["runge_kutta_4", "dop853"])
def test_a_controller_may_give_the_same_buffer_every_time(method, target, hold):
    if method == "dop853" and hold:
        pytest.skip("adaptive steps hold nothing")
    buffer = np.empty(2)

    def law(robot, t, q, v):
        buffer[:] = [untraced(t), 1.0]
        return buffer

    options = {"duration": 0.01, "hold": hold, "target": target, "method": method, "callback": True}
    found = lw.simulate(R, START, controller=law, **options)
    assert np.allclose(found.tau[:, 0], found.time, rtol=0, atol=1e-15)


@pytest.mark.parametrize("callback", [False, True])
@pytest.mark.parametrize("method", ["semi_implicit_euler", "runge_kutta_4", "variational", "dop853"])
def test_a_function_may_write_into_its_state(method, callback):
    def law(robot, t, q, v):
        q -= 0.2
        q *= -3.0
        v *= 0.1
        return q - v

    def plain(robot, t, q, v):
        return -3.0 * (q - 0.2) - 0.1 * v

    def force(robot, t, q, v):
        q[...] = 0.0
        return {"tip": np.zeros(6)}

    def event(robot, t, q, v):
        q += 1.0
        return q[..., 0] - 1.9

    options = {"duration": 0.05, "step": 0.005, "method": method, "callback": callback}
    found = lw.simulate(R, START, controller=law, external=force, events=event, **options)
    expected = lw.simulate(R, START, controller=plain, external={"tip": np.zeros(6)}, **options)
    assert np.abs(found.q - expected.q).max() < 1e-12
    assert np.abs(found.tau - expected.tau).max() < 1e-11
    if not callback and method != "dop853":
        held = lw.simulate(R, START, controller=law, hold=True, callback=True, duration=0.05, step=0.005)
        other = lw.simulate(R, START, controller=plain, hold=True, duration=0.05, step=0.005)
        assert np.abs(held.q - other.q).max() < 1e-12


def test_external_forces_and_events_may_give_the_same_buffer():
    wrench, number = np.zeros((2, 6)), np.empty(())

    def force(robot, t, q, v):
        wrench[1, 3] = untraced(t)
        return wrench

    def event(robot, t, q, v):
        number[...] = untraced(t) - 0.005
        return number

    found = lw.simulate(R, START, external=force, events=event, duration=0.01, callback=True)
    assert np.allclose(found.external[:, 1, 3], found.time, rtol=0, atol=1e-15)
    assert [e.time for e in found.events] == pytest.approx([0.005], abs=1e-12)


# --- compiled in or called back -----------------------------------------------------------------------------


def line_of(function, text):
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    first = function.__code__.co_firstlineno
    return next(i for i in range(first, first + 20) if text in lines[i - 1])


def test_what_is_called_back_is_said_once_at_its_line_and_recorded(tmp_path):
    def law(robot, t, q, v):
        gain = 1.0
        if t > 0.005:  # decides
            gain = 2.0
        return -gain * v

    with pytest.warns(lw.SlowPathWarning, match="the controller cannot be compiled in and is called back") as seen:
        found = lw.simulate(R, START, controller=law, steps=10)
    assert [(w.filename, w.lineno) for w in seen] == [(__file__, line_of(law, "# decides"))]
    assert found.settings.functions == {"controller": "called back"}
    assert "controller called back" in repr(found)
    found.save(tmp_path / "run.npz")
    assert "controller called back" in repr(lw.Trajectory.load(tmp_path / "run.npz"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asked = lw.simulate(R, START, controller=law, steps=10, callback=True)
        lw.simulate(R, START, controller=law, steps=10, target="numpy")
    assert np.array_equal(asked.q, found.q)


def test_every_function_is_recorded():
    law = lambda robot, t, q, v: -v
    force = lambda robot, t, q, v: {"tip": np.zeros(6)}
    event = lw.Event(lambda robot, t, q, v: q[..., 0], name="zero")
    options = {"controller": law, "external": force, "events": event, "steps": 5}
    names = {"controller", "external force", "event 'zero'"}
    inside = lw.simulate(R, START, **options)
    assert inside.settings.functions == dict.fromkeys(names, "compiled")
    for called in ({"callback": True}, {"target": "numpy"}, {"callback": True, "method": "dop853"}):
        found = lw.simulate(R, START, **options, **called)
        assert found.settings.functions == dict.fromkeys(names, "called back")
    both = lw.simulate(R, START, controller=law, steps=5).resume(0.005, controller=law, callback=True)
    assert both.settings.functions == {"controller": "compiled, then called back"}
    assert lw.simulate(R, START, steps=5).settings.functions == {}


def test_a_held_controller_that_is_called_back_leaves_the_rest_compiled():
    def law(robot, t, q, v):
        return -v if untraced(t) < 1 else v

    force = lambda robot, t, q, v: {"tip": np.zeros(6)}
    with pytest.warns(lw.SlowPathWarning):
        found = lw.simulate(R, START, controller=law, external=force, hold=True, steps=5)
    assert found.settings.functions == {"controller": "called back", "external force": "compiled"}


def missing(robot, t, q, v):
    return undefined_gain * v  # noqa: F821


def outside(robot, t, q, v):
    return [1.0, 2.0][5] * v


def divides(robot, t, q, v):
    return v * (1.0 / 0)


def key(robot, t, q, v):
    return {"a": v}["b"]


def misspelt(robot, t, q, v):
    return robot.gravity_forces(q)


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (missing, NameError),
        (outside, IndexError),
        (divides, ZeroDivisionError),
        (key, KeyError),
        (misspelt, AttributeError),
    ],
)
@pytest.mark.parametrize("role", ["controller", "external", "events"])
def test_a_users_bug_comes_out_as_it_is(role, function, error):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error) as caught:
            lw.simulate(R, START, steps=5, **{role: function})
    assert any(frame.name == function.__name__ for frame in caught.traceback)  # with the user's own lines
    assert any("callback=True" in note for note in caught.value.__notes__)


NO_NUMBERS = {
    "nothing": (lambda t, q, v: None, "got None: it returns nothing"),
    "a thing": (lambda t, q, v: {}, r"got \{\}"),
    "none in a list": (lambda t, q, v: [None, q[0]], r"got (\[None|<list>)"),  # a symbol is not shown
    "text": (lambda t, q, v: "much", "got dtype <U4"),
    "rows of several lengths": (lambda t, q, v: [[1.0], [1.0, 2.0]], r"got \[\[1.0\]"),
}


@pytest.mark.parametrize("how", [{}, {"callback": True}, {"target": "numpy"}], ids=["compiled", "called back", "numpy"])
@pytest.mark.parametrize("name", NO_NUMBERS)
def test_what_gives_no_numbers_is_named(name, how):
    function, said = NO_NUMBERS[name]
    for who, role in {"the controller": "controller", "an event": "events", "the cost": "cost"}.items():
        with pytest.raises(lw.InputError, match=f"^{who} must give real numbers, {said}"):
            lw.simulate(R, START, np.zeros(2), **{role: function}, **how, steps=2)


def test_a_function_is_not_blamed_for_states_that_it_never_meets():
    """What fails on symbols is tried on random numbers, to see whose mistake it is."""
    linalg = pytest.importorskip("scipy.linalg")

    def law(t, q, v):
        stiffness = linalg.expm(np.diag(q)) @ v  # which knows no symbols
        if np.abs(v).max() > 0.4:
            raise RuntimeError("too fast")
        return {"low": -0.1 * stiffness}["low" if np.abs(q).max() < 1.2 else "high"]

    for robot in (R, lw.load("double_pendulum")):
        with pytest.warns(lw.SlowPathWarning, match="called back"):
            found = lw.simulate(robot, START, controller=law, steps=5)
        assert np.isfinite(found.q).all()


def test_numbers_of_a_batch_are_called_back():
    gains = np.array([[1.0], [2.0], [3.0]])
    law = lambda robot, t, q, v: -gains * v
    with pytest.warns(lw.SlowPathWarning, match=r"numbers of its own for each state of the batch \(3,\)"):
        found = lw.simulate(R, np.tile(START, (3, 1)), controller=law, steps=20, implicit=False)
    for i, gain in enumerate(gains):
        one = lw.simulate(R, START, controller=lambda robot, t, q, v, gain=gain: -gain * v, steps=20, implicit=False)
        assert np.abs(found.q[i] - one.q).max() < 1e-13


def test_what_numpy_users_write_is_compiled():
    def law(robot, t, q, v):
        return np.clip(-20.0 * q - 2.0 * v, -1.0, 1.0) * np.where(np.abs(q) > 0.1, 1.0, 0.5)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = lw.simulate(R, START, controller=law, steps=50)
    called = lw.simulate(R, START, controller=law, steps=50, callback=True)
    assert found.settings.functions == {"controller": "compiled"}
    assert np.abs(found.q - called.q).max() < 1e-12


# --- the same program for what computes the same, and for nothing else ------------------------------------------


class Told:
    """Says itself what its state is, and leaves its gain out."""

    def __init__(self, gain=1.0):
        self.gain = gain

    def __getstate__(self):
        return {}

    def __call__(self, t, q, v):
        return -self.gain * v


class Remade:
    def __init__(self, gain=1.0):
        self.gain = gain

    def __reduce__(self):
        return (Remade, ())


class Sized(dict):
    gain = 1.0


class Row(list):
    gain = 1.0


class Numbers(np.ndarray):
    gain = 1.0


class Weight(float):
    gain = 1.0


class Found:
    @functools.cached_property
    def gain(self):
        return 1.0

    def __call__(self, t, q, v):
        return -self.gain * v


def by_gain_of(x):
    return (lambda t, q, v: -x.gain * v), x


def by_itself(x):
    return x, x


def of_the_function():
    def law(t, q, v):
        return -law.gain * v

    law.gain = 1.0
    return law, law


def by_a_mask():
    gains = np.ma.masked_array([1.0, 1.0], mask=[False, False])
    return (lambda t, q, v: -gains.sum() * v), gains


def by_weak_keys():
    key = Told()
    gains = weakref.WeakKeyDictionary({key: 1.0})
    return (lambda t, q, v: -gains[key] * v), (gains, key)


# Laws with a gain that is put where nothing but the law's own way to it shows it, and how it is set.
HIDDEN = {
    "left out of the state": (lambda: by_itself(Told()), lambda x, k: setattr(x, "gain", k)),
    "within one that leaves it out": (lambda: by_gain_of(Told()), lambda x, k: setattr(x, "gain", k)),
    "made again without it": (lambda: by_gain_of(Remade()), lambda x, k: setattr(x, "gain", k)),
    "field of a dict": (lambda: by_gain_of(Sized()), lambda x, k: setattr(x, "gain", k)),
    "field of a list": (lambda: by_gain_of(Row()), lambda x, k: setattr(x, "gain", k)),
    "field of an array": (lambda: by_gain_of(np.ones(2).view(Numbers)), lambda x, k: setattr(x, "gain", k)),
    "field of a number": (lambda: by_gain_of(Weight(1.0)), lambda x, k: setattr(x, "gain", k)),
    "in place of a property": (lambda: by_itself(Found()), lambda x, k: setattr(x, "gain", k)),
    "of the function": (of_the_function, lambda x, k: setattr(x, "gain", k)),
    "mask": (by_a_mask, lambda x, k: x.__setitem__(0, np.ma.masked if k == 3.0 else k)),
    "weak keys": (by_weak_keys, lambda x, k: x[0].__setitem__(x[1], k)),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_code_is_kept_for_laws_that_compute_the_same_alone(name):
    make, put = HIDDEN[name]
    law, holder = make()
    for gain in (2.0, 20.0, 3.0, 2.0):
        put(holder, gain)
        found, expected = (lw.simulate(R, START, controller=law, steps=20, callback=x) for x in (False, True))
        assert found.settings.functions["controller"] == "compiled"
        assert np.abs(found.q - expected.q).max() < 1e-12 and np.abs(found.tau - expected.tau).max() < 1e-10


def test_laws_of_equal_parts_share_their_code():
    robot = lw.load("double_pendulum")
    for _ in range(3):
        lw.simulate(robot, START, controller=by_gain_of(Sized())[0], steps=5)
        lw.simulate(robot, START, controller=of_the_function()[0], steps=5)
    kept = [key for key in robot._code._kept if key[0] == "user"]
    assert len(kept) == 2


def test_what_is_shared_by_processes_may_be_a_gain():
    gain = multiprocessing.Value("d", 2.0)
    found = lw.simulate(R, START, controller=lambda t, q, v: -gain.value * v, steps=5)
    assert np.allclose(found.tau, -2.0 * found.v)


class MadeUpFields:
    """Whose fields are those of a dict, which raises an error of its own for others."""

    def __getattr__(self, name):
        return {"gain": 3.0}[name]


FIELDS = MadeUpFields()


def test_fields_that_an_object_makes_up_are_asked_for_by_the_law_alone():
    made = lw.simulate(R, START, controller=lambda t, q, v: -FIELDS.gain * v, steps=2, method="midpoint")
    assert made.settings.functions == {"controller": "compiled"}


def test_kernels_within_laws_are_called_back_and_refused_where_nothing_can_be():
    hold = R.compile("gravity_force")
    with pytest.warns(lw.SlowPathWarning, match="the kernel gravity_force is machine code, and its argument q holds"):
        made = lw.simulate(R, START, controller=lambda robot, t, q, v: hold(q) - v, steps=2, method="midpoint")
    same = lw.simulate(
        R, START, controller=lambda robot, t, q, v: robot.gravity_force(q) - v, steps=2, method="midpoint"
    )
    assert made.settings.functions == {"controller": "called back"}
    np.testing.assert_allclose(made.q, same.q, atol=1e-14)
    with pytest.raises(lw.UntraceableError, match="call the method of the robot, or the function, that the"):
        lw.compile(lambda robot, q: 2.0 * hold(q), R)


@pytest.mark.parametrize("shows", [lambda q: print(q), lambda q: f"{q[0]:.2f}", lambda q: LOG.warning("q is %s", q)])
def test_a_law_that_writes_what_it_is_given_is_called_back(shows, capsys):
    """Symbols would be printed, once."""

    def law(t, q, v):
        shows(q)
        return -v

    with pytest.warns(lw.SlowPathWarning, match="called back from Python"):
        found = lw.simulate(R, START, controller=law, steps=2, hold=True)
    assert found.settings.functions["controller"] == "called back"
    printed = capsys.readouterr()
    assert "q[0]" not in printed.out + printed.err


def test_compiled_laws_are_refused_with_what_to_give():
    law = lw.control.PDGravity(R, np.zeros(R.nq), 5.0, 1.0)
    with pytest.raises(lw.InputError, match=r"controller is a kernel.*not law\.compile\(\)"):
        lw.simulate(R, np.zeros(R.nq), controller=law.compile(), duration=0.01)
    kernel, run = law.compile(), {"duration": 0.01, "method": "midpoint", "implicit": False}
    called = lw.simulate(R, [0.1, 0.2], controller=lambda t, q, v: kernel([t], q, v), callback=True, **run)
    assert np.allclose(called.q, lw.simulate(R, [0.1, 0.2], controller=law, **run).q, rtol=1e-12, atol=1e-15)
