"""Paths of the QM7 and QM9 files. (Not an experiment.)"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bogrape.errors import InvalidInputError

if TYPE_CHECKING:
    from bogrape.molecules import Dataset

FOLDER = "BOGRAPE_DATA"  # environment variable: `python -m benchmarks run --data` sets it
_FILES = {
    "qm7": ("qm7_realigned.csv", "qm7.csv", "qm7.csv.gz"),
    "qm9": ("qm9.csv.gz", "qm9.csv"),
}


@cache
def load(name: str, limit: int | None = None) -> Dataset:
    """The data set, from the first of its usual files in the folder given with ``--data``."""
    from bogrape.molecules import load_qm7, load_qm9  # late: loads RDKit

    folder = os.environ.get(FOLDER)
    if not folder:
        raise InvalidInputError(
            f"this experiment draws molecules from the file of {name}; name its folder with "
            f"--data FOLDER (files {', '.join(_FILES[name])})"
        )
    for file in _FILES[name]:
        path = Path(folder) / file
        if path.is_file():
            return (load_qm7 if name == "qm7" else load_qm9)(path, limit=limit)
    raise InvalidInputError(f"{folder!r} has none of the files {', '.join(_FILES[name])}")
