"""Every call of the catalogue on a robot with coupled joints, against its free tree projected by X, or refused by name.

The oracles are dense: 𝓜 = X*𝓜X, T = X*T(θ, Xβ, Xβ̇ + ẋ), and complex steps through these for derivatives; X and ẋ are
written by hand (helpers/coupled.py). Those that others are made of run as compiled code too; all calls are traced on a
smaller robot, and what the compiler gets compared with NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
import pytest
from coupled import Dense, coupled_robot, drift, free_tree, slope, slope_of_vector
from methods import APART, CALLS, Inputs, flat, inputs

import linkwise as lw
from linkwise.codegen.program.trace import trace
from linkwise.dynamics.tangent import transport

TIP = "tip"
ROBOT = coupled_robot()
Oracle = Callable[[Dense, Inputs], Any]


def _free(call: Callable[[lw.Robot, Dense, Inputs], Any]) -> Oracle:
    """A call of the free tree at the lifted state."""
    return lambda d, x: call(free_tree(), d, x)


def _tips(d: Dense) -> np.ndarray:
    return np.concatenate([d.jacobian(f) for f in ROBOT.tips])


def _compliance(d: Dense, J: np.ndarray) -> np.ndarray:
    return J @ np.linalg.solve(d.mass, J.T)


def _inverse_matrices(d: Dense, x: Inputs) -> tuple[np.ndarray, ...]:
    dq = slope(lambda q: Dense(q, d.external).forces(x.v, x.a), x.q)
    dv = slope_of_vector(lambda v: d.forces(v, x.a), x.v)
    return d.mass, dv, dq


def _forward_matrices(d: Dense, x: Inputs) -> tuple[np.ndarray, ...]:
    dq = slope(lambda q: Dense(q, d.external).solution(x.v, x.tau), x.q)
    dv = slope_of_vector(lambda v: d.solution(v, x.tau), x.v)
    return np.linalg.inv(d.mass), dv, dq


def _christoffel(d: Dense, x: Inputs, reference: np.ndarray) -> np.ndarray:
    """C(q, v) v_ref = X*[C_tree(Xv) X v_ref + 𝓜Ẋ(v) v_ref]."""
    tree = d.free.coriolis_matrix(d.theta, d.rates(x.v), target="numpy") @ d.rates(reference)
    bent = d.free.mass_matrix(d.theta, target="numpy") @ drift(x.q, x.v, reference)
    return d.X.T @ (tree + bent)


def _sprung(d: Dense, v: np.ndarray) -> np.ndarray:
    return d.X.T @ d.free.spring_force(d.theta, d.rates(v), target="numpy")


def _static(d: Dense, v: np.ndarray) -> np.ndarray:
    """All but 𝓒: external forces, gravity, and what springs and dampers ask at this velocity."""
    return d.forces(0 * v, None) + _sprung(d, v) - _sprung(d, 0 * v)


def _gravity(d: Dense) -> np.ndarray:
    return d.X.T @ d.free.gravity_force(d.theta, target="numpy")


def _factor(q: np.ndarray) -> np.ndarray:
    """m of the robot itself: that 𝓜 = mm* is a test of its own."""
    return ROBOT.mass_factor(q, target="numpy")


def _unit_factor(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return ROBOT.innovations_factors(q, target="numpy")


def _directional(function: Callable[[np.ndarray], Any], x: Inputs) -> np.ndarray:
    return slope(function, x.q) @ x.v


def _swung(d: Dense, x: Inputs) -> np.ndarray:
    """C(θ, ν) = ℓ𝓒 − ṁ*v."""
    m = _factor(x.q)
    v = np.linalg.solve(m.T, x.v)
    rate = slope(_factor, x.q) @ v
    return np.linalg.solve(m, d.forces(v, None) - _gravity(d) - _sprung(d, v)) - rate.T @ v


def _diagonal(d: Dense, x: Inputs, normalized: bool) -> tuple[np.ndarray, np.ndarray]:
    def factor(q: np.ndarray) -> np.ndarray:
        return _factor(q) if normalized else _unit_factor(q)[0]

    v = np.linalg.solve(factor(x.q).T, x.v)
    return v, (slope(factor, x.q) @ v).T @ v + factor(x.q).T @ d.solution(v, x.tau)


def _momentum_force(d: Dense, x: Inputs) -> np.ndarray:
    """d(𝓜v)/dt along v, less the bias force."""
    return slope(lambda q: Dense(q).mass @ x.v, x.q) @ x.v - Dense(x.q).forces(x.v, None)


def _regressor(d: Dense, x: Inputs) -> np.ndarray:
    return d.X.T @ d.free.inverse_dynamics_regressor(*d.moving(x.v, x.a), target="numpy")


def _regressor_with_reference(d: Dense, x: Inputs) -> np.ndarray:
    a = d.X @ x.a + drift(x.q, x.v, x.tau)
    Y = d.free.regressor_with_reference(d.theta, d.rates(x.v), d.rates(x.tau), a, target="numpy")
    return d.X.T @ Y


def _sensitivity(d: Dense, x: Inputs) -> np.ndarray:
    a = d.solution(x.v, x.tau)
    return -np.linalg.solve(d.mass, d.X.T @ d.free.inverse_dynamics_regressor(*d.moving(x.v, a), target="numpy"))


def _placements(d: Dense, x: Inputs) -> np.ndarray:
    """∂T/∂δ of the free tree is −𝓜 ∂a/∂δ there, under the forces that move it so."""
    moving = d.moving(x.v, d.solution(x.v, x.tau))
    tau = d.free.inverse_dynamics(*moving, external=d.external, target="numpy")
    options = {"external": d.external, "of": "placements", "target": "numpy"}
    free = d.free.forward_dynamics_sensitivity(moving[0], moving[1], tau, **options)
    return np.linalg.solve(d.mass, d.X.T @ d.free.mass_matrix(d.theta, target="numpy") @ free)


def _second(function: Callable[..., Any], points: list[np.ndarray], directions: list[np.ndarray]) -> list[np.ndarray]:
    """The derivative of gradients along a direction, by complex steps through the robot's own first gradients."""
    moved = [ROBOT.integrate(points[0] + 0j, 1j * 1e-20 * directions[0], target="numpy")]
    moved += [p + 1j * 1e-20 * e for p, e in zip(points[1:], directions[1:])]
    return [y.imag / 1e-20 for y in function(*moved)]


