"""Every command: what it says to people, what it gives to programs, what it writes."""

import argparse
import json
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
from arm_file import ARM
from command_line import data, process, run

import linkwise as lw
from linkwise import cli


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM, encoding="utf-8")
    return path


# --- robots, info ------------------------------------------------------------------------------------


def test_robots_as_data(capsys):
    listed = data(capsys, "robots")["robots"]
    assert [r["name"] for r in listed] == lw.robots()
    assert listed[-1]["nv"] == lw.load(listed[-1]["name"]).nv


def test_info_draws_the_tree(capsys):
    code, out, err = run(capsys, "info", "quadruped")
    assert (code, err) == (0, "")
    robot = lw.load("quadruped")
    assert all(b.name in out for b in robot.bodies)
    assert all(j.name in out for j in robot.joints)
    assert "├─" in out
    assert "└─" in out
    assert out.startswith("quadruped: 13 bodies, 18 degrees of freedom (nq = 19)")


def test_info_as_data(capsys, arm):
    found = data(capsys, "info", arm)
    assert (found["name"], found["nq"], found["nv"], found["mass"]) == ("arm", 2, 2, 1.5)
    shoulder, elbow = found["joints"]
    assert (shoulder["lower"], shoulder["effort"], shoulder["damping"]) == ([-2.0], [10.0], [0.1])
    assert elbow["upper"] == [None]  # unlimited
    assert found["bodies"][1]["parent"] == "upper"
    assert data(capsys, "info", arm, "--floating")["nv"] == 8


def test_info_of_every_joint_kind_and_of_nothing(capsys, tmp_path):
    assert run(capsys, "info", "chain-3")[0] == 0
    stone = tmp_path / "stone.urdf"
    stone.write_text('<robot name="stone"><link name="base"/></robot>', encoding="utf-8")
    code, out, _ = run(capsys, "info", stone)
    assert code == 0
    assert "0 degrees of freedom" in out


