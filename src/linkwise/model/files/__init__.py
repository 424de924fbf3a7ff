"""Robots read from URDF, MJCF and SDF files, and written as URDF.

``xml`` reads elements that know their line; ``urdf`` and ``mjcf`` make models of them, with ``mjcf_limits`` before
and ``mjcf_notes`` after the parser, and ``urdf_visuals``, ``mjcf_visuals`` for looks; ``sdf`` does with
``sdf_frames``, ``sdf_joints`` and ``sdf_visuals``. ``oddities`` judges what they made. ``urdf_writer`` and
``urdf_visuals_writer`` go the other way.
"""
