"""Equality constraints between joints in MJCF files, imposed as couplings.

MuJoCo keeps y − y₀ = a₀ + a₁(x − x₀) + … + a₄(x − x₀)⁴ of two scalar joints by soft forces; here it holds exactly, and
y has no entry in q. y₀, x₀ are the positions of the file, which are zero here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import ModelError
from ..edit import couple
from ..model import Model

if TYPE_CHECKING:
    from .mjcf import MjcfFile

M = TypeVar("M", bound=Model)


def with_equal_joints(file: MjcfFile, model: M) -> tuple[M, set[int], list[str]]:
    """The model with its couplings, the constraints that are dealt with, and why some of these are not imposed."""
    m, mujoco = file.model, file.mujoco
    told: set[int] = set()
    refused: list[str] = []
    if m.opt.disableflags & (mujoco.mjtDisableBit.mjDSBL_EQUALITY | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT):
        return model, told, refused
    for i in range(m.neq):
        if m.eq_type[i] != mujoco.mjtEq.mjEQ_JOINT or not m.eq_active0[i]:
            continue
        told.add(i)
        dependent = file.joints[m.eq_obj1id[i]]
        if m.eq_obj2id[i] < 0:
            refused.append(
                f"not imposed: joint {dependent!r} held at {m.eq_data[i, 0]:g} (equality); robot.lock does so"
            )
            continue
        try:
            model = _coupled(model, dependent, file.joints[m.eq_obj2id[i]], [float(a) for a in m.eq_data[i, :5]])
        except ModelError as e:
            refused.append(f"an equality of joints is not imposed: {e}")
    return model, told, refused


def _coupled(model: M, dependent: str, followed: str, coefficients: Sequence[float]) -> M:
    offset, ratio, *bent = coefficients
    if any(bent):
        return couple(model, dependent, followed, relation=_polynomial(coefficients))
    return couple(model, dependent, followed, ratio, offset)


def _polynomial(coefficients: Sequence[float]) -> Callable[[Any], Any]:
    def value(x: Any) -> Any:
        total: Any = 0.0
        for a in reversed(coefficients):
            total = total * x + a
        return total

    return value
