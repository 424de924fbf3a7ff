"""Programs as source text for other compilers: C, CUDA, JAX.

``source`` is what the languages share, ``c`` and ``cuda`` write files, ``jax`` hands the algorithm itself to JAX;
``cuda_loops`` and ``jax_loops`` are the same of rolled programs.
"""
