"""What each author's quantities are: they obey the relations that define them in the original papers."""

import numpy as np
import pytest
from trees import assert_close, robot, state, times

ROBOTS = ["tree", "floating", "chain6", "universal", "custom_skate"]  # no rotors: the originals have none


def transpose(x):
    return np.swapaxes(x, -1, -2)


@pytest.fixture(params=ROBOTS)
def case(request):
    r = robot(request.param)
    return r, state(r, (2,))


def run(case, method):
    """The named quantities, those of the articulated-body algorithm, and the links' forces."""
    r, s = case
    x = r.forward_quantities(s.q, s.v, s.tau, external=s.external, method=method)
    plain = r.forward_quantities(s.q, s.v, s.tau, external=s.external)
    a = r.forward_dynamics(s.q, s.v, s.tau, external=s.external)
    f = r.link_forces(s.q, s.v, a, external=s.external)[..., None]
    return x, plain, [f[:, k] for k in range(len(r.bodies))]


def same(xs, ys, tolerance=1e-9):
    for x, y in zip(xs, ys, strict=True):
        x, y = np.broadcast_arrays(x, y)
        assert_close(x, y, tolerance)


def test_articulated_body(case):
    """f = P(α − a) + z = P⁺α⁺ + z⁺, and its own recursions (math notes 8.1)."""
    x, _, f = run(case, "articulated_body")
    same([P @ (al - a) + z for P, al, a, z in zip(x["P"], x["alpha"], x["a"], x["z"])], f)
    same([P @ al + z for P, al, z in zip(x["P_plus"], x["alpha_plus"], x["z_plus"])], f)
    same([D @ nu for D, nu in zip(x["D"], x["nu"])], x["epsilon"])


def test_featherstone(case):
    """f = I_A (a − c) + p,  s*f = τ,  a = Xa' + c + s q̈,  sIs = s*I_A s (1983)."""
    r, s = case
    x, plain, f = run(case, "featherstone")
    same([I @ (a - c) + p for I, a, c, p in zip(x["I_A"], x["a"], plain["a"], x["p"])], f)
    same(x["f"], f)
    tau = [s.tau[:, own, None] for own in r.v_slices]
    same([transpose(S) @ force for S, force in zip(x["s"], x["f"])], tau)
    same([transpose(S) @ I @ S for S, I in zip(x["s"], x["I_A"])], x["sIs"])
    gravity = np.concatenate([np.zeros(3), -r.gravity])[:, None]
    for k, p in enumerate(r.parents):
        inboard = x["X"][k] @ (gravity if p < 0 else x["a"][p])
        same([inboard + plain["a"][k] + x["s"][k] @ x["q_ddot"][k]], [x["a"][k]])


def test_vereshchagin(case):
    """f = P(ẍ − c) + R and BPB = B*PB."""
    x, plain, f = run(case, "vereshchagin")
    same([P @ (a - c) + R for P, a, c, R in zip(x["P"], x["x_ddot"], plain["a"], x["R"])], f)
    same([transpose(B) @ P @ B for B, P in zip(x["B"], x["P"])], x["BPB"])


def test_brandl_johanni_otter(case):
    """f = I*(a − c) − β, M = Φ*I*Φ."""
    x, plain, f = run(case, "brandl_johanni_otter")
    same([I @ (a - c) - b for I, a, c, b in zip(x["I_star"], x["a"], plain["a"], x["beta"])], f)
    same([transpose(S) @ I @ S for S, I in zip(x["Phi"], x["I_star"])], x["M"])
    same(x["f"], f)


def test_bae_haug(case):
    """P(α − a) = Q + L with P = M + K; Q is what each body needs: inertia, gyroscopic and external forces."""
    r, s = case
    x, plain, _ = run(case, "bae_haug")
    moved = [al - a for al, a in zip(x["Y_dot"], plain["a"])]
    left = [(M + K) @ y for M, K, y in zip(x["M"], x["K"], moved)]
    same(left, [Q + L for Q, L in zip(x["Q"], x["L"])])
    same([M @ al + b for M, al, b in zip(x["M"], x["Y_dot"], plain["b"])], x["Q"])
    same([transpose(B) @ (M + K) @ B for B, M, K in zip(x["B2"], x["M"], x["K"])], x["BMB"])
    # Virtual work: Σ over the bodies outboard of a joint, Q carried inboard along B1, is its force.
    carried = [np.array(Q) for Q in x["Q"]]
    for k in reversed(range(len(carried))):
        same([transpose(x["B2"][k]) @ carried[k]], [s.tau[:, r.v_slices[k], None]])
        if r.parents[k] >= 0:
            carried[r.parents[k]] = carried[r.parents[k]] + transpose(x["B1"][k]) @ carried[k]


