"""Batches, precision and strange memory: the same promises for every public method."""

import inspect

import numpy as np
import pytest
from methods import APART, CALLS, OTHERS, inputs
from trees import assert_close, error, robot

import linkwise as lw

ROBOTS = ["arms", "panda"]
ITERATIVE = {f"forward_dynamics ({m})" for m in ("conjugate_gradient", "preconditioned_conjugate_gradient")}


def test_every_method_is_covered():
    """A new public method that takes a state belongs into methods.CALLS."""
    taking_states = set()
    for name, function in inspect.getmembers(lw.Robot, inspect.isfunction):
        parameters = list(inspect.signature(function).parameters)
        if not name.startswith("_") and {"q", "q0"} & set(parameters):
            taking_states.add(name)
    covered = {name.partition(" ")[0] for name in CALLS} | APART | OTHERS
    assert taking_states <= covered, f"add {sorted(taking_states - covered)} to methods.CALLS"


def in_turn(first):
    """Every method on one of the robots, in turn; two tests side by side begin with different ones."""
    turns = [(robot(ROBOTS[(first + i) % 2]), name) for i, name in enumerate(CALLS)]
    return pytest.mark.parametrize(("r", "name"), turns, ids=[f"{r.name}-{name}" for r, name in turns])


@in_turn(0)
def test_batches_are_single_states_side_by_side(r, name):
    x = inputs(r, (2, 3))
    found = CALLS[name](r, x)
    for i in ((0, 0), (0, 2), (1, 1)):  # every row and column
        one = CALLS[name](r, x.mapped(lambda y, i=i: y[i]))
        for part, alone in zip(found, one, strict=True):
            assert part.shape == (2, 3, *alone.shape)
            assert_close(part[i], alone, 1e-9 if name in ITERATIVE else 1e-11)


@in_turn(1)
def test_batches_of_different_shapes_broadcast(r, name):
    """q (2, 1), everything else (3,): the result is (2, 3) wherever both are read."""
    wide, x = inputs(r, (2, 1), seed=1), inputs(r, (3,))
    mixed = x.changed("q", wide.q)
    found = CALLS[name](r, mixed)
    one = CALLS[name](r, x.mapped(lambda y: y[2]).changed("q", wide.q[1, 0]))
    batch = (2, 1) if CALLS[name].reads == ("q",) else (2, 3)
    for part, alone in zip(found, one, strict=True):
        assert part.shape == (*batch, *alone.shape)
        assert_close(part[1, -1], alone, 1e-9 if name in ITERATIVE else 1e-11)


@in_turn(0)
def test_empty_batches_stay_empty(r, name):
    single = CALLS[name](r, inputs(r))
    for batch in ((0,), (4, 0)):
        for part, alone in zip(CALLS[name](r, inputs(r, batch)), single, strict=True):
            assert part.shape == (*batch, *alone.shape)
            assert part.dtype == np.float64


@in_turn(1)
def test_nan_stays_in_its_state(r, name):
    """NaN in any input of state 1 reaches the results of state 1, and of no other."""
    x = inputs(r, (3,))
    clean = CALLS[name](r, x)
    for field in CALLS[name].reads:
        bad = getattr(x, field).copy()
        bad[1] = np.nan
        found = CALLS[name](r, x.changed(field, bad))
        for part, expected in zip(found, clean, strict=True):
            assert_close(part[[0, 2]], expected[[0, 2]], 1e-9 if name in ITERATIVE else 0.0)
        assert any(np.isnan(part[1]).any() for part in found), f"NaN in {field} was swallowed"


@in_turn(0)
def test_float32_in_float32_out(r, name):
    x = inputs(r, (2,))
    exact = CALLS[name](r, x)
    found = CALLS[name](r, x.mapped(lambda y: y.astype(np.float32)))
    for part, y in zip(found, exact, strict=True):
        assert part.dtype == np.float32
        assert error(part, y) < 2e-2
    upcast = CALLS[name](r, x.changed("q", x.q.astype(np.float32)))
    expected = np.float32 if CALLS[name].reads == ("q",) else np.float64
    assert {part.dtype for part in upcast} == {np.dtype(expected)}


@in_turn(1)
def test_memory_layout_and_kind_do_not_matter(r, name):
    """Strided, reversed, read-only, other byte order, lists, objects; inputs stay untouched."""
    x = inputs(r, (4,))
    exact = CALLS[name](r, x)

    def strided(y):
        wide = np.zeros((8, *y.shape[1:-1], 2 * y.shape[-1]))
        wide[::2, ..., ::2] = y
        return wide[::2, ..., ::2]

    def locked(y):
        out = y.copy()
        out.setflags(write=False)
        return out

    variants = {
        "strided": strided,
        "reversed": lambda y: y[::-1].copy()[::-1],
        "Fortran": np.asfortranarray,
        "read-only": locked,
        "big-endian": lambda y: y.astype(">f8"),
        "lists": lambda y: y.tolist(),
        "objects": lambda y: y.astype(object),
    }
    for label, variant in variants.items():
        for part, y in zip(CALLS[name](r, x.mapped(variant)), exact, strict=True):
            assert part.dtype == np.float64, label
            assert_close(part, y, 1e-11 if name not in ITERATIVE else 1e-9, label)


@pytest.mark.parametrize("name", CALLS)
def test_whole_numbers_are_numbers(name):
    r = robot("panda")
    x = inputs(r, (2,)).mapped(lambda y: np.round(3 * y))
    exact = CALLS[name](r, x)
    for part, y in zip(CALLS[name](r, x.mapped(lambda y: y.astype(int))), exact, strict=True):
        assert part.dtype == np.float64
        assert_close(part, y, 0.0)


@pytest.mark.parametrize("name", CALLS)
def test_results_are_the_callers_own(name):
    """Writing into a result must not change the robot or a later result."""
    r = robot("arms")
    x = inputs(r, (2,))
    first = CALLS[name](r, x)
    kept = [part.copy() for part in first]
    for part in first:
        if part.flags.writeable:
            part[...] = np.nan
    for part, y in zip(CALLS[name](r, x), kept, strict=True):
        assert_close(part, y, 0.0)


def test_forward_quantities_in_batches():
    r = robot("arms")
    x = inputs(r, (3,))
    for method in lw.FORWARD_METHODS:
        if method == "armstrong":
            continue
        found = r.forward_quantities(x.q, x.v, x.tau, external=x.external, method=method)
        one = r.forward_quantities(x.q[1], x.v[1], x.tau[1], external=x.external[1], method=method)
        assert list(found) == list(one)
        for name in found:
            assert len(found[name]) == (len(r.tips) if name == "alpha_tip" else len(r.bodies))
            for part, alone in zip(found[name], one[name], strict=True):
                assert_close(np.broadcast_to(part, (3, *alone.shape))[1], alone, 1e-9)
        q, v, tau, external = (getattr(x, k).astype(np.float32) for k in ("q", "v", "tau", "external"))
        small = r.forward_quantities(q, v, tau, external=external)
        assert {part.dtype for parts in small.values() for part in parts} == {np.dtype(np.float32)}
