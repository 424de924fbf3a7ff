"""Matrices of chains made row by row from what bodies have, straight to where they are wanted.

The sweeps and walks of a block of states leave O(n) numbers (:mod:`..rolled.factors`, :mod:`..rolled.blocks`), which
are brought into the order in which one state has them (:mod:`.factors_by_state`). Then rows of a state are vectors
along its columns: some rows at a time, *bands* of as many as a vector has lanes, in tiles below the diagonal
(:mod:`.matrix_tiles`), across it, and above. Where results are many the bands go past the caches (:mod:`.row_bands`),
so that no memory of the matrix' size is needed in between.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..rolled.blocks import BlockMatrix, Side
from ..rolled.factors import Factors, ProductMatrix, Terms
from ..rolled.program import RolledProgram
from ..rolled.tables import before_work, by_row
from .block_edges import block_bytes, edge_bytes, edges_ir
from .counted_loops import counted
from .factors_by_state import body_bytes, by_state_ir, own_block_bytes
from .matrix_tiles import Tile, tile_ir
from .row_bands import AT, BUFFER, bands_ir, field
from .sine_cosine import ALIGNED_STACK, VectorType


def matrices_ir(program: RolledProgram, t: VectorType) -> str:
    """``@lw_matrices(results, lanes, dst, between, large, …)``, three for each matrix: all of a block of states."""
    factors = program.factors
    if not factors.matrices:
        return ""
    parts = [by_state_ir(factors, t), bands_ir(t, (factors.bodies + 2) * t.alignment)]
    parts += [edges_ir(factors, w, t) for w in range(len(factors.walks))]
    for k, matrix in factors.matrices.items():
        parts.append(_MatrixWriter(factors, k, matrix, t).text())
    return "\n".join([*parts, _all_matrices(program, t)])


def call_matrices(program: RolledProgram) -> list[str]:
    """The line that writes them, once a block of states is done."""
    inputs = len(program.inputs)
    given = [f"ptr %a{inputs + k}, i64 %w{inputs + k}_1, i1 %large{k}" for k in program.factors.matrices]
    return [f"  call void @lw_matrices(ptr %results, i64 %lanes, {', '.join(given)})"] if given else []


def _all_matrices(program: RolledProgram, t: VectorType) -> str:
    factors, step = program.factors, t.alignment
    units, calls = (before_work(program) - factors.unit_vectors) * step, []
    for k in factors.matrices:
        calls += [
            f"  %move{k} = mul i64 %lane, %between{k}",
            f"  %to{k} = getelementptr i8, ptr %dst{k}, i64 %move{k}",
            f"  call void @lw_matrix{k}(ptr %to{k}, ptr %state, ptr %blocks, ptr %units, ptr %edges, ptr %band,"
            f" i1 %large{k})",
        ]
    state = f"""  %state_by = mul i64 %lane, {body_bytes(factors, t)}
  %state = getelementptr i8, ptr %of_bodies, i64 %state_by
  %blocks_by = mul i64 %lane, {t.alignment}
  %blocks = getelementptr i8, ptr %of_bodies, i64 %blocks_by
  %units = getelementptr i8, ptr %all_units, i64 %blocks_by
{chr(10).join(calls)}"""
    given = ", ".join(f"ptr %dst{k}, i64 %between{k}, i1 %large{k}" for k in factors.matrices)
    return f"""define internal void @lw_matrices(ptr %results, i64 %lanes, {given}) {ALIGNED_STACK} {{
entry:
  %band = alloca %lw_band
  %of_bodies = getelementptr i8, ptr %results, i64 {program.all_held * step}
  %edges = getelementptr i8, ptr %results, i64 {before_work(program) * step}
  %buffers = getelementptr i8, ptr %edges, i64 {by_row(program, t.lanes)[0] * step}
  %all_units = getelementptr i8, ptr %results, i64 {units}
  call void @lw_by_state(ptr %of_bodies)
  call void @lw_band_init(ptr %band, ptr %buffers)
  br label %each
{counted("each", "lane", "%lanes", state, before="entry", after="done")}
done:
  call void @lw_band_flush(ptr %band)
  ret void
}}
"""


class _MatrixWriter:
    """``@lw_matrix…(dst, state, blocks, units, edges, band, large)``: one matrix of one state, with own ``blocks``."""

    def __init__(self, factors: Factors, k: int, matrix: ProductMatrix | BlockMatrix, t: VectorType) -> None:
        self.factors, self.k, self.matrix, self.t = factors, k, matrix, t
        self.n, self.body = factors.bodies, body_bytes(factors, t)
        self.tiles: list[Tile] = []

    def text(self) -> str:
        t, n = self.t, self.n
        sides = self._products(self.matrix) if isinstance(self.matrix, ProductMatrix) else self._blocks(self.matrix)
        ahead, here = self._edges()
        band = f"""{here}
  %ends = add i64 %k, {t.lanes}
  %whole = icmp ule i64 %ends, {n}
  %others = sub i64 {n}, %k
  %rows = select i1 %whole, i64 {t.lanes}, i64 %others
  %k_by = mul i64 %k, {t.size}
  %mine_by = mul i64 %k, {self.body}
  %mine = getelementptr i8, ptr %state, i64 %mine_by
  %skip = mul i64 %k, {n * t.size}
  %direct = getelementptr i8, ptr %dst, i64 %skip
{field("%bufferp", BUFFER)}
{field("%atp", AT)}
  %buffer = load ptr, ptr %bufferp
  %at = load i64, ptr %atp
  %at_by = mul i64 %at, {t.size}
  %buffered = getelementptr i8, ptr %buffer, i64 %at_by
  %row = select i1 %large, ptr %buffered, ptr %direct
{sides}
  br i1 %large, label %turn, label %band_end
