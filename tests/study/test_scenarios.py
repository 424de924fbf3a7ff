"""Batches of drawn motions are the motions that lw.simulate makes of robots with those very numbers."""

import numpy as np
import pytest
from study_scenarios import pendulum

import linkwise as lw

STEPS = {"duration": 0.1, "step": 0.005}


def spring(robot, t, q, v, p):
    return -p["stiffness"] * q - p["gains"] * v + np.array([0.1, 0.0]) * t


def heavy(mass):
    """Ten inertial parameters of a bar."""
    return np.array([mass, 0.0, 0.0, -0.4 * mass, 0.3 * mass, 0.0, 0.3 * mass, 0.0, 0.0, 0.1 * mass])


def with_row(robot, body, row):
    out = robot.inertial_parameters.copy()
    out[body] = row
    return robot.with_inertial_parameters(out)


# parameter → (distribution, what lw.simulate is given for a value x: (robot, options))
DRAWN = {
    "mass.lower": (lw.Uniform(0.5, 2), lambda r, x: (r.with_inertial_parameters(scaled(r, 1, x)), {})),
    "com.lower": (lw.Normal([0, 0, -0.4], 0.1), lambda r, x: (moved_centre(r, x), {})),
    "payload.lower": (lw.Uniform(0, 2), lambda r, x: (r.weld("lower", lw.Inertia(x)), {})),
    "damping": (lw.Uniform(0, 1), lambda r, x: (r, {"damping": x})),
    "friction": (lw.Uniform([0.0, 0.0], [1.0, 1.0]), lambda r, x: (r, {"friction": x})),
    "lower": (lw.Uniform([-0.2, -0.2], [-0.1, -0.1]), lambda r, x: (r, {"limits": (x, r.upper_limits)})),
    "tau": (lw.Normal([0.0, 0.0], 1.0), lambda r, x: (r, {"controller": lambda t, q, v: x + 0.0 * v})),
    "force.lower": (lw.Normal([0.0, 0.0, 0.0], 3.0), lambda r, x: (r, {"external": {"lower": [0, 0, 0, *x]}})),
    "inertial.lower": (lw.Choice([heavy(2.0), heavy(3.0)]), lambda r, x: (with_row(r, 1, x), {})),
    "inertial": (
        lw.Choice([[heavy(2.0), heavy(3.0)], [heavy(1.0), heavy(2.0)]]),
        lambda r, x: (r.with_inertial_parameters(x), {}),
    ),
    "mass.upper": (lw.LogNormal(0.0, 0.3), lambda r, x: (r.with_inertial_parameters(scaled(r, 0, x)), {})),
    "friction.elbow": (lw.Uniform(0, 1), lambda r, x: (r, {"friction": [0.0, x]})),
    "damping.elbow": (lw.Uniform(0, 1), lambda r, x: (r, {"damping": [0.0, x]})),
    "upper": (lw.Uniform([0.1, 0.1], [0.2, 0.2]), lambda r, x: (r, {"limits": (r.lower_limits, x)})),
    "upper.elbow": (lw.Uniform(-0.3, -0.2), lambda r, x: (r, {"limits": (r.lower_limits, [r.upper_limits[0], x])})),
    "tau.elbow": (lw.Normal(0.0, 1.0), lambda r, x: (r, {"tau": np.tile([0.0, x], (20, 1))})),
    "force.upper": (lw.Normal(np.zeros(6), 3.0), lambda r, x: (r, {"external": {"upper": x}})),
    "gravity": (lw.Normal([0.0, 0.0, -9.0], 1.0), lambda r, x: (r.with_gravity(x), {})),
}


def scaled(robot, body, mass):
    out = robot.inertial_parameters.copy()
    out[body] *= mass / out[body, 0]
    return out


def moved_centre(robot, x):
    old = robot.bodies[1].inertia
    return robot.with_inertias({"lower": lw.Inertia(old.mass, x, old.tensor)})


TOGETHER = [
    ("mass.lower", "com.lower", "payload.lower", "damping", "tau"),
    ("inertial.lower", "friction", "force.lower"),
    ("mass.upper", "damping.elbow", "tau.elbow"),
    ("inertial", "force.upper"),
    ("lower", "friction.elbow"),  # stops are those of the robot as it was designed: with no inertia beside
    ("upper",),
    ("upper.elbow",),
    ("gravity",),
]


