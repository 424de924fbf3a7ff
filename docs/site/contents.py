"""The table of contents of the site: sections, each with a page of its own to begin with, and their pages in order."""

from __future__ import annotations

SECTIONS: dict[str, tuple[str, ...]] = {
    "start": (
        "tour",
        "cli",
        "repository/examples/index",
        "from_pinocchio",
        "from_drake",
        "from_mujoco",
        "from_jax",
        "from_pytorch",
    ),
    "algebra": ("filter", "diagonal", "conventions", "notations"),
    "howto": (
        "inverse_kinematics",
        "feet",
        "identification",
        "formulas",
        "deriving_forward_dynamics",
        "proofs",
        "derivatives_of_formulas",
        "derive_a_formula",
        "springs",
        "equilibrium",
        "flexible",
        "closed",
        "coupled",
        "embedded",
        "grasps",
        "underactuated",
        "linearized",
        "control",
        "simulate",
        "stiff",
        "studies",
        "studies_at_scale",
        "view",
        "compile",
        "gpu",
        "export",
    ),
    "papers": (
        "paper_operator_algebra",
        "paper_jpl_88_11",
        "paper_unified",
        "paper_linearized",
        "paper_diagonalized",
        "errata",
        "notes",
    ),
    "reference": ("api/*", "architecture", "pipeline"),
    "speed": ("accuracy", "parallel", "operation_counts", "repository/benchmarks/index"),
}
# Short names in the bar at the top.
NAMES = {
    "start": "Start",
    "algebra": "Understand",
    "howto": "How to",
    "papers": "Papers",
    "reference": "Reference",
    "speed": "Speed and accuracy",
}


def toctree(pages: list[str]) -> str:
    """A table of contents that is not shown on its page."""
    listed = "\n".join(pages)
    return f"\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
