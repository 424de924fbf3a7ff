"""The pages in docs/ leave no public name unmentioned, and their links lead somewhere.

That they run and agree with the code is seen by ``python tests/snippets.py``, a step of ``.ci/run docs``.
"""

import inspect
import re
import shutil
import subprocess

import numpy as np
import pytest

import linkwise as lw
from linkwise import control
from snippets import PAGES, ROOT

DOCS = [p for p in PAGES if p.name != "README.md"]
TEXT = {p: p.read_text(encoding="utf-8") for p in [*PAGES, ROOT / "CHANGELOG.md"]}
ALL = "\n".join(TEXT.values())


def mentioned(name):
    return re.search(rf"\b{name}\b", ALL) is not None


@pytest.mark.parametrize("name", lw.__all__)
def test_public_name_is_mentioned(name):
    assert mentioned(name)


def public_members():
    members = inspect.getmembers_static(lw.Robot)
    return [n for n, _ in members if not n.startswith("_")]


@pytest.mark.parametrize("name", public_members())
def test_robot_member_is_mentioned(name):
    assert mentioned(f"robot.{name}")


def test_operators_are_mentioned():
    leaves = [n for n, x in inspect.getmembers_static(type(lw.chain(2).operators([0, 0]))) if is_leaf(n, x)]
    assert len(leaves) > 30
    assert not [n for n in leaves if not mentioned(n)]


def is_leaf(name, member):
    getter = getattr(member, "func", None) or getattr(member, "fget", None)
    return not name.startswith("_") and getter is not None and getter.__annotations__.get("return") == "Operator"


def test_every_rule_is_in_papers_and_every_name_there_exists():
    names = {r.name for r in lw.identities()}
    papers = "\n".join(TEXT[p] for p in DOCS if p.stem.startswith("paper"))
    in_tables = set(re.findall(r"^\|[^\n]*\| `([\w]+)` \| [^|\n]*\|$", papers, re.MULTILINE))
    assert names <= in_tables
    rule_names = set(re.findall(r"rule `(\w+)`", ALL))
    assert rule_names <= names


@pytest.mark.parametrize("page", TEXT, ids=lambda p: p.stem)
def test_links_and_paths_exist(page):
    missing = []
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", TEXT[page]):
        if not target.startswith("http") and not (page.parent / target).exists():
            missing.append(target)
    for path in re.findall(r"`((?:src|tests|docs|examples|\.ci)/[\w./-]+)`", TEXT[page]):
        if not (ROOT / path).exists():
            missing.append(path)
    assert not missing


@pytest.mark.parametrize("page", TEXT, ids=lambda p: p.stem)
def test_pages_speak_of_no_machine(page):
    assert not re.search(r"/work/|/home/|/root/|/Users/|/tmp/", TEXT[page])


def test_method_keys_in_notations_are_those_returned():
    robot = lw.chain(3, joint="spherical")
    q, x = robot.neutral(), [0.1] * robot.nv
    page = TEXT[ROOT / "docs" / "notations.md"]
    for method in ("vereshchagin", "featherstone", "brandl_johanni_otter", "bae_haug", "rosenthal", "armstrong"):
        for key in robot.forward_quantities(q, x, x, method=method):
            assert re.search(rf'"{key}"|`{key}`', page), f"{method}: {key} is not in docs/notations.md"


@pytest.mark.parametrize("name", control.__all__)
def test_name_of_control_is_mentioned(name):
    assert mentioned(f"control.{name}")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_c_program_of_the_export_page_prints_what_python_says(tmp_path):
    page = TEXT[ROOT / "docs" / "export.md"]
    program = re.search(r"^```c\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
    commands = re.search(r"^```c\n.*?^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
    (tmp_path / "main.c").write_text(program, encoding="utf-8")
    robot = lw.load("panda")
    robot.compile("gravity_force", target="c").write(tmp_path / "generated")
    printed = subprocess.run(["sh", "-ec", commands], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    q = [float(x) for x in re.search(r"q\[7\] = \{(.*?)\}", program)[1].split(",")]
    assert np.allclose(np.array(printed.split(), dtype=float), robot.gravity_force(q), atol=1e-4)
