"""Random robots on which the steps of a proof are checked: letters as dense matrices, words as their products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import as_numpy
from ..errors import InputError, SingularError
from ..model.model import Model
from .check import _is_regular
from .dense import dense
from .expression import Expression
from .kinds import UserBlockDiagonal, UserColumn, families_of, leaves_of, own_leaves
from .leaves import Leaves
from .random_robots import Drawing, coupled_robot, random_robot, with_rotors, without_axes
from .recipe import SPACES, OwnBlocks, build, recipe_of
from .words import ALPHABET, Dictionary, Polynomial

_MOST_DRAWN = 30  # robots for one trial, where what is inverted is nearly singular


class Trial:
    """A random robot at a random state, with the matrices of the letters of a dictionary."""

    def __init__(self, model: Model, seed: int, dictionary: Dictionary) -> None:
        rng = np.random.default_rng(seed)
        q, v, a = model.random_configuration(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
        self.model, self.dictionary = model, dictionary
        self.leaves = Leaves(model, model.tips, q, v, a)
        self.things: dict[int, Leaves | OwnBlocks] = {0: self.leaves}
        self._own_blocks(rng)
        self.matrices: dict[int, np.ndarray] = {}

    def _own_blocks(self, rng: np.random.Generator) -> None:
        """Random blocks for block diagonals of the user's own; positive definite where they may be inertias."""
        everything = list(self.dictionary.leaves.values())
        inertias = any(not f.is_default for x in everything for f in families_of(x))
        for leaf in [x for letter in everything for x in own_leaves(letter)]:
            space = getattr(self.leaves, SPACES[leaf.upright().rows.kind])
            if isinstance(leaf, UserBlockDiagonal):
                blocks: list[Any] = [rng.normal(size=(r, r)) for r in space.sizes]
                blocks = [x @ x.T + np.eye(len(x)) for x in blocks] if inertias else blocks
            elif isinstance(leaf, UserColumn):
                blocks = [rng.normal(size=(r, 1)) for r in space.sizes]
            else:
                raise InputError(f"a proof is about all robots, and {leaf} is a matrix of one")
            self.things.setdefault(leaf.place, OwnBlocks(leaf.place, blocks))

    def is_regular(self) -> bool:
        """Whether all that the letters invert is well conditioned here."""
        special = [x for x in self.dictionary.leaves.values() if _inverts(x)]
        try:
            return all(_is_regular(self._numbers(x)) for x in special)
        except SingularError:
            return False

    def _numbers(self, leaf: Expression) -> Expression:
        return build(recipe_of(leaf), self.things)

    def matrix(self, letter: int) -> np.ndarray:
        """The dense matrix of a letter."""
        found = self.matrices.get(letter)
        if found is None:
            found = self.matrices[letter] = as_numpy(dense(self._numbers(self.dictionary.leaves[letter])))
            self.matrices[ALPHABET.adjoints[letter]] = found.T
        return found

    def difference(self, p: Polynomial, size: tuple[Polynomial, ...]) -> float:
        """The largest entry of p, relative to the sizes of the terms of the polynomials ``size``."""
        scale = max((self._value(s, positive=True).max(initial=0.0) for s in size if s), default=0.0)
        found = float(np.abs(self._value(p)).max(initial=0.0)) if p else 0.0
        return found / scale if scale else found

    def _value(self, p: Polynomial, positive: bool = False) -> np.ndarray:
        rows = next((self.matrix(word[0]).shape[0] for word in p if word), 1)  # what I is the identity of
        out = np.zeros(())
        for word, c in p.items():
            product = np.eye(rows) if not word else self._factor(word[0], positive)
            for letter in word[1:]:
                product = product @ self._factor(letter, positive)
            out = out + (abs(float(c)) if positive else float(c)) * product
        return out

    def _factor(self, letter: int, positive: bool) -> np.ndarray:
        matrix = self.matrix(letter)
        return np.abs(matrix) if positive else matrix


def _inverts(leaf: Expression) -> bool:
    return any(x.inverse_of is not None or not x.owner.is_default for x in leaves_of(leaf))


def draw(dictionary: Dictionary, drawing: Drawing, seed: int, count: int) -> list[Trial]:
    """Random robots that a claim is about."""
    return [_drawn(dictionary, drawing, seed + i, i, count) for i in range(count)]


def _drawn(dictionary: Dictionary, drawing: Drawing, seed: int, i: int, count: int) -> Trial:
    for attempt in range(_MOST_DRAWN):
        drawn = seed + attempt * count
        trial = Trial(random_model(drawn, drawing, serial=i % 3 == 2), drawn, dictionary)
        if trial.is_regular():
            return trial
    raise SingularError(f"a side is singular, or nearly so, on each of {_MOST_DRAWN} random robots: nothing to compare")


def random_model(seed: int, drawing: Drawing, serial: bool = False) -> Model:
    """A random robot that has what the drawing allows: rotors, coupled joints."""
    serial = serial or drawing.chains
    if drawing.coupled:
        return coupled_robot(seed, drawing.rotors, serial, drawing.one_dof)
    model = random_robot(seed, False, serial, drawing.one_dof)
    if not drawing.rotors:
        return model
    return with_rotors(model) if drawing.gyro else without_axes(with_rotors(model))
