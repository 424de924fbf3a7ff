"""Other libraries: the same robot handed to Pinocchio, MuJoCo or Drake, and their order of states."""
