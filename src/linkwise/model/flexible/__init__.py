"""Flexible bodies: mass points and nodes that move with modes, and what becomes of them in a tree of bodies.

``body`` has the data and its checks, ``beams`` those of beams, ``points`` the few mass points that stand for many,
``files`` modal data on disk; ``members`` makes bodies of a robot of them.
"""
