"""Every number by which the compiler decides, with the measurement that set it.

``python benchmarks/thresholds.py NAME`` repeats a measurement. The figures here are processor time on one core of an
x86-64 machine with vectors of 64 bytes.
"""

from __future__ import annotations

import math

# --- which form ----------------------------------------------------------------------------------------
#
# All forms take some 0.03 to 0.06 ns of a state for an operation, so that the one with the fewest operations is the
# quickest, and all take some 60 to 130 µs of a first call for each value of their code. Straight-line code knows all
# zeros and ones of a robot, loops have them in tables: they do more operations, with code that does not grow.

# Links from which a chain of joints that are alike is rolled. General chains, straight against loops: forward dynamics
# of 16 links 215 against 239 ns, 25 links 459 against 508 ns, 40 links 550 against 552 ns (first call 1.8 against
# 0.2 s); inverse dynamics of 16 links 109 against 128 ns, 25 links 298 against 230 ns; mass matrices of 16 links 180
# against 212 ns, 25 links 662 against 650 ns.
CHAIN_LINKS = 20

# The same where the links' axes are aligned, of which straight-line code has half the operations. Chains of 20, 30 and
# 45 such links, straight against loops: forward dynamics 186 against 279, 289 against 393, 509 against 587 ns; inverse
# dynamics 103 against 151, 146 against 213, 214 against 296 ns; derivatives along a direction 419 against 502, 619
# against 715, 951 against 1047 ns. Of 24, 32 and 44 links: mass matrices 395 against 497, 588 against 808, 810 against
# 1132 ns; Coriolis matrices 536 against 669, 936 against 1147, 1518 against 1739 ns.
ALIGNED_LINKS = 45

# Values of a shorter chain's matrix, about, above which it is rolled as well. Linearised forward dynamics, 16 links
# (20,400): 1636 ns and 6.2 s against 1542 ns and 0.5 s; 8 links (4,760): 322 against 524 ns.
LONG_CHAIN = 20_000

# Classes of bodies that such a chain has at most: one, and its base. (Loops have 2,306 values for one class of
# linearised forward dynamics, 4,436 for two, 20,451 for four.)
CHAIN_CLASSES = 2

# Values of straight-line code, about, above which loops are tried: a first call of 8 s, where the robot's geometry is
# general. A humanoid's linearised inverse dynamics is thought to have 45,900 and has 19,115: 1620 ns against 2797 ns.
LOOPS_FROM = 80_000

# The same for JAX, which compiles some 1,000 of them a second body after body, and a few thousand of loops' own. A
# humanoid's linearised forward dynamics (52,020): compiled after 50 s, 0.11 ms a state of 100, against 21 s and 0.44
# ms; linearised inverse dynamics (45,900): 29 s and 0.08 ms against 12 s and 0.40 ms.
JAX_LOOPS_FROM = 50_000

# Values that a body adds to straight-line code of what is no matrix, about. General chains: forward dynamics 400,
# inverse dynamics 185.
VALUES_PER_BODY = 400

# The same of loops for each degree of freedom of a class, and each that a joint can have, as a multiple of a matrix's
# operations per pair of degrees of freedom. A tree of 50 bodies of all kinds in 15 classes (29 degrees of freedom, of
# joints that have 1, 2, 3 or 6: 348 products), linearised forward dynamics (170): 129,943 values; Coriolis matrix (90):
# 39,129 values.
LOOPS_PER_PAIR = 2

# Pairs of degrees of freedom that a body of a robot with coupled or flexible bodies counts for beside: what it takes to
# make the columns of its node. Linearised forward dynamics of flexible links with two modes each: 5 links (25 bodies,
# 105 pairs) 35,641 values, 10 links (50 bodies, 435 pairs) 109,629; 3 with four modes (18 bodies, 105 pairs) 34,721.
PAIRS_IN_NODES = 4

