"""What counts as none in dynamics: singular pivots, ranks of loops, brackets, damping, squeezes, base parameters.

Whether a matrix is *singular* is one question, asked by :mod:`linkwise.singularity` alone, in roundings of the
precision that it is computed in, so that the answer is the same on every target. The others below are other questions,
each with its reason: how well something converges, how much is damped, what a rank is that hangs on a state which is
closed only to some tolerance. What files and users may be off by (inertias of few digits, rotations, symmetric gains)
is checked where it is read, and is no matter of rounding. Where a single iteration ends (of control, of SciPy's
solvers, of events, of pictures) stands beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def roundings(count: float, dtype: Any) -> float:
    """So many roundings of a precision, as a share of one."""
    return count * float(np.finfo(np.dtype(dtype)).eps)


# --- singular or not (linkwise.singularity) ---------------------------------------------------------------------------

# Entries of an articulated inertia are off by a rounding or two of their size (two coaxial hinges around a massless
# link, 2e5 geometries); those of Λ⁻¹ by up to 300 in 1e5 states of chains of five joints, whose Λ does not exist.
PIVOT_ROUNDINGS = 16
OPERATIONAL_ROUNDINGS = 512

# Not whether X is singular but whether a program may be trusted with it: on symbols, where no rows are exchanged, X⁻¹
# comes from X*X and is off by (‖X‖‖X⁻¹‖)² roundings; a step of Newton's squares that error, so 10⁵ of them may be.
# Compiled methods then ask NumPy, which decides as above.
ROUNDINGS_OF_SQUARES = 100_000

# --- joints -----------------------------------------------------------------------------------------------------------

# Brackets of the columns of a joint's map, as a share of the products they are sums of: columns that users write with
# a dozen digits commute to those.
BRACKETS = 1e-12

# Frames that take the fewest operations have their origins where two axes come nearest (linkwise.model.normal_form).
# Axes that meet at less than PARALLEL [rad] count as parallel, and an origin slides along its axis by no more than
# FARTHEST_SLIDE lengths of the link before it: farther off, moments of inertia are differences of numbers 16 times
# their size and more, of which a digit is lost. Any other choice is as right, in more operations or with fewer digits.
PARALLEL = 1e-3
FARTHEST_SLIDE = 4.0

# --- closed chains ----------------------------------------------------------------------------------------------------

# Newton's projection onto closed configurations ends here [rad, m], times one and the size of the robot: errors of
# loops are sums along chains, some hundred roundings of the longest, and steps converge quadratically to there.
CLOSED = 1e-11

# The rank of the loops' Jacobian, as a share of its largest singular value. At a state that is closed to 1e-11 a
# redundant row is off by as much, not by roundings; single precision closes it to a few of its own roundings.
RANK = 1e-9
RANK_ROUNDINGS = 100

# Screws of joints whose directions and places are written with all digits: parallel axes are so to some roundings.
SCREWS = 1e-10

# What joints that are said to follow may leave open of a redundant loop, as a share of what it asks of the others.
FOLLOWED = 1e-6

# Nothing is refused by these: X + E is always regular, and corrections bring back what E took (math notes 2.4). E must
# be above the roundings of X, hence no less than DAMPED_ROUNDINGS of them. Accelerations are unique, so forces that do
# nothing may be off; forces of least norm are right to the roundings of X over E.
ACCELERATION_DAMPING = 1e-10
FORCE_DAMPING = 1e-8
EFFORT_DAMPING = 1e-9  # of the mean eigenvalue of what the driven joints can do
DAMPED_ROUNDINGS = 100
# Of the mean eigenvalue of A A*, A the grasp map: what hands cannot do is amplified by 1/this and cancels to roundings,
# and four corrections bring back the rest where A is worse than that.
SHARED_DAMPING = 1e-6
EFFORT_LEFT = 1e-6  # share of the forces that driven joints may leave over: what damping may, with room

# A joint that nothing resists is no error while a configuration is only being looked for: it counts as this light.
LIGHT = 1e-9

# The least squeeze of a grasp, by a barrier method: the share of its square that may be missing, the decrement of
# Newton steps that ends them, and the weight that keeps the search for a start bounded, so that squeezes of some 1e8
# times the load count as none.
SQUEEZE_GAP = 1e-12
SQUEEZE_DECREMENT = 1e-9
SQUEEZE_BOUND = 1e-8

# --- inertial parameters ----------------------------------------------------------------------------------------------

# Base parameters are those combinations that random motions tell apart. Of the columns of sampled regressors (built-in
# arms, a humanoid, random trees) those before them leave 2e-13 of the dependent ones, and 3e-3 or more of the others.
INDEPENDENT = 1e-10

# A motion excites what it shows: the smallest singular value of the measured columns, each of unit length, as a share
# of the largest. Positions of an encoder and their differences repeat to 1e-9 or so; conditions of 1e8 leave no digit
# of what is measured to one in a thousand.
EXCITED = 1e-8
