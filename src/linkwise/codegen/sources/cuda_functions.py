"""sin, cos and 1/x on a CUDA device, in CUDA text that is also C++.

The angle is reduced by multiples of π/2 in three parts (Cody and Waite; each step is one fma, the first exact), then
two polynomials give sine and cosine on [−π/4, π/4]: within 2 units in the last place for |x| ≤ 1e5. Beyond, 2/π is
multiplied out to 192 bits (Payne and Hanek), in registers: the library's own functions keep an array in local memory
for that, and half of the time of a kernel goes into them.

1/x of float32 is the device's estimate and one Newton step; IEEE division calls a subroutine.
"""

from __future__ import annotations

from ..llvm.sine_cosine import _COS_32, _COS_64, _SIN_32, _SIN_64

_TWO_OVER_PI = (
    *(0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561),
    *(0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41),
    *(0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7),
    *(0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB),
)
_PI_HALVES = {
    "double": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    "float": (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
}
LARGEST_QUICK = 1e5  # beyond it the reduction in three parts loses digits


def sine_and_cosine(number: str) -> str:
    """``lw_sincos(x, &s, &c)`` (``lw_sincosf`` for float) and what it needs."""
    double = number == "double"
    f = "" if double else "f"
    bits, mantissa, bias = (64, 52, 1023) if double else (32, 23, 127)
    integer = "long long" if double else "int"
    as_bits = "__double_as_longlong" if double else "__float_as_int"
    sines, cosines = (_SIN_64, _COS_64) if double else (_SIN_32, _COS_32)
    p1, p2, p3 = (f"{p!r}{f}" for p in _PI_HALVES[number])
    magic = f"{1.5 * 2.0**mantissa!r}{f}"
    table = ",\n    ".join(", ".join(f"0x{w:016x}ull" for w in _TWO_OVER_PI[i : i + 5]) for i in range(0, 20, 5))
    return f"""/* 2/pi behind 64 zeros. */
static __constant__ unsigned long long lw_two_over_pi[20] = {{
    {table}}};

/* The rest of x after the nearest multiple of pi/2, and which multiple it is, mod 4; any finite x of at least 1. */
static __device__ __forceinline__ {number} lw_far({number} x, int *quadrant)
{{
    const unsigned {integer} held = (unsigned {integer}){as_bits}(x);
    const int power = (int)(held >> {mantissa}) & {2 * bias + 1}; /* x = m 2^(power - {bias + mantissa}) */
    const unsigned long long m = (held & ((1{"ull" if double else "u"} << {mantissa}) - 1)) | (1ull << {mantissa});
    const int place = 62 + power - {bias + mantissa}, word = place >> 6, by = place & 63;
    unsigned long long w0 = lw_two_over_pi[word], w1 = lw_two_over_pi[word + 1], w2 = lw_two_over_pi[word + 2];
    if (by != 0) {{
        w0 = w0 << by | w1 >> (64 - by);
        w1 = w1 << by | w2 >> (64 - by);
        w2 = w2 << by | lw_two_over_pi[word + 3] >> (64 - by);
    }}
    const unsigned long long carried = __umul64hi(w2, m), low = w1 * m + carried;
    const unsigned long long high = w0 * m + __umul64hi(w1, m) + (low < carried);
    unsigned long long whole = high << 2 | low >> 62, part = low << 2; /* of a quarter turn, in 128 bits */
    const int below = (int)(whole >> 63);                                /* of the next multiple */
    if (below) {{
        whole = ~whole + (part == 0);
        part = 0 - part;
    }}
    const {number} a = ({number})whole;
    const {number} b = ({number})(long long)(whole - (unsigned long long)a) + ({number})part * {2.0**-64!r}{f};
    const {number} p = a * {p1};
    const {number} r = (p + (fma{f}(a, {p1}, -p) + fma{f}(a, {p2}, b * {p1}))) * {2.0**-64!r}{f};
    const int turns = (int)(high >> 62) + below, back = (int)(held >> {bits - 1});
    *quadrant = back ? -turns : turns;
    return power == {2 * bias + 1} ? x - x : (back ^ below) ? -r : r;
}}

/* Sine and cosine of n quarter turns and r, |r| <= pi/4. */
static __device__ __forceinline__ void lw_turned({number} r, int n, {number} *sine, {number} *cosine)
{{
    const {number} z = r * r;
    const {number} s = fma{f}(z * r, {_horner(sines, f)}, r);
    const {number} c = fma{f}(z * z, {_horner(cosines, f)}, fma{f}(z, -0.5{f}, 1.0{f}));
    const {number} s0 = n & 1 ? c : s, c0 = n & 1 ? s : c;
    *sine = n & 2 ? -s0 : s0;
    *cosine = (n + 1) & 2 ? -c0 : c0;
}}

/* For |x| <= {LARGEST_QUICK:g}, and for NaN. */
static __device__ __forceinline__ void lw_sincos_near({number} x, {number} *sine, {number} *cosine)
{{
    const {number} shifted = fma{f}(x, {0.6366197723675814!r}{f}, {magic}), k = {magic} - shifted;
    const {number} r = fma{f}(k, {p3}, fma{f}(k, {p2}, fma{f}(k, {p1}, x)));
    lw_turned(r, (int){as_bits}(shifted), sine, cosine);
}}

static __device__ __forceinline__ void lw_sincos{f}({number} x, {number} *sine, {number} *cosine)
{{
    if (fabs{f}(x) > {LARGEST_QUICK!r}{f}) {{
        int n;
        const {number} r = lw_far(x, &n);
        lw_turned(r, n, sine, cosine);
    }} else
        lw_sincos_near(x, sine, cosine);
}}
"""


def _horner(coefficients: tuple[float, ...], f: str) -> str:
    """The polynomial in z as nested fma."""
    value = f"{coefficients[-1]!r}{f}"
    for c in reversed(coefficients[:-1]):
        value = f"fma{f}(z, {value}, {c!r}{f})"
    return value


RECIPROCAL = """/* 1 / x, to the nearest number or the next to it. */
static __device__ __forceinline__ float lw_inverse(float x)
{
#ifdef __CUDA_ARCH__
    float r;
    asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
#else
    const float r = 1.0f / x;
#endif
    const float rest = fmaf(-x, r, 1.0f);
    return fabsf(rest) < 1.0f ? fmaf(r, rest, r) : r;
}
"""
