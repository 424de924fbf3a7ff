"""Exact first and second derivatives of the dynamics (the Linearized dynamics paper).

``variations`` first: how the motion of a body answers to small changes. ``inverse`` has Algorithms 1 and 2 (δT),
``forward`` Algorithms 3 to 5 (δβ̇), ``algorithm_6`` the O(n²) matrices; ``models`` chooses among them and names what
robots return. Built on these: ``frames`` (tips and Λ), ``second_derivatives``, ``state_space`` (A, B),
``inertial_parameters``.
"""
