"""Figures that notebooks show by themselves, whether or not pyplot was ever imported."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A matplotlib figure, drawn without a screen, that is the picture of the cell that ends with it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The picture with twice the pixels, for screens that have them, and the size it is to have."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=2 * self.dpi, facecolor=self.get_facecolor())
        width, height = (round(x * self.dpi) for x in self.get_size_inches())
        return buffer.getvalue(), {"width": width, "height": height}
