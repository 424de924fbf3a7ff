"""Threads that share a batch, in machine code alone: neither Python nor its lock is part of a hand-over. LLVM IR text.

A caller writes a job down (which kernel, on what), opens it and calls the workers; then all, the caller too, take
states from it until there are none left: a part of the rest at a time, so that a worker who comes late, or never, costs
next to nothing. The caller closes the job and waits for those who still work, asleep where it takes long. Workers who
have nothing to do look for a job for some ten microseconds, in which they take 0.3 µs to notice one, and then sleep (a
futex): it takes 6 to 20 µs to wake them, and 2 to 8 µs of the caller's time.

Everything is in one table (:data:`PLACES`), whose words that several write have lines of their own. A worker says that
it is ``active`` before it looks whether the job is ``open``, a caller closes it before it looks who is active, each
with sequential consistency: so whoever reads a job does so before the caller goes on.
"""

from __future__ import annotations

from .. import thresholds
from .python_entry import PART_BITS
from .sine_cosine import ALIGNED_STACK

LINE = 128  # bytes: two lines, which processors fetch together
MOST_WORKERS = 255
MASK_WORDS = 16  # of a set of processors, 1024 of them

_SHARED = ("seq", "sleepers", "open", "active", "waiter", "left", "joined", "busy", "bad")
_JOB = ("kernel", "count", "table", "arrays", "scratch", "scratch_step", "wanted", "lanes")
_KNOWN = ("workers", "streak", "ended")
LIBC = (
    *("syscall", "clock_gettime", "sched_getaffinity"),
    *("pthread_create", "pthread_sigmask", "pthread_setaffinity_np"),
)
NUMBERS = ("futex", "spins", "least_states", "least_awake", "least_asleep", "recent", "calls", "most_cores")
PLACES = {name: i * LINE for i, name in enumerate(_SHARED)}
_FIRST = len(_SHARED) * LINE
PLACES |= {name: _FIRST + 8 * i for i, name in enumerate((*_JOB, *_KNOWN, *LIBC, *NUMBERS))}
PLACES["mask"] = _FIRST + 512
PLACES["threads"] = PLACES["mask"] + 8 * MASK_WORDS
BYTES = PLACES["threads"] + 8 * (MOST_WORKERS + 1)

_FUTEX_WAIT, _FUTEX_WAKE = 128, 129  # of one process
_NO_MORE = "ptr null, ptr null, i32 0"
_SIG_SETMASK = 2


def place(name: str) -> str:
    """The line that finds a word of the table."""
    return f"  %{name}_p = getelementptr i8, ptr %team, i64 {PLACES[name]}"


def read(name: str, kind: str = "i64") -> str:
    """The lines that read it."""
    return f"{place(name)}\n  %{name} = load {kind}, ptr %{name}_p"


def places(*names: str) -> str:
    """The lines that find several."""
    return "\n".join(map(place, names))


def reads(*names: str, kind: str = "i64") -> str:
    """The lines that read several."""
    return "\n".join(read(name, kind) for name in names)


def team_ir(pause: str) -> str:
    """The text of a job's functions (those that calls use are in :mod:`.team_calls`).

    ``pause`` is the line that tells the processor that a loop waits, or nothing.
    """
    return "\n".join([_TAKE, _work(pause), _START, _share(pause)])


