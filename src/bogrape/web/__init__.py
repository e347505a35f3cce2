"""``bogrape serve``: studies in a browser and over HTTP, for those who measure and do not program.

- `server` starts it, `app` puts it together.
- `guard` decides which requests get in; `tokens` knows secrets; `bodies` checks what they bring.
- `rooms` holds the open studies, `jobs` the processes in which suggestions are computed (`worker`).
- `actions` are what people and robots do to a study, whether by `api` or by `pages`.
- `live` tells browsers what has changed.

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
    """Raise, with one line on what to install, unless the extra is there."""
    missing = [name for module, name in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise MissingExtraError(
            f"'bogrape serve' needs {', '.join(missing)}; try pip install 'bogrape[web]'"
        )
