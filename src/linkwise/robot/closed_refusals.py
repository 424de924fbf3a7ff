"""What a closed robot refuses by name, with the reason, and what it answers as its tree does."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from ..codegen.facts import Facts
from ..errors import NotAdmittedError
from .dispatch import compiled

_TREE = (
    "it factors the mass matrix of a tree; robot.opened has it for the tree that is left when the loops are cut, and"
    " robot.operators(q, embedded=True) in independent rates, where loops name the joints that follow"
)
_DIAGONAL = (
    "diagonal coordinates need coordinates that are independent, and loops are cut here; robot.operators(q,"
    " embedded=True) has the factors m and ell where loops name the joints that follow"
)
_DERIVATIVE = "of closed robots there are first derivatives; kernel.jacobian of compiled code has this one"
_ARGUMENT = "robot.opened has it for the tree, with the loops' forces as external ones"
REFUSED = {
    **dict.fromkeys(("innovations_factors", "inverse_factors", "log_det_mass", "forward_quantities"), _TREE),
    **dict.fromkeys(("articulated_inertias", "articulated_inertia_rates"), _TREE),
    **dict.fromkeys(("total_rates", "joint_rates", "working_forces", "joint_forces", "diagonal_coriolis"), _DIAGONAL),
    **dict.fromkeys(("diagonal_dynamics", "mass_factor", "mass_factor_rate"), _DIAGONAL),
    **dict.fromkeys(("mass_matrix_sensitivity", "curvature", "is_diagonalizable", "flat_coordinates"), _DIAGONAL),
    "forward_dynamics_hvp": _DERIVATIVE,
    **dict.fromkeys(("operational_compliance_derivative", "operational_inertia_derivative"), _DERIVATIVE),
    **dict.fromkeys(
        ("link_forces", "hybrid_dynamics", "tip_force_correction", "disturbance_map", "generalized_jacobian"), _ARGUMENT
    ),
    **dict.fromkeys(("operational_bias", "consistent_inverse", "base_parameters", "momentum_force"), _ARGUMENT),
}
# What is the same function of the state for a closed robot as for its tree.
OF_THE_TREE = frozenset(
    {
        *("joint_positions", "joint_velocities", "coupling_jacobian", "placement_jacobian"),
        *("frame_poses", "frame_velocities", "frame_accelerations"),
        *("integrate", "difference", "pose", "poses", "velocities", "accelerations", "velocity", "acceleration"),
        *(
            "jacobian",
            "placement_jacobian",
            "jacobian_dot_v",
            "jacobian_force",
            "jacobian_outer",
            "jacobian_inner",
            "jacobian_inner_inverse",
        ),
        *("linearize_velocity", "linearize_acceleration", "external_force", "wrenches", "configuration_rate"),
        *("energy", "kinetic_energy", "potential_energy", "center_of_mass", "center_of_mass_jacobian", "momentum"),
        *(
            "momentum_matrix",
            "centroidal_momentum",
            "centroidal_matrix",
            "centroidal_bias",
            "mass_matrix",
            "mass_times",
        ),
        *("inverse_dynamics_with_reference", "bias_force", "gravity_force", "spring_force", "coriolis_matrix"),
        *("inverse_dynamics_regressor", "regressor_with_reference", "parameter_gradient", "operators", "filter"),
    }
)


def refuse_method(robot: Any, name: str, method: str | None) -> None:
    """Refuse the name of a method where closed robots have one way to do it."""
    if method is not None:
        raise NotAdmittedError(
            f"{name} of robot {robot.name!r}, which has loops, has one way to do it; leave method={method!r} out"
        )


def refusing(name: str, why: str) -> Callable[..., NoReturn]:
    """A method that refuses; compiling it says the same."""

    def refuse(self: Any, *args: Any, **named: Any) -> NoReturn:
        raise NotAdmittedError(f"{name} of robot {self.name!r}, which has {len(self.loops)} loops: {why}")

    refuse.__name__, refuse.__doc__ = name, f"Refused for robots with loops: {why}."
    refuse.__dict__["refuses"] = True
    return refuse


# Derivatives of the tree's inverse dynamics, which those of springs would have to be added to.
OF_RIGID_LOOPS = ("linearize_inverse", "inverse_dynamics_jvp", "inverse_dynamics_vjp", "inverse_dynamics_hvp")


def refusing_soft(method: Any) -> Any:
    """A method of the catalogue that refuses robots with soft loops, and is as it was for others."""
    facts: Facts = method.facts
    plain: Callable[..., Any] = method.plain

    @functools.wraps(plain)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        if self.soft_loops:
            raise NotAdmittedError(
                f"{plain.__name__} of robot {self.name!r}: loop {self.soft_loops[0].name!r} is soft, and derivatives of"
                " inverse dynamics with its forces are those of compiled code: robot.compile('inverse_dynamics')"
                ".jacobian('q')"
            )
        return plain(self, *args, **named)

    variants = tuple(x for x in facts.rolls if x is not None)
    rolls = variants or bool(facts.rolls)
    return compiled(
        joint_space=facts.joint_space,
        rolls=rolls,
        per_pair=facts.per_pair,
        per_body=facts.per_body,
        mixes_columns=facts.mixes_columns,
        in_parts=facts.in_parts,
        on_arrays=facts.on_arrays,
        **facts.arrays,
    )(call)
