"""Letters as each paper means them: classical accelerations, rates in inertial axes or about one inertial point.

OA, JPL and UF differentiate the velocities of points, α = V̇, so that their α, a and b are the classical ones. They and
DD have rates of components in common inertial axes, with Ω̃ = diag{[ω; 0] ×}, Ḣ = −HΩ̃ and Ṁ = Ω̃M − MΩ̃. LD refers
everything to one inertial point, where Ω̃ = S[V], Ḣ* = −Ω̃*H* and Ṁ = Ω̃M + MΩ̃*; its formulas keep their form in link
frames, with φ for Φ. A letter that a paper uses for something else, which linkwise has no operator for, is refused
under that paper's name.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import NotAdmittedError
from .derivative import inertial, time_derivative
from .expression import Expression
from .identities import _L, _U
from .leaves import Leaves

Meaning = str | Callable[[Leaves], Expression]


def _map_rate(o: Leaves) -> Expression:
    """Ḣ* = (H° − HΩ̃)* in common inertial axes (DD Table 4 row 3), from joints to bodies as ``op.H_dot``."""
    return inertial(o.H, time_derivative(o.H)).T


def _cross_force(o: Leaves) -> Expression:
    """LD's Ω̃ = S[V] (LD (2.6))."""
    return -1.0 * o.V_tilde.T


def _inertia_rate(o: Leaves) -> Expression:
    """LD's Ṁ = Ω̃M + MΩ̃* (LD (2.6))."""
    return _cross_force(o) @ o.M - o.M @ o.V_tilde


def _one_turn(o: Leaves) -> Expression:
    """DD's Ω̃_δ of hinges, F = −F* (docs/errata.md): of other joints what stands left of P is not what stands right."""
    if o.nodes is not None or any(j.kind.kind != "revolute" for j in o.model.joints):
        raise NotAdmittedError(
            f"Ω̃_δ is right for hinges alone, and robot {o.model.name!r} has other joints, or bodies that move as one"
            " node: write F = S[H*θ̇] where it stands on the left of P, and -F* where it stands on the right"
        )
    return o.F


# Letters that are no operator's name, and are read as what they stand for.
COMMON: dict[str, Meaning] = {
    "V_plus": lambda o: o.E_phi.T @ o.V,
    "alpha_plus": lambda o: o.E_phi.T @ o.alpha + o.g,
    "Omega_delta": _one_turn,
}
_CLASSICAL: dict[str, Meaning] = {
    "alpha_plus": lambda o: o.E_phi.T @ o.classical_alpha + o.g,
    "a": "classical_coriolis",
    "b": "classical_gyroscopic",
    "coriolis": "classical_coriolis",
    "gyroscopic": "classical_gyroscopic",
    "alpha": "classical_alpha",
    "H_dot": _map_rate,
}
_RATES: dict[str, Meaning] = {"beta": "theta_dot", "beta_dot": "theta_ddot"}

DIALECTS: dict[str, dict[str, Meaning]] = {
    "OA": _CLASSICAL,
    "JPL": _CLASSICAL,
    "UF": {**_CLASSICAL, **_RATES},
    "LD": {
        **{"Phi": "phi", "Phi_tilde": "phi_tilde", "E": "E_phi"},
        **{"Omega_tilde": _cross_force, "M_dot": _inertia_rate, "L": _L, "U": _U},
    },
    "DD": {**_RATES, "H_dot": _map_rate},
}

_SECOND = "Ḧ is the Linearized dynamics paper's: paper='LD'"
_TURNED = "Ω is the angular velocity there; Υ is the compliance that op.Omega has too, and Ω̃ is read"
_SHIFT = "S is JPL 88-11's shift, which this paper has not; S[X] with a vector X of bodies is read"
_FIXED = (
    "the Linearized dynamics paper has all at one inertial point, where Φ and E are constant and P, G, ψ, K, τ̄ change"
    " otherwise than in common inertial axes; paper='DD' has those"
)

# What is not read under a paper's name, and why.
REFUSED: dict[str, dict[str, str]] = {
    "OA": {"H_ddot": _SECOND},
    "JPL": {"H_ddot": _SECOND},
    "UF": {"H_ddot": _SECOND},
    "LD": {
        **dict.fromkeys(("phi_dot", "E_phi_dot", "P_dot", "G_dot", "tau_bar_dot", "E_psi_dot", "psi_dot"), _FIXED),
        **{"K_dot": _FIXED, "Omega": _TURNED, "S": _SHIFT},
    },
    "DD": {"H_ddot": _SECOND, "Omega": _TURNED, "S": _SHIFT},
}
