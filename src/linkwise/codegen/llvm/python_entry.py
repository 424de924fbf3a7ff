"""The way in from Python: one C function for the calls of all kernels.

``lw_call(self, args, nargs, kwnames)`` speaks CPython's fast call. ``self`` is an int64 array of words that describe a
kernel: :data:`HEAD` of them, then four for each input and six for each output. Where every argument is a plain, aligned
NumPy array of the kernel's precision, one state or a batch with one axis, it makes the results, runs the kernel on
their memory and returns them, as an array, a tuple, or what the function ``finish`` makes of the tuple. An input
without a batch is read again for each state. In every other case it hands the call to ``fallback``, the Python function
that checks and explains; it does so too where a guard of the program is not positive, where there are more than
``most`` states (which Python's threads share where there is no :mod:`.team`) and while another thread works in the
kernel's memory (it may have begun while the results were made, where Python runs finalisers). Batches run without the
interpreter's lock.

The fields of NumPy's array object are read directly: their order is part of NumPy's public C interface;
:mod:`..runtime.python_functions` checks it against a live array before this code is used.

``lw_bound(self, nothing)`` takes no arguments: ``self`` is an int64 array with the addresses of arrays bound to
it beforehand, {states (−1: a single one), kernel, code for one state, scratch, output, context, the kernel's table}. It
returns whether the result is sound.
"""

from __future__ import annotations

PART_BITS = 40  # of the count of states that a kernel is given (:mod:`.module`)

# Offsets in PyObject and PyArrayObject_fields on 64-bit platforms.
TYPE, DATA, NDIM, SHAPE, STRIDES, DESCR, FLAGS = 8, 16, 24, 32, 40, 56, 64
ALIGNED = 0x0100
NPY_DOUBLE, NPY_FLOAT = 12, 11

# Words that describe a kernel.
WORDS = (
    "kernel",  # address of lw_kernel
    "one",  # address of lw_one, or 0
    "scratch",  # address of the memory it works in
    "busy",  # address of a word that is not 0 while a thread works there
    "team",  # address of the table of :mod:`.team`, or 0 where nobody helps
    "batch",  # address of lw_batch
    "scratch_step",  # bytes from one thread's memory to the next one's
    "lanes",  # states at a time
    "helpers",  # the most threads besides the caller's
    "pace",  # address of the picoseconds of a state
    "inputs",  # how many arrays
    "outputs",
    "most",  # the most states that one call may have
    "fallback",  # Python objects, which whoever made the words keeps alive
    "finish",  # or 0
    "tuple",  # whether results are a tuple even where there is one
    "context",  # address of the table below
    "descr",  # the dtype object of its precision
    "typenum",
    "size",  # bytes of a number
)
W = {name: i for i, name in enumerate(WORDS)}
HEAD = len(WORDS)
INPUT_WORDS = 4  # axes of one state (1 or 2), how many numbers, the lengths of two axes
OUTPUT_WORDS = 6  # axes of one state, how many numbers, the lengths of the axes
MOST_AXES = 4

# Addresses of what is used of Python and NumPy.
CONTEXT = (
    "ndarray",
    "PyArray_New",
    "PyObject_Vectorcall",
    "Py_DecRef",
    "PyBool_FromLong",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyDataMem_SetHandler",  # or 0 where results come from NumPy's own memory
    "handler",
    "pooled",  # bytes from which they do not
)
C = {name: i for i, name in enumerate(CONTEXT)}


def field(name: str, base: str, offset: int, kind: str) -> list[str]:
    """Read a field of a C structure."""
    return [f"  {name}_p = getelementptr i8, ptr {base}, i64 {offset}", f"  {name} = load {kind}, ptr {name}_p"]


def _at(name: str, base: str, index: str, kind: str = "i64") -> str:
    """Read a word of a table."""
    return f"  {name}_p = getelementptr i64, ptr {base}, i64 {index}\n  {name} = load {kind}, ptr {name}_p"


def _word(name: str, kind: str = "i64") -> str:
    return _at(f"%w_{name}", "%words", str(W[name]), kind)


