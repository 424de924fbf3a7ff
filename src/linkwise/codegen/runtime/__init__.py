"""Machine code at work: kernels, the cache on disk, the way in from Python.

``kernel`` and ``rolled_kernel`` are what users call; ``engine`` makes machine code of LLVM text, ``requests`` and
``disk_cache`` find what was made before, ``remade`` makes kernels again elsewhere, ``python_functions`` wraps the
quick entry.
"""