def _hvp(method: str) -> Oracle:
    def run(d: Dense, x: Inputs) -> Any:
        third, weights = (x.a, x.tau) if method == "inverse_dynamics_vjp" else (x.tau, x.a)
        call = getattr(ROBOT, method)

        def gradient(q: Any, v: Any, third: Any) -> Any:
            return call(q, v, third, weights, external=x.external, target="numpy")

        directions = [x.v, x.a, x.tau]
        found = _second(gradient, [x.q, x.v, third], directions)
        # The second derivative is made symmetric where there are quaternions, as for every robot.
        first = gradient(x.q, x.v, third)[0]
        return [found[0] + 0.5 * transport(ROBOT, x.v).T @ first, *found[1:]]

    return run


ORACLES: dict[str, Oracle | None] = {
    "integrate": lambda d, x: _joint_by_joint("integrate", x),
    "configuration_rate": lambda d, x: (
        slope_of_vector(lambda h: ROBOT.integrate(x.q + 0j, h, target="numpy"), 0 * x.v) @ x.v
    ),
    "momentum_force": _momentum_force,
    "difference": lambda d, x: 0.0 * x.v,
    "joint_positions": lambda d, x: d.theta,
    "joint_velocities": lambda d, x: d.rates(x.v),
    "pose": _free(lambda r, d, x: r.pose(d.theta, TIP)),
    "poses": _free(lambda r, d, x: r.poses(d.theta)),
    "frame_poses": _free(lambda r, d, x: r.frame_poses(d.theta)),
    "frame_velocities": _free(lambda r, d, x: r.frame_velocities(d.theta, d.rates(x.v))),
    "frame_accelerations": _free(lambda r, d, x: r.frame_accelerations(*d.moving(x.v, x.a))),
    "velocities": _free(lambda r, d, x: r.velocities(d.theta, d.rates(x.v))),
    "accelerations": _free(lambda r, d, x: r.accelerations(*d.moving(x.v, x.a))),
    "velocity": _free(lambda r, d, x: r.velocity(d.theta, d.rates(x.v), TIP)),
    "velocity (local)": _free(lambda r, d, x: r.velocity(d.theta, d.rates(x.v), TIP, axes="local")),
    "acceleration": _free(lambda r, d, x: r.acceleration(*d.moving(x.v, x.a), TIP)),
    "acceleration (spatial)": _free(lambda r, d, x: r.acceleration(*d.moving(x.v, x.a), TIP, spatial=True)),
    "jacobian": lambda d, x: d.jacobian(TIP),
    "jacobian (local)": lambda d, x: d.jacobian(TIP, axes="local"),
    "jacobian_dot_v": _free(lambda r, d, x: r.acceleration(*d.moving(x.v, None), TIP)),
    "jacobian_force": lambda d, x: d.jacobian(TIP).T @ x.force,
    "jacobian_outer": lambda d, x: d.jacobian(TIP) @ d.jacobian(TIP).T,
    "jacobian_inner": lambda d, x: d.jacobian(TIP).T @ d.jacobian(TIP),
    "inverse_dynamics": lambda d, x: d.forces(x.v, x.a),
    "inverse_dynamics (composite_body)": lambda d, x: d.forces(x.v, x.a),
    "inverse_dynamics_with_reference": lambda d, x: d.mass @ x.a + _christoffel(d, x, x.tau) + _static(d, x.v),
    "bias_force": lambda d, x: d.forces(x.v, None),
    "gravity_force": lambda d, x: _gravity(d),
    "spring_force": lambda d, x: _sprung(d, x.v),
    "link_forces": _free(lambda r, d, x: r.link_forces(*d.moving(x.v, x.a), external=x.external)),
    "wrenches": _free(lambda r, d, x: r.wrenches(d.theta, {TIP: x.force})),
    **{f"mass_matrix ({m})": lambda d, x: d.mass for m in ("composite", "symmetric", "direct")},
    "mass_matrix (packed)": lambda d, x: d.mass[(..., *np.tril_indices(d.mass.shape[-1]))],
    "mass_matrix_inverse": lambda d, x: np.linalg.inv(d.mass),
    "mass_times": lambda d, x: d.mass @ x.v,
    "mass_solve": lambda d, x: np.linalg.solve(d.mass, x.tau),
    "innovations_factors": None,
    "inverse_factors": None,
    "log_det_mass": lambda d, x: np.linalg.slogdet(d.mass)[1],
    "coriolis_matrix": lambda d, x: np.stack([_christoffel(d, x, e) for e in np.eye(x.v.size)], axis=-1),
    **{
        f"forward_dynamics ({m})": lambda d, x: d.solution(x.v, x.tau)
        for m in lw.FORWARD_METHODS
        if m not in ("armstrong", "scan")
    },
    "hybrid_dynamics": None,
    "disturbance_map": None,
    "generalized_jacobian": None,
    "operational_inertia": lambda d, x: np.linalg.inv(_compliance(d, d.jacobian(TIP))),
    "operational_compliance": lambda d, x: _compliance(d, _tips(d)),
    "operational_bias": lambda d, x: _operational_bias(d, x),
    "consistent_inverse": lambda d, x: (
        np.linalg.solve(d.mass, d.jacobian(TIP).T) @ np.linalg.inv(_compliance(d, d.jacobian(TIP)))
    ),
    "tip_force_correction": lambda d, x: (
        -np.linalg.solve(d.mass, d.jacobian(TIP).T @ x.force),
        -_compliance(d, d.jacobian(TIP)) @ x.force,
    ),
    "energy": _free(lambda r, d, x: r.energy(d.theta, d.rates(x.v))),
    "kinetic_energy": lambda d, x: 0.5 * x.v @ d.mass @ x.v,
    "potential_energy": _free(lambda r, d, x: r.potential_energy(d.theta)),
    "center_of_mass": _free(lambda r, d, x: r.center_of_mass(d.theta)),
    "center_of_mass_jacobian": _free(lambda r, d, x: r.center_of_mass_jacobian(d.theta) @ d.X),
    "momentum": _free(lambda r, d, x: r.momentum(d.theta, d.rates(x.v))),
    "momentum_matrix": _free(lambda r, d, x: r.momentum_matrix(d.theta) @ d.X),
    "centroidal_momentum": _free(lambda r, d, x: r.centroidal_momentum(d.theta, d.rates(x.v))),
    "centroidal_matrix": _free(lambda r, d, x: r.centroidal_matrix(d.theta) @ d.X),
    "centroidal_bias": _free(
        lambda r, d, x: r.centroidal_bias(d.theta, d.rates(x.v)) + r.centroidal_matrix(d.theta) @ drift(x.q, x.v)
    ),
    "total_rates": lambda d, x: _factor(x.q).T @ x.v,
    "total_rates (unnormalized)": lambda d, x: _unit_factor(x.q)[0].T @ x.v,
    "joint_rates": lambda d, x: np.linalg.solve(_factor(x.q).T, x.v),
    "working_forces": lambda d, x: np.linalg.solve(_factor(x.q), x.tau),
    "joint_forces": lambda d, x: _factor(x.q) @ x.tau,
    "diagonal_coriolis": lambda d, x: _swung(Dense(x.q), x),
    "diagonal_dynamics": lambda d, x: _diagonal(d, x, True),
    "diagonal_dynamics (unnormalized)": lambda d, x: _diagonal(d, x, False),
    "mass_factor": None,
    "mass_factor_rate": lambda d, x: _directional(_factor, x),
    "articulated_inertias": None,
    "articulated_inertia_rates": lambda d, x: _directional(lambda q: ROBOT.articulated_inertias(q, target="numpy"), x),
    "mass_matrix_sensitivity": lambda d, x: np.moveaxis(slope(lambda q: Dense(q).mass, x.q), -1, 0),
    "curvature": None,
    **{f"linearize_inverse ({m})": _inverse_matrices for m in ("algorithm_1", "algorithm_2")},
    **{f"linearize_forward ({m})": _forward_matrices for m in (None, "algorithm_3", "algorithm_4", "algorithm_5_ii")},
    "inverse_dynamics_jvp": lambda d, x: np.sum(
        [M @ e for M, e in zip(_inverse_matrices(d, x), (x.tau, x.v, x.tau))], axis=0
    ),
    "inverse_dynamics_vjp": lambda d, x: [M.T @ x.tau for M in _inverse_matrices(d, x)[::-1]],
    "inverse_dynamics_hvp": _hvp("inverse_dynamics_vjp"),
    **{
        f"forward_dynamics_jvp ({m})": lambda d, x: np.sum(
            [M @ e for M, e in zip(_forward_matrices(d, x), (x.a, x.v, x.a))], axis=0
        )
        for m in ("algorithm_3", "algorithm_5_ii")
    },
    "forward_dynamics_vjp": lambda d, x: [(M.T @ x.a) for M in _forward_matrices(d, x)[::-1]],
    "forward_dynamics_hvp": _hvp("forward_dynamics_vjp"),
    "linearize_velocity": lambda d, x: (
        d.jacobian(TIP),
        slope(lambda q: _frame("velocity", q, x.v), x.q),
    ),
    "linearize_acceleration": lambda d, x: (
        d.jacobian(TIP),
        slope_of_vector(lambda v: _frame("acceleration", x.q, v, x.a), x.v),
        slope(lambda q: _frame("acceleration", q, x.v, x.a), x.q),
    ),
    "operational_compliance_derivative": lambda d, x: slope(lambda q: _compliance(Dense(q), _tips(Dense(q))), x.q),
    "operational_inertia_derivative": lambda d, x: slope(
        lambda q: np.linalg.inv(_compliance(Dense(q), Dense(q).jacobian(TIP))), x.q
    ),
    "inverse_dynamics_regressor": _regressor,
    "regressor_with_reference": _regressor_with_reference,
    "parameter_gradient": lambda d, x: (_regressor_with_reference(d, x).T @ x.v).reshape(-1, 10),
    "forward_dynamics_sensitivity": _sensitivity,
    "forward_dynamics_sensitivity (placements)": _placements,
    "placement_jacobian": _free(lambda r, d, x: r.placement_jacobian(d.theta, TIP)),
    "external_force": _free(lambda r, d, x: d.X.T @ r.external_force(d.theta, x.external)),
    "operators (mass)": lambda d, x: d.mass @ x.v,
    "operators (mass.inv)": lambda d, x: np.linalg.solve(d.mass, x.tau),
    "operators (J)": lambda d, x: _tips(d) @ x.v,
    "operators (dense)": lambda d, x: d.mass,
}


