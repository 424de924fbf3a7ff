"""What must be computed before the sweeps of an expression run: articulated and composite inertias, compliances.

Printed with the papers' indices, as :mod:`.recursion_text` prints the sweeps. Letters of a family that belongs
to another inertia than the robot's own carry its name: P_X, D_X, …
"""

from __future__ import annotations

from typing import Any

from .expression import Expression, Product, Sum
from .kinds import Column, Leaf, UserBlockDiagonal, UserColumn, all_leaves, leaves_of
from .leaves import Leaves
from .printing import LATEX, TEXT, family_label, latex, text
from .rate import Rate
from .recursion_text import INWARD, LOCAL, OUTWARD, Block

_ARTICULATED = {"P", "P_plus", "D", "D_inverse", "D_root", "D_root_inverse", "G", "K", "L", "tau", "tau_bar"}
_ARTICULATED |= {"psi", "psi_tilde", "E_psi", "Delta_psi"}
_COMPLIANCE = {"Upsilon", "Upsilon_plus"}
_RATES = {"P_ring", "Pi_dot", "D_ring", "G_ring", "D_root_ring", "tau_bar_ring", "E_psi_ring"}
# What vectors are made of, in the order in which they are computed.
_MADE_OF = {
    "V": (),
    "coriolis": ("V",),
    "gyroscopic": ("V",),
    "classical_coriolis": ("V",),
    "classical_gyroscopic": ("V",),
    "alpha": ("V", "coriolis"),
    "classical_alpha": ("V", "classical_coriolis"),
    "f": ("V", "coriolis", "gyroscopic", "alpha"),
    "T": ("V", "coriolis", "gyroscopic", "alpha", "f"),
}
# What operators that stand at each body by itself are made of, beside inertias.
_OF_MOTION = {
    "V_tilde": ("V",),
    "H_dot": ("V",),
    "H_ddot": ("V", "coriolis", "alpha"),
    "M_hat": ("V",),
    "F_script": ("V", "coriolis", "gyroscopic", "alpha", "f"),
}


class _Letters:
    """The letters of a family, in text or in LaTeX."""

    def __init__(self, owner: Leaves, serial: bool, as_latex: bool) -> None:
        self.as_latex, self.equals = as_latex, "&=" if as_latex else "="
        self.label = family_label(owner, as_latex)
        self.sum = "" if serial else (r"\textstyle\sum_j " if as_latex else "Σ ")
        self.j, self.p = ("k-1", "k+1") if serial else ("j", "p")
        self.star = "^*" if as_latex else "*"
        self.gap = r", \quad " if as_latex else ",  "

    def own(self, plain: str, tex: str, power: str = "") -> str:
        """A letter of the family, such as P_X; ``power`` is + or −1 above it."""
        if not self.as_latex:
            return f"{plain}{power}{self.label}"
        raised = {"⁺": "^{+}", "⁻¹": "^{-1}", "": ""}[power]
        return f"{tex}{self.label}{raised}"

    def rigid(self, plain: str, tex: str) -> str:
        return tex if self.as_latex else plain


def preludes(op: Expression, serial: bool, as_latex: bool) -> list[Block]:
    """The recursions that the leaves of an expression come from, each once, what others rest on first."""
    blocks: dict[Any, Block] = {}
    _gather(op, blocks, serial, as_latex)
    all_blocks = [*_vectors(op, serial, as_latex), *blocks.values(), *_at_each_body(op, as_latex)]
    return list({(block.title, *block.lines): block for block in all_blocks}.values())


def _gather(op: Expression, blocks: dict[Any, Block], serial: bool, as_latex: bool) -> None:
    for leaf in leaves_of(op):
        if isinstance(leaf, UserBlockDiagonal):
            continue
        if isinstance(leaf, Rate):
            _gather(leaf.value, blocks, serial, as_latex)
            continue
        for inside in leaf.inside:
            _gather(inside, blocks, serial, as_latex)
        owner, upright = leaf.owner.still, leaf.upright()
        driven = "" if leaf.driver is None else leaf.driver[0]
        if leaf.name in _ARTICULATED | _COMPLIANCE | _RATES or "ψ" in driven:
            blocks.setdefault(("P", owner.family_key), _riccati(owner, serial, as_latex))
        if leaf.name in _COMPLIANCE:
            blocks.setdefault(("Υ", owner.family_key), _compliance(owner, serial, as_latex))
        if leaf.name == "R":
            blocks.setdefault(("R", owner.family_key), _composite(owner, serial, as_latex))
        if leaf.name in _RATES:
            blocks.setdefault(("P°", leaf.owner.identity), _rates(leaf.owner, serial, as_latex))
        if leaf.driver is not None:
            blocks.setdefault(("S", upright.key), _driven(upright, serial, as_latex))


