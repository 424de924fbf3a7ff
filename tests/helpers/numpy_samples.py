"""One use, at least, of every NumPy function that can be traced.

:data:`FUNCTION_SAMPLES` has those of arrays, name → function of a vector of six numbers; :data:`USES` those of single
numbers, name → function of vectors (..., 3) of which the first two count.
"""

import numpy as np

from linkwise.symbols.elementwise import ENTRIES

K = np.array([[2.0, 0.3, -0.1], [0.2, 1.5, 0.4], [-0.3, 0.1, 1.8]])


def _matrix(x):
    return x.reshape(2, 3)


def _square(x):
    return K + np.outer(x[:3], x[3:]) * 0.1


def _definite(x):
    return 3.0 * np.eye(3) + np.outer(x[:3], x[:3])


def _into(make):
    def use(x):
        out = make(x)
        out[..., 0] = x[1]
        return out

    return use


def _filled_diagonal(x):
    out = _square(x).copy()
    np.fill_diagonal(out, x[0])
    return out


def _copied_to(x):
    out = np.zeros_like(x)
    np.copyto(out, x)
    return out


def _with_nan(x):
    return np.where(x > 0.2, x, np.nan)


# Made of other functions: where entries go, products, sums, and what NumPy computes by these.
MOVES = {
    "np.stack": lambda x: np.stack([x[:3], x[3:]], axis=1),
    "np.concatenate": lambda x: np.concatenate([x[3:], [1.0, 2.0], x[:3]]),
    "np.concat": lambda x: np.concat([x, x]),
    "np.hstack": lambda x: np.hstack([x, x[0], 1.0]),
    "np.vstack": lambda x: np.vstack([x, np.arange(6.0)]),
    "np.dstack": lambda x: np.dstack([_matrix(x), _matrix(x)]),
    "np.column_stack": lambda x: np.column_stack([x[:3], x[3:]]),
    "np.block": lambda x: np.block([[_square(x), x[:3, None]], [x[3:], 1.0]]),
    "np.append": lambda x: np.append(x, x[0] * 2),
    "np.insert": lambda x: np.insert(x, 2, x[5]),
    "np.delete": lambda x: np.delete(x, [1, 4]),
    "np.resize": lambda x: np.resize(x, (2, 4)),
    "np.pad": lambda x: np.pad(x, 2, mode="edge"),
    "np.reshape": lambda x: np.reshape(x, (3, 2)),
    "np.ravel": lambda x: np.ravel(_matrix(x).T),
    "np.transpose": lambda x: np.transpose(_matrix(x)),
    "np.permute_dims": lambda x: np.permute_dims(_matrix(x), (1, 0)),
    "np.matrix_transpose": lambda x: np.matrix_transpose(_matrix(x)),
    "np.swapaxes": lambda x: np.swapaxes(_matrix(x), 0, 1),
    "np.moveaxis": lambda x: np.moveaxis(x.reshape(1, 2, 3), 0, -1),
    "np.rollaxis": lambda x: np.rollaxis(x.reshape(1, 2, 3), 2),
    "np.expand_dims": lambda x: np.expand_dims(x, 0),
    "np.squeeze": lambda x: np.squeeze(x[None, :, None]),
    "np.broadcast_to": lambda x: np.broadcast_to(x, (2, 6)),
    "np.broadcast_arrays": lambda x: np.broadcast_arrays(x[:3], np.zeros((2, 1)))[0],
    "np.atleast_1d": lambda x: np.atleast_1d(x[0]),
    "np.atleast_2d": lambda x: np.atleast_2d(x),
    "np.atleast_3d": lambda x: np.atleast_3d(x),
    "np.tile": lambda x: np.tile(x, 2),
    "np.repeat": lambda x: np.repeat(x, 2),
    "np.roll": lambda x: np.roll(x, 2),
    "np.flip": lambda x: np.flip(x),
    "np.fliplr": lambda x: np.fliplr(_matrix(x)),
    "np.flipud": lambda x: np.flipud(_matrix(x)),
    "np.rot90": lambda x: np.rot90(_matrix(x)),
    "np.split": lambda x: np.split(x, 2)[1],
    "np.array_split": lambda x: np.array_split(x, 4)[1],
    "np.hsplit": lambda x: np.hsplit(_matrix(x), 3)[2],
    "np.vsplit": lambda x: np.vsplit(_matrix(x), 2)[1],
    "np.dsplit": lambda x: np.dsplit(x.reshape(1, 2, 3), 3)[1],
    "np.take": lambda x: np.take(x, [4, 0]),
    "np.take_along_axis": lambda x: np.take_along_axis(x, np.array([5, 1]), axis=0),
    "np.diag": lambda x: np.diag(x[:3]) + np.diag(np.diag(_square(x))),
    "np.diagonal": lambda x: np.diagonal(_square(x)),
    "np.diagflat": lambda x: np.diagflat(x[:2]),
    "np.tril": lambda x: np.tril(_square(x)),
    "np.triu": lambda x: np.triu(_square(x), 1),
    "np.meshgrid": lambda x: np.meshgrid(x[:2], x[3:])[1],
    "np.zeros_like": _into(np.zeros_like),
    "np.ones_like": _into(np.ones_like),
    "np.full_like": _into(lambda x: np.full_like(x, x[2])),
    "np.empty_like": _into(lambda x: np.empty_like(x[:1])),
    "np.copy": _into(np.copy),
    "np.shape": lambda x: x * np.shape(x)[0],
    "np.size": lambda x: x * np.size(x),
    "np.ndim": lambda x: x * np.ndim(x),
    "np.fill_diagonal": _filled_diagonal,
    "np.copyto": _copied_to,
    "np.result_type": lambda x: x * (np.result_type(x) != np.dtype(int)),
    "np.iscomplexobj": lambda x: x * (not np.iscomplexobj(x)),
    "np.isrealobj": lambda x: x * np.isrealobj(x),
    "np.shares_memory": lambda x: x * np.shares_memory(x, x),
    "np.may_share_memory": lambda x: x * np.may_share_memory(x, x),
    "np.array_repr": lambda x: x * bool(np.array_repr(x)),
    "np.array_str": lambda x: x * bool(np.array_str(x)),
    "np.array2string": lambda x: x * bool(np.array2string(x)),
}
SUMS = {
    "np.dot": lambda x: np.dot(_matrix(x), x[:3]) + np.dot(x, x) + x[:3].dot(x[3:]),
    "np.vdot": lambda x: np.vdot(x, 2 * x),
    "np.inner": lambda x: np.inner(x[:3], x[3:]),
    "np.outer": lambda x: np.outer(x[:2], x),
    "np.tensordot": lambda x: np.tensordot(_square(x), _square(x), axes=2),
    "np.kron": lambda x: np.kron(x[:2], x[:3]),
    "np.einsum": lambda x: np.einsum("ij,j->i", _square(x), x[:3]),
    "np.cross": lambda x: np.cross(x[:3], x[3:]),
    "np.trace": lambda x: np.trace(_square(x)),
    "np.matvec": lambda x: np.matvec(_square(x), x[:3]),
    "np.vecmat": lambda x: np.vecmat(x[:3], _square(x)),
    "np.vecdot": lambda x: np.vecdot(x[:3], x[3:]),
    "np.sum": lambda x: np.sum(_matrix(x), axis=1) + np.sum(x) + np.sum(x > 0.2) + x.sum() + np.sum(x, initial=2.0),
    "np.prod": lambda x: np.prod(x) + np.prod(_matrix(x), axis=0, keepdims=True),
    "np.mean": lambda x: np.mean(x) + np.mean(_matrix(x), axis=0) + np.mean(x > 0.2) + x.mean(),
    "np.var": lambda x: np.var(x) + np.var(_matrix(x), axis=1, ddof=1) + x.var(),
    "np.std": lambda x: np.std(x) + np.std(_matrix(x), axis=1, ddof=1) + x.std(),
    "np.average": lambda x: np.average(x, weights=np.arange(1.0, 7.0)),
    "np.cumsum": lambda x: np.cumsum(x) + np.cumsum(_matrix(x), axis=1).ravel() + x.cumsum(),
    "np.cumprod": lambda x: np.cumprod(x),
    "np.cumulative_sum": lambda x: np.cumulative_sum(x),
    "np.cumulative_prod": lambda x: np.cumulative_prod(x),
    "np.diff": lambda x: np.diff(x, n=2),
    "np.ediff1d": lambda x: np.ediff1d(x),
    "np.trapezoid": lambda x: np.trapezoid(x, dx=0.1),
    "np.polyval": lambda x: np.polyval([1.0, -2.0, 0.5], x),
    "np.convolve": lambda x: np.convolve(x, [1.0, 0.5], mode="same"),
    "np.correlate": lambda x: np.correlate(x, np.array([1.0, 0.5]), mode="full"),
    "np.vander": lambda x: np.vander(x[:3], 3),
    "np.linalg.multi_dot": lambda x: np.linalg.multi_dot([_square(x), _square(x), x[:3]]),
    "np.linalg.matrix_power": lambda x: np.linalg.matrix_power(_square(x), 3),
    "np.linalg.trace": lambda x: np.linalg.trace(_square(x)),
    "np.linalg.diagonal": lambda x: np.linalg.diagonal(_square(x)),
    "np.linalg.outer": lambda x: np.linalg.outer(x[:2], x),
    "np.linalg.cross": lambda x: np.linalg.cross(x[:3], x[3:]),
    "np.linalg.matmul": lambda x: np.linalg.matmul(_square(x), x[:3]),
    "np.linalg.tensordot": lambda x: np.linalg.tensordot(_square(x), _square(x), axes=2),
    "np.linalg.matrix_transpose": lambda x: np.linalg.matrix_transpose(_matrix(x)),
    "np.linalg.vecdot": lambda x: np.linalg.vecdot(x[:3], x[3:]),
    "np.linalg.norm": lambda x: (
        np.linalg.norm(x)
        + np.linalg.norm(x, 1)
        + np.linalg.norm(x, np.inf)
        + np.linalg.norm(x, -np.inf)
        + np.linalg.norm(x, 0)
        + np.linalg.norm(x, 3)
        + np.linalg.norm(_matrix(x), axis=0).sum()
        + np.linalg.norm(_matrix(x), 1)
        + np.linalg.norm(_matrix(x), -np.inf)
        + np.linalg.norm(_matrix(x), "fro")
        + np.linalg.norm(x, keepdims=True)[0]
    ),
    "np.linalg.vector_norm": lambda x: np.linalg.vector_norm(_matrix(x)) + np.linalg.vector_norm(x, ord=1),
    "np.linalg.solve": lambda x: np.linalg.solve(_square(x), x[3:]) + np.linalg.solve(_square(x)[::-1], K)[0],
    "np.linalg.inv": lambda x: np.linalg.inv(np.stack([_square(x), _square(x)[[1, 2, 0]]])),
    "np.linalg.det": lambda x: np.linalg.det(_square(x)[[2, 0, 1]]),
    "np.linalg.cholesky": lambda x: np.linalg.cholesky(_definite(x)),
}
CHOICES = {
    "np.max": lambda x: np.max(x) + np.max(_matrix(x), axis=0) + x.max() + np.max(x, initial=0.3),
    "np.min": lambda x: np.min(x) + np.min(_matrix(x), axis=1, keepdims=True) + x.min(),
    "np.amax": lambda x: np.amax(_matrix(x), axis=1),
    "np.amin": lambda x: np.amin(_matrix(x), axis=1),
    "np.ptp": lambda x: np.ptp(x),
    "np.any": lambda x: np.where(np.any(_matrix(x) > 0.9, axis=0), x[:3], x[3:]),
    "np.all": lambda x: np.where(np.all(x > -0.5), x, 2 * x) + (x > 0).all() * 1.0,
    "np.clip": lambda x: np.clip(x, -0.5, 0.5) + np.clip(x, None, 0.1) + x.clip(0.0) + np.clip(x[0], -0.1, 0.1),
    "np.sinc": lambda x: np.sinc(np.concatenate([x, x - x])),
    "np.unwrap": lambda x: np.unwrap(5 * x),
    "np.angle": lambda x: np.angle(x),
    "np.isneginf": lambda x: np.where(np.isneginf(x), 1.0, x),
    "np.isposinf": lambda x: np.where(np.isposinf(x), 1.0, x),
    "np.where": lambda x: np.where(x > 0.2, np.sqrt(np.abs(x)), -1.0) + np.where(x[0] > x[1], 1.0, 2.0),
    "np.select": lambda x: np.select([x > 0.5, x > 0.0, x > 0.3], [x, 2 * x, 7.0], default=-1.0),
    "np.piecewise": lambda x: np.piecewise(x, [x < 0.0, x > 0.5], [lambda y: -y, lambda y: y**2, 0.25]),
    "np.interp": lambda x: (
        np.interp(x, [-0.5, 0.0, 0.6], [1.0, 0.0, 2.0])
        + np.interp(x, [-0.5, 0.0, 0.6], [1.0, 0.0, 2.0], left=-3.0, right=5.0)
        + np.interp(x[0], np.array([0.0, 1.0]), x[:2])
    ),
    "np.round": lambda x: np.round(x, 1) + np.round(10 * x) + np.round(100 * x, -1) + x.round(2),
    "np.around": lambda x: np.around(x, 1),
    "np.fix": lambda x: np.fix(3 * x),
    "np.nan_to_num": lambda x: np.nan_to_num(_with_nan(x) / np.maximum(x, 0.0), nan=0.7, posinf=3.0, neginf=-3.0),
    "np.isclose": lambda x: np.where(np.isclose(x, 0.3, atol=0.3), 1.0, 0.0),
    "np.allclose": lambda x: np.where(np.allclose(x, 0.0, atol=10.0), x, 1.0),
    "np.array_equal": lambda x: (
        np.where(np.array_equal(x, x + 0.0), x, 1.0) + np.where(np.array_equal(x, 2 * x), x, 0.0)
    ),
    "np.count_nonzero": lambda x: np.count_nonzero(np.maximum(x, 0.0)) * 1.0,
    "np.nansum": lambda x: np.nansum(_with_nan(x)),
    "np.nanprod": lambda x: np.nanprod(_with_nan(x)),
    "np.nanmean": lambda x: np.nanmean(_with_nan(x)),
    "np.nanmax": lambda x: np.nanmax(_with_nan(x)),
    "np.nanmin": lambda x: np.nanmin(_with_nan(x)),
    "np.linspace": lambda x: np.linspace(x[0], x[1], 4) + np.linspace(0.0, x[2], 4, endpoint=False),
    "np.real": lambda x: np.real(x),
    "np.imag": lambda x: np.imag(x) + x,
}
FUNCTION_SAMPLES = {**MOVES, **SUMS, **CHOICES}


