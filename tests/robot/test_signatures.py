"""The signatures of public calls: states first, then the frame, then options by keyword alone, on every target."""

import inspect

import numpy as np
import pytest

import linkwise as lw
from linkwise import control

POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
CATALOGUE = {name: method for name, method in inspect.getmembers(lw.Robot) if hasattr(method, "facts")}
# Arguments without which a call means nothing, given by position beside the states.
NAMED_PARTS = ("frame", "prescribed")
Q, MOTION = np.zeros((2, 2)), object()


@pytest.mark.parametrize("name", CATALOGUE)
def test_states_then_the_frame_then_options_by_keyword(name):
    method = CATALOGUE[name]
    parameters = list(inspect.signature(method).parameters.values())[1:]
    positional = [p.name for p in parameters if p.kind is POSITIONAL]
    options = [p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    states = [n for n in positional if n not in NAMED_PARTS]
    assert set(states) <= set(method.facts.arrays)
    assert positional == states + [n for n in positional if n in NAMED_PARTS], "the frame comes after all states"
    assert all(p.default is not p.empty for p in options)
    assert all(p.default is p.empty for p in parameters if p.kind is POSITIONAL), "options are keywords"


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize(
    "call",
    [
        lambda r, q, t: r.mass_matrix(q, "direct", target=t),
        lambda r, q, t: r.forward_dynamics(q, q, q, None, target=t),
        lambda r, q, t: r.jacobian(q, "tip", "local", target=t),
        lambda r, q, t: r.total_rates(q, q, False, target=t),
    ],
)
def test_options_are_refused_by_position_before_and_after_the_first_call(call, target):
    robot = lw.chain(2)
    for _ in range(2):
        with pytest.raises(TypeError, match="positional"):
            call(robot, np.zeros(2), target)
        robot.mass_matrix(np.zeros(2), target=target)


@pytest.mark.parametrize(
    "call",
    [
        lambda: lw.load("panda", True),
        lambda: lw.chain(3, "revolute"),
        lambda: lw.random_tree(3, 1),
        lambda: lw.Frame("here", None, (0, 0, 0)),
        lambda: lw.Joint(lw.Revolute("z"), "hinge", (0, 0, 0)),
        lambda: lw.chain(2).operators(np.zeros(2), ["tip"]),
        lambda: lw.chain(2).weld("link1", lw.Inertia(1.0), (0, 0, 0)),
        lambda: control.RateFeedback(lw.chain(2), 1.0, True),
        lambda: control.LQR.about(lw.chain(2), [0, 0], [0, 0]),
        lambda: control.TVLQR.along(lw.chain(2), Q, Q, Q, 0.1, 1.0),
        lambda: control.PDGravity(lw.chain(2), [0, 0], 1.0, 1.0).compile("cpu"),
        lambda: control.QuadraticCost(lw.chain(2), [0, 0]).expand(Q, Q, Q, None, True),
        lambda: lw.Trajectory.load("run.npz", lw.chain(2)),
        lambda: lw.simulate(lw.chain(2), [0, 0], steps=1).resume(0.1, None),
        lambda: lw.chain(2).constants(np.float32),
        lambda: lw.plots.joints(MOTION, lw.chain(2)),
        lambda: lw.plots.energy(MOTION, lw.chain(2)),
        lambda: lw.plots.phase(MOTION, lw.chain(2)),
        lambda: lw.plots.manipulability(MOTION, lw.chain(2)),
        lambda: lw.plots.measure_costs((2,), ("triangular",)),
        lambda: control.ILQR(lw.chain(2), None, 0.1, "midpoint"),
        lambda: lw.compile(lambda robot, q: q, lw.chain(2), "c"),
        lambda: lw.check_identity(lambda op: op.H, lambda op: op.H, 3),
        lambda: lw.Event(lambda t, q, v: t, "name"),
        lambda: lw.Friction(0.1, 1e-3),
        lambda: lw.Stops(-1.0, 1.0, 10.0),
        lambda: control.Steps(lw.chain(2), 0.1, "midpoint"),
        lambda: control.QuadraticCost(lw.chain(2), [0, 0], None, 0.0, 1.0),
        lambda: control.FrameGoal(np.zeros(3), np.eye(3), np.zeros(6)),
    ],
)
def test_options_of_other_public_calls_are_keywords(call):
    with pytest.raises(TypeError, match="positional"):
        call()


STATELESS = {
    "compile",
    "operators",
    "filter",
    "lock",
    "subtree",
    "weld",
    "attach",
    "floating",
    "merge_fixed",
    "with_inertias",
}
STATELESS |= {"couple", "uncouple", "flat_coordinates"}
STATELESS |= {
    "with_inertial_parameters",
    "with_gravity",
    "with_placements",
    "with_springs",
    "with_elastic_joints",
    "with_constants",
    "to_mjcf",
    "to_urdf",
    "neutral",
    "random_configuration",
}
STATELESS |= {"frame", "body", "joint", "path", "constants", "close"}


def test_every_call_that_computes_takes_a_target():
    """``target="numpy"`` on any call runs it as it is written; what NumPy alone runs refuses others by name."""
    methods = {n: m for n, m in inspect.getmembers(lw.Robot, inspect.isfunction) if not n.startswith("_")}
    missing = [n for n, m in methods.items() if n not in STATELESS and "target" not in inspect.signature(m).parameters]
    assert not missing
    robot, q = lw.load("double_pendulum"), np.zeros(2)
    calls = {
        "curvature": lambda t: robot.curvature(q, target=t),
        "is_diagonalizable": lambda t: robot.is_diagonalizable(q, target=t),
        "base_parameters": lambda t: robot.base_parameters(target=t),
        "forward_quantities": lambda t: robot.forward_quantities(q, q, q, target=t),
    }
    for name, call in calls.items():
        assert call("numpy") is not None and call(None) is not None
        with pytest.raises(lw.InputError, match=f"{name} runs on NumPy alone"):
            call("cpu")
