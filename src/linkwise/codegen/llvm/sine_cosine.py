"""sin and cos of SIMD vectors in LLVM IR, to within 2 units in the last place, for any argument.

The angle is reduced by multiples of π/2 in three parts (Cody and Waite), then two polynomials give the sine
and cosine on [−π/4, π/4] (the coefficients are those of the well-known double-precision kernels of Sun's
libm; the single-precision ones are Cephes'). Lanes beyond the range where the reduction is exact go to the
platform's own sin and cos.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

# π/2 in three pieces of 53 bits each.
_PI_HALVES = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
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


# On functions that hold many vectors: what does not fit in registers then lies at addresses that vectors like.
# (Otherwise the stack is aligned to 16 bytes, and most vectors on it lie across two lines of the cache.)
ALIGNED_STACK = '"stackrealign"'


# Operations that LLVM has for whole vectors, and functions of libm that are called for one lane after the other: for
# what no step of a sweep needs. Each with the number of its arguments.
INTRINSICS = {"sqrt": 1, "fabs": 1, "copysign": 2, "floor": 1, "ceil": 1, "trunc": 1, "rint": 1}
LIBM = {
    **dict.fromkeys(("asin", "acos", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt"), 1),
    **dict.fromkeys(("exp", "exp2", "expm1", "log", "log2", "log10", "log1p"), 1),
    **dict.fromkeys(("atan2", "pow", "hypot", "fmod"), 2),
}


@dataclass(frozen=True)
class VectorType:
    """The SIMD type a program is emitted for; one lane is a plain scalar."""

    scalar: str  # "double" or "float"
    lanes: int
    assembled: bool = False  # whether straight-line code is written in the processor's own language (:mod:`.assembly`)

    def wide(self, element: str) -> str:
        """The type of one ``element`` per lane."""
        return element if self.lanes == 1 else f"<{self.lanes} x {element}>"

    @property
    def name(self) -> str:
        return self.wide(self.scalar)

    def spread(self, scalar: str, name: str) -> list[str]:
        """The lines that make ``name`` a vector with a scalar in every lane."""
        if self.lanes == 1:
            return [f"  {name} = fadd {self.scalar} {scalar}, -0.0"]
        one = f"insertelement {self.name} poison, {self.scalar} {scalar}, i32 0"
        all_zero = f"<{self.lanes} x i32> zeroinitializer"
        return [f"  {name}o = {one}", f"  {name} = shufflevector {self.name} {name}o, {self.name} poison, {all_zero}"]

    @property
    def mask(self) -> str:
        """One truth value per lane."""
        return self.wide("i1")

    @property
    def all_true(self) -> str:
        """True in every lane."""
        return self._everywhere("i1", "true")

    @property
    def mangled(self) -> str:
        return f"f{self.bits}" if self.lanes == 1 else f"v{self.lanes}f{self.bits}"

    @property
    def bits(self) -> int:
        return 64 if self.scalar == "double" else 32

    @property
    def size(self) -> int:
        """Bytes of one number."""
        return self.bits // 8

    @property
    def alignment(self) -> int:
        return self.lanes * self.size

    def splat(self, x: float) -> str:
        """A constant in every lane."""
        return self._everywhere(self.scalar, self.literal(x))

    def splat_integer(self, n: int) -> str:
        return self._everywhere(f"i{self.bits}", str(n))

    def _everywhere(self, kind: str, literal: str) -> str:
        return literal if self.lanes == 1 else f"splat ({kind} {literal})"

    def literal(self, x: float) -> str:
        """A number as LLVM writes it: the bits of a double, rounded to single first where that is the type."""
        if self.bits == 32:
            with np.errstate(over="ignore"):  # what is too large for it is infinite
                x = float(np.float32(x))
        return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"

    def fma(self, a: str, b: str, c: str) -> str:
        v = self.name
        return f"call {v} @llvm.fma.{self.mangled}({v} {a}, {v} {b}, {v} {c})"


def sincos_name(t: VectorType) -> str:
    """Kernels hold a SIMD version and a scalar one, so the name tells the lanes."""
    return f"@lw_sincos{t.lanes}"


def sincos_ir(t: VectorType) -> str:
    """``@lw_sincosN(x) → {sin x, cos x}`` for the vector type, with its slow path for huge angles.

    ``@lw_sincosN_quick(x)`` has no such path, and says third for which lanes that is right.
    """
    double = t.bits == 64
    limit = 8.0e5 if double else 4096.0
    v, i, b = t.name, t.wide(f"i{t.bits}"), t.wide("i1")
    three = sincos_type(t)
    one, zero = (t.splat_integer(n) for n in (1, 0))
    # x · 2/π with so much added that the nearest integer stands in the last bits: −k is one subtraction away, and
    # the bits say in which quadrant x is.
    magic = t.splat(1.5 * 2.0**52 if double else 1.5 * 2.0**23)
    lines = [
        f"  %shifted = {t.fma('%x', t.splat(0.6366197723675814), magic)}",
        f"  %nk = fsub {v} {magic}, %shifted",
        f"  %n = bitcast {v} %shifted to {i}",
        *(_reduced_64(t) if double else _reduced_32(t)),
        f"  %r_2 = fmul {v} %r, %r",
    ]
    sin_c, cos_c = (_SIN_64, _COS_64) if double else (_SIN_32, _COS_32)
    ps = _horner(lines, "s", sin_c, "%r_2", t)
    pc = _horner(lines, "c", cos_c, "%r_2", t)
    top = t.bits - 2
    lines += [
        f"  %r_3 = fmul {v} %r_2, %r",
        f"  %s = {t.fma('%r_3', ps, '%r')}",
        f"  %half = {t.fma('%r_2', t.splat(-0.5), t.splat(1.0))}",
        f"  %r_4 = fmul {v} %r_2, %r_2",
        f"  %c = {t.fma('%r_4', pc, '%half')}",
        f"  %odd = and {i} %n, {one}",
        f"  %swap = icmp ne {i} %odd, {zero}",
        f"  %s0 = select {b} %swap, {v} %c, {v} %s",
        f"  %c0 = select {b} %swap, {v} %s, {v} %c",
        *_signed("sin", "%n", "%s0", t, top),
        f"  %n1 = add {i} %n, {one}",
        *_signed("cos", "%n1", "%c0", t, top),
        f"  %size = call {v} @llvm.fabs.{t.mangled}({v} %x)",
        f"  %fits = fcmp olt {v} %size, {t.splat(limit)}",
        f"  %q1 = insertvalue {three} undef, {v} %sin, 0",
        f"  %q2 = insertvalue {three} %q1, {v} %cos, 1",
        f"  %q3 = insertvalue {three} %q2, {b} %fits, 2",
        f"  ret {three} %q3",
    ]
    whole = [
        f"  %three = call {three} {sincos_name(t)}_quick({v} %x)",
        f"  %sin = extractvalue {three} %three, 0",
        f"  %cos = extractvalue {three} %three, 1",
        f"  %fits = extractvalue {three} %three, 2",
        *all_lanes("%all", "%fits", t),
        "  br i1 %all, label %quick, label %slow",
        "quick:",
        f"  %q1 = insertvalue {{{v}, {v}}} undef, {v} %sin, 0",
        f"  %q2 = insertvalue {{{v}, {v}}} %q1, {v} %cos, 1",
        f"  ret {{{v}, {v}}} %q2",
        "slow:",
        # Only the lanes that need it take the slow values: no state may depend on its neighbours.
        f"  %slow_value = call {{{v}, {v}}} {sincos_name(t)}_slow({v} %x)",
        f"  %slow_sin = extractvalue {{{v}, {v}}} %slow_value, 0",
        f"  %slow_cos = extractvalue {{{v}, {v}}} %slow_value, 1",
        f"  %mixed_sin = select {b} %fits, {v} %sin, {v} %slow_sin",
        f"  %mixed_cos = select {b} %fits, {v} %cos, {v} %slow_cos",
        f"  %m1 = insertvalue {{{v}, {v}}} undef, {v} %mixed_sin, 0",
        f"  %m2 = insertvalue {{{v}, {v}}} %m1, {v} %mixed_cos, 1",
        f"  ret {{{v}, {v}}} %m2",
    ]
    body, checked = "\n".join(lines), "\n".join(whole)
    quick = f"define internal {three} {sincos_name(t)}_quick({v} %x) alwaysinline {{\n{body}\n}}\n"
    return f"{quick}define internal {{{v}, {v}}} {sincos_name(t)}({v} %x) {{\n{checked}\n}}\n{_slow_ir(t)}"


def sincos_type(t: VectorType) -> str:
    """Of what ``@lw_sincosN_quick`` gives."""
    return f"{{{t.name}, {t.name}, {t.mask}}}"


def all_lanes(name: str, mask: str, t: VectorType) -> list[str]:
    """The line that makes ``name`` true where a mask is, in every lane."""
    whole = f"and i1 {mask}, true" if t.lanes == 1 else f"call i1 {_all_lanes(t)}({t.mask} {mask})"
    return [f"  {name} = {whole}"]


def _all_lanes(t: VectorType) -> str:
    return f"@llvm.vector.reduce.and.v{t.lanes}i1"


def _signed(name: str, quadrant: str, value: str, t: VectorType, top: int) -> list[str]:
    """The value with its sign turned where the second bit of the quadrant is set."""
    i = t.wide(f"i{t.bits}")
    return [
        f"  %{name}_up = shl {i} {quadrant}, {t.splat_integer(top)}",
        f"  %{name}_sign = and {i} %{name}_up, {t.splat_integer(-(1 << (t.bits - 1)))}",
        f"  %{name}_bits = bitcast {t.name} {value} to {i}",
        f"  %{name}_turned = xor {i} %{name}_bits, %{name}_sign",
        f"  %{name} = bitcast {i} %{name}_turned to {t.name}",
    ]


def _reduced_64(t: VectorType) -> list[str]:
    """r = x − k π/2 with π/2 in three parts of 53 bits.

    The first step is exact (both are multiples of 2⁻⁵³ and their difference is below 1). The second is rounded
    once, to what it gives; the third only matters where that is very small.
    """
    first, second, third = (t.splat(p) for p in _PI_HALVES)
    return [
        f"  %r1 = {t.fma('%nk', first, '%x')}",
        f"  %r2 = {t.fma('%nk', second, '%r1')}",
        f"  %r = {t.fma('%nk', third, '%r2')}",
    ]


def _reduced_32(t: VectorType) -> list[str]:
    """The same in double precision, where one subtraction is exact enough for single."""
    v, d = t.name, VectorType("double", t.lanes)
    return [
        f"  %xd = fpext {v} %x to {d.name}",
        f"  %kd = fpext {v} %nk to {d.name}",
        f"  %rd = {d.fma('%kd', d.splat(math.pi / 2), '%xd')}",
        f"  %r = fptrunc {d.name} %rd to {v}",
    ]


def _horner(lines: list[str], tag: str, coefficients: tuple[float, ...], x: str, t: VectorType) -> str:
    value = t.splat(coefficients[-1])
    for n, c in enumerate(reversed(coefficients[:-1])):
        lines.append(f"  %{tag}p{n} = {t.fma(x, value, t.splat(c))}")
        value = f"%{tag}p{n}"
    return value


def _slow_ir(t: VectorType) -> str:
    """Lane by lane through libm; reached only for angles beyond the reduction's range, infinity and NaN."""
    v, suffix = t.name, "" if t.bits == 64 else "f"
    lines = []
    s, c = "undef", "undef"
    for lane in range(t.lanes):
        single = t.lanes == 1
        x = "%x" if single else f"%x{lane}"
        if not single:
            lines.append(f"  {x} = extractelement {v} %x, i32 {lane}")
        lines.append(f"  %s{lane} = call {t.scalar} @sin{suffix}({t.scalar} {x})")
        lines.append(f"  %c{lane} = call {t.scalar} @cos{suffix}({t.scalar} {x})")
        if not single:
            lines.append(f"  %sv{lane} = insertelement {v} {s}, {t.scalar} %s{lane}, i32 {lane}")
            lines.append(f"  %cv{lane} = insertelement {v} {c}, {t.scalar} %c{lane}, i32 {lane}")
        s, c = (f"%s{lane}", f"%c{lane}") if single else (f"%sv{lane}", f"%cv{lane}")
    lines += [
        f"  %p1 = insertvalue {{{v}, {v}}} undef, {v} {s}, 0",
        f"  %p2 = insertvalue {{{v}, {v}}} %p1, {v} {c}, 1",
        f"  ret {{{v}, {v}}} %p2",
    ]
    body = "\n".join(lines)
    return f"define internal {{{v}, {v}}} {sincos_name(t)}_slow({v} %x) noinline cold {{\n{body}\n}}\n"


