"""Random joint forces that are a function of a seed, of the state's number, the step's and the joint's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import inputs
from ..codegen.cuda.random import MULTIPLIERS, ROUNDS, STEPS_OF_KEY
from ..errors import InputError
from ..robot.robot import Robot

_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_STATES_AT_ONCE = 1 << 16  # times steps: what is worked out at a time


@dataclass(frozen=True)
class Noise:
    """Random joint forces beside all others, another one in each step: normal numbers with these deviations.

    ``scale`` is a number or (nv,) [N m, N], ``seed`` a whole number below 2⁶⁴. The force on joint i in step k of state
    s depends on (seed, s, k, i) and on nothing else: not on how many states there are, nor on where they are computed.
    (Philox 4×32 with ten rounds; Box and Muller's transform. k counts from time 0.)
    """

    scale: Any
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, (int, np.integer)) or not 0 <= self.seed < 2**64:
            raise InputError(f"the seed of a noise is a whole number from 0 to 2**64 − 1, got {self.seed!r}")
        scale = np.asarray(self.scale)
        if scale.ndim > 1 or scale.dtype.kind not in "fiu" or not np.isfinite(scale).all() or (scale < 0).any():
            raise InputError(f"the scale of a noise must be one number, or one a joint, not negative: {self.scale!r}")

    def deviations(self, robot: Robot) -> np.ndarray:
        """(nv,) [N m, N]."""
        scale = np.asarray(self.scale, dtype=float)
        if scale.ndim == 0:
            return np.full(robot.nv, float(scale))
        return np.asarray(inputs.vector(scale, robot.nv, "the scale of the noise", robot))

    def forces(self, robot: Robot, states: int, steps: int, *, first: int = 0, dtype: Any = float) -> np.ndarray:
        """(states, steps, nv) [N m, N], those of ``steps`` steps from the step ``first`` on."""
        out = np.empty((states, steps, robot.nv), dtype)
        scale = self.deviations(robot)
        at_once = max(1, _STATES_AT_ONCE // max(steps, 1))
        for s in range(0, states, at_once):
            among = np.arange(s, min(s + at_once, states))
            out[s : s + at_once] = scale * normal(self.seed, among, np.arange(first, first + steps), robot.nv)
        return out


def normal(seed: int, states: np.ndarray, steps: np.ndarray, n: int) -> np.ndarray:
    """Numbers of the normal distribution, (states, steps, n)."""
    if steps.size and steps[-1] >= 2**32:
        raise InputError(f"a noise tells 2**32 steps apart, and this one is step {steps[-1]}")
    shape = (len(states), len(steps), -(-n // 4))
    state, step = states.astype(np.uint64)[:, None, None], steps.astype(np.uint64)[None, :, None]
    block = np.arange(shape[2], dtype=np.uint64)
    words = [np.broadcast_to(x, shape) for x in (state & _WORD, state >> _HALF, step, block)]
    words = _philox(int(seed), words)
    found = []
    for a, b in (words[:2], words[2:]):
        r, turn = np.sqrt(_squared_radius(a)), b.astype(float) * (2.0 * np.pi * 2.0**-32)
        found += [r * np.cos(turn), r * np.sin(turn)]
    return np.stack(found, axis=-1).reshape(*shape[:2], -1)[..., :n]


def _philox(seed: int, words: list[np.ndarray]) -> list[np.ndarray]:
    c0, c1, c2, c3 = words
    keys = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(ROUNDS):
        a, b = np.uint64(MULTIPLIERS[0]) * c0, np.uint64(MULTIPLIERS[1]) * c2
        c0, c1 = (b >> _HALF) ^ c1 ^ np.uint64(keys[0]), b & _WORD
        c2, c3 = (a >> _HALF) ^ c3 ^ np.uint64(keys[1]), a & _WORD
        keys = [(k + step) & 0xFFFFFFFF for k, step in zip(keys, STEPS_OF_KEY)]
    return [c0, c1, c2, c3]


def _squared_radius(w: np.ndarray) -> np.ndarray:
    """−2 log(1 − u), u = (w + ½)/2³²."""
    u = (w.astype(float) + 0.5) * 2.0**-32
    return np.asarray(-2.0 * np.where(w >> np.uint64(31), np.log(1.0 - u), np.log1p(-u)))
