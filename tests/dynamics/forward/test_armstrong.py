"""Armstrong's recursion: ball joints in his variables, one-dof joints, free bases, and what it refuses."""

import numpy as np
import pytest
from trees import ALL, assert_close, robot, state

import linkwise as lw

_MOTOR = lw.Rotor(1e-4, 20.0)


def _with_rotors(r):
    from dataclasses import replace

    bodies = [replace(b, joint=replace(b.joint, rotor=_MOTOR)) for b in r.bodies]
    return replace(r, bodies=tuple(bodies))


ADMITTED = {
    "ball chain": lw.chain(6, joint="spherical", seed=1),
    "ball tree": lw.random_tree(7, seed=3, joints=["spherical"], branching=0.8),
    "ball tree, floating": lw.random_tree(7, seed=4, joints=["spherical"], branching=0.8, floating=True),
    "hinges and balls": lw.random_tree(8, seed=5, joints=["spherical", "revolute", "prismatic", "helical", "fixed"]),
    "hinges, balls, floating, rotors": lw.random_tree(
        8, seed=6, joints=["spherical", "revolute", "helical"], floating=True, rotors=True
    ),
    "balls with rotors": _with_rotors(lw.chain(4, joint="spherical", seed=2)),
    "free bodies": lw.random_tree(3, seed=7, joints=["free"]),
    "regular ball chain": lw.chain(5, joint="spherical"),
}


@pytest.mark.parametrize("name", ADMITTED)
def test_undoes_inverse_dynamics(name):
    r = ADMITTED[name]
    s = state(r)
    tau = r.inverse_dynamics(s.q, s.v, s.a, external=s.external)
    assert_close(r.forward_dynamics(s.q, s.v, tau, external=s.external, method="armstrong"), s.a, 1e-9)


@pytest.mark.parametrize("name", ["ball chain", "ball tree", "ball tree, floating"])
def test_his_variables(name):
    """ω̇ = Ω_ω v̇ + β_ω and F = Ω_F v̇ + β_F for the motion with the bias taken off (UF (47)–(49)).

    λ of FD1 is that motion: the accelerations φ*H*β̇, here for β̇ of T' = T − bias; f = φMλ are its forces.
    """
    r = ADMITTED[name]
    s = state(r)
    x = r.forward_quantities(s.q, s.v, s.tau, external=s.external, method="armstrong")
    motion = r.forward_quantities(s.q, s.v, s.tau, external=s.external, method="fd1")
    f = _forces(r, s.q, motion["lambda"])
    balls = [k for k, j in enumerate(r.joints) if j.kind.kind == "spherical"]
    assert len(balls) >= 6
    for k in balls:
        turn, move = motion["lambda"][k][:, :3], motion["lambda"][k][:, 3:]
        assert_close(x["Omega_omega"][k] @ move + x["beta_omega"][k], turn, 1e-9)
        assert_close(x["Omega_F"][k] @ move + x["beta_F"][k], f[k][:, 3:], 1e-9)
        assert_close(f[k][:, :3], motion["T_prime"][k], 1e-9)  # a ball joint's moment is the joint force


def _forces(r, q, alpha):
    """f = φMα, summed inward with the links' poses."""
    M = [b.inertia.spatial().matrix for b in r.bodies]
    f = [m @ a for m, a in zip(M, alpha)]
    for k in reversed(range(len(f))):
        p = r.parents[k]
        if p >= 0:
            phi = r.operators(q).links.phi[k].matrix
            f[p] = f[p] + phi @ f[k]
    return f


def test_his_variables_are_the_articulated_inertia():
    """Γ = P₁₁⁻¹, 𝓛 = −P₁₂, Ω_F = P₂₂ − 𝓛*Γ𝓛 (math notes 9)."""
    r = ADMITTED["ball chain"]
    s = state(r)
    x = r.forward_quantities(s.q, s.v, s.tau, method="armstrong")
    P = r.forward_quantities(s.q, s.v, s.tau)["P"]
    for k in range(len(r.bodies)):
        P_k = np.broadcast_to(P[k], (3, 6, 6))
        Gamma, L = np.broadcast_to(x["Gamma"][k], (3, 3, 3)), np.broadcast_to(x["L"][k], (3, 3, 3))
        assert_close(Gamma @ P_k[:, :3, :3], np.broadcast_to(np.eye(3), (3, 3, 3)), 1e-10)
        assert_close(L, -P_k[:, :3, 3:], 1e-12)
        expected = P_k[:, 3:, 3:] - L.swapaxes(-1, -2) @ Gamma @ L
        assert_close(np.broadcast_to(x["Omega_F"][k], (3, 3, 3)), expected, 1e-10)


def test_refuses_joints_it_has_no_form_for():
    refused = {
        "cylindrical",
        "universal",
        "planar",
        "custom_line",
        "custom_slide",
        "custom_ball",
        "custom_skate",
    }
    refused |= {"custom_four", "tree", "tree_rotors", "floating", "floating_rotors", "big_floating_rotors"}
    for name in ALL:
        r = robot(name)
        s = state(r, ())
        if name not in refused:
            assert_close(
                r.forward_dynamics(s.q, s.v, s.tau, method="armstrong"),
                r.forward_dynamics(s.q, s.v, s.tau),
                1e-9,
            )
            continue
        with pytest.raises(lw.NotAdmittedError, match="articulated_body") as caught:
            r.forward_dynamics(s.q, s.v, s.tau, method="armstrong")
        culprits = [j.name for j in r.joints if j.kind.nv not in (0, 1, 6) and j.kind.kind != "spherical"]
        assert repr(culprits[0]) in str(caught.value)
