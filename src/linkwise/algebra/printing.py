"""Expressions as text and as LaTeX, in the papers' letters."""

from __future__ import annotations

from collections.abc import Callable

from .expression import Expression, Identity, Product, Sum, Zero
from .kinds import Leaf
from .leaves import Leaves

TEXT = {
    "H": "H",
    "phi": "φ",
    "phi_tilde": "φ̃",
    "E_phi": "E_φ",
    "M": "M",
    "B": "B",
    "P": "P",
    "P_plus": "P⁺",
    "D": "D",
    "D_inverse": "D⁻¹",
    "D_root": "D^½",
    "D_root_inverse": "D^-½",
    "G": "G",
    "K": "K",
    "tau": "τ",
    "tau_bar": "τ̄",
    "psi": "ψ",
    "psi_tilde": "ψ̃",
    "E_psi": "E_ψ",
    "R": "R",
    "Upsilon": "Υ",
    "Upsilon_plus": "Υ⁺",
    "S": "S",
    "L": "L",
    "Delta_phi": "Δφ",
    "Delta_psi": "Δψ",
    "rotor_inertia": "Γ",
    "rotor_coupling": "N",
    "V_tilde": "Ṽ",
    "F": "F",
    "P_ring": "P°",
    "D_ring": "D°",
    "G_ring": "G°",
    "tau_bar_ring": "τ̄°",
    "E_psi_ring": "E_ψ°",
    "D_root_ring": "(D^½)°",
    "Omega_tilde": "Ω̃",
    "Omega_tips": "Ω̃_t",
    "E": "E",
    "alpha_base": "α_0",
    "phi_I": "φ_I",
    "phi_I_inverse": "φ_I⁻¹",
    "E_I": "E_I",
    "Phi_I": "Φ_I",
    "Pi_dot": "Π̇",
    "H_dot": "Ḣ",
    "H_ddot": "Ḧ",
    "H_ring": "H°",
    "Psi_dot": "Ψ̇",
    "Psi_ddot": "Ψ̈",
    "M_hat": "M̂",
    "F_script": "𝓕",
    "stiffness": "𝒦",
    "G_hat": "Ĝ",
    "K_hat": "K̂",
    "theta_dot": "θ̇",
    "theta_ddot": "θ̈",
    "T": "T",
    "V": "V",
    "alpha": "α",
    "coriolis": "a",
    "gyroscopic": "b",
    "classical_coriolis": "a_c",
    "classical_gyroscopic": "b_c",
    "g": "g",
    "f": "f",
}

LATEX = {
    "phi": r"\phi",
    "phi_tilde": r"\tilde\phi",
    "E_phi": r"\mathcal{E}_\phi",
    "P_plus": "P^{+}",
    "D_inverse": "D^{-1}",
    "D_root": "D^{1/2}",
    "D_root_inverse": "D^{-1/2}",
    "tau": r"\tau",
    "tau_bar": r"\bar\tau",
    "psi": r"\psi",
    "psi_tilde": r"\tilde\psi",
    "E_psi": r"\mathcal{E}_\psi",
    "Upsilon": r"\Upsilon",
    "Upsilon_plus": r"\Upsilon^{+}",
    "Delta_phi": r"\Delta_\phi",
    "Delta_psi": r"\Delta_\psi",
    "rotor_inertia": r"\Gamma",
    "rotor_coupling": "N",
    "S_φφ": r"S_{\phi\phi}",
    "S_ψφ": r"S_{\psi\phi}",
    "S_ψ*ψ": r"S_{\psi^*\psi}",
    "S_φ*φ⁻*": r"S_{\phi^*\phi^{-*}}",
    "S_ψ*φ⁻*": r"S_{\psi^*\phi^{-*}}",
    "V_tilde": r"\tilde{V}",
    "P_ring": r"\mathring{P}",
    "D_ring": r"\mathring{D}",
    "G_ring": r"\mathring{G}",
    "tau_bar_ring": r"\mathring{\bar\tau}",
    "E_psi_ring": r"\mathring{\mathcal{E}}_\psi",
    "D_root_ring": r"(D^{1/2})^{\circ}",
    "Omega_tilde": r"\tilde{\Omega}",
    "Omega_tips": r"\tilde{\Omega}_t",
    "alpha_base": r"\alpha_0",
    "phi_I": r"\phi_I",
    "phi_I_inverse": r"\phi_I^{-1}",
    "Phi_I": r"\Phi_I",
    "S_ψψ": r"S_{\psi\psi}",
    "S_φ*·φ": r"S_{\phi^*\cdot\phi}",
    "S_φ*·φ⁻*": r"S_{\phi^*\cdot\phi^{-*}}",
    "Pi_dot": r"\dot\Pi",
    "H_dot": r"\dot{H}",
    "H_ddot": r"\ddot{H}",
    "H_ring": r"\mathring{H}",
    "Psi_dot": r"\dot{\Psi}",
    "Psi_ddot": r"\ddot{\Psi}",
    "M_hat": r"\hat{M}",
    "F_script": r"\mathcal{F}",
    "stiffness": r"\mathcal{K}",
    "G_hat": r"\hat{G}",
    "K_hat": r"\hat{K}",
    "theta_dot": r"\dot\theta",
    "theta_ddot": r"\ddot\theta",
    "alpha": r"\alpha",
    "coriolis": "a",
    "gyroscopic": "b",
    "classical_coriolis": "a_c",
    "classical_gyroscopic": "b_c",
    "δθ": r"\delta\theta",
    "δθ̇": r"\delta\dot\theta",
    "δθ̈": r"\delta\ddot\theta",
    "R̂": r"\hat{R}",
    "P̂": r"\hat{P}",
    "Ĵ": r"\hat{J}",
}


