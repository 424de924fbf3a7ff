"""The joint kinds, each with its map H*, its transform and its way to integrate.

``kinds`` has them all, from hinge to free body to a user's own; ``guided`` those whose map is a user's function of q;
``modal`` that of points of flexible bodies; ``axes`` their axes and ``exponential`` the rigid motions by which some of
them move; ``springs`` the springs and dampers in them.
"""