def _frame(name: str, q: np.ndarray, *motion: np.ndarray) -> np.ndarray:
    d = Dense(q)
    lifted = (d.theta, d.rates(motion[0])) if name == "velocity" else d.moving(*motion)
    return getattr(d.free, name)(*lifted, TIP, target="numpy")


def _joint_by_joint(name: str, x: Inputs) -> np.ndarray:
    parts = [j.kind.integrate(x.q[a], x.v[b]) for j, a, b in ROBOT.coordinates]
    return np.concatenate(parts)


def _operational_bias(d: Dense, x: Inputs) -> tuple[np.ndarray, np.ndarray]:
    J, Lambda = d.jacobian(TIP), np.linalg.inv(_compliance(d, d.jacobian(TIP)))
    still = Dense(x.q)
    p = Lambda @ J @ np.linalg.solve(d.mass, _gravity(d) + _sprung(d, 0 * x.v))
    falling = np.linalg.solve(d.mass, -still.forces(x.v, None))
    total = -Lambda @ (J @ falling + _frame("acceleration", x.q, x.v, 0 * x.v))
    return total - p, p


def test_every_call_has_an_oracle_or_a_reason():
    assert set(ORACLES) == set(CALLS)
    apart = {name for name, oracle in ORACLES.items() if oracle is None}
    assert apart == {
        "innovations_factors", "inverse_factors", "hybrid_dynamics", "mass_factor", "articulated_inertias", "curvature",
        "disturbance_map", "generalized_jacobian",
    }  # fmt: skip
    below = {"forward_quantities", "jacobian_inner_inverse", "coupling_jacobian", "filter"}
    assert below | {"inverse_kinematics", "equilibrium", "modes"} == APART  # which have files of their own


