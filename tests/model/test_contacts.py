"""Contacts: their bases, the loops that stand for them, and what is refused."""

import copy
import pickle

import numpy as np
import pytest
from held_objects import KINDS, contact

import linkwise as lw


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("rigid", (0, 1, 2, 3, 4, 5)),
        ("soft_finger", (2, 3, 4, 5)),
        ("hard_finger", (3, 4, 5)),
        ("frictionless_point", (5,)),
        ("line", (1, 5)),
        ("rough line", (1, 2, 3, 4, 5)),
        ("plane", (0, 1, 5)),
        ("sliding", (0, 1, 2, 4, 5)),
        ("rolling", (3, 4, 5)),
    ],
)
def test_what_each_kind_transmits(kind, rows):
    """The table of contact models (math notes 13.3)."""
    x = contact(kind, 0)
    assert x.transmitted == rows and x.size == len(rows) == x.loop.size
    assert np.array_equal(x.W, np.eye(6)[:, rows]) and not (x.W.T @ x.U).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_contacts_are_values(kind, copied):
    x = contact(kind, 0)
    assert copied(x) == x and hash(copied(x)) == hash(x) and x != contact(kind, 1)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"kind": "soft_fingr"}, "did you mean soft_finger"),
        ({"kind": 3}, "no kind of contact is named 3; choose from rigid"),
        ({"kind": "hard_finger", "friction": np.nan}, "friction= must be positive and finite, got nan"),
        ({"kind": "hard_finger", "friction": -0.1}, "must be positive"),
        ({"kind": "hard_finger", "friction": "rough"}, "must be positive"),
        ({"kind": "hard_finger", "friction": 0.1, "torsion": 0.1}, "a 'hard_finger' contact has none"),
        ({"kind": "soft_finger", "torsion": 0.1}, "goes with friction="),
        ({"kind": "plane", "friction": 0.1}, "friction= is for soft_finger, hard_finger, line, rolling"),
        ({"kind": "rolling"}, r"needs radius= \[m\]"),
        ({"kind": "rigid", "radius": 0.1}, "radius= is for rolling"),
        ({"arm": 1.5}, "arm= is a place among the arms or a name"),
        ({"name": 7}, "must be a text"),
        ({"hand_frame": None}, "hand_frame is a name or an lw.Frame"),
    ],
)
def test_contacts_that_cannot_be(given, why):
    with pytest.raises(lw.ModelError, match=why):
        lw.Contact(**{"hand_frame": "hand", "object_frame": "handle", **given})
