"""Linearised models as compiled programs: the same numbers, and what they cost."""

import re

import numpy as np
import pytest
from trees import assert_close, robot, state

import linkwise as lw
from linkwise.bench import counts
from linkwise.codegen.pipeline import catalogue

SIGNATURES = {k: tuple(n for n in v if n != "external") for k, v in catalogue(lw.Robot).items()}

CALLS = {
    "linearize_inverse": ("q", "v", "a"),
    "linearize_forward": ("q", "v", "tau"),
    "inverse_dynamics_jvp": ("q", "v", "a", "tau", "v", "a"),
    "inverse_dynamics_vjp": ("q", "v", "a", "tau"),
    "inverse_dynamics_hvp": ("q", "v", "a", "tau", "a", "v", "tau"),
    "forward_dynamics_jvp": ("q", "v", "tau", "a", "v", "a"),
    "forward_dynamics_vjp": ("q", "v", "tau", "a"),
    "forward_dynamics_hvp": ("q", "v", "tau", "a", "v", "a", "tau"),
    "inverse_dynamics_regressor": ("q", "v", "a"),
    "forward_dynamics_sensitivity": ("q", "v", "tau"),
}
FRAMES = (
    "linearize_velocity",
    "linearize_acceleration",
    "operational_compliance_derivative",
    "operational_inertia_derivative",
)


def parts(x):
    return [np.asarray(y) for y in (x if isinstance(x, (tuple, list)) else [x])]


@pytest.mark.parametrize("robot_name", ["ur5", "floating_rotors"])
@pytest.mark.parametrize("name", CALLS)
def test_programs_compute_what_numpy_computes(name, robot_name):
    r, s = robot(robot_name), state(robot(robot_name), (), seed=4)
    arguments = [getattr(s, field) for field in CALLS[name]]
    program = r.compile(name).program
    found = program.interpret(**dict(zip(SIGNATURES[name], arguments)))
    for mine, reference in zip(parts(found), parts(getattr(r, name)(*arguments)), strict=True):
        assert_close(mine, reference, 1e-9)


@pytest.mark.parametrize("robot_name", ["ur5", "arms"])
@pytest.mark.parametrize("name", FRAMES)
def test_programs_of_frames(name, robot_name):
    """An arm; a floating tree with rotors."""
    r, s = robot(robot_name), state(robot(robot_name), (), seed=4)
    arguments = [getattr(s, field) for field in SIGNATURES[name]]
    found = r.compile(name, frame=r.tips[0]).program.interpret(**dict(zip(SIGNATURES[name], arguments)))
    for mine, reference in zip(parts(found), parts(getattr(r, name)(*arguments, r.tips[0])), strict=True):
        assert_close(mine, reference, 1e-9)


@pytest.mark.parametrize("name", [n for n, names in catalogue(lw.Robot).items() if n in CALLS and "external" in names])
def test_external_forces_in_machine_code(name):
    """On a floating robot, for a batch."""
    r = robot("quadruped")
    s = state(r, (5,), seed=2)
    arguments = [getattr(s, field) for field in CALLS[name]]
    call = getattr(r, name)
    found, reference = (parts(call(*arguments, external=s.external, target=t)) for t in ("cpu", "numpy"))
    without = parts(call(*arguments))
    for mine, other in zip(found, reference, strict=True):
        assert_close(mine, other, 1e-10)
    assert max(np.abs(a - b).max() for a, b in zip(reference, without)) > 1e-3


@pytest.mark.parametrize("name", ["linearize_inverse", "linearize_forward"])
def test_kernels(name):
    r = robot("panda")
    s = state(r, (9,), seed=2)
    arguments = [s.q, s.v, s.a]
    for mine, reference in zip(parts(r.compile(name)(*arguments)), getattr(r, name)(*arguments), strict=True):
        assert_close(mine, reference, 1e-11)


# --- what they cost ------------------------------------------------------------------------------------


@pytest.mark.parametrize("r", [robot("panda"), robot("ur5"), robot("humanoid"), lw.chain(30)], ids=lambda r: r.name)
def test_a_direction_costs_at_most_two_and_a_half_forward_dynamics(r):
    """Variant 5-ii, with the forward dynamics that it needs first."""
    once = r.compile("forward_dynamics").operations.total
    assert r.compile("forward_dynamics_jvp").operations.total <= 2.5 * once


