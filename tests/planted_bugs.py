"""Bugs planted on purpose, and which tests see them: wrong signs, transposes, indices, forgotten terms.

    python tests/planted_bugs.py               every bug against the laws of operators
    python tests/planted_bugs.py 3 17          those of these numbers
    python tests/planted_bugs.py --all-laws    what the laws, pruned to pairs, miss is tried on their whole product
    python tests/planted_bugs.py --code        bugs of the compiler, of time steps and of files, against their tests

Run it by hand after these tests are changed or pruned. Each bug is one replacement in a copy of the source; it is seen
where tests fail that pass without it. What the laws of operators cannot see, because a matrix and its sweeps are made from
the same wrong block, the identities, inverses and rates beside them must.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAWS = "tests/laws/test_operator_laws.py"
BESIDE = (
    "tests/laws/test_structure.py",
    "tests/laws/test_identities.py",
    "tests/laws/test_inverses.py",
    "tests/laws/test_diagonal_laws.py",
    "tests/laws/test_motion_leaves.py",
    "tests/laws/test_linearized_lemmas.py",
    "tests/laws/test_rates.py",
    "tests/dynamics/test_mass.py",
    "tests/dynamics/test_inverse_dynamics.py",
    "tests/dynamics/forward/test_forward_dynamics.py",
)

# (what is wrong, file, what stands there, what stands there instead)
BUGS = [
    ("sweeps outward start at body 0", "sweeps.py", "step(start if p < 0 else", "step(start if p <= 0 else"),
    ("one child is lost", "sweeps.py", "gathered[p] = added(gathered[p], passed)", "gathered[p] = added(zero, passed)"),
    ("parents off by one", "sweeps.py", "[start if p < 0 else values[p] for", "[start if p < 0 else values[p - 1] for"),
    ("φ with the sign of l", "spatial.py", "block([[self.R, skew(self.l) @ self.R]", "block([[self.R, -skew(self.l) @ self.R]"),
    ("φ⁻¹ without its sign", "spatial.py", "Transform(Rt, -(Rt @ self.l", "Transform(Rt, (Rt @ self.l"),
    ("a block's adjoint", "algebra/blocks.py", "(Transform, Edge, AtNode)) else E.mT @ x", "(Transform, Edge, AtNode)) else E @ x"),
    ("τ̄ with a plus", "algebra/blocks.py", "x - self.G @ (self.H @ x)", "x + self.G @ (self.H @ x)"),
    ("τ̄* not turned", "algebra/blocks.py", "Projection(self.H.mT, self.G.mT)", "Projection(self.G, self.H)"),
    ("an edge's adjoint in the wrong order", "algebra/blocks.py", "self.edge.phi.T @ x)", "self.edge.phi @ x)"),
    ("a shift to the wrong body", "algebra/kinds.py", "out[p] = plus(out[p], act(E, x[k]))", "out[p] = act(E, x[k])"),
    ("a shift's adjoint", "algebra/kinds.py", "act_adjoint(E, x[p]) for E, p", "act_adjoint(E, x[p - 1]) for E, p"),
    ("propagation forgets itself", "algebra/kinds.py", "gathered, int) else plus(x, gathered)", "gathered, int) else gathered"),
    ("φ* of one step", "algebra/kinds.py", "return self.tree.outward(lambda y, E, x: plus(x, act_adjoint(E, y)), None",
     "return self.tree.outward(lambda y, E, x: plus(act_adjoint(E, y), None), None"),
    ("φ̃ with its identity", "algebra/kinds.py", "return _spread(self.tree, self.blocks, full)", "return full"),
    ("a fused sweep's sign", "algebra/evaluation.py", "(others[0][1] - through.H @ y)", "(others[0][1] + through.H @ y)"),
    ("tips on one body", "algebra/kinds.py", "out[b] = plus(out[b], act(E, y))", "out[b] = act(E, y)"),
    ("B* without its map", "algebra/kinds.py", "act_adjoint(E, x[b]) for E, b", "x[b] for E, b"),
    ("a small matrix's adjoint", "algebra/kinds.py", "matrix.mT if self.flipped else matrix", "matrix"),
    ("the adjoint keeps its relations", "algebra/kinds.py", "out.relations = spaces.adjoint(self.relations)", "pass"),
    ("a driven recursion", "algebra/recursions.py", "return left @ (right @ S.mT).mT, S", "return left @ (right @ S).mT, S"),
    ("its outward one", "algebra/recursions.py", "left.mT @ S @ right + x", "left @ S @ right + x"),
    ("D without the rotor", "riccati.py", "D = D + Gamma", "D = D - Gamma"),
    ("P⁺ with a plus", "riccati.py", "P_plus = P - arrays.symmetric", "P_plus = P + arrays.symmetric"),
    ("G without D⁻¹", "riccati.py", "G = U @ D_inverse", "G = U"),
    ("whitening adds", "dynamics/articulated.py", "epsilon = _plus(y, -H, z)", "epsilon = _plus(y, H, z)"),
    ("smoothing with G", "dynamics/articulated.py", "beta_dot = nu - G.mT @ carried", "beta_dot = nu + G.mT @ carried"),
    ("Υ with the wrong sign", "dynamics/articulated.py", "Upsilon_plus + H.mT @ U - Z @ H", "Upsilon_plus + H.mT @ U + Z @ H"),
    ("Υ without D⁻¹", "dynamics/articulated.py", "arrays.symmetric(D_inverse + G.mT @ Z)", "arrays.symmetric(G.mT @ Z)"),
    ("P° with the wrong half", "dynamics/diagonal/articulated_rates.py", "P_plus_ring + turned + turned.mT", "P_plus_ring + turned"),
    ("G° without G D°", "dynamics/diagonal/articulated_rates.py", "(U_ring - G @ D_ring) @ D_inverse", "U_ring @ D_inverse"),
    ("low½ without its half", "dynamics/diagonal/articulated_rates.py", "- 0.5 * np.eye", "- 0.0 * np.eye"),
    ("Ψ̇ with the body's own velocity", "algebra/motion.py", "own[k] - links.H[k].mT @ b for", "own[k] for"),
    ("Ĝ not turned", "algebra/motion.py", "P.mT @ H.mT @ D for P", "P @ H.mT @ D for P"),
]  # fmt: skip

# (what is wrong, file, what stands there, what stands there instead, the test that must see it)
CODE_BUGS = [
    ("one output of a rolled walk", "codegen/rolled/program.py", "inboard[k] = inboard[p]", "inboard[k] = 0",
     "tests/codegen/rolled/test_rolled.py"),
    ("differences the wrong way round in machine code", "codegen/llvm/straight_line.py",
     "f{node.op}{self.flag} {v} {self.value(a[0])}, {self.value(a[1])}",
     "f{node.op}{self.flag} {v} {self.value(a[1])}, {self.value(a[0])}", "tests/codegen/runtime/test_kernel.py"),
    ("sine for cosine in machine code", "codegen/llvm/straight_line.py", 'index = 0 if node.op == "sin"',
     'index = 0 if node.op == "cos"', "tests/robot/test_default.py"),
    ("sine for cosine on a graphics card", "codegen/sources/cuda.py", "({values[angle]}, &{s}, &{c});", "({values[angle]}, &{c}, &{s});",
     "tests/codegen/sources/test_cuda.py"),
    ("a choice the wrong way round", "arrays.py", "c.select(a, b) if", "c.select(b, a) if", "tests/robot/test_default.py"),
    ("weights of Runge and Kutta", "simulation/steps.py", "(a1 + 2.0 * a + a4)", "(a1 + 2.0 * a + a1)",
     "tests/simulation/test_integrators.py"),
    ("positions by the old velocity", "simulation/steps.py", "s.moved(q, h * s.velocity(q, w)), w",
     "s.moved(q, h * s.velocity(q, w - h * w_dot)), w", "tests/simulation/test_integrators.py"),
    ("half of a Coriolis term", "dynamics/linearized/forward.py", "M_hat @ (2.0 * t)", "M_hat @ t",
     "tests/dynamics/linearized/test_linearized.py"),
    ("Algorithm 6 without half a term", "dynamics/linearized/algorithm_6.py", "J @ (2.0 * H.mT", "J @ (H.mT",
     "tests/dynamics/linearized/test_linearized.py"),
    ("a resumed run counts its steps anew", "simulation/simulate.py", "first=last)", "first=0)",
     "tests/simulation/test_trajectory.py"),
    ("couplings lose a slope", "dynamics/coupled_links.py", "total[j] = total[j] + wide(g) * total[k]",
     "total[j] = total[j] + total[k]", "tests/robot/test_coupled_catalogue.py"),
    ("a step's last stage by its second", "simulation/steps.py", "w + h * (x.last * a))", "w + h * (x.time * found[0][1]))",
     "tests/simulation/test_coordinates.py"),
    ("JAX's own derivatives the wrong way", "dynamics/linearized/second_derivatives.py", "tuple(points), tuple(directions))",
     "tuple(points), tuple(-x for x in directions))", "tests/codegen/sources/test_jax.py"),
    ("blocks of JAX's matrices", "arrays.py", "(empty > 0) + [blocks[i, j]]", "(empty > 0) + [2.0 * blocks[i, j]]", "tests/codegen/sources/test_jax.py"),
    ("an entry of a matrix for one state", "codegen/llvm/one_state.py", "places.setdefault(id(root), []).append(j)",
     "places.setdefault(id(root), [j])", "tests/robot/test_default.py"),
    ("constants of a matrix for one state", "codegen/llvm/one_state.py", "if not isinstance(root, Scalar):",
     "if not isinstance(root, Scalar) and root:", "tests/robot/test_default.py"),
    ("results from the disk lose their last part", "symbols/results.py", "[recalled(x) for x in parts]",
     "[recalled(x) for x in parts[:-1]]", "tests/codegen/runtime/test_cache.py"),
    ("code of another level taken for its own", "codegen/runtime/engine.py", "llvm_version(), str(level))", "llvm_version())",
     "tests/codegen/runtime/test_cache.py"),
    ("a part of an expression hides a rule", "algebra/rules.py", "for key in have for i in self.by_part",
     "for key in list(have)[:1] for i in self.by_part", "tests/laws/test_identities.py"),
    ("a value's phase is that of its last user", "codegen/rolled/plan.py", "max([own, *(known", "max([-1, *(known",
     "tests/codegen/rolled/test_rolled.py"),
    ("rotations with the sine's sign", "spatial.py", "[[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]",
     "[[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]", "tests/test_spatial.py"),
    ("a number before the first line is lost", "codegen/llvm/streaming_stores.py",
     "icmp ult {self.places} {self.numbers}, %leads{s}", "icmp ule {self.places} %leads{s}, {self.numbers}",
     "tests/codegen/llvm/test_streaming_stores.py"),
    ("rows that no band holds are left out", "codegen/llvm/counted_loops.py", "%left = icmp ult i64 %r, {rows}",
     "%left = icmp ult i64 {rows}, %r", "tests/codegen/runtime/test_matrix_tape.py"),
    ("the end of a row is lost between lines", "codegen/llvm/row_bands.py", "ptr %from, align {t.alignment}\n  store",
     "ptr %buffer, align {t.alignment}\n  store", "tests/codegen/rolled/test_products.py"),
    ("two blocks' results in one place", "codegen/program/paired_blocks.py", '{"out": results, "guard": 0}', '{"out": 0, "guard": 0}',
     "tests/codegen/llvm/test_paired_blocks.py"),
    ("the second block's states by the first's place", "codegen/llvm/driver.py", '_Block("q", "%start"', '_Block("q", "%i"',
     "tests/codegen/llvm/test_paired_blocks.py"),
    ("the second block reads the first's inputs", "codegen/program/paired_blocks.py", "(name, index + inputs)", "(name, index)",
     "tests/codegen/llvm/test_paired_blocks.py"),
    ("sines of sums by the first block's inputs", "codegen/llvm/assembled_block.py", "(first + starts[name] + index)",
     "(starts[name] + index)", "tests/codegen/llvm/test_paired_blocks.py"),
    ("curvature with a plus", "dynamics/diagonal/curvature.py", "X - np.swapaxes(X, -1, -2)", "X + np.swapaxes(X, -1, -2)",
     "tests/dynamics/diagonal/test_curvature.py"),
    ("loops pull the wrong way", "dynamics/closed/soft.py", "out - loop.damping", "out + loop.damping", "tests/dynamics/closed"),
    ("a law of an implicit step is asked at its start", "simulation/implicit.py", "s.applied(t + h, q, v)", "s.applied(t, q, v)",
     "tests/simulation/test_implicit.py"),
    ("and where it is called from Python", "simulation/called.py", "t if h is None else t + h", "t",
     "tests/simulation/test_implicit.py"),
    ("every part of an implicit step asks at its start", "simulation/implicit.py", "t + h * p.start, *here", "t, *here",
     "tests/simulation/test_implicit.py"),
    ("and where parts are turns of a loop", "simulation/staged.py", "t + h * begun", "t", "tests/simulation/test_staged.py"),
    ("stages ask laws at the start of the step", "simulation/steps.py", "s.derivative(t + x.time * h", "s.derivative(t",
     "tests/simulation/test_integrators.py"),
    ("and where they are turns of a loop", "simulation/staged.py", "system.derivative(t + time * h", "system.derivative(t",
     "tests/simulation/test_staged.py"),
    ("the midpoint's too", "simulation/steps.py", "t + 0.5 * h, s.moved", "t, s.moved", "tests/simulation/test_integrators.py"),
    ("variational steps ask laws at their start", "simulation/variational.py", "s.applied(t + 0.5 * h", "s.applied(t",
     "tests/simulation/test_integrators.py"),
    ("steps in diagonal coordinates too", "simulation/diagonal_steps.py", "s.acting(t + 0.5 * h", "s.acting(t",
     "tests/simulation/test_coordinates.py"),
    ("batches of adaptive steps too", "simulation/adaptive_batches.py", "self.rate(t + h, after", "self.rate(t, after",
     "tests/simulation/test_adaptive_batches.py"),
    ("what a command printed fails to be written when nobody looks any more", "cli/main.py",
     "out.finish()\n            sys.stdout.flush()", "out.finish()", "tests/cli/test_conditions.py"),
    ("a full disk's buffer is written at the end once more", "cli/main.py", "go nowhere\n        _forget_stdout()",
     "go nowhere\n        pass", "tests/cli/test_conditions.py"),
    ("a viewer's address is not seen while it waits", "cli/view.py", "sys.stdout.flush()\n    viewer.wait()", "viewer.wait()",
     "tests/cli"),
    ("bars are seen when they are full", "progress.py", 'f"\\r{words}")\n            self._stream.flush()', 'f"\\r{words}")',
     "tests/test_progress.py"),
    ("progress of studies is seen at their end", "study/progress.py", 'n")\n        self.stream.flush()', 'n")', "tests/study/test_estimates.py"),
    ("a study's file gets its name before its bytes", "study/places.py", "f.flush()\n            os.fsync", "os.fsync",
     "tests/study/test_faults.py"),
    ("a file gets its name before its bytes", "whole_files.py", "        os.fsync(f.fileno())", "        pass", "tests/cli/test_failures.py"),
    ("records behind URLs wait for ever", "study/journal.py", "> _AT_ONCE:\n                self.flush()", "> _AT_ONCE:\n                pass",
     "tests/study"),
    ("the last records behind URLs are lost", "study/journal.py", "None:\n        self.flush()\n        if", "None:\n        if", "tests/study"),
    ("code of calls with options is not kept", "robot/dispatch.py", "robot._code.keep(code, run)\n    return run",
     "if not fixed:\n        robot._code.keep(code, run)\n    return run", "tests/robot"),
    ("code for arrays of other libraries is not kept", "robot/foreign_calls.py",
     "if robot._code.get(key, _NOT_KEPT) is not _NOT_KEPT:", "if False:", "tests/codegen/foreign"),
    ("code of inverse kinematics is not kept", "robot/inverse_kinematics_steps.py", "        robot._code.keep(key, found)\n", "",
     "tests/robot/test_code_store.py"),
    ("code of operators is not kept", "robot/operator_code.py", "        robot._code.keep(key, kernel)\n", "",
     "tests/robot/test_operator_code.py"),
    ("operators with other numbers in front are one", "algebra/coefficients.py", 'numbers.index(abs(c)), 1 if', "0, 1 if",
     "tests/robot/test_operator_code.py"),
    ("code of operators forgets for which frames it is", "robot/operator_code.py", "(other, leaves.frames, leaves.moving,",
     "(other, leaves.moving,", "tests/robot/test_operator_code.py"),
    ("one single number makes operators single", "robot/operator_code.py", "single = all(a.dtype", "single = any(a.dtype",
     "tests/robot/test_operator_code.py"),
    ("results that depend on some inputs have their batches alone", "inputs.py", "if out.shape == shape:", "if out.ndim >= tail:",
     "tests/robot/test_batches.py"),
    ("single precision is lost", "arrays.py", "np.float32 if like.dtype == np.float32 else np.float64", "np.float64",
     "tests/robot/test_batches.py"),
    ("whole numbers stay whole", "inputs.py", 'out.dtype.kind in "iub" or', 'out.dtype.kind in "ub" or', "tests/robot/test_batches.py"),
    ("JAX's matrices from the last entry on", "arrays.py", "flat = xp.stack(xp.broadcast_arrays(*entries)",
     "flat = xp.stack(xp.broadcast_arrays(*entries[::-1])", "tests/codegen/sources/test_jax.py"),
    ("JAX's columns from the last on", "arrays.py", "batch + x.shape[-2:]) for x in items]", "batch + x.shape[-2:]) for x in items[::-1]]",
     "tests/codegen/sources/test_jax.py"),
    ("JAX's arguments in single precision", "codegen/sources/jax.py", "self._jitted(*map(self._asarray, arrays))",
     'self._jitted(*(self._asarray(x, "float32") for x in arrays))', "tests/codegen/sources/test_jax.py"),
]  # fmt: skip


def tests_fail(source: Path, tests: tuple[str, ...], whole: bool = False) -> bool:
    """Whether some of these tests fail on a copy of the source."""
    environment = {**os.environ, "PYTHONPATH": str(source.parent), "LINKWISE_CACHE": str(source.parent / "cache")}
    if whole:
        environment["LINKWISE_ALL_LAWS"] = "1"
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode in (0, 1, 2), done.stdout + done.stderr  # 2: it cannot even be imported
    return done.returncode != 0


def planted(folder: Path, file: str, old: str, new: str) -> Path:
    """A copy of the source with one bug in it."""
    source = folder / "linkwise"
    shutil.copytree(ROOT / "src" / "linkwise", source, ignore=shutil.ignore_patterns("__pycache__"))
    text = (source / file).read_text(encoding="utf-8")
    assert text.count(old) >= 1, f"{file} no longer has {old!r}: mend this bug"
    (source / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    return source


def code_bugs(chosen: list[int]) -> int:
    unseen = 0
    for i in chosen or range(len(CODE_BUGS)):
        what, *change, tests = CODE_BUGS[i]
        with tempfile.TemporaryDirectory() as room:
            seen = tests_fail(planted(Path(room), *change), (tests,))
        unseen += not seen
        print(f"{i:3d}  {what}: {'seen' if seen else 'NOT SEEN'} by {tests}", flush=True)
    return 1 if unseen else 0


def main() -> int:
    if "--code" in sys.argv[1:]:
        return code_bugs([int(x) for x in sys.argv[1:] if x.isdigit()])
    whole = "--all-laws" in sys.argv[1:]
    chosen = [int(x) for x in sys.argv[1:] if x.isdigit()] or range(len(BUGS))
    lost, unseen = [], []
    for i in chosen:
        what, *change = BUGS[i]
        with tempfile.TemporaryDirectory() as room:
            source = planted(Path(room), *change)
            if tests_fail(source, (LAWS,)):
                found = "by the laws"
            elif whole and tests_fail(source, (LAWS,), whole=True):
                found = "by the whole product of laws ALONE"
                lost.append(i)
            elif tests_fail(source, BESIDE):
                found = "beside them"
            else:
                found = "NOWHERE"
                unseen.append(i)
        print(f"{i:3d}  {what}: seen {found}", flush=True)
    print(f"{len(lost)} lost by pruning, {len(unseen)} seen nowhere")
    return 1 if lost or unseen else 0


if __name__ == "__main__":
    sys.exit(main())
