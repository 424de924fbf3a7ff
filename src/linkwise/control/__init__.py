"""Control laws on the models: diagonal coordinates, passivity, operational space, LQR, iLQR and DDP.

Every law is ``law(t, q, v) → τ``, batched; :func:`closed_loop` runs a robot under one.
"""

from .closed_loop import ClosedLoop, closed_loop
from .computed_torque import ComputedTorque, critical_damping
from .decoupled import ConfigurationControl, RateFeedback
from .law import Law, driven_joints
from .operational import FrameGoal, OperationalSpace
from .passivity import PDGravity, PDPlus, ReferenceCoriolis, ReferenceFeedforward, SlidingTracking
from .tracking import hold

__all__ = [
    "ClosedLoop",
    "ComputedTorque",
    "ConfigurationControl",
    "FrameGoal",
    "Law",
    "OperationalSpace",
    "PDGravity",
    "PDPlus",
    "RateFeedback",
    "ReferenceCoriolis",
    "ReferenceFeedforward",
    "SlidingTracking",
    "closed_loop",
    "critical_damping",
    "driven_joints",
    "hold",
]