# States of the open job until there are none left: of the rest, the part that is due to one, halved, in whole blocks.
# Every other thread, the caller first, takes from the beginning, and those between from the end: so that states are in
# the same thread's cache the next time. ``left`` has where the rest begins in its lower half, and where it ends.
_TAKE = f"""define internal i64 @lw_take(ptr %team, i64 %slot) {ALIGNED_STACK} {{
entry:
{reads("kernel", "table", "scratch", kind="ptr")}
{reads("count", "arrays", "scratch_step", "wanted", "lanes")}
{place("left")}
  %words = mul i64 %arrays, 3
  %own = alloca i64, i64 %words, align 16
  %far = mul i64 %slot, %scratch_step
  %memory = getelementptr i8, ptr %scratch, i64 %far
  %all = add i64 %wanted, 1
  %share = mul i64 %all, 2
  %least = mul i64 %lanes, 2
  %block_less = sub i64 %lanes, 1
  %odd = and i64 %slot, 1
  %from_end = icmp ne i64 %odd, 0
  %whole_blocks = sub i64 0, %lanes
  br label %look
look:
  %bad = phi i64 [0, %entry], [%bad, %lost], [%bad_next, %run]
  %ends = load atomic i64, ptr %left_p monotonic, align 8
  %low = and i64 %ends, 4294967295
  %high = lshr i64 %ends, 32
  %left = sub i64 %high, %low
  %some = icmp ne i64 %left, 0
  br i1 %some, label %claim, label %done
claim:
  %due = udiv i64 %left, %share
  %due_up = add i64 %due, %block_less
  %blocks = and i64 %due_up, %whole_blocks
  %few = icmp ult i64 %blocks, %least
  %part = select i1 %few, i64 %least, i64 %blocks
  %over = icmp ugt i64 %part, %left
  %n = select i1 %over, i64 %left, i64 %part
  %from_low = add i64 %low, %n
  %from_high = sub i64 %high, %n
  %low_next = select i1 %from_end, i64 %low, i64 %from_low
  %high_next = select i1 %from_end, i64 %from_high, i64 %high
  %i = select i1 %from_end, i64 %from_high, i64 %low
  %high_part = shl i64 %high_next, 32
  %ends_next = or i64 %low_next, %high_part
  %pair = cmpxchg ptr %left_p, i64 %ends, i64 %ends_next monotonic monotonic
  %mine = extractvalue {{i64, i1}} %pair, 1
  br i1 %mine, label %fill, label %lost
lost:
  br label %look
fill:
  %a = phi i64 [0, %claim], [%a_next, %fill]
  %a3 = mul i64 %a, 3
  %from = getelementptr i64, ptr %table, i64 %a3
  %to = getelementptr i64, ptr %own, i64 %a3
  %stride_p = getelementptr i64, ptr %from, i64 1
  %step_p = getelementptr i64, ptr %from, i64 2
  %address = load i64, ptr %from
  %stride = load i64, ptr %stride_p
  %step = load i64, ptr %step_p
  %skip = mul i64 %i, %stride
  %there = add i64 %address, %skip
  %to_stride = getelementptr i64, ptr %to, i64 1
  %to_step = getelementptr i64, ptr %to, i64 2
  store i64 %there, ptr %to
  store i64 %stride, ptr %to_stride
  store i64 %step, ptr %to_step
  %a_next = add i64 %a, 1
  %more = icmp ult i64 %a_next, %arrays
  br i1 %more, label %fill, label %run
run:
  %times = udiv i64 %count, %n
  %times_less = sub i64 %times, 1
  %times_part = shl i64 %times_less, {PART_BITS}
  %given = or i64 %n, %times_part
  %bad_part = call i64 %kernel(i64 %given, ptr %own, ptr %memory)
  %bad_next = or i64 %bad, %bad_part
  br label %look
done:
  ret i64 %bad
}}
"""


def _work(pause: str) -> str:
    """``@lw_work(team)``: what a worker does, for ever."""
    return f"""define ptr @lw_work(ptr %team) {{
entry:
{places("seq", "sleepers", "open", "active", "waiter", "joined", "bad")}
{read("syscall", "ptr")}
{reads("futex", "spins")}
  br label %ask
idle:
  %seen = phi i32 [%call, %ask_end], [%call, %ended], [%call, %rouse]
  br label %spin
spin:
  %turn = phi i64 [0, %idle], [%turn_next, %spin_on]
  %last = phi i32 [%seen, %idle], [%last, %spin_on]
  %now = load atomic i32, ptr %seq_p acquire, align 4
  %called = icmp ne i32 %now, %last
  br i1 %called, label %ask, label %spin_more
spin_more:
  %turn_next = add i64 %turn, 1
  %patient = icmp ult i64 %turn_next, %spins
  br i1 %patient, label %spin_on, label %sleep
spin_on:
{pause}
  br label %spin
sleep:
  %more_asleep = atomicrmw add ptr %sleepers_p, i64 1 seq_cst
  %woken = call i64 (i64, ...) %syscall(i64 %futex, ptr %seq_p, i32 {_FUTEX_WAIT}, i32 %last, {_NO_MORE})
  %less_asleep = atomicrmw sub ptr %sleepers_p, i64 1 seq_cst
  %then = load atomic i32, ptr %seq_p acquire, align 4
  %is_called = icmp ne i32 %then, %last
  br i1 %is_called, label %ask, label %sleep
ask:
  %call = phi i32 [0, %entry], [%now, %spin], [%then, %sleep]
  %was_active = atomicrmw add ptr %active_p, i64 1 seq_cst
  %is_open = load atomic i64, ptr %open_p seq_cst, align 8
  %there = icmp ne i64 %is_open, 0
  br i1 %there, label %join, label %ask_end
join:
{read("wanted")}
  %slot = atomicrmw add ptr %joined_p, i64 1 monotonic
  %welcome = icmp ult i64 %slot, %wanted
  br i1 %welcome, label %take, label %ask_end
take:
  %own = add i64 %slot, 1
  %bad_part = call i64 @lw_take(ptr %team, i64 %own)
  %bad_before = atomicrmw or ptr %bad_p, i64 %bad_part monotonic
  br label %ask_end
ask_end:
  %was = atomicrmw sub ptr %active_p, i64 1 seq_cst
  %none_left = icmp eq i64 %was, 1
  br i1 %none_left, label %ended, label %idle
ended:
  %waits = load atomic i64, ptr %waiter_p seq_cst, align 8
  %asleep = icmp ne i64 %waits, 0
  br i1 %asleep, label %rouse, label %idle
rouse:
  %roused = call i64 (i64, ...) %syscall(i64 %futex, ptr %active_p, i32 {_FUTEX_WAKE}, i32 1, {_NO_MORE})
  br label %idle
}}
"""


