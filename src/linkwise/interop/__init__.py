"""Other libraries: the same robot handed to Pinocchio, MuJoCo or Drake, and their order of states.

``availability`` says what is there, ``layout`` how orders and axes differ; ``pinocchio``, ``mujoco`` and ``drake``
hand a robot over, ``robot_files`` writes it for those that take files alone, ``mujoco_states`` carries states both
ways.
"""
