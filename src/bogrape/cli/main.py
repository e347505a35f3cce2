"""The group of commands, and what errors become on a command line."""

from __future__ import annotations

from pathlib import Path

import click

from ..study.trial import package_version


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_version(), prog_name="bogrape")
def main() -> None:
    """Bayesian optimisation over graphs."""


@main.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo-output"),
    show_default=True,
    help="Directory for the pictures.",
)
def demo(output: Path) -> None:
    """Find a good graph and draw it (under a minute)."""
    from ..benchmarks.demo import run

    run(output)
