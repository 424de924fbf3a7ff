"""Blocks of states as square tiles: state by state in the caller's arrays, number by number in scratch."""

from __future__ import annotations

from .sine_cosine import VectorType


def transposed(names: list[str], t: VectorType, tag: str) -> tuple[list[str], list[str]]:
    """lanes × lanes transpose of vectors by log₂(lanes) rounds of shuffles."""
    lines: list[str] = []
    v, step, n = t.name, t.lanes // 2, 0
    while step:
        out = list(names)
        for i in range(t.lanes):
            if i & step:
                continue
            a, b = names[i], names[i + step]
            low = [lane if not lane & step else t.lanes + lane - step for lane in range(t.lanes)]
            high = [lane + step if not lane & step else t.lanes + lane for lane in range(t.lanes)]
            for target, mask in ((i, low), (i + step, high)):
                name = f"%{tag}{n}"
                n += 1
                picks = ", ".join(f"i32 {m}" for m in mask)
                lines.append(f"  {name} = shufflevector {v} {a}, {v} {b}, <{t.lanes} x i32> <{picks}>")
                out[target] = name
        names, step = out, step // 2
    return names, lines


def tile_of_places(t: VectorType, k: int, tag: str, column: str, columns: int) -> tuple[list[str], list[str]]:
    """(the rows of each lane, the lines that make them) of ``columns`` numbers from ``column`` on."""
    lines = []
    for i in range(columns):
        lines += [
            f"  %{tag}c{i} = add i64 {column}, {i}",
            f"  %{tag}q{i} = getelementptr i64, ptr @lw_places{k}, i64 %{tag}c{i}",
            f"  %{tag}d{i} = load i64, ptr %{tag}q{i}",
            f"  %{tag}from{i} = getelementptr {t.scalar}, ptr %src, i64 %{tag}d{i}",
            f"  %{tag}x{i} = load {t.name}, ptr %{tag}from{i}, align {t.alignment}",
        ]
    names = [f"%{tag}x{i}" if i < columns else "zeroinitializer" for i in range(t.lanes)]
    rows, shuffles = transposed(names, t, f"{tag}t")
    return rows, lines + shuffles
