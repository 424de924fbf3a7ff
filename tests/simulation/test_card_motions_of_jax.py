"""Motions of JAX's arrays on cards, with the host in the place of the card: loops as calls that XLA makes."""

import numpy as np
import pytest
from device_text import RepeatsOnHost, needs_compiler
from trees import assert_close

import linkwise as lw
from linkwise.codegen.cuda.repeats import DeviceRepeat
from linkwise.simulation import on_arrays
from linkwise.simulation.motion_derivatives import Motions

jax = pytest.importorskip("jax")
pytestmark = [needs_compiler, pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")]
if not hasattr(jax, "ffi"):
    pytest.skip("this JAX has no jax.ffi", allow_module_level=True)

from linkwise.codegen.foreign import jax_frame, jax_loops  # noqa: E402

STEPS, STATES = 6, 3
HANDLER = jax_frame.handler(lambda *given: jax_loops._loop_on_cuda(*given), False)


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    jax.ffi.register_ffi_target("linkwise_loop", jax.ffi.pycapsule(HANDLER), platform="cpu")
    return RepeatsOnHost(tmp_path_factory.mktemp("loops"))


@pytest.fixture(autouse=True)
def card(monkeypatch, host):
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    monkeypatch.setattr(DeviceRepeat, "run", lambda device, *given: host.run(device, *given))
    monkeypatch.setattr(jax_loops, "current_device", lambda: 0)
    yield
    jax.config.update("jax_enable_x64", before)


def servo(robot, t, q, v, *, stiffness):
    return -stiffness * v + t


CASES = {
    "runge_kutta_4": {},
    "midpoint": {"method": "midpoint"},
    "semi_implicit_euler": {"method": "semi_implicit_euler"},
    "parts": {"damping": 3.0, "method": "midpoint"},
    "gains": {"controller": servo, "method": "midpoint"},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kept", [2**28, 0])
def test_as_on_the_cpu(case, kept, monkeypatch):
    """The motion, its gradient and derivatives of that, known to XLA as programs of loops."""
    robot = lw.random_tree(2, seed=2, joints=["revolute", "spherical"])
    rng = np.random.default_rng(1)
    options, asked = dict(CASES[case]), []
    given = {"q0": robot.random_configuration(rng, batch=STATES), "v0": rng.normal(size=(STATES, robot.nv))}
    if case == "gains":
        options["parameters"] = {"stiffness": jax.numpy.asarray(rng.uniform(1.0, 2.0, robot.nv))}
    else:
        options["tau"] = jax.numpy.asarray(rng.normal(size=(STEPS, robot.nv)))
    given = {k: jax.numpy.asarray(x) for k, x in given.items()}
    ready = on_arrays.ready
    with monkeypatch.context() as patched:
        patched.setattr(on_arrays, "Motions", lambda *x: Motions(*x, kept=kept))
        patched.setattr(on_arrays, "ready", lambda *x: asked.append(ready(*x)) or asked[0])
        lw.simulate(robot, **given, steps=STEPS, step=0.01, every=2, **options)
    (known,) = asked
    function, arrays = known.function, list(known.arrays)
    weights = [jax.numpy.asarray(rng.normal(size=(STATES, n))) for n in function.vjp.sizes[-2:]]
    along = [jax.numpy.asarray(rng.normal(size=x.shape)) for x in (*arrays, *weights)]
    calls = [
        (function, arrays),
        (function.vjp, [*arrays, *weights]),
        (function.jvp, [*arrays, *along[: len(arrays)]]),
        (function.vjp.jvp, [*arrays, *weights, *along]),
    ]
    for called, x in calls if kept else calls[1:2]:
        found = jax.jit(lambda *x, called=called: called.made_of_loops(x))(*x)
        expected = called.run([np.asarray(y) for y in x])
        for a, b in zip(found, expected, strict=True):
            assert_close(np.asarray(a), b, 1e-9)


def test_what_goes_wrong_in_a_loop_is_said(monkeypatch):
    robot = lw.chain(2, seed=1)
    q = jax.numpy.zeros((2, 2))
    asked, ready = [], on_arrays.ready
    monkeypatch.setattr(on_arrays, "ready", lambda *x: asked.append(ready(*x)) or asked[0])
    lw.simulate(robot, q, q, steps=2, method="midpoint")
    monkeypatch.setattr(DeviceRepeat, "run", lambda *x: 1 / 0)
    with pytest.raises(Exception, match="ZeroDivisionError"):
        jax.block_until_ready(jax.jit(lambda *x: asked[0].function.made_of_loops(x))(*asked[0].arrays))
