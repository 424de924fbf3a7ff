"""Good arguments of every public call, by the names of its parameters."""

from __future__ import annotations

import functools
import tempfile
from typing import Any

import numpy as np

import linkwise as lw


@functools.cache
def robot() -> lw.Robot:
    """A free base, a ball and a socket, hinges, a slider: q and v of different lengths."""
    return serial(trunk=lw.Free(), ball=lw.Spherical(), hinge=lw.Revolute("y"), slide=lw.Prismatic("x"))


@functools.cache
def pendulum() -> lw.Robot:
    """A ball and a hinge, for motions: quick to compile."""
    return serial(ball=lw.Spherical(), slide=lw.Revolute("y"))


def serial(**joints: Any) -> lw.Robot:
    inertia = lw.Inertia.box(2.0, (0.3, 0.2, 0.1))
    bodies, parent = [], None
    for name, kind in joints.items():
        bodies.append(lw.Body(name, lw.Joint(kind, f"{name}_joint", at=(0.1, 0.2, 0.3)), inertia, parent))
        parent = name
    return lw.assemble("mixed", bodies, [lw.Frame("tool", "slide", at=(0.1, 0, 0))])


@functools.cache
def arm() -> lw.Robot:
    """Three hinges on a fixed base, for calls that do not admit every robot."""
    return lw.chain(3)


@functools.cache
def gantry() -> lw.Robot:
    """Three sliders, whose mass matrix is constant."""
    return lw.chain(3, joint="prismatic")


@functools.cache
def floating_arm() -> lw.Robot:
    return arm().floating()


@functools.cache
def coupled_arm() -> lw.Robot:
    """The same arm, whose second joint follows the first."""
    return arm().couple("joint2", "joint1", ratio=2.0)


@functools.cache
def closed_robot() -> lw.Robot:
    """The same robot, its trunk on a ball and socket in the world."""
    return robot().close(lw.Loop("trunk", "world", "spherical"))


@functools.cache
def embedded_robot() -> lw.Robot:
    """The same robot, whose tool stays on a plane of the world by the joint of its slide."""
    return robot().close(lw.Loop("world", "tool", "point_on_plane", dependent=["slide_joint"]))


def hand(place: int) -> lw.Contact:
    """A finger from the left (0), the right (1) or below (2)."""
    at, turn = (((-0.1, 0, 0), np.pi / 2), ((0.1, 0, 0), -np.pi / 2), ((0, 0, -0.1), 0.0))[place]
    return lw.Contact("tip", lw.Frame(f"handle{place}", at=at, rpy=(0, turn, 0)), "hard_finger", friction=0.5)


@functools.cache
def team() -> lw.Grasp:
    """Two arms of three hinges on a ball."""
    return lw.grasp([arm(), arm()], lw.Inertia.sphere(1.0, 0.1), [hand(0), hand(1)])


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="linkwise-fuzz-")


def folder() -> str:
    """Where calls may write; it goes with the process."""
    return _folder().name


# Methods that are called on one of these.
CALLED_ON = {
    "to_urdf": floating_arm, "to_mjcf": floating_arm, "floating": arm, "jacobian_inner_inverse": arm,
    "flat_coordinates": gantry, "couple": arm, "uncouple": coupled_arm,
}  # fmt: skip


