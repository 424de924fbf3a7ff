"""``linkwise demo``: what it tells and draws of a robot, and where it has nothing to tell."""

import subprocess
import sys

import numpy as np
import pytest
from command_line import run

import linkwise as lw
from linkwise.demo import story as demo


@pytest.mark.parametrize("name", ["double_pendulum", "cartpole"])
def test_demo_prints_and_draws(capsys, tmp_path, monkeypatch, name):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "demo", "--robot", name)
    assert (code, err) == (0, "")
    assert "H φ M φ* H*" in out or "(I - H ψ K)* D⁻¹ (I - H ψ K)" in out
    assert all(method in out for method in lw.FORWARD_METHODS)
    assert set(demo.IDEAS) == set(lw.FORWARD_METHODS)  # each has words beside it
    assert [p.name for p in tmp_path.iterdir()] == ["linkwise-demo.png"]
    assert (tmp_path / "linkwise-demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["panda", "satellite"])
def test_demo_without_picture(capsys, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "demo", "--robot", name, "--no-picture")
    assert (code, err) == (0, "")
    assert not list(tmp_path.iterdir())
    assert max(len(line) for line in out.splitlines()) <= 100


WITHOUT_MATPLOTLIB = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
from linkwise.cli import main
sys.exit(main(["demo", "--robot", "double_pendulum"]))
"""


def test_a_missing_matplotlib_is_no_error(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_MATPLOTLIB], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    assert 'pip install "linkwise[plot]"' in done.stdout
    assert not list(tmp_path.iterdir())


def test_a_robot_without_joints(capsys, tmp_path):
    path = tmp_path / "stone.urdf"
    path.write_text('<robot name="stone"><link name="base"/></robot>', encoding="utf-8")
    code, _, err = run(capsys, "demo", "--robot", str(path), "--no-picture")
    assert code == 2
    assert "no joint that moves" in err


@pytest.mark.parametrize("name", ["double_pendulum", "quadruped"])
def test_the_fall_keeps_its_energy(name):
    motion = demo.fall(lw.load(name), duration=0.1, steps=20)
    account = motion.energy
    assert np.abs(account.drift).max() < 1e-5 * max(1.0, account.kinetic.max())
    assert np.isfinite(motion.q).all()


def test_operations_grow_linearly():
    counts = [demo.operations(lw.chain(n), "articulated_body") for n in (10, 20, 30)]
    assert counts[2] - counts[1] == counts[1] - counts[0]
