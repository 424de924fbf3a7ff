"""Compiled functions on tensors of PyTorch: the same kind out, exact gradients of any order, torch.func, torch.compile.

Runs where PyTorch is installed: pip install "linkwise[torch]".
"""

import numpy as np
import pytest
from trees import robot as made

import linkwise as lw

torch = pytest.importorskip("torch", reason='PyTorch is not installed: pip install "linkwise[torch]"')
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


def tensors(robot, names, batches, seed=0, dtype=None):
    rng = np.random.default_rng(seed)
    found = []
    for name, batch in zip(names, batches):
        x = robot.random_configuration(rng, batch=batch) if name == "q" else rng.normal(size=(*batch, robot.nv))
        found.append(torch.tensor(x, dtype=dtype or torch.float64, requires_grad=True))
    return found


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_same_kind_dtype_and_numbers_come_out(dtype):
    robot = lw.load("panda")
    q, v, tau = tensors(robot, ("q", "v", "tau"), [(4,), (1,), ()], dtype=dtype)
    a = robot.forward_dynamics(q, v, tau)
    expected = robot.forward_dynamics(*(x.detach().numpy() for x in (q, v, tau)), target="cpu")
    assert type(a) is torch.Tensor and a.dtype == dtype and a.shape == (4, 7)
    assert np.array_equal(a.detach().numpy(), expected)


def test_results_with_names_keep_them():
    robot = lw.load("double_pendulum")
    q, v, tau = tensors(robot, ("q", "v", "tau"), [(3,)] * 3)
    found = robot.linearize_forward(q, v, tau)
    expected = robot.linearize_forward(*(x.detach().numpy() for x in (q, v, tau)))
    assert type(found) is type(expected)
    for name in ("Minv", "dv", "dq"):
        assert np.allclose(getattr(found, name).detach().numpy(), getattr(expected, name), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["spherical", "planar", "free", "custom_four", "chain3"])
@pytest.mark.parametrize("method", ["forward_dynamics", "inverse_dynamics"])
def test_gradients_of_dynamics_on_every_sort_of_coordinates(name, method):
    """Quaternions too: the gradient is that in their four numbers. Batches that were spread are summed over."""
    robot = made(name) if name == "chain3" else lw.random_tree(1, seed=2, joints=[made(name).joints[0].kind])
    x = tensors(robot, ("q", "v", "tau"), [(2,), (1,), ()])
    assert torch.autograd.gradcheck(getattr(robot, method), x, check_forward_ad=True)


def test_second_derivatives():
    robot = lw.load("double_pendulum")
    x = tensors(robot, ("q", "v", "tau"), [(1,)] * 3)
    assert torch.autograd.gradgradcheck(robot.forward_dynamics, x)
    assert torch.autograd.gradgradcheck(lambda q: robot.mass_matrix(q), x[:1])


def test_gradients_of_what_has_no_linearised_algorithm():
    robot = lw.chain(3, joint="mixed", seed=2)
    (q,) = tensors(robot, ("q",), [(2,)])
    assert torch.autograd.gradcheck(lambda q: robot.pose(q, robot.tips[0]), (q,), check_forward_ad=True)
    assert torch.autograd.gradcheck(robot.mass_matrix, (q,))


def test_external_forces_have_gradients_too():
    robot = lw.load("double_pendulum")
    q, v, tau = tensors(robot, ("q", "v", "tau"), [(), (), ()])
    f = torch.randn((len(robot.bodies), 6), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda *x: robot.forward_dynamics(*x[:3], external=x[3]), (q, v, tau, f))


def test_functions_of_the_users_and_inertial_parameters():
    robot = lw.chain(2, seed=1)
    kernel = robot.compile("forward_dynamics", parameters=["inertial"])
    q, v, tau = tensors(robot, ("q", "v", "tau"), [(2,)] * 3)
    inertial = torch.tensor(np.ravel(robot.inertial_parameters), requires_grad=True)
    assert torch.autograd.gradcheck(kernel, (q, v, tau, inertial), check_forward_ad=True)

    def power(robot, q, v):
        return (robot.mass_matrix(q) @ v) @ v

    own = lw.compile(power, robot)
    assert torch.autograd.gradcheck(own, (q, v))
    assert np.array_equal(own(q, v).detach().numpy(), own(q.detach().numpy(), v.detach().numpy()))


def test_what_depends_on_nothing_has_zero_gradient():
    robot = lw.load("double_pendulum")
    kernel = lw.compile(lambda robot, q: np.ones(3), robot)
    (q,) = tensors(robot, ("q",), [(2,)])
    kernel(q).sum().backward()
    assert q.grad.shape == q.shape and not q.grad.any()