def _inertia(X: Expression, as_latex: bool) -> str:
    """X(k), in brackets where X is a sum or a product."""
    return f"{_bracketed(X, as_latex)}(k)"


def _bracketed(X: Expression, as_latex: bool) -> str:
    written = latex(X) if as_latex else text(X)
    return f"[{written}]" if isinstance(X, (Sum, Product)) else written


def _riccati(owner: Leaves, serial: bool, as_latex: bool) -> Block:
    """P, D, G, K and ψ (Diagonalized paper, Algorithm 4.1); with Γ and N where joints have inertia of their own."""
    x = _Letters(owner, serial, as_latex)
    P, P_plus, D, D_inverse = x.own("P", "P"), x.own("P", "P", "⁺"), x.own("D", "D"), x.own("D", "D", "⁻¹")
    G, tau_bar, K, psi = x.own("G", "G"), x.own("τ̄", r"\bar\tau"), x.own("K", "K"), x.own("ψ", r"\psi")
    phi, H, H_star = x.rigid("φ", r"\phi"), "H", f"H{x.star}"
    noise = owner.joint_noise
    gamma = f" + {_inertia(noise, as_latex)}" if noise is not None else ""
    coupled = f"({P} {H_star} + {phi}{x.rigid('⁻¹', '^{-1}')} N)" if owner.has_coupling else f"{P} {H_star}"
    carried = f"{x.sum}{phi}(k,{x.j}) {P_plus}({x.j}) {phi}{x.star}(k,{x.j})"
    gain = f"{G}(k) = {coupled} {D_inverse}{x.gap}{tau_bar}(k) = I - {G} {H}"
    return Block(
        f"first, articulated inertias, {INWARD}",
        [
            f"{P}(k) {x.equals} {carried} + {_inertia(owner.M, as_latex)}",
            f"{D}(k) {x.equals} H {P} {H_star}{gamma}{x.gap}{gain}{x.gap}{P_plus}(k) = {P} - {G} {D} {G}{x.star}",
            f"{K}({x.p},k) {x.equals} {phi}({x.p},k) {G}(k){x.gap}{psi}({x.p},k) = {phi}({x.p},k) {tau_bar}(k)",
        ],
    )


def _rates(owner: Leaves, serial: bool, as_latex: bool) -> Block:
    """P°, D°, G°, … along a direction (Diagonalized paper, Algorithm 6.1 and Table 4, for every joint)."""
    x = _Letters(owner, serial, as_latex)
    along = "" if owner.direction is None else f"[{latex(owner.direction) if as_latex else text(owner.direction)}]"
    names = ("P_ring", "D_ring", "G_ring", "tau_bar_ring", "E_psi_ring", "H_ring")
    P, D, G, tau_bar, psi, H = (f"{(LATEX if as_latex else TEXT)[name]}{x.label}{along}" for name in names)
    phi, bar, F = x.rigid("φ", r"\phi"), x.own("τ̄", r"\bar\tau"), f"F{along}"
    own, gain, inverse = x.own("P", "P"), x.own("G", "G"), x.own("D", "D", "⁻¹")
    plus, s = x.own("P", "P", "⁺"), x.star
    turned, bent, moved = f"{F} {plus} + {plus} {F}{s}", "", f"{P} H{s}"
    if owner.has_turning_maps:
        turned += f" - {gain} {H} {plus} - {plus} {H}{s} {gain}{s}"
        bent, moved = f" + {H} {own} H{s} + H {own} {H}{s}", f"({P} H{s} + {own} {H}{s})"
    rotors = x.gap + r"\text{(and what rotors add)}" if as_latex else f"{x.gap}(and what rotors add)"
    carried = f"{x.sum}{phi}(k,{x.j}) [{bar} {P} {bar}{s} + {turned}]({x.j}) {phi}{s}(k,{x.j})"
    last = f"{psi}({x.p},k) = {phi}({x.p},k) [{F} {bar} + {tau_bar}](k)"
    articulation = f"{tau_bar}(k) = -{G} H" + (f" - {gain} {H}" if owner.has_turning_maps else "")
    return Block(
        f"then their rates, {INWARD}",
        [
            f"{P}(k) {x.equals} {carried}{rotors if owner.has_coupling else ''}",
            f"{D}(k) {x.equals} H {P} H{s}{bent}{x.gap}{G}(k) = [{moved} - {gain} {D}] {inverse}",
            f"{articulation}{x.gap}{last}".replace(" = ", f" {x.equals} ", 1),
        ],
    )


