"""Which uniform numbers run k gets: from (seed, k) alone, whatever was drawn before, by counters and not by states.

Philox, a generator that is a function of its counter, is keyed by the seed and the name of the parameter; run k has the
k-th block of it. Latin hypercubes take the k-th place of a permutation that is computed and never stored, Sobol points
are those of SciPy, scrambled by the seed; every combination of grids has them all, as their order goes along with that
of the grids. Saltelli's and Morris's designs for sensitivities are laid out run by run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import one_of, whole
from ..errors import InputError, LinkwiseError
from ..extras import require
from ..properties import cached_property
from .distributions import Distribution, Drawn, Grid
from .draws import Draws, drawn, key, missing, refuse_unlike
from .users_errors import RAISED, message_of

DESIGNS = ("saltelli", "morris")
SAMPLINGS = ("random", "latin_hypercube", "sobol", *DESIGNS)
MOST_RUNS = 10**12
LEVELS = 4  # of Morris's design
# Values are worked out for whole blocks of runs, so that no rounding depends on which runs are asked for.
BLOCK = 256
_SEEDS = 2**128
_SOBOL_BITS = 32
_ROUNDS = 8  # of the permutation
_TRIED = 16  # runs of which one must be drawn


@dataclass(frozen=True, eq=False)
class Sampling:
    """The parameters of every run: ``parameters`` by name, ``samples`` runs, drawn by ``how`` from ``seed``."""

    parameters: Mapping[str, Distribution]
    samples: int
    seed: int
    how: str = "random"

    def __post_init__(self) -> None:
        one_of(self.how, SAMPLINGS, "sampling")
        whole(self.samples, "samples", least=1, most=MOST_RUNS)
        whole(self.seed, "seed", least=0, most=_SEEDS)
        if self.how != "random" and not self.factors:
            raise InputError(f"sampling={self.how!r} needs a parameter with a distribution, and there is none")
        if self.how == "sobol" and self.samples > self.combinations * 2**_SOBOL_BITS:
            raise InputError(
                f"there are 2**{_SOBOL_BITS} Sobol points, and samples is {self.samples}; take sampling='random' or"
                " 'latin_hypercube', or fewer runs"
            )
        if self.how in DESIGNS and self.grids:
            name = next(iter(self.grids))
            raise InputError(
                f"sampling={self.how!r} moves its parameters in an order of its own, and the grid {name!r} would go on"
                " meanwhile, so that its effect was taken for theirs; draw it as the others: lw.Choice"
            )
        if self.how in DESIGNS and self.samples % self.cycle:
            nearest = max(1, round(self.samples / self.cycle)) * self.cycle
            raise InputError(
                f"sampling={self.how!r} of {len(self.factors)} parameters takes {self.cycle} runs at a time; samples"
                f" must be a multiple of that, such as {nearest}, got {self.samples}"
            )

    @cached_property
    def factors(self) -> list[str]:
        """The parameters that are made from uniform numbers; those of a vector are one."""
        return [name for name, d in self.parameters.items() if d.width]

    @property
    def cycle(self) -> int:
        """How many runs belong together in a design."""
        return {"saltelli": len(self.factors) + 2, "morris": len(self.factors) + 1}.get(self.how, 1)

    @cached_property
    def grids(self) -> dict[str, int]:
        """Each grid, and how many runs pass before it takes its next value."""
        strides, stride = {}, 1
        for name, d in reversed(list(self.parameters.items())):
            if isinstance(d, Grid):
                strides[name] = stride
                stride = min(stride * len(d), MOST_RUNS)  # beyond all runs that there may be it makes no difference
        return strides

    @cached_property
    def combinations(self) -> int:
        """How many combinations of grids there are, or as many as runs may be."""
        return min(math.prod(len(d) for d in self.parameters.values() if isinstance(d, Grid)), MOST_RUNS)

    def stream(self, k: int) -> int:
        """The run whose random numbers users' functions get in run k: its own, but in designs that move one parameter
        at a time from run to run. There all else must stay, and is as in the run that those of the row go out from."""
        row, place = divmod(k, self.cycle)
        return k if self.how not in DESIGNS or (self.how == "saltelli" and place == 1) else row * self.cycle

    def values(self, first: int, stop: int) -> dict[str, np.ndarray]:
        """The parameters of the runs from ``first`` to before ``stop``: each (runs, *shape)."""
        found = self.draws(first, stop)
        for e in found.errors.values():
            raise e
        return found.values

    def run(self, k: int) -> dict[str, Any]:
        """The parameters of run k: arrays, numbers or words."""
        return self.draws(k, k + 1).of(k)

    def draws(
        self, first: int, stop: int, left_out: Collection[int] = (), tell: Callable[[int], None] = lambda run: None
    ) -> Draws:
        """The same with what users' functions raise, which are not called for runs ``left_out``; ``tell`` is called
        with each run before they are."""
        found = self._of_distributions(first, stop)
        given: dict[str, list[np.ndarray]] = {name: [] for name in self.functions}
        errors: dict[int, BaseException] = {}
        for k in range(first, stop) if given else ():
            own = {name: missing(x) for name, x in self.like.items()}
            if k not in left_out:
                tell(k)
                try:
                    own = drawn(self.functions, self.seed, self.stream(k), {n: x[k - first] for n, x in found.items()})
                    refuse_unlike(own, self.like, k)
                except RAISED as e:
                    own, errors[k] = {name: missing(x) for name, x in self.like.items()}, e
            for name, x in own.items():
                given[name].append(x)
        found |= {name: np.stack(x) for name, x in given.items()}
        return Draws(first, {name: found[name] for name in self.parameters}, given, errors)

    def _of_distributions(self, first: int, stop: int) -> dict[str, np.ndarray]:
        parts = [self._block(b) for b in range(first // BLOCK, -(-stop // BLOCK))]
        start = first // BLOCK * BLOCK
        return {name: np.concatenate([p[name] for p in parts])[first - start : stop - start] for name in parts[0]}

    @cached_property
    def functions(self) -> dict[str, Drawn]:
        """The parameters that users' functions draw."""
        return {name: d for name, d in self.parameters.items() if isinstance(d, Drawn)}

    @property
    def sound(self) -> int:
        """The first run whose parameters can be drawn."""
        return self._first_sound[0]

    @property
    def like(self) -> dict[str, np.ndarray]:
        """What users' functions give at that run: all others give words where it does, and numbers of its shapes."""
        return self._first_sound[1]

    @cached_property
    def _first_sound(self) -> tuple[int, dict[str, np.ndarray]]:
        tried = range(min(self.samples, _TRIED) if self.functions else 1)
        errors: list[BaseException] = []
        for k in tried:
            try:
                others = {n: x[0] for n, x in self._of_distributions(k, k + 1).items()} if self.functions else {}
                return k, drawn(self.functions, self.seed, self.stream(k), others)
            except RAISED as e:
                errors.append(e)
        if isinstance(errors[0], LinkwiseError):
            raise errors[0]
        raise InputError(
            f"parameters that functions draw ({', '.join(self.functions)}) cannot be drawn for any of the first"
            f" {len(tried)} runs; the first raises {type(errors[0]).__name__}: {message_of(errors[0])}"
        ) from errors[0]

    # --- a block of runs -----------------------------------------------------------------------------

    def _block(self, b: int) -> dict[str, np.ndarray]:
        runs = np.arange(b * BLOCK, (b + 1) * BLOCK)
        uniform = self.uniform(b)
        found: dict[str, np.ndarray] = {}
        for name, d in self.parameters.items():
            if isinstance(d, Grid):
                found[name] = d.at(runs // self.grids[name] % len(d))
            elif not isinstance(d, Drawn):  # which are asked for the very runs
                found[name] = d.from_uniform(uniform.get(name, np.empty((len(runs), 0))))
        return found

    block = BLOCK

    def uniform(self, b: int) -> dict[str, np.ndarray]:
        """Uniform numbers of the runs of block b, by parameter, (runs, width)."""
        first = b * BLOCK
        if self.how == "random":
            return {n: self._philox(n, self.parameters[n].width, first, BLOCK) for n in self.factors}
        if self.how == "sobol":
            return self._split(self._sobol(first))
        if self.how == "latin_hypercube":
            return {n: self._hypercube(n, first) for n in self.factors}
        return self._saltelli(first) if self.how == "saltelli" else self._morris(first)

    def _split(self, u: np.ndarray) -> dict[str, np.ndarray]:
        ends = np.cumsum([self.parameters[n].width for n in self.factors])
        return dict(zip(self.factors, np.split(u, ends[:-1], axis=1)))

    def _philox(self, name: str, width: int, first: int, count: int) -> np.ndarray:
        """Uniform numbers (count, width) in (0, 1); those of run k are the k-th block of the parameter's stream."""
        blocks = -(-width // 4)  # four numbers come from one count
        stream = np.random.Philox(key=key(self.seed, name)).advance(first * blocks)
        raw = np.asarray(stream.random_raw(count * blocks * 4)).reshape(count, blocks * 4)[:, :width]
        return open_interval(raw)

    def _sobol(self, first: int) -> np.ndarray:
        """The points of a block of runs; those of one combination of grids after another have the same one."""
        points = np.arange(first, first + BLOCK) // self.combinations
        blocks = [self._sobol_block(b) for b in range(int(points[0]) // BLOCK, int(points[-1]) // BLOCK + 1)]
        return np.asarray(np.concatenate(blocks)[points - points[0] // BLOCK * BLOCK])

    def _sobol_block(self, b: int) -> np.ndarray:
        # Points are walked through from the first; whoever asks in order goes on from where it was. It is taken out
        # while it walks, so that no other thread moves it.
        at, found, points = self.__dict__.pop("_points", (-1, None, None))
        if at != b:
            if points is None or points.num_generated > b * BLOCK:
                points = self._sobol_points()
            if b * BLOCK > points.num_generated:
                points.fast_forward(b * BLOCK - points.num_generated)
            found = np.asarray(points.random(BLOCK)).clip(2.0**-33, 1 - 2.0**-33)
        self.__dict__["_points"] = b, found, points
        return np.asarray(found)

    def _sobol_points(self) -> Any:
        qmc = require("scipy.stats", "study", "Sobol points").qmc
        width = sum(self.parameters[n].width for n in self.factors)
        if width > qmc.Sobol.MAXDIM:
            raise InputError(f"Sobol points have {qmc.Sobol.MAXDIM} numbers at most, and the parameters {width}")
        return qmc.Sobol(width, scramble=True, rng=np.random.default_rng(self.seed), bits=_SOBOL_BITS)

    def __getstate__(self) -> dict[str, Any]:
        return {k: x for k, x in vars(self).items() if k != "_points"}

    def _hypercube(self, name: str, first: int) -> np.ndarray:
        """One of as many strata as there are runs, each taken once, and a random place within."""
        width = self.parameters[name].width
        runs = np.arange(first, first + BLOCK, dtype=np.uint64) % np.uint64(self.samples)
        within = self._philox(name, width, first, BLOCK)
        places = [permuted(runs, self.samples, key(self.seed, f"{name}\0{j}")) for j in range(width)]
        return np.asarray((np.stack(places, axis=1) + within) / self.samples).clip(2.0**-53, 1 - 2.0**-53)

    def _saltelli(self, first: int) -> dict[str, np.ndarray]:
        """Rows A, B, and A with one factor of B after another (Saltelli et al. 2010)."""
        rows, place = np.divmod(np.arange(first, first + BLOCK), self.cycle)
        low, count = int(rows[0]), int(rows[-1] - rows[0]) + 1
        found = {}
        for i, name in enumerate(self.factors):
            a, b = (self._philox(f"{name}\0{x}", self.parameters[name].width, low, count) for x in "AB")
            of_b = (place == 1) | (place == i + 2)
            found[name] = np.where(of_b[:, None], b[rows - low], a[rows - low])
        return found

    def _morris(self, first: int) -> dict[str, np.ndarray]:
        """Paths through a grid of levels, each factor moved once, in a random order (Morris 1991)."""
        rows, place = np.divmod(np.arange(first, first + BLOCK), self.cycle)
        low, count = int(rows[0]), int(rows[-1] - rows[0]) + 1
        order = np.argsort(self._philox("\0order", len(self.factors), low, count), axis=1).argsort(axis=1)
        found = {}
        for i, name in enumerate(self.factors):
            width = self.parameters[name].width
            start = np.floor(self._philox(f"{name}\0start", width, low, count) * (LEVELS // 2)) / (LEVELS - 1)
            rises = self._philox(f"{name}\0sign", width, low, count) < 0.5
            base, moved = np.where(rises, start, start + MORRIS_STEP), np.where(rises, start + MORRIS_STEP, start)
            has_moved = place > order[rows - low, i]
            x = np.where(has_moved[:, None], moved[rows - low], base[rows - low])
            found[name] = (x * (LEVELS - 1) + 0.5) / LEVELS  # the middle of each level: no tail ends at infinity
        return found


MORRIS_STEP = LEVELS / (2 * (LEVELS - 1))  # by which a factor moves, of the range of all levels


def open_interval(raw: np.ndarray) -> np.ndarray:
    """Numbers in (0, 1) from 64 random bits each, both ends left out."""
    return np.asarray(((raw >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52)


def permuted(index: np.ndarray, size: int, key: np.ndarray) -> np.ndarray:
    """Where a random permutation of 0 … size − 1 puts each index: a Feistel network, gone round until it is inside."""
    bits = max(2, (size - 1).bit_length())
    wide = (np.uint64(bits - bits // 2), np.uint64(bits // 2))  # of the two halves, which change places in each round
    rounds = np.asarray(np.random.Philox(key=key).random_raw(_ROUNDS))

    def once(x: np.ndarray) -> np.ndarray:
        left, right = x >> wide[1], x & _ones(wide[1])
        for i, r in enumerate(rounds):
            left, right = right, left ^ (_mixed(right + r) & _ones(wide[i % 2]))
        return np.asarray((left << wide[1]) | right)

    with np.errstate(over="ignore"):
        out = once(index.astype(np.uint64))
        while (outside := np.nonzero(out >= np.uint64(size))[0]).size:
            out[outside] = once(out[outside])
    return out.astype(np.int64)


def _ones(bits: np.uint64) -> np.uint64:
    return np.uint64((1 << int(bits)) - 1)


def _mixed(x: np.ndarray) -> np.ndarray:
    """The finalizer of MurmurHash3: every bit of what it gives depends on every bit it is given."""
    for shift, factor in ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(x ^ (x >> np.uint64(33)))
