"""The papers' equations typed as they are printed, in each paper's own letters: both sides give the same numbers.

Where a paper misprints one (docs/errata.md), the printed form is refused or gives other numbers, and the corrected one
holds. (Identities between operators alone are tested one by one in tests/laws; here are those with vectors, and the
definitions.) Gravity is written a + g, where the papers leave it out or let the base accelerate.
"""

import numpy as np
import pytest

import linkwise as lw

# (paper, where, left, right), for arms of hinges. W is I − HψK there; T is what the motion (θ, θ̇, θ̈) takes.
EQUATIONS = [
    ("OA", "(2.1)", "J θ̇", "B* φ* H* θ̇"),
    ("OA", "§2, V(k)", "V", "E_φ* V + H* θ̇"),
    ("OA", "§2, T = J*f", "J* x", "H φ B x"),
    ("OA", "§2, V(k), by blocks", "V", "V⁺ + H* θ̇"),
    ("OA", "(3.1)", "T", "𝓜 θ̈ + H φ (M φ* (a + g) + b)"),
    ("OA", "(3.2)", "𝓜", "H φ M φ* H*"),
    ("OA", "(3.4)", "J*", "H φ B"),
    ("OA", "(3.5), (3.6)", "𝓜 θ̈", "T - H φ (M φ* (a + g) + b)"),
    ("OA", "(4.1)", "P", "E_ψ P E_φ* + M"),
    ("OA", "(4.2), (4.3)", "E_ψ", "E_φ (I - G H)"),
    ("OA", "(4.4)", "𝓜", "(I + H φ K) D (I + H φ K)*"),
    ("OA", "(4.5)", "(I + H φ K)⁻¹", "I - H ψ K"),
    ("OA", "(4.6)", "𝓜⁻¹", "(I - H ψ K)* D⁻¹ (I - H ψ K)"),
    ("OA", "(4.7), (4.8)", "θ̈", "(I - H ψ K)* D⁻¹ (I - H ψ K) (T - H φ (M φ* (a + g) + b))"),
    ("OA", "(5.1)", "(I - H ψ K) H φ", "H ψ"),
    ("OA", "(5.2), (5.3)", "𝓜⁻¹ J* x", "(I - H ψ K)* D⁻¹ H ψ B x"),
    ("OA", "(5.4), (5.5)", "J 𝓜⁻¹ J*", "B* ψ* H* D⁻¹ H ψ B"),
    ("OA", "(5.5), by Ω", "J 𝓜⁻¹ J*", "B* Υ B"),
    ("OA", "§6, ε and ν", "(D^½ (I + H φ K)* θ̇)* (D^-½ (I - H ψ K) T)", "θ̇* T"),
    ("JPL", "(3.11), (3.12)", "V", "φ* H* θ̇"),
    ("JPL", "(3.13)", "B* V", "J θ̇"),
    ("JPL", "(3.14), (3.15)", "α", "φ* (H* θ̈ + a + g)"),
    ("JPL", "(3.16)", "f", "φ (M α + b)"),
    ("JPL", "(3.16), (3.17)", "f", "φ (M φ* (H* θ̈ + a + g) + b)"),
    ("JPL", "(3.18), typed whole", "T", "H φ (M α + b)"),
    ("JPL", "(3.8), (3.21)", "a + E g", "a + g"),
    ("JPL", "(2.17), a", "a", "Ė_φ* V + Ḣ* θ̇"),
    ("JPL", "§2, Ṁ", "Ṁ", "Ω̃ M - M Ω̃"),
    ("JPL", "(3.18)", "T", "H f"),
    ("JPL", "(3.19), (3.20)", "T", "H φ M φ* H* θ̈ + H φ (M φ* (a + g) + b)"),
    ("JPL", "(4.9), (4.10)", "Ψ", "ψ S"),
    ("JPL", "(4.11)", "𝓜", "(I + H Φ L) D (I + H Φ L)*"),
    ("JPL", "(4.14)", "(I + H Φ L)⁻¹", "I - H Ψ L"),
    ("JPL", "(4.16)", "𝓜⁻¹", "(I - H Ψ L)* D⁻¹ (I - H Ψ L)"),
    ("JPL", "(4.17)–(4.22), FD1", "θ̈", "(I - H Ψ L)* D⁻¹ (I - H Ψ L) (T - H φ (M φ* (a + g) + b))"),
    ("JPL", "(5.4)", "(I - H Ψ L) H φ", "H ψ"),
    ("JPL", "(5.5), (5.6), FD2", "φ* H* θ̈", "ψ* H* D⁻¹ (I - H Ψ L) (T - H φ (M φ* (a + g) + b))"),
    ("JPL", "(5.8)–(5.10), FD3", "θ̈", "(I - H Ψ L)* D⁻¹ (T - H ψ (S L T + M φ* (a + g) + b))"),
    ("JPL", "(5.11)", "ψ̃", "ψ - I"),
    ("JPL", "(5.12)", "G", "P H* D⁻¹"),
    (
        "JPL",
        "(5.13)–(5.15), FD4",
        "θ̈",
        "(I - H Ψ L)* D⁻¹ ((I - H Ψ L) T - H ψ̃ P (a + g) - H ψ b) - L* Ψ* (I - G H)* (a + g) - G* (a + g)",
    ),
    ("JPL", "(a.4)", "E_φ", "S Δ_φ"),
    ("JPL", "(a.5)", "E_ψ", "S Δ_ψ"),
    ("JPL", "(a.6)", "Φ", "φ S"),
    ("UF", "(17), V", "V", "E_φ* V + H* β"),
    ("UF", "(17), f", "f", "E_φ f + M φ* (H* β̇ + a + g) + b"),
    ("UF", "(17), α⁺", "α", "α⁺ + H* β̇ + a"),
    ("UF", "(20)", "φ⁻¹", "I - E_φ"),
    ("UF", "(15), a", "a", "Ė_φ* V + Ḣ* β"),
    ("UF", "(17), α", "α", "E_φ* α + H* β̇ + a + g"),
    ("UF", "(17), f by α", "f", "E_φ f + M α + b"),
    ("UF", "(21), V", "V", "φ* H* β"),
    ("UF", "(21), α", "α", "φ* (H* β̇ + a + g)"),
    ("UF", "(21), f by α", "f", "φ (M α + b)"),
    ("UF", "(21), f", "f", "φ (M φ* (H* β̇ + a + g) + b)"),
    ("UF", "(21), T", "T", "𝓜 β̇ + H φ (M φ* (a + g) + b)"),
    ("UF", "(26)", "M", "R - E_φ R E_φ*"),
    ("UF", "(27)", "φ M φ*", "R + φ̃ R + R φ̃*"),
    ("UF", "(28)", "𝓜", "H (R + φ̃ R + R φ̃*) H*"),
    ("UF", "(39)", "H τ̄", "0 H"),
    ("UF", "(41)", "P⁺", "τ̄ P τ̄*"),
    ("UF", "(42)", "E_ψ", "E_φ τ̄"),
    ("UF", "(54)", "ψ⁻¹", "I - E_ψ"),
    ("UF", "Lemma 6.1", "ψ⁻¹", "φ⁻¹ + K H"),
    ("UF", "(56)", "β̇", "(I - H ψ K)* D⁻¹ (I - H ψ K) (T - H φ (M φ* (a + g) + b))"),
    (
        "UF",
        "Lemma 6.5",
        "β̇",
        "(I - H ψ K)* D⁻¹ (T - H ψ (K T + P (a + g) + b)) - K* ψ* (a + g)",
    ),
    ("LD", "(2.5)", "f", "Φ (M α + Ṁ V)"),
    ("LD", "(2.6)", "Ṁ", "Ω̃ M + M Ω̃*"),
    ("LD", "(2.7), Ṁ", "Ṁ V", "M̂ V"),
    ("LD", "(2.7), Ω̃", "Ω̃ M V", "M̂ V"),
    ("LD", "§2, Ω̃", "Ω̃", "S[V]"),
    ("LD", "(2.8)", "M̂ V", "b"),
    ("LD", "(2.13), Ḣ", "Ḣ*", "-Ω̃* H*"),
    ("LD", "(2.13)", "Ḣ* θ̇", "a"),
    ("LD", "(2.17)", "Φ", "(I - E)⁻¹"),
    ("LD", "(2.18)", "E Φ", "Φ̃"),
    ("LD", "(2.19), V", "V", "Φ* H* θ̇"),
    ("LD", "(2.19), α", "α", "Φ* (H* θ̈ + Ḣ* θ̇ + g)"),
    ("LD", "(2.19), f", "f", "Φ (M α + M̂ V)"),
    ("LD", "(2.20), C", "T - 𝓜 θ̈", "H Φ (M̂ V + M Φ* (Ḣ* θ̇ + g))"),
    ("LD", "(4.6)", "𝓜", "(I + H Φ K) D (I + H Φ K)*"),
    ("LD", "(4.9)", "𝓜⁻¹ H Φ M Φ*", "(I - H ψ K)* D⁻¹ H ψ P + K* ψ*"),
    ("LD", "(4.12)", "M̂", "P̂ - E_ψ P̂ E*"),
    ("LD", "(4.21), L, U", "𝓜⁻¹", "L - K* ψ* U* - U ψ K"),
    ("LD", "(4.20)", "ψ* H* D⁻¹ H ψ", "Υ + ψ̃* Υ + Υ ψ̃"),
    ("DD", "(4.3), (4.4)", "T", "H φ (M φ* (H* θ̈ + a + g) + b)"),
    ("DD", "(4.3), α", "α", "φ* (H* θ̈ + a + g)"),
    ("DD", "(4.3), f", "f", "φ (M α + b)"),
    ("DD", "Table 4, row 1", "Ė_φ", "E_φ F + Ω̃ E_φ - E_φ Ω̃"),
    ("DD", "Table 4, row 3", "Ḣ", "-H Ω̃"),
    ("DD", "Table 4, row 4", "Ṁ", "Ω̃ M - M Ω̃"),
    ("DD", "Table 4, row 6", "Ġ", "G° + Ω̃ G"),
    ("DD", "(6.6)", "Ṗ", "P° + Ω̃ P - P Ω̃"),
    ("DD", "(5.3), V⁺", "D^-½ m* θ̇", "θ̇ + G* V⁺"),
    ("DD", "Algorithm 6.1, hinges", "Π̇", "P° + Ω̃_δ P - P Ω̃_δ"),
    ("DD", "(7.10), hinges", "Π̇", "E_ψ Π̇ E_ψ* + Ω̃_δ P - P Ω̃_δ"),
    ("DD", "(4.11)", "ψ⁻¹ - φ⁻¹", "K H"),
    ("DD", "(5.1)", "m", "(I + H φ K) D^½"),
    ("DD", "(5.1), ℓ", "ℓ", "D^-½ (I - H ψ K)"),
    ("DD", "(5.2)", "𝓜⁻¹", "ℓ* ℓ"),
    ("DD", "Table 2", "θ̇", "ℓ* m* θ̇"),
    ("DD", "Table 3", "T", "m ℓ T"),
    ("DD", "(5.3)", "D^-½ m* θ̇", "θ̇ + G* E_φ* V"),
    ("DD", "Lemma 7.2 (7.6)", "(m* θ̇)* ℓ T", "T* θ̇"),
    ("DD", "(7.7), energy", "½ V* M V", "½ ((I + H φ K)* θ̇)* D (I + H φ K)* θ̇"),
    ("DD", "(8.5)", "J θ̇", "B* φ* H* θ̇"),
]

