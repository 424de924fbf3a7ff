"""Formulas typed as text: every printed identity reads back, and mistakes are pointed at."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.algebra.formula import needs_motion, parse_expression, parse_formula
from linkwise.algebra.formula_letters import operator_names
from linkwise.algebra.leaves import unbound


@pytest.fixture(scope="module")
def op():
    robot = lw.load("panda")
    rng = np.random.default_rng(0)
    q, v, a = robot.random_configuration(rng), *rng.normal(size=(2, robot.nv))
    return robot.operators(q, v=v, a=a)


def printed_formulas(op):
    """Both sides of every identity whose letters are all names, not quantities driven by another operator."""
    for rule in lw.identities():
        if rule.free or not rule.admits(op):
            continue
        for side in rule.sides(op):
            written = str(side)
            if "S_" not in written and "_{" not in written and written not in ("0", "I"):
                yield rule.name, written, side


def test_every_printed_identity_reads_back(op):
    count = 0
    for name, written, side in printed_formulas(op):
        assert str(parse_formula(written, op)) == written, name
        np.testing.assert_allclose(parse_formula(written, op).dense(), side.dense(), atol=1e-9, err_msg=name)
        count += 1
    assert count > 80


@pytest.mark.parametrize(
    "formula",
    [
        "H phi M phi* H*",
        "H φ M φ* H*",
        "HφMφ*H*",
        "H @ phi @ M @ phi.T @ H.T",
        "H·φ·M·φ^*·H^T",
        "H * phi * M * phi.T * H.T",
        "(H phi) M (H phi)*",
        "mass",
        "𝓜",
        "2 mass / 2",
        "0.5*mass + mass/2",
        "-(-mass)",
        "I mass I",
        "(mass*)*",
    ],
)
def test_spellings_of_the_mass_matrix(op, formula):
    np.testing.assert_allclose(parse_formula(formula, op).dense(), op.mass.dense(), rtol=1e-13)


@pytest.mark.parametrize("formula", ["mass.inv()", "mass⁻¹", "(H φ M φ* H*)^-1", "mass^{-1}"])
def test_spellings_of_its_inverse(op, formula):
    np.testing.assert_allclose(parse_formula(formula, op).dense() @ op.mass.dense(), np.eye(7), atol=1e-9)


def test_the_identity_takes_the_space_of_its_sum(op):
    assert parse_formula("I + H phi K", op) == op.I_joints + op.H @ op.phi @ op.K
    assert parse_formula("2 I - phi", op) == 2 * op.I - op.phi
    assert parse_formula("(I - 3 I) mass", op) == -2 * op.mass
    assert parse_formula("I", op) == op.I
    assert parse_formula("I_joints", op) == op.I_joints


def test_simplify(op):
    assert parse_formula("((I - E_phi) phi).simplify()", op) == op.I


@pytest.mark.parametrize("name", operator_names())
def test_every_name_is_known(op, name):
    assert isinstance(parse_formula(name, op), lw.Operator)


def test_motion():
    assert needs_motion("H phi M_hat")
    assert needs_motion("Ḣ*")
    assert not needs_motion("H phi M")


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("", "ends where a factor"),
        ("H psii M", r"column 3: no operator is named 'psii'; did you mean psi\?"),
        ("Hphi", "no operator is named 'Hphi'"),
        ("H phi M phi* H* )", "column 17: '\\)' is one too many"),
        ("(H phi", "column 1: this parenthesis is not closed"),
        ("H + ", "ends where a factor"),
        ("H phi + 2", "write 2 I"),
        ("1 + 2", "for twice the identity write 2 I"),
        ("3", "is a number"),
        ("H / phi", "only numbers"),
        ("H / 0", "only numbers"),
        ("2.inv()", "no operator is named .inv."),
        ("H.dense()", r"there are .T, .inv\(\), .simplify\(\) and .time_derivative\(\), not '.dense\(\)'"),
        ("H.__class__", "of an operator there are"),
        ("__import__('os')", "no operator is named '__import__'|means nothing here"),
        ("H; phi", "column 2: ';' means nothing here"),
        ("H[0]", "column 2: a number stands in front"),
        ("(" * 100 + "H" + ")" * 100, "more than 50 parentheses"),
        ("H " * 20000, "more than the 20000"),
        ("I + H", "no I can be added"),
        ("@ H", "'@' where a factor"),
    ],
)
def test_mistakes_are_pointed_at(op, formula, words):
    with pytest.raises(lw.InputError, match=words):
        parse_formula(formula, op)


@pytest.mark.parametrize("formula", ["H H", "H + phi", "M H"])
def test_spaces_that_do_not_fit(op, formula):
    with pytest.raises(lw.SpaceError, match="the formula, column 1: cannot"):
        parse_formula(formula, op)


def test_no_inverse(op):
    with pytest.raises(lw.NoRecursionError, match="column"):
        parse_formula("(phi + M)^-1", op)


# --- what could be read in two ways -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "column", "words"),
    [
        ("H φ M(1) φ* H*", 1, "blocks and numbers alone"),
        ("φ(k,k-1) M", 2, "block"),
        ("φ*(k+1,k)", 3, "block"),
        ("K(p,k)", 2, "block"),
        ("M( n )", 2, "block"),
        ("I(3)", 2, "block"),
        ("P(2) + P", 8, "added to blocks alone"),
        ("P(2).simplify()", 5, "array"),
        ("P (2)", 3, "in front of what it multiplies"),
        ("P 2", 3, "in front of what it multiplies"),
        ("I 3", 3, "in front of what it multiplies"),
        ("(H φ) 2", 7, "in front of what it multiplies"),
        ("2 3 P", 3, "in front of what it multiplies"),
        ("2(3)P", 2, "in front of what it multiplies"),
        ("H*2", 2, "star right behind an operator is its adjoint"),
        ("H**2", 2, "no power"),
        ("H**", 2, r"\(H\*\)\*"),
        ("H @ 2", 3, "between operators"),
        ("2 @ H", 3, "between operators"),
        ("H^2", 2, "powers"),
        ("P²", 2, "powers"),
        ("D^0.5", 2, "powers"),
        ("D^-1/2", 2, r"D\^\(-1/2\)"),
        ("M-1", 3, r"write 1 I; an inverse is M\^-1"),
        ("P/2H*", 4, "does 2 divide this as well"),
        ("1/2P", 4, "does 2 divide this as well"),
        ("(I - I)^-1", 8, "no inverse"),
        ("1e999 P", 1, "too large"),
        ("2 + P", 1, "write 2 I"),
    ],
)
def test_two_meanings_are_refused(op, formula, column, words):
    """The word points at the character."""
    with pytest.raises(lw.InputError, match=rf"column {column}: .*{words}"):
        parse_formula(formula, op)


@pytest.mark.parametrize(
    ("formula", "meaning"),
    [
        ("2P", "2 P"),
        ("(2)(P)", "2 P"),
        ("P * 2", "2 P"),
        ("P · 2", "2 P"),
        ("1/2 P", "0.5 P"),
        ("P/2", "0.5 P"),
        ("D⁻¹/2", "0.5 D⁻¹"),
        ("D^-1 / 2", "0.5 D⁻¹"),
        ("D^{-1}/2", "0.5 D⁻¹"),
        ("HφM(φ*H*)", "H φ M φ* H*"),
        ("φ(I + E_phi)", "φ (I + E_φ)"),
        ("(H φ)(M φ* H*)", "H φ M φ* H*"),
        ("P(I)", "P"),
        ("H -H", "0"),
        ("P *P", "P P"),
        ("2E_phi", "2 E_φ"),
        ("D^-½", "D^-½"),
        ("KH", "K H"),
        ("φSLH", "φ S L H"),
        ("[I + HφK]D[I + HφK]*", "(I + H φ K) D (I + H φ K)*"),
        ("D^{1/2} D^(1/2)*", "D^½ D^½*"),
        ("½ P", "0.5 P"),
        ("S Δ_φ", "S Δφ"),
        ("𝓔_φ P 𝓔_φ*", "E_φ P E_φ*"),
        (r"H \phi M \phi^* H^{*}", "H φ M φ* H*"),
        (r"\left( I - \psi K H \right)^{-1} \psi", "(I + φ K H) ψ"),
        (r"\tfrac{1}{2} \bar\tau P \cdot \bar{\tau}^*", "0.5 τ̄ P τ̄*"),
    ],
)
def test_what_has_one_meaning_is_read(op, formula, meaning):
    assert str(parse_formula(formula, op)) == meaning


def test_a_formula_may_be_read_without_a_state():
    leaves = unbound(lw.load("panda"))
    assert str(parse_expression("(H φ M φ* H*)⁻¹", leaves)) == "(I - H ψ K)* D⁻¹ (I - H ψ K)"


# --- blocks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("P(2)", lambda o: o.P[2]),
        ("φ(1,3)", lambda o: o.phi[1, 3]),
        ("φ*(1,3)", lambda o: o.phi[1, 3].T),
        ("(H φ M φ* H*)(2, 5)", lambda o: o.mass[2, 5]),
        ("φ(2,3) P⁺(3) φ*(2,3) + M(2)", lambda o: o.P[2]),
        ("H(3) P(3) H*(3)", lambda o: o.D[3]),
        ("2 G(3) - P(3) H*(3) D⁻¹(3)", lambda o: o.G[3]),
        ("D(3)⁻¹", lambda o: o.D_inverse[3]),
    ],
)
def test_blocks_are_arrays(op, text, meaning):
    found = lw.formula(text)(op)
    assert np.allclose(found, meaning(op), rtol=1e-11, atol=1e-11 * np.abs(found).max())


def test_the_papers_count_from_the_tip(op):
    found = lw.formula("P(1)", indices="papers")(op)
    assert np.array_equal(found, op.P[6])
    assert np.array_equal(lw.formula("φ(7,1)", indices="papers")(op), op.phi[0, 6])
    with pytest.raises(lw.InputError, match=r"1 … 7, from the tip; there is no 0"):
        lw.formula("P(0)", indices="papers")(op)
    tree = lw.load("quadruped")
    with pytest.raises(lw.InputError, match="branches"):
        lw.formula("P(1)", indices="papers")(tree.operators(tree.neutral()))


def test_a_formula_is_read_for_any_robot():
    mass = lw.formula("H φ M φ* H*")
    for name in ("ur5", "quadruped"):
        r = lw.load(name)
        q = r.random_configuration(1, 3)
        assert np.allclose(mass(r.operators(q)).dense(), r.mass_matrix(q), rtol=1e-12, atol=1e-12)
    assert repr(mass) == "lw.formula('H φ M φ* H*')" and mass == lw.formula("H φ M φ* H*")
    assert not mass.needs_motion and lw.formula("Ḣ*").needs_motion


def test_a_formula_of_what_is_no_robots_operators_is_refused(op):
    with pytest.raises(lw.InputError, match=r"robot\.operators"):
        lw.formula("H")(lw.load("ur5"))
    with pytest.raises(lw.InputError, match="is text"):
        lw.formula(3)
    with pytest.raises(lw.InputError, match=r"way to count bodies .* did you mean papers|ours, papers"):
        lw.formula("H", indices="paper")
    with pytest.raises(lw.InputError, match="means nothing"):
        lw.formula("H ; H")


def test_its_own_latex_reads_back(op):
    count = 0
    for name, _, side in printed_formulas(op):
        assert parse_formula(side.latex(), op) == side, name
        count += 1
    assert count > 200


def test_blocks_of_bodies_that_move_together(rng):
    """One block for a node; its bodies' names all mean it."""
    names = [j.name for j in lw.chain(4, seed=1).joints]
    r = lw.chain(4, seed=1).couple(names[2], names[1], ratio=0.5)
    q = r.random_configuration(rng)
    op = r.operators(q)
    assert np.array_equal(op.D[r.bodies[1].name], op.D[r.bodies[2].name])
    assert np.allclose(op.D[1], op.D.dense()[1:2, 1:2]) and op.D.shape == (3, 3)


