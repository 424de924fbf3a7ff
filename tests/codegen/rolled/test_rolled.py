"""Rolled code: the same results as NumPy from loops over bodies, at a cost that grows with their number."""

from dataclasses import replace

import numpy as np
import pytest

import linkwise as lw
from linkwise.codegen import pipeline, thresholds
from linkwise.codegen.facts import catalogue
from linkwise.codegen.pipeline import compile_job, method_job
from linkwise.codegen.rolled.vertex_cut import fewest
from linkwise.codegen.runtime.kernel import Kernel
from linkwise.codegen.runtime.rolled_kernel import RolledKernel
from linkwise.symbols.scalar import Graph

ROBOTS = {
    "one link": lambda: lw.chain(1),
    "regular chain": lambda: lw.chain(17),
    "random chain": lambda: lw.chain(12, seed=3),
    "every joint kind": lambda: lw.chain(9, joint="mixed", seed=1),
    "tree": lambda: lw.random_tree(14, seed=4),
    "floating tree": lambda: lw.random_tree(6, seed=6).floating(),
    "two trees on the world": lambda: lw.load("panda").attach(lw.load("ur5"), "world", prefix="second_"),
    "humanoid": lambda: lw.load("humanoid"),
    "fixed joints kept": lambda: _with_fixed(),
    "rotors": lambda: _with_rotors(),
    "gyroscopic rotors": lambda: _with_rotors(axis=(0.6, 0, 0.8)),
    "gyroscopic rotors on a tree": lambda: _with_rotors([-1, 0, 0, 1, 2, 1, -1, 6], axis="y"),
}


def _with_fixed():
    bodies, parent = [], None
    for i in range(6):
        kind = lw.Fixed() if i % 3 == 1 else lw.Revolute("y")
        joint = lw.Joint(kind, at=(0.2, 0.1, 0.3), rpy=(0.1 * i, 0.2, 0.3))
        bodies.append(lw.Body(f"b{i}", joint, lw.Inertia(1.0, com=(0.1, 0, 0.2), tensor=np.eye(3)), parent))
        parent = f"b{i}"
    return lw.assemble("stiff", bodies)


def _with_rotors(parents=(-1, 0, 1, 2, 3), axis=None):
    bodies = []
    for i, p in enumerate(parents):
        rotor = lw.Rotor(0.01 * (i + 1), 20.0, axis=axis) if i % 2 else None
        kind = lw.Prismatic("z") if i == 3 else lw.Revolute("x")
        joint = lw.Joint(kind, at=(0.1, 0, 0.3), rpy=(0.3, 0.2 * i, 0), rotor=rotor)
        inertia = lw.Inertia(1.0 + i, com=(0.1, 0.05, 0.2), tensor=np.eye(3) * 0.1)
        bodies.append(lw.Body(f"b{i}", joint, inertia, None if p < 0 else f"b{p}"))
    return lw.assemble("geared", bodies)


def arguments(robot, kernel, batch, rng, dtype=float):
    made = [
        robot.random_configuration(rng, batch) if name == "q" else rng.normal(size=(*batch, robot.nv))
        for name in kernel.signature.inputs
    ]
    return [x.astype(dtype) for x in made]


def called(robot, name):
    """The kernel that a call of this method gets, or None."""
    return compile_job(method_job(robot, getattr(lw.Robot, name), None, {}, patient=False))


ROLLS = {name: facts.rolls for name, facts in catalogue(lw.Robot).items() if facts.rolls and not facts.rolls_with}
# (Of joints that are driven, or not, there are rows or columns alone: test_frames.py.)
PER_PAIR = [name for name, facts in catalogue(lw.Robot).items() if facts.per_pair and facts.driven is None]
WAYS = [
    (name, method)
    for name, methods in ROLLS.items()
    for method in methods
    if name not in PER_PAIR and not name.endswith("_hvp") and (method or len(methods) == 1)
]


def in_turn(robots, calls, each):
    """(robot, call): each robot with so many of the calls, which take turns."""
    return [(robot, calls[(i * each + k) % len(calls)]) for i, robot in enumerate(robots) for k in range(each)]


@pytest.mark.parametrize(("robot", "way"), in_turn(ROBOTS, WAYS, 2), ids=str)
def test_rolled_agrees_with_numpy(robot, way, rng):
    r, (name, method) = ROBOTS[robot](), way
    kernel = r.compile(name, rolled=True, **({"method": method} if method else {}))
    for batch in ((17,), (2, 3), ()):
        args = arguments(r, kernel, batch, rng)
        expected, found = getattr(r, name)(*args, target="numpy"), kernel(*args)
        for x, y in [(expected, found)] if isinstance(found, np.ndarray) else zip(expected, found):
            assert x.shape == y.shape
            assert np.abs(x - y).max(initial=0) <= 1e-11 * np.abs(x).max(initial=1e-9)


