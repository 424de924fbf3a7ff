"""Closed chains: loops cut open, and what holds them together found from the open tree.

:mod:`.closures` says what a loop demands at a state, :mod:`.cut` finds forces and accelerations of the closed robot
(Operator algebra paper §5, application 3), :mod:`.projection` states that close.
"""
