"""The pipeline: named passes in order, and a new algorithm that needs nothing but its own lines."""

import re
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from linkwise.codegen import pipeline, thresholds
from linkwise.codegen.facts import Facts, argument_shapes, catalogue
from linkwise.dynamics.links import evaluate, velocities
from linkwise.model import builders
from linkwise.robot.dispatch import compiled

SOURCE = Path(lw.__file__).parent


# --- adding an algorithm touches its own file, its method and its test -----------------------------------


def spinning_forces(model, q, v, drag, wind):
    """Joint forces of a drag against each body's motion, seen from its joint: a new algorithm, as one writes it."""
    links = evaluate(model, q)
    V = velocities(links, links.split(v))

    def step(gathered, phi, H, V):
        force = gathered + V * drag[..., None, :] - wind[..., None, :1] * V
        return phi @ force, H @ force

    return links.join(links.tree.inward(step, 0, links.phi, links.H, V))


class Dragging(lw.Robot):
    """A robot with one more method."""

    @compiled(q="nq", v="nv", drag=1, wind=(1, 1))
    def drag_force(self, q, v, drag, wind):
        """Σ H φ (drag V), in the bodies' own frames."""
        return spinning_forces(self, q, v, drag, np.reshape(wind, (*np.shape(wind)[:-2], 1)))

    @compiled(q="nq", v="nv", joint_space=True, rolls=True)
    def power_of_gravity(self, q, v):
        """v times the force of gravity, joint by joint: in joint space, and sweeps alone."""
        return v * lw.Robot.gravity_force.plain(self, q)


def dragging(n, seed=1):
    return builders.chain(n, seed=seed, cls=Dragging)


def test_a_new_method_is_in_the_catalogue_and_compiles(rng):
    robot = dragging(4)
    assert {"drag_force", "power_of_gravity"} <= set(catalogue(Dragging))
    assert catalogue(Dragging)["drag_force"].needed == ("q", "v", "drag", "wind")
    assert "drag_force" not in catalogue(lw.Robot)
    q, v = rng.normal(size=(2, 3, 4))
    drag, wind = rng.uniform(size=(3, 1)), rng.uniform(size=(3, 1, 1))
    expected = robot.drag_force(q, v, drag, wind, target="numpy")
    assert np.allclose(robot.drag_force(q, v, drag, wind, target="cpu"), expected, rtol=1e-12, atol=1e-12)
    kernel = robot.compile("drag_force")
    assert list(kernel.signature.inputs.items()) == [("q", 4), ("v", 4), ("drag", 1), ("wind", 1)]
    assert np.allclose(kernel(q, v, drag, wind[:, 0]), expected, rtol=1e-12, atol=1e-12)
    assert "drag_force" in robot.compile("drag_force", target="c").source
    with pytest.raises(lw.InputError, match="drag must have shape"):
        robot.drag_force(q, v, np.ones(2), wind, target="cpu")


def test_a_new_method_has_the_normal_form_where_it_says_so():
    robot = dragging(4)
    own = pipeline.trace(robot, lambda r, q, v: r.power_of_gravity(q, v)).operations.total
    assert robot.compile("power_of_gravity").operations.total < own
    assert len(robot.compile("power_of_gravity", rolled=False).passes) > len(robot.compile("drag_force").passes)


def test_a_new_method_rolls_where_it_says_so(rng):
    robot = dragging(70)
    q, v = 0.1 * rng.normal(size=(2, 70))
    kernel = robot.compile("power_of_gravity")
    assert "rolled" in kernel.explain()
    assert np.allclose(kernel(q, v), robot.power_of_gravity(q, v, target="numpy"), rtol=1e-10, atol=1e-10)
    with pytest.raises(lw.InputError, match="drag_force cannot be rolled"):
        robot.compile("drag_force", rolled=True)


def test_arguments_of_new_methods_are_known_by_name():
    robot = dragging(3)
    assert lw.compile(lambda robot, q, drag: q * drag[0], robot).signature.inputs == {"q": 3, "drag": 1}
    assert argument_shapes(lw.Robot)["tau"] == ("nv",) and argument_shapes(lw.Robot)["external"] == ("bodies", 6)


