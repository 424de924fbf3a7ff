"""A robot: a model with the catalogue of algorithms as its methods.

Arguments: configurations q (..., nq), velocities, accelerations and joint forces (..., nv), any leading
batch dimensions, which broadcast. Frames are given by name. Results keep the precision of the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arrays, inputs
from .arrays import Array
from .dynamics import (
    coriolis,
    forward,
    forward_explicit,
    hybrid,
    inverse,
    kinematics,
    linearized_frames,
    mass,
    momentum,
    operational,
    parameters,
)
from .dynamics import linearized as linear
from .dynamics.armstrong import armstrong
from .dynamics.notations import NAMED
from .errors import InputError, UnknownNameError
from .model import edit
from .model.inertia import Inertia
from .model.model import Model

if TYPE_CHECKING:
    from .algebra.leaves import Operators

FORWARD_METHODS: dict[str, Callable[..., forward.Forward]] = {
    "articulated_body": forward.articulated_body,
    "fd1": forward.fd1,
    "fd2": forward.fd2,
    "fd3": forward.fd3,
    "fd4": forward.fd4,
    "composite_cholesky": forward_explicit.composite_cholesky,
    "conjugate_gradient": forward_explicit.conjugate_gradient,
    "preconditioned_conjugate_gradient": forward_explicit.preconditioned_conjugate_gradient,
    "triangular": forward_explicit.triangular,
    "armstrong": armstrong,
    **NAMED,
}


def _inverse_lemma(name: str) -> Callable[..., Any]:
    def run(model: Model, q: Array, v: Array, a: Array, external: Array | None) -> Any:
        from .algebra.linearized import matrices

        return matrices(model, name, q, v, a, external)

    return run


def _forward_lemma(name: str) -> Callable[..., Any]:
    def run(model: Model, q: Array, v: Array, tau: Array, external: Array | None) -> Any:
        from .algebra.linearized import matrices

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

INVERSE_METHODS = {"newton_euler": inverse.newton_euler, "composite_body": inverse.composite_body}


def _choose(methods: Mapping[str, Any], name: str, what: str) -> Any:
    if name not in methods:
        raise UnknownNameError(f"no {what} is named {name!r}; choose from {', '.join(methods)}")
    return methods[name]


@dataclass(frozen=True, eq=False, repr=False)
class Robot(Model):
    """A robot. Make one with :func:`linkwise.load`, ``chain``, ``random_tree`` or ``assemble``."""

    # --- configurations ----------------------------------------------------------------------------

    def integrate(self, q: Any, dv: Any) -> Array:
        """q ⊕ dv, (..., nq): where the constant velocity dv (..., nv) leads in unit time, on the manifold."""
        q, dv, batch = self._pair(inputs.configuration(self, q), inputs.vector(dv, self.nv, "dv", self), "q", "dv")
        parts = [j.kind.integrate(q[..., a], dv[..., b]) for j, a, b in zip(self.joints, self.q_slices, self.v_slices)]
        return self._concatenated(parts, batch, q)

    def difference(self, q0: Any, q1: Any) -> Array:
        """q1 ⊖ q0, (..., nv): the velocity that leads from q0 to q1 in unit time."""
        q0, q1, batch = self._pair(inputs.configuration(self, q0), inputs.configuration(self, q1), "q0", "q1")
        parts = [j.kind.difference(q0[..., a], q1[..., a]) for j, a in zip(self.joints, self.q_slices)]
        return self._concatenated(parts, batch, q0)

    def _pair(self, x: Array, y: Array, nx: str, ny: str) -> tuple[Array, Array, tuple[int, ...]]:
        batch, (x, y) = inputs.together(self, **{nx: x, ny: y})
        return x, y, batch

    def _concatenated(self, parts: Sequence[Array], batch: tuple[int, ...], like: Array) -> Array:
        parts = [p for p in parts if p.shape[-1]]
        if not parts:
            return arrays.zeros((*batch, 0), like=like)
        xp = arrays.namespace(*parts)
        return xp.concatenate([xp.broadcast_to(p, batch + p.shape[-1:]) for p in parts], axis=-1)

    # --- running an algorithm ------------------------------------------------------------------------

    def _call(self, function: Callable[..., Array], tail: int, q: Any, *args: Any, **named: Any) -> Array:
        """Check q and the named joint-space vectors, run ``function(self, q, *vectors, *args)``."""
        checked = {"q": inputs.configuration(self, q)}
        checked |= {k: inputs.vector(x, self.nv, k, self) for k, x in named.items()}
        batch, values = inputs.together(self, **checked)
        return inputs.fit(function(self, *values, *args), batch, tail)

    def _with_forces(
        self, function: Callable[..., Array], tail: int, external: Any, q: Any, *args: Any, **named: Any
    ) -> Array:
        """As _call, for functions that also take external forces; their batch counts too."""
        f = inputs.forces(self, external)
        checked = {"q": inputs.configuration(self, q)}
        checked |= {k: inputs.vector(x, self.nv, k, self) for k, x in named.items()}
        batch, values, f = self._joined_with(f, checked)
        return inputs.fit(function(self, *values, *args, f), batch, tail)

    def _joined_with(self, f: Array | None, checked: Mapping[str, Array]) -> tuple[tuple[int, ...], list[Array], Any]:
        """The common batch of the checked inputs and of external forces, and all of them in one precision."""
        shown = {} if f is None else {"external": f.reshape((*f.shape[:-2], f.shape[-2] * 6))}
        batch, values = inputs.together(self, **checked, **shown)
        values = values[: len(checked)]
        if f is not None and arrays.namespace(f) is np:
            f = f.astype(values[0].dtype)
        return batch, values, f

    # --- kinematics ----------------------------------------------------------------------------------

    def pose(self, q: Any, frame: Any) -> tuple[Array, Array]:
        """(R, p) of a frame in the world: R (..., 3, 3) takes frame axes to world axes, p (..., 3) [m]."""
        q = inputs.configuration(self, q)
        X = kinematics.pose(self, q, frame)
        return inputs.fit(X.R, q.shape[:-1], 2), inputs.fit(X.l, q.shape[:-1], 1)

    def poses(self, q: Any) -> dict[str, tuple[Array, Array]]:
        """(R, p) of every named frame."""
        q = inputs.configuration(self, q)
        batch = q.shape[:-1]
        found = kinematics.frame_poses(self, q)
        return {name: (inputs.fit(X.R, batch, 2), inputs.fit(X.l, batch, 1)) for name, X in found.items()}

    def velocities(self, q: Any, v: Any) -> dict[str, Array]:
        """[ω; v] of every named frame, each (..., 6), world axes at its origin."""
        q, v, batch = self._pair(inputs.configuration(self, q), inputs.vector(v, self.nv, "v", self), "q", "v")
        return {k: inputs.fit(x, batch, 1) for k, x in kinematics.frame_motions(self, q, v).items()}

    def accelerations(self, q: Any, v: Any, a: Any) -> dict[str, Array]:
        """The classical acceleration [ω̇; v̇] of every named frame, each (..., 6), world axes."""
        checked = {"q": inputs.configuration(self, q)}
        checked |= {k: inputs.vector(x, self.nv, k, self) for k, x in (("v", v), ("a", a))}
        batch, values = inputs.together(self, **checked)
        return {k: inputs.fit(x, batch, 1) for k, x in kinematics.frame_motions(self, *values).items()}

    def velocity(self, q: Any, v: Any, frame: Any, axes: str = "world") -> Array:
        """[ω; v] of a frame's origin, (..., 6), in world axes or, with axes="local", in its own."""
        return self._call(kinematics.frame_velocity, 1, q, frame, axes, v=v)

    def acceleration(self, q: Any, v: Any, a: Any, frame: Any, axes: str = "world", spatial: bool = False) -> Array:
        """[ω̇; v̇] of a frame's origin, (..., 6): its classical acceleration, or the spatial one."""
        return self._call(kinematics.frame_acceleration, 1, q, frame, axes, spatial, v=v, a=a)

    def jacobian(self, q: Any, frame: Any, axes: str = "world") -> Array:
        """J = B*φ*H*, (..., 6, nv), angular first, at the frame's origin: V(0) = J v (OA (2.1))."""
        return self._call(kinematics.jacobian, 2, q, frame, axes)

    def jacobian_dot_v(self, q: Any, v: Any, frame: Any, axes: str = "world") -> Array:
        """J̇ v, (..., 6): the frame's classical acceleration while v̇ = 0 (JPL 88-11, after (3.17))."""

        def run(model: Model, q: Array, v: Array) -> Array:
            return kinematics.frame_acceleration(model, q, v, None, frame, axes)

        return self._call(run, 1, q, v=v)

    def jacobian_force(self, q: Any, frame: Any, force: Any) -> Array:
        """J* f, (..., nv): the joint forces that hold a force f (..., 6) exerted by the tip (OA (2.1))."""
        f = inputs.vector(force, 6, "force", self)
        q = inputs.configuration(self, q)
        batch, (q, f) = inputs.together(self, q=q, force=f)
        J = kinematics.jacobian(self, q, frame)
        return inputs.fit((arrays.transpose(J) @ f[..., None])[..., 0], batch, 1)

    def jacobian_outer(self, q: Any, frame: Any) -> Array:
        """J J*, (..., 6, 6), by an outward recursion (math notes 4)."""
        return self._call(kinematics.jacobian_outer, 2, q, frame)

    def jacobian_inner(self, q: Any, frame: Any) -> Array:
        """J* J, (..., nv, nv), as a mass matrix with all inertia at the tip (math notes 4)."""
        return self._call(kinematics.jacobian_inner, 2, q, frame)

    def jacobian_inner_inverse(self, q: Any, frame: Any) -> Array:
        """(J* J)⁻¹, (..., nv, nv), for arms without redundancy, by the innovations factorisation."""
        return self._call(kinematics.jacobian_inner_inverse, 2, q, frame)

    # --- inverse dynamics ----------------------------------------------------------------------------

    def inverse_dynamics(self, q: Any, v: Any, a: Any, external: Any = None, method: str = "newton_euler") -> Array:
        """T = 𝓜a + 𝓒 + gravity, (..., nv) [N m, N]. ``method``: "newton_euler" or "composite_body".

        ``external`` (..., bodies, 6) is the [moment; force] on each body, in body axes at its origin;
        :meth:`wrenches` makes it from forces at frames.
        """
        run = _choose(INVERSE_METHODS, method, "inverse-dynamics method")
        return self._with_forces(run, 1, external, q, v=v, a=a)

    def bias_force(self, q: Any, v: Any, external: Any = None) -> Array:
        """𝓒(q, v) + gravity, (..., nv): the joint forces for which v̇ = 0."""

        def run(model: Model, q: Array, v: Array, f: Array | None) -> Array:
            return inverse.bias_force(model, q, v, f)

        return self._with_forces(run, 1, external, q, v=v)

    def gravity_force(self, q: Any) -> Array:
        """The joint forces (..., nv) that hold the robot still against gravity."""
        return self._call(lambda m, q: inverse.bias_force(m, q, arrays.zeros((m.nv,), like=q)), 1, q)

    def link_forces(self, q: Any, v: Any, a: Any, external: Any = None) -> Array:
        """f(k), (..., bodies, 6): the force on every body by its inboard neighbour, body axes, at its joint."""
        return self._with_forces(inverse.link_forces, 2, external, q, v=v, a=a)

    def wrenches(self, q: Any, forces: Mapping[str, Any]) -> Array:
        """External forces (..., bodies, 6) from [moment; force] (..., 6) acting on frames, world axes."""
        q = inputs.configuration(self, q)
        checked = {str(k): inputs.vector(f, 6, f"the force on {k!r}", self) for k, f in forces.items()}
        batch, values = inputs.together(self, q=q, **checked)
        from .dynamics.links import evaluate

        links = evaluate(self, values[0])
        per_body: list[Any] = [arrays.zeros((*batch, 6), like=q) for _ in self.bodies]
        for frame, f in zip(forces, values[1:]):
            body, tip = kinematics.tip_transform(self, links, frame)
            if body >= 0:
                per_body[body] = per_body[body] + (tip @ f[..., None])[..., 0]
        return arrays.stack(per_body, axis=-2) if per_body else arrays.zeros((*batch, 0, 6), like=q)

    # --- mass matrix ---------------------------------------------------------------------------------

    def mass_matrix(self, q: Any, method: str = "composite") -> Array:
        """𝓜 = HφMφ*H*, (..., nv, nv). ``method``: "composite", "symmetric" or "direct" (UF §3)."""
        return self._call(_choose(mass.METHODS, method, "mass-matrix method"), 2, q)

    def mass_matrix_inverse(self, q: Any) -> Array:
        """𝓜⁻¹ = (I − HψK)*D⁻¹(I − HψK), (..., nv, nv) (OA Lemma 4.3)."""
        return self._call(mass.inverse, 2, q)

    def mass_times(self, q: Any, x: Any) -> Array:
        """𝓜 x, (..., nv), in O(n), no matrix formed."""
        return self._call(mass.times, 1, q, x=x)

    def mass_solve(self, q: Any, tau: Any) -> Array:
        """𝓜⁻¹ τ, (..., nv), in O(n), no matrix formed."""
        return self._call(mass.solve, 1, q, tau=tau)

    def innovations_factors(self, q: Any) -> tuple[Array, Array]:
        """(I + HφK, D), each (..., nv, nv): 𝓜 = (I + HφK) D (I + HφK)* (OA Lemma 4.1)."""
        q = inputs.configuration(self, q)
        factor, D = mass.innovations_factors(self, q)
        return inputs.fit(factor, q.shape[:-1], 2), inputs.fit(D, q.shape[:-1], 2)

    def inverse_factors(self, q: Any) -> tuple[Array, Array]:
        """(I − HψK, D⁻¹), each (..., nv, nv): 𝓜⁻¹ = (I − HψK)* D⁻¹ (I − HψK) (OA Lemmas 4.2, 4.3)."""
        q = inputs.configuration(self, q)
        factor, D_inverse = mass.inverse_factors(self, q)
        return inputs.fit(factor, q.shape[:-1], 2), inputs.fit(D_inverse, q.shape[:-1], 2)

    def log_det_mass(self, q: Any) -> Array:
        """log det 𝓜 = Σ log det D(k), (...)."""
        return self._call(mass.log_determinant, 0, q)

    def coriolis_matrix(self, q: Any, v: Any) -> Array:
        """C, (..., nv, nv), with C v = bias force without gravity and d𝓜/dt − 2C skew."""
        return self._call(coriolis.coriolis_matrix, 2, q, v=v)

    # --- forward dynamics ----------------------------------------------------------------------------

    def forward_dynamics(
        self, q: Any, v: Any, tau: Any, external: Any = None, method: str = "articulated_body"
    ) -> Array:
        """The joint accelerations (..., nv) that joint forces τ (..., nv) cause.

        ``method`` is any of :data:`linkwise.FORWARD_METHODS`; they agree, and differ in what they cost.
        """
        run = _choose(FORWARD_METHODS, method, "forward-dynamics method")
        return self._with_forces(lambda *x: run(*x).acceleration, 1, external, q, v=v, tau=tau)

    def forward_quantities(
        self, q: Any, v: Any, tau: Any, external: Any = None, method: str = "articulated_body"
    ) -> dict[str, list[Array]]:
        """What a forward-dynamics method meets on its way, under its author's names, one entry per body.

        Spatial vectors are columns (..., 6, 1) in link frames; accelerations are spatial ones that include
        gravity as the base's acceleration.
        """
        run = _choose(FORWARD_METHODS, method, "forward-dynamics method")
        checked = {"q": inputs.configuration(self, q)}
        checked |= {k: inputs.vector(x, self.nv, k, self) for k, x in (("v", v), ("tau", tau))}
        _, values, f = self._joined_with(inputs.forces(self, external), checked)
        result = run(self, *values, f)
        return {"beta_dot": result.beta_dot, **result.quantities}

    def hybrid_dynamics(
        self, q: Any, v: Any, a: Any, tau: Any, prescribed: Iterable[str], external: Any = None
    ) -> tuple[Array, Array]:
        """(a, τ), each (..., nv): accelerations of the ``prescribed`` joints are given, forces of the others.

        Entries of ``a`` at other joints and of ``tau`` at prescribed ones are ignored (math notes 12.7).
        """
        if isinstance(prescribed, str):
            raise InputError(f"prescribed must be a list of joint names, got the string {prescribed!r}")
        driven = [self.joint(name) for name in prescribed]
        checked = {"q": inputs.configuration(self, q)}
        checked |= {k: inputs.vector(x, self.nv, k, self) for k, x in (("v", v), ("a", a), ("tau", tau))}
        batch, (q, v, a, tau), f = self._joined_with(inputs.forces(self, external), checked)
        out_a, out_tau = hybrid.hybrid(self, q, v, a, tau, driven, f)
        return inputs.fit(out_a, batch, 1), inputs.fit(out_tau, batch, 1)

    # --- operational space ---------------------------------------------------------------------------

    def operational_inertia(self, q: Any, frame: Any) -> Array:
        """Λ = (J𝓜⁻¹J*)⁻¹ in O(n), (..., 6, 6), world axes; a list of e frames gives (..., 6e, 6e) (OA (5.4))."""
        return self._call(operational.inertia, 2, q, _frames(frame))

    def operational_compliance(self, q: Any, frame: Any) -> Array:
        """Λ⁻¹ = J𝓜⁻¹J*, (..., 6e, 6e); exists also where Λ does not."""
        return self._call(operational.compliance, 2, q, _frames(frame))

    def operational_bias(self, q: Any, v: Any, frame: Any) -> tuple[Array, Array]:
        """(μ, p), each (..., 6e): Coriolis and gravity terms of Λ α(0) + μ + p = F (math notes 10.2)."""
        q, v, batch = self._pair(inputs.configuration(self, q), inputs.vector(v, self.nv, "v", self), "q", "v")
        mu, p = operational.bias(self, q, v, _frames(frame))
        return inputs.fit(mu, batch, 1), inputs.fit(p, batch, 1)

    def consistent_inverse(self, q: Any, frame: Any) -> Array:
        """J̄ = 𝓜⁻¹J*Λ, (..., nv, 6e), the dynamically consistent inverse of J."""
        return self._call(operational.consistent_inverse, 2, q, _frames(frame))

    def tip_force_correction(self, q: Any, frame: Any, force: Any) -> tuple[Array, Array]:
        """(Δa, Δα(0)) due to a force (..., 6) that the tip exerts on its environment (OA (5.2), (5.3))."""
        q, f, batch = self._pair(inputs.configuration(self, q), inputs.vector(force, 6, "force", self), "q", "force")
        delta, tip = operational.tip_force_correction(self, q, frame, f)
        return inputs.fit(delta, batch, 1), inputs.fit(tip, batch, 1)

    # --- energy and momentum -------------------------------------------------------------------------

    def energy(self, q: Any, v: Any) -> tuple[Array, Array]:
        """(kinetic, potential) energies, each (...) [J]."""
        return self.kinetic_energy(q, v), inputs.fit(*self._shared_batch(self.potential_energy(q), q, v), 0)

    def _shared_batch(self, x: Array, q: Any, v: Any) -> tuple[Array, tuple[int, ...]]:
        return x, np.broadcast_shapes(np.shape(q)[:-1], np.shape(v)[:-1])

    def kinetic_energy(self, q: Any, v: Any) -> Array:
        """½ v*𝓜v, (...) [J]."""
        return self._call(momentum.kinetic_energy, 0, q, v=v)

    def potential_energy(self, q: Any) -> Array:
        """−Σ m g·c, (...) [J]."""
        return self._call(momentum.potential_energy, 0, q)

    def center_of_mass(self, q: Any) -> Array:
        """The centre of mass of all bodies, (..., 3) [m]."""
        return self._call(momentum.center_of_mass, 1, q)

    def center_of_mass_jacobian(self, q: Any) -> Array:
        """(..., 3, nv): times v it is the velocity of the centre of mass."""
        return self._call(momentum.center_of_mass_jacobian, 2, q)

    def momentum(self, q: Any, v: Any) -> Array:
        """[angular about the world's origin; linear], (..., 6), world axes."""
        return self._call(momentum.momentum, 1, q, v=v)

    def momentum_matrix(self, q: Any) -> Array:
        """(..., 6, nv): times v it is the momentum about the world's origin."""
        return self._call(momentum.momentum_matrix, 2, q)

    def centroidal_momentum(self, q: Any, v: Any) -> Array:
        """[angular about the centre of mass; linear], (..., 6), world axes."""
        return self._call(momentum.centroidal_momentum, 1, q, v=v)

    def centroidal_matrix(self, q: Any) -> Array:
        """A_G, (..., 6, nv): times v it is the centroidal momentum."""
        return self._call(momentum.centroidal_matrix, 2, q)

    def centroidal_bias(self, q: Any, v: Any) -> Array:
        """Ȧ_G v, (..., 6): the rate of the centroidal momentum while v̇ = 0."""
        return self._call(momentum.centroidal_bias, 1, q, v=v)

    # --- linearised models ---------------------------------------------------------------------------

    def linearize_inverse(
        self, q: Any, v: Any, a: Any, external: Any = None, method: str = "algorithm_2"
    ) -> linear.InverseLinearization:
        """δT = M δa + dv δv + dq δq: ``.M``, ``.dv``, ``.dq``, each (..., nv, nv) (LD Lemmas 3.1, 3.2).

        ``method`` is any of :data:`linkwise.INVERSE_LINEARIZATIONS`. δq is a tangent vector of :meth:`integrate`;
        external forces stay fixed in the axes of their bodies.
        """
        run = _choose(INVERSE_LINEARIZATIONS, method, "linearisation of inverse dynamics")
        batch, values, f = self._checked_state(external, q=q, v=v, a=a)
        return linear.InverseLinearization(*(inputs.fit(x, batch, 2) for x in run(self, *values, f)))

    def linearize_forward(
        self, q: Any, v: Any, tau: Any, external: Any = None, method: str | None = None
    ) -> linear.ForwardLinearization:
        """δa = Minv δτ + dv δv + dq δq: ``.Minv``, ``.dv``, ``.dq``, each (..., nv, nv) (LD §4).

        ``method`` is any of :data:`linkwise.FORWARD_LINEARIZATIONS`, by default the one with the fewest operations
        for this robot. ``.state_space()`` makes A and B of it.
        """
        name = linear.quickest_forward(self) if method is None else method
        run = _choose(FORWARD_LINEARIZATIONS, name, "linearisation of forward dynamics")
        batch, (q, v, tau), f = self._checked_state(external, q=q, v=v, tau=tau)
        found = linear.linearize_forward(self, q, v, tau, f, run)
        out = linear.ForwardLinearization(*(inputs.fit(x, batch, 2) for x in found))
        out.origin = (self, v)
        return out

    def inverse_dynamics_jvp(self, q: Any, v: Any, a: Any, dq: Any, dv: Any, da: Any, external: Any = None) -> Array:
        """δT, (..., nv), along δq (tangent), δv, δa, in O(n) (LD Algorithm 1)."""
        return self._with_forces(linear.inverse_jvp, 1, external, q, v=v, a=a, dq=dq, dv=dv, da=da)

    def inverse_dynamics_vjp(
        self, q: Any, v: Any, a: Any, weights: Any, external: Any = None
    ) -> linear.InverseGradient:
        """The gradients ``.dq`` (tangent), ``.dv``, ``.da`` of weights · T, each (..., nv), in O(n)."""
        batch, (q, v, a, w), f = self._checked_state(external, q=q, v=v, a=a, weights=weights)
        return linear.InverseGradient(*(inputs.fit(x, batch, 1) for x in linear.inverse_vjp(self, q, v, a, w, f)))

    def forward_dynamics_jvp(
        self,
        q: Any,
        v: Any,
        tau: Any,
        dq: Any,
        dv: Any,
        dtau: Any,
        external: Any = None,
        method: str = "algorithm_5_ii",
    ) -> Array:
        """δa, (..., nv), along δq (tangent), δv, δτ, in O(n) and without a mass matrix (LD Algorithm 5).

        ``method``: "algorithm_5_ii", "algorithm_5", or "algorithm_3", which solves with the mass matrix.
        """
        run = _choose(linear.FORWARD_DIRECTIONS, method, "directional linearisation of forward dynamics")
        batch, (q, v, tau, *along), f = self._checked_state(external, q=q, v=v, tau=tau, dq=dq, dv=dv, dtau=dtau)
        return inputs.fit(linear.forward_jvp(self, q, v, tau, along, f, run), batch, 1)

    def forward_dynamics_vjp(
        self, q: Any, v: Any, tau: Any, weights: Any, external: Any = None
    ) -> linear.ForwardGradient:
        """The gradients ``.dq`` (tangent), ``.dv``, ``.dtau`` of weights · a, each (..., nv), in O(n)."""
        batch, (q, v, tau, w), f = self._checked_state(external, q=q, v=v, tau=tau, weights=weights)
        return linear.ForwardGradient(*(inputs.fit(x, batch, 1) for x in linear.forward_vjp(self, q, v, tau, w, f)))

    def inverse_dynamics_hvp(
        self, q: Any, v: Any, a: Any, weights: Any, dq: Any, dv: Any, da: Any, external: Any = None
    ) -> linear.InverseGradient:
        """How the gradients of weights · T change along (δq, δv, δa): its second derivative times a direction."""
        from .codegen.second import gradient_change

        state = {"q": q, "v": v, "a": a, "weights": weights, "dq": dq, "dv": dv, "da": da}
        batch, (q, v, a, w, dq, dv, da), f = self._checked_state(external, **state)

        def gradient(q: Array, v: Array, a: Array) -> linear.InverseGradient:
            return linear.inverse_vjp(self, q, v, a, w, f)

        found = gradient_change(self, gradient, q, [v, a], dq, [dv, da])
        return linear.InverseGradient(*(inputs.fit(x, batch, 1) for x in found))

    def forward_dynamics_hvp(
        self, q: Any, v: Any, tau: Any, weights: Any, dq: Any, dv: Any, dtau: Any, external: Any = None
    ) -> linear.ForwardGradient:
        """How the gradients of weights · a change along (δq, δv, δτ): its second derivative times a direction."""
        from .codegen.second import gradient_change

        state = {"q": q, "v": v, "tau": tau, "weights": weights, "dq": dq, "dv": dv, "dtau": dtau}
        batch, (q, v, tau, w, dq, dv, dtau), f = self._checked_state(external, **state)

        def gradient(q: Array, v: Array, tau: Array) -> linear.ForwardGradient:
            return linear.forward_vjp(self, q, v, tau, w, f)

        found = gradient_change(self, gradient, q, [v, tau], dq, [dv, dtau])
        return linear.ForwardGradient(*(inputs.fit(x, batch, 1) for x in found))

    def linearize_velocity(
        self, q: Any, v: Any, frame: Any, axes: str = "world"
    ) -> linearized_frames.VelocityLinearization:
        """δV = dv δv + dq δq of a frame's [ω; v]: ``.dv`` (the Jacobian) and ``.dq``, each (..., 6, nv)."""
        batch, (q, v), _ = self._checked_state(None, q=q, v=v)
        found = linearized_frames.velocity(self, q, v, frame, axes)
        return linearized_frames.VelocityLinearization(*(inputs.fit(x, batch, 2) for x in found))

    def linearize_acceleration(
        self, q: Any, v: Any, a: Any, frame: Any, axes: str = "world"
    ) -> linearized_frames.AccelerationLinearization:
        """δα = J δa + dv δv + dq δq of a frame's classical acceleration, each (..., 6, nv); at a = 0 that of J̇v."""
        batch, (q, v, a), _ = self._checked_state(None, q=q, v=v, a=a)
        found = linearized_frames.acceleration(self, q, v, a, frame, axes)
        return linearized_frames.AccelerationLinearization(*(inputs.fit(x, batch, 2) for x in found))

    def operational_compliance_derivative(self, q: Any, frame: Any) -> Array:
        """∂Λ⁻¹/∂q (tangent), (..., 6e, 6e, nv), world axes."""
        return self._call(linearized_frames.compliance_derivative, 3, q, _frames(frame))

    def operational_inertia_derivative(self, q: Any, frame: Any) -> Array:
        """∂Λ/∂q (tangent), (..., 6e, 6e, nv), world axes."""
        return self._call(linearized_frames.inertia_derivative, 3, q, _frames(frame))

    def _checked_state(self, external: Any, **named: Any) -> tuple[tuple[int, ...], list[Array], Any]:
        """The common batch of a state, its arrays in one precision, and the external forces."""
        f = inputs.forces(self, external)
        q = inputs.configuration(self, named.pop("q"))
        return self._joined_with(f, {"q": q} | {k: inputs.vector(x, self.nv, k, self) for k, x in named.items()})

    # --- inertial parameters -------------------------------------------------------------------------

    def inverse_dynamics_regressor(self, q: Any, v: Any, a: Any) -> Array:
        """Y, (..., nv, 10 bodies): T = Y π with π = inertial_parameters, but for rotors and external forces."""
        return self._call(parameters.regressor, 2, q, v=v, a=a)

    def forward_dynamics_sensitivity(self, q: Any, v: Any, tau: Any, external: Any = None) -> Array:
        """∂a/∂π, (..., nv, 10 bodies), with π = inertial_parameters (LD Algorithm 5, driven by δT = −Yδπ)."""
        return self._with_forces(parameters.forward_sensitivity, 2, external, q, v=v, tau=tau)

    def base_parameters(self) -> parameters.BaseParameters:
        """Which combinations of the inertial parameters motion can tell apart, by rank of random regressors."""
        return parameters.base_parameters(self)

    def trajectory_sensitivity(
        self, q: Any, v: Any, tau: Any, step: float, columns: Any = None
    ) -> parameters.TrajectorySensitivity:
        """A motion from (q, v) under joint forces ``tau`` (steps, ..., nv) and its derivatives in the parameters.

        Semi-implicit Euler steps of ``step`` [s]; ``columns`` picks entries of inertial_parameters.ravel().
        """
        checked = {"q": inputs.configuration(self, q)}
        checked |= {k: inputs.vector(x, self.nv, k, self) for k, x in (("v", v), ("tau", tau))}
        if checked["tau"].ndim < 2:
            raise InputError(f"tau must have shape (steps, ..., {self.nv}), got {checked['tau'].shape}")
        _, (q, v, tau) = inputs.together(self, **checked)
        return parameters.trajectory_sensitivity(self, q, v, tau, step, columns)

    # --- operators -----------------------------------------------------------------------------------

    def operators(self, q: Any, frames: Any = None, v: Any = None, a: Any = None) -> Operators:
        """The leaf operators H, φ, M, … at a configuration; ``frames`` are the tips that B picks.

        The default is one tip per outermost body: the last frame added on it, or the body's own. With a
        velocity ``v`` (and an acceleration ``a``) there are also those of the derivative identities.
        """
        from .algebra.leaves import Operators

        chosen = self.tips if frames is None else _frames(frames)
        given = {"q": inputs.configuration(self, q)}
        given |= {k: inputs.vector(x, self.nv, k, self) for k, x in (("v", v), ("a", a)) if x is not None}
        _, values = inputs.together(self, **given)
        named = dict(zip(given, values))
        return Operators(self, named["q"], tuple(chosen), named.get("v"), named.get("a"))

    def compile(
        self, name: str, target: str = "cpu", dtype: str = "float64", parameters: Sequence[str] = (), **fixed: Any
    ) -> Any:
        """A function of the catalogue as machine code for this robot: ``robot.compile("forward_dynamics")``.

        The kernel takes arrays in the order of the method, batched. ``fixed`` holds other arguments, such as
        ``frame="hand"``. ``target`` is "cpu", "jax" (a jitted function), "c" (source text, of ``dtype``) or
        "numpy". ``parameters`` ("inertial", "offsets") keeps those numbers of the robot as further inputs of
        the kernel. ``kernel.jacobian("q")``, ``kernel.jvp()`` and ``kernel.vjp()`` are its exact derivatives.
        """
        from .codegen.compile import compile_named

        return compile_named(self, name, target, dtype, parameters, **fixed)

    # --- other robots from this one ------------------------------------------------------------------

    def lock(self, joints: Iterable[str] | Mapping[str, Any], q: Any = None) -> Robot:
        """This robot with some joints locked: a mapping joint → value, or names and a full q."""
        return edit.lock(self, joints, q)

    def subtree(self, root: str, floating: bool = False) -> Robot:
        """The part of this robot from body ``root`` outward."""
        return edit.subtree(self, root, floating)

    def weld(
        self, body: str, payload: Inertia, at: Any = (0, 0, 0), rpy: Any = None, frame: str | None = None
    ) -> Robot:
        """This robot with a payload fixed on a body (or frame)."""
        return edit.weld(self, body, payload, at, rpy, frame)

    def attach(self, other: Model, to: str, prefix: str = "", at: Any = (0, 0, 0), rpy: Any = None) -> Robot:
        """This robot with another robot bolted on at a frame."""
        return edit.attach(self, other, to, prefix, at, rpy)

    def floating(self, joint_name: str = "root_joint") -> Robot:
        """This robot with its base link on a free joint."""
        return edit.float_base(self, joint_name)

    def merge_fixed(self) -> Robot:
        """This robot with bodies on fixed joints made part of their parents."""
        return edit.merge_fixed(self)

    def with_inertias(self, inertias: Mapping[str, Inertia]) -> Robot:
        """This robot with new inertias for some bodies."""
        return edit.with_inertias(self, inertias)

    @property
    def inertial_parameters(self) -> np.ndarray:
        """(bodies, 10): m, first moment (3), Jxx, Jxy, Jyy, Jxz, Jyz, Jzz about each body's origin."""
        return edit.inertial_parameters(self)

    def with_inertial_parameters(self, parameters: Any) -> Robot:
        """This robot with the ten inertial parameters (bodies, 10) of every body replaced."""
        return edit.with_inertial_parameters(self, parameters)

    def with_gravity(self, gravity: Any) -> Robot:
        """This robot under another gravity (3,) [m/s²]."""
        return edit.with_gravity(self, gravity)


def _frames(frame: Any) -> list[Any]:
    """One frame or several, as a list."""
    if isinstance(frame, str) or not isinstance(frame, (list, tuple)):
        return [frame]
    if not frame:
        raise InputError("name at least one frame")
    return list(frame)
