"""Programs as source text for other compilers: C, CUDA, JAX.

``source`` is what the languages share, ``c`` and ``cuda`` write files, ``jax`` hands the algorithm itself to JAX.
"""
