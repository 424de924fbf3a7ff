"""How many threads a call deserves, and the call by so many of them (see :mod:`.team`). LLVM IR text."""

from __future__ import annotations

from .python_entry import DATA, STRIDES, field
from .team import MASK_WORDS, SHARE_ARGUMENTS, places, read, reads

_CLOCK_MONOTONIC = 1


def team_calls_ir() -> str:
    """The text of the functions; those of :mod:`.team` are part of the module too."""
    return "\n".join([_CORES, _BATCH, _OBJECTS])


_CORES = f"""declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.ctpop.i64(i64)
define internal i64 @lw_now(ptr %team) {{
{read("clock_gettime", "ptr")}
  %time = alloca [2 x i64], align 16
  %failed = call i32 %clock_gettime(i32 {_CLOCK_MONOTONIC}, ptr %time)
  %seconds = load i64, ptr %time
  %rest_p = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest_p
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}}
; how many processors the caller may use; workers are told where those changed on which it may run
define internal i64 @lw_cores(ptr %team) {{
entry:
{reads("sched_getaffinity", "pthread_setaffinity_np", kind="ptr")}
{read("most_cores")}
{places("workers", "mask", "threads")}
  %workers = load atomic i64, ptr %workers_p acquire, align 8
  %mask_now = alloca [{MASK_WORDS} x i64], align 16
  call void @llvm.memset.p0.i64(ptr %mask_now, i8 0, i64 {8 * MASK_WORDS}, i1 false)
  %error = call i32 %sched_getaffinity(i32 0, i64 {8 * MASK_WORDS}, ptr %mask_now)
  %unknown = icmp slt i32 %error, 0
  br i1 %unknown, label %one, label %word
word:
  %i = phi i64 [0, %entry], [%i_next, %word]
  %cores = phi i64 [0, %entry], [%cores_next, %word]
  %other = phi i64 [0, %entry], [%other_next, %word]
  %now_p = getelementptr i64, ptr %mask_now, i64 %i
  %was_p = getelementptr i64, ptr %mask_p, i64 %i
  %now = load i64, ptr %now_p
  %was = load i64, ptr %was_p
  %bits = call i64 @llvm.ctpop.i64(i64 %now)
  %cores_next = add i64 %cores, %bits
  %differs = xor i64 %now, %was
  %other_next = or i64 %other, %differs
  %i_next = add i64 %i, 1
  %more = icmp ult i64 %i_next, {MASK_WORDS}
  br i1 %more, label %word, label %known
known:
  %same = icmp eq i64 %other_next, 0
  br i1 %same, label %done, label %tell
tell:
  call void @llvm.memcpy.p0.p0.i64(ptr %mask_p, ptr %mask_now, i64 {8 * MASK_WORDS}, i1 false)
  br label %each
each:
  %w = phi i64 [0, %tell], [%w_next, %told]
  %left = icmp ult i64 %w, %workers
  br i1 %left, label %told, label %done
told:
  %thread_p = getelementptr i64, ptr %threads_p, i64 %w
  %thread = load i64, ptr %thread_p
  %ignored = call i32 %pthread_setaffinity_np(i64 %thread, i64 {8 * MASK_WORDS}, ptr %mask_now)
  %w_next = add i64 %w, 1
  br label %each
one:
  ret i64 1
done:
  %beyond = icmp ugt i64 %cores_next, %most_cores
  %usable = select i1 %beyond, i64 %most_cores, i64 %cores_next
  ret i64 %usable
}}
"""


_CALL = "ptr %kernel, i64 %count, ptr %table, i64 %arrays, ptr %scratch, i64 %scratch_step, i64 %lanes"
_HELPERS = (
    "[%asked_helpers, %as_asked], [%helpers_most, %much_work], [%helpers_awake, %awake_only], [%helpers_most, %closely]"
)

