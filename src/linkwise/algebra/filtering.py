"""The filter behind the algebra: 𝓜 is the covariance of what joints measure of random link forces.

Let every body be pushed by a random force W(k) of covariance M(k), carry all that its children hand on, z = φW, and let
each joint measure what it feels of it, Y = Hz (with noise Γ where it has a rotor). Then E(YY*) = HφMφ*H* + Γ = 𝓜, and
the recursions of the algebra are those of a Kalman filter that runs from the tips to the base, and of its smoother
back (JPL 88-11 (4.1)–(4.22), UF §6):

    predicted     ẑ = ψKY                        of covariance P
    innovations   ε = Y − Hẑ = (I − HψK)Y        of covariance D, white
    filtered      ẑ⁺ = ẑ + Gε                    of covariance P⁺
    smoothed      ẑ + Pλ,  λ = ψ*H*D⁻¹ε          of covariance P − PΥP
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import arrays
from ..arguments import whole
from ..arrays import ArrayLike, SameKind
from ..dynamics.mass import log_determinant
from ..errors import NotAdmittedError
from ..properties import cached_property
from .operator import Operator
from .operators import Operators


class Term(NamedTuple):
    """A quantity of dynamics and the one of estimation that it is, with where the papers say so."""

    operator: str
    dynamics: str
    estimation: str
    cites: str


# What the Unified formulation paper (§6) and JPL 88-11 (§4) read across.
DICTIONARY = (
    Term("phi", "propagation of forces from body to body", "transition matrix of the state", "JPL (4.1); UF §6"),
    Term("M", "spatial inertias of the links", "covariance of the process noise", "JPL (4.2); UF §6"),
    Term("H", "joint maps", "measurement matrix", "JPL (4.1); UF §6"),
    Term("rotor_inertia", "reflected inertias of rotors", "covariance of the measurement noise", "N 12.6"),
    Term("mass", "mass matrix", "covariance of all measurements", "JPL (4.3); UF §6"),
    Term("P", "articulated inertias", "covariance of the predicted state", "JPL (4.5); UF (40)"),
    Term("P_plus", "articulated inertias across the joint", "covariance of the filtered state", "UF (41)"),
    Term("D", "articulated inertias about the joints", "covariance of the innovations", "JPL (4.6); UF (32)"),
    Term("G", "gains", "Kalman gains", "UF (33)"),
    Term("K", "gains, moved to the parent", "gains of the predictor", "JPL (4.4); UF (53)"),
    Term("psi", "propagation across joints that give way", "transition matrix of the filter's error", "JPL (4.7)"),
    Term("Upsilon", "compliances seen at the links", "information of later measurements", "OA (5.4); LD (4.19)"),
)


@dataclass(frozen=True, eq=False)
class Filter:
    """The spatial process of a robot at a configuration, its filter and its smoother; from :meth:`Robot.filter`.

    Measurements Y (..., nv) are one number for each joint rate; states (..., 6 bodies) are spatial forces of the links,
    in body axes at their joints. Covariances are one block for each body, (..., bodies, 6, 6).
    """

    operators: Operators

    def __post_init__(self) -> None:
        leaves = self.operators.leaves
        if leaves.has_spinning_rotors:
            raise NotAdmittedError(
                f"robot {leaves.model.name!r} has rotors that turn with their parents, which correlates the noise of"
                " joints with that of links: its filter is not this one; leave the rotors' axes out"
            )
        if leaves.nodes is not None:
            raise NotAdmittedError(
                f"robot {leaves.model.name!r} has bodies that move as one node, whose states are of different lengths;"
                " robot.uncouple() and robot.opened have a filter"
            )

    def __repr__(self) -> str:
        op = self.operators
        return f"<filter of robot {op.model.name!r}: {len(op.bodies.sizes)} states, {op.joints.dimension} measurements>"

    @property
    def dictionary(self) -> tuple[Term, ...]:
        """Which quantity of dynamics is which of estimation."""
        return DICTIONARY

    # --- states --------------------------------------------------------------------------------------

    @cached_property
    def whitening(self) -> Operator:
        """I − HψK: measurements to innovations."""
        op = self.operators
        return op.I_joints - op.H @ op.psi @ op.K

    def innovations(self, Y: ArrayLike) -> SameKind:
        """ε = (I − HψK)Y, (..., nv): what of each measurement those before did not foretell; white, covariance D."""
        return self.whitening @ Y

    def predicted(self, Y: ArrayLike) -> SameKind:
        """ẑ = ψKY, (..., 6 bodies): each state from the measurements outboard of it."""
        op = self.operators
        return (op.psi @ op.K) @ Y

    def filtered(self, Y: ArrayLike) -> SameKind:
        """ẑ⁺ = ẑ + Gε, (..., 6 bodies): each state from those and its own."""
        op = self.operators
        return (op.psi @ op.K + op.G @ self.whitening) @ Y

    def smoothed(self, Y: ArrayLike) -> SameKind:
        """ẑ + Pψ*H*D⁻¹ε, (..., 6 bodies): each state from all measurements."""
        op = self.operators
        back = op.P @ op.psi.T @ op.H.T @ op.D_inverse @ self.whitening
        return (op.psi @ op.K + back) @ Y

    # --- covariances ---------------------------------------------------------------------------------

    @property
    def predicted_covariance(self) -> SameKind:
        """P, (..., bodies, 6, 6)."""
        return self._blocks(self.operators.P)

    @property
    def filtered_covariance(self) -> SameKind:
        """P⁺, (..., bodies, 6, 6)."""
        return self._blocks(self.operators.P_plus)

    @property
    def smoothed_covariance(self) -> SameKind:
        """P − PΥP, (..., bodies, 6, 6)."""
        op = self.operators
        return self._blocks(op.P - op.P @ op.Upsilon @ op.P)

    @property
    def gains(self) -> list[SameKind]:
        """The Kalman gains G(k), (..., 6, r), one for each body."""
        return self._each(self.operators.G)

    @property
    def innovation_covariance(self) -> list[SameKind]:
        """D(k), (..., r, r), one for each body."""
        return self._each(self.operators.D)

    def _each(self, op: Operator) -> list[SameKind]:
        return [op[k] for k in range(len(self.operators.bodies.sizes))]

    def _blocks(self, op: Operator) -> SameKind:
        found = self._each(op)
        return arrays.namespace(found[0]).stack(found, axis=-3)

    # --- probabilities -------------------------------------------------------------------------------

    def log_likelihood(self, Y: ArrayLike) -> SameKind:
        """log p(Y) = −½(ε*D⁻¹ε + log det D + nv log 2π), (...): of normal forces, in O(n)."""
        op = self.operators
        white = (op.D_root_inverse @ self.whitening) @ Y
        spread = log_determinant(op.model, op.q)
        return -0.5 * ((white * white).sum(axis=-1) + spread + op.joints.dimension * np.log(2.0 * np.pi))

    def sample(self, count: int, seed: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Normal states z (count, …, 6 bodies) and what the joints measure of them, Y (count, …, nv)."""
        whole(count, "count", least=1)
        rng, op = np.random.default_rng(seed), self.operators
        sizes, axes = np.linalg.eigh(arrays.as_numpy(self._blocks(op.M)))  # links without mass have no Cholesky factor
        roots = axes * np.sqrt(np.maximum(sizes, 0.0))[..., None, :]
        pushes = (roots @ rng.normal(size=(count, *roots.shape[:-1], 1)))[..., 0]
        z = arrays.as_numpy(op.phi @ pushes.reshape((*pushes.shape[:-2], -1)))
        Y = arrays.as_numpy(op.H @ z)
        if op.leaves.has_rotors:
            noise = np.sqrt(arrays.as_numpy(op.rotor_inertia @ np.ones(op.joints.dimension)))
            Y = Y + noise * rng.normal(size=Y.shape)
        return z, Y
