"""The benchmark runner: it compares before it times, and says what it compared. Nothing here depends on speed."""

import numpy as np
import pytest

import linkwise as lw
from linkwise import cli
from linkwise.bench.cases import ARGUMENTS, Case, cases, states
from linkwise.bench.libraries import LIBRARIES
from linkwise.bench.runner import run, table


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))


@pytest.mark.parametrize("robot", ["ur5", "quadruped"])
@pytest.mark.parametrize("function", ARGUMENTS)
def test_libraries_compute_the_same(robot, function):
    pytest.importorskip("pinocchio")
    rows = run([Case(robot, function, batch=5)], repeats=1)
    assert {"linkwise", "Pinocchio, Python loop"} <= {r.library for r in rows}
    assert all(r.difference < 1e-10 for r in rows)
    assert all(r.nanoseconds > 0 for r in rows)


def test_states_are_the_same_in_every_run():
    robot = lw.load("ur5")
    case = Case("ur5", "forward_dynamics", batch=3)
    assert all(np.array_equal(a, b) for a, b in zip(states(robot, case), states(robot, case), strict=True))


def test_the_table_names_everything():
    rows = run([Case("double_pendulum", "mass_matrix", batch=4, dtype="float32")], libraries=["linkwise"], repeats=1)
    text = table(rows)
    assert "double_pendulum" in text and "float32" in text and "linkwise" in text
    assert len(list(cases(("a", "b"), ("f",), (1, 2), ("float64",)))) == 4
    assert "linkwise" in LIBRARIES


def test_the_command(capsys):
    options = ["--robot", "double_pendulum", "--function", "mass_matrix", "--batch", "8", "--repeats", "1"]
    code = cli.main(["bench", *options])
    assert code == 0 and "| double_pendulum | mass_matrix" in capsys.readouterr().out
    assert cli.main(["bench", "--function", "flying"]) == 2
    assert "flying" in capsys.readouterr().err