def test_every_parameter_is_drawn_somewhere():
    assert sorted(name for names in TOGETHER for name in names) == sorted(DRAWN)


@pytest.mark.parametrize("names", TOGETHER, ids=" ".join)
def test_drawn_numbers_are_those_of_the_robot(names):
    robot = pendulum()
    parameters = {"q0": lw.Normal([0.3, -0.4], 0.2), "v0": lw.Normal([0.0, 1.0], 0.2)}
    parameters |= {name: DRAWN[name][0] for name in names}
    study = lw.Study(robot, lw.scenarios.simulate(**STEPS), parameters, 5, keep=["q", "v", "energy_error"])
    assert (study.prepared.in_processes is None) == (names != ("gravity",))
    for k in (0, 4):
        drawn, other, options = study.draw(k), robot, {}
        for name in names:
            other, more = DRAWN[name][1](other, drawn[name])
            options |= more
        resists = {"damping", "friction", "limits"} & set(options)
        varied = {"implicit": True} if resists and other is not robot else {}  # as where inertias vary
        wanted = lw.simulate(other, drawn["q0"], drawn["v0"], **STEPS, **options, **varied, target="numpy")
        found = study.result(k)
        assert np.allclose(found["q"], wanted.q, atol=1e-11) and np.allclose(found["v"], wanted.v, atol=1e-10)
        assert np.isclose(found["energy_error"], abs(wanted.energy.drift[-1]), atol=1e-10)


def test_an_impossible_body_fails_its_run_alone():
    scenario = lw.scenarios.simulate(**STEPS, q0=[0.3, 0.2])
    study = lw.Study(pendulum(), scenario, {"mass.lower": lw.Grid([1.0, -0.5, 2.0])}, keep=["q_end"])
    found, sound = study.prepared.batch(study.sampling.values(0, 3))
    assert sound.tolist() == [True, False, True]
    assert np.array_equal(found["q_end"][2], study.result(2)["q_end"])
    with pytest.raises(lw.SimulationError, match="impossible"):
        study.result(1)


@pytest.mark.parametrize(
    "drawn",
    [
        {"damping.elbow": lw.Grid([0.5, -0.5])},
        {"friction": lw.Grid([0.5, -0.5])},
        {"upper.elbow": lw.Grid([1.0, -2.0]), "lower.elbow": -1.0},
    ],
)
def test_what_no_joint_can_have_fails_its_run_alone(drawn):
    study = lw.Study(pendulum(), lw.scenarios.simulate(**STEPS), drawn, keep=["q_end"])
    assert study.prepared.batch(study.sampling.values(0, 2))[1].tolist() == [True, False]
    with pytest.raises(lw.SimulationError, match="below zero, or limits that cross"):
        study.result(1)


@pytest.mark.parametrize("robot", ["satellite", "gripper"])
def test_robots_of_other_kinds_are_drawn_as_well(robot):
    model = lw.load(robot)
    body = model.bodies[-1].name
    parameters = {f"mass.{body}": lw.Uniform(0.5, 1.0), "v0": lw.Normal(np.zeros(model.nv), 0.1)}
    scenario = lw.scenarios.simulate(duration=0.02, step=0.002)
    study = lw.Study(model, scenario, parameters, 3, keep=["q", "momentum"])
    assert study.prepared.in_processes is None
    drawn, found = study.draw(2), study.result(2)
    other = model.with_inertial_parameters(scaled(model, len(model.bodies) - 1, drawn[f"mass.{body}"]))
    wanted = lw.simulate(other, model.neutral(), drawn["v0"], duration=0.02, step=0.002, target="numpy")
    assert np.allclose(found["q"], wanted.q, atol=1e-11) and np.allclose(found["momentum"], wanted.momentum, atol=1e-10)


def test_a_joint_by_name_is_one_of_all():
    robot = pendulum()
    names = [joint.name for joint in robot.joints]
    one = {f"damping.{names[1]}": lw.Uniform(1, 1), f"q0.{names[0]}": 0.2, f"v0.{names[1]}": 0.5}
    study = lw.Study(robot, lw.scenarios.simulate(**STEPS), one, 1, keep=["q"])
    wanted = lw.simulate(robot, [0.2, 0.0], [0.0, 0.5], damping=[0.0, 1.0], **STEPS, target="numpy")
    assert np.allclose(study.result(0)["q"], wanted.q, atol=1e-12)