# How many times the values that a body adds to what is no matrix it adds, about, where bodies are coupled or flexible.
# 20 flexible links with four modes each (120 bodies), reckoned without this, straight-line code, and loops: derivatives
# along a direction of inverse dynamics 84,000, 114,009 values and 3811 ns, 2057 ns; of forward dynamics 156,000,
# 163,129 values and 5504 ns, 4399 ns; second derivatives of inverse dynamics 114,000, 323,300 values, 13,679 ns and
# 6.7 s, 7441 ns and 1.5 s.
BODY_IN_NODES = 1.5

# How many times the operations of straight-line code, about, loops may have where their code is much shorter: a step
# of time by body that is not seen. A humanoid's linearised forward dynamics, straight against loops: 61,146 operations,
# 4323 ns and 6.6 s against 137,408 operations, 6514 ns and 1.2 s.
MOST_OPERATIONS = 1.3

# Values of straight-line code, about, above which a function is traced in one kind of frames alone: those in which
# forward dynamics has the fewest operations. A humanoid's linearised forward dynamics in its own frames and in two
# others 61,692, 62,934, 61,146 operations and 0.5 s each (forward dynamics 6,440, 6,231, 5,942 operations, 0.1 s).
FRAMES_TRIED = 20_000

# Values of straight-line code, about, above which loops are taken though they have more operations: a first call of
# 6 s and more, 10 µs a value for tracing it, 15 µs for its order and text, and 13 µs for LLVM at level 0.
LOOPS_ALWAYS = 160_000


def loops_cost_less(length: int, operations: int, about: int) -> bool:
    """Whether loops of so many values and operations are better than straight-line code of about so many values."""
    if about > LOOPS_ALWAYS:
        return length < about / 2
    return length < about / 4 and operations <= MOST_OPERATIONS * about


# How far the reckoned length of loops may be above what is taken for them to be recorded, to see. A tree of 50 bodies
# of all kinds, linearised forward dynamics: reckoned 118,320 values, found 129,943 after 6 s; 87,380 would be taken.
LOOPS_IN_DOUBT = 1.3


def loops_are_worth_a_trial(in_loops: int, about: int) -> bool:
    """Whether loops of about so many values may be better than straight-line code, or that may be too long to make."""
    if about > LONGEST_CODE // 4:
        return in_loops < about
    return in_loops < LOOPS_IN_DOUBT * about / (2 if about > LOOPS_ALWAYS else 4)


# How many values recording loops may make, those that no result needs included, for each that is taken in the end.
# Loops of 50 bodies of all kinds: linearised inverse dynamics 82,039 for 68,151, linearised forward dynamics 311,798
# for 181,398, inverse mass matrix 152,933 for 83,699, factors of the mass matrix 58,599 for 24,399.
LOOPS_RECORDED = 2.5


def longest_trial(about: int) -> int:
    """Values at which recording loops on trial ends: they would not be taken."""
    return int(LOOPS_RECORDED * about / (2 if about > LOOPS_ALWAYS else 4))


# Links of a chain from which a matrix whose entries are sums of products, at once or in blocks, is made from these row
# by row, and not by walks. By walks against so, us a state: mass matrices of 28 links 0.33, 0.35, 32 links 0.45, 0.38,
# 100 links 4.3, 2.5, 300 links 46, 19; their inverses of 28 links 0.61, 0.61, 32 links 0.76, 0.68, 100 links 7.3, 4.3,
# 300 links 65, 25; linearised inverse dynamics of 28 links 1.25, 1.45, 32 links 1.62, 1.39, 100 links 17, 8.2;
# linearised forward dynamics of 28 links 2.06, 2.25, 32 links 3.08, 2.59; Coriolis matrices of 28 links 0.53, 0.62, 32
# links 0.67, 0.65. (Of 30 links, no whole blocks, inverse dynamics 1.49, 1.62.)
PRODUCTS_FROM = 32

