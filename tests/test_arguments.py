"""What users hand in: options that are names, and arrays of kinds that would be changed without a word."""

import numpy as np
import pytest

import linkwise as lw
from linkwise import control
from linkwise.arguments import one_of
from linkwise.simulation.methods import CALLED_ELSEWHERE, METHODS, SOLVERS

ARM = lw.load("ur5")
Q = np.zeros(6)


@pytest.mark.parametrize(
    ("method", "meant"),
    [
        ("rk4", "runge_kutta_4"),
        ("RK4", "runge_kutta_4"),
        ("euler", "semi_implicit_euler"),
        ("explicit_euler", "semi_implicit_euler"),
        ("Semi-Implicit Euler", "semi_implicit_euler"),
        ("RK45", "rk45"),
        ("DOP853", "dop853"),
        ("Radau", "radau"),
        ("ode45", "rk45"),
        ("runge_kuta_4", "runge_kutta_4"),
        ("variatonal", "variational"),
    ],
)
def test_methods_of_simulate(method, meant):
    with pytest.raises(lw.UnknownNameError) as caught:
        lw.simulate(ARM, Q, duration=0.1, method=method)
    said = f"no method is named {method!r}; did you mean {meant}? choose from {', '.join([*METHODS, *SOLVERS])}"
    assert str(caught.value) == said


def test_what_methods_are_called_elsewhere_are_methods_here_and_no_names_of_ours():
    ours = {*METHODS, *SOLVERS}
    assert set(CALLED_ELSEWHERE.values()) <= ours and not ours & CALLED_ELSEWHERE.keys()


CHOICES = {
    "method of forward dynamics": (
        lambda x: ARM.forward_dynamics(Q, Q, Q, method=x),
        "articulated-body",
        "articulated_body",
    ),
    "method of the mass matrix": (lambda x: ARM.mass_matrix(Q, method=x), "Composite", "composite"),
    "target of a call": (lambda x: ARM.gravity_force(Q, target=x), "NumPy", "numpy"),
    "target of a product": (lambda x: ARM.operators(Q).mass.apply(Q, target=x), "CPU", "cpu"),
    "target of a kernel": (lambda x: ARM.compile("gravity_force", target=x), "gpu", "cuda"),
    "target of a simulation": (lambda x: lw.simulate(ARM, Q, duration=0.1, target=x), "numpi", "numpy"),
    "coordinates": (lambda x: lw.simulate(ARM, Q, duration=0.1, coordinates=x), "joints", "joint"),
    "axes": (lambda x: ARM.jacobian(Q, axes=x, frame="tool0"), "World", "world"),
    "space": (lambda x: ARM.operators(Q).block_diagonal([np.eye(6)] * 6, space=x), "body", "bodies"),
    "parameters": (lambda x: ARM.compile("gravity_force", parameters=[x]), "inertia", "inertial"),
    "dtype of source text": (lambda x: ARM.compile("gravity_force", target="c", dtype=x), "Float32", "float32"),
    "kind of loop": (lambda x: lw.Loop("world", "tool0", x), "point on line", "point_on_line"),
    "kind of joint": (lambda x: lw.chain(3, joint=x), "Revolute", "revolute"),
    "built-in robot": (lambda x: lw.load(x), "Panda", "panda"),
    "layer": (lambda x: lw.view.save("still.png", ARM, show=(x,)), "visual", "visuals"),
}


@pytest.mark.parametrize("name", CHOICES)
def test_other_options(name):
    call, wrong, meant = CHOICES[name]
    with pytest.raises(lw.LinkwiseError, match=rf"'{wrong}'.*; did you mean {meant}\?"):
        call(wrong)


@pytest.mark.parametrize("x", [None, 3, ["cpu"], np.zeros(2)])
def test_what_is_no_name_is_refused_with_the_list(x):
    with pytest.raises(lw.UnknownNameError, match=r"^no thing is named .*; choose from cpu, numpy$"):
        one_of(x, ("cpu", "numpy"), "thing")


# --- arrays ----------------------------------------------------------------------------------------------

HIDDEN = np.ma.masked_array(np.arange(6.0), mask=[0, 0, 1, 0, 0, 0])
TAKERS = {
    "a method, q": lambda x: ARM.gravity_force(x),
    "a method on NumPy, q": lambda x: ARM.gravity_force(x, target="numpy"),
    "a method, tau": lambda x: ARM.forward_dynamics(Q, Q, x),
    "a method, a list of states": lambda x: ARM.gravity_force([x, x]),
    "an operator": lambda x: ARM.operators(Q).mass @ x,
    "a kernel": lambda x: ARM.compile("gravity_force")(x),
    "a bound kernel": lambda x: ARM.compile("gravity_force").bind(x, out=np.zeros(6)),
    "a kernel of JAX": lambda x: ARM.compile("gravity_force", target="jax")(x),
    "simulate, q0": lambda x: lw.simulate(ARM, x, duration=0.01),
    "simulate, damping": lambda x: lw.simulate(ARM, Q, duration=0.01, damping=x),
    "simulate, a law": lambda x: lw.simulate(ARM, Q, controller=lambda t, q, v: x, duration=0.01, callback=True),
    "a law": lambda x: control.PDGravity(ARM, x, 1.0, 1.0),
    "an inertia": lambda x: lw.Inertia(1.0, com=x[:3]),
    "limits": lambda x: lw.Limits(lower=x),
    "a loop": lambda x: lw.Loop("world", "tool0", constrains=x[None]),
    "a joint map": lambda x: lw.Custom(x[:, None]),
}


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("name", TAKERS)
def test_masked_entries_are_refused(name, target, monkeypatch):
    """NumPy would take what is below the mask for what is meant."""
    monkeypatch.setenv("LINKWISE_TARGET", target)
    if "JAX" in name:
        pytest.importorskip("jax")
    with pytest.raises(lw.LinkwiseError, match=r"1 of [36] entries of .* are masked.*x\.filled"):
        TAKERS[name](HIDDEN)


def test_masks_that_hide_nothing_and_files_in_memory_run_compiled(tmp_path, monkeypatch):
    robot = lw.load("ur5")
    q = np.arange(6.0)
    np.save(tmp_path / "q.npy", q)
    expected = robot.gravity_force(q, target="cpu")
    kernel = robot.compile("gravity_force")
    monkeypatch.setattr(lw.Robot, "_call", lambda *_: pytest.fail("left to NumPy"))
    for x in (np.ma.masked_array(q), np.load(tmp_path / "q.npy", mmap_mode="r"), q.view(np.recarray)):
        found = robot.gravity_force(x, target="cpu")
        assert type(found) is np.ndarray and np.array_equal(found, expected)
        assert np.array_equal(kernel(x), expected)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="long doubles are doubles here")
@pytest.mark.parametrize("dtype", [np.longdouble, np.complex128, np.clongdouble])
def test_kernels_refuse_what_they_would_have_to_round(dtype):
    x = np.full(6, 1.0, dtype) / 3
    asked = lw.compile(lambda robot, q: robot.gravity_force(q), ARM)
    for kernel in (ARM.compile("gravity_force"), asked):
        for call, given in ((kernel, x), (kernel, x[None]), (kernel, np.tile(x, (5, 1))), (kernel.quick, x)):
            with pytest.raises(lw.InputError, match=r'^q .* dtype (float128|complex\d+|longdouble).*target="numpy"'):
                call(given)
    for run in (ARM.compile("gravity_force", target="numpy"), ARM.gravity_force):
        assert run(x).dtype == dtype