# What the user's own code does with arrays, beyond calling functions.
def made_by_hand(x):
    y = np.array([x[0], 2.0, x[2] * x[3]])
    return np.clip(y, -0.4, 0.4)


def filled(x):
    out = np.zeros(4)
    out[0] = x[0]
    out[1:3] = np.maximum(x[1:3], 0.0)
    out[-1] += x[5]
    return np.tanh(out)


def filled_matrix(x):
    out = np.eye(3)
    out[0, 1] = x[0]
    out[:, 2] -= x[3:]
    return np.linalg.inv(out) @ np.ones(3)


def masked(x):
    y = np.asarray(x, dtype=float).copy()
    y[y > 0.5] = 0.5
    y[y < x[0]] = x[0]
    return y


def dead_zone(x):
    return np.where(np.abs(x) < 0.2, 0.0, x - 0.2 * np.sign(x))


def mask_arithmetic(x):
    up, low = x > 0.3, x < -0.3
    both = (up | low) & ~(x[0] > 0.9)
    return up * x + 2.0 * low + both.astype(float) + (up ^ low) * 3 + (1 - up) + up.sum() + (x >= 0.1) + (x != x[0])


def reversed_operators(x):
    limits = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    return (limits[0] < x[1]) * 1.0 + (limits < x) * x + (limits <= x[0]) * 2.0 + (x < 0.3) * x + np.float64(2.0) * x[0]


