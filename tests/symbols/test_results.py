"""Results as flat lists of arrays and back, and their structure in words."""

import json
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from linkwise.dynamics.linearized.models import ForwardLinearization
from linkwise.symbols.results import LEAF, described, flatten, is_plain, rebuild, recalled


class Pair(NamedTuple):
    a: object
    b: object


@dataclass
class Named:
    x: object
    y: object


A, B, C = (np.full(2, x) for x in (1.0, 2.0, 3.0))
RESULTS = [A, (A, B), [A, (B,)], {"a": A, "b": [B, C]}, (), Pair(A, (B, C)), Named(A, {"y": B})]


@pytest.mark.parametrize("result", RESULTS, ids=lambda x: type(x).__name__)
def test_there_and_back(result):
    leaves, structure = flatten(result)
    again = rebuild(structure, iter(leaves))
    assert type(again) is type(result) and repr(again) == repr(result)
    assert is_plain(structure) == (type(result) is tuple)


@pytest.mark.parametrize("result", RESULTS[:5], ids=lambda x: type(x).__name__)
def test_structures_in_words(result):
    """Through JSON, as they are kept on disk."""
    leaves, structure = flatten(result)
    words = json.loads(json.dumps(described(structure)))
    again = rebuild(recalled(words), iter(leaves))
    assert type(again) is type(result) and repr(again) == repr(result)


def test_classes_of_linkwise_have_words_and_others_none():
    structure = flatten(ForwardLinearization(A, B, C))[1]
    assert type(rebuild(recalled(described(structure)), iter([A, B, C]))) is ForwardLinearization
    for result in ((A, Pair(A, B)), {3: A}, [Named(A, B)]):
        assert described(flatten(result)[1]) is None
    assert recalled("array") is LEAF
