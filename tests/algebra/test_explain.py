"""explain(): the formula, the recursions, the identities with their equations, the count; all of it true."""

import html
import re

import numpy as np
import pytest
from latex import refuse_bad_latex
from operator_zoo import EXPRESSIONS, LEAVES, make, operators
from recursion_reader import Reader
from trees import assert_close, robot, state

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
        "outward, k = n … 1 (base to tips), from λ(n+1) = 0:",
        "λ(k) = φ*(k+1,k) λ(k+1) + H*(k) x(k)",
        "inward, k = 1 … n (tips to base), from z(0) = 0:",
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


# where there are no rotors, branches, turning maps
NOTHING = ("S", "E_I", "rotor_inertia", "rotor_coupling", "H_ring", "H_ring_ring")
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
    assert explanation.op._repr_latex_() == f"${op.latex()}$"
    assert all(op.latex() in shown for shown in (explanation._repr_latex_(), html.unescape(explanation._repr_html_())))
    for formula in formulas(explanation._repr_html_()) + formulas(explanation._repr_latex_()):
        refuse_bad_latex(formula)
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
    r = lw.chain(4000)
    o = r.operators(np.zeros(r.nq))
    assert str((o.J @ o.mass.inv() @ o.J.T).simplify()) == "B* ψ* H* D⁻¹ H ψ B"
    assert "articulated" not in o.__dict__


def test_latex():
    o = operators("panda")
    assert o.mass.latex() == r"H \phi M \phi^* H^*"
    assert o.mass.inv().latex() == r"(I - H \psi K)^* D^{-1} (I - H \psi K)"
    assert (2.5 * o.P_plus - o.tau_bar.T).latex() == r"2.5 P^{+} - \bar\tau^*"


# --- initial values, diagonals, notebooks --------------------------------------------------------------


def test_initial_values_are_printed():
    recursion = operators("panda").mass.inv().explain().recursion
    assert "inward, k = 1 … n (tips to base), from P⁺(0) = 0:" in recursion
    assert "inward, k = 1 … n (tips to base), from z(0) = 0, x(0) = 0:" in recursion
    assert "outward, k = n … 1 (base to tips), from λ(n+1) = 0:" in recursion
    tree = operators("floating").mass.explain().recursion
    assert "outward, k = n … 1 (base to tips), from λ = 0 at the world:" in tree


def test_what_several_parts_rest_on_is_printed_once():
    o = operators("panda")
    both = o.mass.inv() @ o.J.T @ (o.J @ o.mass.inv() @ o.J.T).inv()
    assert both.explain().recursion.count("P(k) = φ(k,k-1) P⁺(k-1) φ*(k,k-1) + M(k)") == 1


DIAGONALS = {
    "mass": (lambda o: o.mass, "S(k) = φ(k,k-1) S(k-1) φ*(k,k-1) + M(k)", "y(k,k) = H(k) S(k) H*(k)"),
    "compliance": (
        lambda o: (o.J @ o.mass.inv() @ o.J.T).simplify(),
        "Ω(k) = ψ*(k+1,k) Ω(k+1) ψ(k+1,k) + H*(k) D⁻¹(k) H(k)",
        "y(k,k) = φ*(k,0) Ω(k) φ(k,0)",
    ),
    "of bodies": (lambda o: o.phi @ o.P @ o.phi.T, "S(k) = φ(k,k-1) S(k-1) φ*(k,k-1) + P(k)", ""),
}


@pytest.mark.parametrize("name", DIAGONALS)
def test_the_diagonal_of_a_symmetric_product_is_one_recursion(name):
    make_it, recursion, block = DIAGONALS[name]
    explanation = make_it(operators("panda")).explain()
    assert recursion in explanation.diagonal and block in explanation.diagonal
    assert explanation.diagonal in str(explanation)
    assert (operators("panda").H @ operators("panda").phi).explain().diagonal == ""