def test_info_of_an_mjcf_file(capsys, tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "m.xml"
    path.write_text(
        '<mujoco model="m"><worldbody><body name="b"><joint name="j" limited="true" type="ball" range="0 1"/>'
        '<geom size=".1"/></body>'
        "</worldbody></mujoco>",
        encoding="utf-8",
    )
    code, out, err = run(capsys, "info", path)
    assert code == 0
    assert "not kept: the limits" in err
    assert "Notes" in out
    assert "not kept: the limits" in out


# --- explain -----------------------------------------------------------------------------------------


def test_explain(capsys):
    code, out, err = run(capsys, "explain", "panda", "(H phi M phi* H*)^-1")
    assert (code, err) == (0, "")
    assert out.startswith("(I - H ψ K)* D⁻¹ (I - H ψ K)")
    assert "OA" in out  # the lemma it rests on
    found = data(capsys, "explain", "panda", "H @ phi @ M @ phi.T @ H.T")
    assert found["formula"] == "H φ M φ* H*"
    assert found["shape"] == [7, 7]
    assert found["difference"] < 1e-12


def test_explain_a_call(capsys):
    code, out, _ = run(capsys, "explain", "panda", "forward_dynamics", "--method", "fd1")
    assert code == 0 and "P(k) = φ(k,k-1) P⁺(k-1) φ*(k,k-1) + M(k)" in out and "Operations for one state" in out
    assert data(capsys, "explain", "panda", "mass_times")["call"] == "mass_times"


def test_explain_latex_motion_and_names(capsys):
    assert r"\phi" in run(capsys, "explain", "panda", "H phi", "--latex")[1]
    assert data(capsys, "explain", "panda", "H phi M_hat")["shape"] == [7, 42]
    assert data(capsys, "explain", "panda", "J", "--frame", "flange", "--q", "neutral")["shape"] == [6, 7]
    listed = data(capsys, "explain", "panda", "--names")["operators"]
    assert {"phi", "psi", "mass"} <= {x["name"] for x in listed}


# --- linearize ---------------------------------------------------------------------------------------


def test_linearize_a_pendulum(capsys, tmp_path):
    """A rod hanging from its end swings with ω² = 3g/2l."""
    robot = lw.assemble(
        "rod", [lw.Body("rod", lw.Revolute("y"), lw.Inertia.cylinder(1.0, 0.01, (0, 0, 0), (0, 0, -1)))]
    )
    lw.save_urdf(robot, tmp_path / "rod.urdf")
    found = data(capsys, "linearize", tmp_path / "rod.urdf", "--q", "neutral")
    (mode,) = found["modes"]
    assert 2 * np.pi * mode["frequency"] == pytest.approx(np.sqrt(1.5 * 9.81), rel=1e-3)
    assert abs(mode["damping_ratio"]) < 1e-6
    code, out, _ = run(capsys, "linearize", tmp_path / "rod.urdf", "--q", "3.141592653589793")
    assert code == 0
    assert "1 of 2 modes grow" in out


@pytest.mark.parametrize("ending", ["npz", "json"])
def test_linearize_writes_files(capsys, tmp_path, ending):
    path = tmp_path / f"model.{ending}"
    code, out, err = run(capsys, "linearize", "cartpole", "--q", "-0.1 0.2", "--v", "-1,.5", "--output", path)
    assert (code, err) == (0, "")
    assert "modes" in out
    found = np.load(path) if ending == "npz" else json.loads(path.read_text(encoding="utf-8"))
    assert np.asarray(found["A"]).shape == (4, 4)
    np.testing.assert_allclose(found["q"], [-0.1, 0.2])
    np.testing.assert_allclose(found["v"], [-1, 0.5])


def test_linearize_in_steps(capsys):
    exact = data(capsys, "linearize", "double_pendulum")["modes"]
    stepped = data(capsys, "linearize", "double_pendulum", "--step", "0.00001")["modes"]
    frequencies = [sorted(m["frequency"] for m in modes) for modes in (exact, stepped)]
    np.testing.assert_allclose(*frequencies, rtol=1e-3)


# --- export ------------------------------------------------------------------------------------------


def test_export_c(capsys, tmp_path):
    code, out, err = run(capsys, "export", "double_pendulum", "mass_matrix", "--output", tmp_path / "new")
    assert (code, err) == (0, "")
    names = sorted(p.name for p in (tmp_path / "new").iterdir())
    assert names == ["double_pendulum_mass_matrix.c", "double_pendulum_mass_matrix.h"]
    assert "void double_pendulum_mass_matrix(const double *q, double *out)" in out
    if shutil.which("gcc"):
        source = tmp_path / "new" / names[0]
        subprocess.run(["gcc", "-Werror", "-c", str(source), "-o", str(tmp_path / "x.o")], check=True)


def test_export_a_closed_chain(capsys, tmp_path):
    argv = ["export", "four_bar", "forward_dynamics", "--set", "method=embedded", "--output", tmp_path]
    code, out, err = run(capsys, *argv)
    assert (code, err) == (0, "")
    assert "void four_bar_forward_dynamics(const double *q, const double *v, const double *tau, double *out)" in out
    assert "loop_forces" in data(capsys, "export", "four_bar", "--list")["functions"]
    assert "loop_forces" not in data(capsys, "export", "--list")["functions"]


def test_export_cuda(capsys, tmp_path):
    code, out, err = run(
        capsys, "export", "double_pendulum", "mass_matrix", "--target", "cuda", "--output", tmp_path / "new"
    )
    assert (code, err) == (0, "")
    names = sorted(p.name for p in (tmp_path / "new").iterdir())
    assert names == ["double_pendulum_mass_matrix_cuda.cu", "double_pendulum_mass_matrix_cuda.h"]
    assert "(size_t batch, const double *q, double *out, cudaStream_t stream);  1 ×, 4 +, 1 sin/cos per state" in out


def test_export_cuda_with_settings(capsys):
    argv = ["export", "panda", "jacobian", "--target", "cuda", "--set", "frame=tcp", "--dtype", "float32", "-o", "-"]
    found = data(capsys, *argv)
    assert found["prototype"].startswith(f"cudaError_t {found['name']}(size_t batch, const float *q, float *out")
    assert found["prototype"] in found["header"] and found["prototype"] in found["source"]
    assert found["inputs"] == {"q": 7}
    code, out, _ = run(capsys, *argv)
    assert code == 0
    assert "/* panda_jacobian_cuda.h */" in out and "/* panda_jacobian_cuda.cu */" in out
    listed = data(capsys, "export", "panda", "--target", "cuda", "--list")["functions"]
    assert listed["forward_dynamics"][:3] == ["q", "v", "tau"]


def test_export_to_stdout_and_with_settings(capsys):
    found = data(capsys, "export", "panda", "jacobian", "--set", "frame=tcp", "--dtype", "float32", "-o", "-")
    assert "const float *q" in found["source"]
    code, out, _ = run(capsys, "export", "panda", "jacobian", "--set", "frame=tcp", "-o", "-")
    assert code == 0
    assert "#include <math.h>" in out


def test_export_urdf(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "export", "ur5", "--target", "urdf")[0] == 0
    assert lw.load("ur5.urdf").nv == 6
    assert lw.load(data(capsys, "export", "ur5", "--target", "urdf", "-o", "-")["urdf"]).nv == 6


def test_export_lists(capsys):
    assert data(capsys, "export", "panda", "--list")["functions"]["forward_dynamics"][:3] == ["q", "v", "tau"]


def test_lists_need_no_robot(capsys):
    assert "forward_dynamics" in data(capsys, "export", "--list")["functions"]
    assert "joints" in data(capsys, "plot", "--list")["pictures"]
    assert run(capsys, "explain", "--names")[0] == 0


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["panda"], "name the function"),
        (["panda", "nope"], "no function 'nope'"),
        (["panda", "jacobian"], "--set NAME=VALUE"),
        (["panda", "jacobian", "--set", "frame"], "--set takes NAME=VALUE"),
        (["panda", "jacobian", "--target", "cuda"], "--set NAME=VALUE"),
        (["panda", "mass_matrix", "--target", "urdf"], "no function"),
    ],
)
def test_export_refuses(capsys, argv, words):
    code, _, err = run(capsys, "export", *argv)
    assert code == 2
    assert words in err