# lw_batch(team, …, most, pace, asked): the kernel on all states, by as many threads as they deserve.
#
# ``pace`` has the picoseconds of a state, as measured at best. Workers who are awake help with less than those who
# would have to be woken; calls that follow each other closely wake them too. ``most`` is how many can help at all, for
# want of scratch; ``asked`` how many threads the caller wants, 0 where it is left to this.
_BATCH = f"""define i64 @lw_batch(ptr %team, {SHARE_ARGUMENTS}, i64 %most, ptr %pace_p, i64 %asked) {{
entry:
{reads("least_states", "least_awake", "least_asleep", "recent", "calls", "workers")}
{places("streak", "ended", "sleepers", "busy")}
  %is_asked = icmp ne i64 %asked, 0
  br i1 %is_asked, label %as_asked, label %any
as_asked:
  %cores_then = call i64 @lw_cores(ptr %team)
  %asked_helpers = sub i64 %asked, 1
  br label %engage
any:
  %pace = load i64, ptr %pace_p
  %few_states = icmp ult i64 %count, %least_states
  br i1 %few_states, label %plain, label %reckon
plain:
  %bad_plain = call i64 %kernel(i64 %count, ptr %table, ptr %scratch)
  ret i64 %bad_plain
reckon:
  %picoseconds = mul i64 %pace, %count
  %work = udiv i64 %picoseconds, 1000
  %enough = icmp uge i64 %work, %least_awake
  br i1 %enough, label %look, label %alone
look:
  %cores = call i64 @lw_cores(ptr %team)
  %several = icmp ugt i64 %cores, 1
  br i1 %several, label %who, label %alone
who:
  %asleep = load atomic i64, ptr %sleepers_p monotonic, align 8
  %awake = sub i64 %workers, %asleep
  %others = sub i64 %cores, 1
  %deserved = udiv i64 %work, %least_awake
  %fewer = icmp ult i64 %deserved, %others
  %helpers_most = select i1 %fewer, i64 %deserved, i64 %others
  %much = icmp uge i64 %work, %least_asleep
  br i1 %much, label %much_work, label %some
much_work:
  br label %engage
some:
  %nobody = icmp sle i64 %awake, 0
  br i1 %nobody, label %closely, label %awake_only
awake_only:
  %awake_fewer = icmp ult i64 %awake, %helpers_most
  %helpers_awake = select i1 %awake_fewer, i64 %awake, i64 %helpers_most
  br label %engage
closely:
  %begun = call i64 @lw_now(ptr %team)
  %ended = load i64, ptr %ended_p
  %since = sub i64 %begun, %ended
  %is_recent = icmp ult i64 %since, %recent
  %streak = load i64, ptr %streak_p
  %streak_more = add i64 %streak, 1
  %streak_now = select i1 %is_recent, i64 %streak_more, i64 0
  store i64 %streak_now, ptr %streak_p
  %in_a_row = icmp uge i64 %streak_now, %calls
  br i1 %in_a_row, label %engage, label %alone
engage:
  %helpers_wanted = phi i64 {_HELPERS}
  %too_many = icmp ugt i64 %helpers_wanted, %most
  %wanted = select i1 %too_many, i64 %most, i64 %helpers_wanted
  %any_wanted = icmp ne i64 %wanted, 0
  %can_be_told = icmp ult i64 %count, 4294967296
  %can_share = and i1 %any_wanted, %can_be_told
  br i1 %can_share, label %ask, label %alone
ask:
  %pair = cmpxchg ptr %busy_p, i64 0, i64 1 seq_cst seq_cst
  %free = extractvalue {{i64, i1}} %pair, 1
  br i1 %free, label %staff, label %alone
staff:
  %short = icmp ult i64 %workers, %wanted
  br i1 %short, label %hire, label %share
hire:
  %hired = call i64 @lw_start(ptr %team, i64 %wanted)
  br label %share
share:
  %there = phi i64 [%workers, %staff], [%hired, %hire]
  %less = icmp ult i64 %there, %wanted
  %helpers = select i1 %less, i64 %there, i64 %wanted
  %start_shared = call i64 @lw_now(ptr %team)
  %bad_shared = call i64 @lw_share(ptr %team, {_CALL}, i64 %helpers)
  %end_shared = call i64 @lw_now(ptr %team)
  store atomic i64 0, ptr %busy_p seq_cst, align 8
  %took_shared = sub i64 %end_shared, %start_shared
  %threads = add i64 %helpers, 1
  %took_all = mul i64 %took_shared, %threads
  br label %measure
alone:
  %start = call i64 @lw_now(ptr %team)
  %bad_alone = call i64 %kernel(i64 %count, ptr %table, ptr %scratch)
  %end = call i64 @lw_now(ptr %team)
  %took = sub i64 %end, %start
  br label %measure
measure:
  %bad = phi i64 [%bad_shared, %share], [%bad_alone, %alone]
  %ended_now = phi i64 [%end_shared, %share], [%end, %alone]
  %nanoseconds = phi i64 [%took_all, %share], [%took, %alone]
  store i64 %ended_now, ptr %ended_p
  %ps = mul i64 %nanoseconds, 1000
  %each = udiv i64 %ps, %count
  %pace_then = load i64, ptr %pace_p
  %first = icmp eq i64 %pace_then, 0
  %quicker = icmp ult i64 %each, %pace_then
  %better = or i1 %first, %quicker
  %telling = icmp uge i64 %count, %least_states
  %noted = and i1 %better, %telling
  br i1 %noted, label %note, label %done
note:
  store i64 %each, ptr %pace_p
  br label %done
done:
  ret i64 %bad
}}
"""


# The same on NumPy's arrays, addresses of which are given: inputs have two axes, outputs are contiguous.
_OBJECTS = f"""define i64 @lw_batch_on_objects(ptr %team, ptr %kernel, i64 %count, ptr %objects, i64 %inputs,
    i64 %arrays, i64 %size, ptr %scratch, i64 %scratch_step, i64 %lanes, i64 %most, ptr %pace, i64 %asked) {{
entry:
  %words = mul i64 %arrays, 3
  %table = alloca i64, i64 %words, align 16
  br label %next
next:
  %i = phi i64 [0, %entry], [%i_next, %next]
  %slot = getelementptr ptr, ptr %objects, i64 %i
  %array = load ptr, ptr %slot
{chr(10).join(field("%data", "%array", DATA, "i64"))}
{chr(10).join(field("%strides", "%array", STRIDES, "ptr"))}
  %stride = load i64, ptr %strides
  %is_input = icmp ult i64 %i, %inputs
  %second = select i1 %is_input, i64 1, i64 0
  %apart_p = getelementptr i64, ptr %strides, i64 %second
  %apart = load i64, ptr %apart_p
  %step = select i1 %is_input, i64 %apart, i64 %size
  %i3 = mul i64 %i, 3
  %to = getelementptr i64, ptr %table, i64 %i3
  %to_stride = getelementptr i64, ptr %to, i64 1
  %to_step = getelementptr i64, ptr %to, i64 2
  store i64 %data, ptr %to
  store i64 %stride, ptr %to_stride
  store i64 %step, ptr %to_step
  %i_next = add i64 %i, 1
  %more = icmp ult i64 %i_next, %arrays
  br i1 %more, label %next, label %run
run:
  %bad = call i64 @lw_batch(ptr %team, {_CALL}, i64 %most, ptr %pace, i64 %asked)
  ret i64 %bad
}}
"""
