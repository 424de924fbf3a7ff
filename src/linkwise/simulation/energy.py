"""The energy account of a motion: what the robot holds, what was put in, what was taken out, and what is left over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import shown


@dataclass(frozen=True, eq=False)
class EnergyAccount:
    """Energies [J] along a trajectory, each (..., samples).

    ``work`` is what the joint forces of controller or table have put in since the start, ``dissipated`` what damping
    and friction have taken out, ``stops`` what the stops at the limits hold or have taken, ``external`` what external
    forces have put in. They are integrated with the state, by the same method. ``loops`` [rad, m] is how far the
    robot's loops are open, None where it has none: how well they were kept closed. ``springs`` is what the springs of
    soft loops hold; None without any, and where that is not known, so that ``drift`` shows their work: in a file that
    is read without its robot, and where one holds none (:attr:`linkwise.Loop.holds_energy`). What their dampers take is
    in ``dissipated``.
    """

    kinetic: np.ndarray
    potential: np.ndarray
    work: np.ndarray
    dissipated: np.ndarray
    stops: np.ndarray
    external: np.ndarray
    loops: np.ndarray | None = None
    springs: np.ndarray | None = None

    @property
    def total(self) -> np.ndarray:
        """Kinetic and potential energy, and that of springs."""
        total: np.ndarray = self.kinetic + self.potential
        return total if self.springs is None else total + self.springs

    @property
    def drift(self) -> np.ndarray:
        """total − total at the start − work − external + dissipated + stops: zero for an exact solution."""
        come, gone = self.work + self.external, self.dissipated + self.stops
        left = self.total - come + gone
        drift: np.ndarray = left - left[..., :1]
        return drift

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Start, end and course of every entry, for notebooks; of a batch the mean."""
        rows = []
        for name in ("kinetic", "potential", "springs", "total", "work", "dissipated", "stops", "external", "drift"):
            values = getattr(self, name)
            if values is None:
                continue
            mean = np.asarray(values).reshape(-1, values.shape[-1]).mean(axis=0)
            rows.append((name, shown.number(mean[0]), shown.number(mean[-1]), shown.curve(mean)))
        words = f"[J]; drift at most {np.abs(self.drift).max():.3g} J"
        if self.loops is not None:
            words += f"; loops open by at most {self.loops.max():.3g} rad or m"
        heading = ("", "start", "end", "")
        return shown.titled("Energy account", words, shown.table(rows, heading, right=(1, 2)))

    def __str__(self) -> str:
        def span(x: np.ndarray) -> str:
            return f"{float(np.mean(x[..., 0])):12.5g} {float(np.mean(x[..., -1])):12.5g}"

        rows = [f"{'[J]':<12}{'start':>13}{'end':>13}"]
        names = ("kinetic", "potential", "total", "work", "dissipated", "stops", "external")
        rows += [f"{name:<12} {span(getattr(self, name))}" for name in names]
        if self.springs is not None:
            rows.insert(3, f"{'springs':<12} {span(self.springs)}")
        rows.append(f"{'drift':<12} largest {np.abs(self.drift).max():.3g}")
        if self.loops is not None:
            rows.append(f"{'loops':<12} open by at most {self.loops.max():.3g} rad or m")
        return "\n".join(rows)