def declarations(types: Iterable[VectorType]) -> str:
    """The intrinsics and libm functions that programs of these types call."""
    lines: dict[str, None] = {"declare void @llvm.prefetch.p0(ptr, i32, i32, i32)": None}
    for t in types:
        v, suffix = t.name, "" if t.bits == 64 else "f"
        for name, count in {**INTRINSICS, "fma": 3, "fmuladd": 3}.items():
            lines[f"declare {v} @llvm.{name}.{t.mangled}({', '.join([v] * count)})"] = None
        d = VectorType("double", t.lanes)
        lines[f"declare {d.name} @llvm.fma.{d.mangled}({', '.join([d.name] * 3)})"] = None
        if t.lanes > 1:
            b = t.wide("i1")
            lines[f"declare {v} @llvm.masked.load.{t.mangled}.p0(ptr, i32, {b}, {v})"] = None
            lines[f"declare void @llvm.masked.store.{t.mangled}.p0({v}, ptr, i32, {b})"] = None
            lines[f"declare i1 {_all_lanes(t)}({b})"] = None
            lines[f"declare i1 @llvm.vector.reduce.or.v{t.lanes}i1({b})"] = None
        for name, count in {"sin": 1, "cos": 1, **LIBM}.items():
            arguments = ", ".join([t.scalar] * count)
            lines[f"declare {t.scalar} @{name}{suffix}({arguments}) nounwind memory(none)"] = None
    return "\n".join(lines)