def test_the_filter_of_bodies_that_move_together_is_refused():
    with pytest.raises(lw.NotAdmittedError, match="one node|turn with their parents"):
        ROBOT.filter(ROBOT.neutral())


@cache
def _state(seed: int) -> Inputs:
    return inputs(ROBOT, seed=seed)


@cache
def _expected(name: str, seed: int) -> Any:
    x = _state(seed)
    oracle = ORACLES[name]
    assert oracle is not None
    with_forces = "external" in CALLS[name].reads
    return oracle(Dense(x.q, x.external if with_forces else None), x)


COMPILED = (
    "pose",
    "acceleration",
    "jacobian",
    "inverse_dynamics",
    "mass_matrix (composite)",
    "mass_matrix_inverse",
    "mass_solve",
    "forward_dynamics (articulated_body)",
    "inverse_dynamics_jvp",
    "linearize_inverse (algorithm_2)",
)


@pytest.mark.parametrize(
    ("target", "name"),
    [*(("numpy", n) for n, oracle in ORACLES.items() if oracle is not None), *(("cpu", n) for n in COMPILED)],
)
def test_calls_agree_with_the_projected_tree(name, target, monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", target)
    x = _state(1)
    expected = _expected(name, 1)
    found, expected = CALLS[name](ROBOT, x), flat(expected)
    assert len(found) == len(expected)
    for y, z in zip(found, expected):
        assert y.shape == z.shape
        assert np.allclose(y, z, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(z).max(initial=0.0))), name


