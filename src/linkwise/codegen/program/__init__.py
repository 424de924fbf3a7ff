"""Scalar programs: traced from an algorithm, differentiated, scheduled, listed as text."""
