"""Running the command line in this process and in another."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from patience import PATIENCE

from linkwise import cli

LONELY = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
from linkwise.cli import main
sys.exit(main({argv!r}))
"""


def run(capsys, *argv):
    """(exit code, stdout, stderr) of a command run here."""
    try:
        code = cli.main([str(x) for x in argv])
    except SystemExit as e:
        code = e.code
    out, err = capsys.readouterr()
    return code, out, err


def data(capsys, *argv, code=0):
    """What a command prints with --json."""
    found, out, err = run(capsys, *argv, "--json")
    assert found == code, err
    return json.loads(out)


def process(*argv, **options):
    """A command in a process of its own."""
    options = {"capture_output": True, "text": True, "encoding": "utf-8", "timeout": PATIENCE} | options
    return subprocess.run([sys.executable, "-m", "linkwise", *map(str, argv)], **options)


def without(blocked, *argv, cwd=None):
    """A command in a process where these packages cannot be imported."""
    code = LONELY.format(blocked=set(blocked), argv=[str(x) for x in argv])
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env=environment,
        timeout=PATIENCE,
    )
