"""Whether a formula shows which body carries what the joints do not feel: settled by the algebra itself.

The normal form of a robot (:mod:`linkwise.model.normal_form`) moves a part Z of each M(k) to the parent, where ZH* = 0
and E_φZE_φ* stays constant in the parent's frame. Then

    M ↦ M − Z + E_φZE_φ*,   P ↦ P − Z,   P⁺ ↦ P⁺ − Z,   R ↦ R − Z,   f ↦ f − F′,
    b ↦ b − (I − E_φ)F + (Z − E_φZE_φ*)φ*(a + g),   M̂ ↦ M̂ + ½(Q − E_φQE_φ*),

and H, φ, D, G, K, ψ, Υ, the motions and their rates, and P° and Π̇ stay. (Put M into the Lyapunov and Riccati equations;
HZ = 0 keeps D, G, ψ and K. Z has the momentum ZV(k) = ZE_φ*V(p) wherever it is carried, so that the force F that it
takes, at accelerations φ*(a + g), is handed on as it is, E_φF: Mφ*(a + g) + b changes by (I − E_φ)F, and HF = 0, as no
joint feels Z.)

A joint's motion leaves Z as it is, h̃*Z + Zh̃ = 0 for every column h of H*, hence 𝔽Z + Z𝔽* = 0 with 𝔽* = −(H*β)~ (the
leaf F), and P° = d/dt(P − Z) stays. In 2M̂x = −x̃*MV − Ṽ*Mx − MṼx put M: with Qx = x̃*ZV + Ṽ*Zx + ZṼx, Ṽ*E_φ =
E_φ(Ṽ* + 𝔽) and ZE_φ*V = ZV, 2M̂ changes by Q − E_φQE_φ*. By h̃*Z = −Zh̃, QH* = 2ZṼH* and HQ = 0; and QV = 2Ṽ*ZV.

These are put for the letters of the formula, and what has changed is brought to its canonical form: where that is zero
for all Z, F, F′ and Q, nothing has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import spaces
from .expression import Expression, Product, Sum, Zero, product, total
from .kinds import BlockDiagonal, Column, Leaf, leaves_of
from .leaves import Leaves
from .theory import Law, Premise, Theory, found_premises

CHANGED = frozenset(["M", "P", "P_plus", "R", "gyroscopic", "f", "M_hat"])  # letters that the normal form changes


def stays_when_regrouped(op: Expression) -> bool:
    """Whether an expression of bodies (of no nodes) and their own inertias is proved to stay."""
    parts = {leaf.owner.place: _Unfelt(leaf.owner) for leaf in leaves_of(op)}
    changed = _rebuilt(op, lambda leaf: parts[leaf.owner.place].changed(leaf)) - op
    if isinstance(changed, Zero):
        return True
    premises = found_premises([changed]) + [p for part in parts.values() for p in part.premises()]
    return not Theory([changed], premises).normal(changed)


def _rebuilt(op: Expression, change: Callable[[Leaf], Expression]) -> Expression:
    if isinstance(op, Product):
        return product([_rebuilt(f, change) for f in op.factors])
    if isinstance(op, Sum):
        return total([(c, _rebuilt(t, change)) for c, t in op.terms])
    return change(op) if isinstance(op, Leaf) else op


class _Unfelt:
    """Z, F, F′ and Q of one robot, as letters without numbers."""

    def __init__(self, owner: Leaves) -> None:
        self.owner = owner
        self.Z = BlockDiagonal(owner, "Z", owner.bodies, owner.bodies, spaces.MEMORYLESS, _no_numbers)
        self.Z.symmetric = True
        self.F, self.F_prime = (
            Column(owner, name, owner.bodies, spaces.NUMBER, spaces.STRICTLY_ANTICAUSAL, _no_numbers)
            for name in ("F_Z", "F_Z′")
        )
        self.Q = BlockDiagonal(owner, "Q_Z", owner.bodies, owner.bodies, spaces.MEMORYLESS, _no_numbers)
        for leaf in (self.Z, self.F, self.F_prime, self.Q):
            leaf.token = ("regrouped", owner.place)

    def changed(self, leaf: Leaf) -> Expression:
        """What a leaf becomes."""
        if leaf.name not in CHANGED or leaf.token is not None:
            return leaf
        upright = leaf.upright()
        out = upright + self._change(upright.name)
        return out.T if leaf.flipped else out

    def _change(self, name: str) -> Expression:
        o, Z = self.owner.root, self.Z
        handed_on = Z - o.E_phi @ Z @ o.E_phi.T
        if name == "M":
            return -handed_on
        if name == "f":
            return -self.F_prime
        if name == "M_hat":
            return 0.5 * (self.Q - o.E_phi @ self.Q @ o.E_phi.T)
        if name == "gyroscopic":
            return handed_on @ o.phi.T @ (o.coriolis + o.g) - (o.I - o.E_phi) @ self.F
        return -Z

    def premises(self) -> list[Premise]:
        """HZ = 0, HF = 0, HF′ = 0; E_φZg = 0, as g is at the bodies on the world, which hang on no other; V and α.

        Of rates, what is said above; where a map turns in its body, Ḣ is not ṼH*, and Z is zero.
        """
        o = self.owner.root
        Z, Q = self.Z, self.Q
        known = [o.H @ Z, o.H @ self.F, o.H @ self.F_prime, o.E_phi @ Z @ o.g]
        if o.moving[0]:
            known += [o.F @ Z + Z @ o.F.T, Z @ (o.H_dot - o.V_tilde @ o.H.T)]
            known += [o.H @ Q, Q @ o.H.T - 2.0 * Z @ o.V_tilde @ o.H.T, Q @ o.V - 2.0 * o.V_tilde.T @ Z @ o.V]
        known += [o.V - o.phi.T @ o.H.T @ o.theta_dot] if o.moving[0] else []
        known += [o.alpha - o.phi.T @ (o.H.T @ o.theta_ddot + o.coriolis + o.g)] if all(o.moving) else []
        return [Premise(Law(f"regrouped {i}, {o.place}"), x, Zero(x.rows, x.cols)) for i, x in enumerate(known)]


def _no_numbers() -> Any:
    raise AssertionError("what stands for any Z has no numbers")
