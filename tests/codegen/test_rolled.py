"""Rolled code: the same results as NumPy from loops over bodies, at a cost that grows with their number."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.codegen.cut import fewest
from linkwise.codegen.rolled import ROLLABLE
from linkwise.codegen.scalar import Graph

ROBOTS = {
    "one link": lambda: lw.chain(1),
    "regular chain": lambda: lw.chain(17),
    "random chain": lambda: lw.chain(12, seed=3),
    "every joint kind": lambda: lw.chain(18, joint="mixed", seed=1),
    "tree": lambda: lw.random_tree(25, seed=4),
    "floating tree": lambda: lw.random_tree(9, seed=6).floating(),
    "two trees on the world": lambda: lw.load("panda").attach(lw.load("ur5"), "world", prefix="second_"),
    "humanoid": lambda: lw.load("humanoid"),
    "fixed joints kept": lambda: _with_fixed(),
    "rotors": lambda: _with_rotors(),
}


def _with_fixed():
    bodies, parent = [], None
    for i in range(6):
        kind = lw.Fixed() if i % 3 == 1 else lw.Revolute("y")
        joint = lw.Joint(kind, at=(0.2, 0.1, 0.3), rpy=(0.1 * i, 0.2, 0.3))
        bodies.append(lw.Body(f"b{i}", joint, lw.Inertia(1.0, com=(0.1, 0, 0.2), tensor=np.eye(3)), parent))
        parent = f"b{i}"
    return lw.assemble("stiff", bodies)


def _with_rotors():
    bodies = []
    for i in range(5):
        rotor = lw.Rotor(0.01 * (i + 1), 20.0) if i % 2 else None
        joint = lw.Joint(lw.Revolute("x"), at=(0.1, 0, 0.3), rpy=(0.3, 0.2 * i, 0), rotor=rotor)
        inertia = lw.Inertia(1.0 + i, com=(0.1, 0.05, 0.2), tensor=np.eye(3) * 0.1)
        bodies.append(lw.Body(f"b{i}", joint, inertia, None if i == 0 else f"b{i - 1}"))
    return lw.assemble("geared", bodies)


def arguments(robot, kernel, batch, rng, dtype=float):
    made = [
        robot.random_configuration(rng, batch) if name == "q" else rng.normal(size=(*batch, robot.nv))
        for name in kernel.signature.inputs
    ]
    return [x.astype(dtype) for x in made]


WAYS = [(name, method) for name, methods in ROLLABLE.items() for method in methods if method or len(methods) == 1]


@pytest.mark.parametrize(("name", "method"), WAYS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_rolled_agrees_with_numpy(robot, name, method, rng):
    r = ROBOTS[robot]()
    kernel = r.compile(name, rolled=True, **({"method": method} if method else {}))
    for batch in ((5,), (1,), (17,), (2, 3), ()):
        args = arguments(r, kernel, batch, rng)
        expected = getattr(r, name)(*args, target="numpy")
        found = kernel(*args)
        assert found.shape == expected.shape
        assert np.abs(found - expected).max(initial=0) <= 1e-11 * np.abs(expected).max(initial=1e-9)


def test_single_precision(rng):
    r = lw.chain(30, seed=1)
    kernel = r.compile("inverse_dynamics", rolled=True)
    args = arguments(r, kernel, (9,), rng, np.float32)
    expected = r.inverse_dynamics(*(x.astype(float) for x in args), target="numpy")
    found = kernel(*args)
    assert found.dtype == np.float32
    assert np.abs(found - expected).max() <= 2e-5 * np.abs(expected).max()


def test_operations_grow_with_the_number_of_links():
    totals = [lw.chain(n, seed=2).compile("forward_dynamics", rolled=True).operations.total for n in (200, 400, 800)]
    assert totals[2] - totals[1] == pytest.approx(2 * (totals[1] - totals[0]), rel=0.02)


def test_ten_thousand_links(rng):
    r = lw.chain(10_000)
    kernel = r.compile("inverse_dynamics")
    assert "10000 bodies" in kernel.explain()
    q, v, a = 1e-3 * rng.normal(size=(3, 2, r.nv))
    expected = r.inverse_dynamics(q[:1], v[:1], a[:1], target="numpy")
    assert np.abs(kernel(q, v, a)[:1] - expected).max() <= 1e-9 * np.abs(expected).max()


def test_large_robots_are_rolled_without_being_asked(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    r = lw.chain(100)
    assert "rolled" in r.compile("forward_dynamics").explain()
    assert "rolled" not in lw.load("panda").compile("forward_dynamics").explain()
    q = np.full(100, 0.1)
    assert np.allclose(r.gravity_force(q), r.gravity_force(q, target="numpy"), rtol=1e-12)
    assert r.mass_matrix(q).shape == (100, 100)  # not a sweep from vectors to vectors: NumPy


def test_nan_stays_in_its_state(rng):
    r = lw.random_tree(12, seed=1)
    kernel = r.compile("forward_dynamics", rolled=True)
    args = arguments(r, kernel, (13,), rng)
    clean = kernel(*args)
    args[1][4, 0] = np.nan
    dirty = kernel(*args)
    assert np.isnan(dirty[4]).any()
    assert np.array_equal(np.delete(dirty, 4, 0), np.delete(clean, 4, 0))


def test_singular_robots_are_named(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    r = lw.chain(80).with_inertias({"link80": lw.Inertia(0.0)})
    x = np.zeros(80)
    with pytest.raises(lw.SingularError, match="link80"):
        r.forward_dynamics(x, x, x)


OTHER_METHODS = [m for m in lw.FORWARD_METHODS if m not in ("armstrong", *ROLLABLE["forward_dynamics"])]


@pytest.mark.parametrize("method", OTHER_METHODS)
def test_methods_that_look_at_all_bodies_are_not_rolled(method, monkeypatch, rng):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    r = lw.chain(66)
    with pytest.raises(lw.InputError, match="cannot be rolled"):
        r.compile("forward_dynamics", rolled=True, method=method)
    q, v, tau = 0.1 * rng.normal(size=(3, 66))
    expected = r.forward_dynamics(q, v, tau, target="numpy")
    assert np.allclose(r.forward_dynamics(q, v, tau, method=method), expected, rtol=1e-6, atol=1e-6)


def test_rolling_goes_with_neither_parameters_nor_c():
    r = lw.chain(4)
    with pytest.raises(lw.InputError, match="parameters"):
        r.compile("mass_times", rolled=True, parameters=("inertial",))
    with pytest.raises(lw.InputError, match="straight-line"):
        r.compile("mass_times", rolled=True, target="c")


def test_what_cannot_be_rolled_says_so():
    with pytest.raises(lw.InputError, match="mass_matrix cannot be rolled"):
        lw.chain(5).compile("mass_matrix", rolled=True)
    rotor = lw.Rotor(0.1, 10.0, axis="x")
    body = lw.Body("b", lw.Joint(lw.Revolute("z"), rotor=rotor), lw.Inertia(1.0, tensor=np.eye(3)))
    with pytest.raises(lw.InputError, match="gyroscopic"):
        lw.assemble("r", [body]).compile("mass_solve", rolled=True)
    with pytest.raises(lw.InputError, match="no scalar program"):
        lw.chain(5).compile("mass_times", rolled=True).jacobian("q")


def test_source_is_readable():
    text = lw.chain(6).compile("inverse_dynamics", rolled=True).source
    assert "phase 0: for each body, base to tips" in text and "phase 1: for each body, tips to base" in text
    assert "saved[0] =" in text and "out0[0] =" in text


def test_the_cut_is_the_smallest():
    graph = Graph()
    a, b, c, d = graph.inputs("carry", 4)
    free = graph.inputs("q", 1)[0]
    narrow = (a + b) * (c + d)
    wanted = [narrow * free, narrow + 2.0, narrow * narrow]
    source = lambda x: x.op == "input" and x.args[0] == "carry"
    assert fewest(wanted, source, lambda x: True) == [narrow]
    assert set(fewest([a * free, b * free], source, lambda x: x.op == "input")) == {a, b}
    assert fewest([free * 2.0], source, lambda x: True) == []