def _known(name: str, kind: str = "ptr") -> str:
    return _at(f"%c_{name}", "%context", str(C[name]), kind)


def _field(name: str, offset: int, kind: str) -> str:
    return "\n".join(field(name, "%arg", offset, kind))


def _store(value: str, table: str, index: str, tag: str) -> str:
    return f"  %{tag}_to = getelementptr i64, ptr {table}, i64 {index}\n  store i64 {value}, ptr %{tag}_to"


def entry_ir() -> str:
    """The module's text."""
    return f"{_CALL}\n{_BOUND}"


_CHECKS = f"""
entry:
  %words_p = getelementptr i8, ptr %self, i64 {DATA}
  %words = load ptr, ptr %words_p
  %room = alloca [{1 + MOST_AXES} x i64]
{_word("inputs")}
{_word("outputs")}
{_word("context", "ptr")}
{_word("descr", "ptr")}
{_word("size")}
{_word("busy", "ptr")}
  %context = getelementptr i8, ptr %w_context, i64 0
{_known("PyObject_Vectorcall")}
{_known("ndarray")}
  %at_work = load i64, ptr %w_busy
  %idle = icmp eq i64 %at_work, 0
  %enough = icmp eq i64 %nargs, %w_inputs
  %no_names = icmp eq ptr %kwnames, null
  %simple = and i1 %enough, %no_names
  %may = and i1 %simple, %idle
  br i1 %may, label %start, label %python
start:
  %arrays = add i64 %w_inputs, %w_outputs
  %table_words = mul i64 %arrays, 3
  %table = alloca i64, i64 %table_words, align 16
  %made = alloca ptr, i64 %w_outputs, align 16
  br label %next_arg
next_arg:
  %k = phi i64 [0, %start], [%k_next, %arg_fits]
  %count_before = phi i64 [-1, %start], [%count, %arg_fits]
  %argp = getelementptr ptr, ptr %args, i64 %k
  %arg = load ptr, ptr %argp
{_field("%type", TYPE, "ptr")}
  %is_array = icmp eq ptr %type, %c_ndarray
  br i1 %is_array, label %arg_array, label %python
arg_array:
{_field("%dtype", DESCR, "ptr")}
{_field("%flags", FLAGS, "i32")}
{_field("%nd32", NDIM, "i32")}
  %nd = sext i32 %nd32 to i64
  %right = icmp eq ptr %dtype, %w_descr
  %bits = and i32 %flags, {ALIGNED}
  %aligned = icmp ne i32 %bits, 0
  %k4 = mul i64 %k, {INPUT_WORDS}
  %shape0 = add i64 %k4, {HEAD}
  %shape1 = add i64 %k4, {HEAD + 1}
{_at("%axes", "%words", "%shape0")}
{_at("%numbers", "%words", "%shape1")}
  %extra = sub i64 %nd, %axes
  %one_or_many = icmp ult i64 %extra, 2
  %ok1 = and i1 %right, %aligned
  %ok2 = and i1 %ok1, %one_or_many
  br i1 %ok2, label %arg_shape, label %python
arg_shape:
{_field("%dims", SHAPE, "ptr")}
{_field("%strides", STRIDES, "ptr")}
  %last = sub i64 %nd, 1
{_at("%length", "%dims", "%last")}
{_at("%step", "%strides", "%last")}
  %flat = icmp eq i64 %axes, 1
  br i1 %flat, label %arg_flat, label %arg_rows
arg_flat:
  %fits_flat = icmp eq i64 %length, %numbers
  br label %arg_count
arg_rows:
  %shape2 = add i64 %k4, {HEAD + 2}
  %shape3 = add i64 %k4, {HEAD + 3}
{_at("%rows", "%words", "%shape2")}
{_at("%columns", "%words", "%shape3")}
  %before_last = sub i64 %nd, 2
{_at("%height", "%dims", "%before_last")}
{_at("%row_step", "%strides", "%before_last")}
  %row_bytes = mul i64 %columns, %w_size
  %fits_a = icmp eq i64 %length, %columns
  %fits_b = icmp eq i64 %height, %rows
  %fits_c = icmp eq i64 %step, %w_size
  %fits_d = icmp eq i64 %row_step, %row_bytes
  %one_row = icmp eq i64 %rows, 1
  %packed = or i1 %fits_d, %one_row
  %fits_ab = and i1 %fits_a, %fits_b
  %fits_cd = and i1 %fits_c, %packed
  %fits_rows = and i1 %fits_ab, %fits_cd
  br label %arg_count
arg_count:
  %fits_shape = phi i1 [%fits_flat, %arg_flat], [%fits_rows, %arg_rows]
  %batched = icmp eq i64 %extra, 1
  %first_length = load i64, ptr %dims
  %first_step = load i64, ptr %strides
  %between = select i1 %batched, i64 %first_step, i64 0
  %mine = select i1 %batched, i64 %first_length, i64 -1
  %unset = icmp eq i64 %count_before, -1
  %count = select i1 %unset, i64 %mine, i64 %count_before
  %same = icmp eq i64 %mine, %count
  %lone = icmp eq i64 %mine, -1
  %agrees = or i1 %same, %lone
  %fits = and i1 %fits_shape, %agrees
  br i1 %fits, label %arg_fits, label %python
arg_fits:
{_field("%data", DATA, "i64")}
  %k3 = mul i64 %k, 3
  %k3b = add i64 %k3, 1
  %k3c = add i64 %k3, 2
{_store("%data", "%table", "%k3", "t0")}
{_store("%between", "%table", "%k3b", "t1")}
{_store("%step", "%table", "%k3c", "t2")}
  %k_next = add i64 %k, 1
  %more_args = icmp ult i64 %k_next, %w_inputs
  br i1 %more_args, label %next_arg, label %counted
counted:
{_word("most")}
  %single = icmp eq i64 %count, -1
  %few = icmp sle i64 %count, %w_most
  %some = icmp ne i64 %count, 0
  %manageable = and i1 %few, %some
  br i1 %manageable, label %make, label %python
"""

