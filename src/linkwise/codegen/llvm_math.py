"""sin and cos of SIMD vectors in LLVM IR, to within 2 units in the last place, for any argument.

The angle is reduced by multiples of π/2 in three parts (Cody and Waite), then two polynomials give the sine
and cosine on [−π/4, π/4] (the coefficients are those of the well-known double-precision kernels of Sun's
libm; the single-precision ones are Cephes'). Lanes beyond the range where the reduction is exact go to the
platform's own sin and cos.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass

# π/2 in pieces of 33 bits, so that k times each of the first two is exact for |k| < 2²⁰.
_PI_HALVES = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
_SIN_64 = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COS_64 = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
_SIN_32 = (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4)
_COS_32 = (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)


@dataclass(frozen=True)
class VectorType:
    """The SIMD type a program is emitted for."""

    scalar: str  # "double" or "float"
    lanes: int

    @property
    def name(self) -> str:
        return f"<{self.lanes} x {self.scalar}>"

    @property
    def mangled(self) -> str:
        return f"v{self.lanes}f{self.bits}"

    @property
    def bits(self) -> int:
        return 64 if self.scalar == "double" else 32

    @property
    def size(self) -> int:
        """Bytes of one number."""
        return self.bits // 8

    @property
    def integers(self) -> str:
        return f"<{self.lanes} x i{self.bits}>"

    @property
    def alignment(self) -> int:
        return self.lanes * self.size


def sincos_ir(t: VectorType, splat: Callable[[float], str]) -> str:
    """``@lw_sincos(x) → {sin x, cos x}`` for the vector type, with its slow path for huge angles."""
    double = t.bits == 64
    limit = 8.0e5 if double else 4096.0
    v, i = t.name, t.integers
    one = f"splat (i{t.bits} 1)"
    two = f"splat (i{t.bits} 2)"
    zero = f"splat (i{t.bits} 0)"
    lines = [
        f"  %scaled = fmul {v} %x, {splat(0.6366197723675814)}",
        f"  %k = call {v} @llvm.rint.{t.mangled}({v} %scaled)",
        *(_reduced_64(t, splat) if double else _reduced_32(t)),
        f"  %r_2 = fmul {v} %r, %r",
    ]
    sin_c, cos_c = (_SIN_64, _COS_64) if double else (_SIN_32, _COS_32)
    ps = _horner(lines, "s", sin_c, "%r_2", t, splat)
    pc = _horner(lines, "c", cos_c, "%r_2", t, splat)
    lines += [
        f"  %r_3 = fmul {v} %r_2, %r",
        f"  %s = call {v} @llvm.fma.{t.mangled}({v} %r_3, {v} {ps}, {v} %r)",
        f"  %half = call {v} @llvm.fma.{t.mangled}({v} %r_2, {v} {splat(-0.5)}, {v} {splat(1.0)})",
        f"  %lost = fsub {v} {splat(1.0)}, %half",
        f"  %kept = call {v} @llvm.fma.{t.mangled}({v} %r_2, {v} {splat(-0.5)}, {v} %lost)",
        f"  %r_4 = fmul {v} %r_2, %r_2",
        f"  %tail = call {v} @llvm.fma.{t.mangled}({v} %r_4, {v} {pc}, {v} %kept)",
        f"  %c = fadd {v} %half, %tail",
        f"  %n = fptosi {v} %k to {i}",
        f"  %odd = and {i} %n, {one}",
        f"  %swap = icmp ne {i} %odd, {zero}",
        f"  %s0 = select <{t.lanes} x i1> %swap, {v} %c, {v} %s",
        f"  %c0 = select <{t.lanes} x i1> %swap, {v} %s, {v} %c",
        f"  %bit = and {i} %n, {two}",
        f"  %negate_s = icmp ne {i} %bit, {zero}",
        f"  %n1 = add {i} %n, {one}",
        f"  %bit1 = and {i} %n1, {two}",
        f"  %negate_c = icmp ne {i} %bit1, {zero}",
        f"  %s0n = fneg {v} %s0",
        f"  %c0n = fneg {v} %c0",
        f"  %sin = select <{t.lanes} x i1> %negate_s, {v} %s0n, {v} %s0",
        f"  %cos = select <{t.lanes} x i1> %negate_c, {v} %c0n, {v} %c0",
        f"  %size = call {v} @llvm.fabs.{t.mangled}({v} %x)",
        f"  %fits = fcmp olt {v} %size, {splat(limit)}",
        f"  %all = call i1 @llvm.vector.reduce.and.v{t.lanes}i1(<{t.lanes} x i1> %fits)",
        "  br i1 %all, label %quick, label %slow",
        "quick:",
        f"  %q1 = insertvalue {{{v}, {v}}} undef, {v} %sin, 0",
        f"  %q2 = insertvalue {{{v}, {v}}} %q1, {v} %cos, 1",
        f"  ret {{{v}, {v}}} %q2",
        "slow:",
        # Only the lanes that need it take the slow values: no state may depend on its neighbours.
        f"  %slow_value = call {{{v}, {v}}} @lw_sincos_slow({v} %x)",
        f"  %slow_sin = extractvalue {{{v}, {v}}} %slow_value, 0",
        f"  %slow_cos = extractvalue {{{v}, {v}}} %slow_value, 1",
        f"  %mixed_sin = select <{t.lanes} x i1> %fits, {v} %sin, {v} %slow_sin",
        f"  %mixed_cos = select <{t.lanes} x i1> %fits, {v} %cos, {v} %slow_cos",
        f"  %m1 = insertvalue {{{v}, {v}}} undef, {v} %mixed_sin, 0",
        f"  %m2 = insertvalue {{{v}, {v}}} %m1, {v} %mixed_cos, 1",
        f"  ret {{{v}, {v}}} %m2",
    ]
    body = "\n".join(lines)
    return f"define internal {{{v}, {v}}} @lw_sincos({v} %x) {{\n{body}\n}}\n{_slow_ir(t)}"


def _reduced_64(t: VectorType, splat: Callable[[float], str]) -> list[str]:
    """r = x − k π/2 with π/2 in three parts."""
    v, fma = t.name, f"call {t.name} @llvm.fma.{t.mangled}"
    first, second, third = (splat(p) for p in _PI_HALVES)
    return [
        f"  %nk = fneg {v} %k",
        f"  %r1 = {fma}({v} %nk, {v} {first}, {v} %x)",
        f"  %r2 = {fma}({v} %nk, {v} {second}, {v} %r1)",
        # What r2 lost to rounding is carried into the last step, so that r is rounded once.
        f"  %moved = fsub {v} %r1, %r2",
        f"  %error = {fma}({v} %nk, {v} {second}, {v} %moved)",
        f"  %rest = {fma}({v} %nk, {v} {third}, {v} %error)",
        f"  %r = fadd {v} %r2, %rest",
    ]


def _reduced_32(t: VectorType) -> list[str]:
    """The same in double precision, where one subtraction is exact enough for single."""
    v, wide = t.name, f"<{t.lanes} x double>"
    bits = struct.unpack("<Q", struct.pack("<d", -math.pi / 2))[0]
    return [
        f"  %xd = fpext {v} %x to {wide}",
        f"  %kd = fpext {v} %k to {wide}",
        f"  %rd = call {wide} @llvm.fma.v{t.lanes}f64({wide} %kd, {wide} splat (double 0x{bits:016X}), {wide} %xd)",
        f"  %r = fptrunc {wide} %rd to {v}",
    ]


def _horner(
    lines: list[str], tag: str, coefficients: tuple[float, ...], x: str, t: VectorType, splat: Callable[[float], str]
) -> str:
    value = splat(coefficients[-1])
    for n, c in enumerate(reversed(coefficients[:-1])):
        name = f"%{tag}p{n}"
        lines.append(f"  {name} = call {t.name} @llvm.fma.{t.mangled}({t.name} {x}, {t.name} {value}, {t.name} {splat(c)})")
        value = name
    return value


def _slow_ir(t: VectorType) -> str:
    """Lane by lane through libm; reached only for angles beyond the reduction's range, infinity and NaN."""
    v, suffix = t.name, "" if t.bits == 64 else "f"
    lines = []
    s, c = "undef", "undef"
    for lane in range(t.lanes):
        lines += [
            f"  %x{lane} = extractelement {v} %x, i32 {lane}",
            f"  %s{lane} = call {t.scalar} @sin{suffix}({t.scalar} %x{lane})",
            f"  %c{lane} = call {t.scalar} @cos{suffix}({t.scalar} %x{lane})",
            f"  %sv{lane} = insertelement {v} {s}, {t.scalar} %s{lane}, i32 {lane}",
            f"  %cv{lane} = insertelement {v} {c}, {t.scalar} %c{lane}, i32 {lane}",
        ]
        s, c = f"%sv{lane}", f"%cv{lane}"
    lines += [
        f"  %p1 = insertvalue {{{v}, {v}}} undef, {v} {s}, 0",
        f"  %p2 = insertvalue {{{v}, {v}}} %p1, {v} {c}, 1",
        f"  ret {{{v}, {v}}} %p2",
    ]
    body = "\n".join(lines)
    return f"define internal {{{v}, {v}}} @lw_sincos_slow({v} %x) noinline cold {{\n{body}\n}}\n"