# --- what is printed reads back as what it is ---------------------------------------------------------


@pytest.fixture(scope="module")
def coupled():
    """A robot whose joint maps turn in their bodies, so that H° is there."""
    names = [j.name for j in lw.chain(4, seed=1).joints]
    robot = lw.chain(4, seed=1).couple(names[2], names[1], ratio=0.5)
    rng = np.random.default_rng(1)
    return robot.operators(robot.random_configuration(rng), v=rng.normal(size=3), a=rng.normal(size=3))


DERIVATIVES = ["V_tilde", "M_hat", "F", "Omega_tilde", "H_dot", "phi", "psi", "K", "V", "mass", "tau_bar"]


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_read_back(op, name):
    found = getattr(op, name).time_derivative()
    for text in (str(found), found.latex()):
        assert lw.formula(text)(op) == found, text


@pytest.mark.parametrize("name", ["H", "phi", "P", "D", "G", "M_hat"])
def test_variations_read_back(op, coupled, name):
    """F[δθ], H°[δθ], P°[δθ]: the leaf along a vector, which is given again by its name."""
    robots = {"H": [coupled], "M_hat": [op]}  # (H does not change in the bodies of panda, M̂ has no rule for nodes)
    for o in robots.get(name, [op, coupled]):
        x = o.any_vector("δθ")
        found = getattr(o, name).variation(x)
        for text in (str(found), found.latex()):
            assert lw.formula(text)(o, δθ=x) == found, text