# --- those that are checked by what they are for -----------------------------------------------------------


def test_factors_multiply_to_the_mass_matrix():
    x, target = _state(1), "numpy"
    mass = Dense(x.q).mass
    factor, D = ROBOT.innovations_factors(x.q, target=target)
    assert np.allclose(factor @ D @ factor.T, mass, rtol=0, atol=1e-10)
    white, D_inverse = ROBOT.inverse_factors(x.q, target=target)
    assert np.allclose(white @ factor, np.eye(ROBOT.nv), rtol=0, atol=1e-10)
    assert np.allclose(D_inverse @ D, np.eye(ROBOT.nv), rtol=0, atol=1e-9)
    m = ROBOT.mass_factor(x.q, target=target)
    assert np.allclose(m @ m.T, mass, rtol=0, atol=1e-10)
    # D is block diagonal over nodes: b0; b1, b2, b5, b6; b3; b7; b9
    node = np.array([0] * 6 + [1, 1, 2, 2, 2, 1, 1, 3, 4])
    assert (D[node[:, None] != node] == 0).all()


def test_articulated_inertias_of_members_are_those_of_what_hangs_on_them():
    """P̄(k) = M(k) + Σ φP⁺φ* over children outside the node: body 7 is a tip, and b1 carries b3 and b7."""
    x = _state(1)
    P = ROBOT.articulated_inertias(x.q, target="numpy")
    d = Dense(x.q)
    own = [c.M.matrix for c in ROBOT.constants()]
    assert np.allclose(P[[2, 4, 5, 6, 7, 10]], [own[k] for k in (2, 4, 5, 6, 7, 10)], rtol=0, atol=1e-12)
    free = d.free.articulated_inertias(d.theta, target="numpy")
    assert np.allclose(P[[3, 7]], free[[3, 7]], rtol=0, atol=1e-10)
    assert np.abs(P[1] - own[1]).max() > 0.1 and np.abs(P[8] - own[8]).max() > 0.1


