"""Loops of functions of one frame, whose body is a class of its own, and of some joints, against NumPy."""

from dataclasses import replace

import numpy as np
import pytest

import linkwise as lw
from helpers.flexible_bodies import beam, flexible_arm
from helpers.node_robots import BOX, bend, fingers, hung, on_two_ports, stages
from linkwise.codegen import thresholds
from linkwise.codegen.facts import catalogue
from linkwise.codegen.pipeline import compile_job, method_job
from linkwise.codegen.rolled import plan
from linkwise.codegen.runtime.rolled_kernel import RolledKernel

ROBOTS = {
    "chain": lambda: lw.chain(6, seed=1),
    "floating tree with rotors": lambda: lw.random_tree(4, seed=2, joints="revolute", rotors=True, floating=True),
    "all kinds": lambda: lw.random_tree(5, seed=3),
    "flexible chain": lambda: flexible_arm(2, beam(1)),
    "two ports": on_two_ports,
    "cam with rotors": lambda: stages(1, bend, lw.Rotor(0.02, 3.0)),
    "fingers": fingers,
}
CASES = [
    ("chain", "linearize_velocity", "link4"),
    ("chain", "operational_inertia_derivative", "tip"),
    ("floating tree with rotors", "linearize_acceleration", "body3"),
    ("floating tree with rotors", "operational_compliance_derivative", "body4"),
    ("all kinds", "linearize_acceleration", "body4"),
    ("flexible chain", "operational_compliance_derivative", "link2.tip"),
    ("flexible chain", "linearize_velocity", "link2"),
    ("two ports", "linearize_velocity", "b1.side"),
    ("cam with rotors", "linearize_velocity", "b2"),
    ("cam with rotors", "linearize_acceleration", "b2"),
    ("cam with rotors", "operational_compliance_derivative", "b2"),
    ("fingers", "linearize_velocity", "b4"),
    ("chain", "linearize_velocity", "world"),
    ("chain", "generalized_jacobian", "world"),
    ("chain", "operational_compliance_derivative", "world"),
    ("chain", "operational_compliance_derivative", ("link3", "world")),
    ("chain", "operational_compliance_derivative", ("world", "link5")),
    ("chain", "operational_compliance_derivative", ("link4", "link2")),
    ("all kinds", "operational_compliance_derivative", ("body1", "world")),
    ("flexible chain", "operational_compliance_derivative", ("world", "link2.tip")),
    ("fingers", "disturbance_map", None),
    ("two ports", "disturbance_map", None),
    ("flexible chain", "generalized_jacobian", "link2.tip"),
    ("floating tree with rotors", "generalized_jacobian", "body3"),
]


def kernel_of(robot, name, frame=None, **options):
    fixed = options | ({} if frame is None else {"frame": frame})
    return compile_job(method_job(robot, getattr(lw.Robot, name), None, fixed, rolled=True))


def test_every_such_function_is_among_the_cases():
    assert {name for _, name, _ in CASES} == {n for n, facts in catalogue(lw.Robot).items() if facts.rolls_with}


@pytest.mark.parametrize(("robot", "name", "frame"), CASES)
def test_loops_of_a_frame_agree_with_numpy(robot, name, frame, rng):
    r = ROBOTS[robot]()
    given = [
        r.random_configuration(rng, (2,)) if a == "q" else rng.normal(size=(2, r.nv))
        for a in getattr(lw.Robot, name).facts.needed
    ]
    kernel = kernel_of(r, name, frame)
    assert isinstance(kernel, RolledKernel)
    named = {} if frame is None else {"frame": frame}
    expected, found = getattr(r, name)(*given, **named, target="numpy"), kernel(*given)
    for x, y in [(expected, found)] if isinstance(found, np.ndarray) else zip(expected, found):
        assert x.shape == y.shape
        assert np.abs(x - y).max() <= 1e-12 * np.abs(x).max(initial=1.0)


@pytest.mark.parametrize("frame", ["world", ("world", "world"), ("link3", "world"), ("world", "link5")])
def test_frames_of_the_world_have_no_operational_inertia_in_loops_either(frame, rng):
    r = lw.chain(6, seed=1)
    with pytest.raises(lw.SingularError):
        kernel_of(r, "operational_inertia_derivative", frame)
    for target in ("numpy", "cpu"):
        with pytest.raises(lw.SingularError, match="the operational inertia of .*'world'.* does not exist"):
            r.operational_inertia_derivative(rng.normal(size=(2, 6)), frame, target=target)


