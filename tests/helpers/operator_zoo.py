"""Every operator there is, leaves and expressions, on robots that have everything: what the laws run over."""

from __future__ import annotations

from functools import cache

import numpy as np
from trees import robot, state

import linkwise as lw
from linkwise.algebra.expression import Zero
from linkwise.algebra.operators import Operators
from linkwise.algebra.recursions import KINDS

ROBOTS = ["tree", "floating", "arms", "tree_rotors", "chain4", "panda"]
Q_BATCHES = [(), (3,), (2, 1)]
X_BATCHES = [(), (4,), (2, 3)]


@cache
def operators(name: str, batch: tuple[int, ...] = (), seed: int = 0) -> Operators:
    """The operators of a robot at a batch of random states, with velocities and accelerations."""
    r = robot(name)
    s = state(r, batch, seed)
    return r.operators(s.q, v=s.v, a=s.a)


def _leaf_names() -> list[str]:
    op = operators("chain4")
    return [n for n in dir(op) if not n.startswith("_") and isinstance(getattr(op, n), lw.Operator)]


LEAVES = _leaf_names()


def positive(op: Operators, space: str = "bodies", seed: int = 1) -> lw.Operator:
    """A block diagonal of the user's own, symmetric and positive definite."""
    rng = np.random.default_rng(seed)
    blocks = []
    for r in getattr(op, space).sizes:
        A = rng.normal(size=(r, r))
        blocks.append(A @ A.T + r * np.eye(r))
    return op.block_diagonal(blocks, space=space)


def general(op: Operators, space: str = "bodies", seed: int = 2) -> lw.Operator:
    """A block diagonal of the user's own, not symmetric."""
    rng = np.random.default_rng(seed)
    return op.block_diagonal([rng.normal(size=(r, r)) for r in getattr(op, space).sizes], space=space, name="Y")


# Expressions of every sort: sums, products, multiples, inverses, the user's own leaves, driven recursions.
EXPRESSIONS = {
    "colour": lambda o: o.I_joints + o.H @ o.phi @ o.K,
    "white": lambda o: o.I_joints - o.H @ o.psi @ o.K,
    "mass as typed": lambda o: o.H @ o.phi @ o.M @ o.phi.T @ o.H.T,
    "inverse mass": lambda o: o.mass.inv(),
    "compliance": lambda o: o.J @ o.mass.inv() @ o.J.T,
    "simplified compliance": lambda o: (o.J @ o.mass.inv() @ o.J.T).simplify(),
    "jacobian_inner": lambda o: o.J.T @ o.J,
    "jacobian_outer": lambda o: o.J @ o.J.T,
    "fused filter": lambda o: o.H @ o.psi @ o.K,
    "sum of both sides": lambda o: o.phi @ o.M - 2.5 * (o.M @ o.phi.T),
    "multiple": lambda o: -3.0 * o.psi,
    "zero": lambda o: o.phi - o.phi,
    "zero between spaces": lambda o: lw.Operator(Zero(o.joints, o.edges), o.binding),
    "product with zero": lambda o: o.H @ (o.phi - o.phi),
    "user's block diagonal": general,
    "user's block diagonal on joints": lambda o: general(o, "joints"),
    "user's block diagonal on tips": lambda o: o.B @ general(o, "tips") @ o.B.T,
    "user's block diagonal on edges": lambda o: o.S @ general(o, "edges") @ o.S.T,
    "sandwich": lambda o: o.phi @ general(o) @ o.phi.T,
    "inverse of the user's": lambda o: general(o).inv(),
    "outboard then inboard": lambda o: o.phi.T @ general(o) @ o.phi,
    "lyapunov": lambda o: o.lyapunov(general(o)),
    **{f"recursion {kind}": (lambda o, kind=kind: o.recursion(general(o), kind)) for kind in KINDS},
    "other inertia": lambda o: o.with_inertia(positive(o)).psi @ o.with_inertia(positive(o)).P,
    "inverse with other inertia": lambda o: (o.H @ o.phi @ positive(o) @ o.phi.T @ o.H.T).inv(),
    "deep nesting": lambda o: (o.I + o.phi @ (o.M + 0.5 * o.tau_bar.T) @ (o.I - 2.0 * o.E_psi.T)) @ o.K,
}


def make(name: str, op: Operators) -> lw.Operator:
    """A leaf or an expression by its name."""
    return getattr(op, name) if name in LEAVES else EXPRESSIONS[name](op)
