"""linkwise: rigid-multibody dynamics as an algebra of spatial operators."""

from . import view
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
    SingularError,
    SpaceError,
    UnknownNameError,
    UntraceableError,
)
from .make import assemble, chain, load, random_tree, save_urdf
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
from .model.visuals import Ball, Box, Mesh, Rod, Visual
from .robot import FORWARD_METHODS, Robot
from .robot_linear import FORWARD_LINEARIZATIONS, INVERSE_LINEARIZATIONS
from .view import plots

__version__ = "0.1.0"

__all__ = [
    "FORWARD_LINEARIZATIONS",
    "FORWARD_METHODS",
    "INVERSE_LINEARIZATIONS",
    "Ball",
    "Body",
    "Box",
    "Custom",
    "Cylindrical",
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
    "Mesh",
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
    "Rod",
    "Rotor",
    "Rule",
    "SingularError",
    "SpaceError",
    "Spherical",
    "Universal",
    "UnknownNameError",
    "UntraceableError",
    "Visual",
    "assemble",
    "chain",
    "check_identity",
    "compile",
    "identities",
    "load",
    "plots",
    "random_tree",
    "robots",
    "save_urdf",
    "view",
]
