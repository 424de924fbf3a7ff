"""Armstrong's recursion (1979) for ball joints, in his own variables, and its extension to other joints.

He writes, for a link outboard of a ball joint, ω̇ = Ω_ω v̇ + β_ω and F = Ω_F v̇ + β_F (Unified formulation
paper (47)–(49), corrected in math notes 9). Both are the relation f = P⁺α⁺ + z⁺ across the joint, with

    Γ = P₁₁⁻¹,  𝓛 = −P₁₂,  Ω_ω = Γ𝓛,  β_ω = Γ(N − z_N),  Ω_F = P₂₂ − 𝓛*Γ𝓛,  β_F = z_F − 𝓛*β_ω

and P⁺ = diag(0, Ω_F). For a joint of one degree of freedom the same elimination leaves a P⁺ of rank five,
which is his one-dof extension in its natural form. A free base eliminates all six accelerations.
"""

from __future__ import annotations

from typing import Any

from ... import arrays
from ...arrays import Array
from ...errors import NotAdmittedError
from ...model.model import Model
from ...spatial import RigidInertia, Transform, congruence
from ..articulated import matrix_of, pivot_inverse, riccati_step
from .articulated_body import Forward, bias_free_forces, prepare


def armstrong(model: Model, q: Array, v: Array, tau: Array, external: Array | None = None) -> Forward:
    """Forward dynamics by Armstrong's recursion; joints must be spherical, one-dof, fixed or free."""
    for joint in model.joints:
        if joint.kind.nv not in (0, 1, 6) and joint.kind.kind != "spherical":
            raise NotAdmittedError(
                f"Armstrong's recursion takes spherical, one-dof, fixed and free joints; joint {joint.name!r} is"
                f" {joint.kind.kind}. Use method='articulated_body'"
            )
    x = prepare(model, q, v, tau, external)
    links = x.links
    spherical = [_is_ball(model, k) for k in links.first_bodies]

    def step(
        gathered: Any, phi: Transform, H: Array, M: RigidInertia, Gamma: Any, s: Any, T: Array, name: str, *rest: Any
    ) -> Any:
        carried, ball = rest
        P, z = gathered[0] + matrix_of(M), gathered[1]
        if ball:
            kept = _ball_joint(P, z, T, name, carried)
            P_plus = _corner(kept["Omega_F"])
            z_plus = arrays.concatenate([T, kept["beta_F"]], axis=-2)
        else:
            _, _, D_inverse, G, P_plus = riccati_step(P, H, Gamma, s, name, carried)
            epsilon = T if isinstance(z, int) else T - H @ z
            kept = {"nu": D_inverse @ epsilon, "G": G}
            z_plus = z + G @ epsilon
        return (congruence(phi, P_plus), phi @ z_plus), kept

    T = bias_free_forces(x)
    data = (links.phi, links.H, links.M, links.Gamma, links.s, T, links.names, links.carried, spherical)
    kept = links.tree.inward(step, (0, 0), *data)

    def back(outer: Any, phi: Transform, H: Array, kept: dict[str, Array]) -> Any:
        alpha_plus = phi.T @ outer[0]
        if "Omega_omega" in kept:  # ω̇ = Ω_ω v̇ + β_ω; the joint's own part is ω̇ less the carried one
            spin = kept["Omega_omega"] @ alpha_plus[..., 3:, :] + kept["beta_omega"]
            beta_dot = spin - alpha_plus[..., :3, :]
        else:
            beta_dot = kept["nu"] - kept["G"].mT @ alpha_plus
        return alpha_plus + H.mT @ beta_dot, beta_dot

    start = (arrays.zeros((6, 1), like=q), None)
    beta_dot = [b for _, b in links.tree.outward(back, start, links.phi, links.H, kept)]
    names = ("Gamma", "L", "Omega_omega", "beta_omega", "Omega_F", "beta_F")
    return Forward(links, beta_dot, {n: [k.get(n) for k in kept] for n in names})


def _is_ball(model: Model, k: int | None) -> bool:
    """Whether a node is one body on a spherical joint without a rotor."""
    return k is not None and model.joints[k].kind.kind == "spherical" and model.joints[k].rotor is None


def _ball_joint(P: Array, z: Any, N: Array, name: str, carried: Any) -> dict[str, Array]:
    z_N, z_F = (0, 0) if isinstance(z, int) else (z[..., :3, :], z[..., 3:, :])
    Gamma = pivot_inverse(P[..., :3, :3], name, carried)
    L = -P[..., :3, 3:]
    Omega_omega = Gamma @ L
    beta_omega = Gamma @ (N - z_N)
    Omega_F = arrays.symmetric(P[..., 3:, 3:] - L.mT @ Omega_omega)
    return {
        "Gamma": Gamma,
        "L": L,
        "Omega_omega": Omega_omega,
        "beta_omega": beta_omega,
        "Omega_F": Omega_F,
        "beta_F": z_F - L.mT @ beta_omega,
    }


def _corner(Omega_F: Array) -> Array:
    zero = Omega_F * 0.0
    return arrays.block([[zero, zero], [zero, Omega_F]])
