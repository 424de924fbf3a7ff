"""Code in the processor's own language gives what LLVM's gives, to the last digit."""

import re
from dataclasses import replace

import numpy as np
import pytest
from kernel_calls import SIGNATURES, arguments

import linkwise as lw
from linkwise.codegen.llvm import assembled_block, one_state
from linkwise.codegen.llvm.assembled_block import frame_size, is_assembled
from linkwise.codegen.llvm.assembly import Segment
from linkwise.codegen.llvm.assembly_bounds import Memory, check_bounds
from linkwise.codegen.llvm.one_state import scalar_type
from linkwise.codegen.program.fusion import absorbed
from linkwise.codegen.program.instructions import instructions
from linkwise.codegen.program.places import computed_places
from linkwise.codegen.program.trace import trace
from linkwise.codegen.runtime import engine
from linkwise.codegen.runtime.kernel import Kernel

pytestmark = pytest.mark.skipif(not engine.host().assembles, reason="this processor has no AVX-512")
BOTH = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def by_both(program, given, monkeypatch):
    """The results of assembly and of LLVM's code, and whether they are sound."""
    found = []
    for way in ("1", "0"):
        monkeypatch.setenv("LINKWISE_ASSEMBLY", way)
        kernel = Kernel(program)
        vector = engine.host().vector(given[0].dtype)
        assert ("asm sideeffect" in kernel.ir(vector)) == (way == "1") == is_assembled(program, vector)
        results, sound = kernel.run(given)
        single = [np.asarray(kernel.quick(*x)) for x in zip(*given)] if program.single else []
        found.append((results if isinstance(results, tuple) else (results,), sound, single))
    return found


def assert_same(program, given, monkeypatch):
    (a, sound, single), (b, sound_too, single_too) = by_both(program, given, monkeypatch)
    assert sound == sound_too
    for x, y in [*zip(a, b), *zip(single, single_too)]:
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)
    return a


@BOTH
@pytest.mark.parametrize(
    ("name", "robot"),
    [
        ("forward_dynamics", "quadruped"),
        ("inverse_dynamics", "humanoid"),
        ("mass_matrix_inverse", "panda"),
        ("linearize_forward", "panda"),
        ("mass_matrix", "tree"),
        ("forward_dynamics", "tree"),
    ],
)
def test_the_same_digits(name, robot, dtype, monkeypatch, rng):
    robot = lw.random_tree(7, seed=3) if robot == "tree" else lw.load(robot)
    program = robot.compile(name, rolled=False).program
    given = arguments(robot, SIGNATURES[name], (19,), rng, dtype)
    assert_same(program, given, monkeypatch)


def user(robot, q, v):
    """What dynamics has none of: sines of computed angles, roots, results that are inputs, numbers or negatives."""
    a = q[0] * v[0] - q[1] * v[1]
    b = np.sin(a) * np.cos(v[1]) + np.cos(-a)
    c = np.sqrt(1.0 + np.abs(-b)) / (2.0 + np.cos(q[1] + 0.5))
    return np.stack(
        [-b, q[0], 2.5 + 0 * q[0], c, -c * a, c * q[0] - 3.0 * a, np.sin(c + b), -np.sin(q[0]), -3.0 * v[0]]
    )


@BOTH
@pytest.mark.parametrize("size", [1.0, 1e7])  # the second leaves the range of the quick sines
def test_a_users_function(dtype, size, monkeypatch, rng):
    robot = lw.chain(2, seed=0)
    program = trace(robot, user)
    given = list((size * rng.normal(size=(2, 21, 2))).astype(dtype))
    (found,) = assert_same(program, given, monkeypatch)
    if dtype == np.float64 and size == 1.0:
        expected = np.stack([user(robot, q, v) for q, v in zip(*given)])
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@BOTH
def test_sines_of_sines(dtype, monkeypatch, rng):
    """Once a name in the module's text that was there before."""
    program = trace(lw.chain(2, seed=0), lambda robot, q: np.sin(np.cos(q)) + np.cos(np.sin(1.0 + q)), sizes={"q": 2})
    (found,) = assert_same(program, [q := rng.normal(size=(9, 2)).astype(dtype)], monkeypatch)
    np.testing.assert_allclose(found, np.sin(np.cos(q)) + np.cos(np.sin(1 + q)), rtol=1e-5)


