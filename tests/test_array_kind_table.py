"""Which call takes which arrays: every call on arrays of NumPy, PyTorch, JAX and CuPy, beside the table of docs/gpu.md.

PyTorch is looked at where it is installed, CuPy where there is a card as well.
"""

import importlib
import importlib.util
import re
from functools import cache

import pytest
from coupled import coupled_robot
from methods import CALLS, inputs

import linkwise as lw
from linkwise.array_kinds import library
from snippets import ROOT

PAGE = ROOT / "docs" / "gpu.md"
TABLE = re.compile(r"^\| call \| NumPy \|.*?\n\|[-|]+\n((?:\|.*\n)+)", re.MULTILINE)
WORDS = {"yes", "no"}
COLUMNS = {"NumPy": "numpy", "JAX": "jax", "PyTorch": "torch", "CuPy": "cupy"}

# Calls that are not those of the catalogue, or need a robot of another sort.
MORE = {
    "jacobian_inner_inverse": lambda r, x: r.jacobian_inner_inverse(x.q, r.tips[-1]),
    "coupling_jacobian": lambda r, x: r.coupling_jacobian(x.q),
    "equilibrium": lambda r, x: r.equilibrium(x.q).q,
    "modes": lambda r, x: r.modes(x.q).frequencies,
    "inverse_kinematics": lambda r, x: r.inverse_kinematics(r.tips[-1], r.pose(r.neutral(), r.tips[-1]), x.q).q,
    "robot.compile": lambda r, x: r.compile("gravity_force")(x.q),
    "lw.compile": lambda r, x: lw.compile(_formula, r)(x.q),
    "lw.simulate": lambda r, x: lw.simulate(r, x.q, x.v, duration=0.002).q,
    "lw.rollout": lambda r, x: lw.rollout(r, x.q, x.v, x.tau[..., None, :]).q,
    "lw.simulate_vjp": lambda r, x: lw.simulate_vjp(r, x.q, x.v, duration=0.002)[0].q,
    "lw.trajectory_sensitivity": lambda r, x: lw.trajectory_sensitivity(r, x.q, x.v, x.tau[..., None, :]).dq,
}


def _formula(robot, q):
    return robot.mass_matrix(q) @ robot.gravity_force(q)


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    jax = importlib.import_module("jax") if importlib.util.find_spec("jax") else None
    before = jax and jax.config.jax_enable_x64
    if jax:
        jax.config.update("jax_enable_x64", True)
    yield
    if jax:
        jax.config.update("jax_enable_x64", before)


@cache
def written():
    """The table: by name of a call, its cells by column. A bare name stands for all variants that have no row."""
    rows = TABLE.search(PAGE.read_text(encoding="utf-8"))[1].splitlines()
    found = {}
    for row in rows:
        calls, *cells = (x.strip() for x in row.strip("|").split("|"))
        assert set(cells) <= WORDS and len(cells) == len(COLUMNS), row
        for name in re.findall(r"`([^`]+)`", calls):
            assert name not in found, f"{name} stands in two rows"
            found[name] = dict(zip(COLUMNS, cells))
    return found


@cache
def robots():
    """A chain; one whose tip can move in all directions; one with coupled joints: a call needs one of them."""
    return lw.chain(2, seed=1), lw.random_tree(1, seed=2, joints=["free"]), coupled_robot()


def arrays(x):
    """The arrays of a result."""
    if x is None:
        return []
    if isinstance(x, (dict, list, tuple)):
        return [y for part in (x.values() if isinstance(x, dict) else x) for y in arrays(part)]
    return [x]


@cache
def first_that_does(name):
    """The first of the robots that has an answer on NumPy, and its state."""
    for robot in robots():
        x = inputs(robot)
        try:
            found = arrays(call(name)(robot, x))
        except lw.LinkwiseError:
            continue
        assert found and all(library(y) is None for y in found)
        return robot, x
    raise AssertionError(f"no robot has an answer for {name}")


def call(name):
    return MORE[name] if name in MORE else CALLS[name].function


def maker(column):
    """What makes an array of a library; the test is skipped where that is not here."""
    module = pytest.importorskip(COLUMNS[column])
    if column == "CuPy":
        try:
            module.cuda.runtime.getDeviceCount()
        except module.cuda.runtime.CUDARuntimeError:
            pytest.skip("no CUDA device here")
    return (module.numpy if column == "JAX" else module).asarray


def answer(name, column, make):
    """What a call does with arrays of a library, in the words of the table."""
    robot, x = first_that_does(name)
    try:
        found = {library(y) or "numpy" for y in arrays(call(name)(robot, x.mapped(make)))}
    except lw.InputError as e:
        assert COLUMNS[column] in str(e) or "NumPy" in str(e), f"{name} refuses without saying what: {e}"
        return "no"
    assert len(found) == 1, f"{name} answers in {found}"
    assert found == {COLUMNS[column]}, f"{name} answers arrays of {column} in {found}"
    return "yes"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::linkwise.SlowPathWarning")
@pytest.mark.parametrize("column", COLUMNS)
def test_the_page_says_which_calls_take_arrays_of(column):
    make = maker(column)
    table = written()
    measured = {name: answer(name, column, make) for name in (*CALLS, *MORE)}
    said = {name: table.get(name, table.get(name.partition(" (")[0], {})).get(column) for name in measured}
    assert said == measured


def test_every_call_of_the_catalogue_is_in_the_table():
    table = written()
    bare = {name.partition(" (")[0] for name in table}
    compiled = {name for name in dir(lw.Robot) if hasattr(getattr(lw.Robot, name), "facts")}
    assert compiled <= bare
    assert not [name for name in table if name not in CALLS and name not in MORE and not _has_variants(name)]


def _has_variants(name):
    return any(known.partition(" (")[0] == name for known in CALLS)
