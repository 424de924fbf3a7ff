"""Run k's draw depends on (seed, k) alone; designs are what they are called."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import qmc

import linkwise as lw
from linkwise.study.distributions import as_distribution
from linkwise.study.sampling import LEVELS, SAMPLINGS, Sampling, permuted

PARAMETERS = {
    "m": lw.Uniform(0.0, 2.0),
    "q": lw.Normal(np.zeros(7), 0.1),
    "f": lw.LogNormal(0.0, 1.0),
    "z": lw.Normal([0.0, 0.0], covariance=[[2.0, 1.0], [1.0, 1.0]]),
}


def sampling(how="random", samples=1260, seed=5, parameters=PARAMETERS):
    return Sampling(parameters, samples, seed, how)


WHOLE = {how: sampling(how).values(0, 1260) for how in SAMPLINGS}


@pytest.mark.parametrize("how", SAMPLINGS)
@settings(max_examples=25)
@given(first=st.integers(0, 1259), count=st.integers(1, 300))
def test_a_draw_does_not_depend_on_what_else_is_asked(how, first, count):
    s = sampling(how)
    stop = min(first + count, s.samples)
    part, whole = s.values(first, stop), WHOLE[how]
    for name in PARAMETERS:
        assert np.array_equal(part[name], whole[name][first:stop])


@pytest.mark.parametrize("how", SAMPLINGS)
@settings(max_examples=10)
@given(asked=st.lists(st.tuples(st.integers(0, 1259), st.integers(1, 300)), min_size=2, max_size=5))
def test_a_draw_does_not_depend_on_what_was_asked_before(how, asked):
    s = sampling(how)
    for first, count in asked:
        part = s.values(first, min(first + count, s.samples))
        assert all(np.array_equal(x, WHOLE[how][name][first : first + len(x)]) for name, x in part.items())


def test_there_are_no_more_sobol_points_than_there_are():
    assert sampling("sobol", samples=2**32).values(0, 3)["m"].shape == (3,)
    with pytest.raises(lw.InputError, match=r"2\*\*32 Sobol points, and samples is 4294967297; take sampling"):
        sampling("sobol", samples=2**32 + 1)


def test_seeds_and_names_are_apart():
    a, b = sampling().values(0, 500), sampling(seed=6).values(0, 500)
    assert not np.isin(a["m"], b["m"]).any()
    twins = Sampling({"a": lw.Uniform(0, 1), "b": lw.Uniform(0, 1)}, 500, 1).values(0, 500)
    assert abs(np.corrcoef(twins["a"], twins["b"])[0, 1]) < 0.15
    alone = Sampling({"b": lw.Uniform(0, 1)}, 500, 1).values(0, 500)
    assert np.array_equal(alone["b"], twins["b"])  # other parameters do not change it


def test_more_samples_are_the_same_and_more():
    assert np.array_equal(sampling(samples=10).values(0, 10)["q"], sampling(samples=10**12).values(0, 10)["q"])
    assert np.isfinite(sampling(samples=10**12).values(10**12 - 3, 10**12)["q"]).all()


@given(size=st.integers(1, 3000), seed=st.integers(0, 2**64 - 1))
def test_a_permutation_is_one(size, seed):
    found = permuted(np.arange(size, dtype=np.uint64), size, np.array([seed, 1], dtype=np.uint64))
    assert np.array_equal(np.sort(found), np.arange(size))


def test_a_hypercube_takes_every_stratum_once():
    x = Sampling({"u": lw.Uniform(np.zeros(3), 1.0)}, 1000, 3, "latin_hypercube").values(0, 1000)["u"]
    for column in x.T:
        assert np.array_equal(np.sort(np.floor(column * 1000)), np.arange(1000))
    assert np.abs(np.corrcoef(x.T) - np.eye(3)).max() < 0.1


def test_sobol_points_are_scipys_and_fill_evenly():
    x = Sampling({"a": lw.Uniform(0, 1), "b": lw.Uniform(0, 1)}, 1024, 3, "sobol").values(0, 1024)
    u = np.stack([x["a"], x["b"]], axis=1)
    theirs = qmc.Sobol(2, scramble=True, rng=np.random.default_rng(3), bits=32).random(1024)
    assert np.allclose(u, theirs, atol=1e-15)
    assert qmc.discrepancy(u) < 0.1 * qmc.discrepancy(np.random.default_rng(0).random((1024, 2)))


def test_saltelli_rows_differ_as_they_should():
    s = Sampling({"a": lw.Uniform(0, 1), "b": lw.Uniform(np.zeros(2), 1.0)}, 40, 3, "saltelli")
    x = s.values(0, 40)
    for row in range(10):
        A, B, of_a, of_b = (slice(4 * row + i, 4 * row + i + 1) for i in range(4))
        assert np.array_equal(x["a"][of_a], x["a"][B]) and np.array_equal(x["b"][of_a], x["b"][A])
        assert np.array_equal(x["a"][of_b], x["a"][A]) and np.array_equal(x["b"][of_b], x["b"][B])
        assert not np.array_equal(x["a"][A], x["a"][B])


def test_morris_paths_move_one_factor_at_a_time():
    s = Sampling({n: lw.Uniform(0, 1) for n in "abc"}, 400, 3, "morris")
    u = np.stack([s.values(0, 400)[n] for n in "abc"], axis=1).reshape(100, 4, 3)
    levels = (np.arange(LEVELS) + 0.5) / LEVELS
    assert np.isclose(u[..., None], levels).any(axis=-1).all()
    moved = np.diff(u, axis=1) != 0
    assert (moved.sum(axis=2) == 1).all() and (moved.sum(axis=1) == 1).all()
    assert np.allclose(np.abs(np.diff(u, axis=1)[moved]), 0.5)


def test_grids_go_through_all_combinations():
    study = lw.Study(
        lw.load("double_pendulum"),
        lambda robot, p: p["a"],
        parameters={"a": lw.Grid([1.0, 2.0]), "b": lw.Grid(["x", "y", "z"])},
    )
    assert study.samples == 6
    drawn = [tuple(study.draw(k).values()) for k in range(6)]
    assert drawn == [(1, "x"), (1, "y"), (1, "z"), (2, "x"), (2, "y"), (2, "z")]


@pytest.mark.parametrize("options", [2, 3, 4])
def test_sobol_points_fill_every_combination_of_grids(options):
    """Their order goes along with that of grids: of four values each had a half of every parameter."""
    given = {"g": lw.Grid(list(range(options))), "w": lw.Grid(["a", "b"]), "u": lw.Uniform(0, 1), "v": lw.Uniform(0, 1)}
    s = Sampling(given, 2 * options * 128, 1, "sobol")
    x = s.values(0, s.samples)
    alone = Sampling({"u": lw.Uniform(0, 1), "v": lw.Uniform(0, 1)}, 128, 1, "sobol").values(0, 128)
    for g in range(options):
        for w in "ab":
            mine = (x["g"] == g) & (x["w"] == w)
            assert np.array_equal(x["u"][mine], alone["u"]) and np.array_equal(x["v"][mine], alone["v"])
    assert all(s.run(k)["v"] == x["v"][k] for k in (400, 255, 256, 3, s.samples - 1))


@pytest.mark.parametrize("how", ["random", "sobol"])
def test_grids_may_have_more_combinations_than_there_are_numbers(how):
    given = {f"g{i}": lw.Grid(list(range(1000))) for i in range(8)} | {"u": lw.Uniform(0, 1)}
    assert list(Sampling(given, 2000, 0, how).run(1003).values())[:8] == [0, 0, 0, 0, 0, 0, 1, 3]


def test_functions_stay_as_they_are_where_a_design_moves_another_parameter():
    given = {"a": lw.Uniform(0, 1), "b": lw.Uniform(0, 1), "wind": lambda rng: rng.normal()}
    given = {name: as_distribution(x, name) for name, x in given.items()}
    rows = Sampling(given, 40, 3, "saltelli").values(0, 40)["wind"].reshape(10, 4)
    assert (rows[:, 2:] == rows[:, :1]).all() and len(np.unique(rows)) == 20  # A and B have their own
    paths = Sampling(given, 30, 3, "morris").values(0, 30)["wind"].reshape(10, 3)
    assert (paths == paths[:, :1]).all() and len(np.unique(paths)) == 10
    assert len(np.unique(Sampling(given, 30, 3, "sobol").values(0, 30)["wind"])) == 30


@pytest.mark.parametrize(
    "function",
    [lambda rng, size=2.0: size * rng.normal(), partial(lambda rng, size: size * rng.normal(), size=2.0),
     lambda rng, *, size=2.0: size * rng.normal(), lambda rng, *others: (2.0 + len(others)) * rng.normal()],
)  # fmt: skip
def test_what_a_function_need_not_be_given_is_its_own(function):
    wanted = Sampling({"n": as_distribution(lambda rng, p: p["two"] * rng.normal(), "n"), "two": lw.Grid([2.0])}, 5, 1)
    found = Sampling({"n": as_distribution(function, "n"), "two": lw.Grid([2.0])}, 5, 1)
    assert np.array_equal(found.values(0, 5)["n"], wanted.values(0, 5)["n"])


def test_a_function_has_random_numbers_of_its_run():
    given = {"m": lw.Uniform(1, 2), "f": lambda rng, p: p["m"] * rng.normal(size=2), "g": lambda rng: rng.integers(9)}
    given = {name: as_distribution(x, name) for name, x in given.items()}
    a, b = Sampling(given, 600, 3), Sampling(given, 600, 3)
    whole = a.values(0, 600)
    assert np.array_equal(b.values(411, 412)["f"][0], whole["f"][411]) and b.run(411)["g"] == whole["g"][411]
    assert len(np.unique(whole["f"])) == 1200


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"how": "sobool"}, "sobol"),
        ({"samples": 0}, "samples"),
        ({"seed": -1}, "seed"),
        ({"how": "saltelli", "samples": 7}, "such as 6"),
        ({"how": "sobol", "parameters": {"a": lw.Grid([1, 2])}}, "a parameter with a distribution"),
        ({"how": "saltelli", "parameters": PARAMETERS | {"a": lw.Grid([1, 2])}}, "the grid 'a' would go on"),
        ({"how": "morris", "parameters": PARAMETERS | {"a": lw.Grid([1, 2])}}, "lw.Choice"),
        ({"how": "sobol", "parameters": {"a": lw.Normal(np.zeros(30000), 1.0)}}, "21201"),
    ],
)
def test_what_cannot_be_sampled_is_refused(options, said):
    with pytest.raises((lw.InputError, lw.UnknownNameError), match=said):
        sampling(**options).values(0, 1)