@BOTH
def test_far_angles_take_the_slow_way_in_their_own_lane_alone(dtype, monkeypatch, rng):
    program = trace(lw.chain(2, seed=0), lambda robot, q: np.stack([np.sin(q[0]), np.cos(q[1])]), sizes={"q": 2})
    q = rng.normal(size=(33, 2)).astype(dtype)
    (near,) = assert_same(program, [q], monkeypatch)
    far = q.copy()
    far[5, 0], far[17, 1], far[20, 0] = 1e9, np.inf, np.nan
    with np.errstate(invalid="ignore"):
        (found,) = assert_same(program, [far], monkeypatch)
        np.testing.assert_allclose(found[5, 0], np.sin(far[5, 0]), rtol=1e-5)
    others = np.setdiff1d(np.arange(33), [5, 17, 20])
    np.testing.assert_array_equal(found[others], near[others])
    assert np.isnan(found[17, 1]) and np.isnan(found[20, 0])


def test_guards_are_seen_state_by_state(monkeypatch):
    arm = lw.chain(3, seed=0)
    program = trace(arm, lambda robot, q: robot.mass_solve(q, q), parameters=["inertial"], plain=True)
    own = np.tile(arm.inertial_parameters.ravel(), (11, 1))
    own[7] = 0
    (a, sound, _), (b, sound_too, _) = by_both(program, [np.ones((11, 3)), own], monkeypatch)
    assert not sound and not sound_too
    assert np.isnan(a[0][7]).all() and np.isfinite(np.delete(a[0], 7, 0)).all()
    np.testing.assert_array_equal(a[0], b[0])


def test_what_it_has_no_instruction_for_is_left_to_llvm():
    vector = replace(engine.host().vector(np.float64), assembled=True)
    program = trace(lw.chain(2, seed=0), lambda robot, q: np.tanh(q))
    assert not is_assembled(program, vector)


def test_each_product_is_fused_once_and_nothing_is_lost():
    program = lw.load("quadruped").compile("forward_dynamics").program
    fused = absorbed(program.nodes, program.uses)
    assert fused == program.fused
    assert len(set(fused.values())) == len(fused) > 500
    code = instructions(program, computed_places(program)[0]).code
    kinds = [x.op for x in code]
    products, sums = (sum(x.op in kinds for x in program.nodes) for kinds in (("mul",), ("add", "sub")))
    assert kinds.count("fma") == len(fused)
    assert kinds.count("fma") + kinds.count("mul") == products
    assert kinds.count("fma") + kinds.count("add") == sums
    assert kinds.count("out") == len({id(x) for x in program.roots})


def test_the_frame_has_room_for_sine_and_cosine_where_one_is_used():
    """The other was once written behind the memory of the kernel."""
    program = trace(lw.load("double_pendulum"), lambda robot, q: np.sin(q))
    assert frame_size(program, engine.host().vector(np.float64)) == 4


def test_zero_and_negative_zero_are_two_numbers(monkeypatch):
    """Constants that are chosen once lost the sign of −0, and results that are both had one place."""

    def function(robot, q):
        results = np.empty(6, dtype=object)
        results[:] = [0.0, np.where(q[0] > 0, -0.0, q[1]), np.where(q[0] > 0, q[1], -0.0), -0.0, np.nan, 1e-320]
        return results

    program = trace(lw.chain(2, seed=0), function)
    q = np.array([[1.0, -2.0], [-1.0, -2.0]])
    for (found,), _, single in by_both(program, [q], monkeypatch):
        for x in (found, np.array(single)):
            assert np.signbit(x[:, :4]).tolist() == [[False, True, True, True]] * 2
            assert np.isnan(x[:, 4]).all() and (x[:, 5] == 1e-320).all()


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30])


@BOTH
def test_larger_smaller_and_conditions_of_several_parts(monkeypatch, dtype):
    """To the last digit and sign, for zeros of both signs, infinities and what is no number; and as NumPy has them."""

    def function(robot, q):
        a, b = q[0], q[1]
        inside = (a > -0.5) & (b < 0.5) | ~(a <= b) & (a * b != 0.0)
        chosen = np.where(inside, a + b, a - b)
        by_many = np.where((a < b) ^ (b < 1.0) | ((a == b) & ~(a < 0.0)), 2.0 * a, -b)
        return np.stack(
            [np.maximum(a, b), np.minimum(a, b), np.fmax(a, b), np.fmin(a, b), np.clip(a, b, 1.0), chosen, by_many]
        )

    program = trace(lw.chain(2, seed=0), function)
    q = np.array([[x, y] for x in SPECIAL for y in SPECIAL], dtype)
    with np.errstate(invalid="ignore"):
        (found,) = assert_same(program, [q], monkeypatch)
        expected = np.stack([function(None, x) for x in q])
    np.testing.assert_array_equal(found[:, :5], expected[:, :5])
    for (x,), _, single in by_both(program, [q], monkeypatch):
        assert (np.signbit(x) == np.signbit(found))[~np.isnan(found)].all()
        np.testing.assert_array_equal(x, np.array(single).astype(dtype) if dtype == np.float64 else x)


