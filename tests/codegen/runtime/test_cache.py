"""The disk cache: found again, whole or rebuilt, shared, bounded, and off when asked."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from patience import PATIENCE

import linkwise as lw
from linkwise.codegen.runtime import disk_cache as cache
from linkwise.codegen.runtime import engine


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def compiled(robot):
    return robot.compile("mass_matrix").code(np.float64)


def test_a_second_compile_comes_from_disk(folder):
    robot = lw.load("double_pendulum")
    assert not compiled(robot).from_cache
    assert compiled(robot).from_cache
    assert len(list(folder.glob("*.o"))) == 1


@pytest.mark.parametrize("damage", [b"", b"junk", None])
def test_damaged_files_are_rebuilt(folder, damage):
    robot = lw.load("double_pendulum")
    compiled(robot)
    (stored,) = folder.glob("*.o")
    whole = stored.read_bytes()
    stored.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    assert not compiled(robot).from_cache
    assert stored.read_bytes() == whole
    q = robot.neutral()
    assert np.allclose(robot.compile("mass_matrix")(q), robot.mass_matrix(q))


def test_files_under_each_others_names_are_rebuilt(folder):
    """A checksum of the contents alone would let another kernel's code in: garbage, or a crash."""
    robots = [lw.load("double_pendulum"), lw.load("panda")]
    for robot in robots:
        compiled(robot)
    for ending in ("o", "answer"):
        a, b = folder.glob(f"*.{ending}")
        mine, others = a.read_bytes(), b.read_bytes()
        a.write_bytes(others)
        b.write_bytes(mine)
        assert cache.read(a.stem, ending) is None and cache.read(b.stem, ending) is None
        for robot in robots:
            q = robot.random_configuration(0)
            assert np.allclose(robot.compile("mass_matrix")(q), robot.mass_matrix(q, target="numpy"), rtol=1e-12)
        assert (a.read_bytes(), b.read_bytes()) == (mine, others)


