"""Random robots on which the steps of a proof are checked: letters as dense matrices, words as their products."""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache
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
from .words import ALPHABET, Dictionary, Polynomial, Word

_MOST_PRODUCTS = 300  # of words that a trial keeps
_MOST_DRAWN = 30  # robots for one trial, where what is inverted is nearly singular


class Drawn:
    """A random robot at a random state, and the matrices of letters that are its own."""

    def __init__(self, model: Model, seed: int) -> None:
        rng = np.random.default_rng(seed)
        q, v, a = model.random_configuration(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
        self.leaves, self.rng = Leaves(model, model.tips, q, v, a), rng
        self.matrices: dict[int, np.ndarray] = {}


@lru_cache(maxsize=16)  # all proofs try their steps on the same few
def _drawn_robot(seed: int, drawing: Drawing, serial: bool) -> Drawn:
    return Drawn(random_model(seed, drawing, serial), seed)


class Trial:
    """A random robot at a random state, with the matrices of the letters of a dictionary."""

    def __init__(self, drawn: Drawn, dictionary: Dictionary) -> None:
        self.drawn, self.dictionary = drawn, dictionary
        self.leaves = drawn.leaves
        self.things: dict[int, Leaves | OwnBlocks] = {0: self.leaves}
        self._own_blocks(deepcopy(drawn.rng))
        self.products: dict[tuple[Word, bool], np.ndarray] = {}  # of words, which steps have from those before them
        self.matrices: dict[int, np.ndarray] = {}  # of letters that rest on the user's own blocks

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
            leaf = self.dictionary.leaves[letter]
            known = self.matrices if own_leaves(leaf) else self.drawn.matrices
            if letter not in known:
                known[letter] = as_numpy(dense(self._numbers(leaf)))
                known[ALPHABET.adjoints[letter]] = known[letter].T
            found = self.matrices[letter] = known[letter]
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
            product = self._product(word, positive) if word else np.eye(rows)
            out = out + (abs(float(c)) if positive else float(c)) * product
        return out

    def _product(self, word: Word, positive: bool) -> np.ndarray:
        """The matrix of a word, or the product of its letters' sizes."""
        found = self.products.get((word, positive))
        if found is None:
            found = np.abs(self.matrix(word[0])) if positive else self.matrix(word[0])
            for letter in word[1:]:
                found = found @ (np.abs(self.matrix(letter)) if positive else self.matrix(letter))
            if len(self.products) >= _MOST_PRODUCTS:
                self.products.clear()
            self.products[word, positive] = found
        return found


def _inverts(leaf: Expression) -> bool:
    return any(x.inverse_of is not None or not x.owner.is_default for x in leaves_of(leaf))


def draw(dictionary: Dictionary, drawing: Drawing, seed: int, count: int) -> list[Trial]:
    """Random robots that a claim is about."""
    return [_drawn(dictionary, drawing, seed + i, i, count) for i in range(count)]


def _drawn(dictionary: Dictionary, drawing: Drawing, seed: int, i: int, count: int) -> Trial:
    for attempt in range(_MOST_DRAWN):
        drawn = seed + attempt * count
        trial = Trial(_drawn_robot(drawn, drawing, i % 3 == 2), dictionary)
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
