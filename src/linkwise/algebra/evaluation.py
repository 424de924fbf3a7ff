"""How sums of products are applied: each factor that terms begin with runs once, for all of them.

A term c A₁A₂… x is a number, factors and what they are applied to. Terms that begin with the same factor share it,
ABx + ACy = A (Bx + Cy), and a sum in front of others is opened first, (I + AB) y + ACx = y + A (By + Cx). A propagation
and the shifts that follow it across the same edges cross them once: ψ (w + Kx + E_ψv) is the sweep
y(p) = w(p) + Σ φ(p,k) [τ̄(k) (y(k) + v(k)) + G(k) x(k)]. So a formula that names a sweep several times, as the printed
forward dynamics do, runs it once. JPL 88-11's S beside its L, Δφ or Δψ is the shift K = SL, E_φ = SΔφ, E_ψ = SΔψ that
crosses those edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .blocks import Edge, Projection, Unit, act, plus
from .expression import Blocks, Expression, Product, Sum
from .kinds import Leaf, Propagation, Shift, StrictPropagation

Term = tuple[float, tuple[Expression, ...], Blocks]  # c, the factors, and what they are applied to


def applied(factors: tuple[Expression, ...], x: Blocks) -> Blocks:
    """A₁A₂… x."""
    factors = _with_shifts(factors)
    return x if not factors else _headed(factors[0], [(1.0, factors[1:], x)])


def summed(terms: Sequence[Term], size: int) -> Blocks:
    """Σ c A₁A₂… x, of ``size`` blocks."""
    out: Blocks = [None] * size
    groups: dict[Any, list[Term]] = {}
    for c, factors, x in _strict_as_full(_opened(terms)):
        if factors:
            groups.setdefault(factors[0].key, []).append((c, factors, x))
        else:
            _add(out, c, x)
    for members in groups.values():
        head = members[0][1][0]
        alone = len(members) == 1  # then its number is multiplied last
        inner = [(1.0 if alone else c, factors[1:], x) for c, factors, x in members]
        _add(out, members[0][0] if alone else 1.0, _headed(head, inner))
    return out


def _add(out: Blocks, c: float, x: Blocks) -> None:
    for i, y in enumerate(x):
        if y is not None:
            scaled = y if c == 1 else -y if c == -1 else c * y
            out[i] = scaled if out[i] is None else out[i] + scaled


def _opened(terms: Sequence[Term]) -> list[Term]:
    """Terms whose first factor is no sum; those with the same sum in front are added up before it is opened."""
    out: list[Term] = []
    in_front: dict[Any, tuple[Sum, list[Term]]] = {}
    todo = list(terms)
    while True:
        for c, factors, x in todo:
            factors = _with_shifts(factors)
            head = factors[0] if factors else None
            if isinstance(head, Sum):
                in_front.setdefault(head.key, (head, []))[1].append((c, factors[1:], x))
            else:
                out.append((c, factors, x))
        if not in_front:
            return out
        # A sum whose terms begin with sums goes first: they may meet others there.
        head, inner = in_front.pop(max(in_front, key=lambda key: _depth(in_front[key][0])))
        y = _total(inner, len(head.cols.sizes))
        todo = [(d, t.factors if isinstance(t, Product) else (t,), y) for d, t in head.terms]


_SHIFTED = {"L": "K", "Delta_phi": "E_phi", "Delta_psi": "E_psi"}


def _with_shifts(factors: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """SL, SΔφ and SΔψ, or their adjoints, as K, E_φ and E_ψ (JPL 88-11 A.1)."""
    for i, (left, right) in enumerate(pairwise(factors)):
        if not (isinstance(left, Leaf) and isinstance(right, Leaf) and left.flipped == right.flipped):
            continue
        shift, local = (right, left) if left.flipped else (left, right)
        if shift.name == "S" and local.name in _SHIFTED and shift.owner.rigid_key == local.owner.rigid_key:
            one: Expression = getattr(local.owner, _SHIFTED[local.name])
            return _with_shifts((*factors[:i], one.T if left.flipped else one, *factors[i + 2 :]))
    return factors


def _depth(op: Expression) -> int:
    """How many sums stand in front of each other."""
    if isinstance(op, Product):
        return _depth(op.factors[0])
    return 1 + max(_depth(t) for _, t in op.terms) if isinstance(op, Sum) else 0


def _strict_as_full(terms: list[Term]) -> list[Term]:
    """ψ̃ = ψE_ψ and φ̃ = φE_φ where ψ or φ runs for another term anyway."""
    heads = {factors[0].key for _, factors, _ in terms if factors}
    out: list[Term] = []
    for c, factors, x in terms:
        head = factors[0] if factors else None
        if isinstance(head, StrictPropagation) and not head.flipped:
            o = head.owner
            full, shift = (o.phi, o.E_phi) if head.name == "phi_tilde" else (o.psi, o.E_psi)
            factors = (full, shift, *factors[1:]) if full.key in heads else factors
        out.append((c, factors, x))
    return out


def _headed(head: Expression, inner: list[Term]) -> Blocks:
    """One factor applied to a sum of terms."""
    if isinstance(head, Sum):
        return summed([(c, (head, *factors), x) for c, factors, x in inner], len(head.rows.sizes))
    if isinstance(head, Propagation) and not head.flipped:
        return _propagated(head, inner)
    return head.forward(_total(inner, len(head.cols.sizes)))


def _total(terms: list[Term], size: int) -> Blocks:
    if len(terms) == 1 and terms[0][0] == 1:
        return applied(terms[0][1], terms[0][2])
    return summed(terms, size)


# --- propagation with shifts ---------------------------------------------------------------------------


def _propagated(head: Propagation, inner: list[Term]) -> Blocks:
    """A propagation of a sum: what comes from shifts across its edges crosses them together with the rest."""
    entering: dict[Any, list[Term]] = {}
    shifts: dict[Any, Shift] = {}
    rest: list[Term] = []
    for c, factors, x in _strict_as_full(_opened(inner)) if inner else []:
        first = factors[0] if factors else None
        if isinstance(first, Shift) and _crosses_edges_of(head, first):
            shifts[first.key] = first
            entering.setdefault(first.key, []).append((c, factors[1:], x))
        else:
            rest.append((c, factors, x))
    size = len(head.cols.sizes)
    own = _total(rest, size) if rest else [None] * size
    if not shifts:
        return head.forward(own)
    inputs = [_total(terms, len(shifts[key].cols.sizes)) for key, terms in entering.items()]
    return _crossed_once(head, list(shifts.values()), inputs, own)


def _crosses_edges_of(head: Propagation, shift: Shift) -> bool:
    same = head.owner.rigid_key == shift.owner.rigid_key and not shift.flipped
    return same and all(e is None or isinstance(e, Edge) for e in shift.blocks)  # JPL's S has no φ to cross


def _crossed_once(head: Propagation, shifts: list[Shift], inputs: list[Blocks], own: Blocks) -> Blocks:
    def step(gathered: Any, through: Edge, w: Any, *entries: tuple[Any, Any]) -> tuple[Any, Any]:
        y = w if isinstance(gathered, int) else plus(w, gathered)
        crossing = act(through.phi, _before(through.local, y, entries))
        return 0 if crossing is None else crossing, y

    entries = [list(zip(shift.blocks, x)) for shift, x in zip(shifts, inputs)]
    return head.tree.inward(step, 0, head.blocks, own, *entries)


def _before(through: Any, y: Any, entries: Sequence[tuple[Any, Any]]) -> Any:
    """A y + Σ Aₛxₛ before the edge; with τ̄ and G that is z + G(x − Hz), with one product by G."""
    others = []
    for edge, x in entries:
        if edge is None or x is None:
            continue
        if _same(edge.local, through):
            y = plus(y, x)
        else:
            others.append((edge.local, x))
    if isinstance(through, Projection) and y is not None and len(others) == 1 and others[0][0] is through.G:
        return y + through.G @ (others[0][1] - through.H @ y)
    out = act(through, y)
    for local, x in others:
        out = plus(out, act(local, x))
    return out


def _same(local: Any, through: Any) -> bool:
    """Whether two local maps are one: both the identity, or both I − GH of the same G."""
    if isinstance(local, Projection) and isinstance(through, Projection):
        return local.G is through.G
    return isinstance(local, Unit) and isinstance(through, Unit)