# Quantities of the catalogue, typed: (paper, where, text, what of the robot it is).
QUANTITIES = [
    ("LD", "(3.1), A_D", "2 H Φ (M̂ Φ* H* + M Φ* Ḣ*)", lambda r, s: r.linearize_inverse(s.q, s.v, s.a).dv),
    ("LD", "(3.1), B_D", "H Φ (𝓕 + 2 M̂ Φ* Ḣ* + M Φ* Ḧ*)", lambda r, s: r.linearize_inverse(s.q, s.v, s.a).dq),
    (
        "LD",
        "(4.11), A_C",
        "2 (I - H ψ K)* D⁻¹ H ψ (M̂ Φ* H* + P Ḣ*) + 2 K* ψ* Ḣ*",
        lambda r, s: -r.linearize_forward(s.q, s.v, s.tau).dv,
    ),
    (
        "LD",
        "(4.11), B_C",
        "(I - H ψ K)* D⁻¹ H ψ (𝓕 + 2 M̂ Φ* Ḣ* + P Ḧ*) + K* ψ* Ḧ*",
        lambda r, s: -r.linearize_forward(s.q, s.v, s.tau).dq,
    ),
    (
        "LD",
        "(4.13), A_C",
        "(I - H ψ K)* (D⁻¹ H ψ (2 P̂ H* + 2 P Ḣ*) + 2 K̂* Φ* H*) + 2 K* ψ* Ḣ*",
        lambda r, s: -r.linearize_forward(s.q, s.v, s.tau).dv,
    ),
    ("DD", "(1.3), ν", "D^½ (I + H φ K)* θ̇", lambda r, s: r.total_rates(s.q, s.v)),
    ("DD", "(1.4), ε", "D^-½ (I - H ψ K) T", lambda r, s: r.working_forces(s.q, s.tau)),
    (
        "DD",
        "(7.1), C(θ, ν)",
        "½ D^-½ H ψ (E_ψ Π̇ - Π̇ E_ψ* - F P + P F* - 2 Ṽ* M) φ* H* θ̇",
        lambda r, s: r.diagonal_coriolis(s.q, r.total_rates(s.q, s.v)),
    ),
]

