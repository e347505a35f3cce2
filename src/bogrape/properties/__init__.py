r"""Several properties of a graph: a goal for each, and ways to combine them.

A *goal* states the aim for one property (`goals`), and `Goals` (`weighing`) combines those of all
properties into one aim:

* ``combine="pareto"``: the Pareto front, all graphs that no other graph beats in every property.
  The dominated *hypervolume* (`front`) measures the quality of a front.
* ``combine="sum"``: a weighted sum of the properties in their own units.
* ``combine="mean"`` and ``"geometric"``: a weighted mean of *desirabilities*, which run from 0
  (useless) to 1 (as good as can be), as in the multi-property objectives of GuacaMol.

In addition, properties may have a *limit* (`AtMost`, `AtLeast`): graphs that violate it are
neither best nor on a front, and proposals are weighted by the probability that they satisfy it.

The sum and both means are called *score*; a score is always maximised. Each property is modelled by
a Gaussian process of its own (`bogrape.propose.joint_criterion` combines the predictions).

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