@pytest.mark.parametrize("robot_name", ["panda", "floating", "arms"])
def test_the_printed_diagonals_are_true(robot_name):
    """S and Ω by the printed recursions, beside the blocks of the dense matrix."""
    o = operators(robot_name)
    parents = o.model.parents
    phi, psi, Y = (dense_blocks(o, name) for name in ("E_phi", "E_psi", "P"))
    S, Omega = [y.copy() for y in Y], [y.copy() for y in Y]
    for k in reversed(range(len(parents))):
        if parents[k] >= 0:
            S[parents[k]] += phi[k] @ S[k] @ phi[k].T
    for k, p in enumerate(parents):
        Omega[k] = Y[k] if p < 0 else psi[k].T @ Omega[p] @ psi[k] + Y[k]
    inward, outward = (o.phi @ o.P @ o.phi.T).dense(), (o.psi.T @ o.P @ o.psi).dense()
    for k in range(len(parents)):
        own = slice(6 * k, 6 * k + 6)
        assert_close(inward[own, own], S[k], 1e-10)
        assert_close(outward[own, own], Omega[k], 1e-10)


def dense_blocks(o, name):
    """The blocks of a block diagonal, or the maps of an edge operator from each body to its parent."""
    full = getattr(o, name).dense()
    rows = [k if name == "P" or p < 0 else p for k, p in enumerate(o.model.parents)]
    return [full[6 * i : 6 * i + 6, 6 * k : 6 * k + 6] for k, i in enumerate(rows)]


def formulas(shown):
    """The formulas between dollars."""
    return re.findall(r"\$\$?([^$]+)\$\$?", html.unescape(shown))


@pytest.mark.parametrize("wrong", [r"x &= \frac{1 \\ y", r"x^2^3 + y", r"\left( x + y", r"\fi(k) x", r"a_{b} + c}"])
def test_bad_latex_is_found(wrong):
    with pytest.raises(ValueError):
        refuse_bad_latex(rf"\begin{{aligned}} {wrong} \end{{aligned}}")


def test_proofs_are_typeset():
    proof = lw.prove(lambda o: (o.I_joints - o.H @ o.psi @ o.K) @ o.H @ o.phi, lambda o: o.H @ o.psi)
    for shown in (proof._repr_latex_(), proof._repr_html_()):
        assert formulas(shown)
        for formula in formulas(shown):
            refuse_bad_latex(formula)
    page = html.unescape(proof._repr_html_())
    assert "Proved in" in page and all(step.reason in page for step in proof.steps)
    o = operators("panda")
    assert o.mass._repr_html_().count("$$") == 2 and o.mass.expression._repr_latex_() == f"${o.mass.latex()}$"


def test_initial_values_are_of_what_recurs():
    """Not of operators between an edge and a vector, and with their whole names."""
    r = robot("panda")
    s = state(r, ())
    op = r.operators(s.q, v=s.v, a=s.a, frames=r.tips[0])
    C = op.H @ op.psi @ (op.E_psi @ op.Pi_dot - op.Pi_dot @ op.E_psi.T) @ op.V
    for formula in (C, (op.J.T @ op.J + 0.01 * op.I_joints).inv(), op.G.variation(s.v), op.mass.inv()):
        for line in str(formula.explain()).split("\n"):
            if ", from " in line:
                starts = line.partition(", from ")[2].rstrip(":").split(" = 0, ")
                for start in starts:
                    name = start.partition("(")[0]
                    assert name.count("{") == name.count("}") and "]" not in name, line
                    assert name not in ("Π̇", "F", "M̂", "Ṽ"), line
    assert "from P⁺_{B B*, 0.01 I}(0) = 0" in str((op.J.T @ op.J + 0.01 * op.I_joints).inv().explain())


def test_operators_of_motion_are_said_with_what_they_are_made_of():
    r = robot("panda")
    s = state(r, ())
    op = r.operators(s.q, v=s.v)
    told = str((op.H @ op.phi @ (op.M_hat @ op.phi.T @ op.H.T + op.M @ op.phi.T @ op.H_dot)).explain())
    for line in ("V(k) = φ*(k+1,k) V(k+1) + H*(k) θ̇(k)", "Ḣ*(k) = V(k) × H*(k)", "M̂(k) x = -½ ["):
        assert line in told
    rates = str((op.D_root_inverse @ op.H @ op.Pi_dot @ op.H.T).explain())
    for line in ("Π̇(k) = P°(k) + F(k) P(k) + P(k) F*(k)", "F(k) = -[(H*(k) θ̇(k)) ×]*", "D^½(k) D^½*(k) = D(k)"):
        assert line in rates