# (paper, where, printed, corrected): the printed right side is refused, or is not the left one.
MISPRINTED = [
    ("JPL", "(5.13)", "V", "B* φ* H* θ̇", "φ* H* θ̇"),
    ("JPL", "abstract", "𝓜⁻¹", "(I - H Φ L)* D⁻¹ (I - H Φ L)", "(I - H Ψ L)* D⁻¹ (I - H Ψ L)"),
    (
        "JPL",
        "FD3, proof",
        "θ̈",
        "(I - H Ψ L)⁻¹ D⁻¹ (T - H ψ (S L T + M φ* (a + g) + b))",
        "(I - H Ψ L)* D⁻¹ (T - H ψ (S L T + M φ* (a + g) + b))",
    ),
    (
        "UF",
        "Lemma 6.5",
        "β̇",
        "(I - H ψ K)* D⁻¹ (T - H ψ (K T + P (a + g) + b)) - ψ* K* (a + g)",
        "(I - H ψ K)* D⁻¹ (T - H ψ (K T + P (a + g) + b)) - K* ψ* (a + g)",
    ),
    ("DD", "§3, θ̇ = ℓν", "θ̇", "ℓ m* θ̇", "ℓ* m* θ̇"),
    ("LD", "(4.12)", "K̂ D", "E P̂ H*", "E P̂* H*"),
]


