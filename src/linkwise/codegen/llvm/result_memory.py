"""Memory of large results, kept for the next ones: an allocator of NumPy's sort (NEP 49) as LLVM IR.

NumPy gives large arrays back to the system and takes new ones from it, which the processor meets page by page: 4096
mass matrices of a humanoid take 0.45 µs each to compute and 1.7 µs each to be touched first. Arrays made with this
allocator own their memory, as any do; when the last reference to one goes, NumPy hands its memory back here, and a
later result has it. So no array's memory is ever written while anybody can see the array.

The functions run with Python's lock held (NumPy makes and destroys arrays under it), and need no other. ``ctx`` is a
table of words: :data:`POOL`, then the first free block of each class. A block starts with a line of its own, {class,
next free block, whether the system may take its pages}, and its array's numbers begin after it. Classes are four to
each power of two. When more than ``most`` bytes would be kept, all are given back first, so that what is kept is of
sizes in use now; the same where there is no memory for a new block. Of what is kept beyond ``limit`` bytes, the system
may take the pages whenever it wants memory (MADV_FREE): a block's own line is in its first huge page, which it may not.
Blocks without huge pages are always held fast, within ``limit``. Systems that know nothing of the kind have ``most``
and ``limit`` the same.
"""

from __future__ import annotations

LINE = 64  # bytes before an array's numbers, and how they are aligned
HUGE, HUGE_PAGE = 1 << 22, 1 << 21  # from which size on blocks are aligned for huge pages, and how
CLASSES = 256
_MADV_HUGEPAGE, _MADV_FREE = 14, 8

POOL = (
    "kept",  # bytes
    "fast",  # those of them whose pages the system may not take
    "limit",
    "most",
    "posix_memalign",  # addresses
    "free",
    "madvise",  # or 0
)
P = {name: i for i, name in enumerate(POOL)}
POOL_WORDS = len(POOL) + CLASSES


def _read(name: str, kind: str = "i64") -> str:
    return f"  %{name}_p = getelementptr i64, ptr %ctx, i64 {P[name]}\n  %{name} = load {kind}, ptr %{name}_p"


def _list(of: str) -> str:
    return f"  %slot = add i64 {of}, {len(POOL)}\n  %list = getelementptr i64, ptr %ctx, i64 %slot"


def memory_ir() -> str:
    """The module's text: ``lw_malloc``, ``lw_calloc``, ``lw_realloc`` and ``lw_free``."""
    return "\n".join([_HELPERS, _MALLOC, _FREE, _FLUSH, _OTHERS])


_HELPERS = """declare i64 @llvm.ctlz.i64(i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define internal i64 @lw_class(i64 %total) {
  %less = sub i64 %total, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %less, i1 false)
  %e = sub i64 63, %zeros
  %shift = sub i64 %e, 2
  %high = lshr i64 %less, %shift
  %quarter = and i64 %high, 3
  %e4 = mul i64 %e, 4
  %class = add i64 %e4, %quarter
  ret i64 %class
}
define internal i64 @lw_class_bytes(i64 %class) {
  %e = lshr i64 %class, 2
  %quarter = and i64 %class, 3
  %parts = add i64 %quarter, 5
  %shift = sub i64 %e, 2
  %bytes = shl i64 %parts, %shift
  ret i64 %bytes
}"""

_MALLOC = f"""define ptr @lw_malloc(ptr %ctx, i64 %size) {{
entry:
  %new_p = alloca ptr
  %total = add i64 %size, {LINE}
  %class = call i64 @lw_class(i64 %total)
  %bytes = call i64 @lw_class_bytes(i64 %class)
{_list("%class")}
  %head = load ptr, ptr %list
  %empty = icmp eq ptr %head, null
  br i1 %empty, label %fresh, label %again
again:
  %next_p = getelementptr i8, ptr %head, i64 8
  %next = load ptr, ptr %next_p
  store ptr %next, ptr %list
{_read("kept")}
  %left = sub i64 %kept, %bytes
  store i64 %left, ptr %kept_p
{_read("fast")}
  %is_loose_p = getelementptr i8, ptr %head, i64 16
  %is_loose = load i64, ptr %is_loose_p
  %no_more_loose = icmp eq i64 %is_loose, 0
  %was_fast = select i1 %no_more_loose, i64 %bytes, i64 0
  %fast_left = sub i64 %fast, %was_fast
  store i64 %fast_left, ptr %fast_p
  br label %give
fresh:
{_read("posix_memalign", "ptr")}
{_read("madvise", "ptr")}
  %huge = icmp uge i64 %bytes, {HUGE}
  %alignment = select i1 %huge, i64 {HUGE_PAGE}, i64 {LINE}
  %error = call i32 %posix_memalign(ptr %new_p, i64 %alignment, i64 %bytes)
  %got = icmp eq i32 %error, 0
  br i1 %got, label %number, label %make_room
make_room:
  call void @lw_flush(ptr %ctx)
  %error_again = call i32 %posix_memalign(ptr %new_p, i64 %alignment, i64 %bytes)
  %got_again = icmp eq i32 %error_again, 0
  br i1 %got_again, label %number, label %none
number:
  %new = load ptr, ptr %new_p
  store i64 %class, ptr %new
  %advises = icmp ne ptr %madvise, null
  %advise = and i1 %advises, %huge
  br i1 %advise, label %advised, label %give
advised:
  %ignored = call i32 %madvise(ptr %new, i64 %bytes, i32 {_MADV_HUGEPAGE})
  br label %give
give:
  %block = phi ptr [%head, %again], [%new, %number], [%new, %advised]
  %numbers = getelementptr i8, ptr %block, i64 {LINE}
  ret ptr %numbers
none:
  ret ptr null
}}"""

