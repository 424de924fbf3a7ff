"""Plots people want without asking. Each gives a matplotlib ``Figure``: ``figure.savefig("file.png")``.

``legend`` names the curves of a plot of your own where the names cover none.

``trajectory`` is what ``lw.simulate`` gives, a ``lw.view.Motion``, or anything with ``time`` (n,) and ``q`` (n, nq);
``robot`` is needed where it does not say whose it is. The extra ``plot`` brings matplotlib.
"""

from .along import energy, joints, manipulability, phase
from .costs import Costs, costs, measure_costs
from .legends import legend
from .operators import operators

__all__ = ["Costs", "costs", "energy", "joints", "legend", "manipulability", "measure_costs", "operators", "phase"]