def test_rosenthal(case):
    """f = M(a − c) + X, m_kk = the pivot of joint k."""
    r, s = case
    x, plain, f = run(case, "rosenthal")
    same([M @ (a - c) + X for M, a, c, X in zip(x["M"], x["a"], plain["a"], x["X"])], f)
    D = r.innovations_factors(s.q)[1]
    same(x["m_kk"], [D[:, own, own] for own in r.v_slices])


@pytest.mark.parametrize("method", ["featherstone", "vereshchagin", "brandl_johanni_otter", "bae_haug", "rosenthal"])
def test_accelerations_are_given_under_the_authors_name(case, method):
    r, s = case
    x, _, _ = run(case, method)
    name = "u_dot" if method == "rosenthal" else "q_ddot"
    stacked = np.concatenate(x[name], axis=-2)[..., 0]
    assert_close(stacked, r.forward_dynamics(s.q, s.v, s.tau, external=s.external), 1e-10)


# --- FD1 … FD4 ---------------------------------------------------------------------------------------


def test_fd1(case):
    """𝓜β̇ = T', ν = D⁻¹ε, and ε = (I − HψK) T'."""
    r, s = case
    x, _, _ = run(case, "fd1")
    T = np.concatenate(x["T_prime"], axis=-2)[..., 0]
    assert_close(T, s.tau - r.bias_force(s.q, s.v, external=s.external), 1e-10)
    W = r.inverse_factors(s.q)[0]
    assert_close(np.concatenate(x["epsilon"], axis=-2)[..., 0], times(W, T), 1e-9)
    same([D @ nu for D, nu in zip(x["D"], x["nu"])], x["epsilon"])


def test_fd2_gives_the_links_accelerations(case):
    """α = λ + φ*a, the same as those of the articulated-body algorithm, and of the frames."""
    r, s = case
    x, plain, _ = run(case, "fd2")
    same(x["alpha"], plain["alpha"])
    same([l + z for l, z in zip(x["lambda"], x["zeta"])], x["alpha"])
    a = r.forward_dynamics(s.q, s.v, s.tau, external=s.external)
    gravity = np.concatenate([np.zeros(3), r.gravity])
    for body, alpha in zip(r.bodies, x["alpha"]):
        R = r.pose(s.q, body.name)[0]
        world = np.concatenate([times(R, alpha[..., :3, 0]), times(R, alpha[..., 3:, 0])], axis=-1)
        assert_close(world + gravity, r.acceleration(s.q, s.v, a, body.name, spatial=True), 1e-9)
    for tip, alpha in zip(r.tips, x["alpha_tip"], strict=True):
        assert_close(alpha[..., 0] + gravity, r.acceleration(s.q, s.v, a, tip), 1e-9)


def test_fd3(case):
    """ζ = φ*a; its innovations ask for the same accelerations."""
    x, _, _ = run(case, "fd3")
    first, _, _ = run(case, "fd1")
    same(x["epsilon"], first["epsilon"])
    same(x["lambda"], first["lambda"])


def test_fd4(case):
    """Its z is that of the articulated-body algorithm less Pa, and λ = α (math notes 8.5)."""
    x, plain, _ = run(case, "fd4")
    same(x["z"], [z - P @ a for z, P, a in zip(plain["z"], plain["P"], plain["a"])])
    same(x["lambda"], plain["alpha"])


def test_triangular(case):
    """(I + HφK) ε = T'."""
    r, s = case
    x, _, _ = run(case, "triangular")
    factor = r.innovations_factors(s.q)[0]
    T = s.tau - r.bias_force(s.q, s.v, external=s.external)
    assert_close(times(factor, np.concatenate(x["epsilon"], axis=-2)[..., 0]), T, 1e-10)
