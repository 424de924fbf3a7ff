"""What notebooks show: tables, pictures and curves, for every kind of thing that a user meets."""

import base64
import io
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import linkwise as lw
from linkwise import shown

VOID = {"img", "br", "polyline", "meta", "link", "input"}


class Balanced(HTMLParser):
    """Fails where a tag is closed that was not opened, or left open."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open and self.open.pop() == tag, tag


def checked(thing):
    text = thing._repr_html_()
    parser = Balanced()
    parser.feed(text)
    assert not parser.open
    return text


@pytest.fixture(scope="module")
def run():
    robot = lw.load("double_pendulum")
    return lw.simulate(robot, [1.0, 0.5], duration=0.05, progress=False, target="numpy")


@pytest.mark.parametrize("name", ["panda", "quadruped", "four_bar", "gripper", "satellite"])
def test_a_robot_is_a_table_with_its_picture(name):
    Image = pytest.importorskip("PIL.Image")
    robot = lw.load(name)
    text = checked(robot)
    assert all(joint.name in text for joint, _, _ in robot.coordinates)
    png = base64.b64decode(re.search(r"base64,([^\"]+)", text)[1])
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)
    assert (pixels.max(axis=2) < 160).mean() > 0.005  # something stands there


def test_a_robot_without_pillow_is_a_table(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    text = checked(lw.load("cartpole"))
    assert "slider" in text and "<img" not in text


def test_limits_have_units():
    """Of a joint that slides other ones than of a joint that turns."""
    text = checked(lw.load("cartpole"))
    assert checked(lw.load("panda")).count(" N m<") == 7
    slider, hinge = (re.search(f"<td[^>]*>{name}</td>.*?</tr>", text, re.S)[0] for name in ("slider", "hinge"))
    assert " m<" in slider and " N<" in slider and " N m<" in hinge and " m<" not in hinge.replace(" N m<", "")


def test_names_are_words_not_tags():
    body = lw.Body("<b>", lw.Joint(lw.Revolute("y"), "<script>"), lw.Inertia.sphere(1.0, 0.1))
    assert "<script>" not in checked(lw.assemble("<i>", [body]))


def test_long_robots_are_cut():
    text = checked(lw.chain(50))
    assert "… and 10 more" in text and "joint41" not in text


def test_a_trajectory_has_a_preview(run):
    text = checked(run)
    assert text.count("<polyline") == 2 and "shoulder" in text
    many = lw.simulate(run.robot, np.ones((3, 2)), duration=0.01, progress=False, target="numpy")
    assert "the first of the batch" in checked(many)


def test_an_energy_account_is_a_table(run):
    text = checked(run.energy)
    assert "kinetic" in text and "drift" in text and text.count("<polyline") >= 3
    assert repr(run.energy) == str(run.energy)


def test_kernels_and_sources(run):
    kernel = run.robot.compile("forward_dynamics")
    assert repr(kernel) == "<Kernel forward_dynamics: q (2), v (2), tau (2) → 2>"
    assert "per state" in checked(kernel) and "<details>" in checked(kernel)
    source = run.robot.compile("mass_matrix", target="c")
    assert repr(source) == f"<CSource {source.prototype}, float64>"
    assert source.name in checked(source) and "#include" in checked(source)


def test_rules_and_explanations(run):
    rule = lw.identities()[0]
    assert (
        rule.latex in rule._repr_latex_() and "UF" in checked(rule) and repr(rule).startswith("<Rule phi_inverse: (I")
    )
    op = run.robot.operators(run.q[0])
    found = op.mass.inv().explain()
    assert repr(found) == str(found) and "Identities used" in checked(found)
    assert "\\psi" in checked(op.mass.inv()) and "\\psi" in op.mass.inv()._repr_latex_()
    called = lw.explain(run.robot, "mass_matrix")
    assert repr(called) == str(called) and checked(called)


def test_viewers_stand_in_cells():
    pytest.importorskip("viser")
    with lw.view.open(lw.load("cartpole"), browser=False, port=0) as viewer:
        assert f'src="{viewer.url}"' in checked(viewer)
    made = lw.view.embed(lw.load("cartpole"), height=300)
    assert 'height="300"' in checked(made) and "cartpole – linkwise" in made.html


@pytest.mark.parametrize("values", [[1.0], [2.0, 2.0], [0.0, np.nan, 1.0], [np.nan], np.arange(1000.0)])
def test_curves_of_anything(values):
    text = shown.curve(np.array(values))
    points = re.findall(r"[\d.]+,([\d.]+)", text)
    assert len(points) <= 150 and all(0 <= float(y) <= 22 for y in points)
    assert bool(text) == bool(np.isfinite(values).any())
