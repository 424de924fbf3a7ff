"""One definition, several interpreters: the scalar program is the algorithm, and its price is exact."""

import numpy as np
import pytest
from trees import assert_close, robot, state

import linkwise as lw
from linkwise.symbols.operations import Operations
from linkwise.symbols.outputs import count, evaluate
from linkwise.symbols.scalar import Graph

ROBOTS = ["panda", "ur5", "humanoid", "quadruped", "chain6", "tree", "floating", "arms", "tree_rotors"]


def operators(r, q):
    return r.operators(q, frames=r.tips[:1])


# function of (robot, q, x) as an operator formula, and the hand-written sweeps for the same.
PAIRS = {
    "mass": (lambda r, q, x: operators(r, q).mass @ x, lambda r, q, x: r.mass_times(q, x)),
    "inverse mass": (lambda r, q, x: operators(r, q).mass.inv() @ x, lambda r, q, x: r.mass_solve(q, x)),
    "J": (lambda r, q, x: operators(r, q).J @ x, lambda r, q, x: r.velocity(q, x, r.tips[0])),
}


def traced(r, function, **sizes):
    """The outputs of a function as a scalar program of inputs with these names and sizes."""
    graph = Graph()
    return np.ravel(function(r, *(graph.inputs(name, n) for name, n in sizes.items()))).tolist()


def counted(r, function):
    return count(traced(r, function, q=r.nq, x=r.nv))


# --- the same numbers --------------------------------------------------------------------------------

FUNCTIONS = {
    "forward_dynamics": lambda r, q, v, tau: r.forward_dynamics(q, v, tau),
    **{
        f"forward_dynamics ({m})": (lambda r, q, v, tau, m=m: r.forward_dynamics(q, v, tau, method=m))
        for m in ("fd1", "fd2", "fd3", "fd4", "composite_cholesky", "triangular", "bae_haug")
    },
    "inverse_dynamics": lambda r, q, v, a: r.inverse_dynamics(q, v, a),
    "inverse_dynamics (composite_body)": lambda r, q, v, a: r.inverse_dynamics(q, v, a, method="composite_body"),
    "mass_matrix": lambda r, q, v, a: r.mass_matrix(q),
    "mass_matrix (symmetric)": lambda r, q, v, a: r.mass_matrix(q, method="symmetric"),
    "mass_matrix_inverse": lambda r, q, v, a: r.mass_matrix_inverse(q),
    "coriolis_matrix": lambda r, q, v, a: r.coriolis_matrix(q, v),
    "jacobian": lambda r, q, v, a: r.jacobian(q, r.tips[0]),
    "acceleration": lambda r, q, v, a: r.acceleration(q, v, a, r.tips[0]),
    "centroidal_bias": lambda r, q, v, a: r.centroidal_bias(q, v),
    "kinetic_energy": lambda r, q, v, a: r.kinetic_energy(q, v),
    "operational_compliance": lambda r, q, v, a: r.operational_compliance(q, r.tips[0]),
    "operator mass": lambda r, q, v, a: operators(r, q).mass @ a,
    "operator inverse mass": lambda r, q, v, a: operators(r, q).mass.inv() @ a,
    "operator inverse mass, dense": lambda r, q, v, a: operators(r, q).mass.inv().apply_columns(np.eye(r.nv)),
    "operator compliance": lambda r, q, v, a: (operators(r, q).J @ operators(r, q).mass.inv()) @ a,
}


# Each on one of the robots, in turn: what differs between robots is no matter of symbols.
IN_TURN = [(name, ("panda", "floating", "arms")[i % 3]) for i, name in enumerate(FUNCTIONS)]


@pytest.mark.parametrize(("name", "robot_name"), IN_TURN)
def test_symbols_compute_what_numpy_computes(name, robot_name):
    r = robot(robot_name)
    s = state(r, (), seed=4)
    program = traced(r, FUNCTIONS[name], q=r.nq, v=r.nv, x=r.nv)
    found = evaluate(program, {"q": s.q, "v": s.v, "x": s.a})
    assert_close(np.array(found), np.ravel(FUNCTIONS[name](r, s.q, s.v, s.a)), 1e-12)


def test_programs_come_out_the_same_in_every_run():
    r = robot("panda")
    a, b = (traced(r, FUNCTIONS["forward_dynamics"], q=7, v=7, tau=7) for _ in range(2))
    assert count(a) == count(b)
    s = state(r, ())
    values = {"q": s.q, "v": s.v, "tau": s.tau}
    assert evaluate(a, values) == evaluate(b, values)


