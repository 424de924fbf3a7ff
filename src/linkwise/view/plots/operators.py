"""The structure of a robot's operators: where φ, ψ, M, 𝓜 and their factors have entries, and how large they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import inputs
from ...errors import InputError
from ...robot.calls import refuse_other_than_robot
from ...robot.robot import Robot
from .. import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BODIES = 60


def operators(robot: Robot, q: Any = None, *, theme: str = "light", transparent: bool = False) -> Figure:
    """φ, ψ, M and P over the bodies; 𝓜, its factors and its inverse over the joints, at q (default: a random one).

    Every entry that is not zero is a square, stronger where it is larger (by its order of magnitude). Lines part the
    bodies. φ and ψ are triangular: each body feels those outboard of it on its own branch; that is what makes sweeps.
    ``theme`` and ``transparent`` are those of :func:`linkwise.plots.joints`.
    """
    look = style.theme_of(theme, transparent)
    refuse_other_than_robot(robot, "a picture of operators")
    if not robot.bodies or len(robot.bodies) > MOST_BODIES:
        raise InputError(f"operators are drawn for robots of 1 to {MOST_BODIES} bodies, got {len(robot.bodies)}")
    q = robot.random_configuration(0) if q is None else np.asarray(inputs.configuration(robot, q), float)
    if q.shape != (robot.nq,):
        raise InputError(f"operators are drawn at one configuration ({robot.nq},), got shape {q.shape}")
    op = robot.operators(q)
    factor, D = robot.innovations_factors(q, target="numpy")
    inverse_factor, _ = robot.inverse_factors(q, target="numpy")
    body_edges = 6.0 * np.arange(len(robot.bodies) + 1)
    joint_edges = np.array([0, *(s.stop for s in robot.v_slices)], float)
    M, M_inverse = robot.mass_matrix(q), robot.mass_matrix_inverse(q)
    panels = (
        ("φ   rigid: forces from body to body", op.phi.dense(), body_edges),
        ("ψ   articulated: the same, joints yielding", op.psi.dense(), body_edges),
        ("M   inertias of the bodies", op.M.dense(), body_edges),
        ("P   articulated inertias", op.P.dense(), body_edges),
        (r"$\mathcal{M} = H\,\phi\,M\,\phi^*H^*$", M, joint_edges),
        ("I + H φ K", factor, joint_edges),
        ("D", D, joint_edges),
        ("I − H ψ K", inverse_factor, joint_edges),
        (r"$\mathcal{M}^{-1}$", M_inverse, joint_edges),
    )
    figure = style.new_figure(10.4, 6.6, f"{robot.name}: the structure of its operators", _SUBTITLE, theme=look)
    grid = figure.add_gridspec(2, 20, height_ratios=(1.18, 1))
    for k, (title, matrix, edges) in enumerate(panels):
        where = grid[0, 5 * k : 5 * k + 5] if k < 4 else grid[1, 4 * (k - 4) : 4 * (k - 4) + 4]
        _draw(figure.add_subplot(where), title, np.asarray(matrix, float), edges, look)
    return figure


_SUBTITLE = (
    r"$\mathcal{M} = (I + H\phi K)\,D\,(I + H\phi K)^*$,   "
    r"$\mathcal{M}^{-1} = (I - H\psi K)^* D^{-1} (I - H\psi K)$.   Bodies base first; stronger is larger."
)


def _draw(ax: Any, title: str, matrix: np.ndarray, edges: np.ndarray, look: style.Theme) -> None:
    size = np.abs(matrix)
    largest = size.max() or 1.0
    there = size > 1e-12 * largest
    order = np.log10(np.where(there, size, largest) / largest)
    shade = np.where(there, 1.0 + np.clip(order, -5.0, 0.0) / 6.5, np.nan)
    ax.set_facecolor("none")
    ax.imshow(
        shade,
        cmap="Blues" if look.background == style.LIGHT.background else "Blues_r",
        vmin=-0.12,
        vmax=1.12,
        interpolation="nearest",
    )
    if len(edges) <= 40:
        for e in edges[1:-1] - 0.5:
            ax.axhline(e, color=look.grid, linewidth=0.6)
            ax.axvline(e, color=look.grid, linewidth=0.6)
    ax.set_title(title, fontsize=8.5, color=look.ink, loc="left")
    share = 100.0 * there.mean()
    ax.set_xlabel(f"{matrix.shape[0]} × {matrix.shape[1]}, {share:.0f} % filled", fontsize=8, color=look.pale)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_color(look.pale)
