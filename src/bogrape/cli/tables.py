"""``bogrape export`` and ``bogrape import``: trials as rows of files."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import InvalidInputError
from ..files.observations import Columns, kind_of, read_observations
from ..files.trials import render, trial_data, write_whole
from .config import read_study_file
from .errors import explained
from .options import json_option, preset_option, set_option, study_argument, with_preset
from .output import print_json, print_preview

_format_option = click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "jsonl"]),
    help="Format of the file; by default inferred from its name.",
)


@click.command()
@study_argument
@click.argument("output", default="-")
@_format_option
@explained
def export(study_file: Path, output: str, kind: str | None) -> None:
    """Write all trials to OUTPUT (.csv or .jsonl; - for standard output)."""
    file = read_study_file(study_file)
    chosen = kind_of(output, kind or ("jsonl" if output == "-" else None))
    trials = file.load().trials
    text = render(trials, file.format, chosen)
    if output == "-":
        click.echo(text, nl=False)
        return
    write_whole(Path(output), text)
    click.echo(f"wrote {len(trials)} trials to {output}")


@click.command("import")
@study_argument
@click.argument("source", type=click.Path(path_type=Path))
@_format_option
@click.option("--graph-column", help="Column of the graph (JSON, or SMILES for molecules).")
@click.option("--value-column", default="value", show_default=True, help="Column of the value.")
@click.option("--noise-column", help="Column of noise variances; 'noise' by default.")
@click.option("--preview", is_flag=True, help="Show what would be imported; change nothing.")
@click.option("--skip-bad-rows", is_flag=True, help="Import the other rows anyway.")
@click.option("--refuse-outside", is_flag=True, help="Treat graphs outside the space as errors.")
@set_option
@preset_option
@json_option
@explained
def import_(
    study_file: Path,
    source: Path,
    kind: str | None,
    graph_column: str | None,
    value_column: str,
    noise_column: str | None,
    preview: bool,
    skip_bad_rows: bool,
    refuse_outside: bool,
    instead: tuple[str, ...],
    preset: str | None,
    as_json: bool,
) -> None:
    """Add observations from SOURCE (.csv or .jsonl with graph and value): all rows or none.

    With several properties, SOURCE has one column per property; leave a cell empty if the property
    was not measured.

    Graphs outside the space (of other sizes, or breaking rules) train the model but are never
    proposed. Every row that cannot be used is listed with its line number.
    """
    file = read_study_file(study_file, with_preset(instead, preset))
    rows = read_observations(
        source,
        file.format,
        kind_of(str(source), kind),
        file.settings.space,
        outside="refuse" if refuse_outside else "accept",
        columns=Columns(graph=graph_column, value=value_column, noise=noise_column),
        goals=file.settings.goals,
    )
    if preview:
        print_preview(rows, file.format, as_json)
        return
    bad = [row for row in rows if row.problem is not None]
    if bad and not skip_bad_rows:
        head = (
            f"{len(bad)} of {len(rows)} rows of {source.name!r} cannot be used; nothing was "
            "imported. Correct them, or leave them out with --skip-bad-rows"
        )
        lines = [f"line {row.line}: {row.problem}" for row in bad]
        raise InvalidInputError("\n  ".join([head, *lines]))
    good = [
        (row.graph, row.values or row.value, row.noises if row.values else row.noise)
        for row in rows
        if row.graph is not None
    ]
    added = file.open().add_all(good)
    if as_json:
        print_json([trial_data(trial, file.format) for trial in added])
        return
    click.echo(f"added {len(added)} observations")
    if outside := sum(bool(trial.outside) for trial in added):
        click.echo(f"  {outside} are outside the space: they only train the model")
    for row in bad:
        click.echo(f"  left out line {row.line}: {row.problem}")