# Bodies of a block, in which such matrices are made where their walks change what they carry: whole vectors on any
# host. Blocks of 8, 16 and 32, us a state: inverse mass matrices of 100 links 4.3, 4.5, 5.3, of 1000 links 282, 242,
# 256; linearised forward dynamics of 100 links 16.1, 15.2, 20.0, of 300 links 100, 81, 89.
BLOCK = 16

# Values from which code is cut into pieces, and about how many one piece has. A humanoid, first call without tracing
# (processor time) and a state, whole against in pieces of 250: forward dynamics (6,086 values) 0.51 s, 224 ns against
# 0.41 s, 265 ns; Coriolis matrix (10,485) 1.07 s, 806 ns against 0.58 s, 606 ns; linearised inverse dynamics (19,115)
# 3.4 s, 1620 ns against 1.1 s, 1580 ns; second derivatives (31,568) 4.0 s, 1615 ns against 1.9 s, 1283 ns.
PIECES_FROM = 8000
PIECE = 250

# Values in a straight-line program above which a mere call is left to NumPy: a first call of half a minute. The
# derivative of the operational inertia of a chain of 100 links has 506,216.
LONGEST_CODE = 800_000

# Values at which tracing for a mere call ends, those that no result needs included. Linearised forward dynamics of a
# tree of 30 bodies of all kinds makes 250,675 for the 135,289 that are needed, in 1.2 s.
LONGEST_TRACE = 1_200_000

# The same of what other compiled calls can give as well, with two to three times the operations. ∂𝓜/∂q of its own has
# 33,292 values for a chain of 16 links, and by C(q, v) along every direction those of C: 566 in loops from 20 links on.
LONGEST_WITH_PARTS = 200_000

# Bodies and values up to which a step of a simulation is one straight-line program. Beyond, compiled calls make the
# step from Python. Steps of semi-implicit Euler for one state of a chain, in machine code against by calls: 16 links
# 4.0 against 102 µs, 64 links 12 µs (first call 4.6 s) against 125 µs.
MOST_BODIES = 64
MOST_NODES = 120_000

# Values in a program above which there is no entry for one state without NumPy. It is the code a second time: of 16,331
# values the first call takes 6.6 s instead of 4.0 s, and one call 3.8 µs instead of 34 µs.
ENTRY_NODES = 20_000

# Numbers that assembly for one state may have on the stack: 128 KiB, a quarter of the smallest stack that threads have
# (macOS). A humanoid's forward dynamics has 533, the arm's linearised 447.
STACK_NUMBERS = 16_384

# Bytes that a thread may work in. Mass matrices of 400 links take 10 MB, their linearised forward dynamics 34 MB, both
# growing with the square: the bound is met by some 3,000 and 1,600 links.
MOST_SCRATCH = 1 << 29

# Bytes of scratch for all threads of a call, together: mass matrices of 400 links, which work in 10 MB, have 25 threads
# at most. (Memory that nobody touches is not taken from the system.)
TEAM_SCRATCH = 1 << 28

# Nanoseconds of work, as measured, for which a thread is asked to help. The arm's forward dynamics by one thread and by
# two, on a machine with other work: 1,024 states 55, 94 µs; 4,096 states 189, 147 µs; 16,384 states 734, 430 µs. A
# humanoid's mass matrix: 256 states 78, 95 µs; 1,024 states 283, 189 µs; 4,096 states 1519, 898 µs.
THREAD_NANOSECONDS = 100_000

# The same for threads that wait for work in machine code: what they help with while they are awake and what they are
# woken for; how many times they look for work before they sleep (some 30 µs), and a caller for the end of what others
# have begun, who may want its processor; and how many calls of the first kind, how close to each other, wake them too.
# A hand-over takes 0.3 µs where a thread is awake, 6 to 20 µs where it sleeps, of which 2 to 8 µs are the caller's.
# Default calls of forward dynamics, one after another, by one thread and by two: the arm, 256 states 14.0, 8.5 µs,
# 1,024 states 45.7, 26.4 µs; a humanoid, 64 states 15.0, 9.9 µs, 256 states 51.6, 30.9 µs.
SHARED_NANOSECONDS = 5_000
WAKING_NANOSECONDS = 100_000
SPINS = 2_000
CALLER_SPINS = 4_000
CLOSE_NANOSECONDS = 100_000
CLOSE_CALLS = 4