@functools.cache
def good_values() -> dict[str, Any]:
    """By the name of a parameter: what it may be. A new name in a public call must be added here."""
    r = robot()
    rng = np.random.default_rng(0)
    q, v = r.random_configuration(0), rng.normal(size=r.nv)
    vector = dict.fromkeys(
        ("v", "a", "tau", "nu", "eps", "x", "dv", "da", "dq", "dtau", "weights", "v_ref", "a_ref", "v0"), v
    )
    three = np.array([0.1, 0.2, 0.9])
    return vector | {
        "q": q, "q0": q, "q1": r.random_configuration(1), "external": rng.normal(size=(len(r.bodies), 6)),
        "force": rng.normal(size=6), "forces": {"tool": np.ones(6)}, "frame": "tool", "frames": ["tool"],
        "body": 1, "prescribed": ["hinge_joint"], "passive": ["hinge_joint"],
        "joints": ["hinge_joint"], "to": "slide", "other": lw.chain(2),
        "root": "ball", "payload": lw.Inertia.sphere(1.0, 0.1), "inertias": {"ball": lw.Inertia.sphere(1.0, 0.1)},
        "gravity": three, "constants": r.constants(), "axes": "world", "spatial": True, "normalized": False,
        "tolerance": 1e-8, "prefix": "p_", "at": three, "rpy": three, "joint_name": "root",
        "rotation": np.eye(3), "rng": 0, "batch": (2,), "floating": True, "floating_root": True, "folder": ".",
        "parameters": r.inertial_parameters, "dtype": "float64", "rolled": None,
        # parts of robots
        "mass": 1.5, "com": three, "tensor": np.diag([0.1, 0.2, 0.15]), "radius": 0.1, "length": None, "rounded": True,
        "size": three, "vertices": np.eye(3), "faces": np.array([[0, 1, 2]]), "file": "a.stl", "scale": three,
        "shape": lw.Box((1, 1, 1)), "colour": (0.1, 0.2, 0.3, 1.0), "axis": three, "normal": three, "pitch": 0.2,
        "first": three, "second": np.array([0.9, -0.1, 0.0]), "H": np.eye(6)[:, :2], "joint": lw.Revolute("x"),
        "kind": lw.Revolute("z"), "inertia": lw.Inertia(), "parent": None, "limits": lw.Limits(-1, 1),
        "damping": 0.1, "friction": 0.1, "rotor": lw.Rotor(0.1), "mimic": lw.Mimic("a"), "lower": -1.0,
        "upper": 1.0, "velocity": 2.0, "effort": 3.0, "multiplier": 1.0, "offset": 0.0, "gear_ratio": 3.0,
        "bodies": [lw.Body("one", lw.Revolute("z"), lw.Inertia.sphere(1.0, 0.1))], "base": lw.Inertia(),
        "visuals": [lw.Visual(lw.Ball(0.1))], "n": 3, "seed": 1, "source": "ur5", "stop": True, "direction": 1.0,
        "path": f"{folder()}/robot.urdf", "sizes": {"v": r.nv}, "robot": r, "name": "trunk", "branching": 0.5,
        "function": lambda r, q, v=None: r.gravity_force(q), "lhs": lambda op: op.phi, "rhs": lambda op: op.phi,
        "trials": 2, "rotors": True, "text": "H φ M φ* H*", "indices": "ours", "paper": "LD",
        "rows": [[robot().operators(q).mass, 0], [0, robot().operators(q).phi]], "requires": (), "assuming": (),
        "start": lambda op: op.phi, "lines": [("", lambda op: op.phi)],
        # loops
        "frame_a": "tool", "frame_b": "world", "constrains": None, "loops": [lw.Loop("tool", "world", "spherical")],
        "guess": q, "chart": q, "keep": ["hinge_joint"], "restitution": 0.5, "closing": None, "closing_rate": 5.0,
        "dependent": "joint2", "independents": "joint1", "ratio": 2.0, "relation": None, "coupled": True,
        "embedded": True,
        "actuated": ["trunk_joint", "ball_joint", "hinge_joint", "slide_joint"], "effort_weights": None,
        # inverse kinematics
        "goal": (np.eye(3), np.array([0.1, 0.2, 0.3])), "rest": q, "attempts": 2,
        # springs
        "springs": {"hinge_joint": {"stiffness": 2.0, "damping": 0.1}}, "damping_acts": True,
        "damped": True, "gears": {"hinge_joint": lw.Gear(5.0, rotor=0.1)},
        # flexible bodies
        "masses": np.ones(3), "places": rng.normal(size=(3, 3)), "shapes": rng.normal(size=(3, 3, 2)), "nodes": {},
        "bends": None, "clamped_at": None, "turn": np.ones((3, 2)), "bend": None, "modes": 3,
        "end": "free", "tip_mass": 0.1, "tip_inertia": 0.1, "axial_stiffness": 10.0, "axial_modes": 1,
        "torsion_stiffness": 1.0, "torsion_modes": 1, "gyration": 0.1, "stiffening": True,
        "integrals": lw.Flexible.beam(length=1.0, mass=1.0, stiffness=1.0, modes=2).integrals(),
        # identification
        "offsets": False, "base_wrench": None, "measured": None, "noise": None, "consistent": False,
        "criterion": "condition", "harmonics": 2, "position": (-1.0, 1.0), "samples": 12, "starts": 1, "iterations": 2,
        "poses": None, "tool": False, "changes": 0.1 * rng.normal(size=(len(r.bodies), 6)), "of": "inertial",
        # grasps
        "hand_frame": "tip", "object_frame": "handle", "torsion": None, "arm": None, "arms": [arm()],
        "object": lw.Inertia.sphere(1.0, 0.1), "contacts": [hand(0)], "bases": [None], "kept": ["arm_1"],
        "part": "motion", "margin": 1.0,
        # motions
        "controller": lambda t, q, v: -0.1 * v, "duration": 0.2, "steps": 4, "step": 0.05, "coordinates": "joint",
        "tolerances": (1e-6, 1e-8), "every": 2, "hold": True, "events": lambda t, q, v: q[..., 0], "check": True,
        "callback": False, "checkpoint": lw.Checkpoint(f"{folder()}/checkpoint", 0), "progress": False, "threads": 1,
        "speed": 1e-3, "stiffness": 10.0, "seconds": 60.0, "columns": [0, 3], "implicit": False, "packed": True,
        "cost": lambda q, v: (q * q).sum(axis=-1) + (v * v).sum(axis=-1),
    }  # fmt: skip