def test_torch_func():
    robot = lw.load("panda")
    q, v, tau = (x.detach() for x in tensors(robot, ("q", "v", "tau"), [(3,)] * 3))
    exact = robot.linearize_forward(*(x.numpy() for x in (q, v, tau)))
    by_q = torch.func.vmap(torch.func.jacrev(robot.forward_dynamics))(q, v, tau)
    by_v = torch.func.vmap(torch.func.jacfwd(robot.forward_dynamics, argnums=1), in_dims=(0, None, 0))(q, v[0], tau)
    exact_v = robot.linearize_forward(q.numpy(), v[0].numpy(), tau.numpy()).dv
    assert np.allclose(by_q.numpy(), exact.dq, rtol=1e-9, atol=1e-9)
    assert np.allclose(by_v.numpy(), exact_v, rtol=1e-9, atol=1e-9)


def test_torch_compile_takes_a_kernel_whole():
    robot = lw.load("double_pendulum")
    kernel = robot.compile("forward_dynamics")
    q, v, tau = tensors(robot, ("q", "v", "tau"), [(3,)] * 3)

    def loss(q, v, tau):
        return (kernel(q, v, tau) ** 2).sum()

    plain = torch.autograd.grad(loss(q, v, tau), (q, v, tau))
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    for a, b in zip(torch.autograd.grad(compiled(q, v, tau), (q, v, tau)), plain):
        assert torch.equal(a, b)


def test_views_and_empty_batches():
    robot = lw.load("panda")
    q, v, tau = (x.detach() for x in tensors(robot, ("q", "v", "tau"), [(6,)] * 3))
    expected = robot.forward_dynamics(q, v, tau)
    columns = [x.T.contiguous().T for x in (q, v, tau)]
    assert torch.equal(robot.forward_dynamics(*columns), expected)
    assert torch.equal(robot.forward_dynamics(*(x[1::2] for x in (q, v, tau))), expected[1::2])
    assert robot.forward_dynamics(q[:0], v[:0], tau[:0]).shape == (0, 7)


def test_numbers_and_lists_go_with_tensors():
    robot = lw.load("double_pendulum")
    q = torch.tensor([0.1, 0.2], dtype=torch.float64)
    assert torch.equal(robot.forward_dynamics(q, [0.0, 0.0], [0.0, 0.0]), robot.forward_dynamics(q, 0 * q, 0 * q))


def test_what_is_refused_says_why():
    robot = lw.load("double_pendulum")
    q = torch.zeros(2, dtype=torch.float64)
    with pytest.raises(lw.InputError, match=r"several libraries .*q: torch, v: numpy"):
        robot.forward_dynamics(q, np.zeros(2), q)
    with pytest.raises(lw.InputError, match="q must have shape"):
        robot.mass_matrix(torch.zeros(3))
    with pytest.raises(lw.InputError, match="batch dimensions"):
        robot.mass_times(torch.zeros(3, 2), torch.zeros(4, 2))
    with pytest.raises(lw.InputError, match=r"torch\.float16"):
        robot.mass_matrix(q.half())
    with pytest.raises(lw.InputError, match="several devices"):
        robot.mass_times(q, torch.zeros(2, device="meta"))
    with pytest.raises(lw.InputError, match="q is an array of torch, and this call runs on NumPy alone"):
        robot.operators(q)
    with pytest.raises(lw.InputError, match='target="numpy"'):
        robot.mass_matrix(q, target="numpy")
    with pytest.raises(lw.InputError, match="out= and threads="):
        robot.compile("mass_matrix")(q, threads=2)


def test_singular_states_are_named_as_with_numpy():
    robot = lw.random_tree(1, seed=2, joints=["spherical"])
    with pytest.raises(lw.InputError, match="zero length"):
        robot.mass_matrix(torch.zeros(4, dtype=torch.float64))


def test_torch_compile_goes_round_a_method():
    """Methods choose their code by what they are given: torch.compile leaves them as they are, between two graphs."""
    robot = lw.load("double_pendulum")
    q, v, tau = tensors(robot, ("q", "v", "tau"), [(3,)] * 3)

    def loss(q, v, tau):
        return (2.0 * robot.forward_dynamics(q, v, tau) ** 2).sum()

    compiled = torch.compile(loss, backend="aot_eager")
    plain = torch.autograd.grad(loss(q, v, tau), (q, v, tau))
    for a, b in zip(torch.autograd.grad(compiled(q, v, tau), (q, v, tau)), plain):
        assert torch.equal(a, b)
