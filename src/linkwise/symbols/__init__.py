"""Scalars that remember how they were computed: one hash-consed graph, exact operation counts, derivatives.

``scalar`` is the graph, its simplifications and its counts; ``derivative`` differentiates it both ways. ``results``
takes results of any shape apart and together. What NumPy users write is traced through ``array``, with its
``elementwise`` functions, ``functions`` of arrays, ``operations``, ``linear_systems`` and ``creation`` of arrays;
``users_line`` finds the line at which tracing failed. Of the functions that are traced, ``users_code`` says whose code
is whose, ``fingerprints`` what they are made of, and ``function_memory`` refuses those that no program can be made of.
"""