# --- exact counts ------------------------------------------------------------------------------------


def test_pendulum_costs_what_its_formula_costs():
    """θ̈ = (τ − mgl sin θ)/(ml²): one sine, two products, one difference; all else folds away."""
    r = lw.assemble("p", [lw.Body("bob", lw.Revolute("y"), lw.Inertia.point(2.0, (0, 0, -0.5)))])
    program = traced(r, FUNCTIONS["forward_dynamics"], q=1, v=1, tau=1)
    assert count(program) == Operations(additions=1, multiplications=2, sines=1)
    assert count(traced(r, lambda r, q: r.mass_matrix(q), q=1)) == Operations()


def test_slider_costs_nothing_to_speak_of():
    """m ẍ = f + m g: one product, one sum."""
    r = lw.assemble("s", [lw.Body("block", lw.Prismatic("z"), lw.Inertia.box(2.0, (1, 1, 1)))])
    program = traced(r, FUNCTIONS["forward_dynamics"], q=1, v=1, tau=1)
    assert count(program) == Operations(additions=1, multiplications=1)


def test_turntable_with_a_slider():
    """M = diag(I + m x², m): x², m x² and one sum. T₁ of inverse dynamics: (I + m x²) a + 2 m x ẋ ω."""
    bodies = [
        lw.Body("table", lw.Revolute("z"), lw.Inertia(1.0, (0, 0, 0), (1, 1, 2))),
        lw.Body("slider", lw.Prismatic("x"), lw.Inertia.point(0.5), "table"),
    ]
    r = lw.assemble("turntable", bodies)
    M = traced(r, lambda r, q: r.mass_matrix(q), q=2)
    assert count(M) == Operations(additions=1, multiplications=2)
    assert evaluate(M, {"q": [0.3, 0.8]}) == [2 + 0.5 * 0.8**2, 0.0, 0.0, 0.5]


@pytest.mark.parametrize("name", ["mass", "inverse mass"])
def test_explain_counts_the_same(name):
    """From q on, for one vector."""
    r = robot("panda")
    o = r.operators(r.neutral(), frames=r.tips[0])
    op = {"mass": o.mass, "inverse mass": o.mass.inv()}[name]
    assert op.explain().operations == counted(r, PAIRS[name][0])


# --- formulas cost what hand-written sweeps cost -----------------------------------------------------


@pytest.mark.parametrize(
    ("name", "robot_name"), [(n, r) for i, r in enumerate(ROBOTS) for k, n in enumerate(PAIRS) if (i + k) % 3]
)
def test_formulas_are_within_five_percent_of_the_sweeps(name, robot_name):
    formula, sweeps = (counted(robot(robot_name), f).total for f in PAIRS[name])
    assert formula <= 1.05 * sweeps, f"{formula} operations against {sweeps}"
    assert formula >= 0.95 * sweeps, "the hand-written sweeps waste operations"


def test_tip_force_correction_as_a_formula():
    """(I − HψK)* D⁻¹ HψB f against the hand-written correction (OA (5.2))."""
    r = robot("panda")

    def formula(r, q, f):
        o = operators(r, q)
        return (o.mass.inv() @ o.J.T).simplify() @ f

    def sweeps(r, q, f):
        return r.tip_force_correction(q, f, r.tips[0])[0]

    costs = [count(traced(r, f, q=r.nq, x=6)).total for f in (formula, sweeps)]
    assert costs[0] <= 1.05 * costs[1]


def test_simplification_pays():
    """J𝓜⁻¹J* as typed against B*ψ*H*D⁻¹HψB."""
    r = robot("panda")

    def typed(r, q, f):
        o = operators(r, q)
        return (o.J @ o.mass.inv() @ o.J.T) @ f

    def simple(r, q, f):
        o = operators(r, q)
        return (o.J @ o.mass.inv() @ o.J.T).simplify() @ f

    costs = [count(traced(r, f, q=r.nq, x=6)).total for f in (typed, simple)]
    assert costs[1] < costs[0]


# --- O(n) --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        lambda r, q, x: operators(r, q).mass.inv() @ x,
        lambda r, q, x: operators(r, q).mass @ x,
        lambda r, q, x: r.forward_dynamics(q, x, x),
        lambda r, q, x: r.inverse_dynamics(q, x, x),
    ],
    ids=["inverse mass", "mass", "forward dynamics", "inverse dynamics"],
)
def test_operations_grow_linearly(function):
    """Each further pair of links of a regular chain costs exactly the same."""
    totals = [counted(lw.chain(n), function).total for n in (6, 8, 10, 12, 20)]
    steps = np.diff(totals)
    assert steps[0] == steps[1] == steps[2] > 0
    assert steps[3] == 4 * steps[0]