def _flexible_file() -> str:
    path = f"{folder()}/body.json"
    lw.Flexible.beam(length=1.0, mass=1.0, stiffness=1.0, modes=2).save(path)
    return path


# Calls of robots with loops that have one way to go, and take no other.
ONE_WAY = ("mass_matrix_inverse", "linearize_forward", "forward_dynamics_jvp")


@functools.cache
def otherwise() -> dict[tuple[str, str], Any]:
    """Where a name means something else in one call."""
    moved, free = pendulum(), np.full((2, 3), [[-np.inf], [np.inf]])
    motion = {
        "robot": moved, "q0": moved.random_configuration(0), "v0": np.ones(4), "tau": np.ones((4, 4)),
        "external": np.ones((2, 6)), "friction": lw.Friction(0.1), "noise": lw.Noise(0.1, 3),
        "parameters": {"inertial": moved.inertial_parameters},
        "limits": lw.Stops(*np.append(free, [[-1.0], [1.0]], axis=1), stiffness=10.0, damping=1.0),
    }  # fmt: skip
    closed = moved.close(lw.Loop("tool", "world", "point_on_plane"))
    q = closed.closed_configuration(motion["q0"])
    looped = {"robot": closed, "q0": q, "v0": closed.closed_velocity(q, motion["v0"]), "closing": "projection"}
    looped["checkpoint"] = lw.Checkpoint(f"{folder()}/checkpoint of loops", 0)
    motions = dict.fromkeys(("simulate", "rollout", "trajectory_sensitivity"), motion)
    motions["simulate"] = motion | {"tau": None, "closing_rate": None}
    motions["simulate_vjp"] = motion | {"tau": None, "closing_rate": None, "method": "midpoint"}
    motions["Joint"] = {"rest": 0.1}
    motions["Gear"] = {"rotor": 0.1}
    motions["Guided"] = {"pose": lambda a: [a, a * a, 0.0], "freedoms": 1, "neutral_at": [0.2]}
    motions["Node"] = {"shape": np.ones((3, 2))}
    motions["beam"] = {"length": 1.0}
    motions["Flexible.load"] = {"path": _flexible_file()}
    rng = np.random.default_rng(0)
    both, lifted = team(), np.zeros(team().nv)
    good = {
        "q": both.random_configuration(0), "v": rng.normal(size=both.nv), "tau": lifted, "arm": "arm_2",
        "external": np.zeros((len(both.bodies), 6)), "weights": [1.0, 2.0], "forces": np.ones(both.contact_rows),
        "acceleration": np.ones(6), "squeeze": np.ones(both.contact_rows), "arm_acceleration": None, "push": None,
    }  # fmt: skip
    held = {name: good for name in vars(lw.Grasp) if not name.startswith("_")}
    held["friction_margins"] = {"forces": np.ones((2, 6))}
    held["with_arm"] = {"arm": arm(), "contacts": [hand(2)], "base": (0.1, 0, 0), "name": "third"}
    motions |= {f"Grasp.{name}": good for name, good in held.items()}
    measured = dict(zip(("q", "v", "a", "tau"), rng.normal(size=(4, 20, 3))))
    motions["identify"] = measured | {
        "robot": arm(), "bodies": ["link3"], "rotors": False, "damping": ["joint2"], "friction": True, "springs": False,
        "external": np.ones((3, 6)), "measured": ["joint1", "joint3"],
    }  # fmt: skip
    at = arm().random_configuration(0, 12)
    motions["calibrate"] = {"robot": arm(), "q": at, "frame": "tip", "joints": ["joint2"], "part": "pose"}
    motions["calibrate"]["poses"] = arm().pose(at, "tip")
    moving = {"robot": arm(), "bodies": ["link3"], "rotors": False, "damping": ["joint2"], "friction": True}
    limited = {"velocity": 2.0, "position": (-1.0, 1.0), "effort": 100.0, "samples": 12, "harmonics": 2, "starts": 1}
    motions["excitation"] = moving | limited | {"iterations": 2, "margin": 0.1, "noise": 1.0}
    motions["loops.simulate"] = motions["simulate"] | looped
    motions |= studies()
    return {(call, p): x for call, good in motions.items() for p, x in good.items()} | {
        ("weld", "body"): "slide",
        ("weld", "frame"): "new",
        ("compile", "parameters"): ("inertial",),
        ("Mimic", "joint"): "a",
        ("Rotor", "inertia"): 0.1,
        ("Event", "name"): "crossing",
        ("Event", "function"): lambda r, t, q, v: q[..., 0],
        ("Frame", "body"): "slide",
        ("Visual", "body"): "slide",
        ("joint", "name"): "hinge_joint",
        ("body", "name"): "ball",
        ("Robot.compile", "name"): "mass_matrix",
        ("explain", "name"): "mass_times",
        ("assemble", "frames"): [lw.Frame("f", "one")],
        ("chain", "joint"): "revolute",
        ("random_tree", "joints"): ["revolute", "free"],
        ("with_constants", "bodies"): None,
        ("Rod", "length"): 0.5,
        ("cylinder", "length"): 0.5,
        ("cylinder", "start"): (0.0, 0.0, 0.0),
        ("cylinder", "end"): (0.0, 0.0, 1.0),
        ("space", "size"): (6, 3),
        ("inverse_kinematics", "part"): "pose",
        ("Loop", "kind"): "spherical",
        ("Loop", "radius"): None,
        ("Contact", "kind"): "hard_finger",
        ("Contact", "radius"): None,
        ("grasp", "floating"): None,
        ("save_urdf", "robot"): floating_arm(),
        ("save_mjcf", "robot"): floating_arm(),
        ("uncouple", "joints"): ["joint2"],
        **dict.fromkeys((f"Closed.{name}", "method") for name in ONE_WAY),
        ("Closed.subtree", "root"): "hinge",
        ("flat_coordinates", "origin"): np.ones(3),
        ("jacobian_inner_inverse", "q"): np.ones(3),
        ("jacobian_inner_inverse", "frame"): "tip",
    }


