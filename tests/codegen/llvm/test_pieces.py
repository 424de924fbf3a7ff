"""Code in pieces gives what whole code gives, to the last digit. (Where LLVM writes it: assembly needs no pieces.)"""

from collections import Counter

import numpy as np
import pytest

import linkwise as lw
from linkwise.codegen import thresholds
from linkwise.codegen.program.pieces import pieces
from linkwise.symbols.scalar import Scalar


@pytest.fixture(autouse=True)
def by_llvm(monkeypatch):
    monkeypatch.setenv("LINKWISE_ASSEMBLY", "0")


@pytest.mark.parametrize(
    ("name", "sizes"), [("linearize_forward", (1, 9)), ("forward_dynamics", (3,)), ("mass_matrix_inverse", (17,))]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_numbers(name, sizes, dtype, monkeypatch, tmp_path, rng):
    robot = lw.load("quadruped") if name != "linearize_forward" else lw.chain(4, seed=1)
    whole = robot.compile(name)
    count = len(whole.signature.inputs)
    monkeypatch.setattr(thresholds, "PIECES_FROM", 100)
    monkeypatch.setattr(thresholds, "PIECE", 150)
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    cut = type(robot)(**{f: getattr(robot, f) for f in robot.__dataclass_fields__ if f != "numbers"}).compile(name)
    for n in sizes:
        q = np.stack([robot.random_configuration(rng) for _ in range(n)]).astype(dtype)
        x = [q, *rng.normal(size=(count - 1, n, robot.nv)).astype(dtype)]
        for found, expected in zip(np.atleast_1d(cut(*x)), np.atleast_1d(whole(*x))):
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, expected)
    assert "lw_piece1" in cut.ir(cut.code(dtype).vector)


@pytest.mark.parametrize("length", [12, 40])
def test_no_cut_divides_a_sum_from_products_that_are_fused_into_it(length, monkeypatch, rng):
    monkeypatch.setattr(thresholds, "PIECE", length)
    program = lw.load("quadruped").compile("forward_dynamics_jvp").program
    program.forget_steps()
    cut = pieces(program)
    piece = {id(x): i for i, part in enumerate(cut.parts) for x in part}
    assert sorted(piece) == sorted(map(id, program.nodes)) and len(cut.parts) > 50
    assert max(map(len, cut.parts)) <= 2 * length + 2
    uses = Counter(id(a) for x in program.nodes for a in x.args)
    uses.update(map(id, [*program.roots, *cut.guarded]))
    sums = [(x, a) for x in program.nodes if x.op in ("add", "sub") for a in x.args if isinstance(a, Scalar)]
    fused = [(x, a) for x, a in sums if a.op in ("mul", "neg") and uses[id(a)] == 1]
    assert fused and all(piece[id(x)] == piece[id(a)] for x, a in fused)
    program.forget_steps()


def test_the_frame_never_holds_two_values_in_one_slot(monkeypatch):
    monkeypatch.setattr(thresholds, "PIECE", 30)
    program = lw.load("quadruped").compile("forward_dynamics").program
    program.forget_steps()
    cut = pieces(program)
    program.forget_steps()
    held: dict[int, int] = {}
    for part in cut.parts:
        inside = {id(x) for x in part}
        for x in part:
            for a in x.args:
                if isinstance(a, Scalar) and a.op != "input" and id(a) not in inside:
                    assert held[cut.slots[id(a)]] == id(a)
        held |= {cut.slots[id(x)]: id(x) for x in part if id(x) in cut.slots}
    assert all(held[cut.slots[id(x)]] == id(x) for x in cut.guarded)
    assert cut.size == 1 + max(cut.slots.values()) < len(cut.slots)


def test_guards_are_seen(monkeypatch, tmp_path):
    monkeypatch.setattr(thresholds, "PIECES_FROM", 10)
    monkeypatch.setattr(thresholds, "PIECE", 20)
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    arm = lw.chain(3, seed=0)
    kernel = arm.compile("forward_dynamics", parameters=["inertial"])
    still, own = [np.zeros(3)] * 3, arm.inertial_parameters.ravel()
    assert kernel.run([*still, own])[1] and not kernel.run([*still, 0 * own])[1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_comparisons_are_handed_on(dtype, monkeypatch, tmp_path, rng):
    """The logarithm of a turn compares and chooses; a later piece asks what an earlier one compared."""
    ball = lw.Joint(lw.Spherical(), "ball", stiffness=2.0, rest=(0.1, -0.2, 0.3, 0.9))
    body = lw.Inertia(1.0, com=(0.1, 0.2, -0.3), tensor=np.diag([0.2, 0.3, 0.4]))
    robot = lw.assemble("ball", [lw.Body("a", ball, body), lw.Body("b", lw.Revolute("y"), body, "a")])
    monkeypatch.setattr(thresholds, "PIECES_FROM", 10)
    monkeypatch.setattr(thresholds, "PIECE", 7)
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    q, (v, a) = robot.random_configuration(rng, 9), rng.normal(size=(2, 9, 4))
    q[0, :4] = ball.rest  # where the series is taken
    given = [x.astype(dtype) for x in (q, v, a)]
    kernel = robot.compile("linearize_inverse")
    text = kernel.ir(kernel.code(dtype).vector)
    assert any("select <" in part and "n, ptr" in part for part in text.split("define internal void @lw_piece"))
    for found, expected in zip(kernel(*given), robot.linearize_inverse(*given, target="numpy")):
        np.testing.assert_allclose(found, expected, atol=1e-10 if dtype == np.float64 else 1e-4)