def test_derivatives_of_several_robots_read_back(op):
    robot = lw.chain(3, seed=2)
    other = robot.operators(robot.random_configuration(3), v=np.ones(3), a=np.ones(3))
    pair = lw.stack([[op.V_tilde.time_derivative(), 0], [0, other.M_hat.time_derivative()]])
    assert "Ṽ₁[α₁]" in str(pair)
    assert lw.formula(str(pair))(op, other) == pair
    assert lw.formula(pair.latex())(op, other) == pair


def test_a_partial_derivative_reads_back(op):
    found = op.phi.partial("panda_joint3")
    e = op.vector(np.eye(7)[2], name="e_panda_joint3")
    assert np.array_equal(lw.formula(str(found))(op, e_panda_joint3=e).dense(), found.dense())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ṽ[H]", "Ṽ along a vector x of joints or bodies, which this is not; where a product is meant, put a blank"),
        ("F[V]", "F along a vector x of joints, which this is not"),
        ("M̂[2]", "along a vector"),
        ("δ(H)", r"δ is not read: .*\.variation\(dtheta"),
        ("S_φφ H*", r"S_φφ is not read: .*op\.recursion"),
        ("S_ψ*ψ", r"S_ψ\*ψ is not read"),
        ("F[δθ]", r"δθ is a vector that somebody gave: .*formula\(op, δθ="),
        ("F[e_panda_joint3]", r"e_panda_joint3 is a vector that somebody gave"),
        ("𝓒", r"𝓒 is not read: .*H φ \(M φ\* a \+ b\)"),
        ("T' - T", "T' is not read"),
        ("H̃ V", "H̃ V is Ḣ"),
        ("Q[M V]", r"Q\[MV\] is Ṁ - 2 M̂"),
    ],
)
def test_what_no_letter_tells_is_refused_by_name(op, text, words):
    with pytest.raises(lw.InputError, match=words):
        lw.formula(text)(op)