# States from which a call is measured, and may be shared. (64 states of the arm's forward dynamics take 3 µs.)
LEAST_STATES = 64

# States up to which a call asks no thread and measures nothing; from there on its pace decides. (The same: 256 states
# of the humanoid's mass matrix are not worth a thread.)
FIRST_STATES = 256

# States for which a thread is started in a simulation, whose steps have no measure of their own. The arm's forward
# dynamics by one thread and by two: 4,096 states 191, 269 µs, 16,384 states 729, 426 µs.
STATES_PER_THREAD = 4096

# Bytes from which results come from memory that is kept. Mass matrices with memory used again and with NumPy's own, one
# call after another: 1.6 MB 102, 100 µs; 10 MB 290, 289 µs; 40 MB 1533, 6054 µs. (NumPy's own has new pages sooner
# where results are held for a while.)
POOLED_BYTES = 1 << 20

# Steps of a simulation that count as one state in that. The arm, 16 states, by one thread and by two: 64 steps 328 and
# 403 µs, 256 steps 818 and 630 µs, 1,024 steps 2919 and 1764 µs.
STEPS_PER_STATE = 16

# Degrees of freedom from which the four stages of a Runge–Kutta step are turns of one loop: a step of such a robot is
# longer than MOST_NODES in straight-line code (38 degrees of freedom, 10,322 operations each: first call 16 s). Below
# that is the quicker code, after a longer first call: the arm 1.6 s, 268 ns a state against 0.9 s, 454 ns; a humanoid
# of 35 degrees of freedom 12 s, 2700 ns against 5 s, 3184 ns.
STAGED_FROM = 36

# Bytes that the results of a call must have, all together, to be written past the caches. Mass matrices, past them
# against through them, of a tree of 22 hinges: 8 MB 108 against 98 ns, 12 MB 110 against 96 ns, 16 MB 112 against 122
# ns, 24 MB 113 against 190 ns; of a humanoid: 12 MB 207 against 148 ns, 16 MB 214 against 176 ns, 24 MB 217 against 294
# ns. (The last cache has 32 MB, which others share.)
STREAMED_BYTES = 15 << 20

# The same of matrices that are made row by row (PRODUCTS_FROM), of which a line is never looked at again. Linearised
# inverse dynamics of 96 links, past the caches against through them, on a machine with other work: 1.7 MB 17 to 24
# against 18 µs, 3.5 MB 15 to 17 against 16 to 29 µs, 14 MB 15 to 16 against 20 to 34 µs; mass matrices of 4.7 MB 3.9 to
# 4.1 against 3.9 to 10 µs.
STREAMED_ROWS = 1 << 21

# Products after which a line of rows that were made before goes past the caches, at the edges of blocks. Inverse mass
# matrices of 100 links, a line after 6, 12 and 24 products and none, on a machine with other work: 3.55, 3.61, 3.60 and
# 3.69 us; beside those with all edges made first 0.93, 0.93, 0.98 and 0.96 of the time, linearised forward dynamics
# 0.93, 0.94, 0.96 and 1.00.
LINE_PRODUCTS = 12

# Rows of a block of states that may begin at the same place of a page: of more, any results go past the caches. Results
# of 1024 numbers in float32, 16 rows of 4 KiB each at a time, past the caches against through them: 256 states 152
# against 282 ns, 1,024 states 124 against 256 ns; of 1056 numbers, 1,024 states 127 against 84 ns. In float64, eight
# rows of 8 KiB at a time, 1,024 states 234 against 161 ns.
ROWS_AT_A_PLACE = 8

