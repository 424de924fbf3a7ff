"""Forward dynamics and 𝓜⁻¹T in O(log n) steps: what a sweep does body by body, on all bodies at once.

``stacked`` has φ, H and M of all bodies in one array each, and velocities by doubling; ``levels`` says which bodies and
segments meet in which step, from the tree alone; ``elements`` is the algebra of segments, which is associative;
``solve`` runs the levels inward and out again.
"""
