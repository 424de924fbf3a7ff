"""Closed chains: loops cut open, and what holds them together found from the open tree; or local loops embedded.

Read ``closures`` (what a loop demands at a state), ``constraints`` (of all loops together), ``elimination`` (the
closed robot's equations solved in O(n) and what loops couple, in the units of ``scales``), ``equations`` (what the
closed robot does, Operator algebra paper §5, application 3), ``actuation`` (with chosen joints driven), ``linearized``
(its linear models), ``projection`` (states that close), ``soft`` (loops that give). Of arms that hold an object:
``grasps`` (what the object feels of them, contact forces and their parts) and ``squeeze`` (what friction needs). Of
loops whose bodies become one node of the tree: ``locality`` (which bodies, and which rows count) and ``embedding`` (the
node at a state, by the ``reflections`` of its rows).
"""
