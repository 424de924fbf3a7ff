"""Accelerations from forces: the articulated-body algorithm and its relatives under their authors' names."""