def _soft():
    robot = _on([-1, 0, 1, 2, 3])
    second, fourth = robot.joints[1].name, robot.joints[3].name
    return robot.with_springs({second: {"stiffness": 3.0, "rest": 0.2, "damping": 0.1}, fourth: {"stiffness": 2.0}})


# (Others have code for many kinds of joints, which takes long to compile.)
OF_FEW_KINDS = {
    "chain": lambda: lw.chain(6, seed=2),
    "tree": lambda: _on([-1, 0, 0, 1, 2, -1]),
    "gyroscopic rotors": lambda: _with_rotors(axis=(0.6, 0, 0.8)),
    "springs": _soft,
    "spherical": lambda: lw.random_tree(4, seed=1, joints=["spherical"]),
}


@pytest.mark.parametrize("robot", OF_FEW_KINDS)
@pytest.mark.parametrize("name", ["forward_dynamics_hvp", "inverse_dynamics_hvp"])
def test_derivatives_of_sweeps_are_sweeps(robot, name, rng):
    """Second derivatives: what a sweep carries changes along a direction by a sweep of its own."""
    r = OF_FEW_KINDS[robot]()
    kernel = r.compile(name, rolled=True)
    for batch in ((9,), ()):
        args = arguments(r, kernel, batch, rng)
        for x, y in zip(getattr(r, name)(*args, target="numpy"), kernel(*args)):
            assert x.shape == y.shape and np.abs(x - y).max() <= 1e-11 * np.abs(x).max()


def test_second_derivatives_of_a_long_chain_are_compiled(rng):
    r = lw.chain(300, seed=1)
    assert all(isinstance(called(r, name), RolledKernel) for name in ("forward_dynamics_hvp", "inverse_dynamics_hvp"))


# Walks from each size of joint have code for each kind: robots with many kinds take minutes to compile.
MATRIX_ROBOTS = {
    **{k: v for k, v in ROBOTS.items() if k not in ("every joint kind", "tree", "floating tree") and "gyro" not in k},
    "quadruped": lambda: lw.load("quadruped"),
    "universal and planar joints": lambda: _of_kinds(lw.Universal("x", "z"), lw.Revolute("y"), lw.Planar("z")),
    "spherical joint between": lambda: _of_kinds(lw.Revolute("y"), lw.Spherical(), lw.Prismatic("x")),
    "free joint between": lambda: _of_kinds(lw.Free(), lw.Free(), lw.Revolute("z")),
    "joints of one's own": lambda: _of_kinds(lw.Custom(SCREW), lw.Custom(SKATE), lw.Revolute("z")),
    "branches numbered across each other": lambda: _on([-1, -1, 0, 1, 0, 1, 2, 3, 4, 2, 6, -1, 5, 11]),
    "nothing but roots": lambda: _on([-1] * 5),
    "first body fixed": lambda: _on([-1, 0, 0, 1, 2, -1], fixed=(0, 4, 5)),
    "all fixed": lambda: _on([-1, 0, 0, -1], fixed=range(4)),
}

SCREW = [[0], [0], [1.0], [0.2], [0], [0.1]]
SKATE = [[0, 0], [0, 0], [1.0, 0], [0, 1.0], [0, 0], [0, 0]]  # turns and runs ahead: a pose of seven numbers


def _on(parents, fixed=()):
    """A tree of hinges, some of them fixed."""
    bodies = []
    for i, p in enumerate(parents):
        kind = lw.Fixed() if i in fixed else lw.Revolute("xyz"[i % 3])
        joint = lw.Joint(kind, at=(0.1, 0.2, 0.3), rpy=(0.3, 0.2 * i, 0.1))
        inertia = lw.Inertia(1.0 + 0.1 * i, com=(0.1, 0.02 * i, 0.2), tensor=np.diag([0.1, 0.2, 0.25]))
        bodies.append(lw.Body(f"b{i}", joint, inertia, None if p < 0 else f"b{p}"))
    return lw.assemble("branches", bodies)


