"""Dynamics in the coordinates that diagonalise the mass matrix (the Diagonalized dynamics paper)."""
