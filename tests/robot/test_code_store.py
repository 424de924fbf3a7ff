"""Where a robot keeps its machine code, and what that leaves of its methods: ordinary ones, before and after."""

import copy
import inspect
import pickle
import pydoc

import numpy as np
import pytest

import linkwise as lw
from linkwise.codegen import pipeline, thresholds


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")


def described(robot):
    """What Python, help() and IPython's ? tell of a method."""
    method = robot.forward_dynamics
    wrapped = method.__wrapped__
    return {
        "signature": str(inspect.signature(method)),
        "help": pydoc.plain(pydoc.render_doc(method)),
        "doc": inspect.getdoc(method),
        "name": (method.__name__, method.__qualname__, method.__module__),
        "source": inspect.getsource(method),
        "wrapped": (wrapped.__name__, str(inspect.signature(wrapped))),
        "kind": inspect.ismethod(method) and method.__self__ is robot,
        "pickle": pickle.dumps(method),
    }


def test_a_method_says_the_same_before_and_after_its_first_call():
    r = lw.load("double_pendulum")
    before, attributes = described(r), set(vars(r))
    r.forward_dynamics(*np.ones((3, 2)))
    assert r._code.quick  # compiled
    after = described(r)
    assert after == before
    assert "forward_dynamics(q" in after["help"] and "target" in after["signature"]
    assert "articulated_body" in after["source"] and before["kind"]
    added = set(vars(r)) - attributes  # worked out from its fields, and nothing else
    assert all(isinstance(inspect.getattr_static(type(r), name), type(lw.Robot.nq)) for name in added)


def test_a_method_taken_before_the_first_call_is_quick_after_it(monkeypatch):
    r = lw.load("double_pendulum")
    held, x = r.gravity_force, np.ones(2)
    first = held(x)
    monkeypatch.setattr("linkwise.robot.dispatch._runner", lambda *a: pytest.fail("not the quick way"))
    assert np.array_equal(held(x), first)


def test_a_call_with_more_arrays_leaves_the_quick_way_open(monkeypatch):
    r = lw.load("double_pendulum")
    q, v, tau = np.ones((3, 2))
    first = r.forward_dynamics(q, v, tau)
    r.forward_dynamics(q, v, tau, external=np.ones((2, 6)))
    monkeypatch.setattr("linkwise.robot.dispatch._runner", lambda *a: pytest.fail("not the quick way"))
    assert np.array_equal(r.forward_dynamics(q, v, tau), first)


def test_equal_frames_share_one_kernel():
    r = lw.load("double_pendulum")
    q = np.array([0.3, -0.2])
    for _ in range(5):
        r.jacobian(q, lw.Frame("tool", "lower", at=(0.0, 0.1, 0.2)))
    assert len(r._code) == 1
    moved = r.jacobian(q, lw.Frame("tool", "lower", at=(0.0, 0.1, 0.3)))
    assert len(r._code) == 2 and not np.allclose(moved, r.jacobian(q, lw.Frame("tool", "lower", at=(0.0, 0.1, 0.2))))


def test_the_store_has_a_bound(monkeypatch):
    monkeypatch.setattr(thresholds, "MOST_KERNELS", 3)
    r = lw.load("double_pendulum")
    q = np.array([0.3, -0.2])
    frames = [lw.Frame("tool", "lower", at=(0.0, 0.1, 0.1 * i)) for i in range(6)]
    for frame in frames:
        r.jacobian(q, frames[0])  # used all the time, so that it stays
        assert np.allclose(r.jacobian(q, frame), r.jacobian(q, frame, target="numpy"), rtol=1e-12)
        assert len(r._code) <= 3
    made = []
    from linkwise.robot import dispatch

    real = dispatch.compiled_call
    monkeypatch.setattr(dispatch, "compiled_call", lambda *a: made.append(a) or real(*a))
    r.jacobian(q, frames[0])
    assert not made
    r.jacobian(q, frames[1])
    assert len(made) == 1


def test_a_subclass_and_its_parent_have_code_of_their_own():
    from linkwise.robot.dispatch import compiled as marked

    class Doubled(lw.Robot):
        @marked(q="nq")
        def gravity_force(self, q):
            """Twice as much."""
            return 2.0 * super().gravity_force(q)

    plain = lw.load("double_pendulum")
    r = Doubled(plain.name, plain.bodies, plain.extra_frames, plain.gravity)
    q = np.array([0.3, -0.2])
    for _ in range(3):
        assert np.allclose(r.gravity_force(q), 2.0 * plain.gravity_force(q), rtol=1e-13)
        assert np.allclose(super(Doubled, r).gravity_force(q), plain.gravity_force(q), rtol=1e-13)


def test_every_robot_starts_with_a_store_of_its_own():
    r = lw.load("double_pendulum")
    r.gravity_force(np.zeros(2))
    others = [
        copy.copy(r),
        copy.deepcopy(r),
        pickle.loads(pickle.dumps(r)),
        r.with_constants(r.constants()),
        r.with_gravity((0, 0, 0)),
    ]
    stores = [x._code for x in (r, *others)]
    assert len({id(x) for x in stores}) == len(stores)
    assert not any(x.quick or len(x) for x in stores[1:])


def test_the_step_of_inverse_kinematics_is_compiled_once_for_its_tasks(monkeypatch):
    compiled_for, compile_job = [], pipeline.compile_job
    monkeypatch.setattr(pipeline, "compile_job", lambda job: compiled_for.append(job.name) or compile_job(job))
    r = lw.chain(2, seed=1)
    goal = r.pose(r.neutral() + 0.3, r.tips[0])[1]
    compiled_for.clear()
    for seed in range(3):
        r.inverse_kinematics(r.tips[0], goal + 0.01 * seed, part="position", attempts=1, seed=seed)
    assert compiled_for == ["inverse_kinematics"]