turn:
  %numbers = mul i64 %rows, {n}
  call void @lw_band_turn(ptr %band, i64 %numbers)
  br label %band_end
band_end:"""
        given = "ptr %dst, ptr %state, ptr %blocks, ptr %units, ptr %edges, ptr %band, i1 %large"
        head = f"define internal void @lw_matrix{self.k}({given})"
        tiles = "\n".join(tile_ir(t, n, tile) for tile in self.tiles)
        return f"""{tiles}
{self._diagonal()}
{head} noinline {ALIGNED_STACK} {{
entry:
  call void @lw_band_begin(ptr %band, ptr %dst)
  br label %first
first:
{ahead}
{counted("loop", "k", n, band, before="ahead_end", after="done", by=t.lanes, last="band_end")}
done:
  br i1 %large, label %end, label %return
end:
  call void @lw_band_end(ptr %band)
  br label %return
return:
  ret void
}}
"""

    def _edges(self) -> tuple[str, str]:
        """What walks that no earlier matrix has have at the edges of blocks: (before all bands, before each band)."""
        factors, calls = self.factors, dict[bool, list[str]]({True: [], False: []})
        for w, walk in enumerate(factors.walks):
            users = [k for k, x in factors.matrices.items() if isinstance(x, BlockMatrix) and x.has(w)]
            if users and users[0] == self.k:
                assert isinstance(self.matrix, BlockMatrix)
                later = not walk.walk.outward and self.matrix.has(w, in_rows_of_origins=False)
                units = sum(factors.blocks * x.unit_vectors * self.t.alignment for x in factors.walks[:w])
                counter = "body" if later else "k"
                calls[later] += [
                    f"  %units{w} = getelementptr i8, ptr %units, i64 {units}",
                    f"  %edges{w} = getelementptr i8, ptr %edges, i64 {edge_bytes(factors, w, self.t)}",
                    f"  call void @lw_edges{w}(ptr %state, ptr %units{w}, ptr %edges{w}, i64 %{counter}, ptr %band)",
                ]
        here = "\n".join(calls[False])
        if not calls[True]:
            return "  br label %ahead_end\nahead_end:\n  br label %loop", here
        every = "\n".join(calls[True])
        loop = counted("all", "body", self.n, every, before="first", after="ahead_end", by=self.t.lanes)
        return f"  br label %all\n{loop}\nahead_end:\n  br label %loop", here

    def _of_bodies(self, numbers: Iterable[int]) -> list[int]:
        """Where factors of a body are."""
        return [i * self.t.alignment for i in numbers]

    def _tile(self, side: str, own: list[int], other: list[int], step: int = 0, block: int = 0, stride: int = 0) -> str:
        tile = Tile(f"{self.k}_{side}", own, other, step, block, stride)
        self.tiles.append(tile)
        return f"@lw_tile{tile.name}"

    # --- sums of products ----------------------------------------------------------------------------------

    def _products(self, matrix: ProductMatrix) -> str:
        below, above = (
            self._tile(side, self._of_bodies(x.row), self._of_bodies(x.column), self.body)
            for side, x in (("below", matrix.below), ("above", matrix.above))
        )
        return f"""  call void {below}(ptr %row, i64 %rows, ptr %mine, ptr %state, i64 %k, ptr %band)
  %across = getelementptr i8, ptr %row, i64 %k_by
  call void @lw_across{self.k}(ptr %across, i64 %rows, ptr %mine)
  %beyond = icmp ult i64 %ends, {self.n}
  br i1 %beyond, label %above, label %sides_end
