"""What a person writes: operators and their identities, inverses, simplification, proofs and explanations.

``operator`` has the expressions (sums, products, adjoints), ``kinds`` and ``blocks`` what a leaf does to a vector,
``leaves`` the leaves of a robot at a configuration and ``motion`` those that need velocities; ``spaces`` says which
fit together. ``dense`` is the meaning of everything, as matrices. Then what is done with expressions: ``identities``
and ``identities_motion`` as data, ``rules`` that apply them, ``inverse``, ``recursions`` and ``linearized``,
``rebind`` to another state, ``check`` on random robots. Text in and out: ``formula``, ``printing``, ``explain`` with
``recursion_text`` and ``preludes``.
"""
