"""Scalars that remember how they were computed: one hash-consed graph, exact operation counts, derivatives.

``scalar`` is the graph, its simplifications and its counts; ``derivative`` differentiates it both ways. ``results``
takes results of any shape apart and together; ``users_line`` finds the line at which tracing failed.
"""
