"""Other libraries are named with what brings them; and the package holds nothing that writes its own documentation."""

from pathlib import Path

import pytest

import linkwise
from linkwise.interop.availability import NotHere, needs

SOURCE = Path(linkwise.__file__).parent


def test_nothing_in_the_package_writes_docs():
    assert not [p for p in SOURCE.rglob("*.py") if '"docs"' in p.read_text(encoding="utf-8")]


def test_what_is_missing_is_named_with_what_brings_it():
    with pytest.raises(NotHere, match="pip install no-such-distribution"):
        needs("no_such_library", "no-such-distribution")