# Vectors that a state's results must fill for that; fewer cannot be written so. Mass matrices, past the caches against
# through them: 36 numbers 42 against 26 ns, 64 numbers 55 against 91 ns, 100 numbers 76 against 121 ns.
STREAMED_VECTORS = 4

# Numbers up to which an input of the next states is brought into the cache while some are computed. A humanoid's
# inverse dynamics, with and without: 4,096 states 94, 94 ns; 16,384 states 131, 170 ns; 65,536 states 164, 187 ns.
FETCHED_AHEAD = 128

# Vector registers that the order of a program's values reckons with, of 32. A humanoid's forward dynamics takes 246 to
# 248 ns with 8 to 32 of them, 278 ns with 48.
REGISTERS = 24

# Values up to which several orders are compared by what they cost; it takes 30 µs a value. Of longer code the one is
# taken in which values wait the shortest time.
ORDERS_TRIED = 15_000

# Values above which code is in the order of tracing, with no other to compare: that takes 6 µs a value.
ORDERS_COMPARED = 100_000

# Values above which that order is left as it is. Making the waits in it shorter takes 3 µs a value: linearised forward
# dynamics of two arms with hands (225,599) 15.3 against 16.8 µs, of a tree of 80 hinges (156,909) 11.6 against 12.7 µs;
# sensitivities of a tree of 36 bodies of all kinds (390,291) 18.9 against 19.3 µs, first call 6.5 against 5.4 s.
ORDERS_TIGHTENED = 300_000

# What an order is reckoned to cost: cycles of a product (fused or not), a sum and a quotient until the result is there;
# instructions that the processor looks ahead; cycles of a move between registers and memory, and of each vector beyond
# those that stay in the first cache. 38 degrees of freedom, forward dynamics, 503, 701 and 952 vectors: 8246, 8648 and
# 9703 cycles for eight states. The inverse of the arm's mass matrix in three orders, 988, 975 and 946 instructions of
# which 131, 130 and 75 move: 1163, 1254 and 1359 cycles, as reckoned 549, 581 and 691 of them with a look ahead of 80.
LATENCIES = (4, 3, 13)
LOOK_AHEAD = 80
MOVE_CYCLES = 0.35
FAR_CYCLES = 2.5
NEAR_VECTORS = 350

# Products, and instructions of any kind, that a processor begins in a cycle where nothing waits; the part of that time
# that code waits from which two blocks of states are done at a time, and the instructions up to which. One block at a
# time against two, the time that it waits for itself over that which it is busy: forward dynamics of the arm (1.48)
# 27.8, 23.3 ns, of a UR5 (1.33) 19.4, 16.0 ns, of chains of 5 (1.92) 17.3, 13.7 ns, of 10 (1.77) 41.4, 35.7 ns, of 14
# (1.74, 2,115 instructions) 57.5, 53.0 ns, of 19 (1.72, 3,013) 83, 102 ns; the inverse of the arm's mass matrix (1.50)
# 22.6, 20.5 ns; inverse dynamics of a chain of 10 (1.17) 15.6, 16.3 ns, of the arm (0.77) 13.8, 14.0 ns; forward
# dynamics of a quadruped (0.59) 40.5, 48.5 ns.
PRODUCTS_AT_ONCE = 2
BEGUN_AT_ONCE = 4
PAIRED_FROM = 1.2
PAIRED_UP_TO = 2200

# Instructions of one block that come before as many of the other's. The arm's forward dynamics and inverse of its mass
# matrix, 1 of them 23.4, 21.2 ns, 24 of them 23.3, 21.1 ns, 96 of them 23.7, 21.6 ns, 384 of them 26.1, 23.2 ns.
IN_TURN = 24

