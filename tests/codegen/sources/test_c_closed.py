"""Closed chains and grasps as C: compiled with the system's compiler, run, and compared with the NumPy reference."""

import numpy as np
import pytest
from c_code import built, needs_compiler, pointer
from held_objects import contact, state

import linkwise as lw


def small_grasp():
    """Two arms of three and four joints on a box, one with a finger and one with all its hand."""
    arms = [lw.chain(3, seed=3), lw.chain(4, seed=4)]
    contacts = [contact("hard_finger", 0), contact("rigid", 1)]
    return lw.grasp(arms, lw.Inertia.box(2.0, (0.6, 0.4, 0.5)), contacts, bases=[None, (0.5, 0.2, 0.0)])


def moving(robot):
    """A closed state off the neutral one, and joint forces."""
    if isinstance(robot, lw.Grasp):
        return state(robot)
    rng = np.random.default_rng(0)
    away = robot.closed_velocity(robot.neutral(), 0.2 * rng.normal(size=robot.nv), target="numpy")
    q = robot.closed_configuration(robot.integrate(robot.neutral(), away))
    return q, robot.closed_velocity(q, rng.normal(size=robot.nv), target="numpy"), rng.normal(size=robot.nv)


ROBOTS = {name: lambda name=name: lw.load(name) for name in ("four_bar", "governor", "delta")} | {"grasp": small_grasp}
STATE = ("q", "v", "tau")
CALLS = {  # what goes in, and how the call is made
    "cut": ("forward_dynamics", STATE, {"method": "cut"}),
    "embedded": ("forward_dynamics", STATE, {"method": "embedded"}),
    "closing": ("forward_dynamics", STATE, {"closing_rate": 20.0}),
    "loop_forces": ("loop_forces", STATE, {}),
    "loop_error": ("loop_error", ("q",), {}),
    "closed_velocity": ("closed_velocity", ("q", "v"), {}),
    "mass_matrix_inverse": ("mass_matrix_inverse", ("q",), {}),
    "contact_forces": ("contact_forces", STATE, {}),
    "squeeze": ("contact_forces", STATE, {"part": "internal"}),
}
# Not the governor's loop_forces: those of its redundant rows, which are nothing, are right to 1e-7 on any target.
CASES = [
    *[("four_bar", call) for call in ("cut", "embedded", "closing", "loop_forces", "loop_error", "closed_velocity")],
    *[("governor", call) for call in ("cut", "embedded", "mass_matrix_inverse")],
    *[("delta", call) for call in ("cut", "loop_forces")],
    *[("grasp", call) for call in ("cut", "contact_forces", "squeeze")],
]


@needs_compiler
@pytest.mark.parametrize(("name", "call"), CASES, ids=lambda x: x)
def test_c_is_the_reference(name, call, tmp_path):
    robot = ROBOTS[name]()
    method, takes, options = CALLS[call]
    function = built(robot.compile(method, target="c", **options), tmp_path, "-O0")  # long, so quickly
    given = dict(zip(STATE, moving(robot)))
    args = [np.ascontiguousarray(given[x]) for x in takes]
    expected = np.asarray(getattr(robot, method)(*args, **options, target="numpy"))
    out = np.full(expected.shape, np.nan)
    function(*(pointer(x) for x in args), pointer(out))
    # what closes has an error of nothing: there lengths of a metre are the measure
    size = max(np.abs(expected).max(), 1.0 if call == "loop_error" else 0.0)
    assert size > 1e-3 and np.abs(out - expected).max() < 1e-12 * size
