"""Simulation: one driver of motions, steps on the configuration manifold, trajectories and their energy account."""
