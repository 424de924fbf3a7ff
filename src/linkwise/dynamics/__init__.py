"""The catalogue: each algorithm once, as sweeps over the bodies that read like the papers.

Start with ``links`` (φ, H, M of every body, and V, a, b), ``inverse`` (Newton–Euler: outward, inward) and
``articulated`` (the Riccati recursion and its filters); with these three everything else can be read. Then
``kinematics``, ``mass`` and ``mass_inverse``, ``forward/`` (β̇ from T), ``operational`` (tips), ``coriolis``,
``momentum`` and ``momentum_coordinates``. ``linearized/`` and ``diagonal/`` are the two later papers;
``inertia_rate`` (M̂) and ``tangent`` (changes of q) serve them. ``hybrid``, ``reference_velocity`` and
``referred_links`` stand alone.

An algorithm takes a model and arrays, asks :class:`linkwise.sweeps.Tree` for its sweeps and walks, and knows neither
how the tree is stored nor on what it runs: numbers, symbols or JAX arrays.
"""
