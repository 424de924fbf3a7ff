"""Simulation: integrators on the configuration manifold, rollouts of many states, trajectories and their books."""
