"""Control laws on the models: diagonal coordinates, passivity, operational space, LQR, iLQR and DDP.

Every law is ``law(t, q, v) → τ``, batched; :func:`closed_loop` runs a robot under one.
"""

from .closed_loop import ClosedLoop, closed_loop
from .computed_torque import ComputedTorque, critical_damping
from .costs import Expansion, QuadraticCost
from .decoupled import ConfigurationControl, RateFeedback
from .ilqr import DDP, ILQR, OptimizedMotion
from .law import Law, driven_joints
from .lqr import LQR, TVLQR, riccati_sweep
from .operational import FrameGoal, OperationalSpace
from .passivity import PDGravity, PDPlus, ReferenceCoriolis, ReferenceFeedforward, SlidingTracking
from .steps import Steps
from .tracking import hold

__all__ = [
    "DDP",
    "ILQR",
    "LQR",
    "TVLQR",
    "ClosedLoop",
    "ComputedTorque",
    "ConfigurationControl",
    "Expansion",
    "FrameGoal",
    "Law",
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
    "closed_loop",
    "critical_damping",
    "driven_joints",
    "hold",
    "riccati_sweep",
]
