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
