"""Code for NVIDIA's graphics cards, made and run from Python: no nvcc, no compiler, no package but this one.

``text`` is the CUDA text of a function for arrays in given layouts, ``compiler`` makes machine code of it with NVRTC
and keeps it on disk, ``driver`` loads it, ``launch`` runs it. Both libraries are called with ctypes, since a machine
with arrays on a card has them: the driver came with the card, NVRTC with CuPy, PyTorch, JAX or the CUDA toolkit.
Kernels run in the context and on the stream of whichever library the arrays are of.
"""
