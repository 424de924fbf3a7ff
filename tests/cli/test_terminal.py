"""The command line on a terminal: colour where there is some, wrapped warnings, names that were nearly right."""

import io
import re
from dataclasses import replace

import pytest

import linkwise as lw
from linkwise import cli
from linkwise.cli import export, info, terminal_text
from linkwise.cli.arguments import load_robot


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")


def run(capsys, *argv):
    try:
        code = cli.main(list(argv))
    except SystemExit as e:
        code = e.code
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["simulate", "panda", "--durration", "1"], "there is no --durration; did you mean --duration?"),
        (["plot", "panda", "joints", "--tranparent"], "did you mean --transparent?"),
        (["plot", "panda", "joins"], "did you mean joints?"),
        (["export", "panda", "forward_dynamcs"], "did you mean forward_dynamics?"),
        (["explain", "panda", "forward_dynamcs"], "did you mean forward_dynamics?"),
        (["simulate", "panda", "--method", "rungekutta4"], "did you mean runge_kutta_4?"),
        (["simulate", "panda", "--method", "two_sweep"], "choose from"),  # of other coordinates than the command line's
        (["simulate", "panda", "--push", "tpc=1,0,0"], "did you mean tcp?"),
        (["plot", "panda", "manipulability", "--frame", "tpc", "--duration", "0.01"], "did you mean tcp?"),
        (["export", "panda", "jacobian", "--set", "frame=tpc"], "did you mean tcp?"),
        (["simulate", "panda", "--q", "panda_jiont4=1"], "did you mean panda_joint4?"),
        (["bench", "--suite", "reech"], "did you mean reach?"),
        (["bench", "--function", "mass_matrx"], "did you mean mass_matrix?"),
        (["view", "panda", "--show", "visuls", "-o", "x.png"], "did you mean visuals?"),
        (["view", "panda", "--size", "640", "-o", "x.png"], "as 640x480"),
        (["plto", "panda"], "did you mean plot?"),
    ],
)
def test_what_was_meant(capsys, tmp_path, monkeypatch, argv, meant):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, *argv)
    assert code == 2 and meant in err, err
    assert not list(tmp_path.iterdir())


def test_colour_where_there_is_a_terminal(monkeypatch):
    terminal, file = Terminal(), io.StringIO()
    assert terminal_text.shows_colour(terminal) and not terminal_text.shows_colour(file)
    assert terminal_text.painted("x", "green", terminal) == "\033[32mx\033[0m"
    assert terminal_text.painted("x", "green", file) == "x"
    monkeypatch.setenv("TERM", "dumb")
    assert not terminal_text.shows_colour(terminal)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert terminal_text.shows_colour(file)
    monkeypatch.setenv("NO_COLOR", "1")  # is stronger than all
    assert not terminal_text.shows_colour(terminal)


def test_what_is_printed_differs_in_colour_alone(capsys, monkeypatch):
    plain = run(capsys, "info", "cartpole")[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = run(capsys, "info", "cartpole")[1]
    assert "\033[" in coloured and re.sub(r"\033\[[\d;]*m", "", coloured) == plain
    assert "\033" not in run(capsys, "info", "cartpole", "--json")[1]


def test_warnings_and_errors_are_wrapped_on_a_terminal(monkeypatch):
    long = "no joint of this robot has damping, so that --damping changes nothing of what is simulated here"
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    terminal_text.show_warning(UserWarning(long))
    said = re.sub(r"\033\[[\d;]*m", "", terminal.getvalue())
    lines = said.splitlines()
    assert len(lines) > 1 and max(map(len, lines)) <= 60 and all(x.startswith("  ") for x in lines[1:])
    assert " ".join(said.split()) == f"linkwise: warning: {long}"
    assert "\033[33mlinkwise: warning:\033[0m" in terminal.getvalue()
    monkeypatch.setattr("sys.stderr", file := io.StringIO())
    terminal_text.show_warning(UserWarning(long))
    assert file.getvalue() == f"linkwise: warning: {long}\n"


def test_one_default_of_q():
    import argparse

    subparsers = next(a for a in cli.build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    defaults = {a.default for sub in subparsers.choices.values() for a in sub._actions if "--q" in a.option_strings}
    assert defaults == {"middle"}


def test_info_suggests_to_let_legged_robots_move(capsys, tmp_path):
    def hint(robot):
        return info.floating_hint(robot)

    body = lw.Inertia.sphere(1.0, 0.1)
    legs = []
    for i, side in enumerate(("left", "right")):
        for part, parent in (("thigh", None), ("calf", f"{side}_thigh")):
            joint = lw.Joint(lw.Revolute("y"), f"{side}_{part}_joint", at=(0, i, -1))
            legs.append(lw.Body(f"{side}_{part}", joint, body, parent))
    walker = lw.assemble("walker", legs)
    assert "2 of its branches" in hint(walker) and "--floating" in hint(walker)
    for robot in (walker.floating(), lw.load("quadruped"), lw.load("panda"), load_robot("chain-5"), lw.load("delta")):
        assert hint(robot) is None
    lw.save_urdf(walker, tmp_path / "walker.urdf")
    assert "--floating lets it move" in run(capsys, "info", str(tmp_path / "walker.urdf"))[1]
    assert "lets it move" not in run(capsys, "info", str(tmp_path / "walker.urdf"), "--floating")[1]


def listed(capsys, name):
    """Function → what --set must give, as the list has it."""
    heading, *rows = run(capsys, "export", name, "--list")[1].splitlines()
    at = heading.index("--set")
    return {row.split()[0]: row[at:].strip() for row in rows}


def test_what_is_listed_can_be_exported(capsys):
    """Each becomes C, with a frame where it asks for one."""
    robot, found = lw.load("double_pendulum"), listed(capsys, "double_pendulum")
    assert len(found) > 60 and found["jacobian"] == "frame" and found["hybrid_dynamics"] == "prescribed"
    given = {"": {}, "frame": {"frame": "tip"}, "prescribed": {"prescribed": ["elbow"]}}
    singular = {"operational_inertia", "operational_inertia_derivative", "operational_bias", "consistent_inverse"}
    for function, needed in found.items():
        if function not in singular | {"tip_force_correction"}:  # two joints do not move a frame in six ways
            assert robot.compile(function, target="c", **given[needed]).prototype


def test_embedded_calls_are_listed_where_loops_say_who_follows(capsys):
    assert not [name for name in listed(capsys, "four_bar") if name.startswith("embedded_")]
    robot = lw.load("four_bar")
    assert not export._can_embed(robot)
    told = [replace(loop, dependent=["coupler_hinge", "rocker_hinge"]) for loop in robot.loops]
    assert export._can_embed(robot.opened.close(*told))


def test_the_viewer_listens_where_it_is_told(capsys, monkeypatch):
    seen = {}

    class Shown:
        url = "http://localhost:1"

        def wait(self):
            pass

    monkeypatch.setattr(lw.view, "open", lambda *a, **given: seen.update(given) or Shown())
    code, _, _ = run(capsys, "view", "panda", "--host", "0.0.0.0", "--mesh-folder", "a", "--mesh-folder", "b")
    assert code == 0 and seen["host"] == "0.0.0.0" and seen["mesh_folders"] == ["a", "b"]
