"""What ``linkwise demo`` tells and draws of a robot.

``story`` runs it chapter by chapter; ``picture`` draws its picture.
"""