_FREE = f"""define void @lw_free(ptr %ctx, ptr %numbers, i64 %size) {{
entry:
  %nothing = icmp eq ptr %numbers, null
  br i1 %nothing, label %done, label %some
some:
  %block = getelementptr i8, ptr %numbers, i64 -{LINE}
  %class = load i64, ptr %block
  %bytes = call i64 @lw_class_bytes(i64 %class)
{_read("limit")}
{_read("most")}
{_read("madvise", "ptr")}
  %too_large = icmp ugt i64 %bytes, %most
  br i1 %too_large, label %release, label %fits
release:
{_read("free", "ptr")}
  call void %free(ptr %block)
  br label %done
fits:
{_read("kept")}
{_read("fast")}
  %with = add i64 %kept, %bytes
  %over = icmp ugt i64 %with, %most
  br i1 %over, label %flush, label %look
look:
  %fast_with = add i64 %fast, %bytes
  %beyond = icmp ugt i64 %fast_with, %limit
  br i1 %beyond, label %loosen, label %keep
loosen:
  %huge = icmp uge i64 %bytes, {HUGE}
  br i1 %huge, label %advise, label %flush
flush:
  call void @lw_flush(ptr %ctx)
  %alone = icmp ugt i64 %bytes, %limit
  br i1 %alone, label %advise, label %keep
advise:
  %pages = getelementptr i8, ptr %block, i64 {HUGE_PAGE}
  %length = sub i64 %bytes, {HUGE_PAGE}
  %ignored = call i32 %madvise(ptr %pages, i64 %length, i32 {_MADV_FREE})
  br label %keep
keep:
  %loose = phi i64 [0, %look], [0, %flush], [1, %advise]
  %held = phi i64 [%bytes, %look], [%bytes, %flush], [0, %advise]
  %loose_p = getelementptr i8, ptr %block, i64 16
  store i64 %loose, ptr %loose_p
  %kept_now = load i64, ptr %kept_p
  %more = add i64 %kept_now, %bytes
  store i64 %more, ptr %kept_p
  %fast_now = load i64, ptr %fast_p
  %more_fast = add i64 %fast_now, %held
  store i64 %more_fast, ptr %fast_p
{_list("%class")}
  %head = load ptr, ptr %list
  %next_p = getelementptr i8, ptr %block, i64 8
  store ptr %head, ptr %next_p
  store ptr %block, ptr %list
  br label %done
done:
  ret void
}}"""

_FLUSH = f"""define void @lw_flush(ptr %ctx) {{
entry:
{_read("free", "ptr")}
  %kept_p = getelementptr i64, ptr %ctx, i64 {P["kept"]}
  %fast_p = getelementptr i64, ptr %ctx, i64 {P["fast"]}
  store i64 0, ptr %kept_p
  store i64 0, ptr %fast_p
  br label %class
class:
  %c = phi i64 [0, %entry], [%c_next, %emptied]
{_list("%c")}
  br label %blocks
blocks:
  %head = load ptr, ptr %list
  %empty = icmp eq ptr %head, null
  br i1 %empty, label %emptied, label %one
one:
  %next_p = getelementptr i8, ptr %head, i64 8
  %next = load ptr, ptr %next_p
  store ptr %next, ptr %list
  call void %free(ptr %head)
  br label %blocks
emptied:
  %c_next = add i64 %c, 1
  %more = icmp ult i64 %c_next, {CLASSES}
  br i1 %more, label %class, label %done
done:
  ret void
}}"""

_OTHERS = f"""define ptr @lw_calloc(ptr %ctx, i64 %count, i64 %each) {{
  %size = mul i64 %count, %each
  %new = call ptr @lw_malloc(ptr %ctx, i64 %size)
  %none = icmp eq ptr %new, null
  br i1 %none, label %done, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %new, i8 0, i64 %size, i1 false)
  br label %done
done:
  ret ptr %new
}}
define ptr @lw_realloc(ptr %ctx, ptr %old, i64 %size) {{
  %new = call ptr @lw_malloc(ptr %ctx, i64 %size)
  %failed = icmp eq ptr %new, null
  %nothing = icmp eq ptr %old, null
  %no_copy = or i1 %failed, %nothing
  br i1 %no_copy, label %done, label %copy
copy:
  %block = getelementptr i8, ptr %old, i64 -{LINE}
  %class = load i64, ptr %block
  %bytes = call i64 @lw_class_bytes(i64 %class)
  %held = sub i64 %bytes, {LINE}
  %shrinks = icmp ult i64 %size, %held
  %moved = select i1 %shrinks, i64 %size, i64 %held
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %old, i64 %moved, i1 false)
  call void @lw_free(ptr %ctx, ptr %old, i64 0)
  br label %done
done:
  ret ptr %new
}}"""
