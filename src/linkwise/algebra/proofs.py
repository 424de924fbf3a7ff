"""The papers' proofs: every lemma they number, by its name, as a :class:`.proof.Proof`.

Those of the factorisation of 𝓜 (Operator algebra paper 4.1–5.1, A.1; JPL 88-11 Facts 4.1, 4.2 and Theorem 4.1;
Unified formulation paper 6.1–6.4) are replayed line by line as the papers derive them: from the Riccati equation and
from ψ⁻¹ = φ⁻¹ + KH. What they say about derivatives is derived from the rules of differentiation
(:mod:`.proofs_of_rates`): LD Lemma 3.1 is about δ(T), DD Identity 6.1 about d/dt(m). The others are found by
:func:`.prove.prove`. Proofs are made when they are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, cast

from ..errors import UnknownNameError
from .derivation import Formula, derive
from .identities import colour, inverse_mass, white
from .proof import Proof
from .proofs_of_rates import STATEMENTS, statement
from .prove import prove
from .rules import NO_ROTORS, Rule, identities

# Lemmas whose equations are cited by themselves: the numbers of the first and the last.
_EQUATIONS = {
    "JPL A.1": ("a", 8, 13),
    "JPL A.2": ("a", 14, 18),
    "JPL A.3": ("a", 22, 28),
    "JPL A.4": ("a", 32, 43),
    "JPL A.7": ("a", 50, 51),
    "DD Identity 4.1": ("4", 1, 1),
    "DD Identity 4.2": ("4", 10, 10),
}
_EQUATION = re.compile(r"\((a|4)\.(\d+)[a-d]?\)")
_NUMBERED = re.compile(r"((?:Lemma|Theorem|Fact|Identity|Corollary) [A-Z]?\.?\d+(?:\.\d+)?|(?<= )A\.\d+|\(A\.\d+\))")


def innovations() -> Proof:
    """𝓜 = (I + HφK) D (I + HφK)*: the Riccati equation between φ and φ* (OA Lemma 4.1, UF Lemma 6.2)."""
    gain: Formula = lambda o: o.P - o.E_phi @ o.P @ o.E_phi.T + o.K @ o.D @ o.K.T
    summed: Formula = lambda o: o.P + o.phi_tilde @ o.P + o.P @ o.phi_tilde.T + o.phi @ o.K @ o.D @ o.K.T @ o.phi.T
    strict: Formula = lambda o: o.H @ o.phi @ o.E_phi @ o.G @ o.D
    coloured: Formula = lambda o: o.H @ o.phi @ o.K @ o.D
    last: Formula = lambda o: o.H @ o.phi @ o.K @ o.D @ o.K.T @ o.phi.T @ o.H.T
    return derive(
        lambda o: o.H @ o.phi @ o.M @ o.phi.T @ o.H.T,
        ("riccati_gain", lambda o: o.H @ o.phi @ gain(o) @ o.phi.T @ o.H.T),
        ("phi_inverse; phi_inverse_right; phi_tilde", lambda o: o.H @ summed(o) @ o.H.T),
        ("D; GD; phi_shift", lambda o: o.D + strict(o) + strict(o).T + last(o)),
        ("K", lambda o: o.D + coloured(o) + coloured(o).T + last(o)),
        ("", lambda o: colour(o) @ o.D @ colour(o).T),
        requires=[NO_ROTORS],
    )


def psi_inverse() -> Proof:
    """ψ⁻¹ = φ⁻¹ + KH (OA Lemma A.1, UF Lemma 6.1)."""
    return derive(
        lambda o: o.psi @ (o.I - o.E_phi + o.K @ o.H),
        ("E_psi_gain", lambda o: o.psi @ (o.I - o.E_psi)),
        ("psi_inverse_right", lambda o: o.I),
    )


def whitening() -> Proof:
    """(I + HφK)(I − HψK) = I: φKHψ = φ(ψ⁻¹ − φ⁻¹)ψ = φ − ψ (OA Lemma 4.2, UF Lemma 6.3)."""
    ends: Formula = lambda o: o.I_joints + o.H @ o.phi @ o.K - o.H @ o.psi @ o.K
    return derive(
        lambda o: colour(o) @ white(o),
        ("", lambda o: ends(o) - o.H @ o.phi @ o.K @ o.H @ o.psi @ o.K),
        ("E_psi_gain", lambda o: ends(o) - o.H @ o.phi @ (o.E_phi - o.E_psi) @ o.psi @ o.K),
        ("phi_inverse_right; psi_inverse", lambda o: ends(o) - o.H @ (o.phi - o.psi) @ o.K),
        ("", lambda o: o.I_joints),
    )


def mass_inverse() -> Proof:
    """𝓜 (I − HψK)* D⁻¹ (I − HψK) = I: each factor undone in turn (OA Lemma 4.3, JPL Theorem 4.1, UF Lemma 6.4)."""
    return derive(
        lambda o: o.H @ o.phi @ o.M @ o.phi.T @ o.H.T @ inverse_mass(o),
        ("innovations", lambda o: colour(o) @ o.D @ colour(o).T @ inverse_mass(o)),
        ("whitening_left", lambda o: colour(o) @ o.D @ o.D_inverse @ white(o)),
        ("D_inverse", lambda o: colour(o) @ white(o)),
        ("whitening", lambda o: o.I_joints),
        requires=[NO_ROTORS],
    )


def whitened_jacobian() -> Proof:
    """(I − HψK)Hφ = Hψ: ψKHφ = ψ(ψ⁻¹ − φ⁻¹)φ = φ − ψ (OA Lemma 5.1, JPL Identity 5.1)."""
    return derive(
        lambda o: white(o) @ o.H @ o.phi,
        ("", lambda o: o.H @ o.phi - o.H @ o.psi @ o.K @ o.H @ o.phi),
        ("E_psi_gain", lambda o: o.H @ o.phi - o.H @ o.psi @ (o.E_phi - o.E_psi) @ o.phi),
        ("phi_inverse; psi_inverse_right", lambda o: o.H @ o.phi - o.H @ (o.phi - o.psi)),
        ("", lambda o: o.H @ o.psi),
    )


_PRINTED: dict[str, Callable[[], Proof]] = {
    "OA Lemma 4.1": innovations,
    "OA Lemma 4.2": whitening,
    "OA Lemma 4.3": mass_inverse,
    "OA Lemma 5.1": whitened_jacobian,
    "OA Lemma A.1": psi_inverse,
    "JPL Fact 4.1": innovations,
    "JPL Fact 4.2": whitening,
    "JPL Theorem 4.1": mass_inverse,
    "JPL Identity 5.1": whitened_jacobian,
    "UF Lemma 6.1": psi_inverse,
    "UF Lemma 6.2": innovations,
    "UF Lemma 6.3": whitening,
    "UF Lemma 6.4": mass_inverse,
}


class Proofs(Mapping[str, Proof]):
    """The proofs by the papers' names, such as "OA Lemma 4.1".

    Where a lemma has several formulas the others have their names behind it: "LD Lemma 4.9: A_C_split".
    """

    def __init__(self) -> None:
        self._known: dict[str, Proof] = {}
        self._of_rules: dict[str, Proof] = {}  # by the rule, which several papers may have

    def __getitem__(self, name: str) -> Proof:
        if name not in self._known:
            if name not in self._names:
                raise UnknownNameError(_unknown(name, list(self)))
            self._known[name] = self._made(name)
        return self._known[name]

    def _made(self, name: str) -> Proof:
        if name in STATEMENTS:
            return statement(name)
        printed: Any = _PRINTED.get(name)
        if printed is not None:
            return cast(Proof, printed())
        rule = self._rules[name]
        if rule.name not in self._of_rules:
            self._of_rules[rule.name] = prove(rule)
        return self._of_rules[rule.name]

    @property
    def _names(self) -> set[str]:
        return {*self._rules, *STATEMENTS}

    @property
    def _rules(self) -> dict[str, Rule]:
        """The rule of every name: that of a lemma which most papers print, and its others with their names."""
        found: dict[str, list[Rule]] = {}
        for rule in identities():
            for cite in rule.cites:
                for name in [] if "proof" in cite else _lemmas(cite):
                    rules = found.setdefault(name, [])
                    rules += [rule] if rule not in rules else []
        out: dict[str, Rule] = {}
        for name, rules in found.items():
            first, *others = sorted(rules, key=lambda r: -len(r.cites))
            if name in STATEMENTS:
                others = [first, *others]
            else:
                out[name] = first
            out |= {f"{name}: {r.name}": r for r in others}
        return out

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._names))

    def __len__(self) -> int:
        return len(self._names)


def _lemmas(cite: str) -> list[str]:
    """The lemmas that a place such as "JPL A.5 (a.46)" or "DD (4.10a)" belongs to."""
    paper = cite.split()[0]
    out = [f"{paper} {number}" for number in _NUMBERED.findall(cite)]
    for chapter, number in _EQUATION.findall(cite):
        for name, (within, first, last) in _EQUATIONS.items():
            if name.startswith(f"{paper} ") and chapter == within and first <= int(number) <= last:
                out.append(name)
    return list(dict.fromkeys(out))


def _unknown(name: Any, known: list[str]) -> str:
    near = get_close_matches(str(name).casefold(), [x.casefold() for x in known], n=4, cutoff=0.6)
    meant = [x for x in known if x.casefold() in near]
    hint = f"did you mean {', '.join(map(repr, meant))}?" if meant else f"such are {', '.join(map(repr, known[::12]))};"
    return f"the papers have no proof {name!r} here; {hint} list(linkwise.proofs) has all {len(known)}"


PROOFS = Proofs()
