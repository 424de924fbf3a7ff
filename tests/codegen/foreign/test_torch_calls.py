"""Compiled functions on tensors of PyTorch: the same kind out, exact gradients of any order, torch.func, torch.compile.

Runs where PyTorch is installed: pip install "linkwise[torch]".
"""

import numpy as np
import pytest
from trees import robot as made

import linkwise as lw
from linkwise.codegen import thresholds

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
    still = [0.0, 0.0]
    for call in (robot.forward_dynamics, robot.compile("forward_dynamics")):
        for _ in range(2):  # also where an answer is kept
            assert torch.equal(call(q, still, still), call(q, 0 * q, 0 * q))
            assert torch.equal(call([0.1, 0.2], 0 * q, still), call(q, 0 * q, 0 * q))
            assert torch.equal(call([0.1, 0.2], still, 0 * q), call(q, 0 * q, 0 * q))
    assert torch.equal(robot.forward_dynamics([0.1, 0.2], v=0 * q, tau=still), robot.forward_dynamics(q, 0 * q, 0 * q))


def test_whoever_called_first_tensors_have_one_answer():
    """NumPy's way in, once made, hands tensors on."""
    robot, first = lw.load("double_pendulum"), torch.tensor([0.1, 0.2])
    expected = robot.gravity_force(first)
    robot.gravity_force(first.numpy())
    assert torch.equal(robot.gravity_force(first), expected) and expected.dtype == torch.float32


