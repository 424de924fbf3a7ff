"""Simulations on tensors of PyTorch and arrays of JAX: in kind, the numbers of NumPy's, exact gradients of two orders.

Those of PyTorch run where it is installed: pip install "linkwise[torch]".
"""

import importlib.util
from functools import partial

import numpy as np
import pytest
from linkages import four_bar, four_bar_state
from trees import assert_close, derivative
from trees import robot as made

import linkwise as lw
from linkwise.simulation.called import compiled_stepper
from linkwise.simulation.joint_forces import passive_forces
from linkwise.simulation.motion_derivatives import Motions
from linkwise.simulation.steppers import Task

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
HAS_TORCH = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="PyTorch is not installed")
LIBRARIES = ["jax", pytest.param("torch", marks=HAS_TORCH)]
OPTIONS = {"step": 0.02, "method": "midpoint"}


@pytest.fixture(autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def array(library, x, needs=False):
    if library == "jax":
        return jax.numpy.asarray(x)
    import torch

    return torch.tensor(np.asarray(x), requires_grad=needs)


def numpy(x):
    return np.asarray(x.detach()) if hasattr(x, "detach") else np.asarray(x)


def start(r, batch=(2,), steps=4, seed=0):
    rng = np.random.default_rng(seed)
    q = r.random_configuration(rng, batch=batch)
    return q, rng.normal(size=(*batch, r.nv)), rng.normal(size=(*batch, steps, r.nv))


def rigid(n=2):
    return lw.chain(n, seed=1)


def sprung(r):
    return r.with_springs({j.name: {"stiffness": 3.0, "damping": 0.4} for j in r.joints})


def law(robot, t, q, v):
    return robot.gravity_force(q) - 3.0 * v - 5.0 * np.sin(q)


# --- the same motion --------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_same_kind_and_numbers_come_out(library):
    r = rigid()
    q, v, tau = start(r, batch=(3,))
    cases = [
        ({"tau": tau}, {"tau": array(library, tau)}),
        ({"tau": tau[0], "every": 2}, {"tau": array(library, tau[0]), "every": 2}),
        ({"controller": law, "steps": 4}, {}),
        ({"controller": law, "steps": 4, "hold": True}, {}),
        ({"steps": 4, "friction": 0.2, "damping": 0.1, "limits": (-0.5, 0.5)}, {}),
        ({"steps": 4, "external": {r.tips[-1]: np.ones(6)}}, {"external": {r.tips[-1]: array(library, np.ones(6))}}),
        ({"steps": 4, "external": lambda t, q, v: np.ones((2, 6)) * v[..., :1, None]}, {}),
        ({"parameters": {"inertial": 1.1 * r.inertial_parameters}, "steps": 4}, {}),
    ]
    for options, own in cases:
        if "parameters" in options:
            own = {"parameters": {"inertial": array(library, options["parameters"]["inertial"])}}
        expected = lw.simulate(r, q, v, **OPTIONS, **options)
        found = lw.simulate(r, array(library, q), array(library, v), **OPTIONS, **{**options, **own})
        assert (isinstance(found, lw.Trajectory) and type(found.q) is type(array(library, q))) or library == "jax"
        assert np.array_equal(found.time, expected.time)
        for x, y in ((found.q, expected.q), (found.v, expected.v), (found.tau, expected.tau)):
            assert x.shape == y.shape
            assert_close(numpy(x), y, 1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
def test_single_precision_stays(library):
    r = rigid()
    q, v, tau = (array(library, x.astype(np.float32)) for x in start(r))
    found = lw.rollout(r, q, v, tau, **OPTIONS)
    assert str(found.q.dtype).endswith("float32") and str(found.v.dtype).endswith("float32")
    expected = lw.rollout(r, *map(numpy, (q, v, tau)), **OPTIONS)
    assert_close(numpy(found.q), expected.q, 1e-6)


@pytest.mark.parametrize("library", LIBRARIES)
def test_starts_of_unit_length_and_at_rest(library):
    r = made("spherical")
    q, _, tau = start(r, batch=())
    found = lw.rollout(r, array(library, 1.3 * q), None, array(library, tau), **OPTIONS)
    assert_close(numpy(found.q), lw.rollout(r, q, None, tau, **OPTIONS).q, 1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("count", [0, 1, 31, 33])
def test_odd_batches(library, count):
    r = rigid()
    q, v, tau = start(r, batch=(count,))
    found = lw.rollout(r, *(array(library, x) for x in (q, v, tau)), **OPTIONS)
    assert found.q.shape == (count, 5, 2)
    if count:
        assert_close(numpy(found.q), lw.rollout(r, q, v, tau, **OPTIONS).q, 1e-12)


# --- derivatives ------------------------------------------------------------------------------------------

SORTS = {
    "explicit": (rigid, {"method": "semi_implicit_euler"}),
    "runge_kutta_4": (lambda: rigid(1), {"method": "runge_kutta_4"}),
    "quaternions": (lambda: lw.random_tree(1, seed=2, joints=["spherical"]), {"method": "midpoint"}),
    "floating": (lambda: lw.random_tree(1, seed=2, joints=["free"]), {"method": "semi_implicit_euler"}),
    "parts": (lambda: sprung(rigid()), {"method": "midpoint", "implicit": True}),
    "friction and stops": (rigid, {"method": "midpoint", "friction": 0.3, "limits": (-0.3, 0.3)}),
    "controller": (rigid, {"method": "midpoint", "controller": law}),
    "held controller": (lambda: rigid(1), {"method": "runge_kutta_4", "controller": law, "hold": True}),
}


def motions(r, options, steps=5, every=1, parameters=("inertial",), **more):
    """What lw.simulate makes of these options, for derivatives."""
    options = dict(options)
    controller = options.pop("controller", None)
    if controller is not None:
        from linkwise.simulation.user_functions import Controller, UserFunction

        controller = Controller(r, UserFunction("the controller", controller))
    passive = passive_forces(r, False, options.pop("friction", False), options.pop("limits", False))
    known = {"inertial": r.inertial_parameters.ravel(), "offsets": np.zeros(3 * len(r.bodies))}
    task = Task(
        r,
        options.pop("method"),
        0.02,
        passive,
        controller,
        options.pop("hold", False),
        controller is None,
        {k: known[k] for k in parameters},
        accounts=False,
        **options,
    )
    return Motions(compiled_stepper(task), steps, every, **more)


def directions(m, r, seed=3, count=2):
    """A start, and a change of everything a motion depends on that keeps bodies bodies."""
    q, v, tau = start(r, (count,), m.steps, seed)
    rng = np.random.default_rng(seed + 1)
    given = {"q": q, "w": v, "tau": tau, "inertial": np.tile(r.inertial_parameters.ravel(), (count, 1))}
    change = {"q": r.configuration_rate(q, rng.normal(size=v.shape)), "w": rng.normal(size=v.shape)}
    change |= {"tau": rng.normal(size=tau.shape), "inertial": 0.1 * rng.normal(size=(count, 1)) * given["inertial"]}
    return ({k: x[k] for k in m.moving} for x in (given, change))


def changed(given, change, t):
    return {k: x + t * change[k] for k, x in given.items()}


def prefixed(prefix, arrays):
    return {f"{prefix}_{k}": x for k, x in arrays.items()}


def seeds(m, given, seed=9):
    states = m.states(given)
    rng = np.random.default_rng(seed)
    return {f"seed_{k}": rng.normal(size=states[k].shape) for k in ("q", "w")}


def total(weights, arrays, prefix=""):
    return sum((weights[f"seed_{k}"] * arrays[prefix + k]).sum(axis=(-1, -2)) for k in ("q", "w"))


@pytest.mark.parametrize("sort", SORTS)
def test_derivatives_of_both_orders(sort):
    """Against differences of sixth order of the motion itself, in all it depends on at once."""
    make, options = SORTS[sort]
    r = make()
    m = motions(r, options)
    given, change = directions(m, r)
    w = seeds(m, given)
    slope = derivative(lambda t: total(w, m.states(changed(given, change, t))), 1e-3)
    back = m.gradients(given | w)
    inner = sum((back[k] * change[k]).reshape(2, -1).sum(axis=-1) for k in m.moving)
    assert_close(inner, slope, 1e-8)
    assert_close(total(w, m.changes(given | prefixed("d", change)), "d_"), slope, 1e-8)

    more = seeds(m, given, 10)
    second = m.changes_of_gradients(given | w | prefixed("d", change) | prefixed("d", more))
    both = lambda t: m.gradients(changed(given, change, t) | {k: x + t * more[k] for k, x in w.items()})
    for k in m.moving:
        assert_close(second[f"d_{k}"], derivative(lambda t, k=k: both(t)[k], 1e-3), 1e-7)
        assert_close(second[k], back[k], 1e-12)

    again = {k: 0.3 * x for k, x in reversed(change.items())}
    curved = m.second_changes(
        given | prefixed("d", change) | prefixed("e", again) | prefixed("e", prefixed("d", change))
    )
    moved = lambda t: m.changes(changed(given, again, t) | prefixed("d", {k: (1 + t) * x for k, x in change.items()}))
    for k in ("q", "w"):
        assert_close(curved[f"e_d_{k}"], derivative(lambda t, k=k: moved(t)[f"d_{k}"], 1e-3), 1e-7)


def test_loops_that_are_closed():
    r = four_bar()
    q, v = four_bar_state(r)
    tau = np.random.default_rng(2).normal(size=(4, r.nv))
    weights = np.random.default_rng(3).normal(size=(5, r.nq))
    end = lambda tau: (lw.rollout(r, jax.numpy.asarray(q), jax.numpy.asarray(v), tau, **OPTIONS).q * weights).sum()
    found = numpy(jax.grad(end)(jax.numpy.asarray(tau)))
    along = np.random.default_rng(4).normal(size=tau.shape)
    moved = lambda t: (lw.rollout(r, q, v, tau + t * along, **OPTIONS).q * weights).sum()
    assert_close((found * along).sum(), derivative(moved, 1e-3), 1e-8)


@pytest.mark.parametrize("sort", ["explicit", "parts"])
@pytest.mark.parametrize("every", [1, 3])
def test_checkpoints_change_nothing(sort, every):
    make, options = SORTS[sort]
    r = make()
    whole = motions(r, options, steps=12, every=every)
    given, _ = directions(whole, r)
    w = seeds(whole, given)
    kept, made_again = (
        whole.gradients(given | w),
        motions(r, options, steps=12, every=every, kept=0).gradients(given | w),
    )
    for k in whole.moving:
        assert np.array_equal(kept[k], made_again[k])


@pytest.mark.parametrize(("springs", "method", "stages"), [(False, "semi_implicit_euler", 1), (True, "midpoint", 1)])
def test_the_way_back_is_the_adjoint_of_the_linearised_algorithm(springs, method, stages):
    """Forward dynamics is noted once a turn, and its own adjoint takes fewer operations than that of its program."""
    from linkwise.codegen.program.repeat_derivatives import adjoint, tangent

    r = lw.chain(6, seed=1)
    m = motions(sprung(r) if springs else r, {"method": method, "implicit": springs}, parameters=())
    program, calls = m._step
    assert len(calls) == stages
    for derived in (adjoint, tangent):
        assert derived(program, m._roles, calls).operations.total < derived(program, m._roles).operations.total


def test_offsets_of_joints_have_gradients_too():
    r = rigid()
    q, v, _ = start(r, ())
    offsets = np.concatenate([c.placement.l for c in r.constants()])
    along = np.random.default_rng(1).normal(size=offsets.shape)
    end = lambda x, q: lw.simulate(r, q, v if q is not Q else V, steps=4, parameters={"offsets": x}, **OPTIONS).q[-1, 0]
    Q, V = jax.numpy.asarray(q), jax.numpy.asarray(v)
    slope = jax.grad(end)(jax.numpy.asarray(offsets), Q) @ along
    assert_close(slope, derivative(lambda t: end(offsets + t * along, q), 1e-3), 1e-8)


def servo(robot, t, q, v, *, h, tau):  # (names that steps have for other things)
    return robot.gravity_force(q) - h * q - tau * v


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("hold", [False, True])
def test_gains_of_controllers(library, hold):
    """Inputs by keyword: the motion of the controller with numbers, and gradients in them."""
    r = rigid()
    q, _, _ = start(r, ())
    gains = {"h": np.array([[3.0, 4.0], [5.0, 1.0]]), "tau": np.array(0.5)}
    options = {"steps": 4, "hold": hold, **OPTIONS}

    def moved(h, tau):
        known = {"h": h, "tau": tau, "inertial": array(library, r.inertial_parameters)}
        return lw.simulate(r, array(library, q), controller=servo, parameters=known, **options)

    found = moved(*(array(library, x) for x in gains.values()))
    for i, h in enumerate(gains["h"]):
        expected = lw.simulate(r, q, controller=partial(servo, h=h, tau=0.5), implicit=False, **options)
        assert_close(numpy(found.q)[i], expected.q, 1e-12)
        assert_close(numpy(found.tau)[i], expected.tau, 1e-12)
    if library == "jax":
        from jax.test_util import check_grads

        whole = lambda *x: moved(*map(jax.numpy.asarray, x)).q
        check_grads(whole, tuple(map(jax.numpy.asarray, gains.values())), order=2)
    else:
        import torch

        assert torch.autograd.gradcheck(lambda *x: moved(*x).q, [array("torch", x, True) for x in gains.values()])
    with pytest.raises(lw.InputError, match="takes h by keyword"):
        lw.simulate(r, array(library, q), controller=servo, steps=2)
    with pytest.raises(lw.InputError, match=r"functools\.partial\(servo, h="):
        lw.simulate(r, q, controller=servo, steps=2)


def both(r):
    def moved(q, v, tau, p, f):
        options = {"parameters": {"inertial": p}, "external": {r.tips[-1]: f}, **OPTIONS}
        found = lw.rollout(r, q, v, tau, **options)
        return found.q, found.v

    return moved


def arguments(r, library):
    """A start that is spread over a batch, forces for one state, and what is the same for all."""
    q, v, tau = start(r)
    p, f = r.inertial_parameters.ravel(), np.random.default_rng(5).normal(size=6)
    return tuple(array(library, x, True) for x in (q, v[:1], tau[0], p, f))


@HAS_TORCH
def test_torch_checks_the_gradients():
    import torch

    r = rigid()
    moved, given = both(r), arguments(r, "torch")
    assert torch.autograd.gradcheck(moved, given, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda q, tau: moved(q, given[1], tau, *given[3:]), (given[0], given[2]))


@HAS_TORCH
def test_torch_func_takes_motions():
    import torch

    r = rigid()
    q, _, tau = (array("torch", x) for x in start(r))
    end = lambda q, tau: lw.rollout(r, q, None, tau, **OPTIONS).q[-1]
    reverse = torch.func.vmap(torch.func.jacrev(end))(q, tau)
    forward = torch.func.vmap(torch.func.jacfwd(end))(q, tau)
    assert_close(numpy(reverse), numpy(forward), 1e-12)
    cost = lambda q: end(q, tau[0]).square().sum()
    rows = torch.func.jacrev(torch.func.jacrev(cost))(q[0])
    assert_close(numpy(torch.func.hessian(cost)(q[0])), numpy(rows), 1e-11)


def test_jax_checks_the_gradients():
    from jax.test_util import check_grads

    r = rigid()
    moved, given = both(r), arguments(r, "jax")
    check_grads(moved, given, order=1)
    rest = (given[1], *given[3:])

    def one(q, tau):
        q, tau = jax.numpy.asarray(q), jax.numpy.asarray(tau)  # (which are NumPy's where they are differences)
        return moved(q, rest[0], tau, *rest[1:])

    check_grads(one, (given[0], given[2]), order=2)


def test_jax_compiles_and_maps_motions():
    r = rigid()
    q, v, tau = (array("jax", x) for x in start(r))
    end = lambda q, v, tau: (lw.rollout(r, q, v, tau, **OPTIONS).q[-1] ** 2).sum()
    one = [jax.grad(end, (0, 1, 2))(*(x[i] for x in (q, v, tau))) for i in range(2)]
    mapped = jax.jit(jax.vmap(jax.grad(end, (0, 1, 2))))(q, v, tau)
    for k in range(3):
        assert_close(numpy(mapped[k]), np.stack([numpy(x[k]) for x in one]), 1e-12)


def test_motions_come_out_of_what_jax_transforms():
    r = rigid()
    q, v, tau = (array("jax", x) for x in start(r))
    plain = lw.rollout(r, q, v, tau, **OPTIONS)
    compiled = jax.jit(lambda *x: lw.rollout(r, *x, **OPTIONS))(q, v, tau)
    mapped = jax.vmap(lambda *x: lw.rollout(r, *x, **OPTIONS))(q, v, tau)
    for run in (compiled, mapped):
        assert type(run) is type(plain) and run.robot == r and np.array_equal(run.time, plain.time)
        assert np.array_equal(run.q, plain.q) and np.array_equal(run.tau, plain.tau)
    assert jax.tree.structure(plain) == jax.tree.structure(lw.rollout(r, q, v, 2 * tau, **OPTIONS))
    assert jax.tree.structure(plain) != jax.tree.structure(lw.rollout(r, q, v, **OPTIONS, duration=0.1))
    doubled = jax.jit(lambda run: jax.tree.map(lambda x: 2 * x, run))(plain)  # taken and given
    assert np.array_equal(doubled.v, 2 * plain.v)


def test_third_derivatives_are_refused_by_name():
    r = rigid()
    q = jax.numpy.asarray(start(r, ())[0])
    cost = lambda x: (lw.simulate(r, x * q, steps=2, **OPTIONS).q ** 2).sum()
    with pytest.raises(lw.InputError, match="first and second order"):
        jax.grad(jax.grad(jax.grad(cost)))(1.0)


# --- states that are lost, and what is refused -----------------------------------------------------------------


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_state_that_is_not_a_number_leaves_the_others(library):
    r = rigid()
    q, v, tau = start(r, batch=(9,))
    expected = lw.rollout(r, q, v, tau, **OPTIONS)
    q[4] = np.nan
    found = lw.rollout(r, *(array(library, x) for x in (q, v, tau)), **OPTIONS)
    rest = np.arange(9) != 4
    assert np.isnan(numpy(found.q)[4]).all() and np.array_equal(numpy(found.q)[rest], expected.q[rest])


def test_impossible_parameters_are_nan_in_jax_and_an_error_in_torch():
    r = rigid()
    q, v, tau = start(r, batch=(3,))
    p = np.tile(r.inertial_parameters, (3, 1, 1))
    p[1, 0, 0] = -1.0  # a mass
    given = [jax.numpy.asarray(x) for x in (q, v, tau)]
    found = lw.rollout(r, *given, parameters={"inertial": jax.numpy.asarray(p)}, **OPTIONS)
    assert np.isnan(found.q[1]).all() and np.isfinite(found.q[0]).all() and np.isfinite(found.q[2]).all()
    if importlib.util.find_spec("torch"):
        given = [array("torch", x) for x in (q, v, tau)]
        with pytest.raises(lw.LinkwiseError):
            lw.rollout(r, *given, parameters={"inertial": array("torch", p)}, **OPTIONS)


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_refused_says_why(library):
    r = rigid()
    q = array(library, np.zeros(2))
    refused = {
        "rk45": {"method": "rk45"},
        "variational": {"method": "variational"},
        "coordinates": {"method": "runge_kutta_4", "coordinates": "total"},
        "events": {"events": lambda t, q, v: q[0]},
        "checkpoint": {"checkpoint": "x"},
        "callback": {"callback": True, "controller": law},
        "progress": {"progress": True},
        "target": {"target": "numpy"},
        "damping": {"damping": q},
        "limits": {"limits": (q, q)},
        "not both": {"controller": law, "tau": array(library, np.zeros((2, 2)))},
        "noise": {"noise": lw.Noise(0.1, seed=1)},
        "cost": {"cost": lambda q: q @ q},
        "several libraries": {"v0": np.zeros(2)},
        "compiled in": {"controller": lambda t, q, v: np.linalg.svd(np.outer(q, v))[1]},
        r"tau must have shape \(..., 2, 2\)": {"tau": array(library, np.zeros((2, 3)))},
        r"q0 must have shape \(..., 2\)": {"q0": array(library, np.zeros(3))},
    }
    for words, options in refused.items():
        more = {} if "tau" in options else {"steps": 2}
        with pytest.raises(lw.InputError, match=words):
            lw.simulate(r, **{"q0": q, **more, **options})
    run = lw.simulate(r, q, steps=2)
    assert run.a.shape == (3, 2) and run.momentum.shape == (3, 6) and run.tau.shape == (3, 2)
    for ask in (lambda: run.energy, lambda: run.save("x.npz"), run.to_pandas, run.to_xarray, lambda: run.resume(1.0)):
        with pytest.raises(lw.InputError, match=f"arrays of {library}"):
            ask()