# Workers until there are so many, and how many there are. They take no signals.
_START = f"""define internal i64 @lw_start(ptr %team, i64 %wanted) noinline {{
entry:
{reads("pthread_create", "pthread_sigmask", kind="ptr")}
{place("workers")}
{place("threads")}
  %blocked = alloca [{MASK_WORDS} x i64], align 16
  %before = alloca [{MASK_WORDS} x i64], align 16
  call void @llvm.memset.p0.i64(ptr %blocked, i8 -1, i64 {8 * MASK_WORDS}, i1 false)
  %set = call i32 %pthread_sigmask(i32 {_SIG_SETMASK}, ptr %blocked, ptr %before)
  br label %look
look:
  %there = load i64, ptr %workers_p
  %fewer = icmp ult i64 %there, %wanted
  %room = icmp ult i64 %there, {MOST_WORKERS}
  %may = and i1 %fewer, %room
  br i1 %may, label %one, label %done
one:
  %thread = getelementptr i64, ptr %threads_p, i64 %there
  %error = call i32 %pthread_create(ptr %thread, ptr null, ptr @lw_work, ptr %team)
  %made = icmp eq i32 %error, 0
  br i1 %made, label %count, label %done
count:
  %next = add i64 %there, 1
  store atomic i64 %next, ptr %workers_p release, align 8
  br label %look
done:
  %back = call i32 %pthread_sigmask(i32 {_SIG_SETMASK}, ptr %before, ptr null)
  %found = load i64, ptr %workers_p
  ret i64 %found
}}
"""


SHARE_ARGUMENTS = "ptr %kernel, i64 %count, ptr %table, i64 %arrays, ptr %scratch, i64 %scratch_step, i64 %lanes"


def _share(pause: str) -> str:
    """``@lw_share(team, …, wanted)``: the kernel on all states, with so many workers; who calls it has set ``busy``."""
    job = "\n".join(
        f"{place(name)}\n  store {'ptr' if name in ('kernel', 'table', 'scratch') else 'i64'} %{name}, ptr %{name}_p"
        for name in _JOB
    )
    return f"""define internal i64 @lw_share(ptr %team, {SHARE_ARGUMENTS}, i64 %wanted) {{
entry:
{job}
{places("seq", "sleepers", "open", "active", "waiter", "left", "joined", "bad")}
{read("syscall", "ptr")}
{read("futex")}
  %all_left = shl i64 %count, 32
  store atomic i64 %all_left, ptr %left_p monotonic, align 8
  store atomic i64 0, ptr %joined_p monotonic, align 8
  store atomic i64 0, ptr %bad_p monotonic, align 8
  store atomic i64 1, ptr %open_p seq_cst, align 8
  %before = atomicrmw add ptr %seq_p, i32 1 seq_cst
  %asleep = load atomic i64, ptr %sleepers_p seq_cst, align 8
  %any = icmp ne i64 %asleep, 0
  br i1 %any, label %wake, label %take
wake:
  %wanted32 = trunc i64 %wanted to i32
  %woken = call i64 (i64, ...) %syscall(i64 %futex, ptr %seq_p, i32 {_FUTEX_WAKE}, i32 %wanted32, {_NO_MORE})
  br label %take
take:
  %bad_own = call i64 @lw_take(ptr %team, i64 0)
  store atomic i64 0, ptr %open_p seq_cst, align 8
  br label %wait
wait:
  %looks = phi i64 [0, %take], [%looks_next, %wait_on], [%looks, %sleep]
  %at_work = load atomic i64, ptr %active_p seq_cst, align 8
  %alone = icmp eq i64 %at_work, 0
  br i1 %alone, label %done, label %wait_more
wait_more:
  %looks_next = add i64 %looks, 1
  %long = icmp ugt i64 %looks_next, {thresholds.CALLER_SPINS}
  br i1 %long, label %lie_down, label %wait_on
wait_on:
{pause}
  br label %wait
lie_down:
  store atomic i64 1, ptr %waiter_p seq_cst, align 8
  %still = load atomic i64, ptr %active_p seq_cst, align 8
  %none = icmp eq i64 %still, 0
  br i1 %none, label %done, label %sleep
sleep:
  %still32 = trunc i64 %still to i32
  %slept = call i64 (i64, ...) %syscall(i64 %futex, ptr %active_p, i32 {_FUTEX_WAIT}, i32 %still32, {_NO_MORE})
  br label %wait
done:
  store atomic i64 0, ptr %waiter_p monotonic, align 8
  %bad_others = load atomic i64, ptr %bad_p monotonic, align 8
  %bad_all = or i64 %bad_own, %bad_others
  ret i64 %bad_all
}}
"""
