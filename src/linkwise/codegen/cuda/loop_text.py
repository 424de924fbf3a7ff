"""CUDA text of a rolled program for arrays as users have them: loops over the bodies, one thread a state.

As :mod:`..sources.cuda_loops`, but that arrays lie in any strides. What bodies hand on and save is in memory that the
launch brings (:mod:`.loops`), number by number of neighbouring threads side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...properties import cached_property
from ..sources.cuda import functions_of
from ..sources.cuda_loops import MEMORY, CudaLoopSource
from ..thresholds import CUDA_THREADS as THREADS
from .text import KERNEL


@dataclass(frozen=True, eq=False, repr=False)
class DeviceLoopText(CudaLoopSource):
    """The text for one precision."""

    blocks: int = 1  # that a multiprocessor shall have room for, by which threads have fewer registers

    workers: ClassVar[int] = 1  # threads of a state
    warp_bytes: ClassVar[int] = 0  # shared memory of a warp

    def element(self, name: str, at: str) -> str:
        return f"{name}[(long long)({at}) * lw_within_{name}]"

    @cached_property
    def source(self) -> str:
        body = "\n".join(f"    {line}" for line in self._body())
        here = "\n".join(
            f"        {self._pointer(name)}{name} = lw_all_{name} + (long long)state * lw_between_{name};"
            for name in self._all_arguments()
        )
        arrays = ", ".join(
            f"{self._pointer(name)}lw_all_{name}, long long lw_between_{name}, long long lw_within_{name}"
            for name in self._all_arguments()
        )
        return f"""{functions_of(self.number, body)}
{self._tables()}
{MEMORY}extern "C" __global__ void __launch_bounds__({THREADS}, {self.blocks})
{KERNEL}(size_t batch, {arrays}, {self.number} *lw_scratch)
{{
    const size_t lw_gap = (size_t)gridDim.x * blockDim.x, first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    {self.number} *const lw_work = lw_scratch + first;
    for (size_t state = first; state < batch; state += lw_gap) {{
{here}
{self._unused()}
{body}
    }}
}}
"""

    def _pointer(self, name: str) -> str:
        constant = "" if name in self._outputs() else "const "
        return f"{constant}{self.number} *__restrict__ "

    def _unused(self) -> str:
        """Names that a program may have no use for."""
        return "\n".join(f"        (void)lw_within_{name};" for name in self._all_arguments())
