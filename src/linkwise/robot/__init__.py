"""The public face: the methods of a robot check what is given and call the catalogue, compiled where it pays.

``robot`` is the class that users hold, with the catalogue as its methods; those of two papers are in ``linearized``
and ``diagonal``, which it inherits. ``calls`` checks arguments and fits results to the batch, ``call_forms`` knows how
calls are written, ``dispatch`` runs a method as machine code and ``operator_code`` an operator; ``code_store`` keeps
both. ``make`` gets robots from names, files and parts. ``closed`` is a robot with loops, ``grasp`` one whose loops are
contacts, made in ``grasping``.
"""
