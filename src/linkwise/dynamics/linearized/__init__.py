"""Exact first and second derivatives of the dynamics (the Linearized dynamics paper)."""