def test_the_size_is_bounded(folder, monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE_MB", "0.003")
    for n in range(5):
        cache.write(cache.key(str(n)), bytes(1000))
    assert sum(f.stat().st_size for f in folder.glob("*")) <= 3000
    assert cache.read(cache.key("4")) == bytes(1000)


def test_a_folder_is_not_looked_through_at_every_file(folder, monkeypatch):
    """Of 64 files of a sixty-fourth of the bound: once at the first, and once for every four of them."""
    looks = []
    monkeypatch.setattr(cache.os, "scandir", lambda where, scan=os.scandir: looks.append(where) or scan(where))
    monkeypatch.setenv("LINKWISE_CACHE_MB", "0.064")
    for n in range(64):
        cache.write(cache.key(str(n)), bytes(1000))
    assert len(looks) == 1 + 63 // 4
    old = folder / "looked-through"
    os.utime(old, (0, 0))  # another process looked long ago
    cache.write(cache.key("again"), bytes(1))
    assert len(looks) == 2 + 63 // 4 and old.stat().st_mtime > 0


def test_abandoned_files_go(folder):
    folder.mkdir(exist_ok=True)
    for name, age in (("old.part", 7200), ("new.part", 10)):
        (folder / name).write_bytes(b"half")
        os.utime(folder / name, (time.time() - age,) * 2)
    cache.write(cache.key("x"), bytes(10))
    assert not (folder / "old.part").exists() and (folder / "new.part").exists()


def test_off_means_off(monkeypatch, tmp_path):
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    robot = lw.load("double_pendulum")
    assert not compiled(robot).from_cache
    assert not compiled(robot).from_cache
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("LINKWISE_CACHE", str(blocked))
    assert not compiled(lw.load("double_pendulum")).from_cache


def test_two_processes_fill_one_cache(folder):
    program = (
        "import linkwise as lw, numpy as np\n"
        "r = lw.load('ur5')\n"
        "k = r.compile('forward_dynamics')\n"
        "print(repr(k(r.neutral(), np.ones(6), np.ones(6)).tolist()))\n"
    )
    runs = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = {run.communicate(timeout=PATIENCE)[0] for run in runs}
    assert len(answers) == 1 and all(run.returncode == 0 for run in runs)
    # the kernel, and what all kernels share
    assert len(list(folder.glob("*.o"))) == 2 and not list(folder.glob("*.part"))


def test_a_request_answered_before_needs_no_tracing(folder, monkeypatch):
    robot = lw.load("ur5")
    q = robot.random_configuration(1, 3)
    first = robot.compile("mass_matrix")
    expected = first(q)
    monkeypatch.setattr("linkwise.codegen.pipeline.trace", lambda *a, **k: pytest.fail("traced again"))
    again = lw.load("ur5").compile("mass_matrix")
    assert again.is_remembered and np.array_equal(again(q), expected)
    with pytest.raises(BaseException, match="traced again"):
        again.operations  # noqa: B018
    with pytest.raises(BaseException, match="traced again"):
        lw.load("panda").compile("mass_matrix")


def test_tuples_and_loops_of_steps_are_remembered_too(folder, monkeypatch):
    def asked():
        robot = lw.load("double_pendulum")
        pose = robot.pose([0.1, 0.2], robot.tips[0], target="cpu")
        return pose, lw.simulate(robot, [0.1, 0.2], duration=0.01, target="cpu")

    (R, p), motion = asked()

    def refuse(*_, **__):
        raise AssertionError("traced again")

    monkeypatch.setattr("linkwise.codegen.pipeline.trace", refuse)
    monkeypatch.setattr("linkwise.simulation.steppers.trace", refuse)
    (again_R, again_p), again = asked()
    assert type(R) is type(again_R) and np.array_equal(R, again_R) and np.array_equal(p, again_p)
    assert np.array_equal(motion.q, again.q)


def test_requests_differ_by_robot_function_and_arguments(folder):
    from linkwise.codegen.runtime.requests import request

    panda = lw.load("panda")
    heavier = panda.with_inertial_parameters(1.5 * panda.inertial_parameters)
    keys = {
        request(panda, "jacobian", ("q",), {"frame": "hand"}),
        request(panda, "jacobian", ("q",), {"frame": "elbow"}),
        request(panda, "mass_matrix", ("q",), {}),
        request(panda, "mass_matrix", ("q",), {"method": "direct"}),
        request(heavier, "mass_matrix", ("q",), {}),
    }
    assert len(keys) == 5 and None not in keys
    assert request(panda, "jacobian", ("q",), {"frame": object()}) is None


def test_a_damaged_answer_is_ignored(folder):
    robot = lw.load("double_pendulum")
    compiled(robot)
    (answer,) = folder.glob("*.answer")
    answer.write_bytes(b"{}")
    assert compiled(robot).from_cache


def test_answers_are_for_one_processor(folder, monkeypatch):
    from linkwise.codegen.runtime import engine, requests

    robot = lw.load("double_pendulum")
    here = requests.request(robot, "mass_matrix", ("q",), {})
    monkeypatch.setattr(requests, "host", lambda: engine.Host("another", "+none", 16))
    assert requests.request(robot, "mass_matrix", ("q",), {}) != here


def test_joints_of_a_users_own_making_are_not_remembered(folder):
    from linkwise.codegen.runtime.requests import request

    class Own(lw.Revolute):
        pass

    body = lw.Body("b", lw.Joint(Own("z")), lw.Inertia(1.0, tensor=np.eye(3)))
    assert request(lw.assemble("own", [body]), "mass_matrix", ("q",), {}) is None


def test_a_bound_that_is_no_number_is_named(folder, monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE_MB", "lots")
    with pytest.raises(lw.InputError, match="LINKWISE_CACHE_MB"):
        compiled(lw.load("double_pendulum"))


def test_a_user_without_a_home(monkeypatch):
    monkeypatch.delenv("LINKWISE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def nowhere(cls):
        raise RuntimeError("no home")

    monkeypatch.setattr("pathlib.Path.home", classmethod(nowhere))
    assert not compiled(lw.load("double_pendulum")).from_cache


def test_results_of_several_matrices_are_found_again(folder):
    """A named result, or one of arrays within tuples, needs no tracing in a later process either."""
    first = lw.load("double_pendulum").compile("linearize_forward")
    assert not first.is_remembered
    first.code(np.float64)
    again = lw.load("double_pendulum").compile("linearize_forward")
    assert again.is_remembered
    state = (np.array([0.3, -0.7]), np.array([0.2, 1.1]), np.array([0.5, -0.1]))
    made, found = first(*state), again(*state)
    assert type(found) is type(made)
    assert all(np.array_equal(getattr(found, name), getattr(made, name)) for name in ("Minv", "dv", "dq"))
    assert "trace" not in [x.name for x in again.passes]


def test_levels_of_the_code_generator(folder, monkeypatch):
    """Each has its own code on disk, and all give the same numbers."""
    robot, q = lw.load("panda"), lw.load("panda").random_configuration(1)
    for count, level in enumerate(("0", "2"), 1):
        monkeypatch.setenv("LINKWISE_LLVM_LEVEL", level)
        kernel = robot.compile("mass_matrix")
        assert not kernel.is_remembered
        assert np.allclose(kernel(q), robot.mass_matrix(q, target="numpy"), rtol=1e-12, atol=1e-14)
        assert len(list(folder.glob("*.o"))) == count
    monkeypatch.setenv("LINKWISE_LLVM_LEVEL", "fast")
    with pytest.raises(lw.InputError, match="LINKWISE_LLVM_LEVEL must be 0, 1, 2 or 3, got 'fast'"):
        robot.compile("mass_matrix")


def test_assembly_and_llvms_code_are_two_answers(folder, monkeypatch):
    robot, vector = lw.load("double_pendulum"), engine.host().vector(np.float64)
    for way, answers in (("0", 1), ("1", 2), ("0", 2)):
        monkeypatch.setenv("LINKWISE_ASSEMBLY", way)
        code = compiled(robot)
        assert len(list(folder.glob("*.answer"))) == answers
        assert len(list(folder.glob("*.o"))) == (answers if engine.host().assembles else 1)
        assert code.vector.assembled == (way == "1" and engine.host().assembles)
    assert code.from_cache and code.vector.lanes == vector.lanes
    monkeypatch.setenv("LINKWISE_ASSEMBLY", "yes")
    with pytest.raises(lw.InputError, match="LINKWISE_ASSEMBLY must be 0 or 1, got 'yes'"):
        compiled(robot)
