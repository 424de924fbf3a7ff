"""Dynamics in the coordinates that diagonalise the mass matrix (the Diagonalized dynamics paper).

``coordinates`` has ν = m*β and the equations of motion in it, for every robot; ``articulated_rates`` what it needs,
P°, D° and G° along a motion; ``as_printed`` the paper's own forms for one-dof joints. ``mass_sensitivity`` (∂𝓜/∂θ)
and ``curvature`` answer whether one set of such coordinates exists for all configurations.
"""
