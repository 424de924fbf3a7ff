"""C that CasADi has generated, compiled as C++ on vectors of states: the strongest code that can be made of it."""

from __future__ import annotations

import ctypes
import math

import numpy as np

from ...interop.availability import NotHere
from ...interop.layout import Layout
from ...robot.robot import Robot
from ..cases import ARGUMENTS, Case
from ..native import FAST, build, over_states, quickest, shape_of_result
from ..peer import Work

# Numbers that are vectors, one state per lane. The sines of whole vectors are those of glibc's libmvec; elsewhere each
# lane is computed by itself.
_HEAD = """
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>
#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif
typedef double wide __attribute__((vector_size(8 * LANES)));
#if defined(__GLIBC__) && defined(__AVX512F__)
extern "C" wide _ZGVeN8v_sin(wide); extern "C" wide _ZGVeN8v_cos(wide);
#define VECTOR_SIN _ZGVeN8v_sin
#define VECTOR_COS _ZGVeN8v_cos
#elif defined(__GLIBC__) && defined(__AVX2__)
extern "C" wide _ZGVdN4v_sin(wide); extern "C" wide _ZGVdN4v_cos(wide);
#define VECTOR_SIN _ZGVdN4v_sin
#define VECTOR_COS _ZGVdN4v_cos
#endif
struct States {
    wide x;
    States() = default;
    States(wide y) : x(y) {}
    States(double y) { x = wide{} + y; }
};
static inline States operator+(States a, States b) { return a.x + b.x; }
static inline States operator-(States a, States b) { return a.x - b.x; }
static inline States operator*(States a, States b) { return a.x * b.x; }
static inline States operator/(States a, States b) { return a.x / b.x; }
static inline States operator-(States a) { return -a.x; }
template <class F> static inline States each(States a, F f) {
    for (int i = 0; i < LANES; i++) a.x[i] = f(a.x[i]);
    return a;
}
#ifdef VECTOR_SIN
static inline States sin(States a) { return VECTOR_SIN(a.x); }
static inline States cos(States a) { return VECTOR_COS(a.x); }
#else
static inline States sin(States a) { return each(a, [](double y) { return std::sin(y); }); }
static inline States cos(States a) { return each(a, [](double y) { return std::cos(y); }); }
#endif
static inline States sqrt(States a) { return each(a, [](double y) { return std::sqrt(y); }); }

// A square of numbers transposed in registers: blocks of half, a quarter, … of its side, beside the diagonal, change
// places.
template <int S, std::size_t... I> static inline void exchange(wide &a, wide &b, std::index_sequence<I...>) {
    const wide lower = __builtin_shufflevector(a, b, ((I & S) ? int(I) - S + LANES : int(I))...);
    const wide upper = __builtin_shufflevector(a, b, ((I & S) ? int(I) + LANES : int(I) + S)...);
    a = lower;
    b = upper;
}
template <int S> static inline void transpose(wide *x) {
    if constexpr (S > 0) {
        for (int i = 0; i < LANES; i++)
            if (!(i & S)) exchange<S>(x[i], x[i + S], std::make_index_sequence<LANES>());
        transpose<S / 2>(x);
    }
}
#define casadi_real States
"""
_LOOP = """
static void bring(const double *a, long last, long size, States *into) {{
    long j = 0;
    for (; j + LANES <= size; j += LANES) {{
        wide x[LANES];
        for (long l = 0; l < LANES; l++) memcpy(&x[l], a + (l < last ? l : last) * size + j, sizeof(wide));
        transpose<LANES / 2>(x);
        for (long l = 0; l < LANES; l++) into[j + l].x = x[l];
    }}
    for (; j < size; j++)
        for (long l = 0; l < LANES; l++) into[j].x[l] = a[(l < last ? l : last) * size + j];
}}
static void take(const States *from, long count, long size, double *out) {{
    long j = 0;
    for (; j + LANES <= size; j += LANES) {{
        wide x[LANES];
        for (long l = 0; l < LANES; l++) x[l] = from[j + l].x;
        transpose<LANES / 2>(x);
        for (long l = 0; l < count; l++) memcpy(out + l * size + j, &x[l], sizeof(wide));
    }}
    for (; j < size; j++)
        for (long l = 0; l < count; l++) out[l * size + j] = from[j].x[l];
}}
extern "C" void over_states(long n, const double *a, const double *b, const double *c, double *out) {{
    casadi_int s[4];
    evaluate_work(&s[0], &s[1], &s[2], &s[3]);
    const long size = {size}, nq = {nq}, nv = {nv};
    States *w = (States *)aligned_alloc(64, sizeof(States) * (s[3] + nq + 2 * nv + size + 1));
    casadi_int *iw = (casadi_int *)malloc(sizeof(casadi_int) * (s[2] + 1));
    States *q = w + s[3], *u = q + nq, *x = u + nv, *found = x + nv;
    for (long i = 0; i < n; i += LANES) {{
        long real = n - i < LANES ? n - i : LANES;
        bring(a + i * nq, real - 1, nq, q);
        if (b) bring(b + i * nv, real - 1, nv, u);
        if (c) bring(c + i * nv, real - 1, nv, x);
        const States *arg[16] = {{q, b ? u : 0, c ? x : 0}};
        States *res[16] = {{found}};
        evaluate(arg, res, iw, w, 0);
        take(found, real, size, out + i * size);
    }}
    free(w);
    free(iw);
}}
"""


_LONG = 40_000  # lines from which on g++ alone is asked, which then takes a minute and more

_TOO_LONG = 100_000


def vectorised(code: str, robot: Robot, case: Case, arguments: list[np.ndarray], layout: Layout) -> Work:
    """Run generated C whose function ``evaluate`` takes the arguments of one state, a vector of states at a time."""
    lines = code.count("\n")
    if lines > _TOO_LONG:
        raise NotHere(f"the generated code has {lines:,} lines, which take many minutes to compile")
    size = math.prod(shape_of_result(robot, case.function))
    text = _HEAD + code + _LOOP.format(nq=robot.nq, nv=robot.nv, size=size)
    absent = [None] * (3 - len(ARGUMENTS[case.function]))

    def made(compiler: str, way: int) -> Work:
        library = ctypes.CDLL(str(build(compiler, text, [*FAST, "-std=c++17", "-w", "-lmvec", "-lm"])))
        call = library.over_states
        return over_states(robot, case, arguments, layout, lambda n, *w: call(n, *w[:-1], *absent, w[-1]))

    return quickest("C++", made, among=("g++",) if lines > _LONG else None)
