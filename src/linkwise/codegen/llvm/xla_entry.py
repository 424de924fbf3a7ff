"""The way in from XLA on the CPU: one C function for the calls of all kernels, without Python. LLVM IR text.

``lw_xla_call(frame)`` is a handler of XLA's foreign-function interface (xla/ffi/api/c_api.h, version 0.x). The one
attribute of a call is a name; under it, and under the precision of the results, there is a record (:data:`RECORD`,
then one word for each input and :data:`OUTPUT_WORDS` for each output) of a kernel, which runs on XLA's memory as it
lies. Where there is none (yet), where arrays are not as the record says, where all memories that the kernel can work in
are taken, where there are more than ``most`` states, where a guard of the program is not positive, and for whatever is
no call (questions about the handler, other stages), the frame goes to ``fallback``, a handler that does it all and that
says what is wrong.

Several threads may call at a time. Records are found under a lock, which nobody holds for longer than a look takes;
``at_work`` counts those who use one, so that whoever takes it out knows whether it may go yet. Each call takes one of
the kernel's memories, a list that only grows.

XLA's threads take numbers below the smallest normal one for zero. Kernels, and Python, do not: who calls has its way
again afterwards.
"""

from __future__ import annotations

from .python_entry import MOST_AXES, field

BUCKETS = 1024
KNOWN = ("lock", "fallback")  # words of the one table, before its buckets
K = {name: i for i, name in enumerate(KNOWN)}

RECORD = (
    "next",  # in its bucket
    "hash",  # of its name
    "name",  # address of the name's bytes
    "length",
    "typenum",  # of its precision, by XLA's numbers (which are NumPy's)
    "at_work",  # how many threads use it
    "used",  # not 0 after a call
    "memory",  # address of the first memory that it can work in
    "kernel",  # address of lw_kernel
    "team",  # address of the table of :mod:`.team`, or 0 where nobody helps
    "batch",  # address of lw_batch
    "scratch_step",  # bytes from one thread's memory to the next one's
    "lanes",  # states at a time
    "helpers",  # the most threads besides the caller's
    "pace",  # address of the picoseconds of a state
    "most",  # the most states that one call may have
    "size",  # bytes of a number
    "inputs",  # how many arrays
    "outputs",
)
R = {name: i for i, name in enumerate(RECORD)}
OUTPUT_WORDS = 2 + MOST_AXES  # axes of one state, how many numbers, the lengths of the axes
MEMORY = ("busy", "pace", "scratch", "next")  # words of a memory (a pace of its own is of no use to a record)
M = {name: i for i, name in enumerate(MEMORY)}
LEAST_NAME = 8  # bytes: names are compared by words, the last of which may overlap the one before

# Offsets in XLA's structures, and its numbers.
_FRAME, _FRAME_BYTES = {"size": 0, "extension": 8, "api": 16, "stage": 32}, 168
_COUNT, _KINDS, _ITEMS = 16, 24, 32  # of arguments and results; attributes have names between the last two
_INPUTS, _OUTPUTS, _ATTRIBUTES = 40, 80, 120
_MAJOR = 32  # of the version, in the table of XLA's functions
_KIND, _DATA, _RANK, _DIMS = 16, 24, 32, 40  # of a buffer
_EXECUTE, _TEXT = 3, 4

# How a thread's way with tiny numbers is read and set.
_ROUNDING = {
    "x86_64": ("@llvm.x86.sse.stmxcsr", "@llvm.x86.sse.ldmxcsr"),
    "aarch64": ("@llvm.aarch64.get.fpcr", "@llvm.aarch64.set.fpcr"),
}
_MXCSR = 0x1F80  # no exceptions, to nearest, tiny numbers as they are


def xla_ir(machine: str) -> str:
    """The module's text, for a processor."""
    return "\n".join([_NAMES, _RECORDS, _FLAT, _RUN, _call(machine)])


def _word(name: str, kind: str = "i64") -> str:
    """Read a word of the record."""
    place = f"  %{name}_p = getelementptr i64, ptr %record, i64 {R[name]}"
    return f"{place}\n  %{name} = load {kind}, ptr %{name}_p"


