"""The catalogue: each algorithm once, as sweeps over the bodies that read like the papers."""
