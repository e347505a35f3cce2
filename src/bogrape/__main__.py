"""``python -m bogrape`` is the ``bogrape`` command."""

from .cli import main

if __name__ == "__main__":
    main()
