"""``python -m benchmarks``."""

from .command import main

if __name__ == "__main__":  # processes that are not forked import this file again
    main(prog_name="python -m benchmarks")
