"""What a robot is: bodies, joints, frames and inertias; frozen data, checked on entry.

``parts`` (joints, rotors, bodies, frames) with ``inertia`` and ``joints/`` (the kinds); ``model`` puts them together
and numbers them. ``flexible/`` are bodies that bend. Ways to a model: ``builders``, ``files/``, ``robots/``, and
``edit`` from another one.
``normal_form`` is the same robot in frames that compute less, ``loose_joints`` a check, ``visuals`` how it looks.
"""
