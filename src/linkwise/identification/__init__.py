"""Robots from measurements: inertias, friction and rotors from motions, kinematics from poses, and motions to excite.

Read ``unknowns`` and ``least_squares`` first; ``identify`` puts them together.
"""
