"""Operation counts of Algorithms 1 to 6: those on docs/operation_counts.md are what the tracer counts, and no more than
the math notes have.
"""

import re

import operation_counts as counts
import pytest

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
    page = dict(zip(counts.ALGORITHMS, committed(convention)[7], strict=True))
    for name, most in MEASURED[convention].items():
        assert all(x <= y for x, y in zip(page[name], most)), f"Algorithm {name}: {page[name]}"


def committed(convention):
    """{n: [(M, A) of every algorithm]} and the polynomials' text, from the page."""
    text = counts.PAGE.read_text(encoding="utf-8").split(f"### {convention}")[1].split("###")[0]
    rows = re.findall(r"^\| (\d+) \| (\d+ / .*) \|$", text, re.MULTILINE)
    return {int(n): [tuple(int(x) for x in cell.split(" / ")) for cell in cells.split(" | ")] for n, cells in rows}


@pytest.mark.parametrize("convention", counts.PLACES)
def test_the_page_is_what_the_tracer_counts(convention):
    page = committed(convention)
    assert list(page) == list(counts.SIZES)
    for n in (2, 3, 5, 8):  # all others follow from these and their polynomials
        for name, cell in zip(counts.ALGORITHMS, page[n], strict=True):
            found = counts.count(name, n, counts.PLACES[convention][name])
            assert cell == (found.M, found.A), f"{name}, n = {n}: python benchmarks/operation_counts.py --write"


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
