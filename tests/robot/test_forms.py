"""No call of the catalogue is left to NumPy: every one of every robot has a form of machine code, and remembers it."""

import inspect
import warnings

import numpy as np
import pytest

import linkwise as lw
from helpers.flexible_bodies import beam, flexible_arm
from helpers.linkages import four_bars
from helpers.node_robots import alternating, bend, on_two_ports, stages
from linkwise.codegen import pipeline, thresholds
from linkwise.codegen.facts import catalogue
from linkwise.codegen.runtime.rolled_kernel import RolledKernel
from linkwise.errors import NotAdmittedError, SingularError

SMALL = [name for name in lw.robots() if len(lw.load(name).bodies) <= 6]
# What makes the longest code: sensitivities, linearised models, C, and what no loop does for long robots.
LONGEST = {
    "humanoid": ("forward_dynamics_sensitivity", "coriolis_matrix"),
    "satellite_pair": ("linearize_forward", "inverse_dynamics"),
    "stewart": ("linearize_forward", "inverse_dynamics"),
    "delta": ("linearize_forward", "inverse_dynamics"),
}
USUALLY = ("forward_dynamics_sensitivity", "linearize_forward")
OTHERS = {
    **{n: (lambda n=n: lw.load(n), LONGEST.get(n, USUALLY)) for n in lw.robots() if n not in SMALL},
    "chain of 100": (lambda: lw.chain(100, seed=1), ("jacobian", "operational_inertia")),
    "tree of 30": (lambda: lw.random_tree(30, seed=1), ("linearize_forward",)),
    "floating tree with rotors": (
        lambda: lw.random_tree(70, seed=2, joints="revolute", rotors=True, floating=True),
        ("forward_dynamics", "jacobian_dot_v"),
    ),
}


def job(robot, name, **options):
    """The job of a mere call, with a frame and joints where it needs some."""
    method = getattr(type(robot), name)
    joints = [j.name for j, _, _ in robot.coordinates]
    known = {"frame": robot.tips[-1], "frames": (robot.tips[-1],), "prescribed": tuple(joints[::2])}
    known["passive"] = tuple(joints[1::2] or joints[:1])
    asked = [
        p.name
        for p in list(inspect.signature(method.plain).parameters.values())[1:]
        if p.name not in method.facts.arrays and p.default is p.empty and p.kind is not p.VAR_KEYWORD
    ]
    return pipeline.method_job(robot, method, None, {n: known[n] for n in asked}, patient=False, **options)


@pytest.fixture
def in_own_frames(monkeypatch):
    """Programs in other frames are shorter; whether one is too long is seen from the first."""
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    monkeypatch.setattr(pipeline, "normal_forms", lambda robot: [])


@pytest.mark.parametrize("robot", SMALL)
def test_every_call_of_a_small_robot_has_code(robot, in_own_frames):
    r, made = lw.load(robot), 0
    for name in catalogue(type(r)):
        asked = job(r, name)
        try:
            assert pipeline.compile_job(asked) is not None, (name, asked.journal[-1].note)
        except (SingularError, NotAdmittedError):  # of what this robot does not have, NumPy says so too
            continue
        made += 1
    assert made >= 65


@pytest.mark.parametrize("robot", OTHERS)
def test_the_longest_calls_of_other_robots_have_code(robot, in_own_frames):
    make, names = OTHERS[robot]
    r = make()
    for name in names:
        asked = job(r, name)
        assert pipeline.compile_job(asked) is not None, (name, asked.journal[-1].note)


# Robots whose bodies move as one, by how many of them there are.
TOGETHER = {
    "flexible arm of 4": lambda: flexible_arm(4, beam(3)),
    "flexible arm of 60": lambda: flexible_arm(60, beam(6)),
    "flexible and rigid links": lambda: alternating(30),
    "flexible tree on two ports": on_two_ports,
    "30 differentials": lambda: stages(30),
    "20 cams with rotors": lambda: stages(20, bend, lw.Rotor(0.02, 3.0)),
}


@pytest.mark.parametrize("robot", TOGETHER)
def test_calls_of_robots_whose_bodies_move_as_one_have_code(robot, in_own_frames):
    """Of a short one everything, of others what makes the longest code and, in turns, what loops are for."""
    r, turn = TOGETHER[robot](), list(TOGETHER).index(robot)
    names = list(catalogue(type(r))) if turn == 0 else sorted({*USUALLY, "forward_dynamics_hvp", *ROLLED[turn::5]})
    for name in names:
        asked = job(r, name)
        try:
            kernel = pipeline.compile_job(asked)
        except (SingularError, NotAdmittedError):  # of what this robot does not have, NumPy says so too
            continue
        assert kernel is not None or catalogue(type(r))[name].in_parts, (name, asked.journal[-1].note)
    assert len(names) >= 6


