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
from ..joints.kinds import Prismatic, Revolute
from ..model import Model
from ..parts import Body, Frame, Joint, Limits
from ..visuals import Ball, Box, Visual
from . import solid_parts as parts

M = TypeVar("M", bound=Model)

ROD_MASS, ROD_LENGTH = 1.0, 1.0  # double pendulum [kg, m]
CART_MASS, POLE_MASS, POLE_LENGTH = 1.0, 0.1, 1.0  # cart-pole [kg, kg, m]


def double_pendulum(cls: type[M]) -> M:
    """Two rods: bodies "upper" and "lower" on "shoulder" and "elbow", frame "tip". nq = nv = 2."""
    rod = parts.rod(ROD_MASS, 0.0, (0, 0, 0), (0, 0, -ROD_LENGTH), drawn=0.025)
    hinge = parts.rod_look(0.045, (0, -0.05, 0), (0, 0.05, 0), parts.ACCENT)
    limits = Limits(velocity=20.0, effort=50.0)
    bodies = [
        Body("upper", Joint(Revolute("y"), "shoulder", limits=limits), rod.inertia),
        Body("lower", Joint(Revolute("y"), "elbow", at=(0, 0, -ROD_LENGTH), limits=limits), rod.inertia, "upper"),
    ]
    frames = [Frame("base"), Frame("tip", "lower", at=(0, 0, -ROD_LENGTH))]
    base = parts.box(5.0, (0.2, 0.2, 0.2), colour=parts.MOTOR)
    looks = [*base.looks, *(x for name in ("upper", "lower") for x in rod.dressed(hinge).on(name))]
    return assemble("double_pendulum", bodies, frames, base=base.inertia, visuals=looks, cls=cls)


def cartpole(cls: type[M]) -> M:
    """A cart along x and a pole about y: joints "slider" and "hinge", frame "tip". nq = nv = 2."""
    track = Limits(-2.4, 2.4, velocity=10.0, effort=10.0)
    pole = parts.rod(POLE_MASS, 0.0, (0, 0, 0), (0, 0, POLE_LENGTH), colour=parts.ACCENT, drawn=0.025)
    cart = parts.box(CART_MASS, (0.4, 0.3, 0.2), colour=parts.LIMB).dressed(*_wheels())
    rail = parts.box(5.0, (4.8, 0.1, 0.05), colour=parts.SHELL)
    bodies = [
        Body("cart", Joint(Prismatic("x"), "slider", limits=track), cart.inertia),
        # The hinge is free: nobody drives it.
        Body("pole", Joint(Revolute("y"), "hinge", limits=Limits(effort=0.0)), pole.inertia, "cart"),
    ]
    frames = [Frame("track"), Frame("tip", "pole", at=(0, 0, POLE_LENGTH))]
    hinge = parts.rod_look(0.05, (0, -0.17, 0), (0, 0.17, 0), parts.MOTOR)
    bob = Visual(Ball(0.04), at=(0, 0, POLE_LENGTH), colour=parts.ACCENT)
    looks = [*rail.looks, *_stops(), *cart.on("cart"), *pole.dressed(hinge, bob).on("pole")]
    return assemble("cartpole", bodies, frames, base=rail.inertia, base_name="track", visuals=looks, cls=cls)


def _wheels() -> list[Visual]:
    """Four wheels beside the rail; they weigh nothing."""
    ends = [((x, y, -0.1), (x, y + (0.04 if y > 0 else -0.04), -0.1)) for x in (-0.13, 0.13) for y in (-0.11, 0.11)]
    return [parts.rod_look(0.06, start, end, parts.RUBBER) for start, end in ends]


def _stops() -> list[Visual]:
    """What ends the track: the cart's middle goes 2.4 m each way."""
    return [Visual(Box((0.04, 0.3, 0.2)), at=(2.62 * side, 0, 0), colour=parts.MOTOR) for side in (-1, 1)]


def chain10(cls: type[M]) -> M:
    """Ten rods on hinges about y and z in turn. nq = nv = 10."""
    return chain(10, cls=cls)