def text(op: Expression) -> str:
    """The formula in Unicode, such as H φ M φ* H*."""
    return _render(op, _text_leaf)


def latex(op: Expression) -> str:
    """The formula in LaTeX, such as H \\phi M \\phi^* H^*."""
    return _render(op, _latex_leaf)


def symbol(leaf: Leaf) -> str:
    """The letter of a leaf, with the inertia it belongs to where that is not the robot's own M."""
    base = TEXT.get(leaf.name, leaf.name)
    direction = leaf.owner.direction
    return base + _family(leaf) + ("" if direction is None else f"[{text(direction)}]")


def family_label(owner: Leaves, as_latex: bool = False) -> str:
    """What is put behind the letters of a family: nothing for the robot's own, _X for that of another inertia."""
    if owner.is_default:
        return ""
    write = latex if as_latex else text
    noise = owner.joint_noise
    label = write(owner.M) + ("" if noise is None else f", {write(noise)}")
    return f"_{{{label}}}" if as_latex or len(label) > 1 else f"_{label}"


def _family(leaf: Leaf, as_latex: bool = False) -> str:
    if leaf.name not in TEXT or leaf.name in leaf.owner._RIGID:
        return ""
    return family_label(leaf.owner, as_latex)


STARRED = {"H_dot", "H_ddot", "H_ring"}  # leaves that are adjoints by nature: Ḣ* maps joints to bodies


def starred(leaf: Leaf) -> bool:
    """Whether the leaf is printed with a star."""
    return leaf.flipped != (leaf.name in STARRED)


def _text_leaf(leaf: Leaf) -> str:
    return symbol(leaf) + ("*" if starred(leaf) else "")


def _latex_leaf(leaf: Leaf) -> str:
    base = LATEX.get(leaf.name, leaf.name.replace("⁻¹", "^{-1}"))
    if leaf.inverse_of is not None:
        base = f"({latex(leaf.inverse_of)})^{{-1}}"
    label = _family(leaf, as_latex=True)
    base = f"{{{base}}}{label}" if label else base
    direction = leaf.owner.direction
    base = base if direction is None else f"{base}[{latex(direction)}]"
    if not starred(leaf):
        return base
    return f"{{{base}}}^*" if "^" in base else f"{base}^*"


def _render(op: Expression, leaf: Callable[[Leaf], str]) -> str:
    if isinstance(op, Leaf):
        return leaf(op)
    if isinstance(op, Identity):
        return "I"
    if isinstance(op, Zero):
        return "0"
    if isinstance(op, Product):
        return " ".join(_wrapped(f, leaf) for f in op.factors)
    if isinstance(op, Sum):
        out = ""
        for c, t in op.terms:
            inner = _render(t, leaf)
            size = "" if abs(c) == 1 else f"{abs(c):g} "
            sign = "-" if c < 0 else "+"
            out += (f" {sign} " if out else ("-" if c < 0 else "")) + size + inner
        return out
    return type(op).__name__


def _wrapped(op: Expression, leaf: Callable[[Leaf], str]) -> str:
    """A factor of a product, in parentheses where it is a sum; an adjoint filter keeps its star outside."""
    inner = _render(op, leaf)
    if not isinstance(op, Sum):
        return inner
    starred = _render(op.T, leaf)
    upright = [t for _, t in op.T.terms] if isinstance(op.T, Sum) else []
    first_leaves = [t.factors[0] for t in upright if isinstance(t, Product)]
    # (I − K*ψ*H*) is printed (I − H ψ K)*, as the papers do.
    unstarred = first_leaves and all(isinstance(f, Leaf) and not f.flipped for f in first_leaves)
    if unstarred and all(f.flipped for _, t in op.terms if isinstance(t, Product) for f in _leaves(t)):
        return f"({starred})*" if leaf is _text_leaf else f"({starred})^*"
    return f"({inner})"


def _leaves(op: Product) -> list[Leaf]:
    return [f for f in op.factors if isinstance(f, Leaf)]
