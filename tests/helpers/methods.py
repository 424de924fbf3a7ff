"""Every public method of a robot that takes a state, called in one way: for tests of inputs and batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from trees import state

import linkwise as lw


@dataclass(frozen=True)
class Inputs:
    """q, v, a, tau, external as in trees.State, and a force (*batch, 6) at the tip."""

    q: Any
    v: Any
    a: Any
    tau: Any
    external: Any
    force: Any

    def mapped(self, function: Callable[[Any], Any]) -> Inputs:
        return Inputs(*(function(getattr(self, f.name)) for f in fields(self)))

    def changed(self, name: str, value: Any) -> Inputs:
        return replace(self, **{name: value})


def inputs(robot: lw.Robot, batch: tuple[int, ...] = (), seed: int = 0) -> Inputs:
    force = np.random.default_rng(seed + 100).normal(size=(*batch, 6))
    return Inputs(*state(robot, batch, seed), force)


def _tip(r: lw.Robot) -> str:
    return r.tips[-1]


def _driven(r: lw.Robot) -> list[str]:
    return [j.name for j in r.joints][::2]


def _passive(r: lw.Robot) -> list[str]:
    free = [j.name for j, _, _ in r.coordinates]
    return free[1::2] or free[:1]


@dataclass(frozen=True)
class Call:
    """A method, the inputs it reads, and how to call it."""

    reads: tuple[str, ...]
    function: Callable[[lw.Robot, Inputs], Any]

    def __call__(self, robot: lw.Robot, x: Inputs) -> list[np.ndarray]:
        """The results as a flat list of arrays."""
        return flat(self.function(robot, x))


def flat(x: Any) -> list[np.ndarray]:
    if x is None:
        return []
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, (list, tuple)):
        return [y for part in x for y in flat(part)]
    return [np.asarray(x)]


def _call(reads: str, function: Callable[[lw.Robot, Inputs], Any]) -> Call:
    return Call(tuple(reads.split()), function)


CALLS: dict[str, Call] = {
    "integrate": _call("q v", lambda r, x: r.integrate(x.q, x.v)),
    "configuration_rate": _call("v", lambda r, x: r.configuration_rate(x.q, x.v)),  # of hinges it is v, whatever q
    "momentum_force": _call("q v", lambda r, x: r.momentum_force(x.q, x.v)),
    "difference": _call("q", lambda r, x: r.difference(x.q, x.q)),
    "joint_positions": _call("q", lambda r, x: r.joint_positions(x.q)),
    "joint_velocities": _call("v", lambda r, x: r.joint_velocities(x.q, x.v)),  # of a tree it is v, whatever q
    "pose": _call("q", lambda r, x: r.pose(x.q, _tip(r))),
    "poses": _call("q", lambda r, x: r.poses(x.q)),
    "frame_poses": _call("q", lambda r, x: r.frame_poses(x.q)),
    "frame_velocities": _call("q v", lambda r, x: r.frame_velocities(x.q, x.v)),
    "frame_accelerations": _call("q v a", lambda r, x: r.frame_accelerations(x.q, x.v, x.a)),
    "velocities": _call("q v", lambda r, x: r.velocities(x.q, x.v)),
    "accelerations": _call("q v a", lambda r, x: r.accelerations(x.q, x.v, x.a)),
    "velocity": _call("q v", lambda r, x: r.velocity(x.q, x.v, _tip(r))),
    "velocity (local)": _call("q v", lambda r, x: r.velocity(x.q, x.v, _tip(r), axes="local")),
    "acceleration": _call("q v a", lambda r, x: r.acceleration(x.q, x.v, x.a, _tip(r))),
    "acceleration (spatial)": _call("q v a", lambda r, x: r.acceleration(x.q, x.v, x.a, _tip(r), spatial=True)),
    "jacobian": _call("q", lambda r, x: r.jacobian(x.q, _tip(r))),
    "jacobian (local)": _call("q", lambda r, x: r.jacobian(x.q, _tip(r), axes="local")),
    "jacobian_dot_v": _call("q v", lambda r, x: r.jacobian_dot_v(x.q, x.v, _tip(r))),
    "jacobian_force": _call("q force", lambda r, x: r.jacobian_force(x.q, x.force, _tip(r))),
    "jacobian_outer": _call("q", lambda r, x: r.jacobian_outer(x.q, _tip(r))),
    "jacobian_inner": _call("q", lambda r, x: r.jacobian_inner(x.q, _tip(r))),
    "inverse_dynamics": _call("q v a external", lambda r, x: r.inverse_dynamics(x.q, x.v, x.a, external=x.external)),
    "inverse_dynamics (composite_body)": _call(
        "q v a external", lambda r, x: r.inverse_dynamics(x.q, x.v, x.a, external=x.external, method="composite_body")
    ),
    "inverse_dynamics_with_reference": _call(
        "q v a tau external",
        lambda r, x: r.inverse_dynamics_with_reference(x.q, x.v, x.tau, x.a, external=x.external),
    ),
    "bias_force": _call("q v external", lambda r, x: r.bias_force(x.q, x.v, external=x.external)),
    "gravity_force": _call("q", lambda r, x: r.gravity_force(x.q)),
    "spring_force": _call("q v", lambda r, x: r.spring_force(x.q, x.v)),
    "link_forces": _call("q v a external", lambda r, x: r.link_forces(x.q, x.v, x.a, external=x.external)),
    "wrenches": _call("q force", lambda r, x: r.wrenches(x.q, {_tip(r): x.force})),
    **{
        f"mass_matrix ({m})": _call("q", lambda r, x, m=m: r.mass_matrix(x.q, method=m))
        for m in ("composite", "symmetric", "direct")
    },
    "mass_matrix (packed)": _call("q", lambda r, x: r.mass_matrix(x.q, packed=True)),
    "mass_matrix_inverse": _call("q", lambda r, x: r.mass_matrix_inverse(x.q)),
    "mass_times": _call("q v", lambda r, x: r.mass_times(x.q, x.v)),
    "mass_solve": _call("q tau", lambda r, x: r.mass_solve(x.q, x.tau)),
    "innovations_factors": _call("q", lambda r, x: r.innovations_factors(x.q)),
    "inverse_factors": _call("q", lambda r, x: r.inverse_factors(x.q)),
    "log_det_mass": _call("q", lambda r, x: r.log_det_mass(x.q)),
    "coriolis_matrix": _call("q v", lambda r, x: r.coriolis_matrix(x.q, x.v)),
    **{
        f"forward_dynamics ({m})": _call(
            "q v tau external", lambda r, x, m=m: r.forward_dynamics(x.q, x.v, x.tau, external=x.external, method=m)
        )
        for m in lw.FORWARD_METHODS
        if m not in ("armstrong", "scan")  # which do not take every robot, and no symbols: tests of their own
    },
    "hybrid_dynamics": _call(
        "q v a tau external", lambda r, x: r.hybrid_dynamics(x.q, x.v, x.a, x.tau, _driven(r), external=x.external)
    ),
    "disturbance_map": _call("q", lambda r, x: r.disturbance_map(x.q, passive=_passive(r))),
    "generalized_jacobian": _call("q", lambda r, x: r.generalized_jacobian(x.q, _tip(r), passive=_passive(r))),
    "operational_inertia": _call("q", lambda r, x: r.operational_inertia(x.q, _tip(r))),
    "operational_compliance": _call("q", lambda r, x: r.operational_compliance(x.q, list(r.tips))),
    "operational_bias": _call("q v", lambda r, x: r.operational_bias(x.q, x.v, _tip(r))),
    "consistent_inverse": _call("q", lambda r, x: r.consistent_inverse(x.q, _tip(r))),
    "tip_force_correction": _call("q force", lambda r, x: r.tip_force_correction(x.q, x.force, _tip(r))),
    "energy": _call("q v", lambda r, x: r.energy(x.q, x.v)),
    "kinetic_energy": _call("q v", lambda r, x: r.kinetic_energy(x.q, x.v)),
    "potential_energy": _call("q", lambda r, x: r.potential_energy(x.q)),
    "center_of_mass": _call("q", lambda r, x: r.center_of_mass(x.q)),
    "center_of_mass_jacobian": _call("q", lambda r, x: r.center_of_mass_jacobian(x.q)),
    "momentum": _call("q v", lambda r, x: r.momentum(x.q, x.v)),
    "momentum_matrix": _call("q", lambda r, x: r.momentum_matrix(x.q)),
    "centroidal_momentum": _call("q v", lambda r, x: r.centroidal_momentum(x.q, x.v)),
    "centroidal_matrix": _call("q", lambda r, x: r.centroidal_matrix(x.q)),
    "centroidal_bias": _call("q v", lambda r, x: r.centroidal_bias(x.q, x.v)),
    "total_rates": _call("q v", lambda r, x: r.total_rates(x.q, x.v)),
    "total_rates (unnormalized)": _call("q v", lambda r, x: r.total_rates(x.q, x.v, normalized=False)),
    "joint_rates": _call("q v", lambda r, x: r.joint_rates(x.q, x.v)),
    "working_forces": _call("q tau", lambda r, x: r.working_forces(x.q, x.tau)),
    "joint_forces": _call("q tau", lambda r, x: r.joint_forces(x.q, x.tau)),
    "diagonal_coriolis": _call("q v", lambda r, x: r.diagonal_coriolis(x.q, x.v)),
    "diagonal_dynamics": _call(
        "q v tau external", lambda r, x: r.diagonal_dynamics(x.q, x.v, x.tau, external=x.external)
    ),
    "diagonal_dynamics (unnormalized)": _call(
        "q v tau external", lambda r, x: r.diagonal_dynamics(x.q, x.v, x.tau, external=x.external, normalized=False)
    ),
    "mass_factor": _call("q", lambda r, x: r.mass_factor(x.q)),
    "mass_factor_rate": _call("q v", lambda r, x: r.mass_factor_rate(x.q, x.v)),
    "articulated_inertias": _call("q", lambda r, x: r.articulated_inertias(x.q)),
    "articulated_inertia_rates": _call("q v", lambda r, x: r.articulated_inertia_rates(x.q, x.v)),
    "mass_matrix_sensitivity": _call("q", lambda r, x: r.mass_matrix_sensitivity(x.q)),
    "curvature": _call("q", lambda r, x: r.curvature(x.q)),
    **{
        f"linearize_inverse ({m})": _call(
            "q v a external", lambda r, x, m=m: r.linearize_inverse(x.q, x.v, x.a, external=x.external, method=m)
        )
        for m in ("algorithm_1", "algorithm_2")
    },
    **{
        f"linearize_forward ({m})": _call(
            "q v tau external", lambda r, x, m=m: r.linearize_forward(x.q, x.v, x.tau, external=x.external, method=m)
        )
        for m in (None, "algorithm_3", "algorithm_4", "algorithm_5_ii")
    },
    "inverse_dynamics_jvp": _call(
        "q v a tau external", lambda r, x: r.inverse_dynamics_jvp(x.q, x.v, x.a, x.tau, x.v, x.tau, external=x.external)
    ),
    "inverse_dynamics_vjp": _call(
        "q v a tau external", lambda r, x: r.inverse_dynamics_vjp(x.q, x.v, x.a, x.tau, external=x.external)
    ),
    "inverse_dynamics_hvp": _call(
        "q v a tau external",
        lambda r, x: r.inverse_dynamics_hvp(x.q, x.v, x.a, x.tau, x.v, x.a, x.tau, external=x.external),
    ),
    **{
        f"forward_dynamics_jvp ({m})": _call(
            "q v tau a external",
            lambda r, x, m=m: r.forward_dynamics_jvp(x.q, x.v, x.tau, x.a, x.v, x.a, external=x.external, method=m),
        )
        for m in ("algorithm_3", "algorithm_5_ii")
    },
    "forward_dynamics_vjp": _call(
        "q v tau a external", lambda r, x: r.forward_dynamics_vjp(x.q, x.v, x.tau, x.a, external=x.external)
    ),
    "forward_dynamics_hvp": _call(
        "q v tau a external",
        lambda r, x: r.forward_dynamics_hvp(x.q, x.v, x.tau, x.a, x.v, x.a, x.tau, external=x.external),
    ),
    "linearize_velocity": _call("q v", lambda r, x: r.linearize_velocity(x.q, x.v, _tip(r))),
    "linearize_acceleration": _call("q v a", lambda r, x: r.linearize_acceleration(x.q, x.v, x.a, _tip(r))),
    "operational_compliance_derivative": _call(
        "q", lambda r, x: r.operational_compliance_derivative(x.q, list(r.tips))
    ),
    "operational_inertia_derivative": _call("q", lambda r, x: r.operational_inertia_derivative(x.q, _tip(r))),
    "inverse_dynamics_regressor": _call("q v a", lambda r, x: r.inverse_dynamics_regressor(x.q, x.v, x.a)),
    "regressor_with_reference": _call("q v a tau", lambda r, x: r.regressor_with_reference(x.q, x.v, x.tau, x.a)),
    "parameter_gradient": _call("q v a tau", lambda r, x: r.parameter_gradient(x.q, x.v, x.tau, x.a, x.v)),
    "forward_dynamics_sensitivity": _call(
        "q v tau external", lambda r, x: r.forward_dynamics_sensitivity(x.q, x.v, x.tau, external=x.external)
    ),
    "forward_dynamics_sensitivity (placements)": _call(
        "q v tau external",
        lambda r, x: r.forward_dynamics_sensitivity(x.q, x.v, x.tau, external=x.external, of="placements"),
    ),
    "placement_jacobian": _call("q", lambda r, x: r.placement_jacobian(x.q, _tip(r))),
    "external_force": _call("q external", lambda r, x: r.external_force(x.q, x.external)),
    "operators (mass)": _call("q v", lambda r, x: r.operators(x.q).mass @ x.v),
    "operators (mass.inv)": _call("q tau", lambda r, x: r.operators(x.q).mass.inv() @ x.tau),
    "operators (J)": _call("q v", lambda r, x: r.operators(x.q).J @ x.v),
    "operators (dense)": _call("q", lambda r, x: r.operators(x.q).mass.dense()),
}

# Results that are lists per body, without a common batch shape, or that need another sort of robot.
APART = {
    "forward_quantities",
    "jacobian_inner_inverse",
    "coupling_jacobian",
    "filter",
    "inverse_kinematics",
    "equilibrium",
    "modes",
}
# The configuration is theirs alone: no state goes in.
OTHERS = {"lock", "is_diagonalizable"}
