"""Robots read from and written to URDF and MJCF files."""
