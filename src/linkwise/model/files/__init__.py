"""Robots read from and written to URDF and MJCF files.

``xml`` reads elements that know their line; ``urdf`` and ``mjcf`` make models of them, with ``mjcf_limits`` before
and ``mjcf_notes`` after the parser, and ``urdf_visuals``, ``mjcf_visuals`` for looks. ``urdf_writer`` and
``urdf_visuals_writer`` go the other way.
"""
