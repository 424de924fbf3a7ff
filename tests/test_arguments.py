"""Options that are names: a wrong one is answered by the one that was meant and by those there are."""

import numpy as np
import pytest

import linkwise as lw
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
