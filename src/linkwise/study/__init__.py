"""Studies: one scenario run over and over with drawn parameters, on one machine or many, nothing finished ever lost.

``distributions`` and ``sampling`` draw the parameters of run k from (seed, k) alone; ``scenarios`` says what a run is,
``batches`` runs many motions as machine code; ``study`` is what users make. ``chunks`` makes the runs of one chunk,
``supervisor`` sees to it in a process that may die, ``engines`` spreads chunks over processes and machines; ``parts``
and ``places`` keep them, ``drivers`` lets one driver run at a time, ``results`` reads them. ``sensitivity`` and
``report`` say what came of it.
"""