@pytest.mark.parametrize("hold", [False, True])
def test_gains_are_drawn_and_compiled(hold):
    robot = pendulum()
    parameters = {
        "stiffness": lw.Uniform(1, 9),
        "gains": lw.Uniform([1.0, 1.0], [3.0, 3.0]),
        "q0": lw.Normal([1, 1], 0.1),
    }
    scenario = lw.scenarios.closed_loop(controller=spring, hold=hold, **STEPS)
    study = lw.Study(robot, scenario, parameters, 9, keep=["q", "tau", "tau_max"])
    assert study.prepared.in_processes is None
    drawn = study.draw(8)
    law = lambda t, q, v: spring(robot, t, q, v, drawn)
    wanted = lw.simulate(robot, drawn["q0"], controller=law, hold=hold, **STEPS, target="numpy")
    whole, sound = study.prepared.batch(study.sampling.values(0, 9))
    assert sound.all() and np.allclose(whole["q"][8], wanted.q, atol=1e-12)
    assert np.allclose(whole["tau"][8], wanted.tau, atol=1e-11)
    assert np.array_equal(study.replay(8).tau, whole["tau"][8])
    assert np.allclose(study.replay(8).a, wanted.a, atol=1e-10)


@pytest.mark.parametrize("law", [None, lambda robot, t, q, v, p: -p["gain"] * v])
def test_steps_are_implicit_where_a_run_alone_would_have_them_so(law):
    robot, scenario = lw.chain(2), {**STEPS, "q0": [0.3, -0.4]}
    if law is None:  # dampers from slow to beyond what explicit steps bear
        name, scenario = f"damping.{robot.joints[1].name}", lw.scenarios.simulate(**scenario)
    else:
        name, scenario = "gain", lw.scenarios.closed_loop(controller=law, **scenario)
    study = lw.Study(robot, scenario, {name: lw.Grid([0.0, 0.01, 1e3, 1e6])}, keep=["q", "v", "energy_error"])
    explicit = study.prepared.batches.alike.explicit(study.prepared.batches.numbers(study.sampling.values(0, 4), 4))
    assert explicit.tolist() == [True, True, False, False]
    found, sound = study.prepared.batch(study.sampling.values(0, 4))
    assert sound.all()
    for k in range(4):
        x = study.draw(k)[name]
        acting = {"damping": [0.0, x]} if law is None else {"controller": lambda t, q, v, x=x: -x * v}
        wanted = lw.simulate(robot, [0.3, -0.4], **STEPS, **acting, target="numpy")
        assert np.allclose(found["q"][k], wanted.q, atol=1e-11) and np.allclose(found["v"][k], wanted.v, atol=1e-10)
        assert np.array_equal(found["q"][k], study.replay(k).q)
        assert np.array_equal(found["energy_error"][k], study.result(k)["energy_error"])


def knowing(robot, t, q, v, p):
    return robot.gravity_force(q)


def told(true_robot, t, q, v, p):
    return true_robot.gravity_force(q)


@pytest.mark.parametrize("law", [knowing, told])
@pytest.mark.parametrize("callback", [False, True])
def test_a_controller_knows_the_robot_as_it_was_designed(law, callback):
    drawn = {"payload.lower": lw.Uniform(1, 2)} | ({"gravity": [0.0, 0.0, -9.0]} if callback else {})
    study = lw.Study(pendulum(), lw.scenarios.closed_loop(controller=law, q0=[0.3, 0.2], **STEPS), drawn, 2)
    assert (study.prepared.in_processes is not None) == callback
    rests = np.abs(study.result(1)["v_end"]).max() < 1e-10
    assert rests == (law is told)


def decides(robot, t, q, v, p):
    return -v if q[0] > 0 else v  # by the values of its arguments


def by_word(robot, t, q, v, p):
    return -v if p["kind"] == "damped" else v