_NEW = "ptr %c_ndarray, i32 %axes_out, ptr %dims_out, i32 %typenum, ptr null, ptr null, i32 0, i32 0, ptr null"

_RESULTS = f"""
make:
{_word("typenum")}
{_known("PyArray_New")}
{_known("Py_DecRef")}
{_known("PyDataMem_SetHandler")}
{_known("handler")}
{_known("pooled", "i64")}
  %typenum = trunc i64 %w_typenum to i32
  %states = select i1 %single, i64 1, i64 %count
  %batch_axes = select i1 %single, i64 0, i64 1
  store i64 %states, ptr %room
  %inputs4 = mul i64 %w_inputs, {INPUT_WORDS}
  %shapes = add i64 %inputs4, {HEAD}
  br label %make_one
make_one:
  %j = phi i64 [0, %make], [%j_next, %made_one]
  %j6 = mul i64 %j, {OUTPUT_WORDS}
  %o0 = add i64 %shapes, %j6
  %o1 = add i64 %o0, 1
  %o2 = add i64 %o0, 2
{_at("%out_axes", "%words", "%o0")}
{_at("%out_numbers", "%words", "%o1")}
  %tail = getelementptr i64, ptr %words, i64 %o2
  %room_tail = getelementptr i64, ptr %room, i64 1
  call void @llvm.memcpy.p0.p0.i64(ptr %room_tail, ptr %tail, i64 {8 * MOST_AXES}, i1 false)
  %dims_out = select i1 %single, ptr %tail, ptr %room
  %axes64 = add i64 %out_axes, %batch_axes
  %axes_out = trunc i64 %axes64 to i32
  %row = mul i64 %out_numbers, %w_size
  %bytes = mul i64 %row, %states
  %large = icmp uge i64 %bytes, %c_pooled
  %has_pool = icmp ne ptr %c_PyDataMem_SetHandler, null
  %from_pool = and i1 %large, %has_pool
  br i1 %from_pool, label %pool, label %usual
pool:
  %usual_handler = call ptr %c_PyDataMem_SetHandler(ptr %c_handler)
  %set = icmp ne ptr %usual_handler, null
  br i1 %set, label %pool_set, label %failed
pool_set:
  %pooled = call ptr %c_PyArray_New({_NEW})
  %back = call ptr %c_PyDataMem_SetHandler(ptr %usual_handler)
  call void %c_Py_DecRef(ptr %usual_handler)
  call void %c_Py_DecRef(ptr %back)
  br label %got
usual:
  %plain = call ptr %c_PyArray_New({_NEW})
  br label %got
got:
  %array = phi ptr [%pooled, %pool_set], [%plain, %usual]
  %none = icmp eq ptr %array, null
  br i1 %none, label %failed, label %made_one
made_one:
  %madep = getelementptr ptr, ptr %made, i64 %j
  store ptr %array, ptr %madep
{chr(10).join(field("%out_data", "%array", DATA, "i64"))}
  %n = add i64 %w_inputs, %j
  %n3 = mul i64 %n, 3
  %n3b = add i64 %n3, 1
  %n3c = add i64 %n3, 2
{_store("%out_data", "%table", "%n3", "u0")}
{_store("%row", "%table", "%n3b", "u1")}
{_store("%w_size", "%table", "%n3c", "u2")}
  %j_next = add i64 %j, 1
  %more_out = icmp ult i64 %j_next, %w_outputs
  br i1 %more_out, label %make_one, label %run
failed:
  br label %fail_drop
fail_drop:
  %f = phi i64 [0, %failed], [%f_next, %fail_one]
  %fail_more = icmp ult i64 %f, %j
  br i1 %fail_more, label %fail_one, label %fail_end
fail_one:
  %failp = getelementptr ptr, ptr %made, i64 %f
  %fail = load ptr, ptr %failp
  call void %c_Py_DecRef(ptr %fail)
  %f_next = add i64 %f, 1
  br label %fail_drop
fail_end:
  ret ptr null
"""

