"""The catalogue's functions of a state alone, and arguments for them: for tests of every target."""

import inspect

import linkwise as lw
from linkwise.codegen.facts import catalogue

# These return more than arrays or take more than a state; tests/robot/test_default.py has them.
APART = ("hybrid_dynamics", "disturbance_map", "jacobian_inner_inverse")
SIGNATURES = {k: facts.needed for k, facts in catalogue(lw.Robot).items()}
SIGNATURES = {k: v for k, v in SIGNATURES.items() if "force" not in v and k not in APART}
FRAMED = {k for k in SIGNATURES if "frame" in inspect.signature(getattr(lw.Robot, k)).parameters}


def arguments(robot, names, batch, rng, dtype=float):
    """Random arrays for the arguments of these names."""
    out = []
    for name in names:
        size = 6 * len(robot.bodies) if name == "external" else robot.nv
        x = robot.random_configuration(rng, batch) if name[0] == "q" else rng.normal(size=(*batch, size))
        out.append(x.astype(dtype))
    return out


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)