class Motion:
    """A state of a robot, and its operators with the force x at the tip."""

    def __init__(self, robot, seed=0):
        rng = np.random.default_rng(seed)
        self.robot, self.q = robot, robot.random_configuration(rng)
        self.v, self.a, self.x = rng.normal(size=robot.nv), rng.normal(size=robot.nv), rng.normal(size=6)
        self.tau = robot.inverse_dynamics(self.q, self.v, self.a)
        self.op = robot.operators(self.q, v=self.v, a=self.a, frames=robot.tips[0])
        self.own = {"x": self.op.vector(self.x, "tips")}

    def typed(self, text, paper):
        return lw.formula(text, paper=paper)(self.op, **self.own)


@pytest.fixture(scope="module", params=["panda", "chain5"])
def motion(request):
    return Motion(lw.load("panda") if request.param == "panda" else lw.chain(5, seed=3))


def apart(left, right):
    """How far two sides are apart, relative to their size."""
    A, B = left.dense(), right.dense()
    assert A.shape == B.shape
    return np.abs(A - B).max() / max(np.abs(A).max(), np.abs(B).max(), 1e-3)


@pytest.mark.parametrize(("paper", "where", "left", "right"), EQUATIONS, ids=[f"{p} {w}" for p, w, _, _ in EQUATIONS])
def test_both_sides_are_the_same(motion, paper, where, left, right):
    assert apart(motion.typed(left, paper), motion.typed(right, paper)) < 1e-9


@pytest.mark.parametrize(("paper", "where", "text", "call"), QUANTITIES, ids=[f"{p} {w}" for p, w, _, _ in QUANTITIES])
def test_quantities_of_the_catalogue(motion, paper, where, text, call):
    typed, wanted = motion.typed(text, paper), call(motion.robot, motion)
    found = typed.value if typed.is_vector else typed.dense()
    assert np.abs(found - wanted).max() < 1e-8 * np.abs(wanted).max()