def _field(name: str, base: str, offset: int, kind: str) -> str:
    return "\n".join(field(f"%{name}", f"%{base}", offset, kind))


def _item(name: str, base: str, index: str, kind: str = "i64") -> str:
    """Read a word of a list."""
    return f"  %{name}_at = getelementptr i64, ptr %{base}, i64 {index}\n  %{name} = load {kind}, ptr %{name}_at"


# A name's hash, by words of eight bytes, and whether two of one length are the same.
_NAMES = f"""@lw_xla_known = internal global ptr null
define internal i64 @lw_xla_hash(ptr %name, i64 %length) {{
entry:
  %last = sub i64 %length, {LEAST_NAME}
  br label %next
next:
  %i = phi i64 [0, %entry], [%i_next, %next]
  %hash = phi i64 [%length, %entry], [%mixed, %next]
  %over = icmp ugt i64 %i, %last
  %at = select i1 %over, i64 %last, i64 %i
  %word_p = getelementptr i8, ptr %name, i64 %at
  %word = load i64, ptr %word_p, align 1
  %both = xor i64 %hash, %word
  %spread = mul i64 %both, -7046029254386353131
  %high = lshr i64 %spread, 29
  %mixed = xor i64 %spread, %high
  %i_next = add i64 %i, 8
  %more = icmp ult i64 %i_next, %length
  br i1 %more, label %next, label %done
done:
  ret i64 %mixed
}}
define internal i1 @lw_xla_same(ptr %a, ptr %b, i64 %length) {{
entry:
  %last = sub i64 %length, {LEAST_NAME}
  br label %next
next:
  %i = phi i64 [0, %entry], [%i_next, %alike]
  %over = icmp ugt i64 %i, %last
  %at = select i1 %over, i64 %last, i64 %i
  %ap = getelementptr i8, ptr %a, i64 %at
  %bp = getelementptr i8, ptr %b, i64 %at
  %aw = load i64, ptr %ap, align 1
  %bw = load i64, ptr %bp, align 1
  %same = icmp eq i64 %aw, %bw
  br i1 %same, label %alike, label %done
alike:
  %i_next = add i64 %i, 8
  %more = icmp ult i64 %i_next, %length
  br i1 %more, label %next, label %done
done:
  ret i1 %same
}}
"""