def _vectors(op: Expression, serial: bool, as_latex: bool) -> list[Block]:
    """The recursions of the vectors of an expression: V, a, b, α outward, f and T inward (UF (17), (18))."""
    named = {leaf.name for leaf in all_leaves(op) if isinstance(leaf, Column) and not isinstance(leaf, UserColumn)}
    wanted = {part for name in named & _MADE_OF.keys() for part in (name, *_MADE_OF[name])}
    wanted |= {part for leaf in all_leaves(op) for part in _OF_MOTION.get(leaf.name, ())}
    lines = _vector_lines(serial, as_latex)
    outward, inward = ([lines[n] for n in _MADE_OF if n in wanted and (n in ("f", "T")) == last] for last in (0, 1))
    blocks = [Block(f"first, the motion, {OUTWARD}", outward)] if outward else []
    return [*blocks, Block(f"then its forces, {INWARD}", inward)] if inward else blocks


def _vector_lines(serial: bool, as_latex: bool) -> dict[str, str]:
    equals, star = ("&=", "^*") if as_latex else ("=", "*")
    phi, rate, speed_up, alpha, omega, cross = (
        (r"\phi", r"\dot\theta", r"\ddot\theta", r"\alpha", r"\omega", r"\times")
        if as_latex
        else ("φ", "θ̇", "θ̈", "α", "ω", "×")
    )
    p, j, total = ("k+1", "k-1", "") if serial else ("p", "j", r"\textstyle\sum_j " if as_latex else "Σ ")
    turned = "R^*(" if as_latex else "R*("
    centripetal = f"{turned}{omega}({p}) {cross} ({omega}({p}) {cross} l))"
    return {
        "V": f"V(k) {equals} {phi}{star}({p},k) V({p}) + H{star}(k) {rate}(k)",
        "coriolis": f"a(k) {equals} V(k) {cross} H{star}(k) {rate}(k)",
        "gyroscopic": f"b(k) {equals} V(k) {cross}{star} M(k) V(k)",
        "classical_coriolis": f"a_c(k) {equals} [{omega} {cross} {omega}_r; {centripetal} + (2{omega} - {omega}_r)"
        f" {cross} u],  [{omega}_r; u] = H{star}(k) {rate}(k)",
        "classical_gyroscopic": f"b_c(k) {equals} [{omega} {cross} J{omega}; {omega} {cross} ({omega} {cross} h)]",
        "alpha": f"{alpha}(k) {equals} {phi}{star}({p},k) {alpha}({p}) + H{star}(k) {speed_up}(k) + a(k) + g(k)",
        "classical_alpha": f"{alpha}_c(k) {equals} {phi}{star}({p},k) {alpha}_c({p}) + H{star}(k) {speed_up}(k)"
        " + a_c(k) + g(k)",
        "f": f"f(k) {equals} {total}{phi}(k,{j}) f({j}) + M(k) {alpha}(k) + b(k)",
        "T": f"T(k) {equals} H(k) f(k)",
    }


