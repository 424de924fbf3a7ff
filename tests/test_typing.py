"""What a type checker says of a user's script: nothing where it is right, an error on each line that is wrong."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import linkwise as lw

pytest.importorskip("mypy")

# "wrong" marks the lines that have to be refused: were the types of a call lost, they would pass as Any.
SCRIPT = '''
from typing import Any, assert_type

import numpy as np

import linkwise as lw
from linkwise.arrays import Array
from linkwise.control import LQR

robot = lw.load("panda")
q, v = robot.neutral(), np.zeros(robot.nv)

M = robot.mass_matrix(q)
assert_type(M, np.ndarray | Any)
np.linalg.eigvalsh(M)
trace: float = float(np.trace(M @ M.T + np.eye(robot.nv)))
robot.inverse_dynamics([0.0] * robot.nq, v, 0.0 * v, external=None, method="composite_body")
robot.mass_matrix(q, target="numpy").mean()
R, p = robot.pose(q, "panda_hand")
poses: dict[str, Any] = robot.poses(q)
robot.mass_matrix()  # wrong
robot.mass_matrix(q, "composite")  # wrong
robot.mass_matrix(q, methd="composite")  # wrong
robot.forward_dynamics(q, v, robot)  # wrong
M.no_such_thing  # wrong
text: str = M  # wrong
robot.no_such_method(q)  # wrong
lw.no_such_function  # wrong

model = robot.linearize_forward(q, v, v)
np.linalg.inv(model.Minv)
model.Mniv  # wrong
system = model.state_space(0.01)
poles: np.ndarray = np.linalg.eigvals(system.A)

op = robot.operators(q, frames="panda_hand")
product = op.mass @ op.mass.inv()
assert_type(product, lw.Operator)
assert_type(op.mass @ v, np.ndarray | Any)
product.explain()
op.mass @ robot  # wrong

motion = lw.simulate(robot, q, v, duration=0.1, step=0.01)
assert_type(motion.q, np.ndarray)
drift: np.ndarray = motion.energy.drift
motion.qq  # wrong

law = LQR.about(robot, q)
tau: np.ndarray = law(0.0, q, v)


def norm(x: Array) -> Array:
    """Of NumPy's arrays as of JAX's."""
    return (x * x).sum(axis=-1) ** 0.5


norm(v)
norm("v")  # wrong


def silly(x: Array) -> Array:
    return np.linalg.norm(x)  # wrong
'''

# No type of a call comes from these, and reading them takes mypy ten seconds where they are installed.
CONFIG = """[mypy]
[mypy-torch.*,IPython.*]
follow_imports = skip
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """mypy's words by line, linkwise being installed: found by its py.typed among the interpreter's packages."""
    folder = tmp_path_factory.mktemp("typed")
    (folder / "script.py").write_text(SCRIPT, encoding="utf-8")
    (folder / "mypy.ini").write_text(CONFIG, encoding="utf-8")
    options = ["--strict", "--config-file=mypy.ini", f"--cache-dir={os.devnull}", "--no-error-summary"]
    packages = str(Path(lw.__file__).parents[1])
    environment = {k: x for k, x in os.environ.items() if k != "MYPYPATH"} | {"PYTHONPATH": packages}
    command = [sys.executable, "-m", "mypy", *options, "script.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    words = {}
    for line in done.stdout.splitlines():
        file, number, kind, text = re.fullmatch(r"([^:]+):(\d+): (\w+): (.*)", line).groups()
        assert file == "script.py", line
        if kind == "error":
            words.setdefault(int(number), []).append(text)
    return words


def test_only_the_wrong_lines_are_refused(said):
    wrong = {n for n, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith("# wrong")}
    assert {n: said[n] for n in said.keys() - wrong} == {}
    assert [SCRIPT.splitlines()[n - 1] for n in sorted(wrong - said.keys())] == []
