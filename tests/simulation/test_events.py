"""Events: located to tolerance, directions, stops, batches, compiled or not, fixed steps and adaptive ones."""

import numpy as np
import pytest
from scipy.optimize import brentq

import linkwise as lw
from linkwise.simulation.events import located


def slider():
    """A block of 1 kg that falls along z: z = z0 + v0 t − 4.905 t²."""
    return lw.assemble("slider", [lw.Body("block", lw.Prismatic("z"), lw.Inertia.point(1.0))])


def height(robot, t, q, v):
    return q[..., 0]


def height_by_value(robot, t, q, v):
    """The same, in a way that does not trace."""
    return np.array([float(x) for x in np.atleast_1d(q[..., 0])]).reshape(q.shape[:-1])


FALL = np.sqrt(2.0 / 9.81)  # [s] from 1 m


@pytest.mark.parametrize("function", [height, height_by_value])
@pytest.mark.parametrize("method", ["runge_kutta_4", "variational", "dop853"])
def test_a_fall_ends_on_the_ground(function, method):
    t = lw.simulate(slider(), [1.0], duration=2.0, step=0.01, method=method, events=lw.Event(function, stop=True))
    (hit,) = t.events
    assert hit.event == function.__name__ and hit.state == ()
    assert hit.time == t.time[-1] == pytest.approx(FALL, abs=1e-11)
    assert abs(t.q[-1, 0]) < 1e-10
    assert hit.v[0] == pytest.approx(-9.81 * FALL, rel=1e-10)
    assert len(t) == 47 and t.time[-2] == pytest.approx(0.45)
    assert np.array_equal(t.q[-1], hit.q) and np.array_equal(t.v[-1], hit.v)


def test_an_arm_crosses_where_a_root_finder_says():
    r = lw.load("panda")
    rng = np.random.default_rng(0)
    q, v = r.random_configuration(rng), rng.normal(size=7)

    heights = lw.simulate(r, q, v, duration=2.0).pose("tcp")[1][:, 2]
    middle = 0.5 * (heights[200:].max() + heights[200:].min())

    def tool(robot, t, q, v):
        return robot.pose(q, "tcp")[1][..., 2] - middle

    t = lw.simulate(r, q, v, duration=2.0, step=1e-3, every=20, events=tool)
    assert len(t) == 101 and len(t.events) >= 2
    for hit in t.events:
        i = int(hit.time / 1e-3)
        before = lw.simulate(r, q, v, duration=i * 1e-3, every=i)

        def after(part, before=before):
            end = lw.simulate(r, before.q[-1], before.v[-1], duration=part, step=part)
            return tool(r, 0.0, end.q[-1], end.v[-1])

        assert hit.time - i * 1e-3 == pytest.approx(brentq(after, 1e-9, 1e-3, xtol=1e-14), abs=1e-11)
    assert [h.time for h in t.events] == sorted(h.time for h in t.events)


def test_directions_and_batches():
    r = slider()
    z, speed = np.array([[-1.0, -1.0], [-1.0, 1.0]]), np.array([[5.0, 1.0], [6.0, 0.0]])
    events = [lw.Event(height, name=n, direction=d) for n, d in (("both", 0), ("up", 1), ("down", -1))]
    t = lw.simulate(r, z[..., None], speed[..., None], duration=1.5, step=0.01, events=events)
    by = {name: {h.state: h.time for h in t.events if h.event == name} for name in ("up", "down")}
    assert sorted(by["up"]) == [(0, 0), (1, 0)]
    assert sorted(by["down"]) == [(0, 0), (1, 0), (1, 1)]
    assert len([h for h in t.events if h.event == "both"]) == 5
    for i, u in (((0, 0), 5.0), ((1, 0), 6.0)):
        root = np.sqrt(u * u - 2 * 9.81)
        assert by["up"][i] == pytest.approx((u - root) / 9.81, abs=1e-11)
        assert by["down"][i] == pytest.approx((u + root) / 9.81, abs=1e-11)
    assert [h.event for h in t.state(1, 1).events] == ["both", "down"]


@pytest.mark.parametrize("callback", [False, True])
@pytest.mark.parametrize("hold", [False, True])
def test_with_a_controller(hold, callback):
    r = slider()
    push = lambda robot, t, q, v: 0.0 * v + 4.81
    t = lw.simulate(
        r, [1.0], controller=push, duration=1.0, step=0.01, hold=hold, callback=callback,
        events=lw.Event(height, stop=True),
    )  # fmt: skip
    assert t.time[-1] == pytest.approx(np.sqrt(2.0 / 5.0), abs=1e-11)
    assert t.tau.shape == (len(t), 1) and np.allclose(t.tau, 4.81)
    assert np.allclose(t.a, -5.0)
    assert t.energy.work[-1] == pytest.approx(-4.81, rel=1e-9)


def test_zeros_of_awkward_functions_are_located():
    for f in (lambda x: x - 0.3, lambda x: (x - 0.3) ** 3, lambda x: np.exp(40 * x) - np.exp(12.0), np.cos):
        scale = 3.0 if f is np.cos else 1.0
        root = np.pi / 6 if f is np.cos else 0.3
        part, what = located(lambda x, f=f, k=scale: (f(k * x), x), f(0.0), f(scale), 1e-14)
        assert part == what == pytest.approx(root, abs=1e-5 if f(0.0) == -0.027 else 1e-13)


def test_what_is_refused():
    r = slider()
    with pytest.raises(lw.InputError, match="one state"):
        lw.simulate(r, [[1.0]], events=lw.Event(height, stop=True))
    with pytest.raises(lw.InputError, match="two events are named 'height'"):
        lw.simulate(r, [1.0], events=[height, height])
    with pytest.raises(lw.InputError, match="lambdas"):
        lw.simulate(r, [1.0], events=[lambda r, t, q, v: q[..., 0], lambda r, t, q, v: v[..., 0]])
    with pytest.raises(lw.InputError, match="one number per state"):
        lw.simulate(r, [1.0], events=lambda robot, t, q, v: q)
    with pytest.raises(lw.InputError, match="function"):
        lw.Event(3.0)
    with pytest.raises(lw.InputError, match="tolerance"):
        lw.Event(height, tolerance=0.0)
