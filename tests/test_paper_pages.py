"""The pages of the papers name calls that exist, and leave out no numbered equation, lemma or algorithm."""

import re

import pytest
from linkages import four_bar

import linkwise as lw
from linkwise import control
from linkwise.robot.diagonal import DIAGONAL_CORIOLIS_METHODS, DIAGONAL_METHODS
from snippets import PAGES, ROOT

PAGES_OF_PAPERS = [p for p in PAGES if p.stem.startswith("paper")]
MOVING = lw.chain(2).operators([0.1, 0.2], v=[0.3, 0.4], a=[0.5, 0.6])
ROOTS = {"lw": lw, "robot": four_bar(), "op": MOVING, "control": control}
METHODS = {
    *lw.FORWARD_METHODS,
    *lw.INVERSE_LINEARIZATIONS,
    *lw.FORWARD_LINEARIZATIONS,
    *DIAGONAL_CORIOLIS_METHODS,
    *DIAGONAL_METHODS,
    *("newton_euler", "composite_body"),
    *("composite", "symmetric", "direct"),
}


def numbered(prefix, last, first=1):
    return [f"({prefix}{i})" for i in range(first, last + 1)]


def titled(title, *numbers):
    return [f"{title} {n}" for n in numbers]


CONTENTS = {
    "paper_operator_algebra": [
        *numbered("2.", 1),
        *numbered("3.", 6),
        *numbered("4.", 8),
        *numbered("5.", 11),
        *titled("Lemma", "4.1", "4.2", "4.3", "5.1", "A.1"),
    ],
    "paper_jpl_88_11": [
        *numbered("2.", 32),
        *numbered("3.", 23),
        *numbered("4.", 23),
        *numbered("5.", 17),
        *numbered("a.", 51),
        *numbered("b.", 10),
        *("Fact 4.1", "Fact 4.2", "Theorem 4.1", "Identity 5.1", "Lemma A.1", "Corollary A.1"),
        *("FD1", "FD2", "FD3", "FD4"),
    ],
    "paper_unified": [
        *numbered("", 60),
        *titled("Lemma", "3.1", "3.2", "6.1", "6.2", "6.3", "6.4", "6.5"),
        *("Table 1", "Vereshchagin", "Armstrong", "Featherstone", "Rodriguez", "Brandl", "Bae", "Rosenthal"),
    ],
    "paper_linearized": [
        *numbered("1.", 6),
        *numbered("2.", 20),
        *numbered("3.", 8),
        *numbered("4.", 26),
        *numbered("A.", 24),
        *titled("Lemma", "3.1", "3.2", *(f"4.{i}" for i in range(1, 10))),
        *titled("Algorithm", *range(1, 7)),
    ],
    "paper_diagonalized": [
        *numbered("1.", 4),
        *numbered("2.", 5),
        *numbered("3.", 2),
        *numbered("4.", 12, first=2),
        *numbered("5.", 6),
        *numbered("6.", 18),
        *numbered("7.", 10),
        *numbered("8.", 6),
        *("(4.1a)", "(4.1d)", "(4.10a)", "(4.10d)", "(6.16a)", "(6.16c)"),
        *titled("Lemma", "2.1", "2.2", "3.1", "6.1", "6.2", "7.1", "7.2", "7.3"),
        *titled("Identity", "4.1", "4.2", "6.1", "6.2", "6.3", "7.1"),
        *titled("Algorithm", "4.1", "6.1", "7.1", "8.1"),
        *titled("Table", *range(1, 5)),
        *("Assumption 1", "Assumption 2", "Control 8.1", "Control 8.2"),
    ],
}


def text(page):
    return page.read_text(encoding="utf-8")


def with_ranges(words):
    """The text with "(2.2)–(2.6)" written out, and "(6.16a)" followed by "(6.16)"."""

    def out(m):
        return " ".join(numbered(m[1], int(m[4]), first=int(m[2])))

    words = re.sub(r"\((\w\.|)(\d+)\w?\)–\((\w\.|)(\d+)\w?\)", lambda m: f"{m[0]} {out(m)}", words)
    return re.sub(r"\(((?:\w\.|)\d+)[a-d]\)", r"\g<0> (\1)", words)


def without_identities(words):
    """The page without the generated table, which must not stand in for a line of its own."""
    return words[: words.index("## Every identity")]


@pytest.mark.parametrize("page", CONTENTS)
def test_nothing_of_the_paper_is_left_out(page):
    words = with_ranges(without_identities(text(ROOT / "docs" / f"{page}.md")))
    missing = [item for item in CONTENTS[page] if item not in words]
    assert not missing, f"docs/{page}.md says nothing about {', '.join(missing)}"


def unresolved(words):
    """The names after lw., robot., op. and control. that lead nowhere."""
    wrong = []
    for code in re.findall(r"`([^`\n]+)`", words):
        for root, dotted in re.findall(r"\b(lw|robot|op|control)((?:\.[A-Za-z_]\w*)+)", code):
            first, *rest = dotted[1:].split(".")
            found = getattr(ROOTS[root], first, None)
            if not hasattr(ROOTS[root], first) or (rest and not hasattr(found, rest[0])):
                wrong.append(f"{root}{dotted}")
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_every_call_that_is_named_exists(page):
    assert not unresolved(text(page))


def test_a_call_that_does_not_exist_is_found():
    assert unresolved("`robot.mass_matirx(q)`, `op.mass.invert()`, `lw.load`") == [
        "robot.mass_matirx",
        "op.mass.invert",
    ]


@pytest.mark.parametrize("page", PAGES_OF_PAPERS, ids=lambda p: p.stem)
def test_every_method_that_is_named_exists(page):
    assert set(re.findall(r'method="(\w+)"', text(page))) <= METHODS


@pytest.mark.parametrize("page", PAGES_OF_PAPERS, ids=lambda p: p.stem)
def test_every_quantity_that_is_named_is_returned(page):
    robot = lw.chain(3)
    x = [0.1, 0.2, 0.3]
    for line in text(page).splitlines():
        for call, keys in re.findall(r'forward_quantities\(([^)]*)\)((?:\["\w+"\]|`, `)+)', line):
            method = re.search(r'method="(\w+)"', call)
            found = robot.forward_quantities(x, x, x, method=method[1] if method else "articulated_body")
            assert set(re.findall(r'\["(\w+)"\]', keys)) <= set(found), line
