"""The errors on docs/accuracy.md are of the size measured here, and the oracle behind them has more digits."""

import re

import accuracy
import numpy as np
import pytest

import linkwise as lw

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).eps >= np.finfo(float).eps, reason="long doubles are no longer than float64 here"
)
PAGE = accuracy.PAGE.read_text(encoding="utf-8")


def row(*start, table="Functions"):
    """The numbers of the row of one of the page's tables that starts so; None for "–"."""
    text = PAGE[PAGE.index(f"### {table}") :]
    line = re.search(r"^\| " + re.escape(" | ".join(start)) + r" \|(.*)\|$", text, re.MULTILINE)
    assert line, f"docs/accuracy.md has no row for {start}"
    return [None if x.strip() == "–" else float(x) for x in line[1].split("|")]


@pytest.mark.parametrize("function", accuracy.FUNCTIONS)
def test_errors_are_of_the_size_on_the_page(function):
    found = accuracy.measured("panda", function)
    shown = row("panda", function.replace("_", " "))
    for x, y in zip((found.compiled, found.numpy, found.compiled32, found.numpy32), shown):
        assert y / 10 < x < 10 * y


@pytest.mark.parametrize("largest", accuracy.ANGLES)
def test_sines_and_cosines_are_as_exact_as_the_page_says(largest):
    shown = row("π" if largest == np.pi else f"{largest:.0e}".replace("e+0", "e"), table="Sine and cosine")
    for dtype, of_page in ((np.float64, shown[:2]), (np.float32, shown[2:])):
        for x, y in zip(accuracy.ulps(largest, dtype), of_page):
            assert y / 2 < x <= 2 * y


def test_identities_hold_as_the_page_says():
    found = accuracy.residuals("panda")
    values = (found.condition, found.inverse, found.factors, found.round_trip, found.oracle)
    for x, y in zip(values, row("panda", table="Identities")):
        assert y / 10 < x < 10 * y


@pytest.mark.parametrize("name", ["panda", "humanoid"])
def test_the_oracle_has_more_digits_than_float64(name):
    assert accuracy.residuals(name, batch=4).oracle < 1e-2 * accuracy.residuals(name, batch=4).round_trip


@pytest.mark.parametrize("robot", [lw.chain(4, joint="spherical"), lw.random_tree(8, seed=1)], ids=lambda r: r.name)
def test_long_doubles_stay_long(robot):
    q = robot.random_configuration(0, batch=3)
    v, tau = np.random.default_rng(0).normal(size=(2, 3, robot.nv))
    found = robot.forward_dynamics(*(x.astype(np.longdouble) for x in (q, v, tau)), target="numpy")
    assert found.dtype == np.longdouble
    assert np.allclose(found.astype(float), robot.forward_dynamics(q, v, tau, target="numpy"), rtol=1e-9)


@pytest.mark.parametrize(("x", "text"), [(1.2e-15, "2e-15"), (9.5e-7, "1e-6"), (2e-3, "2e-3"), (0.0, "0"), (None, "–")])
def test_errors_are_rounded_up(x, text):
    assert accuracy.shown(x) == text
