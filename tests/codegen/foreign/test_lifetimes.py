"""How long robots live that other libraries were called with: as long as someone has them, or what was made of them."""

import gc
import os
import subprocess
import sys
import weakref
from functools import lru_cache

import numpy as np
import pytest

import linkwise as lw
from linkwise.codegen.foreign import function
from linkwise.codegen.foreign.named import Named

MANY = 20
pytestmark = pytest.mark.usefixtures("little_garbage")  # whatever else the process holds need not be searched


@pytest.fixture
def jax(as_users_have_it):
    found = pytest.importorskip("jax")
    return found if hasattr(found, "ffi") else pytest.skip("this JAX has no jax.ffi")


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason='PyTorch is not installed: pip install "linkwise[torch]"')


@pytest.fixture
def few(torch, monkeypatch):
    """Graphs of PyTorch hold three functions."""
    from linkwise.codegen.foreign import torch_calls

    found = Named(3, "only 3 are held")
    monkeypatch.setattr(function, "IN_GRAPHS", found)
    monkeypatch.setattr(torch_calls, "IN_GRAPHS", found)
    return found


def pendulum(k):
    return lw.chain(1, seed=k)


def left(use, count=MANY):
    """How many of so many robots are there after each has been used once and let go."""
    known = []
    for k in range(count):
        robot = pendulum(k)
        known.append(weakref.ref(robot))
        use(robot)
        del robot
    gc.collect()
    return sum(x() is not None for x in known)


def in_jax(jax):
    x = jax.numpy.array([0.3])

    def squared(robot):
        return lambda q: (robot.gravity_force(q) ** 2).sum()

    def scanned(robot):
        return lambda q: jax.lax.scan(lambda q, _: (robot.gravity_force(q), None), q, None, 3)[0]

    return {
        "call": lambda robot: robot.gravity_force(x),
        "kernel": lambda robot: robot.compile("gravity_force")(x),
        "method": lambda robot: jax.jit(robot.gravity_force)(x),
        "grad": lambda robot: jax.grad(squared(robot))(x),
        "vmap": lambda robot: jax.jit(jax.vmap(jax.jacfwd(robot.gravity_force)))(x[None]),
        "scan": lambda robot: jax.jit(scanned(robot))(x),
    }


@pytest.mark.parametrize("use", ["call", "kernel", "method", "grad", "vmap", "scan"])
def test_jax_lets_robots_go(jax, monkeypatch, use):
    from linkwise.codegen.foreign import jax_calls

    monkeypatch.setattr(jax_calls, "_IN_PROGRAMS", Named(3, ""))
    assert left(in_jax(jax)[use]) <= 3


@pytest.mark.parametrize("use", ["cond", "while", "map", "scan"])
def test_loops_outside_of_jit_are_held_by_jax_until_its_caches_are_cleared(jax, monkeypatch, use):
    from linkwise.codegen.foreign import jax_calls

    monkeypatch.setattr(jax_calls, "_IN_PROGRAMS", Named(3, ""))
    x, lax = jax.numpy.array([0.3]), jax.lax
    uses = {
        "cond": lambda robot: lax.cond(True, robot.gravity_force, lambda q: q, x),
        "while": lambda robot: lax.while_loop(lambda q: q[0] < 0.2, robot.gravity_force, x),
        "map": lambda robot: lax.map(robot.gravity_force, x[None]),
        "scan": lambda robot: lax.scan(lambda q, _: (robot.gravity_force(q), None), x, None, 3),
    }
    assert left(lambda robot: (uses[use](robot), jax.clear_caches()), 8) <= 3


def test_motions_of_jax_hold_so_many(jax, monkeypatch):
    from linkwise.codegen.foreign import jax_calls

    monkeypatch.setattr(jax_calls, "_IN_PROGRAMS", Named(3, ""))
    monkeypatch.setattr(jax_calls, "_jitted", lru_cache(maxsize=3)(jax_calls._jitted.__wrapped__))
    x = jax.numpy.array([0.3])
    assert left(lambda robot: lw.simulate(robot, x, x, steps=2, method="semi_implicit_euler")) <= 3


