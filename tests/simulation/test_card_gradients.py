"""Gradients of motions on cards, with the host in the place of the card: each loop is one kernel, on tensors."""

from functools import partial

import numpy as np
import pytest
from device_text import RepeatsOnHost, needs_compiler

import linkwise as lw
from linkwise.simulation import on_arrays
from linkwise.simulation.loop_arrays import CardArrays

torch = pytest.importorskip("torch")
pytestmark = needs_compiler
STEPS, STATES = 6, 3
EXPECTED = {}


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    return RepeatsOnHost(tmp_path_factory.mktemp("loops"))


@pytest.fixture
def card(monkeypatch, host):
    """Has tensors on the CPU go the way of those on a card."""
    monkeypatch.setattr(CardArrays, "launch", lambda card, *given: host.launch(card, *given))
    monkeypatch.setattr(on_arrays, "on_card", lambda arrays: True)
    from linkwise.codegen.foreign import torch_calls

    plain = torch_calls._run
    monkeypatch.setattr(
        torch_calls,
        "_run",
        lambda function, tensors: (
            function.run_on_card(tensors) if function.signature.name == "simulate" else plain(function, tensors)
        ),
    )


def servo(robot, t, q, v, *, stiffness):
    return -stiffness * v


CASES = {
    "runge_kutta_4": {},
    "midpoint": {"method": "midpoint"},
    "semi_implicit_euler": {"method": "semi_implicit_euler"},
    "parts": {"damping": 3.0},
    "gains": {"controller": servo},
    "inertial": {"parameters": True},
}


def tree(case):
    return lw.random_tree(2, seed=2, floating=case == "midpoint", joints=["revolute", "spherical"])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kept", [2**28, 0])
def test_as_on_the_cpu(case, kept, monkeypatch, card):
    """Motions, gradients and second derivatives, also from checkpoints."""
    robot = tree(case)
    rng = np.random.default_rng(1)
    q = robot.random_configuration(rng, batch=STATES)
    v, tau = rng.normal(size=(STATES, robot.nv)), rng.normal(size=(STATES, STEPS, robot.nv))
    options = dict(CASES[case])
    gains = torch.tensor(rng.uniform(1.0, 2.0, robot.nv))
    if case == "gains":
        options["parameters"] = {"stiffness": gains.requires_grad_()}
    elif case == "inertial":
        options["parameters"] = {"inertial": torch.tensor(robot.inertial_parameters.ravel(), requires_grad=True)}
    if case != "gains":
        options["tau"] = torch.tensor(tau, requires_grad=True)
    given = [torch.tensor(x, requires_grad=True) for x in (q, v)]
    leaves = [*given, *(x for x in (options.get("tau"), *options.get("parameters", {}).values()) if x is not None)]
    weights = [torch.tensor(rng.normal(size=(STATES, 4, n))) for n in (robot.nq, robot.nv)]

    def found(robot):
        run = lw.simulate(robot, *given, steps=STEPS, step=0.01, every=2, **options)
        value = sum((w * x**2).sum() for w, x in zip(weights, (run.q, run.v)))
        first = torch.autograd.grad(value, leaves, create_graph=True)
        second = torch.autograd.grad(sum((g**2).sum() for g in first), leaves)
        return [run.q, run.v, *first, *second]

    monkeypatch.setattr(on_arrays, "Motions", partial(on_arrays.Motions, kept=kept))
    ours = found(robot)
    monkeypatch.undo()
    if case not in EXPECTED:  # the same for all that is kept
        EXPECTED[case] = found(tree(case))
    for x, y in zip(ours, EXPECTED[case]):
        assert x.shape == y.shape
        assert torch.allclose(x, y, rtol=1e-9, atol=1e-9 * float(y.detach().abs().max()))
