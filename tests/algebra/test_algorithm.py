"""lw.explain(): calls of the catalogue as recursions, read from their code; what is printed is what happens."""

import html
import importlib.util
import re

import numpy as np
import pytest
from algorithm_reader import AlgorithmReader
from latex import refuse_bad_latex
from sprung import sprung
from trees import robot

import linkwise as lw
from linkwise.algebra import algorithm_trace
from linkwise.codegen.facts import catalogue
from linkwise.dynamics.forward import methods as forward

ROBOTS = {
    "chain": lambda: lw.chain(5, seed=1),
    "quadruped": lambda: lw.load("quadruped"),
    "tree": lambda: lw.random_tree(9, seed=2, joints=["revolute", "prismatic"]),
}
RUN = {
    **{f"forward_dynamics {m}": ("v", "tau") for m in ("articulated_body", "fd1", "fd3", "fd4", "vereshchagin")},
    "mass_solve sweep": ("tau",),
    "mass_times": ("x",),
    "inverse_dynamics newton_euler": ("v", "a"),
    "bias_force": ("v",),
}
LETTERS = {"tau": "τ", "x": "x", "v": "v", "a": "a"}


@pytest.mark.parametrize("robot_name", ROBOTS)
@pytest.mark.parametrize("call", RUN)
def test_the_printed_recursions_compute_the_result(call, robot_name):
    r = ROBOTS[robot_name]()
    name, _, method = call.partition(" ")
    fixed = {"method": method} if method else {}
    explanation = lw.explain(r, name, **fixed)
    rng = np.random.default_rng(1)
    q, given = r.random_configuration(rng), {x: rng.normal(size=r.nv) for x in RUN[call]}
    reader = AlgorithmReader(r, explanation, q, **{LETTERS[x]: y for x, y in given.items()})
    found = reader.run(explanation.result.removesuffix("(k)"))
    expected = getattr(r, name)(q, *given.values(), target="numpy", **fixed)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


def test_as_the_papers_print_it():
    text = lw.explain(lw.load("panda"), "forward_dynamics").recursion
    for line in (
        "inward, k = 1 … n (tips to base), from P⁺(0) = 0:",
        "P(k) = φ(k,k-1) P⁺(k-1) φ*(k,k-1) + M(k)",
        "outward, k = n … 1 (base to tips), from α(n+1) = [0; -g]:",
        "β̇(k) = D⁻¹(k) ε(k) - G*(k) moved(k)",
    ):
        assert line in text
    tree = lw.explain(lw.load("quadruped"), "mass_matrix").recursion
    assert "R(k) = Σ φ(k,j) R(j) φ*(k,j) + M(k)" in tree


def test_it_is_that_of_the_robot():
    """Rotors, where there are some, and not where there are none."""
    assert "D(k) = H(k) U(k) + Γ(k)" in lw.explain(robot("hinges"), "mass_solve").recursion
    assert "Γ" not in lw.explain(lw.load("panda"), "mass_solve").recursion


METHODS = {
    "forward_dynamics": [m for m in lw.FORWARD_METHODS if m != "armstrong"],
    "mass_matrix": ["composite", "symmetric", "direct"],
    "mass_matrix_inverse": ["columns", "paths", "rows", "scan"],
    "mass_solve": ["sweep", "scan"],
    "inverse_dynamics": ["newton_euler", "composite_body"],
    "linearize_forward": list(lw.FORWARD_LINEARIZATIONS),
    "linearize_inverse": list(lw.INVERSE_LINEARIZATIONS),
}
EVERY = [(name, m) for name in catalogue(lw.Robot) for m in [None, *METHODS.get(name, [])]]


@pytest.mark.parametrize(("name", "method"), EVERY)
def test_every_call_of_the_catalogue_has_an_explanation(name, method):
    r = robot("chain6")  # on which (J*J)⁻¹ exists
    r = sprung(r) if name == "spring_force" else r  # without springs there is nothing to it
    explanation = lw.explain(r, name, **({} if method is None else {"method": method}))
    lines = explanation.recursion.splitlines()
    assert any(line.startswith("    ") for line in lines)
    assert "⟪" not in explanation.recursion and "…)" not in explanation.recursion.replace("1 … n", "").replace(
        "n … 1", ""
    )
    refuse_bad_latex(explanation.latex)


def test_a_notebook_shows_it_typeset():
    shown = html.unescape(lw.explain(lw.load("panda"), "forward_dynamics")._repr_html_())
    found = re.findall(r"\$\$([^$]+)\$\$", shown)
    assert len(found) > 4 and "Operations for one state" in shown
    for formula in found:
        refuse_bad_latex(formula)


def test_most_sweeps_are_formulas():
    """What is left as code is what looks at single bodies, or is no formula."""
    plain = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "mass_solve", "mass_times", "total_rates",
             "joint_rates", "working_forces", "link_forces", "gravity_force")  # fmt: skip
    for name in plain:
        assert "as in the code" not in lw.explain(robot("panda"), name).recursion, name


PLANTED = """
from linkwise import arrays
from linkwise.dynamics.articulated import articulated, smooth, whiten
from linkwise.dynamics.forward.articulated_body import Forward, bias_free_forces, prepare


def planted(model, q, v, tau, external=None):
    x = prepare(model, q, v, tau, external)
    art = articulated(x.links)
    T = bias_free_forces(x)
    epsilon = whiten(x.links, art, T)
    nu = [Di @ e for Di, e in zip(art.D_inverse, epsilon)]
    beta_dot, lam = smooth(x.links, art, nu)
    return Forward(x.links, beta_dot, {"lambda": lam})
"""


def test_a_changed_algorithm_has_a_changed_explanation(tmp_path, monkeypatch):
    """The same function from a file, as it is and with a sign turned in it."""
    monkeypatch.setattr(algorithm_trace, "_FOLLOWED", (*algorithm_trace._FOLLOWED, str(tmp_path)))
    r = lw.load("panda")
    said = []
    for i, source in enumerate((PLANTED, PLANTED.replace("[Di @ e for", "[-Di @ e for"))):
        path = tmp_path / f"planted{i}.py"
        path.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        monkeypatch.setitem(forward.FORWARD_METHODS, "planted", module.planted)
        said.append(lw.explain(r, "forward_dynamics", method="planted").recursion)
    right, wrong = said
    assert right == lw.explain(r, "forward_dynamics", method="fd1").recursion
    assert "ν(k) = D⁻¹(k) ε(k)" in right and "ν(k) = -D⁻¹(k) ε(k)" in wrong


def test_costs_are_those_of_the_compiled_call():
    r = lw.load("panda")
    explanation = lw.explain(r, "forward_dynamics")
    assert explanation.operations == r.compile("forward_dynamics").operations
    assert str(explanation.operations) in str(explanation)
    assert lw.explain(r, "forward_dynamics", method="scan").operations is None
    assert "not counted" in str(lw.explain(lw.chain(200), "gravity_force"))


def test_closed_robots_have_one_too():
    text = lw.explain(lw.load("four_bar"), "forward_dynamics", method="fd1").recursion
    assert "D(k) = H(k) U(k)" in text and "as in the code:" in text


def test_what_is_not_admitted_is_refused_by_name():
    with pytest.raises(lw.UnknownNameError, match="did you mean forward_dynamics"):
        lw.explain(lw.chain(2), "forward_dynamic")
    with pytest.raises(lw.InputError, match="takes a robot"):
        lw.explain("panda", "forward_dynamics")
