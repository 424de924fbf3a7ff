"""The algorithms by name, where there are several for one thing."""

from __future__ import annotations

from collections.abc import Callable

from .. import inverse
from ..scan.solve import Scanned, scan
from . import articulated_body as forward
from . import explicit as forward_explicit
from .armstrong import armstrong
from .notations import NAMED

FORWARD_METHODS: dict[str, Callable[..., forward.Forward | Scanned]] = {
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
    "scan": scan,
}


INVERSE_METHODS = {"newton_euler": inverse.newton_euler, "composite_body": inverse.composite_body}
