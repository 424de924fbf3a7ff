"""Random numbers that are a function of a seed and of where they are used, in CUDA text that is also C++.

Philox 4×32 with ten rounds (Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3, SC 2011): the
words of a state, a step and a place among its numbers are those numbers encrypted, whoever computes them and in
whatever order. Two words give two numbers of the normal distribution by Box and Muller's transform.
:mod:`linkwise.simulation.noise` has the same on arrays.
"""

from __future__ import annotations

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
STEPS_OF_KEY = (0x9E3779B9, 0xBB67AE85)


def normal_numbers(number: str) -> str:
    """``lw_normals(seed, state, step, block, x)`` writes four numbers of the normal distribution to x."""
    f = "" if number == "double" else "f"
    return f"""
static __device__ __forceinline__ void lw_philox(unsigned k0, unsigned k1, unsigned *c)
{{
#pragma unroll
    for (int i = 0; i < {ROUNDS}; i++) {{
        const unsigned long long a = {MULTIPLIERS[0]:#x}ull * c[0], b = {MULTIPLIERS[1]:#x}ull * c[2];
        c[0] = (unsigned)(b >> 32) ^ c[1] ^ k0;
        c[1] = (unsigned)b;
        c[2] = (unsigned)(a >> 32) ^ c[3] ^ k1;
        c[3] = (unsigned)a;
        k0 += {STEPS_OF_KEY[0]:#x}u;
        k1 += {STEPS_OF_KEY[1]:#x}u;
    }}
}}

/* -2 log(1 - u), u = (w + 1/2) / 2^32, whose small numbers and tail are both good to the last digits. */
static __device__ __forceinline__ {number} lw_squared_radius(unsigned w)
{{
    const {number} below = (({number})w + 0.5{f}) * {2.0**-32!r}{f}, above = (({number})~w + 0.5{f}) * {2.0**-32!r}{f};
    return -2.0{f} * (w >> 31 ? log{f}(above) : log1p{f}(-below));
}}

static __device__ __forceinline__ void lw_normals(unsigned long long seed, unsigned long long state, unsigned step,
                                                  unsigned block, {number} *x)
{{
    unsigned c[4] = {{(unsigned)state, (unsigned)(state >> 32), step, block}};
    lw_philox((unsigned)seed, (unsigned)(seed >> 32), c);
#pragma unroll
    for (int i = 0; i < 4; i += 2) {{
        const {number} r = sqrt{f}(lw_squared_radius(c[i]));
        const {number} turn = ({number})c[i + 1] * {6.283185307179586 * 2.0**-32!r}{f};
        {number} s, o;
        lw_sincos_near(turn, &s, &o);
        x[i] = r * o;
        x[i + 1] = r * s;
    }}
}}
"""