def test_dense_methods_grow_faster():
    """The test above can fail: the mass matrix is O(n²), Cholesky O(n³)."""
    totals = [counted(lw.chain(n), lambda r, q, x: r.mass_matrix(q)).total for n in (6, 8, 10)]
    assert np.diff(totals)[1] > np.diff(totals)[0]


@pytest.mark.parametrize("name", ["panda", "ur5", "humanoid"])
def test_a_typed_formula_compiles_to_what_the_catalogues_function_does(name):
    """Both in the frames that suit them best, as users compile them."""
    r = lw.load(name)
    pairs = {
        "mass_solve": lambda robot, q, x: robot.operators(q).mass.inv() @ x,
        "mass_times": lambda robot, q, x: robot.operators(q).mass @ x,
    }
    for function, formula in pairs.items():
        assert lw.compile(formula, r).operations.total <= 1.05 * r.compile(function).operations.total


def white(o):
    return o.I_joints - o.H @ o.psi @ o.K


def gain(o):
    """ψK."""
    return o.psi @ o.K


def jpl_gain(o):
    """ΨL, which is ψSL: the same in the letters of JPL 88-11."""
    return o.Psi @ o.L


def fd1(o, T, gain):
    white = o.I_joints - o.H @ gain(o)
    return white.T @ o.D_inverse @ white @ (T - o.H @ o.phi @ (o.M @ o.phi.T @ (o.a + o.g) + o.b))


def fd3(o, T, gain):
    white = o.I_joints - o.H @ gain(o)
    return white.T @ o.D_inverse @ (white @ T - o.H @ o.psi @ (o.M @ (o.phi.T @ (o.a + o.g)) + o.b))


def fd4(o, T, gain):
    a, white = o.a + o.g, o.I_joints - o.H @ gain(o)
    inner = white @ T - o.H @ o.psi_tilde @ o.P @ a - o.H @ o.psi @ o.b
    return white.T @ o.D_inverse @ inner - gain(o).T @ o.tau_bar.T @ a - o.G.T @ a


# JPL 88-11 (4.19)–(4.22), (5.8)–(5.10) and (5.13)–(5.15) as printed, with gravity g.
TYPED_FORWARD = {"fd1": fd1, "fd3": fd3, "fd4": fd4}


@pytest.mark.parametrize("gain", [gain, jpl_gain], ids=["K", "JPL"])
@pytest.mark.parametrize("name", ["panda", "ur5", "humanoid"])
def test_typed_forward_dynamics_cost_what_the_catalogues_do(name, gain):
    """FD1, FD3 and FD4 in one formula each: every sweep runs once, in the frames that suit them best."""
    r = lw.load(name)
    s = state(r, ())
    for method, formula in TYPED_FORWARD.items():
        if name == "humanoid" and (method, gain) != ("fd3", jpl_gain):
            continue  # the longest to trace: one of them will do

        def typed(robot, q, v, tau, formula=formula):
            o = robot.operators(q, v=v)
            return formula(o, o.vector(tau), gain).value

        assert_close(typed(r, s.q, s.v, s.tau), r.forward_dynamics(s.q, s.v, s.tau), 1e-9)
        catalogue = r.compile("forward_dynamics", method=method).operations.total
        assert lw.compile(typed, r).operations.total <= 1.05 * catalogue, method