OF_SOME_BODIES = ("disturbance_map", "linearize_velocity")


def test_calls_of_some_bodies_of_a_long_flexible_chain_have_loops(in_own_frames):
    r = flexible_arm(60, beam(6))
    for name in OF_SOME_BODIES:
        assert isinstance(pipeline.compile_job(job(r, name)), RolledKernel), name


def test_the_longest_calls_of_loops_in_series_have_code_or_parts(in_own_frames, monkeypatch):
    """Four of them with a limit that is to them what a call's is to sixteen."""
    monkeypatch.setattr(thresholds, "LONGEST_TRACE", 15_000)
    r = four_bars(4)
    in_parts = ("linearize_forward", "forward_dynamics_sensitivity")
    for name in ("forward_dynamics_jvp", "forward_dynamics_vjp", "mass_solve", "inverse_dynamics_regressor"):
        assert pipeline.compile_job(job(r, name)) is not None, name
    for name in in_parts:
        asked = job(r, name)
        assert pipeline.compile_job(asked) is None and catalogue(type(r))[name].in_parts, name


ROLLED = [name for name, facts in catalogue(lw.Robot).items() if facts.rolls and not facts.rolls_with]


@pytest.mark.parametrize(("links", "names"), [(100, ROLLED), (300, ("coriolis_matrix", "inverse_dynamics_regressor"))])
def test_long_chains_keep_their_loops(links, names, in_own_frames):
    """Every function that is sweeps and walks, and its code is as short whatever the chain."""
    r = lw.chain(links, seed=1)
    for name in names:
        kernel = pipeline.compile_job(job(r, name))
        assert isinstance(kernel, RolledKernel), name
        assert kernel.length < 4000, name
    assert len(ROLLED) >= 29


def test_aligned_chains_are_straight_for_longer():
    """Loops do not know the zeros of aligned axes, which are half of what there is to do."""
    for links, aligned, general in ((10, 0, 0), (24, 0, 1), (44, 0, 1), (60, 1, 1)):
        for chain, expected in ((lw.chain(links), aligned), (lw.chain(links, seed=1), general)):
            asked = job(chain, "forward_dynamics")
            pipeline.read_arguments(asked)
            pipeline.choose_form(asked)
            assert asked.loops == ("yes" if expected else "no"), (links, asked.loops)


def test_what_is_long_by_itself_is_made_of_other_compiled_calls(monkeypatch, tmp_path):
    """∂𝓜/∂q has n³ numbers: C(q, v) along every direction, in either precision; J*J; and NumPy is not asked."""
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    monkeypatch.setattr(thresholds, "LONGEST_WITH_PARTS", 1000)
    for r in (lw.chain(21, seed=1), lw.random_tree(6, seed=2)):  # with the loops of C, and without
        q = r.random_configuration(np.random.default_rng(0), (2,))
        expected = r.mass_matrix_sensitivity(q, target="numpy")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(2):  # the second call as the first
                assert np.abs(r.mass_matrix_sensitivity(q) - expected).max() < 1e-13 * np.abs(expected).max()
            assert r.mass_matrix_sensitivity(q[0].astype(np.float32)).dtype == np.float32
            inner = r.jacobian_inner(q, r.tips[-1])
        assert np.abs(inner - r.jacobian_inner(q, r.tips[-1], target="numpy")).max() < 1e-13 * np.abs(inner).max()
        for call, others in ((r.mass_matrix_sensitivity, ()), (r.jacobian_inner, r.tips[-1:])):
            with pytest.raises(lw.LinkwiseError):
                call(q[:, :-1], *others)


def test_joints_of_a_kind_share_loops():
    """Whatever their axes and pitches: the code of a tree of all kinds does not grow with its bodies."""
    kinds = (lw.Revolute, lw.Helical, lw.Universal, lw.Planar, lw.Cylindrical)
    lengths: dict[str, list[int]] = {}
    for n in (10, 30):
        rng, bodies = np.random.default_rng(1), []
        for k in range(n):
            kind = kinds[k % len(kinds)]
            joint = lw.Joint(kind(*rng.normal(size=(2 if kind is lw.Universal else 1, 3))), at=rng.normal(size=3))
            bodies.append(lw.Body(f"b{k}", joint, lw.Inertia(1.0, tensor=np.eye(3)), f"b{(k - 1) // 2}" if k else None))
        for name in ("inverse_dynamics", "inverse_dynamics_regressor"):
            asked = job(lw.assemble("kinds", bodies), name, rolled=True)
            lengths.setdefault(name, []).append(pipeline.compile_job(asked).length)
    assert all(more <= 1.1 * few for few, more in lengths.values())


