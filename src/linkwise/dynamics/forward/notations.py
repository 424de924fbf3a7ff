"""The same articulated-body algorithm under the names of those who found it.

The Unified formulation paper shows that these O(N) algorithms are one algorithm, and gives a table that
translates their notations (its Table 1; docs/notations.md has it in full). Each entry here runs the full
articulated-body algorithm and returns its quantities under the author's own names, one per body, in link
frames. The references number bodies from the base, as linkwise does.
"""

from __future__ import annotations

from collections.abc import Callable

from ...arrays import Array
from ...model.model import Model
from .articulated_body import Forward, articulated_body

Quantities = dict[str, list[Array]]


def _joint_maps(run: Forward) -> list[Array]:
    return [H.mT for H in run.links.H]


def _velocity_transforms(run: Forward) -> list[Array]:
    return [phi.matrix.mT for phi in run.links.phi]


def _link_forces(run: Forward) -> list[Array]:
    """f = P⁺α⁺ + z⁺ (math notes 8.1)."""
    x = run.quantities
    return [P @ a + z for P, a, z in zip(x["P_plus"], x["alpha_plus"], x["z_plus"])]


def _vereshchagin(run: Forward) -> Quantities:
    """Gauss' principle and dynamic programming (1974)."""
    x = run.quantities
    names = {"B": _joint_maps(run), "A": _velocity_transforms(run), "x_ddot": x["alpha"], "P": x["P"], "R": x["z"]}
    return {**names, "BPB": x["D"], "q_ddot": run.beta_dot}


def _featherstone(run: Forward) -> Quantities:
    """The articulated-body inertia (1983)."""
    x = run.quantities
    names = {"s": _joint_maps(run), "X": _velocity_transforms(run), "a": x["alpha"], "f": _link_forces(run)}
    return {**names, "I_A": x["P"], "p": x["z"], "sIs": x["D"], "q_ddot": run.beta_dot}


def _brandl_johanni_otter(run: Forward) -> Quantities:
    """Elimination in the Newton–Euler equations, for general joints (1986)."""
    x = run.quantities
    names = {"Phi": _joint_maps(run), "C": _velocity_transforms(run), "a": x["alpha"], "f": _link_forces(run)}
    return {**names, "I_star": x["P"], "M": x["D"], "beta": [-z for z in x["z"]], "q_ddot": run.beta_dot}


def _bae_haug(run: Forward) -> Quantities:
    """The variational form (1987): generalised link forces Q = φ⁻¹f, and Pα' = Q + L (UF (50)–(52)).

    α' = α − a is the acceleration without the joint's own velocity term, for which f = Pα' + z.
    """
    x, links = run.quantities, run.links
    f = _link_forces(run)
    from_children = links.tree.from_children([phi @ force for phi, force in zip(links.phi, f)])
    L = [inner - z for inner, z in zip(from_children, x["z"])]
    Q = [force - inner for force, inner in zip(f, from_children)]
    K = [P - M.matrix for P, M in zip(x["P"], links.M)]
    names = {"B2": _joint_maps(run), "B1": _velocity_transforms(run), "Y_dot": x["alpha"], "Q": Q, "L": L}
    return {**names, "M": [M.matrix for M in links.M], "K": K, "BMB": x["D"], "q_ddot": run.beta_dot}


def _rosenthal(run: Forward) -> Quantities:
    """Kane's equations, order n (1990)."""
    x = run.quantities
    names = {"partial_velocities": _joint_maps(run), "a": x["alpha"], "M": x["P"], "m_kk": x["D"], "X": x["z"]}
    return {**names, "u_dot": run.beta_dot}


_NOTATIONS: dict[str, Callable[[Forward], Quantities]] = {
    "vereshchagin": _vereshchagin,
    "featherstone": _featherstone,
    "brandl_johanni_otter": _brandl_johanni_otter,
    "bae_haug": _bae_haug,
    "rosenthal": _rosenthal,
}


def _entry(name: str) -> Callable[..., Forward]:
    translate = _NOTATIONS[name]

    def run(model: Model, q: Array, v: Array, tau: Array, external: Array | None = None) -> Forward:
        forward = articulated_body(model, q, v, tau, external)
        return Forward(forward.links, forward.beta_dot, translate(forward))

    run.__name__ = name
    run.__doc__ = translate.__doc__
    return run


NAMED = {name: _entry(name) for name in _NOTATIONS}