def test_words_choose_and_are_for_laws_that_are_called():
    drawn = {"kind": lw.Choice(["damped", "driven"]), "q0": lw.Normal([1, 1], 0.1)}
    study = lw.Study(pendulum(), lw.scenarios.closed_loop(controller=by_word, **STEPS), drawn, 4)
    assert "'kind' is a word" in study.prepared.in_processes
    law = lambda t, q, v: by_word(None, t, q, v, study.draw(1))
    wanted = lw.simulate(pendulum(), study.draw(1)["q0"], controller=law, callback=True, **STEPS, target="numpy")
    assert np.allclose(study.result(1)["q_end"], wanted.q[-1], atol=1e-12)


def test_a_law_that_cannot_be_compiled_is_called_and_said(tmp_path):
    study = lw.Study(
        pendulum(), lw.scenarios.closed_loop(controller=decides, **STEPS), {"q0": lw.Normal([1, 1], 0.1)}, 2
    )
    assert "cannot be compiled" in study.prepared.in_processes
    with pytest.warns(lw.SlowPathWarning, match="one at a time"):
        found = study.run(tmp_path / "s", engine="serial").results()
    law = lambda t, q, v: decides(None, t, q, v, None)
    wanted = lw.simulate(pendulum(), study.draw(1)["q0"], controller=law, callback=True, **STEPS, target="numpy")
    assert np.allclose(found.q_end.values[1], wanted.q[-1], atol=1e-12)


def test_loops_are_closed_at_the_start_and_can_be_shifted():
    robot = lw.load("four_bar")
    q = robot.closed_configuration(robot.neutral())
    name = robot.loops[0].name
    moved = lw.Study(robot, lw.scenarios.simulate(q0=q, duration=0.02, step=0.005),
                     {f"loop.{name}": lw.Normal(np.zeros(3), [1e-3, 1e-3, 0])}, 2,
                     keep=["loops_open", "q_end"])  # fmt: skip
    a, b = moved.result(0), moved.result(1)
    assert a["loops_open"] < 1e-8 and not np.allclose(a["q_end"], b["q_end"])
    start = lw.Study(robot, lw.scenarios.simulate(q0=q, duration=0.02, step=0.005),
                     {"q0": lw.Normal(q, 0.01)}, 2, keep=["loops_open"])  # fmt: skip
    assert start.prepared.in_processes is None and start.result(1)["loops_open"] < 1e-8


def test_poles_are_those_of_the_linearised_robot():
    robot = pendulum()
    study = lw.Study(robot, "poles", {"payload.lower": lw.Uniform(0, 1), "q0": lw.Normal([np.pi, 0.0], 0.0)}, 2)
    drawn, found = study.draw(1), study.result(1)
    other = robot.weld("lower", lw.Inertia(drawn["payload.lower"]))
    tau = other.gravity_force(drawn["q0"], target="numpy")
    A = other.linearize_forward(drawn["q0"], np.zeros(2), tau, target="numpy").state_space().A
    wanted = np.sort_complex(np.linalg.eigvals(A))
    assert np.allclose(np.sort_complex(found["poles_real"] + 1j * found["poles_imaginary"]), wanted, atol=1e-9)
    assert found["slowest"] == wanted.real.max()


def test_an_identification_finds_what_it_can():
    robot, rng = pendulum(), np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 60, 2))
    study = lw.Study(
        robot, lw.scenarios.identify(q, v, a), {"mass.lower": lw.Uniform(0.5, 2), "noise": lw.Grid([0, 0.1])}
    )
    exact, noisy = study.result(0), study.result(1)
    assert exact["largest_error"] < 1e-9 < 1e-3 < noisy["largest_error"] < 0.5
    assert np.isclose(noisy["residual"], 0.1, rtol=0.3)
    assert np.array_equal(noisy["rms_error"], study.result(1)["rms_error"])  # noise of the run's own


MEASURED = np.random.default_rng(0).normal(size=(3, 20, 2))
BUILT_IN = {
    "simulate": lw.scenarios.simulate(**STEPS),
    "closed_loop": lw.scenarios.closed_loop(controller=lambda robot, t, q, v, p: -p["gain"] * v, **STEPS),
    "poles": lw.scenarios.poles(),
    "identify": lw.scenarios.identify(*MEASURED, noise=0.1),
}