@pytest.mark.parametrize(
    "prescribed", [["b0_joint", "b3_joint"], ["b1_joint", "b2_joint", "b5_joint", "b6_joint"], ["b9_joint"]]
)
def test_hybrid_dynamics_gives_what_inverse_dynamics_asks(prescribed):
    x = _state(1)
    a, tau = ROBOT.hybrid_dynamics(x.q, x.v, x.a, x.tau, prescribed, external=x.external, target="numpy")
    given = np.zeros(ROBOT.nv, bool)
    for name in prescribed:
        given[ROBOT.v_slices[ROBOT.joint(name)]] = True
    assert np.array_equal(a[given], x.a[given])
    assert np.allclose(tau[~given], x.tau[~given], rtol=0, atol=1e-12)
    assert np.allclose(Dense(x.q, x.external).forces(x.v, a), tau, rtol=0, atol=1e-9)


def test_hybrid_dynamics_refuses_dependent_joints_and_parts_of_a_node():
    x = _state(1)
    with pytest.raises(lw.InputError, match="'b4_joint' follows 'b1_joint' and cannot be prescribed"):
        ROBOT.hybrid_dynamics(x.q, x.v, x.a, x.tau, ["b4_joint"])
    with pytest.raises(lw.NotAdmittedError, match="'b1_joint', 'b2_joint', 'b5_joint', 'b6_joint' move as one node"):
        ROBOT.hybrid_dynamics(x.q, x.v, x.a, x.tau, ["b2_joint"])


