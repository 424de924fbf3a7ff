"""Loops that count, as LLVM IR text: the blocks that every function over rows, columns and lanes is made of.

Names of values are those of the counter: ``%i``, ``%i_next`` and ``%i_more`` of a counter "i".
"""

from __future__ import annotations

from collections.abc import Callable


def counted(
    label: str, counter: str, count: str | int, body: str, *, before: str, after: str, by: int = 1, last: str = ""
) -> str:
    """``body`` for %counter = 0, by, … below ``count``, once at the least.

    The block ``before`` leads to this one, ``label``; it ends with a jump to ``after``. A body of several blocks ends
    in the block ``last``, with no jump of its own there.
    """
    i = counter
    return f"""{label}:
  %{i} = phi i64 [0, %{before}], [%{i}_next, %{last or label}]
{body}
  %{i}_next = add i64 %{i}, {by}
  %{i}_more = icmp ult i64 %{i}_next, {count}
  br i1 %{i}_more, label %{label}, label %{after}"""


def by_bands(together: int, rows: str, band: Callable[[int, str], str]) -> str:
    """The body of a function that goes over ``rows``: so many at a time, then one by one.

    ``band(count, row)`` are the lines for so many rows from the value ``row`` on. There may be no rows.
    """
    return f"""entry:
  br label %bands
bands:
  %i = phi i64 [0, %entry], [%i_next, %band]
  %i_next = add i64 %i, {together}
  %fits = icmp ule i64 %i_next, {rows}
  br i1 %fits, label %band, label %singles
band:
{band(together, "%i")}
  br label %bands
singles:
  %r = phi i64 [%i, %bands], [%r_next, %single]
  %left = icmp ult i64 %r, {rows}
  br i1 %left, label %single, label %done
single:
{band(1, "%r")}
  %r_next = add i64 %r, 1
  br label %singles
done:
  ret void"""