# Instructions up to which states are brought in between those of the states before. Before and between, inverse
# dynamics of the arm (461 instructions) 14.1, 12.0 ns, of a quadruped (785) 26.3, 21.8 ns, of a humanoid (1,464) 52.9,
# 51.2 ns; forward dynamics of the arm (937) 23.8, 22.3 ns, of a quadruped (1,849) 44.2, 41.8 ns, of a humanoid (4,259)
# 111.3, 109.0 ns, which takes 0.62 in place of 0.54 s to compile; inverses of its mass matrix (8,652) 405, 399 ns.
OVERLAPPED_UP_TO = 2500

# Instructions within which a value that is in memory must be needed again to be brought into a register; the others are
# read by what needs them. 38 degrees of freedom, forward and inverse dynamics, within 5: 291 and 151 ns,
# within 40: 291 and 148 ns, within 100: 285 and 143 ns, within 1000: 288 and 141 ns.
HELD_FOR = 100

# Threads of a block of the CUDA kernel. An H200, forward dynamics of the arm, float64 and float32: 64 of them
# 0.141 and 0.114 ns, 128 of them 0.142 and 0.118 ns, 256 of them 0.149 and 0.162 ns.
CUDA_THREADS = 128

# Registers for values that the order of a CUDA program reckons with, two words or one each. The arm's forward dynamics
# in float64: 60 of them 0.212 ns a state, 110 0.142 ns, 160 0.205 ns. (In float32 120 take 0.073 ns, 220 0.118 ns.)
CUDA_REGISTERS = {"float64": 110, "float32": 120}

# Bytes of shared memory in which a warp may have rows of its states. What is longer is read and written where it lies.
# (48 KiB is what every card has for a block. A humanoid's forward dynamics in float64: all rows 51 KB, 3.1 ns a state.)
CUDA_ROOM = 48_000

# The same for a loop over turns, with what it carries and the values that wait, where a block has so much: two warps of
# a multiprocessor. An H200, gradients of the arm's motions in float64, values that wait there and in local memory: by
# semi-implicit Euler (84 KB and 3.1 kB) 8.0e8 and 4.65e8 steps a second, by Runge and Kutta (114 KB and 3.7 kB) 1.13e8
# and 8.1e7; by midpoint, where one warp fits (165 KB and 7.4 kB), 1.16e8 and 1.68e8.
CUDA_TURNS_ROOM = 116_000

# Registers for values by plan in such a loop, in the order in which they are tried, until no thread spills more than so
# many bytes. The same in float32, left to the compiler and 220 of them: by midpoint (1.9 kB spilled) 5.1e8 and 6.65e8,
# by Runge and Kutta (504 bytes spilled) 4.5e8 and 3.4e8. In float64 motions themselves, left to the compiler and 110 of
# them: by midpoint 3.96e9 and 4.39e9.
CUDA_TURNS_KEPT = {"float64": (110.0,), "float32": (math.inf, 220.0)}
CUDA_TURNS_SPILL = 1000

# Values that a thread has in registers by plan, beyond which they wait in shared memory; what the compiler spills goes
# to local memory instead. An H200, rows, the arm's forward dynamics in float64: left to the compiler 0.132 ns a state,
# 110 of them 0.120 ns, 90 of them 0.176 ns; number by number 0.121, 0.109 and 0.114 ns. In float32, where nothing
# spills, 0.057 ns, 80 of them 0.067 ns. A humanoid's in float64, number by number: left to the compiler 3.15 ns, 110
# of them 2.36 ns.
CUDA_KEPT = {"float64": 110.0, "float32": math.inf}

# The same where rows of results are to have room in shared memory too, the first with which two warps fit: linearised
# forward dynamics of the arm in float64, rows, left to the compiler (2.6 kB spilled) 1.98 ns, 60 of them 1.24 ns.
CUDA_KEPT_WITH_ROWS = (110.0, 90.0, 72.0, 64.0)

