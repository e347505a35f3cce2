"""Skeletons with their distances and degrees, kept in memory and in files.

Listing the 739 thousand skeletons of 12 atoms takes about ten seconds, and they depend on no data
and on no rules except a limit on degrees. So they are kept: one file per size, limit and number of
cycles, in the user's cache folder, or in the folder that the environment variable ``BOGRAPE_CACHE``
names. Files are written whole or not at all, and each holds a checksum. A file that is damaged or
of another version is rebuilt.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ....arrays import BoolArray
from ....counts import distances_batch
from .canonical import NONE, Codes, adjacency_of
from .generate import skeletons

logger = logging.getLogger(__name__)

Small = NDArray[np.uint8]

_FORMAT = b"bogrape skeletons 1\n"  # change it whenever codes or their order change
_LEAST_KEPT = 10_000  # skeletons: fewer are listed as fast as they are read
_AT_ONCE = 20_000  # graphs whose distances are counted together
_GROWTH_FROM = 8  # nodes: from here on each size has four or five times as many as the one before


@dataclass(frozen=True, eq=False)
class Skeletons:
    """Connected graphs without attributes, each once, with their distances and degrees counted."""

    n_nodes: int
    codes: Codes  # (S, 2)
    histograms: Small  # (S, n - 1): pairs of nodes at the distances 1, 2, ..
    degrees: Small  # (S, D): nodes of degree 1, 2, ..

    def __len__(self) -> int:
        return len(self.codes)

    def adjacency(self, chosen: NDArray[np.int64] | slice) -> BoolArray:
        """Some of the graphs, (B, n, n)."""
        return adjacency_of(self.codes[chosen], self.n_nodes)

    def select(self, chosen: NDArray[np.int64] | BoolArray | slice) -> Skeletons:
        """Some of the graphs."""
        return Skeletons(
            self.n_nodes, self.codes[chosen], self.histograms[chosen], self.degrees[chosen]
        )


def most_cycles(n: int, most_degree: int) -> int:
    """Upper bound on the independent cycles of connected graphs of this size and degree."""
    return max(0, min(n * most_degree // 2, n * (n - 1) // 2) - n + 1)


def skeletons_of(
    n: int, most_degree: int, n_cycles: range, deadline: float = math.inf
) -> Skeletons:
    """The skeletons of one size with such numbers of cycles; `TimeoutError` at the deadline.

    >>> len(skeletons_of(6, 4, range(3)))
    34
    """
    # no graph has more cycles, and looking for one would begin with listing all its parents
    last = min(n_cycles.stop - 1, most_cycles(n, most_degree))
    parts = [_of_cycles(n, most_degree, c, deadline) for c in range(n_cycles.start, last + 1)]
    if not parts:
        parts = [counted(n, most_degree, NONE)]
    return Skeletons(
        n,
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.histograms for part in parts]),
        np.concatenate([part.degrees for part in parts]),
    )


def estimated_number(
    n: int, most_degree: int, n_cycles: range, deadline: float = math.inf
) -> float:
    """Number of skeletons: exact for small sizes, otherwise extrapolated from their growth."""
    known = min(n, _GROWTH_FROM)
    number = len(skeletons_of(known, most_degree, n_cycles, deadline))
    if n <= _GROWTH_FROM:
        return float(number)
    before = len(skeletons_of(known - 1, most_degree, n_cycles, deadline))
    # larger graphs have room for more cycles, so numbers may grow faster than before
    return number * max(5.0, number / max(1, before)) ** (n - known)


_kept: dict[tuple[int, int, int], Skeletons] = {}  # in the memory of this process


def _of_cycles(n: int, most_degree: int, n_cycles: int, deadline: float) -> Skeletons:
    key = n, most_degree, n_cycles
    if key not in _kept:
        found = _read(*key)
        if found is None:
            found = counted(n, most_degree, _listed(n, most_degree, n_cycles, deadline))
            if len(found) >= _LEAST_KEPT:
                _write(found, *key)
        _kept[key] = found
    return _kept[key]


def _listed(n: int, most_degree: int, n_cycles: int, deadline: float) -> Codes:
    if n == 1:
        return np.zeros((int(n_cycles == 0), 2), dtype=np.uint64)
    parents = {
        c: _of_cycles(n - 1, most_degree, c, deadline).codes
        for c in range(max(0, n_cycles - most_degree + 1), n_cycles + 1)
    }
    return skeletons(n, most_degree, n_cycles, parents, deadline)


def counted(n: int, most_degree: int, codes: Codes) -> Skeletons:
    """Skeletons with their distances and degrees counted."""
    histograms = np.zeros((len(codes), max(0, n - 1)), dtype=np.uint8)
    degrees = np.zeros((len(codes), most_degree), dtype=np.uint8)
    for start in range(0, len(codes), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        adjacency = adjacency_of(codes[part], n)
        distances = distances_batch(adjacency).astype(np.uint8)
        for s in range(1, n):
            histograms[part, s - 1] = (distances == s).sum(axis=(1, 2)) // 2
        of_nodes = adjacency.sum(axis=2)
        for d in range(1, most_degree + 1):
            degrees[part, d - 1] = (of_nodes == d).sum(axis=1)
    return Skeletons(n, codes, histograms, degrees)


# -- files ------------------------------------------------------------------------------------


def cache_folder() -> Path:
    """Folder for files that can be rebuilt."""
    if named := os.environ.get("BOGRAPE_CACHE"):
        return Path(named)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "bogrape"


def _path(n: int, most_degree: int, n_cycles: int) -> Path:
    return cache_folder() / f"skeletons-{n}-nodes-{n_cycles}-cycles-degree-{most_degree}.bin"


def _write(found: Skeletons, n: int, most_degree: int, n_cycles: int) -> None:
    """Write skeletons to their file, if the folder allows it."""
    parts = (found.codes.astype("<u8"), found.histograms, found.degrees)
    body = b"".join(part.tobytes() for part in parts)
    path = _path(n, most_degree, n_cycles)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".new", delete=False) as file:
            file.write(_FORMAT + hashlib.sha256(body).digest() + body)
        os.replace(file.name, path)
    except OSError as error:
        logger.info("skeletons are not kept in a file: %s", error)


def _read(n: int, most_degree: int, n_cycles: int) -> Skeletons | None:
    """Read skeletons from their file; ``None`` if it is missing or damaged."""
    path = _path(n, most_degree, n_cycles)
    try:
        data = path.read_bytes()
    except OSError:
        return None
    start = len(_FORMAT) + hashlib.sha256().digest_size
    body = data[start:]
    widths = (16, n - 1, most_degree)
    number, rest = divmod(len(body), sum(widths))
    whole = data[:start] == _FORMAT + hashlib.sha256(body).digest()
    if not whole or rest:
        logger.warning("%s is damaged or of another version; it is rebuilt", path)
        return None
    ends = np.cumsum([width * number for width in widths])
    codes = np.frombuffer(body[: ends[0]], dtype="<u8").reshape(number, 2)
    small = np.frombuffer(body[ends[0] :], dtype=np.uint8)
    histograms, degrees = np.split(small, [int(ends[1] - ends[0])])
    return Skeletons(
        n,
        codes.astype(np.uint64),
        histograms.reshape(number, n - 1),
        degrees.reshape(number, most_degree),
    )
