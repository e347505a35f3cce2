"""Arguments and options that several subcommands share."""

from __future__ import annotations

from pathlib import Path

import click

from ..study.settings import PRESETS

study_argument = click.argument("study_file", metavar="STUDY.TOML", type=click.Path(path_type=Path))
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
set_option = click.option(
    "--set",
    "instead",
    metavar="NAME=VALUE",
    multiple=True,
    help="Override a setting of [search] in the file, e.g. --set noise=fit.",
)
preset_option = click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    help="Settings of the BoGrape paper (SSP, LCB(1.0), noise 1e-6) where the file sets none.",
)
trial_argument = click.argument("trial", type=click.IntRange(0))
noise_option = click.option(
    "--noise",
    multiple=True,
    metavar="VARIANCE",
    help="Variance of the value, if known: the square of its standard deviation. For several "
    "properties, NAME=VARIANCE; may be repeated.",
)


def with_preset(instead: tuple[str, ...], preset: str | None) -> tuple[str, ...]:
    """Settings given on the command line, including the preset."""
    return instead if preset is None else (*instead, f"preset={preset}")
