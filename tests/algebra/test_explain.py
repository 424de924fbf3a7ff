"""explain(): the formula, the recursions, the identities with their equations, the count; all of it true."""

import numpy as np
import pytest
from operator_zoo import EXPRESSIONS, LEAVES, make, operators
from recursion_reader import Reader
from trees import assert_close

import linkwise as lw
from linkwise.algebra.expression import Identity, Zero

ZOO = [*LEAVES, *EXPRESSIONS]

# Formulas between bodies and joints: tips are described in words ("once"), user's inverses have long names.
FORMULAS = {
    **{name: (lambda o, name=name: getattr(o, name)) for name in ("H", "phi", "psi", "E_psi", "K", "M", "P", "D")},
    "adjoints": lambda o: o.H @ o.psi.T @ o.K.T.T @ o.K.T @ o.phi.T,
    "mass": lambda o: o.H @ o.phi @ o.M @ o.phi.T @ o.H.T,
    "mass, with rotors": lambda o: o.mass,
    "inverse mass": lambda o: o.mass.inv(),
    "colour": lambda o: o.I_joints + o.H @ o.phi @ o.K,
    "white": lambda o: o.I_joints - o.H @ o.psi @ o.K,
    "white adjoint": lambda o: (o.I_joints - o.H @ o.psi @ o.K).T,
    "strict": lambda o: o.phi_tilde @ o.M @ o.psi_tilde.T,
    "shift out": lambda o: o.E_phi.T @ o.M @ o.E_psi,
    "sum": lambda o: o.phi @ o.M - 2.5 * (o.M @ o.phi.T) + 0.5 * o.I,
    "multiple": lambda o: -3.0 * o.psi @ o.G,
    "riccati": lambda o: o.P - o.E_phi @ o.P @ o.E_phi.T + o.K @ o.D @ o.K.T,
    "user's": lambda o: o.phi @ o.block_diagonal([np.diag([1.0, 2, 3, 4, 5, 6])] * len(o.model.bodies)) @ o.phi.T,
    "nested": lambda o: (o.I + o.phi @ (o.M + 0.5 * o.tau_bar.T) @ (o.I - 2.0 * o.E_psi.T)) @ o.K,
    "outward, then inward": lambda o: o.phi.T @ o.R @ o.phi,
}


@pytest.mark.parametrize("robot_name", ["panda", "arms", "floating", "chain4"])
@pytest.mark.parametrize("name", FORMULAS)
def test_the_printed_recursion_computes_the_operator(name, robot_name):
    op = FORMULAS[name](operators(robot_name))
    x = np.random.default_rng(0).normal(size=op.cols.dimension)
    assert_close(Reader(op).run(x), op.dense() @ x, 1e-10)


def test_the_mass_matrix_as_the_papers_print_it():
    text = str(operators("panda").mass.explain())
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0] == "H φ M φ* H*"
    expected = [
        "outward, k = n … 1 (base to tips):",
        "λ(k) = φ*(k+1,k) λ(k+1) + H*(k) x(k)",
        "inward, k = 1 … n (tips to base):",
        "z(k) = φ(k,k-1) z(k-1) + M(k) λ(k)",
        "y(k) = H(k) z(k)",
    ]
    start = lines.index(expected[0])
    assert lines[start : start + 5] == expected
    assert "joint space of 'panda' (dimension 7)" in text
    assert lines[lines.index("Identities used") + 1] == "none"


def test_the_inverse_with_its_identity_and_equation_numbers():
    inverse = operators("panda").mass.inv()
    text = str(inverse.explain())
    assert text.startswith("(I - H ψ K)* D⁻¹ (I - H ψ K)\n")
    for citation in (
        "OA Lemma 4.3 (4.6)",
        "JPL Theorem 4.1 (4.16)",
        "UF Lemma 6.4 (55)",
        "LD Lemma 4.4 (4.8)",
    ):
        assert citation in text
    assert "P(k) = φ(k,k-1) P⁺(k-1) φ*(k,k-1) + M(k)" in text
    assert [r.name for r in inverse.explain().rules] == ["mass_inverse"]