# lw_xla_open(table) comes first; lw_xla_add(record) and lw_xla_remove(record), which says how many still use it, are
# called by one thread at a time; lw_xla_extend(place, memory) adds a memory.
_RECORDS = f"""define void @lw_xla_open(ptr %table) {{
  store ptr %table, ptr @lw_xla_known
  ret void
}}
define internal void @lw_xla_lock(ptr %known) {{
entry:
  br label %try
try:
  %pair = cmpxchg ptr %known, i64 0, i64 1 acquire monotonic
  %mine = extractvalue {{i64, i1}} %pair, 1
  br i1 %mine, label %done, label %try
done:
  ret void
}}
define internal void @lw_xla_unlock(ptr %known) {{
  store atomic i64 0, ptr %known release, align 8
  ret void
}}
define internal ptr @lw_xla_bucket(ptr %known, i64 %hash) {{
  %number = and i64 %hash, {BUCKETS - 1}
  %place = add i64 %number, {len(KNOWN)}
  %bucket = getelementptr i64, ptr %known, i64 %place
  ret ptr %bucket
}}
define internal ptr @lw_xla_find(ptr %known, ptr %name, i64 %length, i64 %typenum) {{
entry:
  %hash = call i64 @lw_xla_hash(ptr %name, i64 %length)
  %bucket = call ptr @lw_xla_bucket(ptr %known, i64 %hash)
  call void @lw_xla_lock(ptr %known)
  br label %look
look:
  %from = phi ptr [%bucket, %entry], [%record, %compare], [%record, %other]
  %record = load ptr, ptr %from
  %none = icmp eq ptr %record, null
  br i1 %none, label %done, label %compare
compare:
{_item("own_hash", "record", str(R["hash"]))}
{_item("own_length", "record", str(R["length"]))}
{_item("own_typenum", "record", str(R["typenum"]))}
  %h = icmp eq i64 %own_hash, %hash
  %l = icmp eq i64 %own_length, %length
  %t = icmp eq i64 %own_typenum, %typenum
  %hl = and i1 %h, %l
  %hlt = and i1 %hl, %t
  br i1 %hlt, label %other, label %look
other:
{_item("own_name", "record", str(R["name"]), "ptr")}
  %same = call i1 @lw_xla_same(ptr %own_name, ptr %name, i64 %length)
  br i1 %same, label %found, label %look
found:
  %at_work_p = getelementptr i64, ptr %record, i64 {R["at_work"]}
  %before = atomicrmw add ptr %at_work_p, i64 1 acquire
  br label %done
done:
  call void @lw_xla_unlock(ptr %known)
  ret ptr %record
}}
define void @lw_xla_add(ptr %record) {{
  %known = load ptr, ptr @lw_xla_known
{_word("name", "ptr")}
{_word("length")}
  %hash = call i64 @lw_xla_hash(ptr %name, i64 %length)
  %hash_p = getelementptr i64, ptr %record, i64 {R["hash"]}
  store i64 %hash, ptr %hash_p
  %bucket = call ptr @lw_xla_bucket(ptr %known, i64 %hash)
  call void @lw_xla_lock(ptr %known)
  %first = load ptr, ptr %bucket
  store ptr %first, ptr %record
  store ptr %record, ptr %bucket
  call void @lw_xla_unlock(ptr %known)
  ret void
}}
define i64 @lw_xla_remove(ptr %record) {{
entry:
  %known = load ptr, ptr @lw_xla_known
{_word("hash")}
{_word("next", "ptr")}
  %bucket = call ptr @lw_xla_bucket(ptr %known, i64 %hash)
  call void @lw_xla_lock(ptr %known)
  br label %look
look:
  %from = phi ptr [%bucket, %entry], [%there, %on]
  %there = load ptr, ptr %from
  %none = icmp eq ptr %there, null
  br i1 %none, label %done, label %on
on:
  %is_it = icmp eq ptr %there, %record
  br i1 %is_it, label %cut, label %look
cut:
  store ptr %next, ptr %from
  br label %done
done:
  %at_work_p = getelementptr i64, ptr %record, i64 {R["at_work"]}
  %at_work = load atomic i64, ptr %at_work_p acquire, align 8
  call void @lw_xla_unlock(ptr %known)
  ret i64 %at_work
}}
define void @lw_xla_extend(ptr %place, i64 %memory) {{
  store atomic i64 %memory, ptr %place release, align 8
  ret void
}}
"""

# Bytes from state to state of an array (..., n), of rows of so many bytes, that is spread over a batch; -1 where the
# batch is another, or no one stride goes through it.
_FLAT = """define internal i64 @lw_xla_flat(ptr %dims, i64 %rank, ptr %batch, i64 %axes, i64 %row) {
entry:
  %own_axes = sub i64 %rank, 1
  %ahead = sub i64 %axes, %own_axes
  br label %next
next:
  %k = phi i64 [%axes, %entry], [%axis, %on]
  %between = phi i64 [-1, %entry], [%between_next, %on]
  %inner = phi i64 [1, %entry], [%inner_next, %on]
  %stride = phi i64 [%row, %entry], [%stride_next, %on]
  %axis = sub i64 %k, 1
  %end = icmp eq i64 %k, 0
  br i1 %end, label %done, label %axis_of
axis_of:
  %n_p = getelementptr i64, ptr %batch, i64 %axis
  %n = load i64, ptr %n_p
  %own = sub i64 %axis, %ahead
  %lacks = icmp slt i64 %own, 0
  br i1 %lacks, label %judge, label %has
has:
  %d_p = getelementptr i64, ptr %dims, i64 %own
  %d_own = load i64, ptr %d_p
  br label %judge
judge:
  %d = phi i64 [1, %axis_of], [%d_own, %has]
  %one = icmp eq i64 %d, 1
  %step = select i1 %one, i64 0, i64 %stride
  %stride_next = mul i64 %stride, %d
  %whole = icmp eq i64 %d, %n
  %fits = or i1 %one, %whole
  br i1 %fits, label %weigh, label %no
weigh:
  %trivial = icmp eq i64 %n, 1
  %first = icmp eq i64 %between, -1
  %due = mul i64 %between, %inner
  %goes_on = icmp eq i64 %step, %due
  %either = or i1 %first, %goes_on
  %flat = or i1 %trivial, %either
  %takes = xor i1 %trivial, true
  %starts = and i1 %first, %takes
  %between_next = select i1 %starts, i64 %step, i64 %between
  %factor = select i1 %trivial, i64 1, i64 %n
  %inner_next = mul i64 %inner, %factor
  br i1 %flat, label %on, label %no
on:
  br label %next
done:
  %unset = icmp eq i64 %between, -1
  %found = select i1 %unset, i64 0, i64 %between
  ret i64 %found
no:
  ret i64 -1
}
"""