def test_what_is_refused_is_not_tried_again(monkeypatch, tmp_path):
    """In another process, as it would be: the refusal is on disk, and says why."""
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    monkeypatch.setattr(thresholds, "LONGEST_TRACE", 300)
    r = lw.chain(7, seed=1)
    first = job(r, "coriolis_matrix")
    assert pipeline.compile_job(first) is None and "more than 300 values" in first.journal[-1].note
    monkeypatch.setattr(pipeline, "trace", None)  # nothing may be traced
    again = job(lw.chain(7, seed=1), "coriolis_matrix")
    assert pipeline.compile_job(again) is None
    assert [x.name for x in again.journal] == ["arguments", "look up"]
    assert again.journal[-1].note == first.journal[-1].note
    monkeypatch.undo()
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    assert r.compile("coriolis_matrix").operations.total > 300  # who asks for code gets it, however long it takes


def test_frames_are_chosen_no_longer_than_a_call_waits(monkeypatch):
    """What is long has its frames chosen by forward dynamics, which may be too long itself: no error of a mere call."""
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    monkeypatch.setattr(thresholds, "FRAMES_TRIED", 0)
    monkeypatch.setattr(thresholds, "LONGEST_TRACE", 300)
    asked = job(lw.chain(7, seed=1), "coriolis_matrix")
    assert pipeline.compile_job(asked) is None
    assert "more than 300 values" in asked.journal[-1].note


def test_a_refusal_names_call_robot_reason_and_remedy(monkeypatch, tmp_path):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    monkeypatch.setattr(thresholds, "LONGEST_CODE", 10)
    r, (q, v) = lw.chain(5, seed=1), np.ones((2, 5))
    for robot in (r, lw.chain(5, seed=1)):  # the second finds the refusal on disk
        with pytest.warns(lw.SlowPathWarning) as said:
            first = robot.coriolis_matrix(q, v)
        text = str(said[0].message)
        for part in ("coriolis_matrix(q, v)", "'chain5'", "values", "robot.compile('coriolis_matrix')"):
            assert part in text
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.array_equal(robot.coriolis_matrix(q, v), first)  # said once


def test_loops_come_where_straight_line_code_is_refused(monkeypatch, tmp_path):
    """Though they were not the better choice: there is nothing between them that only NumPy does."""
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    monkeypatch.setattr(thresholds, "LOOPS_FROM", 100)
    monkeypatch.setattr(thresholds, "loops_cost_less", lambda *_: False)
    monkeypatch.setattr(thresholds, "LONGEST_CODE", 3000)
    r = lw.load("quadruped")
    asked = job(r, "linearize_inverse")
    assert pipeline.compile_job(asked) is None  # in loops it would be too long as well
    monkeypatch.setattr(thresholds, "LONGEST_CODE", 5000)
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    r = lw.random_tree(18, seed=3, joints="revolute")
    asked = job(r, "linearize_inverse")
    assert isinstance(pipeline.compile_job(asked), RolledKernel)
    assert "loops after all" in asked.journal[-1].note
    monkeypatch.setattr(thresholds, "longest_trial", lambda about: 100)
    asked = job(r, "linearize_inverse")
    assert isinstance(pipeline.compile_job(asked), RolledKernel)
    notes = {x.name: x.note for x in asked.journal}
    assert notes["loops"] == "not taken: more than 100 values" and "loops after all" in asked.journal[-1].note


@pytest.mark.parametrize("tried", [0, 10**9], ids=["long", "short"])
def test_robots_with_joints_that_nothing_resists_have_code_of_all_but_inverses(tried, monkeypatch):
    """Long code has its frames chosen by forward dynamics, which such a robot has not."""
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    monkeypatch.setattr(thresholds, "FRAMES_TRIED", tried)
    arm = lw.chain(4, seed=2)
    r = arm.with_inertias({arm.bodies[-1].name: lw.Inertia(0.0)})
    found = {}
    for name in (
        "inverse_dynamics",
        "coriolis_matrix",
        "linearize_inverse",
        "mass_matrix",
        "forward_dynamics",
        "mass_solve",
    ):
        try:
            found[name] = pipeline.compile_job(job(r, name)) is not None
        except SingularError:
            found[name] = "singular"
        states = [r.random_configuration(3), *np.full((2, r.nv), 0.1)][: len(catalogue(type(r))[name].needed)]
        if found[name] == "singular":
            with pytest.raises(SingularError, match=arm.bodies[-1].name):
                getattr(r, name)(*states, target="cpu")
    inverses = {"forward_dynamics": "singular", "mass_solve": "singular"}
    assert found == dict.fromkeys(found, True) | inverses
