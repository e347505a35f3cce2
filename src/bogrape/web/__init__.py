"""``bogrape serve``: studies in a browser and over HTTP, for users who do not program.

- `server` starts the application, `app` assembles it.
- `guard` decides which requests are admitted; `tokens` holds secrets; `bodies` checks JSON bodies.
- `rooms` holds the open studies, `jobs` the processes in which suggestions are computed (`worker`).
- `actions` are the changes that people and robots make to a study, through `api` or `pages`.
- `live` tells browsers that something has changed.

Needs the extra ``[web]``: ``pip install 'bogrape[web]'``.
"""

from __future__ import annotations

from importlib.util import find_spec

from ..errors import MissingExtraError

NEEDED = {
    "starlette": "starlette",
    "uvicorn": "uvicorn",
    "jinja2": "jinja2",
    "python_multipart": "python-multipart",
}


def check_extra() -> None:
    """Raise an error that says what to install, unless the extra is installed."""
    missing = [name for module, name in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise MissingExtraError(
            f"'bogrape serve' needs {', '.join(missing)}; try pip install 'bogrape[web]'"
        )