@pytest.mark.parametrize("kind", BUILT_IN)
def test_what_each_scenario_gives_is_kept_and_read(tmp_path, kind):
    drawn = {"mass.lower": lw.Uniform(0.5, 2)} | ({"gain": lw.Uniform(1, 2)} if kind == "closed_loop" else {})
    study = lw.Study(pendulum(), BUILT_IN[kind], drawn, 5, chunk=3)
    found = study.run(tmp_path / "s", engine="serial")
    assert found.counts() == {"done": 5}
    results, again = found.results(), study.result(4)
    assert set(results.data_vars) == {*drawn, *again, "status"}
    for name, x in again.items():
        assert np.array_equal(results[name].values[4], x), name
    assert found.report().exists() and len(found.to_pandas()) == 5


def test_a_function_may_give_a_motion_a_number_or_names():
    robot = pendulum()
    motion = lambda robot, p: lw.simulate(robot, p["q0"], duration=0.01, target="numpy")
    p = {"q0": lw.Normal([0.3, 0.3], 0.1)}
    assert lw.Study(robot, motion, p, 2, keep=["q", speed]).result(1)["q"].shape == (11, 2)
    assert set(lw.Study(robot, motion, p, 2, keep=["q", speed]).result(1)) == {"q", "speed"}
    assert len(lw.Study(robot, motion, p, 2).replay(1)) == 11
    assert lw.Study(robot, lambda robot, p: 3.0, p, 2).result(0)["result"] == 3.0
    inside = lw.Study(robot, lambda robot, p: {"end": motion(robot, p).q[-1]}, p, 2)
    assert np.array_equal(inside.replay(1).q[-1], inside.result(1)["end"])
    with pytest.raises(lw.InputError, match="gave no trajectory"):
        lw.Study(robot, lambda robot, p: 3.0, p, 2).replay(0)


@pytest.mark.parametrize("given", [["a", "b"], [], 1j, [[1], [1, 2]], None])
def test_functions_of_parameters_give_a_word_or_numbers(given):
    with pytest.raises((lw.InputError, ValueError), match="must give a word, or numbers of one shape|inhomogeneous"):
        lw.Study(pendulum(), len, {"g": lambda generator: given}, 3).draw(0)


def speed(motion):
    return np.abs(motion.v).max()


@pytest.mark.parametrize(
    ("scenario", "options", "said"),
    [
        ("simulated", {}, "did you mean simulate"),
        (3, {}, "a scenario is a function"),
        ("simulate", {"parameters": {"masss.lower": lw.Uniform(0, 1)}}, "no controller to take it"),
        ("simulate", {"parameters": {"mass.lowr": lw.Uniform(0, 1)}}, "no body is named"),
        ("simulate", {"parameters": {"q0": lw.Uniform(0, 1)}}, r"must have \(2,\)"),
        ("simulate", {"parameters": {"payload": lw.Uniform(0, 1)}}, "payload.tcp"),
        ("simulate", {"keep": ["q_ende"]}, "did you mean q_end"),
        ("simulate", {"keep": ["loops_open"]}, "no loops"),
        ("simulate", {"keep": "q"}, "keep is a list"),
        ("simulate", {"keep": ["q", "q"]}, "two things to keep"),
        ("closed_loop", {}, "needs a controller"),
        ({"kind": "simulate", "durations": 1.0}, {}, "did you mean duration"),
        ("poles", {"parameters": {"tau": lw.Uniform(0, 1)}}, "does not change them"),
        (len, {"parameters": {"a/b": 1.0}}, "is named by a letter"),
        (len, {"parameters": {"run": 1.0}}, "is named by a letter"),
        (len, {"samples": None}, "how many runs"),
        (len, {"parameters": {"a": np.zeros((2, 0))}}, "'a' has no number in it"),
        (len, {"timeout": 0}, "timeout"),
    ],
)
def test_what_does_not_fit_is_refused_at_once(scenario, options, said):
    with pytest.raises(lw.LinkwiseError, match=said):
        lw.Study(pendulum(), scenario, **{"parameters": {"mass.lower": lw.Uniform(0.5, 1)}, "samples": 2} | options)


def test_more_samples_than_memory_holds_are_refused_by_name():
    study = lw.Study(pendulum(), lw.scenarios.simulate(duration=1e12), {"q0": lw.Normal([0.3, 0.2], 0.1)}, 6)
    with pytest.raises(lw.InputError, match="GiB, and this machine has"):
        study.replay(0)