# --- simulate, plot, view ----------------------------------------------------------------------------


def test_simulate(capsys, tmp_path):
    path = tmp_path / "t.npz"
    argv = ["simulate", "panda", "--q", "neutral", "--duration", "0.1", "--method", "variational", "--output", path]
    code, out, err = run(capsys, *argv, "--every", "10")
    assert (code, err) == (0, "")
    assert "11 samples" in out
    robot = lw.load("panda")
    found = lw.Trajectory.load(path, robot=robot)
    own = lw.simulate(robot, robot.neutral(), duration=0.1, method="variational", every=10)
    assert np.array_equal(found.q, own.q)
    shown = data(capsys, "simulate", "panda", "--q", "neutral", "--duration", "0.1")
    assert shown["drift"] < 1e-6 and shown["method"] == "runge_kutta_4" and len(shown["q"]) == 7


def test_simulate_with_forces(capsys, tmp_path):
    path = tmp_path / "t.npz"
    argv = ["--q", "random:3", "--tau", "hold", "--push", "tcp=0,0,15", "--limits", "--damping", "--friction"]
    shown = data(capsys, "simulate", "panda", *argv, "--duration", "0.1", "-o", path)
    robot = lw.load("panda")
    q = robot.random_configuration(3)
    tau = robot.gravity_force(q)
    own = lw.simulate(
        robot, q, controller=lambda r, t, q, v: tau, external={"tcp": [0, 0, 0, 0, 0, 15]}, duration=0.1, limits=True,
        damping=True, friction=True,
    )  # fmt: skip
    found = lw.Trajectory.load(path, robot=robot)
    assert np.abs(found.q - own.q).max() < 1e-13 and np.allclose(found.external, own.external)
    assert shown["external"] == pytest.approx(own.energy.external[-1]) and shown["external"] > 0
    assert "external" in run(capsys, "simulate", "panda", *argv, "--duration", "0.01")[1]


def test_simulate_warns_of_numbers_that_no_joint_has(capsys):
    code, _, err = run(capsys, "simulate", "panda", "--damping", "--limits", "--duration", "0.01")
    assert code == 0
    assert err == "linkwise: warning: no joint of 'panda' has damping, so --damping changes nothing\n"
    assert "--limits" in run(capsys, "simulate", "double_pendulum", "--limits", "--duration", "0.01")[2]


def test_simulate_goes_on_from_a_checkpoint(capsys, tmp_path):
    path = tmp_path / "c"
    first = ["simulate", "double_pendulum", "--checkpoint", path]
    code, out, _ = run(capsys, *first, "--duration", "0.1")
    assert code == 0 and "Went on" not in out
    assert f"Went on from {path}" in run(capsys, *first, "--duration", "0.1")[1]
    assert data(capsys, *first, "--duration", "0.2")["q"] == data(capsys, *first[:2], "--duration", "0.2")["q"]
    code, _, err = run(capsys, *first, "--duration", "0.2", "--step", "0.002")
    assert code == 2 and "of another run" in err


@pytest.mark.parametrize(
    "argv",
    [
        *(["--duration", "0"], ["--step", "-1"], ["--q", "1,2"], ["--v", "nope"], ["--q", "j=1"], ["--every", "0"]),
        *(["--method", "euler"], ["--push", "tcp"], ["--push", "tcp=1,2"], ["--push", "nowhere=1,2,3"]),
        *(["--tau", "1,2"], ["-o", "x.txt"], ["-o", "no/x.npz"]),
    ],
)
def test_simulate_refuses(capsys, argv):
    code, out, err = run(capsys, "simulate", "panda", *argv)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


