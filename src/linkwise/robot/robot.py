"""A robot: a model with the catalogue of algorithms as its methods.

Arguments: configurations q (..., nq), velocities, accelerations and joint forces (..., nv), any leading
batch dimensions, which broadcast. Frames are given by name. Results keep the precision of the inputs.

A robot *is* a model and does not hold one: algorithms, functions of the user's and the clones that are traced (normal
forms, symbols, one body per class) all take one object that has both the data and the methods. Held, every one of the
data would need a forwarding property, some 0.05 µs a look-up more, and every clone two objects.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .. import arrays, inputs, shown
from ..arguments import flag, names
from ..arrays import Array, ArrayLike, SameKind
from ..codegen import thresholds
from ..dynamics import (
    coriolis,
    hybrid,
    inverse,
    mass,
    mass_inverse,
    operational,
    reference_parameters,
    springs,
)
from ..dynamics import momentum_coordinates as canonical
from ..dynamics.closed.locality import independent_entries
from ..dynamics.forward.methods import FORWARD_METHODS, INVERSE_METHODS
from ..dynamics.reference_velocity import newton_euler_with_reference
from ..errors import ModelError
from ..model import edit
from ..model.model import Model
from ..values import owned
from .call_forms import kept
from .calls import as_frames, choose
from .coupled import CoupledJoints
from .diagonal import Diagonalized
from .dispatch import compiled, on_numpy
from .edited import Edited
from .for_loops import AS_TREE, CUT_ALONE, NEEDS_TREE, for_loops
from .kinematics import Kinematics
from .linearized import Linearized
from .momenta import Momenta
from .statics import Statics
from .underactuated import Underactuated
from .wrenches import wrenches

if TYPE_CHECKING:
    from ..algebra.filtering import Filter
    from ..algebra.operators import Operators
    from ..model.loops import Loop
    from .closed import ClosedRobot


@cache
def _operator_code() -> ModuleType:
    """Loaded with the first operators; an import statement in the method would cost more than the rest of it."""
    from . import operator_code

    return operator_code


@dataclass(frozen=True, eq=False, repr=False)
class Robot(Kinematics, Momenta, Underactuated, Linearized, Diagonalized, CoupledJoints, Statics, Edited):
    """A robot. Make one with :func:`linkwise.load`, ``chain``, ``random_tree`` or ``assemble``."""

    def _repr_html_(self) -> str:
        """Its joints in a table beside its picture, for notebooks."""
        return shown.drawn("Robot", self)

    # --- configurations ----------------------------------------------------------------------------

    @compiled(q="nq", dv="nv", loops=AS_TREE)
    def integrate(self, q: ArrayLike, dv: ArrayLike) -> SameKind:
        """q ⊕ dv, (..., nq): where the constant velocity dv (..., nv) leads in unit time, on the manifold."""
        q, dv, batch = self._pair(inputs.configuration(self, q), inputs.vector(dv, self.nv, "dv", self), "q", "dv")
        parts = [j.kind.integrate(q[..., a], dv[..., b]) for j, a, b in self.coordinates]
        return self._concatenated(parts, batch, q)

    @compiled(q0="nq", q1="nq", loops=AS_TREE)
    def difference(self, q0: ArrayLike, q1: ArrayLike) -> SameKind:
        """q1 ⊖ q0, (..., nv): the velocity that leads from q0 to q1 in unit time."""
        q0, q1, batch = self._pair(inputs.configuration(self, q0), inputs.configuration(self, q1), "q0", "q1")
        parts = [j.kind.difference(q0[..., a], q1[..., a]) for j, a, _ in self.coordinates]
        return self._concatenated(parts, batch, q0)

    # --- inverse dynamics ----------------------------------------------------------------------------

    @compiled(q="nq", v="nv", a="nv", external=("bodies", 6), joint_space=True, rolls=("newton_euler",))
    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        external: ArrayLike | None = None,
        method: str = "newton_euler",
    ) -> SameKind:
        """T = 𝓜a + 𝓒 + gravity + what springs and dampers ask, (..., nv) [N m, N].

        ``method``: "newton_euler" or "composite_body".
        ``external`` (..., bodies, 6) is the [moment; force] on each body, in body axes at its origin;
        :meth:`wrenches` makes it from forces at frames.
        """
        run = choose(INVERSE_METHODS, method, "inverse-dynamics method")
        return self._with_forces(run, 1, external, q, v=v, a=a)

    @compiled(q="nq", v="nv", external=("bodies", 6), joint_space=True, rolls=True, loops=AS_TREE)
    def bias_force(self, q: ArrayLike, v: ArrayLike, *, external: ArrayLike | None = None) -> SameKind:
        """𝓒(q, v) + gravity + what springs and dampers ask, (..., nv) [N m, N]: the joint forces for which v̇ = 0, loops
        left out."""

        def run(model: Model, q: Array, v: Array, f: Array | None) -> Array:
            return inverse.bias_force(model, q, v, f)

        return self._with_forces(run, 1, external, q, v=v)

    @compiled(q="nq", joint_space=True, rolls=True, loops=AS_TREE)
    def gravity_force(self, q: ArrayLike) -> SameKind:
        """The joint forces (..., nv) [N m, N] that hold bodies against gravity alone, loops and springs left out."""
        return self._call(inverse.gravity_force, 1, q)

    @compiled(q="nq", v="nv", joint_space=True, rolls=True, loops=AS_TREE)
    def spring_force(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """∂U/∂q + dv, (..., nv) [N m, N]: the joint forces that hold the springs and dampers of the joints."""
        return self._call(springs.joint_forces, 1, q, v=v)

    @compiled(q="nq", v="nv", a="nv", external=("bodies", 6), loops=CUT_ALONE)
    def link_forces(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, external: ArrayLike | None = None) -> SameKind:
        """f(k), (..., bodies, 6) [N m, N]: the force on each body by its inboard neighbour, body axes, at its joint."""
        return self._with_forces(inverse.link_forces, 2, external, q, v=v, a=a)

    @compiled(q="nq", external=("bodies", 6), loops=AS_TREE)
    def external_force(self, q: ArrayLike, external: ArrayLike) -> SameKind:
        """Hφf, (..., nv): the joint forces that do to the robot what forces on its bodies (..., bodies, 6) do."""
        return self._with_forces(inverse.external_force, 1, external, q)

    @for_loops(AS_TREE)
    def wrenches(self, q: ArrayLike, forces: Mapping[Any, Any], *, target: str | None = None) -> SameKind:
        """External forces (..., bodies, 6), body axes, from [moment; force] (..., 6) [N m, N] on frames, world axes."""
        return wrenches(self, q, forces, target)

    # --- mass matrix ---------------------------------------------------------------------------------

    @compiled(q="nq", joint_space=True, rolls=("composite",), per_pair=33, loops=AS_TREE)
    def mass_matrix(self, q: ArrayLike, *, method: str = "composite", packed: bool = False) -> SameKind:
        """𝓜 = HφMφ*H*, (..., nv, nv). ``method``: "composite", "symmetric" or "direct" (UF §3).

        With ``packed`` its lower triangle alone, row by row, (..., nv (nv + 1) / 2), at ``np.tril_indices(nv)``: half
        as many numbers to write, which is what takes longest for a humanoid.
        """
        run = choose(mass.METHODS, method, "mass-matrix method")
        if not flag(packed, "packed"):
            return self._call(run, 2, q)
        return self._call(lambda model, q: arrays.lower_triangle(run(model, q)), 1, q)

    @compiled(q="nq", joint_space=True, rolls=("rows",), per_pair=70, on_arrays=("scan",))
    def mass_matrix_inverse(self, q: ArrayLike, *, method: str | None = None) -> SameKind:
        """𝓜⁻¹ = (I − HψK)*D⁻¹(I − HψK), (..., nv, nv) (OA Lemma 4.3).

        ``method``: "columns" sweeps over all columns at once; "paths" walks each column's path to the base and back,
        and "rows" carries each row outward, which take fewer operations; "scan" takes all columns through O(log n)
        steps (:meth:`mass_solve`). The default is what suits: where it is compiled, "paths" or "rows".
        """
        if method is None:
            method = mass_inverse.quickest(self, thresholds.ROWS_FROM) if arrays.is_symbolic(q) else "columns"
        return self._call(choose(mass_inverse.METHODS, method, "method for the inverse mass matrix"), 2, q)

    @compiled(q="nq", x="nv", joint_space=True, rolls=True, loops=AS_TREE)
    def mass_times(self, q: ArrayLike, x: ArrayLike) -> SameKind:
        """𝓜 x, (..., nv) [N m, N for accelerations x], in O(n), no matrix formed."""
        return self._call(mass.times, 1, q, x=x)

    @compiled(q="nq", tau="nv", joint_space=True, rolls=("sweep",), on_arrays=("scan",))
    def mass_solve(self, q: ArrayLike, tau: ArrayLike, *, method: str = "sweep") -> SameKind:
        """𝓜⁻¹ τ, (..., nv) [rad/s², m/s²], no matrix formed. ``method``: "sweep", in O(n), or "scan".

        "scan" works on all bodies at once, in O(log n) steps, on NumPy and JAX alone.
        """
        return self._call(choose(mass.SOLVE_METHODS, method, "method for 𝓜⁻¹τ"), 1, q, tau=tau)

    @compiled(q="nq", joint_space=True, rolls=True, per_pair=35, loops=NEEDS_TREE)
    def innovations_factors(self, q: ArrayLike) -> tuple[SameKind, SameKind]:
        """(I + HφK, D), each (..., nv, nv): 𝓜 = (I + HφK) D (I + HφK)* (OA Lemma 4.1)."""
        q = inputs.configuration(self, q)
        factor, D = mass.innovations_factors(self, q)
        return inputs.fit(factor, q.shape[:-1], 2), inputs.fit(D, q.shape[:-1], 2)

    @compiled(q="nq", joint_space=True, rolls=True, per_pair=40, loops=NEEDS_TREE)
    def inverse_factors(self, q: ArrayLike) -> tuple[SameKind, SameKind]:
        """(I − HψK, D⁻¹), each (..., nv, nv): 𝓜⁻¹ = (I − HψK)* D⁻¹ (I − HψK) (OA Lemmas 4.2, 4.3)."""
        q = inputs.configuration(self, q)
        factor, D_inverse = mass.inverse_factors(self, q)
        return inputs.fit(factor, q.shape[:-1], 2), inputs.fit(D_inverse, q.shape[:-1], 2)

    @compiled(q="nq", joint_space=True, loops=NEEDS_TREE)
    def log_det_mass(self, q: ArrayLike) -> SameKind:
        """log det 𝓜 = Σ log det D(k), (...)."""
        return self._call(mass.log_determinant, 0, q)

    @compiled(q="nq", v="nv", joint_space=True, rolls=True, per_pair=90, loops=AS_TREE)
    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """C, (..., nv, nv), with C v = bias force without gravity and d𝓜/dt − 2C skew."""
        return self._call(coriolis.coriolis_matrix, 2, q, v=v)

    # --- forward dynamics ----------------------------------------------------------------------------

    @compiled(
        q="nq",
        v="nv",
        tau="nv",
        external=("bodies", 6),
        joint_space=True,
        rolls=("articulated_body", "fd1", "fd4"),
        on_arrays=("scan",),
    )
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        external: ArrayLike | None = None,
        method: str = "articulated_body",
    ) -> SameKind:
        """The joint accelerations (..., nv) [rad/s², m/s²] that joint forces τ (..., nv) [N m, N] cause.

        ``method`` is any of :data:`linkwise.FORWARD_METHODS`; they agree, and differ in what they cost. "scan" works on
        all bodies at once, in O(log n) steps, on NumPy and JAX alone.
        """
        run = choose(FORWARD_METHODS, method, "forward-dynamics method")
        return self._with_forces(lambda *x: run(*x).acceleration, 1, external, q, v=v, tau=tau)

    @for_loops(NEEDS_TREE)
    @on_numpy
    def forward_quantities(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        external: ArrayLike | None = None,
        method: str = "articulated_body",
    ) -> dict[str, list[SameKind]]:
        """What a forward-dynamics method meets on its way, under its author's names, one entry per body.

        Spatial vectors are columns (..., 6, 1) in link frames; accelerations are spatial ones that include
        gravity as the base's acceleration.
        """
        run = choose(FORWARD_METHODS, method, "forward-dynamics method")
        checked = {"q": inputs.configuration(self, q)}
        checked |= {k: inputs.vector(x, self.nv, k, self) for k, x in (("v", v), ("tau", tau))}
        _, values, f = self._joined_with(inputs.forces(self, external), checked)
        result = run(self, *values, f)
        return {"beta_dot": result.beta_dot, **result.quantities}

    @compiled(q="nq", v="nv", a="nv", tau="nv", external=("bodies", 6), loops=CUT_ALONE)
    def hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: Iterable[str],
        *,
        external: ArrayLike | None = None,
    ) -> tuple[SameKind, SameKind]:
        """(a, τ), each (..., nv): accelerations of the ``prescribed`` joints are given, forces of the others.

        Entries of ``a`` at other joints and of ``tau`` at prescribed ones are ignored (math notes 12.7).
        """
        driven = [self.joint(name) for name in names(prescribed, "prescribed", "joint names")]
        checked = {"q": inputs.configuration(self, q)}
        checked |= {k: inputs.vector(x, self.nv, k, self) for k, x in (("v", v), ("a", a), ("tau", tau))}
        batch, (q, v, a, tau), f = self._joined_with(inputs.forces(self, external), checked)
        out_a, out_tau = hybrid.hybrid(self, q, v, a, tau, driven, f)
        return inputs.fit(out_a, batch, 1), inputs.fit(out_tau, batch, 1)

    # --- operational space ---------------------------------------------------------------------------

    @compiled(q="nq")
    def operational_inertia(self, q: ArrayLike, frame: Any) -> SameKind:
        """Λ = (J𝓜⁻¹J*)⁻¹ in O(n), (..., 6, 6), world axes; a list of e frames gives (..., 6e, 6e) (OA (5.4))."""
        return self._call(operational.inertia, 2, q, as_frames(frame))

    @compiled(q="nq")
    def operational_compliance(self, q: ArrayLike, frame: Any) -> SameKind:
        """Λ⁻¹ = J𝓜⁻¹J*, (..., 6e, 6e), world axes; exists also where Λ does not."""
        return self._call(operational.compliance, 2, q, as_frames(frame))

    @compiled(q="nq", v="nv", loops=CUT_ALONE)
    def operational_bias(self, q: ArrayLike, v: ArrayLike, frame: Any) -> tuple[SameKind, SameKind]:
        """(μ, p), each (..., 6e) [N m, N], world axes: terms of Λ α(0) + μ + p = F (math notes 10.2).

        p is gravity's and that of the joints' springs, μ that of velocities, dampers included.
        """
        q, v, batch = self._pair(inputs.configuration(self, q), inputs.vector(v, self.nv, "v", self), "q", "v")
        mu, p = operational.bias(self, q, v, as_frames(frame))
        return inputs.fit(mu, batch, 1), inputs.fit(p, batch, 1)

    @compiled(q="nq", loops=CUT_ALONE)
    def consistent_inverse(self, q: ArrayLike, frame: Any) -> SameKind:
        """J̄ = 𝓜⁻¹J*Λ, (..., nv, 6e), the dynamically consistent inverse of J in world axes."""
        return self._call(operational.consistent_inverse, 2, q, as_frames(frame))

    @compiled(q="nq", force=6, loops=CUT_ALONE)
    def tip_force_correction(self, q: ArrayLike, force: ArrayLike, frame: Any) -> tuple[SameKind, SameKind]:
        """(Δa, Δα(0)) due to a force (..., 6) that the tip exerts on its environment (OA (5.2), (5.3)).

        (..., nv) and (..., 6) [rad/s², m/s²]; force [N m, N] and Δα(0) in world axes.
        """
        q, f, batch = self._pair(inputs.configuration(self, q), inputs.vector(force, 6, "force", self), "q", "force")
        delta, tip = operational.tip_force_correction(self, q, frame, f)
        return inputs.fit(delta, batch, 1), inputs.fit(tip, batch, 1)

    # --- motion ----------------------------------------------------------------------------------------

    @compiled(q="nq", v="nv", loops=AS_TREE)
    def configuration_rate(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """dq/dt, (..., nq), at the velocity v (..., nv): v itself, but for joints with quaternions or in a plane."""
        q, v, batch = self._pair(inputs.configuration(self, q), inputs.vector(v, self.nv, "v", self), "q", "v")
        parts = [j.kind.rate(q[..., a], v[..., b]) for j, a, b in self.coordinates]
        return self._concatenated(parts, batch, q)

    @compiled(q="nq", v="nv", joint_space=True, rolls=True, loops=CUT_ALONE)
    def momentum_force(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """d(𝓜v)/dt − τ, (..., nv) [N m, N]: how fast p = 𝓜v changes where no joint forces act; 𝓜̇v − bias force."""
        return self._call(canonical.momentum_force, 1, q, v=v)

    # --- for controllers -----------------------------------------------------------------------------

    @compiled(
        q="nq", v="nv", v_ref="nv", a_ref="nv", external=("bodies", 6), joint_space=True, rolls=True, loops=AS_TREE
    )
    def inverse_dynamics_with_reference(
        self, q: ArrayLike, v: ArrayLike, v_ref: ArrayLike, a_ref: ArrayLike, *, external: ArrayLike | None = None
    ) -> SameKind:
        """T = 𝓜 a_ref + C(q, v) v_ref + gravity, (..., nv) [N m, N], in O(n): v and v_ref kept apart.

        What springs and dampers of joints ask at (q, v) is included. C is that of :meth:`coriolis_matrix`, for which
        d𝓜/dt − 2C is skew; passivity-based laws rest on it.
        """
        return self._with_forces(newton_euler_with_reference, 1, external, q, v=v, v_ref=v_ref, a_ref=a_ref)

    @compiled(q="nq", v="nv", v_ref="nv", a_ref="nv", rolls=True, per_pair=320, loops=AS_TREE)
    def regressor_with_reference(self, q: ArrayLike, v: ArrayLike, v_ref: ArrayLike, a_ref: ArrayLike) -> SameKind:
        """Y, (..., nv, 10 bodies): 𝓜 a_ref + C(q, v) v_ref + gravity = Y π, but for rotors; π = inertial_parameters.

        Adaptive laws rest on it (Slotine and Li 1987); :class:`linkwise.control.AdaptiveTracking` is one without it.
        """
        return self._call(reference_parameters.regressor_with_reference, 2, q, v=v, v_ref=v_ref, a_ref=a_ref)

    @compiled(q="nq", v="nv", v_ref="nv", a_ref="nv", weights="nv", loops=AS_TREE)
    def parameter_gradient(
        self, q: ArrayLike, v: ArrayLike, v_ref: ArrayLike, a_ref: ArrayLike, weights: ArrayLike
    ) -> SameKind:
        """Y* weights, (..., bodies, 10), in O(n), Y that of :meth:`regressor_with_reference`, which is not formed."""
        named = {"v": v, "v_ref": v_ref, "a_ref": a_ref, "weights": weights}
        return self._call(reference_parameters.parameter_gradient, 2, q, **named)

    # --- operators -----------------------------------------------------------------------------------

    @for_loops(AS_TREE)
    def operators(
        self, q: ArrayLike, *, frames: Any = None, v: ArrayLike | None = None, a: ArrayLike | None = None
    ) -> Operators:
        """The leaf operators H, φ, M, … at a configuration; ``frames`` are the tips that B picks.

        The default is one tip per outermost body: the last frame added on it, or the body's own. With a
        velocity ``v`` (and an acceleration ``a``) there are also those of the derivative identities.
        """
        return self._operators(q, frames, v, a)

    def _operators(self, q: Any, frames: Any, v: Any, a: Any, groups: tuple[Any, ...] = ()) -> Operators:
        """The operators at a state; ``groups`` are those of loops that are embedded."""
        chosen = self.tips
        if frames is not None:
            chosen = tuple(as_frames(frames))
            for frame in chosen:
                self.frame(frame)  # refuses what is none
        q = inputs.configuration(self, q)
        if v is not None or a is not None:
            named = {k: inputs.vector(x, self.nv, k, self) for k, x in (("v", v), ("a", a)) if x is not None}
            _, (q, *moving) = inputs.together(self, q=q, **named)
            v, a = (moving.pop(0) if x is not None else None for x in (v, a))
        if groups:
            rates = independent_entries(self, groups)
            v, a = (None if x is None else x[..., rates] for x in (v, a))
        made: Operators = _operator_code().operators_at(self, chosen, *(owned(x) for x in (q, v, a)), groups)
        return made

    @for_loops(AS_TREE)
    def filter(self, q: ArrayLike) -> Filter:
        """The Kalman filter behind 𝓜 at a configuration (JPL 88-11 (4.1)–(4.22), UF §6).

        Random link forces of covariance M, carried by φ and measured by the joints as Y = Hφ W, have the covariance 𝓜.
        The filter has their predicted, filtered and smoothed states, innovations, gains, covariances, likelihood and
        samples.
        """
        from ..algebra.filtering import Filter

        return Filter(self.operators(q))

    def compile(
        self,
        name: str,
        *,
        target: str = "cpu",
        dtype: str = "float64",
        parameters: Sequence[str] = (),
        rolled: bool | None = None,
        **fixed: Any,
    ) -> Any:
        """A function of the catalogue as machine code for this robot: ``robot.compile("forward_dynamics")``.

        The kernel takes arrays in the order of the method, batched. ``fixed`` holds other arguments, such as
        ``frame="hand"``. ``target`` is "cpu", "jax" (a jitted function), "c" or "cuda" (source text, of
        ``dtype``) or "numpy". ``parameters`` ("inertial", "offsets") keeps those numbers of the robot as further
        inputs of the kernel. ``kernel.jacobian("q")``, ``kernel.jvp()`` and ``kernel.vjp()`` are its exact derivatives.
        ``rolled`` says whether the code loops over the bodies or is one straight line; large robots are rolled
        where the function can be (inverse and forward dynamics, 𝓜x, 𝓜⁻¹τ, 𝓜, 𝓜⁻¹, linearised models and others).
        """
        from ..codegen.pipeline import compile_job, method_job, method_named
        from ..codegen.runtime.remade import made

        refused = getattr(type(self), name, None) if isinstance(name, str) else None
        if getattr(refused, "refuses", False):  # with the reason, as where it is called
            getattr(self, name)()
        taken_in = tuple(names(parameters, "parameters"))
        options = {"target": target, "dtype": dtype, "parameters": taken_in, "rolled": rolled}
        fixed = {argument: kept(x, argument) for argument, x in fixed.items()}
        job = method_job(self, method_named(type(self), name), None, fixed, **options)
        return made(compile_job(job), self.compile, name, **options, **fixed)

    # --- files -----------------------------------------------------------------------------------------

    def to_urdf(self, *, floating_root: bool = False, folder: str | os.PathLike[str] | None = None) -> str:
        """The text of a URDF file that loads as this robot; :func:`linkwise.save_urdf` writes it.

        Cylindrical and universal joints are written as two; joints that the format cannot say are refused by name.
        ``floating_root`` leaves out a free joint at the root, for programs that add one of their own. Mesh files are
        named as seen from ``folder``, where the file will lie; without it, by their full paths.
        """
        from ..model.files.urdf_writer import to_urdf

        if self.loops:
            raise ModelError(
                f"robot {self.name!r} has {len(self.loops)} loops, which URDF files cannot say; robot.opened.to_urdf()"
                " writes the tree that is left without them"
            )
        return to_urdf(self, floating_root=floating_root, folder=folder)

    def to_mjcf(self, *, folder: str | os.PathLike[str] | None = None) -> str:
        """The text of an MJCF file (MuJoCo's format) of this robot; :func:`linkwise.save_mjcf` writes it.

        Joints come depth first there, cylindrical and universal ones as two; rotors, springs, dampers, friction,
        limits, motors, couplings by a ratio, and loops that are welds, balls or hinges are written; what the format
        cannot say is refused by name. Mesh files are named as seen from ``folder``, where the file will lie; without
        it, by their full paths.
        """
        from ..model.files.mjcf_writer import to_mjcf

        return to_mjcf(self.opened, self.loops, folder=folder)

    # --- parts of it, and more of it -----------------------------------------------------------------

    def subtree(self, root: str, *, floating: bool = False) -> Robot:
        """The part of this robot from body ``root`` outward."""
        return edit.subtree(self, root, floating)

    # --- loops ---------------------------------------------------------------------------------------

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops that are closed; see :meth:`close`."""
        return ()

    @property
    def opened(self) -> Robot:
        """The robot without its loops."""
        return self

    def close(self, *loops: Loop) -> ClosedRobot:
        """The robot with frames held together in pairs: ``robot.close(lw.Loop("frame_a", "frame_b", "weld"))``."""
        from .closed import close

        return close(self, loops)

    def attach(self, other: Model, to: str, *, prefix: str = "", at: Any = (0, 0, 0), rpy: Any = None) -> Robot:
        """This robot with another robot bolted on at a frame."""
        found = edit.attach(self.opened, other.opened if isinstance(other, Robot) else other, to, prefix, at, rpy)
        loops = [*self.loops]
        if isinstance(other, Robot) and other.loops:
            from .named_loops import renamed

            loops += [renamed(loop, prefix, prefix + other.base_name) for loop in other.loops]
        return found.close(*loops) if loops else found
