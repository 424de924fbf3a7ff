"""The methods of a robot that come from the Linearized dynamics paper: derivatives, and inertial parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import inputs
from ..arrays import Array, ArrayLike, SameKind
from ..codegen import thresholds
from ..dynamics.forward import articulated_body as forward
from ..dynamics.linearized import frames as linearized_frames
from ..dynamics.linearized import inertial_parameters as parameters
from ..dynamics.linearized import models as linear
from ..dynamics.linearized import operational as linearized_operational
from ..dynamics.linearized import placements
from ..model.model import Model
from .calls import Calls, as_frames, choose
from .dispatch import compiled, on_numpy
from .for_loops import AS_TREE, CUT_ALONE, ONE_DERIVATIVE, RIGID_ALONE, for_loops


def _inverse_lemma(name: str) -> Callable[..., Any]:
    def run(model: Model, q: Array, v: Array, a: Array, external: Array | None) -> Any:
        from ..algebra.linearized import matrices

        return matrices(model, name, q, v, a, external)

    return run


def _forward_lemma(name: str) -> Callable[..., Any]:
    def run(model: Model, q: Array, v: Array, tau: Array, external: Array | None) -> Any:
        from ..algebra.linearized import matrices

        a = forward.articulated_body(model, q, v, tau, external).acceleration
        return matrices(model, name, q, v, a, external)

    return run


INVERSE_LINEARIZATIONS: dict[str, Callable[..., Any]] = {
    **linear.INVERSE_LINEARIZATIONS,
    **{name: _inverse_lemma(name) for name in ("lemma_3_1", "lemma_3_2")},
}

FORWARD_LINEARIZATIONS: dict[str, Callable[..., Any]] = {
    **linear.FORWARD_LINEARIZATIONS,
    **{name: _forward_lemma(name) for name in ("lemma_4_1", "lemma_4_6", "lemma_4_7", "lemma_4_9")},
}


SENSITIVITIES: dict[str, Callable[..., Array]] = {
    "inertial": parameters.forward_sensitivity,
    "placements": placements.forward_placements,
}


@dataclass(frozen=True, eq=False, repr=False)
class Linearized(Calls):
    """Linearised models, products with them both ways, and sensitivities to inertial parameters."""

    # --- linearised models -------------------------------------------------------------------------

    @compiled(
        q="nq",
        v="nv",
        a="nv",
        external=("bodies", 6),
        joint_space=True,
        rolls=("algorithm_2",),
        per_pair=150,
        loops=RIGID_ALONE,
    )
    def linearize_inverse(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        external: ArrayLike | None = None,
        method: str = "algorithm_2",
    ) -> linear.InverseLinearization:
        """δT = M δa + dv δv + dq δq: ``.M``, ``.dv``, ``.dq``, each (..., nv, nv) (LD Lemmas 3.1, 3.2).

        ``method`` is any of :data:`linkwise.INVERSE_LINEARIZATIONS`. δq is a tangent vector of :meth:`integrate`;
        external forces stay fixed in the axes of their bodies.
        """
        run = choose(INVERSE_LINEARIZATIONS, method, "linearisation of inverse dynamics")
        batch, values, f = self._checked_state(external, q=q, v=v, a=a)
        return linear.InverseLinearization(*(inputs.fit(x, batch, 2) for x in run(self, *values, f)))

    @compiled(
        q="nq",
        v="nv",
        tau="nv",
        external=("bodies", 6),
        joint_space=True,
        rolls=("algorithm_6",),
        per_pair=170,
        mixes_columns=True,
    )
    def linearize_forward(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        external: ArrayLike | None = None,
        method: str | None = None,
    ) -> linear.ForwardLinearization:
        """δa = Minv δτ + dv δv + dq δq: ``.Minv``, ``.dv``, ``.dq``, each (..., nv, nv) (LD §4).

        ``method`` is any of :data:`linkwise.FORWARD_LINEARIZATIONS`, by default the one that is quickest
        for this robot, by its structure. ``.state_space()`` makes A and B of it.
        """
        name = linear.quickest_forward(self, *thresholds.ALGORITHM_6_PRODUCTS) if method is None else method
        run = choose(FORWARD_LINEARIZATIONS, name, "linearisation of forward dynamics")
        batch, (q, v, tau), f = self._checked_state(external, q=q, v=v, tau=tau)
        found = linear.linearize_forward(self, q, v, tau, f, run)
        out = linear.ForwardLinearization(*(inputs.fit(x, batch, 2) for x in found))
        out.set_origin(self, v)
        return out

    @compiled(
        q="nq",
        v="nv",
        a="nv",
        dq="nv",
        dv="nv",
        da="nv",
        external=("bodies", 6),
        joint_space=True,
        rolls=True,
        per_body=700,
        loops=RIGID_ALONE,
    )
    def inverse_dynamics_jvp(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        dq: ArrayLike,
        dv: ArrayLike,
        da: ArrayLike,
        *,
        external: ArrayLike | None = None,
    ) -> SameKind:
        """δT, (..., nv), along δq (tangent), δv, δa, in O(n) (LD Algorithm 1)."""
        return self._with_forces(linear.inverse_jvp, 1, external, q, v=v, a=a, dq=dq, dv=dv, da=da)

    @compiled(
        q="nq",
        v="nv",
        a="nv",
        weights="nv",
        external=("bodies", 6),
        joint_space=True,
        rolls=True,
        per_body=700,
        loops=RIGID_ALONE,
    )
    def inverse_dynamics_vjp(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, weights: ArrayLike, *, external: ArrayLike | None = None
    ) -> linear.InverseGradient:
        """The gradients ``.dq`` (tangent), ``.dv``, ``.da`` of weights · T, each (..., nv), in O(n)."""
        batch, (q, v, a, w), f = self._checked_state(external, q=q, v=v, a=a, weights=weights)
        return linear.InverseGradient(*(inputs.fit(x, batch, 1) for x in linear.inverse_vjp(self, q, v, a, w, f)))

    @compiled(
        q="nq",
        v="nv",
        tau="nv",
        dq="nv",
        dv="nv",
        dtau="nv",
        external=("bodies", 6),
        joint_space=True,
        rolls=("algorithm_5_ii", "algorithm_5"),
        per_body=1300,
    )
    def forward_dynamics_jvp(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        dq: ArrayLike,
        dv: ArrayLike,
        dtau: ArrayLike,
        *,
        external: ArrayLike | None = None,
        method: str = "algorithm_5_ii",
    ) -> SameKind:
        """δa, (..., nv), along δq (tangent), δv, δτ, in O(n) and without a mass matrix (LD Algorithm 5).

        ``method``: "algorithm_5_ii", "algorithm_5", or "algorithm_3", which solves with the mass matrix.
        """
        run = choose(linear.FORWARD_DIRECTIONS, method, "directional linearisation of forward dynamics")
        batch, (q, v, tau, *along), f = self._checked_state(external, q=q, v=v, tau=tau, dq=dq, dv=dv, dtau=dtau)
        return inputs.fit(linear.forward_jvp(self, q, v, tau, along, f, run), batch, 1)

    @compiled(
        q="nq", v="nv", tau="nv", weights="nv", external=("bodies", 6), joint_space=True, rolls=True, per_body=1300
    )
    def forward_dynamics_vjp(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, weights: ArrayLike, *, external: ArrayLike | None = None
    ) -> linear.ForwardGradient:
        """The gradients ``.dq`` (tangent), ``.dv``, ``.dtau`` of weights · a, each (..., nv), in O(n)."""
        batch, (q, v, tau, w), f = self._checked_state(external, q=q, v=v, tau=tau, weights=weights)
        return linear.ForwardGradient(*(inputs.fit(x, batch, 1) for x in linear.forward_vjp(self, q, v, tau, w, f)))

    @compiled(
        q="nq",
        v="nv",
        a="nv",
        weights="nv",
        dq="nv",
        dv="nv",
        da="nv",
        external=("bodies", 6),
        joint_space=True,
        rolls=True,
        per_body=950,
        loops=RIGID_ALONE,
    )
    def inverse_dynamics_hvp(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        weights: ArrayLike,
        dq: ArrayLike,
        dv: ArrayLike,
        da: ArrayLike,
        *,
        external: ArrayLike | None = None,
    ) -> linear.InverseGradient:
        """How the gradients of weights · T change along (δq, δv, δa): its second derivative times a direction."""
        state = {"q": q, "v": v, "a": a, "weights": weights, "dq": dq, "dv": dv, "da": da}
        return linear.InverseGradient(*self._gradient_change(linear.inverse_vjp, external, state))

    @compiled(
        q="nq",
        v="nv",
        tau="nv",
        weights="nv",
        dq="nv",
        dv="nv",
        dtau="nv",
        external=("bodies", 6),
        joint_space=True,
        rolls=True,
        per_body=1800,
        loops=ONE_DERIVATIVE,
    )
    def forward_dynamics_hvp(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        weights: ArrayLike,
        dq: ArrayLike,
        dv: ArrayLike,
        dtau: ArrayLike,
        *,
        external: ArrayLike | None = None,
    ) -> linear.ForwardGradient:
        """How the gradients of weights · a change along (δq, δv, δτ): its second derivative times a direction."""
        state = {"q": q, "v": v, "tau": tau, "weights": weights, "dq": dq, "dv": dv, "dtau": dtau}
        return linear.ForwardGradient(*self._gradient_change(linear.forward_vjp, external, state))

    def _gradient_change(self, vjp: Callable[..., Any], external: Any, state: dict[str, Any]) -> list[Array]:
        """The derivative of a gradient along a direction; ``state`` is the point, the weights and the direction."""
        from ..dynamics.linearized.second_derivatives import gradient_change

        batch, (q, v, third, w, dq, dv, dthird), f = self._checked_state(external, **state)

        def gradient(q: Array, v: Array, third: Array) -> Any:
            return vjp(self, q, v, third, w, f)

        found = gradient_change(self, gradient, q, [v, third], dq, [dv, dthird])
        return [inputs.fit(x, batch, 1) for x in found]

    @compiled(q="nq", v="nv", rolls=True, rolls_with=("frame", "axes"), loops=AS_TREE)
    def linearize_velocity(
        self, q: ArrayLike, v: ArrayLike, frame: Any, *, axes: str = "world"
    ) -> linearized_frames.VelocityLinearization:
        """δV = dv δv + dq δq of a frame's [ω; v]: ``.dv`` (the Jacobian) and ``.dq``, each (..., 6, nv)."""
        batch, (q, v), _ = self._checked_state(None, q=q, v=v)
        found = linearized_frames.velocity(self, q, v, frame, axes)
        return linearized_frames.VelocityLinearization(*(inputs.fit(x, batch, 2) for x in found))

    @compiled(q="nq", v="nv", a="nv", per_body=1000, rolls=True, rolls_with=("frame", "axes"), loops=AS_TREE)
    def linearize_acceleration(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, frame: Any, *, axes: str = "world"
    ) -> linearized_frames.AccelerationLinearization:
        """δα = J δa + dv δv + dq δq of a frame's classical acceleration, each (..., 6, nv); at a = 0 that of J̇v."""
        batch, (q, v, a), _ = self._checked_state(None, q=q, v=v, a=a)
        found = linearized_frames.acceleration(self, q, v, a, frame, axes)
        return linearized_frames.AccelerationLinearization(*(inputs.fit(x, batch, 2) for x in found))

    @compiled(q="nq", per_body=2600, rolls=True, rolls_with=("frame",), loops=ONE_DERIVATIVE)
    def operational_compliance_derivative(self, q: ArrayLike, frame: Any) -> SameKind:
        """∂Λ⁻¹/∂q (tangent), (..., 6e, 6e, nv), world axes."""
        return self._call(linearized_operational.compliance_derivative, 3, q, as_frames(frame))

    @compiled(q="nq", per_body=3600, rolls=True, rolls_with=("frame",), loops=ONE_DERIVATIVE)
    def operational_inertia_derivative(self, q: ArrayLike, frame: Any) -> SameKind:
        """∂Λ/∂q (tangent), (..., 6e, 6e, nv), world axes."""
        return self._call(linearized_operational.inertia_derivative, 3, q, as_frames(frame))

    # --- inertial parameters -------------------------------------------------------------------------

    @compiled(q="nq", v="nv", a="nv", rolls=True, per_pair=320, loops=AS_TREE)
    def inverse_dynamics_regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> SameKind:
        """Y, (..., nv, 10 bodies): T = Y π with π = inertial_parameters, but for rotors and external forces."""
        return self._call(parameters.regressor, 2, q, v=v, a=a)

    @compiled(q="nq", v="nv", tau="nv", external=("bodies", 6), rolls=True, per_pair=330)
    def forward_dynamics_sensitivity(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        external: ArrayLike | None = None,
        of: str = "inertial",
    ) -> SameKind:
        """∂a/∂π, (..., nv, 10 bodies), with π = inertial_parameters (LD Algorithm 5, driven by δT = −Yδπ).

        ``of="placements"`` are derivatives in where joints are placed, (..., nv, 6 bodies), six a joint as
        :meth:`with_placements` takes them.
        """
        run = choose(SENSITIVITIES, of, "sort of parameters")
        return self._with_forces(run, 2, external, q, v=v, tau=tau)

    @for_loops(CUT_ALONE)
    @on_numpy
    def base_parameters(self) -> parameters.BaseParameters:
        """Which combinations of the inertial parameters motion can tell apart, by rank of random regressors."""
        return parameters.base_parameters(self)
