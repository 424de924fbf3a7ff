"""Compiled functions where PyTorch writes graphs of what it sees (``make_fx``, ``torch.func.linearize``, ``torch.jit``,
``torch.export``, fake tensors), and under the vmap that ``torch.autograd`` has of its own.

Runs where PyTorch is installed: pip install "linkwise[torch]".
"""

import numpy as np
import pytest
from trees import robot as made

import linkwise as lw

torch = pytest.importorskip("torch", reason='PyTorch is not installed: pip install "linkwise[torch]"')
pytestmark = pytest.mark.filterwarnings(
    *(f"ignore::{kind}" for kind in ("FutureWarning", "DeprecationWarning", "UserWarning", "torch.jit.TracerWarning"))
)
jacobian = torch.autograd.functional.jacobian


@pytest.fixture(scope="module")
def robot():
    return lw.load("double_pendulum")


def state(robot, *batch):
    rng = np.random.default_rng(0)
    x = robot.random_configuration(rng, batch=batch), *rng.normal(size=(2, *batch, robot.nv))
    return [torch.tensor(y) for y in x]


def functions(robot):
    """One array, several, a kernel, and a motion."""
    kernel = robot.compile("forward_dynamics")
    return {
        "method": lambda q, v, tau: robot.forward_dynamics(q, v, tau),
        "several": lambda q, v, tau: sum(x.sum() for x in robot.energy(q, v)) * tau,
        "kernel": lambda q, v, tau: kernel(q, v, tau),
        "motion": lambda q, v, tau: lw.rollout(robot, q, v, tau.expand(3, *tau.shape).movedim(0, -2), step=0.01).q,
    }


SORTS = ("method", "several", "kernel", "motion")


@pytest.mark.parametrize("sort", SORTS)
def test_traces_are_not_of_the_numbers_at_hand(robot, sort):
    """What is traced at one state is right at another, its gradient too."""
    make_fx = pytest.importorskip("torch.fx.experimental.proxy_tensor").make_fx
    call, x = functions(robot)[sort], state(robot, 3)
    others = [0.5 * y for y in x]
    slope = torch.func.grad(lambda *x: call(*x).square().sum(), argnums=(0, 1, 2))
    for traced in (make_fx(call)(*x), make_fx(call, tracing_mode="fake")(*x), torch.jit.trace(call, tuple(x))):
        assert torch.equal(traced(*others), call(*others))
    for a, b in zip(make_fx(slope)(*x)(*others), slope(*others)):
        assert torch.equal(a, b)
    given = [y.requires_grad_() for y in others]
    found = torch.autograd.grad(torch.jit.trace(call, tuple(x))(*given).square().sum(), given, allow_unused=True)
    for a, b in zip(found, slope(*(y.detach() for y in others))):
        assert torch.equal(torch.zeros_like(b) if a is None else a, b)


@pytest.mark.parametrize("sort", SORTS)
def test_linearize_is_the_derivative(robot, sort):
    call, x = functions(robot)[sort], state(robot, 3)
    value, along = torch.func.linearize(call, *x)
    assert torch.equal(value, call(*x))
    for k in (1.0, -2.0):
        directions = [k * torch.cos(y) for y in x]
        assert torch.allclose(along(*directions), torch.func.jvp(call, tuple(x), tuple(directions))[1], 1e-13, 1e-13)


def test_a_program_that_is_exported_holds_the_call(robot):
    class Arm(torch.nn.Module):
        def forward(self, q, v, tau):
            return kernel(q, v, tau)

    kernel = robot.compile("forward_dynamics")
    q, v, tau = state(robot, 3)
    program = torch.export.export(Arm(), (q, v, tau)).module()
    assert torch.equal(program(2 * q, v, tau), kernel(2 * q, v, tau))


def test_fake_tensors_have_shapes_alone(robot):
    mode = pytest.importorskip("torch._subclasses.fake_tensor").FakeTensorMode
    with mode():
        found = robot.forward_dynamics(*(torch.zeros(5, 2, dtype=torch.float32) for _ in range(3)))
    assert type(found).__name__ == "FakeTensor" and found.shape == (5, 2) and found.dtype == torch.float32


def test_results_lie_in_graphs_as_fake_tensors_say(robot, monkeypatch):
    """Also where those of a kernel lie number by number, as a card's do where its inputs do."""
    from linkwise.codegen.foreign import torch_calls

    function, plain = robot.compile("forward_dynamics").as_function, torch_calls._run
    function.register()
    x = [a.T.contiguous().T for a in state(robot, 5)]
    monkeypatch.setattr(torch_calls, "_run", lambda *given: [y.T.contiguous().T for y in plain(*given)])
    torch.library.opcheck(torch_calls._operator, (function.token, x), test_utils="test_faketensor")


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
@pytest.mark.parametrize("sort", SORTS)
def test_jacobians_in_one_go_are_those_row_by_row(robot, sort, strategy):
    call, x = functions(robot)[sort], tuple(state(robot))
    whole = jacobian(call, x, vectorize=True, strategy=strategy)
    for a, b in zip(whole, jacobian(call, x)):
        assert a.shape == b.shape and torch.allclose(a, b, rtol=1e-12, atol=1e-12)


def test_derivatives_of_jacobians_in_one_go(robot):
    """The levels are nested, and what is recorded for the second derivative sums over the first."""
    q, v, tau = state(robot)

    def second(inner, outer):
        def first(v):
            return jacobian(lambda q: robot.forward_dynamics(q, v, tau), q, vectorize=inner, create_graph=True)

        return jacobian(first, v, vectorize=outer)

    expected = second(False, False)
    for way in ((True, False), (False, True), (True, True)):
        assert torch.allclose(second(*way), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["pendulum", "floating"])
def test_gradients_are_batched_as_gradcheck_has_it(name):
    robot = lw.load("double_pendulum") if name == "pendulum" else made(name)
    x = [y.requires_grad_() for y in state(robot)]
    assert torch.autograd.gradcheck(
        robot.forward_dynamics,
        x,
        check_forward_ad=True,
        check_batched_grad=True,
        check_batched_forward_grad=True,
        atol=1e-4,
    )
    assert torch.autograd.gradgradcheck(robot.inverse_dynamics, x, check_batched_grad=True, atol=1e-4)
