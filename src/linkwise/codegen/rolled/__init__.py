"""Programs that keep their loops over bodies, for long robots: each step traced once per joint kind.

``classes`` sorts bodies into classes, and ``program`` records an algorithm on one of each, with a tree of its own:
``recorder`` (sweeps), ``walk_recorder`` (walks from body to body) and ``recorded_nodes`` (bodies that move as one).
``plan`` lays out the loops and what is saved between them by ``vertex_cut``; ``separation`` refuses what is more than
sweeps and walks. ``tables`` has the numbers of each body and the memory of the loops, for those who write them:
:mod:`..llvm.rolled`, :mod:`..sources.jax_loops`.
"""
