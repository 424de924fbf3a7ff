"""Calls of the catalogue on tensors and arrays of JAX: gradients backwards and forwards, of second order, and mapped.

The oracle are differences of sixth order of the call on NumPy. Every call has gradients by the same two kernels in both
libraries, and so JAX is asked for a few of each sort, and PyTorch, where it is installed, for all.
"""

import importlib.util
from functools import cache

import numpy as np
import pytest
from coupled import coupled_robot
from methods import CALLS, Inputs, inputs
from trees import assert_close, derivative

import linkwise as lw

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
HAS_TORCH = importlib.util.find_spec("torch") is not None
ON_NUMPY = ("wrenches", "operators", "curvature", "conjugate_gradient")  # the table of docs/gpu.md has them
NAMES = [name for name in CALLS if not any(x in name for x in ON_NUMPY)]


@pytest.fixture(scope="module", autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")


@cache
def robots():
    """A chain; one whose tip can move in all directions; one with coupled joints: a call needs one of them."""
    return lw.chain(2, seed=1), lw.random_tree(1, seed=2, joints=["free"]), coupled_robot()


class Weighed:
    """A call as a function of what it reads, weighed to one number: by NumPy, torch or JAX."""

    def __init__(self, name):
        self.call = CALLS[name]
        for self.robot in robots():
            x = inputs(self.robot)
            try:
                shapes = [y.shape for y in self.call(self.robot, x)]
                break
            except lw.LinkwiseError:
                continue
        self.rest = x
        rng = np.random.default_rng(7)
        self.weights = [rng.normal(size=s) for s in shapes]
        self.start = {k: np.asarray(getattr(x, k)) for k in self.call.reads}
        self.along = {k: rng.normal(size=y.shape) for k, y in self.start.items()}

    def outputs(self, given, kind=np.asarray):
        rest = {k: kind(getattr(self.rest, k)) for k in Inputs.__dataclass_fields__ if k not in given}
        return leaves(self.call.function(self.robot, Inputs(**rest, **given)))

    def number(self, given, kind=np.asarray):
        return sum((kind(w) * y).sum() for w, y in zip(self.weights, self.outputs(given, kind)))

    def at(self, t):
        return {k: x + t * self.along[k] for k, x in self.start.items()}

    @property
    def slope(self):
        return derivative(lambda t: self.number(self.at(t)), 1e-3)


def leaves(x):
    if x is None:
        return []
    if isinstance(x, (dict, list, tuple)):
        return [y for part in (x.values() if isinstance(x, dict) else x) for y in leaves(part)]
    return [x]


def inner(a, b):
    return float(sum((np.asarray(x) * b[k]).sum() for k, x in a.items()))


@cache
def weighed(name):
    return Weighed(name)


def close(found, expected, tolerance):
    assert_close(found / (1.0 + abs(expected)), expected / (1.0 + abs(expected)), tolerance)


_SORTS = ("pose", "inverse_dynamics", "forward_dynamics", "mass_matrix", "operational_inertia", "linearize_forward")
SOME = [next(x for x in NAMES if x.partition(" (")[0] == sort) for sort in _SORTS]  # the first variant of each
TWICE = SOME[:4]


@pytest.mark.parametrize("name", SOME)
def test_jax(name):
    f = weighed(name)
    x, along = ({k: jax.numpy.asarray(y) for k, y in z.items()} for z in (f.start, f.along))
    number = lambda given: f.number(given, jax.numpy.asarray)
    slopes = jax.grad(number)
    close(inner(slopes(x), f.along), f.slope, 1e-7)
    close(float(jax.jvp(number, (x,), (along,))[1]), f.slope, 1e-7)
    if name in TWICE:
        twice = jax.grad(lambda given: sum((y * along[k]).sum() for k, y in slopes(given).items()))(x)
        curved = jax.jvp(slopes, (x,), (along,))[1]
        assert_close(inner(twice, f.along), inner(curved, f.along), 1e-9)
    both = {k: jax.numpy.stack([y, y + along[k]]) for k, y in x.items()}
    close(float(jax.vmap(number)(both)[1]), float(number({k: y[1] for k, y in both.items()})), 1e-12)


@pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed")
@pytest.mark.parametrize("name", NAMES)
def test_torch(name):
    import torch

    f = weighed(name)
    number = lambda given: f.number(given, torch.as_tensor)
    x = {k: torch.tensor(y, requires_grad=True) for k, y in f.start.items()}
    along = {k: torch.tensor(y) for k, y in f.along.items()}
    slopes = torch.autograd.grad(number(x), list(x.values()), create_graph=name in TWICE)
    close(inner({k: y.detach() for k, y in zip(x, slopes)}, f.along), f.slope, 1e-7)
    plain = {k: y.detach() for k, y in x.items()}
    close(float(torch.func.jvp(number, (plain,), (along,))[1]), f.slope, 1e-7)
    if name in TWICE:
        weighted = sum((y * along[k]).sum() for k, y in zip(x, slopes))
        twice = torch.autograd.grad(weighted, list(x.values()), materialize_grads=True, allow_unused=True)
        curved = torch.func.jvp(torch.func.grad(number), (plain,), (along,))[1]
        both = (dict(zip(x, (y.numpy() for y in twice))), {k: y.numpy() for k, y in curved.items()})
        assert_close(inner(both[0], f.along), inner(both[1], f.along), 1e-9)
    both = {k: torch.stack([y, y + along[k]]) for k, y in plain.items()}
    close(float(torch.func.vmap(number)(both)[1]), float(number({k: y[1] for k, y in both.items()})), 1e-12)