# Values of a program from which several threads work on one state, each on some limbs of the robot, and how many, in
# the order in which they are tried; the least number of values first. An H200, a humanoid, one thread, two and four
# of them: forward dynamics (6,087 values) in float32 0.63, 0.49 and 0.52 ns a state, in float64 2.37, 2.40 and 1.21 ns;
# inverse dynamics (2,291 values) in float32 0.22 ns and, by four, 0.26 ns, in float64 0.81 and 0.48 ns; the adjoint of
# forward dynamics (11,519 values) in float32 8.0 and, by four, 6.5 ns.
CUDA_LIMBS = {"float32": ((4000, (2,)), (9000, (4, 2))), "float64": ((2000, (4, 2)),)}

# Values that such a thread has in registers by plan, the first with which two blocks fit. The same forward dynamics
# in float64: 140 of them 1.35 ns, 130 of them 1.26 ns, 125 of them 1.21 ns; 120 of them, where one block fits, 2.03 ns.
CUDA_LIMBS_KEPT = {
    "float32": (math.inf,),
    "float64": (110.0, 115.0, 120.0, 125.0, 130.0, 135.0, 140.0, 150.0, 160.0, math.inf),
}

# Bytes that such a thread may spill where more blocks then run at a time. The same in float32 by four threads: three
# blocks 0.57 ns, four blocks with 216 bytes spilled 0.52 ns.
CUDA_LIMBS_SPILL = 240

# Blocks of 128 threads on a multiprocessor from which no more are wanted. The arm's inverse dynamics in float32: five
# of them (95 registers) 0.0326 ns a state, six (80 registers) 0.0340 ns.
CUDA_ENOUGH = 5

# The part of the registers, of those a thread would like to have, that it gets where more blocks then fit on a
# multiprocessor. The arm, rows, forward dynamics in float32: all 148 registers 0.086 ns, 128 0.070 ns, 96 0.061 ns;
# inverse dynamics in float64: 176 registers 0.111 ns, 166 0.069 ns. Spills of more bytes than that are not worth it:
# there 128 registers with 112 bytes spilled 0.083 ns, in float32 92 registers 0.038 ns, 64 with 72 bytes 0.047 ns; the
# adjoint of forward dynamics 255 registers 0.117 ns, 168 with 208 bytes 0.137 ns.
CUDA_SQUEEZE = 0.68
CUDA_SPILL = 16

# Bytes of a warp's shared memory up to which inputs of its next states have a place in it as well, fetched ahead. An
# H200, rows, ahead and not: the arm's inverse dynamics in float32 (7.9 KB) 0.035 and 0.042 ns a state, its forward
# dynamics in float64 (26 KB) 0.116 and 0.119 ns; a humanoid's inverse dynamics in float32 (39 KB) 0.31 and 0.24 ns.
CUDA_AHEAD = 27_000

# How many times the blocks that fit at a time a launch has, where inputs are fetched ahead: warps take several lots of
# states. The arm in float32, 1, 2, 4 and 16 times: forward dynamics 0.059, 0.057, 0.055 and 0.057 ns a state, inverse
# dynamics 0.038, 0.037, 0.035 and 0.038 ns.
CUDA_WAVES = 4

# Operations of sweeps in loops along a chain from which they are kept on a card. An H200, rows, chains with general
# axes, straight-line code (its first call) and loops (0.2 to 1.2 s), ns a state. Forward dynamics: 20 links (8,580
# operations) float32 0.90 (2.2 s) and 1.7, float64 7.7 (2.7 s) and 3.9; 30 links (12,870) 3.7 (4.4 s) and 2.8, 12.5
# (4.4 s) and 6.1; 60 links 15.0 (14 s) and 5.8, 24.1 (17 s) and 11.9. Inverse dynamics: 30 links (6,570) 0.74 (1.4 s)
# and 1.7, 3.9 (1.7 s) and 4.1; 40 links (8,760) 2.41 (2.4 s) and 2.36, 8.3 (2.7 s) and 5.3.
CUDA_LOOPS_FROM = 9000

