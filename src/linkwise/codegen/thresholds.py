"""Every number by which the compiler decides, with the measurement that set it.

``python benchmarks/thresholds.py NAME`` repeats a measurement. The figures here are processor time on one core of an
x86-64 machine with vectors of 64 bytes.
"""

from __future__ import annotations

# Bodies above which a call that can be rolled is rolled. Forward dynamics of a chain, first call and a state, straight
# against loops: 32 links 3.5 s, 538 ns against 0.2 s, 445 ns; 64 links 7.3 s, 1062 ns against 0.3 s, 886 ns; 128 links
# 21 s, 2240 ns against 0.5 s, 1667 ns. Below, trees and robots of several kinds of joints are quicker without loops.
MOST_BODIES = 64

# Values up to which straight-line code comes before loops where a mere call may have either. Code takes 280 to 360 µs
# of a first call for each value: 9.2 s for 32,559.
MOST_NODES = 40_000

# Values from which code is cut into chunks, and how many one chunk has. First call (processor time) and a state of
# closed robots, whole against in chunks of 2,500: 49,322 values 8.1 s, 2100 ns against 5.5 s, 2560 ns; 96,911 values
# 36 s, 6200 ns against 13 s, 6150 ns.
CHUNKED_FROM = 60_000
CHUNK = 2500

# Values in a straight-line program above which a mere call is left to NumPy: a first call of 16 s.
LONGEST_CODE = 120_000

# Values in a program above which there is no entry for one state without NumPy. It is the code a second time: of 16,331
# values the first call takes 6.6 s instead of 4.0 s, and one call 3.8 µs instead of 34 µs.
ENTRY_NODES = 20_000

# Operations of a chain's matrix function, about, above which loops are the quicker code. Linearised forward dynamics,
# straight against loops: 12 links (11,220) 844 against 883 ns, 16 links (20,400) 1656 against 1370 ns; inverse,
# 16 links (18,000) 843 against 800 ns, 24 links (41,400) 1738 against 1520 ns.
LONG_CHAIN = 20_000

# Kinds of joints in a robot whose matrices are rolled: walks from each size of joint have code for each kind.
# Linearised forward dynamics has 2,306 values in loops for one kind, 4,436 for two, 20,451 for four (first call 9 s),
# 45,913 for six (23 s).
MOST_KINDS = 4

# The same, joints that differ in more than the direction of an axis counted apart: 266 values for each pitch of a
# screw.
MOST_CLASSES = 8

# Bytes that a thread may work in. Mass matrices of 400 links take 10 MB, their linearised forward dynamics 34 MB, both
# growing with the square: the bound is met by some 3,000 and 1,600 links.
MOST_SCRATCH = 1 << 29

# Nanoseconds of work, as measured, for which a thread is asked to help. The arm's forward dynamics by one thread and by
# two: 4,096 states 191, 117 µs; a humanoid's mass matrix: 256 states 128, 82 µs, 1,024 states 470, 268 µs.
THREAD_NANOSECONDS = 100_000

# States up to which a call asks no thread and measures nothing; from there on its pace decides.
FIRST_STATES = 256

# States for which a thread is started in a simulation, whose steps have no measure of their own. The arm's forward
# dynamics by one thread and by two: 4,096 states 191, 269 µs, 16,384 states 729, 426 µs.
STATES_PER_THREAD = 4096

# Bytes from which results come from memory that is kept. Below, NumPy's own has no new pages to touch.
POOLED_BYTES = 1 << 15

# Steps of a simulation that count as one state in that. The arm, 16 states, by one thread and by two: 64 steps 328 and
# 403 µs, 256 steps 818 and 630 µs, 1,024 steps 2919 and 1764 µs.
STEPS_PER_STATE = 16

# Bytes that the results of a call must have, all together, to be written past the caches. A humanoid's mass matrix,
# past them against through them: 4 MB 357 ns against 284 ns, 16 MB 375 ns against 474 ns, 64 MB 377 ns against 659 ns.
STREAMED_BYTES = 1 << 24

# Vectors that a state's results must fill for that; fewer cannot be written so. Mass matrices, past the caches against
# through them: 36 numbers 42 against 26 ns, 64 numbers 55 against 91 ns, 100 numbers 76 against 121 ns.
STREAMED_VECTORS = 4

# Vector registers that the order of a program's values reckons with, of 32. A humanoid's forward dynamics takes 246 to
# 248 ns with 8 to 32 of them, 278 ns with 48.
REGISTERS = 24

# Threads of a block of the CUDA kernel. An H200, forward dynamics of the arm, float64 and float32: 64 of them
# 0.141 and 0.114 ns, 128 of them 0.142 and 0.118 ns, 256 of them 0.149 and 0.162 ns.
CUDA_THREADS = 128

# Registers for values that the order of a CUDA program reckons with, two words or one each. The arm's forward dynamics
# in float64: 60 of them 0.212 ns a state, 110 0.142 ns, 160 0.205 ns. (In float32 120 take 0.073 ns, 220 0.118 ns.)
CUDA_REGISTERS = {"float64": 110, "float32": 120}

# Levels of LLVM's passes and of its code generator. The arm's forward dynamics, first call and a state: levels (0, 0)
# 0.14 s, 90 ns; (0, 2) 0.26 s, 53 ns; (2, 2) 0.48 s, 52 ns; (3, 3) 0.47 s, 51 ns.
LLVM_PASSES = 0
LLVM_CODE_GENERATOR = 2

# Links of a chain from which 𝓜⁻¹ takes fewer operations by rows than by paths: of 13 links 7,969 against 7,934, of 14
# 8,976 against 9,163.
ROWS_FROM = 14

# Products per degree of freedom from which Algorithm 6 linearises forward dynamics in fewer operations than Algorithm
# 4: the arm (28) 6,531 against 4,773, a quadruped (120) 17,095 against 15,697; it is no sharp line, as a chain of 14
# links (105) has 31,183 against 32,236.
ELIMINATION_PRODUCTS = 140

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
