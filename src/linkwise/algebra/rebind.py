"""The same formula on another robot or at another configuration."""

from __future__ import annotations

from ..errors import InputError
from .kinds import Leaf, UserBlockDiagonal
from .leaves import Operators
from .operator import Identity, Operator, Product, Sum, Zero, product, total
from .spaces import Space

_IDENTITIES = {"body": "I", "joint": "I_joints", "tip": "I_tips", "edge": "I_edges"}
_SPACES = {"body": "bodies", "joint": "joints", "tip": "tips", "edge": "edges"}


def rebind(op: Operator, target: Operators) -> Operator:
    """The expression rebuilt from the leaves of ``target``."""
    return _rebuilt(op, target).with_used(op.used)


def _rebuilt(op: Operator, target: Operators) -> Operator:
    if isinstance(op, Product):
        return product([_rebuilt(f, target) for f in op.factors])
    if isinstance(op, Sum):
        return total([(c, _rebuilt(t, target)) for c, t in op.terms])
    if isinstance(op, Identity):
        return getattr(target, _IDENTITIES[op.rows.kind])
    if isinstance(op, Zero):
        return Zero(_space(op.rows, target), _space(op.cols, target))
    assert isinstance(op, Leaf)
    return _leaf(op, target)


def _space(space: Space, target: Operators) -> Space:
    return getattr(target, _SPACES[space.kind])


def _leaf(leaf: Leaf, target: Operators) -> Operator:
    upright = leaf.upright()
    if isinstance(upright, UserBlockDiagonal):
        if upright.owner.model is not target.model:
            raise InputError(f"{upright} is a block diagonal of one robot and cannot move to another")
        return leaf
    if upright.origin is not None:  # an inverse or a recursion: rebuilt from what it came from
        out = upright.origin(lambda inner: _rebuilt(inner, target), target)
    else:
        owner = upright.owner
        home = target if owner.is_default else _family(owner, target)
        out = home.leaf(upright.name)
    return out.T if leaf.flipped else out


def _family(owner: Operators, target: Operators) -> Operators:
    assert owner._inertia is not None
    moved = [None if m is None else _rebuilt(m, target) for m in owner._measurement]
    return target.with_inertia(_rebuilt(owner._inertia, target), *moved)
