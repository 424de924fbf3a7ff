"""Gates that can fail: one fault for each, planted in a copy of the repository, and the gate must see it.

    python tests/gates.py              every gate (some minutes)
    python tests/gates.py site lint    those whose name holds one of these words

Run it by hand after a change of .ci/run. A fault counts as seen where the part passes without it and, with it, the
step of that name fails. The gate of the tests is tried on a single test, that of the installation on a project file
that is broken from its first line, so that nothing is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORKFLOW = ".github/workflows/tests.yml"
ISSUES = ".github/ISSUE_TEMPLATE"
RELEASE = "release-version v0.1.0"

Planted = Callable[[Path], None]  # in the folder that holds the copy


@dataclass(frozen=True)
class Edit:
    """What becomes of one file of the copy."""

    path: str
    of: Callable[[str], str]

    def __call__(self, folder: Path) -> None:
        file = folder / self.path
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        file.write_text(self.of(before), encoding="utf-8")


def replace(path: str, old: str, new: str) -> Edit:
    def of(text: str) -> str:
        assert old in text, f"{path} no longer has {old!r}: mend this fault"
        return text.replace(old, new, 1)

    return Edit(path, of)


def append(path: str, text: str) -> Edit:
    return Edit(path, lambda before: before + text)


def drop_line(path: str, pattern: str) -> Edit:
    def of(text: str) -> str:
        text, count = re.subn(rf"^.*{pattern}.*\n", "", text, count=1, flags=re.MULTILINE)
        assert count, f"{path} no longer has {pattern!r}: mend this fault"
        return text

    return Edit(path, of)


@dataclass(frozen=True)
class Fault:
    """What is broken, the part of .ci/run that must see it, and the step that must fail."""

    name: str
    part: str
    step: str
    plant: Planted
    prepare: Planted = lambda folder: None  # in both runs, to make them short


def only_the_readme(folder: Path) -> None:
    for page in (folder / "docs").glob("*.md"):
        page.unlink()


FEW_EXAMPLES = replace("tests/examples.py", "assert len(SCRIPTS) >= 12", "assert SCRIPTS")


def only_the_first_example(folder: Path) -> None:
    for path in sorted((folder / "examples").glob("[0-9]*.py"))[1:]:
        path.unlink()
    FEW_EXAMPLES(folder)


def only_one_test(folder: Path) -> None:
    for path in (folder / "tests").iterdir():
        if path.name not in ("run.sh", "conftest.py"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (folder / "tests" / "test_one.py").write_text("def test_one():\n    assert 1 + 1 == 2\n", encoding="utf-8")


FAULTS = [
    Fault("install", "environment", "install", replace("pyproject.toml", "[build-system]", "[build-system")),
    Fault("lint: a name that nobody uses", "lint", "lint", append("src/linkwise/errors.py", "\nimport json\n")),
    Fault("formatting", "lint", "formatting", append("src/linkwise/errors.py", "\n\nX = {  'a':1 }\n")),
    Fault("schemas: an unknown key", "lint", "schemas", replace(WORKFLOW, "runs-on:", "run-on:")),
    Fault("schemas: a job without a limit", "lint", "schemas", drop_line(WORKFLOW, "timeout-minutes")),
    Fault(
        "schemas: an issue form",
        "lint",
        "schemas",
        replace(".github/ISSUE_TEMPLATE/wish.yml", "type: textarea", "type: x"),
    ),
    Fault("schemas: issues", "lint", "schemas", append(f"{ISSUES}/config.yml", "contact_links: 3\n")),
    Fault("schemas: dependabot", "lint", "schemas", drop_line(".github/dependabot.yml", "package-ecosystem")),
    Fault("schemas: the citation", "lint", "schemas", drop_line("CITATION.cff", "title:")),
    Fault(
        "workflows: a stranger's words as a command",
        "lint",
        "workflows",
        replace(WORKFLOW, "run: .ci/run lint", "run: echo ${{ github.event.pull_request.title }}"),
    ),
    Fault("workflows: an action that may change", "lint", "workflows", replace(WORKFLOW, "@11bd71901bbe5b", "@v4 #")),
    Fault("types", "types", "types", append("src/linkwise/errors.py", '\n\ndef wrong() -> int:\n    return "1"\n')),
    Fault(
        "types: none at all", "types", "types", append("src/linkwise/errors.py", "\n\ndef wrong(x):\n    return x\n")
    ),
    Fault("types: ignored in vain", "types", "types", append("src/linkwise/errors.py", "\n\nX = 1  # type: ignore\n")),
    Fault("demo", "demo", "demo", append("src/linkwise/demo/story.py", "\n\nraise RuntimeError\n")),
    Fault("demo: no picture", "demo", "demo", append("src/linkwise/demo/picture.py", "\n\nraise ImportError\n")),
    Fault(
        "README and docs: another number",
        "pages",
        "README and docs",
        append("README.md", "\n```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"),
        only_the_readme,
    ),
    Fault(
        "README and docs: a snippet that fails",
        "pages",
        "README and docs",
        append("README.md", "\n```python\nrobot.mas_matrix(q)\n```\n"),
        only_the_readme,
    ),
    Fault(
        "README and docs: another answer of a command",
        "pages",
        "README and docs",
        append("README.md", "\n```console\n$ linkwise robots --json\n[]\n```\n"),
        only_the_readme,
    ),
    Fault(
        "README and docs: a table that is out of date",
        "pages",
        "README and docs",
        replace("CONTRIBUTING.md", "| `src/linkwise/errors.py` |", "| `src/linkwise/error.py` |"),
        only_the_readme,
    ),
    Fault(
        "examples: a warning",
        "examples",
        "examples",
        append("examples/01_first_steps.py", "\nimport warnings\nwarnings.warn('slow')\n"),
        only_the_first_example,
    ),
    Fault(
        "examples: no picture",
        "examples",
        "examples",
        append("examples/01_first_steps.py", "\nimport pathlib\nfor x in pathlib.Path().rglob('*.png'): x.unlink()\n"),
        only_the_first_example,
    ),
    Fault(
        "examples: one that fails",
        "examples",
        "examples",
        append("examples/01_first_steps.py", "\nraise RuntimeError\n"),
        only_the_first_example,
    ),
    Fault("site: a link to no page", "site", "site", append("docs/index.md", "\n[nowhere](nowhere.md)\n")),
    Fault("site: an anchor that is not there", "site", "site", append("docs/index.md", "\n[here](cli.md#nowhere)\n")),
    Fault(
        "notebooks: a cell that fails",
        "notebooks",
        "notebooks",
        replace("docs/tour.ipynb", "import numpy as np", "import numpi"),
    ),
    Fault(
        "notebooks: a cell that gives something else",
        "notebooks",
        "notebooks",
        replace("docs/tour.ipynb", "(1000, 6, 7) (1000, 6, 6)", "(1000, 6, 7) (1000, 6, 5)"),
    ),
    Fault(
        "site: a picture that is not there", "site", "site", append("docs/index.md", "\n![x](pictures/nothing.png)\n")
    ),
    Fault("site: a page without a place", "site", "site", append("docs/lost.md", "# Lost\n")),
    Fault(
        "tests",
        "tests",
        "tests",
        append("tests/test_one.py", "\n\ndef test_two():\n    assert 1 + 1 == 3\n"),
        only_one_test,
    ),
    Fault("tests: none", "tests", "tests", lambda f: (f / "tests/test_one.py").unlink(), only_one_test),
    Fault(
        "wheel: it needs what it does not bring",
        "wheel",
        "the wheel alone",
        append("src/linkwise/errors.py", "\n\nimport scipy\n"),
    ),
    Fault("wheel: a room is left out", "wheel", "the wheel alone", lambda f: shutil.rmtree(f / "src/linkwise/symbols")),
    Fault("wheel: no version", "wheel", "build", drop_line("src/linkwise/__init__.py", "__version__ =")),
    Fault("release: another tag", RELEASE, "version", replace("src/linkwise/__init__.py", '"0.1.0"', '"0.1.1"')),
    Fault("release: another citation", RELEASE, "version", drop_line("CITATION.cff", "version: 0")),
    Fault("release: another recipe", RELEASE, "version", replace("packaging/conda/recipe.yaml", '"0.1.0"', '"0.1.1"')),
    Fault("release: no date", RELEASE, "version", replace("CHANGELOG.md", "] – 2000-01-01", "] – unreleased")),
]


def copy(folder: Path) -> Path:
    """The files that git has or would take, in a folder of their own."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    os.utime(folder / "pyproject.toml", (0, 0))  # older than any installation: none is made from a copy that goes away
    return folder


