"""Benchmarks beside other libraries: the same robot, the same states, results compared before being timed."""
