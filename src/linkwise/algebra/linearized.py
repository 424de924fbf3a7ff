"""The linearised models as the operator formulas of the Linearized dynamics paper's lemmas.

In the form that holds for joints of several degrees of freedom (math notes III.4), with Λ = Ḣ* + Ψ̇; for one-dof
joints Ψ̇ = Ḣ* and Ψ̈ = Ḧ*, and every formula reads as printed. Reflected rotor inertia only adds to 𝓜 and D. Of robots
with coupled joints they are those of nodes (:mod:`.nodes`), with Hφ𝓕 + 𝒦 in place of Hφ̃𝓕 (math notes on closed chains
1.4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import arrays
from ..arrays import Array
from ..dynamics import springs
from ..dynamics.links import evaluate
from ..errors import NotAdmittedError
from ..model.flexible.structure import grouped
from .expression import Expression
from .identities import _L, _U, inverse_mass, white
from .leaves import Leaves as O

if TYPE_CHECKING:
    from ..model.model import Model


def _Lambda(o: O) -> Expression:
    return o.H_dot + o.Psi_dot


def _turned(o: O) -> Expression:
    """Hφ̃𝓕: the link forces turned by the joints inboard of them; of nodes also within, and what couplings add."""
    if o.nodes is None:
        return o.H @ o.phi_tilde @ o.F_script
    return o.H @ o.phi @ o.F_script + o.stiffness


def _turned_force(o: O) -> Expression:
    """E_φ𝓕, or all 𝓕 of nodes, to which :func:`_own` belongs."""
    return o.E_phi @ o.F_script if o.nodes is None else o.F_script


def _own(o: O, out: Expression) -> Expression:
    """A form of B_C with 𝓜⁻¹𝒦, what couplings add."""
    return out if o.nodes is None else out + inverse_mass(o) @ o.stiffness


def A_D(o: O) -> Expression:
    """A_D = Hφ[2M̂φ*H* + Mφ*Λ] (LD Lemma 3.1)."""
    return o.H @ o.phi @ (2.0 * o.M_hat @ o.phi.T @ o.H.T + o.M @ o.phi.T @ _Lambda(o))


def B_D(o: O) -> Expression:
    """B_D = Hφ[2M̂φ*Ψ̇ + Mφ*Ψ̈] + Hφ̃𝓕 (LD Lemma 3.1)."""
    inner = 2.0 * o.M_hat @ o.phi.T @ o.Psi_dot + o.M @ o.phi.T @ o.Psi_ddot
    return o.H @ o.phi @ inner + _turned(o)


def mass_composite(o: O) -> Expression:
    """𝓜 = H[φR + Rφ̃*]H*, plus what rotors add (LD Lemma 3.2)."""
    out = o.H @ (o.phi @ o.R + o.R @ o.phi_tilde.T) @ o.H.T
    return out + o.rotor_inertia if o.has_rotors else out


def A_D_composite(o: O) -> Expression:
    """A_D = Hφ[RΛ + 2R̂H*] + H[Rφ̃*Λ + 2R̂φ̃*H*] (LD Lemma 3.2)."""
    outer = o.R @ o.phi_tilde.T @ _Lambda(o) + 2.0 * o.R_hat @ o.phi_tilde.T @ o.H.T
    return o.H @ o.phi @ (o.R @ _Lambda(o) + 2.0 * o.R_hat @ o.H.T) + o.H @ outer


def B_D_composite(o: O) -> Expression:
    """B_D = Hφ[2R̂Ψ̇ + RΨ̈] + H[2R̂φ̃*Ψ̇ + Rφ̃*Ψ̈] + Hφ̃𝓕 (LD Lemma 3.2)."""
    outer = 2.0 * o.R_hat @ o.phi_tilde.T @ o.Psi_dot + o.R @ o.phi_tilde.T @ o.Psi_ddot
    inner = 2.0 * o.R_hat @ o.Psi_dot + o.R @ o.Psi_ddot
    return o.H @ o.phi @ inner + o.H @ outer + _turned(o)


def _white_force(o: O) -> Expression:
    """(I − HψK)*D⁻¹Hψ = 𝓜⁻¹Hφ (LD Lemma 4.5)."""
    return white(o).T @ o.D_inverse @ o.H @ o.psi


def A_C(o: O) -> Expression:
    """A_C = W*D⁻¹Hψ[2M̂φ*H* + PΛ] + K*ψ*Λ (LD Lemma 4.6)."""
    return _white_force(o) @ (2.0 * o.M_hat @ o.phi.T @ o.H.T + o.P @ _Lambda(o)) + o.K.T @ o.psi.T @ _Lambda(o)


def B_C(o: O) -> Expression:
    """B_C = W*D⁻¹Hψ[E_φ𝓕 + 2M̂φ*Ψ̇ + PΨ̈] + K*ψ*Ψ̈ (LD Lemma 4.6)."""
    inner = _turned_force(o) + 2.0 * o.M_hat @ o.phi.T @ o.Psi_dot + o.P @ o.Psi_ddot
    return _own(o, _white_force(o) @ inner + o.K.T @ o.psi.T @ o.Psi_ddot)


def _Y_A(o: O) -> Expression:
    return 2.0 * o.P_hat @ o.H.T + o.P @ _Lambda(o)


def _Y_B(o: O) -> Expression:
    return 2.0 * o.P_hat @ o.Psi_dot + o.P @ o.Psi_ddot


def A_C_hat(o: O) -> Expression:
    """A_C = W*[D⁻¹HψY_A + 2K̂*φ*H*] + K*ψ*Λ (LD Lemma 4.7)."""
    inner = o.D_inverse @ o.H @ o.psi @ _Y_A(o) + 2.0 * o.K_hat.T @ o.phi.T @ o.H.T
    return white(o).T @ inner + o.K.T @ o.psi.T @ _Lambda(o)


def B_C_hat(o: O) -> Expression:
    """B_C = W*[D⁻¹Hψ(Y_B + E_φ𝓕) + 2K̂*φ*Ψ̇] + K*ψ*Ψ̈ (LD Lemma 4.7)."""
    force = _Y_B(o) + _turned_force(o)
    inner = o.D_inverse @ o.H @ o.psi @ force + 2.0 * o.K_hat.T @ o.phi.T @ o.Psi_dot
    return _own(o, white(o).T @ inner + o.K.T @ o.psi.T @ o.Psi_ddot)


def mass_inverse_split(o: O) -> Expression:
    """𝓜⁻¹ = L − K*ψ*U* − UψK (LD Lemma 4.9)."""
    return _L(o) - o.K.T @ o.psi.T @ _U(o).T - _U(o) @ o.psi @ o.K


def A_C_split(o: O) -> Expression:
    """A_C = UψY_A + K*ψ*E_A + Q*φ*H*, E_A = Λ − ΥY_A + 2ĴH* (LD Lemma 4.9)."""
    E_A = _Lambda(o) - o.Upsilon @ _Y_A(o) + 2.0 * o.J_hat @ o.H.T
    Q = 2.0 * (o.K_hat - o.J_hat.T @ o.K)
    return _U(o) @ o.psi @ _Y_A(o) + o.K.T @ o.psi.T @ E_A + Q.T @ o.phi.T @ o.H.T


def B_C_split(o: O) -> Expression:
    """B_C = Uψ(Y_B + E_φ𝓕) + K*ψ*(E_B − ΥE_φ𝓕) + Q*φ*Ψ̇, E_B = Ψ̈ − ΥY_B + 2ĴΨ̇ (LD Lemma 4.9)."""
    force = _Y_B(o) + o.E_phi @ o.F_script
    E_B = o.Psi_ddot - o.Upsilon @ force + 2.0 * o.J_hat @ o.Psi_dot
    Q = 2.0 * (o.K_hat - o.J_hat.T @ o.K)
    return _U(o) @ o.psi @ force + o.K.T @ o.psi.T @ E_B + Q.T @ o.phi.T @ o.Psi_dot


# (mass matrix or its inverse, by velocities, by configuration), each a formula.
INVERSE_LEMMAS: dict[str, tuple[Callable[[O], Expression], ...]] = {
    "lemma_3_1": (lambda o: o.mass, A_D, B_D),
    "lemma_3_2": (mass_composite, A_D_composite, B_D_composite),
}

FORWARD_LEMMAS: dict[str, tuple[Callable[[O], Expression], ...]] = {
    "lemma_4_1": (inverse_mass, lambda o: inverse_mass(o) @ A_D(o), lambda o: inverse_mass(o) @ B_D(o)),
    "lemma_4_6": (inverse_mass, A_C, B_C),
    "lemma_4_7": (inverse_mass, A_C_hat, B_C_hat),
    "lemma_4_9": (mass_inverse_split, A_C_split, B_C_split),
}


def matrices(model: Model, name: str, q: Array, v: Array, a: Array, external: Array | None) -> tuple[Array, ...]:
    """The three matrices of a lemma, its formulas applied to the columns of I."""
    _refuse(model, name, external)
    o = O(model, (), q, v, a)
    identity: Any = arrays.eye(model.nv, like=q)
    found = [formula(o).apply_columns(identity) for formula in (INVERSE_LEMMAS | FORWARD_LEMMAS)[name]]
    if not model.has_springs:
        return tuple(found)
    links = evaluate(model, q)
    softness = springs.slopes(model, links)
    if name in FORWARD_LEMMAS:
        return springs.softened(links, softness, *found)
    K, d = springs.joint_space_slopes(links, softness)
    return found[0], found[1] + d, found[2] + K


def _refuse(model: Model, name: str, external: Array | None) -> None:
    label = f"Lemma {name[6:].replace('_', '.')}"
    if external is not None:
        raise NotAdmittedError(f"{label} knows no external forces; use one of the algorithms")
    if model.couplings:
        _refuse_coupled(model, name, label)
    if name == "lemma_4_9" and not model.is_chain:
        raise NotAdmittedError(
            f"{label} holds on serial chains only, and robot {model.name!r} is a tree; use lemma_4_7"
        )
    for joint, c in zip(model.joints, model.constants()):
        if c.spin is not None:
            raise NotAdmittedError(f"{label} does not admit the spinning rotor of joint {joint.name!r}")
        if joint.kind.map_partials(joint.kind.neutral()) is not None:
            raise NotAdmittedError(
                f"{label} needs joint maps that are constant in their bodies; that of {joint.name!r}"
                f" ({joint.kind.kind}) is not. Use one of the algorithms"
            )


def _refuse_coupled(model: Model, name: str, label: str) -> None:
    if name == "lemma_4_9":
        raise NotAdmittedError(
            f"{label} needs the inverse of φ(p, k), which coupled bodies do not have as one node, and robot"
            f" {model.name!r} has {grouped(model)}; use method='lemma_4_7'"
        )
    for k, coupling in model.dependents.items():
        if coupling.ratios is None and model.constants()[k].spring is not None:
            raise NotAdmittedError(
                f"{label} admits springs and dampers where couplings are linear; that of joint {coupling.dependent!r},"
                f" which has one, is not, and robot {model.name!r} has coupled joints for which to use"
                " method='algorithm_4'"
            )
        if coupling.ratios is None and model.constants()[k].reflected is not None:
            raise NotAdmittedError(
                f"{label} admits rotors where couplings are linear; that of joint {coupling.dependent!r}, which has a"
                f" rotor, is not, and robot {model.name!r} has coupled joints for which to use method='algorithm_4'"
            )