def test_what_is_long_by_itself_is_made_of_other_calls(monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    monkeypatch.setattr(thresholds, "LONGEST_WITH_PARTS", 1000)
    robot = lw.random_tree(6, seed=2)
    q = torch.tensor(robot.random_configuration(np.random.default_rng(0), (2,)), requires_grad=True)
    found = robot.mass_matrix_sensitivity(q)
    assert np.allclose(
        found.detach().numpy(), robot.mass_matrix_sensitivity(q.detach().numpy()), rtol=1e-12, atol=1e-12
    )
    found.sum().backward()
    assert q.grad.any()
    inner = robot.jacobian_inner(q.detach().float(), robot.tips[-1])
    assert inner.dtype == torch.float32 and inner.shape == (2, robot.nv, robot.nv)
    with pytest.raises(lw.InputError, match="q must have shape"):
        robot.mass_matrix_sensitivity(q[:, :-1])


@pytest.mark.parametrize("wants_gradient", [False, True])
def test_views_that_torch_has_not_negated_yet(wants_gradient):
    robot = lw.load("double_pendulum")
    x = torch.tensor([[0.1 + 0.3j, 0.2 - 0.4j]], dtype=torch.complex128)
    q = x.conj().imag.requires_grad_(wants_gradient)
    assert q.is_neg() and torch.equal(robot.gravity_force(q).detach(), robot.gravity_force(-x.imag))


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
    with pytest.raises(lw.InputError, match=r"torch\.complex128"):
        robot.mass_matrix((q + 0j).conj())
    with pytest.raises(lw.InputError, match=r"torch\.qint8"):
        robot.mass_matrix(torch.quantize_per_tensor(q.float(), 0.1, 0, torch.qint8))
    with pytest.raises(lw.InputError, match=r"layout torch\.sparse_coo.*x\.to_dense\(\)"):
        robot.mass_matrix(q.to_sparse())
    with pytest.raises(lw.InputError, match="several devices"):
        robot.mass_times(q, torch.zeros(2, device="meta"))
    with pytest.raises(lw.InputError, match="q is an array of torch, and this call runs on NumPy alone"):
        robot.operators(q)
    with pytest.raises(lw.InputError, match='target="numpy"'):
        robot.mass_matrix(q, target="numpy")
    with pytest.raises(lw.InputError, match="out= and threads="):
        robot.compile("mass_matrix")(q, threads=2)


def test_singular_states_are_named_as_with_numpy():
    robot = lw.random_tree(2, seed=2, joints=["spherical"])
    for nothing in (np.zeros(8), torch.zeros(8, dtype=torch.float64), torch.zeros(8, requires_grad=True)):
        with pytest.raises(lw.InputError, match="zero length"):
            robot.mass_matrix(nothing)


def test_single_numbers_have_no_axes():
    robot = lw.load("double_pendulum")
    q = torch.tensor([0.1, 0.2], dtype=torch.float64)
    kernel = robot.compile("potential_energy")
    for call in (robot.potential_energy, kernel):
        for x in (q, q.clone().requires_grad_()):
            found = call(x)
            assert found.shape == () and found.item() == robot.potential_energy(q.numpy())


# --- torch.compile ----------------------------------------------------------------------------------------


def in_graphs(function, whole=True):
    torch._dynamo.reset()
    return torch.compile(function, backend="aot_eager", fullgraph=whole)


def of_kernel(robot):
    return robot.compile("forward_dynamics")


def of_method(robot):
    return robot.forward_dynamics


@pytest.mark.parametrize("made", [of_kernel, of_method])
@pytest.mark.parametrize("whole", [True, False])
def test_torch_compile_may_come_first(made, whole):
    """Before any call that it does not see: what it does not trace is made where it comes to it."""
    call = made(lw.load("double_pendulum"))
    x = tensors(lw.load("double_pendulum"), ("q", "v", "tau"), [(3,)] * 3)

    def loss(q, v, tau):
        return (2.0 * call(q, v, tau) ** 2).sum()

    found = torch.autograd.grad(in_graphs(loss, whole)(*x), x)
    for a, b in zip(found, torch.autograd.grad(loss(*x), x)):
        assert torch.equal(a, b)


@pytest.mark.parametrize("made", [of_kernel, of_method])
def test_torch_compile_may_come_after_numpy(made):
    """What NumPy's arrays go into is a built-in function then: a kernel passes it by, a method runs between graphs."""
    call = made(lw.load("double_pendulum"))
    x = [y.detach() for y in tensors(lw.load("double_pendulum"), ("q", "v", "tau"), [(3,)] * 3)]
    expected = call(*(y.numpy() for y in x))
    assert np.array_equal(call(*(y.numpy() for y in x)), expected)
    found = in_graphs(lambda *x: 2.0 * call(*x), whole=made is of_kernel)(*x)
    assert np.allclose(found.numpy(), 2.0 * expected, rtol=1e-13, atol=0)


def test_torch_compile_knows_robots_apart():
    """What it takes as an argument, it looks at in every call."""
    robots = [lw.chain(2, seed=seed) for seed in (1, 2, 3)]
    q = torch.tensor([0.1, 0.2], dtype=torch.float64)
    by_method, by_kernel = in_graphs(lambda r, q: 2.0 * r.gravity_force(q)), in_graphs(lambda k, q: 2.0 * k(q))
    for robot in (*robots, robots[0]):
        assert torch.equal(by_method(robot, q), 2.0 * robot.gravity_force(q))
        kernel = robot.compile("gravity_force")
        assert torch.equal(by_kernel(kernel, q), 2.0 * kernel(q))


def test_torch_compile_takes_frames_and_results_with_names():
    robot, twin = lw.load("double_pendulum"), lw.load("double_pendulum")
    q, v, tau = (x.detach() for x in tensors(robot, ("q", "v", "tau"), [(3,)] * 3))
    tip = twin.tips[0]
    assert torch.equal(in_graphs(lambda q: robot.jacobian(q, tip))(q), twin.jacobian(q, tip))
    found = in_graphs(lambda *x: robot.linearize_forward(*x).dq)(q, v, tau)
    assert torch.equal(found, twin.linearize_forward(q, v, tau).dq)


def of_formula(robot):
    return lw.compile(lambda robot, q, v, tau: robot.mass_times(q, v) * tau, robot)


def slope(f, x, along):
    return torch.func.jvp(f, (x,), (along,))[1]


FUNC = {
    "vmap": lambda f, q, v, tau: torch.func.vmap(f)(q, v, tau),
    "grad": lambda f, q, v, tau: torch.func.grad(lambda q: (f(q, v, tau) ** 2).sum())(q),
    "vjp": lambda f, q, v, tau: torch.func.vjp(lambda q: f(q, v, tau), q)[1](v)[0],
    "jacrev of each": lambda f, q, v, tau: torch.func.vmap(torch.func.jacrev(f))(q, v, tau),
    "jacfwd": lambda f, q, v, tau: torch.func.jacfwd(lambda q: f(q, v, tau))(q),
    "jacfwd of each": lambda f, q, v, tau: torch.func.vmap(torch.func.jacfwd(f))(q, v, tau),
    "jvp": lambda f, q, v, tau: slope(lambda q: f(q, v, tau), q, v),
    "jvp of jvp": lambda f, q, v, tau: slope(lambda q: slope(lambda q: f(q, v, tau), q, v), q, tau),
    "grad of jvp": lambda f, q, v, tau: torch.func.grad(lambda q: slope(lambda q: f(q, v, tau), q, v).sum())(q),
    "hessian": lambda f, q, v, tau: torch.func.hessian(lambda q: f(q, v, tau).sum())(q),
}


NEW_TORCH = pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13),
    reason="too old to compile functions of these",
)


