"""Whatever way a robot came, and whatever way its code came, it computes what a robot built by hand computes.

Paths: every call that makes a robot from a robot × copies, pickles, other processes × NumPy, machine code, a disk cache
that is cold, warm, or was filled by a heavier clone.
"""

import copy
import inspect
import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import cloudpickle
import links_by_hand as by_hand
import numpy as np
import pytest
from command_line import Nursery
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import linkwise as lw

OFFSETS = st.tuples(*[st.sampled_from([-0.2, 0.0, 0.1])] * 3).map(np.array)
FACTORS = st.sampled_from([0.5, 2.0, 3.0])

# Another program that computes what it is sent, its cache wherever it is told.
HELPER = """
import os, pickle, sys
sys.path[:0] = sys.argv[1:]
from test_paths import numbers
while sys.stdin.buffer.peek(1):
    robot, target, folder = pickle.load(sys.stdin.buffer)
    os.environ["LINKWISE_CACHE"] = folder
    pickle.dump((numbers(robot, target), robot), sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""


def state(robot):
    """Some q, v and tau, the same for robots alike."""
    rng = np.random.default_rng(4)
    q = np.concatenate([joint.kind.random(rng) for joint, _, _ in robot.coordinates])
    return q, *rng.normal(size=(2, robot.nv))


def accelerations(robot, target):
    """What a robot computes with all its numbers."""
    return robot.forward_dynamics(*state(robot), target=target)


def numbers(robot, target):
    """What a robot computes at some state: its forces and motions, and where its bodies and its tool are."""
    q = state(robot)[0]
    found = [accelerations(robot, target), robot.center_of_mass(q, target=target)]
    if robot.loops:
        found.append(robot.loop_jacobian(q, target=target).ravel())
    if any(f.name == "tool" for f in robot.frames):
        found.append(robot.jacobian(q, "tool", target=target).ravel())
    return np.concatenate(found)


def scaled(robot, factor):
    """The constants of a robot whose bodies are heavier by a factor."""
    return [replace(c, M=type(c.M)(factor * c.M.m, factor * c.M.h, factor * c.M.J)) for c in robot.constants()]


def _moved(robot):
    """A robot whose first joint sits elsewhere."""
    first, *others = robot.constants()
    R, l = first.placement.R, first.placement.l + 0.1
    return robot.with_constants([replace(first, placement=type(first.placement)(R, l)), *others])


def _turned(robot):
    """A robot whose last joint moves about another axis."""
    *others, last = robot.constants()
    return robot.with_constants([*others, replace(last, kind=type(last.kind)((0.0, 0.8, 0.6)))])


# Robots like another but for some number: their code in the cache must not be taken for its.
CLONES = {
    "heavier": lambda r: r.with_constants(scaled(r, 1.5)),
    "on the moon": lambda r: r.with_gravity(r.gravity / 6 + 0.1),
    "moved": _moved,
    "turned": _turned,
    "moved and turned": lambda r: _turned(_moved(r)),
}


# This file, what it imports, and linkwise, for programs beside this one.
FOLDERS = [str(Path(__file__).parent), str(Path(by_hand.__file__).parent), str(Path(lw.__file__).parents[1])]


class Helper:
    """A program beside this one."""

    def __init__(self):
        command = [sys.executable, "-c", HELPER, *FOLDERS]
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, robot, target, folder):
        pickle.dump((robot, target, folder), self.program.stdin)
        self.program.stdin.flush()
        return pickle.load(self.program.stdout)

    def close(self):
        self.program.stdin.close()
        self.program.wait()


class Paths(RuleBasedStateMachine):
    """``robot`` went all the ways drawn so far; ``plan`` says what it must be."""

    helper: Helper
    joints: str  # how the robot begins

    @initialize()
    def begin(self):
        self.plan, self.count, self.before = by_hand.start(), 0, os.environ.get("LINKWISE_CACHE")
        self.robot = self.plan.build()
        if self.joints == "coupled":
            self._couple("e", "a", -1.7, 0.3)
        elif self.joints == "closed":
            self._close("d", np.array([0.1, 0.0, -0.2]))
        self.folder = tempfile.TemporaryDirectory()
        os.environ["LINKWISE_CACHE"] = self.folder.name

    def teardown(self):
        if hasattr(self, "folder"):
            self.folder.cleanup()
            del os.environ["LINKWISE_CACHE"]
            if self.before is not None:
                os.environ["LINKWISE_CACHE"] = self.before

    def _edit(self, edited, plan):
        """Follow an edit; a robot whose numbers were replaced refuses it, and stays what it is."""
        if self.robot.numbers is None:
            self.robot, self.plan = edited(), plan
        else:
            with pytest.raises(lw.ModelError, match="other numbers than its bodies' own"):
                edited()

    def _names(self, *kinds):
        return [x.name for x in self.plan.links if not kinds or x.kind in kinds]

    # --- calls that make a robot from a robot --------------------------------------------------------

    @rule(z=st.sampled_from([-1.6, 0.0, 5.0]))
    def with_gravity(self, z):
        self.robot, self.plan = self.robot.with_gravity((0.3, 0, z)), self.plan.with_gravity((0.3, 0, z))

    @rule(data=st.data(), k=FACTORS)
    def with_springs(self, data, k):
        """A spring comes, with code of its own, and goes again."""
        name = data.draw(st.sampled_from(self.plan.of_one_freedom() or [None]))
        joint = name and f"{name}_joint"

        def edited():
            if joint is None:
                return self.robot.with_springs(damping_acts=True)
            sprung = self.robot.with_springs({joint: {"stiffness": k, "rest": 0.3, "damping": k}})
            assert sprung != self.robot
            return sprung.with_springs({joint: {"stiffness": 0.0, "rest": None, "damping": 0.0}})

        self._edit(edited, self.plan)

    @rule(x=st.sampled_from([0.25, -0.5]))
    def with_placements(self, x):
        """Joints are shifted, which makes another robot, and back."""

        def edited():
            shift = np.tile([0, 0, 0, x, 0.5 * x, -x], (len(self.robot.bodies), 1))
            moved = self.robot.with_placements(shift)
            assert moved != self.robot
            return moved.with_placements(-shift)

        self._edit(edited, self.plan)

    @rule(data=st.data())
    def with_elastic_joints(self, data):
        """A motor comes between, and with its spring locked the robot is what it was, and its rotor."""
        names = self.plan.of_one_freedom()
        if not names or self.robot.numbers is not None or self.robot.couplings:
            return
        joint = f"{data.draw(st.sampled_from(names))}_joint"
        soft = self.robot.with_elastic_joints({joint: lw.Gear(5.0, rotor=0.3)})
        assert soft.nv == self.robot.nv + 1 and soft.equilibrium  # a robot like any other
        rigid = soft.lock([f"{joint}_spring"])
        assert rigid.nv == self.robot.nv and np.isclose(rigid.total_mass, self.robot.total_mass)

    @rule(factor=FACTORS)
    def with_constants(self, factor):
        self.robot = self.robot.with_constants(scaled(self.robot, factor))
        self.plan = self.plan.heavier(factor)

    @rule(factor=FACTORS)
    def with_inertial_parameters(self, factor):
        edited = lambda: self.robot.with_inertial_parameters(factor * self.robot.inertial_parameters)
        self._edit(edited, self.plan.heavier(factor))

    @rule(data=st.data(), m=FACTORS, c=OFFSETS)
    def with_inertias(self, data, m, c):
        name, mass = data.draw(st.sampled_from(self._names())), by_hand.Mass(m, c, np.diag([0.1, 0.2, 0.25]))
        self._edit(lambda: self.robot.with_inertias({name: mass.inertia}), self.plan.with_inertias(name, mass))

    @rule(data=st.data(), at=OFFSETS)
    def weld(self, data, at):
        name, mass = data.draw(st.sampled_from(self._names())), by_hand.Mass(0.5, at, np.diag([0.01, 0.02, 0.02]))
        self._edit(lambda: self.robot.weld(name, mass.inertia, at=at), self.plan.weld(name, mass, at))

    @rule(data=st.data(), value=st.sampled_from([-0.4, 0.0, 1.1]))
    def lock(self, data, value):
        left = {name: self.plan.lock(name, value) for name in self.plan.of_one_freedom()}
        name = data.draw(st.sampled_from([None, *(name for name, plan in left.items() if plan.is_sound())]))
        if name is not None:
            self._edit(lambda: self.robot.lock({f"{name}_joint": value}), left[name])

    @precondition(lambda self: self._names("fixed"))
    @rule()
    def merge_fixed(self):
        self._edit(lambda: self.robot.merge_fixed(), self.plan.merge_fixed())

    @precondition(lambda self: len(self.plan.links) > 2)
    @rule(data=st.data())
    def subtree(self, data):
        left = {root: self.plan.subtree(root) for root in self._names("revolute", "prismatic")}
        root = data.draw(st.sampled_from([None, *(root for root, plan in left.items() if plan.is_sound())]))
        if root is None:
            return
        if any(loop.frame_b in left[root].frames for loop in self.plan.loops):  # it ends there, and begins at the world
            with pytest.raises(lw.ModelError, match="to the rest|other numbers"):
                self.robot.subtree(root)
        else:
            self._edit(lambda: self.robot.subtree(root), left[root])

    @precondition(lambda self: len(self.plan.links) < 7)
    @rule(data=st.data(), at=OFFSETS)
    def attach(self, data, at):
        self.count += 1
        to, prefix, other = data.draw(st.sampled_from(self._names())), f"x{self.count}_", by_hand.finger()
        edited = lambda: self.robot.attach(other.build(), to, prefix=prefix, at=at)
        self._edit(edited, self.plan.attach(other, to, prefix, at))

    @precondition(lambda self: self.plan.base.m > 0)
    @rule()
    def floating(self):
        self._edit(lambda: self.robot.floating(), self.plan.floating())

    @precondition(lambda self: len(self._uncoupled()) > 1 and not self.plan.loops)
    @rule(data=st.data(), ratio=st.sampled_from([-1.7, 0.5, 1.0]), offset=st.sampled_from([0.0, 0.3]))
    def couple(self, data, ratio, offset):
        follower = data.draw(st.sampled_from(self._uncoupled()))
        leader = data.draw(st.sampled_from([x for x in self.plan.of_one_freedom() if x != follower]))
        self._couple(follower, leader, ratio, offset)

    def _couple(self, follower, leader, ratio, offset):
        names = f"{follower}_joint", f"{leader}_joint"
        edited = lambda: self.robot.couple(*names, ratio=ratio, offset=offset)
        self._edit(edited, self.plan.couple(follower, leader, ratio, offset))

    def _uncoupled(self):
        """The links that neither lead nor follow."""
        coupled = {name for c in self.plan.couplings for name in c[:2]}
        return [x for x in self._names("revolute", "prismatic") if x not in coupled]

    @precondition(lambda self: self.plan.couplings)
    @rule(data=st.data())
    def uncouple(self, data):
        follower = data.draw(st.sampled_from([None, *(c[0] for c in self.plan.couplings)]))
        asked = None if follower is None else [f"{follower}_joint"]
        self._edit(lambda: self.robot.uncouple(asked), self.plan.uncouple(follower))

    @precondition(lambda self: not self.plan.couplings and len(self.plan.loops) < 2)
    @rule(data=st.data(), at=OFFSETS)
    def close(self, data, at):
        self._close(data.draw(st.sampled_from(self._names())), at)

    def _close(self, body, at):
        """The first loop is a rod of fixed length; another one gives, so that there are never too many."""
        self.count += 1
        frame = f"end{self.count}"
        rod, spring = {"kind": "distance", "length": 0.8}, {"kind": "spherical", "stiffness": 30.0, "damping": 2.0}
        choice = spring if any(x.kind == "distance" for x in self.plan.loops) else rod
        named = lw.Loop("world", frame, name=frame, **choice)
        self.robot = self.robot.close(replace(named, frame_b=lw.Frame(frame, body, at=at)))
        self.plan = self.plan.close(named, body, at)

    @precondition(lambda self: self.plan.loops)
    @rule()
    def opened(self):
        self.robot, self.plan = self.robot.opened, self.plan.opened()

    # --- ways a robot goes ---------------------------------------------------------------------------

    @rule(way=st.sampled_from(["copy", "deepcopy", "pickle", "cloudpickle", "process"]))
    def goes(self, way):
        ways = {
            "copy": copy.copy,
            "deepcopy": copy.deepcopy,
            "pickle": lambda r: pickle.loads(pickle.dumps(r)),
            "cloudpickle": lambda r: cloudpickle.loads(cloudpickle.dumps(r)),
            "process": lambda r: self.helper(r, "numpy", self.folder.name)[1],
        }
        gone = ways[way](self.robot)
        assert gone is not self.robot and gone == self.robot and gone.fingerprint == self.robot.fingerprint
        self.robot = gone

    # --- ways its numbers come -----------------------------------------------------------------------

    @rule(cache=st.sampled_from(["warm", "cold", "off"]), own=st.booleans())
    def computes(self, cache, own):
        self._computes(cache, "here" if own else "in a copy")

    @rule(cache=st.sampled_from(["warm", "cold", "off"]))
    def computes_elsewhere(self, cache):
        self._computes(cache, "elsewhere")

    @rule(clone=st.sampled_from([*CLONES]), where=st.sampled_from(["in a copy", "elsewhere"]))
    def computes_after_a_clone(self, clone, where):
        """The clone comes first, in a cache that is empty but for what it puts there."""
        if isinstance(self.robot.constants()[-1].kind, (lw.Revolute, lw.Prismatic)):
            self._computes("cold", where, CLONES[clone](self.robot))

    @rule(clone=st.sampled_from([*CLONES]))
    def computes_beside_a_clone(self, clone):
        if isinstance(self.robot.constants()[-1].kind, (lw.Revolute, lw.Prismatic)):
            self._computes("warm", "in a copy", CLONES[clone](self.robot))

    def _computes(self, cache, where, clone=None):
        folder = {"off": "off", "cold": tempfile.mkdtemp(dir=self.folder.name)}.get(cache, self.folder.name)
        if clone is not None:
            self.helper(clone, "cpu", folder)
        if where == "elsewhere":
            found, _ = self.helper(self.robot, "cpu", folder)
        else:  # a copy has no code yet; the robot itself may have some
            os.environ["LINKWISE_CACHE"] = folder
            found = numbers(self.robot if where == "here" else copy.copy(self.robot), "cpu")
            os.environ["LINKWISE_CACHE"] = self.folder.name
        self._check(found)

    @invariant()
    def is_what_it_should_be(self):
        if hasattr(self, "robot"):
            self._check(numbers(self.robot, "numpy"))

    def _check(self, found):
        expected = numbers(self.plan.build(), "numpy")
        assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()


@pytest.fixture(scope="module")
def helper():
    program = Helper()
    yield program
    program.close()


@pytest.mark.parametrize(("joints", "examples"), [("free", 4), ("coupled", 3), ("closed", 3)])
def test_every_path_gives_the_numbers_of_a_robot_built_by_hand(joints, examples, helper):
    Paths.helper, Paths.joints = helper, joints
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    chosen = settings(max_examples=examples, stateful_step_count=12, deadline=None, suppress_health_check=slow)
    run_state_machine_as_test(Paths, settings=chosen)


MAKERS = ("Robot", "ClosedRobot", "Self", "R")


def test_every_call_that_makes_a_robot_is_on_a_path():
    makers = {
        name
        for name, method in inspect.getmembers(lw.Robot, inspect.isfunction)
        if not name.startswith("_") and inspect.signature(method).return_annotation in MAKERS
    }
    assert makers >= {"lock", "with_gravity", "with_constants", "close", "couple", "uncouple"}
    assert {*makers, "opened"} <= set(vars(Paths))


@pytest.mark.parametrize("clone", [*CLONES, "other frame"])
def test_no_clone_is_taken_for_another(clone, tmp_path, monkeypatch):
    """All fill one cache, and each has its own numbers; then again, from the disk."""
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    plan = by_hand.start()
    robot = plan.build()
    numbers(robot, "cpu")  # the clone is made of a robot that has code
    if clone == "other frame":
        other = replace(plan, frames={"tool": ("d", (by_hand.I3, np.ones(3)))}).build()
    else:
        other = CLONES[clone](robot)
    expected = [numbers(r, "numpy") for r in (robot, other)]
    assert not np.allclose(*expected, rtol=1e-6)
    for way in (lambda r: r, copy.copy, copy.copy):
        for r, right in zip((other, robot), expected[::-1]):
            found = numbers(way(r), "cpu")
            assert np.abs(found - right).max() <= 1e-9 * np.abs(right).max()


def _held(robot, at=(0.1, 0.0, -0.2), kind="spherical", stiffness=30.0):
    return robot.close(lw.Loop("world", lw.Frame("end", "d", at=at), kind, stiffness=stiffness))


def _guided(robot, height):
    """With a body on a rail of such a height, the same function but for a number that it holds."""
    rail = lw.Guided(lambda x: np.array([x, 0.3 * np.sin(x), height * x * x]))
    car = lw.assemble("car", [lw.Body("car", rail, lw.Inertia.box(1.0, (0.2, 0.3, 0.4)))])
    return robot.attach(car, "d", prefix="on_", at=(0.0, 0.0, 0.2))


def _bending(robot, stiffness, damping):
    beam = lw.Flexible.beam(length=0.5, mass=0.3, stiffness=stiffness, modes=1, damping=damping)
    return robot.attach(lw.assemble("rod", [lw.Body("rod", lw.Revolute("y"), beam)]), "d", prefix="on_")


# Robots that differ in one number, or in how their joints hang together alone.
ALIKE = {
    "spring": [lambda r, x=x: r.with_springs({"d_joint": {"stiffness": x}}) for x in (3.0, 7.0)],
    "rest of a spring": [lambda r, x=x: r.with_springs({"d_joint": {"stiffness": 3.0, "rest": x}}) for x in (0.1, 0.5)],
    "damper": [lambda r, x=x: r.with_springs({"d_joint": {"damping": x}}) for x in (0.2, 0.9)],
    "gear": [lambda r, x=x: r.with_elastic_joints({"d_joint": lw.Gear(5.0, rotor=x)}) for x in (0.3, 0.6)],
    "rail": [lambda r, x=x: _guided(r, x) for x in (0.1, 0.4)],
    "stiffness of a beam": [lambda r, x=x: _bending(r, x, 0.0) for x in (9.0, 20.0)],
    "damping of a beam": [lambda r, x=x: _bending(r, 9.0, x) for x in (0.0, 0.2)],
    "ratio": [lambda r, x=x: r.couple("e_joint", "a_joint", ratio=x) for x in (0.5, -1.5)],
    "offset": [lambda r, x=x: r.couple("e_joint", "a_joint", offset=x) for x in (0.0, 0.7)],
    "relation": [lambda r, f=f: r.couple("e_joint", "a_joint", relation=f) for f in (np.sin, np.tanh)],
    "leader": [lambda r, x=x: r.couple("e_joint", x) for x in ("a_joint", "d_joint")],
    "place of a loop": [lambda r, x=x: _held(r, at=(x, 0, 0)) for x in (0.1, 0.6)],
    "stiffness": [lambda r, x=x: _held(r, stiffness=x) for x in (30.0, 90.0)],
    "kind of loop": [lambda r, x=x: _held(r, kind=x, stiffness=None) for x in ("spherical", "point_on_plane")],
}


@pytest.mark.parametrize("name", ALIKE)
def test_couplings_and_loops_are_part_of_what_code_is_for(name, tmp_path, monkeypatch):
    """Both fill one cache; then each comes again from there, another robot of the same value."""
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    expected = [accelerations(make(by_hand.start().build()), "numpy") for make in ALIKE[name]]
    assert expected[0].shape != expected[1].shape or not np.allclose(*expected, rtol=1e-6)
    for make, right in 2 * [*zip(ALIKE[name], expected)]:
        found = accelerations(pickle.loads(pickle.dumps(make(by_hand.start().build()))), "cpu")
        assert np.abs(found - right).max() <= 1e-9 * np.abs(right).max()


PLAIN = "import numpy as np, test_paths as t, linkwise as lw\nr = lw.load('double_pendulum')\n"
HEAVIER = PLAIN + "r = r.with_constants(t.scaled(r, 2.0))\n"
SHOWN = "print(np.allclose(t.numbers(r, 'cpu'), t.numbers(r, 'numpy'), rtol=1e-9))"


def test_a_clone_leaves_the_cache_as_good_as_it_was(tmp_path):
    """In processes of their own: a robot must not get the code that another process made for its clone."""
    apart = Nursery(tmp_path, PYTHONPATH=os.pathsep.join(FOLDERS))
    try:
        for order in ((PLAIN, HEAVIER), (HEAVIER, PLAIN)):
            cache = tempfile.mkdtemp(dir=tmp_path)
            for program in order:
                done = apart(cwd=tmp_path, env={"LINKWISE_CACHE": cache}, code=program + SHOWN)
                assert done.stdout == "True\n", done.stdout + done.stderr
    finally:
        apart.close()