# About how many values straight-line code has that takes too long to compile for a card, where there are loops. In
# float32, mass matrix of 20 links (6,270) 8.9 ns after 3.0 s against 18.3 in loops, of 30 (14,355) 34 ns after 13 s
# against 43, of 40 (25,740) 70 ns after 33 s against 74; linearised inverse dynamics of 20 (28,500) 37 ns after 50 s
# against 57. Forward dynamics of a tree of 50 hinges (20,000) 4.1 ns after 10.5 s against 7.5, in float64 17.5 and 13.
CUDA_LONG = 18_000

# Bytes of a card's memory in which loops work at most, beyond which fewer threads run at a time. Forward dynamics of a
# chain of 100 links in float64 has 67,584 threads on an H200, which work in 1.1 GB; of 300 links, 3.0 GB.
CUDA_LOOPS_BYTES = 4 << 30

# Levels of LLVM's passes and of its code generator. The arm's forward dynamics, first call and a state: levels (0, 0)
# 0.14 s, 90 ns; (0, 2) 0.26 s, 53 ns; (2, 2) 0.48 s, 52 ns; (3, 3) 0.47 s, 51 ns.
LLVM_PASSES = 0
LLVM_CODE_GENERATOR = 2

# Values of code above which its generator's level is 0, in pieces and in loops. A humanoid's linearised forward
# dynamics (62,596 values), levels 2 and 0: 2.5 s, 3416 ns against 0.9 s, 4252 ns. Loops of 50 bodies of all kinds,
# Coriolis matrix (39,129): 3.4 s, 8156 ns against 0.7 s, 11,168 ns.
QUICKLY_FROM = 80_000
LOOPS_QUICKLY_FROM = 45_000

# Links of a chain from which 𝓜⁻¹ is quicker by rows than by paths, in operations and ns a state. Of 13 links 7,969
# and 148 ns against 7,934 and 121 ns, of 16 links 11,029 and 226 ns against 11,831 and 194 ns, of 18 links 13,284 and
# 338 ns against 14,844 and 429 ns; of aligned axes 18 links 218 against 202 ns, 26 links 444 against 556 ns.
ROWS_FROM = 18

# Products that Algorithm 6, which linearises forward dynamics without 𝓜, is reckoned to take for each degree of
# freedom, and for each two that meet at a third: where Algorithm 4 takes more in eliminating 𝓜, it is the slower one.
# By operations and ns a state of Algorithm 4 and of Algorithm 6, and products of the one for each degree of freedom
# against those of the other: the arm (28, 100) 4,773 and 85, 6,531 and 108; chains of 12 links (78, 100) 20,422 and
# 412, 24,609 and 419, of 14 links (105, 100) 28,603 and 580, 31,116 and 542; a quadruped (120, 124) 15,697 and 363,
# 17,095 and 390; a humanoid (282, 166) 76,071 and 1773, 61,146 and 1655; a tree of 28 bodies of all kinds (150, 260)
# 88,805 and 4755, 137,427 and 6673; two arms with hands (360, 345) 283,565 and 36,410, 216,027 and 25,327.
ALGORITHM_6_PRODUCTS = (100, 8)

# Kernels that a robot keeps beside its quick entries. One takes memory and, where it is not on disk, a first call: the
# arm's Jacobian for another frame 0.4 MB and 0.2 s, its operational inertia 1.7 MB and 0.4 s. So a robot holds 100 to
# 400 MB at most, and a program that goes round 256 frames compiles nothing twice.
MOST_KERNELS = 256

# Degrees of freedom up to which an explanation counts operations, by tracing. The inverse of a chain's mass matrix: 20
# links 0.1 s, 50 links 0.2 s, 150 links 0.7 s.
MOST_EXPLAINED = 150

# The same up to which simplify counts two forms of an expression, to take the cheaper one: 0.1 s each, once per
# structure.
MOST_COMPARED = 20
