"""Things that are what they hold: equality, hashes, copies, pickles and fingerprints."""

import copy
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest

import linkwise as lw
from linkwise.values import ByValue, digest, value_of

COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "text pickle": lambda x: pickle.loads(pickle.dumps(x, protocol=0)),
}


def parts():
    """Makers of one of everything a robot is made of."""
    inertia = lambda: lw.Inertia(2.0, (0.1, 0.2, 0.3), np.diag([1.0, 2.0, 2.5]))
    limits = lambda: lw.Limits(-1, [1.0], velocity=(2.0,))
    rotor = lambda: lw.Rotor(0.1, 10.0, axis="z")
    joint = lambda: lw.Joint(lw.Revolute([1, 2, 3]), "j", at=[0, 0, 1], rpy=[0.1, 0, 0], limits=limits(), rotor=rotor())
    kinds = {
        "revolute": lambda: lw.Revolute([1, 2, 3]),
        "prismatic": lambda: lw.Prismatic("x"),
        "helical": lambda: lw.Helical("y", 0.1),
        "cylindrical": lambda: lw.Cylindrical("z"),
        "universal": lambda: lw.Universal("x", [0, 1, 1]),
        "spherical": lw.Spherical,
        "planar": lambda: lw.Planar([0, 1, 1]),
        "free": lw.Free,
        "fixed": lw.Fixed,
        "custom": lambda: lw.Custom(np.eye(6)[:, :2]),
    }
    return kinds | {
        "inertia": inertia,
        "limits": limits,
        "rotor": rotor,
        "joint": joint,
        "body": lambda: lw.Body("b", joint(), inertia(), "p"),
        "frame": lambda: lw.Frame("f", "b", at=[0, 0, 1], rpy=[0.1, 0.2, 0.3]),
        "visual": lambda: lw.Visual(lw.Box((1, 2, 3)), "b", at=(0, 0, 1), colour=(1, 0, 0, 1)),
        "surface": lambda: lw.Surface(np.eye(3), [[0, 1, 2]]),
        "robot": lambda: lw.load("panda"),
        "tree": lambda: lw.random_tree(5, seed=3, rotors=True),
        "long chain": lambda: lw.chain(12, joint="mixed", seed=1),
        "other numbers": lambda: lw.chain(3).with_constants(lw.chain(3, seed=1).constants()),
    }


@pytest.mark.parametrize("name", parts())
def test_equal_where_all_numbers_are(name):
    make = parts()[name]
    one, other = make(), make()
    assert one is not other and one == other and hash(one) == hash(other)
    assert {one: 1}[other] == 1
    assert one != "something else"
    assert digest(value_of(one)) == digest(value_of(other)) is not None


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", parts())
def test_copies_are_equal_and_as_read_only(name, how):
    whole = parts()[name]()
    hash(whole)  # what is worked out is not copied
    found = COPIES[how](whole)
    assert found == whole and hash(found) == hash(whole)
    assert digest(value_of(found)) == digest(value_of(whole))
    for x in arrays_in(found):
        assert not x.flags.writeable


def arrays_in(x):
    if isinstance(x, np.ndarray):
        yield x
    elif isinstance(x, tuple):
        for part in x:
            yield from arrays_in(part)
    elif hasattr(x, "__dataclass_fields__"):
        for name in x.__dataclass_fields__:
            yield from arrays_in(getattr(x, name, None))


CHANGES = {
    "mass": lambda r: r.with_inertias({r.bodies[0].name: lw.Inertia(9.0, (0, 0, 0.1), np.eye(3))}),
    "gravity": lambda r: r.with_gravity((0, 0, -1.6)),
    "frame": lambda r: replace(r, extra_frames=(*r.extra_frames, lw.Frame("new", r.bodies[0].name))),
    "look": lambda r: replace(r, visuals=(*r.visuals, lw.Visual(lw.Ball(0.1)))),
    "constants": lambda r: r.with_constants(r.constants()),
    "last digit": lambda r: r.with_gravity(np.nextafter(r.gravity, 1.0)),
    "base": lambda r: replace(r, base=lw.Inertia(1.0)),
    "floating": lambda r: r.floating(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_different_where_one_number_is(change):
    r = lw.load("ur5")
    other = CHANGES[change](r)
    assert r != other and value_of(r) != value_of(other)
    if change != "look":  # no result depends on looks
        assert r.fingerprint != other.fingerprint


def test_a_frame_is_its_pose_however_it_was_given():
    R = lw.Frame("f", "b", rpy=(0.1, 0.2, 0.3)).pose.R
    assert lw.Frame("f", "b", rpy=(0.1, 0.2, 0.3)) == lw.Frame("f", "b", at=np.zeros(3), rotation=R)
    assert lw.Frame("f", "b", at=(0, 0, -0.0)) == lw.Frame("f", "b", at=[0, 0, 0])
    assert lw.Frame("f", "b", at=(0, 0, 1)) != lw.Frame("f", "b", at=(0, 0, 1 + 1e-15))
    assert lw.Frame("f", "b") != lw.Frame("g", "b") and lw.Frame("f", "b") != lw.Frame("f", "c")


def test_lists_that_the_user_changes_later_change_nothing():
    at, limit, damping = [0.0, 0.0, 1.0], [-1.0], np.array([0.5])
    joint = lw.Joint(lw.Revolute("z"), "j", at=at, limits=lw.Limits(lower=limit), damping=damping)
    before = copy.deepcopy(joint)
    at[2], limit[0], damping[0] = 5.0, -5.0, 5.0
    assert joint == before and replace(joint, name="k").placement.l[2] == 1.0
    robot = lw.assemble("r", [lw.Body("b", joint, lw.Inertia(1.0, (1, 0, 0)))])
    assert robot.lower_limits == [-1.0] and robot.damping == [0.5]


def test_numbers_of_bodies_are_read_only():
    for c in lw.load("panda").constants():
        with pytest.raises(ValueError, match="read-only"):
            c.M.J[0, 0] = 5.0


def test_a_class_of_a_users_own_is_like_itself_alone():
    """What it does is not in its fields, so that no code of another may be taken for it."""

    class Loose(lw.Revolute):
        gain = 2.0

    one, other = Loose("z"), Loose("z")
    assert one == one and one != other and value_of(one) == value_of(one)
    robot = lw.assemble("r", [lw.Body("b", one, lw.Inertia(1.0))])
    assert robot.fingerprint is None and robot == lw.assemble("r", [lw.Body("b", one, lw.Inertia(1.0))])


def test_values_another_process_cannot_know_have_no_digest():
    @dataclass(frozen=True, eq=False)
    class Mine(ByValue):
        x: float

    assert Mine(1.0) == Mine(1.0) != Mine(2.0)
    assert digest(value_of(Mine(1.0))) is None
    assert digest(value_of(len)) is None
    symbols = np.array([object(), 1.0], dtype=object)
    assert value_of(symbols) == value_of(symbols.copy()) and digest(value_of(symbols)) is None
    texts = [("a", "b"), ("a,b",), ("a", ("b",)), "('a', 'b')", (1,), (1.0,), (True,), ("1",), (b"1",), (None,)]
    assert len({digest(x) for x in texts}) == len(texts)
    wide = np.array([1.0], np.longdouble) / 3
    assert digest(value_of(wide)) not in (None, digest(value_of(wide.astype(float).astype(np.longdouble))))
