"""Expressions as text and as LaTeX, in the papers' letters."""

from __future__ import annotations

from collections.abc import Iterator

from .expression import Expression, Identity, Inclusion, Product, Sum, Zero, total
from .kinds import Leaf, leaves_of
from .leaves import Leaves
from .rate import Rate
from .stacking import Entries, blocks_of

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
    "H_ring_ring": "H°°",
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
    "classical_alpha": "α_c",
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
    "H_ring_ring": r"\mathring{\mathring{H}}",
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
    "classical_alpha": r"\alpha_c",
    "classical_coriolis": "a_c",
    "classical_gyroscopic": "b_c",
    "δθ": r"\delta\theta",
    "δθ̇": r"\delta\dot\theta",
    "δθ̈": r"\delta\ddot\theta",
    "R̂": r"\hat{R}",
    "P̂": r"\hat{P}",
    "Ĵ": r"\hat{J}",
}


def text(op: Expression, among: Expression | None = None) -> str:
    """The formula in Unicode, such as H φ M φ* H*; with states of several robots in it, H₁ φ₁ … and H₂ φ₂ …

    ``among`` is the formula that it is a part of.
    """
    return _Printer(op if among is None else among, as_latex=False).write(op)


def latex(op: Expression, among: Expression | None = None) -> str:
    """The formula in LaTeX, such as H \\phi M \\phi^* H^*."""
    return _Printer(op if among is None else among, as_latex=True).write(op)


def family_label(owner: Leaves, as_latex: bool = False) -> str:
    """What is put behind the letters of a family: nothing for the robot's own, _X for that of another inertia."""
    if owner.is_default:
        return ""
    write = latex if as_latex else text
    noise = owner.joint_noise
    label = write(owner.M) + ("" if noise is None else f", {write(noise)}")
    return f"_{{{label}}}" if as_latex or len(label) > 1 else f"_{label}"


STARRED = {"H_dot", "H_ddot", "H_ring", "H_ring_ring"}  # leaves that are adjoints by nature: Ḣ* maps joints to bodies


def starred(leaf: Leaf) -> bool:
    """Whether the leaf is printed with a star."""
    return leaf.flipped != (leaf.name in STARRED)


def written_number(c: float) -> str:
    """A number as short as it can be read back."""
    short = f"{c:g}"
    return short if not isinstance(c, float) or float(short) == c else repr(c)


def lowered(n: int) -> str:
    """A whole number as a subscript."""
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(d)] for d in str(n))


class _Printer:
    """Writes expressions; where they are of several states, with the number of the state at each letter."""

    def __init__(self, whole: Expression, as_latex: bool) -> None:
        self.as_latex, self.numbers = as_latex, numbered_places(whole)

    def write(self, op: Expression) -> str:
        if isinstance(op, Rate):
            sign = "δ" if not op.along.time else "d/dt" if not self.as_latex else r"\frac{d}{dt}"
            sign = r"\delta" if self.as_latex and sign == "δ" else sign
            return f"{sign}({self.write(op.inner)})"
        if isinstance(op, Leaf):
            return self._leaf(op)
        if isinstance(op, Identity):
            return "I"
        if isinstance(op, Zero):
            return "0"
        if isinstance(op, Inclusion):
            letter = rf"\iota_{{{op.index + 1}}}" if self.as_latex else f"ι{lowered(op.index + 1)}"
            return letter + (self._star if op.flipped else "")
        table = blocks_of(op)
        if table is not None:
            return self._table(op, table)
        if isinstance(op, Product):
            return " ".join(self._factor(f) for f in op.factors)
        if isinstance(op, Sum):
            return self._sum(op)
        return type(op).__name__

    @property
    def _star(self) -> str:
        return "^*" if self.as_latex else "*"

    def _sum(self, op: Sum) -> str:
        out = ""
        for c, t in op.terms:
            inner = self.write(t)
            size = "" if abs(c) == 1 else f"{written_number(abs(c))} "
            sign = "-" if c < 0 else "+"
            out += (f" {sign} " if out else ("-" if c < 0 else "")) + size + inner
        return out

    def _table(self, op: Expression, blocks: Entries) -> str:
        """[A, B; C, D], as :func:`.stacking.stack` takes it."""
        rows = range(len(op.rows.parts)) if op.rows.kind == "stack" else [None]
        columns = range(len(op.cols.parts)) if op.cols.kind == "stack" else [None]
        cells = [[self.write(total(blocks[i, j])) if (i, j) in blocks else "0" for j in columns] for i in rows]
        if self.as_latex:
            inside = r" \\ ".join(" & ".join(row) for row in cells)
            return rf"\begin{{bmatrix}} {inside} \end{{bmatrix}}"
        return f"[{'; '.join(', '.join(row) for row in cells)}]"

    def _factor(self, op: Expression) -> str:
        """A factor of a product, in parentheses where it is a sum; an adjoint filter keeps its star outside."""
        inner = self.write(op)
        if not isinstance(op, Sum) or blocks_of(op) is not None:
            return inner
        turned = op.T
        upright = [t for _, t in turned.terms] if isinstance(turned, Sum) else []
        first_leaves = [t.factors[0] for t in upright if isinstance(t, Product)]
        # (I − K*ψ*H*) is printed (I − H ψ K)*, as the papers do.
        unstarred = first_leaves and all(isinstance(f, Leaf) and not f.flipped for f in first_leaves)
        if unstarred and all(f.flipped for _, t in op.terms if isinstance(t, Product) for f in _leaves(t)):
            return f"({self.write(turned)}){self._star}"
        return f"({inner})"

    def _leaf(self, leaf: Leaf) -> str:
        known = LATEX.get(leaf.name, leaf.name.replace("⁻¹", "^{-1}")) if self.as_latex else TEXT.get(leaf.name)
        base = leaf.name if known is None else known
        if leaf.inverse_of is not None:
            base = self._inverse(leaf.inverse_of)
        own_family = leaf.name in TEXT and leaf.name not in leaf.owner._RIGID
        label = family_label(leaf.owner, self.as_latex) if own_family else ""
        number = None if leaf.inverse_of is not None else self.numbers.get(leaf.owner.place)
        if self.as_latex:
            label = f"_{{{number}}}" if number and not label else label
            simple = number and not any(x in base for x in "^_")
            base = base + label if simple or not label else f"{{{base}}}{label}"
        else:
            base += label + (lowered(number) if number else "")
        if leaf.owner.direction is not None:
            base += f"[{self.write(leaf.owner.direction)}]"
        if not starred(leaf):
            return base
        return f"{{{base}}}^*" if self.as_latex and "^" in base else base + self._star

    def _inverse(self, op: Expression) -> str:
        inner = self.write(op)
        if self.as_latex:
            return f"({inner})^{{-1}}"
        return f"({inner})⁻¹" if isinstance(op, (Product, Sum)) and blocks_of(op) is None else f"{inner}⁻¹"


def numbered_places(op: Expression) -> dict[int, int]:
    """The numbers of the states that an expression is of, by place; none where it is of one alone."""
    places = sorted(set(_places(op)))
    return {p: i for i, p in enumerate(places, 1)} if len(places) > 1 else {}


def _places(op: Expression) -> Iterator[int]:
    """The places of the states that an expression is of."""
    for leaf in leaves_of(op):
        yield leaf.owner.place
        inside = [leaf.inner] if isinstance(leaf, Rate) else [leaf.inverse_of, leaf.owner.direction]
        for x in inside:
            if x is not None:
                yield from _places(x)


def _leaves(op: Product) -> list[Leaf]:
    return [f for f in op.factors if isinstance(f, Leaf)]
