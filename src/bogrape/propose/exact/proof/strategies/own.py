"""A kernel or an acquisition of your own that sees a graph through its histogram of distances.

Nothing is known about such values but that equal histograms and attributes have equal ones, and
that is all that tables need. What is your own may hold something that cannot be sent to a worker
process, such as an open file: then pieces are solved in this process, one after another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from importlib.machinery import PathFinder
from typing import Any

from .....acquisition import EI, LCB
from .....kernels import is_built_in
from ....criterion import Criterion
from ....jobs.pool import solve_all
from ....jobs.worker import Job, packed
from .histograms import Histograms


class OwnHistograms(Histograms):
    """Any acquisition and any kernel that depends on no labels along paths."""

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """What sees no labels of edges and none of paths, or a space with one label only."""
        if criterion.edge_labelled:
            return False
        return not criterion.labelled or criterion.space.n_labels == 1

    def run(
        self,
        jobs: Sequence[Job],
        deadline: float,
        stop: Callable[[], bool],
        meanwhile: Callable[[], bool],
    ) -> Iterator[tuple[int, Any]]:
        """In workers if they can load what is your own, else here."""
        own: list[object] = []
        if not isinstance(self.criterion.acquisition, (LCB, EI)):
            own.append(self.criterion.acquisition)
        if not is_built_in(self.criterion.posterior.model.kernel):
            own.append(self.criterion.posterior.model.kernel)
        if all(map(can_be_sent, own)):
            return solve_all(jobs, deadline, stop, meanwhile)
        return solve_here(jobs, deadline, stop, meanwhile)


def can_be_sent(thing: object) -> bool:
    """Whether another process can load a thing: packed by value, or from where it can import it."""
    home = thing if hasattr(thing, "__qualname__") else type(thing)
    package = str(getattr(home, "__module__", "__main__")).partition(".")[0]
    by_value = package == "__main__" or "<locals>" in str(getattr(home, "__qualname__", ""))
    if not by_value and PathFinder.find_spec(package) is None:
        return False
    try:
        packed(thing)
    except Exception:  # whatever its __reduce__ or __getstate__ does
        return False
    return True


def solve_here(
    jobs: Sequence[Job],
    deadline: float,
    stop: Callable[[], bool],
    meanwhile: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[int, Any]]:
    """As `jobs.pool.solve_all`, in this process; others are called between jobs only."""
    for index in range(len(jobs)):
        meanwhile()
        left = deadline - time.monotonic()
        if left <= 0 or stop():
            yield index, None
            continue
        job = copy(jobs[index])
        job.time_limit = min(job.time_limit, left)
        yield index, job.solve()
