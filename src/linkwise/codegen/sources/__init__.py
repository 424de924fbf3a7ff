"""Programs as source text for other compilers: C, CUDA, JAX."""
