"""linkwise: rigid-multibody dynamics as an algebra of spatial operators."""

from .algebra.check import IdentityReport, check_identity
from .algebra.operator import Operator
from .algebra.rules import Rule, identities
from .codegen.compile import compile_function as compile
from .errors import (
    FileError,
    InputError,
    LinkwiseError,
    MissingExtraError,
    ModelError,
    ModelWarning,
    NoRecursionError,
    NotAdmittedError,
    SimulationError,
    SingularError,
    SpaceError,
    UnknownNameError,
)
from .make import assemble, chain, load, random_tree
from .make import robot_names as robots
from .model.inertia import Inertia
from .model.joints import (
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
from .model.parts import Body, Frame, Joint, Limits, Mimic, Rotor
from .robot import FORWARD_METHODS, Robot
from .simulate.events import Crossing, Event
from .simulate.rollout import rollout, simulate
from .simulate.trajectory import EnergyBooks, Trajectory

__version__ = "0.1.0"

__all__ = [
    "FORWARD_METHODS",
    "Body",
    "Crossing",
    "Custom",
    "Cylindrical",
    "EnergyBooks",
    "Event",
    "FileError",
    "Fixed",
    "Frame",
    "Free",
    "Helical",
    "IdentityReport",
    "Inertia",
    "InputError",
    "Joint",
    "Limits",
    "LinkwiseError",
    "Mimic",
    "MissingExtraError",
    "ModelError",
    "ModelWarning",
    "NoRecursionError",
    "NotAdmittedError",
    "Operator",
    "Planar",
    "Prismatic",
    "Revolute",
    "Robot",
    "Rotor",
    "Rule",
    "SimulationError",
    "SingularError",
    "SpaceError",
    "Spherical",
    "Trajectory",
    "Universal",
    "UnknownNameError",
    "assemble",
    "chain",
    "check_identity",
    "compile",
    "identities",
    "load",
    "random_tree",
    "robots",
    "rollout",
    "simulate",
]