def test_every_identity_that_fired_is_listed():
    o = operators("panda")
    simple = (o.J @ o.mass.inv() @ o.J.T).simplify()
    explanation = simple.explain()
    assert explanation.formula == "B* ψ* H* D⁻¹ H ψ B"
    assert [r.name for r in explanation.rules] == ["mass_inverse", "W_H_phi"]
    assert "(OA Lemma 5.1 (5.1); JPL Identity 5.1 (5.4)" in str(explanation)


def test_trees_sum_over_children_and_say_so():
    text = str(operators("floating").mass.explain())
    assert "z(k) = Σ φ(k,j) z(j) + M(k) λ(k)" in text and "λ(k) = φ*(p,k) λ(p) + H*(k) x(k)" in text
    assert "(Σ over the children j of body k; p is the parent of k)" in text
    assert "Σ" not in str(operators("panda").mass.explain())


def test_rotors_are_in_the_printed_riccati_recursion():
    """D = HPH* + Γ with rotors; G has the coupling where they turn with their parent."""
    recursion = operators("arms").mass.inv().explain().recursion
    assert "D(k) = H P H* + Γ(k),  G(k) = (P H* + φ⁻¹ N) D⁻¹" in recursion
    assert "D(k) = H P H*,  G(k) = P H* D⁻¹" in operators("panda").mass.inv().explain().recursion
    assert r"H P H^* + \Gamma" in operators("arms").mass.inv().explain().latex


def test_the_recursions_own_rotor_lines_are_true():
    """What the printed lines say of D, G and P⁺, in numbers."""
    for name in ("arms", "tree_rotors", "panda"):
        o = operators(name)
        P, H, G, D = (o.leaf(n).dense() for n in ("P", "H", "G", "D"))
        assert_close(H @ P @ H.T + o.rotor_inertia.dense(), D, 1e-12)
        joint = np.zeros((6 * len(o.model.bodies), o.model.nv))
        for k, s in enumerate(o.links.s):
            if s is not None:
                joint[6 * k : 6 * k + 6, o.model.v_slices[k]] = s
        assert_close((P @ H.T + joint) @ np.linalg.inv(D), G, 1e-11)
        assert_close(P - G @ D @ G.T, o.P_plus.dense(), 1e-12)


NOTHING = ("S", "E_I", "rotor_inertia", "rotor_coupling", "H_ring")  # where there are no rotors, branches, turning maps
TURNS = [(name, "arms" if i % 4 == 0 or name in NOTHING else "chain4") for i, name in enumerate(ZOO)]


@pytest.mark.parametrize(("name", "robot_name"), TURNS)
def test_everything_can_be_explained_and_counted(name, robot_name):
    op = make(name, operators(robot_name))
    explanation = op.explain()
    text = str(explanation)
    assert text.startswith(explanation.formula) and ("a vector of" if op.is_vector else op.structure) in text
    counted = "Operations, starting from the state" if op.is_vector else "Operations for one vector"
    assert "Runs as" in text and "Identities used" in text and counted in text
    assert explanation.latex.startswith("\\[\n") and explanation.latex.count("{") == explanation.latex.count("}")
    assert explanation._repr_latex_() == f"${op.latex()}$"
    assert op.latex().isascii(), f"{op.latex()!r} is no LaTeX"
    if isinstance(op.expression, (Identity, Zero)) or name in ("theta_dot", "theta_ddot", "alpha_base"):
        assert explanation.operations.total == 0
    else:
        assert explanation.operations.total > 0
        assert str(explanation.operations) in text


def test_great_robots_are_not_counted():
    r = lw.chain(200)
    explanation = r.operators(r.neutral()).mass.explain()
    assert explanation.operations is None
    assert "not counted (more than 150 degrees of freedom)" in str(explanation)


def test_explaining_costs_nothing_at_first():
    """Naming an operator, its inverse and its formula does no arithmetic: NaN and all."""
    r = lw.chain(20_000)
    o = r.operators(np.zeros(r.nq))
    assert str((o.J @ o.mass.inv() @ o.J.T).simplify()) == "B* ψ* H* D⁻¹ H ψ B"
    assert "articulated" not in o.__dict__


def test_latex():
    o = operators("panda")
    assert o.mass.latex() == r"H \phi M \phi^* H^*"
    assert o.mass.inv().latex() == r"(I - H \psi K)^* D^{-1} (I - H \psi K)"
    assert (2.5 * o.P_plus - o.tau_bar.T).latex() == r"2.5 P^{+} - \bar\tau^*"
