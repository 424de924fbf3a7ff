"""Textbook mechanisms of a few links, all from simple solids.

double_pendulum  two uniform thin rods of 1 kg and 1 m on hinges about y, hanging down at zero.
cartpole         the cart (1 kg, on a track of ±2.4 m, pushed by ±10 N) and pole (0.1 kg, 1 m long) of Barto,
                 Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult learning control
                 problems", IEEE Trans. SMC 13 (1983). The pole stands upright at zero.
chain10          the regular chain of ten links of :func:`linkwise.model.builders.chain`.
"""

from __future__ import annotations

from typing import TypeVar

from ..builders import assemble, chain
from ..inertia import Inertia
from ..joints.kinds import Prismatic, Revolute
from ..model import Model
from ..parts import Body, Frame, Joint, Limits

M = TypeVar("M", bound=Model)

ROD_MASS, ROD_LENGTH = 1.0, 1.0  # double pendulum [kg, m]
CART_MASS, POLE_MASS, POLE_LENGTH = 1.0, 0.1, 1.0  # cart-pole [kg, kg, m]


def double_pendulum(cls: type[M]) -> M:
    """Two rods: bodies "upper" and "lower" on "shoulder" and "elbow", frame "tip". nq = nv = 2."""
    rod = Inertia.cylinder(ROD_MASS, 0.0, (0, 0, 0), (0, 0, -ROD_LENGTH))
    limits = Limits(velocity=20.0, effort=50.0)
    bodies = [
        Body("upper", Joint(Revolute("y"), "shoulder", limits=limits), rod),
        Body("lower", Joint(Revolute("y"), "elbow", at=(0, 0, -ROD_LENGTH), limits=limits), rod, "upper"),
    ]
    frames = [Frame("base"), Frame("tip", "lower", at=(0, 0, -ROD_LENGTH))]
    return assemble("double_pendulum", bodies, frames, base=Inertia.box(5.0, (0.2, 0.2, 0.2)), cls=cls)


def cartpole(cls: type[M]) -> M:
    """A cart along x and a pole about y: joints "slider" and "hinge", frame "tip". nq = nv = 2."""
    track = Limits(-2.4, 2.4, velocity=10.0, effort=10.0)
    pole = Inertia.cylinder(POLE_MASS, 0.0, (0, 0, 0), (0, 0, POLE_LENGTH))
    bodies = [
        Body("cart", Joint(Prismatic("x"), "slider", limits=track), Inertia.box(CART_MASS, (0.4, 0.3, 0.2))),
        # The hinge is free: nobody drives it.
        Body("pole", Joint(Revolute("y"), "hinge", limits=Limits(effort=0.0)), pole, "cart"),
    ]
    frames = [Frame("track"), Frame("tip", "pole", at=(0, 0, POLE_LENGTH))]
    rail = Inertia.box(5.0, (4.8, 0.1, 0.05))
    return assemble("cartpole", bodies, frames, base=rail, base_name="track", cls=cls)


def chain10(cls: type[M]) -> M:
    """Ten rods on hinges about y and z in turn. nq = nv = 10."""
    return chain(10, cls=cls)