_BATCH = (
    "ptr %w_team, ptr %w_kernel, i64 %count, ptr %table, i64 %arrays, ptr %w_scratch, i64 %w_scratch_step,"
    " i64 %w_lanes, i64 %w_helpers, ptr %w_pace, i64 0"
)

_RUN = f"""
run:
{_word("one", "ptr")}
{_word("kernel", "ptr")}
{_word("scratch", "ptr")}
{_known("PyEval_SaveThread")}
{_known("PyEval_RestoreThread")}
  %first = load ptr, ptr %made
  %at_work_now = load i64, ptr %w_busy
  %still_idle = icmp eq i64 %at_work_now, 0
  br i1 %still_idle, label %run_idle, label %drop
run_idle:
  %has_one = icmp ne ptr %w_one, null
  %scalar = and i1 %single, %has_one
  br i1 %scalar, label %run_one, label %run_kernel
run_one:
{chr(10).join(field("%first_data", "%first", DATA, "ptr"))}
  %bad_one = call i64 %w_one(ptr %table, ptr %first_data)
  br label %judge
run_kernel:
  br i1 %single, label %run_block, label %run_batch
run_block:
  %bad_block = call i64 %w_kernel(i64 1, ptr %table, ptr %w_scratch)
  br label %judge
run_batch:
{_word("team", "ptr")}
{_word("batch", "ptr")}
{_word("scratch_step")}
{_word("lanes")}
{_word("helpers")}
{_word("pace", "ptr")}
  %no_team = icmp eq ptr %w_team, null
  store i64 1, ptr %w_busy
  %thread = call ptr %c_PyEval_SaveThread()
  br i1 %no_team, label %batch_alone, label %batch_shared
batch_alone:
  %bad_by_one = call i64 %w_kernel(i64 %count, ptr %table, ptr %w_scratch)
  br label %batch_done
batch_shared:
  %bad_by_some = call i64 %w_batch({_BATCH})
  br label %batch_done
batch_done:
  %bad_batch = phi i64 [%bad_by_one, %batch_alone], [%bad_by_some, %batch_shared]
  call void %c_PyEval_RestoreThread(ptr %thread)
  store i64 0, ptr %w_busy
  br label %judge
judge:
  %bad = phi i64 [%bad_one, %run_one], [%bad_block, %run_block], [%bad_batch, %batch_done]
  %sound = icmp eq i64 %bad, 0
  br i1 %sound, label %give, label %drop
drop:
  %d = phi i64 [0, %judge], [0, %run], [%d_next, %drop]
  %dropp = getelementptr ptr, ptr %made, i64 %d
  %dropped = load ptr, ptr %dropp
  call void %c_Py_DecRef(ptr %dropped)
  %d_next = add i64 %d, 1
  %more_drop = icmp ult i64 %d_next, %w_outputs
  br i1 %more_drop, label %drop, label %python
give:
{_word("tuple")}
{_word("finish", "ptr")}
  %is_array_alone = icmp eq i64 %w_tuple, 0
  br i1 %is_array_alone, label %give_array, label %give_tuple
give_array:
  ret ptr %first
give_tuple:
{_known("PyTuple_New")}
{_known("PyTuple_SetItem")}
  %tuple = call ptr %c_PyTuple_New(i64 %w_outputs)
  %no_tuple = icmp eq ptr %tuple, null
  br i1 %no_tuple, label %failed_whole, label %fill
failed_whole:
  br label %drop_whole
drop_whole:
  %x = phi i64 [0, %failed_whole], [%x_next, %drop_whole]
  %xp = getelementptr ptr, ptr %made, i64 %x
  %x_made = load ptr, ptr %xp
  call void %c_Py_DecRef(ptr %x_made)
  %x_next = add i64 %x, 1
  %more_x = icmp ult i64 %x_next, %w_outputs
  br i1 %more_x, label %drop_whole, label %no_result
no_result:
  ret ptr null
fill:
  %i = phi i64 [0, %give_tuple], [%i_next, %fill]
  %itemp = getelementptr ptr, ptr %made, i64 %i
  %item = load ptr, ptr %itemp
  %filled = call i32 %c_PyTuple_SetItem(ptr %tuple, i64 %i, ptr %item)
  %i_next = add i64 %i, 1
  %more_items = icmp ult i64 %i_next, %w_outputs
  br i1 %more_items, label %fill, label %full
full:
  %plain_tuple = icmp eq ptr %w_finish, null
  br i1 %plain_tuple, label %give_plain, label %give_finished
give_plain:
  ret ptr %tuple
give_finished:
  %argument = alloca ptr
  store ptr %tuple, ptr %argument
  %finished = call ptr %c_PyObject_Vectorcall(ptr %w_finish, ptr %argument, i64 1, ptr null)
  call void %c_Py_DecRef(ptr %tuple)
  ret ptr %finished
python:
{_word("fallback", "ptr")}
  %answer = call ptr %c_PyObject_Vectorcall(ptr %w_fallback, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %answer
"""

