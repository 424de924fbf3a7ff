"""Scalar programs: traced from an algorithm, differentiated, scheduled, listed as text.

``trace`` runs a function on symbols and keeps the graph, in frames chosen by ``frames``; ``schedule`` orders it,
``listing`` prints it, ``derivative`` and ``repeat`` make programs of programs. ``parameters`` makes a robot's
constants inputs.
"""