def _of_kinds(*kinds):
    """A tree: the kinds one after another, and once more from the first body."""
    bodies = []
    for i, kind in enumerate((*kinds, *kinds[1:])):
        parent = None if i == 0 else "b0" if i == len(kinds) else f"b{i - 1}"
        joint = lw.Joint(kind, at=(0.1 * i, 0.2, 0.3), rpy=(0.3, 0.2 * i, 0.1))
        inertia = lw.Inertia(1.0 + i, com=(0.1, 0.05 * i, 0.2), tensor=np.diag([0.1, 0.2, 0.25]))
        bodies.append(lw.Body(f"b{i}", joint, inertia, parent))
    return lw.assemble("several", bodies)


@pytest.mark.parametrize(("robot", "name"), in_turn(MATRIX_ROBOTS, PER_PAIR, 2))
def test_rolled_matrices_agree_with_numpy(robot, name, rng):
    r = MATRIX_ROBOTS[robot]()
    kernel = r.compile(name, rolled=True)
    for batch in ((11,), ()):
        args = arguments(r, kernel, batch, rng)
        expected, found = getattr(r, name)(*args, target="numpy"), kernel(*args)
        for x, y in [(expected, found)] if isinstance(found, np.ndarray) else zip(expected, found):
            assert x.shape == y.shape
            assert np.abs(x - y).max(initial=0) <= 1e-11 * np.abs(x).max(initial=1e-9)
    if name in ("mass_matrix", "mass_matrix_inverse"):
        assert np.array_equal(found, found.mT)


@pytest.mark.parametrize("links", [16, 17])
def test_pivots_that_two_kinds_of_links_compute_alike_are_guarded_for_each(links, rng):
    """A uniform chain has links about y and about z: their pivots are the same sums, held to their own sizes."""
    even = lw.chain(links)
    bodies = [*even.bodies[:-1], replace(even.bodies[-1], inertia=lw.Inertia(0.0))]
    odd = lw.assemble("massless at the tip", bodies)
    for robot, is_sound in ((even, True), (odd, False)):
        kernel = robot.compile("forward_dynamics_sensitivity", rolled=True)
        assert kernel.run(list(rng.normal(size=(3, 5, links))))[1] == is_sound


def test_operations_of_matrices_are_those_of_straight_line_code():
    """But for the first bodies, whose zeros loops do not see, and for what the last body of a walk hands to nobody."""
    for name in PER_PAIR:
        # The first bodies weigh more where all share one frame: 1.23 times as many for 20 links, 1.19 for 26.
        chain = lw.chain(26 if name == "linearize_inverse" else 20, seed=1)
        method = {"method": "rows"} if name == "mass_matrix_inverse" else {}
        loops = chain.compile(name, rolled=True, **method).operations.total
        straight = chain.compile(name, rolled=False, **method).operations.total
        assert straight <= loops <= 1.2 * straight


def test_matrices_of_large_robots_are_rolled_without_being_asked(monkeypatch, tmp_path, rng):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    assert "1 walk from" in lw.chain(30, seed=1).compile("mass_matrix").explain()
    assert "every entry as a sum of 6 products" in lw.chain(100).compile("mass_matrix").explain()
    assert "2 walks in blocks of 16 bodies" in lw.chain(100, seed=1).compile("linearize_forward").explain()
    assert "2 walks from" in lw.chain(20, seed=1).compile("linearize_forward").explain()
    assert "walk" not in lw.load("panda").compile("linearize_forward").explain()
    monkeypatch.setattr(thresholds, "LOOPS_FROM", 400)
    monkeypatch.setattr(thresholds, "LOOPS_PER_PAIR", 1)
    monkeypatch.setattr(thresholds, "loops_cost_less", lambda *_: True)  # as if five links were many
    monkeypatch.setattr(thresholds, "loops_are_worth_a_trial", lambda *_: True)
    monkeypatch.setattr(thresholds, "longest_trial", lambda *_: None)
    r = _on([-1, 0, 0, 1, 2])
    q, v, tau = r.random_configuration(rng), *rng.normal(size=(2, r.nv))
    assert isinstance(called(r, "linearize_inverse"), RolledKernel)
    for x, y in zip(r.linearize_inverse(q, v, tau), r.linearize_inverse(q, v, tau, target="numpy")):
        assert np.abs(x - y).max() <= 1e-11 * np.abs(y).max()


def test_trees_that_share_machine_code_keep_their_own_tables(rng):
    trees = [_on(parents) for parents in ([-1, 0, 0, 1, 2], [-1, 0, 0, 2, 1])]
    kernels = [r.compile("mass_matrix_inverse", rolled=True) for r in trees]
    q = rng.normal(size=(3, 5))
    found = [kernel(q) for kernel in kernels]
    assert kernels[0].code(float).name == kernels[1].code(float).name
    for r, x in zip(trees, found):
        assert np.allclose(x, r.mass_matrix_inverse(q, target="numpy"), rtol=1e-11, atol=1e-11)