@pytest.mark.parametrize("frame", ["link3", "world"])
@pytest.mark.parametrize("joints", ["revolute", None])
def test_no_column_is_left_where_all_joints_are_passive(joints, frame, rng):
    r = lw.random_tree(4, seed=3, **({"joints": joints} if joints else {}))
    frame = frame if frame == "world" else r.bodies[-1].name
    passive, q = tuple(j.name for j in r.joints), r.random_configuration(rng, (2,))
    for name, fixed, rows in [("generalized_jacobian", {"frame": frame}, 6), ("disturbance_map", {}, r.nv)]:
        kernel = kernel_of(r, name, passive=passive, **fixed)
        assert isinstance(kernel, RolledKernel)
        assert kernel(q).shape == getattr(r, name)(q, passive=passive, target="numpy", **fixed).shape == (2, rows, 0)


def test_robots_that_cannot_move_have_loops_of_nothing():
    arm = lw.chain(2)
    bodies = [replace(b, joint=replace(b.joint, kind=lw.Fixed())) for b in arm.bodies]
    r, none = lw.assemble("still", bodies), np.zeros((3, 0))
    for name, shape in {"gravity_force": (3, 0), "forward_dynamics": (3, 0), "mass_matrix": (3, 0, 0)}.items():
        kernel = r.compile(name, rolled=True)
        assert isinstance(kernel, RolledKernel)
        assert kernel(*[none] * len(kernel.signature.inputs)).shape == shape


def test_local_axes_and_frames_off_their_bodies(rng):
    r = lw.chain(6, seed=2)
    hand = lw.Frame("hand", "link5", at=(0.1, -0.2, 0.3), rpy=(0.3, 0.1, -0.4))
    q, v, a = rng.normal(size=(3, 2, r.nv))
    kernel = kernel_of(r, "linearize_acceleration", hand, axes="local")
    for x, y in zip(r.linearize_acceleration(q, v, a, hand, axes="local", target="numpy"), kernel(q, v, a)):
        assert np.abs(x - y).max() <= 1e-13 * np.abs(x).max()


@pytest.mark.parametrize("first", [0, 1])
def test_driven_joints_among_passive_ones(first, rng):
    """Rows and columns in the order of v, whichever joints they are of; spinning rotors on both."""
    r = lw.random_tree(7, seed=4, joints="revolute", rotors=True)
    passive, q = tuple(j.name for j in r.joints)[first::2], rng.normal(size=(2, r.nq))
    S = kernel_of(r, "disturbance_map", passive=passive)(q)
    expected = r.disturbance_map(q, passive=passive, target="numpy")
    assert S.shape == expected.shape == (2, len(passive), r.nv - len(passive))
    assert np.abs(S - expected).max() <= 1e-12 * np.abs(expected).max()


def test_a_negated_part_of_a_matrix_is_not_taken_for_a_whole_one(monkeypatch, rng):
    """Whose products are looked for in all of its rows and columns."""
    monkeypatch.setattr(thresholds, "PRODUCTS_FROM", 1)
    monkeypatch.setattr(plan, "find_products", lambda *_: pytest.fail("products were looked for in a part"))
    r = lw.chain(6, seed=1)
    passive, q = tuple(j.name for j in r.joints)[::2], rng.normal(size=(2, r.nq))
    job = method_job(r, lw.Robot.disturbance_map, None, {"passive": passive}, rolled=True)
    plain = job.call
    kernel = compile_job(replace(job, name="negated_map", call=lambda *given: -plain(*given)))
    assert isinstance(kernel, RolledKernel)
    expected = -r.disturbance_map(q, passive=passive, target="numpy")
    assert np.abs(kernel(q) - expected).max() <= 1e-12 * np.abs(expected).max()


def test_nodes_and_bodies_of_as_many_freedoms_share_walks_of_a_tree(rng):
    bodies = [(lw.Universal("x", "y"), (0.1, 0, 0), BOX), (lw.Revolute("z"), (0, 0, 0), beam(2))]
    r = hung([None, "b0", "b0", "b1.tip", "b0"], [bodies[i % 2] for i in range(5)])
    q = r.random_configuration(rng, (2,))
    expected = r.mass_matrix_inverse(q, target="numpy")
    assert np.abs(kernel_of(r, "mass_matrix_inverse")(q) - expected).max() <= 1e-12 * np.abs(expected).max()


def test_code_of_a_frame_does_not_grow_with_the_chain(monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    arms = [flexible_arm(n, beam(1)) for n in (5, 40)]
    lengths = [kernel_of(r, "operational_compliance_derivative", r.tips[-1]).length for r in arms]
    assert lengths[0] == lengths[1]


def test_long_calls_have_loops_and_other_targets_say_that_they_have_none(monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    arm, tip = flexible_arm(40, beam(4)), {"frame": "link40.tip"}
    assert isinstance(
        compile_job(method_job(arm, lw.Robot.linearize_acceleration, None, tip, patient=False)), RolledKernel
    )
    for target in ("cuda", "jax"):
        with pytest.raises(
            lw.InputError, match="linearize_velocity, of some bodies alone, has loops in machine code alone"
        ):
            lw.chain(4).compile("linearize_velocity", frame="tip", target=target, rolled=True)
