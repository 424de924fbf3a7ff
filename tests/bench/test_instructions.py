"""What machine code consists of, and what the page on speed says of it."""

import dataclasses
import shutil

import pytest

import linkwise as lw
from linkwise.bench.cases import Case
from linkwise.bench.instructions import Instructions, count_instructions, counted
from linkwise.bench.limits import Limit
from linkwise.bench.peak import Peak
from linkwise.bench.report import Report, from_json, limits_text, markdown, to_json, write_between_markers
from linkwise.bench.runner import Row
from linkwise.symbols.operations import Operations

DISASSEMBLY = """
0000000000000000 <lw_kernel>:
       0:\tpush   %rbp
       4:\tvfmadd231pd 0x40(%rsp),%zmm1,%zmm2
       8:\tvfnmsub213pd %zmm4,%zmm1,%zmm2
       c:\tvmulpd %zmm1,%zmm2,%zmm3
      10:\tvaddpd (%rax),%zmm2,%zmm3
      14:\tvsubpd (%rax){1to8},%zmm2,%zmm3
      18:\tvmovapd %zmm3,0x80(%rsp)
      1c:\tvmovupd %zmm3,(%rdi){%k1}
      20:\tvmovapd 0x80(%rsp),%zmm3
      24:\tvmulpd %xmm1,%xmm2,%xmm3
      28:\tvmovapd %xmm3,(%rdi)
"""


def test_what_is_counted():
    assert counted(DISASSEMBLY) == Instructions(fused=2, alone=3, stores=2)
    assert counted("") == Instructions(0, 0, 0)


def test_instructions_of_a_kernel():
    """About as many as it has operations: each is one instruction, or half of a fused one."""
    if shutil.which("objdump") is None:
        pytest.skip("needs objdump")
    kernel = lw.load("ur5").compile("mass_matrix_inverse")
    found = count_instructions(kernel, "float64")
    if found is None:
        pytest.skip("no AVX here")
    done = kernel.operations.additions + kernel.operations.multiplications
    assert done <= 2 * found.fused + found.alone
    assert found.fused > 0 and found.alone > 0 and found.stores >= 36


@pytest.fixture
def report():
    cases = [Case("arm", "forward_dynamics"), Case("arm", "mass_matrix")]
    counts = [Operations(multiplications=600, additions=400), Operations(multiplications=150, additions=150)]
    rows = [Row(c, "linkwise", 50.0, 0.0, n) for c, n in zip(cases, counts)]
    limits = [Limit(cases[0], 50.0, 5.0, 10.0, Instructions(30, 70, 25)), Limit(cases[1], 50.0, 25.0, 10.0)]
    machine = dict.fromkeys(("processor", "llvm_name", "vector_bits", "cores", "system", "python", "date"), "")
    return Report("s", "", rows, [], {**machine, "versions": {}}, {"float64": Peak(4e10, 3e10, 2e10)}, limits)


def test_what_limits_the_kernels_is_said_in_measured_figures(report, tmp_path):
    text = limits_text(report)
    assert "reach 15% (arm, mass matrix) to 50% (arm, forward dynamics) of the peak" in text
    assert "0.25 (arm, forward dynamics) to 0.25 (arm, forward dynamics) vector stores" in text
    assert "takes 10% (arm, forward dynamics) to 50% (arm, mass matrix) of the time" in text
    # 150 and 600 multiplications at 20 G/s, of 50 ns.
    assert "they alone take 15% (arm, mass matrix) to 60% (arm, forward dynamics) of the time" in text
    assert "runs at 50% of it" in text and "runs at 75% of it" in text
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- bench: s limits -->\nold\n<!-- end bench -->\nb\n")
    write_between_markers(page, report)
    assert page.read_text() == f"a\n<!-- bench: s limits -->\n{text}<!-- end bench -->\nb\n"


def test_instructions_there_and_back(report):
    assert from_json(to_json(report)) == report
    assert "| 30% | 0.25 | 50.0 | 30.0 | 5.00 | 10.0 |" in markdown(report) and "| – | – |" in markdown(report)
    without = dataclasses.replace(report, limits=[dataclasses.replace(x, instructions=None) for x in report.limits])
    assert "registers" not in limits_text(without).partition("Each was")[2]
