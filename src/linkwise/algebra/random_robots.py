"""Random robots to try identities on: chains and trees of all joint kinds, with rotors, with coupled joints."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..model.builders import chain, random_tree
from ..model.edit import couple
from ..model.model import Model
from ..model.parts import Rotor

_ONE_DOF = ("revolute", "prismatic", "helical")
_TOGETHER = (*_ONE_DOF, "revolute", "spherical", "universal", "cylindrical", "fixed")  # of trees with coupled joints


@dataclass(frozen=True)
class Drawing:
    """Which robots are drawn."""

    rotors: bool = False
    coupled: bool = False
    chains: bool = False
    one_dof: bool = False
    gyro: bool = True  # rotors that turn with their parents

    def robot(self, trial: int, seed: int) -> Model:
        """The robot of a trial: rotors in every second one, coupled joints in two of four."""
        rotors, serial = self.rotors and trial % 2 == 1, self.chains or trial % 3 == 0
        if self.coupled and trial % 4 >= 2:
            return coupled_robot(seed, rotors, serial, self.one_dof)
        model = random_robot(seed, rotors, serial, self.one_dof)
        return model if self.gyro else without_axes(model)


def random_robot(seed: int, rotors: bool, serial: bool, one_dof: bool) -> Model:
    """A chain or a tree of two to seven bodies."""
    size = 2 + seed % 6
    if one_dof:
        kind = _ONE_DOF[seed % 3]
        if serial:
            return chain(size, joint=kind, seed=seed, cls=Model)
        return random_tree(size, seed=seed, joints=_ONE_DOF, cls=Model)
    if serial:
        if rotors:
            return with_rotors(chain(size, seed=seed, cls=Model))
        return chain(size, joint="mixed", seed=seed, cls=Model)
    return random_tree(size, seed=seed, floating=seed % 2 == 0, rotors=rotors, cls=Model)


def coupled_robot(seed: int, rotors: bool, serial: bool, one_dof: bool) -> Model:
    """A chain or a tree of which some joints follow others, linearly or not; rotors have no axes."""
    rng = np.random.default_rng(seed)
    kinds = _ONE_DOF if one_dof else _TOGETHER
    branching = 0.0 if serial else 0.6
    while True:
        size = int(rng.integers(4, 8))
        floating = not one_dof and bool(rng.random() < 0.3)
        model = random_tree(
            size, seed=rng, joints=kinds, floating=floating, branching=branching, rotors=rotors, cls=Model
        )
        model = without_axes(model)
        names = [str(x) for x in rng.permutation([j.name for j in model.joints if j.kind.nv == 1])]
        if len(names) >= 3:
            break
    ratio, bend = float(rng.normal()), float(rng.normal())
    if rng.random() < 0.5:
        model = couple(model, names[0], names[1], ratio=ratio, offset=bend)
    else:
        model = couple(model, names[0], (names[1], names[2]), relation=lambda a, b: np.sin(a) * b + bend * a * a)
    if len(names) >= 5:
        model = couple(model, names[3], names[4], relation=lambda a: ratio * a + np.cos(a))
    return model


def without_axes(model: Model) -> Model:
    """The same robot with rotors that only reflect inertia at their joints."""
    bodies = [
        b if b.joint.rotor is None else replace(b, joint=replace(b.joint, rotor=replace(b.joint.rotor, axis=None)))
        for b in model.bodies
    ]
    return replace(model, bodies=tuple(bodies))


def with_rotors(model: Model) -> Model:
    """The same robot with rotors at all joints of one degree of freedom."""
    axes = ("x", "y", "z")
    bodies = [
        b if b.joint.kind.nv != 1 else replace(b, joint=replace(b.joint, rotor=Rotor(0.01, 10.0, axis=axes[i % 3])))
        for i, b in enumerate(model.bodies)
    ]
    return replace(model, bodies=tuple(bodies))