above:
  %right_by = mul i64 %ends, {self.t.size}
  %right = getelementptr i8, ptr %row, i64 %right_by
  %their_by = mul i64 %ends, {self.body}
  %their = getelementptr i8, ptr %state, i64 %their_by
  %count = sub i64 {self.n}, %ends
  call void {above}(ptr %right, i64 %rows, ptr %mine, ptr %their, i64 %count, ptr %band)
  br label %sides_end
sides_end:"""

    def _diagonal(self) -> str:
        """What stands between the sides: of a band as many columns as it has rows, or own blocks."""
        if isinstance(self.matrix, BlockMatrix):
            return self._own_blocks(self.matrix)
        t, matrix = self.t, self.matrix
        lanes = ", ".join(f"i64 {i}" for i in range(t.lanes))
        numbers = t.wide("i64")
        lines = self._sum("b", matrix.below) + self._sum("a", matrix.above)
        row = f"""  %i_by = mul i64 %i, {t.size}
  %own = getelementptr i8, ptr %mine, i64 %i_by
{chr(10).join(lines)}
{chr(10).join(self._number("d", matrix.diagonal))}
  %i1 = insertelement {numbers} poison, i64 %i, i32 0
  %is = shufflevector {numbers} %i1, {numbers} poison, <{t.lanes} x i32> zeroinitializer
  %left = icmp ult {numbers} <{lanes}>, %is
  %here = icmp eq {numbers} <{lanes}>, %is
  %sides = select {t.mask} %left, {t.name} %b, {t.name} %a
  %all = select {t.mask} %here, {t.name} %d, {t.name} %sides
  %to_by = mul i64 %i, {self.n * t.size}
  %to = getelementptr i8, ptr %dst, i64 %to_by
  call void @llvm.masked.store.{t.mangled}.p0({t.name} %all, ptr %to, i32 {t.size}, {t.mask} %real)"""
        return f"""define internal void @lw_across{self.k}(ptr %dst, i64 %rows, ptr %mine) noinline {ALIGNED_STACK} {{
entry:
  %rows1 = insertelement {numbers} poison, i64 %rows, i32 0
  %rowss = shufflevector {numbers} %rows1, {numbers} poison, <{t.lanes} x i32> zeroinitializer
  %real = icmp ult {numbers} <{lanes}>, %rowss
  br label %loop
{counted("loop", "i", "%rows", row, before="entry", after="done")}
done:
  ret void
}}
"""

    def _number(self, name: str, factor: int) -> list[str]:
        """A row's own number, in all lanes."""
        t = self.t
        return [
            f"  %{name}p = getelementptr i8, ptr %own, i64 {factor * t.alignment}",
            f"  %{name}s = load {t.scalar}, ptr %{name}p, align {t.size}",
            *t.spread(f"%{name}s", f"%{name}"),
        ]

    def _sum(self, name: str, terms: Terms) -> list[str]:
        """A row's entries of one side, for the columns of its band."""
        t, lines, so_far = self.t, [], "zeroinitializer"
        for i, (own, other) in enumerate(zip(terms.row, terms.column)):
            x = f"{name}{i}x"
            whole = f"%{name}" if i == len(terms.row) - 1 else f"%{name}{i}"
            lines += self._number(x, own)
            lines += [
                f"  %{x}q = getelementptr i8, ptr %mine, i64 {other * t.alignment}",
                f"  %{x}y = load {t.name}, ptr %{x}q, align {t.alignment}",
            ]
            if i:
                operands = f"{t.name} %{x}, {t.name} %{x}y, {t.name} {so_far}"
                lines.append(f"  {whole} = call {t.name} @llvm.fmuladd.{t.mangled}({operands})")
            else:
                lines.append(f"  {whole} = fmul {t.name} %{x}, %{x}y")
            so_far = whole
        return lines or [f"  %{name} = fadd {t.name} zeroinitializer, zeroinitializer"]

    # --- blocks --------------------------------------------------------------------------------------------

    def _blocks(self, matrix: BlockMatrix) -> str:
        m, size = self.factors.block, self.t.size
        return f"""  %b = udiv i64 %k, {m}
  %before = mul i64 %b, {m}
  %ended = add i64 %before, {m}
{self._side("below", matrix.below, "0", "%before")}
  %before_by = mul i64 %before, {size}
  %across = getelementptr i8, ptr %row, i64 %before_by
  %own_by = mul i64 %k, {self.body}
  %own = getelementptr i8, ptr %blocks, i64 {own_block_bytes(self.factors, matrix.own, self.t)}
  %own_rows = getelementptr i8, ptr %own, i64 %own_by
  %real = sub i64 {self.n}, %before
  call void @lw_across{self.k}(ptr %across, i64 %rows, ptr %own_rows, i64 %real)
  %beyond = icmp ult i64 %ended, {self.n}
  br i1 %beyond, label %above, label %sides_end
above:
  %count = sub i64 {self.n}, %ended
{self._side("above", matrix.above, "%ended", "%count")}
  br label %sides_end
sides_end:"""

    def _side(self, name: str, side: Side | None, first: str, count: str) -> str:
        """The columns of other blocks from ``first`` on."""
        t, factors = self.t, self.factors
        lines = [
            f"  %{name}_by = mul i64 {first}, {t.size}",
            f"  %{name}_to = getelementptr i8, ptr %row, i64 %{name}_by",
        ]
        if side is None:
            tile = self._tile(name, [], [])
            return "\n".join(
                [*lines, f"  call void {tile}(ptr %{name}_to, i64 %rows, ptr null, ptr null, i64 {count}, ptr %band)"]
            )
        walk = factors.walks[side.walk]
        slots, stride = range(len(walk.slots)), block_bytes(factors, walk, t)
        of_bodies, line = self._of_bodies(range(side.factors, side.factors + len(slots))), factors.length * t.size
        of_edges = [i * line for i in slots]
        lines.append(f"  %{name}_edges = getelementptr i8, ptr %edges, i64 {edge_bytes(factors, side.walk, t)}")
        if side.in_rows_of_origins:
            tile = self._tile(name, of_edges, of_bodies, self.body, factors.block, stride)
            lines += [
                f"  %{name}_block = udiv i64 {first}, {factors.block}",
                f"  %{name}_skip = mul i64 %{name}_block, {stride}",
                f"  %{name}_there = getelementptr i8, ptr %{name}_edges, i64 %{name}_skip",
                f"  %{name}_own = getelementptr i8, ptr %{name}_there, i64 %k_by",
                f"  %{name}_there_by = mul i64 {first}, {self.body}",
                f"  %{name}_other = getelementptr i8, ptr %state, i64 %{name}_there_by",
            ]
        else:
            tile = self._tile(name, of_bodies, of_edges, t.size)
            lines += [
                f"  %{name}_skip = mul i64 %b, {stride}",
                f"  %{name}_there = getelementptr i8, ptr %{name}_edges, i64 %{name}_skip",
                f"  %{name}_own = getelementptr i8, ptr %mine, i64 0",
                f"  %{name}_other = getelementptr i8, ptr %{name}_there, i64 %{name}_by",
            ]
        given = f"ptr %{name}_to, i64 %rows, ptr %{name}_own, ptr %{name}_other, i64 {count}, ptr %band"
        return "\n".join([*lines, f"  call void {tile}({given})"])

    def _own_blocks(self, matrix: BlockMatrix) -> str:
        """Rows of own blocks, as far as there are columns."""
        t, m = self.t, self.factors.block
        numbers = t.wide("i64")
        lines = [
            f"  %from_by = mul i64 %i, {self.body}",
            "  %from = getelementptr i8, ptr %own, i64 %from_by",
            f"  %to_by = mul i64 %i, {self.n * t.size}",
            "  %to = getelementptr i8, ptr %dst, i64 %to_by",
        ]
        masks = [f"  %real1 = insertelement {numbers} poison, i64 %real, i32 0"]
        masks.append(f"  %reals = shufflevector {numbers} %real1, {numbers} poison, <{t.lanes} x i32> zeroinitializer")
        for j in range(0, m, t.lanes):
            at = ", ".join(f"i64 {j + i}" for i in range(t.lanes))
            to = f"{t.name} %x{j}, ptr %q{j}, i32 {t.size}, {t.mask} %mask{j}"
            masks.append(f"  %mask{j} = icmp slt {numbers} <{at}>, %reals")
            lines += [
                f"  %p{j} = getelementptr i8, ptr %from, i64 {j * t.alignment}",
                f"  %x{j} = load {t.name}, ptr %p{j}, align {t.alignment}",
                f"  %q{j} = getelementptr i8, ptr %to, i64 {j * t.size}",
                f"  call void @llvm.masked.store.{t.mangled}.p0({to})",
            ]
        join, head = "\n".join, f"define internal void @lw_across{self.k}(ptr %dst, i64 %rows, ptr %own, i64 %real)"
        return f"""{head} noinline {ALIGNED_STACK} {{
entry:
{join(masks)}
  br label %loop
{counted("loop", "i", "%rows", join(lines), before="entry", after="done")}
done:
  ret void
}}
"""
