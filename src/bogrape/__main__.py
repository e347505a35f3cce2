"""Run the ``bogrape`` command with ``python -m bogrape``."""

from .cli import main

if __name__ == "__main__":
    main()