@NEW_TORCH
@pytest.mark.parametrize("made", [of_kernel, of_method, of_formula])
@pytest.mark.parametrize("transform", FUNC)
def test_torch_func_within_torch_compile(transform, made):
    """In one graph, forward mode too: an operator's silence would be a derivative of zero."""
    call = made(lw.load("double_pendulum"))
    x = [y.detach() for y in tensors(lw.load("double_pendulum"), ("q", "v", "tau"), [(2,)] * 3)]

    def changed(*x):
        return FUNC[transform](call, *x)

    found = in_graphs(changed)(*x)
    assert torch.allclose(found, changed(*x), rtol=1e-14, atol=1e-14) and found.any()


@NEW_TORCH
def test_forward_mode_within_torch_compile_is_the_linearised_algorithm():
    robot = lw.load("panda")
    q, v, tau = (x.detach() for x in tensors(robot, ("q", "v", "tau"), [(3,)] * 3))
    kernel = robot.compile("forward_dynamics")
    found = in_graphs(torch.func.vmap(torch.func.jacfwd(kernel, argnums=(0, 1))))(q, v, tau)
    exact = robot.linearize_forward(*(x.numpy() for x in (q, v, tau)), target="numpy")
    for a, b in zip(found, (exact.dq, exact.dv)):
        assert np.allclose(a.numpy(), b, rtol=1e-9, atol=1e-9)


def test_forward_mode_within_torch_compile():
    kernel = lw.load("double_pendulum").compile("gravity_force")
    q, along = torch.tensor([[0.1, 0.2], [1.0, 0.5]], dtype=torch.float64)
    forward_ad = torch.autograd.forward_ad

    def derivative(q, along):
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(kernel(forward_ad.make_dual(q, along))).tangent

    assert torch.equal(in_graphs(derivative)(q, along), derivative(q, along))


def test_jacobians_in_one_go_of_what_is_compiled():
    """``torch.autograd``'s own vmap comes to the operator in the graph that the compiler made of the gradient."""
    robot = lw.load("double_pendulum")
    q, v, tau = (x.detach() for x in tensors(robot, ("q", "v", "tau"), [(2,)] * 3))
    kernel = robot.compile("forward_dynamics")
    compiled = in_graphs(lambda q: kernel(q, v, tau))
    found = torch.autograd.functional.jacobian(compiled, q, vectorize=True)
    expected = torch.autograd.functional.jacobian(lambda q: kernel(q, v, tau), q)
    assert torch.allclose(found, expected, rtol=1e-13, atol=1e-13)
