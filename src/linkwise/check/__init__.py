"""Checks of a robot: its inertias, its algorithms against each other, and against other libraries."""

from .findings import Finding, check_robot

__all__ = ["Finding", "check_robot"]