def test_threads_and_results_in_place(rng):
    r = _on([-1, 0, 0, 1, 2, 1])
    kernel = r.compile("linearize_forward", rolled=True)
    args = arguments(r, kernel, (50,), rng)
    alone = kernel(*args, threads=1)
    out = tuple(np.full((50, 6, 6), np.nan) for _ in range(3))
    spread = [np.repeat(x, 2, axis=-1)[:, ::2] for x in args]
    kernel(*spread, out=out, threads=4)
    assert all(np.array_equal(x, y) for x, y in zip(alone, out))


def test_a_kind_that_cannot_be_pickled_is_rolled(monkeypatch, rng):
    class Local(lw.Universal):
        pass

    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    shared = Local("x", "y")
    r = _of_kinds(lw.Revolute("y"), shared, shared, Local("x", "z"))
    kernel = r.compile("mass_matrix", rolled=True)
    assert "3 classes" in kernel.explain()
    q = rng.normal(size=(4, r.nq))
    assert np.allclose(kernel(q), r.mass_matrix(q, target="numpy"), rtol=1e-11, atol=1e-11)


def test_gyroscopic_rotors_add_to_forces_that_depend_on_velocities(rng):
    """On bodies of which some pass a moment on to their parents, and others nothing."""
    r = _with_rotors([-1, 0, 0, 1, 2, 1, -1, 6], axis="y")
    q, v, a = rng.normal(size=(3, 7, r.nv))
    for name, args in {"inverse_dynamics": (q, v, a), "linearize_inverse": (q, v, a), "mass_matrix": (q,)}.items():
        found, expected = r.compile(name, rolled=True)(*args), getattr(r, name)(*args, target="numpy")
        for x, y in [(found, expected)] if isinstance(found, np.ndarray) else zip(found, expected):
            assert np.abs(x - y).max() <= 1e-12 * np.abs(y).max()
    still = lw.assemble("still", [replace(b, joint=replace(b.joint, rotor=None)) for b in r.bodies])
    assert np.abs(found - still.mass_matrix(q, target="numpy")).max() > 1e-3


def test_an_algorithm_that_does_not_know_a_robot_is_not_rolled(monkeypatch):
    """Linearised forward dynamics has loops by Algorithm 6 alone, which knows no spinning rotors."""
    monkeypatch.setattr(thresholds, "LOOPS_FROM", 10)
    r = _with_rotors(axis="x")
    assert isinstance(called(r, "mass_matrix"), Kernel)
    assert not isinstance(called(r, "linearize_forward"), RolledKernel)
    with pytest.raises(lw.NotAdmittedError, match="Algorithm 6"):
        r.compile("linearize_forward", rolled=True)


def test_many_kinds_are_not_traced_in_vain(monkeypatch):
    """Joints that differ in more than the direction of an axis each have code of their own."""
    kinds = [lw.Helical("z", 0.01 * (i + 1)) for i in range(25)]
    screws, hinges = _of_kinds(*kinds), _on([i - 1 for i in range(25)])
    assert isinstance(called(hinges, "mass_matrix"), RolledKernel)
    monkeypatch.setattr("linkwise.codegen.rolled.program.roll", None)
    assert type(called(screws, "mass_matrix")) is Kernel


def test_matrices_that_need_too_much_memory(monkeypatch, tmp_path):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    r = lw.chain(70)
    kernel = r.compile("linearize_forward")
    monkeypatch.setattr(thresholds, "MOST_SCRATCH", kernel.scratch_bytes - 1)
    with pytest.raises(lw.InputError, match="mass_solve"):
        r.compile("linearize_forward")
    assert called(r, "linearize_forward") is None
    assert kernel.code(float).scratch_bytes == kernel.scratch_bytes == kernel.code(np.float32).scratch_bytes


