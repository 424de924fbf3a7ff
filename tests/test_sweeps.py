"""Trees: every question against brute force, what a recorded one refuses, and that the mathematics asks no more."""

import ast
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from linkwise.codegen.rolled.walk_recorder import RecordedTree
from linkwise.sweeps import BodyTree
from linkwise.symbols.scalar import Graph

TREES = {
    "nothing": (),
    "one body": (-1,),
    "chain": (-1, 0, 1, 2, 3),
    "star": (-1, -1, -1, -1),
    "fork": (-1, 0, 0, 1, 1, 2),
    "comb": (-1, 0, 0, 1, 1, 3, 3, -1, 7),
    **{f"random {seed}": lw.random_tree(13, seed=seed).parents for seed in range(4)},
}


@pytest.fixture(params=TREES)
def tree(request):
    return BodyTree(TREES[request.param])


def up(parents, k):
    """The bodies inboard of k, by recursion."""
    return [] if parents[k] < 0 else [parents[k], *up(parents, parents[k])]


def test_single_bodies(tree):
    parents, n = tree.parents, len(tree)
    for k in range(n):
        assert tree.parent(k) == parents[k]
        assert tree.on_world(k) == (parents[k] == -1)
        assert tree.inboard(k) == up(parents, k)
        assert tree.path(k) == [*up(parents, k)[::-1], k]
        assert list(tree.children(k)) == [c for c in range(n) if parents[c] == k]
        outboard = tree.outboard(k)
        assert sorted(outboard) == [j for j in range(n) if k in up(parents, j)]
        assert all(outboard.index(parents[j]) < i for i, j in enumerate(outboard) if parents[j] != k)
    assert tree.path(-1) == tree.inboard(-1) == []
    lone = all(len(tree.children(k)) <= 1 for k in range(n)) and sum(tree.on_world(k) for k in range(n)) <= 1
    assert tree.is_chain == lone


def test_sweeps(tree):
    """Each body's value outward is the word of its path, and inward the multiset of what it carries."""
    parents, n = tree.parents, len(tree)
    words = tree.outward(lambda word, k: (*word, k), (), range(n))
    assert words == [tuple(tree.path(k)) for k in range(n)]
    weight = [10**k for k in range(n)]
    totals = tree.inward(lambda outer, w: (outer + w, outer + w), 0, weight)
    assert totals == [weight[k] + sum(weight[j] for j in range(n) if k in up(parents, j)) for k in range(n)]
    several = tree.inward(lambda outer, w: ((w, 2 * w), outer), (0, 0), weight)
    sums = [sum(weight[j] for j in range(n) if parents[j] == k) for k in range(n)]
    assert several == [(x, 2 * x) for x in sums]
    assert tree.from_children(weight) == sums
    assert tree.from_children([None] * n) == [0] * n
    assert tree.at_parents(words, "world") == ["world" if p < 0 else words[p] for p in parents]


def test_walks(tree):
    """What is kept for a pair is the word of the way between the two."""
    parents, n = tree.parents, len(tree)

    def step(word, k):
        return (*word, k), (*word, k)

    inward = tree.inward_from_each(step, [(k,) for k in range(n)], range(n))
    assert inward == {(j, k): (k, *up(parents, k)[: i + 1]) for k in range(n) for i, j in enumerate(up(parents, k))}
    outward = tree.outward_from_each(step, [(k,) for k in range(n)], lambda a, i: inward[a, i], range(n))

    def way(i, j):
        """From i inward to the nearest common body and out to j; None where there is none."""
        meet = next((a for a in (i, *up(parents, i)) if a in (j, *up(parents, j))), None)
        if meet is None:
            return None
        there, back = [i, *up(parents, i)], [j, *up(parents, j)]
        return (*there[: there.index(meet) + 1], *back[: back.index(meet)][::-1])

    ways = {(i, j): way(i, j) for i in range(n) for j in range(n) if j != i and j not in up(parents, i)}
    assert outward == {pair: word for pair, word in ways.items() if word is not None}
    skipped = tree.inward_from_each(step, [None] * n, range(n))
    assert not skipped and not tree.outward_from_each(step, [None] * n, lambda a, i: (), range(n))


def test_matrices_from_walks(tree):
    n = len(tree)
    sizes = [1 + k % 3 for k in range(n)]
    blocks = {(j, k): np.full((sizes[j], sizes[k]), 10.0 * j + k) for j in range(n) for k in range(n)}
    starts = [(k,) for k in range(n)]
    kept = tree.inward_from_each(lambda word, j: (word, blocks[j, word[0]]), starts, range(n))
    flipped = kept.mapped(lambda x: x.T + 0.5)
    like, diagonal = np.zeros(0), [blocks[k, k] for k in range(n)]
    symmetric = tree.matrix(sizes, diagonal, [kept], None, like)
    assert np.array_equal(symmetric - np.tril(symmetric), np.tril(symmetric, -1).T)
    both = tree.matrix(sizes, diagonal, [kept], flipped, like)
    ends = np.cumsum([0, *sizes])
    for j in range(n):
        for k in range(n):
            found = both[ends[j] : ends[j + 1], ends[k] : ends[k + 1]]
            if j == k or j in tree.inboard(k):
                assert np.array_equal(found, blocks[j, k])
            elif k in tree.inboard(j):
                assert np.array_equal(found, blocks[k, j].T + 0.5)
            else:
                assert not found.any()


QUESTIONS = {
    "parents": lambda t: t.parents,
    "parent": lambda t: t.parent(0),
    "children": lambda t: t.children(0),
    "inboard": lambda t: t.inboard(0),
    "path": lambda t: t.path(0),
    "outboard": lambda t: t.outboard(0),
    "is_chain": lambda t: t.is_chain,
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_recorded_tree_refuses_what_it_cannot_know(question):
    recorded = RecordedTree(Graph(), [True, False], [1, 1], branching=True)
    assert not recorded.has_single_bodies and len(recorded) == 2
    with pytest.raises(lw.UnrollableError, match="rolled"):
        QUESTIONS[question](recorded)


DYNAMICS = sorted((Path(lw.__file__).parent / "dynamics").rglob("*.py"))


@pytest.mark.parametrize("file", DYNAMICS, ids=lambda p: str(p.relative_to(p.parents[1])))
def test_algorithms_ask_the_tree(file):
    """No algorithm reads tables of parents, nor knows how it is going to be run."""
    for node in ast.walk(ast.parse(file.read_text())):
        names = {getattr(node, field, None) for field in ("attr", "id", "arg", "name")}
        assert "parents" not in names, f"{file.name}:{node.lineno} reads parents; ask the tree"
        if isinstance(node, ast.ImportFrom):
            assert "codegen" not in (node.module or ""), f"{file.name}:{node.lineno} looks at the compiler"