def test_a_letter_with_a_vector_in_brackets_is_no_product(op):
    assert lw.formula("Ṽ[α]")(op).shape == (42, 42)
    assert lw.formula("Ṽ [α]")(op) == op.V_tilde @ op.alpha
    assert lw.formula("Ṽ[V]")(op) == op.V_tilde
    assert lw.formula("Ṽ[θ̈]")(op) == lw.formula("Ṽ[θ̈]")(op) and lw.formula("F[2 θ̈ + θ̇]")(op).shape == (42, 42)
    assert lw.formula("S[V]")(op) == -op.V_tilde.T
    assert np.allclose(lw.formula("S[H* θ̇]")(op).dense(), op.F.dense())
    assert lw.formula("H φ[M α + b]")(op) == op.H @ op.phi @ (op.M @ op.alpha + op.b)


def test_names_of_ones_own_keep_their_meaning_before_brackets(op):
    """S, F and E that were given are not those of the papers."""
    S, E = op.block_diagonal([np.eye(6)] * 7, name="X"), op.block_diagonal([np.eye(6)] * 7, name="Y")
    assert lw.formula("S[V]")(op, S=S) == S @ op.V and lw.formula("F[θ̇]")(op, F=op.H.T) == op.H.T @ op.theta_dot
    assert lw.formula("E g", paper="JPL")(op, E=E) == E @ op.g


