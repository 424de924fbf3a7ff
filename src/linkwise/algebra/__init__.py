"""What a person writes: operators and their identities, inverses, simplification, proofs and explanations.

``expression`` has the formulas (sums, products, adjoints), ``operator`` a formula with the states it is taken at, by
``binding``, and ``operators`` what a robot gives of them. ``leaves`` are the leaves, ``motion`` and ``rate_leaves``
those that need velocities, ``ground_leaves`` those that tie bodies to the world, ``kinds`` and ``blocks`` what a leaf
does to a vector; ``spaces`` says which fit together. ``dense`` is the meaning of everything, as matrices. Then what
is done with formulas: the ``derivative`` of every formula, by ``derivative_rules``; ``identities``,
``identities_motion`` and ``identities_rates`` as data, ``rules`` that apply them, ``inverse``, ``recursions`` and
``linearized``, ``check`` on random robots; one rule where the user says (``rewrite``); proofs (``prove``) from the
``axioms``, by rules that ``completion`` finds between polynomials in ``words`` of leaves (``theory``), written as
``steps`` of a ``proof`` and tried (``trials``); the ``cheapest`` form by ``price`` and by counts; a person's own
``derivation`` and the papers' ``proofs``. As plain data (``recipe``, ``coefficients``, ``frame_freedom``) they are
compiled. Text in and out: ``formula``, ``printing``, ``explain`` with ``recursion_text`` and ``preludes``.
"""