def declarations(t: VectorType) -> str:
    """The intrinsics and libm functions that programs call."""
    v, suffix = t.name, "" if t.bits == 64 else "f"
    wide = f"<{t.lanes} x double>"
    return "\n".join(
        [
            *([f"declare {wide} @llvm.fma.v{t.lanes}f64({wide}, {wide}, {wide})"] if t.bits == 32 else []),
            f"declare {v} @llvm.sqrt.{t.mangled}({v})",
            f"declare {v} @llvm.rint.{t.mangled}({v})",
            f"declare {v} @llvm.fabs.{t.mangled}({v})",
            f"declare {v} @llvm.fma.{t.mangled}({v}, {v}, {v})",
            f"declare {v} @llvm.masked.load.{t.mangled}.p0(ptr, i32, <{t.lanes} x i1>, {v})",
            f"declare void @llvm.masked.store.{t.mangled}.p0({v}, ptr, i32, <{t.lanes} x i1>)",
            f"declare i1 @llvm.vector.reduce.and.v{t.lanes}i1(<{t.lanes} x i1>)",
            f"declare {t.scalar} @sin{suffix}({t.scalar}) nounwind memory(none)",
            f"declare {t.scalar} @cos{suffix}({t.scalar}) nounwind memory(none)",
        ]
    )
