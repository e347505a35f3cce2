"""``python -m bogrape.cli`` is ``bogrape``."""

from .main import main

if __name__ == "__main__":
    main(prog_name="bogrape")