def test_cross_matrices_are_those_of_the_papers(op):
    """S[X]Y = X ×* Y and Ṽ[X]Y = X × Y, block by block."""
    x = op.alpha[3]
    w, v = np.cross(np.eye(3), x[:3]), np.cross(np.eye(3), x[3:])
    wanted = np.block([[w, v], [np.zeros((3, 3)), w]])
    assert np.allclose(lw.formula("S[α]")(op)[3], wanted)


@pytest.mark.parametrize(
    ("letter", "of"), [("ψ̇", "psi"), ("K̇", "K"), ("𝓜̇", "mass"), ("ṁ", "m"), ("ℓ̇", "ell"), ("φ̇", "phi"), ("Ṗ", "P")]
)
def test_dotted_letters_are_rates_in_inertial_axes(op, letter, of):
    wanted = getattr(op, of).time_derivative(axes="inertial")
    assert lw.formula(letter)(op) == wanted == getattr(op, f"{of}_dot")


def test_the_rate_of_the_mass_matrix(op):
    robot = lw.load("panda")
    h = 1e-6
    ahead, behind = (robot.mass_matrix(robot.integrate(op.q, s * h * op.v)) for s in (1, -1))
    assert np.allclose(lw.formula("𝓜̇")(op).dense(), (ahead - behind) / (2 * h), atol=1e-7)
    assert np.allclose(lw.formula(r"\dot m m^* + m \dot{m}^*")(op).dense(), lw.formula("𝓜̇")(op).dense(), atol=1e-10)
    assert np.allclose(lw.formula("ℓ̇")(op).dense(), lw.formula("-ℓ ṁ ℓ")(op).dense(), atol=1e-9)


# --- spellings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (r"\dot{\theta}", "θ̇"),
        (r"\ddot{\theta}", "θ̈"),
        (r"\mathcal{E}_{\phi}", "E_φ"),
        (r"\mathcal E_\phi", "E_φ"),
        (r"\phi^\ast", "φ*"),
        (r"\phi^{\ast} H^{\top}", "φ* H*"),
        (r"\frac12 P", "0.5 P"),
        (r"\dfrac{1}{2} P", "0.5 P"),
        (r"\hat M V", "M̂ V"),
        (r"\hat MV", "M̂ V"),
        (r"\dot H^*", "Ḣ*"),
        (r"P^+", "P⁺"),
        (r"\tilde{\phi}", "φ̃"),
        (r"\bar{\tau}", "τ̄"),
        (r"\begin{pmatrix} H & 0 \\ 0 & \phi \end{pmatrix}", "[H, 0; 0, φ]"),
        ("V⁺", "E_φ* V"),
        ("α⁺", "E_φ* α + g"),
    ],
)
def test_spellings(op, text, meaning):
    assert str(lw.formula(text)(op)) == meaning


MISMATCHED = [("(H]", 3), ("[H)", 3), ("{H]", 3), ("H (φ + I]", 9), ("[H, 0; 0, φ)", 12)]


@pytest.mark.parametrize(("text", "column"), MISMATCHED)
def test_brackets_match(op, text, column):
    with pytest.raises(lw.InputError, match=f"column {column}: .* closes what"):
        lw.formula(text)(op)


def test_numbers_of_robots_stand_below_what_is_above(op):
    robot = lw.chain(3, seed=2)
    other = robot.operators(robot.random_configuration(3))
    for text, meaning in [
        ("P₁⁺", op.P_plus),
        ("P₂⁺", other.P_plus),
        ("D_1^½", op.D_root),
        ("D₂^{-1/2}", other.D_root_inverse),
        ("I₁ + φ₁", op.I + op.phi),
        ("P_{2}^{+}", other.P_plus),
    ]:
        assert lw.formula(text)(op, other) == meaning, text
    for text in ("I₁ + φ₂", "φ₂ I₁"):
        with pytest.raises(lw.InputError, match="another robot"):
            lw.formula(text)(op, other)