def _at_each_body(op: Expression, as_latex: bool) -> list[Block]:
    """The operators that are made at each body from what the sweeps gave (LD (2.8), (2.13); DD Table 4, (5.1))."""
    names = {leaf.name for leaf in all_leaves(op) if leaf.owner.direction is None}
    equals, s, cross = ("&=", "^*", r"\times") if as_latex else ("=", "*", "×")
    half, rate, tilde = (r"\frac{1}{2}", r"\dot\theta", r"\tilde x") if as_latex else ("½", "θ̇", "x̃")
    t = LATEX if as_latex else TEXT
    V, P, root = t["V_tilde"], t["P_ring"], t["D_root"]
    lines = {
        "V_tilde": f"{V}(k) {equals} V(k) {cross}",
        "F": f"F(k) {equals} -[(H{s}(k) {rate}(k)) {cross}]{s}",
        "H_dot": f"{t['H_dot']}{s}(k) {equals} V(k) {cross} H{s}(k)",
        "M_hat": f"{t['M_hat']}(k) x {equals} -{half} [{tilde}{s} M V + (V {cross}){s} M x + M (V {cross} x)](k)",
        "Pi_dot": f"{t['Pi_dot']}(k) {equals} {P}(k) + F(k) P(k) + P(k) F{s}(k)",
        "D_root": f"{root}(k) {root}{s}(k) {equals} D(k), lower triangular" if not as_latex
        else rf"{root}(k)\,({root}){s}(k) {equals} D(k) \text{{, lower triangular}}",
    }  # fmt: skip
    wanted = names | ({"D_root"} if "D_root_inverse" in names else set()) | ({"F"} if "Pi_dot" in names else set())
    found = [line for name, line in lines.items() if name in wanted]
    return [Block(f"then, {LOCAL}", found)] if found else []


def _compliance(owner: Leaves, serial: bool, as_latex: bool) -> Block:
    """Υ (Linearized paper (4.19)), and the same as Ω is printed in the Operator algebra paper, after (5.5)."""
    x = _Letters(owner, serial, as_latex)
    U, U_plus = x.own("Υ", r"\Upsilon"), x.own("Υ", r"\Upsilon", "⁺")
    phi, tau_bar, D_inverse = x.rigid("φ", r"\phi"), x.own("τ̄", r"\bar\tau"), x.own("D", "D", "⁻¹")
    psi = x.own("ψ", r"\psi")
    return Block(
        f"then compliances, {OUTWARD}",
        [
            f"{U_plus}(k) {x.equals} {phi}{x.star}({x.p},k) {U}({x.p}) {phi}({x.p},k)",
            f"{U}(k) {x.equals} {tau_bar}{x.star} {U_plus} {tau_bar} + H{x.star} {D_inverse} H",
            f"{U}(k) {x.equals} {psi}{x.star}({x.p},k) {U}({x.p}) {psi}({x.p},k) + H{x.star}(k) {D_inverse}(k) H(k)",
        ],
    )


def _composite(owner: Leaves, serial: bool, as_latex: bool) -> Block:
    """R (Unified formulation paper (24), (25))."""
    x = _Letters(owner, serial, as_latex)
    R, phi = x.own("R", "R"), x.rigid("φ", r"\phi")
    carried = f"{x.sum}{phi}(k,{x.j}) {R}({x.j}) {phi}{x.star}(k,{x.j})"
    return Block(
        f"first, composite inertias, {INWARD}",
        [f"{R}(k) {x.equals} {carried} + {_inertia(owner.M, as_latex)}"],
    )


def _driven(leaf: Leaf, serial: bool, as_latex: bool) -> Block:
    """S of LD (A.1)–(A.5), see :mod:`.recursions`."""
    kind, X = leaf.driver
    x = _Letters(leaf.owner, serial, as_latex)
    S = latex(leaf) if as_latex else text(leaf)
    letters = {"φ": x.rigid("φ", r"\phi"), "ψ": x.own("ψ", r"\psi")}
    if kind in ("φφ", "ψφ", "ψψ"):
        edge = f"(k,{x.j})"
        carried = f"{x.sum}{letters[kind[0]]}{edge} {S}({x.j}) {letters[kind[1]]}{x.star}{edge}"
        title = f"first, {INWARD}"
    elif "·" in kind:
        edge, right = f"({x.p},k)", letters["φ"] + (x.rigid("⁻*", "^{-*}") if "⁻" in kind else "")
        inner = (latex(X) if as_latex else text(X)) if isinstance(X, Leaf) else _bracketed(X, as_latex)
        line = f"{S}(k) {x.equals} {letters['φ']}{x.star}{edge} {inner}({x.p}) {right}{edge}"
        return Block(f"first, {OUTWARD}", [line])
    else:
        edge = f"({x.p},k)"
        right = letters["ψ"] if kind == "ψ*ψ" else letters["φ"] + x.rigid("⁻*", "^{-*}")
        carried = f"{letters[kind[0]]}{x.star}{edge} {S}({x.p}) {right}{edge}"
        title = f"first, {OUTWARD}"
    return Block(title, [f"{S}(k) {x.equals} {carried} + {_inertia(X, as_latex)}"])
