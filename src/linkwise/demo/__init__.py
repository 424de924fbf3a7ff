"""What ``linkwise demo`` tells and draws of a robot."""
