"""Folders of tests are those of the source, so that the test of a file is found without searching."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from snippets import ROOT

SOURCE = ROOT / "src" / "linkwise"
TESTS = ROOT / "tests"
# Folders of tests that are not rooms: laws of the algebra, physics, other libraries as oracles, the fuzz, what tests
# share, and the scripts of benchmarks/.
BESIDE_THE_ROOMS = {"laws", "physics", "cross", "fuzz", "helpers", "benchmarks"}


def rooms(source: Path) -> set[str]:
    """The packages below a folder, as paths within it."""
    return {p.parent.relative_to(source).as_posix() for p in source.rglob("*.py") if p.parent != source}


def folders_of_tests(tests: Path) -> set[str]:
    """The folders that hold tests, or a folder that does."""
    holding = {p.parent.relative_to(tests) for p in tests.rglob("test_*.py") if p.parent != tests}
    return {f.as_posix() for p in holding for f in (p, *p.parents[:-1])}


def differences(source: Path, tests: Path) -> list[str]:
    """What keeps the folders of the tests from being those of the source."""
    found = {f for f in folders_of_tests(tests) if f.partition("/")[0] not in BESIDE_THE_ROOMS}
    there = rooms(source)
    return [f"no test in tests/{x}" for x in sorted(there - found)] + [
        f"tests/{x} is no room of the source" for x in sorted(found - there)
    ]


def test_tests_mirror_the_source():
    assert not differences(SOURCE, TESTS)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("src/arms/hand/finger.py", "no test in tests/arms/hand"),
        ("tests/legs/test_foot.py", "tests/legs is no room of the source"),
    ],
)
def test_a_difference_is_seen(tmp_path, file, said):
    for name in ("src/arms/elbow.py", "tests/arms/test_elbow.py", "tests/laws/test_lever.py", file):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert said in differences(tmp_path / "src", tmp_path / "tests")


def test_nothing_is_a_symbolic_link():
    """Windows makes none without being asked, and a link in a wheel is a copy."""
    folders = ("src", "tests", "docs", "examples", "benchmarks", ".ci", ".github")
    ours = [p for folder in folders for p in (ROOT / folder).rglob("*")]
    assert len(ours) > 400
    assert not [p for p in ours if p.is_symlink()]


def named_in(room: Path) -> list[str]:
    """The files and rooms that the second paragraph of a room's docstring points to."""
    said = (ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or "").split("\n\n")
    return re.findall(r"``([a-z][a-z_0-9]*/?)``", said[1]) if len(said) > 1 else []


READ_IN_ORDER = [
    "algebra",
    *("codegen", "codegen/llvm", "codegen/program", "codegen/rolled", "codegen/runtime", "codegen/sources"),
    *("dynamics", "dynamics/closed", "dynamics/diagonal", "dynamics/forward", "dynamics/linearized"),
    *("model", "model/files", "model/joints", "robot", "symbols", "interop", "demo"),
]


@pytest.mark.parametrize("room", READ_IN_ORDER)
def test_a_room_says_in_which_order_to_read_it(room):
    """Its docstring names files, and those that it names are there."""
    names = named_in(SOURCE / room)
    assert names, f"{room}/__init__.py names no file to begin with"
    there = {p.name + "/" if p.is_dir() else p.stem for p in (SOURCE / room).iterdir()}
    assert not [x for x in names if x not in there], f"{room}/__init__.py names what is not there"


def test_nothing_strays_into_the_root():
    """What tests and examples write there by mistake is not committed."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    known = {"CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md"}
    known |= {"pyproject.toml", ".gitattributes", ".gitignore", ".pre-commit-config.yaml"}
    assert {name for name in listed if "/" not in name} == known
