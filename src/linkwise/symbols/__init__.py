"""Scalars that remember how they were computed: one hash-consed graph, exact operation counts, derivatives."""