@pytest.mark.parametrize(
    ("paper", "where", "left", "printed", "corrected"), MISPRINTED, ids=[f"{p} {w}" for p, w, *_ in MISPRINTED]
)
def test_misprints_do_not_pass(motion, paper, where, left, printed, corrected):
    assert apart(motion.typed(left, paper), motion.typed(corrected, paper)) < 1e-9
    try:
        wrong = motion.typed(f"{left} - ({printed})", paper)
    except lw.SpaceError as e:
        assert "cannot add" in str(e) or "cannot multiply" in str(e)
    else:
        assert np.abs(wrong.dense()).max() > 1e-6


def test_every_numbered_identity_reads_back_as_it_is_printed():
    """All of lw.identities(): the text and the LaTeX of both sides, on a robot for which each holds."""
    op = Motion(lw.chain(4, seed=1)).op
    count = 0
    for rule in lw.identities():
        if rule.free or not rule.admits(op):
            continue
        for side in rule.sides(op):
            if "S_" in str(side) or "_{" in str(side) or str(side) in ("I", "0"):
                continue  # recursions driven by an X of one's own have no letter; a bare I may be of any space
            for text in (str(side), side.latex()):
                assert lw.formula(text)(op).expression.key == side.expression.key, (rule.name, text)
                count += 1
    assert count > 400


# --- accelerations ------------------------------------------------------------------------------------

ACCELERATIONS = [("α", "φ* (H* θ̈ + a + g)"), ("f", "φ (M α + b)"), ("α", "E_φ* α + H* θ̈ + a + g")]


@pytest.mark.parametrize("paper", [None, "OA", "JPL", "UF", "LD", "DD"])
@pytest.mark.parametrize("kind", ["tree", "sliding", "balls", "coupled"])
def test_accelerations_of_a_paper_belong_together(kind, paper):
    """α, a, b, f are all classical or all spatial ones: of trees, any joints, nodes of coupled ones."""
    chain = lw.chain(4, seed=1)
    robot = {
        "tree": lambda: lw.load("quadruped"),
        "sliding": lambda: lw.chain(4, seed=2, joint="prismatic"),
        "balls": lambda: lw.chain(3, seed=2, joint="spherical"),
        "coupled": lambda: chain.couple(chain.joints[2].name, chain.joints[1].name, ratio=0.5),
    }[kind]()
    motion = Motion(robot)
    for left, right in ACCELERATIONS:
        assert apart(motion.typed(left, paper), motion.typed(right, paper)) < 1e-12, (left, right)


def test_classical_accelerations_are_those_of_points():
    """α of JPL, without gravity, is d/dt of the velocity of the body's own point, as differences see it."""
    robot = lw.chain(4, seed=5).with_gravity([0.0, 0.0, 0.0])
    m, h = Motion(robot, 3), 1e-5
    frames = [b.name for b in robot.bodies]

    def velocities(t):
        q = robot.integrate(m.q, t * m.v + 0.5 * t * t * m.a)
        return [robot.velocity(q, m.v + t * m.a, frame)[3:] for frame in frames]

    ahead, behind = velocities(h), velocities(-h)
    classical = m.typed("α", "JPL").value.reshape(-1, 6)[:, 3:]
    for k, frame in enumerate(frames):
        R = robot.pose(m.q, frame)[0]
        assert np.allclose(R @ classical[k], (ahead[k] - behind[k]) / (2 * h), atol=1e-7)


@pytest.mark.parametrize(
    ("paper", "text"), [("LD", "Ṗ"), ("LD", "S"), ("LD", "Ω"), ("DD", "Ḧ*"), ("DD", "Ω"), ("UF", "Ḧ")]
)
def test_letters_that_a_paper_uses_otherwise_are_refused_by_name(motion, paper, text):
    with pytest.raises(lw.InputError, match=f"is not read with paper='{paper}': "):
        motion.typed(text, paper)


def test_the_turn_between_bodies_is_that_of_hinges():
    """Ω̃_δ of DD is wrong for other joints (docs/errata.md), and is refused there with what to write."""
    motion = Motion(lw.chain(4, seed=2, joint="prismatic"))
    with pytest.raises(lw.NotAdmittedError, match=r"right for hinges alone.*-F\* where it stands on the right"):
        motion.typed("Ω̃_δ P", "DD")
