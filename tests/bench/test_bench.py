"""The benchmarks: what is declared, compared before it is timed, left out, and reported. Nothing depends on speed."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import linkwise as lw
from linkwise import cli
from linkwise.bench import runner
from linkwise.bench.cases import ARGUMENTS, PLAIN, Case, robot_of, states
from linkwise.bench.limits import matrix_of_copies, sines_and_cosines, sum_of_vectors
from linkwise.bench.machine import machine, one_core
from linkwise.bench.peak import kernel_rate, measure_peak
from linkwise.bench.peer import Peer, Work
from linkwise.bench.peers import PEERS
from linkwise.bench.report import from_json, make_report, markdown, short_markdown, to_json, write_between_markers
from linkwise.bench.suites import Suite, find_suite, read_suites
from linkwise.interop.availability import needs
from linkwise.interop.example_robots import example_files

LINEARIZED = ("linearize_inverse", "linearize_forward")
FOR_ONE_STATE = {"linkwise, kernel.quick"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path / "cache"))


# --- what is declared --------------------------------------------------------------------------------


def test_declared_suites():
    suites = read_suites()
    assert {"reach", "peers", "chains", "singles", "float32"} <= set(suites)
    assert all(s.about for s in suites.values())
    reach = {(c.robot, c.function, c.batch, c.dtype) for c in suites["reach"].cases()}
    assert reach == {(r, f, 4096, "float64") for r in ("panda", "humanoid", "talos") for f in PLAIN}
    assert {c.robot for c in suites["chains"].cases()} == {f"chain-{n}" for n in (7, 15, 30, 60, 100, 300, 1000)}
    assert {c.batch for c in suites["singles"].cases()} == {1}
    assert {c.function for c in suites["derivatives"].cases()} == set(LINEARIZED)
    assert {c.function for c in suites["chain_100"].cases()} == set(ARGUMENTS)
    plain_and_linearized = {*PLAIN, *LINEARIZED}
    assert {c.function for c in suites["frames"].cases()} == set(ARGUMENTS) - plain_and_linearized
    assert set(suites["peers"].libraries) == set(PEERS) - FOR_ONE_STATE - {"linkwise, default call"}
    with_copies = [s for s in suites.values() if "Pinocchio, C++ loop" in s.libraries]
    assert with_copies and all("Pinocchio, C++ loop, not copied out" in s.libraries for s in with_copies)


def test_every_declared_robot_exists():
    names = {r for s in read_suites().values() for r in s.robots}
    for name in names - {"talos"}:
        assert robot_of(Case(name, "mass_matrix")).nv > 0
    assert robot_of(Case("chain-30", "mass_matrix")).nv == 30


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("[a]\nfunctions = ['flying']", "flying"),
        ("[a]\nlibraries = ['abacus']", "abacus"),
        ("[a]\ndtypes = ['float16']", "float16"),
        ("[a]\nbatches = [0]", "batches"),
        ("[a]\nrobot = ['panda']", "robots"),
        ("[a\n", "TOML"),
    ],
)
def test_bad_declarations_are_refused(tmp_path, text, culprit):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(lw.LinkwiseError, match=culprit):
        read_suites(path)


def test_talos_comes_from_its_package_or_is_left_out_by_name(monkeypatch):
    if example_files():
        assert robot_of(Case("talos", "mass_matrix")).nv == 38
    monkeypatch.setattr("linkwise.interop.example_robots.example_files", lambda: [])
    rows, left_out = runner.run([Case("talos", "mass_matrix", batch=2)], ["linkwise"], repeats=1)
    assert not rows and left_out[0].library == "every library"
    assert left_out[0].reason == "talos_reduced.urdf is not there; pip install example-robot-data"


def test_an_unknown_suite_names_those_there_are():
    with pytest.raises(lw.LinkwiseError, match="no suite is named 'speed'.*reach"):
        find_suite("speed")


def test_states_are_the_same_in_every_run_and_no_motor_drives_a_free_base():
    case = Case("quadruped", "forward_dynamics", batch=3)
    robot = robot_of(case)
    first, again = states(robot, case), states(robot, case)
    assert all(x.flags.c_contiguous for x in first)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not first[2][:, :6].any() and first[2][:, 6:].all()


# --- comparing before timing -------------------------------------------------------------------------


def with_peer(monkeypatch, prepare):
    monkeypatch.setitem(PEERS, "odd", Peer("odd", ("numpy",), "nothing", prepare))
    return runner.run([Case("ur5", "mass_matrix", batch=2)], ["linkwise", "odd"], repeats=1)


def answering(change):
    def prepare(robot, case, arguments):
        exact = robot.mass_matrix(*arguments)
        return Work(lambda: change(exact))

    return prepare


def test_a_peer_that_agrees_is_timed(monkeypatch):
    rows, left_out = with_peer(monkeypatch, answering(lambda x: x * (1 + 1e-10)))
    assert [r.library for r in rows] == ["linkwise", "odd"] and not left_out
    assert rows[1].difference == pytest.approx(1e-10, rel=1e-3)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda x: x * (1 + 1e-7), "refused: its results differ by 1e-07"),
        (lambda x: x * np.nan, "refused: its results differ by nan"),
        (lambda x: x[:, 0], "refused: its results have shape"),
        (lambda x: 1 / 0, "failed: ZeroDivisionError"),
    ],
)
def test_a_peer_that_differs_is_refused_and_not_timed(monkeypatch, change, reason):
    calls = []
    rows, left_out = with_peer(monkeypatch, answering(lambda x: (calls.append(1), change(x))[1]))
    assert [r.library for r in rows] == ["linkwise"]
    assert left_out[0].library == "odd" and left_out[0].reason.startswith(reason)
    assert len(calls) == 1  # compared once, never timed


def test_a_missing_library_is_named_with_the_remedy(monkeypatch):
    rows, left_out = with_peer(monkeypatch, lambda *a: needs("no_such_library", "no-such-library"))
    assert [r.library for r in rows] == ["linkwise"]
    assert left_out[0].reason == "not installed; pip install no-such-library"
    text = markdown(make_report(Suite("s"), rows, left_out, {}, []))
    assert "Left out: odd (ur5 mass matrix: not installed; pip install no-such-library)." in text


# --- the machine -------------------------------------------------------------------------------------


def test_the_machine_is_described():
    found = machine(["numpy", "no-such-library"])
    assert found["processor"] and found["cores"] >= 1
    assert found["versions"] == {"numpy": np.__version__}


def test_one_core_and_back(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    with one_core():
        assert os.environ["OMP_NUM_THREADS"] == "1"
        assert before is None or len(os.sched_getaffinity(0)) == 1
    assert "OMP_NUM_THREADS" not in os.environ
    assert before is None or os.sched_getaffinity(0) == before


def test_the_peak_is_measured_where_nothing_was_compiled_before():
    """A process that finds its kernels on disk has not loaded LLVM."""
    code = "from linkwise.bench.peak import measure_peak; print(measure_peak('float32', repeats=1).fused > 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr


def test_peak_and_rates():
    peak = measure_peak(np.float32, repeats=1)
    assert all(1e8 < rate < 1e13 for rate in (peak.fused, peak.unfused, peak.storing))
    rows, _ = runner.run([Case("ur5", "mass_matrix", batch=8)], ["linkwise"], repeats=1)
    count = rows[0].operations
    assert kernel_rate(rows[0]) == (count.additions + count.multiplications) / (rows[0].nanoseconds * 1e-9)


def test_parts_of_kernels():
    robot = lw.load("quadruped")
    q = robot.random_configuration(0)
    v, tau = np.ones((2, robot.nv))
    assert np.allclose(lw.compile(sum_of_vectors, robot)(q, v, tau), q[1:] + 2)
    assert np.array_equal(lw.compile(matrix_of_copies, robot)(q), np.resize(q, robot.nv**2))
    assert np.isclose(lw.compile(sines_and_cosines, robot)(q), np.sum(np.sin(2 * q[7:]) / 2))
    assert lw.compile(sines_and_cosines, robot).operations.sines == 24


# --- tables, pictures, the command -------------------------------------------------------------------


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINKWISE_CACHE", str(tmp_path_factory.mktemp("cache")))
        suite = Suite("tiny", "Tiny", robots=("double_pendulum",), batches=(1, 8), libraries=("linkwise",))
        return make_report(suite, *runner.run(suite.cases(), suite.libraries, repeats=1), {}, [])


def test_json_there_and_back(report):
    assert from_json(to_json(report)) == report
    assert json.loads(to_json(report))["timed"]["linkwise"]


def test_the_table(report):
    text = markdown(report)
    assert "**double_pendulum**, one state per call, float64" in text
    assert "| library | forward dynamics | inverse dynamics | mass matrix | inverse mass matrix |" in text
    assert text.count("| **linkwise** |") == 2 and report.machine["processor"] in text
    assert f"- linkwise: {PEERS['linkwise'].timed}" in text


def test_the_table_goes_between_markers(tmp_path, report):
    """The whole or, where the marker says so, the tables and the machine alone; again gives the same."""
    page = tmp_path / "page.md"
    empty = "a\n<!-- bench: tiny -->\n{}<!-- end bench -->\nb\n<!-- bench: tiny short -->\n{}<!-- end bench -->\nc\n"
    page.write_text(empty.format("old\n", ""))
    for _ in range(2):
        write_between_markers(page, report)
        assert page.read_text() == empty.format(markdown(report), short_markdown(report))
    assert "Results agree" not in short_markdown(report) and "| **linkwise** |" in short_markdown(report)

    other = tmp_path / "other.md"
    other.write_text("<!-- bench: other -->\n<!-- end bench -->\n")
    with pytest.raises(lw.LinkwiseError, match="bench: tiny"):
        write_between_markers(other, report)


OPTIONS = ["--robot", "double_pendulum", "--function", "mass_matrix", "--batch", "8", "--repeats", "1"]


def test_libraries_of_one_picture_have_colours_of_their_own():
    pytest.importorskip("matplotlib")
    from linkwise.bench.plot import colour

    names = list(PEERS)
    assert len({colour(name, names) for name in names}) == len(names)


def test_the_command(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    kept, picture, table = tmp_path / "o.json", tmp_path / "o.png", tmp_path / "o.md"
    files = ["--json", str(kept), "--plot", str(picture), "--markdown", str(table)]
    assert cli.main(["bench", *OPTIONS, "--library", "linkwise", "--peak", *files]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "of the peak" in table.read_text() and "double_pendulum" in table.read_text()
    assert capsys.readouterr().out == ""
    assert cli.main(["bench", "--from", str(kept), "--markdown"]) == 0
    assert capsys.readouterr().out == table.read_text()


def test_the_command_lists(capsys):
    assert cli.main(["bench", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in PEERS) and "reach" in out


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--function", "flying"], "flying"),
        (["--library", "abacus"], "abacus"),
        (["--suite", "speed"], "no suite"),
        (["--repeats", "0"], "--repeats"),
        (["--batch", "0"], "batches"),
        (["--json", "nowhere/o.json"], "nowhere"),
        (["--from", "nothing.json"], "cannot be read"),
        (["--robot", "nope"], "built in are"),
    ],
)
def test_bad_options_are_one_line(capsys, tmp_path, monkeypatch, options, hint):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["bench", *options]) == 2
    err = capsys.readouterr().err
    assert hint in err and err.count("\n") == 1