def operators(x):
    return x**2 + abs(x) ** 0.5 + abs(x) ** 0.3 + 2.0**x + x // 0.3 + x % 0.3 + (-x) % -0.7 + divmod(x, 0.4)[1] + x @ x


def single_numbers(x):
    a, b = x[0], x[1]
    total = np.hypot(a, b) + np.arctan2(a, b) + np.tanh(a) + abs(b) + np.sign(a) + np.clip(b, -0.1, 0.1)
    total = total + a.reshape(1)[0] + b.clip(0.0, 0.1) + a.item() + b.copy() + np.ones(a.shape)
    return total + np.maximum(a, 0.2) + np.minimum(0.1, b) + np.where(a > b, a, b) + a % 1.0 + a // 0.25


def in_place(x):
    y = 1.0 * x
    y *= 2.0
    y -= x[0]
    np.maximum(y, 0.1, out=y)
    return y


def transposed_methods(x):
    y = x.reshape(2, 3).T @ np.array([1.0, -2.0])
    return y.flatten() + x[:3].copy().ravel() + x.take([0, 1, 2]) + x[[1, 2, 3]] + x[np.array([True, False] * 3)]


def reduced_by_ufuncs(x):
    return np.add.reduce(x) + np.maximum.reduce(x) + np.multiply.accumulate(x) + np.subtract.outer(x[:2], x)[1]


