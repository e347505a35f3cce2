"""Import paths for the modules named by study files and stored studies."""

from __future__ import annotations

import sys
from pathlib import Path


def import_from(folder: Path) -> None:
    """Let Python look for modules in this folder too, after all others.

    A domain there is found, but a file that happens to be called ``numpy.py`` replaces nothing.
    """
    directory = str(folder.resolve())
    if directory not in sys.path:
        sys.path.append(directory)
