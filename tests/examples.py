"""Every script in examples/ runs as it stands, in a folder of its own, and says something: .ci/run examples"""

import os
import subprocess
import sys

import numpy as np
import pytest
from patience import PATIENCE

from snippets import ROOT

Image = pytest.importorskip("PIL.Image")
SCRIPTS = sorted((ROOT / "examples").glob("[0-9]*.py"))


def test_they_are_numbered():
    assert len(SCRIPTS) >= 12
    assert [s.name[:3] for s in SCRIPTS] == [f"{i:02d}_" for i in range(1, len(SCRIPTS) + 1)]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.stem)
def test_script_runs(script, tmp_path):
    as_users_have_it = {k: v for k, v in os.environ.items() if k != "LINKWISE_TARGET"}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env=as_users_have_it,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert not done.stderr
    pictures = [p for p in tmp_path.rglob("*") if p.suffix in (".png", ".gif")]
    assert pictures
    for path in pictures:
        with Image.open(path) as picture:
            shades = np.asarray(picture.convert("L"))
            assert min(shades.shape) > 100 and np.ptp(shades) > 60  # something is to be seen
            assert path.name in done.stdout
