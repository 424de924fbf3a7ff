"""What a person writes: operators and their identities, inverses, simplification, proofs and explanations."""
