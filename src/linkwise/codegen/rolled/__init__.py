"""Programs that keep their loops over bodies, for long robots: each step traced once per joint kind.

``program`` sorts bodies into classes and records an algorithm on one of each, with a tree of its own: ``recorder``
(sweeps) and ``walk_recorder`` (walks from body to body). ``plan`` lays out the loops and what is saved between them
by ``vertex_cut``; ``separation`` refuses what is more than sweeps and walks. ``tables`` has the numbers of each body
and the memory of the loops, for those who write them: :mod:`..llvm.rolled`, :mod:`..sources.jax_loops`.
"""
