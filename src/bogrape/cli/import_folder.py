"""Import paths for the modules named by study files and stored studies."""

from __future__ import annotations

import sys
from pathlib import Path


def import_from(folder: Path) -> None:
    """Append a folder to the module search path of Python.

    Domains there are found, but a file that happens to be called ``numpy.py`` shadows nothing.
    """
    directory = str(folder.resolve())
    if directory not in sys.path:
        sys.path.append(directory)