def test_motions_of_jax_on_cards_hold_so_many_and_programs_hold_theirs(jax, monkeypatch):
    from linkwise.codegen.foreign import jax_calls, jax_loops

    monkeypatch.setattr(jax_calls, "_IN_PROGRAMS", Named(3, ""))
    monkeypatch.setattr(jax_loops, "_LOOPS", Named(3, ""))
    x = jax.numpy.array([0.3])

    def program(robot):
        moved = jax.jit(lambda q: lw.simulate(robot, q, q, steps=2, method="semi_implicit_euler").q)
        return moved.trace(x).lower(lowering_platforms=("cuda",))

    kept = program(pendulum(100))
    (token,) = jax_loops._LOOPS._last
    assert left(program, 8) <= 3
    assert token not in jax_loops._LOOPS._last and jax_loops._LOOPS[token].token == token
    del kept


def test_what_was_made_of_a_robot_by_jax_holds_it(jax, monkeypatch):
    """A program, a gradient and a derivative, all others gone meanwhile; and of two equal robots either does."""
    from linkwise.codegen.foreign import jax_calls

    monkeypatch.setattr(jax_calls, "_IN_PROGRAMS", Named(1, ""))
    x = jax.numpy.array([0.3])
    robot, twin = pendulum(100), pendulum(100)
    expected = robot.gravity_force(np.array([0.3])), robot.linearize_inverse([0.3], [0.0], [0.0]).dq[0]
    program = jax.jit(robot.gravity_force).lower(x).compile()
    _, back = jax.vjp(robot.gravity_force, x)
    later = jax.jit(twin.gravity_force).lower(x).compile()
    text = jax.make_jaxpr(robot.gravity_force)(x)
    del robot
    left(in_jax(jax)["call"], 3)
    assert np.allclose(program(x), expected[0], rtol=1e-13, atol=0)
    assert np.allclose(back(jax.numpy.ones(1))[0], expected[1], rtol=1e-12, atol=0)
    assert np.allclose(jax.core.eval_jaxpr(text.jaxpr, text.consts, x)[0], expected[0], rtol=1e-13, atol=0)
    del program, back, text, twin
    left(in_jax(jax)["call"], 3)
    assert np.allclose(later(x), expected[0], rtol=1e-13, atol=0)


def calling(robot):
    return lambda q: robot.gravity_force(q)


def test_torch_lets_robots_go(torch):
    x = torch.tensor([0.3], dtype=torch.float64, requires_grad=True)
    assert left(lambda robot: robot.gravity_force(x).sum().backward()) == 0
    assert left(lambda robot: torch.func.jacfwd(robot.gravity_force)(x.detach())) == 0


def test_graphs_of_torch_hold_so_many(torch, few):
    """Nobody says when a graph is gone; one whose function is, says so."""
    from torch.fx.experimental.proxy_tensor import make_fx

    x = torch.tensor([0.3], dtype=torch.float64)
    graphs = []
    assert left(lambda robot: graphs.append(make_fx(calling(robot))(x))) == 3
    assert torch.equal(graphs[-1](x), pendulum(MANY - 1).gravity_force(x))
    with pytest.raises(lw.InputError, match="gravity_force, is not there .*: only 3 are held; keep its robot"):
        graphs[0](x)


def test_equal_robots_share_what_is_held(torch):
    from torch.fx.experimental.proxy_tensor import make_fx

    x = torch.tensor([0.3], dtype=torch.float64)
    robots = [pendulum(7) for _ in range(5)]
    held = len(function.IN_GRAPHS._last)
    for robot in robots:
        make_fx(calling(robot))(x)
    assert len(function.IN_GRAPHS._last) <= held + 1


def test_a_robot_that_is_kept_keeps_its_graphs_though_a_twin_came_first(torch, few):
    from torch.fx.experimental.proxy_tensor import make_fx

    x = torch.tensor([0.3], dtype=torch.float64)
    twin, robot = pendulum(100), pendulum(100)
    make_fx(calling(twin))(x)
    graph = make_fx(calling(robot))(x)
    del twin
    left(lambda other: make_fx(calling(other))(x), 4)
    assert torch.equal(graph(x), robot.gravity_force(x))


def test_derivatives_are_found_by_the_names_of_what_they_are_of(few):
    """As graphs that were kept on disk name them."""
    made = pendulum(100).compile("gravity_force").as_function
    made.register()
    assert few[f"{made.token}-vjp"] is made.vjp and few[f"{made.token}-jvp-vjp"] is made.jvp.vjp
    with pytest.raises(lw.InputError, match="nothing, is not there"):
        few["nothing-1-vjp"]