def test_conditions_of_too_many_parts_are_left_to_llvm():
    def function(robot, q):
        so_far = q[0] < q[1]
        for i in range(12):
            so_far = (q[i % 3] < float(i)) | so_far & (q[1] > 0.5 * i)
        return np.where(so_far, q[0], q[1])

    program = trace(lw.chain(3, seed=0), function)
    assert not is_assembled(program, engine.host().vector(np.float64))
    q = np.random.default_rng(0).normal(size=(40, 3))
    np.testing.assert_array_equal(Kernel(program)(q), [function(None, x) for x in q])


def test_many_inputs_are_not_copied_to_the_stack(monkeypatch, rng):
    """Two million of them, of which two were used, once ended the process."""
    vector = engine.host().vector(np.float64)
    program = trace(lw.chain(2, seed=0), lambda robot, q, x: q * x[0] + x[-1], sizes={"x": 50})
    assert scalar_type(program, vector).assembled
    monkeypatch.setattr(one_state, "STACK_NUMBERS", 53)
    assert is_assembled(program, vector) and not scalar_type(program, vector).assembled
    assert_same(program, [rng.normal(size=(9, 2)), rng.normal(size=(9, 50))], monkeypatch)


def long_sum(robot, q, v):
    """Many values at a time, of which memory holds some, with sines before and between."""
    parts = [np.sin(q[0]) + k * v[0] for k in range(40)]
    middle = np.sin(sum(parts))
    return np.stack([sum(x * x for x in parts) * middle, 1.0 / (2.0 + middle)])


@BOTH
def test_memory_that_the_text_names_is_its_own(dtype):
    program = trace(lw.chain(2, seed=0), long_sum)
    vector = engine.host().vector(dtype)
    _, assembly, looped, sums = assembled_block._made(program, replace(vector, assembled=True), 1)
    memory, sines = Memory(4, 2), 2 * (len(looped) + len(sums))
    check_bounds(assembly, vector, memory, sines)
    spoiled = {
        "of rdi": (assembly, Memory(1, 2), sines),
        "of rsi": (assembly, Memory(4, 1), sines),
        "of rdx": (assembly._replace(frame=assembly.frame - 1), memory, sines),
        "of rcx": (assembly._replace(constants=assembly.constants[:-1]), memory, sines),
        "sines stand outside": (assembly, memory, assembly.frame + 1),
    }
    for why, (text, room, count) in spoiled.items():
        with pytest.raises(AssertionError, match=why):
            check_bounds(text, vector, room, count)
    move = "vmovap" + ("d" if dtype == np.float64 else "s")
    for line, why in {
        f"{move} %zmm1, 0(%rdi)": "writes over",
        f"{move} 0(%rcx), %zmm1": "as a vector",
        f"{move} 1(%rdi), %zmm1": "reaches",
        f"{move} 0(%rsp), %zmm1": "reaches",
        f"{move} (%rdi,%rax,8), %zmm1": "not known",
    }.items():
        with pytest.raises(AssertionError, match=why):
            check_bounds(assembly._replace(segments=[Segment([line], None)]), vector, memory, sines)


def test_windows_and_callers_of_old_instructions_get_their_registers_back():
    """There xmm6 to xmm15 are the caller's; and vector registers are left as SSE wants to find them."""
    llvm = engine._llvm()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    vector = engine.host().vector(np.float64)
    program = trace(lw.chain(2, seed=0), lambda robot, q: np.sin(q) * q)
    module = llvm.parse_assembly(Kernel(program).ir(vector))
    module.triple = "x86_64-pc-windows-msvc"
    host = engine.host()
    machine = llvm.Target.from_triple(module.triple).create_target_machine(cpu=host.cpu, features=host.features)
    for function in ("lw_block", "lw_single"):
        text = machine.emit_assembly(module).split(f"\n{function}:", 1)[1]
        before, after = text.split("#APP", 1)[0], text.split("#NO_APP", 1)[1].split("retq", 1)[0]
        assert all(re.search(rf"%xmm{k}, .*\(%r[sb]p\)", before) for k in range(6, 16))
        assert all(re.search(rf"\(%r[sb]p\), %xmm{k}\b", after) for k in range(6, 16))
        assert "vzeroupper" in after


@pytest.mark.parametrize("missing", [*engine.ASSEMBLY_FEATURES, "x86_64"])
def test_processors_without_an_instruction_get_none(missing, monkeypatch):
    llvm = engine._llvm()
    features = llvm.get_host_cpu_features()
    features[missing] = False
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: features)
    if missing == "x86_64":
        monkeypatch.setattr(llvm, "get_default_triple", lambda: "i686-pc-linux-gnu")
    assert not engine.host_as_llvm_says().assembles