def studies() -> dict[str, dict[str, Any]]:
    """What studies and distributions take."""
    drawn = {"payload": lw.Uniform(0, 1), "q0": lw.Normal(np.zeros(3), 0.1), "word": lw.Choice(["a", "b"])}
    return {
        "Uniform": {"lower": 0.0, "upper": [1.0, 2.0]},
        "Normal": {"mean": [0.0, 1.0], "deviation": 0.1, "lower": -1.0, "upper": 2.0, "covariance": None},
        "LogNormal": {"mean": 0.0, "deviation": [1.0, 2.0]},
        "Choice": {"options": [1.0, 2.0, 3.0], "weights": [1.0, 2.0, 3.0]},
        "Grid": {"values": [1.0, 2.0, 3.0]},
        "Study": {
            "robot": arm(), "scenario": lambda robot, p: p["payload"], "parameters": drawn, "samples": 4, "seed": 1,
            "keep": ["result"], "sampling": "sobol", "timeout": 1.0, "finite": True, "chunk": 2,
        },
        "open_study": {"folder": study_folder()},
    }  # fmt: skip


@functools.cache
def study_folder() -> str:
    """A study that was run."""
    path = f"{folder()}/study"
    lw.Study(arm(), lambda robot, p: p["x"], {"x": lw.Uniform(0, 1)}, 3).run(path, engine="serial")
    return path


# Words that each call has its own of.
METHODS = {
    "forward_dynamics": tuple(lw.FORWARD_METHODS), "forward_quantities": tuple(lw.FORWARD_METHODS),
    "linearize_forward": tuple(lw.FORWARD_LINEARIZATIONS), "linearize_inverse": tuple(lw.INVERSE_LINEARIZATIONS),
    "mass_matrix": ("composite", "symmetric", "direct"), "mass_matrix_inverse": ("columns", "paths", "rows", "scan"),
    "mass_solve": ("sweep", "scan"),
    "inverse_dynamics": ("newton_euler", "composite_body"), "forward_dynamics_jvp": ("algorithm_3", "algorithm_5"),
    "diagonal_coriolis": ("general", "recursive"), "diagonal_dynamics": ("general", "algorithm_8_1"),
    "simulate": ("runge_kutta_4", "variational", "dop853", "lsoda"), "trajectory_sensitivity": ("midpoint",),
    "simulate_vjp": ("midpoint",),
}  # fmt: skip
# Arguments that have defaults, and without which a call does not go through, or goes on for longer than it need.
NEEDED = {
    "Custom": ("H",), "check_identity": ("rhs", "trials"), "prove": ("rhs",),
    "rollout": ("tau", "step"), "simulate": ("duration", "step"), "simulate_vjp": ("duration", "step"),
    "trajectory_sensitivity": ("tau",), "identify": ("tau",), "Normal": ("deviation",),
    "Study": ("parameters", "samples"),
    "excitation": ("position", "velocity", "harmonics", "samples", "starts", "iterations", "bodies"),
    "close": ("loops",), "derive": ("lines",),
}  # fmt: skip