@pytest.mark.parametrize("name", ["panda", "ur5", "quadruped"])
def test_a_typed_operational_inertia_costs_what_the_catalogues_does(name):
    """Typed as (B*ΥB)⁻¹, and as (J𝓜⁻¹J*)⁻¹, which is formed as that where there is one tip."""
    r = lw.load(name)
    frame = r.tips[0]
    forms = (lambda o: o.B.T @ o.Upsilon @ o.B, lambda o: o.J @ o.mass.inv() @ o.J.T)
    catalogue = lw.compile(lambda robot, q: robot.operational_inertia(q, frame), r).operations.total
    q = r.random_configuration(0)
    for form in forms:

        def typed(robot, q, form=form):
            return form(robot.operators(q, frames=frame)).inv().apply_columns(np.eye(6))

        kernel = lw.compile(typed, r)
        assert kernel.operations.total <= 1.05 * catalogue
        assert_close(kernel(q), r.operational_inertia(q, frame), 1e-8)


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_typed_linearised_dynamics_cost_what_the_catalogues_do(name):
    """−A_C of LD Lemma 4.6, how accelerations change with velocities, times a vector and whole, beside Algorithm 5."""
    r = lw.load(name)
    s = state(r, ())

    def by_velocity(robot, q, v, tau):
        o = robot.operators(q, v=v, a=robot.forward_dynamics(q, v, tau))
        A = white(o).T @ o.D_inverse @ o.H @ o.psi @ (o.M_hat @ o.phi.T @ o.H.T + o.P @ o.H_dot)
        return -2 * (A + o.K.T @ o.psi.T @ o.H_dot)

    def typed(robot, q, v, tau, x):
        return by_velocity(robot, q, v, tau) @ x

    def catalogue(robot, q, v, tau, x):
        return robot.forward_dynamics_jvp(q, v, tau, 0 * x, x, 0 * x, method="algorithm_5_ii")

    assert_close(typed(r, s.q, s.v, s.tau, s.a), catalogue(r, s.q, s.v, s.tau, s.a), 1e-9)
    totals = [lw.compile(f, r, sizes={"x": r.nv}).operations.total for f in (typed, catalogue)]
    assert totals[0] <= 1.05 * totals[1]

    def matrix(robot, q, v, tau):
        return by_velocity(robot, q, v, tau).apply_columns(np.eye(robot.nv))

    def catalogues_matrix(robot, q, v, tau):
        return robot.linearize_forward(q, v, tau, method="algorithm_5_ii")[1]

    assert_close(matrix(r, s.q, s.v, s.tau), catalogues_matrix(r, s.q, s.v, s.tau), 1e-9)
    totals = [lw.compile(f, r).operations.total for f in (matrix, catalogues_matrix)]
    assert totals[0] <= 1.05 * totals[1]


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_a_typed_diagonal_coriolis_term_costs_what_the_catalogues_does(name):
    """C(θ, ν) of DD (6.17) beside its closed form, and C(θ, ξ) beside its recursion."""
    r = lw.load(name)

    def normalized(robot, q, nu):
        o = robot.operators(q, v=robot.operators(q).ell.T @ nu)
        inner = o.E_psi @ o.Pi_dot - o.Pi_dot @ o.E_psi.T - o.F @ o.P + o.P @ o.F.T - 2 * o.V_tilde.T @ o.M
        return (0.5 * o.D_root_inverse @ o.H @ o.psi @ inner @ o.V).value

    def plain(robot, q, nu):
        o = robot.operators(q, v=white(robot.operators(q)).T @ nu)
        moved = o.P_ring @ o.H.T @ o.vector(nu) - o.F @ o.P_plus @ o.E_phi.T @ o.V - o.V_tilde.T @ o.M @ o.V
        return (o.H @ o.psi @ moved).value

    q, nu = r.random_configuration(0), np.linspace(-1, 1, r.nv)
    for typed, method in ((normalized, "closed_form"), (plain, "recursive")):
        options = {"normalized": typed is normalized, "method": method}
        assert_close(typed(r, q, nu), r.diagonal_coriolis(q, nu, **options), 1e-9)
        catalogue = r.compile("diagonal_coriolis", **options).operations.total
        assert lw.compile(typed, r, sizes={"nu": r.nv}).operations.total <= 1.05 * catalogue, method


def test_functions_that_show_frames_keep_the_users(rng):
    r = lw.load("panda")
    q = r.random_configuration(rng)
    for function in (
        lambda robot, q: robot.operators(q).P.dense(),
        lambda robot, q: robot.jacobian(q, "panda_hand_tcp"),
        lambda robot, q: np.stack([robot.potential_energy(q)]),
    ):
        assert np.allclose(lw.compile(function, r)(q), function(r, q), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["floating", "arms"])
def test_the_operational_inertia_of_one_tip_and_of_two(name):
    """B*ψ*H*D⁻¹HψB = B*ΥB for one tip of any tree, and not for several."""
    r = robot(name)
    q = r.random_configuration(0)
    for frames, one in ((r.tips[-1], True), (list(r.tips[:2]), False)):
        op = r.operators(q, frames=frames)
        inertia = (op.J @ op.mass.inv() @ op.J.T).inv()
        assert ("compliance_of_one_tip" in [used.name for used in inertia.used]) == one
        assert_close(inertia.dense(), r.operational_inertia(q, frames), 1e-7)
