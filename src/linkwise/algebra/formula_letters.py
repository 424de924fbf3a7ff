r"""The letters of formulas: every spelling of an operator, in Unicode and in LaTeX, and those that are not read.

``phi``, ``φ`` and ``\phi`` are one letter; ``\dot\theta`` and ``\dot{\theta}`` are one spelling. Letters that papers
print and linkwise has no operator for are known as well (:data:`UNREAD`), with what to write instead.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from .operators import OPERATOR_NAMES
from .printing import LATEX, TEXT
from .recursions import KINDS

_LETTERS = {
    **{"Φ": "Phi", "Ψ": "Psi", "Ω": "Omega", "ℓ": "ell", "𝓜": "mass", "R̂": "R_hat", "P̂": "P_hat", "Ĵ": "J_hat"},
    **{"Δ_φ": "Delta_phi", "Δ_ψ": "Delta_psi", "𝓔_φ": "E_phi", "𝓔_ψ": "E_psi", "P^+": "P_plus", "Υ^+": "Upsilon_plus"},
    **{"D^{½}": "D_root", "D^{-½}": "D_root_inverse", "D^(1/2)": "D_root", "D^(-1/2)": "D_root_inverse"},
    **{"D^{1/2}": "D_root", "D^{-1/2}": "D_root_inverse"},
    **{"Ė_φ": "E_phi_dot", "φ̇": "phi_dot", "Ṁ": "M_dot", "Ṗ": "P_dot", "Ḋ": "D_dot", "Ġ": "G_dot"},
    **{"τ̄̇": "tau_bar_dot", "Ė_ψ": "E_psi_dot", "ψ̇": "psi_dot", "K̇": "K_dot", "𝓜̇": "mass_dot"},
    **{"ṁ": "m_dot", "ℓ̇": "ell_dot"},
    **{"Φ̃": "Phi_tilde", "β̇": "beta_dot", "β": "beta", "V⁺": "V_plus", "α⁺": "alpha_plus", "Ω̃_δ": "Omega_delta"},
    **{"δθ": "δθ", "δθ̇": "δθ̇", "δθ̈": "δθ̈"},
}
_OF_LATEX = {
    **{r"\Phi": "Phi", r"\Psi": "Psi", r"\Omega": "Omega", r"\ell": "ell", r"\mathcal{M}": "mass"},
    **{r"\hat{R}": "R_hat", r"\hat{P}": "P_hat", r"\hat{J}": "J_hat"},
    **{r"\dot{\mathcal{E}}_\phi": "E_phi_dot", r"\dot\phi": "phi_dot", r"\dot{M}": "M_dot", r"\dot{P}": "P_dot"},
    **{r"\dot{D}": "D_dot", r"\dot{G}": "G_dot", r"\dot{\bar\tau}": "tau_bar_dot"},
    **{r"\dot{\mathcal{E}}_\psi": "E_psi_dot", r"\dot\psi": "psi_dot", r"\dot{K}": "K_dot"},
    **{r"\dot{\mathcal{M}}": "mass_dot", r"\dot{m}": "m_dot", r"\dot\ell": "ell_dot"},
    **{r"\tilde\Phi": "Phi_tilde", r"\dot\beta": "beta_dot", r"\beta": "beta"},
    **{r"V^{+}": "V_plus", r"\alpha^{+}": "alpha_plus", r"\tilde{\Omega}_\delta": "Omega_delta"},
    **{r"\delta\theta": "δθ", r"\delta\dot\theta": "δθ̇", r"\delta\ddot\theta": "δθ̈"},
    **{r"\mathcal{C}": "𝓒", r"\tilde{H}": "H̃", r"\delta": "δ", "T′": "T'"},
    **{tex: name for name, tex in LATEX.items() if name.startswith("S_")},
}
ALIASES = {"N": "rotor_coupling", "a": "coriolis", "b": "gyroscopic"}
ALIASES |= {"a_c": "classical_coriolis", "b_c": "classical_gyroscopic"}

_OWN = "write it out, or give it as a name of your own"
_FORCES = f"T less H φ (M φ* (a + g) + b), what the motion itself takes: {_OWN}"
_CORIOLIS = f"H φ (M φ* a + b), or with a + g where gravity is counted; DD's 𝓒(θ,ν) is robot.diagonal_coriolis: {_OWN}"
_DRIVEN = "op.recursion(X, kind), given as a name of your own"
# What papers print, or linkwise, and no letter tells; with what it is.
UNREAD = {
    "𝓒": f"the Coriolis forces, {_CORIOLIS}, formula(op, C=…)",
    "C": f"the Coriolis forces, {_CORIOLIS}, formula(op, C=…)",
    "T'": f"the joint forces without the Coriolis forces, {_FORCES}",
    "H̃": "LD's diag S*[H*(k)], for which there is no operator; H̃ V is Ḣ*, and H̃* f is 𝓕",
    "Q": "LD's Q[X], for which there is no operator; Q[MV] is Ṁ - 2 M̂ with paper='LD'",
    "δ": "a variation, and δ(…) does not say along what: use .variation(dtheta, …) of the formula inside",
    **{f"S_{kind}": f"what a recursion makes of an X, which the letter does not tell: {_DRIVEN}" for kind in KINDS},
}


def operator_names() -> list[str]:
    """Every name a formula may use, ``I`` apart."""
    return sorted(set(OPERATOR_NAMES) - {"I"})


def composed(text: str) -> str:
    """Text in the form that letters are compared in."""
    return unicodedata.normalize("NFC", text)


@cache
def letters() -> dict[str, str]:
    """Spellings that are no plain words, each with its operator's name, longest first."""
    latex = {tex: name for name, tex in LATEX.items() if name in OPERATOR_NAMES} | _OF_LATEX
    spelled = {s: name for name, s in TEXT.items()} | _LETTERS | {name: name for name in UNREAD}
    spelled |= {form: name for tex, name in latex.items() for form in _forms(tex)}
    odd = {composed(s): composed(name) for s, name in spelled.items() if not re.fullmatch(r"\w+", s, re.ASCII)}
    return dict(sorted(odd.items(), key=lambda item: -len(item[0])))