def test_no_table_of_names_is_left():
    """Facts about a method stand beside it: no file of the compiler names a method of the catalogue."""
    names = {f'"{name}"' for name in catalogue(lw.Robot)} - {'"momentum"', '"pose"', '"energy"', '"jacobian"'}
    for path in sorted((SOURCE / "codegen").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert not [name for name in names if name in text], path


def test_arguments_of_one_name_have_one_shape():
    shapes = {}
    for facts in catalogue(lw.Robot).values():
        for name, shape in facts.arrays.items():
            assert shapes.setdefault(name, shape) == shape


# --- passes ----------------------------------------------------------------------------------------------


def test_passes_have_names_and_say_what_they_do():
    names = [p.name for p in pipeline.PASSES]
    assert len(set(names)) == len(names)
    assert all(p.about.endswith(".") for p in pipeline.PASSES)


def test_a_kernel_tells_its_passes(monkeypatch, tmp_path):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    order = [p.name for p in pipeline.PASSES]
    kernel = lw.load("panda").compile("forward_dynamics")
    kernel.code(float)
    ran = [x.name for x in kernel.passes]
    made = ["arguments", "loops or not", "trace", "normal form", "kernel", "order", "module", "assemble", "load"]
    assert ran == made == sorted(ran, key=order.index)
    assert all(x.seconds >= 0 and x.note for x in kernel.passes)
    assert str(kernel.passes).count("\n") == len(ran) - 1
    again = lw.load("panda").compile("forward_dynamics")  # as another process would have it
    again.code(float)
    assert [x.name for x in again.passes] == ["arguments", "look up", "object code", "load"]
    assert again.operations == kernel.operations
    assert [x.name for x in again.passes][-2:] == ["trace", "normal form"]


def test_loops_and_sources_pass_by_the_same_list():
    chain = lw.chain(70).compile("mass_times")
    chain.code(float)
    assert [x.name for x in chain.passes] == [
        "arguments",
        "loops or not",
        "loops",
        "order",
        "module",
        "assemble",
        "load",
    ]
    job = pipeline.method_job(lw.load("panda"), lw.Robot.gravity_force, None, {}, target="c")
    pipeline.compile_job(job)
    assert [x.name for x in job.journal] == ["arguments", "loops or not", "trace", "normal form", "kernel"]


# --- thresholds ------------------------------------------------------------------------------------------


def test_thresholds_are_in_one_file_each_with_its_measurement():
    text = (SOURCE / "codegen" / "thresholds.py").read_text(encoding="utf-8")
    found = [name for name in vars(thresholds) if name.isupper()]
    repeats = (Path(__file__).parents[2] / "benchmarks" / "thresholds.py").read_text(encoding="utf-8")
    for name in found:
        before = text[: text.index(f"\n{name} = ")].rpartition("\n\n")[2]
        assert re.search(r"\d", before), f"{name} has no figures"
        assert f'"{name}"' in repeats, f"no command repeats what set {name}"


def test_facts_compare():
    assert Facts({"q": ("nq",)}) == Facts({"q": ("nq",)})


# --- what is asked for and what is given fit, on every target -----------------------------------------------


@pytest.mark.parametrize("target", ["cpu", "numpy", "jax"])
def test_kernels_count_their_arrays(target):
    robot = lw.load("double_pendulum")
    kernel = robot.compile("mass_times", target=target)
    for count in (0, 1, 3):
        with pytest.raises(lw.InputError, match=rf"mass_times takes 2 arrays \(q, x\), got {count}"):
            kernel(*[np.zeros(2)] * count)
    with pytest.raises(lw.InputError, match="x is one of the arrays that mass_times is called with"):
        robot.compile("mass_times", target=target, x=np.zeros(2))


@pytest.mark.parametrize("target", ["cpu", "numpy", "jax"])
def test_sizes_are_those_of_the_functions_arrays(target):
    robot = lw.load("double_pendulum")
    double = lambda robot, w: 2.0 * w
    with pytest.raises(lw.InputError, match="no array of .* is named 'z'"):
        lw.compile(double, robot, sizes={"w": 3, "z": 2}, target=target)
    with pytest.raises(lw.InputError, match="the size of 'w' must be a whole number"):
        lw.compile(double, robot, sizes={"w": -3}, target=target)


@pytest.mark.parametrize("result", [None, {"a": None}, [object()]])
def test_results_are_numbers(result):
    with pytest.raises(lw.InputError, match="must return arrays of numbers, got"):
        lw.compile(lambda robot, q: result, lw.load("double_pendulum"))