_CALL = f"""declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define ptr @lw_call(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) {{
{_CHECKS}{_RESULTS}{_RUN}}}
"""

_BOUND = f"""define ptr @lw_bound(ptr %self, ptr %nothing) {{
entry:
  %words_p = getelementptr i8, ptr %self, i64 {DATA}
  %words = load ptr, ptr %words_p
{_at("%count", "%words", "0")}
{_at("%kernel", "%words", "1", "ptr")}
{_at("%one", "%words", "2", "ptr")}
{_at("%scratch", "%words", "3", "ptr")}
{_at("%out", "%words", "4", "ptr")}
{_at("%context", "%words", "5", "ptr")}
  %table = getelementptr i64, ptr %words, i64 6
  %single = icmp eq i64 %count, -1
  %has_one = icmp ne ptr %one, null
  %scalar = and i1 %single, %has_one
  br i1 %scalar, label %one_state, label %many
one_state:
  %bad_one = call i64 %one(ptr %table, ptr %out)
  br label %done
many:
  %states = select i1 %single, i64 1, i64 %count
  %bad_many = call i64 %kernel(i64 %states, ptr %table, ptr %scratch)
  br label %done
done:
  %any = phi i64 [%bad_one, %one_state], [%bad_many, %many]
  %sound = xor i64 %any, 1
{_known("PyBool_FromLong")}
  %answer = call ptr %c_PyBool_FromLong(i64 %sound)
  ret ptr %answer
}}
"""
