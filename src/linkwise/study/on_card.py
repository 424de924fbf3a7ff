"""Steps of a study's motions on a graphics card, in place of this machine's processor.

The same steps from the same lines: what is drawn is drawn here, as ever, and what is kept of a motion is worked out
here from its samples. In between all steps of a chunk are one kernel, in float64. Its roundings are not those of the
processor, so that a study says which of them made it, and goes on there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..codegen.cuda.turns import DeviceTurns, Span
from ..properties import cached_property
from ..simulation import cards
from ..simulation.external_forces import INPUT
from ..simulation.on_device import code_of, samples_on
from ..simulation.state_numbers import INPUT as OWN
from .alike import Alike, Numbers


@dataclass(frozen=True, eq=False)
class OnCard:
    """What makes the steps of motions (:meth:`.Alike.stepped`) on a card."""

    alike: Alike
    device: str
    codes: dict[bool, DeviceTurns] = field(default_factory=dict)  # by whether steps are explicit

    @cached_property
    def card(self) -> Any:
        return cards.card_at(self.device, "float64")

    def __call__(
        self, q: np.ndarray, w: np.ndarray, numbers: Numbers, explicit: bool, every: int, out: list[np.ndarray]
    ) -> np.ndarray:
        """Fill the rows of samples; which motions are finite at the end, as those of impossible bodies are not."""
        card, task = self.card, self.alike.task(explicit, numbers)
        own: dict[str, Any] = dict(task.parameters)
        own |= {} if task.external is None else {INPUT: task.external.numbers}
        own |= {} if task.own is None else {OWN: task.own.numbers}
        start, constants = (
            {k: card.array(np.ascontiguousarray(x)) for k, x in given.items()} for given in ({"q": q, "w": w}, own)
        )
        if explicit not in self.codes:
            self.codes[explicit] = code_of(task)
        span = Span(self.alike.steps, every, 0, task.step)
        found = samples_on(card, self.codes[explicit], start, constants, span)
        for x, y in zip(out, found):
            x[:] = cards.as_numpy(y)
        sound: np.ndarray = np.isfinite(out[0][:, -1]).all(axis=-1) & np.isfinite(out[1][:, -1]).all(axis=-1)
        return sound
