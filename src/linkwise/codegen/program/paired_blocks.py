"""Code for two blocks of states in one go, some instructions of one in turn with as many of the other.

Where each value waits for the one before, as along an arm, a processor has little to do, however well the code is
ordered; a second block of states, which waits for nothing of the first, fills the gaps. The numbers of each block are
computed by the same instructions in the same order as alone, so that results are the same to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import thresholds
from .instructions import Instruction, Instructions

_PRODUCTS = ("mul", "fma")


def pays(code: Instructions) -> bool:
    """Whether it is so short, and waits for so much, that two blocks in turn are quicker than one after another."""
    if len(code.code) > thresholds.PAIRED_UP_TO or any(x.op == "sines" for x in code.code):
        return False
    return waiting_cycles(code) > thresholds.PAIRED_FROM * busy_cycles(code)


def busy_cycles(code: Instructions) -> float:
    """How long a processor that never waits takes for the products, or for everything, whichever is longer."""
    computed = [x.op for x in code.code if x.op != "out"]
    products = sum(op in _PRODUCTS for op in computed)
    return max(products / thresholds.PRODUCTS_AT_ONCE, len(computed) / thresholds.BEGUN_AT_ONCE)


def waiting_cycles(code: Instructions) -> int:
    """How long a processor takes that does all at once for which it need not wait."""
    product, total, quotient = thresholds.LATENCIES
    takes = {"add": total, "div": quotient, "sqrt": quotient, "out": 0, "guard": 0}
    known: dict[int, int] = {}
    for x in code.code:
        begun = max((known.get(key, 0) for key in x.operands), default=0)
        if x.op not in ("out", "guard"):
            known[x.value] = begun + takes.get(x.op, product)
    return max(known.values(), default=0)


def in_turn(code: Instructions, inputs: int, results: int) -> Instructions:
    """The instructions for two blocks, each with so many vectors of inputs and results, one block's after the other's.

    What the second block has is known by keys that are :func:`key_count` higher; constants are the same for both. Its
    sines are not in ``sines``, which says of which angle each is: that has no place.
    """
    keys = key_count(code)

    def moved(x: Instruction) -> Instruction:
        operands = tuple(key if key in code.constants else key + keys for key in x.operands)
        value = x.value + {"out": results, "guard": 0}.get(x.op, keys)
        return x._replace(value=value, operands=operands)

    second = {key + keys: (name, index + inputs) for key, (name, index) in code.inputs.items()}
    both = _alternating(code.code, [moved(x) for x in code.code], thresholds.IN_TURN)
    return code._replace(code=list(both), inputs=code.inputs | second)


def key_count(code: Instructions) -> int:
    """All keys of the code are below this."""
    values = [x.value for x in code.code if x.op not in ("out", "guard")]
    return 1 + max([*values, *code.inputs, *code.sines, *code.constants], default=0)


def _alternating(first: Sequence[Instruction], second: Sequence[Instruction], count: int) -> Iterator[Instruction]:
    for i in range(0, len(first), count):
        yield from first[i : i + count]
        yield from second[i : i + count]
