"""Control laws on the models: diagonal coordinates, passivity, adaptation, operational space, LQR, iLQR and DDP.

Every law is ``law(t, q, v) → τ``, batched, and a controller for :func:`linkwise.simulate`.
"""

from ..dynamics.linearized.actuators import Actuators
from .adaptive import AdaptiveTracking
from .computed_torque import ComputedTorque, critical_damping
from .costs import Expansion, QuadraticCost
from .decoupled import ConfigurationControl, RateFeedback
from .ilqr import DDP, ILQR, OptimizedMotion
from .law import Law, driven_joints
from .lqr import LQR, TVLQR, lqr_gain, riccati_sweep
from .object_control import ObjectMotion, ObjectPDGravity
from .operational import FrameGoal, OperationalSpace
from .passivity import PDGravity, PDPlus, ReferenceCoriolis, ReferenceFeedforward, SlidingTracking
from .steps import Steps
from .tracking import hold

__all__ = [
    "DDP",
    "ILQR",
    "LQR",
    "TVLQR",
    "Actuators",
    "AdaptiveTracking",
    "ComputedTorque",
    "ConfigurationControl",
    "Expansion",
    "FrameGoal",
    "Law",
    "ObjectMotion",
    "ObjectPDGravity",
    "OperationalSpace",
    "OptimizedMotion",
    "PDGravity",
    "PDPlus",
    "QuadraticCost",
    "RateFeedback",
    "ReferenceCoriolis",
    "ReferenceFeedforward",
    "SlidingTracking",
    "Steps",
    "critical_damping",
    "driven_joints",
    "hold",
    "lqr_gain",
    "riccati_sweep",
]
