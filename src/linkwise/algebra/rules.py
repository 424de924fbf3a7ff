"""Identities as data, and the simplifier that applies them.

A rule states lhs = rhs for the operators of any robot at any configuration, with the papers' equation
numbers beside it. Those marked ``simplifies`` are applied from left to right, and so are their adjoints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..errors import UnknownNameError
from ..model.model import Model
from ..properties import cached_property
from . import typeset
from .expression import Expression, Identity, Inclusion, Product, Sum, Zero, product, total
from .kinds import Leaf, families_of
from .leaves import Leaves

if TYPE_CHECKING:
    from .operator import Operator
    from .operators import Operators

NO_ROTORS = "no rotors"
NO_GYRO = "no gyroscopic rotors"
CHAIN = "serial chain"
ONE_DOF = "one-dof joints"
MOTION = "velocities"
CONSTANT_MAPS = "joint maps constant in their bodies"
INVERTIBLE_EDGES = "edges with an inverse"
ONE_TIP = "one tip"

# What each needs, of robots of which it is not so.
REASONS = {
    NO_ROTORS: "rotors add inertia to its joints",
    NO_GYRO: "a rotor turns with its parent",
    ONE_DOF: "a joint has several degrees of freedom",
    MOTION: "its operators were made without a velocity: robot.operators(q, v=v)",
    CHAIN: "it is a tree with branches",
    CONSTANT_MAPS: "bodies move as one node, and its joint map changes while they move",
    INVERTIBLE_EDGES: "bodies move as one node, and φ(p, k) to them has no inverse",
    ONE_TIP: "several tips were named, or none",
}


@dataclass(frozen=True)
class Rule:
    """lhs = rhs. ``cites`` lists where it is printed; ``requires`` what it needs beyond a tree of bodies.

    ``lhs`` and ``rhs`` build the two sides from an :class:`Leaves`; with ``free`` they also take a free
    block-diagonal X on the body space.
    """

    name: str
    cites: tuple[str, ...]
    lhs: Callable[..., Expression] = field(repr=False)
    rhs: Callable[..., Expression] = field(repr=False)
    requires: frozenset[str] = frozenset()
    simplifies: bool = False
    free: bool = False

    def __reduce__(self) -> Any:
        """One of linkwise's by its name; a rule of the user's own by its functions, which need be found by theirs."""
        if is_known(self):
            return rule, (self.name,)
        if is_axiom(self):
            return axiom, (self.name,)
        fields = (self.name, self.cites, self.lhs, self.rhs, self.requires, self.simplifies, self.free)
        return Rule, fields

    def admits(self, op: Leaves | Operators) -> bool:
        """Whether the identity holds for this robot."""
        return self.refusal(op) is None

    def refusal(self, op: Leaves | Operators) -> str | None:
        """Why the identity does not hold for this robot; None where it does."""
        op = op if isinstance(op, Leaves) else op.leaves
        missing = {
            NO_ROTORS: op.has_joint_inertia,
            NO_GYRO: op.has_coupling,
            ONE_DOF: any(j.kind.nv > 1 for j in op.model.joints),
            MOTION: not op.has_motion,
            CHAIN: not op.is_chain,
            CONSTANT_MAPS: op.nodes is not None,
            INVERTIBLE_EDGES: op.nodes is not None,
            ONE_TIP: len(op.frames) != 1,
        }
        found = [x for x in REASONS if x in self.requires and missing[x]]
        if not found:
            return None
        return f"identity {self.name!r} needs {found[0]}; of robot {op.model.name!r} {REASONS[found[0]]}"

    def sides(self, op: Operators, X: Operator | None = None) -> tuple[Operator, Operator]:
        """The two sides for the operators of a robot (``X`` for the rules with a free block diagonal)."""
        from .operator import bound

        lhs, rhs = self.expressions(op.leaves, None if X is None else X.expression)
        binding = op.binding if X is None else X.binding
        return bound(lhs, binding), bound(rhs, binding)

    def expressions(self, leaves: Leaves, X: Expression | None = None) -> tuple[Expression, Expression]:
        """The two sides as formulas of leaves."""
        arguments = (leaves, X) if self.free else (leaves,)
        return self.lhs(*arguments), self.rhs(*arguments)

    @property
    def formula(self) -> str:
        """The identity as text."""
        lhs, rhs = self._sample()
        return f"{lhs} = {rhs}"

    @property
    def latex(self) -> str:
        """The identity in LaTeX."""
        lhs, rhs = self._sample()
        return f"{lhs.latex()} = {rhs.latex()}"

    def _sample(self) -> tuple[Expression, Expression]:
        """The two sides on a small robot, to be printed."""
        leaves = _sample_leaves()
        return self.expressions(leaves, leaves.own_blocks(1, "bodies", "X") if self.free else None)

    def __repr__(self) -> str:
        return f"<Rule {self.name}: {self}>"

    def _repr_latex_(self) -> str:
        return f"${self.latex}$"

    def _repr_html_(self) -> str:
        """The identity, its name and where it is printed, for notebooks."""
        needs = f"; needs {', '.join(sorted(self.requires))}" if self.requires else ""
        return typeset.page(
            [typeset.formula(self.latex), typeset.words(f"{self.name}: {'; '.join(self.cites)}{needs}")]
        )

    def __str__(self) -> str:
        needs = f" [{', '.join(sorted(self.requires))}]" if self.requires else ""
        return f"{self.formula}   ({'; '.join(self.cites)}){needs}"


@lru_cache(maxsize=1)
def _sample_leaves() -> Leaves:
    from ..model.builders import chain

    return Leaves(chain(2, cls=Model), ("tip",), moving=(True, True))


@lru_cache(maxsize=1)
def identities() -> tuple[Rule, ...]:
    """Every identity linkwise knows, in the order of the papers."""
    from .identities import ALL
    from .identities_motion import MOTION_RULES
    from .identities_rates import RATE_RULES

    return ALL + MOTION_RULES + RATE_RULES


def rule(name: str) -> Rule:
    """The identity or axiom of that name."""
    from .axioms import AXIOMS

    for r in (*identities(), *(axiom.rule for axiom in AXIOMS)):
        if r.name == name:
            return r
    raise UnknownNameError(f"no identity is named {name!r}; see linkwise.identities()")


def axiom(name: str) -> Rule:
    """The axiom of that name, which an identity may have too."""
    from .axioms import AXIOMS

    return next(x.rule for x in AXIOMS if x.rule.name == name)


def is_axiom(r: Rule) -> bool:
    """Whether a rule is one of the axioms."""
    from .axioms import AXIOMS

    return any(x.rule is r for x in AXIOMS)


def is_known(r: Rule) -> bool:
    """Whether a rule is one that :func:`rule` finds by its name."""
    try:
        return rule(r.name) is r
    except UnknownNameError:
        return False


# --- the simplifier ----------------------------------------------------------------------------------


def simplify(op: Expression) -> Expression:
    """Apply the simplifying identities, innermost first, until none fires."""
    rebuilt = op
    if isinstance(op, Product):
        rebuilt = product([simplify(f) for f in op.factors]).with_used(op.used)
    elif isinstance(op, Sum):
        rebuilt = total([(c, simplify(t)) for c, t in op.terms]).with_used(op.used)
    elif isinstance(op, Leaf) and op.inverse_of is not None:
        rebuilt = _inside_inverse(op)
    if rebuilt.key != op.key:  # neighbours have changed, or a number has come to the front
        return simplify(rebuilt)
    changed = _fire(op)
    return op if changed is None else simplify(changed)


def _inside_inverse(op: Leaf) -> Expression:
    """The inverse of what was inverted, simplified."""
    from .inverse import inverse

    assert op.inverse_of is not None
    inner = simplify(op.inverse_of)
    if inner.key == op.inverse_of.key:
        return op
    out = inverse(inner)
    return (out.T if op.flipped else out).with_used(op.used)


def _fire(op: Expression) -> Expression | None:
    """The expression after the first rule that matches it, or None."""
    have = _parts(op)
    for owner in families_of(op):
        for instance in _instances(owner).of_parts(have):
            if instance.may_fit(have):
                out = _replace(op, instance.lhs, instance.rhs)
                if out is not None:
                    return out.with_used([*op.used, instance.rule])
    return None


def _parts(op: Expression) -> frozenset[Any]:
    """The keys of what an expression is made of: its factors, or itself and its terms."""
    if isinstance(op, Product):
        return frozenset(f.key for f in op.factors)
    return frozenset([op.key, *((t.key for _, t in op.terms) if isinstance(op, Sum) else ())])


@dataclass(frozen=True, eq=False)
class _Instance:
    """A rule between the leaves of a family, as it stands or as its adjoint."""

    rule: Rule
    lhs: Expression
    rhs: Expression

    @cached_property
    def needs(self) -> frozenset[Any]:
        """What an expression must be made of, for the rule to fit."""
        return _parts(self.lhs) - ({self.lhs.key} if isinstance(self.lhs, Sum) else set())

    def may_fit(self, have: frozenset[Any]) -> bool:
        return self.needs <= have or (isinstance(self.lhs, Sum) and self.lhs.key in have)


class _Instances:
    """Rules in order, found by what an expression is made of."""

    def __init__(self, instances: Sequence[_Instance]) -> None:
        self.instances = instances
        shared = Counter(key for x in instances for key in x.needs)
        self.by_part: dict[Any, list[int]] = {}
        for i, x in enumerate(instances):  # under the rarest part that each needs, and a sum as a whole too
            keys = {min(x.needs, key=shared.__getitem__)} if x.needs else set()
            for key in keys | ({x.lhs.key} if isinstance(x.lhs, Sum) or not keys else set()):
                self.by_part.setdefault(key, []).append(i)

    def of_parts(self, have: frozenset[Any]) -> Iterator[_Instance]:
        """Those that may fit an expression with these parts, in order."""
        found = {i for key in have for i in self.by_part.get(key, ())}
        return (self.instances[i] for i in sorted(found))


def _instances(owner: Leaves) -> _Instances:
    """The simplifying rules that hold here and their adjoints, built once for each family."""
    cached = owner.__dict__.get("_rule_instances")
    if cached is None or cached[0] != owner.identity:
        built = [(r, *r.expressions(owner)) for r in identities() if r.simplifies and r.admits(owner)]
        # Rotors make some right-hand sides dear: 𝓜 with its coupling terms costs more than its factors.
        cheap = [(r, lhs, rhs) for r, lhs, rhs in built if cost(rhs) <= cost(lhs)]
        both = [_Instance(r, *sides) for r, lhs, rhs in cheap for sides in ((lhs, rhs), (lhs.T, rhs.T))]
        cached = owner.__dict__["_rule_instances"] = (owner.identity, _Instances(both))
    found: _Instances = cached[1]
    return found


def _replace(op: Expression, lhs: Expression, rhs: Expression) -> Expression | None:
    if isinstance(lhs, Sum):
        as_sum = _replace_terms(op, lhs, rhs)
        if as_sum is not None:
            return as_sum
    return _replace_factors(op, lhs, rhs)


def _replace_factors(op: Expression, lhs: Expression, rhs: Expression) -> Expression | None:
    """lhs as a run of neighbouring factors."""
    factors: Sequence[Expression] = op.factors if isinstance(op, Product) else (op,)
    wanted = [f.key for f in lhs.factors] if isinstance(lhs, Product) else [lhs.key]
    keys = [f.key for f in factors]
    for i in range(len(keys) - len(wanted) + 1):
        if keys[i : i + len(wanted)] == wanted:
            if len(wanted) == len(keys):
                return rhs
            return product([*factors[:i], rhs, *factors[i + len(wanted) :]])
    return None


def _replace_terms(op: Expression, lhs: Sum, rhs: Expression) -> Expression | None:
    """A multiple of lhs among the terms of a sum (of more terms than lhs, or the same)."""
    if not isinstance(op, Sum) or len(op.terms) < len(lhs.terms):
        return None
    have = {t.key: c for c, t in op.terms}
    if any(t.key not in have for _, t in lhs.terms):
        return None
    ratios = [have[t.key] / c for c, t in lhs.terms]
    if max(ratios) - min(ratios) > 1e-14 * abs(ratios[0]):
        return None
    gone = {t.key for _, t in lhs.terms}
    rest = [(c, t) for c, t in op.terms if t.key not in gone]
    return total([*rest, (ratios[0], rhs)])


def cost(op: Expression) -> int:
    """A rough price of applying an expression to a vector, in operations per body; orders the rules."""
    prices = {"Propagation": 40, "StrictPropagation": 42, "Shift": 32, "BlockDiagonal": 20, "Pick": 10}
    if isinstance(op, Product):
        return sum(cost(f) for f in op.factors)
    if isinstance(op, Sum):
        return sum(cost(t) + 6 for _, t in op.terms)
    if isinstance(op, (Identity, Inclusion, Zero)):
        return 0
    return prices.get(type(op).__name__, 20)
