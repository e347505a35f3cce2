"""``bogrape bench``, kept for one release to say where the benchmarks have gone."""

from __future__ import annotations

import shlex

import click

from .errors import stop


@click.command(
    hidden=True, context_settings={"ignore_unknown_options": True, "help_option_names": []}
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench(arguments: tuple[str, ...]) -> None:
    """Say what to run instead."""
    command = shlex.join(["python", "-m", "benchmarks", *arguments])
    raise stop(
        "Error: the benchmarks are no longer installed with the package; "
        f"in a checkout of the repository, run: {command}",
        2,
    )