def test_names_of_ones_own(op):
    x = op.vector(np.ones(42), "bodies", name="x₁")
    for own in ({"x₁": x}, {"x_1": x}):
        assert lw.formula(str(op.M @ x))(op, **own) == op.M @ x
    y = op.vector(np.ones(7), name="δθ")
    assert lw.formula("H* δθ")(op, δθ=y) == op.H.T @ y
    assert lw.formula("T - 𝓒")(op, C=y) == lw.formula("T - 𝓒")(op, **{"𝓒": y}) == op.T - y
    assert lw.formula("𝓜 x")(op, M=op.I_joints, x=y) == op.mass @ y  # (𝓜 is not the M that was given)


@pytest.mark.parametrize("name", ["V", "T", "φ", "a", "I", "N", "KH", "T_1", "Ω̃", "V⁺", "S_φφ", "D⁻¹", r"\phi"])
def test_names_that_mean_something_are_refused(op, name):
    make = [
        lambda: op.vector(np.ones(42), "bodies", name=name),
        lambda: op.block_diagonal([np.eye(6)] * 7, name=name),
        lambda: op.matrix(np.eye(7), "joints", "joints", name=name),
        lambda: op.any_vector(name),
        lambda: op.recursion(op.M, "φφ", name),
    ]
    for call in make:
        with pytest.raises(lw.InputError, match="take another name, such as|take a letter or a word"):
            call()


@pytest.mark.parametrize("name", ["", " ", "1", "f ext", "x*", "x(2)", "2x", "x y", " x", 3, None])
def test_names_that_do_not_read_back_are_refused(op, name):
    with pytest.raises(lw.InputError, match="word"):
        op.vector(np.ones(7), name=name)


@pytest.mark.parametrize("name", ["x", "f_ext", "x_1", "ω", "δθ̇", "Q", "C", "X0", "lambda_1"])
def test_names_that_read_back(op, name):
    x = op.vector(np.ones(7), name=name)
    assert lw.formula(str(op.H.T @ x))(op, **{name: x}) == op.H.T @ x


# --- equations ----------------------------------------------------------------------------------------


def test_equations_are_pairs(op):
    left, right = lw.formula("T = H f")(op)
    assert left == op.T and right == op.H @ op.f
    assert lw.formula("(I - E_φ) φ = I")(op) == ((op.I - op.E_phi) @ op.phi, op.I)
    zero = lw.formula("H τ̄ = 0")(op)[1]
    assert zero.shape == (7, 42) and not zero.dense().any()
    blocks = lw.formula("V(2) = φ*(1,2) V(1) + H*(2) θ̇(2)")(op)
    assert np.allclose(*blocks)
    one, two = (s.text for s in lw.formula("ψ⁻¹ = φ⁻¹ + K H", paper="OA").sides)
    assert (one, two) == ("ψ⁻¹", "φ⁻¹ + K H")


def test_equations_are_what_is_proved(op):
    claim = lw.formula("ψ⁻¹ = φ⁻¹ + K H")
    for proof in (lw.prove(*claim.sides), lw.prove(*claim(op))):
        assert proof and proof.steps
        for step in proof.steps:
            before, after = lw.formula(step.formula)(op)
            assert (str(before), str(after)) == tuple(step.formula.split(" = "))
    assert not lw.prove(*lw.formula("ψ P = P ψ").sides)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("T = H f = T", "one equation has one ="),
        ("H = ", "ends where a factor"),
        ("P = P(2)", "a block equals blocks alone"),
        ("H = I", "it equals no I"),
        ("M = 2", "write 2 I"),
        ("1 = 2", "neither side"),
    ],
)
def test_equations_that_are_none(op, text, words):
    with pytest.raises(lw.InputError, match=words):
        lw.formula(text)(op)
    with pytest.raises(lw.SpaceError, match="the left side maps"):
        lw.formula("T = V")(op)
    with pytest.raises(lw.InputError, match="an equation, and one formula is wanted"):
        parse_formula("T = H f", op)


def test_near_names(op):
    with pytest.raises(AttributeError, match=r"no operator is named 'Phii'; did you mean Phi"):
        op.Phii  # noqa: B018
    assert not hasattr(op, "nothing_like_it")
