"""C that CasADi has generated, compiled here and called in a C loop over the states."""

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

# Memory for the generated function: generous bounds, compared with what it asks for.
_ROOM = {"args": 16, "results": 16, "iwork": 1024, "work": 4_000_000}
_LOOP = """
#include <stddef.h>

void over_states(long n, const double *a, const double *b, const double *c, double *out) {{
    static casadi_real w[{work}];
    static casadi_int iw[{iwork}];
    for (long i = 0; i < n; i++) {{
        const casadi_real *arg[{args}] = {{a + i * {nq}, b ? b + i * {nv} : NULL, c ? c + i * {nv} : NULL}};
        casadi_real *res[{results}] = {{out + i * {size}}};
        evaluate(arg, res, iw, w, 0);
    }}
}}
long asks_for(int which) {{
    casadi_int s[4];
    evaluate_work(&s[0], &s[1], &s[2], &s[3]);
    return (long)s[which];
}}
"""


def compiled(code: str, robot: Robot, case: Case, arguments: list[np.ndarray], layout: Layout) -> Work:
    """Run generated C whose function ``evaluate`` takes the arguments of one state and gives a dense result."""
    size = math.prod(shape_of_result(robot, case.function))
    c = code + _LOOP.format(nq=robot.nq, nv=robot.nv, size=size, **_ROOM)
    absent = [None] * (3 - len(ARGUMENTS[case.function]))

    def made(compiler: str, way: int) -> Work:
        library = ctypes.CDLL(str(build(compiler, c, [*FAST, "-lm"])))
        library.asks_for.restype = ctypes.c_long
        asked = [library.asks_for(k) for k in range(4)]
        if any(a > room for a, room in zip(asked, _ROOM.values())):
            raise NotHere(f"the generated function asks for more memory than foreseen: {asked}")
        call = library.over_states
        return over_states(robot, case, arguments, layout, lambda n, *w: call(n, *w[:-1], *absent, w[-1]))

    return quickest("C", made)