COMPILED = """
import os
import sys
import torch
import torch._dynamo
import torch._inductor.compile_fx
import linkwise as lw

for _ in range(2):
    child = os.fork()
    if child == 0:
        break
    if os.waitpid(child, 0)[1]:
        sys.exit("a process failed")
else:
    sys.exit()
robot, x = lw.chain(1, seed=3), torch.tensor([0.3], dtype=torch.float64, requires_grad=True)
torch.compile(lambda q: robot.gravity_force(q))(x).backward(torch.tensor([0.7], dtype=torch.float64))
print(torch._dynamo.utils.counters["aot_autograd"]["autograd_cache_hit"], x.grad.item())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes that have torch.compile loaded are forked")
def test_graphs_that_torch_kept_on_disk_have_their_gradients(torch, tmp_path):
    """Of two processes that compile the same the second finds graphs on disk whose functions it has not named itself.

    The graphs are of our calls alone: there is nothing in them that a compiler of C++ would have to compile.
    """
    kept = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True, env=kept, timeout=300)
    assert not done.returncode, done.stderr
    [(_, first), (hits, second)] = [line.split() for line in done.stdout.splitlines()]
    assert first == second
    expected = 0.7 * pendulum(3).linearize_inverse([0.3], [0.0], [0.0]).dq[0, 0]
    assert np.isclose(float(second), expected, rtol=1e-13, atol=0)
    if hits == "0":
        pytest.skip("this PyTorch keeps no such graphs")


def robot_and_its_sum(jax, number=100):
    """A program with two calls, one of them a derivative."""
    robot = pendulum(number)
    return robot, jax.jit(lambda q: robot.gravity_force(q) + jax.grad(lambda q: robot.gravity_force(q).sum())(q))


def test_programs_of_jax_that_are_kept_on_disk_come_back(jax):
    kept = pytest.importorskip("jax.experimental.serialize_executable")
    robot, program = robot_and_its_sum(jax)
    x = jax.numpy.array([0.3])
    found = kept.deserialize_and_load(*kept.serialize(program.lower(x).compile()))(x)
    linear = robot.linearize_inverse([0.3], [0.0], [0.0]).dq[0]
    assert np.allclose(found, robot.gravity_force([0.3]) + linear, rtol=1e-12, atol=0)


def test_programs_of_jax_that_were_loaded_hold_what_they_call(jax, monkeypatch):
    from linkwise.codegen.foreign import jax_calls

    kept = pytest.importorskip("jax.experimental.serialize_executable")
    monkeypatch.setattr(jax_calls, "_IN_PROGRAMS", Named(1, ""))
    robot, program = robot_and_its_sum(jax)
    x = jax.numpy.array([0.3])
    expected = program(x)
    loaded = kept.deserialize_and_load(*kept.serialize(program.lower(x).compile()))
    del robot, program
    left(in_jax(jax)["call"], 3)
    assert np.array_equal(loaded(x), expected)


def test_a_program_of_jax_whose_function_is_of_another_process_says_so(jax, monkeypatch):
    from linkwise.codegen.foreign import jax_calls

    kept = pytest.importorskip("jax.experimental.serialize_executable")
    robot, program = robot_and_its_sum(jax, 101)  # which XLA has not called before
    x = jax.numpy.array([0.3])
    written = kept.serialize(program.lower(x).compile())
    monkeypatch.setattr(jax_calls, "_IN_PROGRAMS", Named(3, "only 3 are held"))
    loaded = kept.deserialize_and_load(*written)
    with pytest.raises(Exception, match="gravity_force, is not there .*: only 3 are held; keep its robot"):
        jax.block_until_ready(loaded(x))
    robot.gravity_force(x)  # from here on it is this process's too
    assert np.array_equal(loaded(x), program(x))


def test_programs_with_robots_can_be_exported(jax):
    export = pytest.importorskip("jax.export")
    _, program = robot_and_its_sum(jax)
    x = jax.numpy.array([0.3])
    checks = [export.DisabledSafetyCheck.custom_call("linkwise_call")]
    exported = export.export(program, disabled_checks=checks)(x)
    assert np.array_equal(exported.call(x), program(x))
    pytest.importorskip("flatbuffers")
    assert np.array_equal(export.deserialize(exported.serialize()).call(x), program(x))
