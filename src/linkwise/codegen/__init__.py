"""How an algorithm becomes fast: one pipeline from a method and a robot to machine code or source text."""
