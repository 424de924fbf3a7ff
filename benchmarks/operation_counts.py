"""Operation counts of the Linearized dynamics paper's Algorithms 1 to 6, measured by tracing: a table for the docs.

``python benchmarks/operation_counts.py`` prints it, with ``--write`` it goes between the markers of
``docs/operation_counts.md``. Serial chains of n hinges of general geometry, no gravity, accelerations given.

*Inertial axes*: axes, positions, first moments and inertias of the links are inputs in inertial axes; moving them to
the common point 𝓘 counts. *With kinematics*: joint angles are inputs, and the links' constants are symbols in link
axes (a twist about x, a general offset), so that forward kinematics counts too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pages import print_or_write

from linkwise.dynamics.articulated import articulated
from linkwise.dynamics.linearized import forward
from linkwise.dynamics.linearized.algorithm_6 import algorithm_6
from linkwise.dynamics.linearized.inverse import algorithm_1, algorithm_2
from linkwise.dynamics.linearized.variations import Motion, Velocities, motion, velocity_terms_of
from linkwise.dynamics.links import Links
from linkwise.dynamics.referred_links import Placed, own_frames, referred
from linkwise.spatial import RigidInertia, Transform, congruence, rotation_about
from linkwise.sweeps import BodyTree
from linkwise.symbols.outputs import reachable
from linkwise.symbols.scalar import Graph, Scalar

PAGE = Path(__file__).parents[1] / "docs" / "operation_counts.md"
SIZES = range(2, 31)
START, END = "<!-- counts -->", "<!-- end counts -->"


class Count(NamedTuple):
    """Multiplications (with divisions), additions, and multiplications by powers of two."""

    M: int
    A: int
    S: int


def counted(outputs: list[Any]) -> Count:
    """What the outputs cost, in the papers' terms."""
    M = A = S = 0
    for node in reachable(outputs):
        if node.op in ("add", "sub"):
            A += 1
        elif node.op == "inv":
            M += 1
        elif node.op == "mul":
            factor = node.args[1]
            if isinstance(factor, float) and np.frexp(abs(factor))[0] == 0.5:
                S += 1
            else:
                M += 1
    return Count(M, A, S)


def _f(text: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(x) for x in text.split())


# --- chains of general geometry ------------------------------------------------------------------------


def _inertia(graph: Graph, k: int) -> RigidInertia:
    m = graph.inputs(f"m{k}", 1)
    h = graph.inputs(f"h{k}", 3)
    xx, xy, yy, xz, yz, zz = graph.inputs(f"J{k}", 6)
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object)
    return RigidInertia(m[0:1].reshape(()), h, J)


def _chain(n: int, phi: list[Transform], H: list[Any], M: list[RigidInertia], q: Any) -> Links:
    none: list[Any] = [None] * n
    return Links(BodyTree(tuple(range(-1, n - 1))), [str(k) for k in range(n)], phi, H, M, none, none, [1] * n, q)


def in_inertial_axes(graph: Graph, n: int) -> Placed:
    """Everything at one inertially fixed point, from data in inertial axes; every φ is the identity."""
    H, M = [], []
    for k in range(n):
        h, r = graph.inputs(f"axis{k}", 3), graph.inputs(f"r{k}", 3)
        linear = np.array([r[1] * h[2] - r[2] * h[1], r[2] * h[0] - r[0] * h[2], r[0] * h[1] - r[1] * h[0]])
        H.append(np.concatenate([h, linear])[None, :])
        M.append(congruence(Transform(np.eye(3), r), _inertia(graph, k)))
    links = _chain(n, [Transform.identity() for _ in range(n)], H, M, graph.inputs("q", n))
    return own_frames(links)


def with_kinematics(graph: Graph, n: int) -> Placed:
    """Link frames, from joint angles and constants: a twist (cosine and sine) about x, an offset, hinges about z."""
    q = graph.inputs("q", n)
    phi = []
    for k in range(n):
        c, s = graph.inputs(f"twist{k}", 2)
        twist = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]], dtype=object)
        turn = rotation_about(np.array([0.0, 0.0, 1.0]), q[k])
        phi.append(Transform(twist @ turn, graph.inputs(f"l{k}", 3)))
    H = [np.array([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]) for _ in range(n)]
    return own_frames(_chain(n, phi, H, [_inertia(graph, k) for k in range(n)], q))


def in_one_frame(graph: Graph, n: int) -> Placed:
    """The same, moved to the frame of the first link."""
    return referred(with_kinematics(graph, n).links, [0] * n)


def _motion(graph: Graph, placed: Placed) -> Motion:
    links = placed.links
    rates: Velocities = velocity_terms_of(placed, graph.inputs("v", links.nv), [None] * links.nv)
    return motion(rates, links.split(graph.inputs("a", links.nv)), None, np.zeros((6, 1)))


