"""Resources of workers: the cores, and a share of a modest amount of memory.

A proof that runs out of memory should fail without affecting the machine or the process that
started it.
"""

from __future__ import annotations

import os
from pathlib import Path

_ALL_BYTES = 1_600_000_000  # for all workers together, up to three of them
_LEAST_BYTES = 500_000_000  # for each, however many there are
_SOLVER_SHARE = 0.75  # share of that at which the solver stops by itself, with what it has proved


def n_cores() -> int:
    """Number of processor cores this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on Linux
        return max(1, os.cpu_count() or 1)


def limit_memory() -> None:
    """Limit this process's memory to its share (on Linux), so that it fails alone, and early."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    except (ImportError, OSError):
        return
    wanted = pages * resource.getpagesize() + most_bytes()
    if hard == resource.RLIM_INFINITY or wanted < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def solver_megabytes() -> int:
    """Memory limit given to a solver."""
    return int(_SOLVER_SHARE * most_bytes() / 1e6)


def most_bytes() -> int:
    """Memory of one worker, beyond what it uses at its start."""
    return max(_LEAST_BYTES, _ALL_BYTES // n_cores())
