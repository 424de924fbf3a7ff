"""What a robot is: bodies, joints, frames and inertias; frozen data, checked on entry."""