# --- the algorithms ------------------------------------------------------------------------------------


def _directions(graph: Graph, m: Motion, last: str) -> list[Any]:
    return [m.links.split(graph.inputs(name, m.links.nv)) for name in ("dq", "dv", last)]


ALGORITHMS: dict[str, Callable[[Graph, Motion], Any]] = {
    "1": lambda g, m: algorithm_1(m, *_directions(g, m, "da")),
    "2": lambda g, m: algorithm_2(m),
    "3": lambda g, m: forward.algorithm_3(m, *_directions(g, m, "dtau")),
    "4": lambda g, m: forward.algorithm_4(m),
    "5": lambda g, m: forward.algorithm_5(m, articulated(m.links), *_directions(g, m, "dtau")),
    "5-ii": lambda g, m: forward.algorithm_5_ii(m, articulated(m.links), *_directions(g, m, "dtau")),
    "6": lambda g, m: algorithm_6(m, articulated(m.links)),
}


def count(algorithm: str, n: int, place: Callable[[Graph, int], Placed]) -> Count:
    """The operations of one algorithm on a chain of n links."""
    graph = Graph()
    result = ALGORITHMS[algorithm](graph, _motion(graph, place(graph, n)))
    return counted([x for array in result for x in np.ravel(array) if isinstance(x, Scalar)])


# --- the page ------------------------------------------------------------------------------------------

# As printed, coefficients of n⁰, n¹, n², n³: (multiplications, additions). 5-ii is not in the paper.
PRINTED: dict[str, tuple[tuple[Fraction, ...], tuple[Fraction, ...]]] = {
    "1": (_f("-159 320"), _f("-149 303")),
    "2": (_f("-132 333 21"), _f("-145 605/2 47/2")),
    "3": (_f("-153 952/3 3/2 1/6"), _f("-147 1805/6 1 1/6")),
    "4": (_f("-132 998/3 43/2 17/6"), _f("-145 1819/6 20 17/6")),
    "5": (_f("-129 259"), _f("-123 232")),
    "6": (_f("-225 781 36"), _f("-255 773 33")),
}

# The frames in which an algorithm costs least once kinematics counts.
PLACES: dict[str, dict[str, Callable[[Graph, int], Placed]]] = {
    "Link data in inertial axes": dict.fromkeys(ALGORITHMS, in_inertial_axes),
    "With forward kinematics": {**dict.fromkeys(ALGORITHMS, in_one_frame), "1": with_kinematics},
}


def polynomial(values: dict[int, int]) -> tuple[Fraction, ...]:
    """The cubic through four counts, coefficients of n⁰ … n³ without trailing zeros."""
    points = list(values.items())[-4:]
    rows = [[Fraction(n) ** i for i in range(4)] + [Fraction(y)] for n, y in points]
    for i in range(4):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(4):
            if j != i:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i])]
    found = [row[4] for row in rows]
    while len(found) > 1 and not found[-1]:
        found.pop()
    return tuple(found)


def evaluated(coefficients: tuple[Fraction, ...], n: int) -> Fraction:
    return sum((c * n**i for i, c in enumerate(coefficients)), Fraction(0))


def _text(coefficients: tuple[Fraction, ...]) -> str:
    powers = ("", " n", " n²", " n³")
    parts = [(c, f"{abs(c)}{powers[i]}") for i, c in enumerate(coefficients) if c]
    out = ""
    for c, term in reversed(parts):
        out += (" − " if c < 0 else " + ") + term if out else ("−" if c < 0 else "") + term
    return out or "0"


def table(convention: str, sizes: Any = SIZES) -> str:
    """Counts of every algorithm for every n, and the polynomials they follow, beside the printed ones."""
    places = PLACES[convention]
    found = {name: {n: count(name, n, places[name]) for n in sizes} for name in ALGORITHMS}
    lines = [f"### {convention}", "", "| n | " + " | ".join(f"Algorithm {name}" for name in ALGORITHMS) + " |"]
    lines.append("|---" * (len(ALGORITHMS) + 1) + "|")
    for n in sizes:
        cells = " | ".join(f"{found[name][n].M} / {found[name][n].A}" for name in ALGORITHMS)
        lines.append(f"| {n} | {cells} |")
    lines += ["", "| algorithm | measured M | measured A | printed M | printed A |", "|---|---|---|---|---|"]
    for name in ALGORITHMS:
        measured = [_text(polynomial({n: getattr(c, kind) for n, c in found[name].items()})) for kind in "MA"]
        printed = [_text(x) for x in PRINTED[name]] if name in PRINTED else ["–", "–"]
        lines.append(f"| {name} | " + " | ".join(measured + printed) + " |")
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    text = "\n\n".join(table(convention) for convention in PLACES)
    print_or_write(text, PAGE, (START, END), arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
