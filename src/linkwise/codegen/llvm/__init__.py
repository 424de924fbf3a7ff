"""Programs as LLVM code, many states side by side in SIMD registers.

``module`` has the frame around any kernel, ``straight_line`` its values line by line, ``sine_cosine`` the one
function that is long; ``tiles`` and ``streaming_stores`` move states in and out, ``repeat`` loops over steps, and
``python_entry`` and ``xla_entry`` are the ways in from Python and from XLA; ``counted_loops`` writes loops. Rolled
programs: ``rolled``, ``rolled_body``, ``rolled_walks``.
"""
