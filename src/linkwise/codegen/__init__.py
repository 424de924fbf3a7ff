"""How an algorithm becomes fast: one pipeline from a method and a robot to machine code or source text.

Read ``pipeline`` first: the named passes from a robot and a function to a kernel, in order; ``job`` is what goes
through them, ``passes`` what a pass is, ``loops_or_not`` what the choice between loops and straight-line code rests on,
``thresholds`` every number by which it decides, ``facts`` what a method says of itself. The rooms follow it:
``program/`` (trace and straight-line program), ``rolled/`` (programs with loops over bodies), ``llvm/`` (both as
machine code), ``sources/`` (C, CUDA, JAX), ``runtime/`` (what the user holds and calls).
"""
