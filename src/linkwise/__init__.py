"""linkwise: rigid-multibody dynamics as an algebra of spatial operators."""

import typing as _typing
from importlib import import_module as _import_module

from .dynamics.forward.methods import FORWARD_METHODS
from .errors import (
    ClosureError,
    FileError,
    InputError,
    LinkwiseError,
    MissingExtraError,
    ModelError,
    ModelWarning,
    NoRecursionError,
    NotAdmittedError,
    SimulationError,
    SimulationWarning,
    SingularError,
    SlowPathWarning,
    SpaceError,
    UnknownNameError,
    UnrollableError,
    UntraceableError,
)
from .model.contacts import Contact
from .model.elastic import Gear
from .model.flexible.body import Flexible, Node
from .model.inertia import Inertia
from .model.joints.guided import Guided
from .model.joints.kinds import (
    Custom,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from .model.loops import Loop
from .model.parts import Body, Frame, Joint, Limits, Mimic, Rotor
from .model.visuals import Ball, Box, Mesh, Rod, Surface, Visual
from .robot.grasp import Grasp
from .robot.grasping import grasp
from .robot.linearized import FORWARD_LINEARIZATIONS, INVERSE_LINEARIZATIONS
from .robot.make import assemble, chain, load, random_tree, save_mjcf, save_urdf
from .robot.make import robot_names as robots
from .robot.robot import Robot
from .shown import drawn_by as _drawn_by

if _typing.TYPE_CHECKING:
    from . import control, rotations, view
    from .algebra.algorithm import explain
    from .algebra.check import IdentityReport, check_identity
    from .algebra.derivation import derive
    from .algebra.formula import Formula, formula
    from .algebra.operator import Operator
    from .algebra.proof import Proof
    from .algebra.proofs import PROOFS as proofs
    from .algebra.prove import prove
    from .algebra.rules import Rule, identities
    from .algebra.spaces import Space
    from .algebra.stacking import space, stack
    from .codegen.pipeline import compile_function as compile
    from .identification.calibrate import Calibration, calibrate
    from .identification.excitation import Excitation, excitation
    from .identification.identify import identify
    from .identification.result import Identification
    from .robot.equilibrium import Equilibrium
    from .robot.inverse_kinematics import Reach
    from .robot.modes import Modes
    from .simulation.checkpoint import Checkpoint
    from .simulation.energy import EnergyAccount
    from .simulation.events import Crossing, Event
    from .simulation.joint_forces import Friction, Stops
    from .simulation.motion_vjp import simulate_vjp
    from .simulation.noise import Noise
    from .simulation.sensitivity import trajectory_sensitivity
    from .simulation.simulate import rollout, simulate
    from .simulation.trajectory import Trajectory
    from .study import scenarios
    from .study.distributions import Choice, Grid, LogNormal, Normal, Uniform
    from .study.results import open_study
    from .study.study import Study
    from .view import plots

__version__ = "0.1.0"

_drawn_by("Robot", "linkwise.view.notebook", "robot")
_drawn_by("Trajectory", "linkwise.view.notebook", "trajectory")

# Imported when first used, as loading a robot and asking it something does without: name → (module, its name there).
_LATER = {
    "explain": ("algebra.algorithm", "explain"),
    "IdentityReport": ("algebra.check", "IdentityReport"),
    "Calibration": ("identification.calibrate", "Calibration"),
    "calibrate": ("identification.calibrate", "calibrate"),
    "Excitation": ("identification.excitation", "Excitation"),
    "excitation": ("identification.excitation", "excitation"),
    "Identification": ("identification.result", "Identification"),
    "identify": ("identification.identify", "identify"),
    "Checkpoint": ("simulation.checkpoint", "Checkpoint"),
    "Crossing": ("simulation.events", "Crossing"),
    "EnergyAccount": ("simulation.energy", "EnergyAccount"),
    "Event": ("simulation.events", "Event"),
    "Friction": ("simulation.joint_forces", "Friction"),
    "Noise": ("simulation.noise", "Noise"),
    "Stops": ("simulation.joint_forces", "Stops"),
    "Formula": ("algebra.formula", "Formula"),
    "Operator": ("algebra.operator", "Operator"),
    "Proof": ("algebra.proof", "Proof"),
    "Equilibrium": ("robot.equilibrium", "Equilibrium"),
    "Modes": ("robot.modes", "Modes"),
    "Reach": ("robot.inverse_kinematics", "Reach"),
    "Rule": ("algebra.rules", "Rule"),
    "check_identity": ("algebra.check", "check_identity"),
    "compile": ("codegen.pipeline", "compile_function"),
    "control": ("control", None),
    "Trajectory": ("simulation.trajectory", "Trajectory"),
    "formula": ("algebra.formula", "formula"),
    "identities": ("algebra.rules", "identities"),
    "plots": ("view.plots", None),
    "derive": ("algebra.derivation", "derive"),
    "proofs": ("algebra.proofs", "PROOFS"),
    "prove": ("algebra.prove", "prove"),
    "Space": ("algebra.spaces", "Space"),
    "space": ("algebra.stacking", "space"),
    "stack": ("algebra.stacking", "stack"),
    "rollout": ("simulation.simulate", "rollout"),
    "rotations": ("rotations", None),
    "simulate": ("simulation.simulate", "simulate"),
    "simulate_vjp": ("simulation.motion_vjp", "simulate_vjp"),
    "trajectory_sensitivity": ("simulation.sensitivity", "trajectory_sensitivity"),
    "view": ("view", None),
    "Choice": ("study.distributions", "Choice"),
    "Grid": ("study.distributions", "Grid"),
    "LogNormal": ("study.distributions", "LogNormal"),
    "Normal": ("study.distributions", "Normal"),
    "Uniform": ("study.distributions", "Uniform"),
    "Study": ("study.study", "Study"),
    "open_study": ("study.results", "open_study"),
    "scenarios": ("study.scenarios", None),
}


if not _typing.TYPE_CHECKING:  # a type checker has the imports above, and is to find misspelt names

    def __getattr__(name: str) -> _typing.Any:
        if name not in _LATER:
            raise AttributeError(f"module 'linkwise' has no attribute {name!r}")
        module, attribute = _LATER[name]
        found = _import_module(f"linkwise.{module}")
        value = found if attribute is None else getattr(found, attribute)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "FORWARD_LINEARIZATIONS",
    "FORWARD_METHODS",
    "INVERSE_LINEARIZATIONS",
    "Ball",
    "Body",
    "Box",
    "Calibration",
    "Checkpoint",
    "Choice",
    "ClosureError",
    "Contact",
    "Crossing",
    "Custom",
    "Cylindrical",
    "EnergyAccount",
    "Equilibrium",
    "Event",
    "Excitation",
    "FileError",
    "Fixed",
    "Flexible",
    "Formula",
    "Frame",
    "Free",
    "Friction",
    "Gear",
    "Grasp",
    "Grid",
    "Guided",
    "Helical",
    "Identification",
    "IdentityReport",
    "Inertia",
    "InputError",
    "Joint",
    "Limits",
    "LinkwiseError",
    "LogNormal",
    "Loop",
    "Mesh",
    "Mimic",
    "MissingExtraError",
    "ModelError",
    "ModelWarning",
    "Modes",
    "NoRecursionError",
    "Node",
    "Noise",
    "Normal",
    "NotAdmittedError",
    "Operator",
    "Planar",
    "Prismatic",
    "Proof",
    "Reach",
    "Revolute",
    "Robot",
    "Rod",
    "Rotor",
    "Rule",
    "SimulationError",
    "SimulationWarning",
    "SingularError",
    "SlowPathWarning",
    "Space",
    "SpaceError",
    "Spherical",
    "Stops",
    "Study",
    "Surface",
    "Trajectory",
    "Uniform",
    "Universal",
    "UnknownNameError",
    "UnrollableError",
    "UntraceableError",
    "Visual",
    "assemble",
    "calibrate",
    "chain",
    "check_identity",
    "compile",
    "control",
    "derive",
    "excitation",
    "explain",
    "formula",
    "grasp",
    "identify",
    "identities",
    "load",
    "open_study",
    "plots",
    "proofs",
    "prove",
    "random_tree",
    "robots",
    "rollout",
    "rotations",
    "save_mjcf",
    "save_urdf",
    "scenarios",
    "simulate",
    "simulate_vjp",
    "space",
    "stack",
    "trajectory_sensitivity",
    "view",
]
