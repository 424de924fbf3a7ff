"""The wheel: everything that linkwise needs is in it, nothing else is, and what it says of itself is right."""

import email
import re
import subprocess
import sys
import tomllib
import zipfile

import pytest

import linkwise as lw
from snippets import ROOT

pytest.importorskip("build")
pytest.importorskip("hatchling")
SOURCE = ROOT / "src"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = folder.iterdir()
    return path


def test_it_is_pure_python(wheel):
    assert wheel.name == f"linkwise-{lw.__version__}-py3-none-any.whl"
    assert wheel.stat().st_size < 5_000_000


def test_it_holds_the_source_and_its_data(wheel):
    with zipfile.ZipFile(wheel) as z:
        held = {n for n in z.namelist() if ".dist-info/" not in n}
    ours = {p.relative_to(SOURCE).as_posix() for p in (SOURCE / "linkwise").rglob("*") if p.is_file()}
    ours = {n for n in ours if "__pycache__" not in n}
    assert held == ours
    assert any(n.startswith("linkwise/model/robots/") for n in held) and "linkwise/bench/suites.toml" in held
    assert "linkwise/py.typed" in held  # its types are for users, too


def test_what_it_says_of_itself(wheel):
    with zipfile.ZipFile(wheel) as z:
        names = {n.partition(".dist-info/")[2]: n for n in z.namelist() if ".dist-info/" in n}
        said = email.message_from_bytes(z.read(names["METADATA"]))
        entry = z.read(names["entry_points.txt"]).decode()
        assert any(n.endswith("LICENSE") for n in names)
    assert said["Requires-Python"] == ">=3.11"
    assert {f"Programming Language :: Python :: 3.{n}" for n in (11, 12, 13, 14)} <= set(said.get_all("Classifier"))
    assert {"all", "cuda", "jax", "mjcf", "view"} <= set(said.get_all("Provides-Extra"))
    assert "linkwise = linkwise.cli:main" in entry
    always = [r for r in said.get_all("Requires-Dist") if "extra ==" not in r]
    assert sorted(r.partition(">")[0] for r in always) == ["llvmlite", "numpy"]


def test_the_version_is_said_once_and_cited():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["dynamic"] == ["version"] and "version" not in project  # hatchling reads it from the source
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited and cited[1] == lw.__version__
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'version: "{lw.__version__}"' in recipe
    for needed in project["dependencies"]:  # those of the wheel
        assert f"- {needed.replace('>=', ' >=')}\n" in recipe
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest and newest[1] == lw.__version__
