"""Accelerations from forces: the articulated-body algorithm and its relatives under their authors' names.

``articulated_body`` has the algorithm itself, what all methods prepare, and FD1 to FD4 of JPL 88-11. ``explicit``
forms the mass matrix or iterates with it, ``armstrong`` is the oldest of the recursions, ``notations`` gives the same
quantities under each author's names, and ``methods`` lists all of them by name.
"""
