"""How an algorithm becomes fast: one pipeline from a method and a robot to machine code or source text.

Read ``pipeline`` first: the steps from a robot and a function to a kernel, in order. The rooms follow it:
``program/`` (trace and straight-line program), ``rolled/`` (programs with loops over bodies), ``llvm/`` (both as
machine code), ``sources/`` (C, CUDA, JAX), ``runtime/`` (what the user holds and calls).
"""