def run(fault: Fault, *edits: Planted) -> subprocess.CompletedProcess[str]:
    """A part of .ci/run in a new copy with these edits; it runs with this Python, on the source of the copy."""
    with tempfile.TemporaryDirectory() as room:
        folder = copy(Path(room))
        for edit in edits:
            edit(folder)
        environment = {**os.environ, "VENV": sys.prefix, "PYTHONPATH": str(folder / "src")}
        command = ["bash", ".ci/run", *fault.part.split()]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


DATED = replace("CHANGELOG.md", "] – unreleased", "] – 2000-01-01")


def main() -> int:
    chosen = [f for f in FAULTS if not sys.argv[1:] or any(word in f.name for word in sys.argv[1:])]
    passing: dict[tuple[str, Planted], bool] = {}
    unseen = []
    for fault in chosen:
        before = (fault.part, fault.prepare)
        extra = [DATED] if fault.part == RELEASE else []
        if fault.part != "environment" and before not in passing:
            done = run(fault, fault.prepare, *extra)
            passing[before] = done.returncode == 0
            if not passing[before]:
                print(done.stdout, done.stderr, sep="\n")
        done = run(fault, fault.prepare, *extra, fault.plant)
        failed = done.returncode != 0 and f"== {fault.step} failed" in done.stdout
        seen = failed and passing.get(before, True)
        print(f"{'seen  ' if seen else 'UNSEEN'}  {fault.name}", flush=True)
        if not seen:
            unseen.append(fault.name)
            print(done.stdout, done.stderr, sep="\n")
    print(f"{len(chosen) - len(unseen)} of {len(chosen)} faults seen")
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
