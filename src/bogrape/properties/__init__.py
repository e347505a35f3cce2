r"""Several properties of a graph at once: what is wanted of each, and how they are weighed.

A *goal* says what is wanted of one property (`goals`), and `Goals` (`weighing`) how those of all
properties become one thing to look for:

* ``combine="pareto"``: the Pareto front, all graphs that no other graph beats in every property.
  The dominated *hypervolume* (`front`) says how good a front is.
* ``combine="sum"``: a weighted sum of the properties in their own units.
* ``combine="mean"`` and ``"geometric"``: a weighted mean of *desirabilities*, which run from 0
  (useless) to 1 (as good as can be), as in the multi-property objectives of GuacaMol.

Beside these a property may have a *limit* (`AtMost`, `AtLeast`): graphs that do not keep it are
neither best nor on a front, and proposals are weighted by the probability that they keep it.

The latter three are called *score*; a score is always maximised. Each property is modelled by a
Gaussian process of its own (`bogrape.propose.joint_criterion` combines the predictions).

>>> goals = Goals({"qed": "maximize", "sa": "minimize"})
>>> goals.combine, goals.names
('pareto', ('qed', 'sa'))
>>> Goals({"log_p": Gaussian(2.5, 1.0), "sa": Linear(worst=6.0, best=2.0)}).score([2.5, 4.0])
0.7071067811865476
"""

from .front import hypervolume, nondominated
from .goals import (
    AtLeast,
    AtMost,
    Gaussian,
    Goal,
    Limit,
    Linear,
    MaxGaussian,
    Maximize,
    MinGaussian,
    Minimize,
)
from .weighing import Combine, Goals

__all__ = [
    "AtLeast",
    "AtMost",
    "Combine",
    "Gaussian",
    "Goal",
    "Goals",
    "Limit",
    "Linear",
    "MaxGaussian",
    "Maximize",
    "MinGaussian",
    "Minimize",
    "hypervolume",
    "nondominated",
]