_FRAME_FIELDS = "\n".join(
    _field(name, "frame", offset, "ptr" if name in ("extension", "api") else "i32" if name == "stage" else "i64")
    for name, offset in _FRAME.items()
)
_SHARED = (
    "ptr %team, ptr %kernel, i64 %count, ptr %table, i64 %arrays, ptr %scratch, i64 %scratch_step, i64 %lanes,"
    " i64 %helpers, ptr %pace, i64 0"
)

_RUN = f"""define internal ptr @lw_xla_run(ptr %frame) {{
entry:
  %known = load ptr, ptr @lw_xla_known
{_FRAME_FIELDS}
  %whole = icmp uge i64 %size, {_FRAME_BYTES}
  %asks = icmp eq ptr %extension, null
  %executes = icmp eq i32 %stage, {_EXECUTE}
  %has_api = icmp ne ptr %api, null
  %f1 = and i1 %whole, %asks
  %f2 = and i1 %executes, %has_api
  %f3 = and i1 %f1, %f2
  br i1 %f3, label %frame_fits, label %python
frame_fits:
{_field("major", "api", _MAJOR, "i32")}
{_field("given", "frame", _INPUTS + _COUNT, "i64")}
{_field("given_items", "frame", _INPUTS + _ITEMS, "ptr")}
{_field("wanted", "frame", _OUTPUTS + _COUNT, "i64")}
{_field("wanted_items", "frame", _OUTPUTS + _ITEMS, "ptr")}
{_field("attributes", "frame", _ATTRIBUTES + _COUNT, "i64")}
  %v1 = icmp eq i32 %major, 0
  %v2 = icmp eq i64 %attributes, 1
  %v3 = icmp sgt i64 %wanted, 0
  %v4 = and i1 %v1, %v2
  %v5 = and i1 %v3, %v4
  br i1 %v5, label %attribute, label %python
attribute:
{_field("attribute_kinds", "frame", _ATTRIBUTES + _KINDS, "ptr")}
{_field("attribute_items", "frame", _ATTRIBUTES + _ITEMS + 8, "ptr")}
  %attribute_kind = load i32, ptr %attribute_kinds
  %is_text = icmp eq i32 %attribute_kind, {_TEXT}
  br i1 %is_text, label %text, label %python
text:
  %span = load ptr, ptr %attribute_items
  %called = load ptr, ptr %span
{_item("called_length", "span", "1")}
  %long = icmp uge i64 %called_length, {LEAST_NAME}
  br i1 %long, label %find, label %python
find:
  %first_out = load ptr, ptr %wanted_items
{_field("kind32", "first_out", _KIND, "i32")}
{_field("first_rank", "first_out", _RANK, "i64")}
{_field("batch_dims", "first_out", _DIMS, "ptr")}
  %kind = zext i32 %kind32 to i64
  %record = call ptr @lw_xla_find(ptr %known, ptr %called, i64 %called_length, i64 %kind)
  %is_unknown = icmp eq ptr %record, null
  br i1 %is_unknown, label %python, label %numbers
numbers:
{_word("inputs")}
{_word("outputs")}
{_item("number", "record", str(R["size"]))}
  %as_many_in = icmp eq i64 %given, %inputs
  %as_many_out = icmp eq i64 %wanted, %outputs
  %as_many = and i1 %as_many_in, %as_many_out
  %sizes = getelementptr i64, ptr %record, i64 {len(RECORD)}
  %shapes = getelementptr i64, ptr %sizes, i64 %inputs
  %first_axes = load i64, ptr %shapes
  %axes = sub i64 %first_rank, %first_axes
  %deep = icmp sge i64 %axes, 0
  %may = and i1 %as_many, %deep
  br i1 %may, label %start, label %leave
start:
  %arrays = add i64 %inputs, %outputs
  %table_words = mul i64 %arrays, 3
  %table = alloca i64, i64 %table_words, align 16
  br label %count_on
count_on:
  %a = phi i64 [0, %start], [%a_next, %count_axis]
  %count = phi i64 [1, %start], [%count_next, %count_axis]
  %counted = icmp eq i64 %a, %axes
  br i1 %counted, label %output, label %count_axis
count_axis:
{_item("along", "batch_dims", "%a")}
  %count_next = mul i64 %count, %along
  %a_next = add i64 %a, 1
  br label %count_on
output:
  %j = phi i64 [0, %count_on], [%j_next, %output_fits]
{_item("out", "wanted_items", "%j", "ptr")}
{_field("out_kind", "out", _KIND, "i32")}
{_field("out_data", "out", _DATA, "i64")}
{_field("out_rank", "out", _RANK, "i64")}
{_field("out_dims", "out", _DIMS, "ptr")}
  %shape_at = mul i64 %j, {OUTPUT_WORDS}
  %shape = getelementptr i64, ptr %shapes, i64 %shape_at
  %own_axes = load i64, ptr %shape
{_item("own_numbers", "shape", "1")}
  %tail = getelementptr i64, ptr %shape, i64 2
  %due_rank = add i64 %axes, %own_axes
  %o1 = icmp eq i32 %out_kind, %kind32
  %o2 = icmp eq i64 %out_rank, %due_rank
  %o3 = and i1 %o1, %o2
  br i1 %o3, label %output_axis, label %leave
output_axis:
  %b = phi i64 [0, %output], [%b_next, %output_compare]
  %all_axes = icmp eq i64 %b, %due_rank
  br i1 %all_axes, label %output_fits, label %output_compare
output_compare:
  %in_tail = sub i64 %b, %axes
  %of_batch = icmp slt i64 %in_tail, 0
  %due_list = select i1 %of_batch, ptr %batch_dims, ptr %tail
  %due_place = select i1 %of_batch, i64 %b, i64 %in_tail
{_item("due", "due_list", "%due_place")}
{_item("there", "out_dims", "%b")}
  %b_next = add i64 %b, 1
  %equal = icmp eq i64 %due, %there
  br i1 %equal, label %output_axis, label %leave
output_fits:
  %row = mul i64 %own_numbers, %number
  %n = add i64 %inputs, %j
  %n3 = mul i64 %n, 3
  %to = getelementptr i64, ptr %table, i64 %n3
  %to_between = getelementptr i64, ptr %to, i64 1
  %to_within = getelementptr i64, ptr %to, i64 2
  store i64 %out_data, ptr %to
  store i64 %row, ptr %to_between
  store i64 %number, ptr %to_within
  %j_next = add i64 %j, 1
  %more_out = icmp ult i64 %j_next, %outputs
  br i1 %more_out, label %output, label %input
input:
  %i = phi i64 [0, %output_fits], [%i_next, %input_flat]
{_item("in", "given_items", "%i", "ptr")}
{_field("in_kind", "in", _KIND, "i32")}
{_field("in_data", "in", _DATA, "i64")}
{_field("in_rank", "in", _RANK, "i64")}
{_field("in_dims", "in", _DIMS, "ptr")}
{_item("numbers_due", "sizes", "%i")}
  %in_axes = sub i64 %in_rank, 1
  %i1 = icmp eq i32 %in_kind, %kind32
  %i2 = icmp ule i64 %in_axes, %axes
  %i3 = and i1 %i1, %i2
  br i1 %i3, label %input_row, label %leave
input_row:
{_item("last_length", "in_dims", "%in_axes")}
  %in_row = mul i64 %numbers_due, %number
  %fits = icmp eq i64 %last_length, %numbers_due
  br i1 %fits, label %input_fits, label %leave
input_fits:
  %between = call i64 @lw_xla_flat(ptr %in_dims, i64 %in_rank, ptr %batch_dims, i64 %axes, i64 %in_row)
  %no_stride = icmp eq i64 %between, -1
  br i1 %no_stride, label %leave, label %input_flat
input_flat:
  %m3 = mul i64 %i, 3
  %into = getelementptr i64, ptr %table, i64 %m3
  %into_between = getelementptr i64, ptr %into, i64 1
  %into_within = getelementptr i64, ptr %into, i64 2
  store i64 %in_data, ptr %into
  store i64 %between, ptr %into_between
  store i64 %number, ptr %into_within
  %i_next = add i64 %i, 1
  %more_in = icmp ult i64 %i_next, %inputs
  br i1 %more_in, label %input, label %ready
ready:
{_word("most")}
{_word("used")}
{_word("memory", "ptr")}
  store i64 1, ptr %used_p
  %none = icmp eq i64 %count, 0
  br i1 %none, label %finish, label %some
some:
  %few = icmp ule i64 %count, %most
  br i1 %few, label %take, label %leave
take:
  %place = phi ptr [%memory, %some], [%next, %taken]
  %exhausted = icmp eq ptr %place, null
  br i1 %exhausted, label %leave, label %try
try:
  %pair = cmpxchg ptr %place, i64 0, i64 1 acquire monotonic
  %mine = extractvalue {{i64, i1}} %pair, 1
  br i1 %mine, label %work, label %taken
taken:
  %next_p = getelementptr i64, ptr %place, i64 {M["next"]}
  %next = load atomic ptr, ptr %next_p acquire, align 8
  br label %take
work:
{_word("kernel", "ptr")}
{_word("team", "ptr")}
{_item("scratch", "place", str(M["scratch"]), "ptr")}
  %no_team = icmp eq ptr %team, null
  br i1 %no_team, label %alone, label %shared
alone:
  %bad_alone = call i64 %kernel(i64 %count, ptr %table, ptr %scratch)
  br label %worked
shared:
{_word("batch", "ptr")}
{_word("scratch_step")}
{_word("lanes")}
{_word("helpers")}
{_word("pace", "ptr")}
  %bad_shared = call i64 %batch({_SHARED})
  br label %worked
worked:
  %bad = phi i64 [%bad_alone, %alone], [%bad_shared, %shared]
  store atomic i64 0, ptr %place release, align 8
  %sound = icmp eq i64 %bad, 0
  br i1 %sound, label %finish, label %leave
finish:
  %finish_p = getelementptr i64, ptr %record, i64 {R["at_work"]}
  %were = atomicrmw sub ptr %finish_p, i64 1 release
  ret ptr null
leave:
  %leave_p = getelementptr i64, ptr %record, i64 {R["at_work"]}
  %had = atomicrmw sub ptr %leave_p, i64 1 release
  br label %python
python:
{_item("fallback", "known", str(K["fallback"]), "ptr")}
  %answer = call ptr %fallback(ptr %frame)
  ret ptr %answer
}}
"""


def _call(machine: str) -> str:
    """The handler: all of it with tiny numbers as they are."""
    before, after, declared = [], [], []
    if machine in ("x86_64", "AMD64"):
        read, write = _ROUNDING["x86_64"]
        declared = [f"declare void {read}(ptr)", f"declare void {write}(ptr)"]
        before = [
            "  %theirs = alloca i32",
            "  %usual = alloca i32",
            f"  store i32 {_MXCSR}, ptr %usual",
            f"  call void {read}(ptr %theirs)",
            f"  call void {write}(ptr %usual)",
        ]
        after = [f"  call void {write}(ptr %theirs)"]
    elif machine in ("aarch64", "arm64"):
        read, write = _ROUNDING["aarch64"]
        declared = [f"declare i64 {read}()", f"declare void {write}(i64)"]
        before = [f"  %theirs = call i64 {read}()", f"  call void {write}(i64 0)"]
        after = [f"  call void {write}(i64 %theirs)"]
    return "\n".join(
        [
            *declared,
            "define ptr @lw_xla_call(ptr %frame) {",
            *before,
            "  %answer = call ptr @lw_xla_run(ptr %frame)",
            *after,
            "  ret ptr %answer",
            "}",
        ]
    )