@pytest.mark.parametrize("name", ["panda", "ur5", "quadruped", "humanoid", "chain20"])
def test_the_default_has_the_fewest_operations(name):
    r = robot(name)
    default = r.compile("linearize_forward").operations.total
    others = [r.compile("linearize_forward", method=m).operations.total for m in ("algorithm_4", "algorithm_6")]
    assert default == min(others)


def test_gradients_cost_a_sweep():
    """O(n), not O(n²): twice the links, twice the operations."""
    for name in ("inverse_dynamics_vjp", "forward_dynamics_vjp", "inverse_dynamics_jvp", "forward_dynamics_jvp"):
        small, large = (lw.chain(n).compile(name).operations.total for n in (15, 30))
        assert large <= 2.25 * small


# From the math notes: counts at n = 7, as multiplications / additions.
MEASURED = {
    "Link data in inertial axes": {
        "1": (1710, 1570),
        "2": (2715, 2525),
        "3": (2134, 1935),
        "4": (3576, 3218),
        "5": (2852, 2731),
        "5-ii": (2270, 2116),
        "6": (5017, 4688),
    },
    "With forward kinematics": {
        "1": (2205, 1861),
        "2": (3183, 2783),
        "3": (2623, 2218),
        "4": (4044, 3476),
        "5": (3318, 2985),
        "6": (5417, 4879),
    },
}


@pytest.mark.parametrize("convention", MEASURED)
def test_counts_are_at_or_below_those_of_the_notes(convention):
    for name, (M, A) in MEASURED[convention].items():
        found = counts.count(name, 7, counts.PLACES[convention][name])
        assert found.M <= M and found.A <= A, f"Algorithm {name}: {found}"


def committed(convention):
    """{n: [(M, A) of every algorithm]} and the polynomials' text, from the page."""
    text = counts.PAGE.read_text(encoding="utf-8").split(f"### {convention}")[1].split("###")[0]
    rows = re.findall(r"^\| (\d+) \| (\d+ / .*) \|$", text, re.MULTILINE)
    return {int(n): [tuple(int(x) for x in cell.split(" / ")) for cell in cells.split(" | ")] for n, cells in rows}


@pytest.mark.parametrize("convention", counts.PLACES)
def test_the_page_is_what_the_tracer_counts(convention):
    page = committed(convention)
    assert list(page) == list(counts.SIZES)
    for n in (2, 3, 5, 8, 13):
        for name, cell in zip(counts.ALGORITHMS, page[n], strict=True):
            found = counts.count(name, n, counts.PLACES[convention][name])
            assert cell == (found.M, found.A), f"Algorithm {name}, n = {n}: python -m linkwise.bench.counts --write"


@pytest.mark.parametrize("convention", counts.PLACES)
def test_counts_follow_polynomials(convention):
    """Cubics through the last four sizes give all others from n = 4 on."""
    page = committed(convention)
    for i, _ in enumerate(counts.ALGORITHMS):
        for kind in range(2):
            cubic = counts.polynomial({n: cells[i][kind] for n, cells in page.items()})
            assert all(counts.evaluated(cubic, n) == cells[i][kind] for n, cells in page.items() if n >= 4)


def test_below_the_measured_counts_for_every_size():
    page = committed("Link data in inertial axes")
    order = list(counts.ALGORITHMS)
    bounds = {
        "1": (lambda n: 255 * n - 75, lambda n: 238 * n - 96),
        "2": (lambda n: 18 * n**2 + 279 * n - 120, lambda n: 15.5 * n**2 + 273.5 * n - 149),
        "3": (lambda n: n**3 / 6 + 5 * n**2 + 1655 / 6 * n - 99, lambda n: n**3 / 6 + 3.5 * n**2 + 787 / 3 * n - 130),
        "4": (lambda n: 2.5 * n**3 + 18 * n**2 + 279.5 * n - 120, lambda n: 2.5 * n**3 + 12 * n**2 + 274.5 * n - 149),
        "5": (lambda n: 452 * n - 312, lambda n: 442 * n - 363),
        "5-ii": (lambda n: 350 * n - 180, lambda n: 334 * n - 222),
        "6": (lambda n: 27 * n**2 + 598 * n - 492, lambda n: 24 * n**2 + 585 * n - 583),
    }
    for n, cells in page.items():
        for name, (M, A) in bounds.items():
            found = cells[order.index(name)]
            assert found[0] <= M(n) and found[1] <= A(n), f"Algorithm {name}, n = {n}: {found}"
