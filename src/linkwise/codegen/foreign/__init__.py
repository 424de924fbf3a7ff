"""Arrays of other libraries: PyTorch, JAX and CuPy arrays go into compiled functions and the same kind comes out.

``function`` is a compiled function with its derivatives; ``calls`` takes arrays of any library; ``torch_calls``,
``jax_calls`` and ``cuda_calls`` hand it to each of them, with gradients where the library has them. XLA calls it on the
CPU through ``jax_entry``, without Python; on cards, and what that does not do, through ``jax_frame``. Whose an array
is, :mod:`linkwise.array_kinds` tells.
"""
