"""Robots whose bodies move as one: flexible links, differentials, cams and fingers, rigid links between them."""

import numpy as np

import linkwise as lw

from .flexible_bodies import beam, random_flexible

BOX = lw.Inertia.box(0.7, (0.1, 0.2, 0.3), at=(0.05, 0.02, 0.1))


def hung(parents, bodies, **options):
    """A robot of (joint kind, place, inertia) on these parents, by name where that is a node."""
    made = [
        lw.Body(f"b{i}", lw.Joint(kind, at=at, rpy=(0.1 * i, 0.2, -0.1), **options), inertia, parent)
        for i, (parent, (kind, at, inertia)) in enumerate(zip(parents, bodies))
    ]
    return lw.assemble("nodes", made)


def alternating(n=5):
    """Rigid links between flexible ones, whose frames have no mass."""
    bent = beam(2)
    bodies = [(lw.Revolute("yz"[i % 2]), (0, 0, 0), BOX if i % 2 else bent) for i in range(n)]
    return hung([None, *(f"b{i}" if i % 2 else f"b{i}.tip" for i in range(n - 1))], bodies)


def on_two_ports():
    """Others hang on both nodes of a flexible body, and on one; and beside it on its frame."""
    bent = random_flexible(np.random.default_rng(3), 2).normal_modes()
    bodies = [(lw.Revolute("xyz"[i % 3]), (0, 0, 0), BOX if i in (3, 5) else bent) for i in range(6)]
    return hung([None, "b0.tip", "b0.side", "b1.side", "b2.tip", "b0"], bodies)


def stages(n=3, relation=None, rotor=None):
    """Differentials in a row: of three hinges the last follows the others."""
    rng = np.random.default_rng(1)
    bodies = []
    for i in range(3 * n):
        inertia = lw.Inertia(
            rng.uniform(0.5, 2), com=0.1 * rng.normal(size=3), tensor=np.diag(rng.uniform(0.1, 0.15, 3))
        )
        joint = lw.Joint(lw.Revolute("xyz"[i % 3]), at=rng.normal(size=3) * 0.3, rpy=rng.normal(size=3), rotor=rotor)
        bodies.append(lw.Body(f"b{i}", joint, inertia, f"b{i - 1}" if i else None))
    robot = lw.assemble("stages", bodies)
    for i in range(n):
        followed = (f"b{3 * i}_joint", f"b{3 * i + 1}_joint")
        how = {"ratio": (0.5, -0.4)} if relation is None else {"relation": relation}
        robot = robot.couple(f"b{3 * i + 2}_joint", followed, **how)
    return robot


def bend(a, b):
    return np.sin(a) * b + 0.3 * a


def fingers():
    """On a free base, joints that follow one on another branch: members side by side."""
    bodies = [(lw.Free(), (0, 0, 0), BOX)]
    bodies += [(lw.Revolute("y"), (0.1 * i, 0.1, 0), BOX) for i in range(4)]
    robot = hung([None, "b0", "b0", "b1", "b2"], bodies)
    return robot.couple("b2_joint", "b1_joint", ratio=-1.2, offset=0.1).couple("b4_joint", "b3_joint", ratio=0.7)
