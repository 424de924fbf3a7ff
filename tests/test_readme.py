"""The README's snippets run as they stand and print what it says; its two commands exist."""

import os
import re

from snippets import ROOT, mismatches, snippets

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_snippets_print_what_the_readme_shows():
    assert snippets(README), "the README has no Python block"
    assert not mismatches(ROOT / "README.md")


def test_the_two_commands():
    shell = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    first, second = (block.strip() for block in shell[:2])
    assert first.endswith("linkwise demo") and "\n" not in first
    assert second == "sh tests/run.sh"
    assert os.access(ROOT / "tests" / "run.sh", os.X_OK)


def test_no_machine_is_named():
    assert not re.search(r"/work/|/home/|/root/|/Users/|https?://[\w.]*(?:pypi|registry|mirror)", README)