@pytest.mark.parametrize("picture", ["joints", "energy", "phase", "manipulability", "operators"])
def test_plot(capsys, tmp_path, picture):
    pytest.importorskip("matplotlib")
    path = tmp_path / "p.png"
    code, out, err = run(capsys, "plot", "panda", picture, "--duration", "0.05", "-o", path)
    assert (code, err) == (0, "") and str(path) in out
    assert path.read_bytes().startswith(b"\x89PNG")


def test_plot_of_a_trajectory_and_a_frame(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    motion, path = tmp_path / "t.npz", tmp_path / "p.svg"
    assert run(capsys, "simulate", "panda", "--duration", "0.05", "-o", motion)[0] == 0
    argv = ["plot", "panda", "manipulability", "--trajectory", motion, "--frame", "flange", "-o", path]
    assert run(capsys, *argv)[0] == 0
    assert "flange" in path.read_text(encoding="utf-8") or path.stat().st_size > 1000
    listed = data(capsys, "plot", "panda", "--list")["pictures"]
    assert set(listed) == {"costs", "energy", "joints", "manipulability", "operators", "phase"}
    for argv, words in ((["nope"], "choose from costs"), ([], "name a picture"), (["joints", "-o", "x.txt"], ".svg")):
        code, _, err = run(capsys, "plot", "panda", *argv)
        assert code == 2
        assert words in err


def test_view_writes(capsys, tmp_path):
    pytest.importorskip("PIL")
    for name, argv in (("a.png", []), ("b.png", ["--show", "visuals,axes,center_of_mass"]), ("c.gif", ["--play"])):
        path = tmp_path / name
        code, out, err = run(capsys, "view", "panda", "--duration", "0.1", "--size", "160x120", *argv, "-o", path)
        assert (code, err) == (0, "") and str(path) in out
        assert path.stat().st_size > 1000
    assert (tmp_path / "a.png").read_bytes() != (tmp_path / "b.png").read_bytes()
    for argv in (["--show", "ghosts"], ["-o", "x.txt"], ["--port", "99999"]):
        code, out, err = run(capsys, "view", "panda", "--no-browser", *argv)
        assert (code, out) == (2, "") and err.count("\n") == 1


def test_view_serves_until_ctrl_c(capsys, monkeypatch):
    pytest.importorskip("viser")
    from urllib.request import urlopen

    from linkwise.view.viewer import Viewer

    seen = {}

    def looked_at(self):
        seen["page"] = urlopen(self.url).read()
        self.stop()

    monkeypatch.setattr(Viewer, "wait", looked_at)
    shown = data(capsys, "view", "panda", "--port", "0", "--no-browser")
    assert shown["url"].startswith("http://localhost:") and b"<html" in seen["page"].lower()


# --- bench, demo -------------------------------------------------------------------------------------


def test_bench_prints_json(capsys):
    argv = ["--robot", "double_pendulum", "--function", "mass_matrix", "--batch", "4", "--repeats", "1"]
    code, out, _ = run(capsys, "bench", *argv, "--library", "linkwise", "--json")
    assert code == 0
    assert json.loads(out)["rows"]
    code, out, _ = run(capsys, "bench", "--list", "--json")
    assert code == 0
    assert "reach" in json.loads(out)["suites"]


def test_demo_as_data(capsys):
    found = data(capsys, "demo", "--robot", "double_pendulum", "--no-picture")
    assert found["robot"] == "double_pendulum"
    assert found["drift"] < 1e-3


# --- completion --------------------------------------------------------------------------------------

COMPLETED = [
    (["info"[:3]], "info"),
    (["info", "panda_g"], "panda_gripper"),
    (["check", "--str"], "--strict"),
    (["export", "panda", "--target", "ur"], "urdf"),
    (["demo", "--robot", "ur"], "ur5"),
    (["completion", "zs"], "zsh"),
    (["info", "ro"], "robot.urdf"),
    (["simulate", "panda", "--method", "vari"], "variational"),
    (["simulate", "panda", "--q", "mid"], "middle"),
    (["simulate", "panda", "--duration", "2", "--tau", "ho"], "hold"),
    (["plot", "panda", "mani"], "manipulability"),
    (["plot", "panda", "--duration", "3", "joi"], "joints"),
    (["plot", "panda", "manipulability", "--frame", "fla"], "flange"),
    (["plot", "--frame", "fla", "panda", "phas"], "phase"),
    (["plot", "panda", "joints", "--theme", "da"], "dark"),
    (["export", "panda", "forward_dynamics_v"], "forward_dynamics_vjp"),
    (["explain", "panda", "coriolis_m"], "coriolis_matrix"),
    (["explain", "panda", "forward_dynamics", "--method", "vere"], "vereshchagin"),
    (["view", "panda", "--show", "inert"], "inertias"),
    (["sweep", "study.toml", "--engine", "das"], "dask"),
    (["bench", "--suite", "peer"], "peers"),
    (["bench", "--function", "linearize_inv"], "linearize_inverse"),
    (["simulate", "quadruped", "--push", "FL_fo"], "FL_foot"),
]


def test_bash_completes(capsys, tmp_path):
    """One word after another in one shell, as people have it."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    (tmp_path / "robot.urdf").write_text("", encoding="utf-8")
    script = run(capsys, "completion", "bash")[1]
    for words, _ in COMPLETED:
        line = ["linkwise", *words]
        quoted = " ".join(f"'{w}'" for w in line)
        script += f'\nCOMP_WORDS=({quoted}); COMP_CWORD={len(line) - 1}; _linkwise; echo "${{COMPREPLY[@]}}"\n'
    done = subprocess.run([bash], input=script, capture_output=True, text=True, cwd=tmp_path)
    found = [x.split() for x in done.stdout.splitlines()]
    for (words, expected), reply in zip(COMPLETED, found, strict=True):
        assert reply == [expected], (words, done.stderr)


def test_fish_completes(capsys, tmp_path):
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("no fish here")
    (tmp_path / "robot.urdf").write_text("", encoding="utf-8")
    (tmp_path / "linkwise.fish").write_text(run(capsys, "completion", "fish")[1], encoding="utf-8")
    asked = "; echo; ".join(f'complete -C "{" ".join(["linkwise", *words])}"' for words, _ in COMPLETED)
    done = subprocess.run([fish, "-c", f"source linkwise.fish; {asked}"], capture_output=True, text=True, cwd=tmp_path)
    for (words, expected), reply in zip(COMPLETED, done.stdout.split("\n\n"), strict=True):
        assert expected in [x.split("\t")[0] for x in reply.splitlines()], (words, done.stderr)


def test_zsh_reads_the_script(capsys, tmp_path):
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("no zsh here")
    script = tmp_path / "linkwise.zsh"
    script.write_text(run(capsys, "completion", "zsh")[1], encoding="utf-8")
    done = subprocess.run(
        [zsh, "-f", "-c", f"source {script} && print $_comps[linkwise]"], capture_output=True, text=True
    )
    assert "_linkwise" in done.stdout, done.stderr


def test_every_command_and_option_is_completed(capsys):
    scripts = {shell: data(capsys, "completion", shell)["script"] for shell in ("bash", "zsh", "fish")}
    subparsers = next(a for a in cli.build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    for name, sub in subparsers.choices.items():
        for option in (s for a in sub._actions for s in a.option_strings if s.startswith("--")):
            assert option in scripts["bash"]
            assert f"-l {option[2:]}" in scripts["fish"]
        assert name in scripts["zsh"]


# --- help --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", cli.COMMANDS, ids=lambda c: c.name)
def test_help_has_examples_that_parse(capsys, command):
    import shlex

    code, out, _ = run(capsys, command.name, "--help")
    assert code == 0
    assert "examples:" in out
    assert "--json" in out
    parser = cli.build_parser()
    shown = [line.strip() for line in command.examples.splitlines() if line.strip().startswith("linkwise ")]
    assert shown
    for line in shown:
        argv = shlex.split(line.split(" | ")[0].split(" > ")[0])[1:]
        assert parser.parse_args(argv).command == command.name


def test_help_is_quick():
    """Nothing heavy is imported for it."""
    code = (
        "import sys, linkwise.cli\n"
        "try: linkwise.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'matplotlib', 'scipy', 'jax', 'mujoco', 'pinocchio', 'viser'} & set(sys.modules)\n"
        "sys.exit(bool(heavy))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_python_m_linkwise():
    done = process("--version")
    assert (done.returncode, done.stdout) == (0, f"linkwise {lw.__version__}\n")


def test_warnings_stay_off_stdout(capsys, tmp_path):
    path = tmp_path / "odd.urdf"
    path.write_text(ARM.replace('<limit lower="-2" upper="2" velocity="3" effort="10"/>', ""), encoding="utf-8")
    with warnings.catch_warnings():
        code, out, err = run(capsys, "info", path, "--json")
    assert code == 0
    assert json.loads(out)["notes"]
    assert err.startswith("linkwise: warning: ")