def test_loops_that_were_made_before_are_not_recorded_again(monkeypatch, tmp_path, rng):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    r = lw.chain(24, seed=2)
    args = [rng.normal(size=(3, 24)) for _ in range(3)]
    expected = [x.tobytes() for x in called(r, "linearize_inverse")(*args)]
    asked = r.compile("mass_matrix", rolled=True)
    told = asked(args[0])
    with monkeypatch.context() as patch:  # nothing may be traced
        patch.setattr("linkwise.codegen.rolled.program.roll", None)
        patch.setattr(pipeline, "trace", None)
        again = lw.chain(24, seed=2)  # as another process would have it
        kernel = called(again, "linearize_inverse")
        assert kernel.is_remembered and isinstance(kernel, RolledKernel)
        assert [x.tobytes() for x in kernel(*args)] == expected
        assert np.array_equal(again.compile("mass_matrix", rolled=True)(args[0]), told)
        assert [x.name for x in kernel.passes] == ["arguments", "look up", "object code", "load"]
    assert kernel.operations == r.compile("linearize_inverse", rolled=True).operations
    other = lw.chain(24, seed=3)  # the same code, with numbers of its own
    assert not np.allclose(called(other, "mass_matrix")(args[0]), told)
    for file in tmp_path.glob("*.tables"):  # lost tables are made again
        file.unlink()
    assert [x.tobytes() for x in called(lw.chain(24, seed=2), "linearize_inverse")(*args)] == expected


def test_matrices_keep_nan_in_its_state(rng):
    r = lw.chain(6, seed=1)
    kernel = r.compile("linearize_forward", rolled=True)
    args = arguments(r, kernel, (13,), rng)
    clean = kernel(*args)
    args[1][4, 0] = np.nan
    for x, y in zip(clean, kernel(*args)):
        assert np.array_equal(np.delete(x, 4, 0), np.delete(y, 4, 0))


def test_matrices_in_single_precision(rng):
    r = lw.chain(20, seed=1)
    kernel = r.compile("linearize_inverse", rolled=True)
    args = arguments(r, kernel, (9,), rng, np.float32)
    for x, y in zip(kernel(*args), r.linearize_inverse(*(x.astype(float) for x in args), target="numpy")):
        assert x.dtype == np.float32
        assert np.abs(x - y).max() <= 2e-5 * np.abs(y).max()


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


def test_thousands_of_links(rng):
    r = lw.chain(2_000)
    kernel = r.compile("inverse_dynamics")
    assert "2000 bodies" in kernel.explain()
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
    assert np.allclose(r.mass_matrix(q), r.mass_matrix(q, target="numpy"), rtol=1e-12)


def test_nan_stays_in_its_state(rng):
    r = lw.random_tree(5, seed=1)
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


OTHER_METHODS = [m for m in lw.FORWARD_METHODS if m not in ("armstrong", *ROLLS["forward_dynamics"])]


@pytest.mark.parametrize("method", OTHER_METHODS)
def test_methods_that_look_at_all_bodies_are_not_rolled(method, monkeypatch, rng):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    monkeypatch.setattr(thresholds, "LOOPS_FROM", 10)  # as if six links were many
    monkeypatch.setattr(thresholds, "loops_cost_less", lambda *_: True)
    monkeypatch.setattr(thresholds, "loops_are_worth_a_trial", lambda *_: True)
    monkeypatch.setattr(thresholds, "longest_trial", lambda *_: None)
    r = lw.chain(6)
    assert isinstance(called(r, "forward_dynamics"), RolledKernel)
    with pytest.raises(lw.InputError, match="cannot be rolled"):
        r.compile("forward_dynamics", rolled=True, method=method)
    q, v, tau = 0.1 * rng.normal(size=(3, 6))
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
        lw.chain(5).compile("mass_matrix", rolled=True, method="direct")


def test_derivatives_of_loops_are_made_of_the_same_function_without_them(monkeypatch):
    robot = lw.chain(5, seed=1)
    q, x = np.random.default_rng(0).normal(size=(2, 4, 5))
    found = robot.compile("mass_times", rolled=True).jacobian("q")(q, x)
    assert np.allclose(found, robot.compile("mass_times", rolled=False).jacobian("q")(q, x), rtol=0, atol=1e-12)
    monkeypatch.setattr("linkwise.codegen.thresholds.LONGEST_TRACE", 1000)
    with pytest.raises(lw.InputError, match="derivatives are made, it is too long"):
        lw.chain(5, seed=1).compile("mass_times", rolled=True).jacobian("q")


def test_source_is_readable():
    text = lw.chain(6).compile("inverse_dynamics", rolled=True).source
    assert "phase 0: for each body, base to tips" in text and "phase 1: for each body, tips to base" in text
    assert "saved[0] =" in text and "vector[0] =" in text
    text = lw.chain(6).compile("linearize_forward", rolled=True).source
    assert "walk 0: to each body inboard of it" in text and "walk 1: to each body that is not inboard" in text


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