HABITS = [
    made_by_hand, filled, filled_matrix, masked, dead_zone, mask_arithmetic, reversed_operators, operators,
    single_numbers, in_place, transposed_methods, reduced_by_ufuncs,
]  # fmt: skip


# --- functions of single numbers -----------------------------------------------------------------------

SPECIAL = [0.0, 0.3, -0.3, 1.0, -1.0, 2.5, -2.5, 0.5, 1e-9, -7.2, 1e10, np.inf, -np.inf, np.nan]
PAIRS = np.array([[a, b, 0.5] for a in SPECIAL for b in SPECIAL])


def use(name):
    """A ufunc on two arrays, on an array and a number, and on a number and an array."""
    function = getattr(np, name)
    if name == "ldexp":
        return lambda x: np.ldexp(x[..., 0], 3)
    if name == "invert":
        return lambda x: ~(x[..., 0] > 0) * 1.0
    if name.startswith("bitwise"):
        return lambda x: function(x[..., 0] > 0, x[..., 1] > 0) * 1.0
    if name == "clip":
        return lambda x: np.stack([np.clip(x[..., 0], x[..., 1], 0.7), np.clip(x[..., 0], -0.4, 0.4)])

    first = 0.6 if name == "power" else -0.4

    def every_way(x):
        a, b = x[..., 0], x[..., 1]
        found = [function(a)] if function.nin == 1 else [function(a, b), function(a, 0.4), function(first, b)]
        return np.stack([np.multiply(z, 1.0) for y in found for z in (y if isinstance(y, tuple) else [y])])

    return every_way


USES = {name: use(name) for name in ENTRIES}


def every_use(robot, q):
    return {name: f(q) for name, f in USES.items()}
