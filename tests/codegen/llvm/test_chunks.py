"""Code in chunks gives what whole code gives, to the last digit."""

import numpy as np
import pytest

import linkwise as lw


@pytest.mark.parametrize(
    ("name", "sizes"), [("linearize_forward", (1, 9)), ("forward_dynamics", (3,)), ("mass_matrix_inverse", (17,))]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_numbers(name, sizes, dtype, monkeypatch, tmp_path, rng):
    robot = lw.load("quadruped") if name != "linearize_forward" else lw.chain(4, seed=1)
    whole = robot.compile(name)
    count = len(whole.signature.inputs)
    monkeypatch.setattr("linkwise.codegen.llvm.module.CHUNKED_FROM", 100)
    monkeypatch.setattr("linkwise.codegen.llvm.chunks.CHUNK", 150)
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    chunked = type(robot)(**{f: getattr(robot, f) for f in robot.__dataclass_fields__ if f != "numbers"}).compile(name)
    for n in sizes:
        q = np.stack([robot.random_configuration(rng) for _ in range(n)]).astype(dtype)
        x = [q, *rng.normal(size=(count - 1, n, robot.nv)).astype(dtype)]
        for found, expected in zip(np.atleast_1d(chunked(*x)), np.atleast_1d(whole(*x))):
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, expected)
    assert "lw_chunk1" in chunked.ir(chunked.code(dtype).vector)


def test_guards_are_seen(monkeypatch, tmp_path):
    monkeypatch.setattr("linkwise.codegen.llvm.module.CHUNKED_FROM", 10)
    monkeypatch.setattr("linkwise.codegen.llvm.chunks.CHUNK", 20)
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    arm = lw.chain(3, seed=0)
    kernel = arm.compile("forward_dynamics", parameters=["inertial"])
    still, own = [np.zeros(3)] * 3, arm.inertial_parameters.ravel()
    assert kernel.run([*still, own])[1] and not kernel.run([*still, 0 * own])[1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_comparisons_are_handed_on(dtype, monkeypatch, tmp_path, rng):
    """The logarithm of a turn compares and chooses; a later chunk asks what an earlier one compared."""
    ball = lw.Joint(lw.Spherical(), "ball", stiffness=2.0, rest=(0.1, -0.2, 0.3, 0.9))
    body = lw.Inertia(1.0, com=(0.1, 0.2, -0.3), tensor=np.diag([0.2, 0.3, 0.4]))
    robot = lw.assemble("ball", [lw.Body("a", ball, body), lw.Body("b", lw.Revolute("y"), body, "a")])
    monkeypatch.setattr("linkwise.codegen.llvm.module.CHUNKED_FROM", 10)
    monkeypatch.setattr("linkwise.codegen.llvm.chunks.CHUNK", 7)
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    q, (v, a) = robot.random_configuration(rng, 9), rng.normal(size=(2, 9, 4))
    q[0, :4] = ball.rest  # where the series is taken
    given = [x.astype(dtype) for x in (q, v, a)]
    kernel = robot.compile("linearize_inverse")
    text = kernel.ir(kernel.code(dtype).vector)
    assert any("select <" in part and "n, ptr" in part for part in text.split("define internal void @lw_chunk"))
    for found, expected in zip(kernel(*given), robot.linearize_inverse(*given, target="numpy")):
        np.testing.assert_allclose(found, expected, atol=1e-10 if dtype == np.float64 else 1e-4)