_ACCENT = r"\\(?:d?dot|hat|tilde|bar|mathring)"
_SAME = (
    (re.compile(rf"({_ACCENT})(\\[A-Za-z]+)(?![{{A-Za-z])"), r"\1{\2}"),
    (re.compile(rf"({_ACCENT})\{{(\\[A-Za-z]+)\}}"), r"\1\2"),
    (re.compile(rf"({_ACCENT})\{{([A-Za-z])\}}"), r"\1 \2"),
    (re.compile(r"_(\\[A-Za-z]+|[A-Za-z0-9])"), r"_{\1}"),
    (re.compile(r"\^\{\+\}"), "^+"),
    (re.compile(r"\\mathcal\{([A-Z])\}"), r"\\mathcal \1"),
)


def _forms(tex: str) -> set[str]:
    r"""LaTeX that is set alike: \dot\theta and \dot{\theta}, E_\phi and E_{\phi}, \hat{M} and \hat M."""
    found, new = {tex}, {tex}
    while new:
        new = {form for s in new for form in _changed(s)} - found
        found |= new
    return found


def _changed(tex: str) -> Iterator[str]:
    for pattern, other in _SAME:
        for match in pattern.finditer(tex):
            yield tex[: match.start()] + match.expand(other) + tex[match.end() :]


_RAISED = ("⁺", "^+", "^{+}", "^½", "^-½", "^{½}", "^{-½}", "^{1/2}", "^{-1/2}", "^(1/2)", "^(-1/2)", "°°", "°")


@cache
def raised_letters() -> tuple[tuple[str, str, str], ...]:
    """(letter, what is above it, operator) of those between which the number of a robot may stand: P₁⁺, D₁^½."""
    found = [(s, above) for s in letters() for above in _RAISED if s.endswith(above) and len(s) > len(above)]
    return tuple((s.removesuffix(above), above, letters()[s]) for s, above in found)
