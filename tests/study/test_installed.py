"""Where linkwise is installed, a worker is a program of an installed package, and functions from a script are still
the user's: they are looked into, and made as they are made in the script itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from study_scenarios import contents

import linkwise as lw

SCRIPT = """
import sys
import numpy as np
import linkwise as lw

calls = []


def reach(robot, p):
    law = lambda t, q, v: robot.gravity_force(q) - p["gain"] * q - 2.0 * v
    motion = lw.simulate(robot, [0.5, 0.5], controller=law, duration=0.02)
    return {"q": motion.q[-1]}


def counting(robot, p):
    calls.append(1)
    return {"much": p["gain"] * len(calls)}


if __name__ == "__main__":
    assert "site-packages" in lw.__file__
    pendulum = lw.load("double_pendulum")
    for function in (reach, counting):
        for engine, workers in (("serial", None), ("local", 1)):
            study = lw.Study(pendulum, function, {"gain": lw.Uniform(1, 9)}, 4, chunk=4)
            study.run(f"{sys.argv[1]}/{function.__name__}-{engine}", engine=engine, workers=workers)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_functions_of_a_script_are_made_alike_by_workers_of_an_installed_package(tmp_path):
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "linkwise").symlink_to(Path(lw.__file__).parent)
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONWARNINGS": "ignore"}
    subprocess.run([sys.executable, tmp_path / "script.py", tmp_path], env=environment, check=True)
    for name, way in (("reach", "batches"), ("counting", "alone: ")):
        serial, local = (lw.open_study(tmp_path / f"{name}-{engine}") for engine in ("serial", "local"))
        assert serial.ways() == local.ways() and next(iter(local.ways())).startswith(way)
        if name == "reach":  # what the other gives follows from how often it was called
            assert contents(tmp_path / "reach-serial") == contents(tmp_path / "reach-local")