REFUSALS: dict[str, Callable[[Inputs], Any]] = {
    "4.9": lambda x: ROBOT.linearize_forward(x.q, x.v, x.tau, method="lemma_4_9"),
    "couplings are linear": lambda x: ROBOT.linearize_inverse(x.q, x.v, x.a, method="lemma_3_1"),
    "recursive|one degree": lambda x: ROBOT.diagonal_coriolis(x.q, x.v, method="recursive"),
    "closed form|one degree|Identity": lambda x: ROBOT.diagonal_coriolis(x.q, x.v, method="closed_form"),
    "8.1": lambda x: ROBOT.diagonal_dynamics(x.q, x.v, x.tau, method="algorithm_8_1"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_variants_for_single_bodies_are_refused_with_what_to_use(what):
    with pytest.raises(lw.NotAdmittedError, match="coupled joints") as error:
        REFUSALS[what](_state(1))
    assert "method=" in str(error.value)


def test_algorithm_6_refuses_rotors_that_spin_on_their_parent_here_too():
    x = _state(1)
    with pytest.raises(lw.NotAdmittedError, match=r"spinning rotor at the joint of body 'b7'.*method='algorithm_4'"):
        ROBOT.linearize_forward(x.q, x.v, x.tau, method="algorithm_6")


# --- smaller robots ----------------------------------------------------------------------------------------


@cache
def _small() -> lw.Robot:
    """Four hinges and sliders: one follows two others, and the last hangs on a member of their node."""
    free = lw.random_tree(4, seed=4, joints=["revolute", "prismatic"], branching=0.5)
    names = [j.name for j in free.joints]
    return free.couple(names[2], (names[0], names[1]), relation=lambda a, b: np.sin(a) + 0.4 * b * b)


IN_SIX_DIRECTIONS = ("operational_inertia", "operational_bias", "consistent_inverse")  # which three joints do not move
NUMPY_ALONE = {"curvature", "wrenches", "forward_dynamics (conjugate_gradient)"}
NUMPY_ALONE |= {"forward_dynamics (preconditioned_conjugate_gradient)"}


SOME_JOINTS = {"hybrid_dynamics", "disturbance_map", "generalized_jacobian"}  # of which a node is all or none


@pytest.mark.parametrize(
    "name",
    [n for n in CALLS if n not in NUMPY_ALONE | SOME_JOINTS and not n.startswith(IN_SIX_DIRECTIONS)],
)
def test_traced_calls_agree_with_numpy(name, monkeypatch):
    """What the compiler gets: each call on symbols, run as the program that remains."""
    monkeypatch.setenv("LINKWISE_TARGET", "numpy")
    robot, x = _small(), inputs(_small(), seed=2)
    values = {f.name: getattr(x, f.name) for f in fields(x)}
    sizes = {n: y.size for n, y in values.items()}

    def run(robot: lw.Robot, q: Any, v: Any, a: Any, tau: Any, external: Any, force: Any) -> Any:
        found = CALLS[name].function(robot, Inputs(q, v, a, tau, external.reshape(x.external.shape), force))
        return list(found.values()) if isinstance(found, dict) else found

    program = trace(robot, run, name, sizes)
    found = program.interpreted({n: y.ravel() for n, y in values.items()})
    for y, z in zip(found, CALLS[name](robot, x), strict=True):
        assert y.shape == z.shape
        assert np.allclose(y, z, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(z).max(initial=0.0)))


def test_curvature_vanishes_where_coupled_joints_leave_one():
    """One coordinate is always flat; two hinges that share a plane are not, coupled or not."""
    arm = lw.chain(3, seed=1)
    one = arm.couple("joint2", "joint1", relation=np.sin).couple("joint3", "joint1", ratio=2.0)
    assert one.nv == 1 and one.is_diagonalizable()
    two = arm.couple("joint3", "joint1", relation=np.sin)
    q = two.random_configuration(0)
    R = two.curvature(q)
    assert np.allclose(R, -np.swapaxes(R, 0, 1), atol=1e-9) and np.abs(R).max() > 1e-3
    assert not two.is_diagonalizable()


def test_jacobian_inner_inverse_is_that_of_the_independent_joints():
    arm = lw.chain(6, seed=3).couple("joint5", "joint2", ratio=-0.5).couple("joint6", "joint3", relation=np.sin)
    q = arm.random_configuration(1)
    J = arm.jacobian(q, "tip")
    assert np.allclose(arm.jacobian_inner_inverse(q, "tip", target="numpy") @ (J.T @ J), np.eye(4), atol=1e-9)


def test_the_jacobian_of_couplings_takes_rates_to_all_joints():
    x, d = _state(1), Dense(_state(1).q)
    for target in ("numpy", "cpu"):
        assert np.allclose(ROBOT.coupling_jacobian(x.q, target=target), d.X, rtol=0, atol=1e-14)


def test_forward_quantities_are_those_of_nodes():
    x = _state(1)
    found = ROBOT.forward_quantities(x.q, x.v, x.tau)
    assert [b.shape[-2] for b in found["beta_dot"]] == [6, 4, 3, 1, 1]
    assert [a.shape[-2] for a in found["alpha"]] == [6, 36, 6, 6, 12]
    assert [P.shape[-2:] for P in found["P_plus"]] == [(n, n) for n in (6, 36, 6, 6, 12)]
